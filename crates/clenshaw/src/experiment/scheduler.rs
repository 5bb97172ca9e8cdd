//! Scheduling of training jobs: small runs in parallel, sharing the threads, then large runs one at a time
//! with all threads.

use super::folder::{RunFolder, RunReceipt};
use super::job::{ActiveJob, DatasetCache};
use super::{Request, RunRecord, Summary};
use crate::data::{Dataset, Store};
use crate::error::{Error, Result};
use crate::tensor;
use crate::train::{Epoch, PrecomputeProgress};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Memory in bytes for the workspaces of all parallel runs. Jobs whose runs need more than an equal share of it
/// come last and are trained one run at a time.
const PARALLEL_BYTES: usize = 1 << 30;

/// A request and the folder its results are written to.
#[derive(Clone, Debug)]
pub struct TrainingJob {
    /// The graph, the model and their settings.
    pub request: Request,
    /// The run folder; `None` keeps nothing on disk.
    pub folder: Option<PathBuf>,
}

/// How jobs are executed. Results do not depend on the number of threads.
pub struct RunOptions<'a> {
    /// Maximum number of threads.
    pub threads: usize,
    /// The data folders and the cache from which graphs are loaded.
    pub store: &'a Store,
    /// Whether to keep finished runs and checkpoints found in the folders, and train only what is missing;
    /// otherwise they are removed.
    pub resume: bool,
    /// Called with the index of a job and what happened to it, from several threads.
    pub on_event: &'a (dyn Fn(usize, RunEvent<'_>) + Sync),
    /// Set this to `true` to stop early; a call of [`request_stop`](super::request_stop) in another process sets it
    /// as well. In a run folder, finished runs are kept and runs in progress write a checkpoint.
    pub cancel: &'a AtomicBool,
}

/// Progress of a job; runs are counted from zero.
pub enum RunEvent<'a> {
    /// The graph has been loaded. Sent again when a job that was postponed because of its memory is started.
    Loaded {
        /// The graph.
        dataset: &'a Dataset,
    },
    /// A part of the terms of a precomputed filter has been computed.
    Precomputed {
        /// What is done, and what has to be done.
        progress: PrecomputeProgress,
    },
    /// Values of the forward pass are computed again in the backward pass, because the memory that is available is
    /// not enough to keep them; results do not change.
    Recomputing {
        /// The additional work of a training step, as a fraction of its work without recomputation.
        additional_work: f64,
    },
    /// A run starts or resumes.
    Started {
        /// Index of the run.
        run: usize,
        /// Its seed.
        seed: u64,
        /// Maximum number of epochs.
        max_epochs: usize,
        /// Number of epochs trained before the run was interrupted; 0 for a new run.
        epochs_done: usize,
    },
    /// An epoch is complete.
    Epoch {
        /// Index of the run.
        run: usize,
        /// Losses and scores of the epoch.
        epoch: &'a Epoch,
    },
    /// Another process has requested a stop with [`request_stop`](super::request_stop); `cancel` has been set.
    StopRequested,
    /// A run is complete. If it was already finished in the folder, no `Started` or `Epoch` precedes this.
    Finished {
        /// Index of the run.
        run: usize,
        /// Its scores.
        record: &'a RunRecord,
    },
}

/// Trains every run of a job and summarises them.
///
/// # Errors
/// If the request is invalid or does not fit the graph, the graph cannot be loaded, the folder cannot be used,
/// there is too little memory, training diverges, or the job is cancelled ([`Error::Interrupted`]).
///
/// ```
/// use clenshaw::data::Store;
/// use clenshaw::experiment::{Request, RunOptions, TrainingJob, run};
/// use std::sync::atomic::AtomicBool;
///
/// let mut request = Request::new("csbm:nodes=100", "gcn")?;
/// request.set("max_epochs", "5")?;
/// request.runs = 2;
/// let cancel = AtomicBool::new(false);
/// let options = RunOptions {
///     threads: 2,
///     store: &Store::new(None),
///     resume: false,
///     on_event: &|_, _| {},
///     cancel: &cancel,
/// };
/// let summary = run(&TrainingJob { request, folder: None }, &options)?;
/// assert_eq!(summary.runs.len(), 2);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn run(job: &TrainingJob, options: &RunOptions<'_>) -> Result<Summary> {
    let mut results = run_all(std::slice::from_ref(job), options);
    results.pop().expect("one job has one result")
}

/// Trains several jobs and returns one result per job, in the order of `jobs`; a failed job does not stop
/// the others, and the result of a cancelled one is [`Error::Interrupted`].
///
/// The runs of all jobs share the threads. Jobs start in the order of the list, except that jobs whose runs need a
/// lot of memory come last. The memory of a job is released after its last run.
pub fn run_all(jobs: &[TrainingJob], options: &RunOptions<'_>) -> Vec<Result<Summary>> {
    let (threads, n_runs) = (options.threads.max(1), jobs.iter().map(|job| job.request.runs).sum());
    let workers = threads.min(n_runs).max(1);
    let scheduler = Scheduler::new(jobs, options, PARALLEL_BYTES / workers);
    std::thread::scope(|scope| {
        let work = || scheduler.work(threads / workers);
        (1..workers).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    scheduler.admit_large_jobs();
    scheduler.work(threads);
    let results = scheduler.results();
    // All jobs have freed their memory.
    tensor::release_free_memory();
    results
}

/// The records of finished runs in a job's folder; empty if there is no folder with the same request. Fails if
/// `run.toml` or a record is invalid.
pub(super) fn finished_runs(job: &TrainingJob) -> Result<Vec<RunRecord>> {
    let Some(folder) = existing_folder(job)? else { return Ok(vec![]) };
    job.request.seeds().filter_map(|seed| folder.record(seed).transpose()).collect()
}

/// The receipt and the records of a job; `None` unless its folder contains the same request, all of its runs and
/// the receipt. Fails if one of these files is invalid.
pub(super) fn finished_job(job: &TrainingJob) -> Result<Option<(RunReceipt, Vec<RunRecord>)>> {
    let Some(folder) = existing_folder(job)? else { return Ok(None) };
    let (receipt, records) = (folder.receipt()?, finished_runs(job)?);
    Ok(receipt.filter(|_| records.len() == job.request.runs).map(|receipt| (receipt, records)))
}

/// Returns all values, or the first error that is not [`Error::Interrupted`]; that one is returned only if there is
/// no other, because callers interrupt the remaining tasks after a failure.
pub(super) fn all_or_first_error<T>(
    results: impl IntoIterator<Item = Result<T>>,
) -> Result<Vec<T>> {
    let (values, failures): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let mut failures: Vec<Error> = failures.into_iter().filter_map(Result::err).collect();
    failures.sort_by_key(|error| matches!(error, Error::Interrupted));
    match failures.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(values.into_iter().flatten().collect()),
    }
}

/// The folder of a job, if it exists and contains the same request. Fails if its `run.toml` is invalid.
fn existing_folder(job: &TrainingJob) -> Result<Option<RunFolder>> {
    let folder = job.folder.as_deref().filter(|path| path.join("run.toml").exists());
    let found = folder.map(RunFolder::open_existing).transpose()?;
    let same = |request: &Request| request.to_toml() == job.request.to_toml();
    Ok(found.filter(|(_, request)| same(request)).map(|(folder, _)| folder))
}

/// State shared by the worker threads.
struct Scheduler<'a> {
    jobs: &'a [TrainingJob],
    options: &'a RunOptions<'a>,
    datasets: DatasetCache,
    /// Jobs whose runs need more bytes than this are postponed until the others have ended.
    max_bytes: usize,
    queue: Mutex<JobQueue<'a>>,
    /// Signalled when a worker has finished starting a job, successfully or not.
    started: Condvar,
}

/// The jobs by their state, and the results.
struct JobQueue<'a> {
    /// Indices of jobs that have not started.
    waiting: VecDeque<usize>,
    /// Number of workers that are starting a job, see [`Scheduler::start_job`].
    starting: usize,
    /// Indices of jobs postponed because of their memory.
    large: Vec<usize>,
    /// Whether large jobs may start now.
    large_allowed: bool,
    /// Started jobs with runs left, and the index of the next run.
    active: Vec<(Arc<ActiveJob<'a>>, usize)>,
    /// One entry per job, `None` until the job has ended.
    results: Vec<Option<Result<Summary>>>,
}

impl<'a> Scheduler<'a> {
    fn new(jobs: &'a [TrainingJob], options: &'a RunOptions<'a>, max_bytes: usize) -> Self {
        let queue = JobQueue {
            waiting: (0..jobs.len()).collect(),
            starting: 0,
            large: vec![],
            large_allowed: false,
            active: vec![],
            results: jobs.iter().map(|_| None).collect(),
        };
        let (datasets, queue, started) =
            (DatasetCache::default(), Mutex::new(queue), Condvar::new());
        Self { jobs, options, datasets, max_bytes, queue, started }
    }

    fn lock_queue(&self) -> MutexGuard<'_, JobQueue<'a>> {
        self.queue.lock().expect("no code panics while holding the lock")
    }

    /// Queues the postponed jobs and allows them to start.
    fn admit_large_jobs(&self) {
        let mut queue = self.lock_queue();
        queue.large_allowed = true;
        queue.waiting = std::mem::take(&mut queue.large).into();
    }

    /// Trains runs until none can be started.
    fn work(&self, threads: usize) {
        while let Some((job, run)) = self.take_next_run() {
            job.train_run(run, threads);
            if let Some(result) = job.take_result_if_complete() {
                self.lock_queue().results[job.index] = Some(result);
            }
        }
    }

    /// Takes the next run of a started job; starts waiting jobs if none has a run left. Waits while other workers
    /// are starting the last jobs. `None` if there is no such run, or the jobs are cancelled.
    fn take_next_run(&self) -> Option<(Arc<ActiveJob<'a>>, usize)> {
        let mut queue = self.lock_queue();
        while !self.options.cancel.load(Ordering::Relaxed) {
            if let Some((job, next)) = queue.active.first_mut() {
                let run = (Arc::clone(job), *next);
                *next += 1;
                if *next == job.n_runs() {
                    queue.active.remove(0);
                }
                return Some(run);
            }
            queue = match queue.waiting.pop_front() {
                Some(index) => self.start_job(index, queue),
                None if queue.starting == 0 => break,
                None => self.started.wait(queue).expect("no code panics while holding the lock"),
            };
        }
        None
    }

    /// Starts a job: loads the graph and compiles the model, with the queue unlocked for other workers, and locks
    /// it again. The job then becomes active, is postponed because of its memory, or has failed.
    fn start_job<'s>(
        &'s self,
        index: usize,
        mut queue: MutexGuard<'s, JobQueue<'a>>,
    ) -> MutexGuard<'s, JobQueue<'a>> {
        queue.starting += 1;
        drop(queue);
        let _guard = StartGuard(self);
        let job = ActiveJob::new(index, &self.jobs[index], self.options, &self.datasets);
        let mut queue = self.lock_queue();
        queue.starting -= 1;
        match job {
            Err(error) => queue.results[index] = Some(Err(error)),
            Ok(job) if job.bytes_per_run() > self.max_bytes && !queue.large_allowed => {
                queue.large.push(index);
            }
            Ok(job) => queue.active.push((Arc::new(job), 0)),
        }
        self.started.notify_all();
        queue
    }

    /// The results of all jobs; [`Error::Interrupted`] for those that have not ended.
    fn results(self) -> Vec<Result<Summary>> {
        let queue = self.queue.into_inner().expect("all workers are done");
        let results = queue.results.into_iter();
        results.map(|result| result.unwrap_or(Err(Error::Interrupted))).collect()
    }
}

/// Notifies the other workers if the one that starts a job panics; otherwise they would wait forever.
struct StartGuard<'s, 'a>(&'s Scheduler<'a>);

impl Drop for StartGuard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock_queue().starting -= 1;
            self.0.started.notify_all();
        }
    }
}

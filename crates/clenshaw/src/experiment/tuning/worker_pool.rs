//! The workers of a study: each runs one trial after another until the study ends.
//!
//! A worker that starts a trial holds the lock until the trial's parameters are stored, so that the next
//! proposal takes them into account. Trials of other processes count towards the target as well (see
//! `TrialSource::n_counted`), but the workers do not wait for trials that other processes are running.

mod execute;

use super::TuneEvent;
use super::evaluate::StudyContext;
use super::result::StudyEnd;
use crate::error::Result;
use clenshaw_tune::Trial;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A study ends with an error after this many trials in a row that diverged or did not fit into memory, unless
/// the study has already ended for another reason.
const MAX_FAILED: usize = 20;
/// How often a waiting worker checks whether it can start a trial or must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How often a process checks whether another one has requested a stop.
const STOP_INTERVAL: Duration = Duration::from_secs(1);

/// The state shared by the workers of this process.
struct WorkerPool<'a> {
    context: &'a StudyContext<'a>,
    deadline: Option<Instant>,
    /// Whether the study has ended with an error or a panic.
    failed: AtomicBool,
    status: Mutex<PoolStatus>,
    /// Signalled when a trial or the study has ended.
    changed: Condvar,
}

/// The part of the state that is protected by the lock.
#[derive(Default)]
struct PoolStatus {
    /// Ids of the trials that our workers are running.
    running: BTreeSet<u64>,
    /// Number of trials in a row that diverged or did not fit into memory, up to the last one that ended.
    n_failed: usize,
    /// How the study ended; `None` while it runs.
    end: Option<Result<StudyEnd>>,
}

/// What a worker does next.
enum NextStep {
    Run(Box<Trial>),
    Wait,
    End(StudyEnd),
}

/// Runs trials until the study is complete, exhausted, cancelled or past the deadline, and returns which of
/// these ended it. Fails with the first error of a worker, or after [`MAX_FAILED`] trials in a row that diverged or
/// did not fit into memory.
///
/// # Panics
/// If a worker panics; the other workers then interrupt their trials.
pub(in crate::experiment) fn run_trials(
    context: &StudyContext<'_>,
    deadline: Option<Instant>,
) -> Result<StudyEnd> {
    let (status, changed) = (Mutex::default(), Condvar::new());
    let pool = WorkerPool { context, deadline, failed: AtomicBool::new(false), status, changed };
    let jobs = context.options.jobs.clamp(1, context.source.target());
    let threads = (context.options.threads / jobs).max(1);
    let (done, heartbeat) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (pool, interval) = (&pool, context.storage.heartbeat_interval());
        scope.spawn(move || {
            let mut last = Instant::now();
            while heartbeat.recv_timeout(STOP_INTERVAL.min(interval))
                == Err(RecvTimeoutError::Timeout)
            {
                pool.check_stop_request();
                if last.elapsed() >= interval {
                    pool.send_heartbeats();
                    last = Instant::now();
                }
            }
        });
        let others: Vec<_> = (1..jobs).map(|_| scope.spawn(|| pool.work(threads))).collect();
        pool.work(threads);
        for other in others {
            other.join().expect("a worker panicked");
        }
        drop(done);
    });
    let status = pool.status.into_inner().expect("all workers are done");
    status.end.expect("workers return when the study has ended")
}

impl WorkerPool<'_> {
    /// Runs trials, each with this number of threads, until the study has ended.
    fn work(&self, threads: usize) {
        while let Some(trial) = self.start_next_trial() {
            let guard = TrialGuard { pool: self, trial: trial.id };
            let result = self.run_trial(&trial, threads);
            drop(guard);
            let mut status = self.lock_status();
            status.running.remove(&trial.id);
            match result {
                Ok(None) => status.n_failed = 0,
                Ok(Some(error)) => {
                    status.n_failed += 1;
                    if status.n_failed >= MAX_FAILED {
                        self.end(&mut status, Err(error));
                    }
                }
                Err(error) => self.end(&mut status, Err(error)),
            }
            self.changed.notify_all();
        }
    }

    fn lock_status(&self) -> MutexGuard<'_, PoolStatus> {
        self.status.lock().expect("a worker panicked while holding the lock")
    }

    /// Ends the study; only the first reason is kept.
    fn end(&self, status: &mut PoolStatus, end: Result<StudyEnd>) {
        self.failed.fetch_or(end.is_err(), Ordering::Relaxed);
        status.end.get_or_insert(end);
        self.changed.notify_all();
    }

    /// Why workers must stop before the study is complete: it is cancelled, has failed or is past its
    /// deadline. `None` if they may continue.
    fn early_end(&self) -> Option<StudyEnd> {
        let cancelled = self.context.options.cancel.load(Ordering::Relaxed);
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match cancelled || self.failed.load(Ordering::Relaxed) {
            true => Some(StudyEnd::Interrupted),
            false => late.then_some(StudyEnd::TimedOut),
        }
    }

    /// Starts the next trial, waiting if necessary; `None` when the study has ended.
    fn start_next_trial(&self) -> Option<Box<Trial>> {
        let mut status = self.lock_status();
        while status.end.is_none() {
            match self.next_step(&status) {
                Ok(NextStep::Run(trial)) => {
                    status.running.insert(trial.id);
                    return Some(trial);
                }
                Ok(NextStep::Wait) => {
                    let waited = self.changed.wait_timeout(status, POLL_INTERVAL);
                    status = waited.expect("a worker panicked while holding the lock").0;
                }
                Ok(NextStep::End(end)) => self.end(&mut status, Ok(end)),
                Err(error) => self.end(&mut status, Err(error)),
            }
        }
        None
    }

    /// Returns `End` if the study must end early. Otherwise starts a trial if more are needed and untried
    /// configurations are left; if not, returns `Wait` while our workers are running trials, and `End` once
    /// none are.
    fn next_step(&self, status: &PoolStatus) -> Result<NextStep> {
        if let Some(end) = self.early_end() {
            return Ok(NextStep::End(end));
        }
        let StudyContext { source, ref study, .. } = *self.context;
        let (n_counted, target) = (source.n_counted(&study.trials()?), source.target());
        if n_counted + status.running.len() < target
            && let Some(trial) =
                study.ask_params(|trials, next| source.next_params(trials, next))?
        {
            return Ok(NextStep::Run(trial.into()));
        }
        Ok(match status.running.is_empty() {
            false => NextStep::Wait,
            true if n_counted >= target => NextStep::End(StudyEnd::TrialsCompleted),
            true => NextStep::End(StudyEnd::SpaceExhausted),
        })
    }

    /// If another process has requested a stop, sets the flag that stops the workers.
    fn check_stop_request(&self) {
        let StudyContext { ref stop, options, .. } = *self.context;
        if !options.cancel.load(Ordering::Relaxed)
            && stop.is_requested()
            && !options.cancel.swap(true, Ordering::Relaxed)
        {
            (options.on_event)(TuneEvent::StopRequested);
        }
    }

    /// Sends one heartbeat for each of our running trials, and requeues the trials of dead workers.
    ///
    /// Errors are ignored: if the storage keeps failing, the workers' own calls fail too, and [`run_trials`] returns
    /// their error.
    fn send_heartbeats(&self) {
        let StudyContext { storage, ref study, .. } = *self.context;
        let running = self.lock_status().running.clone();
        running.iter().for_each(|trial| drop(storage.record_heartbeat(*trial)));
        drop(storage.requeue_stale_trials(study.id()));
    }
}

/// Ends the study if the worker that runs this trial panics; the other workers would wait for the trial
/// forever otherwise.
struct TrialGuard<'p, 'a> {
    pool: &'p WorkerPool<'a>,
    /// The id of the trial.
    trial: u64,
}

impl Drop for TrialGuard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.pool.failed.store(true, Ordering::Relaxed);
            // If the lock is poisoned, the other workers panic instead of waiting.
            if let Ok(mut status) = self.pool.status.lock() {
                status.running.remove(&self.trial);
            }
            self.pool.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Store;
    use crate::experiment::Request;
    use crate::experiment::tuning::evaluate::ModelTrials;
    use crate::experiment::tuning::stop::StopListener;
    use crate::experiment::tuning::{DIRECTION, TuneEvent, TuneOptions, TuneRequest};
    use clenshaw_tune::{JournalStorage, Study};
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;

    #[test]
    fn panic_in_a_trial_ends_the_study() {
        let folder = tempfile::tempdir().unwrap();
        let storage = JournalStorage::open(folder.path().join("s.journal")).unwrap();
        let request = TuneRequest::new(Request::new("csbm:nodes=60", "gcn").unwrap(), "s");
        let dataset = Arc::new(request.training.load(&Store::new(None)).unwrap());
        let options = TuneOptions {
            threads: 1,
            jobs: 2,
            timeout: None,
            store: &Store::new(None),
            on_event: &|event| {
                if let TuneEvent::Started { .. } = event {
                    resume_unwind(Box::new("an error in a callback"));
                }
            },
            cancel: &AtomicBool::new(false),
        };
        let study = Study::open(&storage, &request.study, DIRECTION).unwrap();
        let source = ModelTrials {
            request: &request,
            pruner: request.build_pruner(),
            dataset: &dataset,
            splits: &request.training.splits(&dataset).unwrap(),
        };
        let context = StudyContext {
            source: &source,
            storage: &storage,
            stop: StopListener::new(&storage, study.id()).unwrap(),
            study,
            options: &options,
        };
        let pool = WorkerPool {
            context: &context,
            deadline: None,
            failed: AtomicBool::new(false),
            status: Mutex::default(),
            changed: Condvar::new(),
        };
        assert!(catch_unwind(AssertUnwindSafe(|| pool.work(1))).is_err());
        // Another worker neither waits for the trial nor starts one.
        assert!(pool.lock_status().running.is_empty());
        assert!(pool.start_next_trial().is_none());
        assert!(matches!(pool.lock_status().end, Some(Ok(StudyEnd::Interrupted))));
        assert!(catch_unwind(AssertUnwindSafe(|| run_trials(&context, None))).is_err());
    }
}

//! Carrying out a request.

use super::folder::{Files, Folder, Receipt, json};
use super::{Predictions, Record, Request, Summary};
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::tensor::Mat;
use crate::train::{Epoch, Fit, Outcome, Setup, test_scores, write_weights};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs go side by side, one thread each, while their memory together stays below this.
const SIDE_BY_SIDE_BYTES: usize = 1 << 30;
/// A run in progress is saved this often, so that not even a power cut costs more.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

/// How to carry a request out; none of it changes a result.
pub struct Options<'a> {
    /// Threads at most.
    pub threads: usize,
    /// Where files are looked for.
    pub store: &'a Store,
    /// The run folder, if anything is to be kept.
    pub out: Option<PathBuf>,
    /// Keep the finished runs of the folder and go on with the others.
    pub resume: bool,
    /// Sees what happens, from several threads.
    pub watch: &'a (dyn Fn(Event<'_>) + Sync),
    /// Set it to stop early; what is finished is kept.
    pub cancel: &'a AtomicBool,
}

/// What happens; runs are counted from zero.
pub enum Event<'a> {
    /// The graph is there.
    Loaded {
        /// The graph.
        dataset: &'a Dataset,
    },
    /// A run begins, or goes on.
    Started {
        /// Which run.
        run: usize,
        /// Its seed.
        seed: u64,
        /// Epochs at most.
        max_epochs: usize,
        /// Epochs it had done before it was interrupted.
        epochs_done: usize,
    },
    /// An epoch is over.
    Epoch {
        /// Which run.
        run: usize,
        /// What it brought.
        epoch: &'a Epoch,
    },
    /// A run is over.
    Finished {
        /// Which run.
        run: usize,
        /// What it was worth.
        record: &'a Record,
    },
}

/// Trains every run of a request and sums them up.
///
/// ```
/// use clenshaw::data::Store;
/// use clenshaw::experiment::{Options, Request, run};
/// use std::sync::atomic::AtomicBool;
///
/// let mut request = Request::new("csbm:nodes=100", "gcn")?;
/// request.set("max_epochs", "5")?;
/// request.runs = 2;
/// let cancel = AtomicBool::new(false);
/// let options = Options {
///     threads: 2,
///     store: &Store::new(None),
///     out: None,
///     resume: false,
///     watch: &|_| {},
///     cancel: &cancel,
/// };
/// let summary = run(&request, &options)?;
/// assert_eq!(summary.runs.len(), 2);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn run(request: &Request, options: &Options<'_>) -> Result<Summary> {
    let start = Instant::now();
    request.check()?;
    let dataset = request.load(options.store)?;
    (options.watch)(Event::Loaded { dataset: &dataset });
    let seeds = (0..request.runs as u64).map(|i| request.seed + i);
    let splits: Vec<Split> =
        seeds.map(|seed| request.split.draw(&dataset, seed)).collect::<Result<_>>()?;
    let folder = options.out.as_deref().map(|out| Folder::open(out, request, options.resume));
    let setup = Setup::new(&dataset, request.model, request.hyper.clone());
    let job = Job { request, options, dataset, splits, setup, folder: folder.transpose()? };
    let records = job.all_runs()?;
    let seconds = start.elapsed().as_secs_f64();
    let summary = Summary::new(request, &job.dataset.warnings, records, seconds);
    if let Some(folder) = &job.folder {
        let (seed, threads) = (request.seed, options.threads);
        folder
            .finish(&summary, &Receipt::new(&job.dataset, seed, &job.splits, threads, seconds))?;
    }
    Ok(summary)
}

struct Job<'a> {
    request: &'a Request,
    options: &'a Options<'a>,
    dataset: Dataset,
    splits: Vec<Split>,
    setup: Setup,
    folder: Option<Folder>,
}

impl Job<'_> {
    fn all_runs(&self) -> Result<Vec<Record>> {
        let (workers, threads) = self.workers();
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let results: Vec<_> = (0..self.request.runs).map(|_| Mutex::new(None)).collect();
        let work = || {
            while !failed.load(Ordering::Relaxed) {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = results.get(i) else { break };
                let result = self.one_run(i, threads, &failed);
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                *slot.lock().expect("a worker that panics ends the program") = Some(result);
            }
        };
        std::thread::scope(|scope| {
            (1..workers).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let slots = results.into_iter().map(|slot| slot.into_inner().ok().flatten());
        let done: Vec<Result<Record>> = slots.flatten().collect();
        // Somebody's failure stops the others; report the failure and not their interruption.
        let (records, failures): (Vec<_>, Vec<_>) = done.into_iter().partition(Result::is_ok);
        let mut failures: Vec<Error> = failures.into_iter().filter_map(Result::err).collect();
        failures.sort_by_key(|error| matches!(error, Error::Interrupted));
        match failures.into_iter().next() {
            Some(error) => Err(error),
            None => records.into_iter().collect(),
        }
    }

    /// How many runs at once, and how many threads for each.
    fn workers(&self) -> (usize, usize) {
        let threads = self.options.threads.max(1);
        let side_by_side = threads.min(self.request.runs);
        if side_by_side * self.setup.plan().workspace_bytes() <= SIDE_BY_SIDE_BYTES {
            (side_by_side, threads / side_by_side)
        } else {
            (1, threads)
        }
    }

    fn one_run(&self, i: usize, threads: usize, failed: &AtomicBool) -> Result<Record> {
        let (start, watch) = (Instant::now(), self.options.watch);
        let (seed, split) = (self.request.seed + i as u64, &self.splits[i]);
        if let Some(folder) = &self.folder
            && let Some(record) = folder.record(seed)?
        {
            watch(Event::Finished { run: i, record: &record });
            return Ok(record);
        }
        let mut fit = Fit::new(&self.setup, &self.dataset, split, seed, threads);
        if let Some((place, bytes)) = self.folder.as_ref().and_then(|f| f.checkpoint(seed)) {
            fit.restore(&place, &bytes)?;
        }
        let max_epochs = self.request.hyper.int("max_epochs");
        let epochs_done = fit.history().len();
        watch(Event::Started { run: i, seed, max_epochs, epochs_done });
        self.train(&mut fit, i, seed, failed)?;

        let outcome = fit.outcome();
        let record = self.record(seed, split, &outcome, start.elapsed().as_secs_f64());
        if let Some(folder) = &self.folder {
            folder.finish_run(seed, self.files(split, outcome, &record))?;
        }
        watch(Event::Finished { run: i, record: &record });
        Ok(record)
    }

    fn train(&self, fit: &mut Fit<'_>, i: usize, seed: u64, failed: &AtomicBool) -> Result<()> {
        let mut saved = Instant::now();
        let mut trouble = None;
        let ended = fit.run(|fit, epoch| {
            (self.options.watch)(Event::Epoch { run: i, epoch });
            let stop =
                self.options.cancel.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            if let Some(folder) = &self.folder
                && (stop || saved.elapsed() > CHECKPOINT_EVERY)
            {
                trouble = folder.keep_checkpoint(seed, &fit.checkpoint()).err();
                saved = Instant::now();
            }
            !stop && trouble.is_none()
        });
        trouble.map_or(ended, Err)
    }

    fn record(&self, seed: u64, split: &Split, outcome: &Outcome, seconds: f64) -> Record {
        let scores = test_scores(&outcome.probabilities, &self.dataset, split);
        Record {
            seed,
            split: split.provenance.clone(),
            split_sha256: split.sha256(),
            epochs: outcome.history.len(),
            best_epoch: outcome.best.epoch,
            val_loss: outcome.best.val_loss,
            val_accuracy: outcome.best.val_accuracy,
            test_accuracy: scores.accuracy,
            macro_f1: scores.macro_f1,
            balanced_accuracy: scores.balanced_accuracy,
            majority_share: scores.majority_share,
            roc_auc: scores.roc_auc,
            filter: self.setup.filter(&outcome.weights),
            seconds,
        }
    }

    fn files(&self, split: &Split, outcome: Outcome, record: &Record) -> Files {
        let line = |epoch| serde_json::to_string(epoch).expect("plain numbers") + "\n";
        let epochs: String = outcome.history.iter().map(line).collect();
        let metadata = serde_json::json!({
            "model": self.request.model.name,
            "graph": self.request.graph,
            "hyper": self.request.hyper,
            "classes": self.dataset.class_names,
            "seed": record.seed,
        });
        let weights: Vec<(String, Mat<f32>)> = self.setup.named(&outcome.weights);
        let predictions = Predictions::new(&self.dataset, Some(split), outcome.probabilities);
        vec![
            ("epochs.jsonl", epochs.into_bytes()),
            ("model.safetensors", write_weights(&weights, &metadata.to_string())),
            ("predictions.csv", predictions.to_csv().into_bytes()),
            ("record.json", json(record)),
        ]
    }
}

//! A training job in progress: its graph, its compiled model, its folder and the results so far.

use super::folder::{DataFingerprint, RunFiles, RunFolder, RunReceipt, json};
use super::progress::ProgressWriter;
use super::scheduler::{RunEvent, RunOptions, TrainingJob, all_or_first_error};
use super::{Predictions, Request, RunRecord, Summary};
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::graph::{Normalisation, dirichlet_energy, operator};
use crate::memory;
use crate::tensor::{self, Mat};
use crate::train::{
    Fit, ModelProvenance, Outcome, PrecomputeOptions, RunEnd, Setup, TrainedModel, test_scores,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// After this time, the next epoch ends with a checkpoint, so that little work is lost in a crash.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);

/// The graphs that jobs are using, so that jobs on the same graph share it.
#[derive(Default)]
pub(super) struct DatasetCache {
    /// From the graph, whether the split is published, and the table options, to the loaded graph. A graph is
    /// freed with the last job that uses it.
    loaded: Mutex<HashMap<(String, bool, String), Weak<Dataset>>>,
}

impl DatasetCache {
    /// Returns the graph of a request; loads it unless a job is using it.
    fn load(&self, request: &Request, store: &Store) -> Result<Arc<Dataset>> {
        let table = format!("{:?}", request.table);
        let key = (request.graph.clone(), request.split.is_published(), table);
        let mut loaded = self.loaded.lock().expect("loading does not panic");
        if let Some(dataset) = loaded.get(&key).and_then(Weak::upgrade) {
            return Ok(dataset);
        }
        let dataset = Arc::new(request.load(store)?);
        loaded.insert(key, Arc::downgrade(&dataset));
        Ok(dataset)
    }
}

/// Compiles the model of a request. The terms of a precomputed filter that do not fit into memory are stored in the
/// cache.
fn compile(
    index: usize,
    request: &Request,
    dataset: &Arc<Dataset>,
    options: &RunOptions<'_>,
) -> Result<Setup> {
    let on_progress = |progress| {
        (options.on_event)(index, RunEvent::Precomputed { progress });
        match options.cancel.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let folder = options.store.precomputed_folder();
    let precompute = PrecomputeOptions {
        budget: None,
        folder: folder.as_deref(),
        threads: options.threads,
        on_progress: &on_progress,
    };
    Setup::precomputing(dataset.clone(), request.model, request.hyper.clone(), &precompute)
}

/// A training job in progress.
pub(super) struct ActiveJob<'a> {
    /// Index in the list of jobs.
    pub index: usize,
    request: &'a Request,
    options: &'a RunOptions<'a>,
    dataset: Arc<Dataset>,
    data_sha256: String,
    splits: Vec<Split>,
    setup: Arc<Setup>,
    /// The run folder, if results are kept, and the fingerprint of the data and splits.
    folder: Option<(RunFolder, DataFingerprint)>,
    start: Instant,
    /// Whether a run of this job has failed or was interrupted.
    failed: AtomicBool,
    /// One entry per run, `None` until the run has ended; empty once the summary has been taken.
    results: Mutex<Vec<Option<Result<RunRecord>>>>,
}

impl<'a> ActiveJob<'a> {
    /// Loads the graph, draws the splits, opens the folder and compiles the model; fails if one of these steps
    /// fails or the request is invalid.
    pub fn new(
        index: usize,
        TrainingJob { request, folder }: &'a TrainingJob,
        options: &'a RunOptions<'a>,
        datasets: &DatasetCache,
    ) -> Result<Self> {
        let start = Instant::now();
        request.check()?;
        let dataset = datasets.load(request, options.store)?;
        (options.on_event)(index, RunEvent::Loaded { dataset: &dataset });
        let splits = request.splits(&dataset)?;
        let data_sha256 = dataset.sha256();
        let open = |path: &Path| {
            let fingerprint = DataFingerprint::new(data_sha256.clone(), request.seed, &splits);
            let folder = RunFolder::open(path, request, &fingerprint, options.resume)?;
            Ok::<_, Error>((folder, fingerprint))
        };
        let folder = folder.as_deref().map(open).transpose()?;
        let setup = Arc::new(compile(index, request, &dataset, options)?);
        let additional_work = setup.plan().recomputed_fraction();
        if additional_work > 0.0 {
            (options.on_event)(index, RunEvent::Recomputing { additional_work });
        }
        let results = Mutex::new((0..request.runs).map(|_| None).collect());
        let failed = AtomicBool::new(false);
        Ok(Self {
            index,
            request,
            options,
            dataset,
            data_sha256,
            splits,
            setup,
            folder,
            start,
            failed,
            results,
        })
    }

    /// Number of runs.
    pub fn n_runs(&self) -> usize {
        self.request.runs
    }

    /// Memory that one run needs, in bytes, see [`Setup::bytes_per_run`].
    pub fn bytes_per_run(&self) -> usize {
        self.setup.bytes_per_run()
    }

    /// Loads or trains run `i` and stores its result, which is [`Error::Interrupted`] if another run has
    /// already failed.
    pub fn train_run(&self, i: usize, threads: usize) {
        let result = match self.failed.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => self.load_or_train(i, threads),
        };
        // The run has freed its memory.
        tensor::release_free_memory();
        self.failed.fetch_or(result.is_err(), Ordering::Relaxed);
        self.lock_results()[i] = Some(result);
    }

    /// Returns the summary of all runs, or an error, once: in the first call after the last run has ended.
    /// Other calls return `None`.
    pub fn take_result_if_complete(&self) -> Option<Result<Summary>> {
        let mut results = self.lock_results();
        if results.is_empty() || results.iter().any(Option::is_none) {
            return None;
        }
        let results = std::mem::take(&mut *results).into_iter().flatten();
        Some(all_or_first_error(results).and_then(|records| self.summarise(records)))
    }

    /// Summarises all runs; writes the summary and the receipt if there is a folder.
    fn summarise(&self, records: Vec<RunRecord>) -> Result<Summary> {
        let (request, seconds) = (self.request, self.start.elapsed().as_secs_f64());
        let mut warnings = self.dataset.warnings.clone();
        warnings.extend(self.splits[0].class_warnings(&self.dataset));
        let summary = Summary::new(request, self.dataset.metric, warnings, records, seconds);
        if let Some((folder, fingerprint)) = &self.folder {
            let threads = self.options.threads;
            let receipt = RunReceipt::new(&self.dataset, fingerprint.clone(), threads, seconds);
            folder.finish(&summary, &receipt)?;
        }
        Ok(summary)
    }

    fn lock_results(&self) -> MutexGuard<'_, Vec<Option<Result<RunRecord>>>> {
        self.results.lock().expect("no code panics while holding the lock")
    }

    fn emit(&self, event: RunEvent<'_>) {
        (self.options.on_event)(self.index, event);
    }

    /// Returns the record of a run: reads it if the run is finished; otherwise trains the run, from its
    /// checkpoint if there is one, and writes its files if there is a folder.
    fn load_or_train(&self, i: usize, threads: usize) -> Result<RunRecord> {
        let (seed, split) = (self.request.seed + i as u64, &self.splits[i]);
        let folder = self.folder.as_ref().map(|(folder, _)| folder);
        if let Some(folder) = folder
            && let Some(record) = folder.record(seed)?
        {
            self.emit(RunEvent::Finished { run: i, record: &record });
            return Ok(record);
        }
        let mut fit = Fit::new(self.setup.clone(), split, seed, threads)?;
        if let Some((place, bytes)) = folder.and_then(|folder| folder.checkpoint(seed)) {
            fit.restore(&place, &bytes)?;
        }
        let max_epochs = self.request.hyper.int("max_epochs");
        let epochs_done = fit.history().len();
        self.emit(RunEvent::Started { run: i, seed, max_epochs, epochs_done });
        self.train(&mut fit, i, seed)?;

        let outcome = fit.outcome()?;
        let record = self.record(seed, split, &outcome, &fit)?;
        if let Some(folder) = folder {
            folder.finish_run(seed, self.files(split, outcome, &record, fit.setup()))?;
        }
        self.emit(RunEvent::Finished { run: i, record: &record });
        Ok(record)
    }

    /// Trains to the end; fails if training diverges. Returns [`Error::Interrupted`] if the job is cancelled or
    /// another run fails before that. If there is a folder, saves the progress and checkpoints, also when
    /// interrupted, and fails if the folder was removed or a checkpoint cannot be written.
    fn train(&self, fit: &mut Fit, i: usize, seed: u64) -> Result<()> {
        let folder = self.folder.as_ref().map(|(folder, _)| folder);
        // Nothing is written to a folder that has replaced this one.
        folder.map(RunFolder::check_presence).transpose()?;
        let mut progress = folder.map(|folder| {
            let max_epochs = self.request.hyper.int("max_epochs");
            ProgressWriter::start(folder.progress_path(seed), max_epochs, fit)
        });
        let result = self.train_with(fit, i, seed, progress.as_mut());
        if let Some(progress) = progress {
            let failure = result.as_ref().err().filter(|e| !matches!(e, Error::Interrupted));
            progress.end(fit, failure);
        }
        result
    }

    /// As [`train`](Self::train), with the writer of the progress file.
    fn train_with(
        &self,
        fit: &mut Fit,
        i: usize,
        seed: u64,
        mut progress: Option<&mut ProgressWriter>,
    ) -> Result<()> {
        let mut saved = Instant::now();
        let mut save_error = None;
        let ended = fit.run(|fit, epoch| {
            self.emit(RunEvent::Epoch { run: i, epoch });
            if progress.as_mut().is_some_and(|progress| progress.update(fit)) {
                self.check_stop_request();
            }
            let cancelled = self.options.cancel.load(Ordering::Relaxed);
            let stop = cancelled || self.failed.load(Ordering::Relaxed);
            if let Some((folder, _)) = &self.folder
                && (stop || saved.elapsed() > CHECKPOINT_INTERVAL)
            {
                save_error = folder.save_checkpoint(seed, &fit.checkpoint()).err();
                saved = Instant::now();
            }
            match stop || save_error.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match (save_error, ended?) {
            (Some(error), _) => Err(error),
            (None, RunEnd::Stopped) => Err(Error::Interrupted),
            (None, RunEnd::Finished) => Ok(()),
        }
    }

    /// If another process has requested a stop, sets the flag that stops all jobs; sends
    /// [`RunEvent::StopRequested`] if it was not set yet.
    fn check_stop_request(&self) {
        if self.folder.as_ref().is_some_and(|(folder, _)| folder.take_stop_request())
            && !self.options.cancel.swap(true, Ordering::Relaxed)
        {
            self.emit(RunEvent::StopRequested);
        }
    }

    /// The record of a run, which includes its scores on the test nodes.
    fn record(&self, seed: u64, split: &Split, outcome: &Outcome, fit: &Fit) -> Result<RunRecord> {
        let scores = test_scores(&outcome.probabilities, &self.dataset, split)?;
        Ok(RunRecord {
            seed,
            split: split.provenance().to_owned(),
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
            filter: outcome.filter.clone(),
            energy: outcome.hidden.as_ref().and_then(|hidden| self.energy(hidden)),
            instructions: tensor::instruction_set().into(),
            seconds: fit.seconds(),
            forecast_memory_bytes: fit.forecast_bytes(),
            peak_memory_bytes: memory::peak_resident_bytes(),
        })
    }

    /// The relative Dirichlet energy of the last hidden layer; `None` if the layer is zero.
    fn energy(&self, hidden: &Mat<f32>) -> Option<f64> {
        let p = operator(&self.dataset.graph, Normalisation::Looped);
        dirichlet_energy(&p, &hidden.cast())
    }

    /// The names and contents of the files of a finished run.
    fn files(
        &self,
        split: &Split,
        outcome: Outcome,
        record: &RunRecord,
        setup: &Setup,
    ) -> RunFiles {
        let line = |epoch| serde_json::to_string(epoch).expect("numbers only") + "\n";
        let epochs: String = outcome.history.iter().map(line).collect();
        let filters = outcome.filters.iter();
        let filters: String = filters
            .map(|filter| serde_json::to_string(filter).expect("finite numbers") + "\n")
            .collect();
        let provenance = ModelProvenance {
            graph: self.request.graph.clone(),
            data_sha256: self.data_sha256.clone(),
            split: record.split.clone(),
            seed: record.seed,
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let model = TrainedModel::new(setup, &outcome.weights, provenance);
        let predictions = Predictions::new(&self.dataset, Some(split), outcome.probabilities);
        let all: Vec<usize> = (0..self.dataset.graph.n_nodes()).collect();
        vec![
            ("epochs.jsonl", epochs.into_bytes()),
            ("filters.jsonl", filters.into_bytes()),
            ("model.safetensors", model.to_bytes()),
            ("predictions.csv", predictions.to_csv(&all).into_bytes()),
            ("record.json", json(record)),
        ]
    }
}

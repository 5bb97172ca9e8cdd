//! One order being carried out: its graph, its compiled model, its folder and its finished runs.

use super::folder::{Files, Folder, Ground, Receipt, json};
use super::run::{Event, Options, Order};
use super::{Predictions, Record, Request, Summary};
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::graph::{Normalisation, dirichlet_energy, operator};
use crate::tensor::Mat;
use crate::train::{Fit, Outcome, Setup, test_scores, write_weights};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// A run in progress is saved this often, so that not even a power cut costs more.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

/// Graphs that some order still needs, each loaded once.
#[derive(Default)]
pub(super) struct Graphs {
    loaded: Mutex<HashMap<(String, bool), Weak<Dataset>>>,
}

impl Graphs {
    fn load(&self, request: &Request, store: &Store) -> Result<Arc<Dataset>> {
        let key = (request.graph.clone(), request.split.is_published());
        let mut loaded = self.loaded.lock().expect("loading returns its errors");
        if let Some(dataset) = loaded.get(&key).and_then(Weak::upgrade) {
            return Ok(dataset);
        }
        let dataset = Arc::new(request.load(store)?);
        loaded.insert(key, Arc::downgrade(&dataset));
        Ok(dataset)
    }
}

pub(super) struct Job<'a> {
    /// Its number in the list of orders.
    pub order: usize,
    request: &'a Request,
    options: &'a Options<'a>,
    dataset: Arc<Dataset>,
    splits: Vec<Split>,
    setup: Setup,
    /// Where it is kept, if anywhere, and what its runs stand on.
    folder: Option<(Folder, Ground)>,
    start: Instant,
    /// A run of this order has failed.
    failed: AtomicBool,
    results: Mutex<Vec<Option<Result<Record>>>>,
}

impl<'a> Job<'a> {
    /// Draws the splits and compiles the model.
    pub fn new(
        order: usize,
        Order { request, out }: &'a Order,
        options: &'a Options<'a>,
        graphs: &Graphs,
    ) -> Result<Self> {
        let start = Instant::now();
        request.check()?;
        let dataset = graphs.load(request, options.store)?;
        (options.watch)(order, Event::Loaded { dataset: &dataset });
        let splits = request.splits(&dataset)?;
        let open = |out: &Path| {
            let ground = Ground::new(dataset.sha256(), request.seed, &splits);
            Folder::open(out, request, &ground, options.resume).map(|folder| (folder, ground))
        };
        let folder = out.as_deref().map(open).transpose()?;
        let setup = Setup::new(&dataset, request.model, request.hyper.clone());
        let results = Mutex::new((0..request.runs).map(|_| None).collect());
        let failed = AtomicBool::new(false);
        Ok(Self { order, request, options, dataset, splits, setup, folder, start, failed, results })
    }

    /// Number of runs.
    pub fn n_runs(&self) -> usize {
        self.request.runs
    }

    /// The memory one run works in.
    pub fn bytes(&self) -> usize {
        self.setup.plan().workspace_bytes()
    }

    /// Trains one run, unless an earlier one has failed.
    pub fn train_run(&self, i: usize, threads: usize) {
        let result = match self.failed.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => self.one_run(i, threads),
        };
        self.failed.fetch_or(result.is_err(), Ordering::Relaxed);
        self.results()[i] = Some(result);
    }

    /// What all runs say together, once the last of them is done; to be asked after every run.
    pub fn result_if_last(&self) -> Option<Result<Summary>> {
        let mut results = self.results();
        if results.is_empty() || results.iter().any(Option::is_none) {
            return None;
        }
        let results = std::mem::take(&mut *results).into_iter().flatten();
        // Somebody's failure stops the others; report the failure and not their interruption.
        let (records, failures): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        let mut failures: Vec<Error> = failures.into_iter().filter_map(Result::err).collect();
        failures.sort_by_key(|error| matches!(error, Error::Interrupted));
        Some(match failures.into_iter().next() {
            Some(error) => Err(error),
            None => self.summary(records.into_iter().flatten().collect()),
        })
    }

    fn summary(&self, records: Vec<Record>) -> Result<Summary> {
        let (request, seconds) = (self.request, self.start.elapsed().as_secs_f64());
        let summary = Summary::new(request, &self.dataset.warnings, records, seconds);
        if let Some((folder, ground)) = &self.folder {
            let threads = self.options.threads;
            let receipt = Receipt::new(&self.dataset, ground.clone(), threads, seconds);
            folder.finish(&summary, &receipt)?;
        }
        Ok(summary)
    }

    fn results(&self) -> MutexGuard<'_, Vec<Option<Result<Record>>>> {
        self.results.lock().expect("nobody panics while holding it")
    }

    fn watch(&self, event: Event<'_>) {
        (self.options.watch)(self.order, event);
    }

    fn one_run(&self, i: usize, threads: usize) -> Result<Record> {
        let (seed, split) = (self.request.seed + i as u64, &self.splits[i]);
        let folder = self.folder.as_ref().map(|(folder, _)| folder);
        if let Some(folder) = folder
            && let Some(record) = folder.record(seed)?
        {
            self.watch(Event::Finished { run: i, record: &record });
            return Ok(record);
        }
        let mut fit = Fit::new(&self.setup, &self.dataset, split, seed, threads);
        if let Some((place, bytes)) = folder.and_then(|folder| folder.checkpoint(seed)) {
            fit.restore(&place, &bytes)?;
        }
        let max_epochs = self.request.hyper.int("max_epochs");
        let epochs_done = fit.history().len();
        self.watch(Event::Started { run: i, seed, max_epochs, epochs_done });
        self.train(&mut fit, i, seed)?;

        let outcome = fit.outcome();
        let record = self.record(seed, split, &outcome, fit.seconds());
        if let Some(folder) = folder {
            folder.finish_run(seed, self.files(split, outcome, &record))?;
        }
        self.watch(Event::Finished { run: i, record: &record });
        Ok(record)
    }

    fn train(&self, fit: &mut Fit<'_>, i: usize, seed: u64) -> Result<()> {
        let mut saved = Instant::now();
        let mut trouble = None;
        let ended = fit.run(|fit, epoch| {
            self.watch(Event::Epoch { run: i, epoch });
            let cancelled = self.options.cancel.load(Ordering::Relaxed);
            let stop = cancelled || self.failed.load(Ordering::Relaxed);
            if let Some((folder, _)) = &self.folder
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
            energy: self.energy(&outcome.weights),
            seconds,
        }
    }

    /// How smooth what the model makes of the nodes is on their graph.
    fn energy(&self, weights: &[f32]) -> Option<f64> {
        let hidden = self.setup.hidden(&self.dataset, weights)?;
        let p = operator(&self.dataset.graph, Normalisation::Looped);
        dirichlet_energy(&p, &hidden.cast())
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

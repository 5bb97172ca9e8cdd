//! Tuning: a study whose objective is the mean validation accuracy of a model on a graph; under the stopping rule
//! `roc-auc`, the mean validation ROC AUC.
//!
//! ```text
//! value of a trial = mean over splits i = 0..n of the validation accuracy of the best epoch
//! ```
//!
//! The initial weights and the dropout of the run on split `i` and, unless the split is fixed, split `i` itself are
//! derived from `seed + i` in every trial, so on a given graph the value of a configuration is a function of its settings and the study's seed.
//! The random numbers that choose the configuration of trial `k` are derived from the study's seed and `k`.
//! Neither the number of workers nor the number of threads changes the value of a configuration. With several
//! workers, fewer results are available to the TPE sampler when it proposes a configuration, so it may propose
//! different ones; random and grid sampling do not use results.
//!
//! The labels of test nodes are used only to draw the splits.
//!
//! A configuration that is running, complete or pruned, or has failed because of its settings, is not proposed
//! again: `propose.rs` draws several times and then falls back to the grid. A study ends early when its space
//! is exhausted. If a trial with the configuration of a queued trial is already complete, the queued trial
//! completes immediately with the same value and the attribute `duplicate_of`.
//!
//! Pruned and failed trials do not count towards the target. A trial whose training diverges or does not fit
//! into memory fails, with the reason in its attribute `failed`. An interrupted trial fails as well, and its
//! settings are queued for the next worker of the study.
//!
//! While trials run, a thread sends heartbeats and requeues the trials of dead workers. If the database becomes
//! unavailable, the workers retry their calls for up to an hour or until the study is cancelled.

mod space;
mod study;
mod propose;
mod pruning;
mod evaluate;
mod retrying_storage;
mod worker_pool;
mod result;
mod stop;

pub(super) use evaluate::{Evaluation, StudyContext, mean};
pub(super) use propose::FAILED;
pub use pruning::{PrunerKind, sampler};
pub(super) use result::evaluation_request;
pub use result::{StudyEnd, TuneResult, ranked_trials};
pub(super) use retrying_storage::RetryingStorage;
pub use space::declared_distribution;
pub(super) use space::format_value;
#[cfg(any(test, fuzzing))]
pub(super) use space::parse as parse_space;
pub(super) use stop::StopListener;
pub use stop::request_study_stop;
pub(super) use study::stored_request;
pub(super) use worker_pool::run_trials;

use super::Request;
use crate::data::{Dataset, Store};
use crate::error::{Error, Result};
use crate::hyper::StopRule;
use clenshaw_tune::{
    Direction, Distribution, NextTrial, ParamValue, Params, Sampler, Storage, Study, Tpe, Trial,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Scores are maximised.
pub(super) const DIRECTION: Direction = Direction::Maximize;

/// A study: what is tuned, how, and when it ends.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// Graph, model, split and the settings that are not tuned. Its number of runs is the number of
    /// splits per trial, and its seed is the seed of the study.
    pub training: Request,
    /// The name of the study.
    pub study: String,
    /// The study ends when it has this many complete trials, earlier ones included; pruned and failed trials do
    /// not count.
    pub trials: usize,
    /// How configurations are chosen.
    pub sampler: Sampler,
    /// The rule that ends unpromising trials early.
    pub pruner: PrunerKind,
    /// The search space: from the name of each tuned hyper-parameter to its distribution.
    pub space: BTreeMap<String, Distribution>,
    /// The command that resumes the study, for the note in the dashboard; may be empty.
    pub command: String,
}

/// How a study is executed.
pub struct TuneOptions<'a> {
    /// Number of threads, divided among the parallel trials; each uses at least one. It does not change the value
    /// of a configuration.
    pub threads: usize,
    /// Maximum number of trials that run in parallel.
    pub jobs: usize,
    /// Time limit, after which the running trials are interrupted; `None` for no limit.
    pub timeout: Option<Duration>,
    /// The data folders and the cache from which graphs are loaded.
    pub store: &'a Store,
    /// Called with every event, from several threads.
    pub on_event: &'a (dyn Fn(TuneEvent<'_>) + Sync),
    /// Set to `true` to stop early; finished trials are kept. It is also set when another process calls
    /// [`request_study_stop`].
    pub cancel: &'a AtomicBool,
}

/// The trials of a study: which configurations are tried, and how one is evaluated.
pub(in crate::experiment) trait TrialSource: Sync {
    /// The study ends when this many trials count.
    fn target(&self) -> usize;

    /// The number of finished trials that count towards the target.
    fn n_counted(&self, trials: &[Trial]) -> usize;

    /// The parameters of the next trial; `None` if none are left.
    fn next_params(
        &self,
        trials: &[Trial],
        next: NextTrial<'_>,
    ) -> clenshaw_tune::Result<Option<Params>>;

    /// Evaluates a trial.
    ///
    /// `should_continue` is called between epochs; after it has returned `false`, the error is
    /// [`Error::Interrupted`], unless the trial has just ended. Also fails if training fails or the storage
    /// returns an error.
    fn evaluate(
        &self,
        study: &StudyContext<'_>,
        trial: &Trial,
        threads: usize,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation>;
}

/// Progress of a study.
pub enum TuneEvent<'a> {
    /// The graph and the earlier trials of the study have been loaded.
    Loaded {
        /// The graph.
        dataset: &'a Dataset,
        /// The trials so far.
        trials: &'a [Trial],
    },
    /// A trial starts.
    Started {
        /// Its number.
        number: u64,
    },
    /// A trial reports an intermediate value.
    Reported {
        /// Its number.
        number: u64,
        /// Number of finished splits; in [`tune`] with a single split, number of finished epochs.
        step: u64,
        /// The mean validation score of the finished splits; in [`tune`] with a single split, that of the best
        /// epoch so far.
        value: f64,
    },
    /// A trial has ended.
    Finished {
        /// Its number.
        number: u64,
        /// All trials of the study.
        trials: &'a [Trial],
    },
    /// Another process has requested a stop with [`request_study_stop`]; `cancel` has been set.
    StopRequested,
    /// The database is unavailable; the call will be retried.
    StorageUnavailable {
        /// The error.
        problem: &'a str,
    },
}

impl TuneRequest {
    /// A study of the model's declared space: 100 trials of five splits, TPE sampler, median pruner. The
    /// number of runs of `request` is replaced by five.
    ///
    /// ```
    /// use clenshaw::experiment::{Request, TuneRequest};
    /// let mut study = TuneRequest::new(Request::new("csbm", "clenshaw-gcn")?, "my study");
    /// study.fix("dropout", "0.5")?;
    /// study.apply_space("my.toml", "[space]\nK = { low = 8, high = 32, step = 4 }")?;
    /// assert!(study.space.contains_key("K") && !study.space.contains_key("dropout"));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn new(mut request: Request, study: impl Into<String>) -> Self {
        request.runs = 5;
        let hypers = request.model.hyper_params();
        let space = hypers
            .filter_map(|h| Some((h.name.to_owned(), space::declared_distribution(h)?)))
            .collect();
        Self {
            training: request,
            study: study.into(),
            trials: 100,
            sampler: Sampler::Tpe(Tpe::default()),
            pruner: PrunerKind::Median,
            space,
            command: String::new(),
        }
    }

    /// Fixes a hyper-parameter at a value in command-line syntax; it is then not tuned. Fails if the
    /// hyper-parameter is unknown or the value invalid.
    pub fn fix(&mut self, key: &str, value: &str) -> Result<()> {
        self.training.hyper.set(key, value)?;
        self.space.remove(key);
        Ok(())
    }

    /// Applies a search space file: a range or a list of values becomes the entry of its hyper-parameter in the search
    /// space, and a single value fixes the hyper-parameter, as [`fix`](Self::fix) does. Hyper-parameters that the
    /// file does not list are unchanged. `text` is the contents of the file, and `place` names it in errors. Fails if
    /// the file is invalid or contains an unknown hyper-parameter.
    pub fn apply_space(&mut self, place: &str, text: &str) -> Result<()> {
        let hypers: Vec<_> = self.training.model.hyper_params().collect();
        for (key, entry) in space::parse(place, text, &hypers)? {
            match entry {
                space::SpaceEntry::Fixed(value) => self.fix(&key, &value)?,
                space::SpaceEntry::Tuned(distribution) => {
                    self.space.insert(key, distribution);
                }
            }
        }
        Ok(())
    }

    /// The training request of a trial with these parameters; fails if the model rejects one of them.
    pub fn trial_request(&self, params: &Params) -> Result<Request> {
        let mut request = self.training.clone();
        for (name, (distribution, internal)) in params {
            request.hyper.set(name, &space::format_value(distribution, *internal))?;
        }
        Ok(request)
    }

    /// The name of the score whose mean over splits is the value of a trial: `ROC AUC` under the stopping rule
    /// `roc-auc`, `accuracy` under the others; `accuracy or ROC AUC` if the rule is tuned and may be either.
    pub fn score_name(&self) -> &'static str {
        let roc_auc = ParamValue::Str(StopRule::RocAuc.word().into());
        let is_roc_auc = |rule: &ParamValue| *rule == roc_auc;
        let (some, all) = match self.space.get("stop") {
            Some(Distribution::Categorical { choices }) => {
                (choices.iter().any(is_roc_auc), choices.iter().all(is_roc_auc))
            }
            _ => {
                let fixed = self.training.hyper.choice::<StopRule>("stop") == StopRule::RocAuc;
                (fixed, fixed)
            }
        };
        match (some, all) {
            (_, true) => "ROC AUC",
            (true, false) => "accuracy or ROC AUC",
            (false, false) => "accuracy",
        }
    }

    /// Rejects an empty search space, and a number of trials, number of splits or seed that is out of range.
    fn check(&self) -> Result<()> {
        if self.space.is_empty() {
            let problem = "every hyper-parameter is fixed; nothing is left to tune".to_owned();
            return Err(Error::Data { place: self.training.model.name.into(), problem });
        }
        for (key, value) in [("trials", self.trials), ("splits", self.training.runs)] {
            if !(1..=100_000).contains(&value) {
                let (key, value) = (key.to_owned(), value.to_string());
                return Err(Error::OutOfRange { key, value, allowed: "1 to 100000".into() });
            }
        }
        self.training.check()
    }
}

/// Runs a study until the requested number of trials is complete, the search space is exhausted, the time
/// limit is reached or the study is cancelled; [`TuneResult::end`] states which.
///
/// An existing study is resumed; it is an error if its graph, model, split, number of splits, seed, table
/// options or fixed settings differ. A cancelled study keeps its finished trials.
///
/// # Errors
/// If the request is invalid, the graph cannot be loaded, a split cannot be drawn or has no validation nodes, the
/// existing study differs, the storage fails, or twenty trials in a row diverge or do not fit into memory.
///
/// ```
/// use clenshaw::data::Store;
/// use clenshaw::experiment::{Request, TuneOptions, TuneRequest, tune};
/// use clenshaw_tune::JournalStorage;
/// use std::sync::atomic::AtomicBool;
///
/// # let folder = tempfile::tempdir().unwrap();
/// let mut request = Request::new("csbm:nodes=100", "gcn")?;
/// request.set("max_epochs", "5")?;
/// let mut study = TuneRequest::new(request, "csbm-gcn");
/// (study.trials, study.training.runs) = (3, 2);
/// let options = TuneOptions {
///     threads: 2,
///     jobs: 1,
///     timeout: None,
///     store: &Store::new(None),
///     on_event: &|_| {},
///     cancel: &AtomicBool::new(false),
/// };
/// let storage = JournalStorage::open(folder.path().join("csbm-gcn.journal"))?;
/// let tuned = tune(&study, &storage, &options)?;
/// assert_eq!(tuned.trials.len(), 3);
/// let best = tuned.best.expect("three trials are complete");
/// println!("{} of trial {}", best.0.value.unwrap(), best.0.number);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn tune(
    request: &TuneRequest,
    storage: &dyn Storage,
    options: &TuneOptions<'_>,
) -> Result<TuneResult> {
    request.check()?;
    let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let dataset = Arc::new(request.training.load(options.store)?);
    let splits = request.training.splits(&dataset)?;
    if splits.iter().any(|split| split.val().is_empty()) {
        return Err(Error::BadValue {
            key: "split".into(),
            value: request.training.split.to_string(),
            expected: "a split with validation nodes, on which trials are compared".into(),
        });
    }
    let study_id = study::open(request, storage)?;
    (options.on_event)(TuneEvent::Loaded { dataset: &dataset, trials: &storage.trials(study_id)? });
    // Reads the storage without retries, so that the thread that checks for requests can always end.
    let stop = StopListener::new(storage, study_id)?;
    let storage = &RetryingStorage { storage, options };
    let (pruner, dataset, splits) = (request.build_pruner(), &dataset, &splits);
    let study = Study::open(storage, &request.study, DIRECTION)?;
    let study = study.with_pruner(pruner.clone()).with_heartbeats();
    let source = &evaluate::ModelTrials { request, pruner, dataset, splits };
    let context = StudyContext { source, storage, study, stop, options };
    let end = run_trials(&context, deadline)?;
    TuneResult::new(request, dataset, context.study.trials()?, end)
}

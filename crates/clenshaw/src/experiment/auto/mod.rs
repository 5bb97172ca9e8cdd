//! Auto: the best answer for a graph on which no model has been tuned, within a time budget.
//!
//! ```text
//! split         development nodes (training and validation) and test nodes
//!
//! 1 portfolio   a fixed list of configurations (model, settings), each trained on validation split 0;
//!               the better half also on more splits, the better quarter on all of them
//! 2 tuning      new settings of the best models, proposed by TPE; a trial ends after a split if its mean
//!               score so far is behind those of the best ones
//! 3 ensemble    greedy selection of configurations by the score of their mean prediction on the
//!               validation nodes, then one temperature for all probabilities
//! 4 estimate    the score of the ensemble on the test nodes, once, after everything else
//! ```
//!
//! Steps 1 and 2 are the trials of one study in Optuna's formats: the parameter `configuration` names an entry
//! of the portfolio, and a tuned trial also has the parameters `MODEL.KEY`. The value of a trial is the mean
//! validation score over its splits; a trial without scores on all splits is stored as pruned. What to do next
//! is a function of the trials (`search.rs`), so a rerun, another process or another machine continues where
//! the study is. Trained models are kept in a folder (`members.rs`); those that step 3 needs and that are not
//! in it are trained again.
//!
//! A run depends on its configuration, its split and the seed of the request, and step 2 on the results so far.
//! Without a time limit and with one job, the answer is therefore a function of the request. A time limit
//! decides which trials are started and when a slow run ends, and so affects the answer.
//!
//! Ensemble selection: Caruana et al., Ensemble selection from libraries of models, ICML 2004. Successive
//! halving: Jamieson & Talwalkar, AISTATS 2016. Temperature: Guo et al., ICML 2017, arXiv:1706.04599.

mod portfolio;
mod objective;
mod hold_out;
mod clock;
mod members;
mod search;
mod trials;
mod study;
mod ensemble;
mod temperature;
mod interval;
mod overview;
mod answer;
mod bundle;
mod explanation;
mod label_propagation;

pub use answer::{AutoAnswer, ConfigurationRow, Estimate, SingleBest, SpectralFilter};
pub use bundle::{EnsembleMember, ModelEnsemble};
pub(super) use label_propagation::label_propagation;
pub use objective::Objective;
pub use overview::{GraphOverview, LabelSpectrum};
pub(super) use portfolio::logistic_regression;
pub use portfolio::{Portfolio, PortfolioEntry};
pub(super) use study::PORTFOLIO as AUTO_PORTFOLIO;

use super::Request;
use super::request::{graph_label, normalise_path};
use super::tuning::{
    RetryingStorage, StopListener, StudyContext, StudyEnd, TuneEvent, TuneOptions,
};
use crate::data::{self, Dataset, ResolvedGraph, SplitKind, Store, TableOptions};
use crate::error::{Error, Result};
use clenshaw_tune::{NextTrial, Pruner, Storage, Study};
use clock::BudgetClock;
use hold_out::HoldOut;
use members::MemberStore;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trials::PortfolioTrials;

/// The graph, how configurations are chosen and compared, and when the search ends.
#[derive(Clone, Debug)]
pub struct AutoRequest {
    /// The graph, in command-line syntax.
    pub graph: String,
    /// How to use the columns of the user's node and edge tables.
    pub table: TableOptions,
    /// The split whose test nodes give the expected score; `None` for the one that comes with the user's own
    /// graph, or else a stratified one, or no test nodes if there are few labels.
    pub split: Option<SplitKind>,
    /// The seed of the splits, the initial weights, dropout and tuning.
    pub seed: u64,
    /// The score to maximise; `None` for the one that papers report on a public graph, and accuracy on others.
    pub objective: Option<Objective>,
    /// The configurations to start from.
    pub portfolio: Portfolio,
    /// The number of validation splits.
    pub splits: usize,
    /// The study ends when this many trials have ended, including those of the portfolio but not interrupted
    /// ones; `None` for the maximum of 100 000.
    pub trials: Option<usize>,
    /// The time for everything, from loading the graph to the report, including that used by earlier processes
    /// for the same study; `None` for no limit.
    pub budget: Option<Duration>,
    /// The name of the study.
    pub study: String,
    /// The command that resumes the study, for the note in the dashboard; may be empty.
    pub command: String,
}

/// How an answer is computed.
pub struct AutoOptions<'a> {
    /// Maximum number of threads.
    pub threads: usize,
    /// Number of trials run in parallel; `None` for one, or one per thread on a small graph with a time limit.
    pub jobs: Option<usize>,
    /// The data folders and the cache from which graphs are loaded.
    pub store: &'a Store,
    /// The folder to whose subfolder `models` the trained models are written.
    pub folder: &'a Path,
    /// Called with every event, from several threads.
    pub on_event: &'a (dyn Fn(AutoEvent<'_>) + Sync),
    /// Set to `true` to stop early; the answer is then based on the finished trials, if there are any.
    pub cancel: &'a AtomicBool,
}

/// Progress of a search.
pub enum AutoEvent<'a> {
    /// The graph has been loaded.
    Graph(&'a GraphOverview),
    /// An event of the study's trials.
    Trials(TuneEvent<'a>),
    /// The study has ended; the ensemble is about to be selected and scored.
    Selecting,
}

/// Where a graph comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GraphOrigin {
    /// The registry of data sets, which includes generated graphs.
    Public,
    /// The user's files, given by a path or imported.
    Own,
}

/// With a time limit, trials on graphs with at most this many stored numbers (features and edges) run in parallel by
/// default.
const SMALL_GRAPH: usize = 2_000_000;
/// The time reserved for the last steps, without the spectra in the report.
const REPORT_BASE: Duration = Duration::from_secs(3);
/// The time reserved for the spectra in the report, relative to that of the overview, which computes few of them.
const REPORT_COST: f64 = 8.0;
/// The maximum number of trials.
const MAX_TRIALS: usize = 100_000;

/// Searches for the best configurations for a graph, combines them into an ensemble, and estimates its score. An
/// existing study of the same request is resumed.
///
/// # Errors
/// If the request is invalid, the graph cannot be loaded or has too few labelled nodes to compare models, the split
/// cannot be drawn, an existing study differs, the storage or the folder cannot be written, no configuration has a
/// result, or twenty trials in a row diverge or do not fit into memory.
///
/// ```
/// use clenshaw::data::Store;
/// use clenshaw::experiment::{AutoOptions, AutoRequest, auto};
/// use clenshaw_tune::JournalStorage;
/// use std::sync::atomic::AtomicBool;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// let mut request = AutoRequest::new("csbm:nodes=120", "my study");
/// (request.trials, request.budget) = (Some(3), None);
/// request.portfolio.set("max_epochs", "5")?;
/// let options = AutoOptions {
///     threads: 1,
///     jobs: None,
///     store: &Store::new(None),
///     folder,
///     on_event: &|_| {},
///     cancel: &AtomicBool::new(false),
/// };
/// let storage = JournalStorage::open(folder.join("study.journal"))?;
/// let answer = auto(&request, &storage, &options)?;
/// let estimate = answer.estimate.as_ref().expect("there are test nodes");
/// println!("{:.2} between {:?}", estimate.score, estimate.interval);
/// answer.save(folder)?;
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn auto(
    request: &AutoRequest,
    storage: &dyn Storage,
    options: &AutoOptions<'_>,
) -> Result<AutoAnswer> {
    let clock = BudgetClock::start(request.budget);
    request.check()?;
    let (dataset, origin) = request.load(options.store)?;
    let hold_out = HoldOut::new(&dataset, request, origin)?;
    let objective = request.objective.unwrap_or_else(|| Objective::of(dataset.metric));
    objective.check(&dataset)?;
    let start = Instant::now();
    let overview = GraphOverview::of(&dataset, &hold_out);
    let clock = clock.with_reserve(REPORT_BASE + start.elapsed().mul_f64(REPORT_COST));
    (options.on_event)(AutoEvent::Graph(&overview));
    let study_id = study::open(request, objective, &dataset, storage)?;
    let clock = clock.after(study::earlier_seconds(storage, study_id)?);
    let members =
        MemberStore::open(options.folder, dataset.clone(), &hold_out.validation, request.seed)?;
    // The scalings of the portfolio are for counts of words, which are never negative.
    let has_negative = dataset.x.values().iter().any(|value| *value < 0.0);
    let standardise = has_negative || origin == GraphOrigin::Own;
    let trials =
        PortfolioTrials { request, objective, dataset, hold_out, members, clock, standardise };
    let end = run_trials(&trials, storage, study_id, options)?;
    (options.on_event)(AutoEvent::Selecting);
    let stored = storage.trials(study_id)?;
    answer::answer(&trials, overview, &stored, end, options)
}

/// Runs trials until the study ends; [`AutoOptions::cancel`] and the time limit are not errors.
fn run_trials(
    trials: &PortfolioTrials<'_>,
    storage: &dyn Storage,
    study_id: u64,
    options: &AutoOptions<'_>,
) -> Result<StudyEnd> {
    let on_event = |event: TuneEvent<'_>| {
        if let TuneEvent::Finished { .. } = event {
            // Only used to continue after an interruption.
            let _ = study::store_seconds(storage, study_id, trials.clock.total_seconds());
        }
        (options.on_event)(AutoEvent::Trials(event));
    };
    let options = &TuneOptions {
        threads: options.threads,
        jobs: options.jobs.unwrap_or_else(|| trials.default_jobs(options.threads)),
        timeout: None,
        store: options.store,
        on_event: &on_event,
        cancel: options.cancel,
    };
    on_event(TuneEvent::Loaded { dataset: &trials.dataset, trials: &storage.trials(study_id)? });
    let stop = StopListener::new(storage, study_id)?;
    let storage = &RetryingStorage { storage, options };
    let study = Study::open(storage, &trials.request.study, super::tuning::DIRECTION)?;
    let study = study.with_pruner(Pruner::Never).with_heartbeats();
    let context = StudyContext { source: trials, storage, study, stop, options };
    let end = super::tuning::run_trials(&context, None)?;
    // With more time, there would be a next trial.
    let stored = context.study.trials()?;
    let next = NextTrial { number: stored.len() as u64, waiting: None };
    let has_more = trials.search().next_params(&stored, next, 0.0)?.is_some();
    let is_late = trials.clock.is_limited() && has_more && end == StudyEnd::SpaceExhausted;
    Ok(if is_late { StudyEnd::TimedOut } else { end })
}

impl AutoRequest {
    /// A request with the portfolio for all graphs, five validation splits, seed 0 and a budget of ten minutes.
    pub fn new(graph: &str, study: impl Into<String>) -> Self {
        Self {
            // All spellings of a path are the same graph.
            graph: if Path::new(graph).exists() { normalise_path(graph) } else { graph.into() },
            table: TableOptions::default(),
            split: None,
            seed: 0,
            objective: None,
            portfolio: Portfolio::embedded(),
            splits: 5,
            trials: None,
            budget: Some(Duration::from_secs(600)),
            study: study.into(),
            command: String::new(),
        }
    }

    /// The name of the graph and a digest of the request, as in `cora-1a2b3c4d`. Time, number of trials, study and
    /// command do not change it.
    pub fn folder_name(&self) -> String {
        let split = self.split.as_ref().map(ToString::to_string);
        let metric = self.objective.map(Objective::word);
        let portfolio = self.portfolio.sha256();
        let text = format!(
            "{} {:?} {split:?} {} {metric:?} {portfolio} {}",
            self.graph, self.table, self.seed, self.splits
        );
        format!("{}-{}", graph_label(&self.graph), search::short_digest(&text, 8))
    }

    /// Loads the graph, and returns where it comes from.
    fn load(&self, store: &Store) -> Result<(Arc<Dataset>, GraphOrigin)> {
        let origin = match data::resolve(store, &self.graph)? {
            ResolvedGraph::Known(_) => GraphOrigin::Public,
            ResolvedGraph::Path | ResolvedGraph::Imported(_) => GraphOrigin::Own,
        };
        let mut request = Request::new(&self.graph, "mlp")?;
        request.table = self.table.clone();
        request.split = self.split.clone().unwrap_or(SplitKind::Stratified);
        Ok((Arc::new(request.load(store)?), origin))
    }

    /// Fails if the portfolio is empty, or a number of trials or splits or the seed is out of range.
    fn check(&self) -> Result<()> {
        let out_of_range = |key: &str, value: usize, allowed: &str| {
            let (key, value, allowed) = (key.to_owned(), value.to_string(), allowed.to_owned());
            Err(Error::OutOfRange { key, value, allowed })
        };
        if self.portfolio.entries.is_empty() {
            return Err(Error::BadValue {
                key: "models".into(),
                value: "none".into(),
                expected: "at least one model; check --models and --exclude".into(),
            });
        }
        match (self.trials, self.splits) {
            (Some(n), _) if !(1..=MAX_TRIALS).contains(&n) => {
                out_of_range("trials", n, "1 to 100000")
            }
            (_, n) if !(1..=100).contains(&n) => out_of_range("splits", n, "1 to 100"),
            _ if self.seed > i64::MAX as u64 - 100_000 => {
                out_of_range("seed", self.seed as usize, "0 to 9223372036854675807")
            }
            _ => Ok(()),
        }
    }
}

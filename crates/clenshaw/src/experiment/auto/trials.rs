//! The trials of the study: training on validation splits, within the time that is left.

use super::clock::{BudgetClock, RunCheck, RunLimit};
use super::hold_out::HoldOut;
use super::members::MemberStore;
use super::objective::Objective;
use super::search::{CONFIGURATION, Configuration, RUN_SECONDS, SCORES, Search, scores};
use super::{AutoRequest, SMALL_GRAPH};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::experiment::tuning::{Evaluation, StudyContext, TrialSource, mean};
use crate::filter::Response;
use crate::hyper::Scaling;
use crate::tensor::Mat;
use crate::train::{Fit, ModelProvenance, Outcome, Setup, TrainedModel};
use clenshaw_tune::{AttrKind, NextTrial, Params, Trial, TrialState};
use serde_json::json;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// A run of rung 0 may take this many times its equal share of the time left for the rung.
const PATIENCE: f64 = 3.0;
/// A tuned configuration is trained on another split only if it is not behind all of this many best ones.
const COMPARED: usize = 5;
/// A tuned trial is not started if the time left is at most this share of its model's smallest [`RUN_SECONDS`].
const LEAST_TIME: f64 = 0.5;

/// Everything that the trials of a request share.
pub(super) struct PortfolioTrials<'a> {
    pub request: &'a AutoRequest,
    pub objective: Objective,
    pub dataset: Arc<Dataset>,
    pub hold_out: HoldOut,
    pub members: MemberStore,
    pub clock: BudgetClock,
    /// Whether feature columns are standardised, whatever the scaling of a configuration.
    pub standardise: bool,
}

/// A run on one split.
pub(super) enum SplitRun {
    /// The score on the validation nodes, the filter, and the time in seconds if it is known.
    Scored { score: f64, filter: Option<Response>, seconds: Option<f64> },
    /// The run was given up; the reason, for users.
    TooSlow(String),
}

impl PortfolioTrials<'_> {
    pub fn search(&self) -> Search<'_> {
        let AutoRequest { portfolio, splits, seed, .. } = self.request;
        Search { portfolio, n_splits: *splits, seed: *seed }
    }

    /// One job, or one per thread if time is limited and the graph is small.
    pub fn default_jobs(&self, threads: usize) -> usize {
        let stored = self.dataset.x.values().len() + 2 * self.dataset.graph.n_edges();
        if self.clock.is_limited() && stored <= SMALL_GRAPH { threads.max(1) } else { 1 }
    }

    /// The settings of a trial, with standardised columns if `standardise` is set, and with class weights if the
    /// objective weighs classes equally. `None` if its parameters are not a configuration of the portfolio.
    pub fn configuration(&self, params: &Params) -> Option<Configuration> {
        let mut configuration = self.search().configuration(params)?;
        let hyper = &mut configuration.hyper;
        if self.standardise {
            hyper.set_value("scaling", Scaling::Standard.word()).ok()?;
        }
        if self.objective.weighs_classes_equally() {
            hyper.set_value("class_weights", true).ok()?;
        }
        Some(configuration)
    }

    /// The score on the validation nodes of a split; `probabilities` has one row per node of the graph.
    pub fn score(&self, probabilities: &Mat<f32>, split: usize) -> f64 {
        let nodes = self.hold_out.validation[split].val();
        self.objective.score(probabilities, nodes, &self.labels(nodes))
    }

    /// The labels of training or validation nodes.
    pub fn labels(&self, nodes: &[u32]) -> Vec<u32> {
        let label = |&node: &u32| self.dataset.y[node as usize].expect("splits were checked");
        nodes.iter().map(label).collect()
    }

    /// Compiles a configuration for the graph; fails if that is not possible.
    pub fn setup(&self, configuration: &Configuration) -> Result<Arc<Setup>> {
        let Configuration { model, hyper, .. } = configuration;
        Ok(Arc::new(Setup::new(self.dataset.clone(), model, hyper.clone())?))
    }

    /// Trains on a split within the limit and stores the model, unless the run is given up as too slow. Fails with
    /// [`Error::Interrupted`] if `should_continue` ends the run. Also fails if training diverges, the run does not
    /// fit into memory, or the model cannot be written.
    pub fn train_split(
        &self,
        (configuration, setup): (&Configuration, &Arc<Setup>),
        split: usize,
        threads: usize,
        limit: RunLimit,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<SplitRun> {
        let (start, seed) = (Instant::now(), self.request.seed + split as u64);
        let mut fit = Fit::new(setup.clone(), &self.hold_out.validation[split], seed, threads)?;
        let (mut check, mut is_cancelled) = (RunCheck::Continue, false);
        fit.run(|_, epoch| {
            check = limit.check(epoch.epoch, start.elapsed().as_secs_f64());
            is_cancelled = check == RunCheck::Continue && !should_continue();
            match check == RunCheck::Continue && !is_cancelled {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if let RunCheck::TooSlow(seconds) = check
            && !fit.is_finished()
        {
            return Ok(SplitRun::TooSlow(format!(
                "too slow for the time that is left: {seconds:.2} s per epoch"
            )));
        }
        if is_cancelled && !fit.is_finished() {
            return Err(Error::Interrupted);
        }
        let model = (fit.outcome()?, fit.provenance());
        // UniFilter measures the homophily of the training nodes, so the hyper-parameters may differ.
        let setup = fit.setup();
        self.keep((configuration, &**setup), split, model, start.elapsed().as_secs_f64())
    }

    /// Stores the model of a run that has ended, and scores it.
    fn keep(
        &self,
        (configuration, setup): (&Configuration, &Setup),
        split: usize,
        (outcome, provenance): (Outcome, ModelProvenance),
        seconds: f64,
    ) -> Result<SplitRun> {
        let score = self.score(&outcome.probabilities, split);
        let filter = outcome.filter.clone();
        let model = TrainedModel::new(setup, &outcome.weights, provenance);
        self.members.put(configuration, split, &model, (outcome, seconds))?;
        Ok(SplitRun::Scored { score, filter, seconds: Some(seconds) })
    }

    /// The result of a run whose model is in the folder, for example that of an interrupted trial; `None` if there
    /// is none.
    fn known_run(
        &self,
        configuration: &Configuration,
        split: usize,
        threads: usize,
    ) -> Option<SplitRun> {
        let run = self.members.get(configuration, split, threads)?;
        let training = run.training.as_ref();
        Some(SplitRun::Scored {
            score: self.score(&run.probabilities, split),
            filter: training.and_then(|training| training.filter.clone()),
            seconds: training.map(|training| training.seconds),
        })
    }

    /// The limit of the next run of a trial; `rung` is `None` for a tuned trial.
    fn limit(&self, trials: &[Trial], rung: Option<usize>) -> RunLimit {
        let end = rung.map_or(1.0, |rung| self.search().rung_end(rung));
        let Some(left) = self.clock.left_until(1.0) else { return RunLimit::default() };
        let may_skip = trials.iter().any(|trial| !scores(trial).is_empty());
        let left = left.as_secs_f64();
        let seconds = match rung {
            // Later rungs and tuning share what is left with few others.
            Some(0) => {
                let n_started = trials.iter().filter(|t| t.state != TrialState::Waiting).count();
                let n = self.request.portfolio.entries.len().saturating_sub(n_started) + 1;
                let for_rung = self.clock.left_until(end).unwrap_or_default().as_secs_f64();
                left.min(PATIENCE * for_rung / n as f64)
            }
            _ => left,
        };
        RunLimit { seconds: Some(seconds), may_skip }
    }

    /// Whether the mean of these scores is behind those of the [`COMPARED`] best complete trials on the same splits.
    fn is_behind(&self, trials: &[Trial], own: &[f64]) -> bool {
        let n = own.len();
        let complete = trials.iter().filter(|trial| trial.state == TrialState::Complete);
        let others = complete.map(scores).filter(|scores| scores.len() >= n);
        let mut means: Vec<f64> = others.map(|scores| mean(&scores[..n])).collect();
        means.sort_by(|a, b| b.total_cmp(a));
        means.truncate(COMPARED);
        means.last().is_some_and(|&last| mean(own) < last)
    }

    /// The smallest [`RUN_SECONDS`] of the trials of the same model; 0 if none has a known time.
    fn shortest_run_seconds(&self, trials: &[Trial], params: &Params) -> f64 {
        let entry = |trial: &Trial| self.search().entry(trial);
        let model = |index: usize| self.request.portfolio.entries[index].model.name;
        let own = params.get(CONFIGURATION).map(|(_, internal)| model(*internal as usize));
        let times = trials.iter().filter(|trial| entry(trial).map(model) == own);
        let times = times.filter_map(|trial| trial.user_attrs.get(RUN_SECONDS)?.as_f64());
        times.reduce(f64::min).unwrap_or(0.0)
    }

    /// The splits of a trial, its rung, and the scores that are known from earlier trials of its entry.
    fn plan(&self, trials: &[Trial], trial: &Trial, is_tuned: bool) -> TrialPlan {
        let search = self.search();
        match search.entry(trial).filter(|_| !is_tuned) {
            None => TrialPlan { n_splits: self.request.splits, rung: None, scores: vec![] },
            Some(entry) => {
                let (rung, scores) = search.rung_of(trials, trial, entry);
                TrialPlan { n_splits: search.rungs()[rung], rung: Some(rung), scores }
            }
        }
    }

    /// Stores the scores and, if known, the mean time of the runs as attributes of a trial.
    fn store_scores(
        &self,
        study: &StudyContext<'_>,
        trial: &Trial,
        scores: &[f64],
        seconds: Option<f64>,
    ) -> Result<()> {
        let mut attrs = clenshaw_tune::Attributes::from([(SCORES.to_owned(), json!(scores))]);
        attrs.extend(seconds.map(|seconds| (RUN_SECONDS.to_owned(), json!(seconds))));
        Ok(study.storage.set_trial_attrs(trial.id, AttrKind::User, &attrs)?)
    }
}

/// The splits that a trial trains on.
struct TrialPlan {
    /// The number of splits, including those whose scores are known.
    n_splits: usize,
    /// `None` for tuned trials.
    rung: Option<usize>,
    /// The scores on the first splits that are known from earlier trials.
    scores: Vec<f64>,
}

impl TrialSource for PortfolioTrials<'_> {
    fn target(&self) -> usize {
        self.request.trials.unwrap_or(super::MAX_TRIALS)
    }

    /// The trials that have ended with scores or have failed; interrupted ones do not count.
    fn n_counted(&self, trials: &[Trial]) -> usize {
        let has_result = |trial: &&Trial| {
            !scores(trial).is_empty()
                || trial.user_attrs.contains_key(crate::experiment::tuning::FAILED)
        };
        trials.iter().filter(|trial| trial.state.is_finished()).filter(has_result).count()
    }

    fn next_params(
        &self,
        trials: &[Trial],
        next: NextTrial<'_>,
    ) -> clenshaw_tune::Result<Option<Params>> {
        let params = self.search().next_params(trials, next, self.clock.share())?;
        Ok(params.filter(|params| {
            let left = self.clock.left_until(1.0).map_or(f64::INFINITY, |left| left.as_secs_f64());
            params.len() == 1 || left > LEAST_TIME * self.shortest_run_seconds(trials, params)
        }))
    }

    fn evaluate(
        &self,
        study: &StudyContext<'_>,
        trial: &Trial,
        threads: usize,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let trials = study.study.trials()?;
        let Some(configuration) = self.configuration(&trial.params) else {
            return Ok(Evaluation::Skipped("not a configuration of this portfolio".into()));
        };
        let TrialPlan { n_splits, rung, mut scores } =
            self.plan(&trials, trial, configuration.is_tuned);
        let setup = self.setup(&configuration)?;
        let (mut first_filter, mut times) = (None, vec![]);
        for i in scores.len()..n_splits {
            let limit = self.limit(&trials, rung);
            let run = match self.known_run(&configuration, i, threads) {
                Some(run) => run,
                None => {
                    let run = (&configuration, &setup);
                    self.train_split(run, i, threads, limit, should_continue)?
                }
            };
            match run {
                // Earlier splits count even if the time ends.
                SplitRun::TooSlow(_) if !scores.is_empty() => break,
                SplitRun::TooSlow(reason) => return Ok(Evaluation::Skipped(reason)),
                SplitRun::Scored { score, filter, seconds } => {
                    scores.push(score);
                    times.extend(seconds);
                    if i == 0 {
                        first_filter = filter;
                    }
                }
            }
            study.report(trial, i as u64 + 1, mean(&scores))?;
            if self.clock.share() >= 1.0
                || (rung.is_none() && i + 1 < n_splits && self.is_behind(&trials, &scores))
            {
                break;
            }
        }
        self.store_scores(study, trial, &scores, (!times.is_empty()).then(|| mean(&times)))?;
        Ok(match scores.len() == self.request.splits {
            true => Evaluation::Complete(scores, first_filter),
            false => Evaluation::Pruned(mean(&scores)),
        })
    }
}

#[cfg(test)]
pub(in crate::experiment::auto) mod tests {
    use super::*;
    use crate::data;
    use crate::experiment::auto::GraphOrigin;
    use std::path::Path;

    /// The trials of a request on a public graph, without a time limit.
    pub fn portfolio_trials<'a>(request: &'a AutoRequest, folder: &Path) -> PortfolioTrials<'a> {
        let dataset = Arc::new(data::load(&request.graph).unwrap());
        let hold_out = HoldOut::new(&dataset, request, GraphOrigin::Public).unwrap();
        let splits = &hold_out.validation;
        let members = MemberStore::open(folder, dataset.clone(), splits, request.seed).unwrap();
        PortfolioTrials {
            request,
            objective: Objective::Accuracy,
            dataset,
            hold_out,
            members,
            clock: BudgetClock::start(None),
            standardise: false,
        }
    }

    #[test]
    fn finished_run_is_kept_even_if_it_was_slow() {
        let folder = tempfile::tempdir().unwrap();
        let request = AutoRequest::new("csbm:nodes=60", "s");
        let trials = portfolio_trials(&request, folder.path());
        let entry = request.portfolio.entries[0].clone();
        // No time: too slow after the first epoch.
        let limit = RunLimit { seconds: Some(0.0), may_skip: true };
        let run = |max_epochs: &str| {
            let mut hyper = entry.hyper.clone();
            hyper.set("max_epochs", max_epochs).unwrap();
            let (entry, model) = (entry.name.clone(), entry.model);
            let configuration = Configuration { entry, is_tuned: false, model, hyper };
            let setup = trials.setup(&configuration).unwrap();
            trials.train_split((&configuration, &setup), 0, 1, limit, &|| true).unwrap()
        };
        assert!(matches!(run("2"), SplitRun::TooSlow(_)));
        assert!(matches!(run("1"), SplitRun::Scored { .. }));
    }
}

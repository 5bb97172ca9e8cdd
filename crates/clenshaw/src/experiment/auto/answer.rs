//! The answer: ensemble, single best configuration, expected scores and predictions.

use super::bundle::{EnsembleMember, ModelEnsemble};
use super::clock::RunLimit;
use super::ensemble::{ValidationPart, select, weighted_mean};
use super::members::{MemberRun, TrainingHistory};
use super::search::{Configuration, RUN_SECONDS, is_better, scores};
use super::trials::PortfolioTrials;
use super::{AutoOptions, GraphOverview, Objective, interval, temperature};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::experiment::Predictions;
use crate::experiment::tuning::{FAILED, StudyEnd, TrialSource, mean};
use crate::files::write_atomically;
use crate::filter::Response;
use crate::hyper::Params;
use crate::model::ModelInfo;
use crate::tensor::Mat;
use crate::train::{TestScores, TrainedModel, test_scores};
use clenshaw_tune::Trial;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The maximum number of configurations among which the ensemble is selected.
const MAX_CANDIDATES: usize = 20;
/// Candidates are compared on the largest number of splits on which at least this many configurations were
/// trained.
const MIN_CANDIDATES: usize = 3;

/// The result of [`auto`](super::auto()).
pub struct AutoAnswer {
    /// What the graph is like.
    pub graph: GraphOverview,
    /// The score that was maximised.
    pub objective: Objective,
    /// The configurations with a result: those trained on more splits first, then those with the higher
    /// validation score.
    pub configurations: Vec<ConfigurationRow>,
    /// Configurations that failed and have no result, and why.
    pub failed: Vec<(String, String)>,
    /// The number of trials that have ended; interrupted ones do not count.
    pub trials: usize,
    /// Why the study ended.
    pub end: StudyEnd,
    /// The ensemble; its model files are in [`AutoOptions::folder`].
    pub ensemble: ModelEnsemble,
    /// The mean validation score of the ensemble. It is optimistic, because its members were selected on the same
    /// nodes.
    pub ensemble_validation: f64,
    /// The best single configuration.
    pub single: SingleBest,
    /// The expected score of the ensemble; `None` without test nodes.
    pub estimate: Option<Estimate>,
    /// The calibrated probabilities of the ensemble for every node.
    pub predictions: Predictions,
    /// The filter of the best spectral configuration whose model is on this machine; `None` if there is none.
    pub filter: Option<SpectralFilter>,
    /// The graph.
    pub dataset: Arc<Dataset>,
    /// Training, validation and test nodes; no choice is based on scores on the test nodes.
    pub split: Split,
    /// The seconds used, including those of earlier processes that worked on the same study.
    pub seconds: f64,
}

/// A configuration that was trained on at least one validation split.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationRow {
    /// The entry of the portfolio it comes from.
    pub name: String,
    /// Whether its settings were proposed by tuning.
    pub tuned: bool,
    /// The model.
    pub model: String,
    /// The hyper-parameters.
    pub hyper: Params,
    /// The number of its trial with the most splits.
    pub trial: u64,
    /// The scores on the first validation splits, one for each split on which it was trained.
    pub scores: Vec<f64>,
    /// The mean of the scores.
    pub validation: f64,
    /// The mean training time of the runs of that trial in seconds; `None` if it is not known.
    pub run_seconds: Option<f64>,
    /// Its share of the ensemble; 0 if it is not a member.
    pub weight: f64,
}

impl ConfigurationRow {
    /// The name of the entry and, if its settings were tuned, the trial, as in `gcn-cora, tuned (trial 31)`.
    pub fn title(&self) -> String {
        match self.tuned {
            true => format!("{}, tuned (trial {})", self.name, self.trial),
            false => self.name.clone(),
        }
    }
}

/// The best single configuration, as trained on one of the splits.
pub struct SingleBest {
    /// The title of its configuration, see [`ConfigurationRow::title`].
    pub name: String,
    /// The mean validation score of its configuration.
    pub validation: f64,
    /// The number of the validation split on which the model was trained.
    pub split: usize,
    /// Its training and validation nodes, and the test nodes.
    pub parts: Split,
    /// The model.
    pub model: TrainedModel,
    /// Its expected score; `None` without test nodes.
    pub estimate: Option<Estimate>,
    /// How it was trained; `None` if only the model file is left.
    pub(in crate::experiment) training: Option<Arc<TrainingHistory>>,
}

/// The filter of a spectral configuration, and where it comes from.
pub struct SpectralFilter {
    /// The title of the configuration, see [`ConfigurationRow::title`].
    pub name: String,
    /// The model.
    pub model: &'static ModelInfo,
    /// The mean validation score of the configuration.
    pub validation: f64,
    /// The filter that was learned on the first split.
    pub response: Response,
}

/// The scores on the test nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The score that the search maximised on validation nodes.
    pub score: f64,
    /// The 95% interval of the score.
    pub interval: (f64, f64),
    /// The number of test nodes.
    pub nodes: usize,
    /// The accuracy.
    pub accuracy: f64,
    /// The mean F1 over classes.
    pub macro_f1: f64,
    /// The mean recall over classes.
    pub balanced_accuracy: f64,
    /// The area under the ROC curve of the second class; `None` unless there are exactly two classes.
    pub roc_auc: Option<f64>,
    /// The accuracy of always predicting the most frequent class.
    pub majority_share: f64,
    /// The mean of `-ln p` of the true classes.
    pub cross_entropy: f64,
}

/// A configuration with its results.
struct Tried {
    configuration: Configuration,
    row: ConfigurationRow,
}

/// A candidate for the ensemble: its runs on the first splits.
struct Candidate<'t> {
    tried: &'t Tried,
    runs: Vec<MemberRun>,
}

/// Selects the ensemble and the best single configuration, scores both on the test nodes, and deletes the models
/// of all configurations that were not candidates. Candidates without a model on this machine are trained again.
pub(super) fn answer(
    trials: &PortfolioTrials<'_>,
    graph: GraphOverview,
    stored: &[Trial],
    end: StudyEnd,
    options: &AutoOptions<'_>,
) -> Result<AutoAnswer> {
    let mut tried = tried(trials, stored);
    let failed = failed(trials, stored, &tried);
    let n_splits = candidate_splits(&tried);
    let candidates = candidates(trials, &tried, n_splits, options);
    let value = |candidate: &Candidate<'_>| {
        let row = &candidate.tried.row;
        (row.scores.len(), row.validation)
    };
    let better = |best, next| if is_better(value(next), value(best)) { next } else { best };
    let failure = failed.last().filter(|_| tried.is_empty());
    let best = candidates.iter().reduce(better);
    let best = best.ok_or_else(|| no_results(&trials.request.graph, end, failure))?;
    let parts: Vec<ValidationPart> = (0..n_splits).map(|i| part(trials, &candidates, i)).collect();
    let counts = select(trials.objective, &parts);
    let members: Vec<(usize, &Candidate<'_>)> =
        counts.iter().copied().zip(&candidates).filter(|(count, _)| *count > 0).collect();
    let (temperature, ensemble_validation) = calibrate(trials, &parts, &counts);
    let ensemble = bundle(trials, &members, n_splits, temperature);
    let probabilities = temperature::scaled(
        &weighted_mean(members.iter().flat_map(|(count, candidate)| {
            candidate.runs.iter().map(move |run| (*count as f64, &*run.probabilities))
        })),
        temperature,
    );
    let is_candidate = |tried: &&Tried| {
        let id = tried.configuration.id();
        candidates.iter().any(|candidate| candidate.tried.configuration.id() == id)
    };
    let others = tried.iter().filter(|tried| !is_candidate(tried));
    let filter = spectral_filter(trials, &tried, options.threads);
    trials.members.remove(others.map(|tried| &tried.configuration));
    let mut single = single_best(trials, best)?;
    let single_probabilities = best.runs[single.split].probabilities.clone();
    let total: usize = counts.iter().sum();
    let weights: Vec<(String, f64)> = members
        .iter()
        .map(|(count, candidate)| {
            (candidate.tried.configuration.id(), *count as f64 / total as f64)
        })
        .collect();
    for Tried { configuration, row } in &mut tried {
        let id = configuration.id();
        row.weight = weights.iter().find(|(other, _)| *other == id).map_or(0.0, |(_, w)| *w);
    }
    // Nothing is chosen after this line.
    let split = trials.hold_out.split.clone();
    let estimate = estimate(trials, &probabilities)?;
    single.estimate = self::estimate(trials, &single_probabilities)?;
    Ok(AutoAnswer {
        graph,
        objective: trials.objective,
        configurations: tried.into_iter().map(|tried| tried.row).collect(),
        failed,
        trials: trials.n_counted(stored),
        end,
        ensemble,
        ensemble_validation,
        single,
        estimate,
        predictions: Predictions::new(&trials.dataset, Some(&split), probabilities),
        filter,
        dataset: trials.dataset.clone(),
        split,
        seconds: trials.clock.total_seconds(),
    })
}

/// The error if no configuration can be a candidate; `failure` is the last one that failed and its reason, if no
/// configuration has a result.
fn no_results(graph: &str, end: StudyEnd, failure: Option<&(String, String)>) -> Error {
    let problem = match (end, failure) {
        (StudyEnd::Interrupted, _) => return Error::Interrupted,
        (_, Some((name, reason))) => {
            format!("no configuration could be trained; the last one, {name}, failed: {reason}")
        }
        (_, None) => {
            "no configuration could be trained within the time; raise --budget, or choose fast \
             models with --models mlp,gcn"
                .into()
        }
    };
    Error::Data { place: graph.into(), problem }
}

/// The configurations of the study with a result, best first: those on more splits, then those with the higher
/// mean. Of several trials of a configuration, the one on the most splits counts.
fn tried(trials: &PortfolioTrials<'_>, stored: &[Trial]) -> Vec<Tried> {
    let mut found: Vec<Tried> = vec![];
    for trial in stored {
        let scores = scores(trial);
        let Some(configuration) = trials.configuration(&trial.params) else { continue };
        if scores.is_empty() {
            continue;
        }
        let id = configuration.id();
        let run_seconds = trial.user_attrs.get(RUN_SECONDS).and_then(serde_json::Value::as_f64);
        let row = ConfigurationRow {
            name: configuration.entry.clone(),
            tuned: configuration.is_tuned,
            model: configuration.model.name.into(),
            hyper: configuration.hyper.clone(),
            trial: trial.number,
            validation: mean(&scores),
            scores,
            run_seconds,
            weight: 0.0,
        };
        match found.iter_mut().find(|other| other.configuration.id() == id) {
            Some(known) if row.scores.len() > known.row.scores.len() => known.row = row,
            Some(_) => {}
            None => found.push(Tried { configuration, row }),
        }
    }
    let value = |tried: &Tried| (tried.row.scores.len(), tried.row.validation);
    found.sort_by(|a, b| {
        let (a, b) = (value(a), value(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    found
}

/// The names of configurations that failed and have no result, and why they failed.
fn failed(
    trials: &PortfolioTrials<'_>,
    stored: &[Trial],
    tried: &[Tried],
) -> Vec<(String, String)> {
    let failed = stored.iter().filter_map(|trial| {
        let reason = trial.user_attrs.get(FAILED)?.as_str()?;
        let configuration = trials.configuration(&trial.params)?;
        let id = configuration.id();
        if tried.iter().any(|tried| tried.configuration.id() == id) {
            return None;
        }
        let tuned = if configuration.is_tuned { ", tuned" } else { "" };
        Some((format!("{}{tuned}", configuration.entry), reason.to_owned()))
    });
    failed.collect()
}

/// The number of splits on which candidates are compared: as many as possible with at least
/// [`MIN_CANDIDATES`] candidates, or with all configurations if they are fewer.
fn candidate_splits(tried: &[Tried]) -> usize {
    let n = |splits: usize| tried.iter().filter(|t| t.row.scores.len() >= splits).count();
    let most = tried.iter().map(|t| t.row.scores.len()).max().unwrap_or(0);
    let enough = n(1).min(MIN_CANDIDATES);
    (1..=most).rev().find(|&splits| n(splits) >= enough).unwrap_or(most)
}

/// The best configurations on the first `n_splits` splits, best first, with their predictions; without those of
/// which [`member`] returns `None`.
fn candidates<'t>(
    trials: &PortfolioTrials<'_>,
    tried: &'t [Tried],
    n_splits: usize,
    options: &AutoOptions<'_>,
) -> Vec<Candidate<'t>> {
    let value = |tried: &Tried| (n_splits, mean(&tried.row.scores[..n_splits]));
    let mut found: Vec<&Tried> =
        tried.iter().filter(|tried| n_splits > 0 && tried.row.scores.len() >= n_splits).collect();
    // A stable sort: of equal means, that on more splits comes first.
    found.sort_by(|a, b| value(b).1.total_cmp(&value(a).1));
    debug_assert!(found.windows(2).all(|pair| !is_better(value(pair[1]), value(pair[0]))));
    found.truncate(MAX_CANDIDATES);
    let candidate = |tried: &'t Tried| {
        let runs = (0..n_splits).map(|i| member(trials, &tried.configuration, i, options));
        Some(Candidate { tried, runs: runs.collect::<Option<_>>()? })
    };
    found.into_iter().filter_map(candidate).collect()
}

/// The run of a configuration on a split, which is trained if its model is not on this machine; `None` if that
/// fails or there is no time left.
fn member(
    trials: &PortfolioTrials<'_>,
    configuration: &Configuration,
    split: usize,
    options: &AutoOptions<'_>,
) -> Option<MemberRun> {
    if let Some(run) = trials.members.get(configuration, split, options.threads) {
        return Some(run);
    }
    let should_continue = || !options.cancel.load(Ordering::Relaxed);
    if !should_continue() || trials.clock.share() >= 1.0 {
        return None;
    }
    let left = trials.clock.left_until(1.0).map(|left| left.as_secs_f64());
    let limit = RunLimit { seconds: left, may_skip: true };
    let setup = trials.setup(configuration).ok()?;
    let run = (configuration, &setup);
    trials.train_split(run, split, options.threads, limit, &should_continue).ok()?;
    trials.members.get(configuration, split, options.threads)
}

/// The labels of the validation nodes of a split, and the candidates' predictions for them.
fn part(
    trials: &PortfolioTrials<'_>,
    candidates: &[Candidate<'_>],
    split: usize,
) -> ValidationPart {
    let nodes = trials.hold_out.validation[split].val();
    let rows = |p: &Mat<f32>| {
        let values = nodes.iter().flat_map(|&node| p.row(node as usize).iter().copied());
        Mat::from_vec(nodes.len(), p.cols(), values.collect())
    };
    ValidationPart {
        truth: trials.labels(nodes),
        predictions: candidates.iter().map(|c| rows(&c.runs[split].probabilities)).collect(),
    }
}

/// The temperature of the ensemble, and the mean over splits of its score on the validation nodes.
fn calibrate(
    trials: &PortfolioTrials<'_>,
    parts: &[ValidationPart],
    counts: &[usize],
) -> (f64, f64) {
    let (mut values, mut truth, mut score, mut n_classes) = (vec![], vec![], 0.0, 0);
    for part in parts {
        let weighted = counts.iter().zip(&part.predictions).filter(|(count, _)| **count > 0);
        let mean = weighted_mean(weighted.map(|(count, p)| (*count as f64, p)));
        let nodes: Vec<u32> = (0..part.truth.len() as u32).collect();
        score += trials.objective.score(&mean, &nodes, &part.truth) / parts.len() as f64;
        n_classes = mean.cols();
        values.extend_from_slice(mean.as_slice());
        truth.extend_from_slice(&part.truth);
    }
    let predictions = Mat::from_vec(truth.len(), n_classes, values);
    (temperature::fit(&predictions, &truth), score)
}

/// The ensemble of candidates, each with the number of times it was selected; one model file per split.
fn bundle(
    trials: &PortfolioTrials<'_>,
    members: &[(usize, &Candidate<'_>)],
    n_splits: usize,
    temperature: f64,
) -> ModelEnsemble {
    let total: usize = members.iter().map(|(count, _)| count).sum();
    let member = |(count, candidate): &(usize, &Candidate<'_>), split: usize| {
        let Tried { configuration, row } = candidate.tried;
        EnsembleMember {
            weight: *count as f64 / (total * n_splits) as f64,
            configuration: row.title(),
            file: trials.members.relative_path(configuration, split),
        }
    };
    let files = members.iter().flat_map(|one| (0..n_splits).map(move |split| member(one, split)));
    ModelEnsemble {
        version: env!("CARGO_PKG_VERSION").into(),
        graph: trials.request.graph.clone(),
        temperature,
        members: files.collect(),
    }
}

/// The model of the best configuration that has the highest score on its own validation nodes.
fn single_best(trials: &PortfolioTrials<'_>, best: &Candidate<'_>) -> Result<SingleBest> {
    let Tried { configuration, row } = best.tried;
    let scores = &row.scores[..best.runs.len()];
    let higher = |a: usize, b: usize| if scores[b] > scores[a] { b } else { a };
    let split = (1..scores.len()).fold(0, higher);
    let model = TrainedModel::load(&trials.members.path(configuration, split))?;
    let (own, test) = (&trials.hold_out.validation[split], trials.hold_out.split.test());
    let parts = [own.train().to_vec(), own.val().to_vec(), test.to_vec()];
    Ok(SingleBest {
        parts: Split::new(&format!("auto {split}"), parts)?,
        name: row.title(),
        validation: row.validation,
        split,
        model,
        estimate: None,
        training: best.runs[split].training.clone(),
    })
}

/// The filter of the best configuration that has one and whose model is on this machine, as learned on the first
/// split.
fn spectral_filter(
    trials: &PortfolioTrials<'_>,
    tried: &[Tried],
    threads: usize,
) -> Option<SpectralFilter> {
    tried.iter().filter(|tried| tried.configuration.model.filter.is_some()).find_map(|tried| {
        let configuration = &tried.configuration;
        let run = trials.members.get(configuration, 0, threads)?;
        let known = run.training.and_then(|training| training.filter.clone());
        let read = || trials.members.model(configuration, 0)?.filter(&trials.dataset).ok()?;
        Some(SpectralFilter {
            name: tried.row.title(),
            model: configuration.model,
            validation: tried.row.validation,
            response: known.or_else(read)?,
        })
    })
}

/// The scores of final predictions on the test nodes; `None` without test nodes. No other function of `auto`
/// scores predictions for test nodes.
fn estimate(trials: &PortfolioTrials<'_>, probabilities: &Mat<f32>) -> Result<Option<Estimate>> {
    let (dataset, split, objective) = (&trials.dataset, &trials.hold_out.split, trials.objective);
    let nodes = split.test();
    if nodes.is_empty() {
        return Ok(None);
    }
    let scores: TestScores = test_scores(probabilities, dataset, split)?;
    let score = objective.of_test(&scores);
    let interval = match objective {
        Objective::Accuracy => interval::wilson(scores.accuracy, nodes.len()),
        _ => interval::half_samples(nodes, score, |half| {
            let part = Split::new("half of the test nodes", [vec![], vec![], half])?;
            Ok(objective.of_test(&test_scores(probabilities, dataset, &part)?))
        })?,
    };
    let truth: Vec<u32> =
        nodes.iter().map(|&node| dataset.y[node as usize].expect("checked by the split")).collect();
    let values = nodes.iter().flat_map(|&node| probabilities.row(node as usize).iter().copied());
    let rows = Mat::from_vec(nodes.len(), probabilities.cols(), values.collect());
    Ok(Some(Estimate {
        score,
        interval,
        nodes: nodes.len(),
        accuracy: scores.accuracy,
        macro_f1: scores.macro_f1,
        balanced_accuracy: scores.balanced_accuracy,
        roc_auc: scores.roc_auc,
        majority_share: scores.majority_share,
        cross_entropy: super::ensemble::cross_entropy(&rows, &truth),
    }))
}

impl AutoAnswer {
    /// The nodes without a label; all nodes if every node has one.
    pub fn nodes_to_predict(&self) -> Vec<usize> {
        let all = 0..self.predictions.is_labelled.len();
        let unlabelled: Vec<usize> =
            all.clone().filter(|&node| !self.predictions.is_labelled[node]).collect();
        if unlabelled.is_empty() { all.collect() } else { unlabelled }
    }

    /// Writes `ensemble.json`, `best.safetensors` and `predictions.csv`. The folder should be
    /// [`AutoOptions::folder`], because the ensemble refers to the models in it.
    pub fn save(&self, folder: &Path) -> Result<()> {
        self.ensemble.save(folder)?;
        self.single.model.save(&folder.join("best.safetensors"))?;
        let csv = self.predictions.to_csv(&self.nodes_to_predict());
        write_atomically(&folder.join("predictions.csv"), [csv.as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::super::AutoRequest;
    use super::super::search::SCORES;
    use super::super::trials::tests::portfolio_trials;
    use super::*;
    use clenshaw_tune::{AttrKind, Direction, JournalStorage, Storage, Study, TrialOutcome};
    use serde_json::{Value, json};

    #[test]
    fn configurations_with_a_result_are_not_listed_as_failed() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = AutoRequest::new("csbm:nodes=60", "s");
        request.portfolio.entries.truncate(2);
        let trials = portfolio_trials(&request, folder.path());
        let storage = JournalStorage::open(folder.path().join("s.journal")).unwrap();
        let study = Study::open(&storage, "s", Direction::Maximize).unwrap();
        let search = trials.search();
        let start = || {
            let next = study.ask_params(|trials, next| search.next_params(trials, next, 0.0));
            next.unwrap().unwrap()
        };
        let end = |trial: &Trial, key: &str, value: Value, outcome: TrialOutcome| {
            let attrs = [(key.to_owned(), value)].into();
            storage.set_trial_attrs(trial.id, AttrKind::User, &attrs).unwrap();
            study.tell(trial, outcome).unwrap();
        };
        // The first entry has a result on one split and then fails; the second one fails at once.
        end(&start(), SCORES, json!([0.5]), TrialOutcome::Pruned(Some(0.5)));
        end(&start(), FAILED, json!("out of memory"), TrialOutcome::Fail);
        end(&start(), FAILED, json!("diverged"), TrialOutcome::Fail);
        let stored = study.trials().unwrap();
        let tried = tried(&trials, &stored);
        assert_eq!(tried.len(), 1);
        let second = request.portfolio.entries[1].name.clone();
        let reason = "out of memory".to_owned();
        assert_eq!(failed(&trials, &stored, &tried), [(second, reason)]);
    }

    #[test]
    fn error_without_results_contains_the_reason_of_a_failure() {
        let failure = ("gcn-cora".to_owned(), "out of memory".to_owned());
        let error = no_results("csbm", StudyEnd::SpaceExhausted, Some(&failure)).to_string();
        assert_eq!(
            error,
            "csbm: no configuration could be trained; the last one, gcn-cora, failed: out of memory"
        );
        let error = no_results("csbm", StudyEnd::Interrupted, Some(&failure));
        assert!(matches!(error, Error::Interrupted));
    }
}

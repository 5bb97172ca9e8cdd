//! The result of a study.

use super::propose::FAILED;
use super::{DIRECTION, TuneRequest};
use crate::data::{Dataset, SplitKind};
use crate::error::Result;
use crate::experiment::Request;
use clenshaw_tune::{Trial, TrialState, param_importances};

/// Number of runs of the final evaluation, as in the paper, except with [`SplitKind::All`].
const EVALUATION_RUNS: usize = 20;

/// Why a study ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyEnd {
    /// The target number of trials was reached; `tune` counts complete trials, `auto` every trial that ended
    /// without being interrupted.
    TrialsCompleted,
    /// Every point of the search space has been tried, or no untried point was found in a space that is
    /// continuous or has more than a million points. In `auto`: nothing was left to train or tune.
    SpaceExhausted,
    /// The time limit was reached.
    TimedOut,
    /// The study was cancelled.
    Interrupted,
}

/// The trials of a study, and the best of them.
#[derive(Clone, Debug)]
pub struct TuneResult {
    /// All trials, in the order of their numbers.
    pub trials: Vec<Trial>,
    /// Why the study ended.
    pub end: StudyEnd,
    /// The best trial, and a request that evaluates its settings: 20 runs with seeds not used in tuning or,
    /// for [`SplitKind::All`], one run per published split. `None` if no trial is complete.
    pub best: Option<(Trial, Request)>,
    /// The parameters of the complete trials and their importances, which sum to 1, largest first; empty if no
    /// trial is complete.
    pub importances: Vec<(String, f64)>,
}

impl TuneResult {
    pub(super) fn new(
        request: &TuneRequest,
        dataset: &Dataset,
        trials: Vec<Trial>,
        end: StudyEnd,
    ) -> Result<Self> {
        let best = ranked_trials(&trials).first().map(|trial| {
            let trained = request.trial_request(&trial.params)?;
            Result::Ok(((*trial).clone(), evaluation_request(trained, dataset.splits.len())))
        });
        let importances = param_importances(&trials, DIRECTION);
        Ok(Self { best: best.transpose()?, end, importances, trials })
    }

    /// The number of trials in this state.
    pub fn count(&self, state: TrialState) -> usize {
        self.trials.iter().filter(|trial| trial.state == state).count()
    }

    /// The number of trials that failed because of their settings: training diverged or did not fit into memory.
    pub fn n_failed(&self) -> usize {
        let has_reason = |trial: &&Trial| trial.user_attrs.contains_key(FAILED);
        let failed = self.trials.iter().filter(|trial| trial.state == TrialState::Fail);
        failed.filter(has_reason).count()
    }

    /// The number of trials that failed for another reason, such as an interruption or the end of their worker.
    pub fn n_interrupted(&self) -> usize {
        self.count(TrialState::Fail).saturating_sub(self.n_failed())
    }
}

/// The complete trials, highest value first; of equal ones, the earlier trial comes first.
pub fn ranked_trials(trials: &[Trial]) -> Vec<&Trial> {
    let mut complete: Vec<(f64, &Trial)> = trials
        .iter()
        .filter(|trial| trial.state == TrialState::Complete)
        .filter_map(|trial| Some((trial.value?, trial)))
        .collect();
    complete.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.number.cmp(&b.1.number)));
    complete.into_iter().map(|(_, trial)| trial).collect()
}

/// The request for the final evaluation: seeds after those used in tuning or, with [`SplitKind::All`], all
/// published splits, of which there are `n_published`.
pub(in crate::experiment) fn evaluation_request(request: Request, n_published: usize) -> Request {
    match request.split {
        SplitKind::All => Request { runs: n_published.max(1), seed: 0, ..request },
        _ => Request { runs: EVALUATION_RUNS, seed: request.seed + request.runs as u64, ..request },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn trial(number: u64, state: TrialState, attribute: &str) -> Trial {
        Trial {
            id: number,
            number,
            state,
            value: None,
            params: BTreeMap::new(),
            intermediate_values: BTreeMap::new(),
            user_attrs: BTreeMap::from([(attribute.to_owned(), serde_json::Value::Bool(true))]),
            system_attrs: BTreeMap::new(),
            datetime_start: None,
            datetime_complete: None,
        }
    }

    #[test]
    fn running_trial_does_not_count_as_failed() {
        // A worker stores the reason before it marks the trial as failed.
        let trials = vec![
            trial(0, TrialState::Running, FAILED),
            trial(1, TrialState::Fail, FAILED),
            trial(2, TrialState::Fail, "interrupted"),
        ];
        let (end, importances) = (StudyEnd::Interrupted, vec![]);
        let result = TuneResult { trials, end, best: None, importances };
        assert_eq!((result.n_failed(), result.n_interrupted()), (1, 1));
    }
}

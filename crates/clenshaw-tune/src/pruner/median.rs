//! The median stopping rule: prunes a trial whose best intermediate value is worse than the median of
//! complete trials at the same step.
//!
//! Golovin et al., Google Vizier, KDD 2017.

use crate::{Direction, Trial, TrialState};

/// Settings of the median pruner, named as in Optuna.
#[derive(Clone, Debug, PartialEq)]
pub struct Median {
    /// The number of trials that must be complete before any is pruned; 0 has the same effect as 1.
    pub n_startup_trials: usize,
    /// The first step at which a trial may be pruned.
    pub n_warmup_steps: u64,
    /// The number of steps between two decisions; 0 has the same effect as 1.
    pub interval_steps: u64,
    /// The minimum number of complete trials with a value at the step; with fewer, only trials that have
    /// reported nothing but NaN are pruned.
    pub n_min_trials: usize,
}

impl Default for Median {
    /// The settings used by the authors of ClenshawGCN.
    fn default() -> Self {
        Self { n_startup_trials: 5, n_warmup_steps: 3, interval_steps: 1, n_min_trials: 5 }
    }
}

impl Median {
    /// Whether to prune the trial at its last report. If a decision is due and `n_startup_trials` trials are
    /// complete, a trial that has reported nothing but NaN is pruned.
    pub(super) fn should_prune(
        &self,
        trial: &Trial,
        trials: &[Trial],
        direction: Direction,
    ) -> bool {
        let complete: Vec<&Trial> =
            trials.iter().filter(|trial| trial.state == TrialState::Complete).collect();
        if complete.len() < self.n_startup_trials.max(1) || !self.is_due(trial) {
            return false;
        }
        let Some(best) = best_value(trial, direction) else {
            return true;
        };
        let Some((step, _)) = trial.intermediate_values.last_key_value() else {
            return false;
        };
        let others: Vec<f64> = complete
            .iter()
            .filter_map(|other| other.intermediate_values.get(step).copied())
            .collect();
        if others.len() < self.n_min_trials {
            return false;
        }
        median(others).is_some_and(|median| direction.loss(best) > direction.loss(median))
    }

    /// Whether the last report is the first one at or after a decision step.
    fn is_due(&self, trial: &Trial) -> bool {
        let mut steps = trial.intermediate_values.keys().rev();
        let Some(since) = steps.next().and_then(|step| step.checked_sub(self.n_warmup_steps))
        else {
            return false;
        };
        let interval = self.interval_steps.max(1);
        let decision = since / interval * interval + self.n_warmup_steps;
        steps.next().is_none_or(|previous| *previous < decision)
    }
}

/// The best intermediate value that is not NaN; `None` if there is none.
fn best_value(trial: &Trial, direction: Direction) -> Option<f64> {
    let numbers = trial.intermediate_values.values().copied().filter(|value| !value.is_nan());
    numbers.reduce(|a, b| if direction.loss(b) < direction.loss(a) { b } else { a })
}

/// The median of the values that are not NaN; `None` if there are none.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| 0.5 * (values[(n - 1) / 2] + values[n / 2]))
}

//! The median rule: stop a trial whose best report is worse than the median of others at this step.
//!
//! Golovin et al., Google Vizier, KDD 2017.

use crate::{Direction, State, Trial};

/// The rule's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Median {
    /// How many trials are completed before any is stopped.
    pub startup_trials: usize,
    /// The first step at which a trial may be stopped.
    pub warmup_steps: u64,
    /// How many steps lie between two decisions.
    pub interval: u64,
    /// How many reports at a step make a median.
    pub min_trials: usize,
}

impl Default for Median {
    /// As the authors of ClenshawGCN set it.
    fn default() -> Self {
        Self { startup_trials: 5, warmup_steps: 3, interval: 1, min_trials: 5 }
    }
}

impl Median {
    /// Whether the trial ends at its last report.
    pub(super) fn prunes(&self, trial: &Trial, trials: &[Trial], direction: Direction) -> bool {
        let complete: Vec<&Trial> = trials.iter().filter(|t| t.state == State::Complete).collect();
        if complete.len() < self.startup_trials.max(1) || !self.is_due(trial) {
            return false;
        }
        let Some(best) = best(trial, direction) else {
            return true;
        };
        let Some((step, _)) = trial.reports.last_key_value() else {
            return false;
        };
        let others: Vec<f64> =
            complete.iter().filter_map(|other| other.reports.get(step).copied()).collect();
        if others.len() < self.min_trials {
            return false;
        }
        median(others).is_some_and(|median| match direction {
            Direction::Minimise => best > median,
            Direction::Maximise => best < median,
        })
    }

    /// Whether this is the first report since the last step at which decisions are made.
    fn is_due(&self, trial: &Trial) -> bool {
        let mut steps = trial.reports.keys().rev();
        let Some(since) = steps.next().and_then(|step| step.checked_sub(self.warmup_steps)) else {
            return false;
        };
        let interval = self.interval.max(1);
        let decision = since / interval * interval + self.warmup_steps;
        steps.next().is_none_or(|previous| *previous < decision)
    }
}

/// The best report, if one is a number.
fn best(trial: &Trial, direction: Direction) -> Option<f64> {
    let numbers = trial.reports.values().copied().filter(|value| !value.is_nan());
    numbers.reduce(|a, b| match direction {
        Direction::Minimise => a.min(b),
        Direction::Maximise => a.max(b),
    })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| 0.5 * (values[(n - 1) / 2] + values[n / 2]))
}

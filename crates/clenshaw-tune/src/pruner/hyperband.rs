//! Hyperband: brackets of successive halving with different first rungs, run in parallel.
//!
//! ```text
//! brackets  b = 0..B,  B = floor(log_eta(max_resource / min_resource)) + 1
//! budget_b = ceil(B eta^s / (s + 1)),  s = B - 1 - b
//! ```
//!
//! The number `crc32("{study_name}_{number}") mod sum budget_b` selects the bracket of a trial with
//! probability proportional to `budget_b`, as in Optuna, so that all workers agree. Trials are compared
//! within their bracket only.
//! Li, Jamieson, DeSalvo, Rostamizadeh & Talwalkar, JMLR 2018.

use super::{PruningDecision, SuccessiveHalving, last_step};
use crate::{Direction, Trial};

/// Settings of the Hyperband pruner, named as in Optuna.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperband {
    /// The name of the study, which is hashed to assign trials to brackets.
    pub study_name: String,
    /// The step of the lowest rung of the first bracket; 0 counts as 1.
    pub min_resource: u64,
    /// The maximum number of steps; `None` for one more than the largest step of a complete trial.
    pub max_resource: Option<u64>,
    /// `eta`: about one in `eta` trials is promoted from each rung. 0 and 1 count as 2.
    pub reduction_factor: u64,
    /// The number of trials that must reach a rung, and are pruned there, before any is promoted from it.
    pub bootstrap_count: usize,
}

impl Hyperband {
    /// Creates a pruner with Optuna's default settings.
    pub fn new(study_name: impl Into<String>) -> Self {
        Self {
            study_name: study_name.into(),
            min_resource: 1,
            max_resource: None,
            reduction_factor: 3,
            bootstrap_count: 0,
        }
    }

    /// Applies successive halving within the bracket of the trial. Prunes nothing if there are no brackets.
    pub(super) fn decide(
        &self,
        trial: &Trial,
        trials: &[Trial],
        direction: Direction,
    ) -> PruningDecision {
        let Some(bracket) = self.bracket(&self.budgets(trials), trial.number) else {
            return PruningDecision::default();
        };
        let halving = SuccessiveHalving {
            min_resource: Some(self.min_resource),
            reduction_factor: self.reduction_factor,
            min_early_stopping_rate: bracket as u32,
            bootstrap_count: self.bootstrap_count,
        };
        halving.decide(trial, &self.trials_in_bracket(trial.number, trials), direction)
    }

    /// Returns the trials in the bracket of trial `number`; all trials if there are no brackets.
    pub(super) fn trials_in_bracket<'a>(&self, number: u64, trials: &'a [Trial]) -> Vec<&'a Trial> {
        let budgets = self.budgets(trials);
        let bracket = self.bracket(&budgets, number);
        trials.iter().filter(|other| self.bracket(&budgets, other.number) == bracket).collect()
    }

    /// The budget of every bracket; empty if the maximum number of steps is less than `min_resource`, or unknown
    /// because `max_resource` is unset and no complete trial has reported a value.
    fn budgets(&self, trials: &[Trial]) -> Vec<u64> {
        let max = self.max_resource.or_else(|| Some(last_step(trials)?.saturating_add(1)));
        let Some(max) = max else {
            return Vec::new();
        };
        let eta = self.reduction_factor.max(2) as f64;
        let ratio = max as f64 / self.min_resource.max(1) as f64;
        // Rounded as in Optuna: the computed logarithm of 243 to base 3 is slightly less than 5.
        let n_brackets = ((ratio.ln() / eta.ln()).floor() + 1.0).max(0.0) as u32;
        let budget = |s: u32| f64::from(n_brackets) * eta.powi(s as i32) / f64::from(s + 1);
        (0..n_brackets).rev().map(|s| budget(s).ceil() as u64).collect()
    }

    /// The bracket of trial `number`; `None` if `budgets` is empty.
    fn bracket(&self, budgets: &[u64], number: u64) -> Option<usize> {
        let total = budgets.iter().fold(0, |sum: u64, budget| sum.saturating_add(*budget));
        let hash = crc32fast::hash(format!("{}_{number}", self.study_name).as_bytes());
        let mut remainder = u64::from(hash).checked_rem(total)?;
        budgets.iter().position(|budget| {
            let is_found = remainder < *budget;
            remainder = remainder.saturating_sub(*budget);
            is_found
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrialState;

    #[test]
    fn largest_step_does_not_overflow() {
        let settings = Hyperband { reduction_factor: 2, ..Hyperband::new("study") };
        let mut trial = Trial::new(0, 0, TrialState::Complete);
        trial.intermediate_values.insert(u64::MAX, 0.5);
        let trials = [trial];
        assert_eq!(settings.trials_in_bracket(0, &trials).len(), 1);
        assert!(!settings.decide(&trials[0], &trials, Direction::Minimize).prune);
    }
}

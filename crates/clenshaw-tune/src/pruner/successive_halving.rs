//! Asynchronous successive halving: a trial is promoted from rung `r` if it is among the best `1/eta` of the
//! trials that have reached the rung.
//!
//! ```text
//! rung r is at step  min_resource * eta^(s + r)
//! ```
//!
//! Trials run in parallel and are never resumed, so a trial among the first `eta - 1` to reach a rung is
//! promoted if it is the best so far. The value of a trial at rung `r` is stored as the system attribute
//! `completed_rung_r`, as in Optuna.
//! Li, Jamieson et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020.

use super::{PruningDecision, last_step};
use crate::{Direction, Trial};

/// Settings of the successive halving pruner, with Optuna's names and defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct SuccessiveHalving {
    /// The step of the lowest rung if `min_early_stopping_rate` is 0; `None` for 1/100 of the last step of the
    /// longest complete trial, at least 1. No trial is pruned while this step is unknown.
    pub min_resource: Option<u64>,
    /// `eta`: about one in `eta` trials is promoted from each rung. 0 and 1 count as 2.
    pub reduction_factor: u64,
    /// `s`: the number of lowest rungs to skip.
    pub min_early_stopping_rate: u32,
    /// The number of trials that must reach a rung, and are pruned there, before any is promoted from it.
    pub bootstrap_count: usize,
}

impl Default for SuccessiveHalving {
    fn default() -> Self {
        Self {
            min_resource: None,
            reduction_factor: 4,
            min_early_stopping_rate: 0,
            bootstrap_count: 0,
        }
    }
}

impl SuccessiveHalving {
    /// Promotes or prunes the trial at each further rung that its last report has reached. A trial that
    /// reports NaN at a rung is pruned.
    pub(super) fn decide(
        &self,
        trial: &Trial,
        trials: &[&Trial],
        direction: Direction,
    ) -> PruningDecision {
        let mut decision = PruningDecision::default();
        let Some((&step, &value)) = trial.intermediate_values.last_key_value() else {
            return decision;
        };
        let estimate = || last_step(trials.iter().copied()).map(|last| (last / 100).max(1));
        let Some(first) = self.min_resource.or_else(estimate) else {
            return decision;
        };
        let mut rung = (0..).find(|r| !trial.system_attrs.contains_key(&rung_key(*r))).unwrap_or(0);
        while !decision.prune && self.rung_step(first, rung).is_some_and(|at| step >= at) {
            if value.is_nan() {
                decision.prune = true;
                break;
            }
            decision.system_attrs.insert(rung_key(rung), value);
            let others = trials.iter().filter(|other| other.number != trial.number);
            let values =
                others.filter_map(|other| other.system_attrs.get(&rung_key(rung))?.as_f64());
            decision.prune = !self.is_promoted(value, values.chain([value]).collect(), direction);
            rung += 1;
        }
        decision
    }

    /// `first * eta^(s + rung)`; `None` if it is larger than any step.
    fn rung_step(&self, first: u64, rung: u32) -> Option<u64> {
        let exponent = self.min_early_stopping_rate.checked_add(rung)?;
        first.max(1).checked_mul(self.reduction_factor.max(2).checked_pow(exponent)?)
    }

    /// Whether `value` is the best or among the best `1/eta` of `all` values at the rung, which include it;
    /// `false` for the first `bootstrap_count` trials.
    fn is_promoted(&self, value: f64, mut all: Vec<f64>, direction: Direction) -> bool {
        if all.len() <= self.bootstrap_count {
            return false;
        }
        let n_best = (all.len() / self.reduction_factor.max(2) as usize).max(1);
        all.sort_by(f64::total_cmp);
        match direction {
            Direction::Minimize => value <= all[n_best - 1],
            Direction::Maximize => value >= all[all.len() - n_best],
        }
    }
}

fn rung_key(rung: u32) -> String {
    format!("completed_rung_{rung}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrialState;

    #[test]
    fn largest_step_reaches_a_finite_number_of_rungs() {
        let halving = SuccessiveHalving { min_resource: Some(1), ..SuccessiveHalving::default() };
        let mut trial = Trial::new(0, 0, TrialState::Running);
        trial.intermediate_values.insert(u64::MAX, 0.5);
        let decision = halving.decide(&trial, &[], Direction::Minimize);
        // 4^31 is the largest power of 4 below 2^64.
        assert_eq!((decision.prune, decision.system_attrs.len()), (false, 32));
    }
}

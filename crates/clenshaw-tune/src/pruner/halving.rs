//! Successive halving: at rung `r` a trial goes on if it is among the best `1/eta` that came there.
//!
//! ```text
//! rung r stands at step  min_resource * eta^(s + r)
//! ```
//!
//! Trials run side by side and are never resumed, so the first `eta - 1` to come to a rung go on only
//! as its best. What a trial had at rung `r` is kept as the attribute `completed_rung_r`, as Optuna does.
//! Li, Jamieson et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020.

use super::{Verdict, longest};
use crate::{Direction, Trial};

/// The ladder of rungs.
#[derive(Clone, Debug, PartialEq)]
pub struct Halving {
    /// The step of the first rung; a hundredth of the longest complete trial, if not given.
    pub min_resource: Option<u64>,
    /// The share that goes on is one in this many, `eta`.
    pub reduction_factor: u64,
    /// How many rungs are left out at the bottom, `s`.
    pub min_early_stopping_rate: u32,
    /// How many trials end at a rung before any goes on.
    pub bootstrap_count: usize,
}

impl Default for Halving {
    fn default() -> Self {
        Self {
            min_resource: None,
            reduction_factor: 4,
            min_early_stopping_rate: 0,
            bootstrap_count: 0,
        }
    }
}

impl Halving {
    /// Climbs the rungs that the last report has reached.
    pub(super) fn judge(&self, trial: &Trial, trials: &[Trial], direction: Direction) -> Verdict {
        self.climb(trial, &trials.iter().collect::<Vec<_>>(), direction)
    }

    pub(super) fn climb(&self, trial: &Trial, trials: &[&Trial], direction: Direction) -> Verdict {
        let mut verdict = Verdict::default();
        let Some((&step, &value)) = trial.reports.last_key_value() else {
            return verdict;
        };
        let estimate = || longest(trials.iter().copied()).map(|last| (last / 100).max(1));
        let Some(first) = self.min_resource.or_else(estimate) else {
            return verdict;
        };
        let mut rung = (0..).find(|r| !trial.system_attrs.contains_key(&key(*r))).unwrap_or(0);
        while !verdict.prunes && step >= self.height(first, rung) {
            if value.is_nan() {
                verdict.prunes = true;
                break;
            }
            verdict.notes.insert(key(rung), value);
            let others = trials.iter().filter(|other| other.number != trial.number);
            let values = others.filter_map(|other| other.system_attrs.get(&key(rung))?.as_f64());
            verdict.prunes = !self.goes_on(value, values.chain([value]).collect(), direction);
            rung += 1;
        }
        verdict
    }

    /// `first * eta^(s + rung)`.
    fn height(&self, first: u64, rung: u32) -> u64 {
        let power =
            self.reduction_factor.max(2).saturating_pow(self.min_early_stopping_rate + rung);
        first.max(1).saturating_mul(power)
    }

    /// Whether `value` is among the best of all that came to the rung, itself included.
    fn goes_on(&self, value: f64, mut all: Vec<f64>, direction: Direction) -> bool {
        if all.len() <= self.bootstrap_count {
            return false;
        }
        let n_best = (all.len() / self.reduction_factor.max(2) as usize).max(1);
        all.sort_by(f64::total_cmp);
        match direction {
            Direction::Minimise => value <= all[n_best - 1],
            Direction::Maximise => value >= all[all.len() - n_best],
        }
    }
}

fn key(rung: u32) -> String {
    format!("completed_rung_{rung}")
}

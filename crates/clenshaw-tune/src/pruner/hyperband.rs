//! Hyperband: ladders of successive halving that start at different heights, side by side.
//!
//! ```text
//! brackets  b = 0..B,  B = floor(log_eta(max_resource / min_resource)) + 1
//! budget_b = ceil(B eta^s / (s + 1)),  s = B - 1 - b
//! ```
//!
//! A trial's bracket is drawn by `crc32("{study}_{number}") mod sum budget_b`, as in Optuna, so that all
//! workers agree. Trials are compared within their bracket alone.
//! Li, Jamieson, DeSalvo, Rostamizadeh & Talwalkar, JMLR 2018.

use super::{Halving, Verdict, longest};
use crate::{Direction, Trial};

/// The ladders.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperband {
    /// The study's name.
    pub study: String,
    /// The step of the lowest rung.
    pub min_resource: u64,
    /// The step after the last; taken from the longest complete trial, if not given.
    pub max_resource: Option<u64>,
    /// The share that goes on at a rung is one in this many, `eta`.
    pub reduction_factor: u64,
    /// How many trials end at a rung before any goes on.
    pub bootstrap_count: usize,
}

impl Hyperband {
    /// Optuna's settings for a study.
    pub fn new(study: impl Into<String>) -> Self {
        Self {
            study: study.into(),
            min_resource: 1,
            max_resource: None,
            reduction_factor: 3,
            bootstrap_count: 0,
        }
    }

    pub(super) fn judge(&self, trial: &Trial, trials: &[Trial], direction: Direction) -> Verdict {
        let budgets = self.budgets(trials);
        let Some(bracket) = self.bracket(&budgets, trial.number) else {
            return Verdict::default();
        };
        let same = |other: &&Trial| self.bracket(&budgets, other.number) == Some(bracket);
        let peers: Vec<&Trial> = trials.iter().filter(same).collect();
        let ladder = Halving {
            min_resource: Some(self.min_resource),
            reduction_factor: self.reduction_factor,
            min_early_stopping_rate: bracket as u32,
            bootstrap_count: self.bootstrap_count,
        };
        ladder.climb(trial, &peers, direction)
    }

    /// The trials that compete with trial `number`; Optuna's samplers learn from these alone.
    pub fn peers<'a>(&self, number: u64, trials: &'a [Trial]) -> Vec<&'a Trial> {
        let budgets = self.budgets(trials);
        let bracket = self.bracket(&budgets, number);
        trials.iter().filter(|other| self.bracket(&budgets, other.number) == bracket).collect()
    }

    /// How many tickets every bracket has; none as long as the longest trial is unknown.
    fn budgets(&self, trials: &[Trial]) -> Vec<u64> {
        let known = self.max_resource.or_else(|| longest(trials).map(|last| last + 1));
        let Some(max) = known else {
            return Vec::new();
        };
        let eta = self.reduction_factor.max(2) as f64;
        let ratio = max as f64 / self.min_resource.max(1) as f64;
        // Rounded as Optuna rounds: the logarithm of 243 to the base 3 falls short of 5.
        let n_brackets = ((ratio.ln() / eta.ln()).floor() + 1.0).max(0.0) as u32;
        let budget = |s: u32| f64::from(n_brackets) * eta.powi(s as i32) / f64::from(s + 1);
        (0..n_brackets).rev().map(|s| budget(s).ceil() as u64).collect()
    }

    fn bracket(&self, budgets: &[u64], number: u64) -> Option<usize> {
        let total: u64 = budgets.iter().sum();
        let hash = crc32fast::hash(format!("{}_{number}", self.study).as_bytes());
        let mut rest = u64::from(hash).checked_rem(total)?;
        budgets.iter().position(|budget| {
            let within = rest < *budget;
            rest = rest.saturating_sub(*budget);
            within
        })
    }
}

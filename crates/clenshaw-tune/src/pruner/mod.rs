//! Pruners: decide whether to stop a running trial early.
//!
//! A pruner is a pure function of the study's trials, called after every report. If `min_resource` or
//! `max_resource` is unset, Optuna's pruners keep their first estimate of it for the lifetime of a worker;
//! the pruners of this crate recompute it each time, so that all workers agree.

mod hyperband;
mod median;
mod successive_halving;
#[cfg(test)]
mod tests;

pub use hyperband::Hyperband;
pub use median::Median;
pub use successive_halving::SuccessiveHalving;

use crate::{Direction, Trial, TrialState};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A rule for stopping trials early.
#[derive(Clone, Debug, PartialEq)]
pub enum Pruner {
    /// Never prunes.
    Never,
    /// Prunes trials whose best value so far is worse than the median of complete trials at the same step.
    Median(Median),
    /// Prunes trials that are not among the best at a rung.
    SuccessiveHalving(SuccessiveHalving),
    /// Runs several brackets of successive halving in parallel.
    Hyperband(Hyperband),
}

/// The decision of a pruner after a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PruningDecision {
    /// Whether to stop the trial.
    pub prune: bool,
    /// System attributes to store with the trial, pruned or not; later decisions read them.
    pub system_attrs: BTreeMap<String, f64>,
}

impl Pruner {
    /// Decides whether to prune a trial, given its intermediate values and the study's trials.
    ///
    /// `trials` may include `trial` itself, in its current or an earlier state.
    pub fn decide(&self, trial: &Trial, trials: &[Trial], direction: Direction) -> PruningDecision {
        match self {
            Self::Never => PruningDecision::default(),
            Self::Median(median) => {
                let prune = median.should_prune(trial, trials, direction);
                PruningDecision { prune, ..PruningDecision::default() }
            }
            Self::SuccessiveHalving(halving) => {
                halving.decide(trial, &trials.iter().collect::<Vec<_>>(), direction)
            }
            Self::Hyperband(hyperband) => hyperband.decide(trial, trials, direction),
        }
    }

    /// The trials from which TPE estimates its densities for trial `number`: with Hyperband, those in the same
    /// bracket, as in Optuna; otherwise all.
    pub fn visible_trials<'a>(&self, trials: &'a [Trial], number: u64) -> Cow<'a, [Trial]> {
        match self {
            Self::Hyperband(hyperband) => {
                hyperband.trials_in_bracket(number, trials).into_iter().cloned().collect()
            }
            _ => Cow::Borrowed(trials),
        }
    }
}

/// The largest step that a complete trial has reported; `None` if there is none.
fn last_step<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<u64> {
    let complete = trials.into_iter().filter(|trial| trial.state == TrialState::Complete);
    complete
        .filter_map(|trial| trial.intermediate_values.last_key_value())
        .map(|(step, _)| *step)
        .max()
}

//! Pruners: whether a running trial is worth its time.
//!
//! A pruner is a function of the study so far, asked after every report. Optuna's keep what they
//! first estimate for as long as a worker lives; these estimate anew, so that all workers agree.

mod median;
mod halving;
mod hyperband;
#[cfg(test)]
mod tests;

pub use halving::Halving;
pub use hyperband::Hyperband;
pub use median::Median;

use super::{Direction, Trial};
use std::collections::BTreeMap;

/// A way to stop trials early.
#[derive(Clone, Debug, PartialEq)]
pub enum Pruner {
    /// Never.
    Never,
    /// Below the median of what others had at this step.
    Median(Median),
    /// Not among the best at a rung.
    Halving(Halving),
    /// Several ladders of rungs side by side.
    Hyperband(Hyperband),
}

/// What a pruner says after a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Whether the trial ends here.
    pub prunes: bool,
    /// System attributes to store with the trial, pruned or not; later verdicts read them.
    pub notes: BTreeMap<String, f64>,
}

impl Pruner {
    /// The verdict on a trial with the reports it has, given the study's trials.
    ///
    /// `trial` itself may be among `trials`, as it was at any earlier moment.
    pub fn judge(&self, trial: &Trial, trials: &[Trial], direction: Direction) -> Verdict {
        match self {
            Self::Never => Verdict::default(),
            Self::Median(median) => {
                let prunes = median.prunes(trial, trials, direction);
                Verdict { prunes, ..Verdict::default() }
            }
            Self::Halving(halving) => halving.judge(trial, trials, direction),
            Self::Hyperband(hyperband) => hyperband.judge(trial, trials, direction),
        }
    }
}

/// The last step that complete trials came to.
fn longest<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<u64> {
    let complete = trials.into_iter().filter(|trial| trial.state == super::State::Complete);
    complete.filter_map(|trial| trial.reports.last_key_value()).map(|(step, _)| *step).max()
}

//! Splits the trials of a study into good ones and the others.
//!
//! ```text
//! n good of N complete or pruned:  n = min(ceil(N / 10), 25)
//! ```
//!
//! Complete trials rank first, by value. Pruned trials follow, by their last step in decreasing order and
//! then by the value reported there; those without reports rank last. Failed and waiting trials are ignored.

use super::{SamplingContext, has_result};
use crate::{Direction, Trial, TrialState};
use std::cmp::Ordering;

/// Returns the good trials and the others, including running ones, each ordered by number.
pub(super) fn split<'a>(context: &'a SamplingContext) -> (Vec<&'a Trial>, Vec<&'a Trial>) {
    let mut ranked: Vec<&Trial> =
        context.other_trials().filter(|trial| has_result(trial)).collect();
    ranked.sort_by(|a, b| compare(rank(a, context.direction), rank(b, context.direction)));
    let n_good = ranked.len().div_ceil(10).min(25);
    let mut bad = ranked.split_off(n_good);
    bad.extend(context.other_trials().filter(|trial| trial.state == TrialState::Running));
    ranked.sort_by_key(|trial| trial.number);
    bad.sort_by_key(|trial| trial.number);
    (ranked, bad)
}

/// A sort key that places good trials first. Its components are 0 for a complete trial, 1 for a pruned trial
/// or 2 for a pruned trial without reports; minus the last step of a pruned trial; and the loss.
fn rank(trial: &Trial, direction: Direction) -> [f64; 3] {
    match (trial.state, trial.intermediate_values.last_key_value()) {
        (TrialState::Complete, _) => [0.0, 0.0, loss(trial.value.unwrap_or(f64::NAN), direction)],
        (_, Some((step, value))) => [1.0, -(*step as f64), loss(*value, direction)],
        (_, None) => [2.0, 0.0, 0.0],
    }
}

/// Compares lexicographically.
fn compare(a: [f64; 3], b: [f64; 3]) -> Ordering {
    a.iter().zip(&b).fold(Ordering::Equal, |order, (a, b)| order.then(a.total_cmp(b)))
}

/// [`Direction::loss`] as a sort key: NaN becomes infinity, the worst value.
fn loss(value: f64, direction: Direction) -> f64 {
    let loss = direction.loss(value);
    // Adding 0 turns -0 into 0; `total_cmp` would order -0 before 0.
    if loss.is_nan() { f64::INFINITY } else { loss + 0.0 }
}

//! Good trials and the others.
//!
//! ```text
//! n good of N finished:  n = min(ceil(N / 10), 25)
//! ```
//!
//! Complete trials come first, by value; then pruned ones, those that came furthest first and, at the
//! same step, by what they reported there. Failed and waiting trials say nothing.

use super::{Ask, is_finished};
use crate::{Direction, State, Trial};
use std::cmp::Ordering;

/// The good trials and the others, running ones among them, each by number.
pub(super) fn split<'a>(ask: &'a Ask) -> (Vec<&'a Trial>, Vec<&'a Trial>) {
    let mut ranked: Vec<&Trial> = ask.others().filter(|trial| is_finished(trial)).collect();
    ranked.sort_by(|a, b| compare(rank(a, ask.direction), rank(b, ask.direction)));
    let n_good = ranked.len().div_ceil(10).min(25);
    let mut bad = ranked.split_off(n_good);
    bad.extend(ask.others().filter(|trial| trial.state == State::Running));
    ranked.sort_by_key(|trial| trial.number);
    bad.sort_by_key(|trial| trial.number);
    (ranked, bad)
}

/// A key that sorts good trials first: complete, pruned or silent; minus the last step; the loss.
fn rank(trial: &Trial, direction: Direction) -> [f64; 3] {
    match (trial.state, trial.reports.last_key_value()) {
        (State::Complete, _) => [0.0, 0.0, loss(trial.value.unwrap_or(f64::NAN), direction)],
        (_, Some((step, value))) => [1.0, -(*step as f64), loss(*value, direction)],
        (_, None) => [2.0, 0.0, 0.0],
    }
}

/// The first difference decides.
fn compare(a: [f64; 3], b: [f64; 3]) -> Ordering {
    a.iter().zip(&b).fold(Ordering::Equal, |order, (a, b)| order.then(a.total_cmp(b)))
}

/// The value, the smaller the better; what is not a number is worst.
fn loss(value: f64, direction: Direction) -> f64 {
    let loss = match direction {
        Direction::Minimise => value,
        Direction::Maximise => -value,
    };
    // The sum turns -0 into 0, which the order would tell apart.
    if loss.is_nan() { f64::INFINITY } else { loss + 0.0 }
}

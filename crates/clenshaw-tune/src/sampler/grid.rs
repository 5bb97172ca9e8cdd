//! Every combination of values once, in an order that the study's seed shuffles.
//!
//! Trial `i` takes the `i`-th combination, or the next one that no other trial has. Two workers that
//! ask in the same instant, while the study holds points that are not its own, may meet on one point.

use super::{Ask, Line};
use crate::error::{Error, Result};
use crate::{Distribution, State, Trial};
use clenshaw_rng::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// A grid with more points is a mistake.
const MOST: u64 = 1_000_000;

/// The values of one parameter.
struct Axis<'a> {
    name: &'a str,
    values: Vec<f64>,
}

/// The next point, if one is left.
pub(super) fn sample(ask: &Ask) -> Result<Option<BTreeMap<String, f64>>> {
    let axes: Vec<Axis> =
        ask.space.iter().map(|(name, d)| Axis::new(name, d)).collect::<Result<_>>()?;
    let n_points = count(&axes)?;
    let mut order: Vec<usize> = (0..n_points).collect();
    Stream::new(ask.seed, "tuning").named("grid").shuffle(&mut order);
    let tried: BTreeSet<usize> = ask
        .others()
        .filter(|trial| counts(trial))
        .filter_map(|trial| index(&axes, trial))
        .collect();
    let first = (ask.number % n_points as u64) as usize;
    let free = (0..n_points).map(|i| order[(first + i) % n_points]).find(|i| !tried.contains(i));
    Ok(free.map(|index| point(&axes, index)))
}

impl<'a> Axis<'a> {
    fn new(name: &'a str, distribution: &Distribution) -> Result<Self> {
        let values = match distribution {
            Distribution::Categorical { choices } => {
                Some((0..choices.len()).map(|i| i as f64).collect())
            }
            _ => Line::of(distribution).and_then(|line| line.values(MOST + 1)),
        };
        let values = values.ok_or_else(|| Error::BadValue {
            key: name.to_owned(),
            value: "a real number without a step".to_owned(),
            expected: "a step, choices or whole numbers, for a grid lists every value".to_owned(),
        })?;
        Ok(Self { name, values })
    }

    /// Which of the values this is; others may have rounded it differently.
    fn position(&self, value: f64) -> Option<usize> {
        let close = |x: &f64| (x - value).abs() <= 1e-9 * x.abs().max(value.abs());
        self.values.iter().position(close)
    }
}

fn count(axes: &[Axis]) -> Result<usize> {
    let product = axes.iter().try_fold(1u64, |n, axis| {
        n.checked_mul(axis.values.len() as u64).filter(|n| (1..=MOST).contains(n))
    });
    product.map(|n| n as usize).ok_or_else(|| Error::OutOfRange {
        key: "grid".to_owned(),
        value: "a product of too many values or none".to_owned(),
        allowed: format!("1..={MOST} points"),
    })
}

/// Failed trials give their point back.
fn counts(trial: &Trial) -> bool {
    matches!(trial.state, State::Complete | State::Pruned | State::Running)
}

/// The point's place when the last axis runs fastest.
fn index(axes: &[Axis], trial: &Trial) -> Option<usize> {
    axes.iter().try_fold(0, |index, axis| {
        let (_, value) = trial.params.get(axis.name)?;
        Some(index * axis.values.len() + axis.position(*value)?)
    })
}

fn point(axes: &[Axis], mut index: usize) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for axis in axes.iter().rev() {
        values.insert(axis.name.to_owned(), axis.values[index % axis.values.len()]);
        index /= axis.values.len();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded;
    use crate::{Choice, Direction};

    fn space() -> BTreeMap<String, Distribution> {
        let drop = Distribution::Float { low: 0.0, high: 0.9, log: false, step: Some(0.3) };
        let order = Distribution::Int { low: 2, high: 10, log: false, step: 4 };
        let words = Distribution::Categorical { choices: vec![Choice::None, Choice::Int(4)] };
        [("drop", drop), ("order", order), ("words", words)].map(|(k, d)| (k.into(), d)).into()
    }

    fn ask(
        space: &BTreeMap<String, Distribution>,
        trials: &[Trial],
        number: u64,
    ) -> Option<BTreeMap<String, f64>> {
        sample(&Ask { space, trials, direction: Direction::Minimise, seed: 3, number }).unwrap()
    }

    #[test]
    fn every_point_comes_once_and_then_none() {
        let space = space();
        let mut trials = Vec::new();
        for number in 0..4 * 3 * 2 {
            let point = ask(&space, &trials, number).expect("points are left");
            assert_eq!(Some(&point), ask(&space, &[], number).as_ref(), "by number alone");
            trials.push(recorded::trial(number, State::Complete, &space, &point));
        }
        let distinct: BTreeSet<String> =
            trials.iter().map(|trial| format!("{:?}", trial.params)).collect();
        assert_eq!(distinct.len(), 24);
        assert_eq!(ask(&space, &trials, 24), None);
        trials[7].state = State::Fail;
        let again = ask(&space, &trials, 24).expect("a failed point is free again");
        assert!(again.iter().all(|(name, value)| trials[7].params[name].1 == *value));
    }

    #[test]
    fn a_point_that_another_trial_has_is_skipped() {
        let space = space();
        let point = ask(&space, &[], 0).expect("points are left");
        let taken = recorded::trial(9, State::Running, &space, &point);
        assert_eq!(ask(&space, &[taken], 0), ask(&space, &[], 1));
    }

    #[test]
    fn a_grid_needs_steps_and_a_reasonable_size() {
        let refused = |distribution| {
            let space = BTreeMap::from([("rate".to_owned(), distribution)]);
            let direction = Direction::Minimise;
            sample(&Ask { space: &space, trials: &[], direction, seed: 0, number: 0 })
                .unwrap_err()
                .to_string()
        };
        let rate = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
        assert!(refused(rate).starts_with("`rate` is `a real number without a step`; expected a"));
        let long = Distribution::Int { low: 1, high: 2_000_000, log: false, step: 1 };
        assert_eq!(
            refused(long),
            "`grid` is a product of too many values or none, outside 1..=1000000 points"
        );
    }
}

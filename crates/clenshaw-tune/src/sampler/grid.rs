//! Grid search: every combination of values, in an order shuffled by the study's seed.
//!
//! Trial `i` takes the `i`-th combination, or the next one that no other trial has taken. Combinations of
//! failed trials are visited again. Two workers that sample at the same time may choose the same point.

use super::{NumericRange, SamplingContext};
use crate::error::{Error, Result};
use crate::{Distribution, Trial, TrialState};
use clenshaw_rng::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of points of a grid.
const MAX_POINTS: u64 = 1_000_000;

/// A parameter and its internal values in increasing order.
struct Axis<'a> {
    name: &'a str,
    values: Vec<f64>,
}

/// Returns the next point; `None` if all have been visited. Fails if the grid is infinite or too large.
pub(super) fn sample(context: &SamplingContext) -> Result<Option<BTreeMap<String, f64>>> {
    let axes: Vec<Axis> =
        context.space.iter().map(|(name, d)| Axis::new(name, d)).collect::<Result<_>>()?;
    let n_points = n_points(&axes)?;
    let mut order: Vec<usize> = (0..n_points).collect();
    Stream::new(context.seed, "tuning").named("grid").shuffle(&mut order);
    let visited: BTreeSet<usize> = context
        .other_trials()
        .filter(|trial| occupies_point(trial))
        .filter_map(|trial| index(&axes, trial))
        .collect();
    let first = (context.number % n_points as u64) as usize;
    let mut points = (0..n_points).map(|i| order[(first + i) % n_points]);
    Ok(points.find(|index| !visited.contains(index)).map(|index| point(&axes, index)))
}

impl<'a> Axis<'a> {
    /// Lists the values of a parameter; fails if there are infinitely many. A list that is too long for a grid
    /// may be incomplete.
    fn new(name: &'a str, distribution: &Distribution) -> Result<Self> {
        let values = match distribution {
            Distribution::Categorical { choices } => {
                Some((0..choices.len()).map(|i| i as f64).collect())
            }
            _ => NumericRange::new(distribution).and_then(|range| range.values(MAX_POINTS + 1)),
        };
        let values = values.ok_or_else(|| Error::BadValue {
            key: name.to_owned(),
            value: distribution.to_json(),
            expected: "a float with a step, an integer or choices, for grid search".to_owned(),
        })?;
        Ok(Self { name, values })
    }

    /// The index of a value; `None` if it is not on the axis. Values may differ by rounding errors, because
    /// other programs may compute steps differently.
    fn position(&self, value: f64) -> Option<usize> {
        let distance = |index: usize| (self.values[index] - value).abs();
        let above = self.values.partition_point(|x| *x < value);
        let neighbours = above.saturating_sub(1)..self.values.len().min(above + 1);
        let nearest = neighbours.min_by(|&a, &b| distance(a).total_cmp(&distance(b)))?;
        let tolerance = 1e-9 * self.values[nearest].abs().max(value.abs());
        (distance(nearest) <= tolerance).then_some(nearest)
    }
}

/// The number of points of the grid; an error if it is more than [`MAX_POINTS`].
fn n_points(axes: &[Axis]) -> Result<usize> {
    let product = axes.iter().try_fold(1u64, |n, axis| {
        n.checked_mul(axis.values.len() as u64).filter(|n| (1..=MAX_POINTS).contains(n))
    });
    product.map(|n| n as usize).ok_or_else(|| Error::OutOfRange {
        key: "grid size".to_owned(),
        value: "too large".to_owned(),
        allowed: format!("1 to {MAX_POINTS} points"),
    })
}

/// Whether a trial counts as a visit to its point; points of failed trials are visited again.
fn occupies_point(trial: &Trial) -> bool {
    matches!(trial.state, TrialState::Complete | TrialState::Pruned | TrialState::Running)
}

/// The index of a trial's point in row-major order; `None` if it is not on the grid.
fn index(axes: &[Axis], trial: &Trial) -> Option<usize> {
    axes.iter().try_fold(0, |index, axis| {
        let (_, value) = trial.params.get(axis.name)?;
        Some(index * axis.values.len() + axis.position(*value)?)
    })
}

/// The point with this index in row-major order.
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
    use crate::{Direction, ParamValue, fixtures};

    fn space() -> BTreeMap<String, Distribution> {
        let drop = Distribution::Float { low: 0.0, high: 0.9, log: false, step: Some(0.3) };
        let order = Distribution::Int { low: 2, high: 10, log: false, step: 4 };
        let list =
            Distribution::Categorical { choices: vec![ParamValue::None, ParamValue::Int(4)] };
        [("drop", drop), ("order", order), ("list", list)].map(|(k, d)| (k.into(), d)).into()
    }

    fn sample_for(
        space: &BTreeMap<String, Distribution>,
        trials: &[Trial],
        number: u64,
    ) -> Option<BTreeMap<String, f64>> {
        let direction = Direction::Minimize;
        sample(&SamplingContext { space, trials, direction, seed: 3, number }).unwrap()
    }

    #[test]
    fn visits_every_point_once() {
        let space = space();
        let mut trials = Vec::new();
        for number in 0..4 * 3 * 2 {
            let point = sample_for(&space, &trials, number).expect("points are left");
            let alone = sample_for(&space, &[], number);
            assert_eq!(Some(&point), alone.as_ref(), "must depend on the number only");
            trials.push(fixtures::trial(number, TrialState::Complete, &space, &point));
        }
        let distinct: BTreeSet<String> =
            trials.iter().map(|trial| format!("{:?}", trial.params)).collect();
        assert_eq!(distinct.len(), 24);
        assert_eq!(sample_for(&space, &trials, 24), None);
        trials[7].state = TrialState::Fail;
        let again = sample_for(&space, &trials, 24).expect("points of failed trials are free");
        assert!(again.iter().all(|(name, value)| trials[7].params[name].1 == *value));
    }

    #[test]
    fn distinguishes_adjacent_large_integers() {
        let large =
            Distribution::Int { low: 2_000_000_000, high: 2_000_000_002, log: false, step: 1 };
        let space = BTreeMap::from([("seed".to_owned(), large)]);
        let mut trials = Vec::new();
        for number in 0..3 {
            let point = sample_for(&space, &trials, number).expect("points are left");
            trials.push(fixtures::trial(number, TrialState::Complete, &space, &point));
        }
        assert_eq!(sample_for(&space, &trials, 3), None);
    }

    #[test]
    fn skips_points_of_other_trials() {
        let space = space();
        let point = sample_for(&space, &[], 0).expect("points are left");
        let taken = fixtures::trial(9, TrialState::Running, &space, &point);
        assert_eq!(sample_for(&space, &[taken], 0), sample_for(&space, &[], 1));
    }

    #[test]
    fn rejects_infinite_and_huge_grids() {
        let error = |distribution| {
            let space = BTreeMap::from([("rate".to_owned(), distribution)]);
            let direction = Direction::Minimize;
            sample(&SamplingContext { space: &space, trials: &[], direction, seed: 0, number: 0 })
                .unwrap_err()
                .to_string()
        };
        let rate = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
        let infinite = error(rate);
        assert!(infinite.starts_with("`rate` is `{\"name\":\"FloatDistribution\""), "{infinite}");
        let expected = "expected a float with a step, an integer or choices, for grid search";
        assert!(infinite.ends_with(expected), "{infinite}");
        let huge = Distribution::Int { low: 1, high: 2_000_000, log: false, step: 1 };
        assert_eq!(error(huge), "`grid size` is too large, outside 1 to 1000000 points");
    }
}

//! Parameter importances by PED-ANOVA, as in Optuna 5.
//!
//! ```text
//! importance_j ~ sum over x of  p(x) (p*(x) / p(x) - 1)^2
//! ```
//!
//! `p` is the density of parameter `j` among all complete trials and `p*` among the best tenth, both
//! estimated by Parzen estimators; numbers are placed on a grid of at most 50 values, and Scott's rule gives
//! the bandwidth. A parameter whose best values are distributed like all its values is unimportant.
//! Interactions are not considered.
//! If a parameter has several distributions, or is missing from some trials, its importance is a weighted
//! sum of its importances under each distribution.
//! Watanabe, Bansal & Hutter, IJCAI 2023, arXiv:2304.10255; the conditional form is arXiv:2601.20800.

use crate::sampler::NumericRange;
use crate::sampler::tpe::kernel::{Kernels, TruncatedNormals};
use crate::sampler::tpe::mixture::Mixture;
use crate::{Direction, Distribution, Trial, TrialState};
use std::collections::BTreeSet;

/// The fraction of trials that count as best.
const BEST_FRACTION: f64 = 0.1;
/// The maximum number of grid values of a numeric parameter.
const MAX_GRID_SIZE: u64 = 50;

/// Returns the importance of every parameter of the complete trials, largest first.
///
/// Importances sum to 1. They are equal if no parameter shows an effect. Only trials with a finite value are
/// evaluated. The list is empty if no complete trial has parameters.
pub fn param_importances(trials: &[Trial], direction: Direction) -> Vec<(String, f64)> {
    let complete: Vec<&Trial> = trials.iter().filter(|t| t.state == TrialState::Complete).collect();
    let names: BTreeSet<&String> = complete.iter().flat_map(|trial| trial.params.keys()).collect();
    let all: Vec<(&Trial, f64)> = complete
        .iter()
        .filter_map(|trial| Some((*trial, trial.value.filter(|value| value.is_finite())?)))
        .collect();
    let best = best_trial_numbers(&all, direction);
    let all: Vec<&Trial> = all.into_iter().map(|(trial, _)| trial).collect();
    let raw: Vec<f64> = names.iter().map(|name| importance(name, &all, &best)).collect();
    let sum: f64 = raw.iter().sum();
    let normalized = |value: f64| if sum > 0.0 { value / sum } else { 1.0 / names.len() as f64 };
    let mut importances: Vec<(String, f64)> =
        names.iter().zip(&raw).map(|(name, value)| ((*name).clone(), normalized(*value))).collect();
    importances.sort_by(|a, b| b.1.total_cmp(&a.1));
    importances
}

/// The numbers of the best tenth of trials, rounded up, including ties.
fn best_trial_numbers(all: &[(&Trial, f64)], direction: Direction) -> BTreeSet<u64> {
    let mut losses: Vec<f64> = all.iter().map(|(_, value)| direction.loss(*value)).collect();
    losses.sort_by(f64::total_cmp);
    let last = ((BEST_FRACTION * all.len() as f64).ceil() as usize).max(1) - 1;
    let is_best = |value: f64| losses.get(last).is_some_and(|last| direction.loss(value) <= *last);
    all.iter().filter(|(_, value)| is_best(*value)).map(|(trial, _)| trial.number).collect()
}

/// The sum over distributions of `alpha^2 / beta` times the divergence; `alpha` and `beta` are the
/// fractions of the best and of all trials with this distribution. A distribution contributes 0 if it
/// contains a single value, has fewer than two trials, or has no best trial.
fn importance(name: &str, all: &[&Trial], best: &BTreeSet<u64>) -> f64 {
    let mut ranges: Vec<(&Distribution, Vec<&Trial>)> = Vec::new();
    for trial in all {
        let Some((distribution, _)) = trial.params.get(name) else { continue };
        match ranges.iter_mut().find(|(known, _)| *known == distribution) {
            Some((_, trials)) => trials.push(trial),
            None => ranges.push((distribution, vec![trial])),
        }
    }
    let part = |(distribution, trials): &(&Distribution, Vec<&Trial>)| {
        let value = |trial: &&Trial| trial.params[name].1;
        let values: Vec<f64> = trials.iter().map(value).collect();
        let good: Vec<f64> =
            trials.iter().filter(|trial| best.contains(&trial.number)).map(value).collect();
        if trials.len() < 2 || distribution.is_single() || good.is_empty() {
            return 0.0;
        }
        let alpha = good.len() as f64 / best.len() as f64;
        let beta = trials.len() as f64 / all.len() as f64;
        alpha * alpha / beta * divergence(distribution, &good, &values)
    };
    ranges.iter().map(part).sum()
}

/// `sum p (p*/p - 1)^2`, where `p*` is the density of `good` and `p` that of `all`.
fn divergence(distribution: &Distribution, good: &[f64], all: &[f64]) -> f64 {
    let (best, overall) = (density(distribution, good), density(distribution, all));
    best.iter().zip(&overall).map(|(top, p)| p * (top / p - 1.0).powi(2)).sum()
}

/// The density of values on the grid of a parameter; positive everywhere.
fn density(distribution: &Distribution, values: &[f64]) -> Vec<f64> {
    let counts = counts(distribution, values);
    let seen = counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
    let (points, weights): (Vec<f64>, Vec<f64>) = seen.map(|(i, count)| (i as f64, *count)).unzip();
    let kernels = match distribution {
        Distribution::Categorical { .. } => Kernels::fit(distribution, &points),
        _ => Kernels::Numeric(scott_kernels(&points, &weights, (counts.len() - 1) as f64)),
    };
    let mixture = Mixture::new(weights.into_iter().chain([1.0]).collect(), vec![kernels]);
    (0..counts.len()).map(|i| mixture.log_pdf(&[i as f64]).exp() + 1e-12).collect()
}

/// The number of `values` at each point of the parameter's grid. A value is counted at the nearest point, and
/// at the lower one if it is halfway between two.
fn counts(distribution: &Distribution, values: &[f64]) -> Vec<f64> {
    let (n, index): (usize, Box<dyn Fn(f64) -> f64>) = match distribution {
        Distribution::Categorical { choices } => (choices.len(), Box::new(|x| x)),
        _ => {
            let range = NumericRange::new(distribution).expect("not categorical");
            let n = grid_size(&range);
            let (low, high) = (range.transform(range.low), range.transform(range.high));
            let step = (high - low) / (n - 1) as f64;
            (n, Box::new(move |x| ((range.transform(x) - low) / step - 0.5).ceil()))
        }
    };
    let mut counts = vec![0.0; n];
    for value in values {
        counts[index(*value).clamp(0.0, (n - 1) as f64) as usize] += 1.0;
    }
    counts
}

/// The number of grid values, at most [`MAX_GRID_SIZE`]: the number of values in the range or, for integers on
/// a logarithmic scale, the binary logarithm of that number, rounded up, plus one.
fn grid_size(range: &NumericRange) -> usize {
    let size = match range.count() {
        Some(count) if range.log => (count as f64).log2().ceil() as u64 + 1,
        Some(count) => count,
        None => MAX_GRID_SIZE,
    };
    size.min(MAX_GRID_SIZE) as usize
}

/// Normal kernels at `points` of the grid `0..=last`, with a common bandwidth, followed by the prior.
///
/// ```text
/// sigma = max(1.059 min(sd, iqr / 1.34) W^(-1/5), 0.5 / 1.64)     Scott's rule, W the sum of weights
/// ```
fn scott_kernels(points: &[f64], weights: &[f64], last: f64) -> TruncatedNormals {
    let total: f64 = weights.iter().sum();
    let mean = points.iter().zip(weights).map(|(x, w)| w * x).sum::<f64>() / total;
    let squares: f64 = points.iter().zip(weights).map(|(x, w)| w * (x - mean).powi(2)).sum();
    let deviation = (squares / (total - 1.0).max(1.0)).sqrt();
    let width = 1.059 * deviation.min(quartile_range(points, weights) / 1.34) * total.powf(-0.2);
    // At this lower limit, 90% of a kernel's mass is within its grid cell.
    let sigma = width.max(0.5 / 1.64);
    let mus = points.iter().copied().chain([last / 2.0]).collect();
    let sigmas = vec![sigma; points.len()].into_iter().chain([last + 1.0]).collect();
    let range = NumericRange { low: 0.0, high: last, step: Some(1.0), log: false };
    TruncatedNormals::new(range, mus, sigmas)
}

/// The interquartile range, with quartiles at integer counts as in Optuna.
fn quartile_range(points: &[f64], weights: &[f64]) -> f64 {
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let sums: Vec<f64> = sums.collect();
    let total = sums.last().copied().unwrap_or(0.0);
    let first = sums.partition_point(|sum| *sum < (total / 4.0).floor());
    let third = sums.partition_point(|sum| *sum <= (total * 3.0 / 4.0).floor());
    points[third.min(points.len() - 1)] - points[first]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParamValue, fixtures};
    use clenshaw_rng::Stream;
    use std::collections::BTreeMap;

    #[test]
    fn importances_match_optuna() {
        let stored = fixtures::load("importance");
        for name in ["mixed", "maximised", "few"] {
            let case = &stored[name];
            let study = &case["study"];
            let ours = param_importances(&fixtures::trials(study), fixtures::direction(study));
            let theirs = case["shares"].as_object().unwrap();
            assert_eq!(ours.len(), theirs.len());
            for (parameter, importance) in &ours {
                let theirs = theirs[parameter].as_f64().unwrap();
                assert!(
                    (importance - theirs).abs() < 1e-9,
                    "{name} {parameter}: {importance}, Optuna {theirs}"
                );
            }
            assert!(ours.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }

    #[test]
    fn parameter_with_largest_effect_is_most_important() {
        let unit = Distribution::Float { low: -1.0, high: 1.0, log: false, step: None };
        let space =
            BTreeMap::from(["idle", "large", "small"].map(|n| (n.to_owned(), unit.clone())));
        let mut stream = Stream::new(8, "test");
        let draw = |number| {
            let values = space.keys().map(|name| (name.clone(), stream.symmetric(1.0))).collect();
            let value = objective(&values);
            Trial {
                value: Some(value),
                ..fixtures::trial(number, TrialState::Complete, &space, &values)
            }
        };
        let trials: Vec<Trial> = (0..200).map(draw).collect();
        let importances = param_importances(&trials, Direction::Minimize);
        let order: Vec<&str> = importances.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["large", "small", "idle"], "{importances:?}");
        assert!(importances[0].1 > 0.6, "{importances:?}");
    }

    fn objective(values: &BTreeMap<String, f64>) -> f64 {
        values["large"].powi(2) + 0.3 * values["small"].powi(2)
    }

    #[test]
    fn no_trials_give_no_importances_and_one_trial_gives_equal_ones() {
        assert!(param_importances(&[], Direction::Minimize).is_empty());
        let list = Distribution::Categorical { choices: vec![ParamValue::None; 2] };
        let space = BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), list.clone())));
        let values = BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), 0.0)));
        let one =
            Trial { value: Some(1.0), ..fixtures::trial(0, TrialState::Complete, &space, &values) };
        let importances = param_importances(&[one], Direction::Minimize);
        assert_eq!(importances, [("a".to_owned(), 0.5), ("b".to_owned(), 0.5)]);
    }
}

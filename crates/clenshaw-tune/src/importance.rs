//! Which parameters mattered: PED-ANOVA, Optuna's default.
//!
//! ```text
//! share_j ~ sum over x of  p(x) (p*(x) / p(x) - 1)^2
//! ```
//!
//! `p` is the density of parameter `j` among all complete trials and `p*` among the best tenth, both by
//! Parzen estimators on a grid of at most 50 values with Scott's bandwidth. A parameter whose best
//! values look like all its values had no say. Interactions are not seen.
//! A parameter that only some trials have, or with changing ranges, is taken apart by range.
//! Watanabe, Bansal & Hutter, IJCAI 2023, arXiv:2304.10255; the conditional form is arXiv:2601.20800.

use super::sampler::Line;
use super::sampler::tpe::kernel::{Kernels, Normals};
use super::sampler::tpe::mixture::Mixture;
use super::{Direction, Distribution, State, Trial};
use std::collections::BTreeSet;

/// The share of trials that is called best.
const BEST: f64 = 0.1;
/// The number of grid values of a parameter with many.
const GRID: u64 = 50;

/// Every parameter of the complete trials with its share of the importance, largest first.
///
/// Shares sum to 1. They are equal when there is nothing to tell them apart.
pub fn importances(trials: &[Trial], direction: Direction) -> Vec<(String, f64)> {
    let complete: Vec<&Trial> = trials.iter().filter(|t| t.state == State::Complete).collect();
    let names: BTreeSet<&String> = complete.iter().flat_map(|trial| trial.params.keys()).collect();
    let all: Vec<(&Trial, f64)> = complete
        .iter()
        .filter_map(|trial| Some((*trial, trial.value.filter(|value| value.is_finite())?)))
        .collect();
    let best = best(&all, direction);
    let all: Vec<&Trial> = all.into_iter().map(|(trial, _)| trial).collect();
    let raw: Vec<f64> = names.iter().map(|name| importance(name, &all, &best)).collect();
    let sum: f64 = raw.iter().sum();
    let share = |value: f64| if sum > 0.0 { value / sum } else { 1.0 / names.len() as f64 };
    let mut shares: Vec<(String, f64)> =
        names.iter().zip(&raw).map(|(name, value)| ((*name).clone(), share(*value))).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// The best tenth and what ties with it.
fn best(all: &[(&Trial, f64)], direction: Direction) -> BTreeSet<u64> {
    let loss = |value: f64| if direction == Direction::Minimise { value } else { -value };
    let mut losses: Vec<f64> = all.iter().map(|(_, value)| loss(*value)).collect();
    losses.sort_by(f64::total_cmp);
    let last = ((BEST * all.len() as f64).ceil() as usize).max(1) - 1;
    let within = |value: f64| losses.get(last).is_some_and(|last| loss(value) <= *last);
    all.iter().filter(|(_, value)| within(*value)).map(|(trial, _)| trial.number).collect()
}

/// The sum over ranges of `alpha^2 / beta` times the divergence, `alpha` and `beta` being the shares
/// of the best and of all trials that have this range.
fn importance(name: &str, all: &[&Trial], best: &BTreeSet<u64>) -> f64 {
    let mut ranges: Vec<(&Distribution, Vec<&Trial>)> = Vec::new();
    for trial in all {
        let Some((distribution, _)) = trial.params.get(name) else { continue };
        match ranges.iter_mut().find(|(known, _)| *known == distribution) {
            Some((_, trials)) => trials.push(trial),
            None => ranges.push((distribution, vec![trial])),
        }
    }
    let part = |(distribution, here): &(&Distribution, Vec<&Trial>)| {
        let value = |trial: &&Trial| trial.params[name].1;
        let values: Vec<f64> = here.iter().map(value).collect();
        let good: Vec<f64> =
            here.iter().filter(|trial| best.contains(&trial.number)).map(value).collect();
        if here.len() < 2 || distribution.is_single() || good.is_empty() {
            return 0.0;
        }
        let alpha = good.len() as f64 / best.len() as f64;
        let beta = here.len() as f64 / all.len() as f64;
        alpha * alpha / beta * divergence(distribution, &good, &values)
    };
    ranges.iter().map(part).sum()
}

/// `sum p (p*/p - 1)^2`.
fn divergence(distribution: &Distribution, good: &[f64], all: &[f64]) -> f64 {
    let (best, whole) = (density(distribution, good), density(distribution, all));
    best.iter().zip(&whole).map(|(top, p)| p * (top / p - 1.0).powi(2)).sum()
}

/// The density of values on the grid of a parameter; nowhere nought.
fn density(distribution: &Distribution, values: &[f64]) -> Vec<f64> {
    let counts = counts(distribution, values);
    let seen = counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
    let (places, weights): (Vec<f64>, Vec<f64>) = seen.map(|(i, count)| (i as f64, *count)).unzip();
    let kernels = match distribution {
        Distribution::Categorical { .. } => Kernels::around(distribution, &places),
        _ => Kernels::Numbers(scott(&places, &weights, (counts.len() - 1) as f64)),
    };
    let mixture = Mixture::new(weights.into_iter().chain([1.0]).collect(), vec![kernels]);
    (0..counts.len()).map(|i| mixture.log_pdf(&[i as f64]).exp() + 1e-12).collect()
}

/// How many values fall on every grid value; halves fall to the lower one.
fn counts(distribution: &Distribution, values: &[f64]) -> Vec<f64> {
    let (n, place): (usize, Box<dyn Fn(f64) -> f64>) = match distribution {
        Distribution::Categorical { choices } => (choices.len(), Box::new(|x| x)),
        _ => {
            let line = Line::of(distribution).expect("numbers have a line");
            let n = grid_size(&line);
            let (low, high) = (line.place(line.low), line.place(line.high));
            let step = (high - low) / (n - 1) as f64;
            (n, Box::new(move |x| ((line.place(x) - low) / step - 0.5).ceil()))
        }
    };
    let mut counts = vec![0.0; n];
    for value in values {
        counts[place(*value).clamp(0.0, (n - 1) as f64) as usize] += 1.0;
    }
    counts
}

/// Whole numbers in the logarithm get a value for every doubling.
fn grid_size(line: &Line) -> usize {
    let size = match line.count() {
        Some(count) if line.log => (count as f64).log2().ceil() as u64 + 1,
        Some(count) => count,
        None => GRID,
    };
    size.min(GRID) as usize
}

/// Normal kernels on `0..=last` with one bandwidth for all, and the prior.
///
/// ```text
/// sigma = 1.059 min(sd, iqr / 1.34) W^(-1/5)       Scott's rule, W the sum of weights
/// ```
fn scott(places: &[f64], weights: &[f64], last: f64) -> Normals {
    let total: f64 = weights.iter().sum();
    let mean = places.iter().zip(weights).map(|(x, w)| w * x).sum::<f64>() / total;
    let squares: f64 = places.iter().zip(weights).map(|(x, w)| w * (x - mean).powi(2)).sum();
    let deviation = (squares / (total - 1.0).max(1.0)).sqrt();
    let width = 1.059 * deviation.min(quartile_range(places, weights) / 1.34) * total.powf(-0.2);
    // Nine tenths of a kernel stay within its grid value.
    let sigma = width.max(0.5 / 1.64);
    let mus = places.iter().copied().chain([last / 2.0]).collect();
    let sigmas = vec![sigma; places.len()].into_iter().chain([last + 1.0]).collect();
    let line = Line { low: 0.0, high: last, step: Some(1.0), log: false };
    Normals::new(line, mus, sigmas)
}

/// The distance of the quartiles, taken at whole counts as Optuna takes them.
fn quartile_range(places: &[f64], weights: &[f64]) -> f64 {
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let sums: Vec<f64> = sums.collect();
    let total = sums.last().copied().unwrap_or(0.0);
    let first = sums.partition_point(|sum| *sum < (total / 4.0).floor());
    let third = sums.partition_point(|sum| *sum <= (total * 3.0 / 4.0).floor());
    places[third.min(places.len() - 1)] - places[first]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, recorded};
    use clenshaw_rng::Stream;
    use std::collections::BTreeMap;

    #[test]
    fn shares_are_optunas() {
        let recording = recorded::recording("importance");
        for name in ["mixed", "maximised", "few"] {
            let recorded = &recording[name];
            let study = &recorded["study"];
            let ours = importances(&recorded::trials(study), recorded::direction(study));
            let theirs = recorded["shares"].as_object().unwrap();
            assert_eq!(ours.len(), theirs.len());
            for (parameter, share) in &ours {
                let theirs = theirs[parameter].as_f64().unwrap();
                assert!(
                    (share - theirs).abs() < 1e-9,
                    "{name} {parameter}: {share}, Optuna {theirs}"
                );
            }
            assert!(ours.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }

    #[test]
    fn what_decides_the_value_is_important() {
        let unit = Distribution::Float { low: -1.0, high: 1.0, log: false, step: None };
        let space =
            BTreeMap::from(["idle", "large", "small"].map(|n| (n.to_owned(), unit.clone())));
        let mut stream = Stream::new(8, "test");
        let draw = |number| {
            let values = space.keys().map(|name| (name.clone(), stream.symmetric(1.0))).collect();
            let value = values_of(&values);
            Trial {
                value: Some(value),
                ..recorded::trial(number, State::Complete, &space, &values)
            }
        };
        let trials: Vec<Trial> = (0..200).map(draw).collect();
        let shares = importances(&trials, Direction::Minimise);
        let order: Vec<&str> = shares.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["large", "small", "idle"], "{shares:?}");
        assert!(shares[0].1 > 0.6, "{shares:?}");
    }

    fn values_of(values: &BTreeMap<String, f64>) -> f64 {
        values["large"].powi(2) + 0.3 * values["small"].powi(2)
    }

    #[test]
    fn without_trials_there_is_nothing_and_one_tells_nothing_apart() {
        assert!(importances(&[], Direction::Minimise).is_empty());
        let words = Distribution::Categorical { choices: vec![Choice::None; 2] };
        let space = BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), words.clone())));
        let values = BTreeMap::from(["a", "b"].map(|name| (name.to_owned(), 0.0)));
        let one =
            Trial { value: Some(1.0), ..recorded::trial(0, State::Complete, &space, &values) };
        let shares = importances(&[one], Direction::Minimise);
        assert_eq!(shares, [("a".to_owned(), 0.5), ("b".to_owned(), 0.5)]);
    }
}

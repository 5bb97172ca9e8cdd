//! A density over several parameters: a weighted sum of products of kernels.
//!
//! ```text
//! p(x) = sum_i w_i prod_j k_ij(x_j)
//! ```
//!
//! The last kernel is the prior, with the weight of one trial. If there are `n > 25` trials, the newest 25
//! have weight 1, and the weights of the older ones rise linearly from `1/n` to 1.

use super::Group;
use super::kernel::Kernels;
use crate::Trial;
use clenshaw_rng::Stream;

/// The kernels of each parameter, and the weights of the kernels.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    /// The weights of the kernels, the prior last; they sum to 1.
    pub(super) weights: Vec<f64>,
    /// The kernels of each parameter, one per weight.
    pub(super) columns: Vec<Kernels>,
}

impl Mixture {
    /// Fits the density of the trials that have a usable value for every parameter of the group. `trials`
    /// are ordered from oldest to newest.
    pub(super) fn fit(group: &Group, trials: &[&Trial]) -> Self {
        let rows: Vec<Vec<f64>> = trials.iter().filter_map(|trial| row(group, trial)).collect();
        let columns = group.values().enumerate().map(|(j, distribution)| {
            let observed: Vec<f64> = rows.iter().map(|row| row[j]).collect();
            Kernels::fit(distribution, &observed)
        });
        Self::new(weights_by_age(rows.len()).into_iter().chain([1.0]).collect(), columns.collect())
    }

    /// Creates a mixture; the weights are normalized.
    pub(crate) fn new(mut weights: Vec<f64>, columns: Vec<Kernels>) -> Self {
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        Self { weights, columns }
    }

    /// The logarithm of the density at a vector of internal values.
    pub(crate) fn log_pdf(&self, x: &[f64]) -> f64 {
        let kernel = |i: usize| -> f64 {
            self.columns.iter().zip(x).map(|(column, x)| column.log_pdf(i, *x)).sum()
        };
        let terms: Vec<f64> =
            self.weights.iter().enumerate().map(|(i, w)| w.ln() + kernel(i)).collect();
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
    }

    /// Samples a kernel by weight, then an internal value for every parameter from it.
    pub(super) fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        let (q, mut cumulative) = (stream.unit(), 0.0);
        let reached = |weight: &f64| {
            cumulative += weight;
            cumulative > q
        };
        let i = self.weights.iter().position(reached).unwrap_or(self.weights.len() - 1);
        self.columns.iter().map(|column| column.sample(i, stream)).collect()
    }
}

/// The internal values of a trial for the parameters of the group; `None` if one is missing or unusable.
fn row(group: &Group, trial: &Trial) -> Option<Vec<f64>> {
    let value = |(name, distribution): (&&str, &&_)| {
        let (_, value) = trial.params.get(*name)?;
        Kernels::accepts(distribution, *value).then_some(*value)
    };
    group.iter().map(value).collect()
}

/// The weights of `n` trials, oldest first.
fn weights_by_age(n: usize) -> Vec<f64> {
    let n_old = n.saturating_sub(25);
    let smallest = 1.0 / n as f64;
    let rising = |i: usize| match n_old {
        1 => smallest,
        _ => smallest + (1.0 - smallest) * i as f64 / (n_old - 1) as f64,
    };
    (0..n).map(|i| if i < n_old { rising(i) } else { 1.0 }).collect()
}

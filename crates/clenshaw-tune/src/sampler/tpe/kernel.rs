//! The kernels of one parameter: one per trial, and the prior.
//!
//! ```text
//! numeric      truncated Normal(mu_i, sigma_i);  prior: mu = centre, sigma = width of the range
//!              sigma_i = distance to the farther neighbour, at least  width / min(100, n + 2)
//! with steps   the mass from half a step below to half a step above the value
//! categorical  p_i(c) proportional to 1/(n + 1) + [c = c_i];  prior: uniform
//! ```
//!
//! There are `n` observations. The smallest and the largest use the distance to their only neighbour, not to
//! the bound; a single observation uses the distance to the farther bound.

use super::super::NumericRange;
use super::normal::{log_mass, log_pdf, quantile};
use crate::Distribution;
use clenshaw_rng::Stream;

/// The kernels of one parameter.
#[derive(Clone, Debug)]
pub(crate) enum Kernels {
    Numeric(TruncatedNormals),
    Categorical(CategoricalKernels),
}

/// Normal distributions truncated at the bounds of a range.
#[derive(Clone, Debug)]
pub(crate) struct TruncatedNormals {
    range: NumericRange,
    /// The mean of each normal distribution before truncation, on the transformed scale of the range.
    pub(super) mus: Vec<f64>,
    /// The standard deviation of each normal distribution before truncation.
    pub(super) sigmas: Vec<f64>,
    /// The logarithm of the mass of each normal distribution within the bounds.
    log_masses: Vec<f64>,
}

/// Categorical distributions, each peaked at an observed choice; the prior is uniform.
#[derive(Clone, Debug)]
pub(crate) struct CategoricalKernels {
    n_choices: usize,
    /// The observed choice of each kernel; `None` for the prior.
    peaks: Vec<Option<usize>>,
}

impl Kernels {
    /// Creates a kernel for each internal value, followed by the prior.
    pub(crate) fn fit(distribution: &Distribution, observed: &[f64]) -> Self {
        match distribution {
            Distribution::Categorical { choices } => {
                let peaks = observed.iter().map(|x| Some(*x as usize)).chain([None]).collect();
                Self::Categorical(CategoricalKernels { n_choices: choices.len(), peaks })
            }
            _ => {
                let range = NumericRange::new(distribution).expect("not categorical");
                let (low, high) = range.bounds();
                let mut mus: Vec<f64> = observed.iter().map(|x| range.transform(*x)).collect();
                let mut sigmas = sigmas(&mus, low, high);
                mus.push(0.5 * (low + high));
                sigmas.push(high - low);
                Self::Numeric(TruncatedNormals::new(range, mus, sigmas))
            }
        }
    }

    /// Whether a kernel can be created for this value, which may have been sampled from another distribution: any
    /// choice of the distribution, and any number, even outside the range, that is finite on the transformed scale.
    pub(super) fn accepts(distribution: &Distribution, internal: f64) -> bool {
        match NumericRange::new(distribution) {
            Some(range) => range.transform(internal).is_finite(),
            None => distribution.contains(internal),
        }
    }

    /// The logarithm of kernel `i` at an internal value: of its density over the transformed range or, with
    /// steps or choices, of the probability of the value.
    pub(super) fn log_pdf(&self, i: usize, x: f64) -> f64 {
        match self {
            Self::Numeric(normals) => normals.log_pdf(i, x),
            Self::Categorical(choices) => choices.probability(i, x as usize).ln(),
        }
    }

    /// Samples an internal value from kernel `i`.
    pub(super) fn sample(&self, i: usize, stream: &mut Stream) -> f64 {
        match self {
            Self::Numeric(normals) => normals.quantile(i, stream.unit()),
            Self::Categorical(choices) => choices.quantile(i, stream.unit()) as f64,
        }
    }
}

impl TruncatedNormals {
    pub(crate) fn new(range: NumericRange, mus: Vec<f64>, sigmas: Vec<f64>) -> Self {
        let (low, high) = range.bounds();
        let kernels = mus.iter().zip(&sigmas);
        let log_masses =
            kernels.map(|(mu, sigma)| log_mass((low - mu) / sigma, (high - mu) / sigma));
        Self { log_masses: log_masses.collect(), range, mus, sigmas }
    }

    fn log_pdf(&self, i: usize, x: f64) -> f64 {
        let z = |x: f64| (self.range.transform(x) - self.mus[i]) / self.sigmas[i];
        if self.range.step.is_some() {
            let half = self.range.half_step();
            return log_mass(z(x - half), z(x + half)) - self.log_masses[i];
        }
        if x < self.range.low || x > self.range.high {
            return f64::NEG_INFINITY;
        }
        log_pdf(z(x)) - self.sigmas[i].ln() - self.log_masses[i]
    }

    /// The value at quantile `q` of kernel `i`.
    fn quantile(&self, i: usize, q: f64) -> f64 {
        let (low, high) = self.range.bounds();
        let (mu, sigma) = (self.mus[i], self.sigmas[i]);
        self.range.untransform(mu + sigma * quantile(q, (low - mu) / sigma, (high - mu) / sigma))
    }
}

impl CategoricalKernels {
    fn probability(&self, i: usize, choice: usize) -> f64 {
        let prior = 1.0 / self.peaks.len() as f64;
        match self.peaks[i] {
            None => 1.0 / self.n_choices as f64,
            Some(peak) => {
                let indicator = if peak == choice { 1.0 } else { 0.0 };
                (prior + indicator) / (1.0 + self.n_choices as f64 * prior)
            }
        }
    }

    /// The choice at quantile `q` of kernel `i`.
    fn quantile(&self, i: usize, q: f64) -> usize {
        let mut cumulative = 0.0;
        let reached = |choice: &usize| {
            cumulative += self.probability(i, *choice);
            cumulative >= q
        };
        (0..self.n_choices - 1).find(reached).unwrap_or(self.n_choices - 1)
    }
}

/// The distance of every `mu` to its farther neighbour, or to the farther bound if it is the only one; at
/// least `width / min(100, n + 2)` and at most `width`.
fn sigmas(mus: &[f64], low: f64, high: f64) -> Vec<f64> {
    let n = mus.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| mus[*a].total_cmp(&mus[*b]));
    let min_sigma = (high - low) / (n as f64 + 2.0).min(100.0);
    let mut sigmas = vec![0.0; n];
    for (rank, &i) in order.iter().enumerate() {
        let left = rank.checked_sub(1).map(|rank| mus[i] - mus[order[rank]]);
        let right = order.get(rank + 1).map(|&next| mus[next] - mus[i]);
        let distance = match (left, right) {
            (None, None) => (mus[i] - low).max(high - mus[i]),
            (left, right) => left.unwrap_or(0.0).max(right.unwrap_or(0.0)),
        };
        sigmas[i] = distance.clamp(min_sigma, high - low);
    }
    sigmas
}

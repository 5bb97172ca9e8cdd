//! The kernels of one parameter: one for every trial, and the prior.
//!
//! ```text
//! numbers   Normal(mu_i, sigma_i), cut off at the ends;  the prior: mu the middle, sigma the width
//!           sigma_i = the larger distance to a neighbour, at least  width / min(100, n + 2)
//! steps     the mass from half a step below to half a step above
//! choices   p_i(c) ~ 1/(n + 1) + [c = c_i];  the prior: even
//! ```
//!
//! The outermost trials look to their only neighbour, not to the end of the range.

use super::super::Line;
use super::normal::{log_mass, log_pdf, quantile};
use crate::Distribution;
use clenshaw_rng::Stream;

/// The kernels of one parameter.
#[derive(Clone, Debug)]
pub(crate) enum Kernels {
    Numbers(Normals),
    Choices(Choices),
}

/// Normal distributions cut off at the ends of a line.
#[derive(Clone, Debug)]
pub(crate) struct Normals {
    line: Line,
    pub(super) mus: Vec<f64>,
    pub(super) sigmas: Vec<f64>,
    /// The logarithm of what the cut leaves.
    log_masses: Vec<f64>,
}

/// A preference for one choice each; none for the prior.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    n_choices: usize,
    preferred: Vec<Option<usize>>,
}

impl Kernels {
    /// The kernels around internal values, and the prior after them.
    pub(crate) fn around(distribution: &Distribution, observed: &[f64]) -> Self {
        match distribution {
            Distribution::Categorical { choices } => {
                let preferred = observed.iter().map(|x| Some(*x as usize)).chain([None]).collect();
                Self::Choices(Choices { n_choices: choices.len(), preferred })
            }
            _ => {
                let line = Line::of(distribution).expect("numbers have a line");
                let (low, high) = line.ends();
                let mut mus: Vec<f64> = observed.iter().map(|x| line.place(*x)).collect();
                let mut sigmas = sigmas(&mus, low, high);
                mus.push(0.5 * (low + high));
                sigmas.push(high - low);
                Self::Numbers(Normals::new(line, mus, sigmas))
            }
        }
    }

    /// Whether a kernel can stand around this value; a range may have changed since it was drawn.
    pub(super) fn accepts(distribution: &Distribution, internal: f64) -> bool {
        match Line::of(distribution) {
            Some(line) => line.place(internal).is_finite(),
            None => distribution.contains(internal),
        }
    }

    /// The logarithm of kernel `i` at an internal value; on a line, per unit of the line.
    pub(super) fn log_pdf(&self, i: usize, x: f64) -> f64 {
        match self {
            Self::Numbers(normals) => normals.log_pdf(i, x),
            Self::Choices(choices) => choices.share(i, x as usize).ln(),
        }
    }

    /// An internal value from kernel `i`.
    pub(super) fn sample(&self, i: usize, stream: &mut Stream) -> f64 {
        match self {
            Self::Numbers(normals) => normals.sample(i, stream.unit()),
            Self::Choices(choices) => choices.sample(i, stream.unit()) as f64,
        }
    }
}

impl Normals {
    pub(crate) fn new(line: Line, mus: Vec<f64>, sigmas: Vec<f64>) -> Self {
        let (low, high) = line.ends();
        let kernels = mus.iter().zip(&sigmas);
        let log_masses =
            kernels.map(|(mu, sigma)| log_mass((low - mu) / sigma, (high - mu) / sigma));
        Self { log_masses: log_masses.collect(), line, mus, sigmas }
    }

    fn log_pdf(&self, i: usize, x: f64) -> f64 {
        let z = |x: f64| (self.line.place(x) - self.mus[i]) / self.sigmas[i];
        if self.line.step.is_some() {
            let half = self.line.half_step();
            return log_mass(z(x - half), z(x + half)) - self.log_masses[i];
        }
        if x < self.line.low || x > self.line.high {
            return f64::NEG_INFINITY;
        }
        log_pdf(z(x)) - self.sigmas[i].ln() - self.log_masses[i]
    }

    fn sample(&self, i: usize, q: f64) -> f64 {
        let (low, high) = self.line.ends();
        let (mu, sigma) = (self.mus[i], self.sigmas[i]);
        self.line.value(mu + sigma * quantile(q, (low - mu) / sigma, (high - mu) / sigma))
    }
}

impl Choices {
    fn share(&self, i: usize, choice: usize) -> f64 {
        let prior = 1.0 / self.preferred.len() as f64;
        match self.preferred[i] {
            None => 1.0 / self.n_choices as f64,
            Some(preferred) => {
                let own = if preferred == choice { 1.0 } else { 0.0 };
                (prior + own) / (1.0 + self.n_choices as f64 * prior)
            }
        }
    }

    fn sample(&self, i: usize, q: f64) -> usize {
        let mut below = 0.0;
        let reached = |choice: &usize| {
            below += self.share(i, *choice);
            below >= q
        };
        (0..self.n_choices - 1).find(reached).unwrap_or(self.n_choices - 1)
    }
}

/// The larger distance of every `mu` to a neighbour, not below `width / min(100, n + 2)`.
fn sigmas(mus: &[f64], low: f64, high: f64) -> Vec<f64> {
    let n = mus.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| mus[*a].total_cmp(&mus[*b]));
    let least = (high - low) / (n as f64 + 2.0).min(100.0);
    let mut sigmas = vec![0.0; n];
    for (rank, &i) in order.iter().enumerate() {
        let left = rank.checked_sub(1).map(|rank| mus[i] - mus[order[rank]]);
        let right = order.get(rank + 1).map(|&next| mus[next] - mus[i]);
        let widest = match (left, right) {
            (None, None) => (mus[i] - low).max(high - mus[i]),
            (left, right) => left.unwrap_or(0.0).max(right.unwrap_or(0.0)),
        };
        sigmas[i] = widest.clamp(least, high - low);
    }
    sigmas
}

//! Checks the theorems on one graph: compares the last layer of each network with the polynomial that it
//! should equal.
//!
//! ```text
//! Theorem 1   HornerGCN    H(K) = V h(M) V^T H*     h(mu) = sum_l alpha_{K-l} mu^l
//! Theorem 2   ClenshawGCN  H(K) = V h(M) V^T H*     h(mu) = sum_l alpha_{K-l} U_l(mu)
//! Corollary   b_0(mu) = sum_k a_k U_k(mu)           at every computed eigenvalue
//! ```
//!
//! `H* = relu(X W + b)` is the output of the first layer, and `P = V M V^T` the operator with self-loops.
//! The right-hand sides share no code with the networks: powers by multiplication, `U_l` by sines, `V`
//! and `M` by an eigendecomposition or, on larger graphs, by the Lanczos method started from each channel
//! of H*, which is exact for polynomials of these degrees.

use super::network::{FirstLayer, LinearNetwork};
use crate::data::Dataset;
use crate::error::Result;
use crate::filter::{Basis, Filter};
use crate::graph::{Eigen, Krylov, Normalisation, max_abs, operator};
use crate::rng::Stream;
use crate::tensor::{Mat, Operator};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Number of bins of the histogram over [-1, 1].
const BINS: usize = 50;

/// Number of random vectors for estimating the eigenvalue density with the Lanczos method.
const PROBES: u64 = 8;
/// Lanczos steps per random vector.
const PROBE_STEPS: usize = 80;

/// How the right-hand sides are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceMethod {
    /// With all eigenvectors.
    Eigenvectors,
    /// With the Lanczos method.
    Lanczos,
}

/// The result of checking one graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TheoremCheck {
    /// Number of nodes.
    pub nodes: usize,
    /// How the right-hand sides are computed.
    pub reference: ReferenceMethod,
    /// The accuracy of the reference itself: the largest error in `P V = V M` and `V V^T H* = H*` or, for the
    /// Lanczos method, the largest inner product of two different Lanczos vectors.
    pub reference_error: f64,
    /// The errors, one entry per order.
    pub errors: Vec<OrderErrors>,
    /// The fraction of eigenvalues in each of 50 equal bins over [-1, 1]; with the Lanczos method, an estimate.
    pub density: Vec<f64>,
    /// Time in seconds.
    pub seconds: f64,
}

/// Maximum absolute errors relative to the largest entry of the reference, for one order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OrderErrors {
    /// The order K.
    pub order: usize,
    /// Theorem 1: HornerGCN.
    pub theorem_1: f64,
    /// Theorem 2: ClenshawGCN.
    pub theorem_2: f64,
    /// The corollary: Clenshaw's summation.
    pub corollary: f64,
}

/// The settings of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckSettings {
    /// Seed of the random weights and coefficients.
    pub seed: u64,
    /// Columns of H*.
    pub channels: usize,
    /// The orders K.
    pub orders: Vec<usize>,
    /// How the right-hand sides are computed.
    pub reference: ReferenceMethod,
}

impl CheckSettings {
    /// Checks the theorems on one graph. Fails if a network cannot be built with these settings.
    pub fn check(&self, dataset: &Dataset) -> Result<TheoremCheck> {
        let start = Instant::now();
        let stream = Stream::new(self.seed, "theorems");
        let p = operator(&dataset.graph, Normalisation::Looped);
        let first = self.first_layer(&stream, dataset.x.n_cols());
        let h_star = first.apply(&dataset.x);
        let spectrum = match self.reference {
            ReferenceMethod::Eigenvectors => Spectrum::exact(&p, &h_star),
            ReferenceMethod::Lanczos => Spectrum::lanczos(&p, &h_star, &self.orders, &stream),
        };
        let errors = self.orders.iter().map(|&order| -> Result<OrderErrors> {
            let alpha = coefficients(&stream, order);
            let error = |name: &str, h: ResponseFn| -> Result<f64> {
                let network = LinearNetwork::new(name, dataset, order, self.channels)?;
                let actual = network.last_layer(&first, &alpha);
                let expected = spectrum.apply(&h_star, |mu| h(&alpha, mu));
                Ok(relative_error(actual.as_slice(), expected.as_slice()))
            };
            Ok(OrderErrors {
                order,
                theorem_1: error("horner-gcn", monomial)?,
                theorem_2: error("clenshaw-gcn", second_kind)?,
                corollary: corollary_error(&alpha, &spectrum.values()),
            })
        });
        let errors = errors.collect::<Result<_>>()?;
        Ok(TheoremCheck {
            nodes: dataset.graph.n_nodes(),
            reference: self.reference,
            reference_error: spectrum.error,
            errors,
            density: spectrum.density,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// A random first layer with weights on the scale of a newly initialised model.
    fn first_layer(&self, stream: &Stream, n_features: usize) -> FirstLayer {
        let bound = 1.0 / (n_features as f64).sqrt();
        let uniform = |name: &str, n: usize| {
            let mut stream = stream.named(name);
            (0..n).map(|_| stream.symmetric(bound)).collect::<Vec<f64>>()
        };
        let d = self.channels;
        FirstLayer {
            w: Mat::from_vec(n_features, d, uniform("w", n_features * d)),
            b: uniform("b", d),
        }
    }
}

/// `alpha_0, ..., alpha_K` ordered by layer, uniform in [-1, 1).
fn coefficients(stream: &Stream, order: usize) -> Vec<f64> {
    let mut stream = stream.named("alpha").numbered(order as u64);
    (0..=order).map(|_| stream.symmetric(1.0)).collect()
}

/// `h(mu)` for coefficients ordered by layer.
type ResponseFn = fn(&[f64], f64) -> f64;

/// `sum_l alpha_{K-l} mu^l`.
fn monomial(alpha: &[f64], mu: f64) -> f64 {
    alpha.iter().rev().enumerate().map(|(l, a)| a * mu.powi(l as i32)).sum()
}

/// `sum_l alpha_{K-l} U_l(mu)` with `U_l(cos t) = sin((l+1) t) / sin t`.
fn second_kind(alpha: &[f64], mu: f64) -> f64 {
    let t = mu.clamp(-1.0, 1.0).acos();
    let u = |l: usize| match t.sin() {
        // The limits at t = 0 and t = pi.
        sin if sin.abs() < 1e-9 => (l + 1) as f64 * mu.signum().powi(l as i32),
        sin => ((l + 1) as f64 * t).sin() / sin,
    };
    alpha.iter().rev().enumerate().map(|(l, a)| a * u(l)).sum()
}

/// The relative error of Clenshaw's recurrence against the sum of sines, at the given eigenvalues.
fn corollary_error(alpha: &[f64], mu: &[f64]) -> f64 {
    let coefficients = alpha.iter().rev().copied().collect();
    let clenshaw = Filter { basis: Basis::ChebyshevSecond, coefficients };
    // Rounding puts some eigenvalues slightly outside [-1, 1]. `second_kind` clamps them, so the recurrence
    // must be evaluated at the clamped values too.
    let mu: Vec<f64> = mu.iter().map(|mu| mu.clamp(-1.0, 1.0)).collect();
    let actual: Vec<f64> = mu.iter().map(|&mu| clenshaw.evaluate(mu)).collect();
    let expected: Vec<f64> = mu.iter().map(|&mu| second_kind(alpha, mu)).collect();
    relative_error(&actual, &expected)
}

/// `max |a - e| / max |e|`; 0 if `a` and `e` are zero, and very large if only `e` is.
fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    let worst = max_abs(actual.iter().zip(expected).map(|(a, e)| a - e));
    match max_abs(expected.iter().copied()) {
        0.0 => worst / f64::MIN_POSITIVE,
        scale => worst / scale,
    }
}

/// Eigenvalues and eigenvectors of P: all of them, or Lanczos approximations per channel of H*.
struct Spectrum {
    pairs: Eigenpairs,
    /// See [`TheoremCheck::reference_error`].
    error: f64,
    /// See [`TheoremCheck::density`].
    density: Vec<f64>,
}

/// Eigenvalues and eigenvectors, computed by one of two methods.
enum Eigenpairs {
    All(Eigen),
    /// One Lanczos decomposition per channel of H*.
    Lanczos(Vec<Krylov>),
}

impl Spectrum {
    /// Computes all eigenvalues and eigenvectors.
    fn exact(p: &Operator, h_star: &Mat<f64>) -> Self {
        let eigen = Eigen::new(p);
        let reconstructed = eigen.apply(h_star, |_| 1.0);
        let error = max_abs([
            eigen.residual(p),
            relative_error(reconstructed.as_slice(), h_star.as_slice()),
        ]);
        let each = eigen.values.iter().map(|&mu| (mu, 1.0));
        Self { density: histogram(each), error, pairs: Eigenpairs::All(eigen) }
    }

    /// Takes as many Lanczos steps as the largest order needs; estimates the density from random vectors with
    /// entries 1 and -1.
    fn lanczos(p: &Operator, h_star: &Mat<f64>, orders: &[usize], stream: &Stream) -> Self {
        let steps = 1 + orders.iter().max().copied().unwrap_or(0);
        let column = |c: usize| (0..h_star.rows()).map(|i| h_star[(i, c)]).collect::<Vec<f64>>();
        let signals: Vec<Krylov> =
            (0..h_star.cols()).map(|c| Krylov::new(p, &column(c), steps)).collect();
        let probe = |i: u64| {
            let stream = stream.named("probe").numbered(i);
            let sign = |node: usize| if stream.bits(node as u64) & 1 == 0 { 1.0 } else { -1.0 };
            let signs: Vec<f64> = (0..h_star.rows()).map(sign).collect();
            Krylov::new(p, &signs, PROBE_STEPS).quadrature()
        };
        Self {
            density: histogram((0..PROBES).flat_map(probe)),
            error: max_abs(signals.iter().map(Krylov::overlap)),
            pairs: Eigenpairs::Lanczos(signals),
        }
    }

    /// `h(P) H*`.
    fn apply(&self, h_star: &Mat<f64>, h: impl Fn(f64) -> f64) -> Mat<f64> {
        match &self.pairs {
            Eigenpairs::All(eigen) => eigen.apply(h_star, h),
            Eigenpairs::Lanczos(signals) => {
                let columns: Vec<Vec<f64>> =
                    signals.iter().map(|signal| signal.apply(&h)).collect();
                let (n, d) = (h_star.rows(), h_star.cols());
                let entry = |i: usize| columns[i % d][i / d];
                Mat::from_vec(n, d, (0..n * d).map(entry).collect())
            }
        }
    }

    /// All eigenvalues, or the Ritz values of every channel.
    fn values(&self) -> Vec<f64> {
        match &self.pairs {
            Eigenpairs::All(eigen) => eigen.values.clone(),
            Eigenpairs::Lanczos(signals) => {
                let found = signals.iter().flat_map(Krylov::quadrature);
                found.map(|(theta, _)| theta).collect()
            }
        }
    }
}

/// The fraction of the weights in each bin over [-1, 1], given pairs of a value and its weight.
fn histogram(values: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut bins = vec![0.0; BINS];
    for (mu, weight) in values {
        let bin = ((mu + 1.0) / 2.0 * BINS as f64).floor();
        bins[bin.clamp(0.0, BINS as f64 - 1.0) as usize] += weight;
    }
    let sum: f64 = bins.iter().sum();
    bins.iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    fn settings(reference: ReferenceMethod) -> CheckSettings {
        CheckSettings { seed: 1, channels: 3, orders: vec![2, 9], reference }
    }

    #[test]
    fn both_references_agree_with_the_networks() {
        for graph in ["csbm:nodes=90", "grid:rows=8,columns=9"] {
            let dataset = data::load(graph).unwrap();
            for reference in [ReferenceMethod::Eigenvectors, ReferenceMethod::Lanczos] {
                let check = settings(reference).check(&dataset).unwrap();
                assert!(check.reference_error < 1e-12, "{graph}: {check:?}");
                for errors in &check.errors {
                    let all = [errors.theorem_1, errors.theorem_2, errors.corollary];
                    assert!(all.iter().all(|error| *error < 1e-12), "{graph}: {check:?}");
                }
                assert!((check.density.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn other_polynomials_give_large_errors() {
        let dataset = data::load("csbm:nodes=90").unwrap();
        let stream = Stream::new(1, "theorems");
        let p = operator(&dataset.graph, Normalisation::Looped);
        let settings = settings(ReferenceMethod::Eigenvectors);
        let first = settings.first_layer(&stream, dataset.x.n_cols());
        let h_star = first.apply(&dataset.x);
        let spectrum = Spectrum::exact(&p, &h_star);
        let alpha = coefficients(&stream, 4);
        let network = LinearNetwork::new("clenshaw-gcn", &dataset, 4, 3).unwrap();
        let actual = network.last_layer(&first, &alpha);
        let error = |alpha: &[f64], h: ResponseFn| {
            let expected = spectrum.apply(&h_star, |mu| h(alpha, mu));
            relative_error(actual.as_slice(), expected.as_slice())
        };
        assert!(error(&alpha, second_kind) < 1e-13);
        assert!(error(&alpha, monomial) > 0.01, "the other basis");
        let reversed: Vec<f64> = alpha.iter().rev().copied().collect();
        assert!(error(&reversed, second_kind) > 0.01, "coefficients ordered by degree");
        let mut perturbed = alpha.clone();
        perturbed[2] += 1e-8;
        assert!(error(&perturbed, second_kind) > 1e-10, "one coefficient perturbed by 1e-8");
    }

    #[test]
    fn second_kind_takes_its_limits_at_the_ends_of_the_interval() {
        // U_l(1) = l + 1 and U_l(-1) = (-1)^l (l + 1); alpha is ordered by layer.
        assert_eq!(second_kind(&[1.0, 0.0, 0.0], 1.0), 3.0);
        assert_eq!(second_kind(&[1.0, 0.0, 0.0, 0.0], -1.0), -4.0);
        let near = second_kind(&[1.0, 0.0, 0.0], 1.0 - 1e-12);
        assert!((near - 3.0).abs() < 1e-10, "{near}");
    }

    #[test]
    fn lanczos_density_is_close_to_the_exact_one() {
        let dataset = data::load("csbm:nodes=400").unwrap();
        let [exact, lanczos] = [ReferenceMethod::Eigenvectors, ReferenceMethod::Lanczos]
            .map(|reference| settings(reference).check(&dataset).unwrap().density);
        let distance: f64 = exact.iter().zip(&lanczos).map(|(a, b)| (a - b).abs()).sum();
        assert!(distance < 0.25, "{distance}");
    }
}

//! The spectral density of an operator: how its eigenvalues are distributed over [-1, 1].
//!
//! ```text
//! m_k  = tr T_k(P) / n  ~  mean over random signs z of z' T_k(P) z / n           k = 0, ..., K
//! d(mu) = (g_0 m_0 + 2 sum_k g_k m_k T_k(mu)) / (pi sqrt(1 - mu^2))               Jackson's g_k
//! ```
//!
//! For small graphs, all eigenvalues are computed; for large ones, the density is this kernel polynomial
//! estimate, which needs K products with the operator per random vector. The density is integrated over an
//! interval by substituting `mu = cos t`, for which the integral of `T_k` is elementary.
//! Weisse, Wellein, Alvermann & Fehske, Reviews of Modern Physics 2006.

use super::Eigen;
use crate::rng::Stream;
use crate::tensor::{Mat, Operator};
use std::f64::consts::PI;

/// For graphs with at most this number of nodes, all eigenvalues are computed.
const MAX_EXACT: usize = 1000;
/// The degree of the kernel polynomial estimate.
const DEGREE: usize = 200;
/// The number of random vectors.
const VECTORS: usize = 16;

/// The share of eigenvalues in each of several intervals of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralDensity {
    /// The shares, from mu = -1 to mu = 1; their sum is 1.
    pub shares: Vec<f64>,
    /// Whether every eigenvalue was computed; otherwise the shares are estimated.
    pub exact: bool,
}

/// The spectral density of an operator in `bins` intervals of [-1, 1].
///
/// ```
/// use clenshaw::graph::{Graph, Normalisation, operator, spectral_density};
/// // The eigenvalues of a path of three nodes are -1, 0 and 1.
/// let path = Graph::from_edges("path", 3, &[(0, 1), (1, 2)])?;
/// let density = spectral_density(&operator(&path, Normalisation::Plain), 3);
/// assert_eq!(density.shares, [1.0 / 3.0; 3]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
///
/// # Panics
/// If `bins` is zero.
pub fn spectral_density(p: &Operator, bins: usize) -> SpectralDensity {
    assert!(bins > 0, "spectral_density: no intervals");
    match p.n_nodes() <= MAX_EXACT {
        true => SpectralDensity { shares: histogram(&Eigen::new(p).values, bins), exact: true },
        false => SpectralDensity { shares: integrate(&trace_moments(p), bins), exact: false },
    }
}

/// The share of the signals' energy, the sum of their squares, in each of `bins` intervals of [-1, 1];
/// `None` if all signals are zero.
///
/// The shares are estimated from the Chebyshev moments `s' T_k(P) s`, k up to 200, of the columns `s` of
/// `signals`, so energy near the border of two intervals is spread over both.
///
/// ```
/// use clenshaw::graph::{Graph, Normalisation, operator, signal_energy};
/// use clenshaw::tensor::Mat;
/// // On a single edge, opposite values are the highest frequency: mu = -1.
/// let edge = Graph::from_edges("edge", 2, &[(0, 1)])?;
/// let p = operator(&edge, Normalisation::Plain);
/// let shares = signal_energy(&p, &Mat::from_vec(2, 1, vec![1.0, -1.0]), 2).unwrap();
/// assert!(shares[0] > 0.999);
/// # Ok::<(), clenshaw::Error>(())
/// ```
///
/// # Panics
/// If `bins` is zero, or there is not one row of signals per node.
pub fn signal_energy(p: &Operator, signals: &Mat<f64>, bins: usize) -> Option<Vec<f64>> {
    assert!(bins > 0, "signal_energy: no intervals");
    assert_eq!(signals.rows(), p.n_nodes(), "signal_energy: expected one row of signals per node");
    let energy: f64 = signals.as_slice().iter().map(|value| value * value).sum();
    (energy > 0.0).then(|| {
        let moments = moments(p, signals);
        integrate(&moments.iter().map(|moment| moment / energy).collect::<Vec<_>>(), bins)
    })
}

/// The share of values in each interval.
fn histogram(values: &[f64], bins: usize) -> Vec<f64> {
    let mut shares = vec![0.0; bins];
    for value in values {
        // Rounding errors may place an eigenvalue of 1 slightly outside, or one of 0 below 0.
        let bin = ((value + 1.0 + 1e-9) / 2.0 * bins as f64).clamp(0.0, bins as f64 - 1.0);
        shares[bin as usize] += 1.0 / values.len() as f64;
    }
    shares
}

/// Estimates of `tr T_k(P) / n` for k up to [`DEGREE`].
fn trace_moments(p: &Operator) -> Vec<f64> {
    let n = p.n_nodes();
    let stream = Stream::new(0, "density");
    let sign = |i: usize| if stream.numbered(i as u64).unit() < 0.5 { -1.0 } else { 1.0 };
    let z = Mat::from_vec(n, VECTORS, (0..n * VECTORS).map(sign).collect());
    moments(p, &z).into_iter().map(|moment| moment / (n * VECTORS) as f64).collect()
}

/// `sum_j z_j' T_k(P) z_j` over the columns `z_j` of `z`, for k up to [`DEGREE`].
fn moments(p: &Operator, z: &Mat<f64>) -> Vec<f64> {
    let product =
        |t: &Mat<f64>| -> f64 { z.as_slice().iter().zip(t.as_slice()).map(|(z, t)| z * t).sum() };
    let (mut t1, mut t) = (z.clone(), p.apply(z));
    let mut moments = vec![product(z), product(&t)];
    while moments.len() <= DEGREE {
        // T_{k+1} = 2 P T_k - T_{k-1}
        let mut next = p.apply(&t);
        let values = next.as_mut_slice().iter_mut().zip(t1.as_slice());
        values.for_each(|(next, t1)| *next = 2.0 * *next - t1);
        moments.push(product(&next));
        (t1, t) = (t, next);
    }
    moments
}

/// The shares of the intervals: integrals of the damped Chebyshev series with `m_0 = 1`. Negative ones are
/// replaced by 0, and all are divided by their sum.
fn integrate(moments: &[f64], bins: usize) -> Vec<f64> {
    let damping = jackson(moments.len());
    // The integral from mu to 1, with t = arccos(mu): (m_0 t + 2 sum_k g_k m_k sin(k t) / k) / pi.
    let above = |mu: f64| {
        let t = mu.clamp(-1.0, 1.0).acos();
        let term = |k: usize| 2.0 * damping[k] * moments[k] * (k as f64 * t).sin() / k as f64;
        (t + (1..moments.len()).map(term).sum::<f64>()) / PI
    };
    let edge = |i: usize| 2.0 * i as f64 / bins as f64 - 1.0;
    let shares = (0..bins).map(|i| (above(edge(i)) - above(edge(i + 1))).max(0.0));
    let shares: Vec<f64> = shares.collect();
    let total: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / total).collect()
}

/// Jackson's damping factors, which keep the truncated series non-negative.
fn jackson(n: usize) -> Vec<f64> {
    let step = PI / (n as f64 + 1.0);
    let factor = |k: usize| {
        let (k, n) = (k as f64, n as f64);
        ((n - k + 1.0) * (k * step).cos() + (k * step).sin() / step.tan()) / (n + 1.0)
    };
    (0..n).map(factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, operator};

    #[test]
    fn estimate_agrees_with_the_exact_density() {
        let graph = crate::data::load("csbm:nodes=800").unwrap().graph;
        let p = operator(&graph, Normalisation::Looped);
        let exact = spectral_density(&p, 10);
        assert!(exact.exact);
        let estimate = integrate(&trace_moments(&p), 10);
        for (exact, estimate) in exact.shares.iter().zip(estimate) {
            assert!((exact - estimate).abs() < 0.02, "{exact} and {estimate}");
        }
    }

    #[test]
    fn energy_of_an_eigenvector_is_at_its_eigenvalue() {
        // cos(2 pi j i / n) on a cycle has the eigenvalue cos(2 pi j / n).
        let n = 60;
        let edges: Vec<(u32, u32)> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        let graph = Graph::from_edges("cycle", n as usize, &edges).unwrap();
        let p = operator(&graph, Normalisation::Plain);
        for j in [2, 12, 27] {
            let wave = |i: u32| (2.0 * PI * f64::from(j * i) / f64::from(n)).cos();
            let signal = Mat::from_vec(n as usize, 1, (0..n).map(wave).collect());
            let shares = signal_energy(&p, &signal, 10).unwrap();
            let mu = (2.0 * PI * f64::from(j) / f64::from(n)).cos();
            let bin = ((mu + 1.0) * 5.0) as usize;
            assert!(shares[bin] > 0.95, "{j}: {mu} and {shares:?}");
        }
        assert_eq!(signal_energy(&p, &Mat::zeros(n as usize, 1), 10), None);
    }

    #[test]
    fn moments_of_a_cycle_are_those_of_the_arcsine_law() {
        // The eigenvalues cos(2 pi j / n) are spread like the arcsine law, whose T_k moments are zero.
        let n = 1500;
        let edges: Vec<(u32, u32)> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        let graph = Graph::from_edges("cycle", n as usize, &edges).unwrap();
        let density = spectral_density(&operator(&graph, Normalisation::Plain), 2);
        assert!(!density.exact);
        assert!((density.shares[0] - 0.5).abs() < 0.02, "{:?}", density.shares);
        assert!((density.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

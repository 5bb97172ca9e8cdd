//! The extreme eigenvalues of a graph's operator, by the Lanczos method.
//!
//! ```text
//! b_{k+1} q_{k+1} = P q_k - a_k q_k - b_k q_{k-1}        a_k = q_k' P q_k,  |q_k| = 1
//! ```
//!
//! The extreme eigenvalues of the tridiagonal matrix with diagonal `a` and off-diagonal `b` converge to
//! those of P after a few steps. Without reorthogonalisation some of them appear several times, which
//! is harmless here.
//! Lanczos, J. Res. Nat. Bur. Standards 1950.

use super::Eigen;
use super::krylov::{dot, norm};
use crate::tensor::{Mat, Operator};

/// The number of steps; more do not change the result on Cora and on the spectra in the tests.
const STEPS: usize = 120;

/// The lowest and the highest eigenvalue of an operator, approximated by at most 120 Lanczos steps.
///
/// ```
/// use clenshaw::graph::{Graph, Normalisation, extreme_eigenvalues, operator};
/// let edge = Graph::from_edges("edge", 2, &[(0, 1)])?;
/// let (lowest, highest) = extreme_eigenvalues(&operator(&edge, Normalisation::Plain));
/// assert!((lowest + 1.0).abs() < 1e-9 && (highest - 1.0).abs() < 1e-9);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn extreme_eigenvalues(p: &Operator) -> (f64, f64) {
    let (a, b) = tridiagonal(p);
    let values = Eigen::tridiagonal(&a, &b).values;
    let [lowest, highest] = [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick));
    (lowest.unwrap_or(f64::NAN), highest.unwrap_or(f64::NAN))
}

/// The diagonal `a_0, a_1, ...` and off-diagonal `b_1, b_2, ...`, for a start vector without symmetries.
fn tridiagonal(p: &Operator) -> (Vec<f64>, Vec<f64>) {
    let n = p.n_nodes();
    let start: Vec<f64> = (0..n).map(|i| (i as f64 + 1.0).sin()).collect();
    let length = norm(&start);
    let mut q1: Vec<f64> = vec![0.0; n];
    let mut q: Vec<f64> = start.iter().map(|entry| entry / length).collect();
    let (mut a, mut b): (Vec<f64>, Vec<f64>) = (vec![], vec![]);
    loop {
        let pq = p.apply(&Mat::from_vec(n, 1, q.clone()));
        let (a_k, b_k) = (dot(&q, pq.as_slice()), b.last().copied().unwrap_or(0.0));
        a.push(a_k);
        let entries = pq.as_slice().iter().zip(&q).zip(&q1);
        let residual: Vec<f64> = entries.map(|((pq, q), q1)| pq - a_k * q - b_k * q1).collect();
        let length = norm(&residual);
        // If the residual is zero, all eigenvalues to which the start vector contributes were found.
        if a.len() == STEPS.min(n) || length < 1e-12 {
            return (a, b);
        }
        b.push(length);
        (q1, q) = (q, residual.iter().map(|entry| entry / length).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, operator};
    use std::f64::consts::PI;

    fn assert_extremes(
        what: &str,
        n: u32,
        edges: &[(u32, u32)],
        kind: Normalisation,
        expected: [f64; 2],
    ) {
        let graph = Graph::from_edges(what, n as usize, edges).unwrap();
        let (lowest, highest) = extreme_eigenvalues(&operator(&graph, kind));
        for (found, expected) in [lowest, highest].into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-9,
                "{what}, {kind:?}: {found} instead of {expected}"
            );
        }
    }

    #[test]
    fn extreme_eigenvalues_match_known_spectra() {
        use Normalisation::{Looped, Plain};
        let cycle = |n: u32| (0..n).map(|i| (i, (i + 1) % n)).collect::<Vec<_>>();
        // cos(2 pi k / n), and with loops (1 + 2 cos(2 pi k / n)) / 3.
        assert_extremes("cycle of 12", 12, &cycle(12), Plain, [-1.0, 1.0]);
        assert_extremes("cycle of 12", 12, &cycle(12), Looped, [-1.0 / 3.0, 1.0]);
        assert_extremes("cycle of 51", 51, &cycle(51), Plain, [(50.0 * PI / 51.0).cos(), 1.0]);
        // cos(pi k / (n - 1)): -1 and 1 for every n.
        let path: Vec<_> = (0..39).map(|i| (i, i + 1)).collect();
        assert_extremes("path of 40", 40, &path, Plain, [-1.0, 1.0]);
        // Complete bipartite: -1, 0, 1. Complete: -1 / (n - 1), 1.
        let bipartite: Vec<_> = (0..3).flat_map(|u| (3..8).map(move |v| (u, v))).collect();
        assert_extremes("complete bipartite 3, 5", 8, &bipartite, Plain, [-1.0, 1.0]);
        let complete: Vec<_> = (0..9).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        assert_extremes("complete of 9", 9, &complete, Plain, [-1.0 / 8.0, 1.0]);
        assert_extremes("two isolated nodes", 2, &[], Looped, [1.0, 1.0]);
    }

    #[test]
    fn extreme_eigenvalues_of_cora_agree_with_the_literature() {
        // Wu et al. 2019 (SGC), figure 2: self-loops shrink the largest eigenvalue of L to about 1.5.
        let cora = crate::data::load("cora").unwrap().graph;
        let (lowest, highest) = extreme_eigenvalues(&operator(&cora, Normalisation::Looped));
        assert!((lowest + 0.48).abs() < 0.02, "{lowest}");
        assert!((highest - 1.0).abs() < 1e-9, "{highest}");
    }
}

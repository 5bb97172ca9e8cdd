//! The Lanczos method with full reorthogonalisation.
//!
//! ```text
//! b_{k+1} q_{k+1} = P q_k - a_k q_k - b_k q_{k-1}        q_0 = x / |x|,  k < m
//! T   = tridiagonal matrix of a and b = S Theta S'
//! h(P) x    = |x| Q S h(Theta) S' e_0                    for every polynomial h of degree below m
//! x' h(P) x = |x|^2 sum_i S_0i^2 h(theta_i)              of degree below 2m: Gauss quadrature
//! ```
//!
//! The method computes the effect of a polynomial filter on one signal, and the spectral distribution of
//! that signal, for graphs that are too large for a full eigendecomposition.
//! Golub & Meurant, Matrices, Moments and Quadrature with Applications, 2010.

use super::eigen::Eigen;
use super::max_abs;
use crate::tensor::{Mat, Operator};

/// A residual of at most this norm is rounding error: the basis already spans the space. The bound is
/// absolute, since P does not increase norms.
const NEGLIGIBLE: f64 = 1e-12;

/// An orthonormal basis of the Krylov space of `x, P x, ..., P^{m-1} x`, and P in that basis.
#[derive(Clone, Debug)]
pub struct Krylov {
    /// The basis `q_0, q_1, ...`; fewer than `m` vectors if the signal consists of fewer frequencies.
    pub q: Vec<Vec<f64>>,
    /// The diagonal of T.
    pub a: Vec<f64>,
    /// The off-diagonal of T, `b_1, b_2, ...`.
    pub b: Vec<f64>,
    /// The norm `|x|`.
    pub norm_x: f64,
    n_nodes: usize,
}

impl Krylov {
    /// Runs at most `m` steps from the signal `x`; a zero signal has an empty basis.
    ///
    /// ```
    /// use clenshaw::graph::{Graph, Krylov, Normalisation, operator};
    /// let path = Graph::from_edges("path", 4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let p = operator(&path, Normalisation::Looped);
    /// let krylov = Krylov::new(&p, &[3.0, 0.0, 1.0, 2.0], 3);
    /// // Three steps are exact for a square: x' P P x is |P x|^2.
    /// let px = p.apply(&clenshaw::tensor::Mat::from_vec(4, 1, vec![3.0, 0.0, 1.0, 2.0]));
    /// let square: f64 = px.as_slice().iter().map(|v| v * v).sum();
    /// let sum: f64 = krylov.quadrature().iter().map(|(mu, weight)| weight * mu * mu).sum();
    /// assert!((sum - square).abs() < 1e-12);
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `x` does not have one entry per node.
    pub fn new(p: &Operator, x: &[f64], m: usize) -> Self {
        assert_eq!(x.len(), p.n_nodes(), "krylov: expected one entry of the signal per node");
        let norm_x = norm(x);
        let mut krylov = Self { q: vec![], a: vec![], b: vec![], norm_x, n_nodes: x.len() };
        let mut next = Some(x.to_vec()).filter(|_| norm_x > 0.0 && m > 0);
        while let Some(mut q) = next {
            let scale = 1.0 / norm(&q);
            q.iter_mut().for_each(|entry| *entry *= scale);
            next = krylov.step(p, q, m);
        }
        krylov
    }

    /// Adds `q` to the basis; returns the next vector, not normalised, or `None` at the end.
    fn step(&mut self, p: &Operator, q: Vec<f64>, m: usize) -> Option<Vec<f64>> {
        let pq = p.apply(&Mat::from_vec(q.len(), 1, q.clone()));
        let mut residual = pq.as_slice().to_vec();
        self.a.push(dot(&q, &residual));
        self.q.push(q);
        // Twice is enough: Parlett, The Symmetric Eigenvalue Problem, 1980.
        for _ in 0..2 {
            for q in &self.q {
                let c = dot(q, &residual);
                subtract(&mut residual, c, q);
            }
        }
        let residual_norm = norm(&residual);
        let continues = self.q.len() < m.min(residual.len()) && residual_norm > NEGLIGIBLE;
        continues.then(|| {
            self.b.push(residual_norm);
            residual
        })
    }

    /// The points and weights of the quadrature, `(theta_i, |x|^2 S_0i^2)`.
    pub fn quadrature(&self) -> Vec<(f64, f64)> {
        let eigen = Eigen::tridiagonal(&self.a, &self.b);
        let weight = |i| (self.norm_x * eigen.entry(0, i)).powi(2);
        eigen.values.iter().enumerate().map(|(i, &theta)| (theta, weight(i))).collect()
    }

    /// `h(P) x`, exact up to rounding if `h` is a polynomial of a degree below the number of steps.
    pub fn apply(&self, h: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut y = vec![0.0; self.n_nodes];
        let eigen = Eigen::tridiagonal(&self.a, &self.b);
        let h: Vec<f64> = eigen.values.iter().map(|&theta| h(theta)).collect();
        for (k, q) in self.q.iter().enumerate() {
            let terms =
                h.iter().enumerate().map(|(i, h)| eigen.entry(k, i) * h * eigen.entry(0, i));
            let c: f64 = terms.sum();
            subtract(&mut y, -self.norm_x * c, q);
        }
        y
    }

    /// The largest absolute inner product of two different basis vectors, which is 0 up to rounding.
    pub fn overlap(&self) -> f64 {
        let pairs = (0..self.q.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        max_abs(pairs.map(|(i, j)| dot(&self.q[i], &self.q[j])))
    }
}

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub(super) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// `x <- x - c y`.
fn subtract(x: &mut [f64], c: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x -= c * y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, operator};
    use crate::rng::Stream;

    fn example() -> (Operator, Vec<f64>) {
        let mut stream = Stream::new(1, "test");
        let edges: Vec<(u32, u32)> =
            (0..120).map(|_| (stream.below(40) as u32, stream.below(40) as u32)).collect();
        let graph = Graph::from_edges("random", 40, &edges).unwrap();
        let x = (0..40).map(|_| stream.normal()).collect();
        (operator(&graph, Normalisation::Looped), x)
    }

    #[test]
    fn apply_agrees_with_the_eigendecomposition() {
        let (p, x) = example();
        let h = |mu: f64| 3.0 * mu.powi(7) - mu.powi(4) + 0.2;
        let expected = Eigen::new(&p).apply(&Mat::from_vec(40, 1, x.clone()), h);
        let krylov = Krylov::new(&p, &x, 8);
        for (actual, expected) in krylov.apply(h).iter().zip(expected.as_slice()) {
            assert!((actual - expected).abs() < 1e-12, "{actual} instead of {expected}");
        }
        assert!(krylov.overlap() < 1e-14, "{}", krylov.overlap());
    }

    #[test]
    fn one_step_fewer_is_not_exact() {
        let (p, x) = example();
        let h = |mu: f64| mu.powi(7);
        let exact = Krylov::new(&p, &x, 8).apply(h);
        let short = Krylov::new(&p, &x, 7).apply(h);
        let error = max_abs(exact.iter().zip(&short).map(|(a, b)| a - b));
        assert!(error > 1e-6, "{error}");
    }

    #[test]
    fn quadrature_is_exact_up_to_degree_2m_minus_1() {
        let (p, x) = example();
        let krylov = Krylov::new(&p, &x, 5);
        let gauss: f64 = krylov.quadrature().iter().map(|(mu, w)| w * mu.powi(9)).sum();
        let y = Krylov::new(&p, &x, 10).apply(|mu| mu.powi(9));
        assert!((gauss - dot(&x, &y)).abs() < 1e-12 * dot(&x, &x), "{gauss}");
    }

    #[test]
    fn stops_when_the_signal_has_no_more_frequencies() {
        // On a complete graph with loops every signal has two frequencies, 1 and 0.
        let edges: Vec<_> = (0..9u32).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        let graph = Graph::from_edges("complete", 9, &edges).unwrap();
        let p = operator(&graph, Normalisation::Looped);
        let x: Vec<f64> = (0..9).map(f64::from).collect();
        let mut found = Krylov::new(&p, &x, 6).quadrature();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(found.len(), 2);
        assert!(found[0].0.abs() < 1e-14 && (found[1].0 - 1.0).abs() < 1e-14, "{found:?}");
        // Mean 4, squares 204: 9 * 16 at frequency 1 and the rest at 0.
        assert!((found[0].1 - 60.0).abs() < 1e-12 && (found[1].1 - 144.0).abs() < 1e-12);
        let zero = Krylov::new(&p, &[0.0; 9], 3);
        assert!(zero.quadrature().is_empty());
        assert_eq!(zero.apply(|_| 1.0), [0.0; 9]);
    }
}

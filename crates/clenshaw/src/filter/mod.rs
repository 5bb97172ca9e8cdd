//! Polynomial filters: a basis, its coefficients, and the response they draw.
//!
//! ```text
//! h(mu) = sum_k c_k phi_k(mu)             mu in [-1, 1], an eigenvalue of P or P~
//! h(P) x = V h(M) V^T x                   P = V M V^T; mu = 1 is the smoothest signal
//! ```
//!
//! A response is evaluated by the recurrence of its basis and applied by the same recurrence with
//! `P` in the place of `mu`, so `k` sparse products do and no eigendecomposition is needed; a test
//! below compares the two.
//! A new basis is one file, one variant and its two arms.

mod monomial;
mod chebyshev;
mod three_term;
mod response;

pub use response::Response;

use crate::tensor::{Mat, Operator};
use serde::{Deserialize, Serialize};

/// The polynomials `phi_0, phi_1, ...` that coefficients belong to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Basis {
    /// `mu^k`: HornerGCN, GPRGNN.
    Monomial,
    /// `T_k(cos t) = cos(k t)`: ChebNet.
    ChebyshevFirst,
    /// `U_k(cos t) = sin((k+1) t) / sin t`: ClenshawGCN.
    ChebyshevSecond,
    /// `phi_{k+1} = (a_k mu + b_k) phi_k - c_k phi_{k-1}` from `phi_0 = 1`, with `[a_k, b_k, c_k]` here:
    /// FavardGNN, OptBasisGNN. Every coefficient but the first wants its step.
    ThreeTerm(Vec<[f64; 3]>),
}

/// A polynomial filter `h(mu) = sum_k c_k phi_k(mu)`.
///
/// ```
/// use clenshaw::filter::{Basis, Filter};
/// // 1 + U_2(mu) = 4 mu^2 passes both ends of the spectrum and stops its middle.
/// let filter = Filter { basis: Basis::ChebyshevSecond, coefficients: vec![1.0, 0.0, 1.0] };
/// assert_eq!((filter.at(-1.0), filter.at(0.0), filter.at(0.5)), (4.0, 0.0, 1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// The polynomials.
    pub basis: Basis,
    /// `coefficients[k]` belongs to `phi_k`; none at all is the filter 0.
    pub coefficients: Vec<f64>,
}

impl Filter {
    /// The response `h(mu)`.
    pub fn at(&self, mu: f64) -> f64 {
        let c = &self.coefficients;
        match &self.basis {
            Basis::Monomial => monomial::horner(c, mu),
            Basis::ChebyshevFirst => chebyshev::clenshaw_first(c, mu),
            Basis::ChebyshevSecond => chebyshev::clenshaw_second(c, mu),
            Basis::ThreeTerm(steps) => three_term::clenshaw(steps, c, mu),
        }
    }

    /// The response at `n >= 2` equally spaced points from -1 to 1, both included.
    ///
    /// ```
    /// use clenshaw::filter::{Basis, Filter};
    /// let square = Filter { basis: Basis::Monomial, coefficients: vec![0.0, 0.0, 1.0] };
    /// assert_eq!(square.sample(3), [(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]);
    /// ```
    pub fn sample(&self, n: usize) -> Vec<(f64, f64)> {
        assert!(n >= 2, "sample: {n} points do not span [-1, 1]");
        let mu = |i| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
        (0..n).map(mu).map(|mu| (mu, self.at(mu))).collect()
    }

    /// The filtered signal `h(P) x`.
    ///
    /// # Shapes
    /// `p` is [n, n], `x` and the result are [n, d].
    pub fn apply(&self, p: &Operator, x: &Mat<f64>) -> Mat<f64> {
        let n = p.pattern.n_rows();
        assert_eq!(x.rows(), n, "filter: a signal on {} nodes, a graph of {n}", x.rows());
        let c = &self.coefficients;
        match &self.basis {
            Basis::Monomial => monomial::horner_of(p, c, x),
            Basis::ChebyshevFirst => chebyshev::clenshaw_first_of(p, c, x),
            Basis::ChebyshevSecond => chebyshev::clenshaw_second_of(p, c, x),
            Basis::ThreeTerm(steps) => three_term::clenshaw_of(p, steps, c, x),
        }
    }
}

/// `a x + b y + c z`, entry by entry.
fn combine(a: f64, x: &Mat<f64>, b: f64, y: &Mat<f64>, c: f64, z: &Mat<f64>) -> Mat<f64> {
    let entries = x.as_slice().iter().zip(y.as_slice()).zip(z.as_slice());
    let sums = entries.map(|((x, y), z)| a * x + b * y + c * z).collect();
    Mat::from_vec(x.rows(), x.cols(), sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, operator};
    use nalgebra::{DMatrix, SymmetricEigen};
    use proptest::{prelude::*, test_runner::RngSeed};

    /// Every basis; Legendre's stands for those of three terms, and a shift for its middle one.
    fn bases() -> [Basis; 4] {
        let legendre = |k: usize| {
            let k = k as f64;
            [(2.0 * k + 1.0) / (k + 1.0), 0.1 / (k + 1.0), k / (k + 1.0)]
        };
        let three_term = Basis::ThreeTerm((0..32).map(legendre).collect());
        [Basis::Monomial, Basis::ChebyshevFirst, Basis::ChebyshevSecond, three_term]
    }

    /// `V h(M) V^T x` with the eigenpairs of P.
    fn through_the_spectrum(filter: &Filter, p: &Operator, x: &Mat<f64>) -> DMatrix<f64> {
        let n = p.pattern.n_rows();
        // nalgebra finds NaN in some matrices with many zero rows; P + 2I has none.
        let mut shifted = DMatrix::from_row_slice(n, n, p.to_dense().as_slice());
        (0..n).for_each(|i| shifted[(i, i)] += 2.0);
        let eigen = SymmetricEigen::new(shifted);
        let h = DMatrix::from_diagonal(&eigen.eigenvalues.map(|mu| filter.at(mu - 2.0)));
        let x = DMatrix::from_row_slice(x.rows(), x.cols(), x.as_slice());
        &eigen.eigenvectors * h * eigen.eigenvectors.transpose() * x
    }

    fn graphs() -> impl Strategy<Value = Graph> {
        (2..=20u32).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n), 0..=50);
            edges.prop_map(move |edges| Graph::from_edges("random", n as usize, &edges).unwrap())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(0),
            ..ProptestConfig::default()
        })]

        #[test]
        fn applying_a_filter_scales_every_frequency_by_its_response(
            graph in graphs(),
            coefficients in prop::collection::vec(-1.0..1.0f64, 1..=33),
            entries in prop::collection::vec(-1.0..1.0f64, 40),
        ) {
            let n = graph.n_nodes();
            let x = Mat::from_vec(n, 2, entries[..2 * n].to_vec());
            for kind in [Normalisation::Plain, Normalisation::Looped] {
                let p = operator(&graph, kind);
                for basis in bases() {
                    let filter = Filter { basis: basis.clone(), coefficients: coefficients.clone() };
                    let expected = through_the_spectrum(&filter, &p, &x);
                    let actual = filter.apply(&p, &x);
                    let actual = DMatrix::from_row_slice(n, 2, actual.as_slice());
                    // U_32 is 33 at mu = 1 and its slope there about 12,000.
                    let worst = (actual - expected).amax();
                    prop_assert!(worst < 1e-9, "{basis:?} on {kind:?}: {worst}");
                }
            }
        }
    }

    #[test]
    fn the_first_coefficient_alone_is_the_identity() {
        for basis in bases() {
            let filter = Filter { basis: basis.clone(), coefficients: vec![1.0, 0.0, 0.0, 0.0] };
            assert!(filter.sample(101).iter().all(|&(_, h)| h == 1.0), "{basis:?}");
        }
    }

    #[test]
    fn no_coefficients_stop_everything() {
        let graph = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
        let p = operator(&graph, Normalisation::Looped);
        for basis in bases() {
            let filter = Filter { basis, coefficients: vec![] };
            assert_eq!(filter.at(0.3), 0.0);
            assert_eq!(filter.apply(&p, &Mat::identity(3)), Mat::zeros(3, 3));
        }
    }

    #[test]
    fn a_filter_survives_its_record() {
        let filter = Filter { basis: Basis::ChebyshevSecond, coefficients: vec![0.5, -1.25] };
        let json = serde_json::to_string(&filter).unwrap();
        assert_eq!(json, r#"{"basis":"chebyshev-second","coefficients":[0.5,-1.25]}"#);
        assert_eq!(serde_json::from_str::<Filter>(&json).unwrap(), filter);
    }

    #[test]
    #[should_panic(expected = "filter: a signal on 2 nodes, a graph of 3")]
    fn a_signal_of_another_graph_is_refused() {
        let graph = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
        let filter = Filter { basis: Basis::Monomial, coefficients: vec![1.0] };
        filter.apply(&operator(&graph, Normalisation::Plain), &Mat::zeros(2, 1));
    }
}

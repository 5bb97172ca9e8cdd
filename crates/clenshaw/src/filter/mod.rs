//! Polynomial filters: bases, coefficients and frequency responses.
//!
//! ```text
//! h(mu) = sum_k c_k phi_k(mu)             mu in [-1, 1], an eigenvalue of P or P~
//! h(P) x = V h(M) V^T x                   P = V M V^T; mu = 1 is the lowest frequency
//! ```
//!
//! A response is evaluated by the recurrence of its basis, and applied to signals by the same recurrence
//! with `P` in place of `mu`: one sparse product per degree instead of an eigendecomposition (a test below
//! compares the two). Models record the same recurrence on their tapes.
//! A new basis is one file, one variant of [`Basis`] and its match arm.

mod space;
mod recurrence;
mod monomial;
mod chebyshev;
mod legendre;
mod jacobi;
mod bernstein;
mod response;
mod terms;

pub(crate) use chebyshev::interpolation_matrix;
pub use recurrence::RecurrenceStep;
pub use response::Response;
pub(crate) use space::SignalSpace;
pub(crate) use terms::BLOCK_WIDTHS;
pub use terms::FilterTerms;

use recurrence::clenshaw;
use space::{FrequencySpace, GraphSpace};

use crate::tensor::{Mat, Operator};
use serde::{Deserialize, Serialize};

/// A sequence of polynomials `phi_0, phi_1, ...`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Basis {
    /// `mu^k`: HornerGCN, GPRGNN.
    Monomial,
    /// `T_k(cos t) = cos(k t)`.
    ChebyshevFirst,
    /// `U_k(cos t) = sin((k+1) t) / sin t`: ClenshawGCN.
    ChebyshevSecond,
    /// `T_k(-mu)`, the first kind in the scaled Laplacian: ChebNetII.
    ChebyshevLaplacian,
    /// Legendre polynomials `P_k(mu)`.
    Legendre,
    /// Jacobi polynomials `P_k^(a,b)(mu)`: JacobiConv.
    Jacobi {
        /// Exponent of `1 - mu` in the weight.
        a: f64,
        /// Exponent of `1 + mu` in the weight.
        b: f64,
    },
    /// The polynomials of JacobiConv's released code, which has one sign flipped.
    ReleasedJacobi {
        /// As in [`Basis::Jacobi`].
        a: f64,
        /// As in [`Basis::Jacobi`].
        b: f64,
    },
    /// `C(K,k) ((1 + mu)/2)^{K-k} ((1 - mu)/2)^k` for K + 1 coefficients: BernNet.
    Bernstein,
    /// Any three-term recurrence `phi_{k+1} = (a_k mu + b_k) phi_k - c_k phi_{k-1}` with `phi_0 = 1`;
    /// entry k defines `phi_{k+1}`.
    ThreeTerm(Vec<RecurrenceStep>),
}

/// The most coefficients of a Bernstein filter that is read from a file: they are converted by a square matrix.
const MAX_BERNSTEIN_TERMS: usize = 1025;

impl Basis {
    /// The most coefficients that a filter read from a file may have.
    pub(crate) fn max_terms(&self) -> usize {
        match self {
            Self::ThreeTerm(steps) => steps.len() + 1,
            Self::Bernstein => MAX_BERNSTEIN_TERMS,
            _ => usize::MAX,
        }
    }

    /// `sum_k c_k phi_k(P) x` for numbers, signals or values on a tape; panics for the Bernstein basis,
    /// which needs [`Basis::change_of_basis`] first.
    pub(crate) fn sum<S: SignalSpace>(
        &self,
        space: &mut S,
        c: &[S::Coefficient],
        x: &S::Signal,
    ) -> S::Signal {
        if let Self::ThreeTerm(steps) = self {
            let (n, terms) = (steps.len(), c.len());
            assert!(n + 1 >= terms, "filter: a recurrence of {n} steps for {terms} terms");
        }
        clenshaw(space, |k| self.step(k), c, x)
    }

    /// Step `k` of the recurrence; panics for the Bernstein basis, which has none.
    fn step(&self, k: usize) -> RecurrenceStep {
        match self {
            Self::Monomial => monomial::step(k),
            Self::ChebyshevFirst => chebyshev::first_kind_step(k),
            Self::ChebyshevSecond => chebyshev::second_kind_step(k),
            Self::ChebyshevLaplacian => chebyshev::laplacian_step(k),
            Self::Legendre => legendre::step(k),
            &Self::Jacobi { a, b } => jacobi::step(a, b, k),
            &Self::ReleasedJacobi { a, b } => jacobi::released_step(a, b, k),
            Self::ThreeTerm(steps) => steps.get(k).copied().unwrap_or_default(),
            Self::Bernstein => panic!("sum: the Bernstein basis has no recurrence"),
        }
    }

    /// For a basis without a recurrence, the basis in which to compute the sum, and the matrix `M` by which
    /// the `K + 1` coefficients are converted, `c M`, where K is `order`. `None` for all other bases.
    pub(crate) fn change_of_basis(&self, order: usize) -> Option<(Self, Mat<f64>)> {
        let is_bernstein = *self == Self::Bernstein;
        is_bernstein.then(|| (Self::ChebyshevFirst, bernstein::to_chebyshev(order)))
    }
}

/// `h` at `n >= 2` equally spaced points from -1 to 1, both included.
fn sample(n: usize, h: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    assert!(n >= 2, "sample: expected at least 2 points, got {n}");
    let mu = |i| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
    (0..n).map(mu).map(|mu| (mu, h(mu))).collect()
}

/// The product `v M` of a row and a matrix.
pub(crate) fn multiply_row(v: &[f64], m: &Mat<f64>) -> Vec<f64> {
    let entry = |k: usize| v.iter().enumerate().map(|(j, v)| v * m[(j, k)]).sum();
    (0..m.cols()).map(entry).collect()
}

/// A polynomial filter `h(mu) = sum_k c_k phi_k(mu)`.
///
/// ```
/// use clenshaw::filter::{Basis, Filter};
/// // 1 + U_2(mu) = 4 mu^2 passes both ends of the spectrum and blocks its middle.
/// let filter = Filter { basis: Basis::ChebyshevSecond, coefficients: vec![1.0, 0.0, 1.0] };
/// assert_eq!((filter.evaluate(-1.0), filter.evaluate(0.0), filter.evaluate(0.5)), (4.0, 0.0, 1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredFilter")]
pub struct Filter {
    /// The polynomials.
    pub basis: Basis,
    /// The coefficient of each `phi_k`; an empty list is the zero filter.
    pub coefficients: Vec<f64>,
}

/// A filter in a file, before it is checked.
#[derive(Deserialize)]
struct StoredFilter {
    basis: Basis,
    coefficients: Vec<f64>,
}

impl TryFrom<StoredFilter> for Filter {
    type Error = String;

    fn try_from(StoredFilter { basis, coefficients }: StoredFilter) -> Result<Self, String> {
        let (n, max) = (coefficients.len(), basis.max_terms());
        if n > max {
            return Err(format!("a filter with {n} coefficients; its basis allows {max}"));
        }
        Ok(Self { basis, coefficients })
    }
}

impl Filter {
    /// The response `h(mu)`.
    pub fn evaluate(&self, mu: f64) -> f64 {
        self.sum(&mut FrequencySpace(mu), &1.0)
    }

    /// The polynomial of this order that interpolates `h` at the Chebyshev nodes.
    ///
    /// ```
    /// use clenshaw::filter::Filter;
    /// // The heat kernel e^-(1 - mu): order 12 is accurate to ten digits.
    /// let heat = Filter::interpolate(12, |mu| (mu - 1.0).exp());
    /// assert!((heat.evaluate(0.3) - (-0.7_f64).exp()).abs() < 1e-10);
    /// ```
    pub fn interpolate(order: usize, h: impl Fn(f64) -> f64) -> Self {
        let values: Vec<f64> = chebyshev::nodes(order).into_iter().map(h).collect();
        let coefficients = multiply_row(&values, &interpolation_matrix(order));
        Self { basis: Basis::ChebyshevFirst, coefficients }
    }

    /// The response at `n >= 2` equally spaced points from -1 to 1, both included.
    ///
    /// ```
    /// use clenshaw::filter::{Basis, Filter};
    /// let square = Filter { basis: Basis::Monomial, coefficients: vec![0.0, 0.0, 1.0] };
    /// assert_eq!(square.sample(3), [(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]);
    /// ```
    pub fn sample(&self, n: usize) -> Vec<(f64, f64)> {
        sample(n, |mu| self.evaluate(mu))
    }

    /// The filtered signal `h(P) x`.
    ///
    /// # Shapes
    /// `p` is [n, n], `x` and the result are [n, d].
    pub fn apply(&self, p: &Operator, x: &Mat<f64>) -> Mat<f64> {
        let n = p.n_nodes();
        assert_eq!(x.rows(), n, "filter: a signal on {} nodes, but a graph of {n}", x.rows());
        self.sum(&mut GraphSpace(p), x)
    }

    /// The terms `c_k <y, phi_k(P) x>` of `<y, h(P) x>`, in the order of the coefficients.
    ///
    /// # Shapes
    /// `p` is [n, n], `x` and `y` are [n, 1].
    pub fn terms(&self, p: &Operator, x: &Mat<f64>, y: &[f64]) -> Vec<f64> {
        let c = &self.coefficients;
        let conversion = c.len().checked_sub(1).and_then(|order| self.basis.change_of_basis(order));
        let basis = conversion.as_ref().map_or(&self.basis, |(basis, _)| basis);
        let mut space = GraphSpace(p);
        let (mut b1, mut b2) = (x.clone(), space.zero(x)); // phi_k(P) x, phi_{k-1}(P) x
        let mut products = vec![];
        for k in 0..c.len() {
            products.push(b1.as_slice().iter().zip(y).map(|(b, y)| b * y).sum::<f64>());
            let RecurrenceStep { a, b, c } = basis.step(k);
            (b1, b2) = (space.combine(a, &b1, &[(b, &b1), (-c, &b2)]), b1);
        }
        let product = |k: usize| match &conversion {
            Some((_, m)) => (0..c.len()).map(|j| m[(k, j)] * products[j]).sum(),
            None => products[k],
        };
        (0..c.len()).map(|k| c[k] * product(k)).collect()
    }

    /// `h(P) x`, where P acts on this space.
    fn sum<S: SignalSpace<Coefficient = f64>>(&self, space: &mut S, x: &S::Signal) -> S::Signal {
        let c = &self.coefficients;
        let conversion = c.len().checked_sub(1).and_then(|order| self.basis.change_of_basis(order));
        match conversion {
            Some((basis, m)) => basis.sum(space, &multiply_row(c, &m), x),
            None if c.is_empty() => space.zero(x),
            None => self.basis.sum(space, c, x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Eigen, Graph, Normalisation, max_abs, operator};
    use proptest::{prelude::*, test_runner::RngSeed};

    /// Every basis with `phi_0 = 1`.
    fn bases_starting_at_one() -> Vec<Basis> {
        let (a, b) = (0.5, -0.25);
        let wave = |k: usize| (k as f64).sin();
        let step = |k| RecurrenceStep { a: 1.5 + 0.3 * wave(k), b: 0.2 * wave(2 * k), c: 0.4 };
        vec![
            Basis::Monomial,
            Basis::ChebyshevFirst,
            Basis::ChebyshevSecond,
            Basis::ChebyshevLaplacian,
            Basis::Legendre,
            Basis::Jacobi { a, b },
            Basis::ReleasedJacobi { a, b },
            Basis::ThreeTerm((0..32).map(step).collect()),
        ]
    }

    fn every_basis() -> Vec<Basis> {
        bases_starting_at_one().into_iter().chain([Basis::Bernstein]).collect()
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
        fn apply_scales_every_frequency_by_the_response(
            graph in graphs(),
            coefficients in prop::collection::vec(-1.0..1.0f64, 1..=33),
            entries in prop::collection::vec(-1.0..1.0f64, 40),
        ) {
            let n = graph.n_nodes();
            let x = Mat::from_vec(n, 2, entries[..2 * n].to_vec());
            for kind in [Normalisation::Plain, Normalisation::Looped] {
                let p = operator(&graph, kind);
                let eigen = Eigen::new(&p);
                for basis in every_basis() {
                    let filter = Filter { basis, coefficients: coefficients.clone() };
                    let expected = eigen.apply(&x, |mu| filter.evaluate(mu));
                    let actual = filter.apply(&p, &x);
                    let (actual, expected) = (actual.as_slice(), expected.as_slice());
                    let errors = actual.iter().zip(expected).map(|(a, e)| a - e);
                    // U_32 is 33 at mu = 1 and its slope there about 12,000.
                    let worst = max_abs(errors) / max_abs(expected.iter().copied()).max(1.0);
                    prop_assert!(worst < 1e-9, "{:?} on {kind:?}: {worst}", filter.basis);
                }
            }
        }
    }

    #[test]
    fn terms_are_the_filters_with_one_coefficient() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)];
        let p = operator(&Graph::from_edges("test", 5, &edges).unwrap(), Normalisation::Looped);
        let x = Mat::from_vec(5, 1, vec![0.3, -1.0, 0.5, 2.0, 0.1]);
        let y = [1.0, 0.5, -2.0, 0.25, 3.0];
        let coefficients = vec![0.7, -0.4, 1.1, 0.2, -0.9];
        for basis in every_basis() {
            let filter = Filter { basis, coefficients: coefficients.clone() };
            for (k, term) in filter.terms(&p, &x, &y).into_iter().enumerate() {
                let mut alone = vec![0.0; 5];
                alone[k] = coefficients[k];
                let alone = Filter { basis: filter.basis.clone(), coefficients: alone };
                let filtered = alone.apply(&p, &x);
                let expected: f64 = filtered.as_slice().iter().zip(y).map(|(a, b)| a * b).sum();
                assert!((term - expected).abs() < 1e-12, "{:?}, term {k}", filter.basis);
            }
        }
    }

    #[test]
    fn first_coefficient_alone_is_the_identity() {
        for basis in bases_starting_at_one() {
            let filter = Filter { basis, coefficients: vec![1.0, 0.0, 0.0, 0.0] };
            assert!(filter.sample(101).iter().all(|&(_, h)| h == 1.0), "{:?}", filter.basis);
        }
    }

    #[test]
    fn empty_coefficients_are_the_zero_filter() {
        let graph = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
        let p = operator(&graph, Normalisation::Looped);
        for basis in every_basis() {
            let filter = Filter { basis, coefficients: vec![] };
            assert_eq!(filter.evaluate(0.3), 0.0);
            assert_eq!(filter.apply(&p, &Mat::identity(3)), Mat::zeros(3, 3));
        }
    }

    #[test]
    fn filters_serialise_and_deserialise() {
        let filter = Filter { basis: Basis::ChebyshevSecond, coefficients: vec![0.5, -1.25] };
        let json = serde_json::to_string(&filter).unwrap();
        assert_eq!(json, r#"{"basis":"chebyshev-second","coefficients":[0.5,-1.25]}"#);
        assert_eq!(serde_json::from_str::<Filter>(&json).unwrap(), filter);
        for basis in every_basis() {
            let json = serde_json::to_string(&basis).unwrap();
            assert_eq!(serde_json::from_str::<Basis>(&json).unwrap(), basis);
        }
    }

    #[test]
    #[should_panic(expected = "filter: a signal on 2 nodes, but a graph of 3")]
    fn signal_on_a_different_number_of_nodes_is_rejected() {
        let graph = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
        let filter = Filter { basis: Basis::Monomial, coefficients: vec![1.0] };
        filter.apply(&operator(&graph, Normalisation::Plain), &Mat::zeros(2, 1));
    }
}

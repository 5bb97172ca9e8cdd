//! What decoupled models share: a head that never looks at the graph, then a polynomial filter.
//!
//! ```text
//! Z   = head(X)
//! out = sum_k c_k phi_k(P) drop(Z)                             k = 0..=K
//! ```
//!
//! A model is its basis `phi` and the way its coefficients `c` come about. The sum is Clenshaw's, from
//! the last coefficient to the first: the network holds two partial sums instead of K + 1 signals, and
//! the coefficients' gradients need only Z. One declaration serves the network and its response.

use super::head::{self, head};
use super::{Net, OptimiserGroup, OptimiserKind, WeightLookup};
use crate::filter::{self, Basis, Filter, Response};
use crate::hyper::{HyperParam, Params, TuningSpace};
use crate::tensor::{Coef, Init, Mat, Var};

/// The order K; the hyper-parameters from here on are those the models share.
pub(super) const ORDER: HyperParam =
    HyperParam::int("K", 10, (1, 64), TuningSpace::Fixed, "order of the filter");

/// The restart share of PageRank.
pub(super) const fn restart(meaning: &'static str) -> HyperParam {
    let space = TuningSpace::Among(&[0.1, 0.2, 0.5, 0.9]);
    HyperParam::real("alpha", 0.1, (0.0, 1.0), space, meaning)
}

pub(super) const DROPOUT_PROP: HyperParam =
    HyperParam::dropout("dropout_prop", 0.5, "dropout on what the filter gets");

pub(super) const LR_PROP: HyperParam =
    HyperParam::learning_rate("lr_prop", 0.01, "learning rate of the filter coefficients");

pub(super) const WD_PROP: HyperParam =
    HyperParam::weight_decay("wd_prop", 5e-4, "weight decay of the filter coefficients");

/// For models whose papers let the coefficients grow as they like.
pub(super) const NO_WD_PROP: HyperParam = HyperParam::real(
    "wd_prop",
    0.0,
    (0.0, 10.0),
    TuningSpace::Fixed,
    "weight decay of the filter coefficients; the paper has none",
);

/// The optimiser of the filter's coefficients.
pub(super) const PROP: OptimiserGroup =
    OptimiserGroup { name: "prop", kind: OptimiserKind::Adam, rate: "lr_prop", decay: "wd_prop" };

/// Both optimisers.
pub(super) const GROUPS: [OptimiserGroup; 2] = [head::DENSE, PROP];

/// A filter: its polynomials and where their coefficients come from.
pub(super) struct PolynomialFilter {
    pub basis: Basis,
    pub coefficients: Coefficients,
}

pub(super) enum Coefficients {
    /// `c`, known from the start.
    Fixed(Vec<f64>),
    /// `c`, from a parameter.
    Learned(LearnedCoefficients),
}

/// Coefficients `c = f(theta) M`, where `f` may be relu and `M` the identity.
pub(super) struct LearnedCoefficients {
    /// The parameter's name.
    pub name: &'static str,
    /// It has K + 1 entries.
    pub order: usize,
    /// How it starts.
    pub start: Init,
    /// Whether negative entries are cut to 0.
    pub relu: bool,
    /// `[K + 1, K + 1]`; none is the identity.
    pub map: Option<Mat<f64>>,
}

/// The network of a declared series.
pub(super) fn network(net: &mut Net, hp: &Params, series: &PolynomialFilter) -> Var {
    let z = head(net, hp);
    let z = net.dropout(z, hp.real("dropout_prop"));
    series.of(net, z)
}

impl PolynomialFilter {
    /// `sum_k c_k phi_k(P) Z`.
    pub fn of(&self, net: &mut Net, z: Var) -> Var {
        match &self.coefficients {
            Coefficients::Fixed(c) => {
                let c: Vec<Coef> = c.iter().map(|c| Coef::Fixed(*c)).collect();
                self.basis.sum(net, &c, &z)
            }
            Coefficients::Learned(learned) => {
                let mut c = learned.on(net);
                let change = self.basis.summed_in(learned.order);
                let basis = change.map_or(self.basis.clone(), |(basis, m)| {
                    c = mapped(net, c, m);
                    basis
                });
                let c: Vec<Coef> = (0..=learned.order).map(|k| c.at(k)).collect();
                basis.sum(net, &c, &z)
            }
        }
    }

    /// `h(mu) = sum_k c_k phi_k(mu)`.
    pub fn response(self, weights: &WeightLookup<'_>) -> Response {
        let coefficients = match self.coefficients {
            Coefficients::Fixed(c) => c,
            Coefficients::Learned(learned) => learned.now(weights),
        };
        Response::Shared(Filter { basis: self.basis, coefficients })
    }
}

impl LearnedCoefficients {
    /// `c` on the tape, `[1, K + 1]`.
    fn on(&self, net: &mut Net) -> Var {
        let mut c = net.param(self.name, 1, self.order + 1, self.start.clone(), "prop");
        if self.relu {
            c = net.relu(c);
        }
        match &self.map {
            Some(m) => mapped(net, c, m.clone()),
            None => c,
        }
    }

    /// `c` for these weights.
    fn now(&self, weights: &WeightLookup<'_>) -> Vec<f64> {
        let mut c = weights(self.name).as_slice().to_vec();
        if self.relu {
            c.iter_mut().for_each(|c| *c = c.max(0.0));
        }
        self.map.as_ref().map_or_else(|| c.clone(), |m| filter::times(&c, m))
    }
}

/// `c M`.
fn mapped(net: &mut Net, c: Var, m: Mat<f64>) -> Var {
    let m = net.constant(m);
    net.linear(c, m, None)
}

/// `(1, 0, ..., 0)`: the identity in every basis that starts with 1.
pub(super) fn first_only(order: usize) -> Init {
    let mut c = vec![0.0; order + 1];
    c[0] = 1.0;
    Init::Values(c)
}

/// `(1, ..., 1)`: the identity where coefficients are values or the basis adds up to 1.
pub(super) fn all_ones(order: usize) -> Init {
    Init::Values(vec![1.0; order + 1])
}

/// `c_k = alpha (1-alpha)^k` for `k < K` and `c_K = (1-alpha)^K`: K steps of personalised PageRank.
pub(super) fn page_rank(alpha: f64, order: usize) -> Vec<f64> {
    let c = |k: usize| if k == order { 1.0 } else { alpha } * (1.0 - alpha).powi(k as i32);
    (0..=order).map(c).collect()
}

/// The words of the filter room, written on a tape.
impl filter::SignalSpace for Net {
    type Signal = Var;
    type Coefficient = Coef;

    fn zero(&mut self, like: &Var) -> Var {
        self.zeros_like(*like)
    }

    fn combine(&mut self, a: f64, v: &Var, terms: &[(Coef, &Var)]) -> Var {
        let spread = a * self.p().of(*v);
        let terms = terms.iter().map(|&(c, v)| c * *v);
        self.sum(std::iter::once(spread).chain(terms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_rank_is_what_its_iteration_leaves() {
        // z <- (1-alpha) mu z + alpha, K times from z = 1.
        let (alpha, mu, order) = (0.3, 0.7, 6);
        let iterated = (0..order).fold(1.0, |z, _| (1.0 - alpha) * mu * z + alpha);
        let filter = Filter { basis: Basis::Monomial, coefficients: page_rank(alpha, order) };
        assert!((filter.at(mu) - iterated).abs() < 1e-15);
        assert_eq!(page_rank(1.0, 2), [1.0, 0.0, 0.0]);
        assert_eq!(page_rank(0.0, 2), [0.0, 0.0, 1.0]);
    }
}

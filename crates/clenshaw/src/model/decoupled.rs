//! Decoupled models: an MLP on the features, followed by a polynomial filter.
//!
//! ```text
//! Z   = head(X)
//! out = sum_k c_k phi_k(P) drop(Z)                             k = 0..=K
//! ```
//!
//! A model is defined by its basis `phi` and the source of its coefficients `c`. The sum is evaluated by
//! Clenshaw's algorithm, from the last coefficient to the first: the network keeps two partial sums instead
//! of K + 1 signals, and the gradients of the coefficients need only Z. One [`PolynomialFilter`] defines
//! both the network and its frequency response.
//!
//! With `precompute = true`, the filter comes first:
//!
//! ```text
//! Z   = sum_k c_k phi_k(P) X                                   k = 0..=K
//! out = head(Z)
//! ```
//!
//! The matrices `phi_k(P) X` do not depend on parameters, so they are computed once, and each row of `out` depends on
//! one row of each: the model can be trained on batches of labelled rows, on graphs of any size. This is how He, Wei
//! & Wen (NeurIPS 2022) train ChebNetII on large graphs. There is no dropout on the input of the filter.

use super::head::{self, head, head_of};
use super::{
    ASYMMETRIC_KEY, BATCH_SIZE_KEY, FILTER_GROUP, Net, OptimiserGroup, PRECOMPUTE_KEY, WeightLookup,
};
use crate::filter::{self, Basis, Filter, FilterTerms, Response};
use crate::hyper::{HyperParam, Params};
use crate::tensor::{Coef, Init, Mat, Var};

/// The hyper-parameter `K`, the order of the filter.
pub(super) const ORDER: HyperParam = HyperParam::int("K", 10, (1, 64), "order of the filter");

/// The hyper-parameter `alpha`, the restart probability of PageRank, with this description.
pub(super) const fn restart_probability(meaning: &'static str) -> HyperParam {
    HyperParam::real("alpha", 0.1, (0.0, 1.0), meaning).tune_among(&[0.1, 0.2, 0.5, 0.9])
}

pub(super) const DROPOUT_PROP: HyperParam =
    HyperParam::dropout("dropout_prop", 0.5, "dropout on the input of the filter");

pub(super) const LR_PROP: HyperParam =
    HyperParam::learning_rate("lr_prop", 0.01, "learning rate of the filter coefficients");

pub(super) const WD_PROP: HyperParam =
    HyperParam::weight_decay("wd_prop", 5e-4, "weight decay of the filter coefficients");

/// [`WD_PROP`] for models whose papers do not regularise the coefficients.
pub(super) const NO_WD_PROP: HyperParam = HyperParam::real(
    "wd_prop",
    0.0,
    (0.0, 10.0),
    "weight decay of the filter coefficients; 0 in the paper",
);

/// The optimiser group of the filter coefficients.
pub(super) const PROP: OptimiserGroup = OptimiserGroup::adam(FILTER_GROUP, "lr_prop", "wd_prop");

/// The hyper-parameter that selects asymmetric learning of the filter and the dense layers.
pub(super) const ASYMMETRIC: HyperParam = HyperParam::flag(
    ASYMMETRIC_KEY,
    false,
    "asymmetric learning: from step 11 on, multiplies the gradients of the filter, and those of all other \
     weights, by the average norm of these parameters divided by the norm of Adam's step",
)
.omit_default();

/// The hyper-parameter that puts the filter before the head.
pub(super) const PRECOMPUTE: HyperParam = HyperParam::flag(
    PRECOMPUTE_KEY,
    false,
    "filters the features instead of the head's output, out = head(sum_k c_k phi_k X): the terms are computed once, \
     and training reads batches of labelled rows; `dropout_prop` has no effect",
)
.omit_default();

/// The hyper-parameter for the rows of a batch; the default is that of He, Wei & Wen for large graphs.
pub(super) const BATCH_SIZE: HyperParam = HyperParam::int(
    BATCH_SIZE_KEY,
    10_000,
    (1, 1 << 24),
    "rows per training step with `precompute`",
)
.omit_default();

/// The hyper-parameters that models with learned coefficients share: dropout, both optimiser groups and the
/// precomputed filter.
pub(super) const LEARNED: [HyperParam; 9] = [
    head::DROPOUT,
    DROPOUT_PROP,
    head::LR,
    LR_PROP,
    head::WD,
    WD_PROP,
    ASYMMETRIC,
    PRECOMPUTE,
    BATCH_SIZE,
];

/// The optimiser groups of the head and the coefficients.
pub(super) const GROUPS: [OptimiserGroup; 2] = [head::DENSE, PROP];

/// A polynomial filter: a basis and the source of its coefficients.
pub(super) struct PolynomialFilter {
    basis: Basis,
    coefficients: Coefficients,
}

enum Coefficients {
    /// Constants.
    Fixed(Vec<f64>),
    /// Computed from a parameter.
    Learned(LearnedCoefficients),
}

/// Coefficients `c = f(theta) M`, where `f` may be relu and `M` the identity.
pub(super) struct LearnedCoefficients {
    /// The name of the parameter theta.
    pub name: &'static str,
    /// The order K; theta has K + 1 entries.
    pub order: usize,
    /// The initial theta.
    pub init: Init,
    /// Whether `f` is relu.
    pub relu: bool,
    /// `M`, `[K + 1, K + 1]`; `None` is the identity.
    pub map: Option<Mat<f64>>,
}

/// Why explanations refuse models with a precomputed filter.
pub(super) const NO_ATTRIBUTION: &str = "with `precompute = true`, no weight multiplies the features; explain a model with `precompute = false`";

/// The network of a decoupled model with this filter.
pub(super) fn network(net: &mut Net, hp: &Params, filter: &PolynomialFilter) -> Var {
    if hp.flag(PRECOMPUTE_KEY) {
        return filter_first(net, hp, filter);
    }
    let z = head(net, hp);
    net.set_filter_input(z);
    let z = net.dropout(z, hp.real("dropout_prop"));
    filter.apply(net, z)
}

/// The network with the filter before the head.
pub(super) fn filter_first(net: &mut Net, hp: &Params, filter: &PolynomialFilter) -> Var {
    net.refuse_attribution(NO_ATTRIBUTION);
    let z = filter.apply_to_features(net);
    head_of(net, hp, z)
}

impl PolynomialFilter {
    /// A filter with constant coefficients.
    pub fn fixed(basis: Basis, c: Vec<f64>) -> Self {
        Self { basis, coefficients: Coefficients::Fixed(c) }
    }

    /// A filter with learned coefficients.
    pub fn learned(basis: Basis, coefficients: LearnedCoefficients) -> Self {
        Self { basis, coefficients: Coefficients::Learned(coefficients) }
    }

    /// `sum_k c_k phi_k(P) Z`.
    pub fn apply(&self, net: &mut Net, z: Var) -> Var {
        match &self.coefficients {
            Coefficients::Fixed(c) => {
                let c: Vec<Coef> = c.iter().map(|c| Coef::Fixed(*c)).collect();
                self.basis.sum(net, &c, &z)
            }
            Coefficients::Learned(learned) => {
                let (basis, c) = self.recorded(learned, net);
                basis.sum(net, &c, &z)
            }
        }
    }

    /// Records learned coefficients; returns the basis with a recurrence, and its coefficients.
    fn recorded(&self, learned: &LearnedCoefficients, net: &mut Net) -> (Basis, Vec<Coef>) {
        let mut c = learned.record(net);
        let conversion = self.basis.change_of_basis(learned.order);
        let basis = conversion.map_or(self.basis.clone(), |(basis, m)| {
            c = multiply_by(net, c, m);
            basis
        });
        (basis, (0..=learned.order).map(|k| c.entry(k)).collect())
    }

    /// `sum_k c_k phi_k(P) X`, from the precomputed terms if the net has them.
    fn apply_to_features(&self, net: &mut Net) -> Var {
        let Some(terms) = net.precomputed_terms() else {
            let x = net.dense_x();
            return self.apply(net, x);
        };
        match &self.coefficients {
            Coefficients::Fixed(_) => terms[0],
            Coefficients::Learned(learned) => {
                let (_, c) = self.recorded(learned, net);
                net.sum(c.into_iter().zip(terms).map(|(c, term)| c * term))
            }
        }
    }

    /// What is computed once with `precompute = true`: the filtered features if the coefficients are constants,
    /// otherwise every `phi_k(P) X`.
    pub fn terms(self) -> FilterTerms {
        match self.coefficients {
            Coefficients::Fixed(coefficients) => {
                FilterTerms::sum(&Filter { basis: self.basis, coefficients })
            }
            Coefficients::Learned(learned) => FilterTerms::each(&self.basis, learned.order),
        }
    }

    /// `h(mu) = sum_k c_k phi_k(mu)`.
    pub fn response(self, weights: &WeightLookup<'_>) -> Response {
        let coefficients = match self.coefficients {
            Coefficients::Fixed(c) => c,
            Coefficients::Learned(learned) => learned.values(weights),
        };
        Response::Shared(Filter { basis: self.basis, coefficients })
    }
}

impl LearnedCoefficients {
    /// Records `c`, `[1, K + 1]`, on the tape.
    fn record(&self, net: &mut Net) -> Var {
        let mut c = net.param(self.name, 1, self.order + 1, self.init.clone(), "prop");
        if self.relu {
            c = net.relu(c);
        }
        match &self.map {
            Some(m) => multiply_by(net, c, m.clone()),
            None => c,
        }
    }

    /// The values of `c` for these weights.
    fn values(&self, weights: &WeightLookup<'_>) -> Vec<f64> {
        let mut c = weights(self.name).as_slice().to_vec();
        if self.relu {
            c.iter_mut().for_each(|c| *c = c.max(0.0));
        }
        self.map.as_ref().map_or_else(|| c.clone(), |m| filter::multiply_row(&c, m))
    }
}

/// Records `c M`.
fn multiply_by(net: &mut Net, c: Var, m: Mat<f64>) -> Var {
    let m = net.constant(m);
    net.linear(c, m, None)
}

/// `(1, 0, ..., 0)`: the identity filter in every basis with `phi_0 = 1`.
pub(super) fn first_one(order: usize) -> Init {
    let mut c = vec![0.0; order + 1];
    c[0] = 1.0;
    Init::Values(c)
}

/// `(1, ..., 1)`: the identity filter if coefficients are values of the filter or the basis sums to 1.
pub(super) fn all_ones(order: usize) -> Init {
    Init::Values(vec![1.0; order + 1])
}

/// `c_k = alpha (1-alpha)^k` for `k < K` and `c_K = (1-alpha)^K`: K steps of personalised PageRank.
pub(super) fn page_rank(alpha: f64, order: usize) -> Vec<f64> {
    let c = |k: usize| if k == order { 1.0 } else { alpha } * (1.0 - alpha).powi(k as i32);
    (0..=order).map(c).collect()
}

/// Records the operations of a filter on a tape.
impl filter::SignalSpace for Net {
    type Signal = Var;
    type Coefficient = Coef;

    fn zero(&mut self, like: &Var) -> Var {
        self.zeros_like(*like)
    }

    fn combine(&mut self, a: f64, v: &Var, terms: &[(Coef, &Var)]) -> Var {
        let propagated = a * self.p().apply(*v);
        let terms = terms.iter().map(|&(c, v)| c * *v);
        self.sum(std::iter::once(propagated).chain(terms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_rank_coefficients_agree_with_the_iteration() {
        // z <- (1-alpha) mu z + alpha, K times from z = 1.
        let (alpha, mu, order) = (0.3, 0.7, 6);
        let iterated = (0..order).fold(1.0, |z, _| (1.0 - alpha) * mu * z + alpha);
        let filter = Filter { basis: Basis::Monomial, coefficients: page_rank(alpha, order) };
        assert!((filter.evaluate(mu) - iterated).abs() < 1e-15);
        assert_eq!(page_rank(1.0, 2), [1.0, 0.0, 0.0]);
        assert_eq!(page_rank(0.0, 2), [0.0, 0.0, 1.0]);
    }
}

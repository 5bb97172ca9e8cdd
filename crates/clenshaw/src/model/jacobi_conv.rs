//! JacobiConv: a linear network with one filter per channel, in the Jacobi basis.
//!
//! ```text
//! Z       = drop(X) W + b                                      [n, C], no activation
//! out_:c  = sum_k w_kc B_k(P) drop(Z)_:c                       k = 0..=K
//! B_k     = g_0 ... g_{k-1} P_k^(a,b)(P),   g_k = alpha tanh(eta_k)
//! ```
//!
//! The authors include g in the recurrence of B; factored out, it scales the rows of w, and the
//! recurrence is the standard one. If its weight is close to the density of the graph's spectrum, the
//! basis is nearly orthogonal and w converges fast. `released_sign` selects the recurrence of the
//! authors' code, which has one sign flipped.
//!
//! With `precompute = true`, the filters act on the features, with a channel per feature instead of per class:
//! `Z_:j = sum_k w_kj B_k(P) X_:j`, `out = drop(Z) W + b`.
//! Wang & Zhang, ICML 2022, arXiv:2205.11172.

use super::training::training;
use super::{
    ModelFamily, ModelInfo, Net, OptimiserGroup, PRECOMPUTE_KEY, WeightLookup, decoupled, head,
};
use crate::filter::{Basis, Filter, FilterTerms, Response};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::{Coef, Init, LinearInput, Var};

static TRAINING: [HyperParam; 6] = training(StopRule::AccuracyTies, 200, 1000);

pub static INFO: ModelInfo = ModelInfo {
    name: "jacobi-conv",
    title: "JacobiConv",
    paper: "Wang & Zhang, ICML 2022, arXiv:2205.11172",
    family: ModelFamily::Spectral,
    equation: "out_c = sum_k w_kc g_0...g_(k-1) P_k^(a,b)(P) drop(Z)_c; \
               Z = drop(X) W + b, g_k = alpha tanh(eta_k); \
               with precompute: Z_j = sum_k w_kj g_0...g_(k-1) P_k^(a,b)(P) X_j, out = drop(Z) W + b",
    operator: Some(Normalisation::Plain),
    hyper: &[
        decoupled::ORDER,
        HyperParam::real("a", 1.0, (-1.0, 10.0), "exponent of 1 - mu in the weight")
            .tune_steps(-1.0, 2.0, 0.25),
        // The polynomials are not defined for a = b = -1.
        HyperParam::real("b", 1.0, (-0.99, 10.0), "exponent of 1 + mu in the weight")
            .tune_steps(-0.75, 2.0, 0.25),
        HyperParam::real("alpha", 1.0, (0.0, 10.0), "upper bound of the factors g_k")
            .tune_among(&[0.5, 1.0, 1.5, 2.0]),
        HyperParam::flag(
            "released_sign",
            false,
            "the recurrence of the authors' code, with one sign flipped",
        ),
        HyperParam::dropout("dropout", 0.5, "dropout on the features"),
        decoupled::DROPOUT_PROP,
        head::LR,
        HyperParam::learning_rate("lr_eta", 0.01, "learning rate of eta"),
        decoupled::LR_PROP,
        head::WD,
        HyperParam::weight_decay("wd_eta", 1e-4, "weight decay of eta"),
        decoupled::WD_PROP,
        decoupled::PRECOMPUTE,
        decoupled::BATCH_SIZE,
    ],
    training: &TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/jacobi-conv.toml"),
    groups: &[head::DENSE, OptimiserGroup::adam("eta", "lr_eta", "wd_eta"), decoupled::PROP],
    build,
    filter: Some(filter),
    precompute: Some(|hp| FilterTerms::each(&basis(hp), hp.int("K"))),
};

fn basis(hp: &Params) -> Basis {
    let (a, b) = (hp.real("a"), hp.real("b"));
    if hp.flag("released_sign") { Basis::ReleasedJacobi { a, b } } else { Basis::Jacobi { a, b } }
}

fn build(net: &mut Net, hp: &Params) -> Var {
    if hp.flag(PRECOMPUTE_KEY) {
        return filter_first(net, hp);
    }
    let x = net.x();
    let z = dense_layer(net, hp, x);
    net.set_filter_input(z);
    let z = net.dropout(z, hp.real("dropout_prop"));
    let c = coefficients(net, hp, net.n_classes());
    basis(hp).sum(net, &c, &z)
}

/// `Z_:j = sum_k w_kj B_k(P) X_:j`, `out = drop(Z) W + b`.
fn filter_first(net: &mut Net, hp: &Params) -> Var {
    net.refuse_attribution(decoupled::NO_ATTRIBUTION);
    let c = coefficients(net, hp, net.n_features());
    let z = match net.precomputed_terms() {
        Some(terms) => net.sum(c.into_iter().zip(terms).map(|(c, term)| c * term)),
        None => {
            let x = net.dense_x();
            basis(hp).sum(net, &c, &x)
        }
    };
    dense_layer(net, hp, z)
}

/// `drop(X) W + b`.
fn dense_layer(net: &mut Net, hp: &Params, x: impl LinearInput) -> Var {
    let x = net.dropout(x, hp.real("dropout"));
    net.dense_layer(("w_in", "b_in"), x, net.n_classes(), "dense")
}

/// Records `w_kc g_0 ... g_{k-1}` for `k = 0..=K` and `width` channels.
fn coefficients(net: &mut Net, hp: &Params, width: usize) -> Vec<Coef> {
    let (order, alpha) = (hp.int("K"), hp.real("alpha"));
    let start = Init::Values(vec![(1.0 / alpha).min(1.0); order]);
    let eta = net.param("eta", order, 1, start, "eta");
    let ones = Init::Values(vec![1.0; (order + 1) * width]);
    let w = net.param("w", order + 1, width, ones, "prop");
    let g = net.tanh(eta);
    let g = net.sum([alpha * g]);
    let products = net.running_product(g);
    let w = net.scale_rows(w, products, 0);
    (0..=order).map(|k| w.row(k)).collect()
}

/// `h_c(mu) = sum_k w_kc g_0 ... g_{k-1} P_k^(a,b)(mu)`.
fn filter(weights: &WeightLookup<'_>, hp: &Params) -> Response {
    let (eta, w) = (weights("eta"), weights("w"));
    let mut products = vec![1.0];
    for (k, eta) in eta.as_slice().iter().enumerate() {
        products.push(products[k] * hp.real("alpha") * libm::tanh(*eta));
    }
    let channel = |c| Filter {
        basis: basis(hp),
        coefficients: products.iter().enumerate().map(|(k, g)| w[(k, c)] * g).collect(),
    };
    Response::Channels((0..w.cols()).map(channel).collect())
}

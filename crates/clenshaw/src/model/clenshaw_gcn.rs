//! ClenshawGCN: a GCN whose residuals make every layer one step of Clenshaw summation.
//!
//! ```text
//! S(l) = 2 P~ H(l-1) - H(l-2) + alpha_l H*                H(-1) = H(-2) = 0
//! H(l) = relu*( beta_l (S(l) W(l) + b(l)) + (1 - beta_l) S(l) )      l = 0..=K
//! ```
//!
//! Without `W`, `b` and the activation the last layer is `sum_k alpha_{K-k} U_k(P~) H*`, so the network
//! can represent any filter of degree K in the second-kind Chebyshev basis (tested in
//! `tests/suite/theorems.rs`).
//!
//! The network is initialised to the identity filter, `alpha = (0, ..., 0, 1)`, so that every inner layer is
//! exactly zero. `relu*` passes the gradient at zero; with the usual convention, the layers up to K - 2 would
//! never receive a gradient.
//! Norms and skip connections are optional; see `residual.rs`.
//! Guo & Wei, KDD 2023, arXiv:2210.16508.

use super::residual::{self, coefficients_by_degree, decaying_beta, initial_filter};
use super::{ModelFamily, ModelInfo, Net, PATIENCE_300, WeightLookup};
use crate::filter::{Basis, Filter, Response};
use crate::graph::Normalisation;
use crate::hyper::Params;
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "clenshaw-gcn",
    title: "ClenshawGCN",
    paper: "Guo & Wei, KDD 2023, arXiv:2210.16508",
    family: ModelFamily::Clenshaw,
    equation: "S(l) = 2 P~ H(l-1) - H(l-2) + alpha_l H*; \
               H(l) = relu(beta_l (S(l) W(l) + b(l)) + (1 - beta_l) S(l))",
    operator: Some(Normalisation::Looped),
    hyper: &residual::LEARNED,
    training: &PATIENCE_300,
    inductive: true,
    presets: include_str!("../../experiments/presets/clenshaw-gcn.toml"),
    groups: &residual::GROUPS,
    build,
    filter: Some(filter),
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let order = hp.int("K");
    let beta = decaying_beta(hp.real("lambda"), order);
    let alpha = net.param("alpha", 1, order + 1, initial_filter(hp), "alpha");
    residual::network(net, hp, &beta, |net, l, h1, h2, h_star| {
        vec![2.0 * net.p().apply(h1), -1.0 * h2, alpha.entry(l) * h_star]
    })
}

/// `h(mu) = sum_k alpha_{K-k} U_k(mu)`.
fn filter(weights: &WeightLookup<'_>, _: &Params) -> Response {
    Response::Shared(Filter {
        basis: Basis::ChebyshevSecond,
        coefficients: coefficients_by_degree(&weights("alpha")),
    })
}

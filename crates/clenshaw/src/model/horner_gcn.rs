//! HornerGCN: ClenshawGCN without the second-order residual; its layers are steps of Horner's method.
//!
//! ```text
//! S(l) = P~ H(l-1) + alpha_l H*                           H(-1) = 0
//! H(l) = relu*( beta_l (S(l) W(l) + b(l)) + (1 - beta_l) S(l) )      l = 0..=K
//! ```
//!
//! Without `W`, `b` and the activation the last layer is `sum_k alpha_{K-k} P~^k H*`.
//! Guo & Wei, KDD 2023, arXiv:2210.16508, where it is called the incomplete ClenshawGCN.

use super::residual::{self, coefficients_by_degree, decaying_beta, initial_filter};
use super::{ModelFamily, ModelInfo, Net, PATIENCE_300, WeightLookup};
use crate::filter::{Basis, Filter, Response};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, concat};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "horner-gcn",
    title: "HornerGCN",
    paper: "Guo & Wei, KDD 2023, arXiv:2210.16508",
    family: ModelFamily::Clenshaw,
    equation: "S(l) = P~ H(l-1) + alpha_l H*; \
               H(l) = relu(beta_l (S(l) W(l) + b(l)) + (1 - beta_l) S(l))",
    operator: Some(Normalisation::Looped),
    hyper: &concat::<17>(
        &residual::LEARNED,
        &[HyperParam::flag(
            "decay",
            true,
            "whether beta_l decays; false: beta_l = 1/2 in every layer",
        )],
    ),
    training: &PATIENCE_300,
    inductive: true,
    presets: include_str!("../../experiments/presets/horner-gcn.toml"),
    groups: &residual::GROUPS,
    build,
    filter: Some(filter),
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let order = hp.int("K");
    let beta = if hp.flag("decay") {
        decaying_beta(hp.real("lambda"), order)
    } else {
        vec![0.5; order + 1]
    };
    let alpha = net.param("alpha", 1, order + 1, initial_filter(hp), "alpha");
    residual::network(net, hp, &beta, |net, l, h1, _, h_star| {
        vec![net.p().apply(h1), alpha.entry(l) * h_star]
    })
}

/// `h(mu) = sum_k alpha_{K-k} mu^k`.
fn filter(weights: &WeightLookup<'_>, _: &Params) -> Response {
    Response::Shared(Filter {
        basis: Basis::Monomial,
        coefficients: coefficients_by_degree(&weights("alpha")),
    })
}

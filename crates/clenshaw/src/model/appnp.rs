//! APPNP: the predictions of an MLP, propagated by personalised PageRank.
//!
//! ```text
//! Z(0) = head(X),   Z(k) = (1 - alpha) P~ Z(k-1) + alpha Z(0)        k = 1..=K
//! out  = Z(K) = sum_{k<K} alpha (1-alpha)^k P~^k Z(0) + (1-alpha)^K P~^K Z(0)
//! ```
//!
//! Only the head has parameters; the filter is low-pass for every data set.
//! Gasteiger, Bojchevski & Günnemann, ICLR 2019, arXiv:1810.05997.

use super::decoupled::{self, PolynomialFilter, page_rank};
use super::head::{self, head};
use super::{MEAN_200, ModelFamily, ModelInfo, Net, PRECOMPUTE_KEY};
use crate::filter::Basis;
use crate::graph::Normalisation;
use crate::hyper::Params;
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "appnp",
    title: "APPNP",
    paper: "Gasteiger, Bojchevski & Günnemann, ICLR 2019, arXiv:1810.05997",
    family: ModelFamily::Spectral,
    equation: "Z(k) = (1 - alpha) P~ Z(k-1) + alpha Z(0), Z(0) = head(X); out = Z(K); \
               with precompute: Z(0) = X, out = head(Z(K))",
    operator: Some(Normalisation::Looped),
    hyper: &[
        decoupled::ORDER,
        head::HIDDEN,
        decoupled::restart_probability("restart probability"),
        head::DROPOUT,
        head::LR,
        head::WD,
        decoupled::PRECOMPUTE,
        decoupled::BATCH_SIZE,
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/appnp.toml"),
    groups: &[head::DENSE],
    build,
    filter: Some(|weights, hp| polynomial(hp).response(weights)),
    precompute: Some(|hp| polynomial(hp).terms()),
};

fn polynomial(hp: &Params) -> PolynomialFilter {
    PolynomialFilter::fixed(Basis::Monomial, page_rank(hp.real("alpha"), hp.int("K")))
}

fn build(net: &mut Net, hp: &Params) -> Var {
    if hp.flag(PRECOMPUTE_KEY) {
        return decoupled::filter_first(net, hp, &polynomial(hp));
    }
    let z = head(net, hp);
    net.set_filter_input(z);
    polynomial(hp).apply(net, z)
}

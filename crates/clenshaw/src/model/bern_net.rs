//! BernNet: a filter in the Bernstein basis, whose coefficients approximate its values.
//!
//! ```text
//! out = sum_k relu(theta_k) C(K,k) / 2^K (2I - L)^{K-k} L^k drop(Z),   Z = head(X)
//! ```
//!
//! The filter is nonnegative on [0, 2], and every such filter can be approximated as K grows. With theta = 1
//! it is initialised to the identity, since the basis sums to one. The polynomial is evaluated in the
//! Chebyshev basis with K sparse products, instead of the K + K(K+1)/2 of the authors' code. theta has no
//! weight decay.
//! He, Wei, Huang & Xu, NeurIPS 2021, arXiv:2106.10994.

use super::decoupled::{self, LearnedCoefficients, PolynomialFilter, all_ones};
use super::{MEAN_200, ModelFamily, ModelInfo, head};
use crate::filter::Basis;
use crate::graph::Normalisation;
use crate::hyper::Params;

pub static INFO: ModelInfo = ModelInfo {
    name: "bern-net",
    title: "BernNet",
    paper: "He, Wei, Huang & Xu, NeurIPS 2021, arXiv:2106.10994",
    family: ModelFamily::Spectral,
    equation: "out = sum_k relu(theta_k) C(K,k)/2^K (2I - L)^(K-k) L^k drop(Z), Z = head(X); \
               with precompute: out = head(sum_k relu(theta_k) C(K,k)/2^K (2I - L)^(K-k) L^k X)",
    operator: Some(Normalisation::Plain),
    hyper: &[
        decoupled::ORDER,
        head::HIDDEN,
        head::DROPOUT,
        decoupled::DROPOUT_PROP,
        head::LR,
        decoupled::LR_PROP,
        head::WD,
        decoupled::NO_WD_PROP,
        decoupled::ASYMMETRIC,
        decoupled::PRECOMPUTE,
        decoupled::BATCH_SIZE,
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/bern-net.toml"),
    groups: &decoupled::GROUPS,
    build: |net, hp| decoupled::network(net, hp, &polynomial(hp)),
    filter: Some(|weights, hp| polynomial(hp).response(weights)),
    precompute: Some(|hp| polynomial(hp).terms()),
};

fn polynomial(hp: &Params) -> PolynomialFilter {
    let order = hp.int("K");
    let theta =
        LearnedCoefficients { name: "theta", order, init: all_ones(order), relu: true, map: None };
    PolynomialFilter::learned(Basis::Bernstein, theta)
}

//! ChebNetII: a Chebyshev filter parametrised by its values at the Chebyshev nodes.
//!
//! ```text
//! out = sum_k c_k T_k(L^) drop(Z),   Z = head(X)
//! c_k = (2 - [k=0]) / (K+1) sum_j relu(theta_j) T_k(x_j)       x_j = cos((K - j + 1/2) pi / (K+1))
//! ```
//!
//! The filter has the value relu(theta_j) at `L^ = x_j`; theta_0 belongs to the lowest frequency.
//! The filter is initialised to the identity, theta = 1. Interpolation bounds the coefficients,
//! which are free in ChebBase. He, Wei & Wen, NeurIPS 2022, arXiv:2202.03580.

use super::decoupled::{self, LearnedCoefficients, PolynomialFilter, all_ones};
use super::{MEAN_200, ModelFamily, ModelInfo, head};
use crate::filter::{Basis, interpolation_matrix};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, concat};

pub static INFO: ModelInfo = ModelInfo {
    name: "cheb-net-ii",
    title: "ChebNetII",
    paper: "He, Wei & Wen, NeurIPS 2022, arXiv:2202.03580",
    family: ModelFamily::Spectral,
    equation: "out = sum_k c_k T_k(L^) drop(Z), Z = head(X); \
               c_k = (2 - [k=0])/(K+1) sum_j relu(theta_j) T_k(x_j), x_j the Chebyshev nodes; \
               with precompute: out = head(sum_k c_k T_k(L^) X)",
    operator: Some(Normalisation::Plain),
    hyper: &concat::<12>(
        &[
            decoupled::ORDER,
            head::HIDDEN,
            HyperParam::flag("relu", true, "whether the filter's values are nonnegative"),
        ],
        &decoupled::LEARNED,
    ),
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/cheb-net-ii.toml"),
    groups: &decoupled::GROUPS,
    build: |net, hp| decoupled::network(net, hp, &polynomial(hp)),
    filter: Some(|weights, hp| polynomial(hp).response(weights)),
    precompute: Some(|hp| polynomial(hp).terms()),
};

fn polynomial(hp: &Params) -> PolynomialFilter {
    let order = hp.int("K");
    let theta = LearnedCoefficients {
        name: "theta",
        order,
        init: all_ones(order),
        relu: hp.flag("relu"),
        map: Some(interpolation_matrix(order)),
    };
    PolynomialFilter::learned(Basis::ChebyshevLaplacian, theta)
}

//! ChebBase: a Chebyshev filter with free coefficients, damped like those of a smooth function.
//!
//! ```text
//! out = sum_k w_k / max(k, 1)^q T_k(L^) drop(Z),   Z = head(X)
//! ```
//!
//! With `q = 0` nothing is damped and the filter overfits, which motivates ChebNetII.
//! The filter is initialised to the identity. He, Wei & Wen, NeurIPS 2022, arXiv:2202.03580.

use super::decoupled::{self, LearnedCoefficients, PolynomialFilter, first_one};
use super::{MEAN_200, ModelFamily, ModelInfo, head};
use crate::filter::Basis;
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, concat};
use crate::tensor::Mat;

pub static INFO: ModelInfo = ModelInfo {
    name: "cheb-base",
    title: "ChebBase",
    paper: "He, Wei & Wen, NeurIPS 2022, arXiv:2202.03580",
    family: ModelFamily::Spectral,
    equation: "out = sum_k w_k / max(k,1)^q T_k(L^) drop(Z), Z = head(X); \
               with precompute: out = head(sum_k w_k / max(k,1)^q T_k(L^) X)",
    operator: Some(Normalisation::Plain),
    hyper: &concat::<12>(
        &[
            decoupled::ORDER,
            head::HIDDEN,
            HyperParam::real("q", 0.0, (0.0, 4.0), "exponent of the damping 1 / k^q")
                .tune_among(&[0.0, 1.0]),
        ],
        &decoupled::LEARNED,
    ),
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/cheb-base.toml"),
    groups: &decoupled::GROUPS,
    build: |net, hp| decoupled::network(net, hp, &polynomial(hp)),
    filter: Some(|weights, hp| polynomial(hp).response(weights)),
    precompute: Some(|hp| polynomial(hp).terms()),
};

/// `1 / max(k, 1)^q` on the diagonal.
fn damping(order: usize, q: f64) -> Mat<f64> {
    let mut m = Mat::identity(order + 1);
    (1..=order).for_each(|k| m[(k, k)] = libm::pow(k as f64, -q));
    m
}

fn polynomial(hp: &Params) -> PolynomialFilter {
    let order = hp.int("K");
    let w = LearnedCoefficients {
        name: "w",
        order,
        init: first_one(order),
        relu: false,
        map: Some(damping(order, hp.real("q"))),
    };
    PolynomialFilter::learned(Basis::ChebyshevLaplacian, w)
}

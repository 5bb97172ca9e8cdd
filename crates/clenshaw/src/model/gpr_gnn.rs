//! GPRGNN: APPNP with learned weights for the propagation steps, which may be negative.
//!
//! ```text
//! out = sum_k gamma_k P~^k drop(Z),   Z = head(X)              k = 0..=K
//!
//! ppr      gamma_k = alpha (1-alpha)^k, gamma_K = (1-alpha)^K
//! nppr     gamma_k = alpha^k / sum_i alpha^i
//! sgc      gamma_hop = 1, the others 0
//! random   uniform, absolute values summing to 1
//! ```
//!
//! The table lists the initial values of gamma. With `ppr`, the initial filter is the identity if `alpha = 1`
//! and `mu^K` if `alpha = 0`. gamma has no weight decay.
//! Chien, Peng, Li & Milenkovic, ICLR 2021, arXiv:2006.07988.

use super::decoupled::{self, LearnedCoefficients, PolynomialFilter, page_rank};
use super::{MEAN_200, ModelFamily, ModelInfo, OptimiserGroup, head};
use crate::filter::Basis;
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, choices};
use crate::tensor::Init;

pub static INFO: ModelInfo = ModelInfo {
    name: "gpr-gnn",
    title: "GPRGNN",
    paper: "Chien, Peng, Li & Milenkovic, ICLR 2021, arXiv:2006.07988",
    family: ModelFamily::Spectral,
    equation: "out = sum_k gamma_k P~^k drop(Z), Z = head(X); \
               with precompute: out = head(sum_k gamma_k P~^k X)",
    operator: Some(Normalisation::Looped),
    hyper: &[
        decoupled::ORDER,
        head::HIDDEN,
        HyperParam::choice::<GammaInit>("init", GammaInit::Ppr.word(), "initial gamma"),
        decoupled::restart_probability("restart probability of the initial gamma (ppr, nppr)"),
        HyperParam::int(
            "hop",
            2,
            (0, 64),
            "the only step with a nonzero initial weight (sgc), at most K",
        ),
        head::DROPOUT,
        decoupled::DROPOUT_PROP,
        head::LR,
        head::WD,
        decoupled::NO_WD_PROP,
        decoupled::ASYMMETRIC,
        decoupled::PRECOMPUTE,
        decoupled::BATCH_SIZE,
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/gpr-gnn.toml"),
    groups: &[head::DENSE, OptimiserGroup { rate: "lr", ..decoupled::PROP }],
    build: |net, hp| decoupled::network(net, hp, &polynomial(hp)),
    filter: Some(|weights, hp| polynomial(hp).response(weights)),
    precompute: Some(|hp| polynomial(hp).terms()),
};

choices! {
    /// The initial values of gamma in the table of the module.
    enum GammaInit {
        Ppr = "ppr",
        NPpr = "nppr",
        Sgc = "sgc",
        Random = "random",
    }
}

/// The initial values of gamma.
fn initial_gamma(hp: &Params) -> Init {
    let (alpha, order) = (hp.real("alpha"), hp.int("K"));
    match hp.choice("init") {
        GammaInit::NPpr => {
            let powers: Vec<f64> = (0..=order).map(|k| alpha.powi(k as i32)).collect();
            let sum: f64 = powers.iter().sum();
            Init::Values(powers.into_iter().map(|power| power / sum).collect())
        }
        GammaInit::Sgc => {
            let hop = hp.int("hop").min(order);
            Init::Values((0..=order).map(|k| f64::from(u8::from(k == hop))).collect())
        }
        GammaInit::Random => Init::UnitSum,
        GammaInit::Ppr => Init::Values(page_rank(alpha, order)),
    }
}

fn polynomial(hp: &Params) -> PolynomialFilter {
    let gamma = LearnedCoefficients {
        name: "gamma",
        order: hp.int("K"),
        init: initial_gamma(hp),
        relu: false,
        map: None,
    };
    PolynomialFilter::learned(Basis::Monomial, gamma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_gamma_matches_hand_computation() {
        let mut hp = INFO.defaults();
        for (key, value) in [("K", "2"), ("alpha", "0.5"), ("hop", "1")] {
            hp.set(key, value).unwrap();
        }
        let mut gamma = |init| {
            hp.set("init", init).unwrap();
            initial_gamma(&hp)
        };
        assert_eq!(gamma("ppr"), Init::Values(vec![0.5, 0.25, 0.25]));
        assert_eq!(gamma("nppr"), Init::Values(vec![4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]));
        assert_eq!(gamma("sgc"), Init::Values(vec![0.0, 1.0, 0.0]));
    }
}

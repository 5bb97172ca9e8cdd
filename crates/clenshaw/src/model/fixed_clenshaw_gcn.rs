//! FixedParamClenshawGCN: ClenshawGCN with frozen coefficients, an ablation.
//!
//! ```text
//! S(l) = 2 P~ H(l-1) - H(l-2) + alpha_l H*
//! released   alpha_l = a (1-a)^l for l < K, alpha_K = (1-a)^K         weight grows with the degree
//! ppr        alpha_l = a (1-a)^{K-l}                                  U_k has a (1-a)^k
//! ppr-tail   as ppr, but alpha_0 = (1-a)^K                            U_K has the remainder
//! ```
//!
//! There are three variants because the released class does not run; see `docs/divergences.md`.
//! Guo & Wei, KDD 2023, arXiv:2210.16508.

use super::residual::{self, decaying_beta};
use super::{ModelFamily, ModelInfo, Net, PATIENCE_300, WeightLookup};
use crate::filter::{Basis, Filter, Response};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, choices, concat};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "fixed-clenshaw-gcn",
    title: "FixedParamClenshawGCN",
    paper: "Guo & Wei, KDD 2023, arXiv:2210.16508",
    family: ModelFamily::Clenshaw,
    equation: "S(l) = 2 P~ H(l-1) - H(l-2) + alpha_l H*, alpha frozen; \
               H(l) = relu(beta_l (S(l) W(l) + b(l)) + (1 - beta_l) S(l))",
    operator: Some(Normalisation::Looped),
    hyper: &concat::<15>(
        &residual::FROZEN,
        &[
            HyperParam::real("alpha", 0.1, (0.0, 1.0), "restart probability a")
                .tune_among(&[0.1, 0.2, 0.5, 0.9]),
            HyperParam::choice::<CoefficientOrder>(
                "order",
                CoefficientOrder::Released.word(),
                "variant of the frozen coefficients",
            )
            .tune_all(),
        ],
    ),
    training: &PATIENCE_300,
    inductive: true,
    presets: include_str!("../../experiments/presets/fixed-clenshaw-gcn.toml"),
    groups: residual::GROUPS.split_at(3).0,
    build,
    filter: Some(filter),
    precompute: None,
};

choices! {
    /// The variants of the frozen coefficients in the table of the module.
    enum CoefficientOrder {
        Released = "released",
        Ppr = "ppr",
        PprTail = "ppr-tail",
    }
}

fn build(net: &mut Net, hp: &Params) -> Var {
    let (beta, alpha) = (decaying_beta(hp.real("lambda"), hp.int("K")), frozen_alpha(hp));
    residual::network(net, hp, &beta, |net, l, h1, h2, h_star| {
        vec![2.0 * net.p().apply(h1), -1.0 * h2, alpha[l] * h_star]
    })
}

/// The frozen `alpha_l`, in layer order.
fn frozen_alpha(hp: &Params) -> Vec<f64> {
    let (a, order) = (hp.real("alpha"), hp.int("K"));
    let power = |k: usize| (1.0 - a).powi(k as i32);
    let kind = hp.choice("order");
    let mut alpha: Vec<f64> = match kind {
        CoefficientOrder::Released => (0..=order).map(|l| a * power(l)).collect(),
        CoefficientOrder::Ppr | CoefficientOrder::PprTail => {
            (0..=order).map(|l| a * power(order - l)).collect()
        }
    };
    match kind {
        CoefficientOrder::Released => alpha[order] = power(order),
        CoefficientOrder::PprTail => alpha[0] = power(order),
        CoefficientOrder::Ppr => {}
    }
    alpha
}

/// `h(mu) = sum_k alpha_{K-k} U_k(mu)`.
fn filter(_: &WeightLookup<'_>, hp: &Params) -> Response {
    let coefficients = frozen_alpha(hp).into_iter().rev().collect();
    Response::Shared(Filter { basis: Basis::ChebyshevSecond, coefficients })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_all_variants_match_hand_computation() {
        let mut hp = INFO.defaults();
        hp.set("K", "2").unwrap();
        hp.set("alpha", "0.5").unwrap();
        let mut alpha = |order| {
            hp.set("order", order).unwrap();
            frozen_alpha(&hp)
        };
        assert_eq!(alpha("released"), [0.5, 0.25, 0.25]);
        assert_eq!(alpha("ppr"), [0.125, 0.25, 0.5]);
        assert_eq!(alpha("ppr-tail"), [0.25, 0.25, 0.5]);
    }
}

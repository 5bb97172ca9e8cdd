//! The polynomial filters of a spectral benchmark, all with the same head.
//!
//! ```text
//! out = h(P~) drop(Z),   Z = head(X)                           lambda = 1 - mu
//!
//! sgc          mu^K                                   fixed
//! ppr          alpha (1-alpha)^k, (1-alpha)^K of mu^K  fixed: APPNP
//! heat         e^-t t^k / k! of mu^k                  fixed: the series of e^{-t lambda} up to K
//! gaussian     e^{-t lambda^2}                        fixed: interpolated at the Chebyshev nodes
//! monomial     theta_k mu^k                           learned and initialised to the identity, as all below
//! chebyshev    theta_k T_k(mu)
//! chebyshev2   theta_k U_k(mu)
//! legendre     theta_k P_k(mu)
//! jacobi       theta_k P_k^(a,b)(mu)
//! bernstein    relu(theta_k) C(K,k) ((1+mu)/2)^{K-k} ((1-mu)/2)^k
//! ```
//!
//! Each polynomial has one coefficient, shared by all channels, so that the filters differ only in their
//! basis.
//! Liao et al., Spectral-GNN-Benchmark (`pyg_spectral`), arXiv:2406.09675; `docs/divergences.md` lists
//! where we depart from its formulas.

use super::decoupled::{
    self, LearnedCoefficients, PolynomialFilter, all_ones, first_one, page_rank,
};
use super::{MEAN_200, ModelFamily, ModelInfo, head};
use crate::filter::{Basis, Filter};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, choices, concat};

const EXPONENTS: &[f64] = &[-0.5, 0.0, 0.5, 1.0];

pub static INFO: ModelInfo = ModelInfo {
    name: "poly",
    title: "Polynomial filter",
    paper: "Liao et al., Spectral-GNN-Benchmark, arXiv:2406.09675",
    family: ModelFamily::Spectral,
    equation: "out = sum_k c_k phi_k(P~) drop(Z), Z = head(X); phi and c by the chosen filter; \
               with precompute: out = head(sum_k c_k phi_k(P~) X)",
    operator: Some(Normalisation::Looped),
    hyper: &concat::<16>(
        &[
            HyperParam::choice::<FilterKind>(
                "filter",
                FilterKind::Chebyshev.word(),
                "fixed: sgc, ppr, heat, gaussian; learned: the others",
            )
            .tune_all(),
            decoupled::ORDER,
            head::HIDDEN,
            decoupled::restart_probability("restart probability (ppr)"),
            HyperParam::real("t", 1.0, (0.0, 20.0), "diffusion time (heat, gaussian)")
                .tune_among(&[0.5, 1.0, 2.0, 5.0]),
            HyperParam::real("a", 1.0, (-0.99, 10.0), "exponent of 1 - mu (jacobi)")
                .tune_among(EXPONENTS),
            HyperParam::real("b", 1.0, (-0.99, 10.0), "exponent of 1 + mu (jacobi)")
                .tune_among(EXPONENTS),
        ],
        &decoupled::LEARNED,
    ),
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/poly.toml"),
    groups: &decoupled::GROUPS,
    build: |net, hp| decoupled::network(net, hp, &polynomial(hp)),
    filter: Some(|weights, hp| polynomial(hp).response(weights)),
    precompute: Some(|hp| polynomial(hp).terms()),
};

choices! {
    /// The filters in the table of the module.
    enum FilterKind {
        Chebyshev = "chebyshev",
        Chebyshev2 = "chebyshev2",
        Legendre = "legendre",
        Jacobi = "jacobi",
        Bernstein = "bernstein",
        Monomial = "monomial",
        Sgc = "sgc",
        Ppr = "ppr",
        Heat = "heat",
        Gaussian = "gaussian",
    }
}

fn polynomial(hp: &Params) -> PolynomialFilter {
    let (order, t) = (hp.int("K"), hp.real("t"));
    match hp.choice("filter") {
        FilterKind::Sgc => PolynomialFilter::fixed(Basis::Monomial, page_rank(0.0, order)),
        FilterKind::Ppr => {
            PolynomialFilter::fixed(Basis::Monomial, page_rank(hp.real("alpha"), order))
        }
        FilterKind::Heat => PolynomialFilter::fixed(Basis::Monomial, heat(t, order)),
        FilterKind::Gaussian => {
            let Filter { basis, coefficients } =
                Filter::interpolate(order, |mu| libm::exp(-t * (1.0 - mu).powi(2)));
            PolynomialFilter::fixed(basis, coefficients)
        }
        FilterKind::Monomial => learned(Basis::Monomial, order),
        FilterKind::Chebyshev2 => learned(Basis::ChebyshevSecond, order),
        FilterKind::Legendre => learned(Basis::Legendre, order),
        FilterKind::Jacobi => learned(Basis::Jacobi { a: hp.real("a"), b: hp.real("b") }, order),
        FilterKind::Bernstein => learned(Basis::Bernstein, order),
        FilterKind::Chebyshev => learned(Basis::ChebyshevFirst, order),
    }
}

/// `c_k = e^-t t^k / k!`.
fn heat(t: f64, order: usize) -> Vec<f64> {
    let mut c = vec![libm::exp(-t)];
    (1..=order).for_each(|k| c.push(c[k - 1] * t / k as f64));
    c
}

/// A learned filter, initialised to the identity.
fn learned(basis: Basis, order: usize) -> PolynomialFilter {
    let relu = basis == Basis::Bernstein;
    let init = if relu { all_ones(order) } else { first_one(order) };
    let theta = LearnedCoefficients { name: "theta", order, init, relu, map: None };
    PolynomialFilter::learned(basis, theta)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of a fixed filter.
    fn response(filter: &str, t: f64, mu: f64) -> f64 {
        let mut hp = INFO.defaults();
        for (key, value) in
            [("filter", filter.to_owned()), ("K", "20".into()), ("t", t.to_string())]
        {
            hp.set(key, &value).unwrap();
        }
        polynomial(&hp)
            .response(&|name| panic!("a fixed filter has no parameter `{name}`"))
            .evaluate(mu)
    }

    #[test]
    fn fixed_filters_have_their_closed_form_response() {
        for mu in [-1.0, -0.2, 0.0, 0.6, 1.0_f64] {
            let lambda = 1.0 - mu;
            let cases = [
                ("sgc", mu.powi(20)),
                ("heat", (-1.5 * lambda).exp()),
                ("gaussian", (-1.5 * lambda * lambda).exp()),
            ];
            for (filter, expected) in cases {
                let actual = response(filter, 1.5, mu);
                assert!((actual - expected).abs() < 1e-7, "{filter} at {mu}: {actual}");
            }
        }
    }
}

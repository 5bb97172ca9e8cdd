//! FavardGNN: every channel learns a filter together with its orthogonal basis.
//!
//! ```text
//! B_0 = Z / s_0,   B_k = ( P B_{k-1} - eta_{k-1} B_{k-1} - s_{k-1} B_{k-2} ) / s_k     B_{-1} = 0
//! ```
//!
//! Favard's theorem: for all `eta_k` and `s_k > 0`, the polynomials of this recurrence are orthonormal with
//! respect to some weight, and every orthonormal basis has this form; so all of them can be learned. `s_k`
//! is clamped to at least 0.01. Initially `eta = 0` and `s = 1`, the recurrence of `U_k(mu / 2)` (tested in
//! `tests/suite/recurrences.rs`).
//! Guo & Wei, ICML 2023, arXiv:2302.12432.

use super::per_channel::{self, filters};
use super::{ModelFamily, ModelInfo, Net, WeightLookup};
use crate::filter::Response;
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, concat};
use crate::tensor::{Init, Var};

/// The lower bound of `s_k`.
const MIN_S: f64 = 0.01;

pub static INFO: ModelInfo = ModelInfo {
    name: "favard-gnn",
    title: "FavardGNN",
    paper: "Guo & Wei, ICML 2023, arXiv:2302.12432",
    family: ModelFamily::Spectral,
    equation: "s_k B_k = P B_{k-1} - eta_{k-1} B_{k-1} - s_{k-1} B_{k-2}, s_0 B_0 = Z; \
               out = drop(sum_k alpha_k B_k) W' + b', alpha, eta, s per channel",
    operator: Some(Normalisation::Plain),
    hyper: &concat::<10>(
        &per_channel::SHARED,
        &[
            HyperParam::learning_rate("lr_basis", 0.01, "learning rate of the basis, eta and s"),
            HyperParam::weight_decay("wd_basis", 1e-6, "weight decay of the basis, eta and s"),
        ],
    ),
    training: &per_channel::TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/favard-gnn.toml"),
    groups: &per_channel::GROUPS,
    build,
    filter: Some(filter),
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (order, width) = (hp.int("K"), hp.int("hidden"));
    per_channel::network(net, hp, |net, z| {
        net.set_node_input(z);
        let ones = Init::Values(vec![1.0; (order + 1) * width]);
        let s = net.param("s", order + 1, width, ones, "basis");
        let eta = net.param("eta", order, width, Init::Zeros, "basis");
        recurrence(net, z, s, eta)
    })
}

/// `B_k = ( P B_{k-1} - eta_{k-1} B_{k-1} - s_{k-1} B_{k-2} ) / s_k`, `k = 0..=K`.
fn recurrence(net: &mut Net, z: Var, s: Var, eta: Var) -> Vec<Var> {
    let p = net.p();
    let s = net.clamp_min(s, MIN_S);
    let inverse = net.reciprocal(s);
    let (minus_s, minus_eta) = (net.sum([-1.0 * s]), net.sum([-1.0 * eta]));
    let (mut b1, mut b2) = (net.sum([inverse.row(0) * z]), net.zeros_like(z)); // B_{k-1}, B_{k-2}
    let mut basis = vec![b1];
    for k in 1..net.shape(s).0 {
        let v = net.sum([p.apply(b1), minus_eta.row(k - 1) * b1, minus_s.row(k - 1) * b2]);
        (b1, b2) = (net.sum([inverse.row(k) * v]), b1);
        basis.push(b1);
    }
    basis
}

/// The learned recurrence of each channel.
fn filter(weights: &WeightLookup<'_>, _: &Params) -> Response {
    let mut s = weights("s");
    s.as_mut_slice().iter_mut().for_each(|s| *s = s.max(MIN_S));
    filters(&weights("alpha"), &s, &weights("eta"))
}

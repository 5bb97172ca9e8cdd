//! MixHop: every layer combines several powers of the operator, each with its own weights.
//!
//! ```text
//! mix(H) = [ H W_0 + b_0 | P~ (H W_1 + b_1) | ... | P~^J (H W_J + b_J) ]        J = hops
//! H(l)   = drop( relu( norm( mix(H(l-1)) ) ) ),   out = mix(H) W + b
//! ```
//!
//! One layer can represent differences between distances, which a single average cannot.
//! Abu-El-Haija et al., ICML 2019, arXiv:1905.00067, as rewritten for LINKX (Lim et al., NeurIPS 2021):
//! biases before propagation, and a dense layer instead of attention over groups of columns.

use super::convolution::{self, activate};
use super::training::ADAM_W;
use super::{ALL_500, ModelFamily, ModelInfo, Net, fan_in};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, concat};
use crate::tensor::{LinearInput, Var};

pub static INFO: ModelInfo = ModelInfo {
    name: "mixhop",
    title: "MixHop",
    paper: "Abu-El-Haija et al., ICML 2019, arXiv:1905.00067",
    family: ModelFamily::Residual,
    equation: "mix(H) = [P~^j (H W_j + b_j), j = 0..=hops]; H <- drop(relu(norm(mix(H)))); \
               out = mix(H) W + b",
    operator: Some(Normalisation::Looped),
    hyper: &concat::<8>(
        &convolution::STACK,
        &[
            HyperParam::int("hops", 2, (0, 16), "largest power of the operator"),
            HyperParam::int("hidden", 32, (1, 4096), "width of the hidden layers per power")
                .tune_among(&[8.0, 16.0, 32.0]),
        ],
    ),
    training: &ALL_500,
    inductive: true,
    presets: include_str!("../../experiments/presets/mixhop.toml"),
    groups: &[ADAM_W],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (last, hops) = (hp.int("layers") - 1, hp.int("hops"));
    let mut h = net.x();
    for l in 0..last {
        let z = mix(net, l, h, hp.int("hidden"), hops);
        let z = activate(net, hp, l, z);
        h = net.dropout(z, hp.real("dropout")).into();
    }
    let h = mix(net, last, h, net.n_classes(), hops);
    net.dense_layer(("w_out", "b_out"), h, net.n_classes(), "all")
}

/// `P~^j (H W_j + b_j)` for every `j`, side by side.
fn mix(net: &mut Net, layer: usize, h: impl LinearInput, width: usize, hops: usize) -> Var {
    let (p, k) = (net.p(), net.shape(h).1);
    let mut parts = Vec::new();
    for j in 0..=hops {
        let w = net.param(format!("conv.{layer}.w.{j}"), k, width, fan_in(k), "all");
        let b = net.param(format!("conv.{layer}.b.{j}"), 1, width, fan_in(k), "all");
        let part = net.linear(h, w, Some(b));
        parts.push((0..j).fold(part, |part, _| net.sum([p.apply(part)])));
    }
    net.concat(&parts)
}

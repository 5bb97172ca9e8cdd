//! GraphSAGE with mean aggregation: separate weights for a node and for the mean of its neighbours.
//!
//! ```text
//! conv(H) = (M H) W + b + H R                       M = D^-1 A; the mean of no neighbours is 0
//! H(l)    = drop( relu( conv(H(l-1)) ) ),   out = conv(H(L-1))          H(0) = X
//! ```
//!
//! With `loops`, a node is one of its own neighbours, `M~ = (D+I)^-1 (A+I)`, as in the networks of Luo et al.
//! (NeurIPS 2024, arXiv:2406.08993), which also use the options of `stack.rs`.
//! Full-batch training without sampling, and without normalising the length of rows.
//! Hamilton et al., NeurIPS 2017, arXiv:1706.02216.

use super::neighbour_mean::NeighbourMean;
use super::norm::{NORM, SKIP};
use super::{
    MEAN_200, ModelFamily, ModelInfo, Net, OptimiserGroup, convolution, fan_in, head, stack,
};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params};
use crate::tensor::{FeatureVar, Var};

pub static INFO: ModelInfo = ModelInfo {
    name: "sage",
    title: "GraphSAGE",
    paper: "Hamilton et al., NeurIPS 2017, arXiv:1706.02216",
    family: ModelFamily::Residual,
    equation: "H(l) = drop(relu(M H(l-1) W(l) + b(l) + H(l-1) R(l))), H(0) = X, M = D^-1 A; \
               out = M H(L-1) W(L) + b(L) + H(L-1) R(L)",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("layers", 2, (1, 64), "number of convolutions"),
        HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers"),
        convolution::DROPOUT,
        head::LR,
        head::WD,
        HyperParam::flag("loops", false, "whether a node is one of its own neighbours"),
        stack::HEAD,
        NORM.tune_all(),
        SKIP.tune_all(),
        stack::PRE_LINEAR,
        stack::JK,
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/sage.toml"),
    groups: &[OptimiserGroup::adam("all", "lr", "wd")],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let p = if hp.flag("loops") { net.add_operator(Normalisation::Looped) } else { net.p() };
    let mean = NeighbourMean::new(net, p);
    stack::network(net, hp, |net, l, h, width| mean_convolution(net, mean, l, h, width))
}

/// `M (H W) + H R + b` with the parameters `conv.LAYER.w`, `conv.LAYER.root` and `conv.LAYER.b`.
fn mean_convolution(
    net: &mut Net,
    mean: NeighbourMean,
    layer: usize,
    h: FeatureVar,
    width: usize,
) -> Var {
    let k = net.shape(h).1;
    let w = net.param(format!("conv.{layer}.w"), k, width, fan_in(k), "all");
    let b = net.param(format!("conv.{layer}.b"), 1, width, fan_in(k), "all");
    let root = net.param(format!("conv.{layer}.root"), k, width, fan_in(k), "all");
    let hw = net.linear(h, w, None);
    let means = mean.apply(net, hw);
    let own = net.linear(h, root, Some(b));
    net.sum([1.0 * means, 1.0 * own])
}

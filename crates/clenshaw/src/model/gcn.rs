//! GCN: two rounds of averaging over neighbours, each after a dense layer.
//!
//! ```text
//! H = relu( P~ X W0 + b0 ),   out = P~ drop(H) W1 + b1
//! ```
//!
//! The 60/20/20 variant of the GPRGNN line of papers: no dropout on the features, weight decay on all
//! parameters. Kipf & Welling, ICLR 2017, arXiv:1609.02907.

use super::{Family, Group, GroupKind, MEAN, ModelInfo, Net, glorot};
use crate::graph::Normalisation;
use crate::hyper::{Hyper, Params, Space};
use crate::tensor::{Init, Var};

pub static INFO: ModelInfo = ModelInfo {
    name: "gcn",
    title: "GCN",
    paper: "Kipf & Welling, ICLR 2017, arXiv:1609.02907",
    family: Family::Residual,
    equation: "H = relu(P~ X W0 + b0); out = P~ drop(H) W1 + b1",
    operator: Some(Normalisation::Looped),
    hyper: &[
        Hyper::int("hidden", 64, (1, 4096), Space::Fixed, "width of the hidden layer"),
        Hyper::dropout("dropout", 0.5, "dropout on the hidden layer"),
        Hyper::learning_rate("lr", 0.01, "learning rate"),
        Hyper::weight_decay("wd", 5e-4, "weight decay"),
    ],
    training: &MEAN,
    presets: include_str!("../../../../experiments/presets/gcn.toml"),
    groups: &[Group { name: "conv", kind: GroupKind::Adam, rate: "lr", decay: "wd" }],
    build,
    filter: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let h = convolution(net, 0, net.x(), hp.int("hidden"));
    let h = net.relu(h);
    let h = net.dropout(h, hp.real("dropout"));
    convolution(net, 1, h, net.n_classes())
}

/// `P~ (H W) + b`.
fn convolution(net: &mut Net, layer: usize, h: Var, width: usize) -> Var {
    let k = net.shape(h).1;
    let w = net.param(format!("conv.{layer}.w"), k, width, glorot(k, width), "conv");
    let b = net.param(format!("conv.{layer}.b"), 1, width, Init::Zeros, "conv");
    let hw = net.linear(h, w, None);
    let p = net.p();
    net.sum([p.of(hw), 1.0 * b])
}

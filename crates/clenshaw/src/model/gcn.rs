//! GCN: two rounds of averaging over neighbours, each after a dense layer.
//!
//! ```text
//! H = relu( P~ X W0 + b0 ),   out = P~ drop(H) W1 + b1
//! ```
//!
//! The 60/20/20 variant of the GPRGNN line of papers: no dropout on the features, weight decay on all
//! parameters. Kipf & Welling, ICLR 2017, arXiv:1609.02907.

use super::convolution::{self, convolution};
use super::{Family, Group, GroupKind, MEAN, ModelInfo, Net, head};
use crate::graph::Normalisation;
use crate::hyper::Params;
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "gcn",
    title: "GCN",
    paper: "Kipf & Welling, ICLR 2017, arXiv:1609.02907",
    family: Family::Residual,
    equation: "H = relu(P~ X W0 + b0); out = P~ drop(H) W1 + b1",
    operator: Some(Normalisation::Looped),
    hyper: &[head::HIDDEN, convolution::DROPOUT, head::LR, head::WD],
    training: &MEAN,
    presets: include_str!("../../../../experiments/presets/gcn.toml"),
    groups: &[Group { name: "all", kind: GroupKind::Adam, rate: "lr", decay: "wd" }],
    build,
    filter: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let h = convolution(net, 0, net.x(), hp.int("hidden"));
    let h = net.relu(h);
    let h = net.dropout(h, hp.real("dropout"));
    convolution(net, 1, h, net.n_classes())
}

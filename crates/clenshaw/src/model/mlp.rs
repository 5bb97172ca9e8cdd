//! MLP: two dense layers that never look at the graph, the yardstick for what the graph adds.
//!
//! ```text
//! Y = relu( drop(X) W1 + b1 ),   out = drop(Y) W2 + b2
//! ```
//!
//! As in the comparisons of the GPRGNN line of papers (BernNet's public code).

use super::{Family, Group, GroupKind, MEAN, ModelInfo, Net};
use crate::hyper::{Hyper, Params, Space};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "mlp",
    title: "MLP",
    paper: "two dense layers as compared in He et al., BernNet, NeurIPS 2021",
    family: Family::Baseline,
    equation: "out = drop(relu(drop(X) W1 + b1)) W2 + b2",
    operator: None,
    hyper: &[
        Hyper::int("hidden", 64, (1, 4096), Space::Fixed, "width of the hidden layer"),
        Hyper::dropout("dropout", 0.5, "dropout on the features and on the hidden layer"),
        Hyper::learning_rate("lr", 0.01, "learning rate"),
        Hyper::weight_decay("wd", 5e-4, "weight decay"),
    ],
    training: &MEAN,
    presets: include_str!("../../../../experiments/presets/mlp.toml"),
    groups: &[Group { name: "dense", kind: GroupKind::Adam, rate: "lr", decay: "wd" }],
    build,
    filter: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let drop = hp.real("dropout");
    let x = net.x();
    let x = net.dropout(x, drop);
    let y = net.dense_layer(("w_in", "b_in"), x, hp.int("hidden"), "dense");
    let y = net.relu(y);
    let y = net.dropout(y, drop);
    net.dense_layer(("w_out", "b_out"), y, net.n_classes(), "dense")
}

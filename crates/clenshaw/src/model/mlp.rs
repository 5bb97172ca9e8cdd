//! MLP: two dense layers on the features, the baseline that ignores the graph.
//!
//! ```text
//! Y = relu( drop(X) W1 + b1 ),   out = drop(Y) W2 + b2
//! ```
//!
//! This is the MLP of BernNet's public code and of the papers that follow GPRGNN.

use super::head::{self, head};
use super::{MEAN_200, ModelFamily, ModelInfo, Net};
use crate::hyper::Params;
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "mlp",
    title: "MLP",
    paper: "two dense layers, as in He et al., BernNet, NeurIPS 2021",
    family: ModelFamily::Baseline,
    equation: "out = drop(relu(drop(X) W1 + b1)) W2 + b2",
    operator: None,
    hyper: &[head::HIDDEN, head::DROPOUT, head::LR, head::WD],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/mlp.toml"),
    groups: &[head::DENSE],
    build,
    filter: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let z = head(net, hp);
    net.set_node_input(z);
    z
}

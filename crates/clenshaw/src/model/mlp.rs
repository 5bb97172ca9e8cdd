//! MLP: two dense layers on the features, the baseline that ignores the graph.
//!
//! ```text
//! Y = relu( drop(X) W1 + b1 ),   out = drop(Y) W2 + b2
//! out = drop(X) W2 + b2                                        hidden = 0: logistic regression
//! ```
//!
//! This is the MLP of BernNet's public code and of the papers that follow GPRGNN.

use super::head::{self, head};
use super::{MEAN_200, ModelFamily, ModelInfo, Net};
use crate::hyper::{HyperParam, Params};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "mlp",
    title: "MLP",
    paper: "two dense layers, as in He et al., BernNet, NeurIPS 2021",
    family: ModelFamily::Baseline,
    equation: "out = drop(relu(drop(X) W1 + b1)) W2 + b2",
    operator: None,
    hyper: &[
        HyperParam::int(
            "hidden",
            64,
            (0, 4096),
            "width of the hidden layer; 0: none, that is, logistic regression",
        ),
        head::DROPOUT,
        head::LR,
        head::WD,
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/mlp.toml"),
    groups: &[head::DENSE],
    build,
    filter: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let z = match hp.int("hidden") {
        0 => logistic_regression(net, hp),
        _ => head(net, hp),
    };
    net.set_node_input(z);
    z
}

/// Records `drop(X) W2 + b2`.
fn logistic_regression(net: &mut Net, hp: &Params) -> Var {
    let x = net.x();
    let x = net.dropout(x, hp.real("dropout"));
    net.dense_layer(("w_out", "b_out"), x, net.n_classes(), "dense")
}

//! GCN: dense layers, each followed by averaging over neighbours.
//!
//! ```text
//! H(l) = relu( P~ drop(H(l-1)) W(l) + b(l) )        H(0) = X, without dropout
//! out  = P~ drop(H(L-1)) W(L) + b(L)                L = 2 layers, as in the paper
//! ```
//!
//! This is the variant of GPRGNN and the papers that follow it, with no dropout on the features and weight
//! decay on all parameters. The options of `stack.rs` extend it to the networks that Luo et al. tuned
//! (NeurIPS 2024, arXiv:2406.08993).
//! Kipf & Welling, ICLR 2017, arXiv:1609.02907.

use super::convolution::{self, convolution};
use super::{MEAN_200, ModelFamily, ModelInfo, Net, OptimiserGroup, head, stack};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, concat};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "gcn",
    title: "GCN",
    paper: "Kipf & Welling, ICLR 2017, arXiv:1609.02907",
    family: ModelFamily::Residual,
    equation: "H(l) = relu(P~ drop(H(l-1)) W(l) + b(l)), H(0) = X; out = P~ drop(H(L-1)) W(L) + b(L)",
    operator: Some(Normalisation::Looped),
    hyper: &concat::<10>(
        &[
            HyperParam::int("layers", 2, (1, 64), "number of layers"),
            head::HIDDEN,
            convolution::DROPOUT,
            head::LR,
            head::WD,
        ],
        &stack::OPTIONS,
    ),
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/gcn.toml"),
    groups: &[OptimiserGroup::adam("all", "lr", "wd")],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    stack::network(net, hp, convolution)
}

//! AirGNN: message passing with an adaptive residual per node.
//!
//! ```text
//! Z = head(X),   X(0) = Z
//! R = P~ X(k-1) - Z                                          k = 1..=K
//! X(k)_i = Z_i + max(0, 1 - gamma lambda / |R_i|) R_i        gamma = 1 / (2 (1 - lambda))
//! ```
//!
//! A node whose propagated row differs from the head's output by less than `gamma lambda` keeps that
//! output, so that abnormal features do not spread. Only the head has parameters; the norms of the rows are
//! differentiated too.
//! Liu et al., NeurIPS 2021, "Graph Neural Networks with Adaptive Residual".

use super::head::{self, head};
use super::training::training;
use super::{ModelFamily, ModelInfo, Net};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::Var;

static TRAINING: [HyperParam; 6] = training(StopRule::LateMean, 100, 1000);

pub static INFO: ModelInfo = ModelInfo {
    name: "air-gnn",
    title: "AirGNN",
    paper: "Liu et al., NeurIPS 2021, Graph Neural Networks with Adaptive Residual",
    family: ModelFamily::Residual,
    equation: "R = P~ X - Z, gamma = 1 / (2 (1 - lambda)); \
               X_i <- Z_i + max(0, 1 - gamma lambda / |R_i|) R_i, K times",
    operator: Some(Normalisation::Looped),
    hyper: &[
        HyperParam::int("K", 10, (0, 256), "number of propagation steps"),
        head::HIDDEN,
        HyperParam::real(
            "lambda",
            0.5,
            (0.0, 0.99),
            "threshold below which a node keeps its own value",
        )
        .tune_steps(0.1, 0.9, 0.1),
        head::DROPOUT,
        head::LR,
        head::WD,
    ],
    training: &TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/air-gnn.toml"),
    groups: &[head::DENSE],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let lambda = hp.real("lambda");
    let gamma = 1.0 / (2.0 * (1.0 - lambda));
    let (p, z) = (net.p(), head(net, hp));
    let mut x = z;
    for _ in 0..hp.int("K") {
        let r = net.sum([p.apply(x), -1.0 * z]);
        let r = net.shrink(r, gamma * lambda);
        x = net.sum([1.0 * z, 1.0 * r]);
    }
    x
}

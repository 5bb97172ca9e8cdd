//! H2GCN: separate representations of a node, its neighbours and the nodes at distance two.
//!
//! ```text
//! r0  = relu( X W )
//! r_k = [ B1 r_{k-1} | B2 r_{k-1} ]                          k = 1..=rounds
//! out = drop( [ r0 | r1 | ... ] ) W'
//! ```
//!
//! B1 is P. B2 is P of the graph that joins nodes at distance exactly two; where neighbours differ in
//! class, these nodes tend to agree. The rounds have no weights, and there are no biases.
//! Zhu et al., NeurIPS 2020, arXiv:2006.11468.

use super::training::training;
use super::{ModelFamily, ModelInfo, Net, OptimiserGroup, glorot, head};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::{LinearInput, Var};

/// Always 2000 epochs; among epochs with equal validation accuracy, the last one is kept.
static TRAINING: [HyperParam; 6] = training(StopRule::AccuracyTies, 2000, 2000);

pub static INFO: ModelInfo = ModelInfo {
    name: "h2gcn",
    title: "H2GCN",
    paper: "Zhu et al., NeurIPS 2020, arXiv:2006.11468",
    family: ModelFamily::Residual,
    equation: "r0 = relu(X W); r_k = [B1 r_{k-1} | B2 r_{k-1}]; out = drop([r0 | r1 | ...]) W'",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("rounds", 2, (1, 8), "number of aggregation rounds")
            .tune_among(&[1.0, 2.0]),
        head::HIDDEN,
        HyperParam::flag("relu", true, "whether r0 has an activation").tune_all(),
        HyperParam::real("dropout", 0.5, (0.0, 0.99), "dropout before the last layer")
            .tune_among(&[0.0, 0.5]),
        HyperParam::learning_rate("lr", 0.01, "learning rate"),
        // The paper's penalty wd |W|^2 has the gradient 2 wd W, ours wd W; hence twice its values.
        HyperParam::real("wd", 1e-3, (0.0, 10.0), "weight decay, twice the value in the paper")
            .tune_among(&[2e-5, 1e-3]),
    ],
    training: &TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/h2gcn.toml"),
    groups: &[OptimiserGroup::adam("dense", "lr", "wd")],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (b1, b2) = (net.p(), net.add_operator(Normalisation::TwoHop));
    let mut r = dense(net, "w_in", net.x(), hp.int("hidden"));
    if hp.flag("relu") {
        r = net.relu(r);
    }
    net.set_node_input(r);
    let mut all = vec![r];
    for _ in 0..hp.int("rounds") {
        let (near, far) = (net.sum([b1.apply(r)]), net.sum([b2.apply(r)]));
        r = net.concat(&[near, far]);
        all.push(r);
    }
    let all = net.concat(&all);
    let all = net.dropout(all, hp.real("dropout"));
    dense(net, "w_out", all, net.n_classes())
}

/// `H W` with a new weight of this name.
fn dense(net: &mut Net, name: &str, h: impl LinearInput, width: usize) -> Var {
    let k = net.shape(h).1;
    let w = net.param(name, k, width, glorot(k, width), "dense");
    net.linear(h, w, None)
}

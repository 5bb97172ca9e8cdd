//! GCN with jumping knowledge: the last layer reads the outputs of all layers.
//!
//! ```text
//! H(l) = relu( norm( P~ drop(H(l-1)) W(l) + b(l) ) )    the last without relu and norm
//! out  = join( H(1), ..., H(T) ) W + b                  T = layers
//! max      entry by entry
//! concat   side by side
//! lstm     sum_l s_l H(l),  (s_1, ..., s_T) = softmax( [ forward_l | backward_l ] a )   for each node
//! ```
//!
//! `forward` and `backward` are LSTMs of width T d / 2 that read H(1), ..., H(T) in both directions, so
//! that every node has its own weights over the depths.
//! Xu et al., ICML 2018, arXiv:1806.03536, as rewritten for LINKX (Lim et al., NeurIPS 2021).

use super::convolution::{self, activate, convolution};
use super::lstm::Lstm;
use super::training::ADAM_W;
use super::{ALL_500, ModelFamily, ModelInfo, Net, fan_in};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, choices, concat};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "gcn-jk",
    title: "GCN+JK",
    paper: "Xu et al., ICML 2018, arXiv:1806.03536",
    family: ModelFamily::Residual,
    equation: "H(l) = relu(norm(P~ drop(H(l-1)) W(l) + b(l))); out = join(H(1), ..., H(T)) W + b",
    operator: Some(Normalisation::Looped),
    hyper: &concat::<8>(
        &convolution::STACK,
        &[
            HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers")
                .tune_among(&[4.0, 8.0, 16.0, 32.0, 64.0]),
            HyperParam::choice::<Join>(
                "join",
                Join::Max.word(),
                "how the layers' outputs are joined",
            )
            .tune_all(),
        ],
    ),
    training: &ALL_500,
    inductive: true,
    presets: include_str!("../../experiments/presets/gcn-jk.toml"),
    groups: &[ADAM_W],
    build,
    filter: None,
    precompute: None,
};

choices! {
    /// How the layers' outputs are joined.
    enum Join {
        Max = "max",
        Concat = "concat",
        Lstm = "lstm",
    }
}

fn build(net: &mut Net, hp: &Params) -> Var {
    let (width, last) = (hp.int("hidden"), hp.int("layers") - 1);
    let (mut h, mut layers) = (net.x(), Vec::new());
    for l in 0..last {
        let z = convolution(net, l, h, width);
        let z = activate(net, hp, l, z);
        layers.push(z);
        h = net.dropout(z, hp.real("dropout")).into();
    }
    layers.push(convolution(net, last, h, width));
    let joined = match hp.choice("join") {
        Join::Max => layers[1..].iter().fold(layers[0], |most, h| net.max(most, *h)),
        Join::Concat => net.concat(&layers),
        Join::Lstm => attention(net, &layers),
    };
    net.dense_layer(("w_out", "b_out"), joined, net.n_classes(), "all")
}

/// `sum_l s_l H(l)`; a bias added to the scores would cancel in the softmax.
fn attention(net: &mut Net, layers: &[Var]) -> Var {
    let inputs = net.shape(layers[0]).1;
    let width = (layers.len() * inputs / 2).max(1);
    let forward = Lstm::new(net, "forward", (inputs, width));
    let backward = Lstm::new(net, "backward", (inputs, width));
    let a = net.param("attention.w", 2 * width, 1, fan_in(2 * width), "all");

    let forward_states = forward.hidden_states(net, layers.iter().copied());
    let backward_states = backward.hidden_states(net, layers.iter().rev().copied());
    let score = |(forward, backward): (&Var, &Var)| {
        let states = net.concat(&[*forward, *backward]);
        net.linear(states, a, None)
    };
    let scores: Vec<Var> =
        forward_states.iter().zip(backward_states.iter().rev()).map(score).collect();
    let scores = net.concat(&scores);
    let weights = net.softmax(scores); // [n, T]
    let parts = layers.iter().enumerate().map(|(l, h)| net.scale_rows(*h, weights, l));
    let parts: Vec<Var> = parts.collect();
    net.sum(parts.into_iter().map(|part| 1.0 * part))
}

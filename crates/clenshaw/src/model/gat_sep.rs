//! GAT-sep: attention over neighbours whose result is kept apart from the node's own representation.
//!
//! ```text
//! x   = gelu( drop(X W_in + b_in) )
//! x   <- x + ffn( [z | m] ),    z = LN(x) W + b                                      T times
//!        m_i  = sum_j w_ij z_j                                                       j in N(i), without i
//!        w_ij = softmax over j of leaky(u_j + v_i),    u = z A_u + b_u,  v = z A_v   per head
//!        ffn(y) = drop( gelu( drop(y W1 + b1) ) W2 + b2 )
//! out = LN(x) W_out + b_out
//! ```
//!
//! Column c of z belongs to head `c mod heads`, as in the authors' code. LN is layer normalisation; there is
//! no dropout on the weights of neighbours, and edge weights are ignored.
//! Platonov et al., ICLR 2023, arXiv:2302.11640.

use super::gat::SLOPE;
use super::training::training;
use super::{ModelFamily, ModelInfo, Net, OptimiserGroup, OptimiserKind, fan_in};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::{AttentionInputs, HeadLayout, Var};

static TRAINING: [HyperParam; 6] = training(StopRule::None, 1, 1000);

pub static INFO: ModelInfo = ModelInfo {
    name: "gat-sep",
    title: "GAT-sep",
    paper: "Platonov et al., ICLR 2023, arXiv:2302.11640",
    family: ModelFamily::Residual,
    equation: "x <- x + ffn([z | m]), z = LN(x) W + b; m_i = sum_j w_ij z_j over neighbours j; \
               w_ij = softmax over j of leaky(u_j + v_i), u = z A_u + b_u, v = z A_v; out = LN(x) W_out + b_out",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("layers", 2, (1, 64), "number of layers")
            .tune_among(&[1.0, 2.0, 3.0, 4.0, 5.0]),
        HyperParam::int("hidden", 512, (1, 4096), "width of the hidden layers"),
        HyperParam::int("heads", 8, (1, 64), "number of heads"),
        HyperParam::int(
            "ffn_multiplier",
            1,
            (1, 16),
            "width of the inner layer of ffn, in multiples of `hidden`",
        ),
        SLOPE,
        HyperParam::real(
            "ln_eps",
            1e-5,
            (0.0, 1.0),
            "epsilon that layer normalisation adds to the variance",
        ),
        HyperParam::dropout("dropout", 0.2, "dropout before activations and after ffn"),
        HyperParam::real("lr", 3e-5, (0.0, 10.0), "learning rate")
            .tune_among(&[3e-5, 1e-4, 3e-4, 1e-3, 3e-3]),
        HyperParam::real("wd", 0.0, (0.0, 10.0), "decoupled weight decay; 0 in the paper"),
    ],
    training: &TRAINING,
    inductive: true,
    presets: "",
    groups: &[OptimiserGroup {
        name: "all",
        kind: OptimiserKind::AdamW,
        rate: "lr",
        decay: Some("wd"),
    }],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (drop, eps) = (hp.real("dropout"), hp.real("ln_eps"));
    let x = net.x();
    let x = net.dense_layer(("w_in", "b_in"), x, hp.int("hidden"), "all");
    let x = net.dropout(x, drop);
    let mut x = net.gelu(x);
    for l in 0..hp.int("layers") {
        let z = net.layer_norm(&format!("mod.{l}.ln"), x, eps, "all");
        let z = layer(net, hp, l, z);
        x = net.sum([1.0 * x, 1.0 * z]);
    }
    let x = net.layer_norm("ln_out", x, eps, "all");
    net.set_hidden(x);
    net.dense_layer(("w_out", "b_out"), x, net.n_classes(), "all")
}

/// `ffn([z | m])` of layer l, given the normalised x.
fn layer(net: &mut Net, hp: &Params, l: usize, x: Var) -> Var {
    let (width, heads, drop) = (hp.int("hidden"), hp.int("heads"), hp.real("dropout"));
    let name = |part: &str| format!("mod.{l}.{part}");
    let dense = |net: &mut Net, w: &str, b: &str, x: Var, width: usize| {
        net.dense_layer((&name(w), &name(b)), x, width, "all")
    };
    let z = dense(net, "w", "b", x, width);
    let source = dense(net, "att_src", "att_src_b", z, heads);
    let a = net.param(name("att_dst"), width, heads, fan_in(width), "all");
    let destination = net.linear(z, a, None);
    let inputs = AttentionInputs {
        values: z,
        source,
        destination,
        layout: HeadLayout::Interleaved,
        slope: hp.real("slope"),
        dropout: 0.0,
    };
    let p = net.p();
    let m = net.attention(p, inputs);
    let y = net.concat(&[z, m]);
    let y = dense(net, "ffn.w1", "ffn.b1", y, width * hp.int("ffn_multiplier"));
    let y = net.dropout(y, drop);
    let y = net.gelu(y);
    let y = dense(net, "ffn.w2", "ffn.b2", y, width);
    net.dropout(y, drop)
}

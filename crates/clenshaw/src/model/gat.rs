//! GAT: averages over neighbours with learned weights.
//!
//! ```text
//! attention(H):  G = H W,  s = <G, a_src>,  d = <G, a_dst>                       per head
//!                w_ij = softmax over j of leaky(s_j + d_i),  j in N(i) or j = i  leaky(x) = x if x > 0, else slope x
//!                out_i = sum_j drop(w_ij) G_j
//!
//! H(l) = elu( attention(drop(H(l-1))) + b )       `heads` heads of width `hidden`, side by side;  H(0) = X
//! out  = mean over heads of attention(drop(H(L-1))) + b        `heads_out` heads of width C
//! ```
//!
//! The paper has L = 2 layers.
//! With `head = dense`, it is the network that Luo et al. tuned (NeurIPS 2024, arXiv:2406.08993), see `stack.rs`:
//! one head of width `hidden` without bias in every layer, relu, no dropout on the features.
//! Weights after dropout are not normalised again, and edge weights are ignored.
//! Velickovic et al., ICLR 2018, arXiv:1710.10903; initial values as in PyTorch Geometric.

use super::norm::{NORM, SKIP};
use super::stack::{self, Head};
use super::{ModelFamily, ModelInfo, Net, OptimiserGroup, PATIENCE_100, glorot};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params};
use crate::tensor::{AttentionInputs, HeadLayout, Init, LinearInput, Mat, Var};

pub static INFO: ModelInfo = ModelInfo {
    name: "gat",
    title: "GAT",
    paper: "Velickovic et al., ICLR 2018, arXiv:1710.10903",
    family: ModelFamily::Residual,
    equation: "out_i = sum_j w_ij G_j, G = H W, w_ij = softmax over j of leaky(<G_j, a_src> + <G_i, a_dst>); \
               layers with elu between them",
    operator: Some(Normalisation::Looped),
    hyper: &[
        HyperParam::int("layers", 2, (1, 64), "number of layers").omit_default(),
        HyperParam::int("hidden", 8, (1, 4096), "width of each head of the hidden layers"),
        HyperParam::int(
            "heads",
            8,
            (1, 64),
            "number of heads of the hidden layers; with `head = dense`, one",
        )
        .tune_among(&[1.0, 4.0, 8.0]),
        HyperParam::int("heads_out", 1, (1, 64), "number of heads of the last layer, averaged"),
        SLOPE,
        LOOPS,
        HyperParam::dropout("dropout", 0.6, "dropout on the inputs of all layers"),
        HyperParam::dropout("dropout_attention", 0.6, "dropout on the attention weights"),
        HyperParam::learning_rate("lr", 0.005, "learning rate"),
        HyperParam::weight_decay("wd", 5e-4, "weight decay"),
        stack::HEAD,
        NORM,
        SKIP,
        stack::PRE_LINEAR,
        stack::JK,
    ],
    training: &PATIENCE_100,
    inductive: true,
    presets: include_str!("../../experiments/presets/gat.toml"),
    groups: &[OptimiserGroup::adam("all", "lr", "wd")],
    build,
    filter: None,
    precompute: None,
};

/// The slope of leaky rectified scores.
pub(super) const SLOPE: HyperParam = HyperParam::real(
    "slope",
    0.2,
    (0.0, 1.0),
    "slope of the leaky ReLU for negative attention scores",
);

const LOOPS: HyperParam =
    HyperParam::flag("loops", true, "whether a node is one of its own neighbours");

fn build(net: &mut Net, hp: &Params) -> Var {
    if hp.choice::<Head>("head") == Head::Dense {
        return stack::network(net, hp, |net, l, h, width| attention(net, hp, l, h, (1, width)));
    }
    let x = net.x();
    let x = net.dropout(x, hp.real("dropout"));
    let last = hp.int("layers") - 1;
    stack::network_of(net, hp, (x, |net, z| net.elu(z)), |net, l, h, width| {
        let heads = if l == last { hp.int("heads_out") } else { hp.int("heads") };
        let mut z = attention(net, hp, l, h, (heads, width));
        if l == last {
            z = mean_of_heads(net, z, heads);
        }
        let cols = net.shape(z).1;
        let b = net.param(format!("conv.{l}.b"), 1, cols, Init::Zeros, "all");
        net.sum([1.0 * z, 1.0 * b])
    })
}

/// `attention(H)` with the parameters `conv.LAYER.w`, `.att_src` and `.att_dst`, all heads side by side.
fn attention(
    net: &mut Net,
    hp: &Params,
    layer: usize,
    h: impl LinearInput,
    (heads, width): (usize, usize),
) -> Var {
    let (k, cols) = (net.shape(h).1, heads * width);
    let w = net.param(format!("conv.{layer}.w"), k, cols, glorot(k, cols), "all");
    let g = net.linear(h, w, None);
    let source = head_scores(net, &format!("conv.{layer}.att_src"), g, heads);
    let destination = head_scores(net, &format!("conv.{layer}.att_dst"), g, heads);
    let operator = match hp.flag("loops") {
        true => net.p(),
        false => net.add_operator(Normalisation::Plain),
    };
    let inputs = AttentionInputs {
        values: g,
        source,
        destination,
        layout: HeadLayout::Blocks,
        slope: hp.real("slope"),
        dropout: hp.real("dropout_attention"),
    };
    net.attention(operator, inputs)
}

/// The inner product of every head of `g` with its row of a new parameter of this name, `[n, heads]`.
fn head_scores(net: &mut Net, name: &str, g: Var, heads: usize) -> Var {
    let cols = net.shape(g).1;
    let width = cols / heads;
    let a = net.param(name, heads, width, glorot(heads, width), "all");
    // The rows of `a` on a block diagonal: [cols, heads], with one entry per row.
    let head = net.constant(ones(cols, heads, |column| column / width));
    let position = net.constant(ones(cols, width, |column| column % width));
    let all = net.constant(ones(width, 1, |_| 0));
    let rows = net.linear(head, a, None); // [cols, width], a row of `a` for every column of `g`
    let entries = net.product(rows, position);
    let entries = net.linear(entries, all, None); // [cols, 1]
    let diagonal = net.scale_rows(head, entries, 0);
    net.linear(g, diagonal, None)
}

/// The average of `heads` blocks of columns.
fn mean_of_heads(net: &mut Net, h: Var, heads: usize) -> Var {
    if heads == 1 {
        return h;
    }
    let cols = net.shape(h).1;
    let width = cols / heads;
    let sum = net.constant(ones(cols, width, |column| column % width));
    let sum = net.linear(h, sum, None);
    net.sum([1.0 / heads as f64 * sum])
}

/// A matrix with a 1 in column `position(i)` of every row i, and 0 elsewhere.
fn ones(rows: usize, cols: usize, position: impl Fn(usize) -> usize) -> Mat<f64> {
    let mut matrix = Mat::zeros(rows, cols);
    for i in 0..rows {
        matrix[(i, position(i))] = 1.0;
    }
    matrix
}

//! ARMA: parallel stacks of recursive layers that approximate a rational filter.
//!
//! ```text
//! H(0)   = X
//! H(t+1) = relu( P H(t) W_t + drop(X) V_t + b_t )         t = 0, ..., T - 1, in each stack
//! out    = drop( mean of the stacks' H(T) ) W' + b'
//! ```
//!
//! Without `relu`, infinitely many equal layers converge to `sum_j P^j X V W^j`, a rational filter with a
//! pole for every eigenvalue of W; T layers compute its first T terms. With `shared`, all layers use the
//! same `V`, `b` and, for `t >= 1`, `W_t`. Each layer has its own dropout mask of the features, shared by
//! all stacks.
//!
//! The filter of the model is the gain of the network without activations and biases: the root mean square
//! over the entries of `G(mu) = (mean of G_T) W'`, [F, C], with `G_0 = I` and `G_{t+1} = mu G_t W_t + V_t`.
//! Bianchi et al., TPAMI 2021, arXiv:1901.01343.

use super::{MEAN_200, ModelFamily, ModelInfo, Net, OptimiserGroup, WeightLookup, glorot};
use crate::filter::{Basis, Response};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params};
use crate::tensor::{FeatureVar, Init, Mat, Var};

pub static INFO: ModelInfo = ModelInfo {
    name: "arma",
    title: "ARMA",
    paper: "Bianchi et al., TPAMI 2021, arXiv:1901.01343",
    family: ModelFamily::Spectral,
    equation: "H(t+1) = relu(P H(t) W_t + drop(X) V_t + b_t), H(0) = X; \
               out = drop(mean over stacks of H(T)) W' + b'",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("stacks", 1, (1, 64), "number of stacks, which are averaged")
            .tune_among(&[1.0, 2.0, 3.0]),
        HyperParam::int("layers", 2, (1, 64), "number of layers T per stack")
            .tune_among(&[1.0, 2.0, 3.0]),
        HyperParam::flag("shared", true, "whether the layers share their weights").tune_all(),
        HyperParam::int("hidden", 64, (1, 4096), "width of the layers"),
        HyperParam::dropout("dropout", 0.5, "dropout before the last layer"),
        HyperParam::dropout("dropout_root", 0.5, "dropout on the features that V multiplies"),
        HyperParam::learning_rate("lr", 0.01, "learning rate"),
        HyperParam::weight_decay("wd", 5e-4, "weight decay"),
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/arma.toml"),
    groups: &[OptimiserGroup::adam("weights", "lr", "wd")],
    build,
    filter: Some(filter),
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let x = net.x();
    let drop = hp.real("dropout_root");
    let roots: Vec<FeatureVar> = (0..hp.int("layers")).map(|_| net.dropout(x, drop)).collect();
    let n_stacks = hp.int("stacks");
    let stacks: Vec<Var> = (0..n_stacks).map(|s| stack(net, hp, s, &roots)).collect();
    let mean = net.sum(stacks.into_iter().map(|h| 1.0 / n_stacks as f64 * h));
    let mean = net.dropout(mean, hp.real("dropout"));
    net.dense_layer(("w_out", "b_out"), mean, net.n_classes(), "weights")
}

/// `H(T)` of stack `s`; `roots` contains `drop(X)` for each layer.
fn stack(net: &mut Net, hp: &Params, s: usize, roots: &[FeatureVar]) -> Var {
    let (p, width) = (net.p(), hp.int("hidden"));
    let (n_w, n_v) = n_weights(hp);
    let weight = |net: &mut Net, letter, t, inputs| {
        net.param(param_name(s, letter, t), inputs, width, glorot(inputs, width), "weights")
    };
    let f = net.n_features();
    let w: Vec<Var> =
        (0..n_w).map(|t| weight(net, "w", t, if t == 0 { f } else { width })).collect();
    let v: Vec<Var> = (0..n_v).map(|t| weight(net, "v", t, f)).collect();
    let b: Vec<Var> = (0..n_v)
        .map(|t| net.param(param_name(s, "b", t), 1, width, Init::Zeros, "weights"))
        .collect();

    let (mut h, mut last) = (net.x(), None);
    for (t, &root) in roots.iter().enumerate() {
        let hw = net.linear(h, w[t.min(n_w - 1)], None);
        let xv = net.linear(root, v[t.min(n_v - 1)], Some(b[t.min(n_v - 1)]));
        let sum = net.sum([p.apply(hw), 1.0 * xv]);
        let z = net.relu(sum);
        (h, last) = (z.into(), Some(z));
    }
    last.expect("a stack has at least one layer")
}

fn param_name(stack: usize, letter: &str, t: usize) -> String {
    format!("stack.{stack}.{letter}.{t}")
}

/// The numbers of distinct `W_t` and `V_t` per stack; further layers use the last one.
fn n_weights(hp: &Params) -> (usize, usize) {
    let layers = hp.int("layers");
    if hp.flag("shared") { (layers.min(2), 1) } else { (layers, layers) }
}

/// The gain of `G(mu)`, in which `mu^j` has the coefficient `V_{T-1-j} W_{T-j} ... W_{T-1} W'`, and `mu^T`
/// the coefficient `W_0 ... W_{T-1} W'`.
fn filter(weights: &WeightLookup<'_>, hp: &Params) -> Response {
    let (layers, n_stacks) = (hp.int("layers"), hp.int("stacks"));
    let (n_w, n_v) = n_weights(hp);
    let weight = 1.0 / n_stacks as f64;
    let (w_out, v_0) = (weights("w_out"), weights(&param_name(0, "v", 0)));
    let mut a = vec![Mat::zeros(v_0.rows(), w_out.cols()); layers + 1];
    for s in 0..n_stacks {
        let mut suffix = w_out.clone(); // W_{t+1} ... W_{T-1} W'
        for t in (0..layers).rev() {
            let v = weights(&param_name(s, "v", t.min(n_v - 1)));
            a[layers - 1 - t].add_scaled(weight, &v.matmul(&suffix));
            suffix = weights(&param_name(s, "w", t.min(n_w - 1))).matmul(&suffix);
        }
        a[layers].add_scaled(weight, &suffix);
    }
    Response::gain(&Basis::Monomial, &a)
}

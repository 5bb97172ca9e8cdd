//! SAGE of the benchmark of heterophilous graphs: residual blocks that keep a node apart from its neighbours.
//!
//! ```text
//! H      = gelu( drop( X W_in + b_in ) )
//! H     <- H + ffn( [ Z | M Z ] ),   Z = LN(H)                      `layers` blocks; M = D^-1 A
//! ffn(Z) = drop( gelu( drop( Z W1 + b1 ) ) W2 + b2 )
//! out    = LN(H) W_out + b_out
//! ```
//!
//! LN is layer normalisation, and gelu the exact form with the error function. There are no self-loops; the
//! mean of no neighbours is 0. Weight decay applies to the weights only, not to biases, gains and shifts.
//! Platonov et al., ICLR 2023, arXiv:2302.11640.

use super::neighbour_mean::NeighbourMean;
use super::norm::layer_norm;
use super::training::training;
use super::{ModelFamily, ModelInfo, Net, OptimiserGroup, OptimiserKind, fan_in};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::{LinearInput, Var};

static TRAINING: [HyperParam; 6] = training(StopRule::None, 1, 1000);

pub static INFO: ModelInfo = ModelInfo {
    name: "sage-sep",
    title: "SAGE-sep",
    paper: "Platonov et al., ICLR 2023, arXiv:2302.11640",
    family: ModelFamily::Residual,
    equation: "H = gelu(drop(X W_in + b_in)); H <- H + ffn([Z | M Z]), Z = LN(H), M = D^-1 A; \
               ffn(Z) = drop(gelu(drop(Z W1 + b1)) W2 + b2); out = LN(H) W_out + b_out",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("layers", 2, (1, 64), "number of residual blocks")
            .tune_among(&[1.0, 2.0, 3.0, 4.0, 5.0]),
        HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers")
            .tune_among(&[64.0, 128.0, 256.0, 512.0]),
        HyperParam::int(
            "ffn_multiplier",
            1,
            (1, 16),
            "width of the inner layer of ffn, in multiples of `hidden`",
        ),
        HyperParam::dropout("dropout", 0.2, "dropout of the hidden layers"),
        HyperParam::real("lr", 1e-3, (0.0, 10.0), "learning rate")
            .tune_among(&[3e-5, 1e-4, 3e-4, 1e-3, 3e-3]),
        HyperParam::real("wd", 0.0, (0.0, 10.0), "decoupled weight decay of the weights"),
    ],
    training: &TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/sage-sep.toml"),
    groups: &[
        OptimiserGroup {
            name: "weights",
            kind: OptimiserKind::AdamW,
            rate: "lr",
            decay: Some("wd"),
        },
        OptimiserGroup { name: "rest", kind: OptimiserKind::AdamW, rate: "lr", decay: None },
    ],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (width, drop) = (hp.int("hidden"), hp.real("dropout"));
    let p = net.p();
    let mean = NeighbourMean::new(net, p);
    let x = net.x();
    let h = dense(net, ("w_in", "b_in"), x, width);
    let h = net.dropout(h, drop);
    let mut h = net.gelu(h);
    for l in 0..hp.int("layers") {
        let z = layer_norm(net, &format!("mod.{l}.ln"), h, "rest");
        let means = mean.apply(net, z);
        let both = net.concat(&[z, means]);
        let update = ffn(net, hp, l, both);
        h = net.sum([1.0 * h, 1.0 * update]);
    }
    let h = layer_norm(net, "ln_out", h, "rest");
    net.set_hidden(h);
    dense(net, ("w_out", "b_out"), h, net.n_classes())
}

/// `drop( gelu( drop( Z W1 + b1 ) ) W2 + b2 )` with the parameters `mod.BLOCK.ffn`.
fn ffn(net: &mut Net, hp: &Params, block: usize, z: Var) -> Var {
    let (width, drop) = (hp.int("hidden"), hp.real("dropout"));
    let name = |part: &str| format!("mod.{block}.ffn.{part}");
    let inner = dense(net, (&name("w1"), &name("b1")), z, width * hp.int("ffn_multiplier"));
    let inner = net.dropout(inner, drop);
    let inner = net.gelu(inner);
    let out = dense(net, (&name("w2"), &name("b2")), inner, width);
    net.dropout(out, drop)
}

/// `x w + b`, with weight decay on `w` only.
fn dense(net: &mut Net, (w, b): (&str, &str), x: impl LinearInput, width: usize) -> Var {
    let k = net.shape(x).1;
    let w = net.param(w, k, width, fan_in(k), "weights");
    let b = net.param(b, 1, width, fan_in(k), "rest");
    net.linear(x, w, Some(b))
}

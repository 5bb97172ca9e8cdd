//! GCNII: a deep GCN with initial residuals and weights close to the identity.
//!
//! ```text
//! H0 = relu( drop(X) W + b )
//! S  = (1 - alpha) P~ H + alpha H0                 dropout on H, not on H0
//! H  = relu( t_l M W_l + (1 - t_l) S )             t_l = ln(lambda / l + 1), l = 1..=L
//! ```
//!
//! `M = S`; in the variant GCNII*, `M = [P~ H | H0]` and `W_l` is twice as tall. `t_l` is not clipped:
//! it exceeds 1 when `lambda / l > e - 1`. Without `W` and `relu` the last layer is a polynomial in P~
//! with fixed positive coefficients, which ClenshawGCN learns instead.
//!
//! With the options of `norm.rs`, `H = relu( norm( t_l M W_l + (1 - t_l) S + H V_l ) )`.
//! Chen et al., ICML 2020, arXiv:2007.02133.

use super::norm::{self, NORM, SKIP, normalise};
use super::residual::{self, add_skip, blend_with_identity};
use super::training::training;
use super::{ModelFamily, ModelInfo, Net, fan_out};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::Var;

static TRAINING: [HyperParam; 6] = training(StopRule::Patience, 100, 1500);

pub static INFO: ModelInfo = ModelInfo {
    name: "gcnii",
    title: "GCNII",
    paper: "Chen et al., ICML 2020, arXiv:2007.02133",
    family: ModelFamily::Residual,
    equation: "S = (1 - alpha) P~ H + alpha H0; H = relu(t_l S W_l + (1 - t_l) S), t_l = ln(lambda/l + 1)",
    operator: Some(Normalisation::Looped),
    hyper: &[
        HyperParam::int("L", 64, (1, 256), "number of layers")
            .tune_among(&[2.0, 8.0, 16.0, 32.0, 64.0]),
        HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers"),
        HyperParam::real("alpha", 0.5, (0.0, 1.0), "weight of the initial residual")
            .tune_among(&[0.1, 0.2, 0.5]),
        HyperParam::real("lambda", 0.5, (0.0, 10.0), "strength of the weights")
            .tune_among(&[0.5, 1.0, 1.5]),
        HyperParam::flag("star", false, "GCNII*: separate weights for the initial residual")
            .tune_all(),
        HyperParam::dropout("dropout", 0.5, "dropout before every layer"),
        HyperParam::learning_rate("lr_conv", 0.01, "learning rate of the inner layers"),
        HyperParam::learning_rate("lr_dense", 0.01, "learning rate of the dense layers"),
        HyperParam::weight_decay("wd_conv", 1e-4, "weight decay of the inner layers"),
        HyperParam::weight_decay("wd_dense", 1e-4, "weight decay of the dense layers"),
        NORM,
        SKIP,
    ],
    training: &TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/gcnii.toml"),
    groups: residual::GROUPS.split_at(3).0,
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (drop, width) = (hp.real("dropout"), hp.int("hidden"));
    let x = net.x();
    let x = net.dropout(x, drop);
    let h0 = net.dense_layer(("w_in", "b_in"), x, width, "dense");
    let h0 = net.relu(h0);
    let mut h = h0;
    for l in 1..=hp.int("L") {
        h = net.dropout(h, drop);
        h = layer(net, hp, l, h, h0);
    }
    net.set_hidden(h);
    let h = net.dropout(h, drop);
    net.dense_layer(("w_out", "b_out"), h, net.n_classes(), "dense")
}

/// Layer `l`, counted from one.
fn layer(net: &mut Net, hp: &Params, l: usize, h: Var, h0: Var) -> Var {
    let (p, width) = (net.p(), hp.int("hidden"));
    let (alpha, t) = (hp.real("alpha"), libm::log(hp.real("lambda") / l as f64 + 1.0));
    let name = format!("conv.{}.w", l - 1);
    let mut mixed = if hp.flag("star") {
        let ph = net.sum([p.apply(h)]);
        let m = net.concat(&[ph, h0]);
        let w = net.param(name, 2 * width, width, fan_out(width), "conv");
        let mw = net.linear(m, w, None);
        net.sum([t * mw, (1.0 - t) * (1.0 - alpha) * ph, (1.0 - t) * alpha * h0])
    } else {
        let s = net.sum([(1.0 - alpha) * p.apply(h), alpha * h0]);
        let w = net.param(name, width, width, fan_out(width), "conv");
        let w = blend_with_identity(net, w, t);
        net.linear(s, w, None)
    };
    if norm::has_skip(hp) {
        mixed = add_skip(net, l - 1, h, mixed);
    }
    let mixed = normalise(net, hp, l - 1, mixed, "norm");
    net.relu(mixed)
}

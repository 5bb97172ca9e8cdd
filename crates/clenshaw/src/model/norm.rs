//! Normalisation and linear skip connections of hidden layers, options that several models share.
//!
//! ```text
//! norm = batch    (y - mean) / sqrt(var + eps) gamma + beta        mean and variance of a column, over all nodes
//! norm = layer    the same with the mean and the variance of a row, over the channels of a node
//! skip = linear   y + G V                                          G: the input of the layer, V learned
//! ```
//!
//! The skip connection is added before the normalisation, and the activation follows both.
//! With `none` for both, a model has the equations, parameters and random numbers of its paper.
//! They are not tuned unless a search space names them, because the published studies did not tune them;
//! `experiments/spaces/norm.toml` is such a space.
//! Luo et al., NeurIPS 2024, arXiv:2406.08993, show that they are what classic models lack on heterophilous
//! graphs.

use super::Net;
use crate::hyper::{HyperParam, Params, choices};
use crate::tensor::Var;

choices! {
    /// The normalisation of hidden layers.
    pub(super) enum Norm {
        None = "none",
        Batch = "batch",
        Layer = "layer",
    }
}

choices! {
    /// The skip connections of hidden layers.
    pub(super) enum Skip {
        None = "none",
        Linear = "linear",
    }
}

pub(super) const NORM: HyperParam = HyperParam::choice::<Norm>(
    "norm",
    Norm::None.word(),
    "normalisation of the hidden layers: batch: of every channel over the nodes; \
     layer: of every node over its channels",
)
.omit_default();

pub(super) const SKIP: HyperParam = HyperParam::choice::<Skip>(
    "skip",
    Skip::None.word(),
    "linear: adds a learned linear function of the layer's input to every hidden layer",
)
.omit_default();

/// The constant that is added to variances.
const EPS: f64 = 1e-5;

/// The normalised value, with the parameters `bn.LAYER` or `ln.LAYER` in `group`.
pub(super) fn normalise(
    net: &mut Net,
    hp: &Params,
    layer: usize,
    h: Var,
    group: &'static str,
) -> Var {
    match hp.choice("norm") {
        Norm::None => h,
        Norm::Batch => net.batch_norm(&format!("bn.{layer}"), h, EPS, group),
        Norm::Layer => layer_norm(net, &format!("ln.{layer}"), h, group),
    }
}

/// Layer normalisation with the parameters `NAME.gamma` and `NAME.beta` in `group`.
pub(super) fn layer_norm(net: &mut Net, name: &str, h: Var, group: &'static str) -> Var {
    net.layer_norm(name, h, EPS, group)
}

/// Whether layers have skip connections.
pub(super) fn has_skip(hp: &Params) -> bool {
    hp.choice::<Skip>("skip") == Skip::Linear
}

/// Whether layers are normalised.
pub(super) fn has_norm(hp: &Params) -> bool {
    hp.choice::<Norm>("norm") != Norm::None
}

//! The graph convolution, and the normalisation and activation between layers of GCN+JK and MixHop.
//!
//! ```text
//! convolution(H) = P~ (H W) + b
//! activate(H)    = relu( norm(H) )          norm: batch normalisation, unless `bn` is false
//! ```
//!
//! Both follow the public code of LINKX (Lim et al., NeurIPS 2021), which uses them as baselines.

use super::{Net, glorot, training};
use crate::hyper::{HyperParam, Params};
use crate::tensor::{Init, LinearInput, Var};

pub(super) const DROPOUT: HyperParam =
    HyperParam::dropout("dropout", 0.5, "dropout on the hidden layers");

pub(super) const BN_EPS: HyperParam = HyperParam::real(
    "bn_eps",
    1e-5,
    (0.0, 1.0),
    "epsilon that batch normalisation adds to the variance",
);

/// The hyper-parameters that GCN+JK and MixHop share.
pub(super) const STACK: [HyperParam; 6] = [
    HyperParam::int("layers", 2, (1, 64), "number of layers").tune_among(&[2.0, 3.0]),
    DROPOUT,
    HyperParam::flag("bn", true, "batch normalisation between the layers"),
    BN_EPS,
    training::LR,
    training::WD,
];

/// `P~ (H W) + b` with parameters `conv.LAYER.w` and `conv.LAYER.b`.
pub(super) fn convolution(net: &mut Net, layer: usize, h: impl LinearInput, width: usize) -> Var {
    let k = net.shape(h).1;
    let w = net.param(format!("conv.{layer}.w"), k, width, glorot(k, width), "all");
    let b = net.param(format!("conv.{layer}.b"), 1, width, Init::Zeros, "all");
    let hw = net.linear(h, w, None);
    let p = net.p();
    net.sum([p.apply(hw), 1.0 * b])
}

/// `relu( norm(H) )` with the parameters and running statistics `bn.LAYER`.
pub(super) fn activate(net: &mut Net, hp: &Params, layer: usize, h: Var) -> Var {
    let h = match hp.flag("bn") {
        true => net.batch_norm(&format!("bn.{layer}"), h, hp.real("bn_eps"), "all"),
        false => h,
    };
    net.relu(h)
}

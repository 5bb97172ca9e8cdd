//! The head of decoupled models: two dense layers from features to class scores.
//!
//! ```text
//! Z = drop( relu( drop(X) W1 + b1 ) ) W2 + b2                  [n, C]
//! ```
//!
//! With a precomputed filter, the filtered features take the place of X.

use super::{Net, OptimiserGroup};
use crate::hyper::{HyperParam, Params};
use crate::tensor::{LinearInput, Var};

pub(super) const HIDDEN: HyperParam =
    HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layer");

pub(super) const DROPOUT: HyperParam =
    HyperParam::dropout("dropout", 0.5, "dropout on the features and on the hidden layer");

pub(super) const LR: HyperParam =
    HyperParam::learning_rate("lr", 0.01, "learning rate of the dense layers");

pub(super) const WD: HyperParam =
    HyperParam::weight_decay("wd", 5e-4, "weight decay of the dense layers");

/// The optimiser group of the dense layers.
pub(super) const DENSE: OptimiserGroup = OptimiserGroup::adam("dense", "lr", "wd");

/// Records `Z` with the parameters `w_in`, `b_in`, `w_out` and `b_out`.
pub(super) fn head(net: &mut Net, hp: &Params) -> Var {
    let x = net.x();
    head_of(net, hp, x)
}

/// [`head`] for `x` in place of the features.
pub(super) fn head_of(net: &mut Net, hp: &Params, x: impl LinearInput) -> Var {
    let drop = hp.real("dropout");
    let x = net.dropout(x, drop);
    let y = net.dense_layer(("w_in", "b_in"), x, hp.int("hidden"), "dense");
    let y = net.relu(y);
    let y = net.dropout(y, drop);
    net.dense_layer(("w_out", "b_out"), y, net.n_classes(), "dense")
}

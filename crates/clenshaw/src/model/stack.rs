//! The network of GCN, GraphSAGE and GAT: hidden layers of one kind of convolution, and a head.
//!
//! ```text
//! H(0) = X                                      pre_linear: drop( X W_in + b_in )
//! H(l) = drop( act( norm( conv(H(l-1)) + skip ) ) )             skip = H(l-1) V(l) + c(l)
//! H    = the last H(l)                          jk: the sum of all H(l), l >= 1
//! out  = conv(H)                                head = dense: H W_out + b_out
//! ```
//!
//! `act` is relu, except in the plain GAT, and `layers` is the number of convolutions. By default the last one is the head, and there is neither a norm,
//! a skip connection, a first linear layer nor a sum of layers: the plain models.
//! With `head = dense`, all convolutions are hidden layers: the networks that Luo et al. tuned
//! (NeurIPS 2024, arXiv:2406.08993).

use super::norm::{self, NORM, SKIP, normalise};
use super::{Net, fan_in};
use crate::hyper::{HyperParam, Params, choices};
use crate::tensor::{FeatureVar, LinearInput, Var};

choices! {
    /// The last layer.
    pub(super) enum Head {
        Convolution = "convolution",
        Dense = "dense",
    }
}

pub(super) const HEAD: HyperParam = HyperParam::choice::<Head>(
    "head",
    Head::Convolution.word(),
    "last layer: the last of the convolutions, or a dense layer after all of them",
)
.omit_default();

pub(super) const PRE_LINEAR: HyperParam =
    HyperParam::flag("pre_linear", false, "linear layer before the first convolution")
        .omit_default();

pub(super) const JK: HyperParam =
    HyperParam::flag("jk", false, "the head reads the sum of all hidden layers").omit_default();

/// The options that extend the plain networks.
pub(super) const OPTIONS: [HyperParam; 5] = [HEAD, NORM, SKIP, PRE_LINEAR, JK];

/// Records the network of the features with relu; `convolution(net, l, h, width)` records convolution `l`.
pub(super) fn network(
    net: &mut Net,
    hp: &Params,
    convolution: impl Fn(&mut Net, usize, FeatureVar, usize) -> Var,
) -> Var {
    let x = net.x();
    network_of(net, hp, (x, |net, z| net.relu(z)), convolution)
}

/// [`network`] of other features or with another activation.
pub(super) fn network_of(
    net: &mut Net,
    hp: &Params,
    (x, activate): (FeatureVar, fn(&mut Net, Var) -> Var),
    convolution: impl Fn(&mut Net, usize, FeatureVar, usize) -> Var,
) -> Var {
    let (n_layers, width, drop) = (hp.int("layers"), hp.int("hidden"), hp.real("dropout"));
    let head = hp.choice("head");
    let n_hidden = match head {
        Head::Convolution => n_layers - 1,
        Head::Dense => n_layers,
    };
    let mut h = x;
    if hp.flag("pre_linear") {
        let z = net.dense_layer(("w_in", "b_in"), h, width, "all");
        h = net.dropout(z, drop).into();
    }
    let mut outputs = Vec::new();
    for l in 0..n_hidden {
        let mut z = convolution(net, l, h, width);
        if norm::has_skip(hp) {
            z = add_skip(net, l, h, z);
        }
        let z = normalise(net, hp, l, z, "all");
        let z = activate(net, z);
        net.set_hidden(z);
        let z = net.dropout(z, drop);
        outputs.push(z);
        h = z.into();
    }
    if hp.flag("jk") && outputs.len() > 1 {
        let all = net.sum(outputs.into_iter().map(|h| 1.0 * h));
        net.set_hidden(all);
        h = all.into();
    }
    let n_classes = net.n_classes();
    match head {
        Head::Convolution => convolution(net, n_hidden, h, n_classes),
        Head::Dense => net.dense_layer(("w_out", "b_out"), h, n_classes, "all"),
    }
}

/// `Z + H V + c` with the parameters `skip.LAYER.w` and `skip.LAYER.b`.
fn add_skip(net: &mut Net, layer: usize, h: impl LinearInput, z: Var) -> Var {
    let (k, width) = (net.shape(h).1, net.shape(z).1);
    let v = net.param(format!("skip.{layer}.w"), k, width, fan_in(k), "all");
    let c = net.param(format!("skip.{layer}.b"), 1, width, fan_in(k), "all");
    let skip = net.linear(h, v, Some(c));
    net.sum([1.0 * z, 1.0 * skip])
}

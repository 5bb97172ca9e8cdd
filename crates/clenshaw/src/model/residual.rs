//! The network of ClenshawGCN, HornerGCN and FixedParamClenshawGCN, which differ only in the recurrence.
//!
//! ```text
//! H*   = drop( relu*( drop(X) W + b ) )
//! Z    = residuals( H(l-1), H(l-2), H* )                        the model's own recurrence
//! Y    = beta_l (Z W(l) + b(l)) + (1 - beta_l) Z
//! H(l) = drop( relu*( norm( Y + G V(l) ) ) )                    l = 0..=K
//! out  = drop( relu*( H(K) ) ) W' + b'
//! ```
//!
//! Layers K - 1 and K have no activation and no dropout. Dropout is applied to H* before it is added.
//!
//! `norm` and the skip connection `G V(l)` are off by default; see `norm.rs`. G is H* in layer 0 and H(l-1) in
//! the others, and all layers are normalised, also the last.
//! The identity filter must not be the start of a network with norms and without skip connections: all inner
//! layers would be zero, and every norm would multiply the gradient by 1 / sqrt(eps). Such a network starts
//! with equal coefficients, `alpha_l = 1 / (K + 1)`.

use super::norm::{self, NORM, SKIP, normalise};
use super::{Net, OptimiserGroup, OptimiserKind, fan_in, fan_out};
use crate::hyper::{HyperParam, Params, concat};
use crate::tensor::{Init, Mat, Term, Var};

/// The hyper-parameters of all three models, without those of learned filter coefficients.
pub(super) const FROZEN: [HyperParam; 13] = [
    HyperParam::int("K", 8, (1, 256), "order of the filter; K + 1 layers")
        .tune_steps(4.0, 32.0, 4.0),
    HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers"),
    HyperParam::real(
        "lambda",
        1.0,
        (0.0, 10.0),
        "strength of the weights: beta_l = min(1, ln(lambda / l + 1))",
    )
    .tune_among(&[1.0, 1.5, 2.0]),
    HyperParam::dropout("dropout", 0.5, "dropout on the features, on H* and before the last layer"),
    HyperParam::dropout("dropout_conv", 0.0, "dropout after the inner activations"),
    HyperParam::learning_rate("lr_conv", 0.01, "learning rate of the inner layers"),
    HyperParam::learning_rate("lr_dense", 0.01, "learning rate of the dense layers"),
    HyperParam::weight_decay("wd_conv", 1e-5, "weight decay of the inner layers"),
    HyperParam::weight_decay("wd_dense", 1e-3, "weight decay of the dense layers"),
    HyperParam::flag("use_weight", true, "ablation: false removes W(l) and b(l)"),
    HyperParam::flag(
        "use_act",
        true,
        "ablation: false removes the inner activations and the dropout after them",
    ),
    NORM,
    SKIP,
];

/// [`FROZEN`] and the hyper-parameters of learned filter coefficients.
pub(super) const LEARNED: [HyperParam; 16] = concat(
    &FROZEN,
    &[
        HyperParam::learning_rate("lr_alpha", 0.01, "learning rate of the filter coefficients"),
        HyperParam::real("momentum", 0.9, (0.0, 0.999), "momentum of the filter coefficients")
            .tune_among(&[0.8, 0.85, 0.9, 0.95]),
        HyperParam::weight_decay("wd_alpha", 1e-5, "weight decay of the filter coefficients"),
    ],
);

/// The optimiser groups of inner layers, dense layers, norms and, last, filter coefficients.
pub(super) const GROUPS: [OptimiserGroup; 4] = [
    OptimiserGroup::adam("conv", "lr_conv", "wd_conv"),
    OptimiserGroup::adam("dense", "lr_dense", "wd_dense"),
    OptimiserGroup { name: "norm", kind: OptimiserKind::Adam, rate: "lr_conv", decay: None },
    OptimiserGroup {
        name: "alpha",
        kind: OptimiserKind::Momentum("momentum"),
        rate: "lr_alpha",
        decay: Some("wd_alpha"),
    },
];

/// Records the network for a recurrence and `beta_0, ..., beta_K`; `residuals(net, l, h1, h2, h_star)` returns
/// the terms of Z.
pub(super) fn network(
    net: &mut Net,
    hp: &Params,
    beta: &[f64],
    residuals: impl Fn(&Net, usize, Var, Var, Var) -> Vec<Term>,
) -> Var {
    let (drop, width, order) = (hp.real("dropout"), hp.int("hidden"), hp.int("K"));
    let (use_weight, use_act) = (hp.flag("use_weight"), hp.flag("use_act"));
    let x = net.x();
    let x = net.dropout(x, drop);
    let h_star = net.dense_layer(("w_in", "b_in"), x, width, "dense");
    let h_star = net.relu_star(h_star);
    let h_star = net.dropout(h_star, drop);

    let (mut h1, mut h2) = (net.zeros_like(h_star), net.zeros_like(h_star)); // H(l-1), H(l-2)
    for l in 0..=order {
        let terms = residuals(net, l, h1, h2, h_star);
        let mut h = net.sum(terms);
        if use_weight {
            h = transform(net, l, h, beta[l]);
        }
        if norm::has_skip(hp) {
            h = add_skip(net, l, if l == 0 { h_star } else { h1 }, h);
        }
        h = normalise(net, hp, l, h, "norm");
        if use_act && l + 2 <= order {
            h = net.relu_star(h);
            h = net.dropout(h, hp.real("dropout_conv"));
        }
        (h1, h2) = (h, h1);
    }
    let h = net.relu_star(h1);
    net.set_hidden(h);
    let h = net.dropout(h, drop);
    net.dense_layer(("w_out", "b_out"), h, net.n_classes(), "dense")
}

/// `beta (Z W + b) + (1 - beta) Z`, as one product with `W' = beta W + (1 - beta) I`.
fn transform(net: &mut Net, l: usize, z: Var, beta: f64) -> Var {
    let width = net.shape(z).1;
    let w = net.param(format!("conv.{l}.w"), width, width, fan_out(width), "conv");
    let b = net.param(format!("conv.{l}.b"), 1, width, Init::Zeros, "conv");
    let w = blend_with_identity(net, w, beta);
    let b = net.sum([beta * b]);
    net.linear(z, w, Some(b))
}

/// `Y + G V` with the parameter `skip.LAYER.w`.
pub(super) fn add_skip(net: &mut Net, layer: usize, g: Var, y: Var) -> Var {
    let width = net.shape(y).1;
    let v = net.param(format!("skip.{layer}.w"), width, width, fan_in(width), "conv");
    let gv = net.linear(g, v, None);
    net.sum([1.0 * y, 1.0 * gv])
}

/// `t W + (1 - t) I`.
pub(super) fn blend_with_identity(net: &mut Net, w: Var, t: f64) -> Var {
    let eye = net.identity(net.shape(w).0);
    net.sum([t * w, (1.0 - t) * eye])
}

/// `beta_l = min(1, ln(lambda / l + 1))`; layer 0 has the value of layer K, as in the authors' code.
pub(super) fn decaying_beta(lambda: f64, order: usize) -> Vec<f64> {
    let beta = |l: usize| libm::log(lambda / l as f64 + 1.0).min(1.0);
    (0..=order).map(|l| beta(if l == 0 { order } else { l })).collect()
}

/// The initial coefficients in layer order: `alpha = (0, ..., 0, 1)`, the identity filter; with norms and
/// without skip connections, `alpha_l = 1 / (K + 1)`.
pub(super) fn initial_filter(hp: &Params) -> Init {
    let order = hp.int("K");
    if norm::has_norm(hp) && !norm::has_skip(hp) {
        return Init::Values(vec![1.0 / (order + 1) as f64; order + 1]);
    }
    let mut alpha = vec![0.0; order + 1];
    alpha[order] = 1.0;
    Init::Values(alpha)
}

/// The coefficients in ascending degree: that of the k-th polynomial is `alpha` of layer `K - k`.
pub(super) fn coefficients_by_degree(alpha: &Mat<f64>) -> Vec<f64> {
    alpha.as_slice().iter().rev().copied().collect()
}

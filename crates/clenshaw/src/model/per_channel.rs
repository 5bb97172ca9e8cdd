//! The network of FavardGNN and OptBasisGNN, which differ only in the source of the basis.
//!
//! ```text
//! Z   = drop( relu( drop(X) W + b ) )
//! s_k B_k = P B_{k-1} - eta_{k-1} B_{k-1} - s_{k-1} B_{k-2}      s_0 B_0 = Z,  B_{-1} = 0
//! out = drop( sum_k alpha_k (.) B_k ) W' + b'                    k = 0..=K
//! ```
//!
//! `alpha_k`, `eta_k` and `s_k` have one number per channel, so every channel has its own filter in its own
//! basis. FavardGNN learns `eta` and `s`; OptBasisGNN computes those that make the `B_k` orthonormal.
//! Guo & Wei, ICML 2023, arXiv:2302.12432.

use super::training::training;
use super::{Net, OptimiserGroup};
use crate::filter::{Basis, Filter, RecurrenceStep, Response};
use crate::hyper::{HyperParam, Params, StopRule};
use crate::tensor::{Init, Mat, Var};

/// A basis ends before the first `s_k` that is not larger than this (Lanczos breakdown): further vectors
/// are only rounding error.
pub(super) const BREAKDOWN_TOLERANCE: f64 = 1e-6;

pub(super) static TRAINING: [HyperParam; 6] = training(StopRule::Accuracy, 300, 2000);

/// The hyper-parameters of both models.
pub(super) const SHARED: [HyperParam; 8] = [
    HyperParam::int("K", 16, (1, 256), "order of the filters")
        .tune_among(&[2.0, 4.0, 8.0, 12.0, 16.0, 20.0]),
    HyperParam::int("hidden", 64, (1, 4096), "number of channels"),
    HyperParam::dropout("dropout", 0.5, "dropout on the features and before the last layer"),
    HyperParam::dropout("dropout_basis", 0.5, "dropout on Z, from which the basis is computed"),
    HyperParam::learning_rate("lr_dense", 0.01, "learning rate of the dense layers"),
    HyperParam::learning_rate("lr_alpha", 0.01, "learning rate of the filter coefficients"),
    HyperParam::weight_decay("wd_dense", 1e-3, "weight decay of the dense layers"),
    HyperParam::weight_decay("wd_alpha", 1e-5, "weight decay of the filter coefficients"),
];

/// The optimiser groups of dense layers, coefficients and, last, a learned basis.
pub(super) const GROUPS: [OptimiserGroup; 3] = [
    OptimiserGroup::adam("dense", "lr_dense", "wd_dense"),
    OptimiserGroup::adam("alpha", "lr_alpha", "wd_alpha"),
    OptimiserGroup::adam("basis", "lr_basis", "wd_basis"),
];

/// The network for a basis; `basis(net, z)` returns `B_0, ..., B_K`.
pub(super) fn network(
    net: &mut Net,
    hp: &Params,
    basis: impl Fn(&mut Net, Var) -> Vec<Var>,
) -> Var {
    let (drop, width, order) = (hp.real("dropout"), hp.int("hidden"), hp.int("K"));
    let x = net.x();
    let x = net.dropout(x, drop);
    let z = net.dense_layer(("w_in", "b_in"), x, width, "dense");
    let z = net.relu(z);
    let z = net.dropout(z, hp.real("dropout_basis"));
    let alpha = net.param("alpha", order + 1, width, first_row_of_ones(order, width), "alpha");
    let basis = basis(net, z);
    let h = net.sum(basis.into_iter().enumerate().map(|(k, b)| alpha.row(k) * b));
    let h = net.dropout(h, drop);
    net.dense_layer(("w_out", "b_out"), h, net.n_classes(), "dense")
}

/// `alpha_0 = 1` and `alpha_k = 0`: initially, a channel is `B_0`, the scaled signal itself.
fn first_row_of_ones(order: usize, width: usize) -> Init {
    let rows = (0..=order).map(|k| f64::from(u8::from(k == 0)));
    Init::Values(rows.flat_map(|v| std::iter::repeat_n(v, width)).collect())
}

/// `h(mu) = sum_k alpha_k phi_k(mu)` for each channel, where `B_k = phi_k(P) Z`.
///
/// # Shapes
/// `alpha` and `s` are [K + 1, d], `eta` is [K, d].
pub(super) fn filters(alpha: &Mat<f64>, s: &Mat<f64>, eta: &Mat<f64>) -> Response {
    let filter = |channel: usize| {
        let entry = |m: &Mat<f64>, k: usize| m[(k, channel)];
        let n_terms = (0..s.rows()).take_while(|&k| entry(s, k) > BREAKDOWN_TOLERANCE).count();
        let step = |k| {
            let scale = 1.0 / entry(s, k + 1);
            RecurrenceStep { a: scale, b: -entry(eta, k) * scale, c: entry(s, k) * scale }
        };
        Filter {
            basis: Basis::ThreeTerm((0..n_terms.saturating_sub(1)).map(step).collect()),
            // phi_0 = 1 / s_0 is a factor of every phi_k.
            coefficients: (0..n_terms).map(|k| entry(alpha, k) / entry(s, 0)).collect(),
        }
    };
    Response::Channels((0..alpha.cols()).map(filter).collect())
}

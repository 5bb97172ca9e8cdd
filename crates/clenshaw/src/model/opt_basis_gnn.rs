//! OptBasisGNN: every channel is filtered in the basis that is orthonormal for its signal.
//!
//! ```text
//! s_0 B_0 = Z                              s_k = |right-hand side|, column by column
//! V       = P B_{k-1}
//! s_k B_k = V - <V, B_{k-1}> B_{k-1} - <V, B_{k-2}> B_{k-2}
//! ```
//!
//! This is the Lanczos method applied to each column: the `B_k` are orthonormal and span the same space
//! as the powers `P^k Z`. In exact arithmetic `<V, B_{k-2}> = s_{k-1}`, so it is FavardGNN's recurrence
//! with `eta_k` and `s_k` computed from the signal instead of learned, and the loss has the best
//! conditioning with respect to the coefficients alpha. Norms and inner products are differentiated too.
//!
//! The basis depends on the features and on the first dense layer, so the filter reads the
//! `eta_k` and `s_k` of an evaluation pass. The basis ends early in a channel that is zero, or on a
//! graph with few distinct eigenvalues; further `B_k` are zero.
//! Guo & Wei, ICML 2023, arXiv:2302.12432.

use super::per_channel::{self, BREAKDOWN_TOLERANCE, filters};
use super::{ModelFamily, ModelInfo, Net, WeightLookup};
use crate::filter::Response;
use crate::graph::Normalisation;
use crate::hyper::Params;
use crate::tensor::{Mat, Var};

/// The minimum of a squared norm, so that the gradient of the square root is finite at 0.
const MIN_SQUARE: f64 = 1e-16;

pub static INFO: ModelInfo = ModelInfo {
    name: "opt-basis-gnn",
    title: "OptBasisGNN",
    paper: "Guo & Wei, ICML 2023, arXiv:2302.12432",
    family: ModelFamily::Spectral,
    equation: "V = P B_{k-1}; s_k B_k = V - <V, B_{k-1}> B_{k-1} - <V, B_{k-2}> B_{k-2}, |B_k| = 1; \
               out = drop(sum_k alpha_k B_k) W' + b', alpha per channel",
    operator: Some(Normalisation::Plain),
    hyper: &per_channel::SHARED,
    training: &per_channel::TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/opt-basis-gnn.toml"),
    groups: per_channel::GROUPS.split_at(2).0,
    build,
    filter: Some(filter),
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    per_channel::network(net, hp, |net, z| lanczos(net, z, hp.int("K")))
}

/// Records `B_0, ..., B_K` and names the rows `s.k` and `eta.k`.
fn lanczos(net: &mut Net, z: Var, order: usize) -> Vec<Var> {
    let p = net.p();
    let (mut b1, mut b2) = (normalise(net, z, 0), None); // B_{k-1}, B_{k-2}
    let mut basis = vec![b1];
    for k in 1..=order {
        let v = net.sum([p.apply(b1)]);
        let (mut v, eta) = project_out(net, v, b1);
        net.name(format!("eta.{}", k - 1), eta);
        if let Some(b2) = b2 {
            (v, _) = project_out(net, v, b2);
        }
        (b1, b2) = (normalise(net, v, k), Some(b1));
        basis.push(b1);
    }
    basis
}

/// `V - <V, B> B` and `<V, B>`, column by column.
fn project_out(net: &mut Net, v: Var, b: Var) -> (Var, Var) {
    let dots = net.column_dots(v, b);
    let minus = net.sum([-1.0 * dots]);
    (net.sum([1.0 * v, minus.row(0) * b]), dots)
}

/// `V / s` with `s = |V|`, column by column; 0 where V is only rounding error.
fn normalise(net: &mut Net, v: Var, k: usize) -> Var {
    let square = net.column_dots(v, v);
    let square = net.clamp_min(square, MIN_SQUARE);
    let s = net.sqrt(square);
    net.name(format!("s.{k}"), s);
    let inverse = net.reciprocal_above(s, BREAKDOWN_TOLERANCE);
    net.sum([inverse.row(0) * v])
}

/// The recurrence of each channel in the last evaluation pass.
fn filter(weights: &WeightLookup<'_>, hp: &Params) -> Response {
    let rows = |letter: &str, n: usize| {
        let rows: Vec<Mat<f64>> = (0..n).map(|k| weights(&format!("{letter}.{k}"))).collect();
        let entries = rows.iter().flat_map(Mat::as_slice).copied().collect();
        Mat::from_vec(n, rows[0].cols(), entries)
    };
    let order = hp.int("K");
    filters(&weights("alpha"), &rows("s", order + 1), &rows("eta", order))
}

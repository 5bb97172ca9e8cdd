//! ChebNet: two layers of matrix-valued filters in the first-kind Chebyshev basis.
//!
//! ```text
//! H = relu( sum_k T_k(L^) X W0_k + b0 ),   out = sum_k T_k(L^) drop(H) W1_k + b1      k < terms
//! ```
//!
//! `L^ = -P`. Each sum is evaluated by Clenshaw's summation, whose sparse products act on the outputs of
//! the layer, which are narrower than its inputs:
//!
//! ```text
//! B_k = H W_k + 2 L^ B_{k+1} - B_{k+2}                    k = terms - 1, ..., 1
//! sum_k T_k(L^) H W_k = H W_0 + L^ B_1 - B_2
//! ```
//!
//! The filter of the model is the gain of the network without activation and biases: the root mean square
//! over the entries of `G(mu) = (sum_k T_k(-mu) W0_k) (sum_k T_k(-mu) W1_k)`, [F, C], from features to scores.
//! The gain includes both layers, since either can suppress a frequency, but not the energy that the
//! activation transfers between frequencies.
//! Defferrard et al., NeurIPS 2016, arXiv:1606.09375; two terms and width 32 as in the papers
//! with 60/20/20 splits.

use super::{MEAN_200, ModelFamily, ModelInfo, Net, OptimiserGroup, WeightLookup, glorot};
use crate::filter::{Basis, Response};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params};
use crate::tensor::{Init, LinearInput, Mat, Var};

pub static INFO: ModelInfo = ModelInfo {
    name: "cheb-net",
    title: "ChebNet",
    paper: "Defferrard et al., NeurIPS 2016, arXiv:1606.09375",
    family: ModelFamily::Spectral,
    equation: "H = relu(sum_k T_k(L^) X W0_k + b0); out = sum_k T_k(L^) drop(H) W1_k + b1, L^ = -P",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("terms", 2, (1, 65), "number of polynomials per layer: degree + 1")
            .tune_among(&[2.0, 3.0, 5.0, 11.0]),
        HyperParam::int("hidden", 32, (1, 4096), "width of the hidden layer")
            .tune_among(&[16.0, 32.0, 64.0]),
        HyperParam::dropout("dropout", 0.5, "dropout on the hidden layer"),
        HyperParam::learning_rate("lr", 0.01, "learning rate"),
        HyperParam::weight_decay("wd", 5e-4, "weight decay"),
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/cheb-net.toml"),
    groups: &[OptimiserGroup::adam("conv", "lr", "wd")],
    build,
    filter: Some(filter),
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let h = convolution(net, hp, 0, net.x(), hp.int("hidden"));
    let h = net.relu(h);
    let h = net.dropout(h, hp.real("dropout"));
    convolution(net, hp, 1, h, net.n_classes())
}

/// `sum_k T_k(L^) H W_k + b`.
fn convolution(net: &mut Net, hp: &Params, layer: usize, h: impl LinearInput, width: usize) -> Var {
    let (inputs, p) = (net.shape(h).1, net.p());
    let product = |net: &mut Net, k: usize| {
        let w = net.param(weight_name(layer, k), inputs, width, glorot(inputs, width), "conv");
        net.linear(h, w, None)
    };
    let hw_0 = product(net, 0);
    let (mut b1, mut b2) = (net.zeros_like(hw_0), net.zeros_like(hw_0)); // B_{k+1}, B_{k+2}
    for k in (1..hp.int("terms")).rev() {
        let hw = product(net, k);
        (b1, b2) = (net.sum([1.0 * hw, -2.0 * p.apply(b1), -1.0 * b2]), b1);
    }
    let b = net.param(format!("conv.{layer}.b"), 1, width, Init::Zeros, "conv");
    net.sum([1.0 * hw_0, -1.0 * p.apply(b1), -1.0 * b2, 1.0 * b])
}

fn weight_name(layer: usize, k: usize) -> String {
    format!("conv.{layer}.w.{k}")
}

/// The gain of `G(mu)`; a product of two polynomials by `T_i T_j = (T_{i+j} + T_{|i-j|}) / 2`.
fn filter(weights: &WeightLookup<'_>, hp: &Params) -> Response {
    let terms = hp.int("terms");
    let mut a: Vec<Option<Mat<f64>>> = vec![None; 2 * terms - 1];
    for i in 0..terms {
        for j in 0..terms {
            let product = weights(&weight_name(0, i)).matmul(&weights(&weight_name(1, j)));
            for k in [i + j, i.abs_diff(j)] {
                let sign = if k % 2 == 0 { 0.5 } else { -0.5 }; // T_k(-mu) = (-1)^k T_k(mu)
                let zero = || Mat::zeros(product.rows(), product.cols());
                a[k].get_or_insert_with(zero).add_scaled(sign, &product);
            }
        }
    }
    let a: Vec<Mat<f64>> = a.into_iter().flatten().collect();
    Response::gain(&Basis::ChebyshevFirst, &a)
}

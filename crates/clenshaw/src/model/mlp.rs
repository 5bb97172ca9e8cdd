//! MLP: two dense layers on the features, the baseline that ignores the graph.
//!
//! ```text
//! Y = relu( drop(X) W1 + b1 ),   out = drop(Y) W2 + b2
//! out = drop(X) W2 + b2                                        hidden = 0: logistic regression
//! ```
//!
//! This is the MLP of BernNet's public code and of the papers that follow GPRGNN.

use super::head::{self, head};
use super::{MEAN_200, ModelFamily, ModelInfo, Net};
use crate::hyper::{HyperParam, Params};
use crate::tensor::Var;

pub static INFO: ModelInfo = ModelInfo {
    name: "mlp",
    title: "MLP",
    paper: "two dense layers, as in He et al., BernNet, NeurIPS 2021",
    family: ModelFamily::Baseline,
    equation: "out = drop(relu(drop(X) W1 + b1)) W2 + b2",
    operator: None,
    hyper: &[
        // 0: no hidden layer.
        HyperParam::int("hidden", 64, (0, 4096), "width of the hidden layer"),
        head::DROPOUT,
        head::LR,
        head::WD,
    ],
    training: &MEAN_200,
    inductive: true,
    presets: include_str!("../../experiments/presets/mlp.toml"),
    groups: &[head::DENSE],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let z = match hp.int("hidden") {
        0 => logistic_regression(net, hp),
        _ => head(net, hp),
    };
    net.set_node_input(z);
    z
}

/// Records `drop(X) W2 + b2`.
fn logistic_regression(net: &mut Net, hp: &Params) -> Var {
    let x = net.x();
    let x = net.dropout(x, hp.real("dropout"));
    net.dense_layer(("w_out", "b_out"), x, net.n_classes(), "dense")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::train::Setup;

    #[test]
    fn without_a_hidden_layer_scores_are_linear_in_the_features() {
        let dataset = data::load("csbm:nodes=40").unwrap();
        let mut hp = INFO.defaults();
        hp.set("hidden", "0").unwrap();
        let x = dataset.x.to_dense();
        let setup = Setup::new(dataset, &INFO, hp).unwrap();
        let mut params = setup.initial_params(1);
        params.iter_mut().zip(1..).for_each(|(value, i)| *value = (i as f32).sin());
        let named = setup.named_params(&params);
        assert_eq!(named.len(), 2);
        let matrix = |name: &str| &named.iter().find(|(other, _)| other == name).unwrap().1;
        let (w, b) = (matrix("w_out"), matrix("b_out"));
        let scores = setup.scores(&params, 1).unwrap();
        for i in 0..40 {
            for c in 0..w.cols() {
                let products = (0..w.rows()).map(|k| x.row(i)[k] * w.row(k)[c]);
                let expected = products.sum::<f32>() + b.row(0)[c];
                assert!((scores.row(i)[c] - expected).abs() < 1e-4, "{expected}");
            }
        }
    }
}

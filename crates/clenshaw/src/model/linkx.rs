//! LINKX: the rows of the adjacency are used as features.
//!
//! ```text
//! h_A = MLP_A(A),   h_X = MLP_X(X)
//! out = MLP( relu( drop( [ h_A | h_X ] W + b ) + h_A + h_X ) )
//! ```
//!
//! Nothing is averaged over neighbours, so heterophily is not a problem. The first weight of `MLP_A` has one
//! row per node. Within an MLP, every layer except the last is followed by relu, batch normalisation and
//! dropout, in this order.
//! Lim et al., NeurIPS 2021, arXiv:2110.14446.

use super::training::{self, ADAM_W};
use super::{ALL_500, ModelFamily, ModelInfo, Net, convolution};
use crate::hyper::{HyperParam, Params};
use crate::tensor::{FeatureVar, Var};

/// The allowed numbers of dense layers.
const DEPTHS: (i64, i64) = (1, 16);

pub static INFO: ModelInfo = ModelInfo {
    name: "linkx",
    title: "LINKX",
    paper: "Lim et al., NeurIPS 2021, arXiv:2110.14446",
    family: ModelFamily::Baseline,
    equation: "h_A = MLP_A(A); h_X = MLP_X(X); out = MLP(relu([h_A | h_X] W + b + h_A + h_X))",
    operator: None,
    hyper: &[
        HyperParam::int("layers_A", 1, DEPTHS, "dense layers on the adjacency")
            .tune_among(&[1.0, 2.0]),
        HyperParam::int("layers_X", 1, DEPTHS, "dense layers on the features")
            .tune_among(&[1.0, 2.0]),
        HyperParam::int("layers", 2, DEPTHS, "dense layers after joining adjacency and features")
            .tune_among(&[1.0, 2.0, 3.0, 4.0]),
        HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers")
            .tune_among(&[64.0, 128.0, 256.0, 512.0]),
        HyperParam::real("dropout", 0.5, (0.0, 0.99), "dropout within the last MLP")
            .tune_among(&[0.0, 0.5]),
        HyperParam::real(
            "dropout_inner",
            0.0,
            (0.0, 0.99),
            "dropout after joining adjacency and features",
        ),
        HyperParam::flag("relu_inner", false, "whether an activation follows dropout_inner"),
        convolution::BN_EPS,
        training::LR,
        training::WD,
    ],
    training: &ALL_500,
    inductive: false,
    presets: include_str!("../../experiments/presets/linkx.toml"),
    groups: &[ADAM_W],
    build,
    filter: None,
    precompute: None,
};

fn build(net: &mut Net, hp: &Params) -> Var {
    let (a, x, width) = (net.adjacency(), net.x(), hp.int("hidden"));
    let h_a = mlp(net, hp, ("a", "layers_A"), a, width, 0.0);
    let h_x = mlp(net, hp, ("x", "layers_X"), x, width, 0.0);
    let both = net.concat(&[h_a, h_x]);
    let mut h = net.dense_layer(("both.w", "both.b"), both, width, "all");
    h = net.dropout(h, hp.real("dropout_inner"));
    if hp.flag("relu_inner") {
        h = net.relu(h);
    }
    let h = net.sum([1.0 * h, 1.0 * h_a, 1.0 * h_x]);
    let h = net.relu(h);
    mlp(net, hp, ("out", "layers"), h.into(), net.n_classes(), hp.real("dropout"))
}

/// A stack of dense layers with parameters `NAME.LAYER`; `layers` is the hyper-parameter that sets their
/// number.
fn mlp(
    net: &mut Net,
    hp: &Params,
    (name, layers): (&str, &str),
    mut h: FeatureVar,
    outputs: usize,
    drop: f64,
) -> Var {
    let param = |part: &str, l| format!("{name}.{l}.{part}");
    let last = hp.int(layers) - 1;
    for l in 0..last {
        let z = net.dense_layer((&param("w", l), &param("b", l)), h, hp.int("hidden"), "all");
        let z = net.relu(z);
        let z = net.batch_norm(&param("bn", l), z, hp.real("bn_eps"), "all");
        h = net.dropout(z, drop).into();
    }
    net.dense_layer((&param("w", last), &param("b", last)), h, outputs, "all")
}

//! UniFilter: a combination of basis vectors whose angles follow the homophily of the graph.
//!
//! ```text
//! B_0, ..., B_K = universal basis of X for P, tau and the homophily h of the training nodes       [n, F] each
//! Z   = sum_k theta_k drop(B_k)
//! Z   <- act( norm( drop(Z) W_l ) + drop(Z) )         the second term only if W_l is square;  `mlp_layers` times
//! out = Z                                             neither norm nor act after the last layer
//! ```
//!
//! The basis has no trainable parameters and is computed once for every split, because h is the fraction of
//! edges between training nodes that connect equal labels; see `model/universal_basis.rs`.
//!
//! Each column of features is filtered by a polynomial of its own, whose coefficients depend on the column and
//! which grows without bound at frequencies that the column lacks. No single function describes them, so the
//! model has no frequency response.
//! The `u_k` have unit norm over all nodes, so their entries, and with them the scores, depend on the number of
//! nodes: a trained model is not applied to other graphs.
//! Huang et al., ICML 2024, arXiv:2405.12474.

use super::training::training;
use super::universal_basis::{Reference, UniversalBasis};
use super::{FILTER_GROUP, HOMOPHILY_KEY, ModelFamily, ModelInfo, Net, OptimiserGroup, fan_out};
use crate::error::Error;
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::memory;
use crate::tensor::{Init, Var};

static TRAINING: [HyperParam; 6] = training(StopRule::Accuracy, 200, 1000);

pub static INFO: ModelInfo = ModelInfo {
    name: "uni-filter",
    title: "UniFilter",
    paper: "Huang et al., ICML 2024, arXiv:2405.12474",
    family: ModelFamily::Spectral,
    equation: "Z = sum_k theta_k B_k, B_0 = X, B_k = tau P^k X + (1 - tau) u_k; out = MLP(Z); \
               the angles between the u_k follow from the homophily of the training nodes",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("K", 10, (1, 64), "order of the basis"),
        HyperParam::real("tau", 0.5, (0.0, 1.0), "share of the powers of P in the basis")
            .tune_steps(0.0, 1.0, 0.1),
        HyperParam::real(
            HOMOPHILY_KEY,
            0.0,
            (0.0, 1.0),
            "homophily that sets the angles of the basis; 0: that of the training nodes of each split",
        ),
        HyperParam::flag(
            "released",
            true,
            "measures angles from the mixed vector, as the authors' code does; false: as in the paper",
        ),
        HyperParam::int("hidden", 64, (1, 4096), "width of the hidden layers")
            .tune_among(&[64.0, 128.0, 256.0]),
        HyperParam::int("mlp_layers", 2, (1, 16), "number of dense layers")
            .tune_among(&[2.0, 3.0, 4.0]),
        HyperParam::flag("bn", false, "batch normalisation in the hidden layers"),
        HyperParam::dropout("dropout", 0.5, "dropout on the inputs of the dense layers"),
        HyperParam::dropout("dropout_basis", 0.2, "dropout on the basis"),
        HyperParam::learning_rate("lr", 0.01, "learning rate of the dense layers"),
        HyperParam::learning_rate("lr_prop", 0.01, "learning rate of the coefficients theta"),
        HyperParam::weight_decay("wd", 5e-4, "weight decay of the dense layers"),
        HyperParam::weight_decay("wd_prop", 1e-4, "weight decay of the coefficients theta"),
    ],
    training: &TRAINING,
    inductive: false,
    presets: include_str!("../../experiments/presets/uni-filter.toml"),
    groups: &[
        OptimiserGroup::adam("dense", "lr", "wd"),
        OptimiserGroup::adam(FILTER_GROUP, "lr_prop", "wd_prop"),
    ],
    build,
    filter: None,
    precompute: None,
};

/// The constant that batch normalisation adds to variances.
const BN_EPS: f64 = 1e-5;
/// Bytes per entry of the basis: f64 while it is computed and on the tape, f32 in the plan.
const BYTES_PER_ENTRY: u64 = 8 + 4;

fn build(net: &mut Net, hp: &Params) -> Var {
    net.refuse_attribution(
        "the basis of uni-filter is normalised over all nodes, so its scores are not a sum of contributions of \
         nodes and features; explain a model such as opt-basis-gnn instead",
    );
    let basis = basis(net, hp);
    let order = hp.int("K");
    let equal = Init::Values(vec![1.0 / (order + 1) as f64; order + 1]);
    let theta = net.param("theta", 1, order + 1, equal, FILTER_GROUP);
    let terms: Vec<_> = basis
        .into_iter()
        .enumerate()
        .map(|(k, b)| theta.entry(k) * net.dropout(b, hp.real("dropout_basis")))
        .collect();
    let mut z = net.sum(terms);
    let last = hp.int("mlp_layers") - 1;
    for l in 0..last {
        z = dense(net, hp, l, z, hp.int("hidden"), hp.flag("bn"));
        z = net.relu(z);
        net.set_hidden(z);
    }
    let n_classes = net.n_classes();
    dense(net, hp, last, z, n_classes, false)
}

/// `norm( drop(Z) W ) + drop(Z)`, the second term only if W is square.
fn dense(net: &mut Net, hp: &Params, layer: usize, z: Var, width: usize, norm: bool) -> Var {
    let z = net.dropout(z, hp.real("dropout"));
    let k = net.shape(z).1;
    let w = net.param(format!("lin.{layer}.w"), k, width, fan_out(width), "dense");
    let mut y = net.linear(z, w, None);
    if norm {
        y = net.batch_norm(&format!("bn.{layer}"), y, BN_EPS, "dense");
    }
    match k == width {
        true => net.sum([1.0 * y, 1.0 * z]),
        false => y,
    }
}

/// Records `B_0, ..., B_K` as constants; only `B_0` if the others do not fit into memory, which is an error.
fn basis(net: &mut Net, hp: &Params) -> Vec<Var> {
    let (p, features) = (net.p(), net.x());
    let (n, cols) = net.shape(features);
    let entries = (n * cols * (hp.int("K") + 1)) as u64;
    let x = net.feature_matrix(features);
    let matrices = match refusal(BYTES_PER_ENTRY * entries) {
        Some(error) => {
            net.fail(error);
            vec![x]
        }
        None => {
            let reference =
                if hp.flag("released") { Reference::Mixed } else { Reference::Previous };
            let (order, tau, homophily) = (hp.int("K"), hp.real("tau"), hp.real(HOMOPHILY_KEY));
            let settings = UniversalBasis { order, tau, homophily, reference };
            settings.compute(net.operator_of(p), &x)
        }
    };
    matrices.into_iter().map(|b| net.features(b)).collect()
}

/// The error for a basis of this size, if it does not fit into memory.
fn refusal(needed: u64) -> Option<Error> {
    let available = memory::available()?;
    (needed > available.bytes).then(|| Error::OutOfMemory {
        what: "uni-filter: the basis, which has K + 1 matrices as large as the features,".into(),
        needed,
        available: Some(available.bytes),
        limit: available.limit.name(),
        advice: "lower `K`, or use a model that does not store its basis, such as `opt-basis-gnn`"
            .into(),
    })
}

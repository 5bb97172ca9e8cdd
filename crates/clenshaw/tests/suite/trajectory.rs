//! Training compared step by step with the authors' program, in f64.
//!
//! The fixtures contain losses, gradients and parameters after steps of both optimisers, with the names
//! and layouts of the reference: dense weights are `[out, in]`, and layer l uses entry K - l of alpha.

use crate::common::npz::{self, Array};
use crate::common::problem::Setting;
use crate::common::{assert_close, largest};
use clenshaw::graph::{Graph, operator};
use clenshaw::hyper::Params;
use clenshaw::model::{self, ModelInfo, Net};
use clenshaw::rng::Stream;
use clenshaw::tensor::{
    AlignedVec, Mat, Optimiser, OptimiserSettings, Param, Plan, ThreadTeam, UpdateRule, Workspace,
    log_sum_exp,
};
use clenshaw::train::optimiser;
use std::collections::BTreeMap;
use std::path::Path;

/// Names of hyper-parameters in the reference and here.
const KEYS: [(&str, &str); 7] = [
    ("lr1", "lr_conv"),
    ("lr2", "lr_dense"),
    ("lr3", "lr_alpha"),
    ("momentum", "momentum"),
    ("wd1", "wd_conv"),
    ("wd2", "wd_dense"),
    ("wd3", "wd_alpha"),
];

/// A fixture and the plan that reproduces it.
struct Trajectory {
    file: String,
    arrays: BTreeMap<String, Array>,
    info: &'static ModelInfo,
    hp: Params,
    plan: Plan<f64>,
    work: Workspace<f64>,
}

impl Trajectory {
    fn read(path: &Path) -> Self {
        let arrays = npz::read(path);
        let info = model::find("clenshaw-gcn").unwrap();
        let hp = hyper_parameters(info, &arrays);
        let x = &arrays["X"];
        let (n, f) = (x.shape[0], x.shape[1]);
        let ends = arrays["edge_src"].values.iter().zip(&arrays["edge_dst"].values);
        let edges: Vec<(u32, u32)> = ends.map(|(u, v)| (*u as u32, *v as u32)).collect();
        let graph = Graph::from_edges("fixture", n, &edges).unwrap();
        let p = operator(&graph, info.operator.expect("the model has an operator"));
        assert_close("P~", p.to_dense().as_slice(), &arrays["P_dense"].values, 1.0, 1e-15);
        let x = Mat::from_vec(n, f, x.values.clone());
        let mut net = Net::dense(x, Some(p), arrays["C"].values[0] as usize);
        let logits = (info.build)(&mut net, &hp);
        let plan = Plan::compile(&net, logits);
        let work = plan.workspace(ThreadTeam::new(1));
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        Self { file, arrays, info, hp, plan, work }
    }

    /// The stored vector with this prefix (parameters or gradients), in our order and layout.
    fn stored(&self, prefix: &str) -> AlignedVec<f64> {
        self.plan.param_vector(|param| {
            let key = format!("{prefix}.{}", reference_name(&param.name));
            let array = self.arrays.get(&key).unwrap_or_else(|| panic!("{}: no {key}", self.file));
            assert_eq!(array.values.len(), param.rows * param.cols, "{}: {key}", self.file);
            our_layout(param, &array.values)
        })
    }

    /// Compares a whole parameter vector, one parameter at a time.
    fn assert_params(&self, prefix: &str, actual: &[f64], tolerance: f64) {
        let expected = self.stored(prefix);
        for (param, range) in self.plan.params().iter().zip(self.plan.ranges()) {
            let what = format!("{}: {prefix}.{}", self.file, param.name);
            let scale = largest(&expected);
            assert_close(&what, &actual[range.clone()], &expected[range], scale, tolerance);
        }
    }

    fn assert_log_probabilities(&mut self, key: &str, params: &[f64], tolerance: f64) {
        let classes = self.plan.shape().1;
        let rows = self.plan.scores(&mut self.work, params).chunks_exact(classes);
        let log_p: Vec<f64> =
            rows.flat_map(|z| z.iter().map(|s| s - log_sum_exp(z)).collect::<Vec<_>>()).collect();
        let expected = &self.arrays[key].values;
        assert_close(&format!("{}: {key}", self.file), &log_p, expected, 1.0, tolerance);
    }

    fn check(mut self, tolerance: f64) {
        let (targets, dropout) = (npz::targets(&self.arrays), Stream::new(0, "dropout"));
        let mut params = self.stored("param");
        self.assert_log_probabilities("logprobs", &params, tolerance);
        let mut optimiser = optimiser(&self.plan, self.info, &self.hp);
        let losses = self.arrays["traj_loss"].values.clone();
        assert_eq!(losses.len() as f64, self.arrays["traj_steps"].values[0], "{}", self.file);
        for (t, expected) in losses.iter().enumerate() {
            let loss = self.plan.gradient(&mut self.work, &params, &targets, &dropout);
            let what = format!("{}: loss before step {t}", self.file);
            assert_close(&what, &[loss], &[*expected], 1.0, tolerance);
            if t == 0 {
                assert_close(&what, &[loss], &self.arrays["loss"].values, 1.0, tolerance);
                self.assert_params("grad", self.work.gradients(), tolerance);
            }
            optimiser.step(&mut params, self.work.gradients());
            if t == 0 {
                self.assert_params("after1", &params, tolerance);
            }
        }
        self.assert_params("afterN", &params, tolerance);
        self.assert_log_probabilities("afterN_logprobs", &params, tolerance);
    }
}

/// Hyper-parameters of the optimisers from `hp_json`, of the model from scalars; dropout off.
fn hyper_parameters(info: &'static ModelInfo, arrays: &BTreeMap<String, Array>) -> Params {
    let mut hp = Setting::defaults(info).hp;
    let stored: serde_json::Value = serde_json::from_str(&arrays["hp_json"].text).unwrap();
    for (theirs, ours) in KEYS {
        hp.set(ours, &stored[theirs].to_string()).unwrap();
    }
    for (theirs, ours) in [("K", "K"), ("H", "hidden"), ("lamda", "lambda")] {
        hp.set(ours, &arrays[theirs].values[0].to_string()).unwrap();
    }
    hp
}

/// The reference's name of a parameter: `fcs.0.weight` for `w_in`, `convs.3.bias` for `conv.3.b`.
fn reference_name(ours: &str) -> String {
    match ours {
        "alpha" => "alpha_params".into(),
        "w_in" => "fcs.0.weight".into(),
        "b_in" => "fcs.0.bias".into(),
        "w_out" => "fcs.1.weight".into(),
        "b_out" => "fcs.1.bias".into(),
        _ => ours.replace("conv.", "convs.").replace(".w", ".weight").replace(".b", ".bias"),
    }
}

/// A stored parameter in our layout: alpha reversed, dense weights transposed.
fn our_layout(param: &Param, values: &[f64]) -> Vec<f64> {
    match param.name.as_str() {
        "alpha" => values.iter().rev().copied().collect(),
        "w_in" | "w_out" => {
            let entry = |i: usize| values[i % param.cols * param.rows + i / param.cols];
            (0..values.len()).map(entry).collect()
        }
        _ => values.to_vec(),
    }
}

#[test]
fn losses_gradients_and_parameters_match_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden-training");
    for path in npz::fixtures(&folder) {
        Trajectory::read(&path).check(1e-11);
    }
}

/// Two blocks under prescribed gradients, compared with the program of the authors of asymmetric learning.
#[test]
fn asymmetric_learning_agrees_with_the_authors_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-optimiser");
    let arrays = npz::read(&Path::new(folder).join("asym_adam.steps.npz"));
    let hp = |key: &str| arrays[&format!("hp.{key}")].values[0];
    assert_eq!(["beta1", "beta2", "eps", "beta_norm"].map(hp), [0.9, 0.999, 1e-8, 0.9]);
    assert_eq!(hp("warmup"), 10.0);
    let settings = |block: &str| OptimiserSettings {
        rule: UpdateRule::Adam,
        rate: hp(&format!("lr_{block}")),
        decay: hp(&format!("wd_{block}")),
    };
    let (theta, w) = (&arrays["theta"], &arrays["w"]);
    let (n_theta, n_w) = (theta.shape[1], w.shape[1]);
    // The block of `w` consists of two ranges.
    let ranges = vec![
        (0..4, settings("w")),
        (4..4 + n_theta, settings("theta")),
        (4 + n_theta..n_w + n_theta, settings("w")),
    ];
    let together = |theta: &[f64], w: &[f64]| [&w[..4], theta, &w[4..]].concat();
    let row = |array: &Array, step: usize| {
        let cols = array.shape[1];
        array.values[step * cols..(step + 1) * cols].to_vec()
    };
    let blocks = vec![Some(1), Some(0), Some(1)];
    let mut optimiser = Optimiser::<f64>::new(ranges).with_blocks(blocks);
    let mut params = together(&row(theta, 0), &row(w, 0));
    for step in 0..16 {
        let grads = together(&row(&arrays["grads.theta"], step), &row(&arrays["grads.w"], step));
        optimiser.step(&mut params, &grads);
        let expected = together(&row(theta, step + 1), &row(w, step + 1));
        assert_close(&format!("step {}", step + 1), &params, &expected, 1.0, 1e-12);
    }
}

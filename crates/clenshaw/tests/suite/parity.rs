//! Scores, loss and gradients compared with stored results of public implementations.
//!
//! Checks every file of `$GOLDEN_DIR`, by default `tests/golden`; an unknown model is a failure.

use crate::common::npz::{self, Array};
use crate::common::{assert_close, largest};
use clenshaw::graph::{Graph, operator};
use clenshaw::hyper::{Params, ValueRange};
use clenshaw::model::{self, ModelInfo, Net};
use clenshaw::rng::Stream;
use clenshaw::tensor::{Mat, Plan, RUNNING, Real, ThreadTeam};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Arrays = BTreeMap<String, Array>;

fn fixtures() -> Vec<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let folder = std::env::var_os("GOLDEN_DIR").map_or(PathBuf::from(default), PathBuf::from);
    npz::fixtures(&folder)
}

/// The model and hyper-parameters of a fixture, with dropout off.
fn model_of(path: &Path, arrays: &Arrays) -> (&'static ModelInfo, Params) {
    let file = path.file_name().unwrap().to_str().unwrap();
    let name = file.split('.').next().unwrap().replace('_', "-");
    let info = model::find(&name).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut hp = info.defaults();
    for hyper in info.hyper_params().filter(|h| h.name.starts_with("dropout")) {
        hp.set(hyper.name, "0").unwrap();
    }
    for (key, array) in arrays {
        let Some(key) = key.strip_prefix("hp.") else { continue };
        let value = array.values[0];
        let hyper = info.hyper_params().find(|h| h.name == key);
        match key {
            "features" | "classes" | "train" => continue,
            // Constants here; see `RUNNING` for the momentum.
            "bn_eps" | "ln_eps" if hyper.is_none() => {
                assert_eq!(value, 1e-5, "{file}: {key}");
                continue;
            }
            "bn_momentum" => {
                assert_eq!(value, 0.1, "{file}: {key}");
                continue;
            }
            _ => {}
        }
        // Fixtures of GCN+JK select one of two joins by a flag.
        let key = if key == "concat" { "join" } else { key };
        let hyper = info.hyper_params().find(|h| h.name == key);
        let text = match hyper.unwrap_or_else(|| panic!("{file}: no `{key}`")).range {
            ValueRange::OneOf(words) => words[value as usize].to_owned(),
            _ => value.to_string(),
        };
        hp.set(key, &text).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
    // Fixtures that state the number of convolutions have a dense layer after all of them.
    if hp.has("head") && arrays.contains_key("hp.layers") {
        hp.set("head", "dense").unwrap();
    }
    (info, hp)
}

fn net_of(info: &ModelInfo, arrays: &Arrays) -> Net {
    let x = &arrays["x"];
    let (n, f) = (x.shape[0], x.shape[1]);
    let pairs = arrays["edges"].values.chunks_exact(2);
    let edges: Vec<(u32, u32)> = pairs.map(|e| (e[0] as u32, e[1] as u32)).collect();
    let graph = Graph::from_edges("fixture", n, &edges).unwrap();
    let p = info.operator.map(|kind| operator(&graph, kind));
    let x = Mat::from_vec(n, f, x.values.clone());
    Net::dense(x, p, arrays["hp.classes"].values[0] as usize).with_graph(&graph)
}

/// Whether the fixture was computed with the statistics of the batch instead of running ones.
fn is_training(arrays: &Arrays) -> bool {
    arrays.get("hp.train").is_some_and(|train| train.values[0] == 1.0)
}

/// Compares scores, loss and gradients with a fixture and, in training mode, the running statistics after the
/// step instead of the scores.
fn check<T: Real>(path: &Path, tolerance: f64) {
    let arrays = npz::read(path);
    let file = path.file_name().unwrap().to_str().unwrap();
    let (info, hp) = model_of(path, &arrays);
    let mut net = net_of(info, &arrays);
    let logits = (info.build)(&mut net, &hp);
    let plan = match is_training(&arrays) {
        true => Plan::<T>::compile(&net, logits),
        false => Plan::<T>::compile_frozen(&net, logits),
    };

    let params = plan.param_vector(|param| {
        let kind = if param.group == RUNNING { "buf" } else { "param" };
        let key = format!("{kind}.{}", param.name);
        let array = arrays.get(&key).unwrap_or_else(|| panic!("{file}: no {key}"));
        assert_eq!(array.values.len(), param.rows * param.cols, "{file}: {key}");
        array.values.clone()
    });
    let is_state = |key: &&String| key.starts_with("param.") || key.starts_with("buf.");
    let stored = arrays.keys().filter(is_state).count();
    assert_eq!(stored, plan.params().len(), "{file}: number of parameters");

    let mut work = plan.workspace(ThreadTeam::new(1));
    if !is_training(&arrays) {
        let expected = &arrays["logits"].values;
        let scores = plan.scores(&mut work, &params);
        assert_close(&format!("{file}: logits"), scores, expected, largest(expected), tolerance);
    }

    let targets = npz::targets(&arrays);
    let loss = plan.gradient(&mut work, &params, &targets, &Stream::new(0, "dropout"));
    assert_close(&format!("{file}: loss"), &[loss], &arrays["loss"].values, 1.0, tolerance);

    let grads = arrays.iter().filter(|(key, _)| key.starts_with("grad."));
    let scale = grads.map(|(_, array)| largest(&array.values)).fold(0.0, f64::max);
    let learned = plan.params().iter().zip(plan.ranges());
    for (param, range) in learned.filter(|(param, _)| param.group != RUNNING) {
        let key = format!("grad.{}", param.name);
        let what = format!("{file}: {key}");
        assert_close(&what, &work.gradients()[range], &arrays[&key].values, scale, tolerance);
    }
    if is_training(&arrays) {
        check_running_statistics(file, &plan, &params, work.gradients(), &arrays, tolerance);
    }
}

/// Compares the running statistics after a step of rate 0.1 with a fixture.
fn check_running_statistics<T: Real>(
    file: &str,
    plan: &Plan<T>,
    params: &[T],
    gradients: &[T],
    arrays: &Arrays,
    tolerance: f64,
) {
    let mut n_checked = 0;
    let statistics = plan.params().iter().zip(plan.ranges());
    for (param, range) in statistics.filter(|(param, _)| param.group == RUNNING) {
        let after: Vec<f64> =
            range.map(|i| params[i].to_f64() - 0.1 * gradients[i].to_f64()).collect();
        let expected = &arrays[&format!("aux.{}_after", param.name)].values;
        let what = format!("{file}: {} after the step", param.name);
        assert_close(&what, &after, expected, largest(expected), tolerance);
        n_checked += 1;
    }
    let n_stored = arrays.keys().filter(|key| key.ends_with("_after")).count();
    assert!(n_checked > 0 && n_checked == n_stored, "{file}: {n_checked} of {n_stored} statistics");
}

#[test]
fn f64_agrees_to_ten_digits() {
    for path in fixtures() {
        check::<f64>(&path, 1e-10);
    }
}

#[test]
fn f32_agrees_within_its_precision() {
    for path in fixtures() {
        // The phases of Specformer, 100 times an eigenvalue, amplify rounding.
        let is_sensitive = path.file_name().unwrap().to_str().unwrap().starts_with("specformer");
        check::<f32>(&path, if is_sensitive { 2e-4 } else { 2e-5 });
    }
}

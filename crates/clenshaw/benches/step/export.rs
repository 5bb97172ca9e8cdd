//! Writes the input of all programs that `cargo xtask bench-peers` compares, in one folder.
//!
//! ```text
//! graph.graph          the graph, for this program
//! run.toml             model, split and hyper-parameters, for this program
//! initial.safetensors  the initial parameters by name
//! peer.safetensors     the operator P, the scaled features X, labels and training nodes, for the others
//! settings.json        hyper-parameters, optimisers, and the expected losses, for the others
//! ```
//!
//! Noise is added to parameters with fixed initial values: with ClenshawGCN's own initialisation every
//! inner layer is zero, and comparing the loss would test little of the layers.

use super::{Outcome, Training, apply_settings, generate};
use clenshaw::data::{self, Dataset, Features, Scaler, Scaling, SplitKind, Store, graph_file};
use clenshaw::experiment::Request;
use clenshaw::graph::operator;
use clenshaw::model::OptimiserKind;
use clenshaw::rng::Stream;
use clenshaw::tensor::{AlignedVec, Init, Mat, Operator, Pattern};
use clenshaw::train::{Setup, write_weights};
use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The bound of the noise added to parameters with fixed initial values.
const NOISE: f64 = 0.05;

/// Writes all files listed in the module doc, and prints the source of the graph and the expected losses.
pub fn export(folder: &Path, graph: &str, model: &str, settings: &[&str]) -> Outcome {
    fs::create_dir_all(folder)?;
    let mut request = Request::new(generate::preset_name(graph), model)?;
    if request.has_preset() {
        request.apply_preset("paper")?;
    }
    // A generated graph has none of the splits that the public one has.
    request.split = SplitKind::Balanced;
    apply_settings(&mut request, settings)?;
    let dataset = match request.split.is_published() {
        true => request.load(&Store::new(None))?,
        false => load(graph)?,
    };
    graph_file::save(&dataset, &folder.join("graph.graph"))?;
    fs::write(folder.join("peer.safetensors"), tensors(&request, &dataset)?)?;

    let setup = Setup::new(dataset.clone(), request.model, request.hyper.clone())?;
    let initial = noisy_initial_params(&setup, request.seed);
    let named: Vec<(String, Mat<f32>)> = setup.named_params(&initial);
    fs::write(folder.join("initial.safetensors"), write_weights(&named, "{}"))?;
    let losses = losses(&request, &dataset, initial)?;
    fs::write(folder.join("settings.json"), settings_json(&request, &setup, losses).to_string())?;

    request.graph = folder.join("graph.graph").display().to_string();
    fs::write(folder.join("run.toml"), request.to_toml())?;
    println!("{}", json!({ "source": source(&dataset), "losses": losses }));
    Ok(())
}

/// The public graph if its files are available; otherwise, a generated graph of the same size.
fn load(graph: &str) -> Outcome<Dataset> {
    data::load_from(&Store::new(None), graph)
        .or_else(|error| generate::graph_like(graph).ok_or(error.into()))
}

/// `real` for the public graph, or `generated`.
fn source(dataset: &Dataset) -> &'static str {
    if dataset.source == "generated" { "generated" } else { "real" }
}

/// The initial parameters, with noise added to those with fixed initial values.
fn noisy_initial_params(setup: &Setup, seed: u64) -> AlignedVec<f32> {
    let mut params = setup.initial_params(seed);
    let stream = Stream::new(seed, "bench");
    for (param, range) in setup.plan().params().iter().zip(setup.plan().ranges()) {
        if !matches!(param.init, Init::Uniform(_)) {
            let mut stream = stream.named(&param.name);
            params[range].iter_mut().for_each(|w| *w += stream.symmetric(NOISE) as f32);
        }
    }
    params
}

/// The loss before and after one step from the initial parameters, without dropout.
fn losses(request: &Request, dataset: &Dataset, initial: AlignedVec<f32>) -> Outcome<[f64; 2]> {
    let mut request = request.clone();
    let names: Vec<&str> = request.hyper.iter().map(|(hyper, _)| hyper.name).collect();
    for name in names.into_iter().filter(|name| name.starts_with("dropout")) {
        request.set(name, "0")?;
    }
    let mut training = Training::new(&request, dataset, 1)?;
    training.params = initial;
    let first = training.loss();
    training.step();
    Ok([first, training.loss()])
}

fn settings_json(request: &Request, setup: &Setup, losses: [f64; 2]) -> Value {
    let group = |group: &clenshaw::model::OptimiserGroup| {
        let params = setup.plan().params().iter().filter(|param| param.group == group.name);
        let (rule, momentum) = match group.kind {
            OptimiserKind::Adam => ("adam", 0.0),
            OptimiserKind::AdamW => ("adamw", 0.0),
            OptimiserKind::Momentum(key) => ("momentum", setup.hp().real(key)),
        };
        json!({
            "params": params.map(|param| &param.name).collect::<Vec<_>>(),
            "rule": rule,
            "momentum": momentum,
            "rate": setup.hp().real(group.rate),
            "decay": group.weight_decay(setup.hp()),
        })
    };
    let groups: Vec<Value> = setup.info().groups.iter().map(group).collect();
    json!({ "model": request.model.name, "hyper": setup.hp(), "groups": groups, "losses": losses })
}

/// One named array.
struct Array {
    name: &'static str,
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    fn ints(name: &'static str, values: impl Iterator<Item = u32>) -> Self {
        let bytes: Vec<u8> = values.flat_map(|value| (value as i32).to_le_bytes()).collect();
        Self { name, kind: Dtype::I32, shape: vec![bytes.len() / 4], bytes }
    }

    fn reals(name: &'static str, shape: Vec<usize>, values: impl Iterator<Item = f32>) -> Self {
        let bytes = values.flat_map(f32::to_le_bytes).collect();
        Self { name, kind: Dtype::F32, shape, bytes }
    }
}

/// The contents of `peer.safetensors`.
fn tensors(request: &Request, dataset: &Dataset) -> Outcome<Vec<u8>> {
    let kind =
        request.model.operator.ok_or("the model uses no operator; expected one that does")?;
    let p = operator(&dataset.graph, kind);
    let train = request.split.draw(dataset, request.seed)?.train().to_vec();
    let scaling: Scaling = request.hyper.choice("scaling");
    let mut arrays = operator_arrays(&p);
    arrays.extend(feature_arrays(&Scaler::fit(scaling, &dataset.x).apply(&dataset.x)));
    arrays.push(Array::ints("y", dataset.y.iter().map(|y| y.unwrap_or(0))));
    arrays.push(Array::ints("train", train.into_iter()));
    let views = arrays.iter().map(|array| {
        let view = TensorView::new(array.kind, array.shape.clone(), &array.bytes);
        (array.name, view.expect("the bytes were made from the shape"))
    });
    Ok(safetensors::serialize(views, None)?)
}

fn operator_arrays(p: &Operator) -> Vec<Array> {
    let value = |(i, j): (usize, u32)| (p.scale()[i] * p.scale()[j as usize]) as f32;
    let entries = |i: usize| p.pattern().row(i).iter().map(move |&j| (i, j));
    let values = (0..p.n_nodes()).flat_map(entries).map(value);
    let [offsets, indices] = pattern_arrays(["p.offsets", "p.indices"], p.pattern());
    vec![offsets, indices, Array::reals("p.values", vec![p.pattern().n_entries()], values)]
}

fn feature_arrays(x: &Features) -> Vec<Array> {
    let values = x.values().iter().copied();
    match x {
        Features::Dense(x) => vec![Array::reals("x", vec![x.rows(), x.cols()], values)],
        Features::Sparse { pattern, .. } => {
            let [offsets, indices] = pattern_arrays(["x.offsets", "x.indices"], pattern);
            let columns = Array::ints("x.columns", std::iter::once(pattern.n_cols() as u32));
            vec![offsets, indices, columns, Array::reals("x.values", vec![values.len()], values)]
        }
    }
}

fn pattern_arrays([offsets, indices]: [&'static str; 2], pattern: &Pattern) -> [Array; 2] {
    [
        Array::ints(offsets, pattern.offsets().iter().map(|&offset| offset as u32)),
        Array::ints(indices, pattern.indices().iter().copied()),
    ]
}

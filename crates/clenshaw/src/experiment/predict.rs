//! Predictions of a trained run for every node of a graph.

use super::folder::RunFolder;
use super::record::best_record;
use super::{Request, RunRecord};
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::tensor::Mat;
use crate::train::{TrainedModel, most_likely};
use std::fmt::Write;
use std::path::Path;

/// Class probabilities for every node.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// Names of the nodes; empty if they are numbered.
    pub node_names: Vec<String>,
    /// Names of the classes.
    pub class_names: Vec<String>,
    /// Probability of each class for each node, `[n, C]`.
    pub probabilities: Mat<f32>,
    /// For each node, the part of the split that contains it: `train`, `val` or `test`, or empty if none
    /// does.
    pub parts: Vec<&'static str>,
    /// For each node, whether it has a label.
    pub is_labelled: Vec<bool>,
    /// Warnings about the graph and about how it was read.
    pub warnings: Vec<String>,
}

impl Predictions {
    pub(super) fn new(dataset: &Dataset, split: Option<&Split>, probabilities: Mat<f32>) -> Self {
        let mut parts = vec![""; dataset.graph.n_nodes()];
        let lists = split.map(|split| split.parts().into_iter().zip(["train", "val", "test"]));
        for (nodes, part) in lists.into_iter().flatten() {
            nodes.iter().for_each(|&i| parts[i as usize] = part);
        }
        let (node_names, class_names) = (dataset.node_names.clone(), dataset.class_names.clone());
        let is_labelled = dataset.y.iter().map(Option::is_some).collect();
        let warnings = dataset.warnings.clone();
        Self { node_names, class_names, probabilities, parts, is_labelled, warnings }
    }

    /// The name of a node, or its number from 0.
    pub fn node_name(&self, node: usize) -> String {
        self.node_names.get(node).map_or_else(|| node.to_string(), String::clone)
    }

    /// The index of the most likely class of a node.
    pub fn class(&self, node: usize) -> usize {
        most_likely(self.probabilities.row(node)) as usize
    }

    /// CSV of these nodes with the columns `node`, `prediction`, one probability per class, and `part`.
    pub fn to_csv(&self, nodes: &[usize]) -> String {
        let classes: Vec<String> = self.class_names.iter().map(|name| csv_field(name)).collect();
        let mut csv = format!("node,prediction,{},part\n", classes.join(","));
        for &node in nodes {
            write!(csv, "{},{}", csv_field(&self.node_name(node)), classes[self.class(node)])
                .expect("writing to a string cannot fail");
            for probability in self.probabilities.row(node) {
                write!(csv, ",{probability:.6}").expect("writing to a string cannot fail");
            }
            writeln!(csv, ",{}", self.parts[node]).expect("writing to a string cannot fail");
        }
        csv
    }
}

/// A finished run of a run folder.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// The request of the folder.
    pub request: Request,
    /// The scores of the run.
    pub record: RunRecord,
    /// The digest of the graph that it was trained on, see [`Dataset::sha256`]; `None` if it was not stored.
    pub data_sha256: Option<String>,
}

impl FinishedRun {
    /// A warning if this is not the graph that the run was trained on.
    pub fn change_warning(&self, dataset: &Dataset) -> Option<String> {
        change_warning(dataset, self.data_sha256.as_ref()?)
    }
}

/// A warning if a graph has another digest than when a model was trained.
pub(super) fn change_warning(dataset: &Dataset, trained_sha256: &str) -> Option<String> {
    let name = &dataset.name;
    (dataset.sha256() != trained_sha256)
        .then(|| format!("`{name}` has changed since the model was trained"))
}

/// Reads the finished run with this seed or, without `seed`, the one with the lowest validation loss. Fails
/// if there is no such run.
pub fn read_run(folder: &Path, seed: Option<u64>) -> Result<FinishedRun> {
    let (files, request) = RunFolder::open_existing(folder)?;
    let place = folder.display().to_string();
    let record = choose_run(&files, &request, &place, seed)?;
    let data_sha256 = files.fingerprint()?.map(|stored| stored.data_sha256);
    Ok(FinishedRun { request, record, data_sha256 })
}

/// Applies a trained run to the graph it was trained on, or to another graph with the same features.
///
/// Without `seed`, the finished run with the lowest validation loss is used. Fails if there is no such run, if
/// the model or the graph cannot be loaded or they do not match, or if the split cannot be drawn.
pub fn predict(
    folder: &Path,
    store: &Store,
    graph: Option<&str>,
    seed: Option<u64>,
    threads: usize,
) -> Result<Predictions> {
    let (files, request) = RunFolder::open_existing(folder)?;
    let place = folder.display().to_string();
    let seed = choose_run(&files, &request, &place, seed)?.seed;
    let model = trained_model(&files, &place, seed)?;
    match graph.filter(|graph| *graph != request.graph) {
        Some(graph) => predict_with(&model, store, graph, threads),
        None => {
            let mut dataset = request.load(store)?;
            let changed = change_warning(&dataset, &model.provenance().data_sha256);
            let changed = changed.map(|text| format!("{text}; its parts of the split may differ"));
            dataset.warnings.extend(changed);
            let split = request.split.draw(&dataset, seed)?;
            let probabilities = model.predict(&dataset, threads)?;
            Ok(Predictions::new(&dataset, Some(&split), probabilities))
        }
    }
}

/// Applies a trained model to a graph. All [`parts`](Predictions::parts) are empty. Fails if the graph cannot
/// be loaded or does not match the model.
pub fn predict_with(
    model: &TrainedModel,
    store: &Store,
    graph: &str,
    threads: usize,
) -> Result<Predictions> {
    let dataset = model.load_graph(store, graph)?;
    let probabilities = model.predict(&dataset, threads)?;
    let dataset = Dataset { class_names: model.class_names().to_vec(), ..dataset };
    Ok(Predictions::new(&dataset, None, probabilities))
}

/// Reads the trained model of a finished run; `place` is the path of the folder. Fails if the file is missing or
/// damaged.
pub(super) fn trained_model(files: &RunFolder, place: &str, seed: u64) -> Result<TrainedModel> {
    let file = format!("{place}/runs/{seed}/model.safetensors");
    TrainedModel::from_bytes(&file, &files.read(seed, "model.safetensors")?)
}

/// Returns the record of the finished run with this seed or, without `seed`, of the finished run with the
/// lowest validation loss; fails if there is no such run.
pub(super) fn choose_run(
    files: &RunFolder,
    request: &Request,
    place: &str,
    seed: Option<u64>,
) -> Result<RunRecord> {
    let records = finished_records(files, request, place, seed)?;
    Ok(best_record(&records).expect("there is a finished run").clone())
}

/// Returns the record of the finished run with this seed or, without `seed`, of all finished runs; fails if
/// there is no such run.
pub(super) fn finished_records(
    files: &RunFolder,
    request: &Request,
    place: &str,
    seed: Option<u64>,
) -> Result<Vec<RunRecord>> {
    let seeds = request.seeds();
    let mut records = Vec::new();
    for candidate in seeds.filter(|candidate| seed.is_none_or(|seed| seed == *candidate)) {
        records.extend(files.record(candidate)?);
    }
    match (records.is_empty(), seed) {
        (false, _) => Ok(records),
        (true, Some(seed)) => {
            let problem = format!("no finished run with seed {seed}");
            Err(Error::Data { place: place.into(), problem })
        }
        (true, None) => Err(Error::Unfinished { folder: place.into() }),
    }
}

/// A CSV field, in quotes if necessary.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

//! Predictions of a trained run for every node of a graph.

use super::folder::RunFolder;
use super::record::best_record;
use super::{Request, RunRecord};
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::tensor::Mat;
use crate::train::{PrecomputeOptions, TrainedModel, most_likely};
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
    /// Warnings about the graph, how it was read, and how it differs from the training graph.
    pub warnings: Vec<String>,
}

impl Predictions {
    /// Predictions for all nodes of `dataset`, with its class names; without a split, all parts are empty.
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
    /// A warning if this is not the graph that the run was trained on; `None` also if its digest was not stored.
    pub fn change_warning(&self, dataset: &Dataset) -> Option<String> {
        change_warning(dataset, self.data_sha256.as_ref()?)
    }
}

/// A warning if the digest of a graph is not that of the graph on which a model was trained.
pub(super) fn change_warning(dataset: &Dataset, trained_sha256: &str) -> Option<String> {
    let name = &dataset.name;
    (dataset.sha256() != trained_sha256)
        .then(|| format!("`{name}` has changed since the model was trained"))
}

/// Reads the finished run with this seed or, without `seed`, the best one, see
/// [`Summary::best_run`](super::Summary::best_run). Fails if there is no such run or a record is invalid.
pub fn read_run(folder: &Path, seed: Option<u64>) -> Result<FinishedRun> {
    let (files, request) = RunFolder::open_existing(folder)?;
    let place = folder.display().to_string();
    let record = choose_run(&files, &request, &place, seed)?;
    let data_sha256 = files.fingerprint()?.map(|stored| stored.data_sha256);
    Ok(FinishedRun { request, record, data_sha256 })
}

/// Applies a trained run to the graph it was trained on, or to another graph with the same features.
///
/// Without `seed`, the best finished run is used, see [`Summary::best_run`](super::Summary::best_run). On another
/// graph, all [`parts`](Predictions::parts) are empty. Fails if there is no such run, if the model or the graph
/// cannot be loaded or they do not match, or if the split cannot be drawn.
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
            let changed = changed
                .map(|text| format!("{text}; its split may differ from the one used in training"));
            dataset.warnings.extend(changed);
            let split = request.split.draw(&dataset, seed)?;
            let probabilities = apply(&model, &dataset, store, threads)?;
            // If the labels have changed, the graph may have other classes than the model.
            dataset.class_names = model.class_names().to_vec();
            Ok(Predictions::new(&dataset, Some(&split), probabilities))
        }
    }
}

/// The probabilities of a model. The terms of a precomputed filter that do not fit into memory are stored in the
/// cache.
fn apply(
    model: &TrainedModel,
    dataset: &Dataset,
    store: &Store,
    threads: usize,
) -> Result<Mat<f32>> {
    let folder = store.precomputed_folder();
    let options =
        PrecomputeOptions { folder: folder.as_deref(), threads, ..PrecomputeOptions::default() };
    model.predict_precomputing(dataset, threads, &options)
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
    let probabilities = apply(model, &dataset, store, threads)?;
    let dataset = Dataset { class_names: model.class_names().to_vec(), ..dataset };
    Ok(Predictions::new(&dataset, None, probabilities))
}

/// Reads the trained model of a finished run; `place` is the path of the folder. Fails if the file is missing or
/// damaged.
pub(super) fn trained_model(files: &RunFolder, place: &str, seed: u64) -> Result<TrainedModel> {
    let file = format!("{place}/runs/{seed}/model.safetensors");
    TrainedModel::from_bytes(&file, &files.read(seed, "model.safetensors")?)
}

/// Returns the record of the finished run with this seed or, without `seed`, of the best finished run, see
/// [`best_record`]; fails if there is no such run or a record is invalid.
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
/// there is no such run or a record is invalid.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{RunOptions, TrainingJob, run};
    use std::fs;
    use std::sync::atomic::AtomicBool;

    /// Writes a ring of 20 nodes with the classes `a` and `b`; the first node has the label `first`.
    fn write_graph(folder: &Path, first: &str) {
        let mut nodes = format!("id,label,x\n0,{first},0\n");
        let mut edges = "source,target\n0,1\n".to_owned();
        for i in 1..20 {
            let label = if i % 2 == 0 { "a" } else { "b" };
            writeln!(nodes, "{i},{label},{}", i % 2).unwrap();
            writeln!(edges, "{i},{}", (i + 1) % 20).unwrap();
        }
        fs::write(folder.join("nodes.csv"), nodes).unwrap();
        fs::write(folder.join("edges.csv"), edges).unwrap();
    }

    #[test]
    fn predictions_on_a_changed_graph_have_the_classes_of_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let (graph, out) = (folder.path().join("mine"), folder.path().join("run"));
        fs::create_dir(&graph).unwrap();
        write_graph(&graph, "a");
        let mut request = Request::new(&graph.display().to_string(), "mlp").unwrap();
        request.set("max_epochs", "2").unwrap();
        request.set("split", "ratio:60/20/20").unwrap();
        let options = RunOptions {
            threads: 1,
            store: &Store::only(folder.path()),
            resume: false,
            on_event: &|_, _| {},
            cancel: &AtomicBool::new(false),
        };
        run(&TrainingJob { request, folder: Some(out.clone()) }, &options).unwrap();

        // The graph now has a third class, and it is the first one.
        write_graph(&graph, "New");
        let predictions = predict(&out, options.store, None, None, 1).unwrap();
        assert_eq!(predictions.class_names, ["a", "b"]);
        assert!(predictions.to_csv(&[0]).starts_with("node,prediction,a,b,part\n"));
        let warning = predictions.warnings.last().unwrap();
        assert!(warning.contains("has changed since the model was trained"), "{warning}");
    }
}

//! Predictions of a trained run for every node of a graph.

use super::folder::RunFolder;
use super::record::best_record;
use super::{Request, RunRecord};
use crate::data::{self, Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::tensor::Mat;
use crate::train::{Setup, most_likely, read_weights};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Class probabilities for every node.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// Names of the nodes; empty if they are numbered.
    pub node_names: Vec<String>,
    /// Names of the classes.
    pub class_names: Vec<String>,
    /// Probability of each class for each node, `[n, C]`.
    pub probabilities: Mat<f32>,
    /// The part of the split each node is in: `train`, `val`, `test` or empty.
    pub parts: Vec<&'static str>,
}

impl Predictions {
    pub(super) fn new(dataset: &Dataset, split: Option<&Split>, probabilities: Mat<f32>) -> Self {
        let mut parts = vec![""; dataset.graph.n_nodes()];
        let lists = split.map(|split| split.parts().into_iter().zip(["train", "val", "test"]));
        for (nodes, part) in lists.into_iter().flatten() {
            nodes.iter().for_each(|&i| parts[i as usize] = part);
        }
        let (node_names, class_names) = (dataset.node_names.clone(), dataset.class_names.clone());
        Self { node_names, class_names, probabilities, parts }
    }

    /// CSV with the columns `node`, `prediction`, one per class, and `part`.
    pub fn to_csv(&self) -> String {
        let classes: Vec<String> = self.class_names.iter().map(|name| quoted(name)).collect();
        let mut csv = format!("node,prediction,{},part\n", classes.join(","));
        for (i, part) in self.parts.iter().enumerate() {
            let row = self.probabilities.row(i);
            let node = self.node_names.get(i).map_or_else(|| i.to_string(), |name| quoted(name));
            write!(csv, "{node},{}", classes[most_likely(row) as usize])
                .expect("writing to a string cannot fail");
            row.iter()
                .for_each(|p| write!(csv, ",{p:.6}").expect("writing to a string cannot fail"));
            writeln!(csv, ",{part}").expect("writing to a string cannot fail");
        }
        csv
    }
}

/// Applies a trained run to the graph it was trained on, or to another graph with the same features and
/// classes.
///
/// Without `seed`, the run with the lowest validation loss is used.
pub fn predict(
    folder: &Path,
    store: &Store,
    graph: Option<&str>,
    seed: Option<u64>,
    threads: usize,
) -> Result<Predictions> {
    let (files, request) = RunFolder::open_existing(folder)?;
    let place = folder.display().to_string();
    let seed = choose(&files, &request, &place, seed)?.seed;
    let other = graph.filter(|graph| *graph != request.graph);
    let dataset = match other {
        Some(graph) => data::load_from(store, graph)?,
        None => request.load(store)?,
    };
    let dataset = Arc::new(dataset);
    let setup = Setup::new(dataset.clone(), request.model, request.hyper.clone())?;
    let file = format!("{place}/runs/{seed}/model.safetensors");
    let stored = read_weights(&file, &files.read(seed, "model.safetensors")?)?.tensors;
    let params = setup.params_from(&file, &stored)?;
    let split = match other {
        Some(_) => None,
        None => Some(request.split.draw(&dataset, seed)?),
    };
    Ok(Predictions::new(&dataset, split.as_ref(), setup.predict(&params, threads)))
}

fn choose(
    files: &RunFolder,
    request: &Request,
    place: &str,
    seed: Option<u64>,
) -> Result<RunRecord> {
    let seeds = request.seeds();
    let mut records = Vec::new();
    for candidate in seeds.filter(|candidate| seed.is_none_or(|seed| seed == *candidate)) {
        records.extend(files.record(candidate)?);
    }
    best_record(&records).cloned().ok_or_else(|| match seed {
        Some(seed) => {
            let problem = format!("no finished run with seed {seed}");
            Error::Data { place: place.into(), problem }
        }
        None => Error::Unfinished { folder: place.into() },
    })
}

/// A CSV field, quoted if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

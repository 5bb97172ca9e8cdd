//! What a trained run says about every node.

use super::folder::Folder;
use super::record::best;
use super::{Record, Request};
use crate::data::{self, Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::tensor::Mat;
use crate::train::{Setup, most_likely, read_weights};
use std::fmt::Write;
use std::path::Path;

/// A class and its probabilities for every node.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// What the nodes are called; empty when they are called by their numbers.
    pub node_names: Vec<String>,
    /// What the classes are called.
    pub class_names: Vec<String>,
    /// The probability of every class for every node, `[n, C]`.
    pub probabilities: Mat<f32>,
    /// `train`, `val`, `test`, or nothing.
    pub parts: Vec<&'static str>,
}

impl Predictions {
    pub(super) fn new(dataset: &Dataset, split: Option<&Split>, probabilities: Mat<f32>) -> Self {
        let mut parts = vec![""; dataset.graph.n_nodes()];
        let lists = split.map(|s| [(&s.train, "train"), (&s.val, "val"), (&s.test, "test")]);
        for (nodes, part) in lists.into_iter().flatten() {
            nodes.iter().for_each(|&i| parts[i as usize] = part);
        }
        let (node_names, class_names) = (dataset.node_names.clone(), dataset.class_names.clone());
        Self { node_names, class_names, probabilities, parts }
    }

    /// `node,prediction,<one column a class>,part`.
    pub fn to_csv(&self) -> String {
        let classes: Vec<String> = self.class_names.iter().map(|name| quoted(name)).collect();
        let mut csv = format!("node,prediction,{},part\n", classes.join(","));
        for (i, part) in self.parts.iter().enumerate() {
            let row = self.probabilities.row(i);
            let node = self.node_names.get(i).map_or_else(|| i.to_string(), |name| quoted(name));
            write!(csv, "{node},{}", classes[most_likely(row) as usize]).expect("memory grows");
            row.iter().for_each(|p| write!(csv, ",{p:.6}").expect("memory grows"));
            writeln!(csv, ",{part}").expect("memory grows");
        }
        csv
    }
}

/// Applies a run of a folder to its own graph, or to another of the same features and classes.
///
/// Without `seed` it is the run with the lowest validation loss.
pub fn predict(
    folder: &Path,
    store: &Store,
    graph: Option<&str>,
    seed: Option<u64>,
    threads: usize,
) -> Result<Predictions> {
    let (files, request) = Folder::existing(folder)?;
    let place = folder.display().to_string();
    let seed = choose(&files, &request, &place, seed)?.seed;
    let other = graph.filter(|graph| *graph != request.graph);
    let dataset = match other {
        Some(graph) => data::load_from(store, graph)?,
        None => request.load(store)?,
    };
    let setup = Setup::new(&dataset, request.model, request.hyper.clone());
    let file = format!("{place}/runs/{seed}/model.safetensors");
    let stored = read_weights(&file, &files.read(seed, "model.safetensors")?)?.tensors;
    let mut params = setup.plan().zeros();
    for (param, range) in setup.plan().params().iter().zip(setup.plan().ranges()) {
        let (_, found) = stored.iter().find(|(name, _)| *name == param.name).ok_or_else(|| {
            Error::Data { place: file.clone(), problem: format!("no weights `{}`", param.name) }
        })?;
        if (found.rows(), found.cols()) != (param.rows, param.cols) {
            let problem = format!(
                "`{}` is {} x {}, but on {} the model has {} x {}; \
                 predict on a graph with the features and classes of training",
                param.name,
                found.rows(),
                found.cols(),
                dataset.name,
                param.rows,
                param.cols
            );
            return Err(Error::Data { place: file, problem });
        }
        params[range].copy_from_slice(found.as_slice());
    }
    let split = match other {
        Some(_) => None,
        None => Some(request.split.draw(&dataset, seed)?),
    };
    Ok(Predictions::new(&dataset, split.as_ref(), setup.predict(&params, threads)))
}

fn choose(files: &Folder, request: &Request, place: &str, seed: Option<u64>) -> Result<Record> {
    let seeds = request.seeds();
    let mut records = Vec::new();
    for candidate in seeds.filter(|candidate| seed.is_none_or(|seed| seed == *candidate)) {
        records.extend(files.record(candidate)?);
    }
    best(&records).cloned().ok_or_else(|| match seed {
        Some(seed) => {
            let problem = format!("no finished run of seed {seed}");
            Error::Data { place: place.into(), problem }
        }
        None => Error::Unfinished { folder: place.into() },
    })
}

/// A CSV field, in quotes if it must be.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

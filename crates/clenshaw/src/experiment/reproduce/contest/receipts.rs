//! What complete cells were worth, a line of JSON each: all that a table needs of them.
//!
//! ```text
//! <folder>/<experiment>.receipts.jsonl    {"graph": .., "model": .., "hyper": .., "runs": [..], ..}
//! ```
//!
//! A cell that a receipt answers is not trained again, so tables are put together from what several
//! machines measured.

use super::Planned;
use crate::data::Store;
use crate::error::{Error, Result};
use crate::experiment::reproduce::absent;
use crate::experiment::{Occasion, Order, Record, Request, finished_receipt, finished_runs};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The receipts of a folder, one a cell.
#[derive(Clone, Debug)]
pub struct Receipts(Vec<Receipt>);

/// A cell all of whose runs are done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Receipt {
    graph: String,
    model: String,
    split: String,
    hyper: Json,
    version: String,
    data_sha256: String,
    #[serde(flatten)]
    pub occasion: Occasion,
    #[serde(flatten)]
    pub worth: Worth,
}

/// What runs of one cell were worth.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Worth {
    /// Their times added up.
    pub seconds: f64,
    /// The Dirichlet energy of the last hidden layer, in the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    pub runs: Vec<Run>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    seed: u64,
    split_sha256: String,
    pub epochs: usize,
    val_accuracy: f64,
    pub test_accuracy: f64,
    pub roc_auc: Option<f64>,
}

impl Receipts {
    /// Reads every `*.receipts.jsonl` of a folder, by name.
    pub fn read(folder: &Path) -> Result<Self> {
        let wrong = |place: &Path, e: std::io::Error| Error::Data {
            place: place.display().to_string(),
            problem: format!("cannot be read: {e}"),
        };
        let entries = fs::read_dir(folder).map_err(|e| wrong(folder, e))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(".receipts.jsonl"));
        paths.sort();
        let mut receipts = vec![];
        for path in paths {
            let text = fs::read_to_string(&path).map_err(|e| wrong(&path, e))?;
            for (i, line) in text.lines().enumerate() {
                receipts.push(serde_json::from_str(line).map_err(|error| Error::Data {
                    place: format!("{}:{}", path.display(), i + 1),
                    problem: format!("not a receipt: {error}"),
                })?);
            }
        }
        Ok(Self(receipts))
    }

    /// Gives every cell that has none its receipt, if there is one for the same question on the same
    /// data.
    ///
    /// Where the graph is not here, its digest cannot be compared and stays the receipt's word.
    pub fn answer(&self, planned: &mut [Planned], store: &Store) -> Result<()> {
        let mut digests = HashMap::new();
        for planned in planned.iter_mut().filter(|planned| planned.known.is_none()) {
            let request = &planned.order.request;
            let mut known = self.0.iter().filter(|receipt| receipt.answers(request)).peekable();
            if known.peek().is_none() {
                continue;
            }
            let key = (request.graph.clone(), request.split.is_published());
            let here = match digests.get(&key) {
                Some(digest) => digest,
                None => {
                    let digest = digest(request, store)?;
                    &*digests.entry(key).or_insert(digest)
                }
            };
            let same = |receipt: &&Receipt| here.as_ref().is_none_or(|d| *d == receipt.data_sha256);
            planned.known = known.find(same).cloned();
        }
        Ok(())
    }
}

fn digest(request: &Request, store: &Store) -> Result<Option<String>> {
    match request.load(store) {
        Ok(dataset) => Ok(Some(dataset.sha256())),
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Receipt {
    /// The receipt of an order all of whose runs are done.
    pub fn of(order: &Order) -> Result<Option<Self>> {
        let Some(kept) = finished_receipt(order)? else { return Ok(None) };
        let Request { graph, model, split, hyper, .. } = &order.request;
        Ok(Some(Self {
            graph: graph.clone(),
            model: model.name.into(),
            split: split.to_string(),
            hyper: json!(hyper),
            version: kept.version,
            data_sha256: kept.data_sha256,
            occasion: kept.occasion,
            worth: Worth::of(&finished_runs(order)?),
        }))
    }

    fn answers(&self, request: &Request) -> bool {
        let seeds = (0..request.runs as u64).map(|i| request.seed + i);
        self.graph == request.graph
            && self.model == request.model.name
            && self.split == request.split.to_string()
            && self.hyper == json!(request.hyper)
            && self.worth.runs.iter().map(|run| run.seed).eq(seeds)
    }
}

impl Worth {
    pub fn of(records: &[Record]) -> Self {
        let energies: Option<Vec<f64>> = records.iter().map(|run| run.energy).collect();
        let run = |run: &Record| Run {
            seed: run.seed,
            split_sha256: run.split_sha256.clone(),
            epochs: run.epochs,
            val_accuracy: run.val_accuracy,
            test_accuracy: run.test_accuracy,
            roc_auc: run.roc_auc,
        };
        Self {
            seconds: records.iter().map(|run| run.seconds).sum(),
            energy: energies.map(|energies| energies.iter().sum::<f64>() / energies.len() as f64),
            runs: records.iter().map(run).collect(),
        }
    }
}

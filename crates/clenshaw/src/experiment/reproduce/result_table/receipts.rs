//! Receipts: one line of JSON per complete cell, with its settings, the digest of its data, its machine
//! and the scores of its runs.
//!
//! ```text
//! <folder>/<experiment>.receipts.jsonl    {"graph": .., "model": .., "hyper": .., "runs": [..], ..}
//! ```
//!
//! A receipt contains every measurement that a table shows for a cell. A cell with a receipt is not trained
//! again, so a table can be assembled from measurements of several machines.

use super::PlannedCell;
use crate::data::{Dataset, Metric, Store};
use crate::error::{Error, Result};
use crate::experiment::{
    DataFingerprint, Provenance, Request, RunRecord, TrainingJob, finished_job,
};
use crate::files;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;

/// A list of receipts. If it was read from several files, it can contain several receipts of the same cell.
#[derive(Clone, Debug)]
pub struct Receipts(pub(super) Vec<CellReceipt>);

/// The settings, the provenance and the scores of a complete cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CellReceipt {
    graph: String,
    model: String,
    split: String,
    hyper: Json,
    version: String,
    data_sha256: String,
    #[serde(flatten)]
    pub provenance: Provenance,
    #[serde(flatten)]
    pub scores: CellScores,
}

/// The scores of the runs of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CellScores {
    /// Sum of the training times of all runs, in seconds.
    pub seconds: f64,
    /// Mean Dirichlet energy of the last hidden layer; `None` if a run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    pub runs: Vec<RunScores>,
}

/// The scores of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunScores {
    seed: u64,
    split_sha256: String,
    pub epochs: usize,
    val_accuracy: Option<f64>,
    pub test_accuracy: f64,
    pub roc_auc: Option<f64>,
}

impl Receipts {
    /// Reads every `*.receipts.jsonl` of a folder, in the order of their names; fails if the folder or a file
    /// cannot be read or a line is invalid.
    pub fn read_folder(folder: &Path) -> Result<Self> {
        let entries = fs::read_dir(folder).map_err(|e| unreadable(folder, e))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(".receipts.jsonl"));
        paths.sort();
        let files = paths.iter().map(|path| Ok(Self::read_file(path)?.0));
        files.collect::<Result<Vec<_>>>().map(|files| Self(files.concat()))
    }

    /// Reads one file; a missing file has no receipts. Fails if the file cannot be read or a line is invalid.
    pub fn read_file(path: &Path) -> Result<Self> {
        let text = match files::read_text(path) {
            Err(error) if error.is_not_found() => String::new(),
            text => text?,
        };
        let receipt = |(i, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| Error::Data {
                place: format!("{}:{}", path.display(), i + 1),
                problem: format!("not a receipt: {error}"),
            })
        };
        text.lines().enumerate().map(receipt).collect::<Result<_>>().map(Self)
    }

    /// One line of JSON per receipt.
    pub fn to_jsonl(&self) -> String {
        let line = |receipt| serde_json::to_string(receipt).expect("text and numbers only") + "\n";
        self.0.iter().map(line).collect()
    }

    /// Appends the receipts of `others` for cells without a receipt in `self`.
    pub fn merge(mut self, others: Self) -> Self {
        let mut others = others.0;
        others.retain(|other| !self.0.iter().any(|receipt| receipt.key() == other.key()));
        self.0.append(&mut others);
        self
    }

    /// The test score of a run of a model with these hyper-parameters, on the data and the split with these
    /// digests; `None` if there is no receipt of it, or the receipt does not have the metric.
    pub(in crate::experiment::reproduce) fn score(
        &self,
        model: &str,
        hyper: &Json,
        metric: Metric,
        (data_sha256, split_sha256): (&str, &str),
    ) -> Option<f64> {
        let mut own = self.0.iter().filter(|receipt| {
            receipt.model == model && receipt.hyper == *hyper && receipt.data_sha256 == data_sha256
        });
        let is_same = |run: &&RunScores| run.split_sha256 == split_sha256;
        let run = own.find_map(|receipt| receipt.scores.runs.iter().find(is_same))?;
        match metric {
            Metric::Accuracy => Some(run.test_accuracy),
            Metric::RocAuc => run.roc_auc,
        }
    }

    /// Assigns receipts to the cells with the same settings, seeds, data and splits.
    ///
    /// A receipt that a cell already has is kept, unless its data or splits differ from the present ones or
    /// the graph cannot be read. If the graph is not on this machine, data and splits are not compared.
    pub fn apply_to(&self, cells: &mut [PlannedCell], store: &Store) {
        let mut fingerprints = FingerprintCache { store, last: None };
        for cell in cells {
            let request = &cell.job.request;
            let others = self.0.iter().filter(|receipt| receipt.matches(request)).cloned();
            let mut candidates = cell.receipt.take().into_iter().chain(others).peekable();
            if candidates.peek().is_none() {
                continue;
            }
            cell.receipt = match fingerprints.fingerprint(request) {
                Ok(fingerprint) => candidates.find(|receipt| receipt.matches_data(&fingerprint)),
                Err(error) if error.is_not_found() => candidates.next(),
                // The error is reported when the cell is trained.
                Err(_) => None,
            };
        }
    }
}

/// The error for a folder that cannot be read.
fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let problem = format!("cannot be read: {error}");
    Error::Data { place: path.display().to_string(), problem }
}

/// Keeps the last graph, because consecutive cells usually share it.
struct FingerprintCache<'a> {
    store: &'a Store,
    /// The graph's name and whether its split is published; the graph; and its SHA-256.
    last: Option<((String, bool), Dataset, String)>,
}

impl FingerprintCache<'_> {
    /// Computes the fingerprint of a request's data and splits; loads the graph unless it is the last one.
    fn fingerprint(&mut self, request: &Request) -> Result<DataFingerprint> {
        let key = (request.graph.clone(), request.split.is_published());
        if self.last.as_ref().is_none_or(|(last, ..)| *last != key) {
            let dataset = request.load(self.store)?;
            let digest = dataset.sha256();
            self.last = Some((key, dataset, digest));
        }
        let (_, dataset, digest) = self.last.as_ref().expect("assigned above");
        Ok(DataFingerprint::new(digest.clone(), request.seed, &request.splits(dataset)?))
    }
}

impl CellReceipt {
    /// The receipt of a job; `None` unless its folder contains all of its runs. Fails if a file there is invalid.
    pub fn of_job(job: &TrainingJob) -> Result<Option<Self>> {
        let Some((receipt, records)) = finished_job(job)? else { return Ok(None) };
        let Request { graph, model, split, hyper, .. } = &job.request;
        Ok(Some(Self {
            graph: graph.clone(),
            model: model.name.into(),
            split: split.to_string(),
            hyper: json!(hyper),
            version: receipt.version,
            data_sha256: receipt.fingerprint.data_sha256,
            provenance: receipt.provenance,
            scores: CellScores::of_runs(&records),
        }))
    }

    /// The settings and seeds, which identify the cell.
    fn key(&self) -> (&str, &str, &str, &Json, Vec<u64>) {
        let seeds = self.scores.runs.iter().map(|run| run.seed).collect();
        (&self.graph, &self.model, &self.split, &self.hyper, seeds)
    }

    /// Whether the receipt has the settings and seeds of a request.
    fn matches(&self, request: &Request) -> bool {
        let Request { graph, model, split, hyper, .. } = request;
        let seeds = request.seeds().collect();
        let (split, hyper) = (split.to_string(), json!(hyper));
        self.key() == (graph.as_str(), model.name, split.as_str(), &hyper, seeds)
    }

    /// Whether the runs were measured on this data and these splits.
    fn matches_data(&self, fingerprint: &DataFingerprint) -> bool {
        let splits = self.scores.runs.iter().map(|run| &run.split_sha256);
        self.data_sha256 == fingerprint.data_sha256
            && splits.eq(fingerprint.splits.iter().map(|split| &split.sha256))
    }
}

impl CellScores {
    pub fn of_runs(records: &[RunRecord]) -> Self {
        let energies: Option<Vec<f64>> = records.iter().map(|run| run.energy).collect();
        let run = |run: &RunRecord| RunScores {
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

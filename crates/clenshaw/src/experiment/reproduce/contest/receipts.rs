//! What complete cells were worth, a line of JSON each: all that a table needs of them.
//!
//! ```text
//! <folder>/<experiment>.receipts.jsonl    {"graph": .., "model": .., "hyper": .., "runs": [..], ..}
//! ```
//!
//! A cell that a receipt answers is not trained again, so tables are put together from what several
//! machines measured.

use super::Planned;
use crate::data::{Dataset, Store};
use crate::error::{Error, Result};
use crate::experiment::{Ground, Occasion, Order, Record, Request, finished};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The receipts of a folder, one a cell.
#[derive(Clone, Debug)]
pub struct Receipts(pub(super) Vec<Receipt>);

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
        let entries = fs::read_dir(folder).map_err(|e| unreadable(folder, e))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(".receipts.jsonl"));
        paths.sort();
        let files = paths.iter().map(|path| Ok(Self::of_file(path)?.0));
        files.collect::<Result<Vec<_>>>().map(|files| Self(files.concat()))
    }

    /// Reads one file; there are none in a file that is not there.
    pub fn of_file(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(|e| unreadable(path, e))?,
        };
        let receipt = |(i, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| Error::Data {
                place: format!("{}:{}", path.display(), i + 1),
                problem: format!("not a receipt: {error}"),
            })
        };
        text.lines().enumerate().map(receipt).collect::<Result<_>>().map(Self)
    }

    /// A line of JSON each.
    pub fn to_jsonl(&self) -> String {
        let line = |receipt| serde_json::to_string(receipt).expect("texts and numbers only") + "\n";
        self.0.iter().map(line).collect()
    }

    /// These, then those of `others` that answer other questions.
    pub fn and(mut self, others: Self) -> Self {
        let mut others = others.0;
        others.retain(|other| !self.0.iter().any(|receipt| receipt.asks_the_same(other)));
        self.0.append(&mut others);
        self
    }

    /// Gives every cell that has none its receipt, if there is one for the same question on the same
    /// data and splits; one from other data or splits is taken away.
    ///
    /// Where the graph is not here, digests cannot be compared and stay the receipt's word.
    pub fn answer(&self, planned: &mut [Planned], store: &Store) {
        let mut graphs = Graphs { store, last: None };
        for planned in planned {
            let request = &planned.order.request;
            let others = self.0.iter().filter(|receipt| receipt.answers(request)).cloned();
            let mut known = planned.known.take().into_iter().chain(others).peekable();
            if known.peek().is_none() {
                continue;
            }
            planned.known = match graphs.ground(request) {
                Ok(ground) => known.find(|receipt| receipt.stands_on(&ground)),
                Err(error) if error.is_absence() => known.next(),
                // Training will say what is wrong.
                Err(_) => None,
            };
        }
    }
}

fn unreadable(place: &Path, error: std::io::Error) -> Error {
    let problem = format!("cannot be read: {error}");
    Error::Data { place: place.display().to_string(), problem }
}

/// The graph of the last cell and its digest, for most often it is the next one's.
struct Graphs<'a> {
    store: &'a Store,
    last: Option<((String, bool), Dataset, String)>,
}

impl Graphs<'_> {
    fn ground(&mut self, request: &Request) -> Result<Ground> {
        let key = (request.graph.clone(), request.split.is_published());
        if self.last.as_ref().is_none_or(|(last, ..)| *last != key) {
            let dataset = request.load(self.store)?;
            let digest = dataset.sha256();
            self.last = Some((key, dataset, digest));
        }
        let (_, dataset, digest) = self.last.as_ref().expect("just put there");
        Ok(Ground::new(digest.clone(), request.seed, &request.splits(dataset)?))
    }
}

impl Receipt {
    /// The receipt of an order all of whose runs are done.
    pub fn of(order: &Order) -> Result<Option<Self>> {
        let Some((kept, records)) = finished(order)? else { return Ok(None) };
        let Request { graph, model, split, hyper, .. } = &order.request;
        Ok(Some(Self {
            graph: graph.clone(),
            model: model.name.into(),
            split: split.to_string(),
            hyper: json!(hyper),
            version: kept.version,
            data_sha256: kept.ground.data_sha256,
            occasion: kept.occasion,
            worth: Worth::of(&records),
        }))
    }

    fn answers(&self, request: &Request) -> bool {
        self.graph == request.graph
            && self.model == request.model.name
            && self.split == request.split.to_string()
            && self.hyper == json!(request.hyper)
            && self.seeds().eq(request.seeds())
    }

    fn asks_the_same(&self, other: &Self) -> bool {
        self.graph == other.graph
            && self.model == other.model
            && self.split == other.split
            && self.hyper == other.hyper
            && self.seeds().eq(other.seeds())
    }

    fn stands_on(&self, ground: &Ground) -> bool {
        let splits = self.worth.runs.iter().map(|run| &run.split_sha256);
        self.data_sha256 == ground.data_sha256
            && splits.eq(ground.splits.iter().map(|split| &split.sha256))
    }

    fn seeds(&self) -> impl Iterator<Item = u64> {
        self.worth.runs.iter().map(|run| run.seed)
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

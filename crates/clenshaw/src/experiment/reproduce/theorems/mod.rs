//! Numerical checks of Theorems 1 and 2 and the Clenshaw corollary on real graphs, and the filters of
//! ClenshawGCN before and after training.
//!
//! ```toml
//! title = "..."
//! source = "publication of the proofs"
//! seed = 0
//! channels = 4                # columns of H*
//! orders = [8, 16, 32]        # K
//! exact = ["texas"]           # checked with all eigenvectors
//! lanczos = ["pubmed"]        # checked with the Lanczos method
//! trained = ["cora"]          # ClenshawGCN is trained on these
//! ```

mod network;
mod check;
mod trained;

use super::cells::{CellTask, ExperimentOptions};
use super::graph_statistics::load_if_present;
use crate::data::{DATASETS, Dataset};
use crate::error::{Error, Result};
use crate::experiment::Request;
use crate::experiment::config::parse_toml;
use crate::report::{ResultPage, Table, distinct};
use check::{CheckSettings, ReferenceMethod, TheoremCheck};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use trained::TrainedFilter;

/// The experiment, as parsed from its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theorems {
    title: String,
    source: String,
    seed: u64,
    channels: usize,
    orders: Vec<usize>,
    exact: Vec<String>,
    lanczos: Vec<String>,
    trained: Vec<String>,
}

/// A cell: a check or a training run on one graph.
enum TheoremTask {
    Check(CheckSettings),
    Train(Box<Request>),
}

/// The record of a [`TheoremTask`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TheoremRecord {
    Check(TheoremCheck),
    Train(TrainedFilter),
}

const NOTES: [&str; 4] = [
    "Errors are maximum absolute errors relative to the largest entry, in double precision. The network used in training, with W(l) = I, b(l) = 0 and without inner activations as in the theorems, is compared with h(P~) H*. The latter is computed from the eigenvectors of P~ or, on larger graphs, with the Lanczos method, started from each channel of H* with as many steps as the longest polynomial has terms.",
    "H* = relu(X W + b) with the graph's own features and random W and b; the coefficients are uniform in [-1, 1).",
    "The corollary is checked at every eigenvalue found: Clenshaw's recurrence against the sum of a_k sin((k+1) t) / sin t.",
    "The reference error measures the accuracy of the reference itself: the largest error in P~ V = V M and V V^T H* = H* or, for the Lanczos method, the largest inner product of two different Lanczos vectors.",
];

impl Theorems {
    /// Parses the experiment's file; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let theorems: Self = parse_toml(place, text)?;
        let orders = theorems.orders.iter().map(|&order| ("orders", order));
        for (key, value) in [("channels", theorems.channels)].into_iter().chain(orders) {
            if !(1..=256).contains(&value) {
                let problem = format!("`{key}` is {value}, outside 1 to 256");
                return Err(Error::Data { place: place.into(), problem });
            }
        }
        for name in theorems.graphs() {
            if !DATASETS.iter().any(|info| info.name == name) {
                let known = DATASETS.iter().map(|info| info.name);
                return Err(Error::unknown("graph", name, known).with_place(place));
            }
        }
        Ok(theorems)
    }

    /// The graphs in the order of the table, those used only for training last.
    fn graphs(&self) -> Vec<&str> {
        let names = self.exact.iter().chain(&self.lanczos).chain(&self.trained);
        distinct(names.map(String::as_str))
    }

    /// Returns an error for selections and options that this experiment does not support.
    fn check(&self, options: &ExperimentOptions<'_>) -> Result<()> {
        options.selection.check(&[("graph", &self.graphs())])?;
        match options.runs {
            Some(runs) => Err(Error::BadValue {
                key: "runs".into(),
                value: runs.to_string(),
                expected: "no value: theorems are checked once".into(),
            }),
            None => Ok(()),
        }
    }

    /// Runs the checks and training runs on the selected graphs that are on this machine; the others are
    /// listed as missing. Fails if the selection contains an unknown graph, `runs` is set, a cell fails, or the
    /// experiment is cancelled.
    pub fn measure(&self, options: &ExperimentOptions<'_>) -> Result<ResultPage> {
        self.check(options)?;
        let (mut datasets, mut missing): (Vec<(&str, Arc<Dataset>)>, Vec<String>) =
            (vec![], vec![]);
        for name in
            self.graphs().into_iter().filter(|name| options.selection.includes("graph", name))
        {
            match load_if_present(options.store, name)? {
                Some(dataset) => datasets.push((name, dataset.into())),
                None => missing.push(name.into()),
            }
        }
        let cells = self.cells(&datasets)?;
        let results = options.run_cells(&cells, |(graph_index, task)| {
            let dataset = &datasets[*graph_index].1;
            Ok(match task {
                TheoremTask::Check(check) => TheoremRecord::Check(check.check(dataset)?),
                TheoremTask::Train(request) => {
                    TheoremRecord::Train(trained::train(request, dataset, options)?)
                }
            })
        })?;
        let names = cells.iter().map(|cell| datasets[cell.input.0].0);
        let mut page = self.result_page(&names.zip(results.records).collect::<Vec<_>>(), missing);
        page.notes.extend(results.provenance);
        Ok(page)
    }

    /// The cells, checks first; their input is the index of the graph and the task.
    fn cells(
        &self,
        datasets: &[(&str, Arc<Dataset>)],
    ) -> Result<Vec<CellTask<(usize, TheoremTask)>>> {
        let mut cells = vec![];
        for (graph_index, (name, dataset)) in datasets.iter().enumerate() {
            let lists = [
                (&self.exact, ReferenceMethod::Eigenvectors),
                (&self.lanczos, ReferenceMethod::Lanczos),
            ];
            for (_, reference) in lists.iter().filter(|(list, _)| contains(list, name)) {
                let check = self.check_settings(*reference);
                // The keys of settings identify saved records and must not be renamed.
                let settings = json!({ "data": dataset.sha256(), "question": check });
                let input = (graph_index, TheoremTask::Check(check));
                cells.push(CellTask { name: format!("check-{name}"), settings, input });
            }
        }
        for (graph_index, (name, dataset)) in datasets.iter().enumerate() {
            if contains(&self.trained, name) {
                let request = Box::new(trained::request(name, self.seed)?);
                let settings = json!({ "data": dataset.sha256(), "run": request.to_toml() });
                let input = (graph_index, TheoremTask::Train(request));
                cells.push(CellTask { name: format!("train-{name}"), settings, input });
            }
        }
        Ok(cells)
    }

    fn check_settings(&self, reference: ReferenceMethod) -> CheckSettings {
        let Self { seed, channels, orders, .. } = self;
        CheckSettings { seed: *seed, channels: *channels, orders: orders.clone(), reference }
    }

    /// The result page, with one table of errors and one of training runs; empty tables are omitted.
    fn result_page(&self, records: &[(&str, TheoremRecord)], missing: Vec<String>) -> ResultPage {
        let mut errors = Table::new([
            "graph",
            "nodes",
            "reference",
            "reference error",
            "K",
            "Theorem 1",
            "Theorem 2",
            "corollary",
        ]);
        let mut training_runs =
            Table::new(["graph", "epochs", "best epoch", "val acc", "test acc"]);
        let mut figures = vec![];
        let mut seconds = 0.0;
        for (name, record) in records {
            match record {
                TheoremRecord::Check(check) => {
                    seconds += check.seconds;
                    add_rows(&mut errors, name, check);
                }
                TheoremRecord::Train(trained) => {
                    seconds += trained.seconds;
                    training_runs.add_row([
                        (*name).to_owned(),
                        trained.epochs.to_string(),
                        trained.best_epoch.to_string(),
                        trained
                            .val_accuracy
                            .map_or("-".into(), |share| format!("{:.2}", 100.0 * share)),
                        format!("{:.2}", 100.0 * trained.test_accuracy),
                    ]);
                    let chart = trained.chart(name, density(records, name));
                    figures.push((format!("theorems-{name}"), chart));
                }
            }
        }
        let mut notes: Vec<String> = NOTES.map(String::from).to_vec();
        notes.push(format!("Total time of all cells: {seconds:.0} seconds, one thread each."));
        let one_split = "ClenshawGCN trained with its preset on one split".to_owned();
        let tables = vec![("Relative errors".to_owned(), errors), (one_split, training_runs)];
        let each = records.iter().map(|(name, record)| json!({ "graph": name, "record": record }));
        ResultPage {
            title: self.title.clone(),
            source: self.source.clone(),
            tables: tables.into_iter().filter(|(_, table)| !table.rows.is_empty()).collect(),
            figures,
            notes,
            missing,
            records: each.collect(),
        }
    }
}

fn contains(list: &[String], name: &str) -> bool {
    list.iter().any(|other| other == name)
}

/// The eigenvalue density of a graph; `None` if it was not checked.
fn density<'r>(records: &'r [(&str, TheoremRecord)], graph: &str) -> Option<&'r [f64]> {
    records.iter().find_map(|(name, record)| match record {
        TheoremRecord::Check(check) if *name == graph => Some(&check.density[..]),
        _ => None,
    })
}

/// Adds one row per order; columns that describe the graph are filled in the first row only.
fn add_rows(table: &mut Table, name: &str, check: &TheoremCheck) {
    let reference = match check.reference {
        ReferenceMethod::Eigenvectors => "eigenvectors",
        ReferenceMethod::Lanczos => "Lanczos",
    };
    for (i, errors) in check.errors.iter().enumerate() {
        let graph = [
            name.into(),
            check.nodes.to_string(),
            reference.into(),
            format_error(check.reference_error),
        ];
        let graph = graph.map(|entry: String| if i == 0 { entry } else { String::new() });
        let errors = [
            errors.order.to_string(),
            format_error(errors.theorem_1),
            format_error(errors.theorem_2),
            format_error(errors.corollary),
        ];
        table.add_row(graph.into_iter().chain(errors));
    }
}

fn format_error(error: f64) -> String {
    format!("{error:.1e}")
}

//! Theorems 1 and 2 and the Clenshaw corollary, checked on real graphs, and the filter that training
//! makes of them.
//!
//! ```toml
//! title = "..."
//! source = "where they are proved"
//! seed = 0
//! channels = 4                # columns of H*
//! orders = [8, 16, 32]        # K
//! exact = ["texas"]           # graphs whose eigenvectors are computed
//! lanczos = ["pubmed"]        # graphs that are asked through Lanczos' method
//! trained = ["cora"]          # graphs on which ClenshawGCN is trained
//! ```

mod network;
mod check;
mod trained;

use super::errand::{Cell, Errand};
use super::statistics::loaded;
use crate::data::{DATASETS, Dataset};
use crate::error::{Error, Result};
use crate::experiment::Request;
use crate::experiment::config::first_line;
use crate::report::{Findings, Table};
use check::{Check, Question, Reference};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trained::Trained;

/// What the file says.
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

/// What is done with a graph.
enum Task {
    Check(Question),
    Train(Box<Request>),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Record {
    Check(Check),
    Train(Trained),
}

const NOTES: [&str; 4] = [
    "Errors are largest differences relative to the largest entry, in double precision: the network that people train, with W(l) = I, b(l) = 0 and its inner activations off as the theorems have it, beside h(P~) H* by the eigenvectors of P~ or, on larger graphs, by Lanczos' method with as many steps as the longest polynomial has terms, from each channel of H*.",
    "H* = relu(X W + b) of the graph's own features with random W and b; the coefficients are uniform in [-1, 1).",
    "The corollary is checked at every eigenvalue that was found: Clenshaw's recurrence beside the sum of a_k sin((k+1) t) / sin t.",
    "`reference` is how far the reference itself is off: P~ V = V M and V V' H* = H*, or the overlap of Lanczos' vectors.",
];

impl Theorems {
    /// Reads the experiment's file; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let wrong = |problem: String| Error::Data { place: place.into(), problem };
        let theorems: Self = toml::from_str(text).map_err(|e| wrong(first_line(&e)))?;
        for (key, value) in [("channels", theorems.channels)].into_iter().chain(theorems.orders()) {
            if !(1..=256).contains(&value) {
                return Err(wrong(format!("`{key}` is {value}, outside 1..=256")));
            }
        }
        for name in theorems.graphs() {
            if !DATASETS.iter().any(|info| info.name == name) {
                let unknown = Error::unknown("graph", name, DATASETS.iter().map(|info| info.name));
                return Err(wrong(unknown.to_string()));
            }
        }
        Ok(theorems)
    }

    fn orders(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        self.orders.iter().map(|&order| ("orders", order))
    }

    /// The graphs in the order of the table; those that are only trained on come last.
    fn graphs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for name in self.exact.iter().chain(&self.lanczos).chain(&self.trained) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Refuses what nobody could want of this experiment.
    pub fn check(&self, errand: &Errand<'_>) -> Result<()> {
        errand.only.check(&[("graph", &self.graphs())])?;
        match errand.runs {
            Some(runs) => Err(Error::BadValue {
                key: "runs".into(),
                value: runs.to_string(),
                expected: "none here: theorems are checked once".into(),
            }),
            None => Ok(()),
        }
    }

    /// Checks and trains on the graphs that are wanted and here.
    pub fn measure(&self, errand: &Errand<'_>) -> Result<Findings> {
        self.check(errand)?;
        let (mut datasets, mut missing): (Vec<(&str, Dataset)>, Vec<String>) = (vec![], vec![]);
        for name in self.graphs().into_iter().filter(|name| errand.only.wants("graph", name)) {
            match loaded(errand.store, name)? {
                Some(dataset) => datasets.push((name, dataset)),
                None => missing.push(name.into()),
            }
        }
        let cells = self.cells(&datasets)?;
        let made = errand.each(&cells, |(at, task)| {
            let dataset = &datasets[*at].1;
            Ok(match task {
                Task::Check(question) => Record::Check(question.ask(dataset)?),
                Task::Train(request) => Record::Train(trained::train(request, dataset, errand)?),
            })
        })?;
        let names = cells.iter().map(|cell| datasets[cell.subject.0].0);
        let mut found = self.findings(&names.zip(made.records).collect::<Vec<_>>(), missing);
        found.notes.extend(made.occasion);
        Ok(found)
    }

    /// Checks first, then trainings; a cell's subject is the graph's place in the list and the task.
    fn cells(&self, datasets: &[(&str, Dataset)]) -> Result<Vec<Cell<(usize, Task)>>> {
        let mut cells = vec![];
        for (at, (name, dataset)) in datasets.iter().enumerate() {
            let lists =
                [(&self.exact, Reference::Eigenvectors), (&self.lanczos, Reference::Lanczos)];
            for (_, reference) in lists.iter().filter(|(list, _)| holds(list, name)) {
                let question = self.question(*reference);
                let settings = json!({ "data": dataset.sha256(), "question": question });
                let subject = (at, Task::Check(question));
                cells.push(Cell { name: format!("check-{name}"), settings, subject });
            }
        }
        for (at, (name, dataset)) in datasets.iter().enumerate() {
            if holds(&self.trained, name) {
                let request = Box::new(trained::request(name, self.seed)?);
                let settings = json!({ "data": dataset.sha256(), "run": request.to_toml() });
                let subject = (at, Task::Train(request));
                cells.push(Cell { name: format!("train-{name}"), settings, subject });
            }
        }
        Ok(cells)
    }

    fn question(&self, reference: Reference) -> Question {
        let Self { seed, channels, orders, .. } = self;
        Question { seed: *seed, channels: *channels, orders: orders.clone(), reference }
    }

    fn findings(&self, records: &[(&str, Record)], missing: Vec<String>) -> Findings {
        let mut errors = Table::new([
            "graph",
            "nodes",
            "by",
            "reference",
            "K",
            "Theorem 1",
            "Theorem 2",
            "corollary",
        ]);
        let mut trainings = Table::new(["graph", "epochs", "best epoch", "val acc", "test acc"]);
        let mut figures = vec![];
        let mut seconds = 0.0;
        for (name, record) in records {
            match record {
                Record::Check(check) => {
                    seconds += check.seconds;
                    rows(&mut errors, name, check);
                }
                Record::Train(trained) => {
                    seconds += trained.seconds;
                    trainings.row([
                        (*name).to_owned(),
                        trained.epochs.to_string(),
                        trained.best_epoch.to_string(),
                        format!("{:.2}", 100.0 * trained.val_accuracy),
                        format!("{:.2}", 100.0 * trained.test_accuracy),
                    ]);
                    let figure = trained.figure(name, density(records, name));
                    figures.push((format!("theorems-{name}"), figure));
                }
            }
        }
        let mut notes: Vec<String> = NOTES.map(String::from).to_vec();
        notes.push(format!("All cells together took {seconds:.0} seconds, one thread each."));
        let one_split = "Trainings of ClenshawGCN with its preset, one split".to_owned();
        let tables = vec![("Errors".to_owned(), errors), (one_split, trainings)];
        let each = records.iter().map(|(name, record)| json!({ "graph": name, "record": record }));
        Findings {
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

fn holds(list: &[String], name: &str) -> bool {
    list.iter().any(|other| other == name)
}

/// The density of a graph that was checked.
fn density<'r>(records: &'r [(&str, Record)], graph: &str) -> Option<&'r [f64]> {
    records.iter().find_map(|(name, record)| match record {
        Record::Check(check) if *name == graph => Some(&check.density[..]),
        _ => None,
    })
}

/// A row an order; what belongs to the graph stands in the first.
fn rows(table: &mut Table, name: &str, check: &Check) {
    let by = match check.reference {
        Reference::Eigenvectors => "eigenvectors",
        Reference::Lanczos => "Lanczos",
    };
    for (i, errors) in check.errors.iter().enumerate() {
        let graph =
            [name.into(), check.nodes.to_string(), by.into(), number(check.reference_error)];
        let graph = graph.map(|entry: String| if i == 0 { entry } else { String::new() });
        let errors = [
            errors.order.to_string(),
            number(errors.theorem_1),
            number(errors.theorem_2),
            number(errors.corollary),
        ];
        table.row(graph.into_iter().chain(errors));
    }
}

fn number(error: f64) -> String {
    format!("{error:.1e}")
}

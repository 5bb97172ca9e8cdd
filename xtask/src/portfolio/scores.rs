//! Validation accuracies of configurations on graphs, from receipts.

use super::{GRAPHS, RECEIPTS};
use crate::Result;
use crate::cargo::root;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The tables whose settings are candidates; the settings of `depth` and `ablation` are variations.
const SOURCES: [&str; 3] = ["table2", "table3", "leak-free"];

/// A model and its hyper-parameters.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub model: String,
    pub hyper: Map<String, Value>,
    /// The graphs for which these settings were published or tuned; empty for defaults.
    pub origins: BTreeSet<String>,
    /// The name, if it does not follow from model and origin.
    pub name: Option<&'static str>,
}

impl Configuration {
    /// The text that identifies the configuration.
    pub fn key(&self) -> String {
        key(&self.model, &self.hyper)
    }

    /// Whether the settings are known only from these graphs.
    pub fn is_only_from(&self, graphs: &[String]) -> bool {
        !self.origins.is_empty() && self.origins.iter().all(|origin| graphs.contains(origin))
    }
}

fn key(model: &str, hyper: &Map<String, Value>) -> String {
    let sorted: BTreeMap<&String, &Value> = hyper.iter().collect();
    format!("{model} {}", json!(sorted))
}

/// The mean validation accuracy and the time of a run of a configuration on a graph.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub value: f64,
    pub seconds: f64,
}

/// All configurations and what was measured.
pub struct Scores {
    pub configurations: Vec<Configuration>,
    pub graphs: Vec<String>,
    /// By configuration and graph.
    pub cells: BTreeMap<(usize, String), Cell>,
}

/// The graph without the suffix of its variant: `chameleon` for `chameleon-filtered`.
pub fn family(graph: &str) -> &str {
    graph.split('-').next().unwrap_or(graph)
}

/// The linear model, which every portfolio starts with.
fn logistic_regression() -> Configuration {
    let hyper = json!({
        "hidden": 0, "dropout": 0.0, "lr": 0.01, "wd": 5e-4, "scaling": "standard",
        "max_epochs": 1000, "patience": 100, "stop": "patience", "gather": "f32",
    });
    let hyper = hyper.as_object().cloned().unwrap_or_default();
    let name = Some("logistic-regression");
    Configuration { model: "mlp".into(), hyper, origins: BTreeSet::new(), name }
}

impl Scores {
    /// Reads all receipts.
    pub fn read() -> Result<Self> {
        let mut receipts: Vec<(String, Value)> = vec![];
        for source in SOURCES {
            receipts.extend(
                lines(root().join(format!("docs/results/{source}.receipts.jsonl")))?
                    .into_iter()
                    .map(|line| (source.to_owned(), line)),
            );
        }
        let transfers = lines(root().join(RECEIPTS))?;
        receipts.extend(transfers.into_iter().map(|line| ("portfolio".to_owned(), line)));
        Ok(Self::new(&receipts))
    }

    /// Collects receipts, each with the table it belongs to. Only the runs of [`GRAPHS`] count.
    pub fn new(receipts: &[(String, Value)]) -> Self {
        let mut configurations = vec![logistic_regression()];
        let mut index: BTreeMap<String, usize> = [(configurations[0].key(), 0)].into();
        let mut cells = BTreeMap::new();
        for (source, receipt) in receipts {
            let text = |key: &str| receipt[key].as_str().unwrap_or_default().to_owned();
            let (graph, model) = (text("graph"), text("model"));
            let hyper = receipt["hyper"].as_object().cloned().unwrap_or_default();
            let at = *index.entry(key(&model, &hyper)).or_insert_with(|| {
                let origins = BTreeSet::new();
                configurations.push(Configuration { model, hyper, origins, name: None });
                configurations.len() - 1
            });
            if source != "portfolio" {
                configurations[at].origins.insert(graph.clone());
            }
            if let Some(cell) = cell(&graph, &text("split"), receipt) {
                cells.insert((at, graph), cell);
            }
        }
        let graphs = GRAPHS.iter().map(|protocol| protocol.graph.to_owned());
        let graphs = graphs.filter(|graph| cells.keys().any(|(_, other)| other == graph)).collect();
        Self { configurations, graphs, cells }
    }

    /// The value of a configuration on a graph; `None` if it was not measured.
    pub fn value(&self, configuration: usize, graph: &str) -> Option<f64> {
        self.cells.get(&(configuration, graph.to_owned())).map(|cell| cell.value)
    }

    /// The lowest value on a graph, which a configuration is assumed to have where it was not measured.
    pub fn lowest(&self, graph: &str) -> f64 {
        let measured = (0..self.configurations.len()).filter_map(|c| self.value(c, graph));
        measured.reduce(f64::min).unwrap_or(0.0)
    }

    /// The time of a run divided by the median time on the same graph, averaged over the graphs on which the
    /// configuration was measured; 1 if there are none.
    pub fn relative_time(&self, configuration: usize) -> f64 {
        let own = self.cells.iter().filter(|((index, _), _)| *index == configuration);
        let ratios: Vec<f64> =
            own.map(|((_, graph), cell)| cell.seconds / self.median_seconds(graph)).collect();
        if ratios.is_empty() { 1.0 } else { ratios.iter().sum::<f64>() / ratios.len() as f64 }
    }

    fn median_seconds(&self, graph: &str) -> f64 {
        let on_graph = self.cells.iter().filter(|((_, other), _)| other == graph);
        let mut times: Vec<f64> = on_graph.map(|(_, cell)| cell.seconds).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().filter(|time| *time > 0.0).unwrap_or(1.0)
    }

    /// A graph and its variants.
    pub fn relatives(&self, graph: &str) -> Vec<String> {
        let is_relative = |other: &&String| family(other) == family(graph);
        let graphs = GRAPHS.iter().map(|protocol| protocol.graph.to_owned());
        graphs.collect::<Vec<_>>().iter().filter(is_relative).cloned().collect()
    }

    /// How far the best of some configurations is behind the best of all on a graph; `None` if none of them
    /// was measured there.
    pub fn regret(&self, configurations: &[usize], graph: &str) -> Option<f64> {
        let all = (0..self.configurations.len()).filter_map(|c| self.value(c, graph));
        let own = configurations.iter().filter_map(|&c| self.value(c, graph)).reduce(f64::max)?;
        Some(all.fold(0.0, f64::max) - own)
    }

    /// A distinct name for every configuration: the model and the first graph of its settings.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = vec![];
        for configuration in &self.configurations {
            let origin = configuration.origins.first().map_or("default", String::as_str);
            let base = match configuration.name {
                Some(name) => name.to_owned(),
                None => format!("{}-{origin}", configuration.model),
            };
            let taken = |name: &String| names.contains(name);
            let numbered = (2..).map(|n| format!("{base}-{n}"));
            let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name));
            names.push(name.unwrap_or(base));
        }
        names
    }
}

/// The first runs of a receipt; `None` unless it has the split of the protocol and enough runs.
fn cell(graph: &str, split: &str, receipt: &Value) -> Option<Cell> {
    let protocol =
        GRAPHS.iter().find(|protocol| protocol.graph == graph && protocol.split == split)?;
    let runs = receipt["runs"].as_array()?;
    let value = |seed: usize| {
        let run = runs.iter().find(|run| run["seed"].as_u64() == Some(seed as u64))?;
        run["val_accuracy"].as_f64()
    };
    let values: Vec<f64> = (0..protocol.runs).map(value).collect::<Option<_>>()?;
    let seconds = receipt["seconds"].as_f64()? / runs.len() as f64;
    Some(Cell { value: values.iter().sum::<f64>() / values.len() as f64, seconds })
}

/// The JSON lines of a file; none if it does not exist.
pub fn lines(path: PathBuf) -> Result<Vec<Value>> {
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let parse = |line: &str| {
        serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()).into())
    };
    text.lines().map(parse).collect()
}

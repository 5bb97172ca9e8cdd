//! Sizes and homophily of graphs, compared with those in a paper.
//!
//! ```toml
//! title = "..."
//! source = "where the numbers were published"
//!
//! [cora]                  # name of a graph in the registry; graphs are listed in the paper's order
//! nodes = 2709            # nodes, edges, classes, features, H: as printed, all optional
//!
//! [cora.differs]
//! nodes = "why our number differs"
//! ```

use super::Selection;
use crate::data::{self, DATASETS, Dataset, Description, Store};
use crate::error::{Error, Result};
use crate::experiment::config::{parse_toml, toml_error};
use crate::report::{Comparison, ComparisonCell, ComparisonRow};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Table;

/// A paper's table of graph statistics, with explanations of why our numbers differ.
#[derive(Clone, Debug)]
pub struct GraphStatistics {
    title: String,
    source: String,
    graphs: Vec<(String, PublishedGraph)>,
}

#[derive(Deserialize)]
struct GraphStatisticsFile {
    title: String,
    source: String,
    #[serde(flatten)]
    graphs: Table,
}

/// A graph of the paper's table: the printed numbers and why ours differ, by column.
#[derive(Clone, Debug, Deserialize)]
struct PublishedGraph {
    #[serde(default)]
    differs: BTreeMap<String, String>,
    #[serde(flatten)]
    numbers: BTreeMap<String, f64>,
}

/// The name of a column, the number of decimals to print, and a function that returns our number.
type StatisticColumn = (&'static str, usize, fn(&Description) -> Option<f64>);

const COLUMNS: [StatisticColumn; 5] = [
    ("nodes", 0, |d| Some(d.nodes as f64)),
    ("edges", 0, |d| Some(d.edges as f64)),
    ("classes", 0, |d| Some(d.classes as f64)),
    ("features", 0, |d| Some(d.features as f64)),
    ("H", 2, |d| d.node_homophily),
];

/// The note on a table without published numbers of features.
const FEATURES_NOTE: &str = "The paper does not give the number of features; that column is ours.";
const NOTES: [&str; 2] = [
    "We count each undirected edge once, without self-loops.",
    "Our H is the node homophily of Pei et al. (2020): the fraction of a node's neighbours that share its class, averaged over nodes with at least one neighbour.",
];

impl GraphStatistics {
    /// Parses a file of `experiments/`; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let file: GraphStatisticsFile = parse_toml(place, text)?;
        let graphs = file.graphs.into_iter().map(|(name, value)| {
            let known = || DATASETS.iter().map(|info| info.name);
            if !known().any(|graph| graph == name) {
                return Err(Error::unknown("graph", &name, known()).with_place(place));
            }
            let graph: PublishedGraph =
                value.try_into().map_err(|error| toml_error(place, &error))?;
            let is_column = |key: &&String| COLUMNS.iter().any(|(column, ..)| column == *key);
            match graph.numbers.keys().chain(graph.differs.keys()).find(|key| !is_column(key)) {
                Some(key) => {
                    let columns = COLUMNS.map(|(column, ..)| column);
                    Err(Error::unknown("column", key, columns).with_place(place))
                }
                None => Ok((name, graph)),
            }
        });
        Ok(Self { title: file.title, source: file.source, graphs: graphs.collect::<Result<_>>()? })
    }

    /// The names of the graphs, in the order of the table.
    pub fn graphs(&self) -> impl Iterator<Item = &str> {
        self.graphs.iter().map(|(name, _)| name.as_str())
    }

    /// Measures the selected graphs and compares them with the paper's numbers; a graph whose files are
    /// missing is listed without our numbers. Fails if the selection contains an unknown graph, or the files of a
    /// graph are invalid.
    pub fn measure(&self, store: &Store, selection: &Selection) -> Result<Comparison> {
        let names: Vec<&str> = self.graphs().collect();
        selection.check(&[("graph", &names)])?;
        let selected = self.graphs.iter().filter(|(name, _)| selection.includes("graph", name));
        let rows = selected.map(|(name, graph)| {
            let ours = load_if_present(store, name)?.as_ref().map(Description::of);
            Ok(graph.row(name, ours.as_ref()))
        });
        Ok(Comparison {
            title: self.title.clone(),
            source: self.source.clone(),
            row_label: "graph".into(),
            notes: self.notes(),
            rows: rows.collect::<Result<_>>()?,
        })
    }

    /// The notes below the table.
    fn notes(&self) -> Vec<String> {
        let has_features =
            self.graphs.iter().any(|(_, graph)| graph.numbers.contains_key("features"));
        let features_note = (!has_features).then_some(FEATURES_NOTE);
        features_note.into_iter().chain(NOTES).map(String::from).collect()
    }
}

impl PublishedGraph {
    fn row(&self, name: &str, ours: Option<&Description>) -> ComparisonRow {
        let cell = |&(column, digits, number): &StatisticColumn| {
            let paper = self.numbers.get(column).copied();
            let explanation = ours.and(self.differs.get(column).cloned());
            ComparisonCell::new(column, digits, paper, ours.and_then(number), explanation)
        };
        ComparisonRow {
            name: name.into(),
            sha256: ours.map(|d| d.sha256.clone()),
            is_measured: ours.is_some(),
            cells: COLUMNS.iter().map(cell).collect(),
        }
    }
}

/// Loads a graph; `None` if its files are missing. Fails if they are invalid or the graph is unknown.
pub(super) fn load_if_present(store: &Store, name: &str) -> Result<Option<Dataset>> {
    match data::load_from(store, name) {
        Ok(dataset) => Ok(Some(dataset)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{EXPERIMENTS, ExperimentKind};

    #[test]
    fn every_file_can_be_parsed() {
        for info in EXPERIMENTS {
            let ExperimentKind::GraphStatistics(text) = info.kind else { continue };
            let statistics = GraphStatistics::from_toml(&info.file_name(), text).unwrap();
            assert!(statistics.graphs().count() > 0, "{}", info.name);
        }
    }

    #[test]
    fn rejects_unknown_graphs_and_columns() {
        let parse_error = |text: &str| {
            let text = format!("title = \"t\"\nsource = \"s\"\n{text}");
            GraphStatistics::from_toml("t.toml", &text).unwrap_err().to_string()
        };
        let unknown = "t.toml: unknown graph `coar`; did you mean `cora`? known: cora, csbm,";
        assert!(parse_error("[coar]\nnodes = 1").starts_with(unknown));
        let unknown = "t.toml: unknown column `node`; did you mean `nodes`? \
                       known: nodes, edges, classes, features, H";
        assert_eq!(parse_error("[cora]\nnode = 1"), unknown);
        assert_eq!(parse_error("[cora]\ndiffers.node = \"x\""), unknown);
        assert!(parse_error("[cora").starts_with("t.toml: toml parse error at line 3"));
    }

    #[test]
    fn missing_numbers_of_features_are_noted() {
        let notes = |numbers: &str| {
            let text = format!("title = \"t\"\nsource = \"s\"\n[cora]\nnodes = 2708\n{numbers}\n");
            GraphStatistics::from_toml("t.toml", &text).unwrap().notes()
        };
        assert_eq!(notes("")[0], FEATURES_NOTE);
        assert_eq!(notes("")[1..], NOTES);
        assert_eq!(notes("features = 1433"), NOTES);
    }

    #[test]
    fn missing_graph_is_listed_without_our_numbers() {
        let text = "title = \"t\"\nsource = \"s\"\n[texas]\nnodes = 183\n[cora]\nnodes = 2708\n";
        let statistics = GraphStatistics::from_toml("t.toml", text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::only(folder.path());
        let measure = || statistics.measure(&store, &Selection::default());
        let table = measure().unwrap();
        assert_eq!(table.missing().collect::<Vec<_>>(), ["texas"]);
        assert!(table.rows[0].cells.iter().all(|cell| cell.ours.is_none()));
        assert_eq!(table.rows[1].cells[0].agrees, Some(true));

        std::fs::create_dir(folder.path().join("texas")).unwrap();
        assert_eq!(measure().unwrap().missing().collect::<Vec<_>>(), ["texas"]);

        for file in ["out1_node_feature_label.txt", "out1_graph_edges.txt"] {
            std::fs::write(folder.path().join("texas").join(file), "broken").unwrap();
        }
        assert!(measure().unwrap_err().to_string().contains("the table has no rows"));
    }
}

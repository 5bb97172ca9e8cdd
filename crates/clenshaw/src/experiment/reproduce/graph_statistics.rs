//! Sizes and homophily of graphs, compared with a paper's.
//!
//! ```toml
//! title = "..."
//! source = "publication of the numbers"
//!
//! [cora]                  # registry name of a graph, in the order of the table
//! nodes = 2709            # nodes, edges, classes, features, H: as printed, all optional
//!
//! [cora.differs]
//! nodes = "why our number differs"
//! ```

use super::Selection;
use crate::data::{self, DATASETS, Dataset, Description, Store};
use crate::error::{Error, Result};
use crate::experiment::config::one_line;
use crate::report::{Comparison, ComparisonCell, ComparisonRow};
use toml::{Table, Value};

/// A paper's table of graph statistics, with explanations of the differences from ours.
#[derive(Clone, Debug)]
pub struct GraphStatistics {
    title: String,
    source: String,
    graphs: Vec<PublishedGraph>,
}

/// A graph of the paper's table: per column, the printed number and why ours differs.
#[derive(Clone, Debug)]
struct PublishedGraph {
    name: String,
    columns: Vec<(Option<f64>, Option<String>)>,
}

/// The name of a column, the decimals it is printed with, and our number.
type StatisticColumn = (&'static str, usize, fn(&Description) -> Option<f64>);

const COLUMNS: [StatisticColumn; 5] = [
    ("nodes", 0, |d| Some(d.nodes as f64)),
    ("edges", 0, |d| Some(d.edges as f64)),
    ("classes", 0, |d| Some(d.classes as f64)),
    ("features", 0, |d| Some(d.features as f64)),
    ("H", 2, |d| d.node_homophily),
];

const NOTES: [&str; 3] = [
    "The paper does not give the number of features; that column is ours.",
    "We count each undirected edge once, without self-loops.",
    "Our H is the node homophily of Pei et al. (2020): the fraction of a node's neighbours that share its class, averaged over nodes with at least one neighbour.",
];

impl GraphStatistics {
    /// Parses a file of `experiments/`; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let reader = TomlReader { place };
        let table: Table = text.parse().map_err(|e| reader.wrong(one_line(&e)))?;
        let string = |key: &str| match table.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => {
                Err(reader.wrong(format!("`{key}` is {other}; expected a string in quotes")))
            }
            None => Err(reader.wrong(format!("no `{key}`; expected a string in quotes"))),
        };
        let (title, source) = (string("title")?, string("source")?);
        let graphs = table.iter().filter(|(key, _)| !["title", "source"].contains(&key.as_str()));
        let graphs = graphs.map(|(name, value)| reader.graph(name, value));
        Ok(Self { title, source, graphs: graphs.collect::<Result<_>>()? })
    }

    /// The names of the graphs, in the order of the table.
    pub fn graphs(&self) -> impl Iterator<Item = &str> {
        self.graphs.iter().map(|graph| graph.name.as_str())
    }

    /// Measures the selected graphs; a graph whose files are missing gets no numbers of ours.
    pub fn measure(&self, store: &Store, selection: &Selection) -> Result<Comparison> {
        let names: Vec<&str> = self.graphs().collect();
        selection.check(&[("graph", &names)])?;
        let selected = self.graphs.iter().filter(|graph| selection.includes("graph", &graph.name));
        let rows = selected.map(|graph| Ok(graph.row(describe(store, &graph.name)?.as_ref())));
        Ok(Comparison {
            title: self.title.clone(),
            source: self.source.clone(),
            row_label: "graph".into(),
            notes: NOTES.map(String::from).to_vec(),
            rows: rows.collect::<Result<_>>()?,
        })
    }
}

impl PublishedGraph {
    fn row(&self, ours: Option<&Description>) -> ComparisonRow {
        let cell =
            |(&(name, digits, count), (paper, why)): (&StatisticColumn, &(_, Option<String>))| {
                let why = ours.and(why.clone());
                ComparisonCell::new(name, digits, *paper, ours.and_then(count), why)
            };
        ComparisonRow {
            name: self.name.clone(),
            sha256: ours.map(|d| d.sha256.clone()),
            is_measured: ours.is_some(),
            cells: COLUMNS.iter().zip(&self.columns).map(cell).collect(),
        }
    }
}

/// The statistics of a graph; `None` if its files are missing.
fn describe(store: &Store, name: &str) -> Result<Option<Description>> {
    Ok(load_if_present(store, name)?.as_ref().map(Description::of))
}

/// Loads a graph; `None` if its files are missing.
pub(super) fn load_if_present(store: &Store, name: &str) -> Result<Option<Dataset>> {
    match data::load_from(store, name) {
        Ok(dataset) => Ok(Some(dataset)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error),
    }
}

struct TomlReader<'a> {
    place: &'a str,
}

impl TomlReader<'_> {
    fn wrong(&self, problem: String) -> Error {
        Error::Data { place: self.place.into(), problem }
    }

    fn table<'t>(&self, name: &str, value: &'t Value) -> Result<&'t Table> {
        value.as_table().ok_or_else(|| self.wrong(format!("`{name}` is {value}; expected a table")))
    }

    /// Rejects keys that are neither columns nor in `extra`.
    fn check_keys(&self, table: &Table, extra: &[&str]) -> Result<()> {
        let known = COLUMNS.map(|(name, ..)| name);
        let known = || known.iter().chain(extra).copied();
        match table.keys().find(|key| !known().any(|name| name == *key)) {
            Some(key) => Err(self.wrong(Error::unknown("key", key, known()).to_string())),
            None => Ok(()),
        }
    }

    fn graph(&self, name: &str, value: &Value) -> Result<PublishedGraph> {
        if !DATASETS.iter().any(|info| info.name == name) {
            let unknown = Error::unknown("graph", name, DATASETS.iter().map(|info| info.name));
            return Err(self.wrong(unknown.to_string()));
        }
        let table = self.table(name, value)?;
        self.check_keys(table, &["differs"])?;
        let differs = match table.get("differs") {
            Some(differs) => self.table(&format!("{name}.differs"), differs)?,
            None => &Table::new(),
        };
        self.check_keys(differs, &[])?;
        let column = |(column, ..): StatisticColumn| {
            let number = table.get(column).map(|value| self.number(name, column, value));
            let why = differs.get(column).map(|value| self.reason(name, column, value));
            Ok((number.transpose()?, why.transpose()?))
        };
        let columns = COLUMNS.map(column).into_iter().collect::<Result<_>>()?;
        Ok(PublishedGraph { name: name.into(), columns })
    }

    fn number(&self, graph: &str, column: &str, value: &Value) -> Result<f64> {
        match *value {
            Value::Integer(count) => Ok(count as f64),
            Value::Float(number) if number.is_finite() => Ok(number),
            _ => Err(self.wrong(format!("`{graph}.{column}` is {value}; expected a number"))),
        }
    }

    fn reason(&self, graph: &str, column: &str, value: &Value) -> Result<String> {
        let key = format!("{graph}.differs.{column}");
        let reason = value.as_str().map(str::to_owned);
        reason.ok_or_else(|| self.wrong(format!("`{key}` is {value}; expected a string in quotes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{EXPERIMENTS, ExperimentKind};

    #[test]
    fn every_file_parses() {
        for info in EXPERIMENTS {
            let ExperimentKind::GraphStatistics(text) = info.kind else { continue };
            let statistics = GraphStatistics::from_toml(&info.file_name(), text).unwrap();
            assert!(statistics.graphs().count() > 0, "{}", info.name);
        }
    }

    #[test]
    fn rejects_invalid_files() {
        let refused = |text: &str| {
            let text = format!("title = \"t\"\nsource = \"s\"\n{text}");
            GraphStatistics::from_toml("t.toml", &text).unwrap_err().to_string()
        };
        let unknown = "t.toml: unknown graph `coar`; did you mean `cora`? known: cora, csbm,";
        assert!(refused("[coar]\nnodes = 1").starts_with(unknown));
        assert_eq!(
            refused("[cora]\nnode = 1"),
            "t.toml: unknown key `node`; did you mean `nodes`? \
             known: nodes, edges, classes, features, H, differs"
        );
        assert_eq!(
            refused("[cora]\nnodes = \"many\""),
            "t.toml: `cora.nodes` is \"many\"; expected a number"
        );
        assert_eq!(
            refused("[cora]\ndiffers.H = 0.1"),
            "t.toml: `cora.differs.H` is 0.1; expected a string in quotes"
        );
        assert_eq!(
            refused("[cora]\ndiffers.differs = \"x\""),
            "t.toml: unknown key `differs`; known: nodes, edges, classes, features, H"
        );
        assert_eq!(refused("cora = 1"), "t.toml: `cora` is 1; expected a table");
        assert_eq!(
            GraphStatistics::from_toml("t.toml", "source = \"s\"").unwrap_err().to_string(),
            "t.toml: no `title`; expected a string in quotes"
        );
        assert!(refused("[cora").starts_with("t.toml: toml parse error at line 3"));
    }

    #[test]
    fn missing_graph_gets_no_numbers() {
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
        assert!(measure().unwrap_err().to_string().contains("no nodes after the header"));
    }
}

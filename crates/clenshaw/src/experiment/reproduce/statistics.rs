//! A table of graphs' sizes and homophily.
//!
//! ```toml
//! title = "..."
//! source = "where the numbers stand"
//!
//! [cora]                  # a graph by its registry name, in the order of the table
//! nodes = 2709            # nodes, edges, classes, features, H: as printed, none of them needed
//!
//! [cora.differs]
//! nodes = "why ours is another number"
//! ```

use super::Only;
use crate::data::{self, DATASETS, Dataset, Description, Store};
use crate::error::{Error, Result};
use crate::experiment::config::first_line;
use crate::report::{Cell, Comparison, Row};
use toml::{Table, Value};

/// What a paper says about graphs, and why we count otherwise.
#[derive(Clone, Debug)]
pub struct Statistics {
    title: String,
    source: String,
    graphs: Vec<Published>,
}

/// A graph in the paper's table: for each column its number, and why ours differs.
#[derive(Clone, Debug)]
struct Published {
    name: String,
    columns: Vec<(Option<f64>, Option<String>)>,
}

/// A column's name, the decimals it is printed with, and how we count it.
type Column = (&'static str, usize, fn(&Description) -> Option<f64>);

const COLUMNS: [Column; 5] = [
    ("nodes", 0, |d| Some(d.nodes as f64)),
    ("edges", 0, |d| Some(d.edges as f64)),
    ("classes", 0, |d| Some(d.classes as f64)),
    ("features", 0, |d| Some(d.features as f64)),
    ("H", 2, |d| d.node_homophily),
];

const NOTES: [&str; 3] = [
    "The paper does not say how many features there are; that column is ours.",
    "Our edges are undirected and counted once, without loops.",
    "Our H is the node homophily of Pei et al. (2020): the mean, over nodes with a neighbour, of the share of neighbours of the node's own class.",
];

impl Statistics {
    /// Reads a file of `experiments/`; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let reader = Reader { place };
        let table: Table = text.parse().map_err(|e| reader.wrong(first_line(&e)))?;
        let word = |key: &str| match table.get(key) {
            Some(Value::String(word)) => Ok(word.clone()),
            Some(other) => {
                Err(reader.wrong(format!("`{key}` is {other}; expected a text in quotes")))
            }
            None => Err(reader.wrong(format!("no `{key}`; expected a text in quotes"))),
        };
        let (title, source) = (word("title")?, word("source")?);
        let graphs = table.iter().filter(|(key, _)| !["title", "source"].contains(&key.as_str()));
        let graphs = graphs.map(|(name, value)| reader.graph(name, value));
        Ok(Self { title, source, graphs: graphs.collect::<Result<_>>()? })
    }

    /// The graphs of the table, in its order.
    pub fn graphs(&self) -> impl Iterator<Item = &str> {
        self.graphs.iter().map(|graph| graph.name.as_str())
    }

    /// Counts the graphs that are wanted; one whose files are not here stays without numbers of ours.
    pub fn measure(&self, store: &Store, only: &Only) -> Result<Comparison> {
        let names: Vec<&str> = self.graphs().collect();
        only.check(&[("graph", &names)])?;
        let wanted = self.graphs.iter().filter(|graph| only.wants("graph", &graph.name));
        let rows = wanted.map(|graph| Ok(graph.row(counted(store, &graph.name)?.as_ref())));
        Ok(Comparison {
            title: self.title.clone(),
            source: self.source.clone(),
            rows_are: "graph".into(),
            notes: NOTES.map(String::from).to_vec(),
            rows: rows.collect::<Result<_>>()?,
        })
    }
}

impl Published {
    fn row(&self, ours: Option<&Description>) -> Row {
        let cell = |(&(name, digits, count), (paper, why)): (&Column, &(_, Option<String>))| {
            let why = ours.and(why.clone());
            Cell::new(name, digits, *paper, ours.and_then(count), why)
        };
        Row {
            name: self.name.clone(),
            sha256: ours.map(|d| d.sha256.clone()),
            is_measured: ours.is_some(),
            cells: COLUMNS.iter().zip(&self.columns).map(cell).collect(),
        }
    }
}

/// The numbers of a graph; `None` if its files are not here.
fn counted(store: &Store, name: &str) -> Result<Option<Description>> {
    Ok(loaded(store, name)?.as_ref().map(Description::of))
}

/// A graph; `None` if its files are not here.
pub(super) fn loaded(store: &Store, name: &str) -> Result<Option<Dataset>> {
    match data::load_from(store, name) {
        Ok(dataset) => Ok(Some(dataset)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error),
    }
}

struct Reader<'a> {
    place: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, problem: String) -> Error {
        Error::Data { place: self.place.into(), problem }
    }

    fn table<'t>(&self, name: &str, value: &'t Value) -> Result<&'t Table> {
        value.as_table().ok_or_else(|| self.wrong(format!("`{name}` is {value}; expected a table")))
    }

    /// Refuses keys that are neither columns nor `extra`.
    fn check_keys(&self, table: &Table, extra: &[&str]) -> Result<()> {
        let known = COLUMNS.map(|(name, ..)| name);
        let known = || known.iter().chain(extra).copied();
        match table.keys().find(|key| !known().any(|name| name == *key)) {
            Some(key) => Err(self.wrong(Error::unknown("key", key, known()).to_string())),
            None => Ok(()),
        }
    }

    fn graph(&self, name: &str, value: &Value) -> Result<Published> {
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
        let column = |(column, ..): Column| {
            let number = table.get(column).map(|value| self.number(name, column, value));
            let why = differs.get(column).map(|value| self.reason(name, column, value));
            Ok((number.transpose()?, why.transpose()?))
        };
        let columns = COLUMNS.map(column).into_iter().collect::<Result<_>>()?;
        Ok(Published { name: name.into(), columns })
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
        reason.ok_or_else(|| self.wrong(format!("`{key}` is {value}; expected a text in quotes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{EXPERIMENTS, Kind};

    #[test]
    fn every_file_is_read() {
        for info in EXPERIMENTS {
            let Kind::Statistics(text) = info.kind else { continue };
            let statistics = Statistics::from_toml(&info.place(), text).unwrap();
            assert!(statistics.graphs().count() > 0, "{}", info.name);
        }
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |text: &str| {
            let text = format!("title = \"t\"\nsource = \"s\"\n{text}");
            Statistics::from_toml("t.toml", &text).unwrap_err().to_string()
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
            "t.toml: `cora.differs.H` is 0.1; expected a text in quotes"
        );
        assert_eq!(
            refused("[cora]\ndiffers.differs = \"x\""),
            "t.toml: unknown key `differs`; known: nodes, edges, classes, features, H"
        );
        assert_eq!(refused("cora = 1"), "t.toml: `cora` is 1; expected a table");
        assert_eq!(
            Statistics::from_toml("t.toml", "source = \"s\"").unwrap_err().to_string(),
            "t.toml: no `title`; expected a text in quotes"
        );
        assert!(refused("[cora").starts_with("t.toml: toml parse error at line 3"));
    }

    #[test]
    fn a_graph_that_is_not_here_gets_no_numbers() {
        let text = "title = \"t\"\nsource = \"s\"\n[texas]\nnodes = 183\n[cora]\nnodes = 2708\n";
        let statistics = Statistics::from_toml("t.toml", text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::only(folder.path());
        let measure = || statistics.measure(&store, &Only::default());
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

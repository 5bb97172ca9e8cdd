//! Twitch-Gamers as LINKX uses it: who streams content for adults?
//!
//! ```text
//! large_twitch_edges.csv      numeric_id_1,numeric_id_2
//! large_twitch_features.csv   views,mature,life_time,created_at,updated_at,numeric_id,dead_account,
//!                             language,affiliate
//! twitch-gamer-splits.npy     five dictionaries of node lists: train, valid, test
//! ```
//!
//! The label is `mature`; features are the other columns but `numeric_id`, in the order above.
//! Dates become whole numbers, 2018-10-05 is 20181005, and languages are numbered as they appear.
//! LINKX scales the columns to mean 0 and deviation 1; here that is left to `zscore`.
//! Lim et al., NeurIPS 2021, arXiv:2110.14446.

use super::geom_splits::fixed;
use super::pickle::{Pickle, Value};
use super::{edges, npy, text};
use crate::data::{Dataset, Features, FixedSplit};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Mat;
use std::collections::HashMap;
use std::path::Path;

const EDGES: &str = "large_twitch_edges.csv";
const NODES: &str = "large_twitch_features.csv";
const SPLITS: &str = "twitch-gamer-splits.npy";

/// The columns that become features.
const FEATURES: [&str; 7] =
    ["views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate"];
/// Splits may share a dictionary, and looking into it takes time.
const MOST_SPLITS: usize = 1000;
const LABEL: &str = "mature";
const ID: &str = "numeric_id";

/// Reads a folder; the splits may be missing, and the tables packed.
pub fn read(folder: &Path) -> Result<Dataset> {
    let path = text::find(folder, NODES);
    let nodes = Table::new(path.display().to_string(), &text::read(&path)?).nodes()?;
    let graph = edges::read_edges(&text::find(folder, EDGES), Some(nodes.len()))?;
    let path = folder.join(SPLITS);
    let splits = match path.exists() {
        true => {
            let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
            read_splits(&path.display().to_string(), &bytes, nodes.len())?
        }
        false => vec![],
    };
    Ok(dataset("twitch-gamers", &nodes, graph, splits))
}

/// Reads the bytes of a folder's files, the tables packed or not; `place` names it in errors, and the
/// data set.
pub fn read_bytes(
    place: &str,
    nodes: &[u8],
    edges: &[u8],
    splits: Option<&[u8]>,
) -> Result<Dataset> {
    let nodes_place = format!("{place}/{NODES}");
    let nodes = text::read_bytes(Path::new(&nodes_place), nodes)?;
    let nodes = Table::new(nodes_place, &nodes).nodes()?;
    let graph = edges::read_bytes(&format!("{place}/{EDGES}"), edges, Some(nodes.len()))?;
    let splits = match splits {
        Some(bytes) => read_splits(&format!("{place}/{SPLITS}"), bytes, nodes.len())?,
        None => vec![],
    };
    Ok(dataset(place, &nodes, graph, splits))
}

fn dataset(name: &str, nodes: &[Node], graph: Graph, splits: Vec<FixedSplit>) -> Dataset {
    let values = nodes.iter().flat_map(|node| node.features).collect();
    let x = Features::Dense(Mat::from_vec(nodes.len(), FEATURES.len(), values));
    let y = nodes.iter().map(|node| Some(node.label)).collect();
    let class_names = ["not mature", "mature"].map(String::from).to_vec();
    let source = "Twitch-Gamers (Rozemberczki & Sarkar 2021), snap.stanford.edu".into();
    Dataset { source, splits, ..Dataset::new(name, graph, x, y, class_names) }
}

/// The splits `linkx:0`, `linkx:1`, ... of `n_nodes` nodes; `place` names the bytes in errors.
pub fn read_splits(place: &str, bytes: &[u8], n_nodes: usize) -> Result<Vec<FixedSplit>> {
    let bad = |problem| Error::Data { place: place.into(), problem };
    let (pickle, dicts) = npy::read_objects(place, bytes)?;
    if dicts.len() > MOST_SPLITS {
        return Err(bad(format!("{} splits; expected at most {MOST_SPLITS}", dicts.len())));
    }
    let mut n_listed = 0;
    let mut splits = vec![];
    for (i, &dict) in dicts.iter().enumerate() {
        let part = |key: &str| {
            let nodes = pickle.get(dict, key).ok_or_else(|| {
                bad(format!("split {i} has no `{key}`; expected train, valid and test"))
            })?;
            node_list(&pickle, nodes, n_nodes)
                .map_err(|problem| bad(format!("split {i}, `{key}`: {problem}")))
        };
        let parts = [part("train")?, part("valid")?, part("test")?];
        // A node takes two bytes; there are more only if splits share a list.
        n_listed += parts.iter().map(Vec::len).sum::<usize>();
        if n_listed > bytes.len() {
            return Err(bad("more nodes than the file can hold".into()));
        }
        splits.push(fixed(place, &format!("linkx:{i}"), parts)?);
    }
    Ok(splits)
}

fn node_list(
    pickle: &Pickle,
    nodes: Value,
    n_nodes: usize,
) -> std::result::Result<Vec<u32>, String> {
    let items = pickle.items(nodes).ok_or("expected a list of nodes")?;
    let node = |item: &Value| match *item {
        Value::Int(node) if (0..n_nodes as i64).contains(&node) => Ok(node as u32),
        Value::Int(node) => Err(format!("node {node}, but the graph has {n_nodes} nodes")),
        other => Err(format!("{other:?} is not a node number")),
    };
    items.iter().map(node).collect()
}

/// A comma-separated text with a header.
struct Table<'a> {
    place: String,
    header: Vec<&'a str>,
    rest: &'a str,
}

/// One line of it.
struct Row<'t, 'a> {
    table: &'t Table<'a>,
    line: usize,
    fields: &'t [&'a str],
}

struct Node {
    features: [f32; FEATURES.len()],
    label: u32,
}

impl<'a> Table<'a> {
    fn new(place: String, text: &'a str) -> Self {
        let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
        Self { place, header: fields(header).collect(), rest }
    }

    fn column(&self, name: &str) -> Result<usize> {
        self.header.iter().position(|&column| column == name).ok_or_else(|| {
            self.bad(1, format!("no column `{name}`; it has: {}", self.header.join(", ")))
        })
    }

    /// The lines after the header that are not empty, with their numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let lines = (2..).zip(self.rest.split('\n'));
        lines.filter(|(_, line)| !line.trim_ascii().is_empty())
    }

    /// The nodes in the order of their numbers.
    fn nodes(&self) -> Result<Vec<Node>> {
        let (id, label) = (self.column(ID)?, self.column(LABEL)?);
        let columns = FEATURES.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        let n = self.lines().count();
        let mut languages = HashMap::new();
        let mut nodes: Vec<Option<Node>> = Vec::new();
        nodes.resize_with(n, || None);
        let mut found = vec![];
        for (line, text) in self.lines() {
            found.clear();
            found.extend(fields(text));
            let row = Row { table: self, line, fields: &found };
            row.check()?;
            let node = row.node(id, n)?;
            let mut features = [0.0; FEATURES.len()];
            for ((feature, name), &column) in features.iter_mut().zip(FEATURES).zip(&columns) {
                *feature = match name {
                    "created_at" | "updated_at" => row.date(column)?,
                    "language" => {
                        let next = languages.len();
                        *languages.entry(found[column]).or_insert(next) as f32
                    }
                    _ => row.number(column)?,
                };
            }
            let node_of_row = Node { features, label: row.truth(label)? };
            if nodes[node as usize].replace(node_of_row).is_some() {
                return Err(row.bad(format!("node {node} is listed twice")));
            }
        }
        // As many nodes as rows, none twice: all are there.
        Ok(nodes.into_iter().flatten().collect())
    }

    fn bad(&self, line: usize, problem: String) -> Error {
        Error::Data { place: format!("{}:{line}", self.place), problem }
    }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

impl Row<'_, '_> {
    /// Refuses a row that is longer or shorter than the header.
    fn check(&self) -> Result<()> {
        match (self.fields.len(), self.table.header.len()) {
            (n, expected) if n == expected => Ok(()),
            (n, expected) => Err(self.bad(format!("{n} fields; expected {expected}"))),
        }
    }

    fn node(&self, column: usize, n_nodes: usize) -> Result<u32> {
        let id = self.fields[column].parse::<u32>().ok().filter(|&id| (id as usize) < n_nodes);
        id.ok_or_else(|| self.expected(column, &format!("a node number below {n_nodes}")))
    }

    fn number(&self, column: usize) -> Result<f32> {
        let number = self.fields[column].parse::<i64>().map(|number| number as f32);
        number.map_err(|_| self.expected(column, "a whole number"))
    }

    fn truth(&self, column: usize) -> Result<u32> {
        match self.fields[column] {
            "0" => Ok(0),
            "1" => Ok(1),
            _ => Err(self.expected(column, "0 or 1")),
        }
    }

    /// `2018-10-05` as 20181005.
    fn date(&self, column: usize) -> Result<f32> {
        let digits = match self.fields[column].as_bytes() {
            &[a, b, c, d, b'-', e, f, b'-', g, h] => Some([a, b, c, d, e, f, g, h]),
            _ => None,
        };
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_digit));
        let number = |digits: [u8; 8]| {
            digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0')) as f32
        };
        digits.map(number).ok_or_else(|| self.expected(column, "a date such as 2018-10-05"))
    }

    fn expected(&self, column: usize, expected: &str) -> Error {
        let (name, field) = (self.table.header[column], self.fields[column].escape_debug());
        self.bad(format!("{name} is `{field}`; expected {expected}"))
    }

    fn bad(&self, problem: String) -> Error {
        self.table.bad(self.line, problem)
    }
}

#[cfg(test)]
pub(super) mod tests;

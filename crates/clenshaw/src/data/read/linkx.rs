//! Twitch-Gamers as used by LINKX: predict whether an account streams mature content.
//!
//! ```text
//! large_twitch_edges.csv      numeric_id_1,numeric_id_2
//! large_twitch_features.csv   views,mature,life_time,created_at,updated_at,numeric_id,dead_account,
//!                             language,affiliate
//! twitch-gamer-splits.npy     five dictionaries of node lists: train, valid, test
//! ```
//!
//! The label is `mature`; the features are all other columns except `numeric_id`, in this order.
//! Dates are encoded as integers, 2018-10-05 as 20181005; languages are numbered in order of first
//! occurrence. LINKX standardises the columns; the scaling `zscore` has the same effect.
//! Lim et al., NeurIPS 2021, arXiv:2110.14446.

use super::geom_splits::fixed_split;
use super::pickle::{Pickle, PickleValue};
use super::{edges, npy, text};
use crate::data::{Dataset, Features, FixedSplit, check_node_count, count};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Mat;
use std::collections::HashMap;
use std::path::Path;

const EDGES: &str = "large_twitch_edges.csv";
const NODES: &str = "large_twitch_features.csv";
const SPLITS: &str = "twitch-gamer-splits.npy";

/// The columns that become features, in this order.
const FEATURES: [&str; 7] =
    ["views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate"];
/// Maximum number of splits. They can share a dictionary, so the file size does not limit their number.
const MAX_SPLITS: usize = 1000;
/// The column of the label.
const LABEL: &str = "mature";
/// The column of the node number.
const ID: &str = "numeric_id";

/// Reads a folder; the splits are optional, and the tables may be compressed.
pub fn read(folder: &Path) -> Result<Dataset> {
    let path = text::find_file(folder, NODES);
    let nodes = TwitchTable::new(path.display().to_string(), &text::read(&path)?).nodes()?;
    let graph = edges::read_edges(&text::find_file(folder, EDGES), Some(nodes.len()))?;
    let path = folder.join(SPLITS);
    let splits = match path.exists() {
        true => {
            let bytes = crate::files::read(&path)?;
            read_splits(&path.display().to_string(), &bytes, nodes.len())?
        }
        false => vec![],
    };
    Ok(dataset("twitch-gamers", &nodes, graph, splits))
}

/// Reads a data set from the contents of its files; `place` is the folder in errors, and the data set's name.
pub fn read_bytes(
    place: &str,
    nodes: &[u8],
    edges: &[u8],
    splits: Option<&[u8]>,
) -> Result<Dataset> {
    let nodes_place = format!("{place}/{NODES}");
    let nodes = text::read_bytes(Path::new(&nodes_place), nodes)?;
    let nodes = TwitchTable::new(nodes_place, &nodes).nodes()?;
    let graph = edges::read_bytes(&format!("{place}/{EDGES}"), edges, Some(nodes.len()))?;
    let splits = match splits {
        Some(bytes) => read_splits(&format!("{place}/{SPLITS}"), bytes, nodes.len())?,
        None => vec![],
    };
    Ok(dataset(place, &nodes, graph, splits))
}

fn dataset(name: &str, nodes: &[TwitchNode], graph: Graph, splits: Vec<FixedSplit>) -> Dataset {
    let values = nodes.iter().flat_map(|node| node.features).collect();
    let x = Features::Dense(Mat::from_vec(nodes.len(), FEATURES.len(), values));
    let y = nodes.iter().map(|node| Some(node.label)).collect();
    let class_names = ["not mature", "mature"].map(String::from).to_vec();
    let source = "Twitch-Gamers (Rozemberczki & Sarkar 2021), snap.stanford.edu".into();
    Dataset { source, splits, ..Dataset::new(name, graph, x, y, class_names) }
}

/// Reads the splits `linkx:0`, `linkx:1`, ... of `n_nodes` nodes; errors refer to the file as `place`.
pub fn read_splits(place: &str, bytes: &[u8], n_nodes: usize) -> Result<Vec<FixedSplit>> {
    let bad = |problem| Error::Data { place: place.into(), problem };
    let (pickle, dicts) = npy::read_objects(place, bytes)?;
    if dicts.len() > MAX_SPLITS {
        return Err(bad(format!("{} splits; expected at most {MAX_SPLITS}", dicts.len())));
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
        // A node takes at least two bytes, so a larger number means that splits share lists.
        n_listed += parts.iter().map(Vec::len).sum::<usize>();
        if n_listed > bytes.len() {
            return Err(bad("more nodes than the file can contain".into()));
        }
        splits.push(fixed_split(place, &format!("linkx:{i}"), parts)?);
    }
    Ok(splits)
}

/// Converts a pickled list to node numbers; an error unless all are non-negative integers below `n_nodes`.
fn node_list(
    pickle: &Pickle,
    nodes: PickleValue,
    n_nodes: usize,
) -> std::result::Result<Vec<u32>, String> {
    let items = pickle.items(nodes).ok_or("expected a list of nodes")?;
    let node = |item: &PickleValue| match *item {
        PickleValue::Int(number) => {
            let node = u32::try_from(number).ok().filter(|&node| (node as usize) < n_nodes);
            node.ok_or_else(|| format!("node {number}; expected node numbers below {n_nodes}"))
        }
        other => Err(format!("{other:?}; expected a node number")),
    };
    items.iter().map(node).collect()
}

/// A comma-separated table with a header.
struct TwitchTable<'a> {
    place: String,
    header: Vec<&'a str>,
    /// The lines after the header.
    rest: &'a str,
}

/// A row of the table.
struct TwitchRow<'t, 'a> {
    table: &'t TwitchTable<'a>,
    line: usize,
    fields: &'t [&'a str],
}

/// The features and the label of a node.
struct TwitchNode {
    features: [f32; FEATURES.len()],
    label: u32,
}

impl<'a> TwitchTable<'a> {
    fn new(place: String, text: &'a str) -> Self {
        let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
        Self { place, header: fields(header).collect(), rest }
    }

    /// Returns the index of the column with this name; an error if there is none.
    fn column(&self, name: &str) -> Result<usize> {
        self.header.iter().position(|&column| column == name).ok_or_else(|| {
            self.error(1, format!("no column `{name}`; the table has: {}", self.header.join(", ")))
        })
    }

    /// Returns the lines after the header that are not blank, with line numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let lines = (2..).zip(self.rest.split('\n'));
        lines.filter(|(_, line)| !line.trim_ascii().is_empty())
    }

    /// Returns the nodes in the order of their numbers; an error if the table is malformed, or unless every
    /// number below the number of rows occurs once.
    fn nodes(&self) -> Result<Vec<TwitchNode>> {
        let (id_column, label_column) = (self.column(ID)?, self.column(LABEL)?);
        let columns = FEATURES.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        let n = self.lines().count();
        check_node_count(&self.place, n)?;
        let mut languages = HashMap::new();
        let mut nodes: Vec<Option<TwitchNode>> = Vec::new();
        nodes.resize_with(n, || None);
        let mut found = vec![];
        for (line, text) in self.lines() {
            found.clear();
            found.extend(fields(text));
            let row = TwitchRow { table: self, line, fields: &found };
            row.check_length()?;
            let id = row.node_id(id_column, n)?;
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
            let node = TwitchNode { features, label: row.flag(label_column)? };
            if nodes[id as usize].replace(node).is_some() {
                return Err(row.error(format!("duplicate node {id}")));
            }
        }
        // There are as many nodes as rows and no duplicates, so none is missing.
        Ok(nodes.into_iter().flatten().collect())
    }

    fn error(&self, line: usize, problem: String) -> Error {
        Error::Data { place: format!("{}:{line}", self.place), problem }
    }
}

/// The fields of a line.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

impl TwitchRow<'_, '_> {
    /// Returns an error if the row does not have as many fields as the header.
    fn check_length(&self) -> Result<()> {
        match (self.fields.len(), self.table.header.len()) {
            (n, expected) if n == expected => Ok(()),
            (n, expected) => {
                Err(self.error(format!("{}; expected {expected}", count(n, "field", "fields"))))
            }
        }
    }

    fn node_id(&self, column: usize, n_nodes: usize) -> Result<u32> {
        let id = self.fields[column].parse::<u32>().ok().filter(|&id| (id as usize) < n_nodes);
        id.ok_or_else(|| self.field_error(column, &format!("a node number below {n_nodes}")))
    }

    /// Parses an integer, which is rounded to the nearest `f32`.
    fn number(&self, column: usize) -> Result<f32> {
        let number = self.fields[column].parse::<i64>().map(|number| number as f32);
        number.map_err(|_| self.field_error(column, "an integer"))
    }

    fn flag(&self, column: usize) -> Result<u32> {
        match self.fields[column] {
            "0" => Ok(0),
            "1" => Ok(1),
            _ => Err(self.field_error(column, "0 or 1")),
        }
    }

    /// Encodes `2018-10-05` as 20181005, rounded to the nearest `f32`.
    fn date(&self, column: usize) -> Result<f32> {
        let digits = match self.fields[column].as_bytes() {
            &[a, b, c, d, b'-', e, f, b'-', g, h] => Some([a, b, c, d, e, f, g, h]),
            _ => None,
        };
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_digit));
        let number = |digits: [u8; 8]| {
            digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0')) as f32
        };
        digits.map(number).ok_or_else(|| self.field_error(column, "a date such as 2018-10-05"))
    }

    /// An error about a field of the row.
    fn field_error(&self, column: usize, expected: &str) -> Error {
        let (name, field) = (self.table.header[column], self.fields[column].escape_debug());
        self.error(format!("{name} is `{field}`; expected {expected}"))
    }

    fn error(&self, problem: String) -> Error {
        self.table.error(self.line, problem)
    }
}

#[cfg(test)]
pub(super) mod tests;

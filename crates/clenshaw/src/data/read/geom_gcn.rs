//! Geom-GCN's text files: nodes and edges, each with a header.
//!
//! ```text
//! out1_node_feature_label.txt   id <TAB> features <TAB> label      ids 0..n in any order
//! out1_graph_edges.txt          id <TAB> id                        directed, with loops and duplicates
//! splits/                       ten splits, where published
//! ```
//!
//! Features are zeros and ones. Only `film` (Actor) lists the indices of the columns that are one instead;
//! its header contains a wrong number of columns, `feature(feature_amount:931)` instead of 932.
//! Pei et al., ICLR 2020, arXiv:2002.05287.

use super::geom_splits::geom_splits;
use super::text;
use crate::data::{Dataset, Features, check_node_count, count};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Pattern;
use std::path::Path;

const NODES: &str = "out1_node_feature_label.txt";
const EDGES: &str = "out1_graph_edges.txt";

/// Maximum number of features; a model allocates a row of weights for each.
const MAX_COLUMNS: usize = 1 << 24;

/// Reads a folder and its splits; `name` becomes the name of the data set.
///
/// The files of the splits are named after `name`. If the folder has none, those of the folder `name`
/// next to it are used: both versions of Cornell share their splits.
pub fn read(folder: &Path, name: &str) -> Result<Dataset> {
    let [nodes, edges] = [NODES, EDGES].map(|file| text::find_file(folder, file));
    let texts = (text::read(&nodes)?, text::read(&edges)?);
    let nodes = GeomTable::new(nodes.display().to_string(), &texts.0)?;
    let edges = GeomTable::new(edges.display().to_string(), &texts.1)?;
    let dataset = dataset(&folder.display().to_string(), &nodes, &edges)?;
    let n = dataset.graph.n_nodes();
    let splits = match geom_splits(folder, name, n)? {
        found if found.is_empty() => geom_splits(&folder.with_file_name(name), name, n)?,
        splits => splits,
    };
    Ok(Dataset { name: name.into(), splits, ..dataset })
}

/// Reads the bytes of the two files of a folder; `place` is its name in errors and the name of the data
/// set, which has no splits.
///
/// ```
/// use clenshaw::data::read::geom_gcn::read_bytes;
/// let nodes = b"node_id\tfeature\tlabel\n1\t0,1\t1\n0\t1,1\t0\n";
/// let pair = read_bytes("pair", nodes, b"node_id\tnode_id\n0\t1\n")?;
/// assert_eq!(pair.x.to_dense().row(1), [0.0, 1.0]);
/// let error = read_bytes("pair", nodes, b"node_id\tnode_id\n0\t2\n").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "pair/out1_graph_edges.txt:2: edge with node 2; expected node ids below 2"
/// );
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, nodes: &[u8], edges: &[u8]) -> Result<Dataset> {
    let [nodes_place, edges_place] = [NODES, EDGES].map(|file| format!("{place}/{file}"));
    let nodes = text::read_bytes(Path::new(&nodes_place), nodes)?;
    let edges = text::read_bytes(Path::new(&edges_place), edges)?;
    let nodes = GeomTable::new(nodes_place, &nodes)?;
    let edges = GeomTable::new(edges_place, &edges)?;
    dataset(place, &nodes, &edges)
}

fn dataset(place: &str, nodes: &GeomTable, edges: &GeomTable) -> Result<Dataset> {
    let rows = nodes.nodes()?;
    let x = match nodes.header.contains("feature_amount") {
        true => nodes.index_lists(&rows)?,
        false => nodes.zeros_and_ones(&rows)?,
    };
    let graph = Graph::from_edges(&edges.place, rows.len(), &edges.edges(rows.len())?)?;
    let n_classes = rows.iter().map(|node| node.label + 1).max().unwrap_or(0);
    let class_names = (0..n_classes).map(|class| class.to_string()).collect();
    let y = rows.iter().map(|node| Some(node.label)).collect();
    let source = "Geom-GCN (Pei et al. 2020)".into();
    Ok(Dataset { source, ..Dataset::new(place, graph, x, y, class_names) })
}

/// A tab-separated table with a header.
struct GeomTable<'a> {
    place: String,
    header: &'a str,
    /// The lines after the header.
    rest: &'a str,
}

/// A row of the node file. [`GeomTable::nodes`] returns it at the index of its node id.
#[derive(Clone, Copy)]
struct GeomNode<'a> {
    line: usize,
    features: &'a str,
    label: u32,
}

impl<'a> GeomTable<'a> {
    /// Splits off the header; an error if the first line does not start with a letter.
    fn new(place: String, text: &'a str) -> Result<Self> {
        let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
        let table = Self { place, header, rest };
        match header.starts_with(|c: char| c.is_alphabetic()) {
            true => Ok(table),
            false => Err(table.error(1, "expected a header that starts with `node_id`".into())),
        }
    }

    /// An error on a line of the file.
    fn error(&self, line: usize, problem: String) -> Error {
        Error::Data { place: format!("{}:{line}", self.place), problem }
    }

    /// Returns the non-empty lines after the header, with line numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (2..).zip(self.rest.lines()).filter(|(_, line)| !line.is_empty())
    }

    /// Splits a line into exactly `N` tab-separated fields; an error if there are more or fewer.
    fn fields<const N: usize>(&self, line: usize, text: &'a str) -> Result<[&'a str; N]> {
        let mut fields = text.split('\t');
        let found = [(); N].map(|()| fields.next().unwrap_or_default());
        match text.bytes().filter(|&byte| byte == b'\t').count() + 1 {
            n if n == N => Ok(found),
            n => {
                let n_fields = count(n, "field", "fields");
                Err(self.error(line, format!("{n_fields}; expected {N}, separated by tabs")))
            }
        }
    }

    /// Parses a non-negative integer; errors refer to it as `what`.
    fn number(&self, line: usize, what: &str, text: &str) -> Result<usize> {
        let number = text.trim().parse();
        number.map_err(|_| {
            self.error(line, format!("{what} is `{text}`; expected a non-negative integer"))
        })
    }

    /// Returns all nodes in the order of their ids. An error unless the rows are well-formed, the labels are
    /// below the number of rows, and every id below that number occurs exactly once.
    fn nodes(&self) -> Result<Vec<GeomNode<'a>>> {
        let n = self.lines().count();
        check_node_count(&self.place, n)?;
        let mut nodes: Vec<Option<GeomNode>> = vec![None; n];
        for (line, text) in self.lines() {
            let [id, features, label] = self.fields(line, text)?;
            let id = self.number(line, "node id", id)?;
            let label = self.number(line, "label", label)?;
            if label >= n {
                let problem = format!("label {label}; expected less than {n}, the number of nodes");
                return Err(self.error(line, problem));
            }
            let node = GeomNode { line, features, label: label as u32 };
            match nodes.get_mut(id) {
                Some(empty @ None) => *empty = Some(node),
                Some(Some(GeomNode { line: first, .. })) => {
                    let problem = format!("duplicate node {id}; it is also on line {first}");
                    return Err(self.error(line, problem));
                }
                None => {
                    let problem = format!("node {id}; expected node ids below {n}");
                    return Err(self.error(line, problem));
                }
            }
        }
        Ok(nodes.into_iter().flatten().collect())
    }

    /// Parses `0,1,0`, the value of every column; an error unless all rows have the same length.
    fn zeros_and_ones(&self, nodes: &[GeomNode]) -> Result<Features> {
        let columns = |node: &GeomNode| node.features.len().div_ceil(2);
        let Some(first) = nodes.iter().min_by_key(|node| node.line) else {
            return Err(self.error(1, "the table has no rows; expected one row per node".into()));
        };
        let n_cols = columns(first);
        if n_cols > MAX_COLUMNS {
            let problem = format!("{n_cols} features; expected at most {MAX_COLUMNS}");
            return Err(self.error(first.line, problem));
        }
        let mut rows = BinaryRows::default();
        for node in nodes {
            for (j, cell) in node.features.as_bytes().chunks(2).enumerate() {
                match cell {
                    b"0" | b"0," => {}
                    b"1" | b"1," => rows.indices.push(j as u32),
                    _ => {
                        let problem =
                            format!("feature {j} is `{}`; expected 0 or 1", cell.escape_ascii());
                        return Err(self.error(node.line, problem));
                    }
                }
            }
            if node.features.ends_with(',') || columns(node) != n_cols {
                let found = count(node.features.split(',').count(), "feature", "features");
                let (line, first) = (node.line, first.line);
                return Err(
                    self.error(line, format!("{found}; expected {n_cols}, as on line {first}"))
                );
            }
            rows.end_row();
        }
        Ok(rows.features(n_cols))
    }

    /// Parses `92,521`, the indices of the columns that are one, in any order, possibly with duplicates. The
    /// largest index determines the number of columns.
    fn index_lists(&self, nodes: &[GeomNode]) -> Result<Features> {
        let mut rows = BinaryRows::default();
        for node in nodes {
            let mut row = vec![];
            for index in node.features.split(',').filter(|_| !node.features.is_empty()) {
                match self.number(node.line, "feature index", index)? {
                    index if index < MAX_COLUMNS => row.push(index as u32),
                    index => {
                        let problem =
                            format!("feature index {index}; expected less than {MAX_COLUMNS}");
                        return Err(self.error(node.line, problem));
                    }
                }
            }
            row.sort_unstable();
            row.dedup();
            rows.indices.append(&mut row);
            rows.end_row();
        }
        let last = rows.indices.iter().max().map_or(0, |&index| index as usize + 1);
        Ok(rows.features(last))
    }

    /// Returns the edges; an error if a line is malformed or a node id is not below `n_nodes`.
    fn edges(&self, n_nodes: usize) -> Result<Vec<(u32, u32)>> {
        let node = |line: usize, text: &str| match self.number(line, "node id", text)? {
            id if id < n_nodes => Ok(id as u32),
            id => {
                let problem = format!("edge with node {id}; expected node ids below {n_nodes}");
                Err(self.error(line, problem))
            }
        };
        let edge = |(line, text)| {
            let [u, v] = self.fields(line, text)?;
            Ok((node(line, u)?, node(line, v)?))
        };
        self.lines().map(edge).collect()
    }
}

/// Builds a sparse matrix of ones row by row.
struct BinaryRows {
    offsets: Vec<usize>,
    /// The columns that are one, row after row.
    indices: Vec<u32>,
}

impl Default for BinaryRows {
    fn default() -> Self {
        Self { offsets: vec![0], indices: vec![] }
    }
}

impl BinaryRows {
    fn end_row(&mut self) {
        self.offsets.push(self.indices.len());
    }

    fn features(self, n_cols: usize) -> Features {
        let values = vec![1.0; self.indices.len()];
        Features::Sparse { pattern: Pattern::new(n_cols, self.offsets, self.indices), values }
    }
}

#[cfg(test)]
mod tests;

//! Geom-GCN's text files: one of nodes, one of edges, each with a header.
//!
//! ```text
//! out1_node_feature_label.txt   id <TAB> features <TAB> label      ids 0..n in any order
//! out1_graph_edges.txt          id <TAB> id                        any direction, loops and repeats
//! splits/                       ten masks a data set, where they are published
//! ```
//!
//! Features are a list of zeros and ones; only `film` (Actor) lists the columns of the ones instead,
//! which its header tells by counting them, wrongly: `feature(feature_amount:931)` has 932.
//! Pei et al., ICLR 2020, arXiv:2002.05287.

use super::geom_splits::geom_splits;
use super::text;
use crate::data::{Dataset, Features};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Pattern;
use std::path::Path;

const NODES: &str = "out1_node_feature_label.txt";
const EDGES: &str = "out1_graph_edges.txt";

/// More columns than this are a mistake: each costs a row of weights.
const MOST_COLUMNS: usize = 1 << 24;

/// How a node's features are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureStyle {
    /// `0,1,0,0`.
    ZeroOne,
    /// `1`: the columns of the ones, in any order, repeats allowed.
    IndexList {
        /// How many columns there are; if not said, up to the last one that is named.
        columns: Option<usize>,
    },
}

impl FeatureStyle {
    fn of_header(header: &str) -> Self {
        match header.contains("feature_amount") {
            true => Self::IndexList { columns: None },
            false => Self::ZeroOne,
        }
    }
}

/// Reads a folder, with the splits of that name in it or, failing that, in the folder `name` beside
/// it: Cornell and its correction share theirs.
pub fn read(folder: &Path, name: &str) -> Result<Dataset> {
    let [nodes, edges] = [NODES, EDGES].map(|file| text::find(folder, file));
    let texts = (text::read(&nodes)?, text::read(&edges)?);
    let nodes = Table::new(nodes.display().to_string(), &texts.0)?;
    let edges = Table::new(edges.display().to_string(), &texts.1)?;
    let dataset = dataset(&folder.display().to_string(), &nodes, &edges, None)?;
    let n = dataset.graph.n_nodes();
    let splits = match geom_splits(folder, name, n)? {
        none if none.is_empty() => geom_splits(&folder.with_file_name(name), name, n)?,
        splits => splits,
    };
    Ok(Dataset { name: name.into(), splits, ..dataset })
}

/// Reads the bytes of a folder's two files, packed or not; `place` names it in errors, and the data
/// set.
///
/// Without a style, the header of the nodes decides.
///
/// ```
/// use clenshaw::data::read::geom_gcn::read_bytes;
/// let nodes = b"node_id\tfeature\tlabel\n1\t0,1\t1\n0\t1,1\t0\n";
/// let pair = read_bytes("pair", nodes, b"node_id\tnode_id\n0\t1\n", None)?;
/// assert_eq!(pair.x.to_dense().row(1), [0.0, 1.0]);
/// let error = read_bytes("pair", nodes, b"node_id\tnode_id\n0\t2\n", None).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "pair/out1_graph_edges.txt:2: node 2 in an edge, but there are 2 nodes"
/// );
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(
    place: &str,
    nodes: &[u8],
    edges: &[u8],
    style: Option<FeatureStyle>,
) -> Result<Dataset> {
    let [nodes_place, edges_place] = [NODES, EDGES].map(|file| format!("{place}/{file}"));
    let nodes = text::read_bytes(Path::new(&nodes_place), nodes)?;
    let edges = text::read_bytes(Path::new(&edges_place), edges)?;
    let nodes = Table::new(nodes_place, &nodes)?;
    let edges = Table::new(edges_place, &edges)?;
    dataset(place, &nodes, &edges, style)
}

fn dataset(
    place: &str,
    nodes: &Table,
    edges: &Table,
    style: Option<FeatureStyle>,
) -> Result<Dataset> {
    let style = style.unwrap_or(FeatureStyle::of_header(nodes.header));
    let rows = nodes.nodes()?;
    let x = match style {
        FeatureStyle::ZeroOne => nodes.zeros_and_ones(&rows)?,
        FeatureStyle::IndexList { columns } => nodes.index_lists(&rows, columns)?,
    };
    let graph = Graph::from_edges(&edges.place, rows.len(), &edges.edges(rows.len())?)?;
    let n_classes = rows.iter().map(|node| node.label + 1).max().unwrap_or(0);
    let class_names = (0..n_classes).map(|class| class.to_string()).collect();
    let y = rows.iter().map(|node| Some(node.label)).collect();
    let source = "Geom-GCN (Pei et al. 2020)".into();
    Ok(Dataset { source, ..Dataset::new(place, graph, x, y, class_names) })
}

/// A text with a header.
struct Table<'a> {
    place: String,
    header: &'a str,
    rest: &'a str,
}

/// A line of the node file; its place in the list is its id.
#[derive(Clone, Copy)]
struct Node<'a> {
    line: usize,
    features: &'a str,
    label: u32,
}

impl<'a> Table<'a> {
    fn new(place: String, text: &'a str) -> Result<Self> {
        let (header, rest) = text.split_once('\n').unwrap_or((text, ""));
        let table = Self { place, header, rest };
        match header.starts_with(|c: char| c.is_alphabetic()) {
            true => Ok(table),
            false => Err(table.bad(1, "expected a header that begins with `node_id`".into())),
        }
    }

    fn bad(&self, line: usize, problem: String) -> Error {
        Error::Data { place: format!("{}:{line}", self.place), problem }
    }

    /// The lines after the header that are not empty, with their numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        (2..).zip(self.rest.lines()).filter(|(_, line)| !line.is_empty())
    }

    /// A line's fields.
    fn fields<const N: usize>(&self, line: usize, text: &'a str) -> Result<[&'a str; N]> {
        let mut fields = text.split('\t');
        let found = [(); N].map(|()| fields.next().unwrap_or_default());
        match text.bytes().filter(|&byte| byte == b'\t').count() + 1 {
            count if count == N => Ok(found),
            count => {
                Err(self.bad(line, format!("{count} fields; expected {N}, with tabs between")))
            }
        }
    }

    fn number(&self, line: usize, what: &str, text: &str) -> Result<usize> {
        let number = text.trim().parse();
        number.map_err(|_| self.bad(line, format!("`{text}` as {what}; expected a whole number")))
    }

    /// All nodes by id: with as many lines as nodes, each id below their number stands once.
    fn nodes(&self) -> Result<Vec<Node<'a>>> {
        let n = self.lines().count();
        let mut nodes: Vec<Option<Node>> = vec![None; n];
        for (line, text) in self.lines() {
            let [id, features, label] = self.fields(line, text)?;
            let id = self.number(line, "a node id", id)?;
            let label = self.number(line, "a label", label)?;
            if label >= n {
                let problem =
                    format!("label {label}; {n} nodes have at most the labels 0 to {}", n - 1);
                return Err(self.bad(line, problem));
            }
            let node = Node { line, features, label: label as u32 };
            match nodes.get_mut(id) {
                Some(empty @ None) => *empty = Some(node),
                Some(Some(Node { line: first, .. })) => {
                    let problem = format!("node {id} again; it stood in line {first}");
                    return Err(self.bad(line, problem));
                }
                None => {
                    let problem = format!("node {id}; {n} nodes have the ids 0 to {}", n - 1);
                    return Err(self.bad(line, problem));
                }
            }
        }
        Ok(nodes.into_iter().flatten().collect())
    }

    /// `0,1,0`: every second byte is a comma.
    fn zeros_and_ones(&self, nodes: &[Node]) -> Result<Features> {
        let columns = |node: &Node| node.features.len().div_ceil(2);
        let Some(first) = nodes.iter().min_by_key(|node| node.line) else {
            return Err(self.bad(1, "no nodes after the header".into()));
        };
        let n_cols = columns(first);
        let mut rows = Rows::default();
        for node in nodes {
            for (j, cell) in node.features.as_bytes().chunks(2).enumerate() {
                match cell {
                    b"0" | b"0," => {}
                    b"1" | b"1," => rows.indices.push(j as u32),
                    _ => {
                        let problem = format!("feature {j} is neither 0 nor 1");
                        return Err(self.bad(node.line, problem));
                    }
                }
            }
            if node.features.ends_with(',') || columns(node) != n_cols {
                let found = node.features.split(',').count();
                let (line, first) = (node.line, first.line);
                return Err(self.bad(line, format!("{found} features; line {first} has {n_cols}")));
            }
            rows.end();
        }
        Ok(rows.features(n_cols))
    }

    /// `92,521`: the columns of the ones.
    fn index_lists(&self, nodes: &[Node], columns: Option<usize>) -> Result<Features> {
        let end = columns.unwrap_or(MOST_COLUMNS);
        let mut rows = Rows::default();
        for node in nodes {
            let mut row = vec![];
            for index in node.features.split(',').filter(|_| !node.features.is_empty()) {
                match self.number(node.line, "a feature", index)? {
                    index if index < end => row.push(index as u32),
                    index => {
                        let problem = format!("feature {index}; there are at most {end}");
                        return Err(self.bad(node.line, problem));
                    }
                }
            }
            row.sort_unstable();
            row.dedup();
            rows.indices.append(&mut row);
            rows.end();
        }
        let last = rows.indices.iter().max().map_or(0, |&index| index as usize + 1);
        Ok(rows.features(columns.unwrap_or(last)))
    }

    fn edges(&self, n_nodes: usize) -> Result<Vec<(u32, u32)>> {
        let node = |line: usize, text: &str| match self.number(line, "a node id", text)? {
            id if id < n_nodes => Ok(id as u32),
            id => {
                let problem = format!("node {id} in an edge, but there are {n_nodes} nodes");
                Err(self.bad(line, problem))
            }
        };
        let edge = |(line, text)| {
            let [u, v] = self.fields(line, text)?;
            Ok((node(line, u)?, node(line, v)?))
        };
        self.lines().map(edge).collect()
    }
}

/// Compressed rows of ones, while they are read.
struct Rows {
    offsets: Vec<usize>,
    indices: Vec<u32>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { offsets: vec![0], indices: vec![] }
    }
}

impl Rows {
    fn end(&mut self) {
        self.offsets.push(self.indices.len());
    }

    fn features(self, n_cols: usize) -> Features {
        let values = vec![1.0; self.indices.len()];
        Features::Sparse { pattern: Pattern::new(n_cols, self.offsets, self.indices), values }
    }
}

#[cfg(test)]
mod tests;

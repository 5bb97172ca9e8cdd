//! Planetoid's pickles of Cora, Citeseer and PubMed.
//!
//! ```text
//! ind.<name>.allx, .ally    features and one-hot labels of nodes 0 .. a-1
//! ind.<name>.tx, .ty        those of the test nodes, in the order of test.index
//! ind.<name>.x, .y          the first rows of allx, ally: the public training nodes
//! ind.<name>.graph          a dictionary from each node to the list of its neighbours
//! ind.<name>.test.index     the test nodes, one per line
//! ```
//!
//! Citeseer's `test.index` omits 15 nodes, which have neither features nor a label.
//! In the split `public`, the nodes of `x` are for training, the next 500 for validation and those of
//! `test.index` for testing; nodes without a label are left out.
//! Yang et al., ICML 2016, arXiv:1603.08861.

use super::csr::CsrMatrix;
use super::geom_splits::{fixed_split, geom_splits, retain_labelled};
use super::pickle::{self, PickleNode, PickleValue};
use crate::data::{Dataset, Features, count};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Pattern;
use std::path::Path;

/// The bytes of the eight files.
#[derive(Clone, Copy, Debug)]
pub struct PlanetoidFiles<'a> {
    /// Features of the training nodes.
    pub x: &'a [u8],
    /// Features of the test nodes.
    pub tx: &'a [u8],
    /// Features of the nodes before the test nodes, including the training nodes.
    pub allx: &'a [u8],
    /// Labels of the training nodes.
    pub y: &'a [u8],
    /// Labels of the test nodes.
    pub ty: &'a [u8],
    /// Labels of the nodes before the test nodes, including the training nodes.
    pub ally: &'a [u8],
    /// The neighbours of each node.
    pub graph: &'a [u8],
    /// The test nodes.
    pub test_index: &'a [u8],
}

/// Number of validation nodes of the public split, if there are enough nodes before the test nodes.
const N_VAL: usize = 500;

/// Maximum number of columns; a model allocates a row of weights for each.
const MAX_COLUMNS: usize = 1 << 24;

/// Reads `ind.<name>.*`, and Geom-GCN's splits if the folder has them; `name` becomes the name of the
/// data set.
pub fn read(folder: &Path, name: &str) -> Result<Dataset> {
    let path = |part: &str| folder.join(format!("ind.{name}.{part}"));
    let bytes = |part: &str| crate::files::read(&path(part));
    let files = PlanetoidFiles {
        x: &bytes("x")?,
        tx: &bytes("tx")?,
        allx: &bytes("allx")?,
        y: &bytes("y")?,
        ty: &bytes("ty")?,
        ally: &bytes("ally")?,
        graph: &bytes("graph")?,
        test_index: &bytes("test.index")?,
    };
    let place = folder.join(format!("ind.{name}")).display().to_string();
    let mut dataset = read_bytes(&place, &files)?;
    let splits = geom_splits(folder, name, dataset.graph.n_nodes())?;
    dataset.splits.extend(retain_labelled(splits, &dataset.y)?);
    Ok(Dataset { name: name.into(), ..dataset })
}

/// Reads the eight files; `place` is the prefix of their names in errors, and the data set's name.
pub fn read_bytes(place: &str, files: &PlanetoidFiles) -> Result<Dataset> {
    let part = |name: &str| format!("{place}.{name}");
    let graph = graph(&part("graph"), files.graph)?;
    let n = graph.n_nodes();
    let rest = LabelledRows::read(place, ["allx", "ally"], [files.allx, files.ally])?;
    let train = LabelledRows::read(place, ["x", "y"], [files.x, files.y])?;
    let test = LabelledRows::read(place, ["tx", "ty"], [files.tx, files.ty])?;
    if rest.classes.len() > n {
        let rows = count(rest.classes.len(), "row", "rows");
        let problem = format!("{rows}; expected at most {n}, the number of nodes");
        return Err(data_error(&part("allx"), problem));
    }
    rest.expect_same_widths(&part("x"), &train)?;
    rest.expect_same_widths(&part("tx"), &test)?;
    if rest.classes.get(..train.classes.len()) != Some(&train.classes) {
        return Err(data_error(&part("y"), "expected the first rows of `ally`".into()));
    }
    let test_nodes = TestIndex { place: &part("test.index"), first: rest.classes.len(), n };
    let test_nodes = test_nodes.read(files.test_index, test.classes.len())?;
    let (x, y) = assemble(n, &rest, &test, &test_nodes);

    let labelled = |nodes: &mut dyn Iterator<Item = u32>| -> Vec<u32> {
        nodes.filter(|&node| y[node as usize].is_some()).collect()
    };
    let n_train = train.classes.len() as u32;
    let val_end = (train.classes.len() + N_VAL).min(rest.classes.len()) as u32;
    let parts = [
        labelled(&mut (0..n_train)),
        labelled(&mut (n_train..val_end)),
        labelled(&mut test_nodes.iter().copied()),
    ];
    let splits = vec![fixed_split(place, "public", parts)?];
    let class_names = (0..rest.n_classes).map(|class| class.to_string()).collect();
    let warnings = match n - rest.classes.len() - test_nodes.len() {
        0 => vec![],
        missing => vec![format!(
            "{} in no split, whereas most published results assign class 0 to such nodes",
            count(
                missing,
                "node has neither features nor a label and is",
                "nodes have neither features nor labels and are"
            )
        )],
    };
    let source = "Planetoid (Yang et al. 2016), github.com/kimiyoung/planetoid".into();
    Ok(Dataset { source, warnings, splits, ..Dataset::new(place, graph, x, y, class_names) })
}

/// Features and classes of a set of nodes, one row per node.
struct LabelledRows {
    x: CsrMatrix,
    /// The class of each row; `None` if it has no label.
    classes: Vec<Option<u32>>,
    n_classes: usize,
}

impl LabelledRows {
    /// Reads two files: features and one-hot labels; an error if they do not have the same number of rows.
    fn read(place: &str, names: [&str; 2], bytes: [&[u8]; 2]) -> Result<Self> {
        let [x_place, y_place] = names.map(|name| format!("{place}.{name}"));
        let x = matrix(&x_place, bytes[0])?;
        let (classes, n_classes) = one_hot(&y_place, bytes[1])?;
        let (rows, labels) = (x.pattern.n_rows(), classes.len());
        if rows != labels {
            let labels = count(labels, "row", "rows");
            let problem = format!("{labels}; expected {rows}, as in `{}`", names[0]);
            return Err(data_error(&y_place, problem));
        }
        Ok(Self { x, classes, n_classes })
    }

    /// Returns an error if `other` has a different number of features or classes.
    fn expect_same_widths(&self, place: &str, other: &Self) -> Result<()> {
        let widths = |rows: &Self| (rows.x.pattern.n_cols(), rows.n_classes);
        let ((columns, classes), expected) = (widths(other), widths(self));
        if (columns, classes) != expected {
            return Err(data_error(
                place,
                format!(
                    "features: {columns}, classes: {classes}; expected {} and {}, as in `allx` and `ally`",
                    expected.0, expected.1
                ),
            ));
        }
        Ok(())
    }
}

/// Reads a pickled `csr_matrix`; an error for other pickles and more than [`MAX_COLUMNS`] columns.
fn matrix(place: &str, bytes: &[u8]) -> Result<CsrMatrix> {
    let pickle = pickle::read_bytes(place, bytes)?;
    let bad = |problem: &str| data_error(place, problem.into());
    let Some(&PickleNode::CsrMatrix(state)) = pickle.node(pickle.root()) else {
        return Err(bad("expected a pickled `csr_matrix`"));
    };
    let shape = pickle.get(state, "_shape").and_then(|shape| pickle.items(shape));
    let &[PickleValue::Int(rows), PickleValue::Int(cols)] = shape.unwrap_or_default() else {
        return Err(bad("the sparse matrix has no shape"));
    };
    let (Ok(rows), Ok(cols @ ..=MAX_COLUMNS)) = (usize::try_from(rows), usize::try_from(cols))
    else {
        let problem = format!(
            "a matrix of {rows} x {cols}; expected non-negative sizes and at most {MAX_COLUMNS} columns"
        );
        return Err(data_error(place, problem));
    };
    let array = |name| pickle.array(pickle.get(state, name).unwrap_or(PickleValue::None), name);
    CsrMatrix::new(place, [rows, cols], &array("indptr")?, &array("indices")?, &array("data")?)
}

/// Reads a pickled one-hot matrix; returns the class of each row, `None` for a row of zeros, and the number
/// of classes. An error if a row has several classes, or if there are no rows or no classes.
fn one_hot(place: &str, bytes: &[u8]) -> Result<(Vec<Option<u32>>, usize)> {
    let pickle = pickle::read_bytes(place, bytes)?;
    let array = pickle.array(pickle.root(), "labels")?;
    let (rows, n_classes) = array.rows_and_columns()?;
    if rows == 0 || n_classes == 0 {
        let problem = format!("rows: {rows}, classes: {n_classes}; expected at least one of each");
        return Err(data_error(place, problem));
    }
    let marks = array.to_bool()?;
    let class = |(i, row): (usize, &[bool])| {
        let mut classes = (0u32..).zip(row).filter(|(_, mark)| **mark).map(|(class, _)| class);
        match (classes.next(), classes.next()) {
            (class, None) => Ok(class),
            _ => {
                Err(data_error(place, format!("row {i} has several classes; expected at most one")))
            }
        }
    };
    let classes = marks.chunks(n_classes).enumerate().map(class);
    Ok((classes.collect::<Result<_>>()?, n_classes))
}

/// Reads a pickled dictionary from each node to the list of its neighbours.
fn graph(place: &str, bytes: &[u8]) -> Result<Graph> {
    let pickle = pickle::read_bytes(place, bytes)?;
    let bad = |problem: String| data_error(place, problem);
    let lists = pickle.pairs(pickle.root());
    let lists = lists.ok_or_else(|| bad("expected a dictionary of neighbours".into()))?;
    let n = lists.len();
    let mut listed = vec![false; n];
    let mut edges = vec![];
    for &(node, neighbours) in lists {
        let id = node_id(node).filter(|&u| (u as usize) < n).ok_or_else(|| {
            bad(format!(
                "neighbours of node {}; expected a node from 0 to {}",
                describe(node),
                n.saturating_sub(1)
            ))
        })?;
        if std::mem::replace(&mut listed[id as usize], true) {
            return Err(bad(format!("duplicate node {id}")));
        }
        let neighbours = pickle.items(neighbours);
        for &v in neighbours.ok_or_else(|| bad(format!("node {id} has no list of neighbours")))? {
            let v = node_id(v).ok_or_else(|| {
                bad(format!("node {id} has the invalid neighbour {}", describe(v)))
            })?;
            edges.push((id, v));
        }
        // A neighbour takes at least two bytes, so a larger number means that nodes share lists.
        if edges.len() > bytes.len() {
            return Err(bad("more neighbours than the file can contain".into()));
        }
    }
    Graph::from_edges(place, n, &edges)
}

/// Returns the node with this number; `None` if the value is not a non-negative integer.
fn node_id(value: PickleValue) -> Option<u32> {
    match value {
        PickleValue::Int(id) => u32::try_from(id).ok(),
        _ => None,
    }
}

/// Describes a value in errors.
fn describe(value: PickleValue) -> String {
    match value {
        PickleValue::Int(id) => id.to_string(),
        other => format!("{other:?}"),
    }
}

/// The file `test.index`, whose nodes must be from `first` to `n - 1`.
struct TestIndex<'a> {
    place: &'a str,
    first: usize,
    n: usize,
}

impl TestIndex<'_> {
    /// Returns the listed nodes; an error unless there are `n_rows` different ones, all in range.
    fn read(&self, bytes: &[u8], n_rows: usize) -> Result<Vec<u32>> {
        let mut listed = vec![false; self.n];
        let mut nodes = vec![];
        for (i, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let problem =
                |problem: String| data_error(&format!("{}:{}", self.place, i + 1), problem);
            let node = self.node(line).ok_or_else(|| {
                let (line, first, last) = (line.escape_ascii(), self.first, self.n - 1);
                problem(format!("`{line}`; expected a node from {first} to {last}"))
            })?;
            if std::mem::replace(&mut listed[node as usize], true) {
                return Err(problem(format!("duplicate node {node}")));
            }
            nodes.push(node);
        }
        match nodes.len() {
            n if n == n_rows => Ok(nodes),
            n => {
                let nodes = count(n, "node", "nodes");
                let problem = format!("{nodes}; expected {n_rows}, the number of rows of `tx`");
                Err(data_error(self.place, problem))
            }
        }
    }

    fn node(&self, line: &[u8]) -> Option<u32> {
        let node = std::str::from_utf8(line).ok()?.parse::<u32>().ok()?;
        (self.first..self.n).contains(&(node as usize)).then_some(node)
    }
}

/// Combines the features and labels of all nodes: `rest` contains those of the first nodes, and `test` those
/// of `test_nodes`. All other nodes have no features and no label.
fn assemble(
    n: usize,
    rest: &LabelledRows,
    test: &LabelledRows,
    test_nodes: &[u32],
) -> (Features, Vec<Option<u32>>) {
    let mut origin: Vec<Option<(&LabelledRows, usize)>> = vec![None; n];
    (0..rest.classes.len()).for_each(|i| origin[i] = Some((rest, i)));
    (0..).zip(test_nodes).for_each(|(i, &node)| origin[node as usize] = Some((test, i)));
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for (rows, i) in origin.iter().map(|row| row.unzip()) {
        if let (Some(rows), Some(i)) = (rows, i) {
            let (columns, entries) = rows.x.row(i);
            indices.extend(columns);
            values.extend(entries);
        }
        offsets.push(indices.len());
    }
    let pattern = Pattern::new(rest.x.pattern.n_cols(), offsets, indices);
    let y = origin.iter().map(|row| row.and_then(|(rows, i)| rows.classes[i])).collect();
    (Features::Sparse { pattern, values }, y)
}

fn data_error(place: &str, problem: String) -> Error {
    Error::Data { place: place.into(), problem }
}

#[cfg(test)]
mod tests;

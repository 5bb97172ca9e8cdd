//! A graph of the user's own as NumPy arrays in one `.npz` file.
//!
//! ```text
//! edges     edge_index [2, e] as in PyTorch Geometric
//!           or indptr, indices, data, shape, format as `scipy.sparse.save_npz` writes them
//! x [n, d]  features
//! y [n]     labels: whole numbers, or texts; a negative number or an empty text is not known
//! splits    train_mask, val_mask, test_mask, each [n] or [n, s]; called `fixed:0`, `fixed:1`, ...
//! ```
//!
//! Edges lose their direction, loops, repeats and weights.

use super::array::{Array, Kind, Shape};
use super::csr::Csr;
use super::geom_splits::{from_masks, labelled};
use super::heterophilous::features;
use super::npz::{self, Npz};
use crate::data::{Dataset, Features, FixedSplit};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Mat;
use std::collections::BTreeSet;
use std::path::Path;

const MASKS: [&str; 3] = ["train_mask", "val_mask", "test_mask"];
const WEIGHTS: [&str; 2] = ["edge_weight", "edge_attr"];

/// Reads a file.
pub fn read(file: &Path, name: &str) -> Result<Dataset> {
    let bytes = std::fs::read(file).map_err(Error::io(file))?;
    let dataset = read_bytes(&file.display().to_string(), &bytes)?;
    Ok(Dataset { name: name.into(), ..dataset })
}

/// Reads the bytes of a file; `place` names them in errors, and the data set.
pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Dataset> {
    let npz = npz::read_bytes(place, bytes)?;
    let (graph, weighted) = match npz.contains("indptr") && !npz.contains("edge_index") {
        true => compressed_rows(place, &npz)?,
        false => edge_index(place, &npz)?,
    };
    let n = graph.n_nodes();
    let x = match npz.contains("x") {
        true => x(&npz.array("x")?, n)?,
        false => Features::Dense(Mat::zeros(n, 0)),
    };
    let (y, class_names) = match npz.contains("y") {
        true => labels(&npz.array("y")?, n)?,
        false => (vec![None; n], vec![]),
    };
    let splits = match MASKS.iter().any(|mask| npz.contains(mask)) {
        true => labelled(splits(place, &npz, n)?, &y)?,
        false => vec![],
    };
    let warnings = weighted.then(|| "the weights of the edges are not used".into());
    Ok(Dataset {
        source: format!("arrays, {place}"),
        warnings: warnings.into_iter().collect(),
        splits,
        ..Dataset::new(place, graph, x, y, class_names)
    })
}

fn bad(array: &Array, problem: String) -> Error {
    Error::Data { place: array.place().into(), problem }
}

/// An array of the shape `[n]`, `[n, 1]` or `[n, s]`: its columns.
fn columns(array: &Array, n: usize) -> Result<usize> {
    match *array.shape() {
        [rows] if rows == n => Ok(1),
        [rows, columns] if rows == n => Ok(columns),
        _ => {
            let shape = Shape(array.shape());
            Err(bad(array, format!("the shape {shape}; expected one row for each of {n} nodes")))
        }
    }
}

/// Two rows, where edges come from and go to; `x` or `y` says how many nodes there are.
fn edge_index(place: &str, npz: &Npz) -> Result<(Graph, bool)> {
    let index = npz.array("edge_index")?;
    let &[2, e] = index.shape() else {
        let shape = Shape(index.shape());
        return Err(bad(&index, format!("the shape {shape}; expected (2, number of edges)")));
    };
    let n = n_nodes(&npz.array(if npz.contains("x") { "x" } else { "y" })?)?;
    let index = index.to_u32()?;
    let (from, to) = index.split_at(e);
    let edges: Vec<(u32, u32)> = from.iter().copied().zip(to.iter().copied()).collect();
    let weighted = WEIGHTS.iter().any(|name| npz.contains(name));
    Ok((Graph::from_edges(&format!("{place}: edge_index"), n, &edges)?, weighted))
}

/// The rows of an array; without columns any number of them would fit into no bytes.
fn n_nodes(array: &Array) -> Result<usize> {
    match array.shape() {
        [n, columns @ ..] if !columns.contains(&0) => Ok(*n),
        shape => {
            Err(bad(array, format!("the shape {}; expected a row for each node", Shape(shape))))
        }
    }
}

/// A square sparse matrix, whose transpose has the same edges.
fn compressed_rows(place: &str, npz: &Npz) -> Result<(Graph, bool)> {
    let format = npz.array("format")?;
    match format.to_text()?.first().map(String::as_str) {
        Some("csr" | "csc") => {}
        other => {
            let found = other.unwrap_or_default();
            return Err(bad(&format, format!("`{found}`; expected `csr`: save `a.tocsr()`")));
        }
    }
    let shape = npz.array("shape")?;
    let [n, n_cols] = shape.to_u32()?[..] else {
        return Err(bad(&shape, "not two numbers, rows and columns".into()));
    };
    if n != n_cols {
        return Err(bad(&shape, format!("{n} x {n_cols}; expected a square matrix")));
    }
    let [indptr, indices, data] = ["indptr", "indices", "data"].map(|name| npz.array(name));
    let n = n as usize;
    let a = Csr::new(place, [n, n], &indptr?, &indices?, &data?)?;
    let row = |i: usize| a.pattern.row(i).iter().map(move |&j| (i as u32, j));
    let entries = (0..n).flat_map(row).zip(&a.values).filter(|(_, value)| **value != 0.0);
    let edges: Vec<(u32, u32)> = entries.map(|(entry, _)| entry).collect();
    let weighted = a.values.iter().any(|&value| value != 0.0 && value != 1.0);
    Ok((Graph::from_edges(place, n, &edges)?, weighted))
}

fn x(array: &Array, n: usize) -> Result<Features> {
    let d = columns(array, n)?;
    Ok(features(n, d, array.to_f32()?))
}

/// Each node's class, and the names of the classes.
fn labels(array: &Array, n: usize) -> Result<(Vec<Option<u32>>, Vec<String>)> {
    if columns(array, n)? != 1 {
        let shape = Shape(array.shape());
        return Err(bad(array, format!("the shape {shape}; expected one label for each node")));
    }
    match array.dtype().kind {
        Kind::Bytes | Kind::Text => Ok(texts(&array.to_text()?)),
        _ => numbers(array),
    }
}

/// The classes 0 to the largest; there are no more of them than nodes.
fn numbers(array: &Array) -> Result<(Vec<Option<u32>>, Vec<String>)> {
    let values = array.to_i64()?;
    let n = values.len();
    if let Some((node, label)) = (0..n).zip(&values).find(|(_, label)| **label >= n as i64) {
        return Err(bad(array, format!("node {node} has label {label}, but there are {n} nodes")));
    }
    let y: Vec<Option<u32>> = values.iter().map(|&label| u32::try_from(label).ok()).collect();
    let n_classes = y.iter().flatten().max().map_or(0, |&largest| largest + 1);
    Ok((y, (0..n_classes).map(|class| class.to_string()).collect()))
}

/// The texts that occur, in the order of their letters.
fn texts(labels: &[String]) -> (Vec<Option<u32>>, Vec<String>) {
    let names: BTreeSet<&String> = labels.iter().filter(|label| !label.is_empty()).collect();
    let names: Vec<&String> = names.into_iter().collect();
    let class = |label: &String| names.binary_search(&label).ok().map(|class| class as u32);
    (labels.iter().map(class).collect(), names.into_iter().cloned().collect())
}

fn splits(place: &str, npz: &Npz, n: usize) -> Result<Vec<FixedSplit>> {
    let [train, val, test] = MASKS.map(|name| npz.array(name));
    let masks = [train?, val?, test?];
    let n_splits = columns(&masks[0], n)?;
    if let Some(mask) = masks.iter().find(|mask| mask.shape() != masks[0].shape()) {
        let (found, expected) = (Shape(mask.shape()), Shape(masks[0].shape()));
        return Err(bad(mask, format!("the shape {found}; `train_mask` has {expected}")));
    }
    let [train, val, test] = masks.each_ref().map(Array::to_bool);
    let masks = [train?, val?, test?];
    let split = |s: usize| {
        let column = |mask: &Vec<bool>| -> Vec<bool> {
            mask.iter().skip(s).step_by(n_splits).copied().collect()
        };
        let [train, val, test] = masks.each_ref().map(column);
        from_masks(place, &format!("fixed:{s}"), [&train, &val, &test])
    };
    (0..n_splits).map(split).collect()
}

#[cfg(test)]
pub(super) mod tests;

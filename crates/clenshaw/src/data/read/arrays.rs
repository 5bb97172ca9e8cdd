//! A user's own graph as NumPy arrays in one `.npz` file.
//!
//! ```text
//! edges     edge_index [2, e] as in PyTorch Geometric
//!           or indptr, indices, data, shape, format as in `scipy.sparse.save_npz`
//! x [n, d]  features
//! y [n]     labels: integers or text; a negative number or an empty string is unknown
//! splits    train_mask, val_mask, test_mask, each [n] or [n, s]; named `fixed:0`, `fixed:1`, ...
//! weights   edge_weight or edge_attr [e]; for `save_npz`, the values of the matrix
//! ```
//!
//! The graph is undirected; loops and duplicate edges are removed.

use super::array::{DtypeKind, NumpyArray, ShapeText};
use super::csr::CsrMatrix;
use super::geom_splits::{from_masks, retain_labelled};
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

/// Reads the bytes of a file; errors and the data set refer to it as `place`.
pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Dataset> {
    let npz = npz::read_bytes(place, bytes)?;
    let (graph, warnings) = match npz.contains("indptr") && !npz.contains("edge_index") {
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
        true => retain_labelled(splits(place, &npz, n)?, &y)?,
        false => vec![],
    };
    Ok(Dataset {
        source: format!("arrays, {place}"),
        warnings,
        splits,
        ..Dataset::new(place, graph, x, y, class_names)
    })
}

fn bad(array: &NumpyArray, problem: String) -> Error {
    Error::Data { place: array.place().into(), problem }
}

/// Returns the number of columns of an array of shape `[n]` or `[n, s]`.
fn columns(array: &NumpyArray, n: usize) -> Result<usize> {
    match *array.shape() {
        [rows] if rows == n => Ok(1),
        [rows, columns] if rows == n => Ok(columns),
        _ => {
            let shape = ShapeText(array.shape());
            Err(bad(array, format!("shape {shape}; expected one row for each of {n} nodes")))
        }
    }
}

/// Reads `edge_index`; the number of nodes is that of `x` or `y`.
fn edge_index(place: &str, npz: &Npz) -> Result<(Graph, Vec<String>)> {
    let index = npz.array("edge_index")?;
    let &[2, e] = index.shape() else {
        let shape = ShapeText(index.shape());
        return Err(bad(&index, format!("shape {shape}; expected (2, number of edges)")));
    };
    let n = n_nodes(&npz.array(if npz.contains("x") { "x" } else { "y" })?)?;
    let index = index.to_u32()?;
    let (from, to) = index.split_at(e);
    let name = WEIGHTS.iter().find(|name| npz.contains(name));
    let weights = name.map(|name| npz.array(name)).transpose()?;
    let (weights, warnings) = match weights {
        None => (vec![1.0; e], vec![]),
        Some(array) if array.shape() == [e] || array.shape() == [e, 1] => (array.to_f32()?, vec![]),
        Some(array) => {
            let shape = ShapeText(array.shape());
            let warning = format!("{} has shape {shape} and is not used as weights", array.place());
            (vec![1.0; e], vec![warning])
        }
    };
    let ends = from.iter().zip(to).zip(&weights);
    let edges: Vec<(u32, u32, f32)> = ends.map(|((&u, &v), &weight)| (u, v, weight)).collect();
    let graph = Graph::from_weighted_edges(&format!("{place}: edge_index"), n, &edges)?;
    Ok((graph, warnings))
}

/// Returns the number of rows; arrays without columns are rejected, because they can have any.
fn n_nodes(array: &NumpyArray) -> Result<usize> {
    match array.shape() {
        [n, columns @ ..] if !columns.contains(&0) => Ok(*n),
        shape => {
            Err(bad(array, format!("shape {}; expected one row for each node", ShapeText(shape))))
        }
    }
}

fn compressed_rows(place: &str, npz: &Npz) -> Result<(Graph, Vec<String>)> {
    let matrix = square_matrix(place, npz)?;
    let n = matrix.pattern.n_rows();
    Ok((Graph::from_weighted_edges(place, n, &matrix.entries())?, vec![]))
}

/// Reads a square sparse matrix; CSC needs no conversion, because the graph is undirected.
pub(super) fn square_matrix(place: &str, npz: &Npz) -> Result<CsrMatrix> {
    let format = npz.array("format")?;
    match format.to_text()?.first().map(String::as_str) {
        Some("csr" | "csc") => {}
        other => {
            let found = other.unwrap_or_default();
            return Err(bad(&format, format!("`{found}`; expected `csr`; save `a.tocsr()`")));
        }
    }
    let shape = npz.array("shape")?;
    let [n, n_cols] = shape.to_u32()?[..] else {
        return Err(bad(&shape, "expected two numbers, rows and columns".into()));
    };
    if n != n_cols {
        return Err(bad(&shape, format!("{n} x {n_cols}; expected a square matrix")));
    }
    let [indptr, indices, data] = ["indptr", "indices", "data"].map(|name| npz.array(name));
    let n = n as usize;
    CsrMatrix::new(place, [n, n], &indptr?, &indices?, &data?)
}

fn x(array: &NumpyArray, n: usize) -> Result<Features> {
    let d = columns(array, n)?;
    Ok(features(n, d, array.to_f32()?))
}

/// Returns the class of each node, and the class names.
fn labels(array: &NumpyArray, n: usize) -> Result<(Vec<Option<u32>>, Vec<String>)> {
    if columns(array, n)? != 1 {
        let shape = ShapeText(array.shape());
        return Err(bad(array, format!("shape {shape}; expected one label for each node")));
    }
    match array.dtype().kind {
        DtypeKind::Bytes | DtypeKind::Text => Ok(text_labels(&array.to_text()?)),
        _ => integer_labels(array),
    }
}

/// Integer labels; the classes are 0 to the largest label, which is below the number of nodes.
fn integer_labels(array: &NumpyArray) -> Result<(Vec<Option<u32>>, Vec<String>)> {
    let values = array.to_i64()?;
    let n = values.len();
    if let Some((node, label)) = (0..n).zip(&values).find(|(_, label)| **label >= n as i64) {
        return Err(bad(array, format!("label of node {node} is {label}; expected less than {n}")));
    }
    let y: Vec<Option<u32>> = values.iter().map(|&label| u32::try_from(label).ok()).collect();
    let n_classes = y.iter().flatten().max().map_or(0, |&largest| largest + 1);
    Ok((y, (0..n_classes).map(|class| class.to_string()).collect()))
}

/// Text labels; the classes are the distinct labels in alphabetical order.
fn text_labels(labels: &[String]) -> (Vec<Option<u32>>, Vec<String>) {
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
        let (found, expected) = (ShapeText(mask.shape()), ShapeText(masks[0].shape()));
        return Err(bad(mask, format!("shape {found}; expected {expected}, as for `train_mask`")));
    }
    let [train, val, test] = masks.each_ref().map(NumpyArray::to_bool);
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

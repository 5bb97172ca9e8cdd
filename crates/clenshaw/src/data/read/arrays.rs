//! A user's own graph as NumPy arrays in one `.npz` file.
//!
//! ```text
//! edges     edge_index [2, e] as in PyTorch Geometric
//!           or indptr, indices, data, shape, format as in `scipy.sparse.save_npz`
//! x [n, f]  features
//! y [n]     labels: integers or text; a negative number or an empty string means unknown
//! splits    train_mask, val_mask, test_mask, each [n] or [n, s], for the splits `fixed:0`, `fixed:1`, ...
//! weights   edge_weight, edge_attr or the chosen array, [e]; for `save_npz`, the values of the matrix
//! ```
//!
//! Without `x`, features are computed from the graph. The graph is undirected; loops are removed, duplicate
//! edges are merged, and nodes without a label are removed from splits.

use super::Interpretation;
use super::array::{DtypeKind, NumpyArray, ShapeText};
use super::assemble::{self, ReadEdges};
use super::csr::CsrMatrix;
use super::geom_splits::{from_masks, retain_labelled};
use super::heterophilous::features;
use super::npz::{self, Npz};
use crate::data::schema::WeightChoice;
use crate::data::{Dataset, Features, FixedSplit, Schema, TableOptions, count};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::path::Path;

const MASKS: [&str; 3] = ["train_mask", "val_mask", "test_mask"];
/// Names of the array with the weights of edges, in order of preference.
pub(super) const WEIGHTS: [&str; 2] = ["edge_weight", "edge_attr"];

/// Reads a graph from a file.
pub(super) fn read(file: &Path, interpretation: Interpretation) -> Result<Dataset> {
    let bytes = crate::files::read(file)?;
    parse(&file.display().to_string(), &bytes, interpretation)
}

/// Reads the bytes of a file; errors and the data set refer to it as `place`.
pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Dataset> {
    parse(place, bytes, Interpretation::default())
}

fn parse(place: &str, bytes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    let npz = npz::read_bytes(place, bytes)?;
    let weights = interpretation.weights();
    let edges = match is_matrix(&npz) {
        true => matrix_edges(place, &npz, weights)?,
        false => {
            let n = n_nodes(&npz.array(if npz.contains("x") { "x" } else { "y" })?)?;
            edge_index(place, &npz, n, weights)?
        }
    };
    let (graph, mut notes, mut warnings) = edges.into_parts();
    let n = graph.n_nodes();
    let (x, structural) = match npz.contains("x") {
        true => (x(&npz.array("x")?, n)?, None),
        false => {
            let (x, structural, note) =
                assemble::structural_features(place, &graph, interpretation)?;
            notes.push(note);
            (x, Some(structural))
        }
    };
    let (y, class_names) = match npz.contains("y") {
        true => labels(&npz.array("y")?, n)?,
        false => (vec![None; n], vec![]),
    };
    let n_unlabelled = y.iter().filter(|label| label.is_none()).count();
    if npz.contains("y") && n_unlabelled > 0 {
        let nodes = count(n_unlabelled, "node is unlabelled", "nodes are unlabelled");
        notes.push(format!("{nodes}: `y` is negative or empty"));
    }
    notes.extend(unused_arrays(&npz, weights));
    if let Interpretation::Inferred(options) = interpretation
        && *options != (TableOptions { weight: options.weight.clone(), ..TableOptions::new() })
    {
        warnings.push(format!(
            "{place}: the column options have no effect: arrays have no named columns"
        ));
    }
    let splits = match MASKS.iter().any(|mask| npz.contains(mask)) {
        true => retain_labelled(splits(place, &npz, n)?, &y)?,
        false => vec![],
    };
    let weight = match interpretation {
        Interpretation::Inferred(options) => options.weight.clone(),
        Interpretation::Stored { schema, .. } => schema.weight.clone(),
    };
    let schema = (structural.is_some() || weight.is_some()).then(|| Schema {
        columns: vec![],
        structural,
        weight,
    });
    Ok(Dataset {
        source: format!("arrays, {place}"),
        warnings,
        notes,
        splits,
        schema,
        ..Dataset::new(place, graph, x, y, class_names)
    })
}

/// An error about an array.
fn array_error(array: &NumpyArray, problem: String) -> Error {
    Error::Data { place: array.place().into(), problem }
}

/// Returns the number of columns of an array of shape `[n]` or `[n, s]`; an error for other shapes.
fn columns(array: &NumpyArray, n: usize) -> Result<usize> {
    match *array.shape() {
        [rows] if rows == n => Ok(1),
        [rows, columns] if rows == n => Ok(columns),
        _ => {
            let shape = ShapeText(array.shape());
            let rows = count(n, "row", "rows");
            Err(array_error(array, format!("shape {shape}; expected {rows}, one per node")))
        }
    }
}

/// Whether the edges are a SciPy sparse matrix, and not an `edge_index`.
pub(super) fn is_matrix(npz: &Npz) -> bool {
    npz.contains("indptr") && !npz.contains("edge_index")
}

/// Returns a note that lists the arrays that are not used: those that do not belong to this format of edges, are not
/// `x`, `y` or a mask, and were not chosen by the user; `None` if there are none.
fn unused_arrays(npz: &Npz, weights: WeightChoice) -> Option<String> {
    let edges: &[&str] = match is_matrix(npz) {
        true => &["indptr", "indices", "data", "shape", "format", "_is_array"],
        false => &["edge_index", "edge_weight", "edge_attr"],
    };
    let is_used = |name: &&str| {
        edges.contains(name)
            || MASKS.contains(name)
            || ["x", "y"].contains(name)
            || weights == WeightChoice::Column(name)
    };
    let unused: Vec<&str> = npz.names().filter(|name| !is_used(name)).collect();
    (!unused.is_empty()).then(|| format!("arrays that are not used: {}", unused.join(", ")))
}

/// Reads `edge_index` and the weights of its edges, which are 1 if no array of weights is used.
///
/// An array of weights that does not have one entry per edge is not used, and a warning is added. A chosen array
/// that does not exist is an error.
pub(super) fn edge_index(
    place: &str,
    npz: &Npz,
    n: usize,
    choice: WeightChoice,
) -> Result<ReadEdges> {
    let index = npz.array("edge_index")?;
    let &[2, e] = index.shape() else {
        let shape = ShapeText(index.shape());
        return Err(array_error(&index, format!("shape {shape}; expected (2, number of edges)")));
    };
    let index = index.to_u32()?;
    let (from, to) = index.split_at(e);
    let name = match choice {
        WeightChoice::ByName => WEIGHTS.into_iter().find(|name| npz.contains(name)),
        WeightChoice::Column(name) => Some(name),
        WeightChoice::Unused => None,
    };
    let array = name.map(|name| npz.array(name)).transpose()?;
    let (weights, warning) = match &array {
        None => (vec![1.0; e], None),
        Some(array) if array.shape() == [e] || array.shape() == [e, 1] => (array.to_f32()?, None),
        Some(array) => {
            let shape = ShapeText(array.shape());
            let warning = format!("{} has shape {shape} and is not used as weights", array.place());
            (vec![1.0; e], Some(warning))
        }
    };
    let ends = from.iter().zip(to).zip(&weights);
    let edges: Vec<(u32, u32, f32)> = ends.map(|((&u, &v), &weight)| (u, v, weight)).collect();
    let mut edges = ReadEdges::new(&format!("{place}: edge_index"), n, edges, choice)?;
    edges.weight_source = name.map_or(String::new(), |name| format!("array `{name}`"));
    edges.warnings.extend(warning);
    Ok(edges)
}

/// Returns the number of rows; an error if the rows are empty, because the shape of a small file could then claim
/// any number of nodes.
fn n_nodes(array: &NumpyArray) -> Result<usize> {
    match array.shape() {
        [n, columns @ ..] if !columns.contains(&0) => Ok(*n),
        shape => Err(array_error(
            array,
            format!("shape {}; expected one non-empty row for each node", ShapeText(shape)),
        )),
    }
}

/// Reads the edges of a sparse matrix: its nonzero entries, whose values are the weights. An error if another
/// array was chosen for the weights.
pub(super) fn matrix_edges(place: &str, npz: &Npz, weights: WeightChoice) -> Result<ReadEdges> {
    if let WeightChoice::Column(name) = weights
        && name != "data"
    {
        let problem = format!(
            "the array of weights is `{name}`, but the weights of a sparse matrix are its values; expected \
             `data` or `none`"
        );
        return Err(Error::Data { place: place.into(), problem });
    }
    let matrix = square_matrix(place, npz)?;
    let n = matrix.pattern.n_rows();
    let mut entries = matrix.entries();
    entries.retain(|(_, _, weight)| *weight != 0.0);
    let is_stored = |u: u32, v: u32| matrix.pattern.row(u as usize).binary_search(&v).is_ok();
    let directed = entries.iter().any(|&(u, v, _)| !is_stored(v, u));
    let mut edges = ReadEdges::new(place, n, entries, weights)?;
    // A symmetric matrix contains every edge twice.
    edges.n_listed = edges.graph.n_edges();
    edges.directed = directed;
    Ok(edges)
}

/// Reads a square sparse matrix in the format CSR or CSC; an error for other matrices.
///
/// A matrix in CSC is returned transposed, which does not change an undirected graph.
fn square_matrix(place: &str, npz: &Npz) -> Result<CsrMatrix> {
    let format = npz.array("format")?;
    match format.to_text()?.first().map(String::as_str) {
        Some("csr" | "csc") => {}
        other => {
            let found = other.unwrap_or_default();
            return Err(array_error(
                &format,
                format!("`{found}`; expected `csr` or `csc`; save `a.tocsr()`"),
            ));
        }
    }
    let shape = npz.array("shape")?;
    let [n, n_cols] = shape.to_u32()?[..] else {
        return Err(array_error(&shape, "expected two numbers, rows and columns".into()));
    };
    if n != n_cols {
        return Err(array_error(&shape, format!("{n} x {n_cols}; expected a square matrix")));
    }
    let [indptr, indices, data] = ["indptr", "indices", "data"].map(|name| npz.array(name));
    let n = n as usize;
    CsrMatrix::new(place, [n, n], &indptr?, &indices?, &data?)
}

/// Converts the array `x` to features; an error unless it has one row per node.
fn x(array: &NumpyArray, n: usize) -> Result<Features> {
    let d = columns(array, n)?;
    Ok(features(n, d, array.to_f32()?))
}

/// Returns the class of each node, and the class names.
fn labels(array: &NumpyArray, n: usize) -> Result<(Vec<Option<u32>>, Vec<String>)> {
    if columns(array, n)? != 1 {
        let shape = ShapeText(array.shape());
        return Err(array_error(array, format!("shape {shape}; expected one label for each node")));
    }
    match array.dtype().kind {
        DtypeKind::Bytes | DtypeKind::Text => Ok(text_labels(&array.to_text()?)),
        _ => integer_labels(array),
    }
}

/// Returns the class of each node, `None` for a negative label, and the class names, from 0 to the largest label;
/// an error if a label is not below the number of nodes.
fn integer_labels(array: &NumpyArray) -> Result<(Vec<Option<u32>>, Vec<String>)> {
    let values = array.to_i64()?;
    let n = values.len();
    if let Some((node, label)) = (0..n).zip(&values).find(|(_, label)| **label >= n as i64) {
        return Err(array_error(
            array,
            format!("label of node {node} is {label}; expected less than {n}"),
        ));
    }
    let y: Vec<Option<u32>> = values.iter().map(|&label| u32::try_from(label).ok()).collect();
    let n_classes = y.iter().flatten().max().map_or(0, |&largest| largest + 1);
    Ok((y, (0..n_classes).map(|class| class.to_string()).collect()))
}

/// Returns the class of each node, `None` for an empty label, and the class names: the other distinct labels in
/// alphabetical order.
fn text_labels(labels: &[String]) -> (Vec<Option<u32>>, Vec<String>) {
    let names: BTreeSet<&String> = labels.iter().filter(|label| !label.is_empty()).collect();
    let names: Vec<&String> = names.into_iter().collect();
    let class = |label: &String| names.binary_search(&label).ok().map(|class| class as u32);
    (labels.iter().map(class).collect(), names.into_iter().cloned().collect())
}

/// Reads the splits `fixed:0`, `fixed:1`, ... from the columns of the masks.
fn splits(place: &str, npz: &Npz, n: usize) -> Result<Vec<FixedSplit>> {
    let [train, val, test] = MASKS.map(|name| npz.array(name));
    let masks = [train?, val?, test?];
    let n_splits = columns(&masks[0], n)?;
    if let Some(mask) = masks.iter().find(|mask| mask.shape() != masks[0].shape()) {
        let (found, expected) = (ShapeText(mask.shape()), ShapeText(masks[0].shape()));
        return Err(array_error(
            mask,
            format!("shape {found}; expected {expected}, as for `train_mask`"),
        ));
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

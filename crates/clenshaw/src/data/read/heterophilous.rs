//! The `.npz` files of heterophilous-graphs: Minesweeper, Tolokers and others, and Chameleon and
//! Squirrel without duplicate nodes.
//!
//! ```text
//! node_features [n, f]   node_labels [n]   edges [e, 2]   train_masks, val_masks, test_masks [s, n]
//! ```
//!
//! Platonov et al., ICLR 2023, arXiv:2302.11640.

use super::array::{NumpyArray, ShapeText};
use super::geom_splits::from_masks;
use super::npz::{self, Npz};
use crate::data::{Dataset, Features, FixedSplit};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Mat, Pattern};
use std::path::Path;

const MASKS: [&str; 3] = ["train_masks", "val_masks", "test_masks"];

/// Reads a file; the data set is named after the file, without its extension.
pub fn read(file: &Path) -> Result<Dataset> {
    let bytes = crate::files::read(file)?;
    let dataset = read_bytes(&file.display().to_string(), &bytes)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Dataset { name, ..dataset })
}

/// Reads the bytes of a file; `place` is its name in errors and the name of the data set.
pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Dataset> {
    let npz = npz::read_bytes(place, bytes)?;
    let labels = npz.array("node_labels")?;
    let n = labels.length()?;
    let (y, n_classes) = classes(&labels)?;
    let x = npz.array("node_features")?;
    let (rows, d) = x.rows_and_columns()?;
    expect_shape(&x, &[n, d])?;
    let x = features(rows, d, x.to_f32()?);
    let edges = npz.array("edges")?;
    let (e, _) = edges.rows_and_columns()?;
    expect_shape(&edges, &[e, 2])?;
    let edges = edges.to_u32()?.as_chunks().0.iter().map(|&[u, v]| (u, v)).collect::<Vec<_>>();
    let graph = Graph::from_edges(&format!("{place}: edges"), n, &edges)?;
    let splits = splits(place, &npz, n)?;
    let class_names = (0..n_classes).map(|class| class.to_string()).collect();
    let source = "heterophilous-graphs (Platonov et al. 2023)".into();
    Ok(Dataset { source, splits, ..Dataset::new(place, graph, x, y, class_names) })
}

/// Returns the label of each node and the number of classes, the largest label plus one; an error if a label
/// is not below the number of nodes.
fn classes(labels: &NumpyArray) -> Result<(Vec<Option<u32>>, usize)> {
    let labels_u32 = labels.to_u32()?;
    let n = labels_u32.len();
    if let Some((node, class)) = (0..n).zip(&labels_u32).find(|(_, class)| **class as usize >= n) {
        let problem = format!("label of node {node} is {class}; expected less than {n}");
        return Err(Error::Data { place: labels.place().into(), problem });
    }
    let n_classes = labels_u32.iter().max().map_or(0, |&largest| largest as usize + 1);
    Ok((labels_u32.into_iter().map(Some).collect(), n_classes))
}

/// Reads the splits `fixed:0`, `fixed:1`, ... from the rows of the masks.
fn splits(place: &str, npz: &Npz, n: usize) -> Result<Vec<FixedSplit>> {
    let [train, val, test] = MASKS.map(|key| npz.array(key));
    let masks = [train?, val?, test?];
    let (n_splits, _) = masks[0].rows_and_columns()?;
    masks.iter().try_for_each(|mask| expect_shape(mask, &[n_splits, n]))?;
    let [train, val, test] = masks.each_ref().map(|mask| mask.to_bool());
    let (train, val, test) = (train?, val?, test?);
    // `Graph::from_edges` has already rejected a graph without nodes.
    let rows = train.chunks(n.max(1)).zip(val.chunks(n.max(1))).zip(test.chunks(n.max(1)));
    let split =
        |(i, ((train, val), test))| from_masks(place, &format!("fixed:{i}"), [train, val, test]);
    rows.enumerate().map(split).collect()
}

/// Returns an error unless the array has the expected shape.
fn expect_shape(array: &NumpyArray, expected: &[usize]) -> Result<()> {
    if array.shape() == expected {
        return Ok(());
    }
    let problem = format!("shape {}; expected {}", ShapeText(array.shape()), ShapeText(expected));
    Err(Error::Data { place: array.place().into(), problem })
}

/// Builds features from the values of all nodes, row by row; sparse if there are values and at most a quarter
/// are non-zero.
pub(super) fn features(n: usize, d: usize, values: Vec<f32>) -> Features {
    let stored = values.iter().filter(|value| **value != 0.0).count();
    if 4 * stored > values.len() || values.is_empty() {
        return Features::Dense(Mat::from_vec(n, d, values));
    }
    let (mut offsets, mut indices) = (vec![0], Vec::with_capacity(stored));
    for row in values.chunks(d) {
        indices.extend((0u32..).zip(row).filter(|(_, value)| **value != 0.0).map(|(j, _)| j));
        offsets.push(indices.len());
    }
    let values = values.into_iter().filter(|value| *value != 0.0).collect();
    Features::Sparse { pattern: Pattern::new(d, offsets, indices), values }
}

#[cfg(test)]
pub(super) mod tests;

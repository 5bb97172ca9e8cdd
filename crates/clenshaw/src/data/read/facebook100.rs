//! Facebook100: friendships within American colleges, as MATLAB files.
//!
//! ```text
//! A           sparse symmetric adjacency matrix
//! local_info  status, gender, major, second major, dormitory, year, high school; 0 = unknown
//! ```
//!
//! The task is that of LINKX: predict the gender from the other six columns, one-hot encoded, with
//! "unknown" as a value.
//! Traud, Mucha & Porter 2012, arXiv:1102.2166; Lim et al., NeurIPS 2021, arXiv:2110.14446.

use super::matlab::{MatFile, MatlabMatrix};
use crate::data::{Dataset, Features};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Mat, Pattern, Sparse};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of columns of `local_info`.
const COLUMNS: usize = 7;
/// The column of the gender, counted from 0.
const GENDER: usize = 1;

/// Reads the file of a college; `name` becomes the name of the data set.
pub fn read(file: &Path, name: &str) -> Result<Dataset> {
    let bytes = crate::files::read(file)?;
    let dataset = read_bytes(&file.display().to_string(), &bytes)?;
    Ok(Dataset { name: name.into(), ..dataset })
}

/// Reads the bytes of a file; `place` is its name in errors and the name of the data set.
pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Dataset> {
    let bad = |problem| Err(Error::Data { place: place.into(), problem });
    let file = MatFile::read_bytes(place, bytes)?;
    let MatlabMatrix::Sparse(a) = file.matrix("A")? else {
        return bad("`A` is dense; expected a sparse matrix".into());
    };
    let MatlabMatrix::Dense(info) = file.matrix("local_info")? else {
        return bad("`local_info` is sparse; expected a dense matrix".into());
    };
    let (n, n_cols) = (a.pattern().n_rows(), a.pattern().n_cols());
    if n != n_cols {
        return bad(format!("`A` is {n} x {n_cols}; expected a square matrix"));
    }
    if (info.rows(), info.cols()) != (n, COLUMNS) {
        let (rows, cols) = (info.rows(), info.cols());
        return bad(format!("`local_info` is {rows} x {cols}; expected {n} x {COLUMNS}"));
    }
    let graph = Graph::from_edges(place, n, &edges(a))?;
    let y = genders(place, info)?;
    // The files do not define the codes.
    let class_names = vec!["1".into(), "2".into()];
    let source = "Facebook100 (Traud, Mucha & Porter 2012), gender as in LINKX".into();
    Ok(Dataset { source, ..Dataset::new(place, graph, one_hot(place, info)?, y, class_names) })
}

/// Returns the positions of the non-zero entries.
fn edges(a: &Sparse) -> Vec<(u32, u32)> {
    let row = |i: usize| a.pattern().row(i).iter().map(move |&j| (i as u32, j));
    let entries = (0..a.pattern().n_rows()).flat_map(row).zip(a.values());
    entries.filter(|(_, value)| **value != 0.0).map(|(entry, _)| entry).collect()
}

/// Returns the class of each node: its gender minus 1, or `None` if the gender is unknown (0). An error
/// for other values.
fn genders(place: &str, info: &Mat<f64>) -> Result<Vec<Option<u32>>> {
    let label = |node: usize| match info[(node, GENDER)] {
        0.0 => Ok(None),
        1.0 => Ok(Some(0)),
        2.0 => Ok(Some(1)),
        other => Err(Error::Data {
            place: format!("{place}: local_info, row {node}"),
            problem: format!("gender is {other}; expected 1, 2, or 0 if unknown"),
        }),
    };
    (0..info.rows()).map(label).collect()
}

/// One-hot encodes all columns except gender: one feature per column and value, ordered by column, then by value.
/// An error if a value is not an integer.
fn one_hot(place: &str, info: &Mat<f64>) -> Result<Features> {
    let n = info.rows();
    let mut indices = vec![0; n * (COLUMNS - 1)];
    let mut n_cols = 0;
    for (c, column) in (0..COLUMNS).filter(|&column| column != GENDER).enumerate() {
        let mut feature_of: BTreeMap<i64, u32> = BTreeMap::new();
        for node in 0..n {
            feature_of.insert(code(place, info, node, column)?, 0);
        }
        for feature in feature_of.values_mut() {
            (*feature, n_cols) = (n_cols, n_cols + 1);
        }
        for node in 0..n {
            indices[node * (COLUMNS - 1) + c] = feature_of[&code(place, info, node, column)?];
        }
    }
    let offsets = (0..=n).map(|node| node * (COLUMNS - 1)).collect();
    let values = vec![1.0; indices.len()];
    Ok(Features::Sparse { pattern: Pattern::new(n_cols as usize, offsets, indices), values })
}

/// Returns an entry of `local_info`; an error if it is not an integer.
fn code(place: &str, info: &Mat<f64>, node: usize, column: usize) -> Result<i64> {
    let value = info[(node, column)];
    let code = value as i64;
    (code as f64 == value).then_some(code).ok_or_else(|| Error::Data {
        place: format!("{place}: local_info, row {node}, column {column}"),
        problem: format!("{value}; expected an integer"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::matlab::tests::{dense, file, sparse};
    use super::*;

    /// The file of the path 0 - 1 - 2; `info` has the values of the three nodes for each column.
    fn path(info: [[u8; 3]; COLUMNS]) -> Vec<u8> {
        let a = sparse(&[3, 3], &[1, 0, 2, 1], &[0, 1, 3, 4], &[1; 4]);
        file(&[a, dense("local_info", &[3, 7], info.as_flattened())])
    }

    const INFO: [[u8; 3]; COLUMNS] =
        [[1, 1, 2], [2, 0, 1], [9, 0, 9], [0, 0, 0], [3, 1, 2], [7, 7, 7], [0, 5, 5]];

    fn read_error(variables: &[Vec<u8>]) -> String {
        read_bytes("x.mat", &file(variables)).unwrap_err().to_string()
    }

    #[test]
    fn encodes_gender_as_label_and_others_one_hot() {
        let dataset = read_bytes("x.mat", &path(INFO)).unwrap().checked().unwrap();
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(dataset.y, [Some(1), None, Some(0)]);
        // 1 2 | 0 9 | 0 | 1 2 3 | 7 | 0 5
        let Features::Sparse { pattern, values } = &dataset.x else { panic!("dense features") };
        assert_eq!(pattern.n_cols(), 11);
        assert_eq!(pattern.row(0), [0, 3, 4, 7, 8, 9]);
        assert_eq!(pattern.row(1), [0, 2, 4, 5, 8, 10]);
        assert_eq!(pattern.row(2), [1, 3, 4, 6, 8, 10]);
        assert_eq!(values[..], [1.0; 18]);
    }

    #[test]
    fn rejects_inconsistent_matrices() {
        let a = || sparse(&[2, 2], &[1, 0], &[0, 1, 2], &[1, 1]);
        let info = |values| dense("local_info", &[2, 7], values);
        assert_eq!(read_error(&[a()]), "x.mat: no variable `local_info`; the file has: A");
        assert_eq!(
            read_error(&[dense("A", &[1, 1], &[0]), info(&[0; 14])]),
            "x.mat: `A` is dense; expected a sparse matrix"
        );
        assert_eq!(
            read_error(&[sparse(&[2, 1], &[], &[0, 0], &[]), info(&[0; 14])]),
            "x.mat: `A` is 2 x 1; expected a square matrix"
        );
        assert_eq!(
            read_error(&[a(), dense("local_info", &[2, 6], &[0; 12])]),
            "x.mat: `local_info` is 2 x 6; expected 2 x 7"
        );
        let mut values = [0; 14];
        values[3] = 3;
        assert_eq!(
            read_error(&[a(), info(&values)]),
            "x.mat: local_info, row 1: gender is 3; expected 1, 2, or 0 if unknown"
        );
    }
}

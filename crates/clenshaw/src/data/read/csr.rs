//! SciPy's compressed sparse row matrices: `indptr`, `indices`, `data`.

use super::array::{NumpyArray, ShapeText};
use crate::error::{Error, Result};
use crate::tensor::Pattern;

/// A sparse matrix with ascending columns in each row.
#[derive(Clone, Debug, PartialEq)]
pub struct CsrMatrix {
    /// The stored entries.
    pub pattern: Pattern,
    /// One value per entry.
    pub values: Vec<f32>,
}

impl CsrMatrix {
    /// Builds a matrix from SciPy's arrays; an error if an array has entries of the wrong type, or if the
    /// arrays do not form a matrix of this shape. `place` names the matrix in errors.
    ///
    /// The columns of each row are sorted and duplicates are summed.
    pub fn new(
        place: &str,
        shape: [usize; 2],
        indptr: &NumpyArray,
        indices: &NumpyArray,
        data: &NumpyArray,
    ) -> Result<Self> {
        let bad = |problem| Error::Data { place: place.into(), problem };
        let [n_rows, n_cols] = shape;
        let offsets: Vec<usize> = indptr.to_u32()?.into_iter().map(|o| o as usize).collect();
        let (indices, values) = (indices.to_u32()?, data.to_f32()?);
        let bounds_match = (offsets.first(), offsets.last()) == (Some(&0), Some(&indices.len()));
        let lengths_match =
            n_rows.checked_add(1) == Some(offsets.len()) && indices.len() == values.len();
        if !lengths_match || !bounds_match || !offsets.is_sorted() {
            return Err(bad(format!(
                "offsets: {}, column indices: {}, values: {}; expected a sparse matrix of shape {}",
                offsets.len(),
                indices.len(),
                values.len(),
                ShapeText(&shape)
            )));
        }
        if let Some(e) = indices.iter().position(|&column| column as usize >= n_cols) {
            let row = offsets.partition_point(|&start| start <= e) - 1;
            let column = indices[e];
            return Err(bad(format!(
                "row {row} has column {column}; expected columns below {n_cols}"
            )));
        }
        let ascends = |row: &[usize]| indices[row[0]..row[1]].is_sorted_by(|a, b| a < b);
        let (offsets, indices, values) = match offsets.windows(2).all(ascends) {
            true => (offsets, indices, values),
            false => sorted(&offsets, &indices, &values),
        };
        Ok(Self { pattern: Pattern::try_new(n_cols, offsets, indices).map_err(bad)?, values })
    }

    /// Returns row, column and value of all stored entries.
    pub fn entries(&self) -> Vec<(u32, u32, f32)> {
        let row = |i: usize| self.pattern.row(i).iter().map(move |&j| (i as u32, j));
        let entries = (0..self.pattern.n_rows()).flat_map(row).zip(&self.values);
        entries.map(|((i, j), &value)| (i, j, value)).collect()
    }

    /// Returns the columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let offsets = self.pattern.offsets();
        (self.pattern.row(i), &self.values[offsets[i]..offsets[i + 1]])
    }
}

/// Sorts the columns of each row and sums duplicates; returns offsets, indices and values.
fn sorted(offsets: &[usize], indices: &[u32], values: &[f32]) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
    let (mut new_offsets, mut new_indices, mut new_values) = (vec![0], vec![], vec![]);
    for row in offsets.windows(2) {
        let entries = indices[row[0]..row[1]].iter().zip(&values[row[0]..row[1]]);
        let mut entries: Vec<(u32, f32)> = entries.map(|(&j, &value)| (j, value)).collect();
        entries.sort_by_key(|&(j, _)| j);
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            new_indices.push(same[0].0);
            new_values.push(same.iter().map(|entry| entry.1).sum());
        }
        new_offsets.push(new_indices.len());
    }
    (new_offsets, new_indices, new_values)
}

#[cfg(test)]
mod tests {
    use super::super::array::{Dtype, MemoryOrder};
    use super::*;

    fn csr(shape: [usize; 2], indptr: &[u8], indices: &[u8], data: &[u8]) -> Result<CsrMatrix> {
        let array = |bytes: &[u8]| {
            let (dtype, shape) = (Dtype::parse("|u1").unwrap(), vec![bytes.len()]);
            NumpyArray::new("it".into(), dtype, shape, MemoryOrder::C, bytes.to_vec().into())
                .unwrap()
        };
        CsrMatrix::new("it", shape, &array(indptr), &array(indices), &array(data))
    }

    #[test]
    fn sorts_rows_and_sums_duplicates() {
        // 1 0 2
        // 0 7 0
        let expected = csr([2, 3], &[0, 2, 3], &[0, 2, 1], &[1, 2, 7]).unwrap();
        assert_eq!(expected.row(0), (&[0, 2][..], &[1.0, 2.0][..]));
        let stored = csr([2, 3], &[0, 2, 4], &[2, 0, 1, 1], &[2, 1, 3, 4]).unwrap();
        assert_eq!(stored, expected);
    }

    #[test]
    fn rejects_inconsistent_arrays() {
        let message = |outcome: Result<CsrMatrix>| outcome.unwrap_err().to_string();
        assert_eq!(
            message(csr([1, 2], &[0, 1], &[2], &[1])),
            "it: row 0 has column 2; expected columns below 2"
        );
        assert_eq!(
            message(csr([2, 2], &[0, 1], &[1], &[1])),
            "it: offsets: 2, column indices: 1, values: 1; expected a sparse matrix of shape (2, 2)"
        );
        for (indptr, indices, data) in [
            (&[][..], &[][..], &[][..]),
            (&[1, 1], &[0], &[1]),
            (&[0, 2], &[0], &[1]),
            (&[0, 1], &[0], &[1, 2]),
            (&[0, 0], &[0], &[1]),
        ] {
            assert!(csr([1, 2], indptr, indices, data).is_err(), "{indptr:?}");
        }
        assert!(csr([2, 2], &[0, 3, 1], &[0], &[1]).is_err());
        assert!(csr([usize::MAX, 2], &[0], &[], &[]).is_err());
        assert_eq!(
            message(csr([0, 1 << 32], &[0], &[], &[])),
            "it: 4294967296 columns; expected at most 4294967295"
        );
    }
}

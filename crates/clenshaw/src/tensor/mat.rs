//! Dense matrices in row-major order, whose entries are owned or part of a mapped file.

use super::{Real, SharedSlice};
use bytemuck::Pod;
use std::fmt;
use std::ops::{Index, IndexMut};

/// A dense matrix in row-major order.
#[derive(Clone)]
pub struct Mat<T> {
    rows: usize,
    cols: usize,
    data: SharedSlice<T>,
}

impl<T: Pod + fmt::Debug> fmt::Debug for Mat<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cols, data } = self;
        f.debug_struct("Mat").field("rows", rows).field("cols", cols).field("data", data).finish()
    }
}

impl<T: Pod + PartialEq> PartialEq for Mat<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.cols) == (other.rows, other.cols) && self.data == other.data
    }
}

impl<T: Real> Mat<T> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![T::ZERO; rows * cols].into() }
    }

    /// The identity matrix.
    pub fn identity(n: usize) -> Self {
        let mut eye = Self::zeros(n, n);
        for i in 0..n {
            eye[(i, i)] = T::ONE;
        }
        eye
    }

    /// A matrix from its entries, row by row.
    ///
    /// # Panics
    /// If there are not `rows * cols` entries.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<T>) -> Self {
        Self::from_shared(rows, cols, data.into())
    }

    /// [`Mat::from_vec`] for entries that may be part of a mapped file.
    pub(crate) fn from_shared(rows: usize, cols: usize, data: SharedSlice<T>) -> Self {
        let n = data.len();
        assert_eq!(Some(n), rows.checked_mul(cols), "matrix: {n} entries for [{rows}, {cols}]");
        Self { rows, cols, data }
    }

    /// Adds `factor` times another matrix to this one.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add_scaled(&mut self, factor: T, other: &Self) {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "add_scaled: shapes differ");
        self.as_mut_slice().iter_mut().zip(other.as_slice()).for_each(|(x, y)| *x += factor * *y);
    }

    /// The matrix product `self * other`, computed by three plain loops; slow for large matrices.
    ///
    /// # Panics
    /// If `other` does not have one row per column of `self`.
    pub fn matmul(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows, "matmul: [.., {}] x [{}, ..]", self.cols, other.rows);
        let mut out = Self::zeros(self.rows, other.cols);
        for i in 0..self.rows {
            for k in 0..self.cols {
                let factor = self[(i, k)];
                for j in 0..other.cols {
                    out[(i, j)] += factor * other[(k, j)];
                }
            }
        }
        out
    }

    /// The same numbers, rounded to the precision `S`.
    pub fn cast<S: Real>(&self) -> Mat<S> {
        let data = self.data.iter().map(|v| S::from_f64(v.to_f64())).collect();
        Mat::from_vec(self.rows, self.cols, data)
    }
}

impl<T: Pod> Mat<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, row by row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All entries, row by row, mutable. Entries of a mapped file are copied first.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.data.make_mut()
    }

    /// All entries, row by row; not copied unless they are those of a mapped file.
    pub fn into_vec(self) -> Vec<T> {
        self.data.into_vec()
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }
}

/// Entry `(i, j)`. Only debug builds check that `j` is a column; otherwise the index may be that of an entry in
/// a later row.
impl<T: Pod> Index<(usize, usize)> for Mat<T> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        debug_assert!(j < self.cols, "matrix: column {j} of {}", self.cols);
        &self.data[i * self.cols + j]
    }
}

impl<T: Pod> IndexMut<(usize, usize)> for Mat<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        debug_assert!(j < self.cols, "matrix: column {j} of {}", self.cols);
        &mut self.data.make_mut()[i * self.cols + j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_from_and_to_a_vector_does_not_copy() {
        let entries = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let address = entries.as_ptr();
        let matrix = Mat::from_vec(2, 3, entries);
        assert_eq!(matrix.row(1), [4.0, 5.0, 6.0]);
        let entries = matrix.into_vec();
        assert_eq!((entries.as_ptr(), entries.len()), (address, 6));
    }

    #[test]
    #[should_panic(expected = "matrix: 5 entries for [2, 3]")]
    fn the_number_of_entries_must_match_the_shape() {
        Mat::from_vec(2, 3, vec![0.0; 5]);
    }
}

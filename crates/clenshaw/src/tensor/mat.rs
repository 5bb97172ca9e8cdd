//! A dense matrix, row by row.

use super::Real;
use std::ops::{Index, IndexMut};

/// A dense matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Mat<T> {
    rows: usize,
    cols: usize,
    data: Vec<T>,
}

impl<T: Real> Mat<T> {
    /// All zero.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![T::ZERO; rows * cols] }
    }

    /// Ones on the diagonal.
    pub fn identity(n: usize) -> Self {
        let mut eye = Self::zeros(n, n);
        for i in 0..n {
            eye[(i, i)] = T::ONE;
        }
        eye
    }

    /// Takes the entries row by row; panics when their number does not fit.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<T>) -> Self {
        assert_eq!(data.len(), rows * cols, "matrix: {rows} x {cols} entries");
        Self { rows, cols, data }
    }

    /// Adds `factor` times another matrix.
    pub fn add(&mut self, factor: T, other: &Self) {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "add: shapes differ");
        self.data.iter_mut().zip(&other.data).for_each(|(x, y)| *x += factor * *y);
    }

    /// The product with another matrix, by definition: for small ones.
    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows, "times: [.., {}] x [{}, ..]", self.cols, other.rows);
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

    /// The same numbers in another precision.
    pub fn cast<S: Real>(&self) -> Mat<S> {
        let data = self.data.iter().map(|v| S::from_f64(v.to_f64())).collect();
        Mat { rows: self.rows, cols: self.cols, data }
    }
}

impl<T> Mat<T> {
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

    /// All entries, row by row.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }
}

impl<T> Index<(usize, usize)> for Mat<T> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[i * self.cols + j]
    }
}

impl<T> IndexMut<(usize, usize)> for Mat<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.data[i * self.cols + j]
    }
}

//! The full eigendecomposition `P = V M V'`, for graphs of up to a few thousand nodes.

use super::max_abs;
use crate::tensor::{Mat, Operator};
use nalgebra::{DMatrix, SymmetricEigen};

/// The eigenvalues and eigenvectors of a symmetric matrix, in no particular order.
#[derive(Clone, Debug)]
pub struct Eigen {
    /// The eigenvalues, with multiplicity.
    pub values: Vec<f64>,
    /// The eigenvectors, one column per eigenvalue.
    vectors: DMatrix<f64>,
}

impl Eigen {
    /// The decomposition of P or P~; needs O(n^2) memory and O(n^3) time.
    ///
    /// ```
    /// use clenshaw::graph::{Eigen, Graph, Normalisation, operator};
    /// let edge = Graph::from_edges("edge", 2, &[(0, 1)])?;
    /// let mut values = Eigen::new(&operator(&edge, Normalisation::Plain)).values;
    /// values.sort_by(f64::total_cmp);
    /// assert!((values[0] + 1.0).abs() < 1e-15 && (values[1] - 1.0).abs() < 1e-15);
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn new(p: &Operator) -> Self {
        let n = p.n_nodes();
        Self::decompose(DMatrix::from_row_slice(n, n, p.to_dense().as_slice()))
    }

    /// The decomposition of the symmetric tridiagonal matrix with diagonal `a` and off-diagonal `b`.
    pub(super) fn tridiagonal(a: &[f64], b: &[f64]) -> Self {
        let n = a.len();
        let mut t = DMatrix::zeros(n, n);
        (0..n).for_each(|i| t[(i, i)] = a[i]);
        for (i, &b) in b.iter().take(n.saturating_sub(1)).enumerate() {
            (t[(i, i + 1)], t[(i + 1, i)]) = (b, b);
        }
        Self::decompose(t)
    }

    /// Decomposes `matrix + 2 I`, which has no zero rows, and subtracts 2 from the eigenvalues: nalgebra returns
    /// NaN for some matrices with many zero rows.
    fn decompose(mut matrix: DMatrix<f64>) -> Self {
        let n = matrix.nrows();
        if n == 0 {
            return Self { values: vec![], vectors: matrix };
        }
        (0..n).for_each(|i| matrix[(i, i)] += 2.0);
        let SymmetricEigen { eigenvectors, eigenvalues } = matrix.symmetric_eigen();
        Self { values: eigenvalues.iter().map(|mu| mu - 2.0).collect(), vectors: eigenvectors }
    }

    /// Entry `k` of the eigenvector of `values[i]`.
    pub(super) fn entry(&self, k: usize, i: usize) -> f64 {
        self.vectors[(k, i)]
    }

    /// The eigenvalues in descending order, and the eigenvectors in the same order, one column each.
    pub fn sorted(&self) -> (Vec<f64>, Mat<f64>) {
        let n = self.values.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| self.values[j].total_cmp(&self.values[i]));
        let mut vectors = Mat::zeros(n, n);
        for (column, &i) in order.iter().enumerate() {
            for (k, entry) in self.vectors.column(i).iter().enumerate() {
                vectors[(k, column)] = *entry;
            }
        }
        (order.iter().map(|&i| self.values[i]).collect(), vectors)
    }

    /// The filter `h` applied to the signals `x`: `V h(M) V' x`.
    ///
    /// # Shapes
    /// `x` and the result are [n, d].
    ///
    /// # Panics
    /// If `x` does not have n rows.
    pub fn apply(&self, x: &Mat<f64>, h: impl Fn(f64) -> f64) -> Mat<f64> {
        let x = DMatrix::from_row_slice(x.rows(), x.cols(), x.as_slice());
        let mut y = self.vectors.tr_mul(&x);
        for (mut row, &mu) in y.row_iter_mut().zip(&self.values) {
            row *= h(mu);
        }
        let y = &self.vectors * y;
        // nalgebra is column-major.
        Mat::from_vec(y.nrows(), y.ncols(), y.transpose().as_slice().to_vec())
    }

    /// The largest absolute entry of `P V - V M`, the error of the decomposition.
    pub fn residual(&self, p: &Operator) -> f64 {
        let n = self.values.len();
        let v = Mat::from_vec(n, n, self.vectors.transpose().as_slice().to_vec());
        let pv = p.apply(&v);
        let error = |i: usize| pv.as_slice()[i] - v.as_slice()[i] * self.values[i % n];
        max_abs((0..n * n).map(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, operator};
    use std::f64::consts::PI;

    #[test]
    fn eigenvalues_of_a_cycle_are_cosines() {
        let n = 12u32;
        let edges: Vec<_> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        let graph = Graph::from_edges("cycle", n as usize, &edges).unwrap();
        let p = operator(&graph, Normalisation::Plain);
        let eigen = Eigen::new(&p);
        let mut found = eigen.values.clone();
        let cosine = |k: u32| (2.0 * PI * f64::from(k) / f64::from(n)).cos();
        let mut expected: Vec<f64> = (0..n).map(cosine).collect();
        found.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-14, "{found} instead of {expected}");
        }
        assert!(eigen.residual(&p) < 1e-14, "{}", eigen.residual(&p));
        let looped = operator(&graph, Normalisation::Looped);
        assert!(eigen.residual(&looped) > 0.1, "P and P~ have different eigenvectors");
    }

    #[test]
    fn applying_the_square_equals_two_products() {
        let graph = Graph::from_edges("path", 5, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        let p = operator(&graph, Normalisation::Looped);
        let x = Mat::from_vec(5, 2, (0..10).map(|i| f64::from(i).sin()).collect());
        let (actual, expected) = (Eigen::new(&p).apply(&x, |mu| mu * mu), p.apply(&p.apply(&x)));
        for (a, e) in actual.as_slice().iter().zip(expected.as_slice()) {
            assert!((a - e).abs() < 1e-14, "{actual:?} instead of {expected:?}");
        }
    }
}

//! Filters by their definition: through the eigenvectors of the operator.

use clenshaw::tensor::{Mat, Operator};
use nalgebra::{DMatrix, SymmetricEigen};

/// `V h(M) V^T X` for `P = V M V^T`, row by row.
pub fn through_the_spectrum(p: &Operator, x: &Mat<f64>, h: impl Fn(f64) -> f64) -> Vec<f64> {
    let n = x.rows();
    // nalgebra finds NaN in some matrices with many zero rows; P + 2I has none.
    let mut shifted = DMatrix::from_row_slice(n, n, p.to_dense().as_slice());
    (0..n).for_each(|i| shifted[(i, i)] += 2.0);
    let SymmetricEigen { eigenvectors: v, eigenvalues: mu } = shifted.symmetric_eigen();
    let x = DMatrix::from_row_slice(n, x.cols(), x.as_slice());
    let y = &v * DMatrix::from_diagonal(&mu.map(|mu| h(mu - 2.0))) * v.transpose() * x;
    y.transpose().as_slice().to_vec() // nalgebra stores columns
}

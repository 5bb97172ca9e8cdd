//! Node features, dense or sparse, and their scaling.

use crate::hyper::Scaling;
use crate::tensor::{Mat, Pattern};

/// A matrix with one row per node.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// All entries.
    Dense(Mat<f32>),
    /// The nonzero entries.
    Sparse {
        /// The positions of the entries.
        pattern: Pattern,
        /// The value of each entry.
        values: Vec<f32>,
    },
}

impl Features {
    /// The number of nodes.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense(x) => x.rows(),
            Self::Sparse { pattern, .. } => pattern.n_rows(),
        }
    }

    /// The number of features.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense(x) => x.cols(),
            Self::Sparse { pattern, .. } => pattern.n_cols(),
        }
    }

    /// The stored values, row by row.
    pub fn values(&self) -> &[f32] {
        match self {
            Self::Dense(x) => x.as_slice(),
            Self::Sparse { values, .. } => values,
        }
    }

    /// Converts the features to a dense matrix.
    pub fn to_dense(&self) -> Mat<f32> {
        match self {
            Self::Dense(x) => x.clone(),
            Self::Sparse { pattern, values } => {
                let mut dense = Mat::zeros(pattern.n_rows(), pattern.n_cols());
                for i in 0..pattern.n_rows() {
                    let entries = pattern.offsets()[i]..pattern.offsets()[i + 1];
                    for (&j, &value) in pattern.row(i).iter().zip(&values[entries]) {
                        dense[(i, j as usize)] = value;
                    }
                }
                dense
            }
        }
    }

    /// The scaled features; sparse features stay sparse if the scaling maps zero to zero.
    ///
    /// ```
    /// use clenshaw::data::{Features, Scaling};
    /// use clenshaw::tensor::Mat;
    /// let x = Features::Dense(Mat::from_vec(2, 2, vec![1.0, 3.0, 0.0, 0.5]));
    /// assert_eq!(x.scaled(Scaling::Row0).values(), [0.25, 0.75, 0.0, 1.0]);
    /// assert_eq!(x.scaled(Scaling::Row).values(), [0.25, 0.75, 0.0, 0.5]);
    /// ```
    pub fn scaled(&self, scaling: Scaling) -> Self {
        match scaling {
            Scaling::Raw => self.clone(),
            Scaling::Row0 => self.scale_rows(|sum| if sum == 0.0 { 0.0 } else { 1.0 / sum }),
            Scaling::Row => self.subtract_minimum().scale_rows(|sum| 1.0 / sum.max(1.0)),
            Scaling::ZScore => Self::Dense(z_score(self.to_dense())),
        }
    }

    /// The first non-finite value, as (node, column, value).
    pub(super) fn first_non_finite(&self) -> Option<(usize, usize, f32)> {
        let index = self.values().iter().position(|value| !value.is_finite())?;
        let (node, column) = match self {
            Self::Dense(x) => (index / x.cols(), index % x.cols()),
            Self::Sparse { pattern, .. } => {
                let node = pattern.offsets().partition_point(|&start| start <= index) - 1;
                (node, pattern.indices()[index] as usize)
            }
        };
        Some((node, column, self.values()[index]))
    }

    /// Multiplies each row by a function of its sum.
    fn scale_rows(&self, factor: impl Fn(f64) -> f64) -> Self {
        let mut scaled = self.clone();
        let scale = |row: &mut [f32]| {
            let factor = factor(row.iter().map(|&v| f64::from(v)).sum());
            row.iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
        };
        match &mut scaled {
            Self::Dense(x) => {
                let cols = x.cols().max(1);
                x.as_mut_slice().chunks_mut(cols).for_each(scale);
            }
            Self::Sparse { pattern, values } => {
                let bounds = pattern.offsets().windows(2);
                bounds.for_each(|row| scale(&mut values[row[0]..row[1]]));
            }
        }
        scaled
    }

    /// `x - min(X)`; the minimum includes the zeros of a sparse matrix.
    fn subtract_minimum(&self) -> Self {
        let stored = self.values().iter().copied().fold(f32::INFINITY, f32::min);
        let all_stored = self.values().len() == self.n_rows() * self.n_cols();
        let minimum = if all_stored { stored } else { stored.min(0.0) };
        if minimum == 0.0 {
            return self.clone();
        }
        let mut dense = self.to_dense();
        dense.as_mut_slice().iter_mut().for_each(|v| *v -= minimum);
        Self::Dense(dense)
    }
}

/// `(x - mean) / std` for every column, with `std^2 = sum (x - mean)^2 / (n - 1)`; constant columns
/// become zero.
fn z_score(mut x: Mat<f32>) -> Mat<f32> {
    let n = x.rows();
    for j in 0..x.cols() {
        let mean = (0..n).map(|i| f64::from(x[(i, j)])).sum::<f64>() / n as f64;
        let square = |i| (f64::from(x[(i, j)]) - mean).powi(2);
        let variance = (0..n).map(square).sum::<f64>() / (n as f64 - 1.0).max(1.0);
        let std = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        for i in 0..n {
            x[(i, j)] = ((f64::from(x[(i, j)]) - mean) / std) as f32;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 2 0 6
    /// 0 0 0
    /// 0 v 0
    /// ```
    fn sparse(v: f32) -> Features {
        let pattern = Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]);
        Features::Sparse { pattern, values: vec![2.0, 6.0, v] }
    }

    #[test]
    fn sparse_and_dense_scaling_agree() {
        for (v, scaling) in [(0.5, Scaling::Row0), (0.5, Scaling::Row), (-4.0, Scaling::Row)] {
            let x = sparse(v);
            let dense = Features::Dense(x.to_dense()).scaled(scaling);
            assert_eq!(x.scaled(scaling).to_dense(), dense.to_dense(), "{v} {scaling:?}");
        }
    }

    #[test]
    fn row_scaling_does_not_scale_up_small_rows() {
        assert_eq!(sparse(0.5).scaled(Scaling::Row).values(), [0.25, 0.75, 0.5]);
        assert_eq!(sparse(0.5).scaled(Scaling::Row0).values(), [0.25, 0.75, 1.0]);
    }

    #[test]
    fn row_scaling_shifts_a_negative_minimum_to_zero() {
        // Rows 6 4 10, 4 4 4 and 4 0 4 after adding 4.
        let x = sparse(-4.0).scaled(Scaling::Row);
        let third = 1.0 / 3.0;
        assert_eq!(x.values(), [0.3, 0.2, 0.5, third, third, third, 0.5, 0.0, 0.5]);
    }

    #[test]
    fn z_scores_use_the_unbiased_standard_deviation() {
        // Column 1, 2, 3 has std 1; a constant column becomes zero.
        let x = Features::Dense(Mat::from_vec(3, 2, vec![1.0, 5.0, 2.0, 5.0, 3.0, 5.0]));
        assert_eq!(x.scaled(Scaling::ZScore).values(), [-1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn first_non_finite_returns_the_position() {
        assert_eq!(sparse(1.0).first_non_finite(), None);
        assert_eq!(sparse(f32::INFINITY).first_non_finite(), Some((2, 1, f32::INFINITY)));
        let dense = Features::Dense(sparse(f32::NEG_INFINITY).to_dense());
        assert_eq!(dense.first_non_finite(), Some((2, 1, f32::NEG_INFINITY)));
    }
}

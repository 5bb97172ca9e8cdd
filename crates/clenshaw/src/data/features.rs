//! Node features, dense or sparse.

use crate::tensor::{Mat, Pattern};

/// A matrix with one row per node.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// All entries.
    Dense(Mat<f32>),
    /// The stored entries; all others are zero.
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

    /// The rows of these nodes.
    pub(crate) fn rows(&self, nodes: &[u32]) -> Self {
        match self {
            Self::Dense(x) => {
                let values = nodes.iter().flat_map(|&i| x.row(i as usize)).copied().collect();
                Self::Dense(Mat::from_vec(nodes.len(), x.cols(), values))
            }
            Self::Sparse { pattern, values } => {
                let (pattern, kept) = pattern.select(nodes, pattern.n_cols(), Some);
                Self::Sparse { pattern, values: kept.iter().map(|&e| values[e]).collect() }
            }
        }
    }

    /// The first non-finite value, as (node, column, value); `None` if all are finite.
    pub(crate) fn first_non_finite(&self) -> Option<(usize, usize, f32)> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_non_finite_returns_the_position() {
        let sparse = |v| {
            let pattern = Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]);
            Features::Sparse { pattern, values: vec![2.0, 6.0, v] }
        };
        assert_eq!(sparse(1.0).first_non_finite(), None);
        assert_eq!(sparse(f32::INFINITY).first_non_finite(), Some((2, 1, f32::INFINITY)));
        let dense = Features::Dense(sparse(f32::NEG_INFINITY).to_dense());
        assert_eq!(dense.first_non_finite(), Some((2, 1, f32::NEG_INFINITY)));
    }
}

//! Sparse matrices: a pattern, and the two ways we put numbers on it.

use super::{Mat, SharedSlice};
use rayon::prelude::*;
use std::sync::Arc;

/// Fewer rows than this are not worth a second thread.
const DEAL: usize = 4096;

/// Which entries of a matrix exist: compressed rows, columns ascending within a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    n_cols: usize,
    offsets: SharedSlice<usize>,
    indices: SharedSlice<u32>,
}

impl Pattern {
    /// Takes compressed rows as they are; panics unless they are well formed.
    pub fn new(n_cols: usize, offsets: Vec<usize>, indices: Vec<u32>) -> Self {
        let pattern = Self::checked(n_cols, offsets.into(), indices.into());
        pattern.unwrap_or_else(|problem| panic!("pattern: {problem}"))
    }

    /// Takes compressed rows as they are; says what is wrong unless they are well formed.
    pub fn checked(
        n_cols: usize,
        offsets: SharedSlice<usize>,
        indices: SharedSlice<u32>,
    ) -> Result<Self, String> {
        let pattern = Self { n_cols, offsets, indices };
        pattern.problem().map_or(Ok(pattern), Err)
    }

    fn problem(&self) -> Option<String> {
        let (offsets, indices): (&[usize], &[u32]) = (&self.offsets, &self.indices);
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Some("no offsets; expected at least one".into());
        };
        let n = indices.len();
        if (first, last) != (0, n) {
            return Some(format!("offsets go from {first} to {last}; expected from 0 to {n}"));
        }
        if let Some(i) = offsets.windows(2).position(|row| row[0] > row[1]) {
            return Some(format!("row {i} ends at {} before it starts", offsets[i + 1]));
        }
        let is_bad = |i: &usize| {
            let row = &indices[offsets[*i]..offsets[i + 1]];
            let ascends = row.is_sorted_by(|a, b| a < b);
            !ascends || row.last().is_some_and(|&j| j as usize >= self.n_cols)
        };
        let rows = (0..self.n_rows()).into_par_iter().with_min_len(DEAL);
        let bad = rows.find_first(is_bad)?;
        Some(format!("row {bad}: expected ascending columns below {}", self.n_cols))
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of entries.
    pub fn n_entries(&self) -> usize {
        self.indices.len()
    }

    /// Where each row starts, and the end of the last one.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The column of every entry.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The columns of row `i`.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.indices[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The transposed pattern, and for each of its entries the number of the same entry here.
    pub fn transpose(&self) -> (Pattern, Vec<u32>) {
        let mut offsets = vec![0; self.n_cols + 1];
        let (starts, columns) = (self.offsets(), self.indices());
        for &j in columns {
            offsets[j as usize + 1] += 1;
        }
        for j in 0..self.n_cols {
            offsets[j + 1] += offsets[j];
        }
        let mut next = offsets.clone();
        let mut indices = vec![0; self.n_entries()];
        let mut origin = vec![0; self.n_entries()];
        for i in 0..self.n_rows() {
            for e in starts[i]..starts[i + 1] {
                let at = &mut next[columns[e] as usize];
                indices[*at] = i as u32;
                origin[*at] = e as u32;
                *at += 1;
            }
        }
        (
            Pattern { n_cols: self.n_rows(), offsets: offsets.into(), indices: indices.into() },
            origin,
        )
    }
}

/// A matrix with a number on every entry of its pattern: node features.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// Which entries exist.
    pub pattern: Pattern,
    /// One value per entry.
    pub values: Vec<f64>,
}

impl Sparse {
    /// The same matrix, written out.
    pub fn to_dense(&self) -> Mat<f64> {
        let pattern = &self.pattern;
        let mut dense = Mat::zeros(pattern.n_rows(), pattern.n_cols());
        for i in 0..pattern.n_rows() {
            for e in pattern.offsets[i]..pattern.offsets[i + 1] {
                dense[(i, pattern.indices[e] as usize)] = self.values[e];
            }
        }
        dense
    }
}

/// A symmetric operator on node signals, `diag(scale) pattern diag(scale)`: P, P~ and their kin.
///
/// The pattern of a normalised adjacency needs no value per entry, which saves a third of its traffic.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Which nodes see each other; symmetric.
    pub pattern: Arc<Pattern>,
    /// The factor of each node, `d^-1/2`.
    pub scale: Arc<Vec<f64>>,
}

impl Operator {
    /// `P x` in the plainest way, for tests and small work.
    pub fn apply(&self, x: &Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(x.rows(), x.cols());
        for i in 0..x.rows() {
            for &j in self.pattern.row(i) {
                let w = self.scale[i] * self.scale[j as usize];
                for c in 0..x.cols() {
                    out[(i, c)] += w * x[(j as usize, c)];
                }
            }
        }
        out
    }

    /// The operator as a dense matrix.
    pub fn to_dense(&self) -> Mat<f64> {
        self.apply(&Mat::identity(self.pattern.n_rows()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_not_well_formed_are_described() {
        let problem = |offsets: &[usize], indices: &[u32]| {
            Pattern::checked(3, offsets.to_vec().into(), indices.to_vec().into()).unwrap_err()
        };
        assert_eq!(problem(&[], &[]), "no offsets; expected at least one");
        assert_eq!(problem(&[0, 1], &[0, 1]), "offsets go from 0 to 1; expected from 0 to 2");
        assert_eq!(problem(&[0, 9, 2], &[0, 1]), "row 1 ends at 2 before it starts");
        let ascending = "row 1: expected ascending columns below 3";
        assert_eq!(problem(&[0, 1, 3], &[0, 1, 1]), ascending);
        assert_eq!(problem(&[0, 0, 2], &[1, 3]), ascending);
    }

    #[test]
    fn transposing_moves_entries_and_remembers_them() {
        // 1 0 2
        // 0 3 4
        let pattern = Pattern::new(3, vec![0, 2, 4], vec![0, 2, 1, 2]);
        let (transposed, origin) = pattern.transpose();
        assert_eq!(transposed, Pattern::new(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1]));
        let values = [1.0, 2.0, 3.0, 4.0];
        let moved: Vec<f64> = origin.iter().map(|&e| values[e as usize]).collect();
        assert_eq!(moved, [1.0, 3.0, 2.0, 4.0]);
    }
}

//! Sparse matrices in compressed-row form: the sparsity pattern and node features.
//!
//! The gather kernels index without bounds checks. The constructors check all indices, and all fields are
//! private.

use super::{Mat, SharedSlice};
use crate::parallel;
use std::ops::Range;

/// Patterns with fewer entries than this are checked on one thread.
const PARALLEL_ENTRIES: usize = 1 << 20;

/// The positions of the entries of a matrix: compressed rows, with ascending columns in each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    n_cols: usize,
    offsets: SharedSlice<usize>,
    indices: SharedSlice<u32>,
}

impl Pattern {
    /// A pattern from compressed rows.
    ///
    /// # Panics
    /// If [`Pattern::try_new`] returns an error.
    pub fn new(n_cols: usize, offsets: Vec<usize>, indices: Vec<u32>) -> Self {
        let pattern = Self::try_new(n_cols, offsets, indices);
        pattern.unwrap_or_else(|problem| panic!("pattern: {problem}"))
    }

    /// A pattern from compressed rows; row `i` has the columns `indices[offsets[i]..offsets[i + 1]]`.
    ///
    /// Returns a description of the problem if the offsets do not ascend from 0 to the number of
    /// entries, if the columns of a row do not ascend strictly or are not below `n_cols`, or if there
    /// are more than `u32::MAX` rows, columns or entries.
    ///
    /// ```
    /// use clenshaw::tensor::Pattern;
    /// let problem = Pattern::try_new(2, vec![0, 1], vec![5]).unwrap_err();
    /// assert_eq!(problem, "row 0: expected ascending columns below 2");
    /// ```
    pub fn try_new(n_cols: usize, offsets: Vec<usize>, indices: Vec<u32>) -> Result<Self, String> {
        Self::from_shared(n_cols, offsets.into(), indices.into())
    }

    /// [`Pattern::try_new`] for arrays that may belong to a mapped file.
    pub(crate) fn from_shared(
        n_cols: usize,
        offsets: SharedSlice<usize>,
        indices: SharedSlice<u32>,
    ) -> Result<Self, String> {
        let pattern = Self { n_cols, offsets, indices };
        pattern.check().map(|()| pattern)
    }

    /// Checks the conditions of [`Pattern::try_new`].
    fn check(&self) -> Result<(), String> {
        let (offsets, n): (&[usize], usize) = (&self.offsets, self.indices.len());
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err("no offsets; expected at least one".into());
        };
        if (first, last) != (0, n) {
            return Err(format!("offsets go from {first} to {last}; expected from 0 to {n}"));
        }
        check_count(self.n_rows(), "rows")?;
        check_count(self.n_cols, "columns")?;
        check_count(n, "entries")?;
        if let Some(i) = offsets.windows(2).position(|row| row[0] > row[1]) {
            return Err(format!("row {i} ends at {} before it starts", offsets[i + 1]));
        }
        let n_threads = if n < PARALLEL_ENTRIES { 1 } else { parallel::available_threads() };
        let bad_rows =
            parallel::map(n_threads, self.split_rows(n_threads), |rows| self.first_bad_row(rows));
        match bad_rows.into_iter().flatten().next() {
            Some(i) => Err(format!("row {i}: expected ascending columns below {}", self.n_cols)),
            None => Ok(()),
        }
    }

    /// Splits the rows into `n_parts` consecutive ranges, possibly empty, with about the same number
    /// of entries each.
    pub(crate) fn split_rows(&self, n_parts: usize) -> impl Iterator<Item = Range<usize>> {
        let (offsets, n_entries) = (self.offsets(), self.n_entries());
        let bound = move |part| match part {
            0 => 0,
            part if part == n_parts => offsets.len() - 1,
            part => offsets.partition_point(|&start| start < n_entries / n_parts * part),
        };
        (0..n_parts).map(move |part| bound(part)..bound(part + 1).max(bound(part)))
    }

    /// The first of these rows whose columns do not ascend or are out of range.
    fn first_bad_row(&self, mut rows: Range<usize>) -> Option<usize> {
        rows.find(|&i| {
            let row = self.row(i);
            let ascends = row.is_sorted_by(|a, b| a < b);
            !ascends || row.last().is_some_and(|&j| j as usize >= self.n_cols)
        })
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

    /// The index of the first entry of each row, and the number of entries as the last element.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The column of every entry, row by row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The columns of row `i`.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.indices[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The pattern of these rows with the columns for which `column` returns a new number, and the index of
    /// every kept entry in this pattern. New numbers must ascend with the old ones.
    ///
    /// # Panics
    /// If the new columns of a row do not ascend or are not below `n_cols`.
    pub(crate) fn select(
        &self,
        rows: &[u32],
        n_cols: usize,
        column: impl Fn(u32) -> Option<u32>,
    ) -> (Pattern, Vec<usize>) {
        let (mut offsets, mut indices, mut kept) = (vec![0], vec![], vec![]);
        for &i in rows {
            let start = self.offsets[i as usize];
            for (e, &j) in self.row(i as usize).iter().enumerate() {
                if let Some(j) = column(j) {
                    indices.push(j);
                    kept.push(start + e);
                }
            }
            offsets.push(indices.len());
        }
        (Pattern::new(n_cols, offsets, indices), kept)
    }

    /// The transposed pattern, and for each of its entries the index of the same entry in this pattern.
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
        let mut entry_index = vec![0; self.n_entries()];
        for i in 0..self.n_rows() {
            for e in starts[i]..starts[i + 1] {
                let position = &mut next[columns[e] as usize];
                // `check` rejects patterns with larger indices.
                indices[*position] = i as u32;
                entry_index[*position] = e as u32;
                *position += 1;
            }
        }
        (
            Pattern { n_cols: self.n_rows(), offsets: offsets.into(), indices: indices.into() },
            entry_index,
        )
    }

    /// An entry `(i, j)` of a square pattern without its mirror image `(j, i)`; `None` if the pattern is
    /// symmetric.
    pub(super) fn unpaired_entry(&self) -> Option<(usize, usize)> {
        let (mirrored, _) = self.transpose();
        (0..self.n_rows()).find_map(|i| {
            let unpaired = |j: &&u32| mirrored.row(i).binary_search(j).is_err();
            self.row(i).iter().find(unpaired).map(|&j| (i, j as usize))
        })
    }
}

/// Returns an error if `count` exceeds `u32::MAX`.
pub(crate) fn check_count(count: usize, what: &str) -> Result<(), String> {
    let max = u32::MAX as usize;
    if count > max { Err(format!("{count} {what}; expected at most {max}")) } else { Ok(()) }
}

/// A sparse matrix with a value for every entry of its pattern; used for node features.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    pattern: Pattern,
    values: Vec<f64>,
}

impl Sparse {
    /// A pattern with its values.
    ///
    /// # Panics
    /// If there is not one value per entry.
    pub fn new(pattern: Pattern, values: Vec<f64>) -> Self {
        let n = pattern.n_entries();
        assert_eq!(values.len(), n, "sparse matrix: expected one value for each of {n} entries");
        Self { pattern, values }
    }

    /// The positions of the entries.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The values of the entries, in the order of the pattern.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The same matrix in dense form.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::assert_panics;

    #[test]
    fn malformed_rows_are_described() {
        let problem = |offsets: &[usize], indices: &[u32]| {
            Pattern::try_new(3, offsets.to_vec(), indices.to_vec()).unwrap_err()
        };
        assert_eq!(problem(&[], &[]), "no offsets; expected at least one");
        assert_eq!(problem(&[0, 1], &[0, 1]), "offsets go from 0 to 1; expected from 0 to 2");
        assert_eq!(problem(&[0, 9, 2], &[0, 1]), "row 1 ends at 2 before it starts");
        let ascending = "row 1: expected ascending columns below 3";
        assert_eq!(problem(&[0, 1, 3], &[0, 1, 1]), ascending);
        assert_eq!(problem(&[0, 0, 2], &[1, 3]), ascending);
    }

    #[test]
    fn sizes_beyond_u32_are_rejected() {
        let max = u32::MAX as usize;
        assert_eq!(check_count(max, "rows"), Ok(()));
        let result = Pattern::try_new(max + 1, vec![0], vec![]).map(|_| ());
        assert_eq!(result, Err("4294967296 columns; expected at most 4294967295".into()));
    }

    #[test]
    fn a_bad_row_is_found_in_a_pattern_checked_in_parallel() {
        let n = PARALLEL_ENTRIES;
        let mut columns: Vec<u32> = (0..n as u32).collect();
        let offsets: Vec<usize> = (0..=n).collect();
        assert!(Pattern::try_new(n, offsets.clone(), columns.clone()).is_ok());
        columns[n - 5] = n as u32;
        let problem = Pattern::try_new(n, offsets, columns).unwrap_err();
        assert_eq!(problem, format!("row {}: expected ascending columns below {n}", n - 5));
    }

    #[test]
    fn transpose_returns_the_original_index_of_every_entry() {
        // 1 0 2
        // 0 3 4
        let pattern = Pattern::new(3, vec![0, 2, 4], vec![0, 2, 1, 2]);
        let (transposed, entry_index) = pattern.transpose();
        assert_eq!(transposed, Pattern::new(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1]));
        let values = [1.0, 2.0, 3.0, 4.0];
        let permuted: Vec<f64> = entry_index.iter().map(|&e| values[e as usize]).collect();
        assert_eq!(permuted, [1.0, 3.0, 2.0, 4.0]);
    }

    #[test]
    fn sparse_matrices_need_a_value_per_entry() {
        assert_panics(&[("sparse matrix: expected one value for each of 1 entries", &|| {
            Sparse::new(Pattern::new(2, vec![0, 1], vec![1]), vec![]);
        })]);
    }
}

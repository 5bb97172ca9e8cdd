//! Products with the sparse feature matrix X, which needs no gradient.
//!
//! ```text
//! out   = X W + bias                              one row of W gathered per entry of X
//! dW    = X^T g                                   a gather as well, with the transposed pattern
//! ```

use super::gather::{ColumnKernel, Rows, run_by_columns, store};
use super::{Arith, Kernel, RowNumbers};
use crate::tensor::Real;

/// `out (+)= X W + bias` or `out (+)= X^T W` for the rows of one block.
pub(crate) struct SparseProduct<'a, T> {
    /// Columns of W and of the result.
    pub cols: usize,
    /// Offsets of all rows of X or its transpose, and the end of the last row.
    pub offsets: &'a [usize],
    /// The rows of the block.
    pub row_numbers: RowNumbers<'a>,
    /// The row of W for each entry, below `n_rows`.
    pub indices: &'a [u32],
    /// Rows of W.
    pub n_rows: usize,
    /// For each entry of the transpose, the index of its value; `None` if entries and values have the same
    /// order.
    pub value_index: Option<&'a [u32]>,
    pub values: &'a [T],
    pub w: &'a [T],
    pub bias: Option<&'a [T]>,
    pub out: &'a mut [T],
    /// Add to `out` instead of overwriting it.
    pub add: bool,
}

impl<T: Real> Kernel for SparseProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(mut self) {
        assert_eq!(self.w.len(), self.n_rows * self.cols, "sparse product: W has the wrong shape");
        let (rows, cols) = (self.out.len() / self.cols.max(1), self.cols);
        run_by_columns::<A>(&mut self, rows, cols);
    }
}

impl<T: Real> ColumnKernel for SparseProduct<'_, T> {
    #[inline(always)]
    fn run_columns<A: Arith, const W: usize>(&mut self, r: usize, c: usize) {
        let (rows, values) = (Rows::new(self.w, self.cols, self.indices), self.values);
        let row = self.row_numbers.get(r);
        let entries = self.offsets[row]..self.offsets[row + 1];
        // SAFETY: the indices of a pattern are below `n_rows`, and W has that many rows (asserted).
        let acc = unsafe {
            match self.value_index {
                None => rows.sum::<T, A, W>(entries, c, |e, _| values[e]),
                Some(index) => rows.sum::<T, A, W>(entries, c, |e, _| values[index[e] as usize]),
            }
        };
        store(acc, c, self.bias, &mut self.out[r * self.cols + c..], self.add);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    // 1 0 2
    // 0 0 0
    // 0 3 4
    const OFFSETS: [usize; 4] = [0, 2, 2, 4];
    const INDICES: [u32; 4] = [0, 2, 1, 2];
    const VALUES: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

    #[test]
    fn the_product_gathers_rows_of_the_weights() {
        let (w, bias) = ([1.0, 10.0, 2.0, 20.0, 3.0, 30.0], [0.5, 0.25]);
        let product = |out| SparseProduct {
            cols: 2,
            offsets: &OFFSETS,
            row_numbers: RowNumbers::From(0),
            indices: &INDICES,
            n_rows: 3,
            value_index: None,
            values: &VALUES,
            w: &w,
            bias: Some(&bias),
            out,
            add: false,
        };
        let mut outs = [[9.0; 6]; 3];
        for (level, out) in LEVELS.into_iter().zip(&mut outs) {
            dispatch_at(level, product(out));
        }
        assert_eq!(outs, [[7.5, 70.25, 0.5, 0.25, 18.5, 180.25]; 3]);
    }

    #[test]
    fn the_transposed_product_is_the_weight_gradient() {
        let g = [1.0, 10.0, 5.0, 50.0, 2.0, 20.0];
        let (mut written, mut added) = ([[7.0; 6]; 3], [[1.0; 6]; 3]);
        for (i, level) in LEVELS.into_iter().enumerate() {
            let product = |out, add| SparseProduct {
                cols: 2,
                offsets: &[0, 1, 2, 4],
                row_numbers: RowNumbers::From(0),
                indices: &[0, 2, 0, 2],
                n_rows: 3,
                value_index: Some(&[0, 2, 1, 3]),
                values: &VALUES,
                w: &g,
                bias: None,
                out,
                add,
            };
            dispatch_at(level, product(&mut written[i], false));
            dispatch_at(level, product(&mut added[i], true));
        }
        assert_eq!(written, [[1.0, 10.0, 6.0, 60.0, 10.0, 100.0]; 3]);
        assert_eq!(added, [[2.0, 11.0, 7.0, 61.0, 11.0, 101.0]; 3]);
    }
}

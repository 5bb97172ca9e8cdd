//! Matrix products, their gradients with respect to the weights, and transposes.

use super::{Block, ThreadContext};
use crate::tensor::Real;
use crate::tensor::kernel::{self, RowNumbers, dispatch};
use crate::tensor::plan::instr::{Buf, Instr};
use crate::tensor::plan::schedule::Step;
use std::ops::Range;

impl<T: Real> ThreadContext<'_, T> {
    /// Executes a matrix product, weight gradient or transpose on a block of rows; a dense weight gradient is
    /// accumulated in the partial sums of the chunk.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    pub(super) unsafe fn execute_product(&self, step: &Step, block: Block<'_>) {
        let rows = block.rows;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match step.instr {
                Instr::MatMul { a, w, bias, dst } => dispatch(kernel::Gemm {
                    m: rows.len(),
                    k: self.cols(a),
                    n: self.cols(dst),
                    a: self.read(a, rows),
                    a_row_stride: self.cols(a),
                    a_col_stride: 1,
                    b: self.read_all(w),
                    bias: bias.map(|bias| self.read_all(bias)),
                    c: self.write(dst, rows),
                    add: false,
                }),
                Instr::WeightGrad { a, g, .. } => dispatch(kernel::Gemm {
                    m: self.cols(a),
                    k: rows.len(),
                    n: self.cols(g),
                    a: self.read(a, rows),
                    a_row_stride: 1,
                    a_col_stride: self.cols(a),
                    b: self.read(g, rows),
                    bias: None,
                    c: self.partial(step, block.chunk),
                    add: !block.is_first,
                }),
                Instr::SparseMatMul { matrix, values, w, bias, dst } => {
                    let x = &self.plan.constants.sparse[matrix];
                    dispatch(kernel::SparseProduct {
                        cols: self.cols(dst),
                        offsets: x.pattern.offsets(),
                        row_numbers: self.row_numbers(dst, rows),
                        indices: x.pattern.indices(),
                        n_rows: x.pattern.n_cols(),
                        value_index: None,
                        values: self.read_all(values),
                        w: self.read_all(w),
                        bias: bias.map(|bias| self.read_all(bias)),
                        out: self.write(dst, rows),
                        add: false,
                    });
                }
                Instr::SparseWeightGrad { matrix, values, g, dst, add } => {
                    let x = &self.plan.constants.sparse[matrix];
                    dispatch(kernel::SparseProduct {
                        cols: self.cols(dst),
                        offsets: &x.transposed_offsets,
                        row_numbers: RowNumbers::From(rows.start),
                        indices: &x.transposed_rows,
                        n_rows: x.pattern.n_rows(),
                        value_index: Some(&x.value_index),
                        values: self.read_all(values),
                        w: self.read_all(g),
                        bias: None,
                        out: self.write(dst, rows),
                        add,
                    });
                }
                Instr::Transpose { src, dst } => self.transpose(src, dst, rows),
                ref other => unreachable!("{other:?} is not a product"),
            }
        }
    }

    /// `dst = src^T` for these rows of `dst`.
    unsafe fn transpose(&self, src: Buf, dst: Buf, rows: &Range<usize>) {
        // SAFETY: guaranteed by the caller.
        let (from, to) = unsafe { (self.read_all(src), self.write(dst, rows)) };
        let (width, cols) = (self.cols(src), self.cols(dst));
        for (r, row) in rows.clone().zip(to.chunks_exact_mut(cols)) {
            for (c, out) in row.iter_mut().enumerate() {
                *out = from[c * width + r];
            }
        }
    }
}

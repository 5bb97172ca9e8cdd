//! Matrix products and their gradients with respect to the weights.

use super::{Block, Scope};
use crate::tensor::Real;
use crate::tensor::kernel::{self, dispatch};
use crate::tensor::plan::instr::{Buf, Instr};
use crate::tensor::plan::schedule::Step;
use std::ops::Range;

impl<T: Real> Scope<'_, T> {
    /// # Safety
    /// As for [`Scope::execute`].
    pub(super) unsafe fn products(&self, step: &Step, block: Block<'_>) {
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
                    b: self.all(w),
                    bias: bias.map(|bias| self.all(bias)),
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
                    self.sparse_product(matrix, values, w, bias, dst, rows);
                }
                Instr::SparseWeightGrad { matrix, values, g, dst, add } => {
                    self.sparse_weight_gradient(matrix, values, g, dst, add, rows);
                }
                Instr::Transpose { src, dst } => self.transpose(src, dst, rows),
                ref other => unreachable!("{other:?} is no product"),
            }
        }
    }

    unsafe fn sparse_product(
        &self,
        matrix: usize,
        values: Buf,
        w: Buf,
        bias: Option<Buf>,
        dst: Buf,
        rows: &Range<usize>,
    ) {
        let pattern = &self.plan.sparse[matrix].pattern;
        // SAFETY: guaranteed by the caller.
        unsafe {
            dispatch(kernel::SparseProduct {
                cols: self.cols(dst),
                offsets: &pattern.offsets()[rows.start..=rows.end],
                indices: pattern.indices(),
                n_cols: pattern.n_cols(),
                values: self.all(values),
                w: self.all(w),
                bias: bias.map(|bias| self.all(bias)),
                out: self.write(dst, rows),
            });
        }
    }

    unsafe fn sparse_weight_gradient(
        &self,
        matrix: usize,
        values: Buf,
        g: Buf,
        dst: Buf,
        add: bool,
        rows: &Range<usize>,
    ) {
        let x = &self.plan.sparse[matrix];
        // SAFETY: guaranteed by the caller.
        unsafe {
            dispatch(kernel::SparseTransposeProduct {
                cols: self.cols(dst),
                offsets: &x.transposed.offsets()[rows.start..=rows.end],
                indices: x.transposed.indices(),
                n_rows: x.pattern.n_rows(),
                value_index: &x.value_index,
                values: self.all(values),
                g: self.all(g),
                out: self.write(dst, rows),
                add,
            });
        }
    }

    unsafe fn transpose(&self, src: Buf, dst: Buf, rows: &Range<usize>) {
        // SAFETY: guaranteed by the caller.
        let (from, to) = unsafe { (self.all(src), self.write(dst, rows)) };
        let (width, cols) = (self.cols(src), self.cols(dst));
        for (r, row) in rows.clone().zip(to.chunks_exact_mut(cols)) {
            for (c, out) in row.iter_mut().enumerate() {
                *out = from[c * width + r];
            }
        }
    }
}

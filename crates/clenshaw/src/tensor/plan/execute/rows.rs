//! Row-wise instructions, `RestoreOrder`, and the running product of a column.

use super::ThreadContext;
use crate::tensor::Real;
use crate::tensor::kernel::{self, dispatch};
use crate::tensor::plan::instr::Instr;
use std::ops::Range;

impl<T: Real> ThreadContext<'_, T> {
    /// Executes a row-wise instruction, `RestoreOrder` or a running product on a block of rows.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    pub(super) unsafe fn execute_row_wise(&self, instr: &Instr, rows: &Range<usize>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match *instr {
                Instr::CopyColumns { src, from, dst, to, width } => {
                    let x = self.read(src, rows).chunks_exact(self.cols(src));
                    let out = self.write(dst, rows).chunks_exact_mut(self.cols(dst));
                    for (out, x) in out.zip(x) {
                        out[to..to + width].copy_from_slice(&x[from..from + width]);
                    }
                }
                Instr::RestoreOrder { src, dst } => {
                    let (x, cols) = (self.read_all(src), self.cols(dst));
                    let order = self.plan.constants.order.as_ref();
                    let from = &order.expect("only ordered rows are restored").rows()[rows.clone()];
                    for (out, &row) in self.write(dst, rows).chunks_exact_mut(cols).zip(from) {
                        out.copy_from_slice(&x[row as usize * cols..(row as usize + 1) * cols]);
                    }
                }
                Instr::ScaleRows { x, by, column, dst } => dispatch(kernel::ScaleRows {
                    cols: self.cols(dst),
                    x: self.read(x, rows),
                    by: self.read(by, rows),
                    by_cols: self.cols(by),
                    column,
                    out: self.write(dst, rows),
                }),
                Instr::RowDots { a, b, dst, column } => {
                    let a = self.read(a, rows).chunks_exact(self.cols(a));
                    let b = self.read(b, rows).chunks_exact(self.cols(b));
                    let out = self.write(dst, rows).chunks_exact_mut(self.cols(dst));
                    for ((out, a), b) in out.zip(a).zip(b) {
                        out[column] += kernel::dot(a, b);
                    }
                }
                Instr::Shrink { threshold, src, dst } => dispatch(kernel::Shrink {
                    cols: self.cols(dst),
                    threshold: T::from_f64(threshold),
                    x: self.read(src, rows),
                    out: self.write(dst, rows),
                }),
                Instr::ShrinkGrad { threshold, x, g, dst } => dispatch(kernel::ShrinkGrad {
                    cols: self.cols(dst),
                    threshold: T::from_f64(threshold),
                    x: self.read(x, rows),
                    g: self.read(g, rows),
                    out: self.write(dst, rows),
                }),
                Instr::Softmax { src, dst } => {
                    kernel::softmax(self.cols(dst), self.read(src, rows), self.write(dst, rows));
                }
                Instr::SoftmaxGrad { y, g, dst } => {
                    let (y, g) = (self.read(y, rows), self.read(g, rows));
                    kernel::softmax_gradient(self.cols(dst), y, g, self.write(dst, rows));
                }
                Instr::Standardise { eps, src, dst } => dispatch(kernel::Standardise {
                    cols: self.cols(dst),
                    eps: T::from_f64(eps),
                    x: self.read(src, rows),
                    out: self.write(dst, rows),
                }),
                Instr::StandardiseGrad { eps, x, g, dst } => dispatch(kernel::StandardiseGrad {
                    cols: self.cols(dst),
                    eps: T::from_f64(eps),
                    x: self.read(x, rows),
                    g: self.read(g, rows),
                    out: self.write(dst, rows),
                }),
                Instr::RunningProduct { x, dst } => {
                    let x = self.read_all(x);
                    for (k, out) in rows.clone().zip(self.write(dst, rows)) {
                        *out = x[..k].iter().fold(T::ONE, |product, x| product * *x);
                    }
                }
                Instr::RunningProductGrad { x, g, dst } => {
                    let (x, g) = (self.read_all(x), self.read_all(g));
                    for (j, out) in rows.clone().zip(self.write(dst, rows)) {
                        *out = running_product_gradient(x, g, j);
                    }
                }
                ref other => unreachable!("{other:?} is not row-wise"),
            }
        }
    }
}

/// `sum_{k > j} g_k prod_{i < k, i != j} x_i`: the gradient of the running products with respect to `x_j`.
fn running_product_gradient<T: Real>(x: &[T], g: &[T], j: usize) -> T {
    let mut product = x[..j].iter().fold(T::ONE, |product, x| product * *x);
    let mut sum = product * g[j + 1];
    for k in j + 2..g.len() {
        product = product * x[k - 1];
        sum += product * g[k];
    }
    sum
}

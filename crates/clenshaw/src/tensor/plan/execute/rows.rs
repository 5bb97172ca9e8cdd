//! Row-wise instructions, and the running product of a column.

use super::Scope;
use crate::tensor::Real;
use crate::tensor::kernel;
use crate::tensor::plan::instr::{Buf, Instr};
use std::ops::Range;

impl<T: Real> Scope<'_, T> {
    /// # Safety
    /// As for [`Scope::execute`].
    pub(super) unsafe fn rows(&self, instr: &Instr, rows: &Range<usize>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match *instr {
                Instr::CopyColumns { src, from, dst, to, width } => {
                    self.copy_columns((src, from), (dst, to), width, rows);
                }
                Instr::ScaleRows { x, by, column, dst } => {
                    self.scale_rows(x, by, column, dst, rows);
                }
                Instr::RowDots { a, b, dst, column } => self.row_dots(a, b, dst, column, rows),
                Instr::Shrink { threshold, src, dst } => {
                    let (x, out) = (self.read(src, rows), self.write(dst, rows));
                    kernel::shrink(self.cols(dst), T::from_f64(threshold), x, out);
                }
                Instr::ShrinkGrad { threshold, x, g, dst } => {
                    let (x, g) = (self.read(x, rows), self.read(g, rows));
                    let (threshold, out) = (T::from_f64(threshold), self.write(dst, rows));
                    kernel::shrink_gradient(self.cols(dst), threshold, x, g, out);
                }
                Instr::Softmax { src, dst } => {
                    kernel::softmax(self.cols(dst), self.read(src, rows), self.write(dst, rows));
                }
                Instr::SoftmaxGrad { y, g, dst } => {
                    let (y, g) = (self.read(y, rows), self.read(g, rows));
                    kernel::softmax_gradient(self.cols(dst), y, g, self.write(dst, rows));
                }
                Instr::RunningProduct { x, dst } => {
                    let x = self.all(x);
                    for (k, out) in rows.clone().zip(self.write(dst, rows)) {
                        *out = x[..k].iter().fold(T::ONE, |product, x| product * *x);
                    }
                }
                Instr::RunningProductGrad { x, g, dst } => {
                    let (x, g) = (self.all(x), self.all(g));
                    for (j, out) in rows.clone().zip(self.write(dst, rows)) {
                        *out = running_product_gradient(x, g, j);
                    }
                }
                ref other => unreachable!("{other:?} is not row-wise"),
            }
        }
    }

    unsafe fn copy_columns(
        &self,
        (src, from): (Buf, usize),
        (dst, to): (Buf, usize),
        width: usize,
        rows: &Range<usize>,
    ) {
        let (src_cols, dst_cols) = (self.cols(src), self.cols(dst));
        // SAFETY: guaranteed by the caller.
        let (src, dst) = unsafe { (self.read(src, rows), self.write(dst, rows)) };
        for (out, x) in dst.chunks_exact_mut(dst_cols).zip(src.chunks_exact(src_cols)) {
            out[to..to + width].copy_from_slice(&x[from..from + width]);
        }
    }

    unsafe fn scale_rows(&self, x: Buf, by: Buf, column: usize, dst: Buf, rows: &Range<usize>) {
        let (cols, by_cols) = (self.cols(dst), self.cols(by));
        // SAFETY: guaranteed by the caller.
        let (x, by, out) =
            unsafe { (self.read(x, rows), self.read(by, rows), self.write(dst, rows)) };
        let pairs = x.chunks_exact(cols).zip(by.chunks_exact(by_cols));
        for (out, (x, by)) in out.chunks_exact_mut(cols).zip(pairs) {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = by[column] * *x);
        }
    }

    unsafe fn row_dots(&self, a: Buf, b: Buf, dst: Buf, column: usize, rows: &Range<usize>) {
        let (cols, width) = (self.cols(a), self.cols(dst));
        // SAFETY: guaranteed by the caller.
        let (a, b, out) =
            unsafe { (self.read(a, rows), self.read(b, rows), self.write(dst, rows)) };
        let pairs = a.chunks_exact(cols).zip(b.chunks_exact(cols));
        for (out, (a, b)) in out.chunks_exact_mut(width).zip(pairs) {
            out[column] += kernel::dot(a, b);
        }
    }
}

/// `sum_{k > j} g_k prod_{i < k, i != j} x_i`: the derivative of the running products by `x_j`.
fn running_product_gradient<T: Real>(x: &[T], g: &[T], j: usize) -> T {
    let mut product = x[..j].iter().fold(T::ONE, |product, x| product * *x);
    let mut sum = product * g[j + 1];
    for k in j + 2..g.len() {
        product = product * x[k - 1];
        sum += product * g[k];
    }
    sum
}

//! Element-wise instructions.

use super::ThreadContext;
use crate::tensor::Real;
use crate::tensor::kernel::{self, RowNumbers, dispatch};
use crate::tensor::plan::instr::{Buf, Instr};
use std::ops::Range;

impl<T: Real> ThreadContext<'_, T> {
    /// Executes an element-wise instruction on a block of rows.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    pub(super) unsafe fn execute_elementwise(&self, instr: &Instr, rows: &Range<usize>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match *instr {
                Instr::Clear { dst } => self.write(dst, rows).fill(T::ZERO),
                Instr::Bf16 { src, dst } => dispatch(kernel::ToBf16 {
                    cols: self.cols(src),
                    src: self.read(src, rows),
                    out: self.write(dst, rows),
                }),
                Instr::Gate { src, dst, act, drop, mask } => {
                    let stream = drop.map(|drop| self.dropout_stream().numbered(drop.site));
                    let row_numbers = match drop {
                        Some(drop) if drop.per_node => self.row_numbers(dst, rows),
                        _ => RowNumbers::From(rows.start),
                    };
                    dispatch(kernel::Gate {
                        cols: self.cols(dst),
                        act,
                        drop: drop.map(|drop| drop.keep).zip(stream.as_ref()),
                        row_numbers,
                        src: self.read(src, rows),
                        out: self.write(dst, rows),
                        mask: mask.map(|mask| self.mask(mask, rows)),
                    });
                }
                Instr::GateGrad { src, mask, scale, dst } => dispatch(kernel::GateGrad {
                    cols: self.cols(dst),
                    scale: T::from_f64(scale),
                    mask: self.mask(mask, rows),
                    src: self.read(src, rows),
                    out: self.write(dst, rows),
                }),
                Instr::SparseDropout { values, drop, dst } => {
                    let stream = self.dropout_stream().numbered(drop.site);
                    dispatch(kernel::DropEntries {
                        drop: (drop.keep, &stream),
                        // Blocks start at multiples of 64.
                        first_word: rows.start / 64,
                        src: self.read(values, rows),
                        out: self.write(dst, rows),
                    });
                }
                Instr::Map { map, src, dst } => {
                    let x = self.read(src, rows);
                    self.fill(dst, rows, |i| map.apply(x[i]));
                }
                Instr::MapGrad { map, x, y, g, dst } => {
                    let (x, y, g) = (self.read(x, rows), self.read(y, rows), self.read(g, rows));
                    self.fill(dst, rows, |i| map.derivative(x[i], y[i]) * g[i]);
                }
                Instr::Product { a, b, dst } => {
                    let (a, b) = (self.read(a, rows), self.read(b, rows));
                    self.fill(dst, rows, |i| a[i] * b[i]);
                }
                Instr::Max { a, b, dst } => {
                    let (a, b) = (self.read(a, rows), self.read(b, rows));
                    self.fill(dst, rows, |i| larger(a[i], b[i]));
                }
                Instr::MaxGrad { x, other, wins_ties, g, dst } => {
                    let (x, other) = (self.read(x, rows), self.read(other, rows));
                    let g = self.read(g, rows);
                    self.fill(dst, rows, |i| {
                        let wins = x[i] > other[i] || (wins_ties && x[i] == other[i]);
                        if wins { g[i] } else { T::ZERO }
                    });
                }
                ref other => unreachable!("{other:?} is not element-wise"),
            }
        }
    }

    /// Writes `value(i)` to entry `i` of these rows, counted from the first row.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    #[inline(always)]
    unsafe fn fill(&self, dst: Buf, rows: &Range<usize>, value: impl Fn(usize) -> T) {
        // SAFETY: guaranteed by the caller.
        let out = unsafe { self.write(dst, rows) };
        dispatch(kernel::Fill { out, value });
    }
}

/// The larger of two numbers, or NaN if one of them is.
fn larger<T: Real>(a: T, b: T) -> T {
    if a >= b {
        a
    } else if b > a {
        b
    } else {
        a + b
    }
}

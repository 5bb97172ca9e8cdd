//! Weighted sums of matrices, and sums over their rows.

use super::{Block, ThreadContext};
use crate::tensor::Real;
use crate::tensor::kernel::{self, MAX_TERMS, dispatch};
use crate::tensor::plan::instr::{Buf, Factor, Instr, Spmm};
use crate::tensor::plan::schedule::Step;
use std::ops::Range;

impl<T: Real> ThreadContext<'_, T> {
    /// Executes a weighted sum on a block of rows, or accumulates the block in the partial sums of a sum over
    /// rows.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    pub(super) unsafe fn execute_sum(&self, step: &Step, block: Block<'_>) {
        let Block { rows, chunk, is_first } = block;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &step.instr {
                Instr::Sum { spmm, terms, .. } => self.sum(step, *spmm, terms, rows),
                Instr::ColumnSums { g, .. } => {
                    kernel::column_sums(self.read(*g, rows), self.partial(step, chunk), !is_first);
                }
                Instr::ColumnDots { a, b, .. } => {
                    let (a, b) = (self.read(*a, rows), self.read(*b, rows));
                    kernel::column_dots(a, b, self.partial(step, chunk), !is_first);
                }
                Instr::Dot { a, b, .. } => {
                    let product = kernel::dot(self.read(*a, rows), self.read(*b, rows));
                    kernel::accumulate(&[product], self.partial(step, chunk), !is_first);
                }
                other => unreachable!("{other:?} is not a sum"),
            }
        }
    }

    /// `dst (+)= c P src + sum_t factor_t term_t + bias`.
    unsafe fn sum(
        &self,
        step: &Step,
        spmm: Option<Spmm>,
        terms: &[(Factor, Buf)],
        rows: &Range<usize>,
    ) {
        let Instr::Sum { dst, add, bias, .. } = step.instr else {
            unreachable!("{:?} is not a weighted sum", step.instr)
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut list: [(T, &[T]); MAX_TERMS] = [(T::ZERO, &[]); MAX_TERMS];
            let mut n_terms = 0;
            for (factor, src) in terms {
                let factor = match *factor {
                    Factor::Fixed(c) => T::from_f64(c),
                    Factor::Entry(source, k) => self.read_all(source)[k],
                    Factor::Row(..) => continue,
                };
                list[n_terms] = (factor, self.read(*src, rows));
                n_terms += 1;
            }
            dispatch(kernel::Sum {
                cols: self.cols(dst),
                gather: spmm.map(|spmm| self.gather(step, spmm, rows)),
                terms: list,
                n_terms,
                bias: bias.map(|bias| self.read_all(bias)),
                out: self.write(dst, rows),
                add,
            });
            for (factor, src) in terms {
                if let Factor::Row(source, k) = *factor {
                    let factor = self.read(source, &(k..k + 1));
                    kernel::add_columns(factor, self.read(*src, rows), self.write(dst, rows));
                }
            }
        }
    }

    /// The kernel argument for the product with an operator, for these rows of the result.
    unsafe fn gather(&self, step: &Step, spmm: Spmm, rows: &Range<usize>) -> kernel::Gather<'_, T> {
        let operator = &self.plan.constants.operators[spmm.operator];
        // SAFETY: guaranteed by the caller.
        let src = unsafe { self.read_all(spmm.src) };
        let entries = match &operator.layout.shared {
            None => kernel::GatherEntries::Rows {
                offsets: &operator.layout.pattern.offsets()[rows.start..=rows.end],
                indices: operator.layout.pattern.indices(),
                values: operator.values.as_deref(),
            },
            Some(shared) => {
                let (sums, slots) = shared.sums_before(rows);
                kernel::GatherEntries::Shared {
                    sums,
                    slots,
                    n_slots: shared.n_slots(),
                    rows: shared.rows(rows),
                    // SAFETY: guaranteed by the caller.
                    memory: unsafe { self.slots(step, self.cols(step.info.iterated)) },
                }
            }
        };
        kernel::Gather {
            coef: T::from_f64(spmm.coef),
            entries,
            scale: &operator.scale,
            first_row: rows.start,
            src: match self.program.bufs[spmm.src].is_bf16 {
                true => kernel::GatherSource::Bf16(src),
                false => kernel::GatherSource::Full(src),
            },
        }
    }
}

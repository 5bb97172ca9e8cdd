//! A step of a three-term recurrence on a block of columns of a matrix.
//!
//! ```text
//! out_i <- a s_i sum_e value_e s_j x_j + b x_i - c out_i       j = index_e, e in row i
//! ```
//!
//! An entry is computed in f64, by separate multiplications and additions in the order of the row's entries, and
//! rounded once. Its bits depend neither on the instruction set nor on the other columns of the block.

use super::gather::prefetch;
use super::{Arith, Kernel};
use crate::tensor::Operator;
use std::ops::Range;

/// The number of entries between prefetching a row and using it.
const PREFETCH_DISTANCE: usize = 16;

/// The coefficients of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepFactors {
    pub a: f64,
    pub b: f64,
    pub c: f64,
}

/// A step on these rows of a matrix of `W` columns.
pub(crate) struct RecurrenceStepRows<'a, const W: usize> {
    pub p: &'a Operator,
    pub factors: StepFactors,
    pub rows: Range<usize>,
    /// All rows of the last term.
    pub x: &'a [[f32; W]],
    /// The rows of the last but one term, which are replaced by those of the next term.
    pub out: &'a mut [[f32; W]],
}

impl<const W: usize> Kernel for RecurrenceStepRows<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { p, factors: StepFactors { a, b, c }, rows, x, out } = self;
        let (pattern, scale) = (p.pattern(), p.scale());
        let (offsets, indices) = (pattern.offsets(), pattern.indices());
        for (i, out) in rows.zip(out) {
            let mut sum = [0.0; W];
            for e in offsets[i]..offsets[i + 1] {
                if let Some(&later) = indices.get(e + PREFETCH_DISTANCE) {
                    prefetch(x.as_ptr().wrapping_add(later as usize));
                    prefetch(scale.as_ptr().wrapping_add(later as usize));
                }
                let j = indices[e] as usize;
                let weight = scale[j] * p.values().map_or(1.0, |values| values[e]);
                for (sum, x) in sum.iter_mut().zip(&x[j]) {
                    *sum += weight * f64::from(*x);
                }
            }
            let a = a * scale[i];
            for ((out, x), sum) in out.iter_mut().zip(&x[i]).zip(sum) {
                *out = (a * sum + b * f64::from(*x) - c * f64::from(*out)) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::tensor::Pattern;
    use std::sync::Arc;

    #[test]
    fn a_step_matches_hand_computation_with_every_instruction_set() {
        // The path 0 - 1 - 2 with s = (1, 2, 3).
        let pattern = Pattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1]);
        let p = Operator::new(Arc::new(pattern), vec![1.0, 2.0, 3.0]);
        let x = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
        for level in LEVELS {
            let mut out = [[1.0, 1.0], [2.0, 0.0]];
            dispatch_at(
                level,
                RecurrenceStepRows {
                    p: &p,
                    factors: StepFactors { a: 2.0, b: 0.5, c: 1.0 },
                    rows: 1..3,
                    x: &x,
                    out: &mut out,
                },
            );
            // 2 * 2 (1 * 1 + 3 * 3) + 0.5 * 2 - 1, and 2 * 3 (2 * 2) + 0.5 * 3 - 2.
            assert_eq!(out, [[40.0, 409.0], [23.5, 255.0]]);
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_instruction_set() {
        let n = 200;
        let offsets: Vec<usize> = (0..=n).map(|i| 7 * i).collect();
        let row = |i: usize| {
            let mut row: Vec<u32> = (0..7).map(|k| ((i * 13 + 29 * k) % n) as u32).collect();
            row.sort_unstable();
            row
        };
        let pattern = Pattern::new(n, offsets, (0..n).flat_map(row).collect());
        let scale = numbers(n, 1).into_iter().map(f64::from).collect();
        let p = Operator::from_square(Arc::new(pattern), scale);
        let (x, start) = (numbers(16 * n, 2), numbers(16 * n, 3));
        let outputs = LEVELS.map(|level| {
            let mut out = start.clone();
            dispatch_at(
                level,
                RecurrenceStepRows::<16> {
                    p: &p,
                    factors: StepFactors { a: 1.7, b: -0.3, c: 0.9 },
                    rows: 0..n,
                    x: x.as_chunks().0,
                    out: out.as_chunks_mut().0,
                },
            );
            out
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        assert_ne!(outputs[0], start);
    }
}

//! Weighted sums of matrices, one of which may be multiplied by an operator first.
//!
//! ```text
//! out (+)= c P src + sum_t coef_t x_t + bias
//! ```
//!
//! With one gather and two terms this is Clenshaw's step, `2 P H1 - H2 + alpha H*`, in one pass.

use super::gather::{ColumnKernel, Rows, run_by_columns, store};
use super::{Arith, Kernel};
use crate::tensor::Real;
use crate::tensor::shared_sums::SumEntries;
use std::ops::Range;

/// The largest number of terms in one pass, besides the product with an operator and the bias.
pub(crate) const MAX_TERMS: usize = 4;

/// The product `coef diag(scale) A diag(scale) src` for the rows of a block.
pub(crate) struct Gather<'a, T> {
    pub coef: T,
    pub entries: GatherEntries<'a, T>,
    /// The scale factors of all n rows.
    pub scale: &'a [T],
    /// The index of the block's first row in the whole matrix.
    pub first_row: usize,
    /// The whole source, `[n, cols]`.
    pub src: GatherSource<'a, T>,
}

/// The entries of A in the rows of a block.
pub(crate) enum GatherEntries<'a, T> {
    /// Compressed rows.
    Rows {
        /// Offsets of the block's rows, and the end of the last one, in `indices`.
        offsets: &'a [usize],
        /// The columns of all entries of the pattern.
        indices: &'a [u32],
        /// The value of every entry of A; `None` means that all of them are 1.
        values: Option<&'a [T]>,
    },
    /// Rows that share sums; all entries of A are 1.
    Shared {
        /// The shared sums to compute first.
        sums: SumEntries<'a>,
        /// The slot of each of these sums, below `n_slots`.
        slots: &'a [u32],
        n_slots: usize,
        /// The sums of the block's rows.
        rows: SumEntries<'a>,
        /// The memory of the slots, `[n_slots, cols]`, with the sums of earlier blocks of the chunk.
        memory: &'a mut [T],
    },
}

/// The matrix that rows are gathered from.
#[derive(Clone, Copy)]
pub(crate) enum GatherSource<'a, T> {
    /// Rows of `T`.
    Full(&'a [T]),
    /// Rows of bf16, each padded to a multiple of the size of `T`.
    Bf16(&'a [T]),
}

/// The number of elements of `T` needed to store a row of bf16.
pub(crate) fn bf16_stride<T>(cols: usize) -> usize {
    (cols * size_of::<u16>()).div_ceil(size_of::<T>())
}

/// The sum for the rows of one block.
pub(crate) struct Sum<'a, T> {
    pub cols: usize,
    pub gather: Option<Gather<'a, T>>,
    /// The coefficients and rows of the terms, of which only the first `n_terms` are used.
    pub terms: [(T, &'a [T]); MAX_TERMS],
    pub n_terms: usize,
    pub bias: Option<&'a [T]>,
    pub out: &'a mut [T],
    /// Add to `out` instead of overwriting it.
    pub add: bool,
}

impl<T: Real> Kernel for Sum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(mut self) {
        if let Some(gather) = &self.gather {
            let (len, cols) = match gather.src {
                GatherSource::Full(src) => (src.len(), self.cols),
                GatherSource::Bf16(src) => (src.len(), bf16_stride::<T>(self.cols)),
            };
            assert_eq!(len, gather.scale.len() * cols, "sum: the source has the wrong shape");
            gather.check_entries(self.cols);
        }
        if let Some(gather) = &mut self.gather {
            gather.compute_shared_sums::<A>(self.cols);
        }
        let (rows, cols) = (self.out.len() / self.cols.max(1), self.cols);
        run_by_columns::<A>(&mut self, rows, cols);
    }
}

impl<T: Real> ColumnKernel for Sum<'_, T> {
    #[inline(always)]
    fn run_columns<A: Arith, const W: usize>(&mut self, r: usize, c: usize) {
        let start = r * self.cols + c;
        let mut acc = match &self.gather {
            Some(gather) => gather.run_columns::<A, W>(self.cols, r, c),
            None => [T::ZERO; W],
        };
        for (coef, x) in &self.terms[..self.n_terms] {
            let x = &x[start..start + W];
            for i in 0..W {
                acc[i] = A::madd(*coef, x[i], acc[i]);
            }
        }
        store(acc, c, self.bias, &mut self.out[start..], self.add);
    }
}

impl<T: Real> Gather<'_, T> {
    /// Asserts that there is a value per entry, or memory for the slots.
    fn check_entries(&self, cols: usize) {
        match &self.entries {
            GatherEntries::Rows { indices, values, .. } => {
                let n_values = values.map_or(indices.len(), <[T]>::len);
                assert_eq!(n_values, indices.len(), "sum: expected one value per entry");
            }
            GatherEntries::Shared { n_slots, memory, .. } => {
                assert_eq!(memory.len(), n_slots * cols, "sum: the slots have the wrong size");
            }
        }
    }

    /// Computes the sums that the rows of the block are the first to use.
    #[inline(always)]
    fn compute_shared_sums<A: Arith>(&mut self, cols: usize) {
        let (src, scale) = (self.src, self.scale);
        if let GatherEntries::Shared { sums, slots, memory, .. } = &mut self.entries {
            let n = sums.len();
            let mut kernel = SlotSums { cols, src, scale, sums: *sums, slots, memory };
            run_by_columns::<A>(&mut kernel, n, cols);
        }
    }

    /// Columns `c..c + W` of row `r` of the product.
    #[inline(always)]
    fn run_columns<A: Arith, const W: usize>(&self, cols: usize, r: usize, c: usize) -> [T; W] {
        let mut acc = match &self.entries {
            GatherEntries::Rows { offsets, indices, values } => {
                let entries = offsets[r]..offsets[r + 1];
                match values {
                    None => self.src.sum_scaled::<A, W>(cols, indices, entries, c, self.scale),
                    Some(values) => self.src.sum::<A, W>(cols, indices, entries, c, |e, j| {
                        // SAFETY: columns of a pattern are below its number of columns, which is the
                        // length of `scale`, and there is a value for every entry (asserted in `run`).
                        unsafe { *values.get_unchecked(e) * *self.scale.get_unchecked(j) }
                    }),
                }
            }
            GatherEntries::Shared { rows, memory, .. } => {
                sum_shared::<T, A, W>(self.src, self.scale, *rows, memory, cols, r, c)
            }
        };
        let outer = self.coef * self.scale[self.first_row + r];
        for i in 0..W {
            acc[i] = outer * acc[i];
        }
        acc
    }
}

impl<T: Real> GatherSource<'_, T> {
    /// Columns `c..c + W` of the sum of the rows of these entries, each multiplied by its scale factor.
    #[inline(always)]
    fn sum_scaled<A: Arith, const W: usize>(
        self,
        cols: usize,
        indices: &[u32],
        entries: Range<usize>,
        c: usize,
        scale: &[T],
    ) -> [T; W] {
        self.sum::<A, W>(cols, indices, entries, c, |_, j| {
            // SAFETY: columns of a pattern are below its number of columns, which is the length of `scale`.
            unsafe { *scale.get_unchecked(j) }
        })
    }

    /// Columns `c..c + W` of the sum of the rows `indices[e]` of these entries `e`, each multiplied by
    /// `weight(e, indices[e])`.
    #[inline(always)]
    fn sum<A: Arith, const W: usize>(
        self,
        cols: usize,
        indices: &[u32],
        entries: Range<usize>,
        c: usize,
        weight: impl Fn(usize, usize) -> T,
    ) -> [T; W] {
        // SAFETY: the source has a row of `cols` numbers for every column of the pattern (asserted in
        // `Sum::run`).
        unsafe {
            match self {
                GatherSource::Full(src) => {
                    Rows::new(src, cols, indices).sum::<T, A, W>(entries, c, weight)
                }
                GatherSource::Bf16(src) => {
                    let stride = bf16_stride::<T>(cols) * size_of::<T>() / size_of::<u16>();
                    let src = bytemuck::cast_slice::<T, u16>(src);
                    Rows::new(src, stride, indices).sum::<T, A, W>(entries, c, weight)
                }
            }
        }
    }
}

/// Columns `c..c + W` of sum `s`: its slots, and its rows of the source, scaled.
#[inline(always)]
fn sum_shared<T: Real, A: Arith, const W: usize>(
    src: GatherSource<'_, T>,
    scale: &[T],
    sums: SumEntries<'_>,
    memory: &[T],
    cols: usize,
    s: usize,
    c: usize,
) -> [T; W] {
    let (slots, rows) = sums.of(s);
    let mut acc = src.sum_scaled::<A, W>(cols, sums.indices, rows, c, scale);
    if !slots.is_empty() {
        // SAFETY: the slots of shared sums are below their number, for which there is memory (asserted in
        // `Sum::run`).
        let shared = unsafe {
            Rows::new(memory, cols, sums.indices).sum::<T, A, W>(slots, c, |_, _| T::ONE)
        };
        for i in 0..W {
            acc[i] += shared[i];
        }
    }
    acc
}

/// Computes shared sums and stores each in its slot.
struct SlotSums<'a, T> {
    cols: usize,
    src: GatherSource<'a, T>,
    scale: &'a [T],
    sums: SumEntries<'a>,
    slots: &'a [u32],
    memory: &'a mut [T],
}

impl<T: Real> ColumnKernel for SlotSums<'_, T> {
    #[inline(always)]
    fn run_columns<A: Arith, const W: usize>(&mut self, s: usize, c: usize) {
        let (src, scale, cols) = (self.src, self.scale, self.cols);
        let acc = sum_shared::<T, A, W>(src, scale, self.sums, self.memory, cols, s, c);
        let start = self.slots[s] as usize * cols + c;
        self.memory[start..start + W].copy_from_slice(&acc);
    }
}

/// Converts the rows of a block to bf16, each row padded to a multiple of the size of `T`.
pub(crate) struct ToBf16<'a, T> {
    pub cols: usize,
    pub src: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for ToBf16<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let rows = self.out.chunks_exact_mut(bf16_stride::<T>(self.cols));
        for (out, src) in rows.zip(self.src.chunks_exact(self.cols)) {
            let packed: &mut [u16] = bytemuck::cast_slice_mut(out);
            for (packed, v) in packed.iter_mut().zip(src) {
                *packed = v.to_bf16();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const OFFSETS: [usize; 4] = [0, 2, 2, 5];
    const INDICES: [u32; 5] = [0, 2, 0, 1, 2];
    const SCALE: [f32; 3] = [0.5, 0.25, 2.0];

    fn step<'a>(cols: usize, x: &'a [f32], out: &'a mut [f32], add: bool) -> Sum<'a, f32> {
        let n = 3 * cols;
        let (src, h2, star, bias) =
            (&x[..n], &x[n..2 * n], &x[2 * n..3 * n], &x[3 * n..3 * n + cols]);
        let gather = Gather {
            coef: 2.0,
            entries: GatherEntries::Rows { offsets: &OFFSETS, indices: &INDICES, values: None },
            scale: &SCALE,
            first_row: 0,
            src: GatherSource::Full(src),
        };
        let none: (f32, &[f32]) = (0.0, &[]);
        Sum {
            cols,
            gather: Some(gather),
            terms: [(-1.0, h2), (0.3, star), none, none],
            n_terms: 2,
            bias: Some(bias),
            out,
            add,
        }
    }

    /// The equation, entry by entry.
    fn expected(cols: usize, x: &[f32], before: &[f32]) -> Vec<f32> {
        let n = 3 * cols;
        let entry = |r: usize, c: usize| {
            let product: f32 = INDICES[OFFSETS[r]..OFFSETS[r + 1]]
                .iter()
                .map(|&j| SCALE[r] * SCALE[j as usize] * x[j as usize * cols + c])
                .sum();
            let at = r * cols + c;
            before[at] + 2.0 * product - x[n + at] + 0.3 * x[2 * n + at] + x[3 * n + c]
        };
        (0..n).map(|i| entry(i / cols, i % cols)).collect()
    }

    #[test]
    fn values_multiply_the_entries() {
        let values = [0.5, -1.0, 2.0, 0.25, 3.0];
        for cols in [1, 5, 16, 71] {
            let x = numbers(10 * cols, 1);
            for level in LEVELS {
                let mut out = vec![0.0; 3 * cols];
                let mut sum = step(cols, &x, &mut out, false);
                (sum.n_terms, sum.bias) = (0, None);
                sum.gather.as_mut().unwrap().entries = GatherEntries::Rows {
                    offsets: &OFFSETS,
                    indices: &INDICES,
                    values: Some(&values),
                };
                dispatch_at(level, sum);
                let entry = |r: usize, c: usize| -> f32 {
                    let entries = OFFSETS[r]..OFFSETS[r + 1];
                    let term = |e: usize| {
                        let j = INDICES[e] as usize;
                        2.0 * SCALE[r] * values[e] * SCALE[j] * x[j * cols + c]
                    };
                    entries.map(term).sum()
                };
                let expected: Vec<f32> = (0..3 * cols).map(|i| entry(i / cols, i % cols)).collect();
                assert_close(&out, &expected, 1e-6);
            }
        }
    }

    #[test]
    fn bf16_sources_give_the_same_sum_as_rounded_numbers() {
        for cols in [1, 3, 7, 8, 13, 64, 71] {
            let mut x = numbers(10 * cols, 1);
            let mut packed = vec![0.0; 3 * bf16_stride::<f32>(cols)];
            dispatch_at(LEVELS[0], ToBf16 { cols, src: &x[..3 * cols], out: &mut packed });
            for v in &mut x[..3 * cols] {
                *v = f32::from_bf16(v.to_bf16());
            }
            for level in LEVELS {
                let (mut whole, mut half) = (vec![0.0; 3 * cols], vec![0.0; 3 * cols]);
                dispatch_at(level, step(cols, &x, &mut whole, false));
                let mut sum = step(cols, &x, &mut half, false);
                sum.gather.as_mut().unwrap().src = GatherSource::Bf16(&packed);
                dispatch_at(level, sum);
                assert_eq!(half, whole);
            }
        }
    }

    #[test]
    fn instruction_sets_agree_with_the_definition_at_every_width() {
        for cols in [1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 24, 64, 71, 135] {
            let x = numbers(10 * cols, 1);
            let before = numbers(3 * cols, 2);
            for level in LEVELS {
                let mut out = before.clone();
                dispatch_at(level, step(cols, &x, &mut out, true));
                assert_close(&out, &expected(cols, &x, &before), 1e-6);
                dispatch_at(level, step(cols, &x, &mut out, false));
                assert_close(&out, &expected(cols, &x, &vec![0.0; 3 * cols]), 1e-6);
            }
        }
    }
}

//! Gates: activation and dropout both pass or block each entry.
//!
//! ```text
//! out  = open . scale . x        open = keep & not (x <= 0)  relu
//!                                       keep & not (x < 0)   relu*
//!                                       keep                 dropout alone
//! grad = open . scale . g
//! ```
//!
//! The backward pass needs only the scale and the open bits, one 64-bit word per 64 columns of a row.
//! Activations do not block NaN, so that it stays visible in the scores of a network that diverged.

use super::{Arith, Kernel, RowNumbers};
use crate::rng::{Bernoulli, Stream};
use crate::tensor::Real;

/// An activation function that passes or blocks each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// All entries pass.
    Identity,
    /// Entries pass unless they are zero or negative.
    Relu,
    /// Entries pass unless they are negative: unlike with `Relu`, the gradient passes where the entry is zero.
    ReluStar,
}

/// The gate on the rows of one block.
pub(crate) struct Gate<'a, T> {
    pub cols: usize,
    pub act: Act,
    /// For dropout, the probability of keeping an entry and the random stream.
    pub drop: Option<(Bernoulli, &'a Stream)>,
    /// The numbers of the rows, which select the random bits.
    pub row_numbers: RowNumbers<'a>,
    pub src: &'a [T],
    pub out: &'a mut [T],
    /// Receives the open bits of each row, if a backward pass follows.
    pub mask: Option<&'a mut [u64]>,
}

impl<T: Real> Kernel for Gate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(mut self) {
        let cols = self.cols;
        let words = cols.div_ceil(64);
        let scale = self
            .drop
            .map_or(T::ONE, |(bernoulli, _)| T::from_f64(1.0 / bernoulli.keep_probability()));
        let n_rows = self.out.len() / cols.max(1);
        for first in (0..n_rows).step_by(WORDS) {
            for w in 0..words {
                let keep = self.keep(first, w);
                for r in first..(first + WORDS).min(n_rows) {
                    let from = r * cols + 64 * w;
                    let to = (from + 64).min((r + 1) * cols);
                    let (src, out) = (&self.src[from..to], &mut self.out[from..to]);
                    let open = A::gate(self.act, keep[r - first], scale, src, out);
                    if let Some(mask) = &mut self.mask {
                        mask[r * words + w] = open;
                    }
                }
            }
        }
    }
}

/// The number of random words that are drawn at a time.
const WORDS: usize = 8;

impl<T> Gate<'_, T> {
    /// The keep bits of columns `64 w..` of [`WORDS`] rows from row `first` of the block on, all set without
    /// dropout; those of rows after the last one are not used.
    #[inline(always)]
    fn keep(&self, first: usize, w: usize) -> [u64; WORDS] {
        let Some((bernoulli, stream)) = self.drop else { return [u64::MAX; WORDS] };
        let words = self.cols.div_ceil(64) as u64;
        let rows: [u64; WORDS] = self.row_numbers.get_several(first);
        bernoulli.words(stream, rows.map(|row| row * words + w as u64))
    }
}

/// Dropout of a list of numbers, 64 per word of random bits.
pub(crate) struct DropEntries<'a, T> {
    /// The probability of keeping a number, and the random stream.
    pub drop: (Bernoulli, &'a Stream),
    /// The index of the random word for the first 64 numbers of `src`.
    pub first_word: usize,
    pub src: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for DropEntries<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let (bernoulli, stream) = self.drop;
        let scale = T::from_f64(1.0 / bernoulli.keep_probability());
        let parts = self.src.chunks(64 * WORDS).zip(self.out.chunks_mut(64 * WORDS));
        for (part, (src, out)) in parts.enumerate() {
            let first = self.first_word + WORDS * part;
            let numbers = std::array::from_fn(|k| (first + k) as u64);
            let keep: [u64; WORDS] = bernoulli.words(stream, numbers);
            for ((src, out), keep) in src.chunks(64).zip(out.chunks_mut(64)).zip(keep) {
                A::gate(Act::Identity, keep, scale, src, out);
            }
        }
    }
}

/// The gradient of a gate on the rows of one block.
pub(crate) struct GateGrad<'a, T> {
    pub cols: usize,
    /// The factor by which the gate multiplied the entries that passed.
    pub scale: T,
    /// The open bits of [`Gate`].
    pub mask: &'a [u64],
    /// The gradient of the gate's result.
    pub src: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for GateGrad<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let cols = self.cols;
        let words = cols.div_ceil(64);
        for r in 0..self.out.len() / cols.max(1) {
            for w in 0..words {
                let from = r * cols + 64 * w;
                let to = (from + 64).min((r + 1) * cols);
                let (src, out) = (&self.src[from..to], &mut self.out[from..to]);
                A::gate(Act::Identity, self.mask[r * words + w], self.scale, src, out);
            }
        }
    }
}

/// `out = open . scale . x` for up to 64 entries; returns the open bits. Bits beyond the last entry are
/// unspecified.
#[inline(always)]
pub(super) fn gate<T: Real>(act: Act, keep: u64, scale: T, x: &[T], out: &mut [T]) -> u64 {
    let open = keep & passing_bits(act, x);
    multiply_masked(open, scale, x, out);
    open
}

/// One bit for each of up to 64 entries, set if the activation passes the entry. Bits beyond the last
/// entry are unspecified.
#[inline(always)]
fn passing_bits<T: Real>(act: Act, x: &[T]) -> u64 {
    let unblocked = |is_blocked: fn(T) -> bool| {
        let mut word = 0;
        let (eights, rest) = x.as_chunks::<8>();
        for (i, eight) in eights.iter().enumerate() {
            let mut byte = 0u64;
            for j in 0..8 {
                byte |= u64::from(!is_blocked(eight[j])) << j;
            }
            word |= byte << (8 * i);
        }
        for (j, v) in rest.iter().enumerate() {
            word |= u64::from(!is_blocked(*v)) << (8 * eights.len() + j);
        }
        word
    };
    match act {
        Act::Identity => u64::MAX,
        Act::Relu => unblocked(|v| v <= T::ZERO),
        Act::ReluStar => unblocked(|v| v < T::ZERO),
    }
}

/// `out = open . scale . x` for up to 64 entries.
#[inline(always)]
fn multiply_masked<T: Real>(open: u64, scale: T, x: &[T], out: &mut [T]) {
    let (x8, x_rest) = x.as_chunks::<8>();
    let (out8, out_rest) = out.as_chunks_mut::<8>();
    for (i, (out, x)) in out8.iter_mut().zip(x8).enumerate() {
        let byte = (open >> (8 * i)) as u32;
        for j in 0..8 {
            out[j] = if byte & (1 << j) != 0 { scale * x[j] } else { T::ZERO };
        }
    }
    for (j, (out, x)) in out_rest.iter_mut().zip(x_rest).enumerate() {
        let bit = 8 * x8.len() + j;
        *out = if open >> bit & 1 == 1 { scale * *x } else { T::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SimdLevel, testing::*};
    use super::*;

    /// The result and the mask of a gate.
    fn run<'a>(
        level: SimdLevel,
        (act, drop): (Act, Option<(Bernoulli, &'a Stream)>),
        cols: usize,
        first_row: usize,
        src: &'a [f32],
    ) -> (Vec<f32>, Vec<u64>) {
        let mut out = vec![9.0; src.len()];
        let mut mask = vec![0; src.len() / cols * cols.div_ceil(64)];
        let mask_out = Some(&mut mask[..]);
        let row_numbers = RowNumbers::From(first_row);
        dispatch_at(
            level,
            Gate { cols, act, drop, row_numbers, src, out: &mut out, mask: mask_out },
        );
        (out, mask)
    }

    fn gradient(level: SimdLevel, cols: usize, scale: f32, mask: &[u64], src: &[f32]) -> Vec<f32> {
        let mut out = vec![9.0; src.len()];
        dispatch_at(level, GateGrad { cols, scale, mask, src, out: &mut out });
        out
    }

    #[test]
    fn relu_and_relu_star_differ_at_zero_only() {
        for (act, open) in [(Act::Relu, 0b0100), (Act::ReluStar, 0b1110)] {
            let (out, mask) = run(LEVELS[2], (act, None), 4, 0, &[-1.0, 0.0, 2.0, -0.0]);
            assert_eq!(out, [0.0, 0.0, 2.0, 0.0]);
            assert_eq!(mask[0] & 0b1111, open);
            let expected: Vec<f32> = (0..4).map(|j| (open >> j & 1) as f32).collect();
            assert_eq!(gradient(LEVELS[2], 4, 1.0, &mask, &[1.0; 4]), expected);
        }
    }

    #[test]
    fn activations_do_not_block_nan() {
        for act in [Act::Relu, Act::ReluStar] {
            let (out, _) = run(LEVELS[2], (act, None), 9, 0, &[f32::NAN; 9]);
            assert!(out.iter().all(|v| v.is_nan()), "{out:?}");
        }
    }

    #[test]
    fn dropout_keeps_the_mean_and_the_gradient_uses_the_same_mask() {
        let (stream, bernoulli) = (Stream::new(1, "dropout"), Bernoulli::from_drop_rate(0.3));
        let (src, cols, drop) = (vec![1.0; 500 * 71], 71, Some((bernoulli, &stream)));
        let (out, mask) = run(LEVELS[2], (Act::Identity, drop), cols, 0, &src);
        let mean = out.iter().sum::<f32>() / out.len() as f32;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let scale = (1.0 / bernoulli.keep_probability()) as f32;
        assert_eq!(gradient(LEVELS[2], cols, scale, &mask, &src), out);
    }

    #[test]
    fn instruction_sets_agree_bit_for_bit_at_every_width() {
        let (stream, bernoulli) = (Stream::new(3, "dropout"), Bernoulli::from_drop_rate(0.3));
        let result = |level, gate, cols: usize| {
            let mut src = numbers(5 * cols, 4);
            (src[0], src[cols - 1]) = (0.0, f32::NAN);
            let (out, mask) = run(level, gate, cols, 2, &src);
            let grad = gradient(level, cols, 1.5, &mask, &vec![1.0; 5 * cols]);
            (out.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), grad)
        };
        for act in [Act::Identity, Act::Relu, Act::ReluStar] {
            for drop in [None, Some((bernoulli, &stream))] {
                for cols in [1, 7, 8, 13, 64, 71, 128] {
                    let plain = result(SimdLevel::Portable, (act, drop), cols);
                    for level in LEVELS {
                        let actual = result(level, (act, drop), cols);
                        assert_eq!(actual, plain, "{act:?}, {cols} columns");
                    }
                }
            }
        }
    }

    #[test]
    fn dropout_does_not_depend_on_block_boundaries() {
        let (stream, bernoulli) = (Stream::new(2, "dropout"), Bernoulli::from_drop_rate(0.5));
        let (src, gate) = (numbers(10 * 64, 3), (Act::ReluStar, Some((bernoulli, &stream))));
        let (whole, _) = run(SimdLevel::Portable, gate, 64, 0, &src);
        for level in LEVELS {
            let (upper, _) = run(level, gate, 64, 0, &src[..4 * 64]);
            let (lower, _) = run(level, gate, 64, 4, &src[4 * 64..]);
            assert_eq!([upper, lower].concat(), whole);
        }
    }
}

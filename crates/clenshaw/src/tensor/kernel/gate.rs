//! Gates: activation and dropout both pass or block each entry.
//!
//! ```text
//! out  = open . scale . x        open = keep & not (x <= 0)  relu
//!                                       keep & not (x < 0)   relu*
//!                                       keep                 dropout alone
//! grad = open . scale . g
//! ```
//!
//! The backward pass needs only the open bits, one word per 64 columns.
//! NaN passes, so that it stays visible in the scores of a network that diverged.

use super::{Arith, Kernel};
use crate::rng::{Bernoulli, Stream};
use crate::tensor::Real;

/// The activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// All entries pass.
    Identity,
    /// Positive entries pass.
    Relu,
    /// Entries that are not negative pass, so that the gradient passes at exactly zero.
    ReluStar,
}

/// The gate on the rows of one block.
pub(crate) struct Gate<'a, T> {
    pub cols: usize,
    pub act: Act,
    /// The probability of keeping an entry, and the source of randomness.
    pub drop: Option<(Bernoulli, &'a Stream)>,
    /// The first row of the block.
    pub first: usize,
    pub src: &'a [T],
    pub out: &'a mut [T],
    /// Receives the open bits, if a backward pass follows.
    pub mask: Option<&'a mut [u64]>,
}

impl<T: Real> Kernel for Gate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(mut self) {
        let cols = self.cols;
        let words = cols.div_ceil(64);
        let scale = self.drop.map_or(T::ONE, |(keep, _)| T::from_f64(1.0 / keep.keep()));
        for r in 0..self.out.len() / cols.max(1) {
            for w in 0..words {
                let from = r * cols + 64 * w;
                let to = (from + 64).min((r + 1) * cols);
                let src = &self.src[from..to];
                let number = ((self.first + r) * words + w) as u64;
                let keep = self
                    .drop
                    .map_or(u64::MAX, |(bernoulli, stream)| bernoulli.word(stream, number));
                let open = A::gate(self.act, keep, scale, src, &mut self.out[from..to]);
                if let Some(mask) = &mut self.mask {
                    mask[r * words + w] = open;
                }
            }
        }
    }
}

/// Dropout of a list of numbers, 64 per word of random bits.
pub(crate) struct DropEntries<'a, T> {
    pub drop: (Bernoulli, &'a Stream),
    pub first_word: usize,
    pub src: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for DropEntries<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let (bernoulli, stream) = self.drop;
        let scale = T::from_f64(1.0 / bernoulli.keep());
        for (w, (src, out)) in self.src.chunks(64).zip(self.out.chunks_mut(64)).enumerate() {
            let keep = bernoulli.word(stream, (self.first_word + w) as u64);
            A::gate(Act::Identity, keep, scale, src, out);
        }
    }
}

/// The gradient of a gate on the rows of one block.
pub(crate) struct GateGrad<'a, T> {
    pub cols: usize,
    pub scale: T,
    pub mask: &'a [u64],
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

/// `out = open . scale . x` for up to 64 entries; returns the open bits.
#[inline(always)]
pub(super) fn gate<T: Real>(act: Act, keep: u64, scale: T, x: &[T], out: &mut [T]) -> u64 {
    let open = keep & passing(act, x);
    pass(open, scale, x, out);
    open
}

/// The bits of up to 64 entries that the activation passes.
#[inline(always)]
fn passing<T: Real>(act: Act, x: &[T]) -> u64 {
    let unless = |stops: fn(T) -> bool| {
        let mut word = 0;
        let (eights, rest) = x.as_chunks::<8>();
        for (i, eight) in eights.iter().enumerate() {
            let mut byte = 0u64;
            for j in 0..8 {
                byte |= u64::from(!stops(eight[j])) << j;
            }
            word |= byte << (8 * i);
        }
        for (j, v) in rest.iter().enumerate() {
            word |= u64::from(!stops(*v)) << (8 * eights.len() + j);
        }
        word
    };
    match act {
        Act::Identity => u64::MAX,
        Act::Relu => unless(|v| v <= T::ZERO),
        Act::ReluStar => unless(|v| v < T::ZERO),
    }
}

/// `out = open . scale . x` for up to 64 entries.
#[inline(always)]
fn pass<T: Real>(open: u64, scale: T, x: &[T], out: &mut [T]) {
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
    use super::super::{SimdLevel, dispatch, testing::*};
    use super::*;

    #[test]
    fn relu_and_relu_star_differ_at_zero_only() {
        let src = [-1.0f32, 0.0, 2.0, -0.0];
        for (act, open) in [(Act::Relu, 0b0100), (Act::ReluStar, 0b1110)] {
            let (mut out, mut mask) = ([9.0f32; 4], [0u64]);
            let mask_out = Some(&mut mask[..]);
            dispatch(Gate {
                cols: 4,
                act,
                drop: None,
                first: 0,
                src: &src,
                out: &mut out,
                mask: mask_out,
            });
            assert_eq!(out, [0.0, 0.0, 2.0, 0.0]);
            assert_eq!(mask[0] & 0b1111, open);
            let mut grad = [9.0f32; 4];
            dispatch(GateGrad { cols: 4, scale: 1.0, mask: &mask, src: &[1.0; 4], out: &mut grad });
            let expected: Vec<f32> = (0..4).map(|j| (open >> j & 1) as f32).collect();
            assert_eq!(grad[..], expected);
        }
    }

    #[test]
    fn nan_passes() {
        for act in [Act::Relu, Act::ReluStar] {
            let mut out = [0.0f32; 9];
            let src = [f32::NAN; 9];
            dispatch(Gate {
                cols: 9,
                act,
                drop: None,
                first: 0,
                src: &src,
                out: &mut out,
                mask: None,
            });
            assert!(out.iter().all(|v| v.is_nan()), "{out:?}");
        }
    }

    #[test]
    fn dropout_keeps_the_mean_and_the_gradient_uses_the_same_mask() {
        let (stream, bernoulli) = (Stream::new(1, "dropout"), Bernoulli::from_drop_rate(0.3));
        let (rows, cols) = (500, 71);
        let src = vec![1.0f32; rows * cols];
        let mut out = vec![0.0; rows * cols];
        let mut mask = vec![0; rows * 2];
        let drop = Some((bernoulli, &stream));
        let act = Act::Identity;
        dispatch(Gate {
            cols,
            act,
            drop,
            first: 0,
            src: &src,
            out: &mut out,
            mask: Some(&mut mask),
        });
        let mean = out.iter().sum::<f32>() / out.len() as f32;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let mut grad = vec![0.0; rows * cols];
        let scale = (1.0 / bernoulli.keep()) as f32;
        dispatch(GateGrad { cols, scale, mask: &mask, src: &src, out: &mut grad });
        assert_eq!(grad, out);
    }

    #[test]
    fn instruction_sets_agree_bit_for_bit_at_every_width() {
        let (stream, bernoulli) = (Stream::new(3, "dropout"), Bernoulli::from_drop_rate(0.3));
        let run = |level, act, drop, cols: usize| {
            let mut src = numbers(5 * cols, 4);
            (src[0], src[cols - 1]) = (0.0, f32::NAN);
            let (mut out, words) = (vec![7.0; 5 * cols], cols.div_ceil(64));
            let (mut mask, mut grad) = (vec![0; 5 * words], vec![7.0; 5 * cols]);
            let (first, mask_out) = (2, Some(&mut mask[..]));
            let gate = Gate { cols, act, drop, first, src: &src, out: &mut out, mask: mask_out };
            dispatch_at(level, gate);
            let (scale, ones) = (1.5, vec![1.0; 5 * cols]);
            let mask = &mask;
            dispatch_at(level, GateGrad { cols, scale, mask, src: &ones, out: &mut grad });
            (out.iter().map(|v: &f32| v.to_bits()).collect::<Vec<_>>(), grad)
        };
        for act in [Act::Identity, Act::Relu, Act::ReluStar] {
            for drop in [None, Some((bernoulli, &stream))] {
                for cols in [1, 7, 8, 13, 64, 71, 128] {
                    let plain = run(SimdLevel::Portable, act, drop, cols);
                    for level in LEVELS {
                        assert_eq!(run(level, act, drop, cols), plain, "{act:?}, {cols} columns");
                    }
                }
            }
        }
    }

    #[test]
    fn masks_do_not_depend_on_the_block() {
        let (stream, bernoulli) = (Stream::new(2, "dropout"), Bernoulli::from_drop_rate(0.5));
        let src = numbers(10 * 64, 3);
        let run = |level, first: usize, rows: usize| {
            let mut out = vec![0.0; rows * 64];
            let src = &src[first * 64..(first + rows) * 64];
            let drop = Some((bernoulli, &stream));
            let act = Act::ReluStar;
            dispatch_at(level, Gate { cols: 64, act, drop, first, src, out: &mut out, mask: None });
            out
        };
        let whole = run(SimdLevel::Portable, 0, 10);
        for level in LEVELS {
            assert_eq!([run(level, 0, 4), run(level, 4, 6)].concat(), whole);
        }
    }
}

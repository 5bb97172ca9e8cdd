//! Numerical kernels on blocks of rows, compiled once per instruction set.
//!
//! A kernel is a struct of slices whose [`Kernel::run`] is inlined into one function per instruction
//! set; [`dispatch`] calls that of the selected instruction set. Except for the gates (`gate_x86.rs`), kernels
//! are loops over plain arrays for the compiler to vectorise.
//!
//! Kernels that access slices without bounds checks check their lengths first. Those that gather rows
//! by index also rely on the indices, which derive from a [`Pattern`](super::Pattern) that its constructor
//! checked.

mod level;
mod gather;
mod sum;
mod gemm;
mod gate;
#[cfg(target_arch = "x86_64")]
mod gate_x86;
mod loss;
mod sparse;
mod recurrence;
mod reduce;
mod rows;
mod map;
mod attention;

pub use attention::HeadLayout;
pub(crate) use attention::{
    Attention, AttentionEdges, AttentionGrad, EdgeDropout, HeadDots, MAX_HEADS,
};
pub(crate) use gate::{Act, DropEntries, Gate, GateGrad};
pub(crate) use gemm::Gemm;
pub(crate) use level::SimdLevel;
use level::level;
pub use level::{available_instruction_sets, bit_class, instruction_set, select_instruction_set};
pub use loss::log_sum_exp;
pub(crate) use loss::{Combination, Nll, Squares};
pub(crate) use map::{Fill, Map};
pub(crate) use recurrence::{RecurrenceStepRows, StepFactors};
pub(crate) use reduce::{accumulate, add_columns, column_dots, column_sums, dot};
pub(crate) use rows::{
    ScaleRows, Shrink, ShrinkGrad, Standardise, StandardiseGrad, softmax, softmax_gradient,
};
pub(crate) use sparse::SparseProduct;
pub(crate) use sum::{Gather, GatherEntries, GatherSource, MAX_TERMS, Sum, ToBf16, bf16_stride};

use super::Real;

/// The operations that differ between instruction sets.
pub(crate) trait Arith {
    /// Whether a tile of 8 x 32 or 4 x 64 f32 fits into the registers in the dense product.
    const WIDE: bool;
    /// `a * b + c`.
    fn madd<T: Real>(a: T, b: T, c: T) -> T;
    /// Applies an activation, a dropout mask and a factor to up to 64 entries; returns one bit per entry,
    /// set if it passed. Bits beyond the last entry are unspecified.
    #[inline(always)]
    fn gate<T: Real>(act: Act, keep: u64, scale: T, x: &[T], out: &mut [T]) -> u64 {
        gate::gate(act, keep, scale, x, out)
    }
}

/// Separate multiplication and addition, on any processor.
pub(crate) struct Portable;

/// Fused multiply-add on 256-bit registers.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

/// Fused multiply-add on 512-bit registers.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

impl Arith for Portable {
    const WIDE: bool = false;
    #[inline(always)]
    fn madd<T: Real>(a: T, b: T, c: T) -> T {
        a * b + c
    }
}

#[cfg(target_arch = "x86_64")]
impl Arith for Avx2 {
    const WIDE: bool = false;
    #[inline(always)]
    fn madd<T: Real>(a: T, b: T, c: T) -> T {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn gate<T: Real>(act: Act, keep: u64, scale: T, x: &[T], out: &mut [T]) -> u64 {
        // SAFETY: this implementation is inlined only into `avx2`.
        unsafe { gate_x86::gate_avx2(act, keep, scale, x, out) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Arith for Avx512 {
    const WIDE: bool = true;
    #[inline(always)]
    fn madd<T: Real>(a: T, b: T, c: T) -> T {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn gate<T: Real>(act: Act, keep: u64, scale: T, x: &[T], out: &mut [T]) -> u64 {
        // SAFETY: this implementation is inlined only into `avx512`.
        unsafe { gate_x86::gate_avx512(act, keep, scale, x, out) }
    }
}

/// A computation that is compiled for several instruction sets.
pub(crate) trait Kernel {
    /// The result.
    type Output;
    /// Runs the computation. Implementations must be `#[inline(always)]` to be compiled for each
    /// instruction set.
    fn run<A: Arith>(self) -> Self::Output;
}

/// The numbers of the rows of a block, which select random bits or rows of other matrices.
#[derive(Clone, Copy)]
pub(crate) enum RowNumbers<'a> {
    /// Consecutive rows from this one.
    From(usize),
    /// These rows.
    Listed(&'a [u32]),
}

impl RowNumbers<'_> {
    /// The number of row `r` of the block.
    #[inline(always)]
    pub fn get(self, r: usize) -> usize {
        match self {
            Self::From(first) => first + r,
            Self::Listed(rows) => rows[r] as usize,
        }
    }

    /// The numbers of `N` rows of the block from row `first` on; 0 after the last listed row.
    #[inline(always)]
    pub fn get_several<const N: usize>(self, first: usize) -> [u64; N] {
        match self {
            Self::From(start) => std::array::from_fn(|k| (start + first + k) as u64),
            Self::Listed(rows) => match rows[first..].first_chunk::<N>() {
                Some(rows) => rows.map(u64::from),
                None => std::array::from_fn(|k| rows.get(first + k).map_or(0, |&row| row.into())),
            },
        }
    }
}

/// Runs a kernel with the selected instruction set, by default the best one of this processor.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    match level() {
        // SAFETY: the processor supports the features that the function was compiled for.
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => unsafe { avx512(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => unsafe { avx2(kernel) },
        _ => kernel.run::<Portable>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Kernel, SimdLevel, dispatch};
    use crate::rng::Stream;
    use std::cell::Cell;

    thread_local! {
        static LIMIT: Cell<SimdLevel> = const { Cell::new(SimdLevel::Avx512) };
    }

    /// The best instruction set that this thread may use.
    pub fn limit() -> SimdLevel {
        LIMIT.get()
    }

    /// Runs a kernel with the best instruction set up to a level.
    pub fn dispatch_at<K: Kernel>(level: SimdLevel, kernel: K) -> K::Output {
        at_level(level, || dispatch(kernel))
    }

    /// Runs a closure whose kernels use the best instruction set up to a level.
    pub fn at_level<R>(level: SimdLevel, work: impl FnOnce() -> R) -> R {
        LIMIT.set(level);
        let output = work();
        LIMIT.set(SimdLevel::Avx512);
        output
    }

    /// Every instruction set; one that the processor lacks falls back to a lower one.
    pub const LEVELS: [SimdLevel; 3] = [SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512];

    /// Uniform numbers in [-1, 1).
    pub fn numbers(n: usize, seed: u64) -> Vec<f32> {
        let mut stream = Stream::new(seed, "kernel test");
        (0..n).map(|_| stream.symmetric(1.0) as f32).collect()
    }

    /// Asserts that all entries agree to within `tolerance` times the largest expected magnitude.
    pub fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32) {
        assert_eq!(actual.len(), expected.len());
        let largest = expected.iter().fold(1e-30f32, |m, v| m.max(v.abs()));
        let errors = actual.iter().zip(expected).map(|(a, e)| (a - e).abs() / largest);
        // NaN is the largest error.
        let worst = errors.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let (index, worst) = worst.unwrap_or((0, 0.0));
        assert!(
            worst <= tolerance,
            "entry {index}: {} instead of {}, relative error {worst}",
            actual[index],
            expected[index]
        );
    }
}

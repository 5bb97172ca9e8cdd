//! Weighted sums of gathered rows, accumulated in registers a few columns at a time.
//!
//! ```text
//! acc = sum_e weight(e) src[index(e), c..c+W]
//! ```
//!
//! A row of 64 columns is summed in one pass; other widths are split into 64, 16, 8 and fewer.

use super::Arith;
use crate::tensor::Real;
use std::ops::Range;

/// A kernel that computes a few adjacent columns of a row at a time.
pub(super) trait ColumnKernel {
    /// Computes columns `c..c + W` of row `r` of the result.
    fn run_columns<A: Arith, const W: usize>(&mut self, r: usize, c: usize);
}

/// Computes all columns of `rows` rows, in column blocks of 64, 16, 8 and fewer.
#[inline(always)]
pub(super) fn run_by_columns<A: Arith>(work: &mut impl ColumnKernel, rows: usize, cols: usize) {
    for r in 0..rows {
        let mut c = 0;
        while cols - c >= 64 {
            work.run_columns::<A, 64>(r, c);
            c += 64;
        }
        while cols - c >= 16 {
            work.run_columns::<A, 16>(r, c);
            c += 16;
        }
        if cols - c >= 8 {
            work.run_columns::<A, 8>(r, c);
            c += 8;
        }
        match cols - c {
            0 => {}
            1 => work.run_columns::<A, 1>(r, c),
            2 => work.run_columns::<A, 2>(r, c),
            3 => work.run_columns::<A, 3>(r, c),
            4 => work.run_columns::<A, 4>(r, c),
            5 => work.run_columns::<A, 5>(r, c),
            6 => work.run_columns::<A, 6>(r, c),
            _ => work.run_columns::<A, 7>(r, c),
        }
    }
}

/// `out[..W] (+)= acc + bias[c..c + W]`.
#[inline(always)]
pub(super) fn store<T: Real, const W: usize>(
    mut acc: [T; W],
    c: usize,
    bias: Option<&[T]>,
    out: &mut [T],
    add: bool,
) {
    if let Some(bias) = bias {
        let bias = &bias[c..c + W];
        for i in 0..W {
            acc[i] += bias[i];
        }
    }
    let out = &mut out[..W];
    for i in 0..W {
        out[i] = if add { out[i] + acc[i] } else { acc[i] };
    }
}

/// A stored number: a `T`, or the bits of a bf16 number.
pub(super) trait Stored<T>: Copy {
    /// The number as a `T`.
    fn value(self) -> T;
}

impl<T: Real> Stored<T> for T {
    #[inline(always)]
    fn value(self) -> T {
        self
    }
}

/// The bits of a bf16 number.
impl<T: Real> Stored<T> for u16 {
    #[inline(always)]
    fn value(self) -> T {
        T::from_bf16(self)
    }
}

/// Rows are prefetched from sources with more bytes than this, which do not fit into a core's own cache.
const PREFETCH_BYTES: usize = 8 << 20;
/// The number of entries between prefetching a row and using it.
const PREFETCH_DISTANCE: usize = 16;

/// A matrix and the indices of the rows to gather.
pub(super) struct Rows<'a, S> {
    /// Distance between consecutive rows, in numbers.
    stride: usize,
    indices: &'a [u32],
    src: *const S,
    should_prefetch: bool,
}

impl<'a, S> Rows<'a, S> {
    /// Rows of `src`, `stride` apart.
    pub fn new(src: &'a [S], stride: usize, indices: &'a [u32]) -> Self {
        let should_prefetch = size_of_val(src) > PREFETCH_BYTES;
        Self { stride, indices, src: src.as_ptr(), should_prefetch }
    }
}

impl<S> Rows<'_, S> {
    /// Columns `c..c + W` of the weighted sum of the rows `indices[e]` for `e` in `entries`.
    ///
    /// `weight` receives `e` and the index of the row.
    ///
    /// # Safety
    /// The source contains every row in `indices`, with at least `c + W` columns.
    #[inline(always)]
    pub unsafe fn sum<T: Real, A: Arith, const W: usize>(
        &self,
        entries: Range<usize>,
        c: usize,
        weight: impl Fn(usize, usize) -> T,
    ) -> [T; W]
    where
        S: Stored<T>,
    {
        // SAFETY: guaranteed by the caller, here and below.
        unsafe {
            match self.should_prefetch {
                true => self.sum_prefetching::<T, A, W>(entries, c, weight, |e| {
                    if let Some(&j) = self.indices.get(e + PREFETCH_DISTANCE) {
                        prefetch::<[S; W]>(self.address(j as usize, c));
                    }
                }),
                false => self.sum_prefetching::<T, A, W>(entries, c, weight, |_| {}),
            }
        }
    }

    /// [`Rows::sum`], calling `prefetch(e)` before entry `e` is added.
    ///
    /// # Safety
    /// As for [`Rows::sum`].
    #[inline(always)]
    unsafe fn sum_prefetching<T: Real, A: Arith, const W: usize>(
        &self,
        entries: Range<usize>,
        c: usize,
        weight: impl Fn(usize, usize) -> T,
        prefetch: impl Fn(usize),
    ) -> [T; W]
    where
        S: Stored<T>,
    {
        let mut acc = [T::ZERO; W];
        for (&j, e) in self.indices[entries.clone()].iter().zip(entries) {
            let j = j as usize;
            prefetch(e);
            // SAFETY: guaranteed by the caller.
            let x = unsafe { &*self.address::<W>(j, c) };
            let weight = weight(e, j);
            for i in 0..W {
                acc[i] = A::madd(weight, x[i].value(), acc[i]);
            }
        }
        acc
    }

    /// The address of columns `c..c + W` of a row.
    #[inline(always)]
    fn address<const W: usize>(&self, row: usize, c: usize) -> *const [S; W] {
        self.src.wrapping_add(row * self.stride + c).cast()
    }
}

/// Prefetches a value on x86-64 processors; never faults, even for an invalid address.
#[inline(always)]
pub(super) fn prefetch<T>(_address: *const T) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and it has no visible effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(_address.cast::<i8>().wrapping_add(byte)) };
    }
}

//! Weighted sums of gathered rows, a few columns at a time, in registers.
//!
//! ```text
//! acc = sum_e weight(e) src[index(e), c..c+W]
//! ```
//!
//! A row of 64 columns is summed in one pass; other widths are cut into pieces of 64, 16, 8 and less.

use super::Arith;
use crate::tensor::Real;
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// What is done to a few neighbouring columns of one row.
pub(super) trait Columns {
    /// `W` columns from `c` of row `r`.
    fn columns<A: Arith, const W: usize>(&mut self, r: usize, c: usize);
}

/// Does it to all columns of a number of rows.
#[inline(always)]
pub(super) fn by_columns<A: Arith>(work: &mut impl Columns, rows: usize, cols: usize) {
    for r in 0..rows {
        let mut c = 0;
        while cols - c >= 64 {
            work.columns::<A, 64>(r, c);
            c += 64;
        }
        while cols - c >= 16 {
            work.columns::<A, 16>(r, c);
            c += 16;
        }
        if cols - c >= 8 {
            work.columns::<A, 8>(r, c);
            c += 8;
        }
        match cols - c {
            0 => {}
            1 => work.columns::<A, 1>(r, c),
            2 => work.columns::<A, 2>(r, c),
            3 => work.columns::<A, 3>(r, c),
            4 => work.columns::<A, 4>(r, c),
            5 => work.columns::<A, 5>(r, c),
            6 => work.columns::<A, 6>(r, c),
            _ => work.columns::<A, 7>(r, c),
        }
    }
}

/// A number as it stands in memory.
pub(super) trait Stored<T>: Copy {
    fn value(self) -> T;
}

impl<T: Real> Stored<T> for T {
    #[inline(always)]
    fn value(self) -> T {
        self
    }
}

/// The upper half of an f32.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Half(u16);

// SAFETY: a u16, every pattern of whose bits is one.
unsafe impl Zeroable for Half {}
// SAFETY: as above.
unsafe impl Pod for Half {}

impl<T: Real> Stored<T> for Half {
    #[inline(always)]
    fn value(self) -> T {
        T::from_bf16(self.0)
    }
}

/// A source of more bytes than this is far away: it fits no cache that a processor has for itself.
const FAR: usize = 8 << 20;
/// How many entries before its turn a row that is far away is called for.
const AHEAD: usize = 16;

/// Rows of a matrix, picked by number.
pub(super) struct Rows<'a, S> {
    /// Distance between two rows.
    stride: usize,
    indices: &'a [u32],
    src: *const S,
    is_far: bool,
}

impl<'a, S> Rows<'a, S> {
    /// Rows of `src`, `stride` apart.
    pub fn new(src: &'a [S], stride: usize, indices: &'a [u32]) -> Self {
        Self { stride, indices, src: src.as_ptr(), is_far: size_of_val(src) > FAR }
    }
}

impl<S> Rows<'_, S> {
    /// `W` columns from `c` of the weighted sum of the rows that `entries` name.
    ///
    /// # Safety
    /// The source has every row that the indices name, and `c + W` columns.
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
        // SAFETY: the caller's promise, here and below.
        unsafe {
            match self.is_far {
                true => self.sum_calling::<T, A, W>(entries, c, weight, |e| {
                    if let Some(&j) = self.indices.get(e + AHEAD) {
                        call_for::<[S; W]>(self.at(j as usize, c));
                    }
                }),
                false => self.sum_calling::<T, A, W>(entries, c, weight, |_| {}),
            }
        }
    }

    #[inline(always)]
    unsafe fn sum_calling<T: Real, A: Arith, const W: usize>(
        &self,
        entries: Range<usize>,
        c: usize,
        weight: impl Fn(usize, usize) -> T,
        call: impl Fn(usize),
    ) -> [T; W]
    where
        S: Stored<T>,
    {
        let mut acc = [T::ZERO; W];
        for (&j, e) in self.indices[entries.clone()].iter().zip(entries) {
            let j = j as usize;
            call(e);
            // SAFETY: the caller's promise.
            let x = unsafe { &*self.at::<W>(j, c) };
            let weight = weight(e, j);
            for i in 0..W {
                acc[i] = A::madd(weight, x[i].value(), acc[i]);
            }
        }
        acc
    }

    #[inline(always)]
    fn at<const W: usize>(&self, row: usize, c: usize) -> *const [S; W] {
        self.src.wrapping_add(row * self.stride + c).cast()
    }
}

/// Asks for the cache lines of what will soon be read; never faults, whatever is there.
#[inline(always)]
fn call_for<T>(_at: *const T) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, and it reads nothing that a program could see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(_at.cast::<i8>().wrapping_add(byte)) };
    }
}

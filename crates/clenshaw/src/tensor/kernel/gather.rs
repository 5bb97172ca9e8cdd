//! Weighted sums of gathered rows, a few columns at a time, in registers.
//!
//! ```text
//! acc = sum_e weight(e) src[index(e), c..c+W]
//! ```
//!
//! A row of 64 columns is summed in one pass; other widths are cut into pieces of 64, 16, 8 and less.

use super::Arith;
use crate::tensor::Real;
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

impl<T: Real> Stored<T> for Half {
    #[inline(always)]
    fn value(self) -> T {
        T::from_bf16(self.0)
    }
}

/// Rows of a matrix, picked by number.
pub(super) struct Rows<'a, S> {
    /// Distance between two rows.
    pub stride: usize,
    pub indices: &'a [u32],
    pub src: *const S,
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
        let mut acc = [T::ZERO; W];
        for (&j, e) in self.indices[entries.clone()].iter().zip(entries) {
            let j = j as usize;
            // SAFETY: the caller's promise.
            let x = unsafe { &*self.src.add(j * self.stride + c).cast::<[S; W]>() };
            let weight = weight(e, j);
            for i in 0..W {
                acc[i] = A::madd(weight, x[i].value(), acc[i]);
            }
        }
        acc
    }
}

//! Numbers that start at a cache line.
//!
//! A vector register is as wide as a cache line. Where matrices start in the middle of one, every load
//! touches two: a training step on Squirrel, most of which is gathering, took half as long again.
//!
//! Long vectors ask the system for pages of megabytes: gathered rows lie on other pages each, and the
//! processor knows where few pages are.

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;
use std::fmt::{Debug, Formatter, Result};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The numbers in a cache line of the narrowest kind we compute with.
pub(super) const LINE: usize = 16;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: 64 bytes, no padding, and every pattern of bits is one.
unsafe impl Zeroable for Line {}
// SAFETY: as above.
unsafe impl Pod for Line {}

/// From this many bytes on, large pages are asked for.
const LONG: usize = 4 << 20;

/// Where the numbers are.
enum Home {
    Heap(Vec<Line>),
    Pages(MmapMut),
}

impl Home {
    fn zeros(bytes: usize) -> Self {
        let heap = || Self::Heap(vec![Line::zeroed(); bytes.div_ceil(size_of::<Line>())]);
        if bytes < LONG { heap() } else { pages(bytes).map_or_else(heap, Self::Pages) }
    }
}

/// Zeros on pages of their own, large ones if the system has them.
fn pages(bytes: usize) -> Option<MmapMut> {
    let mut map = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    // Until they are written, all pages are one page of zeros, and reading them measures nothing.
    map.fill(0);
    Some(map)
}

/// A vector of numbers whose first one starts a cache line; its length never changes.
pub struct AlignedVec<T> {
    home: Home,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> AlignedVec<T> {
    /// This many zeros.
    pub fn zeros(len: usize) -> Self {
        Self { home: Home::zeros(len * size_of::<T>()), len, kind: PhantomData }
    }
}

impl<T: Pod> Clone for AlignedVec<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T: Pod> From<&[T]> for AlignedVec<T> {
    fn from(numbers: &[T]) -> Self {
        let mut lines = Self::zeros(numbers.len());
        lines.copy_from_slice(numbers);
        lines
    }
}

impl<T: Pod> FromIterator<T> for AlignedVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Self::from(&Vec::from_iter(numbers)[..])
    }
}

impl<T: Pod + PartialEq> PartialEq for AlignedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod> Deref for AlignedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let numbers = match &self.home {
            Home::Heap(lines) => bytemuck::cast_slice(lines),
            Home::Pages(map) => bytemuck::cast_slice(map),
        };
        &numbers[..self.len]
    }
}

impl<T: Pod> DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let numbers = match &mut self.home {
            Home::Heap(lines) => bytemuck::cast_slice_mut(lines),
            Home::Pages(map) => bytemuck::cast_slice_mut(map),
        };
        &mut numbers[..self.len]
    }
}

impl<T: Pod + Debug> Debug for AlignedVec<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_hold_what_they_were_given_and_start_a_line() {
        for len in [0, 1, 15, 16, 17, 1000, LONG / 4 - 1, LONG / 4 + 1] {
            let numbers: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let mut lines = AlignedVec::from(&numbers[..]);
            assert_eq!(*lines, numbers);
            assert_eq!(lines.as_ptr() as usize % 64, 0);
            lines.iter_mut().for_each(|v| *v += 1.0);
            let sum: f64 = lines.clone().iter().map(|v| f64::from(*v)).sum();
            assert_eq!(sum, (len * (len + 1) / 2) as f64);
        }
    }
}

//! Vectors aligned to cache lines.
//!
//! An AVX-512 register is as wide as a cache line. If rows start in the middle of a line, every load
//! touches two lines: a training step on Squirrel, which mostly gathers rows, took 1.5 times as long.
//!
//! Long vectors are allocated on huge pages if possible: a gather reads rows on many different pages, and the
//! processor's address translation cache (TLB) covers only a few.

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;
use std::fmt::{Debug, Formatter, Result};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The number of f32 per cache line; this many f64 also fill whole lines.
pub(super) const F32_PER_LINE: usize = 16;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

// SAFETY: 64 bytes without padding, of which every bit pattern is valid.
unsafe impl Zeroable for CacheLine {}
// SAFETY: as above.
unsafe impl Pod for CacheLine {}

/// Vectors of at least this many bytes are allocated on huge pages if possible.
const MIN_HUGE_BYTES: usize = 4 << 20;

/// The memory of a vector.
enum Allocation {
    Heap(Vec<CacheLine>),
    Pages(MmapMut),
}

impl Allocation {
    /// Memory for at least this many bytes, filled with zeros; `None` if it cannot be allocated.
    fn zeros(bytes: usize) -> Option<Self> {
        let heap = || {
            let n_lines = bytes.div_ceil(size_of::<CacheLine>());
            let mut lines = Vec::new();
            lines.try_reserve_exact(n_lines).ok()?;
            lines.resize(n_lines, CacheLine::zeroed());
            Some(Self::Heap(lines))
        };
        match bytes < MIN_HUGE_BYTES {
            true => heap(),
            false => map_pages(bytes).map(Self::Pages).or_else(heap),
        }
    }
}

/// Maps pages filled with zeros, huge ones if the system supports them; `None` if mapping fails.
fn map_pages(bytes: usize) -> Option<MmapMut> {
    let mut map = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    // Until pages are written to, all of them map to one shared page of zeros, and measured read rates
    // would be too high.
    map.fill(0);
    Some(map)
}

/// A vector of fixed length, aligned to a cache line. The size of an element must divide 64 bytes.
pub struct AlignedVec<T> {
    memory: Allocation,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> AlignedVec<T> {
    /// A vector of `len` zeros.
    ///
    /// # Panics
    /// If the memory cannot be allocated.
    pub fn zeros(len: usize) -> Self {
        Self::try_zeros(len).expect("aligned vector: not enough memory")
    }

    /// A vector of `len` zeros; `None` if the memory cannot be allocated.
    pub fn try_zeros(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        Some(Self { memory: Allocation::zeros(bytes)?, len, element: PhantomData })
    }
}

impl<T: Pod> Clone for AlignedVec<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T: Pod> From<&[T]> for AlignedVec<T> {
    fn from(numbers: &[T]) -> Self {
        let mut vec = Self::zeros(numbers.len());
        vec.copy_from_slice(numbers);
        vec
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
        let numbers = match &self.memory {
            Allocation::Heap(lines) => bytemuck::cast_slice(lines),
            Allocation::Pages(map) => bytemuck::cast_slice(map),
        };
        &numbers[..self.len]
    }
}

impl<T: Pod> DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let numbers = match &mut self.memory {
            Allocation::Heap(lines) => bytemuck::cast_slice_mut(lines),
            Allocation::Pages(map) => bytemuck::cast_slice_mut(map),
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
    fn impossible_sizes_are_reported() {
        assert!(AlignedVec::<f32>::try_zeros(usize::MAX).is_none());
        assert!(AlignedVec::<u8>::try_zeros(1 << 60).is_none());
    }

    #[test]
    fn vectors_keep_their_numbers_and_are_aligned() {
        for len in [0, 1, 15, 16, 17, 1000, MIN_HUGE_BYTES / 4 - 1, MIN_HUGE_BYTES / 4 + 1] {
            let numbers: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let mut vec = AlignedVec::from(&numbers[..]);
            assert_eq!(*vec, numbers);
            assert_eq!(vec.as_ptr() as usize % 64, 0);
            vec.iter_mut().for_each(|v| *v += 1.0);
            let sum: f64 = vec.clone().iter().map(|v| f64::from(*v)).sum();
            assert_eq!(sum, (len * (len + 1) / 2) as f64);
        }
    }
}

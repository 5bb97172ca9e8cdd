//! Numbers that start at a cache line.
//!
//! A vector register is as wide as a cache line. Where matrices start in the middle of one, every load
//! touches two: a training step on Squirrel, most of which is gathering, took half as long again.

use bytemuck::{Pod, Zeroable};
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

/// A vector of numbers whose first one starts a cache line; its length never changes.
#[derive(Clone)]
pub struct Lines<T> {
    lines: Vec<Line>,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> Lines<T> {
    /// This many zeros.
    pub fn zeros(len: usize) -> Self {
        let lines = vec![Line::zeroed(); (len * size_of::<T>()).div_ceil(size_of::<Line>())];
        Self { lines, len, kind: PhantomData }
    }
}

impl<T: Pod> From<&[T]> for Lines<T> {
    fn from(numbers: &[T]) -> Self {
        let mut lines = Self::zeros(numbers.len());
        lines.copy_from_slice(numbers);
        lines
    }
}

impl<T: Pod> FromIterator<T> for Lines<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Self::from(&Vec::from_iter(numbers)[..])
    }
}

impl<T: Pod + PartialEq> PartialEq for Lines<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Pod> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl<T: Pod + Debug> Debug for Lines<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_hold_what_they_were_given_and_start_a_line() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let numbers: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let mut lines = Lines::from(&numbers[..]);
            assert_eq!(*lines, numbers);
            assert_eq!(lines.as_ptr() as usize % 64, 0);
            lines.iter_mut().for_each(|v| *v += 1.0);
            assert_eq!(lines.clone().iter().sum::<f32>(), (len * (len + 1) / 2) as f32);
        }
    }
}

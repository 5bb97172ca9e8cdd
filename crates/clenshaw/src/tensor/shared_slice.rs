//! Read-only numbers that are either owned or part of shared bytes, such as a memory-mapped file.
//!
//! A mapped file is not copied: its pages are shared between all processes that map it. Numbers whose
//! representation in the file differs from that in memory (byte order, width, alignment) are copied.

use crate::error::{Error, Result};
use crate::files;
use bytemuck::Pod;
use memmap2::{Mmap, MmapOptions};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// Bytes shared by several slices: a mapped file, or bytes in memory.
#[derive(Clone)]
pub struct Bytes(Arc<ByteSource>);

enum ByteSource {
    Mapped(Mmap),
    InMemory(Cow<'static, [u8]>),
}

impl Bytes {
    /// Maps a file into memory. On Linux, also reads all of it ahead, because a checksum will read every byte.
    ///
    /// # Safety
    /// No process changes or truncates the file in place while the bytes or slices of them are in
    /// use: the indices of a sparse matrix are checked once and then used without bounds checks.
    /// Replacing the file by renaming another one over it is allowed.
    pub(crate) unsafe fn map(path: &Path) -> Result<Self> {
        let file = files::open(path)?;
        // SAFETY: the file does not change while it is mapped, by this function's contract.
        let map = unsafe { MmapOptions::new().populate().map(&file) }.map_err(Error::io(path))?;
        Ok(Self(Arc::new(ByteSource::Mapped(map))))
    }
}

impl<B: Into<Cow<'static, [u8]>>> From<B> for Bytes {
    fn from(bytes: B) -> Self {
        Self(Arc::new(ByteSource::InMemory(bytes.into())))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            ByteSource::Mapped(map) => map,
            ByteSource::InMemory(bytes) => bytes,
        }
    }
}

/// A read-only slice of numbers, owned or part of shared [`Bytes`].
#[derive(Clone)]
pub(crate) struct SharedSlice<T>(SliceStorage<T>);

#[derive(Clone)]
enum SliceStorage<T> {
    Owned(Vec<T>),
    /// A range of bytes that are the numbers in this machine's representation.
    Shared(Bytes, Range<usize>),
}

impl<T: LittleEndian> SharedSlice<T> {
    /// The little-endian numbers in a range of bytes.
    ///
    /// Returns `None` if the range is out of bounds, if its length is not a multiple of the width of
    /// a number, or if a number does not fit into `T`.
    pub fn from_bytes(bytes: &Bytes, range: Range<usize>) -> Option<Self> {
        let selected = bytes.get(range.clone())?;
        if T::IS_NATIVE && bytemuck::try_cast_slice::<u8, T>(selected).is_ok() {
            return Some(Self(SliceStorage::Shared(bytes.clone(), range)));
        }
        let chunks = selected.chunks_exact(T::WIDTH);
        let is_complete = chunks.remainder().is_empty();
        let owned = is_complete.then(|| chunks.map(T::from_le).collect::<Option<Vec<T>>>())??;
        Some(Self(SliceStorage::Owned(owned)))
    }
}

impl<T> From<Vec<T>> for SharedSlice<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(SliceStorage::Owned(numbers))
    }
}

impl<T: Pod> SharedSlice<T> {
    /// The numbers, mutable; numbers that are part of shared bytes are copied first.
    pub fn make_mut(&mut self) -> &mut [T] {
        if let SliceStorage::Shared(..) = self.0 {
            self.0 = SliceStorage::Owned(self.to_vec());
        }
        match &mut self.0 {
            SliceStorage::Owned(numbers) => numbers,
            SliceStorage::Shared(..) => unreachable!("shared numbers were copied"),
        }
    }

    /// The numbers as a vector; owned numbers are not copied.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            SliceStorage::Owned(numbers) => numbers,
            SliceStorage::Shared(..) => self.to_vec(),
        }
    }
}

impl<T: Pod> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            SliceStorage::Owned(numbers) => numbers,
            SliceStorage::Shared(bytes, range) => bytemuck::cast_slice(&bytes[range.clone()]),
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for SharedSlice<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A number with a little-endian representation in files, of the same width on every machine.
pub(crate) trait LittleEndian: Pod {
    /// Bytes per number in a file.
    const WIDTH: usize;
    /// Whether a number has the same bytes in memory as in a file.
    const IS_NATIVE: bool = cfg!(target_endian = "little") && size_of::<Self>() == Self::WIDTH;

    /// Decodes `WIDTH` bytes; `None` for any other number of bytes, or if the number does not fit into this type.
    fn from_le(bytes: &[u8]) -> Option<Self>;
    /// Appends the `WIDTH` bytes of this number to `out`.
    fn append_le(self, out: &mut Vec<u8>);
}

macro_rules! little_endian {
    ($number:ty as $stored:ty) => {
        impl LittleEndian for $number {
            const WIDTH: usize = size_of::<$stored>();

            fn from_le(bytes: &[u8]) -> Option<Self> {
                <$stored>::from_le_bytes(bytes.try_into().ok()?).try_into().ok()
            }

            fn append_le(self, out: &mut Vec<u8>) {
                out.extend((self as $stored).to_le_bytes());
            }
        }
    };
}

little_endian!(u8 as u8);
little_endian!(i32 as i32);
little_endian!(u32 as u32);
little_endian!(f32 as f32);
little_endian!(usize as u64);

/// The bytes of numbers as stored in a file; borrowed if they are the same in memory.
pub(crate) fn little_endian_bytes<T: LittleEndian>(numbers: &[T]) -> Cow<'_, [u8]> {
    if T::IS_NATIVE {
        return bytemuck::cast_slice(numbers).into();
    }
    let mut bytes = Vec::with_capacity(numbers.len() * T::WIDTH);
    numbers.iter().for_each(|number| number.append_le(&mut bytes));
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_any_alignment() {
        let numbers = [1usize, 2, 1 << 20];
        let bytes = little_endian_bytes(&numbers);
        for shift in 0..8 {
            let padded = Bytes::from([&vec![9; shift], &*bytes, &[9][..]].concat());
            let range = shift..shift + bytes.len();
            let slice = SharedSlice::<usize>::from_bytes(&padded, range).unwrap();
            assert_eq!(*slice, numbers, "{shift}");
        }
    }

    #[test]
    fn a_mapped_file_stays_readable_after_deletion() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), little_endian_bytes(&[1.5f32, -2.0])).unwrap();
        // SAFETY: only this test has access to the file.
        let bytes = unsafe { Bytes::map(file.path()) }.unwrap();
        let slice = SharedSlice::<f32>::from_bytes(&bytes, 0..8).unwrap();
        drop((file, bytes));
        assert_eq!(slice.clone(), SharedSlice::from(vec![1.5, -2.0]));
        assert_eq!(format!("{slice:?}"), "[1.5, -2.0]");
    }

    #[test]
    fn shared_numbers_are_copied_before_they_change() {
        let bytes = Bytes::from(little_endian_bytes(&[1.5f32, -2.0]).into_owned());
        let mut slice = SharedSlice::<f32>::from_bytes(&bytes, 0..8).unwrap();
        let shared = slice.clone();
        slice.make_mut()[1] = 7.0;
        assert_eq!((&*slice, &*shared), (&[1.5, 7.0][..], &[1.5, -2.0][..]));
        assert_eq!((slice.into_vec(), shared.into_vec()), (vec![1.5, 7.0], vec![1.5, -2.0]));
    }

    #[test]
    fn invalid_ranges_return_none() {
        let bytes = Bytes::from(&[1u8, 2, 3][..]);
        assert!(SharedSlice::<u8>::from_bytes(&bytes, 1..4).is_none());
        assert!(SharedSlice::<u32>::from_bytes(&bytes, 0..3).is_none());
        let inside = SharedSlice::<u8>::from_bytes(&bytes, 1..3);
        assert_eq!(inside.as_deref(), Some(&[2, 3][..]));
    }

    #[test]
    fn mapping_a_missing_file_is_an_error() {
        // SAFETY: there is no such file.
        assert!(unsafe { Bytes::map(Path::new("no/such/file")) }.is_err());
    }
}

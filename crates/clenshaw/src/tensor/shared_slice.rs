//! Numbers in a row: our own, or those of a file that is mapped into memory.
//!
//! A mapped file costs no reading and no copying; the system brings its pages when they are looked at
//! and shares them between processes.
//! Where the file's numbers are not this machine's (other byte order, other width, not aligned), they
//! are copied instead, and nobody else notices.

use bytemuck::Pod;
use memmap2::{Mmap, MmapOptions};
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// Bytes that several slabs look into: a mapped file, or bytes in memory.
#[derive(Clone)]
pub struct Bytes(Arc<Source>);

enum Source {
    Mapped(Mmap),
    Held(Cow<'static, [u8]>),
}

impl Bytes {
    /// Maps a file, and asks for all of it at once, since a checksum will be made of it.
    ///
    /// Nobody may change it in place while it is mapped; to write beside it and rename is fine.
    pub fn map(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the bytes stay as they are while the map lives, because our own files are only ever
        // written beside and renamed; that others keep to it is asked for above.
        let map = unsafe { MmapOptions::new().populate().map(&file)? };
        Ok(Self(Arc::new(Source::Mapped(map))))
    }
}

impl<B: Into<Cow<'static, [u8]>>> From<B> for Bytes {
    fn from(bytes: B) -> Self {
        Self(Arc::new(Source::Held(bytes.into())))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Source::Mapped(map) => map,
            Source::Held(bytes) => bytes,
        }
    }
}

/// Numbers in a row, which nobody changes.
#[derive(Clone)]
pub struct SharedSlice<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Owned(Vec<T>),
    /// These bytes are the numbers.
    Shared(Bytes, Range<usize>),
}

impl<T: LittleEndian> SharedSlice<T> {
    /// The little-endian numbers in a range of bytes; `None` if they do not fill it or do not fit.
    ///
    /// ```
    /// use clenshaw::tensor::{Bytes, SharedSlice};
    /// let bytes = Bytes::from(vec![7, 0, 0, 0, 1, 1, 0, 0]);
    /// assert_eq!(SharedSlice::<u32>::of(&bytes, 0..8).as_deref(), Some(&[7, 257][..]));
    /// assert!(SharedSlice::<u32>::of(&bytes, 0..7).is_none());
    /// ```
    pub fn of(bytes: &Bytes, range: Range<usize>) -> Option<Self> {
        let inside = bytes.get(range.clone())?;
        if T::IS_NATIVE && bytemuck::try_cast_slice::<u8, T>(inside).is_ok() {
            return Some(Self(Storage::Shared(bytes.clone(), range)));
        }
        let words = inside.chunks_exact(T::WIDTH);
        let whole = words.remainder().is_empty();
        let owned = whole.then(|| words.map(T::from_le).collect::<Option<Vec<T>>>())??;
        Some(Self(Storage::Owned(owned)))
    }
}

impl<T> From<Vec<T>> for SharedSlice<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(Storage::Owned(numbers))
    }
}

impl<T: Pod> Deref for SharedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(numbers) => numbers,
            Storage::Shared(bytes, range) => bytemuck::cast_slice(&bytes[range.clone()]),
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

/// A number as files hold it: little-endian, of one width on every machine.
pub trait LittleEndian: Pod {
    /// Bytes in a file.
    const WIDTH: usize;
    /// Whether this machine holds it in the same way.
    const IS_NATIVE: bool = cfg!(target_endian = "little") && size_of::<Self>() == Self::WIDTH;

    /// Reads `WIDTH` bytes; `None` if this machine has no such number.
    fn from_le(bytes: &[u8]) -> Option<Self>;
    /// Adds `WIDTH` bytes.
    fn put_le(self, out: &mut Vec<u8>);
}

macro_rules! word {
    ($number:ty as $stored:ty) => {
        impl LittleEndian for $number {
            const WIDTH: usize = size_of::<$stored>();

            fn from_le(bytes: &[u8]) -> Option<Self> {
                <$stored>::from_le_bytes(bytes.try_into().ok()?).try_into().ok()
            }

            fn put_le(self, out: &mut Vec<u8>) {
                out.extend((self as $stored).to_le_bytes());
            }
        }
    };
}

word!(u8 as u8);
word!(i32 as i32);
word!(u32 as u32);
word!(f32 as f32);
word!(usize as u64);

/// Numbers as a file holds them; on most machines these are the very bytes.
pub fn little_endian_bytes<T: LittleEndian>(numbers: &[T]) -> Cow<'_, [u8]> {
    if T::IS_NATIVE {
        return bytemuck::cast_slice(numbers).into();
    }
    let mut bytes = Vec::with_capacity(numbers.len() * T::WIDTH);
    numbers.iter().for_each(|number| number.put_le(&mut bytes));
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_aligned_are_copied() {
        let numbers = [1usize, 2, 1 << 20];
        let bytes = little_endian_bytes(&numbers);
        for shift in 0..8 {
            let padded = Bytes::from([&vec![9; shift], &*bytes, &[9][..]].concat());
            let slab = SharedSlice::<usize>::of(&padded, shift..shift + bytes.len()).unwrap();
            assert_eq!(*slab, numbers, "{shift}");
        }
    }

    #[test]
    fn a_mapped_file_outlives_its_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), little_endian_bytes(&[1.5f32, -2.0])).unwrap();
        let bytes = Bytes::map(file.path()).unwrap();
        let slab = SharedSlice::<f32>::of(&bytes, 0..8).unwrap();
        drop((file, bytes));
        assert_eq!(slab.clone(), SharedSlice::from(vec![1.5, -2.0]));
        assert_eq!(format!("{slab:?}"), "[1.5, -2.0]");
    }

    #[test]
    fn what_lies_outside_is_not_there() {
        let bytes = Bytes::from(&[1u8, 2, 3][..]);
        assert!(SharedSlice::<u8>::of(&bytes, 1..4).is_none());
        assert!(SharedSlice::<u32>::of(&bytes, 0..3).is_none());
        assert_eq!(SharedSlice::<u8>::of(&bytes, 1..3).as_deref(), Some(&[2, 3][..]));
        assert!(Bytes::map(Path::new("no/such/file")).is_err());
    }
}

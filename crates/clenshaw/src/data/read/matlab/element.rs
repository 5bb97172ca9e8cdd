//! The elements of a MATLAB 5 file: a tag with type and size, then the data.
//!
//! ```text
//! long   = type: u32, size: u32, data, padding to a multiple of 8 bytes (none after compressed data)
//! small  = type: u16, size: u16, data in 4 bytes (one u32 with the size in its upper half)
//! ```

use crate::data::count;
use crate::error::{Error, Result};

/// The data type of an element that contains a variable.
pub(super) const MATRIX: u32 = 14;
/// The data type of an element that contains a variable compressed with zlib.
pub(super) const COMPRESSED: u32 = 15;

/// Size in bytes of the tag of a long element.
pub(super) const TAG: usize = 8;

/// An element without its tag.
#[derive(Clone, Copy)]
pub(super) struct MatlabElement<'a> {
    /// MATLAB's data type, such as [`MATRIX`].
    pub kind: u32,
    pub data: &'a [u8],
    /// Position of the tag in the file, or in the inflated data.
    pub at: usize,
}

/// Reads consecutive elements; errors refer to the file as `place`.
#[derive(Clone, Copy)]
pub(super) struct ElementReader<'a> {
    pub place: &'a str,
    /// Position of `bytes` in the file, or in the inflated data.
    pub start: usize,
    pub bytes: &'a [u8],
    /// Position of the next element in `bytes`.
    pub at: usize,
}

impl<'a> ElementReader<'a> {
    /// Creates an error at byte `at` of the file, or of the inflated data.
    pub fn error_at(&self, at: usize, problem: impl Into<String>) -> Error {
        Error::Data { place: format!("{}: byte {at}", self.place), problem: problem.into() }
    }

    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Reads the next `n` bytes; an error if there are fewer.
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = left.get(..n) else {
            let (at, left) = (self.start + self.at, count(left.len(), "byte", "bytes"));
            return Err(self.error_at(at, format!("{left} left; expected {n}")));
        };
        self.at += n;
        Ok(taken)
    }

    /// Reads the next four bytes as an unsigned integer.
    pub fn read_word(&mut self) -> Result<u32> {
        Ok(bits(self.take(4)?) as u32)
    }

    /// Reads the next element and skips its padding; if there is none, the error states that
    /// `what` was expected.
    pub fn read_element(&mut self, what: &str) -> Result<MatlabElement<'a>> {
        let at = self.start + self.at;
        let word = self.read_word();
        let missing = |_| self.error_at(at, format!("unexpected end of data; expected {what}"));
        let word = word.map_err(missing)?;
        let (kind, small) = (word & 0xffff, (word >> 16) as usize);
        if small > 4 {
            return Err(
                self.error_at(at, format!("{small} bytes in a small element; expected at most 4"))
            );
        }
        if small > 0 {
            return Ok(MatlabElement { kind, data: &self.take(4)?[..small], at });
        }
        let size = self.read_word()? as usize;
        let data = self.take(size)?;
        // Compressed elements are not padded.
        if kind != COMPRESSED {
            self.at += size.next_multiple_of(8) - size;
        }
        Ok(MatlabElement { kind, data, at })
    }

    /// Returns a reader for the elements of a matrix.
    pub fn elements_of(&self, matrix: MatlabElement<'a>) -> Self {
        Self { start: matrix.at + TAG, bytes: matrix.data, at: 0, ..*self }
    }

    /// Returns the numbers of an element, which errors refer to as `what`; an error if its type is not
    /// numeric or its size is not a multiple of the size of a number.
    pub fn numbers(
        &self,
        element: MatlabElement<'a>,
        what: &str,
    ) -> Result<impl ExactSizeIterator<Item = f64> + use<'a>> {
        let MatlabElement { kind, data, at } = element;
        let width = match kind {
            1 | 2 => 1,
            3 | 4 => 2,
            5..=7 => 4,
            9 | 12 | 13 => 8,
            _ => {
                return Err(
                    self.error_at(at, format!("{what}: data type {kind}; expected numbers"))
                );
            }
        };
        if !data.len().is_multiple_of(width) {
            let size = data.len();
            return Err(
                self.error_at(at, format!("{what}: {size} bytes; expected a multiple of {width}"))
            );
        }
        Ok(data.chunks_exact(width).map(move |bytes| number(kind, bits(bytes))))
    }

    /// Returns the numbers of an element; an error unless they are integers that fit into `u32`.
    pub fn indices(&self, element: MatlabElement<'a>, what: &str) -> Result<Vec<u32>> {
        let index = |value: f64| match value as u32 {
            index if f64::from(index) == value => Ok(index),
            _ => Err(self.error_at(
                element.at,
                format!("{value} in {what}; expected an integer from 0 to 4294967295"),
            )),
        };
        self.numbers(element, what)?.map(index).collect()
    }
}

/// Combines up to eight little-endian bytes into an integer.
fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Interprets `bits` as a number of MATLAB's data type `kind`; 64-bit integers beyond 2^53 are rounded.
fn number(kind: u32, bits: u64) -> f64 {
    match kind {
        1 => f64::from(bits as i8),
        3 => f64::from(bits as i16),
        5 => f64::from(bits as i32),
        7 => f64::from(f32::from_bits(bits as u32)),
        9 => f64::from_bits(bits),
        12 => bits as i64 as f64,
        _ => bits as f64,
    }
}

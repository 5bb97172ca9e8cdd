//! NumPy arrays: a type, a shape and bytes.
//!
//! ```text
//! C order:        entry (i, j) of [n, m] is at i m + j
//! Fortran order:  entry (i, j) of [n, m] is at i + n j
//! ```
//!
//! The accessors return entries in C order; an error if the entries are of a different kind, such as text
//! instead of numbers, or do not fit the requested type.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt;

/// A multi-dimensional array of numbers, booleans or strings.
#[derive(Clone, Debug)]
pub struct NumpyArray<'a> {
    place: String,
    dtype: Dtype,
    shape: Vec<usize>,
    order: MemoryOrder,
    data: Cow<'a, [u8]>,
}

/// The type of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// Kind of value.
    pub kind: DtypeKind,
    /// Bytes per entry.
    pub size: usize,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

/// The kind of value of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtypeKind {
    /// True or false.
    Bool,
    /// A signed integer.
    Int,
    /// An unsigned integer.
    Uint,
    /// A floating-point number.
    Float,
    /// Bytes, padded with zeros.
    Bytes,
    /// Unicode code points of four bytes each, padded with zeros.
    Text,
    /// Any Python object; its bytes are a pickle.
    Object,
}

/// The order in which entries are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOrder {
    /// The last index varies fastest.
    C,
    /// The first index varies fastest.
    Fortran,
}

/// The largest number of dimensions that NumPy supports.
pub(super) const MAX_DIMENSIONS: usize = 64;

impl Dtype {
    /// Parses NumPy's notation, such as `<f4`, `|b1`, `O` or `U3`; `None` for unsupported types.
    pub fn parse(text: &str) -> Option<Self> {
        let (big_endian, rest) = match text.strip_prefix('>') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(['<', '|', '=']).unwrap_or(text)),
        };
        let mut letters = rest.chars();
        let letter = letters.next()?;
        let digits = letters.as_str();
        let number = || digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?;
        let (kind, size) = match (letter, number()) {
            ('b', Some(1)) | ('?', None) => (DtypeKind::Bool, 1),
            ('i', Some(size @ (1 | 2 | 4 | 8))) => (DtypeKind::Int, size),
            ('u', Some(size @ (1 | 2 | 4 | 8))) => (DtypeKind::Uint, size),
            ('f', Some(size @ (2 | 4 | 8))) => (DtypeKind::Float, size),
            ('S', Some(size @ 1..)) => (DtypeKind::Bytes, size),
            ('U', Some(length @ 1usize..)) => (DtypeKind::Text, length.checked_mul(4)?),
            ('O', _) => (DtypeKind::Object, 8),
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }
}

/// NumPy's notation, with `<` instead of `|`, except for objects.
impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, size) = match self.kind {
            DtypeKind::Bool => ('b', self.size),
            DtypeKind::Int => ('i', self.size),
            DtypeKind::Uint => ('u', self.size),
            DtypeKind::Float => ('f', self.size),
            DtypeKind::Bytes => ('S', self.size),
            DtypeKind::Text => ('U', self.size / 4),
            DtypeKind::Object => return f.write_str("|O"),
        };
        write!(f, "{}{letter}{size}", if self.big_endian { '>' } else { '<' })
    }
}

impl<'a> NumpyArray<'a> {
    /// Creates an array; an error if the number of bytes does not match the shape, if there are more than
    /// 64 dimensions or if the entries are Python objects. Errors refer to the array as `place`.
    pub fn new(
        place: String,
        dtype: Dtype,
        shape: Vec<usize>,
        order: MemoryOrder,
        data: Cow<'a, [u8]>,
    ) -> Result<Self> {
        let array = Self { place, dtype, shape, order, data };
        let stored = array.data.len();
        let dimensions = array.shape.len();
        if dtype.kind == DtypeKind::Object {
            return Err(array.error("an array of Python objects; expected numbers or text".into()));
        }
        if dimensions > MAX_DIMENSIONS {
            return Err(
                array.error(format!("{dimensions} dimensions; expected at most {MAX_DIMENSIONS}"))
            );
        }
        if n_bytes(&array.shape, dtype.size) != Some(stored) {
            let shape = ShapeText(&array.shape);
            return Err(array.error(format!(
                "{stored} bytes; expected entries of type `{dtype}` in the shape {shape}"
            )));
        }
        Ok(array)
    }

    /// The name of the array in errors.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The type of the entries.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of entries along each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the length of a one-dimensional array; an error for other arrays.
    pub fn length(&self) -> Result<usize> {
        match self.shape[..] {
            [n] => Ok(n),
            _ => {
                Err(self.error(format!("shape {}; expected one dimension", ShapeText(&self.shape))))
            }
        }
    }

    /// Returns the numbers of rows and columns of a two-dimensional array; an error for other arrays.
    pub fn rows_and_columns(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [n, m] => Ok((n, m)),
            _ => {
                Err(self
                    .error(format!("shape {}; expected two dimensions", ShapeText(&self.shape))))
            }
        }
    }

    /// Returns the entries as `f32`; an error for finite numbers beyond its range.
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        let narrow = |v: f64| Some(v as f32).filter(|x| x.is_finite() || !v.is_finite());
        self.numbers("a 32-bit float", |v| Some(v as f32), narrow)
    }

    /// Returns the entries as `f64`; integers beyond 2^53 may be rounded.
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        self.numbers("a float", |v| Some(v as f64), Some)
    }

    /// Returns the entries as `u32`; an error for fractional numbers and those out of range.
    pub fn to_u32(&self) -> Result<Vec<u32>> {
        let whole = |v: f64| Some(v as u32).filter(|&x| f64::from(x) == v);
        self.numbers("an integer from 0 to 4294967295", |v| u32::try_from(v).ok(), whole)
    }

    /// Returns the entries as `i64`; an error for fractional numbers and those out of range.
    pub fn to_i64(&self) -> Result<Vec<i64>> {
        let whole = |v: f64| Some(v as i64).filter(|&x| x as f64 == v && x < i64::MAX);
        self.numbers("a 64-bit integer", |v| i64::try_from(v).ok(), whole)
    }

    /// Returns the entries as booleans; an error for numbers other than 0 and 1.
    pub fn to_bool(&self) -> Result<Vec<bool>> {
        let int = |v| (v == 0 || v == 1).then_some(v == 1);
        let float = |v| (v == 0.0 || v == 1.0).then_some(v == 1.0);
        self.numbers("0 or 1", int, float)
    }

    /// Returns the entries of a text array, without padding; bytes are decoded as Latin-1.
    /// An error for numbers and for invalid code points.
    pub fn to_text(&self) -> Result<Vec<String>> {
        let points = |entry: &[u8]| -> Vec<u32> {
            match self.dtype.kind {
                DtypeKind::Bytes => entry.iter().map(|&byte| u32::from(byte)).collect(),
                _ => entry.as_chunks().0.iter().map(|&word| self.code_point(word)).collect(),
            }
        };
        let text = |(i, entry): (usize, &[u8])| {
            let points = points(entry);
            let end = points.iter().rposition(|&point| point != 0).map_or(0, |last| last + 1);
            let text: Option<String> = points[..end].iter().map(|&p| char::from_u32(p)).collect();
            text.ok_or_else(|| self.error(format!("entry {i} is not valid Unicode")))
        };
        match self.dtype.kind {
            DtypeKind::Bytes | DtypeKind::Text => {
                let entries = self.data.chunks(self.dtype.size).enumerate();
                Ok(self.in_c_order(entries.map(text).collect::<Result<_>>()?))
            }
            _ => Err(self.error(format!("entries of type `{}`; expected text", self.dtype))),
        }
    }

    /// Converts the entries with `int` or `float`, depending on their type. An error if they are text, or if a
    /// conversion returns `None`; it then states what was `expected`.
    fn numbers<T: Copy>(
        &self,
        expected: &str,
        int: impl Fn(i128) -> Option<T>,
        float: impl Fn(f64) -> Option<T>,
    ) -> Result<Vec<T>> {
        let stored = match (self.dtype.kind, self.dtype.size) {
            (DtypeKind::Bool, 1) => self.convert(|[b]: [u8; 1]| i128::from(b != 0), int, expected),
            (DtypeKind::Int, 1) => self.convert(|w| i8::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Int, 2) => self.convert(|w| i16::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Int, 4) => self.convert(|w| i32::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Int, 8) => self.convert(|w| i64::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Uint, 1) => self.convert(|w| u8::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Uint, 2) => self.convert(|w| u16::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Uint, 4) => self.convert(|w| u32::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Uint, 8) => self.convert(|w| u64::from_le_bytes(w).into(), int, expected),
            (DtypeKind::Float, 2) => {
                self.convert(|w| half_to_f64(u16::from_le_bytes(w)), float, expected)
            }
            (DtypeKind::Float, 4) => {
                self.convert(|w| f32::from_le_bytes(w).into(), float, expected)
            }
            (DtypeKind::Float, 8) => self.convert(f64::from_le_bytes, float, expected),
            _ => Err(self.error(format!("entries of type `{}`; expected numbers", self.dtype))),
        }?;
        Ok(self.in_c_order(stored))
    }

    /// Reads each entry with `read` and converts it; an error if `convert` returns `None`.
    fn convert<const N: usize, W: Copy + fmt::Display, T>(
        &self,
        read: impl Fn([u8; N]) -> W,
        convert: impl Fn(W) -> Option<T>,
        expected: &str,
    ) -> Result<Vec<T>> {
        let (words, _) = self.data.as_chunks::<N>();
        let mut entries = Vec::with_capacity(words.len());
        for (i, &word) in words.iter().enumerate() {
            let value = read(self.little_endian(word));
            let bad = || self.error(format!("entry {i} is {value}; expected {expected}"));
            entries.push(convert(value).ok_or_else(bad)?);
        }
        Ok(entries)
    }

    /// Reverses the bytes of a big-endian entry.
    fn little_endian<const N: usize>(&self, mut word: [u8; N]) -> [u8; N] {
        if self.dtype.big_endian {
            word.reverse();
        }
        word
    }

    /// Decodes a code point.
    fn code_point(&self, word: [u8; 4]) -> u32 {
        u32::from_le_bytes(self.little_endian(word))
    }

    /// Converts to C order: in Fortran order, entry `(i0, i1, ...)` is at `i0 + n0 (i1 + n1 (...))`.
    fn in_c_order<T: Clone>(&self, stored: Vec<T>) -> Vec<T> {
        if self.order == MemoryOrder::C || self.shape.len() < 2 {
            return stored;
        }
        let mut index = vec![0; self.shape.len()];
        let mut entries = Vec::with_capacity(stored.len());
        for _ in 0..stored.len() {
            let at = index.iter().zip(&self.shape).rev().fold(0, |at, (i, n)| i + n * at);
            entries.push(stored[at].clone());
            for (i, &n) in index.iter_mut().zip(&self.shape).rev() {
                *i = (*i + 1) % n;
                if *i > 0 {
                    break;
                }
            }
        }
        entries
    }

    /// An error about the array.
    fn error(&self, problem: String) -> Error {
        Error::Data { place: self.place.clone(), problem }
    }
}

/// Returns the number of bytes of an array with entries of `size` bytes; `None` on overflow.
pub(super) fn n_bytes(shape: &[usize], size: usize) -> Option<usize> {
    shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n))
}

/// A shape in Python's notation.
pub(super) struct ShapeText<'a>(pub(super) &'a [usize]);

impl fmt::Display for ShapeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(usize::to_string).collect();
        write!(f, "({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
    }
}

/// Converts an IEEE 754 half-precision float with exponent `e` and mantissa `m`:
///
/// `(1 + m / 2^10) 2^(e - 15)`, or `m 2^-24` if `e = 0`; infinity or NaN if `e = 31`. Negated if the sign bit is
/// set.
fn half_to_f64(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests;

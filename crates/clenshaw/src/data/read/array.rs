//! Arrays as NumPy stores them: a type, a shape and bytes.
//!
//! ```text
//! C order:        entry (i, j) of [n, m] stands at i m + j
//! Fortran order:  entry (i, j) of [n, m] stands at i + n j
//! ```
//!
//! The accessors give entries in C order, whatever the file's, and refuse what does not fit.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt;

/// Numbers, truth values or texts in a rectangle.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    place: String,
    dtype: Dtype,
    shape: Vec<usize>,
    order: Order,
    data: Cow<'a, [u8]>,
}

/// What an entry is, and how many bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// What it means.
    pub kind: Kind,
    /// Bytes per entry.
    pub size: usize,
    /// The most significant byte comes first.
    pub big_endian: bool,
}

/// What an entry means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

/// In which order entries are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index runs fastest.
    C,
    /// The first index runs fastest.
    Fortran,
}

/// NumPy allows no more.
pub(super) const MAX_DIMENSIONS: usize = 64;

impl Dtype {
    /// Reads `<f4`, `|b1`, `O`, `U3`; `None` for anything we do not read.
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
            ('b', Some(1)) | ('?', None) => (Kind::Bool, 1),
            ('i', Some(size @ (1 | 2 | 4 | 8))) => (Kind::Int, size),
            ('u', Some(size @ (1 | 2 | 4 | 8))) => (Kind::Uint, size),
            ('f', Some(size @ (2 | 4 | 8))) => (Kind::Float, size),
            ('S', Some(size @ 1..)) => (Kind::Bytes, size),
            ('U', Some(length @ 1usize..)) => (Kind::Text, length.checked_mul(4)?),
            ('O', _) => (Kind::Object, 8),
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }
}

/// As NumPy writes it.
impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, size) = match self.kind {
            Kind::Bool => ('b', self.size),
            Kind::Int => ('i', self.size),
            Kind::Uint => ('u', self.size),
            Kind::Float => ('f', self.size),
            Kind::Bytes => ('S', self.size),
            Kind::Text => ('U', self.size / 4),
            Kind::Object => return f.write_str("|O"),
        };
        write!(f, "{}{letter}{size}", if self.big_endian { '>' } else { '<' })
    }
}

impl<'a> Array<'a> {
    /// Refuses bytes that are not exactly the shape's; `place` names the array in errors.
    pub fn new(
        place: String,
        dtype: Dtype,
        shape: Vec<usize>,
        order: Order,
        data: Cow<'a, [u8]>,
    ) -> Result<Self> {
        let array = Self { place, dtype, shape, order, data };
        let stored = array.data.len();
        let dimensions = array.shape.len();
        if dtype.kind == Kind::Object {
            return Err(array.bad("an array of Python objects; expected numbers".into()));
        }
        if dimensions > MAX_DIMENSIONS {
            return Err(
                array.bad(format!("{dimensions} dimensions; expected at most {MAX_DIMENSIONS}"))
            );
        }
        if n_bytes(&array.shape, dtype.size) != Some(stored) {
            let shape = Shape(&array.shape);
            return Err(array.bad(format!(
                "{stored} bytes for entries of type `{dtype}` in the shape {shape}; they do not fit"
            )));
        }
        Ok(array)
    }

    /// Where it was found.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What the entries are.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// How many entries along each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The length, if it has one dimension.
    pub fn length(&self) -> Result<usize> {
        match self.shape[..] {
            [n] => Ok(n),
            _ => Err(self.bad(format!("the shape {}; expected one dimension", Shape(&self.shape)))),
        }
    }

    /// Rows and columns, if it has two dimensions.
    pub fn rows_and_columns(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [n, m] => Ok((n, m)),
            _ => {
                Err(self.bad(format!("the shape {}; expected two dimensions", Shape(&self.shape))))
            }
        }
    }

    /// The entries as `f32`; refuses finite numbers beyond its range.
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        let narrow = |v: f64| Some(v as f32).filter(|x| x.is_finite() || !v.is_finite());
        self.numbers("a 32-bit float", |v| Some(v as f32), narrow)
    }

    /// The entries as `f64`.
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        self.numbers("a float", |v| Some(v as f64), Some)
    }

    /// The entries as `u32`; refuses negative, larger and broken numbers.
    pub fn to_u32(&self) -> Result<Vec<u32>> {
        let whole = |v: f64| Some(v as u32).filter(|&x| f64::from(x) == v);
        self.numbers("a whole number from 0 to 4294967295", |v| u32::try_from(v).ok(), whole)
    }

    /// The entries as `i64`; refuses larger and broken numbers.
    pub fn to_i64(&self) -> Result<Vec<i64>> {
        let whole = |v: f64| Some(v as i64).filter(|&x| x as f64 == v && x < i64::MAX);
        self.numbers("a whole number of 64 bits", |v| i64::try_from(v).ok(), whole)
    }

    /// The entries as truth values; refuses numbers other than 0 and 1.
    pub fn to_bool(&self) -> Result<Vec<bool>> {
        let int = |v| (v == 0 || v == 1).then_some(v == 1);
        let float = |v| (v == 0.0 || v == 1.0).then_some(v == 1.0);
        self.numbers("0 or 1", int, float)
    }

    /// The entries of an array of texts, without their padding.
    pub fn to_text(&self) -> Result<Vec<String>> {
        let points = |entry: &[u8]| -> Vec<u32> {
            match self.dtype.kind {
                Kind::Bytes => entry.iter().map(|&byte| u32::from(byte)).collect(),
                _ => entry.as_chunks().0.iter().map(|&word| self.word(word)).collect(),
            }
        };
        let text = |(i, entry): (usize, &[u8])| {
            let points = points(entry);
            let end = points.iter().rposition(|&point| point != 0).map_or(0, |last| last + 1);
            let text: Option<String> = points[..end].iter().map(|&p| char::from_u32(p)).collect();
            text.ok_or_else(|| self.bad(format!("entry {i} is not Unicode")))
        };
        match self.dtype.kind {
            Kind::Bytes | Kind::Text => {
                let entries = self.data.chunks(self.dtype.size).enumerate();
                Ok(self.in_c_order(entries.map(text).collect::<Result<_>>()?))
            }
            _ => Err(self.bad(format!("entries of type `{}`; expected text", self.dtype))),
        }
    }

    /// The entries through `int` or `float`, whichever their type asks for.
    fn numbers<T: Copy>(
        &self,
        expected: &str,
        int: impl Fn(i128) -> Option<T>,
        float: impl Fn(f64) -> Option<T>,
    ) -> Result<Vec<T>> {
        let stored = match (self.dtype.kind, self.dtype.size) {
            (Kind::Bool, 1) => self.each(|[b]: [u8; 1]| i128::from(b != 0), int, expected),
            (Kind::Int, 1) => self.each(|w| i8::from_le_bytes(w).into(), int, expected),
            (Kind::Int, 2) => self.each(|w| i16::from_le_bytes(w).into(), int, expected),
            (Kind::Int, 4) => self.each(|w| i32::from_le_bytes(w).into(), int, expected),
            (Kind::Int, 8) => self.each(|w| i64::from_le_bytes(w).into(), int, expected),
            (Kind::Uint, 1) => self.each(|w| u8::from_le_bytes(w).into(), int, expected),
            (Kind::Uint, 2) => self.each(|w| u16::from_le_bytes(w).into(), int, expected),
            (Kind::Uint, 4) => self.each(|w| u32::from_le_bytes(w).into(), int, expected),
            (Kind::Uint, 8) => self.each(|w| u64::from_le_bytes(w).into(), int, expected),
            (Kind::Float, 2) => self.each(|w| half(u16::from_le_bytes(w)), float, expected),
            (Kind::Float, 4) => self.each(|w| f32::from_le_bytes(w).into(), float, expected),
            (Kind::Float, 8) => self.each(f64::from_le_bytes, float, expected),
            _ => Err(self.bad(format!("entries of type `{}`; expected numbers", self.dtype))),
        }?;
        Ok(self.in_c_order(stored))
    }

    fn each<const N: usize, W: Copy + fmt::Display, T>(
        &self,
        read: impl Fn([u8; N]) -> W,
        convert: impl Fn(W) -> Option<T>,
        expected: &str,
    ) -> Result<Vec<T>> {
        let (words, _) = self.data.as_chunks::<N>();
        let mut entries = Vec::with_capacity(words.len());
        for (i, &word) in words.iter().enumerate() {
            let value = read(self.little_endian(word));
            let bad = || self.bad(format!("entry {i} is {value}; expected {expected}"));
            entries.push(convert(value).ok_or_else(bad)?);
        }
        Ok(entries)
    }

    fn little_endian<const N: usize>(&self, mut word: [u8; N]) -> [u8; N] {
        if self.dtype.big_endian {
            word.reverse();
        }
        word
    }

    fn word(&self, word: [u8; 4]) -> u32 {
        u32::from_le_bytes(self.little_endian(word))
    }

    /// Entry `(i0, i1, ...)` of `[n0, n1, ...]` stands at `i0 + n0 (i1 + n1 (...))` in Fortran order.
    fn in_c_order<T: Clone>(&self, stored: Vec<T>) -> Vec<T> {
        if self.order == Order::C || self.shape.len() < 2 {
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

    fn bad(&self, problem: String) -> Error {
        Error::Data { place: self.place.clone(), problem }
    }
}

/// Bytes that entries of `size` take in this shape, unless there are too many to count.
pub(super) fn n_bytes(shape: &[usize], size: usize) -> Option<usize> {
    shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n))
}

/// A shape as Python writes it.
pub(super) struct Shape<'a>(pub(super) &'a [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(usize::to_string).collect();
        write!(f, "({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
    }
}

/// A 16-bit float: one bit of sign, five of exponent `e`, ten of mantissa `m`.
///
/// `(1 + m / 2^10) 2^(e - 15)`, or `m 2^-24` where `e = 0`.
fn half(bits: u16) -> f64 {
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
mod tests {
    use super::*;

    fn array<'a>(dtype: &str, shape: &[usize], order: Order, data: &'a [u8]) -> Array<'a> {
        let dtype = Dtype::parse(dtype).unwrap();
        Array::new("it".into(), dtype, shape.to_vec(), order, data.into()).unwrap()
    }

    fn list<'a>(dtype: &str, data: &'a [u8]) -> Array<'a> {
        let n = data.len() / Dtype::parse(dtype).unwrap().size;
        array(dtype, &[n], Order::C, data)
    }

    fn message<T: fmt::Debug>(outcome: Result<T>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn every_type_is_read_in_both_byte_orders() {
        assert_eq!(list("|b1", &[0, 1, 2]).to_bool().unwrap(), [false, true, true]);
        assert_eq!(list("|i1", &[255, 2]).to_i64().unwrap(), [-1, 2]);
        assert_eq!(list("|u1", &[255, 2]).to_u32().unwrap(), [255, 2]);
        assert_eq!(list("<i2", &[1, 2]).to_i64().unwrap(), [513]);
        assert_eq!(list(">i2", &[1, 2]).to_i64().unwrap(), [258]);
        assert_eq!(list(">u4", &[0, 0, 1, 2]).to_u32().unwrap(), [258]);
        assert_eq!(list("<i8", &(-7i64).to_le_bytes()).to_f64().unwrap(), [-7.0]);
        assert_eq!(list(">u8", &7u64.to_be_bytes()).to_u32().unwrap(), [7]);
        assert_eq!(list(">f8", &2.5f64.to_be_bytes()).to_f32().unwrap(), [2.5]);
        assert_eq!(list("<f4", &2.0f32.to_le_bytes()).to_u32().unwrap(), [2]);
    }

    #[test]
    fn sixteen_bits_make_a_float() {
        let halves = [0x3c00u16, 0xc000, 0x3555, 0x0001, 0x7bff];
        let bytes: Vec<u8> = halves.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let third = 0.333251953125;
        assert_eq!(
            list("<f2", &bytes).to_f64().unwrap(),
            [1.0, -2.0, third, 2f64.powi(-24), 65504.0]
        );
        assert!(half(0x7e00).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
    }

    #[test]
    fn fortran_order_is_undone() {
        let by_columns = array("|u1", &[2, 3], Order::Fortran, &[1, 4, 2, 5, 3, 6]);
        assert_eq!(by_columns.to_u32().unwrap(), [1, 2, 3, 4, 5, 6]);
        let cube: Vec<u8> = (0..24).collect();
        let cube = array("|u1", &[2, 3, 4], Order::Fortran, &cube).to_u32().unwrap();
        // (i, j, k) holds i + 2 j + 6 k.
        assert_eq!(cube[..5], [0, 6, 12, 18, 2]);
        assert_eq!(cube[12..14], [1, 7]);
    }

    #[test]
    fn texts_lose_their_padding() {
        assert_eq!(list("|S3", b"csra\0\0").to_text().unwrap(), ["csr", "a"]);
        let points: Vec<u8> = [0xe9u32, 0].iter().flat_map(|p| p.to_be_bytes()).collect();
        assert_eq!(list(">U2", &points).to_text().unwrap(), ["é"]);
        let broken = list("<U1", &[0, 0, 0, 255]).to_text();
        assert_eq!(message(broken), "it: entry 0 is not Unicode");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let range = "expected a whole number from 0 to 4294967295";
        let minus = [0, 0, 255, 255];
        assert_eq!(message(list("<i2", &minus).to_u32()), format!("it: entry 1 is -1; {range}"));
        let large = (1u64 << 40).to_le_bytes();
        assert_eq!(
            message(list("<u8", &large).to_u32()),
            format!("it: entry 0 is 1099511627776; {range}")
        );
        let half = 0.5f64.to_le_bytes();
        assert_eq!(message(list("<f8", &half).to_u32()), format!("it: entry 0 is 0.5; {range}"));
        assert!(list("<f8", &1e300f64.to_le_bytes()).to_f32().is_err());
        assert!(list("<f8", &f64::NAN.to_le_bytes()).to_f32().unwrap()[0].is_nan());
        assert!(list("<u8", &u64::MAX.to_le_bytes()).to_i64().is_err());
        assert!(list("<f8", &1e30f64.to_le_bytes()).to_i64().is_err());
        assert_eq!(message(list("|u1", &[0, 2]).to_bool()), "it: entry 1 is 2; expected 0 or 1");
        assert_eq!(
            message(list("|S1", b"a").to_f32()),
            "it: entries of type `<S1`; expected numbers"
        );
    }

    #[test]
    fn claims_are_compared_with_the_bytes() {
        let claim = |shape: &[usize]| {
            let dtype = Dtype::parse("<f4").unwrap();
            Array::new("it".into(), dtype, shape.to_vec(), Order::C, (&[0u8; 8]).into())
        };
        assert!(claim(&[2]).is_ok() && claim(&[1, 2]).is_ok());
        assert_eq!(
            message(claim(&[1_000_000_000, 1_000_000_000])),
            "it: 8 bytes for entries of type `<f4` in the shape (1000000000, 1000000000); \
             they do not fit"
        );
        assert!(claim(&[usize::MAX, 2]).is_err());
        assert!(claim(&[]).is_err());
        assert!(claim(&[1; 65]).is_err());
    }

    #[test]
    fn types_we_do_not_read_are_none() {
        for text in ["", "<", "f", "<f16", "c8", "<M8[ns]", "V4", "i3", "U0", "<i+4", "Ué"] {
            assert_eq!(Dtype::parse(text), None, "{text}");
        }
        assert_eq!(Dtype::parse(">U3").unwrap().to_string(), ">U3");
    }
}

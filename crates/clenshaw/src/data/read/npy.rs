//! `.npy` files: one NumPy array per file.
//!
//! ```text
//! file   = "\x93NUMPY" major minor length header data
//! length = two bytes in version 1, four in versions 2 and 3, little-endian
//! header = {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }
//! data   = the entries, or a pickle of the whole array if 'descr' is '|O'
//! ```
//!
//! The shape is checked against the number of bytes.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use super::array::{Dtype, DtypeKind, MemoryOrder, NumpyArray, ShapeText};
use super::pickle::{self, Pickle, PickleValue};
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array of numbers, booleans or strings; an error for Python objects. Errors refer to it as `place`.
///
/// ```
/// let header = b"\x93NUMPY\x01\x00\x38\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}\n";
/// let file = [&header[..], &[7, 0, 1, 1]].concat();
/// let array = clenshaw::data::read::npy::read_bytes("small.npy", &file)?;
/// assert_eq!(array.to_u32()?, [7, 257]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes<'a>(place: &str, bytes: &'a [u8]) -> Result<NumpyArray<'a>> {
    let NpyHeader { dtype, order, shape, data } = header(place, bytes)?;
    NumpyArray::new(place.into(), dtype, shape, order, bytes[data..].into())
}

/// [`read_bytes`] for owned bytes, which the array keeps.
pub(super) fn read_vec(place: &str, mut bytes: Vec<u8>) -> Result<NumpyArray<'static>> {
    let NpyHeader { dtype, order, shape, data } = header(place, &bytes)?;
    bytes.drain(..data);
    NumpyArray::new(place.into(), dtype, shape, order, bytes.into())
}

/// Reads an array of Python objects; returns its pickle and the objects in stored order. An error for
/// arrays of other types.
pub fn read_objects<'a>(place: &str, bytes: &'a [u8]) -> Result<(Pickle<'a>, Vec<PickleValue>)> {
    let bad = |problem| Error::Data { place: place.into(), problem };
    let NpyHeader { dtype, shape, data, .. } = header(place, bytes)?;
    if dtype.kind != DtypeKind::Object {
        return Err(bad(format!("entries of type `{dtype}`; expected Python objects")));
    }
    let pickle = pickle::read_from(place, bytes, data)?;
    match pickle.objects(pickle.root()) {
        Some((found, objects)) if found == shape => {
            let objects = objects.to_vec();
            Ok((pickle, objects))
        }
        _ => Err(bad(format!(
            "the pickle is not an array of objects of shape {}",
            ShapeText(&shape)
        ))),
    }
}

/// The header of a file.
struct NpyHeader {
    dtype: Dtype,
    order: MemoryOrder,
    shape: Vec<usize>,
    /// Position of the data.
    data: usize,
}

/// Parses everything before the data; an error if the header is malformed or the type is unsupported.
fn header(place: &str, bytes: &[u8]) -> Result<NpyHeader> {
    let bad = |problem: String| Error::Data { place: place.into(), problem };
    let truncated = || bad("the header is truncated".into());
    let rest = bytes.strip_prefix(MAGIC);
    let rest = rest.ok_or_else(|| bad("not an .npy file: wrong magic number".into()))?;
    let ([major, _minor], rest) = rest.split_first_chunk().ok_or_else(truncated)?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(n, rest)| (u16::from_le_bytes(*n).into(), rest)),
        2 | 3 => rest.split_first_chunk().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest)),
        _ => return Err(bad(format!(".npy version {major}; expected 1, 2 or 3"))),
    }
    .ok_or_else(truncated)?;
    let text = rest.get(..length).ok_or_else(truncated)?;
    let data = bytes.len() - rest.len() + length;
    let (dtype, order, shape) = std::str::from_utf8(text)
        .ok()
        .and_then(|text| HeaderParser(text).header())
        .ok_or_else(|| bad(malformed_header(text)))?;
    let known = Dtype::parse(dtype);
    let dtype = known.ok_or_else(|| {
        bad(format!("entries of type `{dtype}`; expected booleans, integers, floats or text"))
    })?;
    Ok(NpyHeader { dtype, order, shape, data })
}

/// The error message for a header that cannot be parsed.
fn malformed_header(header: &[u8]) -> String {
    let shown = header.trim_ascii().escape_ascii().to_string();
    let shown = shown.get(..200).unwrap_or(&shown);
    format!(
        "the header is `{shown}`; \
         expected {{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}}"
    )
}

/// Parses the Python dictionary of a header; contains the remaining text.
struct HeaderParser<'a>(&'a str);

impl<'a> HeaderParser<'a> {
    /// Parses the three entries of the dictionary, in any order; `None` if it is malformed.
    fn header(mut self) -> Option<(&'a str, MemoryOrder, Vec<usize>)> {
        let (mut dtype, mut order, mut shape) = (None, None, None);
        self.skip("{")?;
        while self.skip("}").is_none() {
            let key = self.quoted()?;
            self.skip(":")?;
            match key {
                "descr" => dtype = Some(self.quoted()?),
                "fortran_order" => order = Some(self.order()?),
                "shape" => shape = Some(self.shape()?),
                _ => return None,
            }
            if self.skip(",").is_none() {
                self.skip("}")?;
                break;
            }
        }
        let at_end = self.0.trim().is_empty();
        at_end.then_some((dtype?, order?, shape?))
    }

    /// Skips spaces and `word`; `None` if the text does not continue with it.
    fn skip(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(word)?;
        Some(())
    }

    fn quoted(&mut self) -> Option<&'a str> {
        let quote = if self.skip("'").is_some() { '\'' } else { self.skip("\"").map(|()| '"')? };
        let (text, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    fn order(&mut self) -> Option<MemoryOrder> {
        match self.skip("False") {
            Some(()) => Some(MemoryOrder::C),
            None => self.skip("True").map(|()| MemoryOrder::Fortran),
        }
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        let mut shape = vec![];
        self.skip("(")?;
        while self.skip(")").is_none() {
            shape.push(self.number()?);
            // Python 2 writes long integers with a suffix.
            let _ = self.skip("L");
            if self.skip(",").is_none() {
                self.skip(")")?;
                break;
            }
        }
        Some(shape)
    }

    fn number(&mut self) -> Option<usize> {
        let text = self.0.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        self.0 = rest;
        digits.parse().ok()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Builds a file of version 1 with NumPy's padding.
    pub(crate) fn file(descr: &str, order: MemoryOrder, shape: &[usize], data: &[u8]) -> Vec<u8> {
        let order = if order == MemoryOrder::C { "False" } else { "True" };
        let shape = ShapeText(shape);
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
        let header = format!("{header:<width$}\n", width = length - 1);
        let length = (length as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    fn read_error(bytes: &[u8]) -> String {
        read_bytes("it", bytes).unwrap_err().to_string()
    }

    /// `np.save` of NumPy 2.4: `np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], '>i2'))`.
    const BIG_FORTRAN: &[u8] = b"\x93NUMPY\x01\0v\0{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }                \
      \x20                                          \n\0\x01\0\x04\0\x02\0\x05\0\x03\0\x06";

    #[test]
    fn reads_numpy_file() {
        let array = read_bytes("it", BIG_FORTRAN).unwrap();
        assert_eq!(array.shape(), [2, 3]);
        assert_eq!(array.to_i64().unwrap(), [1, 2, 3, 4, 5, 6]);
        let ours = file(">i2", MemoryOrder::Fortran, &[2, 3], &BIG_FORTRAN[128..]);
        assert_eq!(ours, BIG_FORTRAN);
    }

    #[test]
    fn reads_versions_1_to_3() {
        let mut file = file("<f4", MemoryOrder::C, &[1], &1.5f32.to_le_bytes());
        file.splice(8..10, [0x76, 0, 0, 0]);
        for version in [2, 3] {
            file[6] = version;
            assert_eq!(read_bytes("it", &file).unwrap().to_f32().unwrap(), [1.5]);
        }
        file[6] = 4;
        assert_eq!(read_error(&file), "it: .npy version 4; expected 1, 2 or 3");
    }

    #[test]
    fn accepts_other_header_notations() {
        let read = |text| HeaderParser(text).header();
        let longs = "{\"shape\": (3L, 2L), 'descr': '|b1', 'fortran_order': False}  \n";
        assert_eq!(read(longs), Some(("|b1", MemoryOrder::C, vec![3, 2])));
        let scalar = "{'shape':(),'descr':'|b1','fortran_order':True,}";
        assert_eq!(read(scalar), Some(("|b1", MemoryOrder::Fortran, vec![])));
        for bad in [
            "",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn rejects_invalid_headers() {
        assert_eq!(
            read_error(&file("<f8", MemoryOrder::C, &[1_000_000_000_000_000_000], &[0; 16])),
            "it: 16 bytes; expected entries of type `<f8` in the shape (1000000000000000000,)"
        );
        assert_eq!(read_error(b"PK"), "it: not an .npy file: wrong magic number");
        assert_eq!(read_error(b"\x93NUMPY\x02\0\xff\xff\xff\xff{"), "it: the header is truncated");
        assert_eq!(
            read_error(b"\x93NUMPY\x01\0\x02\0{\xff"),
            "it: the header is `{\\xff`; \
             expected {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}"
        );
        assert_eq!(
            read_error(&file("<c8", MemoryOrder::C, &[1], &[0; 8])),
            "it: entries of type `<c8`; expected booleans, integers, floats or text"
        );
        assert_eq!(
            read_error(&file("|O", MemoryOrder::C, &[1], b"N.")),
            "it: an array of Python objects; expected numbers or text"
        );
    }
}

//! The real matrices of MATLAB 5 files (`.mat`, also written by `save -v7` and `scipy.io.savemat`).
//!
//! ```text
//! file    = text[116] subsystem[8] version: u16 = 0x0100, "IM" (little-endian), elements
//! element = matrix | zlib(matrix)
//! matrix  = flags dims name numbers               flags: class, complex?, logical?
//!         | flags dims name rows starts numbers   sparse, column by column
//! ```
//!
//! Numbers may be stored in a smaller type than their class; they are converted to `f64`.
//! Big-endian files are rejected. Strings, cells, structs, objects, complex matrices and arrays of more
//! than two dimensions are not read; their names and types are kept for errors.
//! The memory for decompressed bytes and numbers is limited by [`max_memory`].
//! "MAT-File Format", The MathWorks.

mod element;

use self::element::{COMPRESSED, ElementReader, MATRIX, MatlabElement, TAG};
use crate::error::{Error, Result};
use crate::tensor::{Mat, Pattern, Sparse};
use flate2::read::ZlibDecoder;
use std::io::Read;
use std::path::Path;

/// Size of the header in bytes.
const HEADER: usize = 128;

/// The variables of a file.
#[derive(Clone, Debug)]
pub struct MatFile {
    place: String,
    /// The variables in the order of the file.
    pub variables: Vec<MatlabVariable>,
}

/// A named variable.
#[derive(Clone, Debug)]
pub struct MatlabVariable {
    /// The name; empty for MATLAB's internal data.
    pub name: String,
    /// The matrix, or the type of a value that is not read.
    pub content: MatlabContent,
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub enum MatlabContent {
    /// A real matrix.
    Matrix(MatlabMatrix),
    /// The type of a value that is not read, for errors: `a string`, `a struct`, `complex`, ...
    Other(&'static str),
}

/// A real matrix.
#[derive(Clone, Debug, PartialEq)]
pub enum MatlabMatrix {
    /// All entries, row by row.
    Dense(Mat<f64>),
    /// Entries outside the pattern are zero.
    Sparse(Sparse),
}

/// Returns how many bytes may be allocated for the decompressed data and the numbers of a file of this size.
///
/// Without a limit, zlib could expand a file to a thousand times its size.
pub const fn max_memory(file_size: usize) -> usize {
    file_size.saturating_mul(256).saturating_add(64 << 20)
}

impl MatFile {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Self> {
        let bytes = crate::files::read(file)?;
        Self::read_bytes(&file.display().to_string(), &bytes)
    }

    /// Reads the bytes of a file; errors refer to it as `place`.
    ///
    /// ```
    /// let error = clenshaw::data::read::matlab::MatFile::read_bytes("a.mat", b"PK").unwrap_err();
    /// assert_eq!(error.to_string(), "a.mat: 2 bytes; expected a MATLAB 5 header of 128 bytes");
    /// ```
    pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Self> {
        check_header(place, bytes)?;
        let mut input = ElementReader { place, start: 0, bytes, at: HEADER };
        let mut reader = VariableReader { memory_left: max_memory(bytes.len()) };
        let mut variables = vec![];
        while !input.is_empty() {
            let element = input.read_element("a variable")?;
            variables.push(match element.kind {
                COMPRESSED => reader.read_compressed(&input, element)?,
                MATRIX => reader.read_variable(&input.elements_of(element))?,
                kind => {
                    let problem = format!("an element of type {kind}; expected a variable");
                    return Err(input.error_at(element.at, problem));
                }
            });
        }
        Ok(Self { place: place.into(), variables })
    }

    /// Returns the matrix with this name; an error if the variable is missing or not a real matrix.
    pub fn matrix(&self, name: &str) -> Result<&MatlabMatrix> {
        let problem = match self.variables.iter().find(|variable| variable.name == name) {
            Some(MatlabVariable { content: MatlabContent::Matrix(matrix), .. }) => {
                return Ok(matrix);
            }
            Some(MatlabVariable { content: MatlabContent::Other(what), .. }) => {
                format!("`{name}` is {what}; expected a matrix of real numbers")
            }
            None => {
                let names: Vec<&str> = self.variables.iter().map(|v| v.name.as_str()).collect();
                format!("no variable `{name}`; the file has: {}", names.join(", "))
            }
        };
        Err(Error::Data { place: self.place.clone(), problem })
    }
}

/// Returns an error if the bytes do not start with the header of a little-endian MATLAB 5 file.
fn check_header(place: &str, bytes: &[u8]) -> Result<()> {
    let bad = |problem: String| Err(Error::Data { place: place.into(), problem });
    let Some(header) = bytes.get(..HEADER) else {
        let size = bytes.len();
        return bad(format!("{size} bytes; expected a MATLAB 5 header of {HEADER} bytes"));
    };
    match header[HEADER - 4..] {
        [0x00, 0x01, b'I', b'M'] => Ok(()),
        [0x00, 0x02, b'I', b'M'] => {
            bad("MATLAB 7.3 file; expected MATLAB 5: save it with `-v7`".into())
        }
        [.., b'M', b'I'] => bad("big-endian file; expected a little-endian one".into()),
        _ => bad("not a MATLAB 5 file; expected its version and `IM` in bytes 124 to 127".into()),
    }
}

/// Reads variables within a memory limit.
struct VariableReader {
    /// The number of bytes that may still be allocated for the file.
    memory_left: usize,
}

impl VariableReader {
    /// Deducts `count` values of `width` bytes from the memory left; if that is not enough, the error
    /// refers to byte `at`.
    fn spend(
        &mut self,
        input: &ElementReader,
        at: usize,
        count: usize,
        width: usize,
    ) -> Result<()> {
        let left = count.checked_mul(width).and_then(|bytes| self.memory_left.checked_sub(bytes));
        let too_much = || {
            let limit = self.memory_left;
            input.error_at(
                at,
                format!("needs {count} x {width} bytes of memory; expected at most {limit}"),
            )
        };
        self.memory_left = left.ok_or_else(too_much)?;
        Ok(())
    }

    /// Reads a variable compressed with zlib.
    fn read_compressed(
        &mut self,
        input: &ElementReader,
        element: MatlabElement,
    ) -> Result<MatlabVariable> {
        let bad = |problem: String| input.error_at(element.at, problem);
        let mut inflater = ZlibDecoder::new(element.data);
        let mut tag = [0; TAG];
        inflater.read_exact(&mut tag).map_err(|e| bad(format!("cannot inflate: {e}")))?;
        let size = ElementReader { bytes: &tag, at: TAG / 2, ..*input }.read_word()? as usize;
        self.spend(input, element.at, size, 1)?;
        let mut bytes = tag.to_vec();
        // More bytes than stated, for padding and so that the decoder reaches the end of the stream.
        let limit = size as u64 + TAG as u64;
        (&mut inflater)
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|e| bad(format!("cannot inflate: {e}")))?;
        // The decoder does not reach the checksum of a stream that is longer than its stated size.
        let consumed = &element.data[..inflater.total_in() as usize];
        if !consumed.ends_with(&adler32(&bytes).to_be_bytes()) {
            let found = bytes.len();
            let problem = "the compressed data is truncated, damaged or longer than stated";
            return Err(bad(format!("{problem}: its {found} bytes do not match the checksum")));
        }
        let place = format!("{}: byte {}, inflated", input.place, element.at);
        let mut reader = ElementReader { place: &place, start: 0, bytes: &bytes, at: 0 };
        let element = reader.read_element("a variable")?;
        match element.kind {
            MATRIX => self.read_variable(&reader.elements_of(element)),
            kind => {
                Err(reader.error_at(0, format!("an element of type {kind}; expected a matrix")))
            }
        }
    }

    /// Reads the elements of a variable: `flags dims name ...`. For a value that is not a real matrix, only
    /// its name and type are returned.
    fn read_variable(&mut self, input: &ElementReader) -> Result<MatlabVariable> {
        let mut input = *input;
        let flags = input.read_element("array flags")?;
        let class = match input.indices(flags, "array flags")?[..] {
            [flags, _] => flags,
            _ => return Err(input.error_at(flags.at, "expected two numbers as array flags")),
        };
        let (class, complex) = (class & 0xff, class & 0x800 != 0);
        // New-style objects have no dimensions.
        let dims = match class {
            OPAQUE => vec![],
            _ => {
                let dims = input.read_element("dimensions")?;
                input.indices(dims, "dimensions")?
            }
        };
        let name = input.read_element("a name")?;
        let name = String::from_utf8_lossy(name.data).into_owned();
        let content = match (class, &dims[..]) {
            _ if complex => MatlabContent::Other("complex"),
            (SPARSE, &[rows, cols]) => {
                let matrix = self.read_sparse(input, rows as usize, cols as usize)?;
                MatlabContent::Matrix(MatlabMatrix::Sparse(matrix))
            }
            (DOUBLE..=UINT64, &[rows, cols]) => {
                let matrix = self.read_dense(input, rows as usize, cols as usize)?;
                MatlabContent::Matrix(MatlabMatrix::Dense(matrix))
            }
            (class, _) => MatlabContent::Other(describe_class(class)),
        };
        Ok(MatlabVariable { name, content })
    }

    /// Reads a dense matrix, which is stored by columns.
    fn read_dense(
        &mut self,
        mut input: ElementReader,
        rows: usize,
        cols: usize,
    ) -> Result<Mat<f64>> {
        let element = input.read_element("numbers")?;
        let numbers = input.numbers(element, "numbers")?;
        let count = numbers.len();
        if rows.checked_mul(cols) != Some(count) {
            let problem = format!(
                "found {}; expected a matrix of {rows} x {cols}",
                crate::data::count(count, "number", "numbers")
            );
            return Err(input.error_at(element.at, problem));
        }
        self.spend(&input, element.at, count, 2 * size_of::<f64>())?;
        let columns: Vec<f64> = numbers.collect();
        let row = |i: usize| columns.iter().skip(i).step_by(rows).copied();
        // A matrix without columns may have any number of rows.
        let filled = if count == 0 { 0 } else { rows };
        Ok(Mat::from_vec(rows, cols, (0..filled).flat_map(row).collect()))
    }

    /// Reads a sparse matrix, which is stored by columns.
    fn read_sparse(
        &mut self,
        mut input: ElementReader,
        rows: usize,
        cols: usize,
    ) -> Result<Sparse> {
        let (row_at, start_at) =
            (input.read_element("row indices")?, input.read_element("column starts")?);
        let value_at = input.read_element("numbers")?;
        let stored = input.numbers(row_at, "row indices")?.len();
        let columns = input.numbers(start_at, "column starts")?.len();
        // Entries are stored before and after the transposition.
        self.spend(&input, row_at.at, rows.saturating_add(columns).saturating_add(stored), 32)?;

        let starts = input.indices(start_at, "column starts")?;
        let starts: Vec<usize> = starts.into_iter().map(|start| start as usize).collect();
        if starts.len() != cols + 1 || starts[0] != 0 || !starts.is_sorted() {
            let problem = format!("expected {} ascending column starts from 0", cols + 1);
            return Err(input.error_at(start_at.at, problem));
        }
        let entries = starts[cols];
        let mut row = input.indices(row_at, "row indices")?;
        let values = input.numbers(value_at, "numbers")?;
        let (n_rows, n_values) = (row.len(), values.len());
        if n_rows < entries || n_values < entries {
            let problem =
                format!("row indices: {n_rows}, numbers: {n_values}; expected {entries} of each");
            return Err(input.error_at(row_at.at, problem));
        }
        row.truncate(entries);
        for column in starts.windows(2) {
            let column = &row[column[0]..column[1]];
            let in_range = column.last().is_none_or(|&i| (i as usize) < rows);
            if !in_range || !column.is_sorted_by(|a, b| a < b) {
                let problem = format!("expected ascending row indices below {rows} in each column");
                return Err(input.error_at(row_at.at, problem));
            }
        }
        let values: Vec<f64> = values.take(entries).collect();
        let (pattern, origin) = Pattern::new(rows, starts, row).transpose();
        let values = origin.into_iter().map(|e| values[e as usize]).collect();
        Ok(Sparse::new(pattern, values))
    }
}

/// The checksum at the end of a zlib stream.
fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    // The sums of 5552 bytes fit into 32 bits.
    for block in bytes.chunks(5552) {
        for &byte in block {
            a += u32::from(byte);
            b += a;
        }
        (a, b) = (a % 65521, b % 65521);
    }
    b << 16 | a
}

// The numbers of array classes; dense numeric arrays are `DOUBLE..=UINT64`.
const SPARSE: u32 = 5;
const DOUBLE: u32 = 6;
const UINT64: u32 = 15;
const OPAQUE: u32 = 17;

/// Describes a class of values that are not read.
fn describe_class(class: u32) -> &'static str {
    match class {
        1 => "a cell array",
        2 => "a struct",
        3 | OPAQUE => "an object",
        4 => "a string",
        SPARSE..=UINT64 => "an array of more than two dimensions",
        16 => "a function",
        _ => "of an unknown class",
    }
}

#[cfg(test)]
pub(super) mod tests;

//! MATLAB 5 files (`.mat`, also what `save -v7` and `scipy.io.savemat` write): their real matrices.
//!
//! ```text
//! file    = text[116] subsystem[8] version: u16 = 0x0100, "MI" as u16 (tells the byte order), elements
//! element = matrix | zlib(matrix)
//! matrix  = flags dims name numbers               flags: class, complex?, logical?
//!         | flags dims name rows starts numbers   sparse, column by column
//! ```
//!
//! Numbers may be stored in a smaller type than their class; here all become `f64`.
//! Texts, cells, structs and objects are passed over, but known by name, so that asking for one says
//! what it is.
//! What a file unfolds to, inflated bytes and numbers together, is bounded by [`most_memory`].
//! "MAT-File Format", The MathWorks.

mod element;

use self::element::{COMPRESSED, Element, Endian, Input, MATRIX, TAG};
use crate::error::{Error, Result};
use crate::tensor::{Mat, Pattern, Sparse};
use flate2::read::ZlibDecoder;
use std::io::Read;
use std::path::Path;

const HEADER: usize = 128;

/// The variables of a file.
#[derive(Clone, Debug)]
pub struct MatFile {
    place: String,
    /// In the order of the file.
    pub variables: Vec<Variable>,
}

/// A name and what it stands for.
#[derive(Clone, Debug)]
pub struct Variable {
    /// As the file has it; empty for MATLAB's own notes.
    pub name: String,
    /// The matrix, or what it is instead.
    pub content: Content,
}

/// What a variable holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Real numbers in rows and columns.
    Matrix(Matrix),
    /// Something else: `a text`, `a struct`, ...
    Other(&'static str),
}

/// Real numbers in rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Every entry stored.
    Dense(Mat<f64>),
    /// Entries outside the pattern are zero.
    Sparse(Sparse),
}

/// How much memory a file of this size may ask for.
///
/// Zlib alone could ask for a thousand times the file's size.
pub const fn most_memory(file_size: usize) -> usize {
    file_size.saturating_mul(256).saturating_add(64 << 20)
}

impl MatFile {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Self> {
        let bytes = std::fs::read(file).map_err(Error::io(file))?;
        Self::read_bytes(&file.display().to_string(), &bytes)
    }

    /// Reads the bytes of a file; `place` names them in errors.
    ///
    /// ```
    /// let error = clenshaw::data::read::matlab::MatFile::read_bytes("a.mat", b"PK").unwrap_err();
    /// assert_eq!(error.to_string(), "a.mat: 2 bytes; a MATLAB 5 file begins with 128 bytes of header");
    /// ```
    pub fn read_bytes(place: &str, bytes: &[u8]) -> Result<Self> {
        let endian = byte_order(place, bytes)?;
        let mut input = Input { place, start: 0, bytes, at: HEADER, endian };
        let mut memory = Memory { left: most_memory(bytes.len()) };
        let mut variables = vec![];
        while !input.is_empty() {
            let element = input.element("a variable")?;
            variables.push(match element.kind {
                COMPRESSED => memory.compressed(&input, element)?,
                MATRIX => memory.variable(&input.inside(element))?,
                kind => {
                    let problem = format!("an element of type {kind}; expected a variable");
                    return Err(input.bad_at(element.at, problem));
                }
            });
        }
        Ok(Self { place: place.into(), variables })
    }

    /// The matrix of that name.
    pub fn matrix(&self, name: &str) -> Result<&Matrix> {
        let problem = match self.variables.iter().find(|variable| variable.name == name) {
            Some(Variable { content: Content::Matrix(matrix), .. }) => return Ok(matrix),
            Some(Variable { content: Content::Other(what), .. }) => {
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

fn byte_order(place: &str, bytes: &[u8]) -> Result<Endian> {
    let bad = |problem: String| Err(Error::Data { place: place.into(), problem });
    let Some(header) = bytes.get(..HEADER) else {
        let size = bytes.len();
        return bad(format!("{size} bytes; a MATLAB 5 file begins with {HEADER} bytes of header"));
    };
    match header[HEADER - 4..] {
        [0x00, 0x01, b'I', b'M'] => Ok(Endian::Little),
        [0x01, 0x00, b'M', b'I'] => Ok(Endian::Big),
        [0x00, 0x02, b'I', b'M'] | [0x02, 0x00, b'M', b'I'] => {
            bad("a MATLAB 7.3 file, which is HDF5; save it with `-v7` instead".into())
        }
        _ => bad("not a MATLAB 5 file; bytes 124 to 127 are not its version and `MI`".into()),
    }
}

/// What is left of the memory the file may ask for.
struct Memory {
    left: usize,
}

impl Memory {
    fn spend(&mut self, input: &Input, at: usize, count: usize, width: usize) -> Result<()> {
        let left = count.checked_mul(width).and_then(|bytes| self.left.checked_sub(bytes));
        let too_much = || {
            let most = self.left;
            input.bad_at(at, format!("{count} x {width} bytes asked for; at most {most} are given"))
        };
        self.left = left.ok_or_else(too_much)?;
        Ok(())
    }

    /// A variable behind zlib.
    fn compressed(&mut self, input: &Input, element: Element) -> Result<Variable> {
        let bad = |problem: String| input.bad_at(element.at, problem);
        let mut inflater = ZlibDecoder::new(element.data);
        let mut tag = [0; TAG];
        inflater.read_exact(&mut tag).map_err(|e| bad(format!("cannot inflate: {e}")))?;
        let size = Input { bytes: &tag, at: TAG / 2, ..*input }.word()? as usize;
        self.spend(input, element.at, size, 1)?;
        let mut bytes = tag.to_vec();
        // Room for padding; and only at its end does zlib compare the checksum.
        let most = size as u64 + TAG as u64;
        inflater
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|e| bad(format!("cannot inflate: {e}")))?;
        let place = format!("{}: byte {}, inflated", input.place, element.at);
        let mut inside = Input { place: &place, start: 0, bytes: &bytes, at: 0, ..*input };
        let element = inside.element("a variable")?;
        match element.kind {
            MATRIX => self.variable(&inside.inside(element)),
            kind => Err(inside.bad_at(0, format!("an element of type {kind}; expected a matrix"))),
        }
    }

    /// `flags dims name ...`.
    fn variable(&mut self, input: &Input) -> Result<Variable> {
        let mut input = *input;
        let flags = input.element("array flags")?;
        let class = match input.indices(flags, "array flags")?[..] {
            [flags, _] => flags,
            _ => return Err(input.bad_at(flags.at, "array flags are two numbers")),
        };
        let (class, complex) = (class & 0xff, class & 0x800 != 0);
        // A new-style object has no dimensions.
        let dims = match class {
            OPAQUE => vec![],
            _ => {
                let dims = input.element("dimensions")?;
                input.indices(dims, "dimensions")?
            }
        };
        let name = input.element("a name")?;
        let name = String::from_utf8_lossy(name.data).into_owned();
        let content = match (class, &dims[..]) {
            _ if complex => Content::Other("complex"),
            (SPARSE, &[rows, cols]) => {
                let matrix = self.sparse(input, rows as usize, cols as usize)?;
                Content::Matrix(Matrix::Sparse(matrix))
            }
            (DOUBLE..=UINT64, &[rows, cols]) => {
                let matrix = self.dense(input, rows as usize, cols as usize)?;
                Content::Matrix(Matrix::Dense(matrix))
            }
            (class, _) => Content::Other(other(class)),
        };
        Ok(Variable { name, content })
    }

    /// Columns of numbers, turned into rows.
    fn dense(&mut self, mut input: Input, rows: usize, cols: usize) -> Result<Mat<f64>> {
        let element = input.element("numbers")?;
        let numbers = input.numbers(element, "numbers")?;
        let count = numbers.len();
        if rows.checked_mul(cols) != Some(count) {
            let problem = format!("{count} numbers in a matrix of {rows} x {cols}");
            return Err(input.bad_at(element.at, problem));
        }
        self.spend(&input, element.at, count, 2 * size_of::<f64>())?;
        let columns: Vec<f64> = numbers.collect();
        let row = |i: usize| columns.iter().skip(i).step_by(rows).copied();
        // Without columns there may be any number of rows, and nothing in them.
        let filled = if count == 0 { 0 } else { rows };
        Ok(Mat::from_vec(rows, cols, (0..filled).flat_map(row).collect()))
    }

    /// Compressed columns, turned into compressed rows.
    fn sparse(&mut self, mut input: Input, rows: usize, cols: usize) -> Result<Sparse> {
        let (row_at, start_at) = (input.element("row indices")?, input.element("column starts")?);
        let value_at = input.element("numbers")?;
        let stored = input.numbers(row_at, "row indices")?.len();
        let columns = input.numbers(start_at, "column starts")?.len();
        // An entry is held twice, before and after the transpose, and counted on the way.
        self.spend(&input, row_at.at, rows.saturating_add(columns).saturating_add(stored), 32)?;

        let starts = input.indices(start_at, "column starts")?;
        let starts: Vec<usize> = starts.into_iter().map(|start| start as usize).collect();
        if starts.len() != cols + 1 || starts[0] != 0 || !starts.is_sorted() {
            let problem = format!("column starts are not {} ascending numbers from 0", cols + 1);
            return Err(input.bad_at(start_at.at, problem));
        }
        let entries = starts[cols];
        let mut row = input.indices(row_at, "row indices")?;
        let values = input.numbers(value_at, "numbers")?;
        let (n_rows, n_values) = (row.len(), values.len());
        if n_rows < entries || n_values < entries {
            let problem =
                format!("{n_rows} row indices and {n_values} numbers for {entries} entries");
            return Err(input.bad_at(row_at.at, problem));
        }
        row.truncate(entries);
        for column in starts.windows(2) {
            let column = &row[column[0]..column[1]];
            let in_range = column.last().is_none_or(|&i| (i as usize) < rows);
            if !in_range || !column.is_sorted_by(|a, b| a < b) {
                let problem = format!("row indices of a column do not ascend below {rows}");
                return Err(input.bad_at(row_at.at, problem));
            }
        }
        let values: Vec<f64> = values.take(entries).collect();
        let (pattern, origin) = Pattern::new(rows, starts, row).transpose();
        let values = origin.into_iter().map(|e| values[e as usize]).collect();
        Ok(Sparse::new(pattern, values))
    }
}

const SPARSE: u32 = 5;
const DOUBLE: u32 = 6;
const UINT64: u32 = 15;
const OPAQUE: u32 = 17;

/// What a class that is no matrix is called.
fn other(class: u32) -> &'static str {
    match class {
        1 => "a cell array",
        2 => "a struct",
        3 | OPAQUE => "an object",
        4 => "a text",
        SPARSE..=UINT64 => "an array of more than two dimensions",
        16 => "a function",
        _ => "of a class not known here",
    }
}

#[cfg(test)]
pub(super) mod tests;

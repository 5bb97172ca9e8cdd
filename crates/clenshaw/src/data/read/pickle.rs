//! Python pickles of protocols 2 and 3, read without executing any code.
//!
//! A pickle is a program for a stack machine.
//! This machine supports the opcodes that build the values of the published files, and an allow-list of
//! globals for NumPy arrays, SciPy CSR matrices and `defaultdict`.
//! Any other global, such as `os.system`, causes an error with its name and position.
//!
//! Strings, containers, arrays and objects are stored in one table and referred to by index: shared
//! values stay shared, cycles are allowed, and no code is recursive.
//! An opcode creates at most one value, so memory is a small multiple of the size of the pickle.
//! <https://docs.python.org/3/library/pickletools.html>

mod globals;
mod machine;

pub use globals::Global;

use super::array::{Dtype, MemoryOrder, NumpyArray, n_bytes};
use crate::error::{Error, Result};

/// A parsed pickle.
#[derive(Debug)]
pub struct Pickle<'a> {
    place: String,
    nodes: Vec<PickleNode<'a>>,
    root: PickleValue,
}

/// A plain value, or a reference to a [`PickleNode`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PickleValue {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A class or function of the allow-list.
    Global(Global),
    /// The index of a [`PickleNode`]; see [`Pickle::node`].
    Node(u32),
}

/// A string, container, array or object.
#[derive(Clone, Debug)]
pub enum PickleNode<'a> {
    /// A byte string, or a Python 2 `str`.
    Bytes(&'a [u8]),
    /// A Unicode string.
    Text(&'a str),
    /// A list.
    List(Vec<PickleValue>),
    /// A tuple.
    Tuple(Vec<PickleValue>),
    /// A dictionary in insertion order; the last of several equal keys applies.
    Dict(Vec<(PickleValue, PickleValue)>),
    /// The type of an array's entries.
    Dtype(Dtype),
    /// A NumPy array; `None` until its state is set.
    Array(Option<Box<PickledArray>>),
    /// A SciPy CSR matrix: its state, [`PickleValue::None`] until it is set. SciPy stores a dictionary of
    /// attributes; this is not checked.
    CsrMatrix(PickleValue),
}

/// A NumPy array whose entries are in a separate value of the pickle.
#[derive(Clone, Debug)]
pub struct PickledArray {
    dtype: Dtype,
    shape: Vec<usize>,
    order: MemoryOrder,
    /// Bytes, or a list in an array of objects; checked when the entries are accessed.
    data: PickleValue,
}

/// Reads a pickle; errors refer to it as `place`. Bytes after the end of the pickle are an error.
///
/// ```
/// use clenshaw::data::read::pickle::{self, PickleValue};
/// let pickle = pickle::read_bytes("list.pkl", b"\x80\x02](K\x01K\x02e.")?;
/// assert_eq!(pickle.items(pickle.root()).unwrap(), [PickleValue::Int(1), PickleValue::Int(2)]);
///
/// let error = pickle::read_bytes("evil.pkl", b"cos\nsystem\n(U\x08rm -rf ~tR.").unwrap_err();
/// assert!(error.to_string().starts_with("evil.pkl: byte 0: global `os.system` is not allowed"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes<'a>(place: &str, bytes: &'a [u8]) -> Result<Pickle<'a>> {
    read_from(place, bytes, 0)
}

/// Reads the pickle from byte `start` to the end; positions in errors are counted from byte 0.
pub(super) fn read_from<'a>(place: &str, bytes: &'a [u8], start: usize) -> Result<Pickle<'a>> {
    let (nodes, root) = machine::run(place, bytes, start)?;
    Ok(Pickle { place: place.into(), nodes, root })
}

impl<'a> Pickle<'a> {
    /// Returns the pickled value.
    pub fn root(&self) -> PickleValue {
        self.root
    }

    /// Returns the node that a value refers to, if any.
    pub fn node(&self, value: PickleValue) -> Option<&PickleNode<'a>> {
        match value {
            PickleValue::Node(id) => self.nodes.get(id as usize),
            _ => None,
        }
    }

    /// Returns the items of a list or tuple; `None` for other values.
    pub fn items(&self, value: PickleValue) -> Option<&[PickleValue]> {
        match self.node(value)? {
            PickleNode::List(items) | PickleNode::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the keys and values of a dictionary, in insertion order; `None` for other values.
    pub fn pairs(&self, value: PickleValue) -> Option<&[(PickleValue, PickleValue)]> {
        match self.node(value)? {
            PickleNode::Dict(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Returns the value of a string key in a dictionary, the last one if the key occurs twice; `None` if
    /// it does not occur or `dict` is not a dictionary.
    pub fn get(&self, dict: PickleValue, key: &str) -> Option<PickleValue> {
        let mut pairs = self.pairs(dict)?.iter().rev();
        let is_key = |found: PickleValue| self.node(found).and_then(PickleNode::text) == Some(key);
        pairs.find(|(found, _)| is_key(*found)).map(|(_, value)| *value)
    }

    /// Returns the shape and entries of an array of objects, in stored order; `None` for other values, and
    /// if the number of entries does not match the shape.
    pub fn objects(&self, value: PickleValue) -> Option<(&[usize], &[PickleValue])> {
        match self.node(value)? {
            PickleNode::Array(Some(stored)) => {
                let items = self.items(stored.data)?;
                (n_bytes(&stored.shape, 1) == Some(items.len())).then_some((&stored.shape, items))
            }
            _ => None,
        }
    }

    /// Returns an array of numbers or strings; an error, which refers to it as `what`, for other values.
    pub fn array(&self, value: PickleValue, what: &str) -> Result<NumpyArray<'_>> {
        let place = format!("{}: {what}", self.place);
        let (stored, data) = match self.node(value) {
            Some(PickleNode::Array(Some(stored))) => (stored, self.node(stored.data)),
            _ => return Err(Error::Data { place, problem: "expected a NumPy array".into() }),
        };
        // `NumpyArray` rejects arrays of objects, whose data is a list.
        let data = match data {
            Some(PickleNode::Bytes(bytes)) => bytes,
            _ => &[][..],
        };
        NumpyArray::new(place, stored.dtype, stored.shape.clone(), stored.order, data.into())
    }
}

impl PickleNode<'_> {
    /// Returns a Unicode string, or a byte string that is valid UTF-8; `None` for other nodes.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

//! Python pickles, read without Python and without running anything.
//!
//! A pickle is a program for a small stack machine.
//! Ours knows the opcodes of protocols 0 to 5 that build plain values, and a short list of names: what
//! NumPy arrays, SciPy's CSR matrices and `defaultdict` are made of.
//! Any other name, `os.system` say, is an error that gives the name and where it stands.
//!
//! Lists, arrays and the like live side by side in one table, and values refer to them by number:
//! what the pickle shares stays shared, a cycle is harmless, and nothing here is recursive.
//! One opcode makes at most one value, so memory is a small multiple of the pickle's size.
//! <https://docs.python.org/3/library/pickletools.html>

mod globals;
mod input;
mod literals;
mod machine;

pub use globals::Global;

use super::array::{Array, Dtype, Order, n_bytes};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// What a pickle describes.
#[derive(Debug)]
pub struct Pickle<'a> {
    place: String,
    nodes: Vec<Node<'a>>,
    root: Value,
}

/// A plain value, or the number of one that has parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// A name on the list.
    Global(Global),
    /// The number of a [`Node`]; see [`Pickle::node`].
    Node(u32),
}

/// A value with parts.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// A byte string; Python 2's `str` too.
    Bytes(Cow<'a, [u8]>),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A dictionary as it was filled; of equal keys the last counts.
    Dict(Vec<(Value, Value)>),
    /// The type of an array's entries.
    Dtype(Dtype),
    /// A NumPy array; `None` until its state has come.
    Array(Option<Box<Stored>>),
    /// An object of a class on the list, and the state it was given.
    Object {
        /// Its class.
        class: Global,
        /// Usually a dictionary of its attributes.
        state: Value,
    },
}

/// A NumPy array whose entries are a value of their own.
#[derive(Clone, Debug)]
pub struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    order: Order,
    /// Bytes, or a list for an array of objects.
    data: Value,
}

/// Reads a pickle; `place` names the bytes in errors.
///
/// ```
/// use clenshaw::data::read::pickle::{self, Value};
/// let pickle = pickle::read_bytes("list.pkl", b"\x80\x02](K\x01K\x02e.")?;
/// assert_eq!(pickle.items(pickle.root()).unwrap(), [Value::Int(1), Value::Int(2)]);
///
/// let error = pickle::read_bytes("evil.pkl", b"cos\nsystem\n(S'rm -rf ~'\ntR.").unwrap_err();
/// assert!(error.to_string().starts_with("evil.pkl: byte 0: it names `os.system`"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes<'a>(place: &str, bytes: &'a [u8]) -> Result<Pickle<'a>> {
    read_from(place, bytes, 0)
}

/// Reads the pickle that begins at byte `start`.
pub(super) fn read_from<'a>(place: &str, bytes: &'a [u8], start: usize) -> Result<Pickle<'a>> {
    let (nodes, root) = machine::run(place, bytes, start)?;
    Ok(Pickle { place: place.into(), nodes, root })
}

impl<'a> Pickle<'a> {
    /// The value itself.
    pub fn root(&self) -> Value {
        self.root
    }

    /// The parts of a value, if it has any.
    pub fn node(&self, value: Value) -> Option<&Node<'a>> {
        match value {
            Value::Node(id) => self.nodes.get(id as usize),
            _ => None,
        }
    }

    /// The members of a list or tuple.
    pub fn items(&self, value: Value) -> Option<&[Value]> {
        match self.node(value)? {
            Node::List(items) | Node::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Keys and values of a dictionary, as they were put in.
    pub fn pairs(&self, value: Value) -> Option<&[(Value, Value)]> {
        match self.node(value)? {
            Node::Dict(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// What a dictionary holds under a text.
    pub fn get(&self, dict: Value, key: &str) -> Option<Value> {
        let pairs = self.pairs(dict)?.iter().rev();
        pairs.clone().find(|(found, _)| self.text(*found) == Some(key)).map(|(_, value)| *value)
    }

    /// A text; Python 2's strings count if they are UTF-8.
    pub fn text(&self, value: Value) -> Option<&str> {
        self.node(value)?.text()
    }

    /// Shape and entries of an array of objects, in the order they are stored.
    pub fn objects(&self, value: Value) -> Option<(&[usize], &[Value])> {
        match self.node(value)? {
            Node::Array(Some(stored)) => {
                let items = self.items(stored.data)?;
                (n_bytes(&stored.shape, 1) == Some(items.len())).then_some((&stored.shape, items))
            }
            _ => None,
        }
    }

    /// An array of numbers; `what` names it in errors.
    pub fn array(&self, value: Value, what: &str) -> Result<Array<'_>> {
        let place = format!("{}: {what}", self.place);
        let (stored, data) = match self.node(value) {
            Some(Node::Array(Some(stored))) => (stored, self.node(stored.data)),
            _ => return Err(Error::Data { place, problem: "expected a NumPy array".into() }),
        };
        // A list is an array of objects, which `Array` refuses by its type.
        let data = match data {
            Some(Node::Bytes(bytes)) => &bytes[..],
            _ => &[],
        };
        Array::new(place, stored.dtype, stored.shape.clone(), stored.order, data.into())
    }
}

impl Node<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(super) mod samples;
#[cfg(test)]
mod tests;

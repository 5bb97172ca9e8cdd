//! The names a pickle may use, and what calling them builds.

use super::machine::Machine;
use super::{Dtype, Node, Order, Stored, Value};
use crate::data::read::array::{Array, Kind, MAX_DIMENSIONS};
use crate::error::Result;

/// A class or function a pickle may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// `numpy.core.multiarray._reconstruct`: an array whose state comes later.
    Reconstruct,
    /// `numpy.core.numeric._frombuffer`: an array from its bytes, in protocol 5.
    FromBuffer,
    /// `numpy.core.multiarray.scalar`: one number.
    Scalar,
    /// `numpy.ndarray`.
    Ndarray,
    /// `numpy.dtype`.
    Dtype,
    /// `scipy.sparse.csr_matrix`, wherever SciPy keeps it.
    CsrMatrix,
    /// `collections.defaultdict`.
    DefaultDict,
    /// Python's `list`, as what a `defaultdict` makes.
    List,
    /// Python's `object`, the base of a reconstructed one.
    Object,
    /// `copyreg._reconstructor`: how protocols 0 and 1 make an object.
    Reconstructor,
    /// `_codecs.encode`: how protocol 2 writes bytes.
    Encode,
    /// Python's `bytes`: how protocol 2 writes none of them.
    Bytes,
}

/// The one list of names; Python 2 and NumPy 1 have older ones.
pub(super) fn find(module: &str, name: &str) -> Option<Global> {
    Some(match (module, name) {
        ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Global::Reconstruct,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Global::Scalar,
        ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => Global::FromBuffer,
        ("numpy", "ndarray") => Global::Ndarray,
        ("numpy", "dtype") => Global::Dtype,
        ("scipy.sparse.csr" | "scipy.sparse._csr", "csr_matrix") => Global::CsrMatrix,
        ("collections", "defaultdict") => Global::DefaultDict,
        ("__builtin__" | "builtins", "list") => Global::List,
        ("__builtin__" | "builtins", "object") => Global::Object,
        ("copy_reg" | "copyreg", "_reconstructor") => Global::Reconstructor,
        ("_codecs", "encode") => Global::Encode,
        ("__builtin__" | "builtins", "bytes") => Global::Bytes,
        _ => return None,
    })
}

impl<'a> Machine<'_, 'a> {
    /// What the function would return.
    pub(super) fn reduce(&mut self, function: Global, arguments: Value) -> Result<Value> {
        let Some(Node::Tuple(arguments)) = self.node(arguments) else {
            return Err(self.bad("a call without a tuple of arguments".into()));
        };
        match (function, &arguments[..]) {
            (Global::Reconstruct, [Value::Global(Global::Ndarray), ..]) => {
                Ok(self.add(Node::Array(None)))
            }
            (Global::FromBuffer, &[data, dtype, shape, order]) => {
                let fortran = Value::Bool(self.text_of(order) == Some("F"));
                let stored = self.stored(shape, dtype, fortran, data)?;
                Ok(self.add(Node::Array(Some(Box::new(stored)))))
            }
            (Global::Dtype, &[name, ..]) => self.dtype(name),
            (Global::Scalar, &[dtype, bytes]) => self.scalar(dtype, bytes),
            (Global::DefaultDict, [] | [Value::Global(Global::List)]) => {
                Ok(self.add(Node::Dict(vec![])))
            }
            (Global::Reconstructor, &[Value::Global(class @ Global::CsrMatrix), ..]) => {
                Ok(self.add(Node::Object { class, state: Value::None }))
            }
            (Global::Encode, &[text, encoding]) => self.encode(text, encoding),
            (Global::Bytes, []) => Ok(self.add(Node::Bytes((&[]).into()))),
            (_, arguments) => {
                let count = arguments.len();
                Err(self.bad(format!("a call of {function:?} with {count} unexpected arguments")))
            }
        }
    }

    /// What `__setstate__` would do.
    pub(super) fn set_state(&mut self, target: Value, state: Value) -> Result<()> {
        let parts = match self.node(state) {
            Some(Node::Tuple(parts)) => &parts[..],
            _ => &[],
        };
        let node = match (self.node(target), parts) {
            (Some(Node::Array(_)), &[_version, shape, dtype, order, data]) => {
                Node::Array(Some(Box::new(self.stored(shape, dtype, order, data)?)))
            }
            (Some(&Node::Dtype(dtype)), &[_version, order, ..]) => match self.text_of(order) {
                Some(">") => Node::Dtype(Dtype { big_endian: true, ..dtype }),
                Some("<" | "|" | "=") => Node::Dtype(Dtype { big_endian: false, ..dtype }),
                _ => return Err(self.bad("a type without a byte order".into())),
            },
            (Some(&Node::Object { class, .. }), _) => Node::Object { class, state },
            _ => return Err(self.bad("a state that does not fit its object".into())),
        };
        if let Some(old) = self.node_mut(target) {
            *old = node;
        }
        Ok(())
    }

    /// The parts of an array; whether there are as many entries as it claims shows when it is used.
    fn stored(&self, shape: Value, dtype: Value, order: Value, data: Value) -> Result<Stored> {
        let shape = match self.node(shape) {
            Some(Node::Tuple(sizes)) => sizes.iter().take(MAX_DIMENSIONS + 1).map(size).collect(),
            _ => None,
        };
        let shape = shape.ok_or_else(|| self.bad("an array without a shape".into()))?;
        let Some(&Node::Dtype(dtype)) = self.node(dtype) else {
            return Err(self.bad("an array without a type".into()));
        };
        let order = match order {
            Value::Bool(true) | Value::Int(1) => Order::Fortran,
            _ => Order::C,
        };
        Ok(Stored { dtype, shape, order, data })
    }

    fn dtype(&mut self, name: Value) -> Result<Value> {
        let name = self.text_of(name).unwrap_or_default();
        let dtype = Dtype::parse(name).ok_or_else(|| {
            let shown: String = name.chars().take(20).collect();
            self.bad(format!("entries of type `{}`", shown.escape_debug()))
        })?;
        Ok(self.add(Node::Dtype(dtype)))
    }

    /// One entry of an array, as a plain value.
    fn scalar(&self, dtype: Value, bytes: Value) -> Result<Value> {
        let (Some(&Node::Dtype(dtype)), Some(Node::Bytes(bytes))) =
            (self.node(dtype), self.node(bytes))
        else {
            return Err(self.bad("a number without type or bytes".into()));
        };
        let place = self.input.here();
        let entry = Array::new(place, dtype, vec![], Order::C, bytes[..].into())?;
        let value = match dtype.kind {
            Kind::Bool => entry.to_bool()?.first().copied().map(Value::Bool),
            Kind::Int | Kind::Uint => entry.to_i64()?.first().copied().map(Value::Int),
            _ => entry.to_f64()?.first().copied().map(Value::Float),
        };
        value.ok_or_else(|| self.bad("a number without bytes".into()))
    }

    /// Bytes from a text that has one character for each.
    fn encode(&mut self, text: Value, encoding: Value) -> Result<Value> {
        let (Some(text), Some("latin1" | "latin-1")) = (self.text_of(text), self.text_of(encoding))
        else {
            return Err(self.bad("bytes that are not written in Latin-1".into()));
        };
        // Python encodes a text once; a hostile pickle could ask for it at every other byte.
        let encoded = self.encoded + text.len();
        if encoded > self.input.bytes.len() {
            return Err(self.bad("one text is encoded again and again".into()));
        }
        let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        let bytes = bytes.ok_or_else(|| self.bad("a text that does not stand for bytes".into()))?;
        self.encoded = encoded;
        Ok(self.add(Node::Bytes(bytes.into())))
    }
}

fn size(value: &Value) -> Option<usize> {
    match *value {
        Value::Int(size) => usize::try_from(size).ok(),
        _ => None,
    }
}

//! The allow-list of globals, and the values that their calls build.

use super::machine::PickleMachine;
use super::{Dtype, MemoryOrder, PickleNode, PickleValue, PickledArray};
use crate::data::read::array::{DtypeKind, MAX_DIMENSIONS, NumpyArray};
use crate::error::Result;

/// A class or function that a pickle may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// `numpy.core.multiarray._reconstruct`: an array whose state follows.
    Reconstruct,
    /// `numpy.core.numeric._frombuffer`: an array from its bytes, in protocol 5.
    FromBuffer,
    /// `numpy.core.multiarray.scalar`: one number.
    Scalar,
    /// `numpy.ndarray`.
    Ndarray,
    /// `numpy.dtype`.
    Dtype,
    /// `scipy.sparse.csr_matrix`, in its old and new module.
    CsrMatrix,
    /// `collections.defaultdict`.
    DefaultDict,
    /// Python's `list`, as the factory of a `defaultdict`.
    List,
    /// Python's `object`, the base of a reconstructed object.
    Object,
    /// `copyreg._reconstructor`: creates an object in protocols 0 and 1.
    Reconstructor,
    /// `_codecs.encode`: creates bytes in protocol 2.
    Encode,
    /// Python's `bytes`: creates empty bytes in protocol 2.
    Bytes,
}

/// Looks up a name in the allow-list, which includes the older names of Python 2 and NumPy 1.
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

impl<'a> PickleMachine<'_, 'a> {
    /// Returns the value that a call of the function builds.
    pub(super) fn reduce(
        &mut self,
        function: Global,
        arguments: PickleValue,
    ) -> Result<PickleValue> {
        let Some(PickleNode::Tuple(arguments)) = self.node(arguments) else {
            return Err(self.bad("the arguments of a call are not a tuple".into()));
        };
        match (function, &arguments[..]) {
            (Global::Reconstruct, [PickleValue::Global(Global::Ndarray), ..]) => {
                Ok(self.add(PickleNode::Array(None)))
            }
            (Global::FromBuffer, &[data, dtype, shape, order]) => {
                let fortran = PickleValue::Bool(self.text_of(order) == Some("F"));
                let stored = self.stored(shape, dtype, fortran, data)?;
                Ok(self.add(PickleNode::Array(Some(Box::new(stored)))))
            }
            (Global::Dtype, &[name, ..]) => self.dtype(name),
            (Global::Scalar, &[dtype, bytes]) => self.scalar(dtype, bytes),
            (Global::DefaultDict, [] | [PickleValue::Global(Global::List)]) => {
                Ok(self.add(PickleNode::Dict(vec![])))
            }
            (Global::Reconstructor, &[PickleValue::Global(class @ Global::CsrMatrix), ..]) => {
                Ok(self.add(PickleNode::Object { class, state: PickleValue::None }))
            }
            (Global::Encode, &[text, encoding]) => self.encode(text, encoding),
            (Global::Bytes, []) => Ok(self.add(PickleNode::Bytes((&[]).into()))),
            (_, arguments) => {
                let count = arguments.len();
                Err(self.bad(format!(
                    "unexpected number of arguments in a call to {function:?}: {count}"
                )))
            }
        }
    }

    /// Sets the state of an object, as `__setstate__` does.
    pub(super) fn set_state(&mut self, target: PickleValue, state: PickleValue) -> Result<()> {
        let parts = match self.node(state) {
            Some(PickleNode::Tuple(parts)) => &parts[..],
            _ => &[],
        };
        let node = match (self.node(target), parts) {
            (Some(PickleNode::Array(_)), &[_version, shape, dtype, order, data]) => {
                PickleNode::Array(Some(Box::new(self.stored(shape, dtype, order, data)?)))
            }
            (Some(&PickleNode::Dtype(dtype)), &[_version, order, ..]) => {
                match self.text_of(order) {
                    Some(">") => PickleNode::Dtype(Dtype { big_endian: true, ..dtype }),
                    Some("<" | "|" | "=") => {
                        PickleNode::Dtype(Dtype { big_endian: false, ..dtype })
                    }
                    _ => return Err(self.bad("the data type has no byte order".into())),
                }
            }
            (Some(&PickleNode::Object { class, .. }), _) => PickleNode::Object { class, state },
            _ => return Err(self.bad("the state does not match its object".into())),
        };
        if let Some(old) = self.node_mut(target) {
            *old = node;
        }
        Ok(())
    }

    /// Builds an array; the number of entries is checked on access.
    fn stored(
        &self,
        shape: PickleValue,
        dtype: PickleValue,
        order: PickleValue,
        data: PickleValue,
    ) -> Result<PickledArray> {
        let shape = match self.node(shape) {
            Some(PickleNode::Tuple(sizes)) => {
                sizes.iter().take(MAX_DIMENSIONS + 1).map(size).collect()
            }
            _ => None,
        };
        let shape = shape.ok_or_else(|| self.bad("the array has no shape".into()))?;
        let Some(&PickleNode::Dtype(dtype)) = self.node(dtype) else {
            return Err(self.bad("the array has no data type".into()));
        };
        let order = match order {
            PickleValue::Bool(true) | PickleValue::Int(1) => MemoryOrder::Fortran,
            _ => MemoryOrder::C,
        };
        Ok(PickledArray { dtype, shape, order, data })
    }

    fn dtype(&mut self, name: PickleValue) -> Result<PickleValue> {
        let name = self.text_of(name).unwrap_or_default();
        let dtype = Dtype::parse(name).ok_or_else(|| {
            let shown: String = name.chars().take(20).collect();
            self.bad(format!("entries of unsupported type `{}`", shown.escape_debug()))
        })?;
        Ok(self.add(PickleNode::Dtype(dtype)))
    }

    /// Returns a NumPy scalar as a plain value.
    fn scalar(&self, dtype: PickleValue, bytes: PickleValue) -> Result<PickleValue> {
        let (Some(&PickleNode::Dtype(dtype)), Some(PickleNode::Bytes(bytes))) =
            (self.node(dtype), self.node(bytes))
        else {
            return Err(self.bad("the scalar has no data type or bytes".into()));
        };
        let place = self.input.location();
        let entry = NumpyArray::new(place, dtype, vec![], MemoryOrder::C, bytes[..].into())?;
        let value = match dtype.kind {
            DtypeKind::Bool => entry.to_bool()?.first().copied().map(PickleValue::Bool),
            DtypeKind::Int | DtypeKind::Uint => {
                entry.to_i64()?.first().copied().map(PickleValue::Int)
            }
            _ => entry.to_f64()?.first().copied().map(PickleValue::Float),
        };
        value.ok_or_else(|| self.bad("the scalar has no bytes".into()))
    }

    /// Encodes a string as Latin-1.
    fn encode(&mut self, text: PickleValue, encoding: PickleValue) -> Result<PickleValue> {
        let (Some(text), Some("latin1" | "latin-1")) = (self.text_of(text), self.text_of(encoding))
        else {
            return Err(self.bad("the encoding is not Latin-1".into()));
        };
        // Python encodes every string once; a malicious pickle could encode one string many times.
        let encoded = self.encoded + text.len();
        if encoded > self.input.bytes.len() {
            return Err(self.bad("more text is encoded than the file contains".into()));
        }
        let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
        let bytes =
            bytes.ok_or_else(|| self.bad("the string cannot be encoded as Latin-1".into()))?;
        self.encoded = encoded;
        Ok(self.add(PickleNode::Bytes(bytes.into())))
    }
}

fn size(value: &PickleValue) -> Option<usize> {
    match *value {
        PickleValue::Int(size) => usize::try_from(size).ok(),
        _ => None,
    }
}

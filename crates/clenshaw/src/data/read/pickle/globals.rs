//! The allow-list of globals, and the values built by calling them.

use super::machine::PickleMachine;
use super::{Dtype, MemoryOrder, PickleNode, PickleValue, PickledArray};
use crate::data::count;
use crate::data::read::array::MAX_DIMENSIONS;
use crate::error::Result;

/// A class or function that a pickle may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// `numpy.core.multiarray._reconstruct`, which creates an array without a state.
    Reconstruct,
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
}

/// Looks up a name in the allow-list, which includes the older names of Python 2 and NumPy 1; `None` if
/// it is not allowed.
pub(super) fn find(module: &str, name: &str) -> Option<Global> {
    Some(match (module, name) {
        ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Global::Reconstruct,
        ("numpy", "ndarray") => Global::Ndarray,
        ("numpy", "dtype") => Global::Dtype,
        ("scipy.sparse.csr" | "scipy.sparse._csr", "csr_matrix") => Global::CsrMatrix,
        ("collections", "defaultdict") => Global::DefaultDict,
        ("__builtin__" | "builtins", "list") => Global::List,
        _ => return None,
    })
}

impl PickleMachine<'_, '_> {
    /// Returns the result of calling an allowed function, as the opcode `REDUCE` does; an error if its
    /// arguments are not supported.
    pub(super) fn reduce(
        &mut self,
        function: Global,
        arguments: PickleValue,
    ) -> Result<PickleValue> {
        let Some(PickleNode::Tuple(arguments)) = self.node(arguments) else {
            return Err(self.error("the arguments of a call are not a tuple".into()));
        };
        let node = match (function, &arguments[..]) {
            (Global::Reconstruct, [PickleValue::Global(Global::Ndarray), ..]) => {
                PickleNode::Array(None)
            }
            (Global::Dtype, &[name, ..]) => PickleNode::Dtype(self.dtype(name)?),
            (Global::DefaultDict, [] | [PickleValue::Global(Global::List)]) => {
                PickleNode::Dict(vec![])
            }
            (_, arguments) => {
                let arguments = count(arguments.len(), "argument", "arguments");
                return Err(
                    self.error(format!("unsupported call to {function:?} with {arguments}"))
                );
            }
        };
        Ok(self.add(node))
    }

    /// Sets the state of an array, a data type or a matrix, as the opcode `BUILD` does; an error for other
    /// values, and if an array or a data type cannot have this state. The state of a matrix is not checked.
    pub(super) fn set_state(&mut self, target: PickleValue, state: PickleValue) -> Result<()> {
        let parts = match self.node(state) {
            Some(PickleNode::Tuple(parts)) => &parts[..],
            _ => &[],
        };
        let node = match (self.node(target), parts) {
            (Some(PickleNode::Array(_)), &[_version, shape, dtype, order, data]) => {
                PickleNode::Array(Some(Box::new(self.build_array(shape, dtype, order, data)?)))
            }
            (Some(&PickleNode::Dtype(dtype)), &[_version, order, ..]) => {
                let big_endian = match self.text(order) {
                    Some(">") => true,
                    Some("<" | "|" | "=") => false,
                    _ => return Err(self.error("the data type has no byte order".into())),
                };
                PickleNode::Dtype(Dtype { big_endian, ..dtype })
            }
            (Some(PickleNode::CsrMatrix(_)), _) => PickleNode::CsrMatrix(state),
            _ => return Err(self.error("the state does not match its object".into())),
        };
        if let Some(old) = self.node_mut(target) {
            *old = node;
        }
        Ok(())
    }

    /// Builds an array; whether the data match the shape and the type is checked when they are accessed.
    fn build_array(
        &self,
        shape: PickleValue,
        dtype: PickleValue,
        order: PickleValue,
        data: PickleValue,
    ) -> Result<PickledArray> {
        let size = |value: &PickleValue| match *value {
            PickleValue::Int(size) => usize::try_from(size).ok(),
            _ => None,
        };
        let shape = match self.node(shape) {
            Some(PickleNode::Tuple(sizes)) => {
                sizes.iter().take(MAX_DIMENSIONS + 1).map(size).collect()
            }
            _ => None,
        };
        let shape = shape
            .ok_or_else(|| self.error("the shape of the array is not a tuple of sizes".into()))?;
        let Some(&PickleNode::Dtype(dtype)) = self.node(dtype) else {
            return Err(self.error("the array has no data type".into()));
        };
        let order = match order {
            PickleValue::Bool(true) | PickleValue::Int(1) => MemoryOrder::Fortran,
            _ => MemoryOrder::C,
        };
        Ok(PickledArray { dtype, shape, order, data })
    }

    /// Parses the name of a data type; an error if it is not supported.
    fn dtype(&self, name: PickleValue) -> Result<Dtype> {
        let name = self.text(name).unwrap_or_default();
        Dtype::parse(name).ok_or_else(|| {
            let shown: String = name.chars().take(20).collect();
            self.error(format!("entries of unsupported type `{}`", shown.escape_debug()))
        })
    }

    /// Returns a string; `None` for other values.
    fn text(&self, value: PickleValue) -> Option<&str> {
        self.node(value)?.text()
    }
}

//! First pass: a model records its equations on a [`Tape`].
//!
//! ```
//! use clenshaw::tensor::{Init, Mat, Tape};
//! let mut t = Tape::new();
//! let x = t.features(Mat::from_vec(2, 1, vec![1.0, 2.0]));
//! let w = t.param("w", 1, 3, Init::Uniform(1.0), "dense");
//! let h = t.linear(x, w, None);
//! let y = t.sum([2.0 * h, -1.0 * h]);
//! assert_eq!(t.shape(y), (2, 3));
//! ```
//!
//! Every operation checks its operands and, if they do not fit, panics with a message that names the
//! operation. A tape therefore always describes a computation with matching shapes, on which later passes
//! and kernels rely.

mod operations;

use super::op::{Node, Op};
use super::value::{FeatureVar, LinearInput, NodeId, OperatorVar, Var};
use crate::tensor::aligned_vec::F32_PER_LINE;
use crate::tensor::{Mat, Operator, Sparse};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The parameter group of batch-normalisation statistics, which are observed instead of learned.
///
/// Their "gradient" in training is `running - observed`, so that a plain gradient step of rate 0.1 is the usual
/// update `running <- 0.9 running + 0.1 observed`.
pub const RUNNING: &str = "running";

/// The initial values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All zero.
    Zeros,
    /// Uniform between minus and plus this bound.
    Uniform(f64),
    /// Uniform, then scaled so that the magnitudes sum to one.
    UnitSum,
    /// These numbers, row by row.
    Values(Vec<f64>),
}

/// A learned matrix or, in the group [`RUNNING`], a running statistic.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name within the model, such as `conv.0.w`.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Its initial values.
    pub init: Init,
    /// The optimiser group it belongs to.
    pub group: &'static str,
}

/// The range of each parameter in the parameter vector.
pub(super) fn param_ranges(params: &[Param]) -> Vec<Range<usize>> {
    aligned_ranges(params.iter().map(|p| p.rows * p.cols))
}

/// Consecutive ranges of these lengths; each starts at a cache line.
pub(super) fn aligned_ranges(sizes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let next_range = |end: &mut usize, size: usize| {
        let start = std::mem::replace(end, (*end + size).next_multiple_of(F32_PER_LINE));
        Some(start..start + size)
    };
    sizes.scan(0, next_range).collect()
}

/// A recorded sequence of operations: the equations of a model.
#[derive(Clone, Debug)]
pub struct Tape {
    /// Distinguishes tapes, so that a value of another tape is rejected; clones share it.
    id: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) params: Vec<Param>,
    pub(super) operators: Vec<Operator>,
    /// Dense features and constants.
    pub(super) consts: Vec<Arc<Mat<f64>>>,
    pub(super) sparse: Vec<Arc<Sparse>>,
    /// Rows and columns of the inputs.
    pub(super) inputs: Vec<(usize, usize)>,
    /// The values named with [`Tape::name`].
    pub(super) named: Vec<(String, NodeId)>,
    /// The number of ReLUs, dropouts and attention operations recorded so far.
    n_sites: u64,
}

impl Default for Tape {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            nodes: Vec::new(),
            params: Vec::new(),
            operators: Vec::new(),
            consts: Vec::new(),
            sparse: Vec::new(),
            inputs: Vec::new(),
            named: Vec::new(),
            n_sites: 0,
        }
    }
}

/// Inputs and names.
impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows and columns of a value.
    pub fn shape(&self, v: impl LinearInput) -> (usize, usize) {
        self.dims(self.node("shape", v.var()))
    }

    /// The parameters, in the order of their declaration.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Names a value, so that [`Plan::values`](super::Plan::values) returns it.
    ///
    /// # Panics
    /// If the value belongs to another tape, or the name is already in use for a parameter or a value.
    pub fn name(&mut self, name: impl Into<String>, v: Var) {
        let (name, v) = (name.into(), self.node("name", v));
        assert!(!self.has_name(&name), "name: `{name}` given twice");
        self.named.push((name, v));
    }

    /// Dense node features.
    pub fn features(&mut self, x: Mat<f64>) -> Var {
        self.dense("features", x, true)
    }

    /// Dense node features that can be changed between two steps: every workspace has its own, initially zero, see
    /// [`Workspace::input_mut`](super::Workspace::input_mut).
    pub fn input(&mut self, rows: usize, cols: usize) -> Var {
        self.inputs.push((rows, cols));
        let op = Op::Input(self.inputs.len() - 1);
        self.push("input", op, (rows, cols), true, false)
    }

    /// A fixed matrix whose rows do not belong to nodes.
    pub fn constant(&mut self, x: Mat<f64>) -> Var {
        self.dense("constant", x, false)
    }

    /// Records a fixed matrix; `operation` is its name in panics.
    fn dense(&mut self, operation: &str, x: Mat<f64>, per_node: bool) -> Var {
        let (rows, cols) = (x.rows(), x.cols());
        self.consts.push(Arc::new(x));
        self.push(operation, Op::Dense(self.consts.len() - 1), (rows, cols), per_node, false)
    }

    /// Sparse node features.
    pub fn sparse_features(&mut self, x: Sparse) -> FeatureVar {
        let shape = (x.pattern().n_rows(), x.pattern().n_cols());
        self.sparse.push(Arc::new(x));
        let op = Op::Sparse(self.sparse.len() - 1);
        FeatureVar(self.push("sparse_features", op, shape, true, false))
    }

    /// The entries of node features, in dense form.
    ///
    /// # Panics
    /// If the features belong to another tape, or are not an input.
    pub fn feature_matrix(&self, x: FeatureVar) -> Mat<f64> {
        match self.nodes[self.node("feature_matrix", x.0)].op {
            Op::Dense(i) => self.consts[i].as_ref().clone(),
            Op::Sparse(i) => self.sparse[i].to_dense(),
            _ => panic!("feature_matrix: the features are not an input"),
        }
    }

    /// Zeros with the shape of another value; [`Tape::sum`] skips such terms.
    pub fn zeros_like(&mut self, v: Var) -> Var {
        let v = self.node("zeros_like", v);
        self.push("zeros_like", Op::Zero, self.dims(v), self.nodes[v].per_node, false)
    }

    /// Registers an operator, for the terms `P h` of [`Tape::sum`].
    pub fn operator(&mut self, operator: Operator) -> OperatorVar {
        self.operators.push(operator);
        OperatorVar { tape: self.id, index: self.operators.len() - 1 }
    }

    /// A registered operator; panics if it belongs to another tape.
    pub fn operator_of(&self, operator: OperatorVar) -> &Operator {
        &self.operators[self.operator_index("operator_of", operator)]
    }

    /// Declares a learned matrix; the arguments are the fields of [`Param`].
    ///
    /// If its rows are used as rows of nodes, for instance in a product with an operator, the plan stores all rows by
    /// node number, which may be slower: the order of [`Operator::with_order`] is then not used.
    ///
    /// # Panics
    /// If another parameter or a named value already has this name, if the matrix has no entries, or if
    /// `init` has the wrong number of values.
    pub fn param(
        &mut self,
        name: impl Into<String>,
        rows: usize,
        cols: usize,
        init: Init,
        group: &'static str,
    ) -> Var {
        let name = name.into();
        assert!(!self.has_name(&name), "param: `{name}` declared twice");
        if let Init::Values(values) = &init {
            assert_eq!(values.len(), rows * cols, "param: number of initial values of `{name}`");
        }
        self.params.push(Param { name, rows, cols, init, group });
        self.push("param", Op::Param(self.params.len() - 1), (rows, cols), false, true)
    }
}

/// Checks and bookkeeping.
impl Tape {
    /// Whether a parameter or a named value has this name.
    fn has_name(&self, name: &str) -> bool {
        self.params.iter().any(|p| p.name == name) || self.named.iter().any(|(n, _)| n == name)
    }

    /// The number of the next ReLU, dropout or attention operation, which selects the random stream of its
    /// dropout.
    fn next_site(&mut self) -> u64 {
        self.n_sites += 1;
        self.n_sites - 1
    }

    /// The node of a value; panics, naming the operation, if the value belongs to another tape.
    pub(super) fn node(&self, operation: &str, v: Var) -> NodeId {
        let is_own = v.tape == self.id && v.node < self.nodes.len();
        assert!(is_own, "{operation}: a value of another tape");
        v.node
    }

    /// The index of a value's sparse matrix; `None` if the value is dense.
    fn sparse_matrix(&self, v: NodeId) -> Option<usize> {
        match self.nodes[v].op {
            Op::Sparse(matrix) | Op::SparseDropout { matrix, .. } => Some(matrix),
            _ => None,
        }
    }

    /// Rows and columns of a node.
    fn dims(&self, v: NodeId) -> (usize, usize) {
        (self.nodes[v].rows, self.nodes[v].cols)
    }

    /// The nodes of two values; panics unless their shapes are equal.
    fn nodes_of_same_shape(&self, operation: &str, a: Var, b: Var) -> (NodeId, NodeId) {
        let (a, b) = (self.node(operation, a), self.node(operation, b));
        assert_eq!(self.dims(a), self.dims(b), "{operation}: shapes differ");
        (a, b)
    }

    /// Records an operation. Its result is per node if any input is, and needs a gradient if any input does.
    fn derive(&mut self, operation: &str, op: Op, shape: (usize, usize)) -> Var {
        let inputs = op.inputs();
        let per_node = inputs.iter().any(|v| self.nodes[*v].per_node);
        let needs_grad = inputs.iter().any(|v| self.nodes[*v].needs_grad);
        self.push(operation, op, shape, per_node, needs_grad)
    }

    /// Records an operation; panics, naming it, if its result would have no entries.
    fn push(
        &mut self,
        operation: &str,
        op: Op,
        (rows, cols): (usize, usize),
        per_node: bool,
        needs_grad: bool,
    ) -> Var {
        assert!(rows > 0 && cols > 0, "{operation}: shape [{rows}, {cols}] has no entries");
        self.nodes.push(Node { op, rows, cols, per_node, needs_grad });
        Var { tape: self.id, node: self.nodes.len() - 1 }
    }
}

#[cfg(test)]
mod tests;

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
//! Every operation checks its operands and panics with the name of the operation, so that a tape
//! always describes a computation with matching shapes. Later passes and kernels rely on this.

use super::instr::{Factor, Spmm};
use super::op::{Node, Op};
use super::value::{Coef, FeatureVar, LinearInput, NodeId, OperatorVar, Term, Var};
use crate::tensor::aligned_vec::LINE;
use crate::tensor::kernel::{Act, Map};
use crate::tensor::{Mat, Operator, Sparse};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The parameter group of batch-normalisation statistics, which are observed instead of learned.
///
/// Their "gradient" is `running - observed`, so that a plain step of rate 0.1 is the usual update
/// `running <- 0.9 running + 0.1 observed`.
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

/// A learned matrix.
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

/// The range of each parameter in the parameter vector; each starts at a cache line.
pub(super) fn ranges(params: &[Param]) -> Vec<Range<usize>> {
    let sizes = params.iter().map(|p| p.rows * p.cols);
    let next_range = |end: &mut usize, size: usize| {
        let start = std::mem::replace(end, (*end + size).next_multiple_of(LINE));
        Some(start..start + size)
    };
    sizes.scan(0, next_range).collect()
}

/// A recording of a model's equations.
#[derive(Clone, Debug)]
pub struct Tape {
    /// Distinguishes tapes, so that a value of another tape is rejected; clones share it.
    id: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) params: Vec<Param>,
    pub(super) operators: Vec<Operator>,
    pub(super) consts: Vec<Arc<Mat<f64>>>,
    pub(super) sparse: Vec<Arc<Sparse>>,
    pub(super) named: Vec<(String, NodeId)>,
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
            named: Vec::new(),
            n_sites: 0,
        }
    }
}

/// Inputs.
impl Tape {
    /// An empty recording.
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

    /// Names a value, so that [`Plan::values`](super::Plan::values) returns it after training.
    pub fn name(&mut self, name: impl Into<String>, v: Var) {
        let (name, v) = (name.into(), self.node("name", v));
        let taken = self.params.iter().map(|p| &p.name).chain(self.named.iter().map(|(n, _)| n));
        assert!(taken.into_iter().all(|other| *other != name), "name: `{name}` given twice");
        self.named.push((name, v));
    }

    /// Dense node features.
    pub fn features(&mut self, x: Mat<f64>) -> Var {
        self.dense("features", x, true)
    }

    /// A fixed matrix without a row per node.
    pub fn constant(&mut self, x: Mat<f64>) -> Var {
        self.dense("constant", x, false)
    }

    fn dense(&mut self, what: &str, x: Mat<f64>, per_node: bool) -> Var {
        let (rows, cols) = (x.rows(), x.cols());
        self.consts.push(Arc::new(x));
        self.push(what, Op::Dense(self.consts.len() - 1), (rows, cols), per_node, false)
    }

    /// Sparse node features.
    pub fn sparse_features(&mut self, x: Sparse) -> FeatureVar {
        let shape = (x.pattern().n_rows(), x.pattern().n_cols());
        self.sparse.push(Arc::new(x));
        let op = Op::Sparse(self.sparse.len() - 1);
        FeatureVar(self.push("sparse_features", op, shape, true, false))
    }

    /// Zeros in the shape of another value; terms of a sum with them are dropped.
    pub fn zeros_like(&mut self, v: Var) -> Var {
        let v = self.node("zeros_like", v);
        self.push("zeros_like", Op::Zero, self.dims(v), self.nodes[v].per_node, false)
    }

    /// Registers an operator for products with values.
    pub fn operator(&mut self, operator: Operator) -> OperatorVar {
        self.operators.push(operator);
        OperatorVar { tape: self.id, index: self.operators.len() - 1 }
    }

    /// A learned matrix.
    pub fn param(
        &mut self,
        name: impl Into<String>,
        rows: usize,
        cols: usize,
        init: Init,
        group: &'static str,
    ) -> Var {
        let name = name.into();
        assert!(self.params.iter().all(|p| p.name != name), "param: `{name}` declared twice");
        if let Init::Values(values) = &init {
            assert_eq!(values.len(), rows * cols, "param: initial values of `{name}`");
        }
        self.params.push(Param { name, rows, cols, init, group });
        self.push("param", Op::Param(self.params.len() - 1), (rows, cols), false, true)
    }
}

/// Operations.
impl Tape {
    /// The sum of terms of one shape; a one-row term among taller ones is added to every row.
    pub fn sum(&mut self, terms: impl IntoIterator<Item = Term>) -> Var {
        let terms: Vec<Term> = terms.into_iter().collect();
        let dims = |term: &Term| self.dims(self.node("sum", term.value));
        let rows = terms.iter().map(|term| dims(term).0).max().expect("sum: no terms");
        let cols = dims(&terms[0]).1;
        let (mut spmm, mut plain, mut bias) = (None, Vec::new(), None);
        for Term { coef, operator, value } in terms {
            let factor = self.factor(coef, cols);
            let src = self.node("sum", value);
            let node = &self.nodes[src];
            assert_eq!(node.cols, cols, "sum: columns differ");
            match (operator, factor) {
                _ if matches!(node.op, Op::Zero) => {}
                (Some(operator), Factor::Fixed(coef)) => {
                    let operator = self.operator_index(operator);
                    let n = self.operators[operator].n_nodes();
                    assert!(n == rows && n == node.rows, "sum: P of {n} nodes, {rows} rows");
                    let term = Spmm { operator, coef, src };
                    assert!(spmm.replace(term).is_none(), "sum: two products with an operator");
                }
                (Some(_), _) => panic!("sum: a product with an operator takes a fixed factor"),
                (None, factor) if node.rows == rows => plain.push((factor, src)),
                (None, Factor::Fixed(1.0)) if node.rows == 1 => {
                    assert!(bias.replace(src).is_none(), "sum: two one-row terms");
                }
                _ => panic!("sum: {} rows among {rows}", node.rows),
            }
        }
        self.derive("sum", Op::Sum { spmm, terms: plain, bias }, (rows, cols))
    }

    /// `x w + bias`.
    pub fn linear(&mut self, x: impl LinearInput, w: Var, bias: Option<Var>) -> Var {
        let (x, w) = (self.node("linear", x.var()), self.node("linear", w));
        let bias = bias.map(|bias| self.node("linear", bias));
        let ((rows, k), (w_rows, cols)) = (self.dims(x), self.dims(w));
        assert_eq!(k, w_rows, "linear: [{rows}, {k}] x [{w_rows}, {cols}]");
        assert!(bias.is_none_or(|b| self.dims(b) == (1, cols)), "linear: bias of {cols} columns");
        let op = match self.sparse_matrix(x) {
            Some(matrix) => Op::SparseLinear { matrix, x, w, bias },
            None => Op::Linear { x, w, bias },
        };
        self.derive("linear", op, (rows, cols))
    }

    /// `max(x, 0)`; the gradient is zero where `x <= 0`.
    pub fn relu(&mut self, x: Var) -> Var {
        self.gate("relu", x, Act::Relu, 0.0)
    }

    /// `max(x, 0)`; the gradient is zero where `x < 0` and passes at exactly zero.
    pub fn relu_star(&mut self, x: Var) -> Var {
        self.gate("relu_star", x, Act::ReluStar, 0.0)
    }

    /// Inverted dropout in training, the identity otherwise.
    pub fn dropout<X: LinearInput>(&mut self, x: X, drop: f64) -> X {
        assert!((0.0..1.0).contains(&drop), "dropout: rate {drop}; expected 0 or more, below 1");
        let node = self.node("dropout", x.var());
        if drop == 0.0 {
            return x;
        }
        let Some(matrix) = self.sparse_matrix(node) else {
            return X::from_var(self.gate("dropout", x.var(), Act::Identity, drop));
        };
        let op = Op::SparseDropout { matrix, x: node, drop, site: self.next_site() };
        X::from_var(self.derive("dropout", op, self.dims(node)))
    }

    /// Values side by side.
    pub fn concat(&mut self, parts: &[Var]) -> Var {
        let parts: Vec<NodeId> = parts.iter().map(|v| self.node("concat", *v)).collect();
        let rows = parts.first().map(|v| self.nodes[*v].rows).expect("concat: no parts");
        assert!(parts.iter().all(|v| self.nodes[*v].rows == rows), "concat: rows differ");
        let cols = parts.iter().map(|v| self.nodes[*v].cols).sum();
        self.derive("concat", Op::Concat(parts), (rows, cols))
    }

    /// `tanh x`, element-wise.
    pub fn tanh(&mut self, x: Var) -> Var {
        self.map("tanh", x, Map::Tanh)
    }

    /// `1 / (1 + e^-x)`, element-wise.
    pub fn sigmoid(&mut self, x: Var) -> Var {
        self.map("sigmoid", x, Map::Sigmoid)
    }

    /// `1 / x`, element-wise.
    pub fn reciprocal(&mut self, x: Var) -> Var {
        self.map("reciprocal", x, Map::Reciprocal)
    }

    /// `1 / x` where x is larger than `least`, 0 elsewhere.
    pub fn reciprocal_above(&mut self, x: Var, least: f64) -> Var {
        self.map("reciprocal_above", x, Map::ReciprocalAbove(least))
    }

    /// `sqrt x`, element-wise.
    pub fn root(&mut self, x: Var) -> Var {
        self.map("root", x, Map::Root)
    }

    /// `max(x, floor)`; the gradient is zero where `x <= floor`.
    pub fn at_least(&mut self, x: Var, floor: f64) -> Var {
        self.map("at_least", x, Map::AtLeast(floor))
    }

    /// `a b`, element-wise.
    pub fn product(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = self.same_shape("product", a, b);
        self.derive("product", Op::Product(a, b), self.dims(a))
    }

    /// `max(a, b)`, element-wise; the gradient goes to the larger one, and to `a` if they are equal.
    pub fn max(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = self.same_shape("max", a, b);
        self.derive("max", Op::Max(a, b), self.dims(a))
    }

    /// Row `i` of `x` times entry `(i, column)` of `by`.
    pub fn scale_rows(&mut self, x: Var, by: Var, column: usize) -> Var {
        let (x, by) = (self.node("scale_rows", x), self.node("scale_rows", by));
        let ((rows, cols), (by_rows, by_cols)) = (self.dims(x), self.dims(by));
        assert_eq!(rows, by_rows, "scale_rows: rows differ");
        assert!(column < by_cols, "scale_rows: column {column} of {by_cols}");
        self.derive("scale_rows", Op::ScaleRows { x, by, column }, (rows, cols))
    }

    /// `max(0, 1 - threshold / |x_i|) x_i` for every row; a zero row stays zero.
    pub fn shrink(&mut self, x: Var, threshold: f64) -> Var {
        let x = self.node("shrink", x);
        self.derive("shrink", Op::Shrink { x, threshold }, self.dims(x))
    }

    /// The softmax of every row.
    pub fn softmax(&mut self, x: Var) -> Var {
        let x = self.node("softmax", x);
        self.derive("softmax", Op::Softmax(x), self.dims(x))
    }

    /// The sum of the rows, `[1, cols]`.
    pub fn column_sums(&mut self, x: Var) -> Var {
        let x = self.node("column_sums", x);
        self.derive("column_sums", Op::ColumnSums(x), (1, self.nodes[x].cols))
    }

    /// The inner product of each column of `a` with the same column of `b`, `[1, cols]`.
    pub fn column_dots(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = self.same_shape("column_dots", a, b);
        self.derive("column_dots", Op::ColumnDots(a, b), (1, self.nodes[a].cols))
    }

    /// `(1, x_0, x_0 x_1, ...)` of one column, `[rows + 1, 1]`.
    pub fn running_product(&mut self, x: Var) -> Var {
        let x = self.node("running_product", x);
        let (rows, cols) = self.dims(x);
        assert_eq!(cols, 1, "running_product: one column");
        self.derive("running_product", Op::RunningProduct(x), (rows + 1, 1))
    }

    /// Batch normalisation, `(x - mean) / sqrt(var + eps) gamma + beta`.
    ///
    /// Mean and variance are those of the columns in training, their running averages otherwise.
    /// Declares `NAME.gamma` and `NAME.beta` in the group and, in [`RUNNING`], `NAME.mean` and
    /// `NAME.var`; the running variance averages the unbiased one. Ioffe & Szegedy 2015.
    pub fn batch_norm(&mut self, name: &str, x: Var, eps: f64, group: &'static str) -> Var {
        let (rows, cols) = self.dims(self.node("batch_norm", x));
        let n = rows as f64;
        let gamma =
            self.param(format!("{name}.gamma"), 1, cols, Init::Values(vec![1.0; cols]), group);
        let beta = self.param(format!("{name}.beta"), 1, cols, Init::Zeros, group);
        let mean = self.param(format!("{name}.mean"), 1, cols, Init::Zeros, RUNNING);
        let var =
            self.param(format!("{name}.var"), 1, cols, Init::Values(vec![1.0; cols]), RUNNING);

        let sums = self.column_sums(x);
        let batch = self.sum([1.0 / n * sums]);
        let mean = self.statistic(batch, batch, mean);
        let mean = self.sum([-1.0 * mean]);
        let centred = self.sum([1.0 * x, 1.0 * mean]);
        let squares = self.column_dots(centred, centred);
        let (batch, unbiased) =
            (self.sum([1.0 / n * squares]), self.sum([1.0 / (n - 1.0).max(1.0) * squares]));
        let var = self.statistic(batch, unbiased, var);

        let eps = self.constant(Mat::from_vec(1, cols, vec![eps; cols]));
        let var = self.sum([1.0 * var, 1.0 * eps]);
        let deviation = self.root(var);
        let scale = self.reciprocal(deviation);
        let scale = self.product(gamma, scale);
        self.sum([scale.row(0) * centred, 1.0 * beta])
    }
}

impl Tape {
    /// `batch` in training, when `running` follows `observed`; `running` otherwise.
    fn statistic(&mut self, batch: Var, observed: Var, running: Var) -> Var {
        let (batch, running) = self.same_shape("statistic", batch, running);
        let observed = self.node("statistic", observed);
        self.derive("statistic", Op::Statistic { batch, observed, running }, self.dims(batch))
    }

    fn map(&mut self, what: &str, x: Var, map: Map) -> Var {
        let x = self.node(what, x);
        self.derive(what, Op::Map { x, map }, self.dims(x))
    }

    fn gate(&mut self, what: &str, x: Var, act: Act, drop: f64) -> Var {
        let x = self.node(what, x);
        let site = self.next_site();
        self.derive(what, Op::Gate { x, act, drop, site }, self.dims(x))
    }

    /// The number of the next dropout, which selects its random stream.
    fn next_site(&mut self) -> u64 {
        self.n_sites += 1;
        self.n_sites - 1
    }

    /// The node of a value of this tape.
    pub(super) fn node(&self, what: &str, v: Var) -> NodeId {
        let is_own = v.tape == self.id && v.node < self.nodes.len();
        assert!(is_own, "{what}: a value of another tape");
        v.node
    }

    fn operator_index(&self, operator: OperatorVar) -> usize {
        let is_own = operator.tape == self.id && operator.index < self.operators.len();
        assert!(is_own, "sum: an operator of another tape");
        operator.index
    }

    /// A factor of a term with `cols` columns.
    fn factor(&self, coef: Coef, cols: usize) -> Factor {
        match coef {
            Coef::Fixed(c) => Factor::Fixed(c),
            Coef::Entry(v, k) => {
                let v = self.node("sum", v);
                let (rows, width) = self.dims(v);
                assert!(k < rows * width, "sum: entry {k} of [{rows}, {width}] as a factor");
                Factor::Entry(v, k)
            }
            Coef::Row(v, k) => {
                let v = self.node("sum", v);
                let (rows, width) = self.dims(v);
                assert!(k < rows && width == cols, "sum: row {k} of [{rows}, {width}] as a factor");
                Factor::Row(v, k)
            }
        }
    }

    /// The sparse matrix that a value stands for, if it is sparse.
    fn sparse_matrix(&self, v: NodeId) -> Option<usize> {
        match self.nodes[v].op {
            Op::Sparse(matrix) | Op::SparseDropout { matrix, .. } => Some(matrix),
            _ => None,
        }
    }

    fn dims(&self, v: NodeId) -> (usize, usize) {
        (self.nodes[v].rows, self.nodes[v].cols)
    }

    fn same_shape(&self, what: &str, a: Var, b: Var) -> (NodeId, NodeId) {
        let (a, b) = (self.node(what, a), self.node(what, b));
        assert_eq!(self.dims(a), self.dims(b), "{what}: shapes differ");
        (a, b)
    }

    fn derive(&mut self, what: &str, op: Op, shape: (usize, usize)) -> Var {
        let inputs = op.inputs();
        let per_node = inputs.iter().any(|v| self.nodes[*v].per_node);
        let needs_grad = inputs.iter().any(|v| self.nodes[*v].needs_grad);
        self.push(what, op, shape, per_node, needs_grad)
    }

    fn push(
        &mut self,
        what: &str,
        op: Op,
        (rows, cols): (usize, usize),
        per_node: bool,
        needs_grad: bool,
    ) -> Var {
        assert!(rows > 0 && cols > 0, "{what}: shape [{rows}, {cols}] has no entries");
        self.nodes.push(Node { op, rows, cols, per_node, needs_grad });
        Var { tape: self.id, node: self.nodes.len() - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Pattern, assert_panics};

    fn loop_operator(n: usize) -> Operator {
        let pattern = Pattern::new(n, (0..=n).collect(), (0..n as u32).collect());
        Operator::new(Arc::new(pattern), vec![1.0; n])
    }

    /// Asserts that every operation panics with a message that contains its text.
    fn assert_rejected(tape: &Tape, operations: &[(&str, &dyn Fn(&mut Tape))]) {
        for (expected, operation) in operations {
            assert_panics(&[(*expected, &|| operation(&mut tape.clone()))]);
        }
    }

    #[test]
    fn values_of_another_tape_are_rejected_by_every_operation() {
        let mut other = Tape::new();
        let theirs = other.features(Mat::zeros(2, 2));
        let their_p = other.operator(loop_operator(2));
        let mut t = Tape::new();
        let ours = t.features(Mat::zeros(2, 2));
        assert_rejected(
            &t,
            &[
                ("shape: a value of another tape", &|t| _ = t.shape(theirs)),
                ("name: a value of another tape", &|t| t.name("x", theirs)),
                ("zeros_like: a value of another tape", &|t| _ = t.zeros_like(theirs)),
                ("sum: a value of another tape", &|t| _ = t.sum([1.0 * theirs])),
                ("sum: a value of another tape", &|t| _ = t.sum([theirs.at(0) * ours])),
                ("sum: a value of another tape", &|t| _ = t.sum([theirs.row(0) * ours])),
                ("sum: an operator of another tape", &|t| _ = t.sum([their_p.of(ours)])),
                ("linear: a value of another tape", &|t| _ = t.linear(ours, theirs, None)),
                ("linear: a value of another tape", &|t| _ = t.linear(theirs, ours, None)),
                ("linear: a value of another tape", &|t| {
                    _ = t.linear(FeatureVar::from(theirs), ours, None)
                }),
                ("linear: a value of another tape", &|t| _ = t.linear(ours, ours, Some(theirs))),
                ("relu: a value of another tape", &|t| _ = t.relu(theirs)),
                ("dropout: a value of another tape", &|t| _ = t.dropout(theirs, 0.0)),
                ("concat: a value of another tape", &|t| _ = t.concat(&[ours, theirs])),
                ("tanh: a value of another tape", &|t| _ = t.tanh(theirs)),
                ("max: a value of another tape", &|t| _ = t.max(ours, theirs)),
                ("scale_rows: a value of another tape", &|t| _ = t.scale_rows(ours, theirs, 0)),
                ("column_dots: a value of another tape", &|t| _ = t.column_dots(theirs, ours)),
                ("softmax: a value of another tape", &|t| _ = t.softmax(theirs)),
                ("batch_norm: a value of another tape", &|t| {
                    _ = t.batch_norm("bn", theirs, 1e-5, "g")
                }),
            ],
        );
    }

    #[test]
    fn operands_that_do_not_fit_are_rejected() {
        let mut t = Tape::new();
        let x = t.features(Mat::zeros(3, 2));
        let row = t.constant(Mat::zeros(1, 2));
        t.param("w", 1, 2, Init::Zeros, "g");
        let p = t.operator(loop_operator(3));
        let small = t.operator(loop_operator(2));
        assert_rejected(
            &t,
            &[
                ("concat: no parts", &|t| _ = t.concat(&[])),
                ("concat: rows differ", &|t| _ = t.concat(&[x, row])),
                ("sum: no terms", &|t| _ = t.sum([])),
                ("sum: P of 3 nodes, 1 rows", &|t| _ = t.sum([p.of(row)])),
                ("sum: P of 3 nodes, 3 rows", &|t| _ = t.sum([p.of(row), 1.0 * x])),
                ("sum: P of 2 nodes, 3 rows", &|t| _ = t.sum([small.of(x)])),
                ("sum: entry 2 of [1, 2]", &|t| _ = t.sum([row.at(2) * x])),
                ("sum: row 1 of [1, 2]", &|t| _ = t.sum([row.row(1) * x])),
                ("dropout: rate 1", &|t| _ = t.dropout(x, 1.0)),
                ("dropout: rate NaN", &|t| _ = t.dropout(x, f64::NAN)),
                ("param: shape [0, 2]", &|t| _ = t.param("v", 0, 2, Init::Zeros, "g")),
                ("features: shape [3, 0]", &|t| _ = t.features(Mat::zeros(3, 0))),
                ("constant: shape [0, 4]", &|t| _ = t.constant(Mat::zeros(0, 4))),
                ("name: `w` given twice", &|t| t.name("w", row)),
            ],
        );
    }

    #[test]
    fn sparse_features_stay_sparse_through_dropout() {
        let pattern = Pattern::new(3, vec![0, 1, 2], vec![0, 2]);
        let mut t = Tape::new();
        let x = t.sparse_features(Sparse::new(pattern, vec![1.0, 2.0]));
        let dropped = t.dropout(x, 0.5);
        let w = t.param("w", 3, 4, Init::Zeros, "g");
        let y = t.linear(dropped, w, None);
        assert_eq!((t.shape(dropped), t.shape(y)), ((2, 3), (2, 4)));
        assert!(matches!(t.nodes[y.node].op, Op::SparseLinear { matrix: 0, .. }));
    }
}

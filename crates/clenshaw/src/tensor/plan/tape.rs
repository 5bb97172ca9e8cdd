//! What a model computes, written down: the words a model file is made of.
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

use crate::tensor::aligned_vec::LINE;
use crate::tensor::kernel::{Act, Map};
use crate::tensor::{Mat, Operator, Sparse};
use std::ops::{Mul, Range};
use std::sync::Arc;

/// A value on the tape: a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(pub(super) usize);

/// An operator registered on the tape: P or P~.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorVar(pub(super) usize);

/// A factor in a sum: a number, an entry of a learned row, or a number for every column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coef {
    /// A fixed number.
    Fixed(f64),
    /// Entry `.1` of the one-row value `.0`.
    At(Var, usize),
    /// Row `.1` of the value `.0`: a factor for each column.
    Row(Var, usize),
}

impl Coef {
    /// The value it is read from.
    pub(super) fn source(self) -> Option<Var> {
        match self {
            Self::Fixed(_) => None,
            Self::At(v, _) | Self::Row(v, _) => Some(v),
        }
    }
}

impl From<f64> for Coef {
    fn from(c: f64) -> Self {
        Self::Fixed(c)
    }
}

/// The group of what is observed in training instead of learned: batch normalisation's statistics.
///
/// Its "gradient" is `running - observed`, so that a plain step of rate 0.1 is the usual update
/// `running <- 0.9 running + 0.1 observed`.
pub const RUNNING: &str = "running";

/// One term of [`Tape::sum`]: `coef value` or `coef P value`.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    pub(super) coef: Coef,
    pub(super) spread: Option<OperatorVar>,
    pub(super) value: Var,
}

impl OperatorVar {
    /// `P h`.
    pub fn of(self, h: Var) -> Term {
        Term { coef: Coef::Fixed(1.0), spread: Some(self), value: h }
    }
}

impl Var {
    /// Entry `k` of a one-row value, as a factor.
    pub fn at(self, k: usize) -> Coef {
        Coef::At(self, k)
    }

    /// Row `k` of a value, as a factor for each column.
    pub fn row(self, k: usize) -> Coef {
        Coef::Row(self, k)
    }
}

impl Mul<Var> for f64 {
    type Output = Term;

    fn mul(self, value: Var) -> Term {
        Term { coef: Coef::Fixed(self), spread: None, value }
    }
}

impl Mul<Var> for Coef {
    type Output = Term;

    fn mul(self, value: Var) -> Term {
        Term { coef: self, spread: None, value }
    }
}

impl Mul<Term> for f64 {
    type Output = Term;

    fn mul(self, term: Term) -> Term {
        match term.coef {
            Coef::Fixed(c) => Term { coef: Coef::Fixed(self * c), ..term },
            _ => panic!("term: a learned factor takes no second factor"),
        }
    }
}

/// How a parameter starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All zero.
    Zeros,
    /// Uniform between minus and plus this bound.
    Uniform(f64),
    /// Uniform, then scaled until the magnitudes add up to one.
    UnitSum,
    /// These numbers, row by row.
    Values(Vec<f64>),
}

/// A learned matrix.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name within the model, `conv.0.w`.
    pub name: String,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// How it starts.
    pub init: Init,
    /// The optimiser group it belongs to.
    pub group: &'static str,
}

/// Where each parameter stands in the parameter vector: every one starts a cache line.
pub(super) fn ranges(params: &[Param]) -> Vec<Range<usize>> {
    let sizes = params.iter().map(|p| p.rows * p.cols);
    let place = |at: &mut usize, size: usize| {
        let start = std::mem::replace(at, (*at + size).next_multiple_of(LINE));
        Some(start..start + size)
    };
    sizes.scan(0, place).collect()
}

/// An operation; its inputs are earlier values.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Dense(Arc<Mat<f64>>),
    Sparse(Arc<Sparse>),
    Zero,
    Param(usize),
    Sum { spread: Option<(OperatorVar, f64, Var)>, terms: Vec<(Coef, Var)>, bias: Option<Var> },
    Linear { x: Var, w: Var, bias: Option<Var> },
    Gate { x: Var, act: Act, drop: f64, site: u64 },
    Concat(Vec<Var>),
    Map { x: Var, map: Map },
    Product(Var, Var),
    Max(Var, Var),
    ScaleRows { x: Var, by: Var, column: usize },
    Shrink { x: Var, threshold: f64 },
    Softmax(Var),
    ColumnSums(Var),
    ColumnDots(Var, Var),
    RunningProduct(Var),
    Statistic { batch: Var, observed: Var, running: Var },
}

/// A value: its operation and its shape.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub op: Op,
    pub rows: usize,
    pub cols: usize,
    /// It has a row per node of the graph, or comes from something that has.
    pub per_node: bool,
    /// Some parameter is behind it.
    pub learns: bool,
}

/// A recording of a model's equations.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(super) nodes: Vec<Node>,
    pub(super) params: Vec<Param>,
    pub(super) operators: Vec<Operator>,
    pub(super) named: Vec<(String, Var)>,
    n_sites: u64,
}

impl Tape {
    /// An empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows and columns of a value.
    pub fn shape(&self, v: Var) -> (usize, usize) {
        (self.nodes[v.0].rows, self.nodes[v.0].cols)
    }

    /// The parameters, in the order of their declaration.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Gives a value a name, by which [`Plan::values`](super::Plan::values) shows it after training.
    pub fn name(&mut self, name: impl Into<String>, v: Var) {
        let name = name.into();
        let taken = self.params.iter().map(|p| &p.name).chain(self.named.iter().map(|(n, _)| n));
        assert!(taken.into_iter().all(|other| *other != name), "name: `{name}` given twice");
        self.named.push((name, v));
    }

    /// Dense node features.
    pub fn features(&mut self, x: Mat<f64>) -> Var {
        let (rows, cols) = (x.rows(), x.cols());
        self.push(Op::Dense(Arc::new(x)), rows, cols, true, false)
    }

    /// Sparse node features; only [`Tape::dropout`] and [`Tape::linear`] take them.
    pub fn sparse_features(&mut self, x: Sparse) -> Var {
        let (rows, cols) = (x.pattern.n_rows(), x.pattern.n_cols());
        self.push(Op::Sparse(Arc::new(x)), rows, cols, true, false)
    }

    /// A fixed matrix that is not about nodes.
    pub fn constant(&mut self, x: Mat<f64>) -> Var {
        let (rows, cols) = (x.rows(), x.cols());
        self.push(Op::Dense(Arc::new(x)), rows, cols, false, false)
    }

    /// Zeros in the shape of another value; they vanish from every sum.
    pub fn zeros_like(&mut self, v: Var) -> Var {
        let (rows, cols) = self.shape(v);
        self.push(Op::Zero, rows, cols, self.nodes[v.0].per_node, false)
    }

    /// An operator to spread values with.
    pub fn operator(&mut self, operator: Operator) -> OperatorVar {
        self.operators.push(operator);
        OperatorVar(self.operators.len() - 1)
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
        self.push(Op::Param(self.params.len() - 1), rows, cols, false, true)
    }

    /// The sum of terms of one shape; a one-row term among taller ones is added to every row.
    pub fn sum(&mut self, terms: impl IntoIterator<Item = Term>) -> Var {
        let terms: Vec<Term> = terms.into_iter().collect();
        let rows =
            terms.iter().map(|term| self.nodes[term.value.0].rows).max().expect("sum: no terms");
        let cols = self.nodes[terms[0].value.0].cols;
        let (mut spread, mut plain, mut bias) = (None, Vec::new(), None);
        for Term { coef, spread: by, value } in terms {
            let node = &self.nodes[value.0];
            assert_eq!(node.cols, cols, "sum: columns differ");
            if let Coef::Row(row, k) = coef {
                let (rows, width) = self.shape(row);
                assert!(k < rows && width == cols, "sum: row {k} of [{rows}, {width}] as a factor");
            }
            match (by, coef) {
                _ if matches!(node.op, Op::Zero) => {}
                (Some(by), Coef::Fixed(c)) => {
                    assert_eq!(self.operators[by.0].pattern.n_rows(), rows, "sum: operator's size");
                    assert!(spread.replace((by, c, value)).is_none(), "sum: two spread terms");
                }
                (Some(_), _) => panic!("sum: a spread term takes a fixed factor"),
                (None, coef) if node.rows == rows => plain.push((coef, value)),
                (None, Coef::Fixed(1.0)) if node.rows == 1 => {
                    assert!(bias.replace(value).is_none(), "sum: two one-row terms");
                }
                _ => panic!("sum: {} rows among {rows}", node.rows),
            }
        }
        let inputs = plain.iter().flat_map(|&(coef, v)| [coef.source(), Some(v)]);
        let inputs: Vec<Var> =
            inputs.flatten().chain(spread.map(|(_, _, v)| v)).chain(bias).collect();
        self.derive(Op::Sum { spread, terms: plain, bias }, rows, cols, &inputs)
    }

    /// `x w + bias`.
    pub fn linear(&mut self, x: Var, w: Var, bias: Option<Var>) -> Var {
        let ((rows, k), (w_rows, cols)) = (self.shape(x), self.shape(w));
        assert_eq!(k, w_rows, "linear: [{rows}, {k}] x [{w_rows}, {cols}]");
        assert!(bias.is_none_or(|b| self.shape(b) == (1, cols)), "linear: bias of {cols} columns");
        let inputs: Vec<Var> = [x, w].into_iter().chain(bias).collect();
        self.derive(Op::Linear { x, w, bias }, rows, cols, &inputs)
    }

    /// `max(x, 0)`; the gradient stops where x is zero or less.
    pub fn relu(&mut self, x: Var) -> Var {
        self.gate(x, Act::Relu, 0.0)
    }

    /// `max(x, 0)`; the gradient stops only where x is negative and passes at exactly zero.
    pub fn relu_star(&mut self, x: Var) -> Var {
        self.gate(x, Act::ReluStar, 0.0)
    }

    /// Inverted dropout while training, the identity otherwise.
    pub fn dropout(&mut self, x: Var, drop: f64) -> Var {
        if drop == 0.0 { x } else { self.gate(x, Act::Identity, drop) }
    }

    /// Values side by side.
    pub fn concat(&mut self, parts: &[Var]) -> Var {
        let rows = self.shape(parts[0]).0;
        assert!(parts.iter().all(|v| self.shape(*v).0 == rows), "concat: rows differ");
        let cols = parts.iter().map(|v| self.shape(*v).1).sum();
        self.derive(Op::Concat(parts.to_vec()), rows, cols, parts)
    }

    /// `tanh x`, entry by entry.
    pub fn tanh(&mut self, x: Var) -> Var {
        self.map(x, Map::Tanh)
    }

    /// `1 / (1 + e^-x)`, entry by entry.
    pub fn sigmoid(&mut self, x: Var) -> Var {
        self.map(x, Map::Sigmoid)
    }

    /// `1 / x`, entry by entry.
    pub fn reciprocal(&mut self, x: Var) -> Var {
        self.map(x, Map::Reciprocal)
    }

    /// `1 / x` where x is larger than `least`, 0 elsewhere.
    pub fn reciprocal_above(&mut self, x: Var, least: f64) -> Var {
        self.map(x, Map::ReciprocalAbove(least))
    }

    /// `sqrt x`, entry by entry.
    pub fn root(&mut self, x: Var) -> Var {
        self.map(x, Map::Root)
    }

    /// `max(x, floor)`; the gradient stops where x is at the floor or below.
    pub fn at_least(&mut self, x: Var, floor: f64) -> Var {
        self.map(x, Map::AtLeast(floor))
    }

    /// `a b`, entry by entry.
    pub fn product(&mut self, a: Var, b: Var) -> Var {
        let (rows, cols) = self.same_shape("product", a, b);
        self.derive(Op::Product(a, b), rows, cols, &[a, b])
    }

    /// `max(a, b)`, entry by entry; the gradient goes to the larger, and to `a` of equals.
    pub fn max(&mut self, a: Var, b: Var) -> Var {
        let (rows, cols) = self.same_shape("max", a, b);
        self.derive(Op::Max(a, b), rows, cols, &[a, b])
    }

    /// Row `i` of `x` times entry `(i, column)` of `by`.
    pub fn scale_rows(&mut self, x: Var, by: Var, column: usize) -> Var {
        let ((rows, cols), (by_rows, by_cols)) = (self.shape(x), self.shape(by));
        assert_eq!(rows, by_rows, "scale_rows: rows differ");
        assert!(column < by_cols, "scale_rows: column {column} of {by_cols}");
        self.derive(Op::ScaleRows { x, by, column }, rows, cols, &[x, by])
    }

    /// `max(0, 1 - threshold / |x_i|) x_i` for every row; a zero row stays zero.
    pub fn shrink(&mut self, x: Var, threshold: f64) -> Var {
        let (rows, cols) = self.shape(x);
        self.derive(Op::Shrink { x, threshold }, rows, cols, &[x])
    }

    /// Every row turned into shares that sum to one.
    pub fn softmax(&mut self, x: Var) -> Var {
        let (rows, cols) = self.shape(x);
        self.derive(Op::Softmax(x), rows, cols, &[x])
    }

    /// The sum of the rows, `[1, cols]`.
    pub fn column_sums(&mut self, x: Var) -> Var {
        let cols = self.shape(x).1;
        self.derive(Op::ColumnSums(x), 1, cols, &[x])
    }

    /// The inner product of each column of `a` with the same of `b`, `[1, cols]`.
    pub fn column_dots(&mut self, a: Var, b: Var) -> Var {
        let (_, cols) = self.same_shape("column_dots", a, b);
        self.derive(Op::ColumnDots(a, b), 1, cols, &[a, b])
    }

    /// `(1, x_0, x_0 x_1, ...)` of one column, `[rows + 1, 1]`.
    pub fn running_product(&mut self, x: Var) -> Var {
        let (rows, cols) = self.shape(x);
        assert_eq!(cols, 1, "running_product: one column");
        self.derive(Op::RunningProduct(x), rows + 1, 1, &[x])
    }

    /// `(x - mean) / sqrt(var + eps) gamma + beta` with the columns' own mean and variance in training,
    /// their running averages otherwise.
    ///
    /// Declares `NAME.gamma` and `NAME.beta` in the group and, in [`RUNNING`], `NAME.mean` and
    /// `NAME.var`; the running variance averages the unbiased one. Ioffe & Szegedy 2015.
    pub fn batch_norm(&mut self, name: &str, x: Var, eps: f64, group: &'static str) -> Var {
        let (rows, cols) = self.shape(x);
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

    /// `batch` in training, when `running` follows `observed`; `running` otherwise.
    fn statistic(&mut self, batch: Var, observed: Var, running: Var) -> Var {
        let (rows, cols) = self.same_shape("statistic", batch, running);
        let op = Op::Statistic { batch, observed, running };
        self.derive(op, rows, cols, &[batch, observed, running])
    }

    fn same_shape(&self, what: &str, a: Var, b: Var) -> (usize, usize) {
        assert_eq!(self.shape(a), self.shape(b), "{what}: shapes differ");
        self.shape(a)
    }

    fn map(&mut self, x: Var, map: Map) -> Var {
        let (rows, cols) = self.shape(x);
        self.derive(Op::Map { x, map }, rows, cols, &[x])
    }

    fn gate(&mut self, x: Var, act: Act, drop: f64) -> Var {
        let (rows, cols) = self.shape(x);
        let site = self.n_sites;
        self.n_sites += 1;
        self.derive(Op::Gate { x, act, drop, site }, rows, cols, &[x])
    }

    fn derive(&mut self, op: Op, rows: usize, cols: usize, inputs: &[Var]) -> Var {
        let per_node = inputs.iter().any(|v| self.nodes[v.0].per_node);
        let learns = inputs.iter().any(|v| self.nodes[v.0].learns);
        self.push(op, rows, cols, per_node, learns)
    }

    fn push(&mut self, op: Op, rows: usize, cols: usize, per_node: bool, learns: bool) -> Var {
        self.nodes.push(Node { op, rows, cols, per_node, learns });
        Var(self.nodes.len() - 1)
    }
}

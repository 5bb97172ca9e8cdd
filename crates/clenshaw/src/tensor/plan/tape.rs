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

use crate::tensor::kernel::Act;
use crate::tensor::{Mat, Operator, Sparse};
use std::ops::Mul;
use std::sync::Arc;

/// A value on the tape: a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(pub(super) usize);

/// An operator registered on the tape: P or P~.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread(pub(super) usize);

/// A factor in a sum: a number, or an entry of a learned row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coef {
    /// A fixed number.
    Fixed(f64),
    /// Entry `.1` of the one-row value `.0`.
    At(Var, usize),
}

/// One term of [`Tape::sum`]: `coef value` or `coef P value`.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    pub(super) coef: Coef,
    pub(super) spread: Option<Spread>,
    pub(super) value: Var,
}

impl Spread {
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
            Coef::At(..) => panic!("term: a learned factor takes no second factor"),
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

/// An operation; its inputs are earlier values.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Dense(Arc<Mat<f64>>),
    Sparse(Arc<Sparse>),
    Zero,
    Param(usize),
    Sum { spread: Option<(Spread, f64, Var)>, terms: Vec<(Coef, Var)>, bias: Option<Var> },
    Linear { x: Var, w: Var, bias: Option<Var> },
    Gate { x: Var, act: Act, drop: f64, site: u64 },
    Concat(Vec<Var>),
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
    pub fn operator(&mut self, operator: Operator) -> Spread {
        self.operators.push(operator);
        Spread(self.operators.len() - 1)
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
            match (by, coef) {
                _ if matches!(node.op, Op::Zero) => {}
                (Some(by), Coef::Fixed(c)) => {
                    assert_eq!(self.operators[by.0].pattern.n_rows(), rows, "sum: operator's size");
                    assert!(spread.replace((by, c, value)).is_none(), "sum: two spread terms");
                }
                (Some(_), Coef::At(..)) => panic!("sum: a spread term takes a fixed factor"),
                (None, coef) if node.rows == rows => plain.push((coef, value)),
                (None, Coef::Fixed(1.0)) if node.rows == 1 => {
                    assert!(bias.replace(value).is_none(), "sum: two one-row terms");
                }
                _ => panic!("sum: {} rows among {rows}", node.rows),
            }
        }
        let inputs = plain.iter().flat_map(|&(coef, v)| match coef {
            Coef::At(row, _) => [Some(row), Some(v)],
            Coef::Fixed(_) => [None, Some(v)],
        });
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

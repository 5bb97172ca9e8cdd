//! Handles to the values on a tape, and the terms of sums.

use crate::tensor::HeadLayout;
use std::ops::Mul;

/// The index of a value on its tape.
pub(super) type NodeId = usize;

/// A dense matrix on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    pub(super) tape: u64,
    pub(super) node: NodeId,
}

/// Node features on a tape, dense or sparse, possibly after dropout.
///
/// The only operations that accept it are [`Tape::dropout`] and [`Tape::linear`]; all others read dense
/// matrices.
///
/// [`Tape::dropout`]: super::Tape::dropout
/// [`Tape::linear`]: super::Tape::linear
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureVar(pub(super) Var);

impl From<Var> for FeatureVar {
    fn from(x: Var) -> Self {
        Self(x)
    }
}

/// The inputs that [`Tape::linear`] and [`Tape::dropout`] accept: [`Var`] and [`FeatureVar`].
///
/// [`Tape::dropout`]: super::Tape::dropout
/// [`Tape::linear`]: super::Tape::linear
pub trait LinearInput: Copy + sealed::AnyVar {}

impl LinearInput for Var {}
impl LinearInput for FeatureVar {}

mod sealed {
    use super::{FeatureVar, Var};

    /// Sealed, because these conversions could turn sparse features into a [`Var`], which must be dense.
    pub trait AnyVar {
        fn var(self) -> Var;
        fn from_var(var: Var) -> Self;
    }

    impl AnyVar for Var {
        fn var(self) -> Var {
            self
        }
        fn from_var(var: Var) -> Self {
            var
        }
    }

    impl AnyVar for FeatureVar {
        fn var(self) -> Var {
            self.0
        }
        fn from_var(var: Var) -> Self {
            Self(var)
        }
    }
}

/// An operator registered on a tape, such as P or P~.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorVar {
    pub(super) tape: u64,
    pub(super) index: usize,
}

/// The inputs and settings of [`Tape::attention`](super::Tape::attention).
#[derive(Clone, Copy, Debug)]
pub struct AttentionInputs {
    /// The rows to be averaged, `[n, cols]`.
    pub values: Var,
    /// The score of every node as a neighbour, `[n, heads]`.
    pub source: Var,
    /// The score of every node whose neighbours are averaged, `[n, heads]`.
    pub destination: Var,
    /// Which columns of `values` belong to which head.
    pub layout: HeadLayout,
    /// The factor by which the leaky ReLU multiplies negative sums of two scores.
    pub slope: f64,
    /// The rate of dropout on the weights of the neighbours.
    pub dropout: f64,
}

/// A factor in a sum: a number, an entry of a value, or one number per column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coef {
    /// A fixed number.
    Fixed(f64),
    /// Entry `.1` of the value `.0`, in row-major order.
    Entry(Var, usize),
    /// Row `.1` of the value `.0`: a factor per column.
    Row(Var, usize),
}

impl From<f64> for Coef {
    fn from(c: f64) -> Self {
        Self::Fixed(c)
    }
}

/// One term of [`Tape::sum`](super::Tape::sum): `coef value` or `coef P value`.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    pub(super) coef: Coef,
    pub(super) operator: Option<OperatorVar>,
    pub(super) value: Var,
}

impl OperatorVar {
    /// The term `P h` of a sum.
    pub fn apply(self, h: Var) -> Term {
        Term { coef: Coef::Fixed(1.0), operator: Some(self), value: h }
    }
}

impl Var {
    /// Entry `k` of a value, in row-major order, as a factor.
    pub fn entry(self, k: usize) -> Coef {
        Coef::Entry(self, k)
    }

    /// Row `k` of a value, as a factor per column.
    pub fn row(self, k: usize) -> Coef {
        Coef::Row(self, k)
    }
}

impl Mul<Var> for f64 {
    type Output = Term;

    fn mul(self, value: Var) -> Term {
        Term { coef: Coef::Fixed(self), operator: None, value }
    }
}

impl Mul<Var> for Coef {
    type Output = Term;

    fn mul(self, value: Var) -> Term {
        Term { coef: self, operator: None, value }
    }
}

impl Mul<Term> for f64 {
    type Output = Term;

    /// Scales a term.
    ///
    /// # Panics
    /// If the coefficient of the term is not a fixed number.
    fn mul(self, term: Term) -> Term {
        match term.coef {
            Coef::Fixed(c) => Term { coef: Coef::Fixed(self * c), ..term },
            _ => panic!("term: cannot scale a term that has a learned coefficient"),
        }
    }
}

//! The fixed inputs of a plan, in its precision and in its order of nodes.

use super::instr::Work;
use super::op::Op;
use super::record::Tape;
use super::schedule::SparseRows;
use super::targets::cast;
use crate::tensor::{Mat, NodeOrder, Operator, OperatorLayout, Pattern, Real, Sparse};
use std::sync::Arc;

/// The matrices and operators of a tape.
pub(super) struct Constants<T> {
    /// The order in which dense matrices store the rows of nodes; `None` for the order of their numbers.
    pub order: Option<Arc<NodeOrder>>,
    pub dense: Vec<Mat<T>>,
    pub sparse: Vec<SparseMatrix<T>>,
    pub operators: Vec<ScaledPattern<T>>,
}

/// A sparse matrix with its transpose.
pub(super) struct SparseMatrix<T> {
    /// The positions of the entries; row `i` is that of node `i`, regardless of the order in memory.
    pub pattern: Pattern,
    /// The values of the entries of `pattern`.
    pub values: Vec<T>,
    /// The start of each column in `transposed_rows`, and the end of the last one.
    pub transposed_offsets: Vec<usize>,
    /// The rows in memory of the entries of each column, by ascending node number.
    pub transposed_rows: Vec<u32>,
    /// For each transposed entry, the index of its value.
    pub value_index: Vec<u32>,
}

impl<T: Real> SparseMatrix<T> {
    fn new(x: &Sparse, order: Option<&NodeOrder>) -> Self {
        let (transposed, value_index) = x.pattern().transpose();
        let row = |&node: &u32| order.map_or(node, |order| order.rows()[node as usize]);
        Self {
            pattern: x.pattern().clone(),
            values: cast(x.values()),
            transposed_offsets: transposed.offsets().to_vec(),
            transposed_rows: transposed.indices().iter().map(row).collect(),
            value_index,
        }
    }
}

/// An operator `diag(scale) A diag(scale)` in the precision of the plan.
pub(super) struct ScaledPattern<T> {
    /// The operator in f64, with the positions of its entries.
    pub layout: Arc<OperatorLayout>,
    /// The entries of A; `None` means that all of them are 1.
    pub values: Option<Vec<T>>,
    /// The scale factor of each row.
    pub scale: Vec<T>,
}

impl<T: Real> ScaledPattern<T> {
    fn new(layout: Arc<OperatorLayout>) -> Self {
        let values = layout.values.as_ref().map(|values| cast(values));
        Self { values, scale: cast(&layout.scale), layout }
    }

    /// The number of rows and slots of shared sums that a product reads.
    pub fn n_reads(&self) -> usize {
        let shared = self.layout.shared.as_ref();
        shared.map_or(self.layout.pattern.n_entries(), |shared| shared.n_reads())
    }
}

/// How a plan stores node matrices and executes products with operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanForm {
    /// Rows in the order that all operators have in common, if there is one and the tape permits it; products may
    /// share sums between rows.
    Fast,
    /// Rows in the order of the node numbers, and no shared sums.
    Plain,
}

/// The order of the nodes that all operators of a tape have in common, if there is one.
fn common_order(tape: &Tape) -> Option<Arc<NodeOrder>> {
    let first = tape.operators.first()?.order()?;
    let has_first = |operator: &Operator| operator.order() == Some(first);
    tape.operators.iter().all(has_first).then(|| Arc::clone(first))
}

impl<T: Real> Constants<T> {
    /// The constants of a tape.
    pub fn new(tape: &Tape, form: PlanForm) -> Self {
        let order = match form {
            PlanForm::Fast => common_order(tape).filter(|_| tape.permits_node_order()),
            PlanForm::Plain => None,
        };
        let layout = |operator: &Operator| match form {
            PlanForm::Fast if operator.order().is_some() == order.is_some() => operator.layout(),
            _ => Arc::new(operator.plain_layout()),
        };
        let operators = tape.operators.iter().map(|operator| ScaledPattern::new(layout(operator)));
        let sparse = tape.sparse.iter().map(|x| SparseMatrix::new(x, order.as_deref()));
        let mut dense: Vec<Mat<T>> = tape.consts.iter().map(|x| x.cast()).collect();
        if let Some(order) = &order {
            for node in tape.nodes.iter().filter(|node| node.per_node) {
                if let Op::Dense(i) = node.op {
                    let rows = order.reorder_rows(node.cols, dense[i].as_slice());
                    dense[i] = Mat::from_vec(node.rows, node.cols, rows);
                }
            }
        }
        let (operators, sparse) = (operators.collect(), sparse.collect());
        Self { order, dense, sparse, operators }
    }

    /// The rows of the sparse matrix that an instruction iterates over, if there is one.
    pub fn sparse_rows(&self, work: &Work) -> Option<SparseRows<'_>> {
        let plain = |offsets| Some(SparseRows { offsets, chunks: None, n_slots: 0 });
        match *work {
            Work::Elementwise | Work::Product { .. } => None,
            Work::Spmm { operator, .. } => {
                let layout = &self.operators[operator].layout;
                let shared = layout.shared.as_ref();
                Some(SparseRows {
                    offsets: layout.pattern.offsets(),
                    chunks: shared.map(|shared| shared.chunks()),
                    n_slots: shared.map_or(0, |shared| shared.n_slots()),
                })
            }
            Work::Attention { operator, .. } => {
                plain(self.operators[operator].layout.pattern.offsets())
            }
            Work::SparseMatMul { matrix, .. } => plain(self.sparse[matrix].pattern.offsets()),
            Work::SparseTransposeMatMul { matrix, .. } => {
                plain(&self.sparse[matrix].transposed_offsets)
            }
        }
    }
}

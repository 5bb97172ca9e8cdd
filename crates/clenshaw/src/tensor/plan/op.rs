//! The operations that a tape records.

use super::instr::{EdgeSoftmax, Factor, Spmm};
use super::value::NodeId;
use crate::tensor::kernel::{Act, Map};

/// An operation, whose inputs are earlier values; [`Tape`](super::Tape) describes the operations.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Dense matrix number `.0` of the tape.
    Dense(usize),
    /// Input number `.0` of the tape, whose values belong to a workspace.
    Input(usize),
    /// Sparse matrix number `.0` of the tape.
    Sparse(usize),
    /// Zeros.
    Zero,
    /// Parameter number `.0` of the tape.
    Param(usize),
    Sum {
        spmm: Option<Spmm>,
        terms: Vec<(Factor, NodeId)>,
        bias: Option<NodeId>,
    },
    Linear {
        x: NodeId,
        w: NodeId,
        bias: Option<NodeId>,
    },
    /// `Linear` for sparse matrix number `matrix`, whose values are `x`.
    SparseLinear {
        matrix: usize,
        x: NodeId,
        w: NodeId,
        bias: Option<NodeId>,
    },
    /// An activation, a dropout (with `Act::Identity`), or both after `fuse`. `site` is its number on the
    /// tape.
    Gate {
        x: NodeId,
        act: Act,
        drop: f64,
        site: u64,
    },
    /// Dropout of the values of sparse matrix number `matrix`.
    SparseDropout {
        matrix: usize,
        x: NodeId,
        drop: f64,
        site: u64,
    },
    /// `site` is the number of its dropout on the tape.
    Attention {
        softmax: EdgeSoftmax,
        drop: f64,
        site: u64,
    },
    Concat(Vec<NodeId>),
    /// A function of every entry.
    Map {
        x: NodeId,
        map: Map,
    },
    Product(NodeId, NodeId),
    Max(NodeId, NodeId),
    ScaleRows {
        x: NodeId,
        by: NodeId,
        column: usize,
    },
    Shrink {
        x: NodeId,
        threshold: f64,
    },
    Softmax(NodeId),
    Standardise {
        x: NodeId,
        eps: f64,
    },
    ColumnSums(NodeId),
    ColumnDots(NodeId, NodeId),
    InnerProducts(NodeId, NodeId),
    Transpose(NodeId),
    RunningProduct(NodeId),
    /// `batch` in training, where `running` is updated with `observed`; `running` otherwise.
    Statistic {
        batch: NodeId,
        observed: NodeId,
        running: NodeId,
    },
}

impl Op {
    /// The values that the operation reads.
    pub fn inputs(&self) -> Vec<NodeId> {
        match self {
            Self::Dense(_) | Self::Input(_) | Self::Sparse(_) | Self::Zero | Self::Param(_) => {
                vec![]
            }
            Self::Sum { spmm, terms, bias } => {
                let factors = terms.iter().filter_map(|(factor, _)| factor.source());
                let terms = terms.iter().map(|(_, v)| *v);
                terms.chain(factors).chain(spmm.map(|spmm| spmm.src)).chain(*bias).collect()
            }
            Self::Linear { x, w, bias } | Self::SparseLinear { x, w, bias, .. } => {
                [*x, *w].into_iter().chain(*bias).collect()
            }
            Self::Gate { x, .. }
            | Self::SparseDropout { x, .. }
            | Self::Map { x, .. }
            | Self::Shrink { x, .. }
            | Self::Softmax(x)
            | Self::Standardise { x, .. }
            | Self::ColumnSums(x)
            | Self::Transpose(x)
            | Self::RunningProduct(x) => vec![*x],
            Self::Product(a, b)
            | Self::Max(a, b)
            | Self::ColumnDots(a, b)
            | Self::InnerProducts(a, b) => vec![*a, *b],
            Self::ScaleRows { x, by, .. } => vec![*x, *by],
            Self::Statistic { batch, observed, running } => vec![*batch, *observed, *running],
            Self::Attention { softmax, .. } => {
                vec![softmax.values, softmax.source, softmax.destination]
            }
            Self::Concat(parts) => parts.clone(),
        }
    }
}

/// A value: its operation and its shape.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub op: Op,
    pub rows: usize,
    pub cols: usize,
    /// Whether it holds node features, is computed from them, or replaces such a value with zeros. Its rows
    /// need not belong to nodes: a sum over the nodes has a single row.
    pub per_node: bool,
    /// Whether its gradient is needed; by default, if it is a parameter or depends on one.
    pub needs_grad: bool,
}

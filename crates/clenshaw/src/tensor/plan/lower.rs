//! Third pass: the forward pass as instructions.

use super::fuse::{PassMode, fuse};
use super::instr::{Buf, BufKind, Dropout, Factor, Instr, Listing, Mask, Spmm};
use super::op::{Node, Op};
use super::record::{Tape, ranges};
use super::value::NodeId;
use crate::rng::Bernoulli;
use crate::tensor::kernel::{Act, MAX_TERMS};

/// The instructions of a forward pass, and the buffer of every value.
pub(super) struct ForwardPass {
    pub nodes: Vec<Node>,
    pub list: Listing,
    /// `None` for a value that is not needed.
    pub values: Vec<Option<Buf>>,
    /// For each gate that a backward pass needs: its mask, and the factor of the entries that pass.
    pub gates: Vec<Option<(Mask, f64)>>,
    /// Offsets of the parameters in the parameter vector.
    pub offsets: Vec<usize>,
    mode: PassMode,
}

/// Lists the instructions that compute `outputs` from the tape's inputs.
pub(super) fn lower(tape: &Tape, outputs: &[NodeId], mode: PassMode) -> ForwardPass {
    let (nodes, needed) = fuse(&tape.nodes, outputs, mode);
    let offsets = ranges(&tape.params).into_iter().map(|range| range.start).collect();
    let n = nodes.len();
    let (values, gates) = (vec![None; n], vec![None; n]);
    let mut pass = ForwardPass { nodes, list: Listing::default(), values, gates, offsets, mode };
    for i in (0..n).filter(|i| needed[*i]) {
        let entries = |matrix: usize| tape.sparse[matrix].pattern().n_entries();
        pass.values[i] = Some(pass.lower(i, entries));
    }
    pass
}

impl ForwardPass {
    /// Emits the instructions of value `i` and returns its buffer; `entries` returns the number of
    /// entries of the sparse matrix with a given index.
    fn lower(&mut self, i: NodeId, entries: impl Fn(usize) -> usize) -> Buf {
        let Node { op, rows, cols, .. } = self.nodes[i].clone();
        match op {
            Op::Dense(constant) => self.list.buffer(rows, cols, BufKind::Const(constant)),
            Op::Sparse(matrix) => {
                self.list.buffer(entries(matrix), 1, BufKind::SparseValues(matrix))
            }
            Op::Param(p) => self.list.buffer(rows, cols, BufKind::Param(self.offsets[p])),
            Op::Statistic { batch, .. } => self.value(batch),
            Op::Sum { spmm, terms, bias } => self.sum(i, spmm, &terms, bias),
            Op::Gate { x, act, drop, site } => self.gate(i, x, act, drop, site),
            Op::SparseDropout { x, drop, site, .. } => self.sparse_dropout(x, drop, site),
            Op::Concat(parts) => self.concat(i, &parts),
            _ => self.single(i, &op),
        }
    }

    /// Emits an operation that is one instruction.
    fn single(&mut self, i: NodeId, op: &Op) -> Buf {
        let dst = self.like(i);
        let of = |v: NodeId| self.value(v);
        let instr = match *op {
            Op::Zero => Instr::Clear { dst },
            Op::Linear { x, w, bias } => {
                Instr::MatMul { a: of(x), w: of(w), bias: bias.map(of), dst }
            }
            Op::SparseLinear { matrix, x, w, bias } => {
                Instr::SparseMatMul { matrix, values: of(x), w: of(w), bias: bias.map(of), dst }
            }
            Op::Map { x, map } => Instr::Map { map, src: of(x), dst },
            Op::Product(a, b) => Instr::Product { a: of(a), b: of(b), dst },
            Op::Max(a, b) => Instr::Max { a: of(a), b: of(b), dst },
            Op::ScaleRows { x, by, column } => {
                Instr::ScaleRows { x: of(x), by: of(by), column, dst }
            }
            Op::Shrink { x, threshold } => Instr::Shrink { threshold, src: of(x), dst },
            Op::Softmax(x) => Instr::Softmax { src: of(x), dst },
            Op::ColumnSums(x) => Instr::ColumnSums { g: of(x), dst, add: false },
            Op::ColumnDots(a, b) => {
                Instr::ColumnDots { a: of(a), b: of(b), dst, row: 0, add: false }
            }
            Op::RunningProduct(x) => Instr::RunningProduct { x: of(x), dst },
            _ => unreachable!("`lower` handles operations of no or several instructions"),
        };
        self.emit(i, instr);
        dst
    }

    /// A sum; terms beyond `MAX_TERMS` are added by further instructions.
    fn sum(
        &mut self,
        i: NodeId,
        spmm: Option<Spmm>,
        terms: &[(Factor, NodeId)],
        bias: Option<NodeId>,
    ) -> Buf {
        let dst = self.like(i);
        let spmm = spmm.map(|spmm| Spmm { src: self.value(spmm.src), ..spmm });
        let terms: Vec<(Factor, Buf)> =
            terms.iter().map(|&(factor, v)| (self.factor(factor), self.value(v))).collect();
        let bias = bias.map(|v| self.value(v));
        let (head, rest) = terms.split_at(terms.len().min(MAX_TERMS));
        self.emit(i, Instr::Sum { dst, add: false, spmm, terms: head.to_vec(), bias });
        for terms in rest.chunks(MAX_TERMS) {
            let terms = terms.to_vec();
            self.emit(i, Instr::Sum { dst, add: true, spmm: None, terms, bias: None });
        }
        dst
    }

    /// Activation and dropout; without either, the input's own buffer.
    fn gate(&mut self, i: NodeId, x: NodeId, act: Act, drop: f64, site: u64) -> Buf {
        let src = self.value(x);
        let drop = self.dropout(drop, site);
        if act == Act::Identity && drop.is_none() {
            return src;
        }
        let mask = (self.mode != PassMode::Evaluation).then(|| {
            self.list.masks.push((self.nodes[i].rows, self.nodes[i].cols));
            self.list.masks.len() - 1
        });
        let scale = drop.map_or(1.0, |drop| 1.0 / drop.keep.keep());
        self.gates[i] = mask.map(|mask| (mask, scale));
        let dst = self.like(i);
        self.emit(i, Instr::Gate { src, dst, act, drop, mask });
        dst
    }

    /// Dropout of the values of a sparse matrix; without it, the input's own buffer.
    fn sparse_dropout(&mut self, x: NodeId, drop: f64, site: u64) -> Buf {
        let values = self.value(x);
        let Some(drop) = self.dropout(drop, site) else { return values };
        let dst = self.list.computed(self.list.bufs[values].rows, 1);
        self.emit(x, Instr::SparseDropout { values, drop, dst });
        dst
    }

    /// Dropout at rate `drop`; `None` outside training or if the rate is 0.
    fn dropout(&self, drop: f64, site: u64) -> Option<Dropout> {
        let is_on = self.mode == PassMode::Training && drop > 0.0;
        is_on.then(|| Dropout { site, keep: Bernoulli::from_drop_rate(drop) })
    }

    fn concat(&mut self, i: NodeId, parts: &[NodeId]) -> Buf {
        let dst = self.like(i);
        let mut to = 0;
        for part in parts {
            let (src, width) = (self.value(*part), self.nodes[*part].cols);
            self.emit(i, Instr::CopyColumns { src, from: 0, dst, to, width });
            to += width;
        }
        dst
    }

    /// The buffer of an output, which is a computed one; constants and parameters are copied to a new one.
    pub fn output(&mut self, v: NodeId) -> Buf {
        let src = self.value(v);
        if self.list.bufs[src].kind == BufKind::Computed {
            return src;
        }
        let dst = self.like(v);
        let terms = vec![(Factor::Fixed(1.0), src)];
        self.emit(v, Instr::Sum { dst, add: false, spmm: None, terms, bias: None });
        dst
    }

    /// Declares a buffer with the shape of a value.
    pub fn like(&mut self, v: NodeId) -> Buf {
        self.list.computed(self.nodes[v].rows, self.nodes[v].cols)
    }

    /// Appends an instruction of value `i` to the main section or the prologue.
    fn emit(&mut self, i: NodeId, instr: Instr) {
        let list = &mut self.list;
        if self.nodes[i].per_node { &mut list.main } else { &mut list.prologue }.push(instr);
    }

    /// The buffer of a value.
    pub fn value(&self, v: NodeId) -> Buf {
        self.values[v].expect("inputs are recorded before the operations that use them")
    }

    /// Replaces the value that a factor is read from with the buffer of this value.
    pub fn factor(&self, factor: Factor) -> Factor {
        match factor {
            Factor::Fixed(c) => Factor::Fixed(c),
            Factor::Entry(v, k) => Factor::Entry(self.value(v), k),
            Factor::Row(v, k) => Factor::Row(self.value(v), k),
        }
    }
}

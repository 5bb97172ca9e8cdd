//! Third pass: translates operations into the instructions of the forward pass.

use super::fuse::{PassMode, fuse};
use super::instr::{Buf, BufKind, Dropout, EdgeSoftmax, Factor, Instr, Listing, Mask, Spmm};
use super::op::{Node, Op};
use super::record::{Tape, param_ranges};
use super::value::NodeId;
use crate::rng::Bernoulli;
use crate::tensor::kernel::{Act, MAX_TERMS};

/// The instructions of a forward pass, and the buffers of its values.
pub(super) struct ForwardPass {
    /// The values after [`fuse`].
    pub nodes: Vec<Node>,
    pub list: Listing,
    /// The buffer of each value; `None` for a value that is not needed.
    pub bufs: Vec<Option<Buf>>,
    /// For each value that is a gate with a mask: the mask, and the factor of the entries that pass. `None`
    /// for all other values, and without a backward pass.
    pub gates: Vec<Option<(Mask, f64)>>,
    /// For each value that is an attention and needed: its instruction. `None` for all other values.
    pub attentions: Vec<Option<Instr>>,
    /// Offsets of the parameters in the parameter vector.
    pub offsets: Vec<usize>,
    mode: PassMode,
}

/// Lists the instructions that compute `outputs` from the tape's inputs.
pub(super) fn lower(tape: &Tape, outputs: &[NodeId], mode: PassMode) -> ForwardPass {
    let (nodes, needed) = fuse(&tape.nodes, outputs, mode);
    let offsets = param_ranges(&tape.params).into_iter().map(|range| range.start).collect();
    let n = nodes.len();
    let (bufs, gates, attentions) = (vec![None; n], vec![None; n], vec![None; n]);
    let list = Listing::default();
    let mut pass = ForwardPass { nodes, list, bufs, gates, attentions, offsets, mode };
    for i in (0..n).filter(|i| needed[*i]) {
        let entries = |matrix: usize| tape.sparse[matrix].pattern().n_entries();
        pass.bufs[i] = Some(pass.lower_node(i, entries));
    }
    pass
}

impl ForwardPass {
    /// Emits the instructions of value `i` and returns its buffer; `entries` returns the number of
    /// entries of the sparse matrix with a given index.
    fn lower_node(&mut self, i: NodeId, entries: impl Fn(usize) -> usize) -> Buf {
        let Node { op, rows, cols, .. } = self.nodes[i].clone();
        match op {
            Op::Dense(constant) => self.list.buffer(rows, cols, BufKind::Const(constant)),
            Op::Input(input) => self.list.buffer(rows, cols, BufKind::Input(input)),
            Op::Sparse(matrix) => {
                self.list.buffer(entries(matrix), 1, BufKind::SparseValues(matrix))
            }
            Op::Param(p) => self.list.buffer(rows, cols, BufKind::Param(self.offsets[p])),
            Op::Statistic { batch, .. } => self.buf(batch),
            Op::Sum { spmm, terms, bias } => self.lower_sum(i, spmm, &terms, bias),
            Op::Gate { x, act, drop, site } => self.lower_gate(i, x, act, drop, site),
            Op::SparseDropout { x, drop, site, .. } => self.lower_sparse_dropout(x, drop, site),
            Op::Attention { softmax, drop, site } => self.lower_attention(i, softmax, drop, site),
            Op::Concat(parts) => self.lower_concat(i, &parts),
            _ => self.lower_single(i, &op),
        }
    }

    /// Emits the instruction of an operation that needs only one; returns its buffer.
    fn lower_single(&mut self, i: NodeId, op: &Op) -> Buf {
        let dst = self.buffer_like(i);
        let buf = |v: NodeId| self.buf(v);
        let instr = match *op {
            Op::Zero => Instr::Clear { dst },
            Op::Linear { x, w, bias } => {
                Instr::MatMul { a: buf(x), w: buf(w), bias: bias.map(buf), dst }
            }
            Op::SparseLinear { matrix, x, w, bias } => {
                Instr::SparseMatMul { matrix, values: buf(x), w: buf(w), bias: bias.map(buf), dst }
            }
            Op::Map { x, map } => Instr::Map { map, src: buf(x), dst },
            Op::Product(a, b) => Instr::Product { a: buf(a), b: buf(b), dst },
            Op::Max(a, b) => Instr::Max { a: buf(a), b: buf(b), dst },
            Op::ScaleRows { x, by, column } => {
                Instr::ScaleRows { x: buf(x), by: buf(by), column, dst }
            }
            Op::Shrink { x, threshold } => Instr::Shrink { threshold, src: buf(x), dst },
            Op::Softmax(x) => Instr::Softmax { src: buf(x), dst },
            Op::Standardise { x, eps } => Instr::Standardise { eps, src: buf(x), dst },
            Op::ColumnSums(x) => Instr::ColumnSums { g: buf(x), dst, add: false },
            Op::ColumnDots(a, b) => {
                Instr::ColumnDots { a: buf(a), b: buf(b), dst, row: 0, add: false }
            }
            Op::InnerProducts(a, b) => Instr::WeightGrad { a: buf(a), g: buf(b), dst, add: false },
            Op::Transpose(x) => Instr::Transpose { src: buf(x), dst },
            Op::RunningProduct(x) => Instr::RunningProduct { x: buf(x), dst },
            _ => unreachable!("`lower_node` handles operations of no or several instructions"),
        };
        self.emit(i, instr);
        dst
    }

    /// Emits a sum; terms beyond `MAX_TERMS` are added by further instructions.
    fn lower_sum(
        &mut self,
        i: NodeId,
        spmm: Option<Spmm>,
        terms: &[(Factor, NodeId)],
        bias: Option<NodeId>,
    ) -> Buf {
        let dst = self.buffer_like(i);
        let spmm = spmm.map(|spmm| Spmm { src: self.buf(spmm.src), ..spmm });
        let terms: Vec<(Factor, Buf)> =
            terms.iter().map(|&(factor, v)| (self.lower_factor(factor), self.buf(v))).collect();
        let bias = bias.map(|v| self.buf(v));
        let (head, rest) = terms.split_at(terms.len().min(MAX_TERMS));
        self.emit(i, Instr::Sum { dst, add: false, spmm, terms: head.to_vec(), bias });
        for terms in rest.chunks(MAX_TERMS) {
            let terms = terms.to_vec();
            self.emit(i, Instr::Sum { dst, add: true, spmm: None, terms, bias: None });
        }
        dst
    }

    /// Emits activation and dropout; if there is neither, returns the buffer of the input.
    fn lower_gate(&mut self, i: NodeId, x: NodeId, act: Act, drop: f64, site: u64) -> Buf {
        let src = self.buf(x);
        let drop = self.dropout(drop, site, self.nodes[i].per_node);
        if act == Act::Identity && drop.is_none() {
            return src;
        }
        let mask = (self.mode != PassMode::Evaluation).then(|| {
            self.list.masks.push((self.nodes[i].rows, self.nodes[i].cols));
            self.list.masks.len() - 1
        });
        let scale = drop.map_or(1.0, |drop| 1.0 / drop.keep.keep_probability());
        self.gates[i] = mask.map(|mask| (mask, scale));
        let dst = self.buffer_like(i);
        self.emit(i, Instr::Gate { src, dst, act, drop, mask });
        dst
    }

    /// Emits dropout of the values of a sparse matrix; if dropout is off, returns the buffer of the input.
    fn lower_sparse_dropout(&mut self, x: NodeId, drop: f64, site: u64) -> Buf {
        let values = self.buf(x);
        let Some(drop) = self.dropout(drop, site, false) else { return values };
        let dst = self.list.computed(self.list.bufs[values].rows, 1);
        self.emit(x, Instr::SparseDropout { values, drop, dst });
        dst
    }

    fn lower_attention(&mut self, i: NodeId, softmax: EdgeSoftmax, drop: f64, site: u64) -> Buf {
        let (rows, heads) = (self.nodes[softmax.source].rows, self.nodes[softmax.source].cols);
        let softmax = EdgeSoftmax {
            values: self.buf(softmax.values),
            source: self.buf(softmax.source),
            destination: self.buf(softmax.destination),
            ..softmax
        };
        let drop = self.dropout(drop, site, true);
        let (dst, log_sums) = (self.buffer_like(i), self.list.computed(rows, heads));
        let instr = Instr::Attention { softmax, drop, dst, log_sums };
        self.attentions[i] = Some(instr.clone());
        self.emit(i, instr);
        dst
    }

    /// Dropout at rate `drop`; `None` outside training or if the rate is 0.
    fn dropout(&self, drop: f64, site: u64, per_node: bool) -> Option<Dropout> {
        let is_on = self.mode == PassMode::Training && drop > 0.0;
        is_on.then(|| Dropout { site, keep: Bernoulli::from_drop_rate(drop), per_node })
    }

    fn lower_concat(&mut self, i: NodeId, parts: &[NodeId]) -> Buf {
        let dst = self.buffer_like(i);
        let mut to = 0;
        for part in parts {
            let (src, width) = (self.buf(*part), self.nodes[*part].cols);
            self.emit(i, Instr::CopyColumns { src, from: 0, dst, to, width });
            to += width;
        }
        dst
    }

    /// A computed buffer with the value `v`, whose rows are in the order of the node numbers. Emits a copy if the
    /// buffer of `v` is not such a buffer; `n_ordered` is the number of nodes if the plan reorders them.
    pub fn output_buf(&mut self, v: NodeId, n_ordered: Option<usize>) -> Buf {
        let src = self.buf(v);
        if self.nodes[v].per_node && n_ordered == Some(self.nodes[v].rows) {
            let dst = self.buffer_like(v);
            self.emit(v, Instr::RestoreOrder { src, dst });
            return dst;
        }
        if self.list.bufs[src].kind == BufKind::Computed {
            return src;
        }
        let dst = self.buffer_like(v);
        let terms = vec![(Factor::Fixed(1.0), src)];
        self.emit(v, Instr::Sum { dst, add: false, spmm: None, terms, bias: None });
        dst
    }

    /// Declares a buffer with the shape of a value.
    pub fn buffer_like(&mut self, v: NodeId) -> Buf {
        self.list.computed(self.nodes[v].rows, self.nodes[v].cols)
    }

    /// Appends an instruction of value `i` to the main section if the value is per node, otherwise to the
    /// prologue.
    fn emit(&mut self, i: NodeId, instr: Instr) {
        let list = &mut self.list;
        if self.nodes[i].per_node { &mut list.main } else { &mut list.prologue }.push(instr);
    }

    /// The buffer of a value.
    pub fn buf(&self, v: NodeId) -> Buf {
        self.bufs[v].expect("inputs are recorded before the operations that use them")
    }

    /// Replaces the value that a factor is read from with the buffer of this value.
    pub fn lower_factor(&self, factor: Factor) -> Factor {
        match factor {
            Factor::Fixed(c) => Factor::Fixed(c),
            Factor::Entry(v, k) => Factor::Entry(self.buf(v), k),
            Factor::Row(v, k) => Factor::Row(self.buf(v), k),
        }
    }
}

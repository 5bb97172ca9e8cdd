//! The forward pass as instructions.

use super::instr::{Buf, Drop, Factor, Home, Instr, Listing, Mask};
use super::tape::{Coef, Node, Op, Tape, Var, ranges};
use crate::rng::Bernoulli;
use crate::tensor::kernel::{Act, MAX_TERMS};

/// Which forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Dropout acts, statistics are those of the batch, masks are kept for a backward pass.
    Training,
    /// Dropout is off and statistics are the running ones, but a backward pass follows.
    Frozen,
    /// The same without a backward pass.
    Evaluation,
}

/// A forward pass under construction, and where it put every value.
pub(super) struct Forward {
    pub nodes: Vec<Node>,
    pub list: Listing,
    pub values: Vec<Option<Buf>>,
    pub masks: Vec<Option<Mask>>,
    /// Offsets of the parameters in the parameter vector.
    pub offsets: Vec<usize>,
    mode: Mode,
}

/// Lists the instructions that compute `outputs` from the tape's inputs.
pub(super) fn forward(tape: &Tape, outputs: &[Var], mode: Mode) -> Forward {
    let mut nodes = fuse_gates(&tape.nodes, outputs);
    if mode != Mode::Training {
        nodes.iter_mut().for_each(use_running);
    }
    let alive = alive(&nodes, outputs);
    let offsets = ranges(&tape.params).into_iter().map(|range| range.start).collect();
    let n = nodes.len();
    let (values, masks) = (vec![None; n], vec![None; n]);
    let mut pass = Forward { nodes, list: Listing::default(), values, masks, offsets, mode };
    let mut n_consts = 0;
    for i in 0..n {
        // Constants are numbered alike in every pass, whether it uses them or not.
        let is_const = matches!(pass.nodes[i].op, Op::Dense(_) | Op::Sparse(_));
        if alive[i] {
            pass.lower(i, n_consts);
        }
        n_consts += usize::from(is_const);
    }
    pass
}

impl Forward {
    fn lower(&mut self, i: usize, next_const: usize) {
        let Node { op, rows, cols, per_node, .. } = self.nodes[i].clone();
        let value = match op {
            Op::Dense(_) => self.list.buffer(rows, cols, Home::Const(next_const)),
            Op::Sparse(x) => self.list.buffer(x.values.len(), 1, Home::Const(next_const)),
            Op::Zero => {
                let dst = self.list.computed(rows, cols);
                self.emit(per_node, Instr::Clear { dst });
                dst
            }
            Op::Param(p) => self.list.buffer(rows, cols, Home::Param(self.offsets[p])),
            Op::Sum { spread, terms, bias } => {
                let dst = self.list.computed(rows, cols);
                let spread = spread.map(|(by, c, v)| (by.0, c, self.value(v)));
                let terms: Vec<_> =
                    terms.iter().map(|&(coef, v)| (self.factor(coef), self.value(v))).collect();
                let bias = bias.map(|v| self.value(v));
                self.sum(per_node, dst, spread, &terms, bias);
                dst
            }
            Op::Linear { x, w, bias } => {
                let dst = self.list.computed(rows, cols);
                let (w, bias) = (self.value(w), bias.map(|v| self.value(v)));
                let values = self.value(x);
                self.emit(
                    per_node,
                    match self.sparse_source(x) {
                        Some(x) => Instr::SparseMatMul { x, values, w, bias, dst },
                        None => Instr::MatMul { a: values, w, bias, dst },
                    },
                );
                dst
            }
            Op::Gate { x, act, drop, site } => self.gate(i, x, act, drop, site),
            Op::Statistic { batch, .. } => self.value(batch),
            Op::Map { x, map } => self.row_wise(i, |dst, of| Instr::Map { map, src: of(x), dst }),
            Op::Product(a, b) => {
                self.row_wise(i, |dst, of| Instr::Product { a: of(a), b: of(b), dst })
            }
            Op::Max(a, b) => self.row_wise(i, |dst, of| Instr::Max { a: of(a), b: of(b), dst }),
            Op::ScaleRows { x, by, column } => {
                self.row_wise(i, |dst, of| Instr::ScaleRows { x: of(x), by: of(by), column, dst })
            }
            Op::Shrink { x, threshold } => {
                self.row_wise(i, |dst, of| Instr::Shrink { threshold, src: of(x), dst })
            }
            Op::Softmax(x) => self.row_wise(i, |dst, of| Instr::Softmax { src: of(x), dst }),
            Op::ColumnSums(x) => {
                self.row_wise(i, |dst, of| Instr::ColumnSums { g: of(x), dst, add: false })
            }
            Op::ColumnDots(a, b) => self.row_wise(i, |dst, of| Instr::ColumnDots {
                a: of(a),
                b: of(b),
                dst,
                at: 0,
                add: false,
            }),
            Op::RunningProduct(x) => {
                self.row_wise(i, |dst, of| Instr::RunningProduct { x: of(x), dst })
            }
            Op::Concat(parts) => {
                let dst = self.list.computed(rows, cols);
                let mut to = 0;
                for part in parts {
                    let (src, width) = (self.value(part), self.nodes[part.0].cols);
                    self.emit(per_node, Instr::CopyColumns { src, from: 0, dst, to, width });
                    to += width;
                }
                dst
            }
        };
        self.values[i] = Some(value);
    }

    /// One instruction that fills a new buffer in the shape of value `i`.
    fn row_wise(&mut self, i: usize, instr: impl Fn(Buf, &dyn Fn(Var) -> Buf) -> Instr) -> Buf {
        let Node { rows, cols, per_node, .. } = self.nodes[i];
        let dst = self.list.computed(rows, cols);
        let instr = instr(dst, &|v| self.value(v));
        self.emit(per_node, instr);
        dst
    }

    fn gate(&mut self, i: usize, x: Var, act: Act, drop: f64, site: u64) -> Buf {
        let src = self.value(x);
        let training = self.mode == Mode::Training;
        let drop =
            (training && drop > 0.0).then(|| Drop { site, coin: Bernoulli::from_drop_rate(drop) });
        let Node { rows, cols, per_node, .. } = self.nodes[i];
        if self.sparse_source(x).is_some() {
            assert!(act == Act::Identity, "relu: sparse features take dropout only");
            let Some(drop) = drop else { return src };
            let dst = self.list.computed(self.list.bufs[src].rows, 1);
            self.emit(per_node, Instr::DropEntries { values: src, drop, dst });
            return dst;
        }
        if act == Act::Identity && drop.is_none() {
            return src;
        }
        let mask = (self.mode != Mode::Evaluation).then(|| {
            self.list.masks.push((rows, cols));
            self.list.masks.len() - 1
        });
        self.masks[i] = mask;
        let dst = self.list.computed(rows, cols);
        self.emit(per_node, Instr::Gate { src, dst, act, drop, mask });
        dst
    }

    fn sum(
        &mut self,
        per_node: bool,
        dst: Buf,
        spread: Option<(usize, f64, Buf)>,
        terms: &[(Factor, Buf)],
        bias: Option<Buf>,
    ) {
        let (head, rest) = terms.split_at(terms.len().min(MAX_TERMS));
        self.emit(per_node, Instr::Sum { dst, add: false, spread, terms: head.to_vec(), bias });
        for terms in rest.chunks(MAX_TERMS) {
            let terms = terms.to_vec();
            self.emit(per_node, Instr::Sum { dst, add: true, spread: None, terms, bias: None });
        }
    }

    fn emit(&mut self, per_node: bool, instr: Instr) {
        if per_node { &mut self.list.main } else { &mut self.list.prologue }.push(instr);
    }

    /// The buffer of a value that was computed before.
    pub fn value(&self, v: Var) -> Buf {
        self.values[v.0].expect("inputs stand before their operations on the tape")
    }

    pub fn factor(&self, coef: Coef) -> Factor {
        match coef {
            Coef::Fixed(c) => Factor::Fixed(c),
            Coef::At(row, k) => Factor::At(self.value(row), k),
            Coef::Row(row, k) => Factor::Row(self.value(row), k),
        }
    }

    /// The number of the sparse matrix behind `v`, if `v` is one or its dropout.
    pub fn sparse_source(&self, v: Var) -> Option<usize> {
        match &self.nodes[v.0].op {
            Op::Sparse(_) => {
                let before = &self.nodes[..v.0];
                Some(before.iter().filter(|node| matches!(node.op, Op::Sparse(_))).count())
            }
            Op::Gate { x, .. } => self.sparse_source(*x),
            _ => None,
        }
    }
}

/// Outside training a statistic is its running average.
fn use_running(node: &mut Node) {
    if let Op::Statistic { running, .. } = node.op {
        let terms = vec![(Coef::Fixed(1.0), running)];
        node.op = Op::Sum { spread: None, terms, bias: None };
    }
}

/// Turns `dropout(act(x))` into one gate where nobody else looks at `act(x)`.
fn fuse_gates(nodes: &[Node], outputs: &[Var]) -> Vec<Node> {
    let mut uses = vec![0; nodes.len()];
    outputs.iter().for_each(|v| uses[v.0] += 1);
    for node in nodes {
        for v in inputs(&node.op) {
            uses[v.0] += 1;
        }
    }
    let mut fused = nodes.to_vec();
    for node in &mut fused {
        let Op::Gate { x, act: Act::Identity, drop, site } = node.op else { continue };
        if let Op::Gate { x: source, act, drop: 0.0, .. } = nodes[x.0].op
            && uses[x.0] == 1
        {
            node.op = Op::Gate { x: source, act, drop, site };
        }
    }
    fused
}

fn alive(nodes: &[Node], outputs: &[Var]) -> Vec<bool> {
    let mut alive = vec![false; nodes.len()];
    outputs.iter().for_each(|v| alive[v.0] = true);
    for i in (0..nodes.len()).rev() {
        if alive[i] {
            for v in inputs(&nodes[i].op) {
                alive[v.0] = true;
            }
        }
    }
    alive
}

fn inputs(op: &Op) -> Vec<Var> {
    match op {
        Op::Dense(_) | Op::Sparse(_) | Op::Zero | Op::Param(_) => vec![],
        Op::Sum { spread, terms, bias } => {
            let factors = terms.iter().filter_map(|(coef, _)| coef.source());
            let terms = terms.iter().map(|(_, v)| *v);
            terms.chain(factors).chain(spread.map(|(_, _, v)| v)).chain(*bias).collect()
        }
        Op::Linear { x, w, bias } => [*x, *w].into_iter().chain(*bias).collect(),
        Op::Gate { x, .. }
        | Op::Map { x, .. }
        | Op::Shrink { x, .. }
        | Op::Softmax(x)
        | Op::ColumnSums(x)
        | Op::RunningProduct(x) => vec![*x],
        Op::Product(a, b) | Op::Max(a, b) | Op::ColumnDots(a, b) => vec![*a, *b],
        Op::ScaleRows { x, by, .. } => vec![*x, *by],
        Op::Statistic { batch, observed, running } => vec![*batch, *observed, *running],
        Op::Concat(parts) => parts.clone(),
    }
}

//! The backward pass as instructions, derived from the forward pass.
//!
//! The gradient of a value is a sum with a term from every place that used it. The terms are kept as
//! they arrive and written out as one `Sum` when the value's own operation is reached, so that
//! `dH1 = 2 P dZ1 - dZ2` is one pass over memory, like Clenshaw's step itself. A value with many users
//! (H* has one per layer) is summed as it goes, lest all those terms stay alive.

use super::forward::Forward;
use super::instr::{Buf, Factor, Home, Instr, Listing};
use super::tape::{Coef, Node, Op, Var};
use crate::rng::Bernoulli;
use crate::tensor::kernel::MAX_TERMS;

/// Terms of a gradient that may wait before they are summed.
const WAITING: usize = 2;

/// A gradient's terms so far.
#[derive(Clone, Default)]
struct Pending {
    /// `c P g`.
    spread: Option<(usize, f64, Buf)>,
    /// `factor g`.
    terms: Vec<(Factor, Buf)>,
    /// A buffer of this gradient's own that already holds a part of it.
    partial: Option<Buf>,
}

struct Backward {
    pass: Forward,
    pending: Vec<Pending>,
}

/// Appends the loss and all parameter gradients to a forward pass in training mode.
pub(super) fn backward(pass: Forward, logits: Var) -> Listing {
    let n = pass.nodes.len();
    let mut back = Backward { pass, pending: vec![Pending::default(); n] };
    let (rows, cols) = (back.node(logits).rows, back.node(logits).cols);
    let (scores, grad) = (back.pass.value(logits), back.pass.list.computed(rows, cols));
    back.emit(true, Instr::Loss { scores, grad });
    back.pend(logits, Factor::Fixed(1.0), grad);
    for i in (0..n).rev() {
        if back.node(Var(i)).learns
            && let Some(g) = back.settle(i)
        {
            back.lower(i, g);
        }
    }
    back.pass.list
}

impl Backward {
    fn node(&self, v: Var) -> &Node {
        &self.pass.nodes[v.0]
    }

    /// Hands the gradient `g` of value `i` to its inputs.
    fn lower(&mut self, i: usize, g: Buf) {
        let Node { op, per_node, .. } = self.pass.nodes[i].clone();
        match op {
            Op::Sum { spread, terms, bias } => {
                for (coef, v) in terms {
                    self.factor_grad(per_node, coef, v, g);
                    self.pend(v, self.pass.factor(coef), g);
                }
                if let Some((by, c, v)) = spread {
                    self.pend_spread(v, by.0, c, g);
                }
                self.bias_grad(per_node, bias, g);
            }
            Op::Linear { x, w, bias } => {
                self.weight_grad(per_node, x, w, g);
                self.bias_grad(per_node, bias, g);
                if self.node(x).learns {
                    let transposed = self.transposed(w);
                    let dst = self.like(x);
                    self.emit(per_node, Instr::MatMul { a: g, w: transposed, bias: None, dst });
                    self.pend(x, Factor::Fixed(1.0), dst);
                }
            }
            Op::Gate { x, drop, .. } => match self.pass.masks[i] {
                None => self.pend(x, Factor::Fixed(1.0), g),
                Some(mask) => {
                    let dst = self.like(x);
                    let scale = 1.0 / Bernoulli::from_drop_rate(drop).keep();
                    self.emit(per_node, Instr::Ungate { src: g, mask, scale, dst });
                    self.pend(x, Factor::Fixed(1.0), dst);
                }
            },
            Op::Concat(parts) => {
                let mut from = 0;
                for part in parts {
                    let width = self.node(part).cols;
                    if self.node(part).learns {
                        let dst = self.like(part);
                        self.emit(per_node, Instr::CopyColumns { src: g, from, dst, to: 0, width });
                        self.pend(part, Factor::Fixed(1.0), dst);
                    }
                    from += width;
                }
            }
            Op::Map { x, map } => {
                let (xv, y) = (self.pass.value(x), self.pass.value(Var(i)));
                self.hand(per_node, x, |dst| Instr::MapGrad { map, x: xv, y, g, dst });
            }
            Op::Product(a, b) => {
                let (av, bv) = (self.pass.value(a), self.pass.value(b));
                self.hand(per_node, a, |dst| Instr::Product { a: g, b: bv, dst });
                self.hand(per_node, b, |dst| Instr::Product { a: g, b: av, dst });
            }
            Op::Max(a, b) => {
                for (winner, other, first) in [(a, b, true), (b, a, false)] {
                    let (w, o) = (self.pass.value(winner), self.pass.value(other));
                    self.hand(per_node, winner, |dst| Instr::MaxGrad {
                        winner: w,
                        other: o,
                        first,
                        g,
                        dst,
                    });
                }
            }
            Op::ScaleRows { x, by, column } => {
                let (xv, by_value) = (self.pass.value(x), self.pass.value(by));
                self.hand(per_node, x, |dst| Instr::ScaleRows { x: g, by: by_value, column, dst });
                if self.node(by).learns {
                    let dst = self.cleared(by);
                    self.emit(per_node, Instr::RowDots { a: g, b: xv, dst, column });
                }
            }
            Op::Shrink { x, threshold } => {
                let xv = self.pass.value(x);
                self.hand(per_node, x, |dst| Instr::ShrinkGrad { threshold, x: xv, g, dst });
            }
            Op::Softmax(x) => {
                let y = self.pass.value(Var(i));
                self.hand(per_node, x, |dst| Instr::SoftmaxGrad { y, g, dst });
            }
            Op::ColumnSums(x) => self.hand(per_node, x, |dst| Instr::Sum {
                dst,
                add: false,
                spread: None,
                terms: vec![],
                bias: Some(g),
            }),
            Op::ColumnDots(a, b) => {
                let (av, bv) = (self.pass.value(a), self.pass.value(b));
                self.pend(a, Factor::Row(g, 0), bv);
                self.pend(b, Factor::Row(g, 0), av);
            }
            Op::RunningProduct(x) => {
                let xv = self.pass.value(x);
                self.hand(per_node, x, |dst| Instr::RunningProductGrad { x: xv, g, dst });
            }
            Op::Statistic { batch, observed, running } => {
                self.pend(batch, Factor::Fixed(1.0), g);
                let (dst, add) = self.own(running);
                let terms = [(running, 1.0), (observed, -1.0)];
                let terms = terms.map(|(v, c)| (Factor::Fixed(c), self.pass.value(v))).to_vec();
                self.emit(per_node, Instr::Sum { dst, add, spread: None, terms, bias: None });
            }
            Op::Dense(_) | Op::Sparse(_) | Op::Zero | Op::Param(_) => {}
        }
    }

    /// Computes a part of the gradient of `x` into a new buffer, if anybody wants it.
    fn hand(&mut self, per_node: bool, x: Var, instr: impl Fn(Buf) -> Instr) {
        if self.node(x).learns {
            let dst = self.like(x);
            self.emit(per_node, instr(dst));
            self.pend(x, Factor::Fixed(1.0), dst);
        }
    }

    /// The gradient of a learned factor of `v`: the inner product of `v` and `g`, whole or by column.
    fn factor_grad(&mut self, per_node: bool, coef: Coef, v: Var, g: Buf) {
        let Some(row) = coef.source().filter(|row| self.node(*row).learns) else { return };
        let (dst, b) = (self.cleared(row), self.pass.value(v));
        let instr = match coef {
            Coef::Row(_, at) => Instr::ColumnDots { a: g, b, dst, at, add: true },
            Coef::At(_, at) => Instr::Dot { a: g, b, dst, at },
            Coef::Fixed(_) => return,
        };
        self.emit(per_node, instr);
    }

    fn weight_grad(&mut self, per_node: bool, x: Var, w: Var, g: Buf) {
        if !self.node(w).learns {
            return;
        }
        let (dst, add) = self.summed(per_node, w);
        let a = self.pass.value(x);
        let instr = match self.pass.sparse_source(x) {
            Some(x) => Instr::SparseWeightGrad { x, values: a, g, dst, add },
            None => Instr::WeightGrad { a, g, dst, add },
        };
        self.emit(per_node, instr);
    }

    fn bias_grad(&mut self, per_node: bool, bias: Option<Var>, g: Buf) {
        if let Some(bias) = bias.filter(|b| self.node(*b).learns) {
            let (dst, add) = self.summed(per_node, bias);
            self.emit(per_node, Instr::ColumnSums { g, dst, add });
        }
    }

    /// `w^T`, computed with what depends on parameters alone when `w` does.
    fn transposed(&mut self, w: Var) -> Buf {
        let Node { rows, cols, per_node, .. } = *self.node(w);
        let (src, dst) = (self.pass.value(w), self.pass.list.computed(cols, rows));
        let section =
            if per_node { &mut self.pass.list.main } else { &mut self.pass.list.prologue };
        section.push(Instr::Transpose { src, dst });
        dst
    }

    /// A new buffer in the shape of a value.
    fn like(&mut self, v: Var) -> Buf {
        let (rows, cols) = (self.node(v).rows, self.node(v).cols);
        self.pass.list.computed(rows, cols)
    }

    /// The buffer in which the gradient of `v` is summed, and whether it already holds a part.
    fn own(&mut self, v: Var) -> (Buf, bool) {
        if let Some(partial) = self.pending[v.0].partial {
            return (partial, true);
        }
        let buf = match self.node(v).op {
            Op::Param(p) => {
                let (rows, cols) = (self.node(v).rows, self.node(v).cols);
                self.pass.list.buffer(rows, cols, Home::Grad(self.pass.offsets[p]))
            }
            _ => self.like(v),
        };
        self.pending[v.0].partial = Some(buf);
        (buf, false)
    }

    /// The same for an operation on parameters alone: it runs last, so it may not be the one to overwrite.
    fn summed(&mut self, per_node: bool, v: Var) -> (Buf, bool) {
        if per_node { self.own(v) } else { (self.cleared(v), true) }
    }

    /// The same for gradients that arrive entry by entry: it starts at zero.
    fn cleared(&mut self, v: Var) -> Buf {
        let (dst, add) = self.own(v);
        if !add {
            self.pass.list.prologue.push(Instr::Clear { dst });
        }
        dst
    }

    fn pend(&mut self, v: Var, factor: Factor, g: Buf) {
        let Node { learns, per_node, .. } = *self.node(v);
        if learns {
            // What depends on parameters alone is small and may wait: its sum comes last.
            if per_node && self.pending[v.0].terms.len() >= WAITING {
                self.flush(v.0);
            }
            self.pending[v.0].terms.push((factor, g));
        }
    }

    /// The operator is symmetric: the gradient of `c P v` is `c P g`.
    fn pend_spread(&mut self, v: Var, by: usize, c: f64, g: Buf) {
        if self.node(v).learns {
            if self.pending[v.0].spread.is_some() {
                self.flush(v.0);
            }
            self.pending[v.0].spread = Some((by, c, g));
        }
    }

    /// Sums what waits into the value's own buffer.
    fn flush(&mut self, i: usize) {
        let (dst, mut add) = self.own(Var(i));
        let per_node = self.pass.nodes[i].per_node;
        let Pending { mut spread, terms, .. } = std::mem::take(&mut self.pending[i]);
        self.pending[i].partial = Some(dst);
        let mut rest = &terms[..];
        while spread.is_some() || !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(MAX_TERMS));
            let (spread, terms) = (spread.take(), head.to_vec());
            self.emit(per_node, Instr::Sum { dst, add, spread, terms, bias: None });
            (rest, add) = (tail, true);
        }
    }

    /// The finished gradient of value `i`, if anything used it.
    fn settle(&mut self, i: usize) -> Option<Buf> {
        let Pending { spread, terms, partial } = &self.pending[i];
        let is_param = matches!(self.pass.nodes[i].op, Op::Param(_));
        match (spread, &terms[..], partial) {
            (None, [], None) => {
                if is_param {
                    self.cleared(Var(i));
                }
                None
            }
            (None, [(Factor::Fixed(1.0), g)], None) if !is_param => Some(*g),
            _ => {
                self.flush(i);
                self.pending[i].partial
            }
        }
    }

    fn emit(&mut self, per_node: bool, instr: Instr) {
        let list = &mut self.pass.list;
        if per_node { &mut list.main } else { &mut list.epilogue }.push(instr);
    }
}

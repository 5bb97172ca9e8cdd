//! Fourth pass: the backward pass as instructions, derived from the forward pass.
//!
//! The gradient of a value is a sum with one term for each use of the value. The terms are collected
//! and written as one `Sum` when the value's own operation is reached, so that
//! `dH1 = 2 P dZ1 - dZ2` is one pass over memory, like Clenshaw's step itself. If a value has a row per
//! node and many uses (H* is used in every layer), the terms of its gradient are summed as they arise,
//! so that few of them stay in memory.
//!
//! A gradient may also be accumulated in a buffer by instructions that sum over rows. The sections of
//! a program run in the order prologue, main, epilogue, regardless of the order in which instructions are
//! appended, so these rules determine which contribution overwrites the buffer:
//!
//! - the first contribution to be appended may overwrite if it is in the main section, since all others in
//!   this section come later and no contribution is in the prologue;
//! - a contribution in the epilogue overwrites only in [`Backward::finish_gradient`], which makes the
//!   last contribution, and only if there is no earlier one; all others in the epilogue add to the buffer,
//!   which the prologue clears unless the first contribution overwrites it.

use super::Tape;
use super::fuse::PassMode;
use super::instr::{Buf, BufKind, EdgeSoftmax, Factor, Instr, Listing, Spmm};
use super::lower::{ForwardPass, lower};
use super::op::{Node, Op};
use super::value::NodeId;
use crate::tensor::kernel::MAX_TERMS;

/// The largest number of pending terms `factor g` in the gradient of a per-node value.
const MAX_PENDING: usize = 2;

/// The gradient of a value under construction.
#[derive(Clone, Default)]
struct Gradient {
    /// Pending terms `coef P g`.
    spmms: Vec<Spmm>,
    /// Pending terms `factor g`.
    terms: Vec<(Factor, Buf)>,
    /// The buffer that contains all contributions that are not pending, if there are any.
    accumulator: Option<Buf>,
}

/// The state of the backward pass.
struct Backward {
    pass: ForwardPass,
    gradients: Vec<Gradient>,
}

/// The gradients that a training program computes.
pub(super) enum Gradients<'a> {
    /// Those of all parameters.
    AllParams,
    /// Those of some parameters, by index, and of some values.
    Of { params: &'a [usize], watched: &'a [NodeId] },
}

impl Gradients<'_> {
    /// Compiles the training program: the forward pass, the loss and these gradients.
    ///
    /// # Panics
    /// If a watched value is a parameter or depends on none of these parameters.
    pub fn differentiate(self, tape: &Tape, logits: NodeId, form: TrainingForm) -> Differentiated {
        let TrainingForm { mode, .. } = form;
        let Self::Of { params, watched } = self else {
            return differentiate(lower(tape, &[logits], mode), logits, &[], form);
        };
        let outputs: Vec<NodeId> = std::iter::once(logits).chain(watched.iter().copied()).collect();
        let mut pass = lower(tape, &outputs, mode);
        for i in 0..pass.nodes.len() {
            pass.nodes[i].needs_grad = match &pass.nodes[i].op {
                Op::Param(p) => params.contains(p),
                op => op.inputs().iter().any(|v| pass.nodes[*v].needs_grad),
            };
        }
        let is_reached = watched.iter().all(|&v| pass.nodes[v].needs_grad);
        assert!(is_reached, "watch: a value that depends on none of these parameters");
        // `Workspace::gradients` contains the gradients of parameters.
        let is_param = |&v: &NodeId| matches!(pass.nodes[v].op, Op::Param(_));
        assert!(!watched.iter().any(is_param), "watch: a parameter; expected a computed value");
        differentiate(pass, logits, watched, form)
    }
}

/// The settings of a training program.
#[derive(Clone, Copy)]
pub(super) struct TrainingForm {
    /// The mode of its forward pass.
    pub mode: PassMode,
    /// The number of nodes, if the rows of node matrices are reordered.
    pub n_ordered: Option<usize>,
    /// Whether the scores are an output as well.
    pub keeps_scores: bool,
}

/// A training program and its outputs other than the gradients of parameters.
pub(super) struct Differentiated {
    pub list: Listing,
    /// The gradients of the watched values; `None` for a value on which the loss does not depend.
    pub watched: Vec<Option<Buf>>,
    /// The scores, by node number, if they are kept.
    pub scores: Option<Buf>,
}

/// Appends the loss and the gradients of all values that need one to a forward pass.
fn differentiate(
    mut pass: ForwardPass,
    logits: NodeId,
    watched: &[NodeId],
    form: TrainingForm,
) -> Differentiated {
    let n = pass.nodes.len();
    let kept_scores = form.keeps_scores.then(|| pass.output_buf(logits, form.n_ordered));
    let (scores, grad) = (pass.buf(logits), pass.buffer_like(logits));
    pass.list.main.push(Instr::Loss { scores, grad });
    let mut back = Backward { pass, gradients: vec![Gradient::default(); n] };
    back.add_term(logits, Factor::Fixed(1.0), grad);
    let mut finished = vec![None; n];
    for i in (0..n).rev() {
        if back.pass.nodes[i].needs_grad
            && let Some(g) = back.finish_gradient(i)
        {
            finished[i] = Some(g);
            back.differentiate(i, g);
        }
    }
    let watched = watched.iter().map(|&v| finished[v]).collect();
    Differentiated { list: back.pass.list, watched, scores: kept_scores }
}

/// The derivatives of the operations: `i` is the operation, and `g` the gradient of its result.
impl Backward {
    /// Adds the contributions of operation `i` to the gradients of its inputs.
    fn differentiate(&mut self, i: NodeId, g: Buf) {
        let y = self.pass.buf(i);
        match self.pass.nodes[i].op.clone() {
            Op::Dense(_)
            | Op::Input(_)
            | Op::Sparse(_)
            | Op::SparseDropout { .. }
            | Op::Zero
            | Op::Param(_) => {}
            Op::Sum { spmm, terms, bias } => self.differentiate_sum(i, spmm, &terms, bias, g),
            Op::Linear { x, w, bias } => self.differentiate_linear(i, x, w, bias, g),
            Op::SparseLinear { matrix, x, w, bias } => {
                let values = self.pass.buf(x);
                self.accumulate(i, Some(w), |dst, add| Instr::SparseWeightGrad {
                    matrix,
                    values,
                    g,
                    dst,
                    add,
                });
                self.accumulate(i, bias, |dst, add| Instr::ColumnSums { g, dst, add });
            }
            Op::Gate { x, .. } => match self.pass.gates[i] {
                None => self.add_term(x, Factor::Fixed(1.0), g),
                Some((mask, scale)) => {
                    self.add_computed_term(i, x, |dst| Instr::GateGrad { src: g, mask, scale, dst })
                }
            },
            Op::Attention { softmax, .. } => self.differentiate_attention(i, softmax, g),
            Op::Concat(parts) => self.differentiate_concat(i, &parts, g),
            Op::Map { x, map } => {
                let value = self.pass.buf(x);
                self.add_computed_term(i, x, |dst| Instr::MapGrad { map, x: value, y, g, dst });
            }
            Op::Product(a, b) => {
                let (a_value, b_value) = (self.pass.buf(a), self.pass.buf(b));
                self.add_computed_term(i, a, |dst| Instr::Product { a: g, b: b_value, dst });
                self.add_computed_term(i, b, |dst| Instr::Product { a: g, b: a_value, dst });
            }
            Op::Max(a, b) => {
                self.differentiate_max(i, a, b, true, g);
                self.differentiate_max(i, b, a, false, g);
            }
            Op::ScaleRows { x, by, column } => self.differentiate_scale_rows(i, x, by, column, g),
            Op::Shrink { x, threshold } => {
                let value = self.pass.buf(x);
                let instr = |dst| Instr::ShrinkGrad { threshold, x: value, g, dst };
                self.add_computed_term(i, x, instr);
            }
            Op::Standardise { x, eps } => {
                let value = self.pass.buf(x);
                self.add_computed_term(i, x, |dst| Instr::StandardiseGrad {
                    eps,
                    x: value,
                    g,
                    dst,
                });
            }
            Op::Softmax(x) => {
                self.add_computed_term(i, x, |dst| Instr::SoftmaxGrad { y, g, dst });
            }
            Op::ColumnSums(x) => self.add_computed_term(i, x, |dst| Instr::Sum {
                dst,
                add: false,
                spmm: None,
                terms: vec![],
                bias: Some(g),
            }),
            Op::ColumnDots(a, b) => {
                let (a_value, b_value) = (self.pass.buf(a), self.pass.buf(b));
                self.add_term(a, Factor::Row(g, 0), b_value);
                self.add_term(b, Factor::Row(g, 0), a_value);
            }
            Op::InnerProducts(a, b) => self.differentiate_inner_products(i, a, b, g),
            Op::Transpose(x) => {
                self.add_computed_term(i, x, |dst| Instr::Transpose { src: g, dst })
            }
            Op::RunningProduct(x) => {
                let value = self.pass.buf(x);
                self.add_computed_term(i, x, |dst| Instr::RunningProductGrad { x: value, g, dst });
            }
            Op::Statistic { batch, observed, running } => {
                self.add_term(batch, Factor::Fixed(1.0), g);
                // The "gradient" of `running`; see `RUNNING`.
                let terms = [(running, 1.0), (observed, -1.0)];
                let terms = terms.map(|(v, c)| (Factor::Fixed(c), self.pass.buf(v))).to_vec();
                self.accumulate(i, Some(running), |dst, add| Instr::Sum {
                    dst,
                    add,
                    spmm: None,
                    terms,
                    bias: None,
                });
            }
        }
    }

    fn differentiate_sum(
        &mut self,
        i: NodeId,
        spmm: Option<Spmm>,
        terms: &[(Factor, NodeId)],
        bias: Option<NodeId>,
        g: Buf,
    ) {
        for &(factor, v) in terms {
            self.differentiate_factor(i, factor, v, g);
            self.add_term(v, self.pass.lower_factor(factor), g);
        }
        if let Some(Spmm { operator, coef, src }) = spmm {
            self.add_spmm_term(src, Spmm { operator, coef, src: g });
        }
        self.accumulate(i, bias, |dst, add| Instr::ColumnSums { g, dst, add });
    }

    /// Adds the inner product of `v` and `g`, over all entries or per column, to the gradient of a learned
    /// factor of `v`.
    fn differentiate_factor(&mut self, i: NodeId, factor: Factor, v: NodeId, g: Buf) {
        let Some(source) = factor.source().filter(|source| self.pass.nodes[*source].needs_grad)
        else {
            return;
        };
        let (dst, b) = (self.cleared_accumulator(source), self.pass.buf(v));
        let instr = match factor {
            Factor::Row(_, row) => Instr::ColumnDots { a: g, b, dst, row, add: true },
            Factor::Entry(_, entry) => Instr::Dot { a: g, b, dst, entry },
            Factor::Fixed(_) => return,
        };
        self.emit(i, instr);
    }

    fn differentiate_linear(
        &mut self,
        i: NodeId,
        x: NodeId,
        w: NodeId,
        bias: Option<NodeId>,
        g: Buf,
    ) {
        let a = self.pass.buf(x);
        self.accumulate(i, Some(w), |dst, add| Instr::WeightGrad { a, g, dst, add });
        self.accumulate(i, bias, |dst, add| Instr::ColumnSums { g, dst, add });
        if self.pass.nodes[x].needs_grad {
            let w = self.transposed(w);
            self.add_computed_term(i, x, |dst| Instr::MatMul { a: g, w, bias: None, dst });
        }
    }

    /// Emits `w^T`, in the prologue unless `w` is per node, and returns its buffer.
    fn transposed(&mut self, w: NodeId) -> Buf {
        let Node { rows, cols, per_node, .. } = self.pass.nodes[w];
        let src = self.pass.buf(w);
        let list = &mut self.pass.list;
        let dst = list.computed(cols, rows);
        let section = if per_node { &mut list.main } else { &mut list.prologue };
        section.push(Instr::Transpose { src, dst });
        dst
    }

    /// For `y = a' b`: `da = b g'` and `db = a g`.
    fn differentiate_inner_products(&mut self, i: NodeId, a: NodeId, b: NodeId, g: Buf) {
        let (a_value, b_value) = (self.pass.buf(a), self.pass.buf(b));
        if self.pass.nodes[a].needs_grad {
            let Node { rows, cols, .. } = self.pass.nodes[i];
            let w = self.pass.list.computed(cols, rows);
            self.emit(i, Instr::Transpose { src: g, dst: w });
            self.add_computed_term(i, a, |dst| Instr::MatMul { a: b_value, w, bias: None, dst });
        }
        self.add_computed_term(i, b, |dst| Instr::MatMul { a: a_value, w: g, bias: None, dst });
    }

    /// Emits the gradients of an attention; `inputs` refers to values on the tape, not to buffers.
    fn differentiate_attention(&mut self, i: NodeId, inputs: EdgeSoftmax, g: Buf) {
        let Some(Instr::Attention { softmax, drop, dst, log_sums }) = self.pass.attentions[i]
        else {
            unreachable!("`lower` keeps the instruction of every attention")
        };
        let dots = self.pass.buffer_like(inputs.source);
        self.emit(i, Instr::HeadDots { layout: softmax.layout, a: g, b: dst, dst: dots });
        let inputs = [inputs.values, inputs.source, inputs.destination];
        let [values_grad, source_grad, destination_grad] = inputs.map(|v| self.pass.buffer_like(v));
        self.emit(
            i,
            Instr::AttentionGrad {
                softmax,
                drop,
                log_sums,
                g,
                dots,
                values_grad,
                source_grad,
                destination_grad,
            },
        );
        for (v, grad) in inputs.into_iter().zip([values_grad, source_grad, destination_grad]) {
            self.add_term(v, Factor::Fixed(1.0), grad);
        }
    }

    fn differentiate_concat(&mut self, i: NodeId, parts: &[NodeId], g: Buf) {
        let mut from = 0;
        for &part in parts {
            let width = self.pass.nodes[part].cols;
            let copy = |dst| Instr::CopyColumns { src: g, from, dst, to: 0, width };
            self.add_computed_term(i, part, copy);
            from += width;
        }
    }

    /// Adds a term to the gradient of the operand `x` of a maximum; it includes ties if `wins_ties`.
    fn differentiate_max(&mut self, i: NodeId, x: NodeId, other: NodeId, wins_ties: bool, g: Buf) {
        let (value, other) = (self.pass.buf(x), self.pass.buf(other));
        let instr = |dst| Instr::MaxGrad { x: value, other, wins_ties, g, dst };
        self.add_computed_term(i, x, instr);
    }

    fn differentiate_scale_rows(
        &mut self,
        i: NodeId,
        x: NodeId,
        by: NodeId,
        column: usize,
        g: Buf,
    ) {
        let (value, by_value) = (self.pass.buf(x), self.pass.buf(by));
        let scaled = |dst| Instr::ScaleRows { x: g, by: by_value, column, dst };
        self.add_computed_term(i, x, scaled);
        if self.pass.nodes[by].needs_grad {
            let dst = self.cleared_accumulator(by);
            self.emit(i, Instr::RowDots { a: g, b: value, dst, column });
        }
    }
}

/// The bookkeeping of gradients.
impl Backward {
    /// Adds the pending term `factor g` to the gradient of `v`, if `v` needs a gradient.
    fn add_term(&mut self, v: NodeId, factor: Factor, g: Buf) {
        let Node { needs_grad, per_node, .. } = self.pass.nodes[v];
        if needs_grad {
            if per_node && self.gradients[v].terms.len() >= MAX_PENDING {
                self.flush(v);
            }
            self.gradients[v].terms.push((factor, g));
        }
    }

    /// Adds the pending term `coef P g` to the gradient of `v`, if `v` needs a gradient. It equals
    /// `coef P^T g`, because the operator is symmetric.
    fn add_spmm_term(&mut self, v: NodeId, term: Spmm) {
        let Node { needs_grad, per_node, .. } = self.pass.nodes[v];
        if needs_grad {
            if per_node && !self.gradients[v].spmms.is_empty() {
                self.flush(v);
            }
            self.gradients[v].spmms.push(term);
        }
    }

    /// Emits an instruction of operation `i` that computes a term of the gradient of `v` in a new buffer,
    /// which `instr` receives, if `v` needs a gradient.
    fn add_computed_term(&mut self, i: NodeId, v: NodeId, instr: impl FnOnce(Buf) -> Instr) {
        if self.pass.nodes[v].needs_grad {
            let dst = self.pass.buffer_like(v);
            self.emit(i, instr(dst));
            self.add_term(v, Factor::Fixed(1.0), dst);
        }
    }

    /// Emits an instruction of operation `i` that contributes to the accumulator of `v`, if there is a `v` and it
    /// needs a gradient. `instr` receives the accumulator, and whether to add to it instead of overwriting it.
    fn accumulate(&mut self, i: NodeId, v: Option<NodeId>, instr: impl FnOnce(Buf, bool) -> Instr) {
        let Some(v) = v.filter(|v| self.pass.nodes[*v].needs_grad) else { return };
        let (dst, add) = match self.pass.nodes[i].per_node {
            true => self.accumulator(v),
            false => (self.cleared_accumulator(v), true),
        };
        self.emit(i, instr(dst, add));
    }

    /// Returns the accumulator of `v`, declared if necessary, and whether it already existed; if not, the
    /// caller must clear or overwrite it.
    fn accumulator(&mut self, v: NodeId) -> (Buf, bool) {
        if let Some(accumulator) = self.gradients[v].accumulator {
            return (accumulator, true);
        }
        let Node { ref op, rows, cols, .. } = self.pass.nodes[v];
        let kind = match *op {
            Op::Param(p) => BufKind::Grad(self.pass.offsets[p]),
            _ => BufKind::Computed,
        };
        let buf = self.pass.list.buffer(rows, cols, kind);
        self.gradients[v].accumulator = Some(buf);
        (buf, false)
    }

    /// Returns the accumulator of `v`, declared if necessary; the prologue clears it unless an earlier
    /// contribution overwrites it.
    fn cleared_accumulator(&mut self, v: NodeId) -> Buf {
        let (dst, add) = self.accumulator(v);
        if !add {
            self.pass.list.prologue.push(Instr::Clear { dst });
        }
        dst
    }

    /// Emits the sum of the pending terms into the accumulator.
    fn flush(&mut self, v: NodeId) {
        let (dst, mut add) = self.accumulator(v);
        let Gradient { spmms, terms, .. } = std::mem::take(&mut self.gradients[v]);
        self.gradients[v].accumulator = Some(dst);
        let (mut spmms, mut rest) = (spmms.into_iter(), &terms[..]);
        while spmms.len() > 0 || !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(MAX_TERMS));
            let (spmm, terms) = (spmms.next(), head.to_vec());
            self.emit(v, Instr::Sum { dst, add, spmm, terms, bias: None });
            (rest, add) = (tail, true);
        }
    }

    /// Emits the remaining instructions of the gradient of `v` and returns its buffer; `None` if the loss
    /// does not depend on `v`. If such a `v` is a parameter, its gradient is cleared.
    fn finish_gradient(&mut self, v: NodeId) -> Option<Buf> {
        let Gradient { spmms, terms, accumulator } = &self.gradients[v];
        let is_param = matches!(self.pass.nodes[v].op, Op::Param(_));
        match (&spmms[..], &terms[..], accumulator) {
            ([], [], None) => {
                if is_param {
                    self.cleared_accumulator(v);
                }
                None
            }
            ([], [(Factor::Fixed(1.0), g)], None) if !is_param => Some(*g),
            _ => {
                self.flush(v);
                self.gradients[v].accumulator
            }
        }
    }

    /// Appends an instruction of operation `i` to the main section if `i` is per node, otherwise to the epilogue.
    fn emit(&mut self, i: NodeId, instr: Instr) {
        let list = &mut self.pass.list;
        if self.pass.nodes[i].per_node { &mut list.main } else { &mut list.epilogue }.push(instr);
    }
}

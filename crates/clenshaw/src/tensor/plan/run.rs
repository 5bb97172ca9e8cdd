//! The replay of a compiled plan.

use super::Team;
use super::backward::backward;
use super::forward::{Mode, forward};
use super::instr::{Buf, Factor, Home, Instr};
use super::stage::{Program, Slot, Stage, partial_size, program};
use super::tape::{Init, Op, Param, Tape, Var};
use crate::rng::Stream;
use crate::tensor::kernel::{self, dispatch};
use crate::tensor::{Mat, Pattern, Real};
use std::ops::Range;
use std::sync::Arc;

/// A compiled model: what it needs to train and to predict, shared by all runs on one graph.
pub struct Plan<T> {
    params: Vec<Param>,
    train: Program,
    evaluate: Program,
    logits: Buf,
    shape: (usize, usize),
    consts: Vec<Mat<T>>,
    sparse: Vec<Transposable>,
    operators: Vec<(Arc<Pattern>, Vec<T>)>,
}

/// A sparse pattern with its transpose.
struct Transposable {
    pattern: Pattern,
    transposed: Pattern,
    origin: Vec<u32>,
}

/// The nodes in the loss: their classes and their weights, zero for all other nodes.
#[derive(Clone, Debug)]
pub struct Targets<T> {
    labels: Vec<u32>,
    weights: Vec<T>,
}

impl<T: Real> Targets<T> {
    /// The mean over `nodes`; `label` is asked for these nodes only.
    pub fn mean_over(n_nodes: usize, nodes: &[u32], label: impl Fn(u32) -> u32) -> Self {
        let mut targets = Self { labels: vec![0; n_nodes], weights: vec![T::ZERO; n_nodes] };
        for &i in nodes {
            targets.labels[i as usize] = label(i);
            targets.weights[i as usize] = T::from_f64(1.0 / nodes.len() as f64);
        }
        targets
    }
}

/// The memory one run works in, and its threads.
pub struct Workspace<T> {
    arena: Vec<T>,
    scratch: Vec<T>,
    masks: Vec<u64>,
    partials: Vec<T>,
    grads: Vec<T>,
    team: Team,
}

impl<T> Workspace<T> {
    /// The gradient of every parameter after [`Plan::gradient`], in the order of the parameters.
    pub fn gradients(&self) -> &[T] {
        &self.grads
    }
}

impl<T: Real> Plan<T> {
    /// Compiles the computation of `logits`, forward and backward.
    pub fn compile(tape: &Tape, logits: Var) -> Self {
        let evaluation = forward(tape, logits, Mode::Evaluation);
        let output = evaluation.value(logits);
        let mut consts = Vec::new();
        let mut sparse = Vec::new();
        for node in &tape.nodes {
            match &node.op {
                Op::Dense(x) => consts.push(x.cast()),
                Op::Sparse(x) => {
                    consts.push(Mat::from_vec(x.values.len(), 1, x.values.clone()).cast());
                    let (transposed, origin) = x.pattern.transpose();
                    sparse.push(Transposable { pattern: x.pattern.clone(), transposed, origin });
                }
                _ => {}
            }
        }
        let cast = |scale: &[f64]| scale.iter().map(|v| T::from_f64(*v)).collect();
        let operators =
            tape.operators.iter().map(|p| (p.pattern.clone(), cast(&p.scale))).collect();
        Self {
            params: tape.params.clone(),
            train: program(backward(forward(tape, logits, Mode::Training), logits), &[]),
            evaluate: program(evaluation.list, &[output]),
            logits: output,
            shape: tape.shape(logits),
            consts,
            sparse,
            operators,
        }
    }

    /// The parameters, in the order of the parameter vector.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Where each parameter stands in the parameter vector.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let sizes = self.params.iter().map(|p| p.rows * p.cols);
        sizes.scan(0, |at, size| Some(std::mem::replace(at, *at + size)..*at)).collect()
    }

    /// The number of learned numbers.
    pub fn n_params(&self) -> usize {
        self.params.iter().map(|p| p.rows * p.cols).sum()
    }

    /// Initial parameters; each is drawn from a stream of its own name.
    pub fn initial(&self, weights: &Stream) -> Vec<T> {
        let mut all = Vec::with_capacity(self.n_params());
        for param in &self.params {
            let n = param.rows * param.cols;
            let mut stream = weights.named(&param.name);
            match &param.init {
                Init::Zeros => all.extend((0..n).map(|_| T::ZERO)),
                Init::Uniform(bound) => {
                    all.extend((0..n).map(|_| T::from_f64(stream.symmetric(*bound))));
                }
                Init::Values(values) => all.extend(values.iter().map(|v| T::from_f64(*v))),
            }
        }
        all
    }

    /// The size of a single-threaded workspace, gradients and parameters aside.
    pub fn workspace_bytes(&self) -> usize {
        let longest = |len: fn(&Program) -> usize| len(&self.train).max(len(&self.evaluate));
        let numbers =
            longest(|p| p.arena_len) + longest(|p| p.scratch_len) + longest(|p| p.partial_len);
        numbers * size_of::<T>() + longest(|p| p.mask_len) * size_of::<u64>()
    }

    /// Memory for one run.
    pub fn workspace(&self, team: Team) -> Workspace<T> {
        let longest = |len: fn(&Program) -> usize| len(&self.train).max(len(&self.evaluate));
        let scratch = longest(|p| p.scratch_len) * team.threads();
        Workspace {
            arena: vec![T::ZERO; longest(|p| p.arena_len)],
            scratch: vec![T::ZERO; scratch],
            masks: vec![0; longest(|p| p.mask_len)],
            partials: vec![T::ZERO; longest(|p| p.partial_len)],
            grads: vec![T::ZERO; self.n_params()],
            team,
        }
    }

    /// One forward and backward pass with dropout drawn from `chance`: the loss, and its gradient in
    /// [`Workspace::gradients`].
    pub fn gradient(
        &self,
        work: &mut Workspace<T>,
        params: &[T],
        targets: &Targets<T>,
        chance: &Stream,
    ) -> T {
        self.replay(&self.train, work, params, Some((targets, chance)))
    }

    /// The scores of every class for every node, without dropout, row by row.
    pub fn scores<'w>(&self, work: &'w mut Workspace<T>, params: &[T]) -> &'w [T] {
        self.replay(&self.evaluate, work, params, None);
        let Slot::Arena(at) = self.evaluate.slots[self.logits] else {
            panic!("scores: the output is computed, so it stands in the arena")
        };
        &work.arena[at..at + self.shape.0 * self.shape.1]
    }

    /// Number of nodes and of classes.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn replay(
        &self,
        program: &Program,
        work: &mut Workspace<T>,
        params: &[T],
        training: Option<(&Targets<T>, &Stream)>,
    ) -> T {
        assert_eq!(params.len(), self.n_params(), "plan: length of the parameter vector");
        let mut loss = T::ZERO;
        let memory = Memory {
            arena: work.arena.as_mut_ptr(),
            scratch: work.scratch.as_mut_ptr(),
            masks: work.masks.as_mut_ptr(),
            partials: work.partials.as_mut_ptr(),
            grads: work.grads.as_mut_ptr(),
            params: params.as_ptr(),
        };
        for stage in &program.stages {
            work.team.run(stage.n_chunks(), |chunk, thread| {
                let scope = Scope { plan: self, program, memory: &memory, training, stage, thread };
                for (b, rows) in stage.blocks(chunk).enumerate() {
                    for i in 0..stage.instrs.len() {
                        // SAFETY: chunks of a stage are disjoint rows, and `joins` let no instruction
                        // into the stage that reads other rows of what the stage writes.
                        unsafe { scope.execute(i, rows.clone(), chunk, b == 0) };
                    }
                }
            });
            let scope = Scope { plan: self, program, memory: &memory, training, stage, thread: 0 };
            for i in 0..stage.instrs.len() {
                // SAFETY: all chunks are done and this is the only thread left.
                unsafe { scope.finish(i, &mut loss) };
            }
        }
        loss
    }
}

/// Raw access to a workspace, shared by the threads of a stage.
struct Memory<T> {
    arena: *mut T,
    scratch: *mut T,
    masks: *mut u64,
    partials: *mut T,
    grads: *mut T,
    params: *const T,
}

// SAFETY: threads touch disjoint rows; see `Plan::replay`.
unsafe impl<T: Sync> Sync for Memory<T> {}

/// What an instruction sees while it runs on one block.
struct Scope<'a, T> {
    plan: &'a Plan<T>,
    program: &'a Program,
    memory: &'a Memory<T>,
    training: Option<(&'a Targets<T>, &'a Stream)>,
    stage: &'a Stage,
    thread: usize,
}

impl<'a, T: Real> Scope<'a, T> {
    /// Where row `row` of a buffer starts.
    unsafe fn row(&self, buf: Buf, row: usize) -> *mut T {
        let cols = self.program.bufs[buf].cols;
        let memory = self.memory;
        // SAFETY: slots were placed within the lengths the workspace was made with.
        unsafe {
            match self.program.slots[buf] {
                Slot::Arena(at) => memory.arena.add(at + row * cols),
                Slot::Scratch(at) => {
                    memory.scratch.add(self.thread * self.program.scratch_len + at)
                }
                Slot::Home(Home::Param(at)) => memory.params.add(at + row * cols).cast_mut(),
                Slot::Home(Home::Grad(at)) => memory.grads.add(at + row * cols),
                Slot::Home(Home::Const(i)) => {
                    self.plan.consts[i].as_slice().as_ptr().add(row * cols).cast_mut()
                }
                Slot::Home(Home::Computed) | Slot::Unused => {
                    panic!("plan: a buffer without a place")
                }
            }
        }
    }

    unsafe fn read(&self, buf: Buf, rows: &Range<usize>) -> &'a [T] {
        let len = rows.len() * self.program.bufs[buf].cols;
        // SAFETY: the rows exist and no other thread writes them now.
        unsafe { std::slice::from_raw_parts(self.row(buf, rows.start), len) }
    }

    unsafe fn write(&self, buf: Buf, rows: &Range<usize>) -> &'a mut [T] {
        let len = rows.len() * self.program.bufs[buf].cols;
        // SAFETY: the rows exist and belong to this thread's chunk.
        unsafe { std::slice::from_raw_parts_mut(self.row(buf, rows.start), len) }
    }

    unsafe fn all(&self, buf: Buf) -> &'a [T] {
        // SAFETY: nobody writes this buffer during the stage.
        unsafe { self.read(buf, &(0..self.program.bufs[buf].rows)) }
    }

    unsafe fn mask(&self, mask: usize, rows: &Range<usize>) -> &'a mut [u64] {
        let words = self.program.mask_cols[mask].div_ceil(64);
        let at = self.program.mask_offsets[mask] + rows.start * words;
        // SAFETY: as for `write`.
        unsafe { std::slice::from_raw_parts_mut(self.memory.masks.add(at), rows.len() * words) }
    }

    /// The sums of chunk `chunk` for instruction `i`.
    unsafe fn partial(&self, i: usize, chunk: usize) -> &'a mut [T] {
        let size = partial_size(&self.stage.instrs[i], &self.program.bufs)
            .expect("only instructions that sum over rows ask for partial sums");
        let at = self.stage.partials[&i] + chunk * size;
        // SAFETY: every chunk has its own range.
        unsafe { std::slice::from_raw_parts_mut(self.memory.partials.add(at), size) }
    }

    unsafe fn factor(&self, factor: Factor) -> T {
        match factor {
            Factor::Fixed(c) => T::from_f64(c),
            // SAFETY: nobody writes it during the stage.
            Factor::At(row, k) => unsafe { self.all(row)[k] },
        }
    }

    fn chance(&self) -> &'a Stream {
        self.training.expect("dropout acts in training only").1
    }

    fn cols(&self, buf: Buf) -> usize {
        self.program.bufs[buf].cols
    }

    /// Runs instruction `i` on a block of rows; `first` in its chunk.
    ///
    /// # Safety
    /// No other thread works on these rows, and nobody writes what the instruction reads whole.
    unsafe fn execute(&self, i: usize, rows: Range<usize>, chunk: usize, first: bool) {
        let rows = &rows;
        // SAFETY: the caller's promise, for every access below.
        unsafe {
            match &self.stage.instrs[i] {
                Instr::Clear { dst } => self.write(*dst, rows).fill(T::ZERO),
                Instr::Sum { dst, add, spread, terms, bias } => {
                    let gather = spread.map(|(by, c, src)| {
                        let (pattern, scale) = &self.plan.operators[by];
                        kernel::Gather {
                            coef: T::from_f64(c),
                            offsets: &pattern.offsets()[rows.start..=rows.end],
                            indices: pattern.indices(),
                            scale,
                            first: rows.start,
                            src: self.all(src),
                        }
                    });
                    let mut list: [(T, &[T]); kernel::MAX_TERMS] =
                        [(T::ZERO, &[]); kernel::MAX_TERMS];
                    for (slot, (factor, src)) in list.iter_mut().zip(terms) {
                        *slot = (self.factor(*factor), self.read(*src, rows));
                    }
                    dispatch(kernel::Sum {
                        cols: self.cols(*dst),
                        gather,
                        terms: list,
                        n_terms: terms.len(),
                        bias: bias.map(|bias| self.all(bias)),
                        out: self.write(*dst, rows),
                        add: *add,
                    });
                }
                Instr::MatMul { a, w, bias, dst } => dispatch(kernel::Gemm {
                    m: rows.len(),
                    k: self.cols(*a),
                    n: self.cols(*dst),
                    a: self.read(*a, rows),
                    a_row: self.cols(*a),
                    a_col: 1,
                    b: self.all(*w),
                    bias: bias.map(|bias| self.all(bias)),
                    c: self.write(*dst, rows),
                    add: false,
                }),
                Instr::SparseMatMul { x, values, w, bias, dst } => {
                    let pattern = &self.plan.sparse[*x].pattern;
                    dispatch(kernel::SparseProduct {
                        cols: self.cols(*dst),
                        offsets: &pattern.offsets()[rows.start..=rows.end],
                        indices: pattern.indices(),
                        values: self.all(*values),
                        w: self.all(*w),
                        bias: bias.map(|bias| self.all(bias)),
                        out: self.write(*dst, rows),
                    });
                }
                Instr::DropEntries { values, drop, dst } => {
                    let stream = self.chance().numbered(drop.site);
                    let scale = T::from_f64(1.0 / drop.coin.keep());
                    let (values, out) = (self.read(*values, rows), self.write(*dst, rows));
                    // Blocks start at multiples of 64, so a block is whole words but for the last.
                    for (w, (values, out)) in values.chunks(64).zip(out.chunks_mut(64)).enumerate()
                    {
                        let word = drop.coin.word(&stream, (rows.start / 64 + w) as u64);
                        for (j, (v, out)) in values.iter().zip(out).enumerate() {
                            *out = if word >> j & 1 == 1 { scale * *v } else { T::ZERO };
                        }
                    }
                }
                Instr::Transpose { src, dst } => {
                    let (from, to) = (self.all(*src), self.write(*dst, rows));
                    let (width, cols) = (self.cols(*src), self.cols(*dst));
                    for (r, row) in rows.clone().zip(to.chunks_exact_mut(cols)) {
                        for (c, out) in row.iter_mut().enumerate() {
                            *out = from[c * width + r];
                        }
                    }
                }
                Instr::Gate { src, dst, act, drop, mask } => {
                    let stream = drop.map(|drop| (drop.coin, self.chance().numbered(drop.site)));
                    dispatch(kernel::Gate {
                        cols: self.cols(*dst),
                        act: *act,
                        drop: stream.as_ref().map(|(coin, stream)| (*coin, stream)),
                        first: rows.start,
                        src: self.read(*src, rows),
                        out: self.write(*dst, rows),
                        mask: mask.map(|mask| self.mask(mask, rows)),
                    });
                }
                Instr::Ungate { src, mask, scale, dst } => dispatch(kernel::Ungate {
                    cols: self.cols(*dst),
                    scale: T::from_f64(*scale),
                    mask: self.mask(*mask, rows),
                    src: self.read(*src, rows),
                    out: self.write(*dst, rows),
                }),
                Instr::WeightGrad { a, g, .. } => dispatch(kernel::Gemm {
                    m: self.cols(*a),
                    k: rows.len(),
                    n: self.cols(*g),
                    a: self.read(*a, rows),
                    a_row: 1,
                    a_col: self.cols(*a),
                    b: self.read(*g, rows),
                    bias: None,
                    c: self.partial(i, chunk),
                    add: !first,
                }),
                Instr::SparseWeightGrad { x, values, g, dst, add } => {
                    let x = &self.plan.sparse[*x];
                    dispatch(kernel::SparseTransposeProduct {
                        cols: self.cols(*dst),
                        offsets: &x.transposed.offsets()[rows.start..=rows.end],
                        indices: x.transposed.indices(),
                        origin: &x.origin,
                        values: self.all(*values),
                        g: self.all(*g),
                        out: self.write(*dst, rows),
                        add: *add,
                    });
                }
                Instr::ColumnSums { g, .. } => {
                    kernel::column_sums(self.read(*g, rows), self.partial(i, chunk), !first);
                }
                Instr::Dot { a, b, .. } => {
                    let product = kernel::dot(self.read(*a, rows), self.read(*b, rows));
                    kernel::accumulate(&[product], self.partial(i, chunk), !first);
                }
                Instr::CopyColumns { src, from, dst, to, width } => {
                    let (src_cols, dst_cols) = (self.cols(*src), self.cols(*dst));
                    let (src, dst) = (self.read(*src, rows), self.write(*dst, rows));
                    let pairs = dst.chunks_exact_mut(dst_cols).zip(src.chunks_exact(src_cols));
                    for (out, x) in pairs {
                        out[*to..to + width].copy_from_slice(&x[*from..from + width]);
                    }
                }
                Instr::Nll { logits, grad } => {
                    let targets = self.training.expect("the loss is asked for in training only").0;
                    let loss = dispatch(kernel::Nll {
                        cols: self.cols(*grad),
                        logits: self.read(*logits, rows),
                        labels: &targets.labels[rows.clone()],
                        weights: &targets.weights[rows.clone()],
                        grad: self.write(*grad, rows),
                    });
                    kernel::accumulate(&[loss], self.partial(i, chunk), !first);
                }
            }
        }
    }

    /// Adds the chunks' sums of instruction `i`, in order.
    ///
    /// # Safety
    /// All chunks are done and no other thread runs.
    unsafe fn finish(&self, i: usize, loss: &mut T) {
        // SAFETY: the caller's promise.
        unsafe {
            let (dst, add): (&mut [T], bool) = match &self.stage.instrs[i] {
                Instr::WeightGrad { dst, add, .. } | Instr::ColumnSums { dst, add, .. } => {
                    (self.write(*dst, &(0..self.program.bufs[*dst].rows)), *add)
                }
                Instr::Dot { dst, at, .. } => {
                    let all = self.write(*dst, &(0..self.program.bufs[*dst].rows));
                    (std::slice::from_mut(&mut all[*at]), true)
                }
                Instr::Nll { .. } => (std::slice::from_mut(loss), false),
                _ => return,
            };
            for chunk in 0..self.stage.n_chunks() {
                kernel::accumulate(self.partial(i, chunk), dst, add || chunk > 0);
            }
        }
    }
}

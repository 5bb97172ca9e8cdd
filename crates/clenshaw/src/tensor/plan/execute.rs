//! What each instruction does to a block of rows.

use super::instr::{Buf, Factor, Home, Instr};
use super::run::{Goal, Plan, Targets};
use super::stage::{Program, Slot, Stage, padded, partial_size};
use crate::rng::Stream;
use crate::tensor::Real;
use crate::tensor::kernel::{self, dispatch};
use std::ops::Range;

/// Raw access to a workspace, shared by the threads of a stage.
pub(super) struct Memory<T> {
    pub arena: *mut T,
    pub scratch: *mut T,
    pub masks: *mut u64,
    pub partials: *mut T,
    pub grads: *mut T,
    pub params: *const T,
}

// SAFETY: threads touch disjoint rows; see `Plan::replay`.
unsafe impl<T: Sync> Sync for Memory<T> {}

/// What an instruction sees while it runs on one block.
pub(super) struct Scope<'a, T> {
    pub plan: &'a Plan<T>,
    pub program: &'a Program,
    pub memory: &'a Memory<T>,
    pub training: Option<(&'a Targets<T>, &'a Stream)>,
    pub stage: &'a Stage,
    pub thread: usize,
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
        let at = self.stage.partials[&i] + chunk * padded(size);
        // SAFETY: every chunk has its own range.
        unsafe { std::slice::from_raw_parts_mut(self.memory.partials.add(at), size) }
    }

    /// The factor of a whole term, or none if every column has its own.
    unsafe fn factor(&self, factor: Factor) -> Option<T> {
        match factor {
            Factor::Fixed(c) => Some(T::from_f64(c)),
            // SAFETY: nobody writes it during the stage.
            Factor::At(row, k) => Some(unsafe { self.all(row)[k] }),
            Factor::Row(..) => None,
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
    pub unsafe fn execute(&self, i: usize, rows: Range<usize>, chunk: usize, first: bool) {
        let rows = &rows;
        // SAFETY: the caller's promise, for every access below.
        unsafe {
            match &self.stage.instrs[i] {
                Instr::Clear { dst } => self.write(*dst, rows).fill(T::ZERO),
                Instr::Halve { src, dst } => dispatch(kernel::Halve {
                    cols: self.cols(*src),
                    src: self.read(*src, rows),
                    out: self.write(*dst, rows),
                }),
                Instr::Sum { dst, add, spread, terms, bias } => {
                    let gather = spread.map(|(by, c, src)| {
                        let (pattern, scale) = &self.plan.operators[by];
                        kernel::Gather {
                            coef: T::from_f64(c),
                            offsets: &pattern.offsets()[rows.start..=rows.end],
                            indices: pattern.indices(),
                            scale,
                            first: rows.start,
                            src: match self.program.bufs[src].halves {
                                true => kernel::Source::Halves(self.all(src)),
                                false => kernel::Source::Whole(self.all(src)),
                            },
                        }
                    });
                    let mut list: [(T, &[T]); kernel::MAX_TERMS] =
                        [(T::ZERO, &[]); kernel::MAX_TERMS];
                    let mut n_terms = 0;
                    for (factor, src) in terms {
                        if let Some(factor) = self.factor(*factor) {
                            list[n_terms] = (factor, self.read(*src, rows));
                            n_terms += 1;
                        }
                    }
                    dispatch(kernel::Sum {
                        cols: self.cols(*dst),
                        gather,
                        terms: list,
                        n_terms,
                        bias: bias.map(|bias| self.all(bias)),
                        out: self.write(*dst, rows),
                        add: *add,
                    });
                    for (factor, src) in terms {
                        if let Factor::Row(row, k) = factor {
                            let factor = self.read(*row, &(*k..k + 1));
                            kernel::add_columns(
                                factor,
                                self.read(*src, rows),
                                self.write(*dst, rows),
                            );
                        }
                    }
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
                        n_cols: pattern.n_cols(),
                        values: self.all(*values),
                        w: self.all(*w),
                        bias: bias.map(|bias| self.all(bias)),
                        out: self.write(*dst, rows),
                    });
                }
                Instr::DropEntries { values, drop, dst } => {
                    let stream = self.chance().numbered(drop.site);
                    dispatch(kernel::DropEntries {
                        drop: (drop.coin, &stream),
                        // Blocks start at multiples of 64.
                        first_word: rows.start / 64,
                        src: self.read(*values, rows),
                        out: self.write(*dst, rows),
                    });
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
                        n_rows: x.pattern.n_rows(),
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
                Instr::Map { map, src, dst } => {
                    let pairs = self.write(*dst, rows).iter_mut().zip(self.read(*src, rows));
                    pairs.for_each(|(out, x)| *out = map.of(*x));
                }
                Instr::MapGrad { map, x, y, g, dst } => {
                    let (x, y, g) = (self.read(*x, rows), self.read(*y, rows), self.read(*g, rows));
                    for (i, out) in self.write(*dst, rows).iter_mut().enumerate() {
                        *out = map.slope(x[i], y[i]) * g[i];
                    }
                }
                Instr::Product { a, b, dst } => {
                    let (a, b) = (self.read(*a, rows), self.read(*b, rows));
                    for (i, out) in self.write(*dst, rows).iter_mut().enumerate() {
                        *out = a[i] * b[i];
                    }
                }
                Instr::Max { a, b, dst } => {
                    let (a, b) = (self.read(*a, rows), self.read(*b, rows));
                    for (i, out) in self.write(*dst, rows).iter_mut().enumerate() {
                        *out = larger(a[i], b[i]);
                    }
                }
                Instr::MaxGrad { winner, other, first, g, dst } => {
                    let (x, o) = (self.read(*winner, rows), self.read(*other, rows));
                    let g = self.read(*g, rows);
                    for (i, out) in self.write(*dst, rows).iter_mut().enumerate() {
                        let wins = x[i] > o[i] || (*first && x[i] == o[i]);
                        *out = if wins { g[i] } else { T::ZERO };
                    }
                }
                Instr::ScaleRows { x, by, column, dst } => {
                    let cols = self.cols(*dst);
                    let by = self.read(*by, rows).chunks_exact(self.cols(*by));
                    let x = self.read(*x, rows).chunks_exact(cols);
                    for ((out, x), by) in
                        self.write(*dst, rows).chunks_exact_mut(cols).zip(x).zip(by)
                    {
                        out.iter_mut().zip(x).for_each(|(out, x)| *out = by[*column] * *x);
                    }
                }
                Instr::RowDots { a, b, dst, column } => {
                    let (cols, width) = (self.cols(*a), self.cols(*dst));
                    let (a, b) = (self.read(*a, rows), self.read(*b, rows));
                    let pairs = a.chunks_exact(cols).zip(b.chunks_exact(cols));
                    for (out, (a, b)) in self.write(*dst, rows).chunks_exact_mut(width).zip(pairs) {
                        out[*column] += kernel::dot(a, b);
                    }
                }
                Instr::Shrink { threshold, src, dst } => {
                    let (x, out) = (self.read(*src, rows), self.write(*dst, rows));
                    kernel::shrink(self.cols(*dst), T::from_f64(*threshold), x, out);
                }
                Instr::ShrinkGrad { threshold, x, g, dst } => {
                    let (x, g) = (self.read(*x, rows), self.read(*g, rows));
                    let (threshold, out) = (T::from_f64(*threshold), self.write(*dst, rows));
                    kernel::shrink_gradient(self.cols(*dst), threshold, x, g, out);
                }
                Instr::Softmax { src, dst } => {
                    kernel::softmax(self.cols(*dst), self.read(*src, rows), self.write(*dst, rows));
                }
                Instr::SoftmaxGrad { y, g, dst } => {
                    let (y, g) = (self.read(*y, rows), self.read(*g, rows));
                    kernel::softmax_gradient(self.cols(*dst), y, g, self.write(*dst, rows));
                }
                Instr::ColumnDots { a, b, .. } => {
                    let (a, b) = (self.read(*a, rows), self.read(*b, rows));
                    kernel::column_dots(a, b, self.partial(i, chunk), !first);
                }
                Instr::RunningProduct { x, dst } => {
                    let x = self.all(*x);
                    for (k, out) in rows.clone().zip(self.write(*dst, rows)) {
                        *out = x[..k].iter().fold(T::ONE, |product, x| product * *x);
                    }
                }
                Instr::RunningProductGrad { x, g, dst } => {
                    let (x, g) = (self.all(*x), self.all(*g));
                    for (j, out) in rows.clone().zip(self.write(*dst, rows)) {
                        *out = product_gradient(x, g, j);
                    }
                }
                Instr::Loss { scores, grad } => {
                    let targets = self.training.expect("the loss is asked for in training only").0;
                    let (cols, scores) = (self.cols(*grad), self.read(*scores, rows));
                    let (weights, grad) = (&targets.weights[rows.clone()], self.write(*grad, rows));
                    let loss = match &targets.goal {
                        Goal::Classes(labels) => {
                            let labels = &labels[rows.clone()];
                            dispatch(kernel::Nll { cols, logits: scores, labels, weights, grad })
                        }
                        Goal::Values(values) => {
                            let values = &values[cols * rows.start..cols * rows.end];
                            dispatch(kernel::Squares { cols, scores, values, weights, grad })
                        }
                    };
                    kernel::accumulate(&[loss], self.partial(i, chunk), !first);
                }
            }
        }
    }

    /// Adds the chunks' sums of instruction `i`, in order.
    ///
    /// # Safety
    /// All chunks are done and no other thread runs.
    pub unsafe fn finish(&self, i: usize, loss: &mut T) {
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
                Instr::ColumnDots { dst, at, add, .. } => (self.write(*dst, &(*at..at + 1)), *add),
                Instr::Loss { .. } => (std::slice::from_mut(loss), false),
                _ => return,
            };
            for chunk in 0..self.stage.n_chunks() {
                kernel::accumulate(self.partial(i, chunk), dst, add || chunk > 0);
            }
        }
    }
}

/// The larger of two numbers; what is not a number passes.
fn larger<T: Real>(a: T, b: T) -> T {
    if a >= b {
        a
    } else if b > a {
        b
    } else {
        a + b
    }
}

/// `sum_{k > j} g_k prod_{i < k, i != j} x_i`: how the running products move with `x_j`.
fn product_gradient<T: Real>(x: &[T], g: &[T], j: usize) -> T {
    let mut product = x[..j].iter().fold(T::ONE, |product, x| product * *x);
    let mut sum = product * g[j + 1];
    for k in j + 2..g.len() {
        product = product * x[k - 1];
        sum += product * g[k];
    }
    sum
}

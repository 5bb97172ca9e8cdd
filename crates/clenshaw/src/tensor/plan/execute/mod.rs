//! Executes instructions on blocks of rows, with one file per family of instructions:
//!
//! ```text
//! sums          weighted sums, including products with an operator; inner products and sums over rows
//! products      dense and sparse matrix products, weight gradients and transposes
//! attention     attention over neighbours and its gradients
//! elementwise   gates, element-wise functions and their gradients, conversion to bf16
//! rows          functions of whole rows, copies of rows and columns, running products
//! loss          the loss and its gradient
//! ```

mod attention;
mod elementwise;
mod loss;
mod products;
mod rows;
mod sums;

use super::instr::{Buf, BufKind, Instr, Mask, ReduceInto};
use super::program::{Program, Slot};
use super::replay::Plan;
use super::schedule::Step;
use super::targets::Targets;
use crate::rng::Stream;
use crate::tensor::Real;
use crate::tensor::kernel::{self, RowNumbers};
use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Raw pointers to the parameters and into a workspace, shared by the threads of a stage. Except for
/// `params`, each points to the field of the same name of [`Workspace`](super::Workspace).
pub(super) struct Memory<T> {
    pub arena: *mut T,
    pub scratch: *mut T,
    pub masks: *mut u64,
    pub partials: *mut T,
    pub grads: *mut T,
    pub params: *const T,
    pub inputs: *const T,
}

// SAFETY: no thread accesses rows that another one writes; see `Plan::replay`.
unsafe impl<T: Sync> Sync for Memory<T> {}

/// The context in which one thread executes instructions.
pub(super) struct ThreadContext<'a, T> {
    pub plan: &'a Plan<T>,
    pub program: &'a Program,
    pub memory: &'a Memory<T>,
    /// In training, the targets and the source of randomness for dropout; `None` in an evaluation.
    pub training: Option<(&'a Targets<T>, &'a Stream)>,
    /// The index of the thread, which determines its scratch memory.
    pub thread: usize,
}

/// The rows that an instruction is executed on.
#[derive(Clone, Copy)]
struct Block<'a> {
    rows: &'a Range<usize>,
    /// The index of the chunk that contains them.
    chunk: usize,
    /// Whether it is the first block of its chunk, which overwrites the chunk's partial sums.
    is_first: bool,
}

/// Access to memory.
///
/// # Safety
/// The unsafe functions require what [`ThreadContext::execute`] requires: the workspace belongs to the
/// plan, no other thread writes the rows that are read or accesses those that are written, and an
/// instruction does not write a buffer that it reads.
impl<'a, T: Real> ThreadContext<'a, T> {
    /// The address of a row of a buffer; in scratch memory, `row` must be the first one of the block.
    unsafe fn row_address(&self, buf: Buf, row: usize) -> *mut T {
        let cols = self.program.bufs[buf].cols;
        let memory = self.memory;
        // SAFETY: `schedule` placed the slots within the lengths that the workspace has.
        unsafe {
            match self.program.slots[buf] {
                Slot::Arena(offset) => memory.arena.add(offset + row * cols),
                Slot::Scratch(offset) => {
                    memory.scratch.add(self.thread * self.program.scratch_len + offset)
                }
                Slot::Fixed(BufKind::Param(offset)) => {
                    memory.params.add(offset + row * cols).cast_mut()
                }
                Slot::Fixed(BufKind::Grad(offset)) => memory.grads.add(offset + row * cols),
                Slot::Fixed(BufKind::Const(i)) => {
                    self.plan.constants.dense[i].as_slice().as_ptr().add(row * cols).cast_mut()
                }
                Slot::Fixed(BufKind::Input(i)) => {
                    memory.inputs.add(self.plan.inputs[i].start + row * cols).cast_mut()
                }
                Slot::Fixed(BufKind::SparseValues(i)) => {
                    self.plan.constants.sparse[i].values.as_ptr().add(row * cols).cast_mut()
                }
                Slot::Fixed(BufKind::Computed) | Slot::Unused => {
                    unreachable!("a buffer that an instruction accesses has memory")
                }
            }
        }
    }

    /// Some rows of a buffer.
    unsafe fn read(&self, buf: Buf, rows: &Range<usize>) -> &'a [T] {
        let len = rows.len() * self.cols(buf);
        // SAFETY: the rows exist, and no thread writes them now.
        unsafe { from_raw_parts(self.row_address(buf, rows.start), len) }
    }

    /// Some rows of a buffer, to be written.
    unsafe fn write(&self, buf: Buf, rows: &Range<usize>) -> &'a mut [T] {
        let len = rows.len() * self.cols(buf);
        // SAFETY: the rows exist and belong to this thread's chunk.
        unsafe { from_raw_parts_mut(self.row_address(buf, rows.start), len) }
    }

    /// All rows of a buffer.
    unsafe fn read_all(&self, buf: Buf) -> &'a [T] {
        // SAFETY: no thread writes this buffer during the stage.
        unsafe { self.read(buf, &(0..self.program.bufs[buf].rows)) }
    }

    /// Some rows of a mask, to be read or written.
    unsafe fn mask(&self, mask: Mask, rows: &Range<usize>) -> &'a mut [u64] {
        let words = self.program.masks[mask].1.div_ceil(64);
        let offset = self.program.mask_offsets[mask] + rows.start * words;
        // SAFETY: as for `write`.
        unsafe { from_raw_parts_mut(self.memory.masks.add(offset), rows.len() * words) }
    }

    /// The partial sums of an instruction for a chunk.
    pub unsafe fn partial(&self, step: &Step, chunk: usize) -> &'a mut [T] {
        let partials = step.partials.expect("an instruction that sums over rows has partial sums");
        let offset = partials.offset + chunk * partials.stride;
        // SAFETY: every chunk has its own range.
        unsafe { from_raw_parts_mut(self.memory.partials.add(offset), partials.size) }
    }

    /// This thread's memory for the shared sums of a product with an operator; each sum has this many
    /// columns.
    unsafe fn slots(&self, step: &Step, cols: usize) -> &'a mut [T] {
        let offset = self.thread * self.program.scratch_len + step.slots_offset;
        // SAFETY: `schedule` reserved this memory for the step, and every thread has its own.
        unsafe { from_raw_parts_mut(self.memory.scratch.add(offset), step.n_slots * cols) }
    }

    /// The node numbers of these rows if the plan reorders nodes and the buffer has as many rows as there are
    /// nodes, otherwise the row numbers. To be called only for buffers of values that are per node.
    fn row_numbers(&self, buf: Buf, rows: &Range<usize>) -> RowNumbers<'a> {
        match &self.plan.constants.order {
            Some(order) if order.n_nodes() == self.program.bufs[buf].rows => {
                RowNumbers::Listed(&order.nodes()[rows.clone()])
            }
            _ => RowNumbers::From(rows.start),
        }
    }

    /// The number of columns of a buffer.
    fn cols(&self, buf: Buf) -> usize {
        self.program.bufs[buf].cols
    }

    /// The targets; panics in an evaluation.
    fn targets(&self) -> &'a Targets<T> {
        self.training.expect("only a training program has a loss").0
    }

    /// The source of randomness for dropout; panics in an evaluation.
    fn dropout_stream(&self) -> &'a Stream {
        self.training.expect("only a training program has dropout").1
    }
}

impl<T: Real> ThreadContext<'_, T> {
    /// Executes an instruction on a block of rows of the chunk with this index; `is_first` states whether it is
    /// the first block of the chunk.
    ///
    /// # Safety
    /// The workspace behind `memory` and the program belong to the plan; no other thread works on these
    /// rows, and no thread writes to a buffer of which the instruction reads all rows.
    #[inline]
    pub unsafe fn execute(&self, step: &Step, rows: &Range<usize>, chunk: usize, is_first: bool) {
        let block = Block { rows, chunk, is_first };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &step.instr {
                Instr::Sum { .. }
                | Instr::ColumnSums { .. }
                | Instr::ColumnDots { .. }
                | Instr::Dot { .. } => self.execute_sum(step, block),
                Instr::MatMul { .. }
                | Instr::SparseMatMul { .. }
                | Instr::WeightGrad { .. }
                | Instr::SparseWeightGrad { .. }
                | Instr::Transpose { .. } => self.execute_product(step, block),
                Instr::Attention { .. } | Instr::AttentionGrad { .. } | Instr::HeadDots { .. } => {
                    self.execute_attention(&step.instr, rows);
                }
                Instr::Clear { .. }
                | Instr::Bf16 { .. }
                | Instr::Gate { .. }
                | Instr::GateGrad { .. }
                | Instr::SparseDropout { .. }
                | Instr::Map { .. }
                | Instr::MapGrad { .. }
                | Instr::Product { .. }
                | Instr::Max { .. }
                | Instr::MaxGrad { .. } => self.execute_elementwise(&step.instr, rows),
                Instr::CopyColumns { .. }
                | Instr::RestoreOrder { .. }
                | Instr::ScaleRows { .. }
                | Instr::RowDots { .. }
                | Instr::Shrink { .. }
                | Instr::ShrinkGrad { .. }
                | Instr::Softmax { .. }
                | Instr::SoftmaxGrad { .. }
                | Instr::Standardise { .. }
                | Instr::StandardiseGrad { .. }
                | Instr::RunningProduct { .. }
                | Instr::RunningProductGrad { .. } => self.execute_row_wise(&step.instr, rows),
                Instr::Loss { scores, grad } => self.execute_loss(step, *scores, *grad, block),
            }
        }
    }

    /// Adds the partial sums of all chunks, in the order of the chunks, for an instruction that sums over
    /// rows; `part` is the range of entries to add. The sums overwrite the destination of the instruction or are
    /// added to it, as its [`Reduction`](super::instr::Reduction) states; the total of `Instr::Loss` replaces the
    /// partial sum of the first chunk. Does nothing for other instructions.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`]; all chunks are done, and no other thread works on this part.
    pub unsafe fn combine_partials(&self, step: &Step, n_chunks: usize, part: Range<usize>) {
        let Some(reduction) = step.info.reduction else { return };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let start = match reduction.into {
                ReduceInto::Buffer(dst) => self.row_address(dst, 0),
                ReduceInto::Row(dst, row) => self.row_address(dst, row),
                ReduceInto::Entry(dst, entry) => self.row_address(dst, 0).add(entry),
                ReduceInto::Loss => self.partial(step, 0).as_mut_ptr(),
            };
            let dst = from_raw_parts_mut(start.add(part.start), part.len());
            let first = usize::from(reduction.into == ReduceInto::Loss);
            for chunk in first..n_chunks {
                let add = reduction.add || chunk > 0;
                kernel::accumulate(&self.partial(step, chunk)[part.clone()], dst, add);
            }
        }
    }
}

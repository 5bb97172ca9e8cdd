//! The loss and its gradient.

use super::{Block, ThreadContext};
use crate::tensor::Real;
use crate::tensor::kernel::{self, RowNumbers, dispatch};
use crate::tensor::plan::instr::Buf;
use crate::tensor::plan::schedule::Step;
use crate::tensor::plan::targets::TargetKind;
use std::ops::Range;

impl<T: Real> ThreadContext<'_, T> {
    /// Writes the gradient of the loss for a block of rows, and accumulates their loss in the partial sum of the
    /// chunk.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    pub(super) unsafe fn execute_loss(
        &self,
        step: &Step,
        scores: Buf,
        grad: Buf,
        block: Block<'_>,
    ) {
        let (rows, cols) = (block.rows, self.cols(grad));
        let row_numbers = self.row_numbers(grad, rows);
        // SAFETY: guaranteed by the caller.
        let (scores, grad) = unsafe { (self.read(scores, rows), self.write(grad, rows)) };
        let loss = match row_numbers {
            RowNumbers::From(_) => self.loss(rows.clone(), scores, grad),
            RowNumbers::Listed(nodes) => {
                let rows = scores.chunks_exact(cols).zip(grad.chunks_exact_mut(cols)).zip(nodes);
                rows.fold(T::ZERO, |sum, ((scores, grad), &node)| {
                    let node = node as usize;
                    sum + self.loss(node..node + 1, scores, grad)
                })
            }
        };
        // SAFETY: guaranteed by the caller.
        let partial = unsafe { self.partial(step, block.chunk) };
        kernel::accumulate(&[loss], partial, !block.is_first);
    }

    /// Writes the gradient of the loss of nodes with consecutive numbers, which have these scores; returns their
    /// loss.
    fn loss(&self, nodes: Range<usize>, scores: &[T], grad: &mut [T]) -> T {
        let targets = self.targets();
        let cols = scores.len() / nodes.len();
        let weights = &targets.weights[nodes.clone()];
        match &targets.kind {
            TargetKind::Classes { labels, .. } => {
                let labels = &labels[nodes];
                dispatch(kernel::Nll { cols, logits: scores, labels, weights, grad })
            }
            TargetKind::Values { values, .. } => {
                let values = &values[cols * nodes.start..cols * nodes.end];
                dispatch(kernel::Squares { cols, scores, values, weights, grad })
            }
            TargetKind::Combination { coefficients } => {
                dispatch(kernel::Combination { scores, coefficients, weights, grad })
            }
        }
    }
}

//! The loss and its gradient.

use super::{Block, ThreadContext};
use crate::tensor::Real;
use crate::tensor::kernel::{self, dispatch};
use crate::tensor::plan::instr::Buf;
use crate::tensor::plan::schedule::Step;
use crate::tensor::plan::targets::TargetKind;

impl<T: Real> ThreadContext<'_, T> {
    /// Writes the gradient of the loss for a block of rows, and adds their loss to the partial sum.
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
        let (targets, rows, cols) = (self.targets(), block.rows, self.cols(grad));
        let weights = &targets.weights[rows.clone()];
        // SAFETY: guaranteed by the caller.
        let (scores, grad) = unsafe { (self.read(scores, rows), self.write(grad, rows)) };
        let loss = match &targets.kind {
            TargetKind::Classes { labels, .. } => {
                let labels = &labels[rows.clone()];
                dispatch(kernel::Nll { cols, logits: scores, labels, weights, grad })
            }
            TargetKind::Values { values, .. } => {
                let values = &values[cols * rows.start..cols * rows.end];
                dispatch(kernel::Squares { cols, scores, values, weights, grad })
            }
            TargetKind::Combination { coefficients } => {
                dispatch(kernel::Combination { scores, coefficients, weights, grad })
            }
        };
        // SAFETY: guaranteed by the caller.
        let partial = unsafe { self.partial(step, block.chunk) };
        kernel::accumulate(&[loss], partial, !block.is_first);
    }
}

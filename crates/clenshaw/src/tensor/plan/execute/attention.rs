//! Attention over neighbours.

use super::ThreadContext;
use crate::tensor::Real;
use crate::tensor::kernel::{self, dispatch};
use crate::tensor::plan::instr::{Dropout, EdgeSoftmax, Instr};
use std::ops::Range;

impl<T: Real> ThreadContext<'_, T> {
    /// Executes [`Instr::Attention`], [`Instr::AttentionGrad`] or [`Instr::HeadDots`] on a block of rows.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    pub(super) unsafe fn execute_attention(&self, instr: &Instr, rows: &Range<usize>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match *instr {
                Instr::Attention { softmax, drop, dst, log_sums } => {
                    let stream = drop.map(|drop| self.dropout_stream().numbered(drop.site));
                    dispatch(kernel::Attention {
                        edges: self.edges(softmax, drop, stream.as_ref(), rows),
                        out: self.write(dst, rows),
                        log_sums: self.write(log_sums, rows),
                    });
                }
                Instr::AttentionGrad {
                    softmax,
                    drop,
                    log_sums,
                    g,
                    dots,
                    values_grad,
                    source_grad,
                    destination_grad,
                } => {
                    let stream = drop.map(|drop| self.dropout_stream().numbered(drop.site));
                    dispatch(kernel::AttentionGrad {
                        edges: self.edges(softmax, drop, stream.as_ref(), rows),
                        log_sums: self.read_all(log_sums),
                        out_grad: self.read_all(g),
                        dots: self.read_all(dots),
                        values_grad: self.write(values_grad, rows),
                        source_grad: self.write(source_grad, rows),
                        destination_grad: self.write(destination_grad, rows),
                    });
                }
                Instr::HeadDots { layout, a, b, dst } => dispatch(kernel::HeadDots {
                    layout,
                    heads: self.cols(dst),
                    cols: self.cols(a),
                    a: self.read(a, rows),
                    b: self.read(b, rows),
                    out: self.write(dst, rows),
                }),
                ref other => unreachable!("{other:?} is not an attention"),
            }
        }
    }

    /// The kernel argument for the edges of these rows.
    ///
    /// # Safety
    /// As for [`ThreadContext::execute`].
    unsafe fn edges<'a>(
        &'a self,
        softmax: EdgeSoftmax,
        drop: Option<Dropout>,
        stream: Option<&'a crate::rng::Stream>,
        rows: &Range<usize>,
    ) -> kernel::AttentionEdges<'a, T> {
        let constants = &self.plan.constants;
        let pattern = &constants.operators[softmax.operator].layout.pattern;
        let drop = drop.zip(stream).map(|(drop, stream)| kernel::EdgeDropout {
            keep: drop.keep,
            stream,
            nodes: constants.order.as_ref().map(|order| order.nodes()),
            n_nodes: pattern.n_rows(),
        });
        // SAFETY: guaranteed by the caller.
        unsafe {
            kernel::AttentionEdges {
                layout: softmax.layout,
                heads: self.cols(softmax.source),
                cols: self.cols(softmax.values),
                slope: T::from_f64(softmax.slope),
                first_row: rows.start,
                offsets: &pattern.offsets()[rows.start..=rows.end],
                indices: pattern.indices(),
                source: self.read_all(softmax.source),
                destination: self.read_all(softmax.destination),
                values: self.read_all(softmax.values),
                drop,
            }
        }
    }
}

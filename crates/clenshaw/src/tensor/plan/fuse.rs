//! Second pass: rewrites recorded operations before they become instructions.

use super::instr::Factor;
use super::op::{Node, Op};
use super::value::NodeId;
use crate::tensor::kernel::Act;

/// The purpose of a forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassMode {
    /// Dropout is on, batch normalisation uses the statistics of the batch, and a backward pass follows.
    Training,
    /// Dropout is off and batch normalisation uses running statistics, but a backward pass follows.
    Frozen,
    /// The same as `Frozen`, but without a backward pass.
    Evaluation,
}

/// Returns the recorded values after the rewrites, and whether each is needed for the outputs. Indices
/// do not change.
pub(super) fn fuse(nodes: &[Node], outputs: &[NodeId], mode: PassMode) -> (Vec<Node>, Vec<bool>) {
    let mut fused = fuse_gates(nodes, outputs);
    if mode != PassMode::Training {
        fused.iter_mut().for_each(use_running_statistics);
    }
    let needed = needed(&fused, outputs);
    (fused, needed)
}

/// Turns `dropout(act(x))` into one gate where `act(x)` has no other use.
fn fuse_gates(nodes: &[Node], outputs: &[NodeId]) -> Vec<Node> {
    let mut uses = vec![0; nodes.len()];
    let inputs = nodes.iter().flat_map(|node| node.op.inputs());
    outputs.iter().copied().chain(inputs).for_each(|v| uses[v] += 1);
    let mut fused = nodes.to_vec();
    for node in &mut fused {
        let Op::Gate { x, act: Act::Identity, drop, site } = node.op else { continue };
        if let Op::Gate { x: source, act, drop: 0.0, .. } = nodes[x].op
            && uses[x] == 1
        {
            node.op = Op::Gate { x: source, act, drop, site };
        }
    }
    fused
}

/// Replaces a batch statistic with its running average.
fn use_running_statistics(node: &mut Node) {
    if let Op::Statistic { running, .. } = node.op {
        let terms = vec![(Factor::Fixed(1.0), running)];
        node.op = Op::Sum { spmm: None, terms, bias: None };
    }
}

/// Whether no value uses dropout or batch statistics, so that training and evaluation compute the same values.
pub(super) fn training_matches_evaluation(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node.op {
        Op::Gate { drop, .. } | Op::SparseDropout { drop, .. } | Op::Attention { drop, .. } => {
            drop == 0.0
        }
        Op::Statistic { .. } => false,
        _ => true,
    })
}

/// Whether each value is an output or an input of a needed value.
fn needed(nodes: &[Node], outputs: &[NodeId]) -> Vec<bool> {
    let mut needed = vec![false; nodes.len()];
    outputs.iter().for_each(|v| needed[*v] = true);
    for i in (0..nodes.len()).rev() {
        if needed[i] {
            nodes[i].op.inputs().into_iter().for_each(|v| needed[v] = true);
        }
    }
    needed
}

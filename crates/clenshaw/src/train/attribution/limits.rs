//! The memory and the work that an explanation may use.

use super::AttributionTarget;
use crate::data::Features;
use crate::error::{Error, Result};
use crate::memory;
use crate::tensor::Plan;

/// The resources that the explanation of one node may use.
#[derive(Clone, Copy, Debug)]
pub struct AttributionLimits {
    /// Bytes of memory.
    pub bytes: usize,
    /// Arithmetic operations, as [`Attribution::operations`](super::Attribution::operations) counts them. If they
    /// do not suffice for the smallest number of points, the explanation fails; otherwise they limit that number.
    pub operations: f64,
    /// Threads; they do not change the result.
    pub threads: usize,
}

impl Default for AttributionLimits {
    /// 4 GB, any number of operations, one thread.
    fn default() -> Self {
        Self { bytes: 4_000_000_000, operations: f64::INFINITY, threads: 1 }
    }
}

/// The memory limit of an explanation, and what its error message states.
pub(super) struct AttributionMemory {
    pub target: AttributionTarget,
    pub reach: Option<usize>,
    pub n_nodes: usize,
    pub limit: usize,
}

impl AttributionMemory {
    /// Returns an error if the explanation needs more than the limit, or more than there is.
    pub fn check(&self, bytes: usize) -> Result<()> {
        if bytes <= self.limit {
            let what = || format!("the explanation of node {}", self.target.node);
            return memory::require(bytes as u64, what, "use a machine with more memory");
        }
        let gigabytes = |bytes: usize| bytes as f64 / 1e9;
        let reach = self.reach.map_or("the whole graph".into(), |reach| format!("{reach} hops"));
        let problem = format!(
            "its explanation needs {:.2} GB of memory, because {} nodes are within reach of the model \
             ({reach}); the limit is {:.2} GB",
            gigabytes(bytes),
            self.n_nodes,
            gigabytes(self.limit)
        );
        Err(Error::Data { place: format!("node {}", self.target.node), problem })
    }
}

/// The error for a limit of operations that does not allow the smallest number of points.
pub(super) fn too_expensive(target: AttributionTarget, needed: f64, limit: f64) -> Error {
    let problem =
        format!("its explanation needs {needed:.1e} operations; the limit is {limit:.1e}");
    Error::Data { place: format!("node {}", target.node), problem }
}

/// The operations of one gradient: those of dense products, and one for every number that is gathered or
/// streamed.
pub(super) fn operations(plan: &Plan<f64>) -> f64 {
    let numbers = |bytes: f64| bytes / size_of::<f64>() as f64;
    plan.costs()
        .iter()
        .map(|(_, cost)| cost.flops + numbers(cost.gathered_bytes() + cost.streamed))
        .sum()
}

/// The approximate bytes of the features of some nodes, on the tape and in the plan.
pub(super) fn feature_bytes(x: &Features, nodes: &[u32]) -> usize {
    let numbers = match x {
        Features::Dense(x) => nodes.len() * x.cols(),
        Features::Sparse { pattern, .. } => {
            // With their columns and the transposed matrix, entries take about twice the space.
            2 * nodes.iter().map(|&u| pattern.row(u as usize).len()).sum::<usize>()
        }
    };
    2 * size_of::<f64>() * numbers
}

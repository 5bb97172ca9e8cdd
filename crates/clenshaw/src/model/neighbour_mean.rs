//! The mean over neighbours, as a symmetric operator between two row scalings.
//!
//! ```text
//! M  = D^-1 A          = D^-1/2 P D^1/2                      the row of an isolated node is 0
//! M~ = (D+I)^-1 (A+I)  = (D+I)^-1/2 P~ (D+I)^1/2
//! ```
//!
//! M is not symmetric, but plans compute gradients with symmetric operators only. P is symmetric, and the
//! gradient of a row scaling is the same scaling, so the gradient of `M H` is `D^1/2 P D^-1/2 G = M^T G`.
//! With edge weights, the mean is weighted.

use super::Net;
use crate::tensor::{Mat, OperatorVar, Var};

/// The mean over the neighbours that an operator connects.
#[derive(Clone, Copy, Debug)]
pub(super) struct NeighbourMean {
    p: OperatorVar,
    /// `d^-1/2` and `d^1/2` of every node, 0 for an isolated node, `[n, 2]`.
    roots: Var,
}

impl NeighbourMean {
    /// The mean whose symmetric normalisation is `p`.
    pub fn new(net: &mut Net, p: OperatorVar) -> Self {
        let scale = net.operator_of(p).scale();
        let inverse = |s: f64| if s == 0.0 { 0.0 } else { 1.0 / s };
        let roots: Vec<f64> = scale.iter().flat_map(|&s| [s, inverse(s)]).collect();
        let n = scale.len();
        Self { p, roots: net.features(Mat::from_vec(n, 2, roots)) }
    }

    /// `M H`.
    pub fn apply(self, net: &mut Net, h: Var) -> Var {
        let scaled = net.scale_rows(h, self.roots, 1);
        let sums = net.sum([self.p.apply(scaled)]);
        net.scale_rows(sums, self.roots, 0)
    }
}

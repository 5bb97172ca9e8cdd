//! Matrices, kernels, the training plan and the optimisers' arithmetic.

mod real;
mod mat;
mod sparse;

pub use mat::Mat;
pub use real::Real;
pub use sparse::{Operator, Pattern, Sparse};

//! Matrices, kernels, the training plan and the optimisers' arithmetic.

mod real;
mod mat;
mod lines;
mod slab;
mod sparse;
mod kernel;
mod plan;
mod optimiser;
mod limits;

pub use limits::Limits;
pub use lines::Lines;
pub use mat::Mat;
pub use optimiser::{Optimiser, Rule, Settings};
pub use plan::{
    Coef, Gathered, Init, Meter, Param, Phase, Plan, RUNNING, Spread, Tape, Targets, Team, Term,
    Var, Work, Workspace,
};
pub use real::Real;
pub use slab::{Bytes, Slab, Word, little_endian};
pub use sparse::{Operator, Pattern, Sparse};

/// `log sum_c exp z_c`, safe from overflow.
pub fn log_sum_exp<T: Real>(z: &[T]) -> T {
    kernel::log_sum_exp(z)
}

/// The instructions the kernels use on this processor: `avx512`, `avx2` or `portable`.
pub fn instruction_set() -> &'static str {
    kernel::instruction_set()
}

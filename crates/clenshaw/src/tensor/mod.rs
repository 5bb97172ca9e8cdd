//! Matrices, kernels, the training plan and the optimisers.

mod real;
mod mat;
mod aligned_vec;
mod free_memory;
mod shared_slice;
mod sparse;
mod node_order;
mod operator;
mod shared_sums;
mod kernel;
mod plan;
mod optimiser;
mod roofline;

pub use aligned_vec::AlignedVec;
pub use free_memory::{limit_free_memory, release_free_memory};
pub use kernel::{
    HeadLayout, available_instruction_sets, bit_class, instruction_set, log_sum_exp,
    select_instruction_set,
};
pub(crate) use kernel::{RecurrenceStepRows, StepFactors, dispatch};
pub use mat::Mat;
pub use node_order::NodeOrder;
pub use operator::Operator;
pub(crate) use operator::OperatorLayout;
pub use optimiser::{Optimiser, OptimiserSettings, UpdateRule};
pub use plan::{
    AttentionInputs, Coef, Cost, FeatureProduct, FeatureVar, GatherPrecision, Init, LinearInput,
    OperatorVar, Param, Plan, RUNNING, Tape, Targets, Term, ThreadTeam, Var, Workspace,
};
pub(crate) use plan::{Phase, PhaseTimer};
pub use real::Real;
pub use roofline::Roofline;
pub use shared_slice::Bytes;
pub(crate) use shared_slice::{LittleEndian, SharedSlice, little_endian_bytes};
pub(crate) use sparse::check_count;
pub use sparse::{Pattern, Sparse};

/// The number of rows of a block, the unit in which a plan processes matrices: 16 KiB at 64 f32 columns. The last
/// block of a matrix may have fewer rows.
const BLOCK_ROWS: usize = 64;

/// Asserts that every case panics with a message that contains its text.
#[cfg(test)]
fn assert_panics(cases: &[(&str, &dyn Fn())]) {
    for (expected, case) in cases {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case)).unwrap_err();
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap();
        assert!(text.contains(expected), "`{text}`; expected `{expected}`");
    }
}

//! The training plan: a model's equations are recorded once, compiled once and replayed every epoch.
//!
//! The steps, one file or folder each:
//!
//! ```text
//! record          operations on values, on a Tape                              equations -> nodes
//! fuse            rewrites gates and batch statistics, finds unused values     nodes -> nodes
//! lower           the forward pass                                             nodes -> instructions
//! differentiate   the loss and the backward pass                               appends instructions
//! bf16            optional: products with the graph read bf16                  rewrites instructions
//! schedule        stages and chunks of rows                                    instructions -> stages
//! program         addresses of buffers                                         stages -> Program
//! recompute       optional: values are computed again instead of kept          Program -> Program
//! constants       features and operators in the plan's precision and order of nodes
//! compile         runs the passes for all programs of a plan                  Tape -> Plan
//! inputs          matrices that can be changed between two steps
//! replay          Plan and Workspace; runs a Program without allocating
//! execute         one instruction on one block of rows
//! ```
//!
//! `dependence.rs` finds what a value depends on: products of features, nodes within reach. `node_rows.rs` tests
//! whether the rows of nodes may be stored in another order. `instr.rs` declares what each instruction reads,
//! writes and costs; `cost.rs` adds up the costs; `thread_team.rs` distributes the work among threads. Sums over
//! rows are computed per chunk of rows and then added in the order of the chunks, whose boundaries are fixed, so
//! results are bit-identical for any number of threads.

mod value;
mod op;
mod record;
mod dependence;
mod node_rows;
mod instr;
mod fuse;
mod lower;
mod differentiate;
mod bf16;
mod schedule;
mod program;
mod recompute;
mod targets;
mod constants;
mod compile;
mod inputs;
mod replay;
mod execute;
mod thread_team;
mod cost;

pub use bf16::GatherPrecision;
pub use cost::Cost;
pub(crate) use cost::{Phase, PhaseTimer};
pub use dependence::FeatureProduct;
pub use record::{Init, Param, RUNNING, Tape};
pub use replay::{Plan, Workspace};
pub use targets::Targets;
pub use thread_team::ThreadTeam;
pub use value::{AttentionInputs, Coef, FeatureVar, LinearInput, OperatorVar, Term, Var};

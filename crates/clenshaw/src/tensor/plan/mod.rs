//! The training plan: a model's equations, recorded once, compiled once, replayed every epoch.
//!
//! ```text
//! Tape       what the model computes: operations on values          (tape.rs)
//!   lower    forward and backward passes as instructions            (forward.rs, backward.rs)
//!   stage    groups that run block by block of rows, and an arena   (stage.rs)
//! Plan       the replay: no allocation, no walking of graphs        (run.rs, execute.rs)
//! ```
//!
//! A stage is a chain of instructions that need only their own rows; it runs block after block, so
//! that what one instruction writes the next finds in cache. Only a product with the graph's operator,
//! which reads other nodes' rows, begins a new stage. Sums over rows are taken over fixed chunks and
//! then over the chunks in order, so the bits do not depend on the number of threads.

mod tape;
mod instr;
mod forward;
mod backward;
mod bf16;
mod stage;
mod run;
mod execute;
mod thread_team;
mod account;

pub use account::{Cost, Phase, PhaseTimer};
pub use bf16::GatherPrecision;
pub use run::{Plan, Targets, Workspace};
pub use tape::{Coef, Init, OperatorVar, Param, RUNNING, Tape, Term, Var};
pub use thread_team::ThreadTeam;

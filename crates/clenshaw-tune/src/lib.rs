//! Tuning: studies that are Optuna's own, so that its dashboard and its workers join them.
//!
//! Numbers in, numbers out: this room knows neither models nor data.

mod error;
mod distribution;
mod trial;
mod sampler;
mod pruner;
mod importance;
mod storage;
pub mod dashboard;
#[cfg(test)]
mod recorded;

pub use distribution::{Choice, Distribution};
pub use error::{Error, Result};
pub use importance::importances;
pub use pruner::{Halving, Hyperband, Median, Pruner, Verdict};
pub use sampler::{Ask, Sampler, Tpe, View};
pub use storage::{Address, Journal, Notes, Patience, Place, Storage, Study, without_password};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use storage::{Habits, Relational};
pub use trial::{Attributes, Direction, Ending, Params, State, Trial};

//! Tuning: studies that are Optuna's own, so that its dashboard and its workers join them.
//!
//! Numbers in, numbers out: this room knows neither models nor data.

mod distribution;
mod trial;
mod storage;
pub mod dashboard;

pub use distribution::{Choice, Distribution};
pub use storage::{Journal, Notes, Patience, Storage, Study};
pub use trial::{Attributes, Direction, Ending, Params, State, Trial};

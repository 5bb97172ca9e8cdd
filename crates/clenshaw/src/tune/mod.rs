//! Tuning: studies that are Optuna's own, so that its dashboard and its workers join them.
//!
//! Numbers in, numbers out: this room knows neither models nor data.

mod distribution;
mod trial;

pub use distribution::{Choice, Distribution};
pub use trial::{Direction, State, Trial};

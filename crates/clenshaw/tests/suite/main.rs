//! The integration tests of the library, in one binary: a module per subject.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod common;

mod attribution;
mod bf16;
mod datasets;
mod docs;
mod experiment;
#[cfg(feature = "download")]
mod fetch;
#[cfg(unix)]
mod fork;
mod gradients;
mod layering;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod memory;
mod models;
mod node_order;
mod parity;
mod plain;
mod precompute;
mod recomputation;
mod recurrences;
mod table1;
mod theorems;
mod trajectory;
mod tuning;

//! The integration tests of the library, in one binary: a module per subject.

mod common;

mod datasets;
mod docs;
mod experiment;
#[cfg(feature = "download")]
mod fetch;
mod gradients;
mod halves;
mod layering;
mod models;
mod parity;
mod plain;
mod recurrences;
mod table1;
mod theorems;
mod trajectory;
mod tuning;

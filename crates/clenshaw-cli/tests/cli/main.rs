//! Tests that run the built program, one module per subcommand or topic.
//!
//! They are in one binary, because each further binary takes time to link.
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod acceptance;
mod arguments;
mod bench;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod data_get;
mod data_import;
mod databases;
mod examples;
mod explain;
mod listings;
mod own_graph;
mod own_graph_warnings;
mod python_graphs;
mod report;
mod reproduce;
mod reproduce_measurements;
mod snapshots;
mod train;
mod tune;

//! Tests that run the built program, one module per subcommand or topic.
//!
//! They are in one binary, because each further binary takes time to link.
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod acceptance;
mod arguments;
mod auto;
mod bench;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod data_get;
mod data_import;
mod databases;
#[cfg(unix)]
mod disks;
mod examples;
mod explain;
#[cfg(unix)]
mod kills;
mod listings;
mod memory;
mod own_graph;
mod own_graph_warnings;
mod python_graphs;
mod report;
mod report_study;
mod reproduce;
mod reproduce_measurements;
mod run_folders;
mod snapshots;
#[cfg(unix)]
mod special_files;
mod train;
mod tune;
mod verify;
mod watch;

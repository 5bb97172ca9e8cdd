//! Readers, one file a format.
//!
//! A reader takes a path and returns a [`Dataset`] that the caller still has to check.
//! Whatever the bytes, it returns an error that names file and line or byte, and it never allocates
//! more than a small multiple of the file's size.

mod text;
mod fields;
pub mod edges;
mod nodes;
pub mod tables;
#[cfg(feature = "parquet")]
mod parquet;
pub mod facebook100;
pub mod geom_gcn;
pub mod graphml;
pub mod arrays;
pub mod matlab;
pub mod array;
pub mod npy;
pub mod npz;
pub mod pickle;
mod csr;
pub mod geom_splits;
pub mod planetoid;
pub mod heterophilous;
pub mod linkx;

#[cfg(fuzzing)]
pub use {nodes::read_bytes as nodes_bytes, text::read_bytes as text_bytes};

use super::{Dataset, graph_file};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// A user's own graph: a folder or file of tables, an `.npz`, a GraphML file or an imported graph.
pub fn own(path: &Path) -> Result<Dataset> {
    let name = path.display().to_string();
    match text::ending(path) {
        Some("npz") => arrays::read(path, &name),
        Some("graphml" | "xml") => graphml::read(path, &name, None),
        Some("graph") => Ok(Dataset { name, ..graph_file::open(path)? }),
        _ => tables::read(path),
    }
}

/// What [`own`] takes a path for.
pub fn format(path: &Path) -> &'static str {
    match text::ending(path) {
        Some("npz") => "npz",
        Some("graphml" | "xml") => "graphml",
        Some("graph") => "graph file",
        _ => "tables",
    }
}

/// The files that [`own`] reads.
pub(super) fn sources(path: &Path) -> Result<Vec<PathBuf>> {
    match format(path) {
        "tables" => tables::pair(path).map(Vec::from),
        _ => Ok(vec![path.to_owned()]),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod seeds;

//! File readers, one module per format.
//!
//! A reader takes a path and returns a [`Dataset`]; the caller validates it with
//! [`Dataset::checked`].
//! Invalid input results in an error with the file and the line or byte, and a reader never
//! allocates more than a small multiple of the file's size.

pub(super) mod text;
mod fields;
mod table_text;
mod assemble;
mod attributed;
mod xml;
pub mod edges;
pub mod tables;
#[cfg(feature = "parquet")]
mod parquet;
pub mod facebook100;
pub mod geom_gcn;
pub mod gexf;
pub mod gml;
pub mod graphml;
pub mod node_link;
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

#[cfg(any(test, fuzzing))]
pub mod fuzz;

pub use assemble::Interpretation;

use super::{Dataset, TableOptions, graph_file};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// Reads a user's own graph: tables (a folder or a file), an `.npz`, a GraphML file or a graph file.
pub fn read_path(path: &Path, interpretation: Interpretation) -> Result<Dataset> {
    let name = path.display().to_string();
    match text::extension(path) {
        Some("npz") => arrays::read(path, &name),
        Some("graphml" | "xml") => graphml::read(path, &name, interpretation),
        Some("gml") => gml::read(path, &name, interpretation),
        Some("gexf") => gexf::read(path, &name, interpretation),
        Some("json") => node_link::read(path, &name, interpretation),
        Some("graph") => Ok(Dataset { name, ..graph_file::open(path)? }),
        _ => tables::read(path, interpretation),
    }
}

/// Returns the format that [`read_path`] assumes for a path.
pub fn format(path: &Path) -> &'static str {
    match text::extension(path) {
        Some("npz") => "npz",
        Some("graphml" | "xml") => "graphml",
        Some("gml") => "gml",
        Some("gexf") => "gexf",
        Some("json") => "node-link json",
        Some("graph") => "graph file",
        _ => "tables",
    }
}

/// Returns the files that [`read_path`] reads.
pub(super) fn source_files(path: &Path) -> Result<Vec<PathBuf>> {
    match format(path) {
        "tables" => tables::table_paths(path).map(Vec::from),
        _ => Ok(vec![path.to_owned()]),
    }
}

/// Reads what the user states about a graph in `schema.toml` in its folder, or in `NAME.schema.toml`
/// beside a file; returns the path if the file exists.
pub(super) fn schema_file(path: &Path) -> Result<(TableOptions, Option<PathBuf>)> {
    let file = match path.is_dir() {
        true => path.join("schema.toml"),
        false => path.with_extension("schema.toml"),
    };
    if !file.is_file() {
        return Ok((TableOptions::default(), None));
    }
    let options = TableOptions::from_toml(&file.display().to_string(), &text::read(&file)?)?;
    Ok((options, Some(file)))
}

/// Parses a text table, for tests.
#[cfg(test)]
pub(crate) fn text_table(text: &str) -> Result<super::table::Table> {
    table_text::read_bytes("nodes", text.as_bytes())
}

#[cfg(test)]
mod published_tests;

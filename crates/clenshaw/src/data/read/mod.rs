//! File readers, with a module for each format.
//!
//! Readers of data sets return a [`Dataset`] that the caller validates with [`Dataset::checked`].
//! Invalid input results in an error with the file and, where possible, the line or byte. The memory
//! that a reader allocates is limited by the size of the file, so a small file cannot exhaust it.

pub(super) mod text;
pub(super) mod delimited;
mod assemble;
mod edge_attributes;
mod attributed;
mod xml;
mod npz_edges;
mod edge_list;
mod metis;
mod pajek;
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

/// The formats that [`read_path`] accepts, for error messages.
const EXPECTED_FORMATS: &str = "expected a folder with nodes.csv (or .tsv, .txt, .parquet) and \
    edges.csv (or .tsv, .txt, .parquet, .edgelist, .metis, .npz) or adjacency.npz; or one of these \
    files: .graphml (or .xml), .gml, .gexf, .json (node-link), .npz (arrays), .net (Pajek, beside a node table), \
    .graph; text files may be compressed (.gz, .zst)";

/// The formats of a user's own graph.
#[derive(Clone, Copy, PartialEq)]
enum GraphFormat {
    Arrays,
    Graphml,
    Gml,
    Gexf,
    NodeLink,
    GraphFile,
    /// Edges and a node table.
    Tables,
}

impl GraphFormat {
    /// Returns the format of a path by its extension; [`Self::Tables`] for folders, for `.npz` files beside a
    /// node table and for unknown extensions.
    fn of(path: &Path) -> Self {
        match text::extension(path).filter(|_| !path.is_dir()) {
            Some("npz") if !tables::has_node_table(path) => Self::Arrays,
            Some("graphml" | "xml") => Self::Graphml,
            Some("gml") => Self::Gml,
            Some("gexf") => Self::Gexf,
            Some("json") => Self::NodeLink,
            Some("graph") => Self::GraphFile,
            _ => Self::Tables,
        }
    }
}

/// Reads a user's own graph: a folder with edges and a node table, a file with edges beside its node table, or a
/// single file in GraphML, GML, GEXF, node-link JSON, NumPy (`.npz`) or `.graph` format. Fails if a file is missing or invalid, or if `interpretation` does not fit the node table. A
/// `.graph` file has no node table, so `interpretation` has no effect on it.
pub fn read_path(path: &Path, interpretation: Interpretation) -> Result<Dataset> {
    let name = path.display().to_string();
    match GraphFormat::of(path) {
        GraphFormat::Arrays => arrays::read(path, interpretation),
        GraphFormat::Graphml => graphml::parse(&name, &text::read(path)?, interpretation),
        GraphFormat::Gml => gml::parse(&name, &text::read(path)?, interpretation),
        GraphFormat::Gexf => gexf::parse(&name, &text::read(path)?, interpretation),
        GraphFormat::NodeLink => node_link::parse(&name, &text::read(path)?, interpretation),
        GraphFormat::GraphFile => Ok(Dataset { name, ..graph_file::open(path)? }),
        GraphFormat::Tables => tables::read(path, interpretation),
    }
}

/// Returns the name of the format that [`read_path`] assumes, such as `graphml` or `tables`; no file is
/// opened.
pub fn format(path: &Path) -> &'static str {
    match GraphFormat::of(path) {
        GraphFormat::Arrays => "npz",
        GraphFormat::Graphml => "graphml",
        GraphFormat::Gml => "gml",
        GraphFormat::Gexf => "gexf",
        GraphFormat::NodeLink => "node-link json",
        GraphFormat::GraphFile => "graph file",
        GraphFormat::Tables => tables::edge_format(path).name(),
    }
}

/// Returns the files that [`read_path`] would read; an error if tables are missing, ambiguous or of an
/// unsupported format.
pub(super) fn source_files(path: &Path) -> Result<Vec<PathBuf>> {
    match GraphFormat::of(path) {
        GraphFormat::Tables => tables::table_paths(path).map(Vec::from),
        _ => Ok(vec![path.to_owned()]),
    }
}

/// Reads the user's options for a graph from `schema.toml` in its folder or from `NAME.schema.toml` next
/// to its file; returns them and the path of that file, or the defaults and `None` if it does not exist. An
/// error if the file is invalid.
pub(super) fn read_schema_file(path: &Path) -> Result<(TableOptions, Option<PathBuf>)> {
    let file = match path.is_dir() {
        true => path.join("schema.toml"),
        false => text::without_compression(path).with_extension("schema.toml"),
    };
    if !file.exists() {
        return Ok((TableOptions::default(), None));
    }
    let options = TableOptions::from_toml(&file.display().to_string(), &text::read(&file)?)?;
    Ok((options, Some(file)))
}

/// Parses a node table, for tests.
#[cfg(test)]
pub(crate) fn text_table(text: &str) -> Result<super::table::TextTable> {
    tables::parse_nodes("nodes", text, Interpretation::default())
}

#[cfg(test)]
mod published_tests;

//! A user's own graph as an edge table and a node table.
//!
//! ```text
//! my-graph/edges.csv      my-graph/nodes.csv
//! source,target           id,age,town,label,split
//! ann,bob                 ann,31,York,tea,train
//! bob,cid                 bob,27,Bath,coffee,test
//!                         cid,45,York,,
//! ```
//!
//! Tables are CSV, TSV or text with other separators, optionally compressed with gzip or Zstandard, or
//! Parquet. Nodes keep their names; every node of the edge table must have a row in the node table.
//! The columns of node tables are described in [`crate::data::schema`], those of edge tables in
//! [`edges`].

use super::fields::HeaderMode;
use super::{Interpretation, assemble, edges, table_text, text};
use crate::data::Dataset;
use crate::data::table::Table;
use crate::error::{Error, Result};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// File extensions of text tables, which may be compressed.
const TEXT_EXTENSIONS: [&str; 3] = ["csv", "tsv", "txt"];
const PARQUET: &str = "parquet";

/// Reads a graph from a folder with `edges.*` and `nodes.*`, or from an edge table whose name contains
/// `edges` and a node table with `nodes` instead: `my-edges.csv` and `my-nodes.csv.gz`.
///
/// ```
/// use clenshaw::data::read::{Interpretation, tables};
///
/// let folder = tempfile::tempdir().unwrap();
/// let write = |name, text| std::fs::write(folder.path().join(name), text).unwrap();
/// write("edges.csv", "ann,bob\nbob,cid\n");
/// write("nodes.csv", "id,age,label\nann,31,tea\nbob,27,coffee\ncid,45,\n");
/// let graph = tables::read(folder.path(), Interpretation::default())?;
/// assert_eq!(graph.node_names, ["ann", "bob", "cid"]);
/// assert_eq!(graph.y, [Some(1), Some(0), None]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read(path: &Path, interpretation: Interpretation) -> Result<Dataset> {
    let [edges, nodes] = table_paths(path)?;
    let name = path.display().to_string();
    Ok(Dataset { name, ..read_pair(&edges, &nodes, interpretation)? })
}

/// Returns the paths of the edge table and the node table that a path refers to.
pub(super) fn table_paths(path: &Path) -> Result<[PathBuf; 2]> {
    match fs::metadata(path).map_err(Error::io(path))?.is_dir() {
        true => Ok([find_table(path, "edges")?, find_table(path, "nodes")?]),
        false => Ok([path.to_owned(), node_table_of(path)?]),
    }
}

/// Reads a graph from an edge table and a node table with any names.
pub fn read_pair(edges: &Path, nodes: &Path, interpretation: Interpretation) -> Result<Dataset> {
    let names = interpretation.column_names();
    let place = nodes.display().to_string();
    let table = match is_parquet(nodes) {
        true => table_text::parse(&place, &parquet(nodes)?, HeaderMode::Present, &names)?,
        false => table_text::parse(&place, &text::read(nodes)?, HeaderMode::Detect, &names)?,
    };
    match is_parquet(edges) {
        true => {
            dataset(edges, parquet(edges)?.as_bytes(), &table, HeaderMode::Present, interpretation)
        }
        false => dataset(edges, text::open(edges)?, &table, HeaderMode::Detect, interpretation),
    }
}

/// Reads a graph from the bytes of two text tables; errors refer to them as `edges` and `nodes`.
pub fn read_bytes(edges: &[u8], nodes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    let table = table_text::read_bytes("nodes", nodes)?;
    let place = Path::new("edges");
    let edges = text::decompress_bytes(place, edges)?;
    dataset(place, edges, &table, HeaderMode::Detect, interpretation)
}

/// Reads a node table, for fuzzing.
#[cfg(any(test, fuzzing))]
pub fn read_nodes(bytes: &[u8]) -> Result<()> {
    let table = table_text::read_bytes("nodes", bytes)?;
    assemble::encode(&table, Interpretation::default()).map(drop)
}

fn dataset(
    edges: &Path,
    input: impl Read + Send,
    table: &Table,
    header: HeaderMode,
    interpretation: Interpretation,
) -> Result<Dataset> {
    let nodes = assemble::encode(table, interpretation)?;
    let read = edges::read_named(edges, input, &nodes.numbers, header)?;
    let name = edges.display().to_string();
    let source = format!("read from {name} and {}", table.place);
    assemble::dataset(&name, source, nodes, read, interpretation)
}

/// Finds the table in a folder whose name is `stem` and a supported extension.
fn find_table(folder: &Path, stem: &str) -> Result<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if split_name(&path)
            .is_some_and(|(name, extension)| name == stem && is_supported(extension))
        {
            found.push(path);
        }
    }
    found.sort();
    let error = |problem| Error::Data { place: folder.display().to_string(), problem };
    match &found[..] {
        [path] => Ok(path.clone()),
        [] => Err(error(format!(
            "no table `{stem}`; expected {stem}.csv, .tsv, .txt (optionally with .gz or .zst) \
             or .parquet"
        ))),
        [a, b, ..] => {
            let [a, b] = [a, b].map(|path| path.file_name().unwrap_or_default().display());
            Err(error(format!("found both {a} and {b}; remove one of them")))
        }
    }
}

/// Finds the node table that belongs to an edge table.
fn node_table_of(edges: &Path) -> Result<PathBuf> {
    let stem = split_name(edges).map(|(stem, _)| stem).filter(|stem| stem.contains("edges"));
    let stem = stem.ok_or_else(|| Error::Data {
        place: edges.display().to_string(),
        problem: "cannot find its node table; expected a folder, or a file name with `edges`"
            .into(),
    })?;
    let folder = match edges.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    find_table(folder, &stem.replace("edges", "nodes"))
}

/// Splits a file name at its first dot.
fn split_name(path: &Path) -> Option<(&str, &str)> {
    path.file_name()?.to_str()?.split_once('.')
}

fn is_supported(extension: &str) -> bool {
    let (kind, compression) = extension.split_once('.').unwrap_or((extension, ""));
    match compression {
        "" => TEXT_EXTENSIONS.contains(&kind) || kind == PARQUET,
        _ => TEXT_EXTENSIONS.contains(&kind) && text::COMPRESSED_EXTENSIONS.contains(&compression),
    }
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PARQUET)
}

/// Reads a Parquet file as tab-separated text.
#[cfg(feature = "parquet")]
fn parquet(path: &Path) -> Result<String> {
    super::parquet::read(path)
}

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path) -> Result<String> {
    let problem = "this build cannot read Parquet; save the table as CSV, or enable the feature \
                   `parquet`";
    Err(Error::Data { place: path.display().to_string(), problem: problem.into() })
}

#[cfg(test)]
mod tests;

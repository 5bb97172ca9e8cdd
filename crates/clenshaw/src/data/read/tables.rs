//! A user's own graph: a table of edges and a table of nodes.
//!
//! ```text
//! my-graph/edges.csv      my-graph/nodes.csv
//! source,target           id,age,town,label,split
//! ann,bob                 ann,31,York,tea,train
//! bob,cid                 bob,27,Bath,coffee,test
//!                         cid,45,York,,
//! ```
//!
//! Tables are CSV, TSV or texts with other separators, packed by gzip or Zstandard or not, or Parquet.
//! Nodes keep their names, whatever they are; a node in the edge table must have a line in the other.
//! What the columns mean is told in `nodes.rs` and [`edges`].

use super::fields::Header;
use super::nodes::{self, Nodes};
use super::{edges, text};
use crate::data::Dataset;
use crate::error::{Error, Result};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How the names of tables end; the texts may be packed.
const TEXTS: [&str; 3] = ["csv", "tsv", "txt"];
const PARQUET: &str = "parquet";

/// A graph from a folder with `edges.*` and `nodes.*`, or from an edge table beside a node table of
/// the same name but for that word: `my-edges.csv` and `my-nodes.csv.gz`.
///
/// ```
/// use clenshaw::data::read::tables;
///
/// let folder = tempfile::tempdir().unwrap();
/// let write = |name, text| std::fs::write(folder.path().join(name), text).unwrap();
/// write("edges.csv", "ann,bob\nbob,cid\n");
/// write("nodes.csv", "id,age,label\nann,31,tea\nbob,27,coffee\ncid,45,\n");
/// let graph = tables::read(folder.path())?;
/// assert_eq!(graph.node_names, ["ann", "bob", "cid"]);
/// assert_eq!(graph.y, [Some(1), Some(0), None]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read(path: &Path) -> Result<Dataset> {
    let [edges, nodes] = pair(path)?;
    Ok(Dataset { name: path.display().to_string(), ..read_pair(&edges, &nodes)? })
}

/// The table of edges and that of nodes which a path stands for.
pub(super) fn pair(path: &Path) -> Result<[PathBuf; 2]> {
    match fs::metadata(path).map_err(Error::io(path))?.is_dir() {
        true => Ok([find(path, "edges")?, find(path, "nodes")?]),
        false => Ok([path.to_owned(), beside(path)?]),
    }
}

/// A graph from a table of edges and one of nodes, whatever they are called.
pub fn read_pair(edges: &Path, nodes: &Path) -> Result<Dataset> {
    let table = match is_parquet(nodes) {
        true => nodes::parse(&nodes.display().to_string(), &parquet(nodes)?, Header::Certain)?,
        false => nodes::parse(&nodes.display().to_string(), &text::read(nodes)?, Header::Guessed)?,
    };
    match is_parquet(edges) {
        true => dataset(edges, parquet(edges)?.as_bytes(), nodes, table, Header::Certain),
        false => dataset(edges, text::open(edges)?, nodes, table, Header::Guessed),
    }
}

/// The same from the bytes of two texts, packed or not; `edges` and `nodes` name them in errors.
pub fn read_bytes(edges: &[u8], nodes: &[u8]) -> Result<Dataset> {
    let (edges_path, nodes_path) = (Path::new("edges"), Path::new("nodes"));
    let table = text::read_bytes(nodes_path, nodes)?;
    let table = nodes::parse("nodes", &table, Header::Guessed)?;
    dataset(edges_path, text::unpack_bytes(edges_path, edges)?, nodes_path, table, Header::Guessed)
}

fn dataset(
    edges: &Path,
    input: impl Read + Send,
    nodes: &Path,
    table: Nodes,
    header: Header,
) -> Result<Dataset> {
    let (graph, mut warnings) = edges::named(edges, input, &table.numbers, header)?;
    warnings.extend(table.warnings);
    let name = edges.display().to_string();
    let source = format!("read from {name} and {}", nodes.display());
    Ok(Dataset {
        source,
        warnings,
        node_names: table.names,
        splits: table.split.into_iter().collect(),
        ..Dataset::new(name, graph, table.x, table.y, table.class_names)
    })
}

/// The one table in a folder whose name is `stem` and an ending we read.
fn find(folder: &Path, stem: &str) -> Result<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if split_name(&path).is_some_and(|(name, ending)| name == stem && is_read(ending)) {
            found.push(path);
        }
    }
    found.sort();
    let error = |problem| Error::Data { place: folder.display().to_string(), problem };
    match &found[..] {
        [path] => Ok(path.clone()),
        [] => Err(error(format!(
            "no table `{stem}`; expected {stem}.csv, .tsv, .txt (these also as .gz or .zst) \
             or .parquet"
        ))),
        [a, b, ..] => {
            let [a, b] = [a, b].map(|path| path.file_name().unwrap_or_default().display());
            Err(error(format!("both {a} and {b}; expected one of them")))
        }
    }
}

/// The node table that belongs to an edge table.
fn beside(edges: &Path) -> Result<PathBuf> {
    let stem = split_name(edges).map(|(stem, _)| stem).filter(|stem| stem.contains("edges"));
    let stem = stem.ok_or_else(|| Error::Data {
        place: edges.display().to_string(),
        problem:
            "no table of nodes belongs to that name; expected a folder, or a name with `edges`"
                .into(),
    })?;
    let folder = match edges.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    find(folder, &stem.replace("edges", "nodes"))
}

/// A file's name before and behind its first dot.
fn split_name(path: &Path) -> Option<(&str, &str)> {
    path.file_name()?.to_str()?.split_once('.')
}

fn is_read(ending: &str) -> bool {
    let (kind, packing) = ending.split_once('.').unwrap_or((ending, ""));
    match packing {
        "" => TEXTS.contains(&kind) || kind == PARQUET,
        _ => TEXTS.contains(&kind) && text::PACKED.contains(&packing),
    }
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == PARQUET)
}

/// A Parquet file as the text it would be.
#[cfg(feature = "parquet")]
fn parquet(path: &Path) -> Result<String> {
    super::parquet::read(path)
}

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path) -> Result<String> {
    let problem = "this build reads no Parquet; save the table as CSV, or turn on the feature \
                   `parquet` of the crate `clenshaw`";
    Err(Error::Data { place: path.display().to_string(), problem: problem.into() })
}

#[cfg(test)]
mod tests;

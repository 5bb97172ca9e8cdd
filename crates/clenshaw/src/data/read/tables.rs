//! A user's own graph as edges and a node table.
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
//! Instead of a folder, a file with edges may be given. The name of its node table, up to the first dot, has
//! `nodes` instead of `edges` or `adjacency`: `my-nodes.csv.gz` for `my-edges.csv`.
//!
//! The edges may also be a NetworkX edge list (`edges.txt` or `edges.edgelist`), a METIS graph
//! (`edges.metis`), a SciPy matrix or an `edge_index` (`edges.npz` or `adjacency.npz`), or, if the path
//! is that of the file and not of a folder, a Pajek file with any name (`NAME.net`, with `NAME.nodes.csv` or
//! `nodes.csv`). METIS and NumPy files refer to nodes
//! by their rows in the node table.
//!
//! The columns of node tables are described in [`crate::data::schema`], those of edge tables in
//! [`edges`].

use super::delimited::{HeaderMode, is_number, parse_table};
use super::{
    EXPECTED_FORMATS, Interpretation, assemble, edge_list, edges, metis, npz_edges, pajek, text,
};
use crate::data::Dataset;
use crate::data::schema::{WeightChoice, is_id_name, is_known_name};
use crate::data::table::TextTable;
use crate::error::{Error, Result};
use crate::files;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// File extensions of node tables.
const NODE_EXTENSIONS: [&str; 4] = ["csv", "tsv", "txt", PARQUET];
/// File extensions of the edges in a folder.
const EDGE_EXTENSIONS: [&str; 7] = ["csv", "tsv", "txt", PARQUET, "edgelist", "metis", NPZ];
/// File extensions of binary files, which are not accepted with `.gz` or `.zst` appended.
const BINARY_EXTENSIONS: [&str; 2] = [PARQUET, NPZ];
const PARQUET: &str = "parquet";
const NPZ: &str = "npz";
/// The name of a file with edges, without its extension.
const EDGES: &str = "edges";
/// Another such name; in a folder, only for `.npz` files.
const ADJACENCY: &str = "adjacency";
/// The name of a node table, without its extension.
const NODES: &str = "nodes";

/// Number of bytes that are searched for a dictionary in the first line of an edge table.
const HEAD: u64 = 64 << 10;

/// The formats of edges beside a node table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EdgeFormat {
    /// CSV, TSV or text, or an edge list with dictionaries.
    Table,
    Parquet,
    EdgeList,
    Metis,
    Pajek,
    Npz,
}

impl EdgeFormat {
    /// Returns the format of a file by its extension; `None` if it is not supported.
    pub fn of(path: &Path) -> Option<Self> {
        match text::extension(path)? {
            "csv" | "tsv" | "txt" => Some(Self::Table),
            PARQUET => Some(Self::Parquet),
            "edgelist" => Some(Self::EdgeList),
            "metis" => Some(Self::Metis),
            "net" => Some(Self::Pajek),
            NPZ => Some(Self::Npz),
            _ => None,
        }
    }

    /// The name of the format of the whole graph, for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table | Self::Parquet => "tables",
            Self::EdgeList => "edge list",
            Self::Metis => "metis",
            Self::Pajek => "pajek",
            Self::Npz => "tables with npz edges",
        }
    }
}

/// Reads a graph from a folder with edges and a node table, or from a file with edges and the node table beside
/// it. The names of the files are described in the [module](self).
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

/// Returns the paths of the edges and of the node table that a path refers to; an error if one of them is
/// missing or ambiguous, or if the format is not supported.
pub(super) fn table_paths(path: &Path) -> Result<[PathBuf; 2]> {
    match fs::metadata(path).map_err(Error::io(path))?.is_dir() {
        true => folder_tables(path),
        false if EdgeFormat::of(path).is_none() => {
            let problem = format!("unsupported file extension; {EXPECTED_FORMATS}");
            Err(Error::Data { place: path.display().to_string(), problem })
        }
        false => Ok([path.to_owned(), node_table_of(path)?]),
    }
}

/// Returns the format of the edges that a path refers to; [`EdgeFormat::Table`] if [`table_paths`] fails.
pub(super) fn edge_format(path: &Path) -> EdgeFormat {
    let edges = table_paths(path).ok().map(|[edges, _]| edges);
    edges.and_then(|edges| EdgeFormat::of(&edges)).unwrap_or(EdgeFormat::Table)
}

/// Whether there is an unambiguous node table for a file with edges.
pub(super) fn has_node_table(path: &Path) -> bool {
    node_table_of(path).is_ok()
}

/// Reads a graph from a file with edges and a node table, whose names may differ from those that [`read`]
/// expects. The extensions determine the formats; files with other extensions are read as text tables.
pub fn read_pair(edges: &Path, nodes: &Path, interpretation: Interpretation) -> Result<Dataset> {
    let place = nodes.display().to_string();
    let mut table = match is_parquet(nodes) {
        true => parse_table(&place, &parquet(nodes)?, |_, _| true)?,
        false => parse_nodes(&place, &text::read(nodes)?, interpretation)?,
    };
    if is_parquet(nodes) {
        // The format of the intermediate text was not detected in the file.
        table.notes.clear();
    }
    let format = EdgeFormat::of(edges).unwrap_or(EdgeFormat::Table);
    let input: Box<dyn Read + Send> = match format {
        EdgeFormat::Parquet => Box::new(std::io::Cursor::new(parquet(edges)?)),
        EdgeFormat::Npz => {
            let file = files::open(edges)?;
            files::check_size(edges, file.metadata().map_err(text::io_error(edges))?.len())?;
            Box::new(file)
        }
        _ => text::open(edges)?,
    };
    dataset(edges, format, input, &table, interpretation)
}

/// Reads a graph from the bytes of two text tables; errors refer to them as `edges` and `nodes`.
pub fn read_bytes(edges: &[u8], nodes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    read_bytes_as(EdgeFormat::Table, edges, nodes, interpretation)
}

/// Reads a graph from the bytes of edges in any format except Parquet, and of a text table.
pub(super) fn read_bytes_as(
    format: EdgeFormat,
    edges: &[u8],
    nodes: &[u8],
    interpretation: Interpretation,
) -> Result<Dataset> {
    let nodes = text::read_bytes(Path::new(NODES), nodes)?;
    let table = parse_nodes(NODES, &nodes, interpretation)?;
    let place = Path::new(EDGES);
    let input: Box<dyn Read + Send + '_> = match format {
        EdgeFormat::Npz => Box::new(edges),
        _ => text::decompress_bytes(place, edges)?,
    };
    dataset(place, format, input, &table, interpretation)
}

/// Parses and encodes a node table, for fuzzing.
#[cfg(any(test, fuzzing))]
pub fn read_nodes(bytes: &[u8]) -> Result<()> {
    let text = text::read_bytes(Path::new(NODES), bytes)?;
    let table = parse_nodes(NODES, &text, Interpretation::default())?;
    assemble::encode(&table, Interpretation::default()).map(drop)
}

/// Parses a node table; errors refer to it as `place`.
///
/// The first line is a header if its first field is empty or the name of an id column. It is also one if
/// none of its fields is a number, and either the second line has a number or a field of the first is the
/// name of a special column or of one that occurs in the options or the stored schema.
pub(super) fn parse_nodes(
    place: &str,
    text: &str,
    interpretation: Interpretation,
) -> Result<TextTable> {
    let chosen = interpretation.column_names();
    let is_named = |field: &str| {
        is_known_name(field) || chosen.iter().any(|name| name.eq_ignore_ascii_case(field))
    };
    let has_numbers = |row: &[Cow<str>]| row.iter().any(|field| is_number(field));
    parse_table(place, text, |first, second| {
        first[0].is_empty()
            || is_id_name(&first[0])
            || !has_numbers(first)
                && (has_numbers(second) || first.iter().any(|field| is_named(field)))
    })
}

/// Builds a graph from `input`, which contains the edges, and the node table; errors in the edges refer to
/// `edges`.
fn dataset(
    edges: &Path,
    format: EdgeFormat,
    input: impl Read + Send,
    table: &TextTable,
    interpretation: Interpretation,
) -> Result<Dataset> {
    let nodes = assemble::encode(table, interpretation)?;
    let mut read = read_edges(edges, format, input, &nodes.numbers, interpretation.weights())?;
    read.notes.splice(0..0, table.notes.iter().cloned());
    let name = edges.display().to_string();
    let source = format!("read from {name} and {}", table.place);
    assemble::dataset(&name, source, nodes, read, interpretation)
}

/// Reads the edges in `input`; `nodes` maps the names of nodes to their numbers, and errors refer to the
/// file as `path`.
fn read_edges(
    path: &Path,
    format: EdgeFormat,
    mut input: impl Read + Send,
    nodes: &HashMap<String, u32>,
    weights: WeightChoice,
) -> Result<assemble::ReadEdges> {
    let place = path.display().to_string();
    if let (EdgeFormat::Metis | EdgeFormat::Pajek, WeightChoice::Column(column)) = (format, weights)
    {
        let problem = format!(
            "the weight column is `{column}`, but this format has no columns; expected `none`, or a \
             format with columns"
        );
        return Err(Error::Data { place, problem });
    }
    let mut bytes = vec![];
    match format {
        EdgeFormat::Parquet => edges::read_named(path, input, nodes, HeaderMode::Present, weights),
        EdgeFormat::EdgeList => {
            edge_list::parse(&place, &text::read_all(path, input)?, nodes, weights)
        }
        EdgeFormat::Metis => {
            metis::parse(&place, &text::read_all(path, input)?, nodes.len(), weights)
        }
        EdgeFormat::Pajek => pajek::parse(&place, &text::read_all(path, input)?, nodes, weights),
        EdgeFormat::Npz => {
            input.read_to_end(&mut bytes).map_err(text::io_error(path))?;
            npz_edges::parse(&place, &bytes, nodes.len(), weights)
        }
        EdgeFormat::Table => {
            input.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(text::io_error(path))?;
            let has_dictionaries = edge_list::has_dictionaries(&bytes);
            let input = std::io::Cursor::new(bytes).chain(input);
            match has_dictionaries {
                true => edge_list::parse(&place, &text::read_all(path, input)?, nodes, weights),
                false => edges::read_named(path, input, nodes, HeaderMode::Detect, weights),
            }
        }
    }
}

/// Finds the edges and the node table in a folder; an error if one of them is missing or ambiguous.
fn folder_tables(folder: &Path) -> Result<[PathBuf; 2]> {
    let edges = find_file(folder, EDGES, &EDGE_EXTENSIONS)?;
    let edges = match (edges, find_file(folder, ADJACENCY, &[NPZ])?) {
        (Some(a), Some(b)) => return Err(ambiguous(folder, &a, &b)),
        (a, b) => a.or(b),
    };
    let nodes = find_file(folder, NODES, &NODE_EXTENSIONS)?;
    let missing = |what| {
        let problem = format!("the folder has no {what}; {EXPECTED_FORMATS}");
        Error::Data { place: folder.display().to_string(), problem }
    };
    match (edges, nodes) {
        (Some(edges), Some(nodes)) => Ok([edges, nodes]),
        (Some(_), None) => Err(missing("node table `nodes`")),
        (None, Some(_)) => Err(missing("file `edges` or `adjacency`")),
        (None, None) => Err(missing("tables `edges` and `nodes`")),
    }
}

/// Finds the file in a folder whose name is `stem` and one of these extensions, compressed or not; `None` if
/// there is none, and an error if there are several.
fn find_file(folder: &Path, stem: &str, extensions: &[&str]) -> Result<Option<PathBuf>> {
    let is_match = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let extension = name.and_then(|name| name.strip_prefix(stem)?.strip_prefix('.'));
        extension.is_some_and(|extension| is_supported(extension, extensions))
    };
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if is_match(&path) {
            found.push(path);
        }
    }
    found.sort();
    match &found[..] {
        [a, b, ..] => Err(ambiguous(folder, a, b)),
        _ => Ok(found.pop()),
    }
}

/// The error for two files of which only one is expected.
fn ambiguous(folder: &Path, a: &Path, b: &Path) -> Error {
    let [a, b] = [a, b].map(|path| path.file_name().unwrap_or_default().display());
    let problem = format!("found both {a} and {b}; remove one of them");
    Error::Data { place: folder.display().to_string(), problem }
}

/// Finds the node table that belongs to a file with edges; an error if there is none or it is ambiguous.
fn node_table_of(edges: &Path) -> Result<PathBuf> {
    let error = |problem| Error::Data { place: edges.display().to_string(), problem };
    let folder = match edges.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let stem = split_name(edges).map_or("", |(stem, _)| stem);
    let is_pajek = EdgeFormat::of(edges) == Some(EdgeFormat::Pajek);
    let names = match () {
        () if is_pajek => vec![pajek_stem(edges) + "." + NODES, NODES.into()],
        () if stem.contains(EDGES) => vec![stem.replace(EDGES, NODES)],
        () if stem.contains(ADJACENCY) => vec![stem.replace(ADJACENCY, NODES)],
        () => {
            let problem = "the file name has neither `edges` nor `adjacency` before its first dot; expected \
                           a folder with edges.csv and nodes.csv, or a file with edges, such as my-edges.csv \
                           beside my-nodes.csv";
            return Err(error(problem.into()));
        }
    };
    for name in &names {
        if let Some(path) = find_file(folder, name, &NODE_EXTENSIONS)? {
            return Ok(path);
        }
    }
    let names: Vec<String> = names.iter().map(|name| format!("{name}.csv")).collect();
    let reason = if is_pajek { "Pajek files have no features or labels; " } else { "" };
    Err(error(format!(
        "no node table; {reason}expected {} (or .tsv, .txt, .parquet) in the same folder",
        names.join(" or ")
    )))
}

/// Returns the name of a Pajek file without its extensions; the result may contain dots.
fn pajek_stem(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.rsplit_once(".net").map_or(name, |(stem, _)| stem).to_owned()
}

/// Splits a file name at its first dot; `None` if it has none or is not UTF-8.
fn split_name(path: &Path) -> Option<(&str, &str)> {
    path.file_name()?.to_str()?.split_once('.')
}

/// Whether an extension such as `csv` or `csv.gz` consists of one of `extensions` and, unless that is binary,
/// optionally `.gz` or `.zst`.
fn is_supported(extension: &str, extensions: &[&str]) -> bool {
    let (kind, compression) = extension.split_once('.').unwrap_or((extension, ""));
    let may_be_compressed =
        !BINARY_EXTENSIONS.contains(&kind) && text::COMPRESSED_EXTENSIONS.contains(&compression);
    extensions.contains(&kind) && (compression.is_empty() || may_be_compressed)
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

//! `clenshaw data import`: convert a graph to a single file, which can be used by name or path.

use crate::options::{DataOption, JsonOption, TableArguments, data_home};
use crate::output;
use clap::Args;
use clenshaw::data::{self, Dataset, Store, graph_file, graph_file_name};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The arguments of `data import`.
#[derive(Args)]
pub struct Import {
    /// Graph: a path to your own files, or a name from `clenshaw data list`
    graph: String,
    /// Name for the imported graph, or a path that ends in `.graph`
    #[arg(short, long, value_name = "NAME|FILE")]
    out: String,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    table: TableArguments,
}

/// The help of `--data`; like `get` and unlike other subcommands, `import` writes to this folder.
pub const DATA_HELP: &str = "Folder to write NAME.graph to, also searched for GRAPH \
                             [default: $CLENSHAW_DATA, or else the cache folder]";

pub const AFTER_HELP: &str = "\
The file is in safetensors format with a checksum and is memory-mapped when it is loaded.

Examples:
  clenshaw data import my-graph/ --out mine     Then: clenshaw train mine
  clenshaw data import graph.npz --out shared/graph.graph
  clenshaw data import edges.csv --out mine --force";

/// The result of an import.
#[derive(Serialize)]
struct ImportReport {
    /// The name or path with which the imported graph can be used.
    graph: String,
    file: PathBuf,
    bytes: u64,
    nodes: usize,
    edges: usize,
    features: usize,
    classes: usize,
    splits: Vec<String>,
    /// The digest of the data set, see [`Dataset::sha256`]; not that of the file.
    sha256: String,
    warnings: Vec<String>,
}

impl Import {
    /// Reads the graph, writes the file and prints a report; fails if the file exists and `--force` is not
    /// given.
    pub fn run(self) -> Result<()> {
        let store = self.data.store();
        let (graph, file) = destination(&store, &self.out)?;
        if file.exists() && !self.force {
            return Err(already_exists(&file));
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dataset = Dataset { name, ..self.table.load(&store, &self.graph)? };
        if let Some(folder) = file.parent() {
            output::create_folder(folder)?;
        }
        let bytes = match self.force {
            true => graph_file::save(&dataset, &file)?,
            // The file may have been written by another process in the meantime.
            false => graph_file::save_new(&dataset, &file).map_err(|error| match error {
                Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => {
                    already_exists(&file)
                }
                other => other,
            })?,
        };
        let report = ImportReport {
            graph,
            file,
            bytes,
            nodes: dataset.graph.n_nodes(),
            edges: dataset.graph.n_edges(),
            features: dataset.x.n_cols(),
            classes: dataset.n_classes(),
            splits: dataset.splits.iter().map(|split| split.name.clone()).collect(),
            sha256: dataset.sha256(),
            warnings: dataset.warnings,
        };
        self.json.print(&report, || page(&report))
    }
}

/// The error for a file that exists when `--force` is not given.
fn already_exists(file: &Path) -> Error {
    Error::Data {
        place: file.display().to_string(),
        problem: "already exists; choose another name, or replace it with --force".into(),
    }
}

/// Returns the name or path with which the imported graph can be used, and the file to write. Rejects a path that
/// does not end in `.graph`, the name of a known graph and an invalid name; a valid name requires a data folder.
fn destination(store: &Store, out: &str) -> Result<(String, PathBuf)> {
    let invalid =
        |expected: String| Error::BadValue { key: "out".into(), value: out.into(), expected };
    let is_file = out.ends_with(".graph");
    if is_file || out.contains(['/', '\\']) {
        let path = is_file.then(|| PathBuf::from(out));
        let expected = "a name, or a path that ends in `.graph`";
        return path.map(|path| (out.into(), path)).ok_or_else(|| invalid(expected.into()));
    }
    if data::find(out).is_ok() {
        return Err(invalid(format!("a name other than `{out}`, which is a known graph")));
    }
    let file = graph_file_name(out)
        .ok_or_else(|| invalid("a name of letters, digits, `-`, `_` and `.`, or a path".into()))?;
    Ok((out.into(), data_home(store)?.join(file)))
}

/// The text of `data import`.
fn page(report: &ImportReport) -> String {
    let fields = output::fields([
        ("file", report.file.display().to_string()),
        ("bytes", report.bytes.to_string()),
        ("nodes", report.nodes.to_string()),
        ("edges", report.edges.to_string()),
        ("features", report.features.to_string()),
        ("classes", report.classes.to_string()),
        ("splits", output::list(&report.splits)),
        ("sha256", report.sha256.clone()),
    ]);
    let (warnings, graph) = (output::warnings(&report.warnings), &report.graph);
    format!("{fields}{warnings}next: clenshaw train {graph}\n")
}

//! `clenshaw data import`: a graph of one's own as one file, found by name.

use crate::options::DataFolder;
use crate::output;
use clap::Args;
use clenshaw::data::{self, Dataset, Store, graph_file, graph_file_name};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The words after `import`.
#[derive(Args)]
pub struct Import {
    /// A path to your own files, or a graph's name
    graph: String,
    /// What it is to be called, or a file that ends in `.graph`
    #[arg(long, value_name = "NAME|FILE")]
    out: String,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    data: DataFolder,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub const EXAMPLES: &str = "\
A name goes to --data, else to $CLENSHAW_DATA, else to the cache folder, as NAME.graph.
The file is a safetensors file with a checksum: Python opens it with `safetensors`.

Examples:
  clenshaw data import my-graph/ --out mine       then: clenshaw train mine
  clenshaw data import graph.npz --out shared/graph.graph
  clenshaw data import edges.csv --out mine --force";

/// What was imported.
#[derive(Serialize)]
struct Imported {
    graph: String,
    file: PathBuf,
    bytes: u64,
    nodes: usize,
    edges: usize,
    features: usize,
    classes: usize,
    splits: Vec<String>,
    sha256: String,
    warnings: Vec<String>,
}

impl Import {
    /// Reads, checks and writes.
    pub fn run(self) -> Result<()> {
        let store = self.data.store();
        let (graph, file) = target(&store, &self.out)?;
        if file.exists() && !self.force {
            return Err(Error::Data {
                place: file.display().to_string(),
                problem: "is there already; choose another name, or replace it with --force".into(),
            });
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dataset = Dataset { name, ..data::load_from(&store, &self.graph)? };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let bytes = graph_file::save(&dataset, &file)?;
        let imported = Imported {
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
        match self.json {
            true => output::print_json(&imported),
            false => output::print(&page(&imported)),
        }
    }
}

/// What to type to get it again, and its file.
fn target(store: &Store, out: &str) -> Result<(String, PathBuf)> {
    let refused =
        |expected: String| Error::BadValue { key: "out".into(), value: out.into(), expected };
    let is_file = out.ends_with(".graph");
    if is_file || out.contains(['/', '\\']) {
        let expected = "a plain word, or a file that ends in `.graph`";
        let path = is_file.then(|| PathBuf::from(out));
        return path.map(|path| (out.into(), path)).ok_or_else(|| refused(expected.into()));
    }
    if data::find(out).is_ok() {
        return Err(refused(format!("a name of its own; `{out}` is a known graph")));
    }
    let file = graph_file_name(out)
        .ok_or_else(|| refused("a word of letters, digits and `-_.`, or a file".into()))?;
    Ok((out.into(), home(store)?.join(file)))
}

fn home(store: &Store) -> Result<&Path> {
    store.home().ok_or_else(|| Error::Data {
        place: "data folder".into(),
        problem: "none is known; name one with --data".into(),
    })
}

fn page(imported: &Imported) -> String {
    let splits = match &imported.splits[..] {
        [] => "-".into(),
        splits => splits.join(", "),
    };
    let mut lines = vec![
        format!("file      {}", imported.file.display()),
        format!("bytes     {}", imported.bytes),
        format!("nodes     {}", imported.nodes),
        format!("edges     {}", imported.edges),
        format!("features  {}", imported.features),
        format!("classes   {}", imported.classes),
        format!("splits    {splits}"),
        format!("sha256    {}", imported.sha256),
    ];
    lines.extend(imported.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.push(format!("train on it with `clenshaw train {}`", imported.graph));
    lines.join("\n") + "\n"
}

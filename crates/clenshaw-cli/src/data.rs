//! `clenshaw data`: list, show, download, import and check graphs.

mod check;
mod get;
mod import;

use crate::options::{DataOption, JsonOption, TableArguments};
use crate::{RunSubcommand, models, output};
use check::Check;
use clap::{Parser, Subcommand};
use clenshaw::Result;
use clenshaw::data::{self, DATASETS, DatasetInfo, Description, Store, fetch};
use clenshaw::report::Table;
use get::Get;
use import::Import;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// List, show, download, import and check graphs
#[derive(Parser)]
#[command(name = "data", after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Data {
    #[command(subcommand)]
    action: DataAction,
}

/// The subcommands of `data`.
#[derive(Subcommand)]
enum DataAction {
    /// List all named graphs and whether their files are available
    #[command(after_help = LIST_EXAMPLES)]
    List {
        #[command(flatten)]
        data: DataOption,
        #[command(flatten)]
        json: JsonOption,
    },
    /// Show statistics of a graph: size, classes, homophily, components, degrees, warnings
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// Graph: a name from `clenshaw data list`, a path to your own files, or a generated graph
        /// such as csbm:nodes=500
        graph: String,
        #[command(flatten)]
        data: DataOption,
        #[command(flatten)]
        json: JsonOption,
        #[command(flatten)]
        table: TableArguments,
    },
    /// Download the files of public graphs and verify their checksums
    #[command(after_help = get::AFTER_HELP, mut_arg("data", |arg| arg.help(get::DATA_HELP)))]
    Get(Get),
    /// Convert a graph to a single file that loads quickly and can be used by name
    #[command(after_help = import::AFTER_HELP, mut_arg("data", |arg| arg.help(import::DATA_HELP)))]
    Import(Import),
    /// Check that a graph can be used for training, and report anomalies
    #[command(after_help = check::AFTER_HELP)]
    Check(Check),
}

const AFTER_HELP: &str = "\
Downloaded and imported graphs are stored in the cache folder (on Linux ~/.cache/clenshaw), together
with parsed copies of graphs, which load faster. Set CLENSHAW_DATA to use another folder for
downloads and imports. Set CLENSHAW_CACHE to use another folder for parsed graphs, or to `off` to
disable this cache.

Examples:
  clenshaw data list
  clenshaw data get texas
  clenshaw data check my-graph/
  clenshaw data import my-graph/ --out mine";

const LIST_EXAMPLES: &str = "\
Examples:
  clenshaw data list
  clenshaw data list --data /mnt/graphs --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  clenshaw data show cora
  clenshaw data show my-graph/
  clenshaw data show csbm:homophily=0.3 --json";

impl RunSubcommand for Data {
    fn run(self) -> Result<()> {
        match self.action {
            DataAction::Get(get) => get.run(),
            DataAction::Import(import) => import.run(),
            DataAction::Check(check) => check.run(),
            DataAction::List { data, json } => {
                let store = data.store();
                let known = DATASETS.iter().map(|info| dataset_json(info, &store));
                let document: Json = known.chain(imports(&store).map(import_json)).collect();
                json.print(&document, || table(&store))
            }
            DataAction::Show { graph, data, json, table } => {
                let dataset = table.load(&data.store(), &graph)?;
                let description = Description::of(&dataset);
                json.print(&description, || page(&description, &splits(&graph, &description)))
            }
        }
    }
}

/// Whether the graph needs no files, or all of its files exist; their contents are not checked.
fn is_available(info: &DatasetInfo, store: &Store) -> bool {
    let Some(files) = info.files().filter(|_| info.kind() == "files") else { return true };
    let manifest = fetch::manifest(files.folder).ok();
    let found = manifest.zip(store.dataset_folder(files.folder));
    found.is_some_and(|(manifest, folder)| fetch::is_complete(manifest, &folder))
}

/// The table of `data list`.
fn table(store: &Store) -> String {
    let mut table = Table::new(["name", "kind", "available", "title", "source"]);
    for info in DATASETS {
        let available = if is_available(info, store) { "yes" } else { "no" };
        table.add_row([info.name, info.kind(), available, info.title, info.source]);
    }
    for (name, path) in imports(store) {
        table.add_row([&name, IMPORTED, "yes", "your own graph", &path.display().to_string()]);
    }
    table.to_text()
}

/// The kind of graphs created by [`Import`].
const IMPORTED: &str = "imported";

/// Returns the names and files of imported graphs, except those with the name of a graph in
/// [`DATASETS`], which takes precedence.
fn imports(store: &Store) -> impl Iterator<Item = (String, PathBuf)> {
    store.imported_graphs().into_iter().filter(|(name, _)| data::find(name).is_err())
}

/// The entry of an imported graph in the JSON of `data list`.
fn import_json((name, path): (String, PathBuf)) -> Json {
    json!({ "name": name, "kind": IMPORTED, "available": true, "path": path })
}

/// The entry of a data set in the JSON of `data list`.
fn dataset_json(info: &DatasetInfo, store: &Store) -> Json {
    let files = info.files();
    json!({
        "name": info.name,
        "kind": info.kind(),
        "available": is_available(info, store),
        "title": info.title,
        "paper": info.paper,
        "source": info.source,
        "licence": files.map(|files| files.licence),
        "splits": files.map(|files| files.splits),
        "metric": files.map(|files| files.metric),
        "warnings": files.map(|files| files.warnings),
        "hyper": info.hyper().iter().map(models::hyper_json).collect::<Json>(),
    })
}

/// Lists the splits that come with a graph; for an embedded graph, those that its files have after a download.
fn splits(graph: &str, d: &Description) -> String {
    let built_in = data::find(graph).ok().filter(|info| info.kind() == "embedded");
    match built_in.and_then(DatasetInfo::files) {
        Some(files) => format!("none built in; {} after `clenshaw data get {graph}`", files.splits),
        None => output::list(&d.splits),
    }
}

/// The text of `data show`.
fn page(d: &Description, splits: &str) -> String {
    let ratio = |ratio: Option<f64>| ratio.map_or("unknown".into(), |ratio| format!("{ratio:.3}"));
    let classes: Vec<String> = d
        .class_names
        .iter()
        .zip(&d.class_sizes)
        .map(|(name, size)| format!("{name} {size}"))
        .collect();
    let degrees: Vec<String> = d.degree_histogram.iter().enumerate().map(degree_bin).collect();
    let largest = output::count(d.largest_component, "node");
    let fields = output::fields([
        ("nodes", d.nodes.to_string()),
        ("edges", d.edges.to_string()),
        ("features", format!("{} ({} nonzero entries)", d.features, d.feature_entries)),
        ("classes", format!("{}: {}", d.classes, classes.join(", "))),
        ("unlabelled", d.unlabelled.to_string()),
        ("edge homophily", ratio(d.edge_homophily)),
        ("node homophily", ratio(d.node_homophily)),
        ("isolated nodes", d.isolated.to_string()),
        (
            "duplicate nodes",
            format!("{} (same neighbours and class as an earlier node)", d.duplicates),
        ),
        ("components", format!("{} (the largest has {largest})", d.components)),
        ("degrees", degrees.join(", ")),
        ("splits", splits.to_owned()),
        ("sha256", d.sha256.clone()),
    ]);
    format!("{}\n{}\n\n{fields}{}", d.name, d.source, output::warnings(&d.warnings))
}

/// Formats a bin of the degree histogram, such as `4-7: 12` for bin 3.
fn degree_bin((bin, count): (usize, &usize)) -> String {
    match bin {
        0 => format!("0: {count}"),
        1 => format!("1: {count}"),
        _ => format!("{}-{}: {count}", 1usize << (bin - 1), (1usize << bin) - 1),
    }
}

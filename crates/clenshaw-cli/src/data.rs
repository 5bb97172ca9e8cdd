//! `clenshaw data`: the graphs there are to learn from.

use crate::check::{self, Check};
use crate::get::{self, Get};
use crate::import::{self, Import};
use crate::options::DataFolder;
use crate::{Run, models, output};
use clap::{Parser, Subcommand};
use clenshaw::Result;
use clenshaw::data::{self, DATASETS, DatasetInfo, Description, Store};
use clenshaw::report::Table;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// See which graphs there are, fetch them, import and check your own
#[derive(Parser)]
#[command(name = "data", after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Data {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the graphs known by name, and whether they are on this machine
    #[command(after_help = EXAMPLES)]
    List {
        #[command(flatten)]
        data: DataFolder,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Describe a graph: sizes, classes, homophily, components, degrees, what to mind
    #[command(after_help = EXAMPLES)]
    Show {
        /// A graph's name, or a path to your own files
        graph: String,
        #[command(flatten)]
        data: DataFolder,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Fetch the files of public graphs, and check them
    #[command(after_help = get::EXAMPLES)]
    Get(Get),
    /// Write a graph of your own to one file that is found by name and mapped into memory
    #[command(after_help = import::EXAMPLES)]
    Import(Import),
    /// Read and verify a graph, and tell everything odd about it
    #[command(after_help = check::EXAMPLES)]
    Check(Check),
}

const EXAMPLES: &str = "\
A graph that was read from files is kept in the cache folder and mapped the next time;
CLENSHAW_CACHE names another folder for that, or is `off`.

Examples:
  clenshaw data list
  clenshaw data get texas
  clenshaw data show cora
  clenshaw data check my-graph/
  clenshaw data import my-graph/ --out mine
  clenshaw data show csbm:homophily=0.3 --json    a generated graph takes settings after a colon";

impl Run for Data {
    fn run(self) -> Result<()> {
        match self.action {
            Action::Get(get) => get.run(),
            Action::Import(import) => import.run(),
            Action::Check(check) => check.run(),
            Action::List { data, json: true } => {
                let store = data.store();
                let known = DATASETS.iter().map(|info| object(info, &store));
                output::print_json(&known.chain(imports(&store).map(imported)).collect::<Json>())
            }
            Action::List { data, json: false } => output::print(&table(&data.store())),
            Action::Show { graph, data, json } => {
                let description = Description::of(&data::load_from(&data.store(), &graph)?);
                match json {
                    true => output::print_json(&description),
                    false => output::print(&page(&description)),
                }
            }
        }
    }
}

/// Whether it can be loaded here.
fn is_here(info: &DatasetInfo, store: &Store) -> bool {
    match (info.kind(), info.files()) {
        ("files", Some(files)) => store.find(files.folder).is_some(),
        _ => true,
    }
}

fn table(store: &Store) -> String {
    let mut table = Table::new(["name", "kind", "here", "title", "source"]);
    for info in DATASETS {
        let here = if is_here(info, store) { "yes" } else { "no" };
        table.row([info.name, info.kind(), here, info.title, info.source]);
    }
    for (name, path) in imports(store) {
        table.row([&name, IMPORTED, "yes", "a graph of your own", &path.display().to_string()]);
    }
    table.to_text()
}

/// The kind of graphs that [`Import`] makes.
const IMPORTED: &str = "imported";

/// Imported graphs that no known one hides.
fn imports(store: &Store) -> impl Iterator<Item = (String, PathBuf)> {
    store.imports().into_iter().filter(|(name, _)| data::find(name).is_err())
}

fn imported((name, path): (String, PathBuf)) -> Json {
    json!({ "name": name, "kind": IMPORTED, "here": true, "path": path })
}

fn object(info: &DatasetInfo, store: &Store) -> Json {
    let files = info.files();
    json!({
        "name": info.name,
        "kind": info.kind(),
        "here": is_here(info, store),
        "title": info.title,
        "paper": info.paper,
        "source": info.source,
        "licence": files.map(|files| files.licence),
        "splits": files.map(|files| files.splits),
        "metric": files.map(|files| files.metric),
        "warnings": files.map(|files| files.warnings),
        "hyper": info.hyper().iter().map(models::hyper).collect::<Json>(),
    })
}

fn page(d: &Description) -> String {
    let share = |share: Option<f64>| share.map_or("-".into(), |share| format!("{share:.3}"));
    let classes: Vec<String> = d
        .class_names
        .iter()
        .zip(&d.class_sizes)
        .map(|(name, size)| format!("{name} {size}"))
        .collect();
    let degrees: Vec<String> = d.degree_histogram.iter().enumerate().map(degrees).collect();
    let mut lines = vec![
        d.name.clone(),
        d.source.clone(),
        String::new(),
        format!("nodes            {}", d.nodes),
        format!("edges            {}", d.edges),
        format!("features         {} ({} entries are not zero)", d.features, d.feature_entries),
        format!("classes          {}: {}", d.classes, classes.join(", ")),
        format!("unlabelled       {}", d.unlabelled),
        format!("edge homophily   {}", share(d.edge_homophily)),
        format!("node homophily   {}", share(d.node_homophily)),
        format!("isolated nodes   {}", d.isolated),
        format!("duplicate nodes  {} (neighbours and class of an earlier one)", d.duplicates),
        format!(
            "components       {} (the largest has {} nodes)",
            d.components, d.largest_component
        ),
        format!("degrees          {}", degrees.join(", ")),
        format!(
            "splits           {}",
            if d.splits.is_empty() { "-".into() } else { d.splits.join(", ") }
        ),
        format!("sha256           {}", d.sha256),
    ];
    lines.extend(d.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n") + "\n"
}

/// `4-7: 12` for bin 3 of the histogram.
fn degrees((bin, count): (usize, &usize)) -> String {
    match bin {
        0 => format!("0: {count}"),
        1 => format!("1: {count}"),
        _ => format!("{}-{}: {count}", 1usize << (bin - 1), (1usize << bin) - 1),
    }
}

//! `clenshaw train`: one model on one graph, several splits.

use crate::options::{DataFolder, Threads, named_file, setting, whole};
use crate::progress::Progress;
use crate::{Run, interrupt, output};
use clap::Parser;
use clenshaw::data::{self, Dataset, SplitKind, Store};
use clenshaw::experiment::{self, Config, Event, Options, Order, Record, Request, Summary};
use clenshaw::graph::edge_homophily;
use clenshaw::report::Table;
use clenshaw::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Train a model on a graph and score it on the test nodes
#[derive(Parser)]
#[command(name = "train", after_help = EXAMPLES)]
pub struct Train {
    /// A graph's name, with settings after a colon if it is generated, or a path to your own files;
    /// --config may name it instead
    #[arg(required_unless_present = "config")]
    graph: Option<String>,
    /// The model [default: clenshaw-gcn]
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Settings for this model and graph, the published ones where there are any: paper
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// A TOML file of settings, such as the run.toml of an earlier run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set a hyper-parameter or a key of training; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// balanced, stratified, ratio:a/b/c, file:PATH, or one that came with the graph: public, geom:3,
    /// linkx:0, fixed:2, own, all [default: balanced]
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Number of runs, each with a split of its own [default: 1; with --split all, one a split]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: Option<usize>,
    /// Seed of the first run; the next ones count up [default: 0]
    #[arg(long, value_name = "S", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    data: DataFolder,
    /// The run folder [default: runs/GRAPH-MODEL-HASH, the same for the same settings]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep the folder's finished runs and go on with the others
    #[arg(long)]
    resume: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
The model's defaults yield to --preset, that to --config, and that to --set and the other options.

Examples:
  clenshaw train cora --preset paper --runs 10
  clenshaw train cora --model gcnii --set L=16 --set max_epochs=500
  clenshaw train csbm:nodes=500,homophily=0.3 --split stratified --json
  clenshaw train --config runs/cora-clenshaw-gcn-0a1b2c3d/run.toml --resume";

impl Run for Train {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        let request = self.request(&store)?;
        let folder = self.out.clone().unwrap_or_else(|| request.default_folder());
        let progress = if self.quiet { Progress::silent() } else { Progress::on_stderr() };
        let follower = progress.follow(&request);
        let graph_line = OnceLock::new();
        let watch = |_, event: Event<'_>| {
            if let Event::Loaded { dataset } = &event {
                graph_line.get_or_init(|| describe(dataset));
            }
            follower.see(&event);
        };
        let options = Options {
            threads: self.threads.count(),
            store: &store,
            resume: self.resume,
            watch: &watch,
            cancel: &interrupt::flag(&progress, interrupt::RESUME),
        };
        let order = Order { request, out: Some(folder.clone()) };
        let summary = experiment::run(&order, &options)?;
        match self.json {
            true => output::print_json(&summary),
            false => output::print(&page(graph_line.get().map_or("", |s| s), &summary, &folder)),
        }
    }
}

impl Train {
    /// Defaults, then the preset, then the file, then the words.
    fn request(&self, store: &Store) -> Result<Request> {
        let config = self.config.as_deref().map_or(Ok(Config::default()), read_config)?;
        let model = self.model.as_ref().or(config.model.as_ref());
        let graph = self.graph.as_ref().or(config.graph.as_ref()).ok_or_else(|| Error::Data {
            place: self.config.as_deref().unwrap_or(Path::new("")).display().to_string(),
            problem: "no `graph`; name one before --config".into(),
        })?;
        data::named(store, graph)?;
        let mut request = Request::new(graph, model.map_or("clenshaw-gcn", |name| name))?;
        if let Some(name) = &self.preset {
            request.apply_preset(name)?;
        }
        request.apply(&config)?;
        if let Some(split) = &self.split {
            request.split = split.parse()?;
        }
        for text in &self.set {
            let (key, value) = setting(text)?;
            request.hyper.set(key, value)?;
        }
        request.runs = match self.runs.or(config.runs) {
            Some(runs) => runs,
            None if request.split == SplitKind::All => request.load(store)?.splits.len().max(1),
            None => request.runs,
        };
        request.seed = self.seed.unwrap_or(request.seed);
        request.check()?;
        Ok(request)
    }
}

fn read_config(path: &Path) -> Result<Config> {
    Config::from_toml(&path.display().to_string(), &named_file(path)?)
}

/// `cora: 2708 nodes, 5278 edges, 1433 features, 7 classes, edge homophily 0.81`.
pub fn describe(dataset: &Dataset) -> String {
    let (graph, classes) = (&dataset.graph, dataset.n_classes());
    let (nodes, edges, features) = (graph.n_nodes(), graph.n_edges(), dataset.x.n_cols());
    let homophily = edge_homophily(graph, &dataset.y);
    let homophily = homophily.map_or("unknown".into(), |share| format!("{share:.2}"));
    format!(
        "{}: {nodes} nodes, {edges} edges, {features} features, {classes} classes, \
         edge homophily {homophily}",
        dataset.name
    )
}

/// What people read of a request's runs.
pub fn page(graph_line: &str, summary: &Summary, folder: &Path) -> String {
    let warnings: String =
        summary.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    format!(
        "{graph_line}\n{warnings}{} on {}\n\n{}\n{}\nrun folder {}\n",
        summary.model,
        splits(&summary.runs),
        table(&summary.runs).to_text(),
        verdict(summary),
        folder.display()
    )
}

/// The first run's split, and whether the others have the same.
fn splits(runs: &[Record]) -> String {
    let (first, others) = runs.split_first().expect("a request has at least one run");
    let same = others.iter().all(|run| run.split_sha256 == first.split_sha256);
    match others.len() {
        0 => first.split.clone(),
        _ if same => format!("{} (in every run)", first.split),
        n => format!("{} (and the next {n})", first.split),
    }
}

fn table(runs: &[Record]) -> Table {
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let mut table = Table::new([
        "seed",
        "epochs",
        "best epoch",
        "val acc",
        "test acc",
        "macro-F1",
        "balanced acc",
        "seconds",
    ]);
    for run in runs {
        table.row([
            run.seed.to_string(),
            run.epochs.to_string(),
            run.best_epoch.to_string(),
            percent(run.val_accuracy),
            percent(run.test_accuracy),
            percent(run.macro_f1),
            percent(run.balanced_accuracy),
            format!("{:.1}", run.seconds),
        ]);
    }
    table
}

fn verdict(summary: &Summary) -> String {
    let runs = match summary.runs.len() {
        1 => "1 run".into(),
        n => format!("{n} runs"),
    };
    let (accuracy, majority) = (summary.test_accuracy.in_percent(), 100.0 * summary.majority_share);
    format!("test accuracy {accuracy} over {runs}; majority share {majority:.1}%")
}

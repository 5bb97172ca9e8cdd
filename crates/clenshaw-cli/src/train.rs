//! `clenshaw train`: train one model on one graph.

use crate::options::{
    DataOption, JsonOption, QuietOption, SPLITS, ThreadsOption, read_argument_file, setting, whole,
};
use crate::output::{self, percent};
use crate::{RunSubcommand, interrupt};
use clap::Parser;
use clenshaw::data::{self, Dataset, SplitKind, Store};
use clenshaw::experiment::{
    self, Config, Request, RunEvent, RunOptions, RunRecord, Summary, TrainingJob,
};
use clenshaw::graph::edge_homophily;
use clenshaw::report::Table;
use clenshaw::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Train a model on a graph and evaluate it on the test nodes
#[derive(Parser)]
#[command(name = "train", after_help = after_help())]
pub struct Train {
    /// Graph: a name from `clenshaw data list`, a path to your own files, or a generated graph such
    /// as csbm:nodes=500; optional if --config names one
    #[arg(required_unless_present = "config")]
    graph: Option<String>,
    /// Model to train; `clenshaw models` lists them [default: clenshaw-gcn]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Start from a preset; `paper` has settings for this model and graph, published ones where they
    /// exist
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Read settings from a TOML file, such as the run.toml of an earlier run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set a hyper-parameter; `clenshaw models MODEL` lists them; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// How to split the nodes into training, validation and test sets [default: balanced]
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Number of runs, each with its own seed and split [default: 1; with --split all, one per split]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: Option<usize>,
    /// Seed of the first run, incremented for each further run [default: 0]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    /// Write the runs to this folder [default: runs/GRAPH-MODEL-HASH, where HASH depends on the
    /// settings]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep finished runs in the run folder and resume the others from their checkpoints
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    quiet: QuietOption,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw train my-graph/ --split stratified
  clenshaw train cora --preset paper --runs 10
  clenshaw train csbm:nodes=500,homophily=0.3 --model gcnii --set L=16 --json
  clenshaw train --config runs/cora-clenshaw-gcn-0a1b2c3d/run.toml --resume";

fn after_help() -> String {
    format!(
        "Precedence: defaults < --preset < --config < --set and other options\n\n\
         Your own graph is a folder with edges.csv and nodes.csv (or .tsv, .txt, .parquet), or one \
         .npz, .graphml or .graph file. Nodes without a label are left out of all splits and classified by `clenshaw predict`.\n\n\
         {SPLITS}\n\n{EXAMPLES}"
    )
}

impl RunSubcommand for Train {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        let request = self.request(&store)?;
        let folder = self.out.clone().unwrap_or_else(|| request.default_folder());
        let progress = self.quiet.progress();
        let run_progress = progress.runs(&request);
        let graph_line = OnceLock::new();
        let on_event = |_, event: RunEvent<'_>| {
            if let RunEvent::Loaded { dataset } = &event {
                graph_line.get_or_init(|| describe(dataset));
            }
            run_progress.update(&event);
        };
        let options = RunOptions {
            threads: self.threads.count(),
            store: &store,
            resume: self.resume,
            on_event: &on_event,
            cancel: &interrupt::flag(&progress, interrupt::Resume::WithFlag),
        };
        let job = TrainingJob { request, folder: Some(folder.clone()) };
        let summary = experiment::run(&job, &options)?;
        self.json.print(&summary, || page(graph_line.get().map_or("", |s| s), &summary, &folder))
    }
}

impl Train {
    /// Combines defaults, preset, configuration file and options; later ones override earlier ones.
    fn request(&self, store: &Store) -> Result<Request> {
        let config = self.config.as_deref().map_or(Ok(Config::default()), read_config)?;
        let model = self.model.as_ref().or(config.model.as_ref());
        let graph = self.graph.as_ref().or(config.graph.as_ref()).ok_or_else(|| Error::Data {
            place: self.config.as_deref().unwrap_or(Path::new("")).display().to_string(),
            problem: "no `graph`; add one or pass GRAPH on the command line".into(),
        })?;
        data::resolve(store, graph)?;
        let mut request = Request::new(graph, model.map_or("clenshaw-gcn", |name| name))?;
        if let Some(name) = &self.preset {
            request.apply_preset(name)?;
        }
        request.apply(&config)?;
        if let Some(split) = &self.split {
            request.split = split.parse()?;
        }
        self.set.iter().try_for_each(|(key, value)| request.hyper.set(key, value))?;
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
    Config::from_toml(&path.display().to_string(), &read_argument_file(path)?)
}

/// Describes a graph in one line, such as
/// `cora: 2708 nodes, 5278 edges, 1433 features, 7 classes, edge homophily 0.81`.
pub fn describe(dataset: &Dataset) -> String {
    let (graph, classes) = (&dataset.graph, dataset.n_classes());
    let (nodes, edges, features) = (graph.n_nodes(), graph.n_edges(), dataset.x.n_cols());
    let homophily = edge_homophily(graph, &dataset.y);
    let homophily = homophily.map_or("unknown".into(), |ratio| format!("{ratio:.2}"));
    format!(
        "{}: {nodes} nodes, {edges} edges, {features} features, {classes} classes, \
         edge homophily {homophily}",
        dataset.name
    )
}

/// Formats the results of a request as text.
pub fn page(graph_line: &str, summary: &Summary, folder: &Path) -> String {
    format!(
        "{graph_line}\n{}{}, split {}\n\n{}\n{}\nrun folder: {}\n",
        output::warnings(&summary.warnings),
        summary.model,
        splits(&summary.runs),
        table(&summary.runs).to_text(),
        test_accuracy(summary),
        folder.display()
    )
}

/// Describes the first run's split, and whether the other runs use the same one.
fn splits(runs: &[RunRecord]) -> String {
    let (first, others) = runs.split_first().expect("a request has at least one run");
    let same = others.iter().all(|run| run.split_sha256 == first.split_sha256);
    match runs.len() {
        1 => first.split.clone(),
        _ if same => format!("{} (same in all runs)", first.split),
        n => format!("{} (first of {n} splits)", first.split),
    }
}

fn table(runs: &[RunRecord]) -> Table {
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
        table.add_row([
            run.seed.to_string(),
            run.epochs.to_string(),
            run.best_epoch.to_string(),
            run.val_accuracy.map_or("-".into(), percent),
            percent(run.test_accuracy),
            percent(run.macro_f1),
            percent(run.balanced_accuracy),
            format!("{:.1}", run.seconds),
        ]);
    }
    table
}

fn test_accuracy(summary: &Summary) -> String {
    let runs = output::count(summary.runs.len(), "run");
    let accuracy = match summary.runs.len() {
        1 => percent(summary.test_accuracy.mean),
        _ => summary.test_accuracy.in_percent(),
    };
    let majority = 100.0 * summary.majority_share;
    format!("test accuracy {accuracy} over {runs}; majority class {majority:.1}%")
}

//! `clenshaw train`: train one model on one graph.

use crate::options::{
    DEFAULT_SPLIT, DataOption, JsonOption, MODEL_NAME, PRESET, QuietOption, ResumeOptions, SPLITS,
    TableArguments, ThreadsOption, read_argument_file, setting, whole,
};
use crate::output::{self, percent};
use crate::{RunSubcommand, interrupt};
use clap::Parser;
use clenshaw::data::{self, Dataset, Metric, Scaling, Schema, SplitKind, Store};
use clenshaw::experiment::{
    self, Config, Request, RunEvent, RunOptions, RunRecord, Summary, TrainingJob,
};
use clenshaw::graph::edge_homophily;
use clenshaw::report::{Statistic, Table};
use clenshaw::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Train a model on a graph and evaluate it on the test nodes
#[derive(Parser)]
#[command(name = "train", after_help = after_help())]
pub struct Train {
    /// Graph: a name from `clenshaw data list`, a path to your own files, or a generated graph such
    /// as csbm:nodes=500; optional if --config names one
    #[arg(required_unless_present = "config")]
    graph: Option<String>,
    /// Model to train, one of those listed by `clenshaw models` [default: clenshaw-gcn]
    #[arg(short, long, value_name = "MODEL", value_parser = MODEL_NAME, hide_possible_values = true)]
    model: Option<String>,
    /// Start from the preset for this model and graph. paper (if NAME is omitted): the published settings
    /// or, where there are none, settings tuned by us or published for another model or graph; luo2024:
    /// those of Luo et al. (2024) for gcn, sage and gat
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "paper", value_parser = PRESET)]
    preset: Option<String>,
    /// Read settings from a TOML file, such as the run.toml of an earlier run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one of the hyper-parameters listed by `clenshaw models MODEL`; can be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// How to split the nodes into training, validation and test sets; see below
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Number of runs, each with its own seed and, if the split is random, its own split [default: 1, or
    /// one per split if the split is `all`]
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
    #[command(flatten)]
    resume: ResumeOptions,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    quiet: QuietOption,
    #[command(flatten)]
    table: TableArguments,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw train my-graph/
  clenshaw train my-graph/ --label diagnosis --ignore notes --runs 10
  clenshaw train cora --preset --runs 10
  clenshaw train csbm:nodes=500,homophily=0.3 --model gcnii --set L=16 --json
  clenshaw train --config runs/cora-clenshaw-gcn-0a1b2c3d/run.toml";

fn after_help() -> String {
    format!(
        "Precedence: defaults < --preset < --config < --set and other options\n\n\
         Your own graph can be a folder with nodes.csv (or .tsv, .txt, .parquet) and edges.csv \
         (or .tsv, .txt, .parquet, .edgelist, .metis, .npz); one .graphml, .gml, .gexf, .json \
         (node-link), .npz or .graph file; or a .net file (Pajek) beside nodes.csv. \
         `clenshaw data check GRAPH` shows how its columns are used. \
         Nodes without a label are not part of the split; `clenshaw predict` classifies them.\n\n\
         Rerun the same command to resume it after an interruption.\n\n\
         {SPLITS}\n{DEFAULT_SPLIT}\n\n{EXAMPLES}"
    )
}

impl RunSubcommand for Train {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        let request = self.request(&store)?;
        let folder = self.out.clone().unwrap_or_else(|| request.default_folder());
        let progress = self.quiet.progress();
        let run_progress = progress.runs(&request);
        let graph_lines = OnceLock::new();
        let has_trained = AtomicBool::new(false);
        let on_event = |_, event: RunEvent<'_>| {
            if let RunEvent::Loaded { dataset } = &event {
                graph_lines.get_or_init(|| describe(dataset) + &interpretation(dataset));
            }
            has_trained.fetch_or(matches!(event, RunEvent::Started { .. }), Ordering::Relaxed);
            run_progress.update(&event);
        };
        let options = RunOptions {
            threads: self.threads.count(),
            store: &store,
            resume: self.resume.resume(),
            on_event: &on_event,
            cancel: &interrupt::flag(&progress, interrupt::Resume::Rerun),
        };
        let job = TrainingJob { request, folder: Some(folder.clone()) };
        let summary = experiment::run(&job, &options)?;
        if !has_trained.into_inner() {
            progress
                .message("note: all runs had already finished; use --fresh to train them again");
        }
        self.json.print(&summary, || page(graph_lines.get().map_or("", |s| s), &summary, &folder))
    }
}

impl Train {
    /// Combines the defaults of the model and the graph, the preset, the configuration file and the options; later
    /// ones override earlier ones. If the split is `all`, the default number of runs is the number of splits.
    fn request(&self, store: &Store) -> Result<Request> {
        let mut config = self.config.as_deref().map_or(Ok(Config::default()), read_config)?;
        config.table = self.table.options().or(config.table);
        let model = self.model.as_ref().or(config.model.as_ref());
        let graph = self.graph.as_ref().or(config.graph.as_ref()).ok_or_else(|| Error::Data {
            place: self.config.as_deref().unwrap_or(Path::new("")).display().to_string(),
            problem: "no `graph`; add one or pass GRAPH on the command line".into(),
        })?;
        data::resolve(store, graph)?;
        let mut request = Request::new(graph, model.map_or("clenshaw-gcn", |name| name))?;
        request.table = config.table.clone();
        request.apply_graph_defaults(store)?;
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

/// Reads the file of `--config`.
fn read_config(path: &Path) -> Result<Config> {
    Config::from_toml(&path.display().to_string(), &read_argument_file(path)?)
}

/// Describes a graph in one line, such as
/// `cora: 2708 nodes, 5278 edges, 1433 features, 7 classes, edge homophily 0.81`.
pub fn describe(dataset: &Dataset) -> String {
    let (graph, classes) = (&dataset.graph, dataset.n_classes());
    let nodes = output::count(graph.n_nodes(), "node");
    let edges = output::count(graph.n_edges(), "edge");
    let features = output::count(dataset.x.n_cols(), "feature");
    let class_noun = if classes == 1 { "class" } else { "classes" };
    let homophily = edge_homophily(graph, &dataset.y);
    let homophily = homophily.map_or("unknown".into(), |ratio| format!("{ratio:.2}"));
    format!(
        "{}: {nodes}, {edges}, {features}, {classes} {class_noun}, edge homophily {homophily}",
        dataset.name
    )
}

/// Describes how the columns and edges of a user's own graph were interpreted, one note per line, each
/// after a line break; empty if there are no notes.
pub fn interpretation(dataset: &Dataset) -> String {
    let columns = dataset.schema.iter().flat_map(Schema::summary);
    let lines = columns.chain(dataset.notes.iter().cloned());
    lines.map(|line| format!("\n  {line}")).collect()
}

/// Formats the results of a request as text.
pub fn page(graph_lines: &str, summary: &Summary, folder: &Path) -> String {
    let scaling = match summary.hyper.choice::<Scaling>("scaling") {
        Scaling::Raw => String::new(),
        scaling => format!(", scaling {scaling}"),
    };
    format!(
        "{graph_lines}\n{}{}{scaling}, split {}\n\n{}\n{}\nrun folder: {}\n",
        output::warnings(&summary.warnings),
        summary.model,
        splits(&summary.runs),
        table(&summary.runs).to_text(),
        headline(summary),
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

/// The table of scores, with one row per run.
fn table(runs: &[RunRecord]) -> Table {
    let has_auc = runs.iter().all(|run| run.roc_auc.is_some());
    let mut header =
        vec!["seed", "epochs", "best epoch", "val acc", "test acc", "macro-F1", "balanced acc"];
    header.extend(has_auc.then_some("ROC AUC"));
    header.push("seconds");
    let mut table = Table::new(header);
    for run in runs {
        let mut row = vec![
            run.seed.to_string(),
            run.epochs.to_string(),
            run.best_epoch.to_string(),
            run.val_accuracy.map_or("-".into(), percent),
            score(run.test_accuracy),
            score(run.macro_f1),
            score(run.balanced_accuracy),
        ];
        row.extend(run.roc_auc.map(score).filter(|_| has_auc));
        row.push(format!("{:.1}", run.seconds));
        table.add_row(row);
    }
    table
}

/// Formats a score in percent; `-` if it is NaN, such as without test nodes.
fn score(score: f64) -> String {
    if score.is_nan() { "-".into() } else { percent(score) }
}

/// Formats the test score over all runs in one line, or a remark if a run has no test nodes.
fn headline(summary: &Summary) -> String {
    if summary.test_accuracy.mean.is_nan() {
        let untested = match summary.runs.iter().all(|run| run.test_accuracy.is_nan()) {
            true => "no test nodes",
            false => "some runs have no test nodes",
        };
        return format!("{untested}, so there is no estimate of the accuracy");
    }
    let runs = output::count(summary.runs.len(), "run");
    let value = |statistic: &Statistic| match summary.runs.len() {
        1 => percent(statistic.mean),
        _ => statistic.in_percent(),
    };
    let majority = 100.0 * summary.majority_share;
    let accuracy = value(&summary.test_accuracy);
    match (summary.metric, &summary.roc_auc) {
        (Metric::RocAuc, Some(auc)) => format!(
            "test ROC AUC {} over {runs}; accuracy {accuracy}, majority class {majority:.1}%",
            value(auc)
        ),
        _ => format!("test accuracy {accuracy} over {runs}; majority class {majority:.1}%"),
    }
}

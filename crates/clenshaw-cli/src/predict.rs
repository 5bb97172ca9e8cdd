//! `clenshaw predict`: classify the nodes of a graph with a trained model.

use crate::options::{DataOption, JsonOption, ThreadsOption, whole};
use crate::{RunSubcommand, output, run_folder};
use clap::{Parser, ValueEnum};
use clenshaw::experiment::{self, ModelEnsemble, Predictions};
use clenshaw::train::TrainedModel;
use clenshaw::{Error, Result};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Predict the class of every node with a trained model and print the result as CSV
#[derive(Parser)]
#[command(name = "predict", after_help = AFTER_HELP)]
pub struct Predict {
    /// Run folder, as written by `clenshaw train`, `compare` or `demo` (a path, a name in `runs` or a unique
    /// prefix of one, or `latest` for the newest), the folder of an ensemble, as written by `clenshaw auto`,
    /// or a model file (.safetensors)
    run: PathBuf,
    /// Graph with the nodes to classify and the feature columns of the training graph [default: the
    /// graph of the run; required with a model file]
    graph: Option<String>,
    /// Use the run with this seed; not with an ensemble or a model file [default: the run with the lowest
    /// validation loss]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Print only these nodes
    #[arg(long, value_name = "NODES", value_enum)]
    only: Option<NodeSelection>,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
}

/// The values of `--only`.
#[derive(Clone, Copy, ValueEnum)]
enum NodeSelection {
    /// Nodes without a label
    Unlabelled,
    /// Nodes of the test set; only for the graph of a run folder
    Test,
}

const AFTER_HELP: &str = "\
The columns are `node`, `prediction`, one probability per class, and `part`: the part of the split
that contains the node (train, val or test), or empty if none does. For an ensemble, a model file or
another graph, `part` is always empty.

For another graph, the columns of its node table are matched by name with those of the training
table; labels are not needed. Missing columns are filled and unknown categories encoded as zeros;
both are reported as warnings.

Examples:
  clenshaw predict latest --only unlabelled
  clenshaw predict latest next-year/ --out next-year.csv
  clenshaw predict runs/auto/mine-0a1b2c3d next-year/
  clenshaw predict runs/cora-clenshaw-gcn-0a1b2c3d --seed 3
  clenshaw predict runs/mine-gcn-0a1b2c3d/runs/0/model.safetensors other-graph/ --json";

impl RunSubcommand for Predict {
    fn run(self) -> Result<()> {
        let predictions = self.predictions()?;
        for warning in &predictions.warnings {
            output::message(&format!("warning: {warning}"));
        }
        let rows: Vec<usize> = (0..predictions.parts.len())
            .filter(|&node| match self.only {
                None => true,
                Some(NodeSelection::Unlabelled) => !predictions.is_labelled[node],
                Some(NodeSelection::Test) => predictions.parts[node] == "test",
            })
            .collect();
        let text = match self.json.is_set() {
            true => output::json(&document(&predictions, &rows)),
            false => predictions.to_csv(&rows),
        };
        match self.out {
            Some(path) => output::save(&path, text),
            None => output::print(&text),
        }
    }
}

impl Predict {
    /// Applies the run, the ensemble or the model file to the graph. Fails if no graph is given for a model file, or
    /// an option does not apply.
    fn predictions(&self) -> Result<Predictions> {
        let (store, threads) = (self.data.store(), self.threads.count());
        if self.run.is_dir()
            && let Some(ensemble) = ModelEnsemble::load(&self.run)?
        {
            self.check_options("an ensemble")?;
            return ensemble.predict(&self.run, &store, self.graph.as_deref(), threads);
        }
        if !self.run.is_file() {
            let folder = run_folder::find(&self.run)?;
            let graph = self.graph.as_deref();
            let predictions = experiment::predict(&folder, &store, graph, self.seed, threads)?;
            return self.check_parts(&predictions).map(|()| predictions);
        }
        self.check_options("a model file")?;
        let model = TrainedModel::load(&self.run)?;
        let graph = self.graph.as_ref().ok_or_else(|| Error::Data {
            place: self.run.display().to_string(),
            problem: "a model file does not contain a graph; pass GRAPH on the command line".into(),
        })?;
        experiment::predict_with(&model, &store, graph, threads)
    }

    /// Rejects `--only test` if no node belongs to a part of a split, as in a graph other than that of the run.
    fn check_parts(&self, predictions: &Predictions) -> Result<()> {
        let has_parts = predictions.parts.iter().any(|part| !part.is_empty());
        match self.only {
            Some(NodeSelection::Test) if !has_parts => Err(Error::BadValue {
                key: "--only".into(),
                value: "test".into(),
                expected: "unlabelled with another graph, which has no split; omit GRAPH".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Rejects `--seed` and `--only test`, which need a run folder; `what` names what was given instead.
    fn check_options(&self, what: &str) -> Result<()> {
        let (key, value, expected) = match (self.seed, self.only) {
            (Some(seed), _) => (
                "--seed",
                seed.to_string(),
                format!("no seed with {what}; pass a run folder to choose one of its runs"),
            ),
            (None, Some(NodeSelection::Test)) => (
                "--only",
                "test".to_owned(),
                format!("unlabelled with {what}, which has no split; pass a run folder"),
            ),
            _ => return Ok(()),
        };
        Err(Error::BadValue { key: key.into(), value, expected })
    }
}

/// Returns the JSON document: the classes, the warnings and one object per node in `rows`.
fn document(predictions: &Predictions, rows: &[usize]) -> Json {
    let classes = &predictions.class_names;
    let node = |&node: &usize| {
        let probabilities = predictions.probabilities.row(node);
        let by_class: serde_json::Map<String, Json> =
            classes.iter().cloned().zip(probabilities.iter().map(|p| json!(p))).collect();
        json!({
            "node": predictions.node_name(node),
            "prediction": classes[predictions.class(node)],
            "probabilities": by_class,
            "part": predictions.parts[node],
        })
    };
    json!({
        "classes": classes,
        "warnings": predictions.warnings,
        "nodes": rows.iter().map(node).collect::<Json>(),
    })
}

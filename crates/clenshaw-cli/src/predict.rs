//! `clenshaw predict`: classify the nodes of a graph with a trained model.

use crate::options::{DataOption, ThreadsOption, whole};
use crate::{RunSubcommand, output};
use clap::Parser;
use clenshaw::{Error, Result, experiment};
use std::path::PathBuf;

/// Predict the class of every node with a trained model, as CSV
#[derive(Parser)]
#[command(name = "predict", after_help = AFTER_HELP)]
pub struct Predict {
    /// Run folder written by `clenshaw train`
    run: PathBuf,
    /// Another graph with the same features and classes [default: the graph of the run]
    graph: Option<String>,
    /// Use the run with this seed [default: the run with the lowest validation loss]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
}

const AFTER_HELP: &str = "\
The columns are `node`, `prediction`, one probability per class, and `part`: train, val, test or empty.

Examples:
  clenshaw predict runs/cora-clenshaw-gcn-0a1b2c3d
  clenshaw predict runs/cora-clenshaw-gcn-0a1b2c3d --seed 3 --out cora.csv
  clenshaw predict runs/csbm-gcn-0a1b2c3d csbm:seed=1";

impl RunSubcommand for Predict {
    fn run(self) -> Result<()> {
        if !self.run.join("run.toml").is_file() {
            let place = self.run.display().to_string();
            let problem = "no run.toml; expected a run folder written by `clenshaw train`".into();
            return Err(Error::Data { place, problem });
        }
        let (graph, store) = (self.graph.as_deref(), self.data.store());
        let threads = self.threads.count();
        let csv = experiment::predict(&self.run, &store, graph, self.seed, threads)?.to_csv();
        match self.out {
            Some(path) => output::save(&path, &csv),
            None => output::print(&csv),
        }
    }
}

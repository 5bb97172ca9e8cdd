//! `clenshaw predict`: what a trained run says about every node.

use crate::options::{DataFolder, Threads, whole};
use crate::{Run, output};
use clap::Parser;
use clenshaw::{Error, Result, experiment};
use std::path::PathBuf;

/// Print class and probabilities of every node as CSV
#[derive(Parser)]
#[command(name = "predict", after_help = EXAMPLES)]
pub struct Predict {
    /// A run folder, as `train` names it
    run: PathBuf,
    /// Another graph with the same features and classes [default: the graph it was trained on]
    graph: Option<String>,
    /// The run of this seed [default: the one with the lowest validation loss]
    #[arg(long, value_name = "S", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    data: DataFolder,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw predict runs/cora-clenshaw-gcn-0a1b2c3d --out cora.csv
  clenshaw predict runs/csbm-gcn-0a1b2c3d csbm:seed=1";

impl Run for Predict {
    fn run(self) -> Result<()> {
        if !self.run.join("run.toml").is_file() {
            let place = self.run.display().to_string();
            let problem = "no run.toml in it; expected a run folder, as `train` names it".into();
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

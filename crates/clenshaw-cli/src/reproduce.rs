//! `clenshaw reproduce`: the paper's tables again, ours beside them.

use crate::options::{DataFolder, Threads, duration, whole};
use crate::{Run, contest, output};
use clap::Parser;
use clenshaw::experiment::{EXPERIMENTS, ExperimentInfo, Kind, Only, Statistics, find_experiment};
use clenshaw::report::{Comparison, wrapped};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Do a table of the paper again, and set ours beside it
#[derive(Parser)]
#[command(name = "reproduce", after_help = experiments_and_examples())]
pub struct Reproduce {
    /// The experiment
    name: String,
    /// A part of it, as in graph=texas,cora,model=gcn
    #[arg(long, value_name = "KEY=VALUE,..")]
    pub only: Option<String>,
    /// Runs of each cell at most [default: the paper's]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub runs: Option<usize>,
    /// Stop after this time, as in 90s, 30m or 2h; the same command goes on
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub threads: Threads,
    #[command(flatten)]
    pub data: DataFolder,
    /// The folder for NAME.md, NAME.json, figures and run folders [default: `reproduce`, if it trains]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
A graph whose files are not here is left out, and its place says so. An experiment that trains may be
stopped at any time, and the same command goes on; what two experiments share is trained once.

Examples:
  clenshaw reproduce table1
  clenshaw reproduce table1 --only graph=texas,cora --out results --json
  clenshaw reproduce table3 --only model=clenshaw-gcn
  clenshaw reproduce ablation --runs 5 --budget 30m";

fn experiments_and_examples() -> String {
    let line = |info: &&ExperimentInfo| format!("  {:<8}  {}\n", info.name, info.title);
    let lines: String = EXPERIMENTS.iter().map(line).collect();
    format!("Experiments:\n{lines}\n{EXAMPLES}")
}

/// What `--json` prints and NAME.json holds.
#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    version: &'static str,
    #[serde(flatten)]
    table: &'a Comparison,
}

impl Run for Reproduce {
    fn run(self) -> Result<()> {
        let info = find_experiment(&self.name)?;
        let only = self.only.as_deref().map_or(Ok(Only::default()), str::parse)?;
        let text = match info.kind {
            Kind::Statistics(text) => text,
            Kind::Contest(text) => return contest::run(&self, info, text, &only),
        };
        let statistics = Statistics::from_toml(&info.place(), text)?;
        let table = &statistics.measure(&self.data.store(), &only)?;
        let (experiment, version) = (info.name, env!("CARGO_PKG_VERSION"));
        let document = Document { experiment, version, table };
        if let Some(folder) = &self.out {
            self.save(folder, &document)?;
        }
        match self.json {
            true => output::print_json(&document),
            false => output::print(&page(table)),
        }
    }
}

impl Reproduce {
    fn save(&self, folder: &Path, document: &Document) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let file = |kind: &str| folder.join(format!("{}.{kind}", document.experiment));
        output::save(&file("md"), &self.markdown(document))?;
        output::save(&file("json"), &output::json(document))
    }

    fn markdown(&self, document: &Document) -> String {
        let only = self.only.as_ref().map_or(String::new(), |only| format!(" --only {only}"));
        let (experiment, version) = (document.experiment, document.version);
        let missing = missing(document.table).map_or(String::new(), |line| format!("{line}\n"));
        format!(
            "{}\n{missing}Made by `clenshaw reproduce {experiment}{only}`, version {version}.\n",
            document.table.to_markdown()
        )
    }
}

fn page(table: &Comparison) -> String {
    let missing = missing(table).map_or(String::new(), |line| {
        wrapped(&line, 100).into_iter().map(|line| line + "\n").collect()
    });
    table.to_text() + &missing
}

/// Which graphs are not here, and how to get them.
fn missing(table: &Comparison) -> Option<String> {
    let names: Vec<&str> = table.missing().collect();
    let (listed, typed) = (names.join(", "), names.join(" "));
    (!names.is_empty()).then(|| {
        format!("Not here, so not measured: {listed}; get with `clenshaw data get {typed}`.")
    })
}

//! `clenshaw reproduce`: the paper's tables again, ours beside them.

mod contest;
mod measured;

use crate::options::{DataFolder, Threads, duration, whole};
use crate::progress::Progress;
use crate::{Run, interrupt, output};
use clap::Parser;
use clenshaw::experiment::{
    Contest, EXPERIMENTS, ExperimentInfo, Filters, Kind, Only, Statistics, Theorems,
    find_experiment,
};
use clenshaw::report::{Comparison, png, wrapped};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Do a table of the paper again, and set ours beside it
#[derive(Parser)]
#[command(name = "reproduce", after_help = experiments_and_examples())]
pub struct Reproduce {
    /// The experiment
    name: String,
    /// A part of it, as in graph=texas,cora,model=gcn
    #[arg(long, value_name = "KEY=VALUE,..")]
    only: Option<String>,
    /// Runs of each cell at most, where that is not left to the experiment
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: Option<usize>,
    /// Stop training after this time, as in 90s, 30m or 2h; the same command goes on
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    data: DataFolder,
    /// Write NAME.md, NAME.json, figures and records into this folder, and go on with what it holds
    /// [default: runs/reproduce, but for table1]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Take what was measured from the receipts in this folder, as from docs/results, and train the rest
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
A graph whose files are not here is left out, and its place says so.
What was interrupted ends with code 1, and goes on where it stopped when the same words are typed
again; what two tables share is trained once.

Examples:
  clenshaw reproduce table1 --only graph=texas,cora --json
  clenshaw reproduce table3 --only model=clenshaw-gcn
  clenshaw reproduce table3 --receipts docs/results
  clenshaw reproduce ablation --runs 5 --budget 30m
  clenshaw reproduce theorems --only graph=texas,cora
  clenshaw reproduce filters --only filter=comb,model=jacobi,clenshaw-gcn --runs 1";

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
        self.refuse_what_means_nothing(info)?;
        match info.kind {
            Kind::Statistics(text) => {
                let statistics = Statistics::from_toml(&info.place(), text)?;
                self.compare(info, &statistics.measure(&self.data.store(), &only)?)
            }
            Kind::Contest(text) => {
                self.compete(info, &Contest::from_toml(&info.place(), text)?, &only)
            }
            Kind::Theorems(text) => {
                let theorems = Theorems::from_toml(&info.place(), text)?;
                self.measure(info, &only, |errand| theorems.measure(errand))
            }
            Kind::Filters(text) => {
                let filters = Filters::from_toml(&info.place(), text)?;
                self.measure(info, &only, |errand| filters.measure(errand))
            }
        }
    }
}

impl Reproduce {
    /// Only contests have receipts, and counting takes neither runs nor long.
    fn refuse_what_means_nothing(&self, info: &ExperimentInfo) -> Result<()> {
        let nothing = |key: &str, value: String, why: &str| {
            let expected = format!("none with {}: {why}", info.name);
            Err(Error::BadValue { key: key.into(), value, expected })
        };
        let is_contest = matches!(info.kind, Kind::Contest(_));
        let is_count = matches!(info.kind, Kind::Statistics(_));
        match (&self.receipts, self.runs, self.budget) {
            (Some(folder), ..) if !is_contest => {
                nothing("receipts", folder.display().to_string(), "it has no receipts")
            }
            (_, Some(runs), _) if is_count => {
                nothing("runs", runs.to_string(), "graphs are counted once")
            }
            (.., Some(budget)) if is_count => {
                nothing("budget", format!("{}s", budget.as_secs()), "nothing is trained")
            }
            _ => Ok(()),
        }
    }

    /// Where an experiment is kept that takes time.
    fn folder(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new("runs/reproduce"))
    }

    /// A flag that Ctrl-C sets, and the end of the budget; the program does not wait for that.
    fn cancel(&self, progress: &Progress) -> Arc<AtomicBool> {
        let flag = interrupt::flag(progress, interrupt::AGAIN);
        let (set, progress) = (Arc::clone(&flag), progress.clone());
        let end = move || {
            if !set.swap(true, Ordering::Relaxed) {
                progress.say("the time is over; run again to go on");
            }
        };
        match self.budget {
            None => {}
            // Nothing is begun; a thread could come too late for that.
            Some(Duration::ZERO) => end(),
            Some(budget) => drop(std::thread::spawn(move || {
                std::thread::sleep(budget);
                end();
            })),
        }
        flag
    }

    /// A table of the paper, and ours.
    fn compare(&self, info: &'static ExperimentInfo, table: &Comparison) -> Result<()> {
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

    fn save(&self, folder: &Path, document: &Document) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let file = |kind: &str| folder.join(format!("{}.{kind}", document.experiment));
        output::save(&file("md"), &self.markdown(document))?;
        output::save(&file("json"), &output::json(document))
    }

    fn markdown(&self, document: &Document) -> String {
        let names: Vec<&str> = document.table.missing().collect();
        let end = self.markdown_end(document.experiment, &names);
        format!("{}\n{end}", document.table.to_markdown())
    }

    /// What is not here, and the words that made the page.
    fn markdown_end(&self, experiment: &str, names: &[&str]) -> String {
        let only = self.only.as_ref().map_or(String::new(), |only| format!(" --only {only}"));
        let runs = self.runs.map_or(String::new(), |runs| format!(" --runs {runs}"));
        let receipts = self.receipts.as_ref();
        let receipts = receipts.map_or(String::new(), |r| format!(" --receipts {}", r.display()));
        let missing = missing(names).map_or(String::new(), |line| format!("{line}\n"));
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{missing}Made by `clenshaw reproduce {experiment}{only}{runs}{receipts}`, version {version}.\n"
        )
    }
}

/// Every figure as SVG and as PNG, by name.
fn draw(folder: &Path, figures: impl Iterator<Item = (String, String)>) -> Result<()> {
    for (name, svg) in figures {
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        output::save_bytes(&folder.join(format!("{name}.png")), &png(&svg)?)?;
        output::save(&folder.join(format!("{name}.svg")), &svg)?;
    }
    Ok(())
}

fn page(table: &Comparison) -> String {
    table.to_text() + &missing_lines(&table.missing().collect::<Vec<_>>())
}

fn missing_lines(names: &[&str]) -> String {
    missing(names).map_or(String::new(), |line| {
        wrapped(&line, 100).into_iter().map(|line| line + "\n").collect()
    })
}

/// Which graphs are not here, and how to get them.
fn missing(names: &[&str]) -> Option<String> {
    let (listed, typed) = (names.join(", "), names.join(" "));
    (!names.is_empty()).then(|| {
        format!("Not here, so not measured: {listed}; get with `clenshaw data get {typed}`.")
    })
}

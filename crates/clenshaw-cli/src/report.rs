//! `clenshaw report`: write a page about finished runs.

use crate::options::{DataOption, ThreadsOption, whole};
use crate::{RunSubcommand, output, run_folder};
use clap::Parser;
use clenshaw::Result;
use clenshaw::experiment::{self, ReportedRun};
use clenshaw::report::html_page;
use std::path::{Path, PathBuf};

/// Write a page about finished runs: scores, learned filter, learning curves, mistakes
#[derive(Parser)]
#[command(name = "report", after_help = AFTER_HELP)]
pub struct Report {
    /// Run folders written by `clenshaw train` (paths, names in `runs` or unique prefixes, or `latest`), or
    /// a folder that contains run folders, such as `runs/compare`
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Show the run with this seed in detail [default: the run with the lowest validation loss]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// File to write [default: report.html in the first run folder]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
}

const AFTER_HELP: &str = "\
The page is one HTML file that opens offline in any browser. It shows the test score, the learned
filter over the spectrum of the graph and its changes during training, learning curves, the confusion
matrix, scores by class, degree and local homophily, calibration, the most confident mistakes, a
drawing of the graph and the settings. Several runs on the same graph are compared.

Examples:
  clenshaw report latest
  clenshaw report latest --out page.html
  clenshaw report cora-gcn cora-clenshaw-gcn --out comparison.html
  clenshaw report runs/compare --out comparison.html";

impl RunSubcommand for Report {
    fn run(self) -> Result<()> {
        let mut folders = vec![];
        for argument in &self.runs {
            folders.extend(find_all(argument)?);
        }
        let reported = |folder: &PathBuf| ReportedRun { folder: folder.clone(), seed: self.seed };
        let runs: Vec<ReportedRun> = folders.iter().map(reported).collect();
        let report = experiment::Report::new(&runs, &self.data.store(), self.threads.count())?;
        let path = self.out.unwrap_or_else(|| folders[0].join("report.html"));
        output::save(&path, html_page(&report))?;
        output::message(&format!("page: {}", path.display()));
        Ok(())
    }
}

/// The run folders that an argument refers to, at least one.
fn find_all(argument: &Path) -> Result<Vec<PathBuf>> {
    if !argument.join("run.toml").is_file() && argument.is_dir() {
        let contained = run_folder::list(argument)?;
        if !contained.is_empty() {
            return Ok(contained);
        }
    }
    Ok(vec![run_folder::find(argument)?])
}

//! `clenshaw reproduce`: reproduce the tables of the ClenshawGCN paper, and run related experiments.

mod measurements;
mod result_table;

use crate::options::{DataOption, JsonOption, QuietOption, ThreadsOption, duration, whole};
use crate::progress::Progress;
use crate::{RunSubcommand, interrupt, output};
use clap::Parser;
use clenshaw::experiment::{
    AutoExperiment, EXPERIMENTS, ExperimentInfo, ExperimentKind, Filters, GraphStatistics,
    Receipts, ResultTable, Selection, Theorems, find_experiment,
};
use clenshaw::report::{Comparison, svg_to_png, wrap_text};
use clenshaw::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Reproduce a table of the ClenshawGCN paper (arXiv:2210.16508), or run a related experiment
#[derive(Parser)]
#[command(name = "reproduce", after_help = after_help())]
pub struct Reproduce {
    /// Name of the experiment, listed below
    name: String,
    /// Run only part of the experiment, such as graph=texas,cora,model=gcn (two graphs, one model)
    #[arg(long, value_name = "KEY=VALUE,...")]
    only: Option<String>,
    /// Maximum number of runs per model and graph, or of searches per graph in `auto`; in `filters`, the number
    /// of images [default: set by the experiment]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: Option<usize>,
    /// Stop training after this time, such as 90s, 30m or 2h [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Time limit of each search in the experiment `auto` [default: set by the experiment]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    search_budget: Option<Duration>,
    /// Number of trials per search in the experiment `auto`, instead of a time limit
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    trials: Option<usize>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    /// Folder for NAME.md, NAME.json, figures, receipts and saved runs [default: runs/reproduce; table1
    /// writes no files by default]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Reuse the results recorded in the receipts (*.receipts.jsonl) of a folder, such as docs/results;
    /// run only the cells of the table (each is one model on one graph) without a receipt. The experiment `auto` reads the scores of published settings
    /// from the receipts
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    quiet: QuietOption,
}

const DETAILS: &str = "\
Rerun the same command to resume; results in --out are kept, and cells shared by several tables are
computed only once. Graphs whose files are missing are skipped. A receipt records the settings,
data, machine and runs of a cell. Exits with 1 if the experiment was interrupted.

Examples:
  clenshaw reproduce table1
  clenshaw reproduce table3 --only graph=cora,model=clenshaw-gcn
  clenshaw reproduce table3 --receipts docs/results
  clenshaw reproduce ablation --runs 5 --budget 30m
  clenshaw reproduce auto --receipts docs/results";

fn after_help() -> String {
    let width = EXPERIMENTS.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let line = |info: &&ExperimentInfo| format!("  {:<width$}  {}\n", info.name, info.title);
    let lines: String = EXPERIMENTS.iter().map(line).collect();
    format!("Experiments:\n{lines}\n{DETAILS}")
}

/// The result of an experiment, printed by `--json` and stored in NAME.json.
#[derive(Serialize)]
struct ExperimentDocument<'a, T> {
    experiment: &'static str,
    version: &'static str,
    #[serde(flatten)]
    result: &'a T,
}

/// A figure of an experiment.
struct RenderedFigure {
    /// The file name without its extension.
    name: String,
    svg: String,
}

/// What an experiment prints and writes.
struct ExperimentOutput<'a, T> {
    name: &'static str,
    result: &'a T,
    text: String,
    markdown: String,
    figures: Vec<RenderedFigure>,
}

impl RunSubcommand for Reproduce {
    fn run(self) -> Result<()> {
        let info = find_experiment(&self.name)?;
        if self.name != info.name {
            let (former, name) = (&self.name, info.name);
            output::message(&format!("note: experiment `{former}` is now called `{name}`"));
        }
        let selection = self.only.as_deref().map_or(Ok(Selection::default()), str::parse)?;
        self.check_options(info)?;
        match info.kind {
            ExperimentKind::GraphStatistics(text) => {
                let statistics = GraphStatistics::from_toml(&info.file_name(), text)?;
                self.write_statistics(info, &statistics.measure(&self.data.store(), &selection)?)
            }
            ExperimentKind::ResultTable(text) => self.train_table(
                info,
                &ResultTable::from_toml(&info.file_name(), text)?,
                &selection,
            ),
            ExperimentKind::Theorems(text) => {
                let theorems = Theorems::from_toml(&info.file_name(), text)?;
                self.measure(info, &selection, |options| theorems.measure(options))
            }
            ExperimentKind::Auto(text) => {
                let experiment = self.auto_experiment(info, text)?;
                self.measure(info, &selection, |options| experiment.measure(options))
            }
            ExperimentKind::Filters(text) => {
                let filters = Filters::from_toml(&info.file_name(), text)?;
                self.measure(info, &selection, |options| filters.measure(options))
            }
        }
    }
}

impl Reproduce {
    /// Rejects `--search-budget`, `--trials`, `--receipts`, `--runs` and `--budget` if this kind of experiment does not
    /// use them.
    fn check_options(&self, info: &ExperimentInfo) -> Result<()> {
        let is_result_table = matches!(info.kind, ExperimentKind::ResultTable(_));
        let is_statistics = matches!(info.kind, ExperimentKind::GraphStatistics(_));
        let is_auto = matches!(info.kind, ExperimentKind::Auto(_));
        if !is_auto && (self.search_budget.is_some() || self.trials.is_some()) {
            let option = if self.trials.is_some() { "--trials" } else { "--search-budget" };
            let problem = format!("cannot be used with {}: it has no searches", info.name);
            return Err(Error::Data { place: option.into(), problem });
        }
        let (option, reason) = match (&self.receipts, self.runs, self.budget) {
            (Some(_), ..) if !is_result_table && !is_auto => {
                ("--receipts", "this experiment has no receipts")
            }
            (_, Some(_), _) if is_statistics => ("--runs", "each graph is measured once"),
            (.., Some(_)) if is_statistics => ("--budget", "no model is trained"),
            _ => return Ok(()),
        };
        let problem = format!("cannot be used with {}: {reason}", info.name);
        Err(Error::Data { place: option.into(), problem })
    }

    /// Parses the experiment `auto` and applies `--search-budget`, `--trials` and `--receipts`.
    fn auto_experiment(&self, info: &ExperimentInfo, toml: &str) -> Result<AutoExperiment> {
        let mut experiment = AutoExperiment::from_toml(&info.file_name(), toml)?;
        if let Some(budget) = self.search_budget {
            experiment = experiment.with_budget(budget);
        }
        if let Some(trials) = self.trials {
            experiment = experiment.with_trials(trials);
        }
        Ok(match &self.receipts {
            Some(folder) => experiment.with_receipts(Receipts::read_folder(folder)?),
            None => experiment,
        })
    }

    /// Returns the folder for the results of a resumable experiment.
    fn output_folder(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new("runs/reproduce"))
    }

    /// Returns a flag that is set by Ctrl-C or when the budget, which starts now, is exhausted.
    fn cancel_flag(&self, progress: &Progress) -> Arc<AtomicBool> {
        let flag = interrupt::flag(progress, interrupt::Resume::Rerun);
        let (cancelled, progress) = (Arc::clone(&flag), progress.clone());
        let on_timeout = move || {
            if !cancelled.swap(true, Ordering::Relaxed) {
                progress.message("time budget exhausted; rerun the same command to resume");
            }
        };
        match self.budget {
            None => {}
            // No thread here: it might set the flag only after the first run has started.
            Some(Duration::ZERO) => on_timeout(),
            Some(budget) => drop(std::thread::spawn(move || {
                std::thread::sleep(budget);
                on_timeout();
            })),
        }
        flag
    }

    /// Prints the statistics of graphs, and writes them to the folder of `--out`, if it is set.
    fn write_statistics(&self, info: &'static ExperimentInfo, table: &Comparison) -> Result<()> {
        let missing: Vec<&str> = table.missing().collect();
        let output = ExperimentOutput {
            name: info.name,
            result: table,
            text: table.to_text() + &missing_graphs_text(&missing),
            markdown: format!("{}\n{}", table.to_markdown(), self.footer(info.name, &missing)),
            figures: vec![],
        };
        self.write(self.out.as_deref(), output)
    }

    /// Writes the Markdown page, the JSON document and the figures to the folder, if there is one, and prints
    /// the result.
    fn write<T: Serialize>(
        &self,
        folder: Option<&Path>,
        output: ExperimentOutput<'_, T>,
    ) -> Result<()> {
        let ExperimentOutput { name, result, mut text, markdown, figures } = output;
        let document =
            ExperimentDocument { experiment: name, version: env!("CARGO_PKG_VERSION"), result };
        if let Some(folder) = folder {
            output::create_folder(folder)?;
            output::save(&folder.join(format!("{name}.md")), markdown)?;
            output::save(&folder.join(format!("{name}.json")), output::json(&document))?;
            write_figures(&folder.join("figures"), &figures)?;
            text += &format!("written to {}\n", folder.display());
        }
        self.json.print(&document, || text)
    }

    /// Returns lines for the end of a page: the missing graphs, and the command that generated the page, with the
    /// options that select what is measured.
    fn footer(&self, experiment: &str, missing_graphs: &[&str]) -> String {
        let options: String = [
            self.only.as_ref().map(|only| format!(" --only {only}")),
            self.runs.map(|runs| format!(" --runs {runs}")),
            self.search_budget.map(|time| format!(" --search-budget {}s", time.as_secs_f64())),
            self.trials.map(|trials| format!(" --trials {trials}")),
            self.receipts.as_ref().map(|folder| format!(" --receipts {}", folder.display())),
        ]
        .into_iter()
        .flatten()
        .collect();
        let missing =
            missing_graphs_note(missing_graphs).map_or(String::new(), |line| format!("{line}\n"));
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{missing}Generated by `clenshaw reproduce {experiment}{options}`, version {version}.\n"
        )
    }
}

/// Writes each figure as SVG and as PNG.
fn write_figures(folder: &Path, figures: &[RenderedFigure]) -> Result<()> {
    for RenderedFigure { name, svg } in figures {
        output::create_folder(folder)?;
        output::save(&folder.join(format!("{name}.png")), svg_to_png(svg)?)?;
        output::save(&folder.join(format!("{name}.svg")), svg)?;
    }
    Ok(())
}

/// Wraps [`missing_graphs_note`] for the terminal; empty if no files are missing.
fn missing_graphs_text(names: &[&str]) -> String {
    missing_graphs_note(names).map_or(String::new(), |line| {
        wrap_text(&line, 100).into_iter().map(|line| line + "\n").collect()
    })
}

/// Lists the graphs whose files are missing, and how to download them; `None` if there are none.
fn missing_graphs_note(names: &[&str]) -> Option<String> {
    let (listed, arguments) = (names.join(", "), names.join(" "));
    (!names.is_empty()).then(|| {
        format!(
            "Not measured, files missing: {listed}; download with `clenshaw data get {arguments}`."
        )
    })
}

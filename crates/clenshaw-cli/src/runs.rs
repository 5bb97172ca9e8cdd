//! `clenshaw runs`: list, show and remove run folders.

use crate::options::JsonOption;
use crate::{RunSubcommand, output, run_folder};
use clap::{Args, Parser, Subcommand};
use clenshaw::report::Table;
use clenshaw::{Error, Result, files};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};

/// List, show and remove run folders
#[derive(Parser)]
#[command(name = "runs", after_help = AFTER_HELP)]
pub struct Runs {
    #[command(subcommand)]
    action: Option<RunsAction>,
}

/// The subcommands of `runs`.
#[derive(Subcommand)]
enum RunsAction {
    /// List the run folders in `runs`, oldest first (the default command)
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Show the settings and results of a run folder
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Remove run folders
    #[command(after_help = RM_EXAMPLES)]
    Rm(Rm),
}

/// The arguments of `runs list`.
#[derive(Args)]
struct List {
    /// Folder to search
    #[arg(default_value = run_folder::RUNS)]
    folder: PathBuf,
    #[command(flatten)]
    json: JsonOption,
}

/// The arguments of `runs show`.
#[derive(Args)]
struct Show {
    /// Run folder: a path, a name in `runs` or a unique prefix of one, or `latest` for the newest
    run: PathBuf,
    #[command(flatten)]
    json: JsonOption,
}

/// The arguments of `runs rm`.
#[derive(Args)]
struct Rm {
    /// Run folders: paths, names in `runs` or unique prefixes of names, or `latest` for the newest
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  clenshaw runs
  clenshaw runs show latest
  clenshaw runs rm cora-gcn-0a1b";

const LIST_EXAMPLES: &str = "\
Examples:
  clenshaw runs list
  clenshaw runs list runs/compare
  clenshaw runs list --json";

const SHOW_EXAMPLES: &str = "\
Examples:
  clenshaw runs show latest
  clenshaw runs show cora-gcn-0a1b --json";

const RM_EXAMPLES: &str = "\
Examples:
  clenshaw runs rm latest
  clenshaw runs rm cora-gcn-0a1b runs/compare/texas-gcn-2c3d4e5f";

impl RunSubcommand for Runs {
    fn run(self) -> Result<()> {
        let folder = PathBuf::from(run_folder::RUNS);
        let default = RunsAction::List(List { folder, json: JsonOption::default() });
        match self.action.unwrap_or(default) {
            RunsAction::List(list) => list.run(),
            RunsAction::Show(show) => show.run(),
            RunsAction::Rm(rm) => rm.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<()> {
        // The default folder is created by the first run.
        if !self.folder.is_dir() && self.folder != Path::new(run_folder::RUNS) {
            let (place, problem) = (self.folder.display().to_string(), "no such folder".to_owned());
            return Err(Error::Data { place, problem });
        }
        let mut folders = run_folder::list(&self.folder)?;
        folders.sort_by_key(|folder| run_folder::modified(folder));
        let runs: Vec<Json> = folders.iter().map(|folder| overview(folder)).collect();
        self.json.print(&runs, || match runs.is_empty() {
            true => format!("no runs in {}\n", self.folder.display()),
            false => table(&runs).to_text(),
        })
    }
}

impl Show {
    fn run(self) -> Result<()> {
        let folder = run_folder::find(&self.run)?;
        let settings = files::read_text(&folder.join("run.toml"))?;
        let overview = overview(&folder);
        let document =
            json!({ "run": overview, "settings": settings, "summary": summary(&folder) });
        self.json.print(&document, || {
            let fields = ["folder", "state", "accuracy"].map(|key| (key, text(&overview[key])));
            format!("{}\n{settings}", output::fields(fields))
        })
    }
}

impl Rm {
    fn run(self) -> Result<()> {
        let folders: Vec<PathBuf> =
            self.runs.iter().map(|run| run_folder::find(run)).collect::<Result<_>>()?;
        for folder in folders {
            fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
            output::message(&format!("removed {}", folder.display()));
        }
        Ok(())
    }
}

/// The contents of summary.json; null if it is missing or invalid.
fn summary(folder: &Path) -> Json {
    let bytes = files::read(&folder.join("summary.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or(Json::Null)
}

/// The name, path, graph, model, split and state of a run folder, and its mean test accuracy in percent, as text;
/// unknown values are null.
fn overview(folder: &Path) -> Json {
    let summary = summary(folder);
    let settings = files::read_text(&folder.join("run.toml")).unwrap_or_default();
    let setting = |key: &str| {
        let line = settings.lines().find(|line| line.starts_with(&format!("{key} = ")));
        line.and_then(|line| line.split_once(" = "))
            .map(|(_, value)| value.trim_matches('"').to_owned())
    };
    let finished = summary["runs"].as_array().map_or_else(|| n_finished_runs(folder), Vec::len);
    let accuracy = summary["test_accuracy"]["mean"].as_f64();
    json!({
        "name": run_folder::name(folder),
        "folder": folder.display().to_string(),
        "graph": setting("graph"),
        "model": setting("model"),
        "split": setting("split"),
        "state": setting("runs").map(|runs| format!("{finished} of {runs} finished")),
        "accuracy": accuracy.map(output::percent),
    })
}

/// The number of runs in a folder that have a record.
fn n_finished_runs(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join("runs")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().join("record.json").is_file()).count()
}

/// The table of `runs list`.
fn table(runs: &[Json]) -> Table {
    let columns = ["name", "graph", "model", "split", "state", "accuracy"];
    let mut table = Table::new(columns);
    for run in runs {
        table.add_row(columns.map(|column| text(&run[column])));
    }
    table
}

/// The string, or `-` for any other value.
fn text(value: &Json) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

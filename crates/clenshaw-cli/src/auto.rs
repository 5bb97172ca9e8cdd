//! `clenshaw auto`: find the best model for a graph within a time budget, and predict the classes of its nodes.

mod progress;
mod report;

use crate::options::{
    DataOption, JsonOption, ListedName, MODEL_NAME, QuietOption, SPLITS, TableArguments,
    ThreadsOption, duration, setting, whole,
};
use crate::{RunSubcommand, interrupt, output};
use clap::Parser;
use clenshaw::data::{self, SplitKind};
use clenshaw::experiment::{
    AutoAnswer, AutoOptions, AutoRequest, Objective, Portfolio, ReportedStudy, StudyEnd, auto,
};
use clenshaw::hyper::Choice;
use clenshaw::model::{self, ModelInfo};
use clenshaw::report::html_page;
use clenshaw::{Error, Result};
use clenshaw_tune::{StorageLocation, redact_password};
use progress::AutoProgress;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Find the best model for a graph within a time budget, and predict its unlabelled nodes
#[derive(Parser)]
#[command(name = "auto", after_help = after_help(), mut_arg("threads", |arg| arg.help(THREADS_HELP)))]
pub struct Auto {
    /// Graph: a name from `clenshaw data list`, a path to your own files, or a generated graph such
    /// as csbm:nodes=500
    graph: String,
    /// Time limit for the whole search and report, such as 90s, 10m or 2h; time used before an interruption
    /// counts [default: 10m, or no limit with --trials]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Stop after this many trials; without --budget or --jobs, the same seed gives the same answer
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    trials: Option<usize>,
    /// Score to maximise: accuracy, balanced-accuracy, macro-f1 or roc-auc [default: the score
    /// usually reported for a public graph, otherwise accuracy]
    #[arg(long, value_name = "NAME", value_parser = METRIC, hide_possible_values = true)]
    metric: Option<String>,
    /// Try only these models, separated by commas
    #[arg(short, long, value_name = "MODEL,...", value_delimiter = ',', value_parser = MODEL_NAME, hide_possible_values = true)]
    models: Vec<String>,
    /// Do not try these models
    #[arg(long, value_name = "MODEL,...", value_delimiter = ',', value_parser = MODEL_NAME, hide_possible_values = true)]
    exclude: Vec<String>,
    /// Set a hyper-parameter of all models that have it; can be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Start from a list of configurations that was chosen without using any results on this public graph, for
    /// a fair measurement on it
    #[arg(long, value_name = "GRAPH")]
    without: Option<String>,
    /// The split whose test nodes give the expected score; see below
    #[arg(long, value_name = "NAME")]
    split: Option<SplitKind>,
    /// Number of validation splits
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<usize>, allow_negative_numbers = true)]
    splits: usize,
    /// Seed of splits, initial weights, dropout and tuning
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Number of trials to run in parallel [default: 1, or one per thread on a small graph with a time
    /// budget]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    jobs: Option<usize>,
    /// Optuna journal file, or URL of a database, to share the trials with other processes or machines
    /// [default: study.journal in the folder of --out]
    #[arg(long, value_name = "STORAGE")]
    study: Option<PathBuf>,
    /// Name of the study [default: auto or, with --study, GRAPH and a digest of the options]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Folder for the models, the predictions and the report [default: runs/auto/GRAPH-DIGEST]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Delete the results in the folder and start again; a study given with --study is resumed
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    quiet: QuietOption,
    #[command(flatten)]
    table: TableArguments,
}

/// The help of `--threads`; with a time budget, the number of threads changes which trials are finished in time.
const THREADS_HELP: &str = "Maximum number of threads; does not affect the answer if --trials is given without \
                            --budget or --jobs [default: number of processors]";

/// Parser of the name of a score.
const METRIC: ListedName = ListedName(|| Objective::WORDS.to_vec());

const DETAILS: &str = "\
A list of good starting configurations is tried first, then the best models are tuned; the best
configurations are combined into an ensemble with calibrated probabilities. The labels of the test
nodes of the split are not used for any of this; the expected score is computed on these nodes at
the end. Rerun the same command to resume; Ctrl-C stops early and returns an answer from the trials
completed so far.

The folder contains predictions.csv (the unlabelled nodes, or all if every node has a label),
ensemble.json and models/ (`clenshaw predict DIR` applies the ensemble), best.safetensors (the best
single model), report.html, result.json and study.journal (`clenshaw watch` shows it live).";

const EXAMPLES: &str = "\
Examples:
  clenshaw auto my-graph/ --budget 10m
  clenshaw auto my-graph/ --label diagnosis --metric macro-f1
  clenshaw auto texas --trials 40 --seed 1 --json
  clenshaw auto my-graph/ --study postgresql://me@db.example.org/studies --name mine";

const SPLIT_OF_SEARCH: &str = "\
`clenshaw auto` uses only one split: with `all`, --seed selects which one. By default, your own
graph uses the split that comes with it, if any (`all` if there are several). Otherwise, the default
is `stratified` or, with fewer than 50 labelled nodes, `all-labels`, which gives no expected score.";

fn after_help() -> String {
    format!("{DETAILS}\n\n{SPLITS}\n{SPLIT_OF_SEARCH}\n\n{EXAMPLES}")
}

/// The files with results that the command can write to its folder; the first one is the journal of the study.
const FILES: [&str; 6] = [
    "study.journal",
    "ensemble.json",
    "best.safetensors",
    "predictions.csv",
    "result.json",
    "report.html",
];
/// The subfolder with the models.
const MODELS: &str = "models";
/// The default name of a study in the journal of the folder.
const OWN_STUDY: &str = "auto";
/// The time limit if neither --budget nor --trials is given.
const DEFAULT_BUDGET: Duration = Duration::from_secs(600);

impl RunSubcommand for Auto {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        data::resolve(&store, &self.graph)?;
        let mut request = self.request()?;
        let name = request.folder_name();
        let folder = self.out.clone().unwrap_or_else(|| Path::new("runs/auto").join(&name));
        let journal = folder.join(FILES[0]);
        let location = StorageLocation::new(self.study.as_deref().unwrap_or(&journal))?;
        output::warn_about_password(&location);
        // By default, a journal in the folder has one study, so that another request with the same folder is an error.
        let default_name = if self.study.is_some() { name } else { OWN_STUDY.to_owned() };
        request.study = self.name.clone().unwrap_or(default_name);
        self.prepare(&folder)?;
        let progress = self.quiet.progress();
        let cancel = interrupt::flag(&progress, interrupt::Resume::Rerun);
        let shown = AutoProgress::new(&request, &progress);
        let on_event = |event: clenshaw::experiment::AutoEvent<'_>| shown.update(&event);
        let options = AutoOptions {
            threads: self.threads.count(),
            jobs: self.jobs,
            store: &store,
            folder: &folder,
            on_event: &on_event,
            cancel: &cancel,
        };
        let storage = location.open()?;
        let answer = auto(&request, storage.as_ref(), &options);
        shown.clear();
        let answer = answer?;
        let study = ReportedStudy {
            storage: storage.as_ref(),
            location: &location,
            name: Some(&request.study),
        };
        self.write(&answer, &study, &folder)?;
        match answer.end {
            StudyEnd::Interrupted => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Auto {
    /// The request of these arguments, without the name of the study.
    fn request(&self) -> Result<AutoRequest> {
        let portfolio = match &self.without {
            Some(graph) => Portfolio::without(graph)?,
            None => Portfolio::embedded(),
        };
        let listed = models(&self.models)?;
        let portfolio = if listed.is_empty() { portfolio } else { portfolio.only(&listed) };
        let mut portfolio = portfolio.excluding(&models(&self.exclude)?);
        self.set.iter().try_for_each(|(key, value)| portfolio.set(key, value))?;
        let budget = match (self.budget, self.trials) {
            (None, None) => Some(DEFAULT_BUDGET),
            (budget, _) => budget,
        };
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| redact_password(&word.to_string_lossy()));
        Ok(AutoRequest {
            table: self.table.options(),
            split: self.split.clone(),
            seed: self.seed,
            objective: self.metric.as_deref().map(str::parse).transpose()?,
            portfolio,
            splits: self.splits,
            trials: self.trials,
            budget,
            command: std::iter::once("clenshaw".to_owned())
                .chain(words)
                .collect::<Vec<_>>()
                .join(" "),
            ..AutoRequest::new(&self.graph, "")
        })
    }

    /// Creates the folder and, with --fresh, removes earlier results from it; a study that is stored elsewhere is
    /// kept. Fails if the folder contains a file that is not a result; hidden files are ignored.
    fn prepare(&self, folder: &Path) -> Result<()> {
        let is_ours = |name: &str| {
            FILES.contains(&name)
                || name == MODELS
                || name.starts_with('.')
                || name.starts_with("study.journal")
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        if let Some(other) = names.iter().find(|name| !is_ours(name)) {
            let problem = format!(
                "contains `{other}`, which is not a result of `clenshaw auto`; choose another folder with --out"
            );
            return Err(Error::Data { place: folder.display().to_string(), problem });
        }
        if self.fresh {
            for file in FILES {
                remove(&folder.join(file), |path| fs::remove_file(path))?;
            }
            remove(&folder.join(MODELS), |path| fs::remove_dir_all(path))?;
        }
        output::create_folder(folder)
    }

    /// Writes the results to the folder, and prints the answer.
    fn write(&self, answer: &AutoAnswer, study: &ReportedStudy<'_>, folder: &Path) -> Result<()> {
        answer.save(folder)?;
        let document = report::to_json(answer, study, folder);
        output::save(&folder.join("result.json"), output::json(&document))?;
        let page = clenshaw::experiment::Report::from_answer(answer, study, self.threads.count())?;
        output::save(&folder.join("report.html"), html_page(&page))?;
        self.json.print(&document, || report::to_text(answer, study, folder))
    }
}

/// The models with these names; fails if a name is unknown.
fn models(names: &[String]) -> Result<Vec<&'static ModelInfo>> {
    names.iter().map(|name| model::find(name.trim())).collect()
}

/// Removes a file or folder, if it exists.
fn remove(path: &Path, remove: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    match remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

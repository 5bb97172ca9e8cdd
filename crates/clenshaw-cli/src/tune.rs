//! `clenshaw tune`: tune the hyper-parameters of a model on a graph.

mod progress;
mod report;
mod study;

use crate::options::{
    DEFAULT_SPLIT, DataOption, JsonOption, ListedName, MODEL_NAME, PRESET, QuietOption, SPLITS,
    TableArguments, ThreadsOption, duration, read_argument_file, setting, whole,
};
use crate::progress::Progress;
use crate::{RunSubcommand, interrupt, output, train};
use clap::Parser;
use clenshaw::data::{self, SplitKind, Store};
use clenshaw::experiment::{
    self, Request, RunEvent, RunOptions, StudyEnd, Summary, TrainingJob, TuneEvent, TuneOptions,
    TuneRequest, TuneResult, sampler, tune,
};
use clenshaw::{Error, Result};
use clenshaw_tune::{StorageLocation, Trial, redact_password};
use progress::StudyProgress;
use report::{GraphDescription, StudyReport};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::StudyLocation;
pub use study::study_file;

/// Tune the hyper-parameters of a model to maximise validation accuracy
#[derive(Parser)]
#[command(name = "tune", after_help = after_help())]
pub struct Tune {
    /// Graph: a name from `clenshaw data list`, a path to your own files, or a generated graph such
    /// as csbm:nodes=500
    graph: String,
    /// Model to tune, one of those listed by `clenshaw models`
    #[arg(short, long, value_name = "MODEL", default_value = "clenshaw-gcn", value_parser = MODEL_NAME, hide_possible_values = true)]
    model: String,
    /// Stop when the study has this many complete trials, including earlier ones; pruned and failed trials
    /// do not count
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<usize>, allow_negative_numbers = true)]
    trials: usize,
    /// Number of splits per trial; the objective is the mean validation accuracy over them, or ROC AUC
    /// with --set stop=roc-auc
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<usize>, allow_negative_numbers = true)]
    splits: usize,
    /// How to split the nodes into training, validation and test sets; see below
    #[arg(long, value_name = "NAME")]
    split: Option<SplitKind>,
    /// Preset for the settings that are not tuned. paper (if NAME is omitted): the published settings for
    /// this model and graph or, where there are none, settings tuned by us or published for another model
    /// or graph; luo2024: those of Luo et al. (2024) for gcn, sage and gat
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "paper", value_parser = PRESET)]
    preset: Option<String>,
    /// Fix a hyper-parameter instead of tuning it; can be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Change the search space of the hyper-parameters listed in a TOML file; see below
    #[arg(long, value_name = "FILE")]
    space: Option<PathBuf>,
    /// Sampler that proposes trials: tpe, random or grid
    #[arg(long, value_name = "NAME", default_value = "tpe", value_parser = SAMPLER, hide_possible_values = true)]
    sampler: String,
    /// Pruner that stops unpromising trials: median, halving, hyperband or none
    #[arg(long, value_name = "NAME", default_value = "median", value_parser = PRUNER, hide_possible_values = true)]
    pruner: String,
    /// Seed of the study and of its first split, incremented for each further split
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Stop after this time, such as 90s, 30m or 2h [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Number of trials to run in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>, allow_negative_numbers = true)]
    jobs: usize,
    /// Optuna journal file, or URL of a database: sqlite:///FILE or
    /// postgresql://USER:PASSWORD@HOST:PORT/DATABASE [default: studies/GRAPH-MODEL.journal]
    #[arg(long, value_name = "STORAGE")]
    study: Option<PathBuf>,
    /// Name of the study [default: the journal's file name without its extension, or
    /// GRAPH-MODEL in a database]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// After tuning, train with the best settings and 20 new seeds (with --split all, once on every split of
    /// the graph) and report the test accuracy
    #[arg(long)]
    evaluate: bool,
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

const SAMPLER: ListedName = ListedName(|| vec!["tpe", "random", "grid"]);
const PRUNER: ListedName = ListedName(|| vec!["median", "halving", "hyperband", "none"]);

const DETAILS: &str = "\
An existing study is resumed. To share a study between machines, run the same command with the same
database on each. Test nodes are scored only with --evaluate. The best settings are written to
NAME.best.toml beside the journal or, for a database, in the folder studies.

Save the password of a database in ~/.pgpass (or the file in PGPASSFILE) as
HOST:PORT:DATABASE:USER:PASSWORD, or set PGPASSWORD. A password in the URL is visible to other users
of the machine in the list of processes. PostgreSQL connections are encrypted if the server supports
it; ?sslmode=require requires it, and ?sslmode=verify-full&sslrootcert=FILE also verifies the
server.

`clenshaw models MODEL` shows the default search space. Entries in a --space file replace those of
the default space, and a single value fixes a hyper-parameter:

  [space]
  lr_conv = { low = 1e-4, high = 0.1, log = true }
  K = { low = 8, high = 32, step = 4 }
  stop = [\"patience\", \"mean\"]
  dropout = 0.5";

const EXAMPLES: &str = "\
Examples:
  clenshaw tune texas --evaluate
  clenshaw tune cora --model gcnii --trials 50 --splits 3 --jobs 4
  clenshaw tune csbm:homophily=0.1 --space my.toml --sampler random --timeout 30m
  clenshaw tune texas --study postgresql://me@db.example.org/studies";

const VALIDATION: &str = "\
Tuning needs validation nodes, so splits without them, such as all-labels, are rejected.";

fn after_help() -> String {
    format!("{DETAILS}\n\n{SPLITS}\n{DEFAULT_SPLIT}\n{VALIDATION}\n\n{EXAMPLES}")
}

impl RunSubcommand for Tune {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        let request = self.request(&store)?;
        let study = StudyLocation::new(self.study.as_deref(), self.name.as_deref(), &request)?;
        output::warn_about_password(&study.location);
        let request = self.tune_request(request, &study)?;
        let progress = self.quiet.progress();
        let cancel = interrupt::flag(&progress, interrupt::Resume::Rerun);
        let (tuned, graph) = self.search(&request, &study.location, &progress, &store, &cancel)?;
        let best_settings = study.best_settings_file()?;
        if let Some((trial, best)) = &tuned.best {
            let score = request.score_name();
            output::save(&best_settings, best_settings_toml(&study, score, trial, best))?;
        }
        let report = StudyReport {
            graph: &graph,
            request: &request,
            result: &tuned,
            study: &study,
            best_settings: &best_settings,
        };
        if !self.json.is_set() {
            output::print(&report.to_text())?;
        }
        let interrupted = tuned.end == StudyEnd::Interrupted;
        let to_evaluate = tuned.best.as_ref().filter(|_| self.evaluate && !interrupted);
        let evaluation = to_evaluate
            .map(|(_, request)| self.evaluate(request, &progress, &store, &cancel))
            .transpose()?;
        if self.json.is_set() {
            output::print(&output::json(&report.to_json(evaluation.as_ref())))?;
        } else if let (Some(summary), Some((_, request))) = (evaluation, to_evaluate) {
            let folder = request.default_folder();
            output::print(&format!("\n{}", train::page(&graph.lines, &summary, &folder)))?;
        }
        if interrupted { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Formats the best settings for `train --config`, with a comment on their origin; `score` is the name of the
/// score that was tuned.
fn best_settings_toml(
    study: &StudyLocation,
    score: &str,
    trial: &Trial,
    request: &Request,
) -> String {
    let (number, value) = (trial.number, report::percentage(trial.value.unwrap_or_default()));
    format!("# Trial {number} of {study}: validation {score} {value}\n{}", request.to_toml())
}

impl Tune {
    /// Returns the settings before tuning: the model's defaults, those for the user's own graph, the preset,
    /// and the split, seed and table options, each overriding the previous ones.
    fn request(&self, store: &Store) -> Result<Request> {
        data::resolve(store, &self.graph)?;
        let mut request = Request::new(&self.graph, &self.model)?;
        request.table = self.table.options();
        request.apply_graph_defaults(store)?;
        if let Some(name) = &self.preset {
            request.apply_preset(name)?;
        }
        if let Some(split) = &self.split {
            request.split = split.clone();
        }
        request.seed = self.seed;
        Ok(request)
    }

    /// Returns the request for the study; its search space is the model's, overridden by the file and then
    /// by `--set`.
    fn tune_request(&self, request: Request, study: &StudyLocation) -> Result<TuneRequest> {
        let mut request = TuneRequest::new(request, study.name.as_str());
        (request.trials, request.training.runs) = (self.trials, self.splits);
        if let Some(file) = &self.space {
            request.apply_space(&file.display().to_string(), &read_argument_file(file)?)?;
        }
        self.set.iter().try_for_each(|(key, value)| request.fix(key, value))?;
        request.sampler = sampler(&self.sampler)?;
        request.pruner = self.pruner.parse()?;
        request.command = std::iter::once("clenshaw".to_owned())
            .chain(std::env::args_os().skip(1).map(|arg| redact_password(&arg.to_string_lossy())))
            .collect::<Vec<_>>()
            .join(" ");
        Ok(request)
    }

    /// Creates or resumes the study; also returns a description of the graph.
    fn search(
        &self,
        request: &TuneRequest,
        location: &StorageLocation,
        progress: &Progress,
        store: &Store,
        cancel: &AtomicBool,
    ) -> Result<(TuneResult, GraphDescription)> {
        let study_progress = StudyProgress::new(request, progress);
        let graph = OnceLock::new();
        let on_event = |event: TuneEvent<'_>| {
            if let TuneEvent::Loaded { dataset, .. } = &event {
                graph.get_or_init(|| GraphDescription::new(dataset));
            }
            study_progress.update(&event);
        };
        let options = TuneOptions {
            threads: self.threads.count(),
            jobs: self.jobs,
            timeout: self.timeout,
            store,
            on_event: &on_event,
            cancel,
        };
        let storage = location.open().map_err(Error::from);
        let tuned = storage.and_then(|storage| tune(request, storage.as_ref(), &options));
        study_progress.clear();
        Ok((tuned?, graph.into_inner().unwrap_or_default()))
    }

    /// Trains with the best settings; finished runs in their default run folder are kept.
    fn evaluate(
        &self,
        request: &Request,
        progress: &Progress,
        store: &Store,
        cancel: &AtomicBool,
    ) -> Result<Summary> {
        let job = TrainingJob { request: request.clone(), folder: Some(request.default_folder()) };
        let run_progress = progress.runs(request);
        let on_event = |_, event: RunEvent<'_>| run_progress.update(&event);
        let threads = self.threads.count();
        experiment::run(
            &job,
            &RunOptions { threads, store, resume: true, on_event: &on_event, cancel },
        )
    }
}

//! `clenshaw tune`: search a model's settings on a graph, by validation accuracy.

use crate::board::Board;
use crate::options::{DataFolder, Threads, duration, named_file, setting, whole};
use crate::progress::Progress;
use crate::study::Named;
use crate::tuned::{self, About, Places};
use crate::{Run, interrupt, output, train};
use clap::Parser;
use clenshaw::data::{self, SplitKind, Store};
use clenshaw::experiment::{
    self, End, Event, Options, Order, Request, Summary, TuneEvent, TuneOptions, TuneRequest, Tuned,
    sampler, tune,
};
use clenshaw::{Error, Result};
use clenshaw_tune::{Place, Trial, without_password};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Search a model's settings on a graph by validation accuracy
#[derive(Parser)]
#[command(name = "tune", after_help = EXAMPLES)]
pub struct Tune {
    /// A graph's name, with settings after a colon if it is generated, or a path to your own files
    graph: String,
    /// The model
    #[arg(long, value_name = "M", default_value = "clenshaw-gcn")]
    model: String,
    /// How many trials to complete; pruned and failed ones do not count
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<usize>, allow_negative_numbers = true)]
    trials: usize,
    /// Splits of every trial; its value is the mean validation accuracy over them
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<usize>, allow_negative_numbers = true)]
    splits: usize,
    /// The split: balanced, stratified, ratio:a/b/c, file:PATH, or one that came with the graph
    /// [default: balanced]
    #[arg(long, value_name = "NAME")]
    split: Option<SplitKind>,
    /// Settings for what is not tuned, the published ones where there are any: paper
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Set a hyper-parameter, which is then not tuned; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A TOML file with other values to try than the model declares
    #[arg(long, value_name = "FILE")]
    space: Option<PathBuf>,
    /// What the next trial tries: tpe, random or grid
    #[arg(long, value_name = "NAME", default_value = "tpe")]
    sampler: String,
    /// Which trials end early: median, halving, hyperband or none
    #[arg(long, value_name = "NAME", default_value = "median")]
    pruner: String,
    /// Seed of the study and of its first split; the next splits count up
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Stop after this time, as in 90s, 30m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Trials at the same time
    #[arg(long, value_name = "J", default_value_t = 1, value_parser = whole::<usize>, allow_negative_numbers = true)]
    jobs: usize,
    /// Where the study is: a journal file of Optuna's, or a database, sqlite:///FILE or
    /// postgresql://USER:PASSWORD@HOST:PORT/DATABASE; one that exists is gone on with
    /// [default: studies/GRAPH-MODEL.journal]
    #[arg(long, value_name = "PLACE")]
    study: Option<PathBuf>,
    /// The study's name [default: that of the journal, or GRAPH-MODEL in a database]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Train the best settings on 20 other splits and score them on the test nodes
    #[arg(long)]
    evaluate: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    data: DataFolder,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
`clenshaw models NAME` shows what is tuned. A file of --space overrides that:

  [space]
  lr_conv = { low = 1e-4, high = 0.1, log = true }
  K = { low = 8, high = 32, step = 4 }
  stop = [\"patience\", \"mean\"]
  dropout = 0.5

Test labels are not read before --evaluate. The same command goes on where the last one stopped;
on several machines, with one database, it shares the work. The best settings are written beside
the journal; those of a database to studies/NAME.best.toml. A password may stand in PGPASSWORD
instead of the URL; connections are not encrypted.

Examples:
  clenshaw tune texas
  clenshaw tune cora --model gcnii --trials 50 --splits 3 --jobs 4
  clenshaw tune csbm:homophily=0.1 --space my.toml --sampler random --timeout 30m
  clenshaw tune texas --study sqlite:///studies.db --name first
  clenshaw tune texas --study postgresql://me@db.example.org/studies
  clenshaw train --config studies/texas-clenshaw-gcn.best.toml";

const ON_INTERRUPT: &str =
    "finishing up; the same command goes on with the study (Ctrl-C once more stops at once)";

impl Run for Tune {
    fn run(self) -> Result<()> {
        let store = self.data.store();
        let request = self.request(&store)?;
        let study = Named::new(self.study.as_deref(), self.name.as_deref(), &request)?;
        let asked = self.asked(request, &study)?;
        let progress = if self.quiet { Progress::silent() } else { Progress::on_stderr() };
        let cancel = interrupt::flag(&progress, ON_INTERRUPT);
        let (tuned, about) = self.search(&asked, &study.place, &progress, &store, &cancel)?;
        let best = study.best()?;
        if let Some((trial, request)) = &tuned.best {
            output::save(&best, &settings(&study, trial, request))?;
        }
        let places = Places { study: &study, best: &best };
        if !self.json {
            output::print(&tuned::page(&about, &asked, &tuned, &places))?;
        }
        let interrupted = tuned.end == End::Interrupted;
        let to_evaluate = tuned.best.as_ref().filter(|_| self.evaluate && !interrupted);
        let order = to_evaluate.map(|(_, request)| {
            let out = Some(request.default_folder());
            Order { request: request.clone(), out }
        });
        let run = |order: &Order| self.evaluate(order, &progress, &store, &cancel);
        let summary = order.as_ref().map(run).transpose()?;
        match (self.json, summary, order.and_then(|order| order.out)) {
            (true, summary, _) => {
                output::print_json(&tuned::document(&asked, &tuned, &places, summary.as_ref()))?;
            }
            (false, Some(summary), Some(folder)) => {
                output::print(&format!("\n{}", train::page(&about.line, &summary, &folder)))?;
            }
            _ => {}
        }
        if interrupted { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// The best settings as `train --config` takes them, and where they come from.
fn settings(study: &Named, trial: &Trial, request: &Request) -> String {
    let (number, value) = (trial.number, tuned::percent(trial.value.unwrap_or_default()));
    format!("# Trial {number} of {study}: validation accuracy {value}\n{}", request.to_toml())
}

impl Tune {
    /// What is not tuned: defaults, then the preset; words come later.
    fn request(&self, store: &Store) -> Result<Request> {
        data::named(store, &self.graph)?;
        let mut request = Request::new(&self.graph, &self.model)?;
        if let Some(name) = &self.preset {
            request.apply_preset(name)?;
        }
        if let Some(split) = &self.split {
            request.split = split.clone();
        }
        request.seed = self.seed;
        Ok(request)
    }

    /// The study: declared space, then the file, then the words.
    fn asked(&self, request: Request, study: &Named) -> Result<TuneRequest> {
        let mut asked = TuneRequest::new(request, study.name.as_str());
        (asked.trials, asked.request.runs) = (self.trials, self.splits);
        if let Some(file) = &self.space {
            asked.apply_space(&file.display().to_string(), &named_file(file)?)?;
        }
        for text in &self.set {
            let (key, value) = setting(text)?;
            asked.fix(key, value)?;
        }
        asked.sampler = sampler(&self.sampler)?;
        asked.judge = self.pruner.parse()?;
        asked.command = std::iter::once("clenshaw".to_owned())
            .chain(
                std::env::args_os().skip(1).map(|word| without_password(&word.to_string_lossy())),
            )
            .collect::<Vec<_>>()
            .join(" ");
        Ok(asked)
    }

    /// The study's end, and what to say about the graph.
    fn search(
        &self,
        asked: &TuneRequest,
        place: &Place,
        progress: &Progress,
        store: &Store,
        cancel: &AtomicBool,
    ) -> Result<(Tuned, About)> {
        let board = Board::new(asked, progress);
        let about = OnceLock::new();
        let watch = |event: TuneEvent<'_>| {
            if let TuneEvent::Loaded { dataset, .. } = &event {
                about.get_or_init(|| About::new(dataset));
            }
            board.see(&event);
        };
        let options = TuneOptions {
            threads: self.threads.count(),
            jobs: self.jobs,
            timeout: self.timeout,
            store,
            watch: &watch,
            cancel,
        };
        let storage = place.open().map_err(clenshaw::Error::from);
        let tuned = storage.and_then(|storage| tune(asked, storage.as_ref(), &options));
        board.clear();
        Ok((tuned?, about.into_inner().unwrap_or_default()))
    }

    /// Runs of an earlier time are kept.
    fn evaluate(
        &self,
        order: &Order,
        progress: &Progress,
        store: &Store,
        cancel: &AtomicBool,
    ) -> Result<Summary> {
        let follower = progress.follow(&order.request);
        let watch = |_, event: Event<'_>| follower.see(&event);
        let threads = self.threads.count();
        experiment::run(order, &Options { threads, store, resume: true, watch: &watch, cancel })
    }
}

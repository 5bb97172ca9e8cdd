//! `clenshaw compare`: train several models on several graphs, using the same splits.

use crate::options::{
    DEFAULT_SPLIT, DataOption, JsonOption, MODEL_NAME, QuietOption, ResumeOptions, SPLITS,
    TableArguments, ThreadsOption, setting, whole,
};
use crate::output::{self, percent};
use crate::{RunSubcommand, interrupt, progress};
use clap::Parser;
use clenshaw::data::{self, SplitKind, Store};
use clenshaw::experiment::{Request, RunOptions, Summary, TrainingJob};
use clenshaw::model::{self, MODELS, ModelInfo};
use clenshaw::report::Table;
use clenshaw::{Error, Result};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Train several models on several graphs, using the same splits
#[derive(Parser)]
#[command(name = "compare", after_help = after_help())]
pub struct Compare {
    /// Graphs: names from `clenshaw data list`, or paths to your own files
    #[arg(required = true, value_name = "GRAPH")]
    graphs: Vec<String>,
    /// Models to compare, separated by commas
    #[arg(short, long, value_name = "MODEL,...", value_delimiter = ',', default_value = "all", value_parser = MODEL_NAME, hide_possible_values = true)]
    models: Vec<String>,
    /// Number of runs per model and graph, each with its own seed and, if the split is random, its own
    /// split
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: usize,
    /// Seed of the first run, incremented for each further run
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// How to split the nodes into training, validation and test sets; see below
    #[arg(long, value_name = "NAME")]
    split: Option<SplitKind>,
    /// Use each model's preset for the graph, if there is one: the published settings or, where there are
    /// none, settings tuned by us or published for another model or graph
    #[arg(long)]
    preset: bool,
    /// Set a hyper-parameter of all models that have it; can be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    /// Folder for the run folders and the table
    #[arg(short, long, value_name = "DIR", default_value = "runs/compare")]
    out: PathBuf,
    #[command(flatten)]
    resume: ResumeOptions,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    quiet: QuietOption,
    #[command(flatten)]
    table: TableArguments,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw compare cora csbm --models mlp,gcn,clenshaw-gcn
  clenshaw compare my-graph/ --models mlp,gcn,clenshaw-gcn --label diagnosis
  clenshaw compare cora texas chameleon --preset --runs 3
  clenshaw compare texas --models gcnii,clenshaw-gcn --runs 20 --split stratified --json";

fn after_help() -> String {
    format!(
        "Each model uses the same hyper-parameters as in `clenshaw train`: its defaults or, with \
         --preset, its preset for the graph if there is one (cells without one are marked *). The \
         split of a preset is ignored, so that all models use the same split. If a model \
         fails, its cell shows `failed` and the other models are still trained.\n\n\
         {SPLITS}\n{DEFAULT_SPLIT}\n\n{EXAMPLES}"
    )
}

impl RunSubcommand for Compare {
    fn run(mut self) -> Result<()> {
        self.graphs = without_repeats(&self.graphs);
        let models = select_models(&self.models)?;
        self.set.iter().try_for_each(|(key, _)| check_key(key, &models))?;
        let store = self.data.store();
        for graph in &self.graphs {
            data::resolve(&store, graph)?;
        }
        let jobs = self.jobs(&store, &models)?;
        let progress = self.quiet.progress();
        let options = RunOptions {
            threads: self.threads.count(),
            store: &store,
            resume: self.resume.resume(),
            on_event: &|_, _| {},
            cancel: &interrupt::flag(&progress, interrupt::Resume::Rerun),
        };
        let costs = vec![1; jobs.len()];
        let results = progress::train_batch("compare", &jobs, &costs, &progress, &options);
        self.report(&models, &jobs, results)
    }
}

impl Compare {
    /// Returns one job per graph and model, grouped by graph.
    fn jobs(&self, store: &Store, models: &[&'static ModelInfo]) -> Result<Vec<TrainingJob>> {
        let pairs =
            self.graphs.iter().flat_map(|graph| models.iter().map(move |info| (graph, *info)));
        pairs.map(|(graph, info)| self.job(store, graph, info)).collect()
    }

    /// The job that trains one model on one graph.
    fn job(&self, store: &Store, graph: &str, info: &ModelInfo) -> Result<TrainingJob> {
        let mut request = Request::new(graph, info.name)?;
        request.table = self.table.options();
        request.apply_graph_defaults(store)?;
        let default_split = request.split.clone();
        if self.preset && request.has_preset() {
            request.apply_preset("paper")?;
        }
        for (key, value) in &self.set {
            if request.hyper.has(key) {
                request.hyper.set(key, value)?;
            }
        }
        // All models of a graph use the same split, whatever split their presets specify.
        request.split = self.split.clone().unwrap_or(default_split);
        (request.runs, request.seed) = (self.runs, self.seed);
        request.check()?;
        let folder = Some(self.out.join(request.folder_name()));
        Ok(TrainingJob { request, folder })
    }

    /// Saves the table to compare.md, prints the results, and returns the first error of a job, if any.
    fn report(
        &self,
        models: &[&ModelInfo],
        jobs: &[TrainingJob],
        results: Vec<Result<Summary>>,
    ) -> Result<()> {
        let table = self.table(models, jobs, &results);
        output::create_folder(&self.out)?;
        output::save(&self.out.join("compare.md"), table.to_markdown())?;
        let document = self.document(jobs, &results);
        self.json.print(&document, || self.page(&table, jobs, &results))?;
        results.into_iter().find_map(Result::err).map_or(Ok(()), Err)
    }

    /// The test accuracies: one row per model, one column per graph. With `--preset`, the cell of a model without a
    /// preset for the graph is marked with `*`.
    fn table(
        &self,
        models: &[&ModelInfo],
        jobs: &[TrainingJob],
        results: &[Result<Summary>],
    ) -> Table {
        let header = ["model"].into_iter().chain(self.graphs.iter().map(String::as_str));
        let mut table = Table::new(header);
        for (m, info) in models.iter().enumerate() {
            let cells = (0..self.graphs.len()).map(|g| {
                let index = g * models.len() + m;
                let is_default = self.preset && !jobs[index].request.has_preset();
                format!("{}{}", cell(&results[index]), if is_default { " *" } else { "" })
            });
            table.add_row(std::iter::once(info.name.to_owned()).chain(cells));
        }
        table
    }

    /// The results as text for the terminal.
    fn page(&self, table: &Table, jobs: &[TrainingJob], results: &[Result<Summary>]) -> String {
        let mut lines = vec![
            table.to_text(),
            format!(
                "test accuracy in percent{} over {}; seeds from {}",
                if self.runs == 1 { "" } else { ", mean ± standard deviation" },
                output::count(self.runs, "run"),
                self.seed
            ),
            self.splits_line(jobs),
            self.settings_line(),
        ];
        let mut majority: Vec<String> = vec![];
        let tested = |summary: &&Summary| !summary.majority_share.is_nan();
        for summary in results.iter().flatten().filter(tested) {
            let share = format!("{} {}", summary.graph, percent(summary.majority_share));
            if !majority.contains(&share) {
                majority.push(share);
            }
        }
        if !majority.is_empty() {
            lines.push(format!("majority class: {}", majority.join(", ")));
        }
        if table.rows.iter().flatten().any(|entry| entry.ends_with(" *")) {
            lines.push("* model defaults; there is no preset for this graph".into());
        }
        lines.extend(failures(jobs, results));
        let mut warnings: Vec<&String> =
            results.iter().flatten().flat_map(|summary| &summary.warnings).collect();
        warnings.sort();
        warnings.dedup();
        let warnings = output::warnings(warnings);
        let folder = self.out.display();
        format!("{}\n{warnings}run folders and compare.md: {folder}\n", lines.join("\n"))
    }

    /// The line that says where the settings come from.
    fn settings_line(&self) -> String {
        let changed = if self.set.is_empty() { "" } else { ", changed by --set" };
        match self.preset {
            true => format!("settings: presets{changed}"),
            false => format!(
                "settings: each model's defaults{changed}; --preset uses published or tuned ones"
            ),
        }
    }

    /// The line that names the split of each graph, or the one split used for all graphs.
    fn splits_line(&self, jobs: &[TrainingJob]) -> String {
        let mut splits: Vec<(&str, String)> = jobs
            .iter()
            .map(|job| (job.request.graph.as_str(), job.request.split.to_string()))
            .collect();
        splits.dedup();
        match splits.iter().all(|(_, split)| *split == splits[0].1) {
            true => format!("split: {}", splits[0].1),
            false => {
                let each: Vec<String> =
                    splits.iter().map(|(graph, split)| format!("{graph} {split}")).collect();
                format!("splits: {}", each.join(", "))
            }
        }
    }

    /// The results as JSON: the summaries, and the errors of failed and interrupted jobs.
    fn document(&self, jobs: &[TrainingJob], results: &[Result<Summary>]) -> Json {
        let failed = jobs.iter().zip(results).filter_map(|(job, result)| {
            let Request { graph, model, .. } = &job.request;
            let error = result.as_ref().err()?.to_string();
            Some(json!({"graph": graph, "model": model.name, "error": error}))
        });
        json!({
            "folder": self.out,
            "summaries": results.iter().flatten().collect::<Vec<_>>(),
            "failed": failed.collect::<Json>(),
        })
    }
}

/// Returns the models with these names, without repetitions, or every model if one of the names is `all`.
/// Otherwise, an unknown name is an error.
fn select_models(names: &[String]) -> Result<Vec<&'static ModelInfo>> {
    if names.iter().any(|name| name == "all") {
        return Ok(MODELS.to_vec());
    }
    let mut models: Vec<&'static ModelInfo> = vec![];
    for name in names {
        let info = model::find(name.trim())?;
        if !models.iter().any(|other| other.name == info.name) {
            models.push(info);
        }
    }
    Ok(models)
}

/// The graphs without repetitions; different spellings of a path are the same graph.
fn without_repeats(graphs: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let is_known = |graph: &str| data::find(graph.split(':').next().unwrap_or(graph)).is_ok();
    // A known name is not a path, even if there is a folder with this name.
    let identity = |graph: &str| match Path::new(graph).canonicalize() {
        Ok(path) if !is_known(graph) => path,
        _ => PathBuf::from(graph),
    };
    graphs.iter().filter(|graph| seen.insert(identity(graph))).cloned().collect()
}

/// Rejects a hyper-parameter that none of the models has.
fn check_key(key: &str, models: &[&ModelInfo]) -> Result<()> {
    let keys: BTreeSet<&str> =
        models.iter().flat_map(|info| info.hyper_params()).map(|hyper| hyper.name).collect();
    match keys.contains(key) {
        true => Ok(()),
        false => Err(Error::unknown("hyper-parameter", key, keys)),
    }
}

/// Describes the failed and interrupted jobs, with one line for all models that have the same error on a graph.
fn failures(jobs: &[TrainingJob], results: &[Result<Summary>]) -> Vec<String> {
    let mut failures: Vec<(String, Vec<&str>)> = vec![];
    for (job, result) in jobs.iter().zip(results) {
        let Err(error) = result else { continue };
        let Request { graph, model, .. } = &job.request;
        let failure = format!(" on {graph}: {error}");
        match failures.iter_mut().find(|(other, _)| *other == failure) {
            Some((_, models)) => models.push(model.name),
            None => failures.push((failure, vec![model.name])),
        }
    }
    failures.into_iter().map(|(failure, models)| models.join(", ") + &failure).collect()
}

/// Formats the test accuracy of a job: `-` if it was interrupted or there are no test nodes, `failed` if it failed.
fn cell(result: &Result<Summary>) -> String {
    match result {
        Ok(summary) if summary.test_accuracy.mean.is_nan() => "-".into(),
        Ok(summary) => output::mean_and_std(summary.test_accuracy, summary.runs.len()),
        Err(Error::Interrupted) => "-".into(),
        Err(_) => "failed".into(),
    }
}

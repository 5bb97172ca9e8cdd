//! `clenshaw demo`: train five models on a homophilous and on a heterophilous graph.

use crate::options::{JsonOption, ThreadsOption, whole};
use crate::output::{self, percent};
use crate::progress::{self, Progress};
use crate::train::describe;
use crate::{RunSubcommand, filter_plot, interrupt, open_page};
use clap::Parser;
use clenshaw::Result;
use clenshaw::data::{self, Dataset, Store};
use clenshaw::experiment::{
    Report, ReportedRun, Request, RunOptions, RunRecord, Summary, TrainingJob,
};
use clenshaw::filter::Response;
use clenshaw::graph::Normalisation;
use clenshaw::report::{LineChart, LineSeries, Table, html_page};
use serde_json::json;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Train five models on two graphs, in under a minute
#[derive(Parser)]
#[command(name = "demo", after_help = AFTER_HELP)]
pub struct Demo {
    /// Number of runs per model and graph, each with its own seed and split
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: usize,
    /// Seed of the first run, incremented for each further run
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Do not open the report on the second graph in the browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    json: JsonOption,
}

const AFTER_HELP: &str = "\
The graphs are Cora, where neighbours mostly share a class, and a generated graph, where they mostly
do not. Neither needs a download. Run folders, a report per graph that compares the models, and a
plot of the learned filters are written to runs/demo. If there is a display, the report on the
second graph opens in the browser.

Examples:
  clenshaw demo
  clenshaw demo --runs 1 --json";

const FOLDER: &str = "runs/demo";
const GRAPHS: [&str; 2] = ["cora", "csbm"];
const LINEAR: &str =
    "linear: no weights or activations between the layers, so the network is a polynomial filter";
const NEXT: &str = "next: clenshaw train cora --preset paper --runs 10";

/// A model trained on a graph by the demo.
struct DemoModel {
    graph: &'static str,
    model: &'static str,
    /// Changes to the model's preset (on Cora) or defaults (on csbm).
    set: &'static [(&'static str, &'static str)],
    /// Relative cost of an epoch; models with a higher cost start first.
    cost: u64,
}

/// The models of the demo. GCNII has 8 layers to save time. GCN on Cora has a higher learning rate than in its
/// preset because it is trained for few epochs. The linear ClenshawGCN is included for its filter.
static DEMO_MODELS: [DemoModel; 12] = [
    DemoModel { graph: "cora", model: "mlp", set: &[], cost: 3 },
    DemoModel { graph: "cora", model: "gcn", set: &[("lr", "0.01")], cost: 3 },
    DemoModel { graph: "cora", model: "gcnii", set: &[("L", "8")], cost: 16 },
    DemoModel { graph: "cora", model: "horner-gcn", set: &[], cost: 18 },
    DemoModel { graph: "cora", model: "clenshaw-gcn", set: &[], cost: 20 },
    DemoModel { graph: "cora", model: "clenshaw-gcn", set: &[NO_WEIGHT, NO_ACT], cost: 9 },
    DemoModel { graph: "csbm", model: "mlp", set: &[LESS_DROPOUT], cost: 1 },
    DemoModel { graph: "csbm", model: "gcn", set: &[LESS_DROPOUT], cost: 2 },
    DemoModel { graph: "csbm", model: "gcnii", set: &[("L", "8"), LESS_DROPOUT], cost: 14 },
    DemoModel { graph: "csbm", model: "horner-gcn", set: &[LESS_DROPOUT], cost: 14 },
    DemoModel { graph: "csbm", model: "clenshaw-gcn", set: &[LESS_DROPOUT], cost: 16 },
    DemoModel {
        graph: "csbm",
        model: "clenshaw-gcn",
        set: &[LESS_DROPOUT, NO_WEIGHT, NO_ACT],
        cost: 7,
    },
];

const NO_WEIGHT: (&str, &str) = ("use_weight", "false");
const NO_ACT: (&str, &str) = ("use_act", "false");

/// The dropout on csbm.
const LESS_DROPOUT: (&str, &str) = ("dropout", "0.3");

/// Stopping rule for all models; training is shorter than with the published settings.
const LIMITS: [(&str, &str); 3] =
    [("max_epochs", "150"), ("stop", "patience"), ("patience", "100")];

impl RunSubcommand for Demo {
    fn run(self) -> Result<()> {
        let start = Instant::now();
        let summaries = self.train()?;
        let seconds = start.elapsed().as_secs_f64();
        let pages = self.pages()?;
        let text = page(&summaries, &pages, seconds)?;
        let document = json!({
            "folder": FOLDER, "summaries": summaries, "pages": pages, "seconds": seconds,
        });
        self.json.print(&document, || text)?;
        let last = pages.last().filter(|_| !self.no_open && !self.json.is_set());
        if let Some(page) = last.filter(|_| open_page::is_desktop_session()) {
            open_page::open(page);
        }
        Ok(())
    }
}

impl Demo {
    /// Trains the models in parallel, the most costly first; returns summaries in the order of
    /// [`DEMO_MODELS`].
    fn train(&self) -> Result<Vec<Summary>> {
        let mut queue: Vec<usize> = (0..DEMO_MODELS.len()).collect();
        queue.sort_by_key(|&i| Reverse(DEMO_MODELS[i].cost));
        let jobs: Vec<TrainingJob> =
            queue.iter().map(|&i| self.job(&DEMO_MODELS[i])).collect::<Result<_>>()?;
        let costs: Vec<u64> = queue.iter().map(|&i| DEMO_MODELS[i].cost).collect();
        let progress = Progress::on_stderr();
        let options = RunOptions {
            threads: self.threads.count(),
            store: &Store::new(None),
            resume: false,
            on_event: &|_, _| {},
            cancel: &interrupt::flag(&progress, interrupt::Resume::Never),
        };
        let results = progress::train_batch("demo", &jobs, &costs, &progress, &options);
        let mut results: Vec<(usize, Summary)> = queue
            .into_iter()
            .zip(results)
            .map(|(i, result)| result.map(|summary| (i, summary)))
            .collect::<Result<_>>()?;
        results.sort_by_key(|(i, _)| *i);
        Ok(results.into_iter().map(|(_, summary)| summary).collect())
    }

    /// Writes a page per graph that compares its models, and returns their paths.
    fn pages(&self) -> Result<Vec<PathBuf>> {
        let page = |graph: &&str| {
            let entries = DEMO_MODELS.iter().filter(|entry| entry.graph == *graph);
            let jobs = entries.map(|entry| self.job(entry)).collect::<Result<Vec<_>>>()?;
            let folders = jobs.into_iter().filter_map(|job| job.folder);
            let runs: Vec<ReportedRun> =
                folders.map(|folder| ReportedRun { folder, seed: None }).collect();
            let report = Report::new(&runs, &Store::new(None), self.threads.count())?;
            let path = Path::new(FOLDER).join(format!("{graph}.html"));
            output::save(&path, html_page(&report))?;
            Ok(path)
        };
        GRAPHS.iter().map(page).collect()
    }

    /// The job that trains a model of the demo.
    fn job(&self, entry: &DemoModel) -> Result<TrainingJob> {
        let mut request = Request::new(entry.graph, entry.model)?;
        if entry.graph == "cora" {
            request.apply_preset("paper")?;
        }
        LIMITS.iter().chain(entry.set).try_for_each(|(key, value)| request.set(key, value))?;
        (request.runs, request.seed) = (self.runs, self.seed);
        request.check()?;
        let folder = Some(Path::new(FOLDER).join(request.folder_name()));
        Ok(TrainingJob { request, folder })
    }
}

/// Formats the results as text, and writes the plot of the filters to filters.svg.
fn page(summaries: &[Summary], pages: &[PathBuf], seconds: f64) -> Result<String> {
    let graphs: Vec<Dataset> = GRAPHS.iter().map(|name| data::load(name)).collect::<Result<_>>()?;
    let lines: String = graphs.iter().map(|graph| describe(graph) + "\n").collect();
    let linear: Vec<&Summary> = summaries.iter().filter(|summary| is_linear(summary)).collect();
    let plots: String = graphs.iter().zip(&linear).map(|(g, s)| terminal_plot(g, s)).collect();
    output::save(&Path::new(FOLDER).join("filters.svg"), svg(&graphs, &linear))?;
    let table = table(summaries).to_text();
    let (splits, limit) = (output::count(summaries[0].runs.len(), "split"), LIMITS[0].1);
    let caution = format!("{splits}, at most {limit} epochs; a demonstration, not a benchmark");
    let done = format!("run folders and filters.svg: {FOLDER} ({seconds:.0} s)");
    let pages: Vec<String> = pages.iter().map(|page| page.display().to_string()).collect();
    let pages = format!("pages: {}", pages.join(", "));
    Ok(format!("{lines}\n{table}{caution}\n{LINEAR}\n{plots}\n{done}\n{pages}\n{NEXT}\n"))
}

/// Whether this is the linear ClenshawGCN, the only model of the demo without weights between its layers.
fn is_linear(summary: &Summary) -> bool {
    summary.hyper.has("use_weight") && !summary.hyper.flag("use_weight")
}

/// The table of results: one row per model and graph.
fn table(summaries: &[Summary]) -> Table {
    let header =
        ["graph", "model", "test accuracy", "95% interval", "majority", "epochs", "seconds"];
    let mut table = Table::new(header);
    for summary in summaries {
        let n_runs = summary.runs.len();
        let mean_of = |number: fn(&RunRecord) -> f64| {
            summary.runs.iter().map(number).sum::<f64>() / n_runs as f64
        };
        table.add_row([
            summary.graph.clone(),
            summary.model.clone() + if is_linear(summary) { ", linear" } else { "" },
            output::mean_and_std(summary.test_accuracy, n_runs),
            match n_runs {
                1 => "-".into(),
                _ => format!("± {}", percent(summary.test_accuracy.ci95)),
            },
            percent(summary.majority_share),
            format!("{:.0}", mean_of(|run| run.epochs as f64)),
            format!("{:.1}", mean_of(|run| run.seconds)),
        ]);
    }
    table
}

/// Draws, in characters, the filter that the linear model has learned on a graph.
fn terminal_plot(graph: &Dataset, summary: &Summary) -> String {
    let title = format!("h(mu) of the linear {} on {}", summary.model, graph.name);
    format!(
        "\n{}",
        filter_plot::in_terminal(&title, best_filter(summary), graph, Normalisation::Looped)
    )
}

/// Draws both filters as SVG, each over the spectrum of its graph.
fn svg(graphs: &[Dataset], learned: &[&Summary]) -> String {
    let series = graphs.iter().zip(learned).map(|(graph, summary)| LineSeries {
        name: graph.name.clone(),
        points: filter_plot::points(best_filter(summary), graph, Normalisation::Looped).1,
    });
    LineChart::responses("Filters learned by the linear ClenshawGCN", series.collect()).to_svg()
}

/// Returns the filter of the run with the lowest validation loss.
fn best_filter(summary: &Summary) -> &Response {
    let best = summary.best_run().expect("a request has at least one run");
    best.filter.as_ref().expect("clenshaw-gcn has coefficients")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_demo_models_are_valid() {
        let demo = Demo::parse_from(["demo"]);
        for entry in &DEMO_MODELS {
            let job = demo.job(entry).unwrap();
            assert!(GRAPHS.contains(&entry.graph), "{}", entry.model);
            assert!(job.request.hyper.int("max_epochs") <= 150, "{}", entry.model);
            assert!(job.folder.is_some_and(|folder| folder.starts_with(FOLDER)));
        }
    }
}

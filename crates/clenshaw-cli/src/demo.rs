//! `clenshaw demo`: five models on a graph whose neighbours agree and on one whose neighbours do not.

use crate::options::{Threads, whole};
use crate::progress::Progress;
use crate::train::describe;
use crate::{Run, interrupt, output, picture};
use clap::Parser;
use clenshaw::data::{self, Dataset, Store};
use clenshaw::experiment::{self, Event, Options, Order, Record, Request, Summary};
use clenshaw::filter::Response;
use clenshaw::report::{Figure, Series, Statistic, Table, svg_plot};
use clenshaw::{Error, Result};
use std::cmp::Reverse;
use std::path::Path;
use std::time::Instant;

/// Train five models on Cora and on a graph whose neighbours disagree, in under a minute
#[derive(Parser)]
#[command(name = "demo", after_help = EXAMPLES)]
pub struct Demo {
    /// Number of splits each model is trained on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: usize,
    /// Seed of the first run; the next ones count up
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw demo
  clenshaw demo --runs 1 --json";

const FOLDER: &str = "runs/demo";
const GRAPHS: [&str; 2] = ["cora", "csbm"];
const LINEAR: &str =
    "linear: no weights or activations between the layers, so that the network is its filter";
const NEXT: &str = "next: clenshaw train cora --preset paper --runs 10";

/// A model on a graph.
struct Entry {
    graph: &'static str,
    model: &'static str,
    /// Where it departs from its preset (Cora) or the defaults (csbm).
    set: &'static [(&'static str, &'static str)],
    /// What an epoch costs beside the others, so that the slowest start first and the ETA is fair.
    cost: u64,
}

/// Cora has the settings of the tables, but for GCNII's 64 layers, which would take too long, and GCN's
/// rate, which is for a thousand epochs; csbm has the defaults with less dropout, which on seeds 100 to
/// 102 lowered the validation loss of four models and left GCN's where it was. The linear ClenshawGCN
/// is there for its filter: it is nothing else.
static ENTRIES: [Entry; 12] = [
    Entry { graph: "cora", model: "mlp", set: &[], cost: 3 },
    Entry { graph: "cora", model: "gcn", set: &[("lr", "0.01")], cost: 3 },
    Entry { graph: "cora", model: "gcnii", set: &[("L", "8")], cost: 16 },
    Entry { graph: "cora", model: "horner-gcn", set: &[], cost: 18 },
    Entry { graph: "cora", model: "clenshaw-gcn", set: &[], cost: 20 },
    Entry { graph: "cora", model: "clenshaw-gcn", set: &[NO_WEIGHT, NO_ACT], cost: 9 },
    Entry { graph: "csbm", model: "mlp", set: &[LIGHT], cost: 1 },
    Entry { graph: "csbm", model: "gcn", set: &[LIGHT], cost: 2 },
    Entry { graph: "csbm", model: "gcnii", set: &[("L", "8"), LIGHT], cost: 14 },
    Entry { graph: "csbm", model: "horner-gcn", set: &[LIGHT], cost: 14 },
    Entry { graph: "csbm", model: "clenshaw-gcn", set: &[LIGHT], cost: 16 },
    Entry { graph: "csbm", model: "clenshaw-gcn", set: &[LIGHT, NO_WEIGHT, NO_ACT], cost: 7 },
];

const NO_WEIGHT: (&str, &str) = ("use_weight", "false");
const NO_ACT: (&str, &str) = ("use_act", "false");

const LIGHT: (&str, &str) = ("dropout", "0.3");

/// The same short limits for everybody; the published ones are for tables.
const LIMITS: [(&str, &str); 3] =
    [("max_epochs", "150"), ("stop", "patience"), ("patience", "100")];

impl Run for Demo {
    fn run(self) -> Result<()> {
        let start = Instant::now();
        let jobs = ENTRIES.iter().map(|entry| Job::new(entry, self.runs, self.seed));
        let jobs: Vec<Job> = jobs.collect::<Result<_>>()?;
        let summaries = train_all(&jobs, self.threads.count())?;
        let seconds = start.elapsed().as_secs_f64();
        match self.json {
            true => output::print_json(&serde_json::json!({
                "folder": FOLDER,
                "summaries": summaries,
                "seconds": seconds,
            })),
            false => output::print(&page(&summaries, seconds)?),
        }
    }
}

/// An entry with its settings and its folder.
struct Job {
    cost: u64,
    order: Order,
}

impl Job {
    fn new(entry: &Entry, runs: usize, seed: u64) -> Result<Self> {
        let mut request = Request::new(entry.graph, entry.model)?;
        if entry.graph == "cora" {
            request.apply_preset("paper")?;
        }
        LIMITS.iter().chain(entry.set).try_for_each(|(key, value)| request.set(key, value))?;
        (request.runs, request.seed) = (runs, seed);
        request.check()?;
        let folder = request.folder_name();
        let order = Order { request, out: Some(Path::new(FOLDER).join(folder)) };
        Ok(Self { cost: entry.cost, order })
    }

    fn max_epochs(&self) -> usize {
        self.order.request.hyper.int("max_epochs")
    }

    fn work(&self) -> u64 {
        self.cost * (self.order.request.runs * self.max_epochs()) as u64
    }
}

/// Jobs side by side, the slowest first; the summaries in the order of the jobs.
fn train_all(jobs: &[Job], threads: usize) -> Result<Vec<Summary>> {
    let progress = Progress::on_stderr();
    let cancel = interrupt::flag(&progress, "finishing up (Ctrl-C once more stops at once)");
    let mut queue: Vec<usize> = (0..jobs.len()).collect();
    queue.sort_by_key(|&j| Reverse(jobs[j].cost));
    let orders: Vec<Order> = queue.iter().map(|&j| jobs[j].order.clone()).collect();
    let total = progress.total("demo", jobs.iter().map(Job::work).sum());
    let followers: Vec<_> = orders.iter().map(|order| progress.follow(&order.request)).collect();
    let watch = |order: usize, event: Event<'_>| {
        followers[order].see(&event);
        let job = &jobs[queue[order]];
        match event {
            Event::Epoch { .. } => total.inc(job.cost),
            Event::Finished { record, .. } => {
                total.inc(job.cost * (job.max_epochs() - record.epochs) as u64);
            }
            _ => {}
        }
    };
    let store = &Store::new(None);
    let options = Options { threads, store, resume: false, watch: &watch, cancel: &cancel };
    let results = experiment::run_all(&orders, &options);
    total.finish_and_clear();
    let mut results: Vec<(usize, Summary)> = queue
        .iter()
        .zip(results)
        .map(|(&j, result)| result.map(|summary| (j, summary)))
        .collect::<Result<_>>()?;
    results.sort_by_key(|(j, _)| *j);
    Ok(results.into_iter().map(|(_, summary)| summary).collect())
}

fn page(summaries: &[Summary], seconds: f64) -> Result<String> {
    let graphs: Vec<Dataset> = GRAPHS.iter().map(|name| data::load(name)).collect::<Result<_>>()?;
    let lines: String = graphs.iter().map(|graph| describe(graph) + "\n").collect();
    let learned: Vec<&Summary> = summaries.iter().filter(|summary| is_linear(summary)).collect();
    let pictures: String = graphs.iter().zip(&learned).map(|(g, s)| picture(g, s)).collect();
    let figure = Path::new(FOLDER).join("filters.svg");
    std::fs::write(&figure, svg(&graphs, &learned)).map_err(Error::io(&figure))?;
    let table = table(summaries).to_text();
    let (splits, limit) = (summaries[0].runs.len(), LIMITS[0].1);
    let caution =
        format!("splits: {splits}, epochs: at most {limit}; a demonstration, no benchmark");
    let done = format!("run folders and filters.svg in {FOLDER}, {seconds:.0} s");
    Ok(format!("{lines}\n{table}{caution}\n{LINEAR}\n{pictures}\n{done}\n{NEXT}\n"))
}

/// Whether the network is its filter and nothing else.
fn is_linear(summary: &Summary) -> bool {
    summary.hyper.has("use_weight") && !summary.hyper.flag("use_weight")
}

fn table(summaries: &[Summary]) -> Table {
    let header =
        ["graph", "model", "test accuracy", "95% interval", "majority", "epochs", "seconds"];
    let mut table = Table::new(header);
    for summary in summaries {
        let Statistic { mean, std, ci95 } = summary.test_accuracy;
        let mean_of = |number: fn(&Record) -> f64| {
            summary.runs.iter().map(number).sum::<f64>() / summary.runs.len() as f64
        };
        table.row([
            summary.graph.clone(),
            summary.model.clone() + if is_linear(summary) { ", linear" } else { "" },
            format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * std),
            format!("± {:.2}", 100.0 * ci95),
            format!("{:.2}", 100.0 * summary.majority_share),
            format!("{:.0}", mean_of(|run| run.epochs as f64)),
            format!("{:.1}", mean_of(|run| run.seconds)),
        ]);
    }
    table
}

fn picture(graph: &Dataset, summary: &Summary) -> String {
    let title = format!("h(mu) of the linear {} on {}", summary.model, graph.name);
    format!("\n{}", picture::response(&title, best_filter(summary), graph))
}

/// Both filters, each over its own graph's spectrum.
fn svg(graphs: &[Dataset], learned: &[&Summary]) -> String {
    let series = graphs.iter().zip(learned).map(|(graph, summary)| Series {
        name: graph.name.clone(),
        points: picture::points(best_filter(summary), graph).1,
    });
    svg_plot(&Figure::responses("Filters learned by the linear ClenshawGCN", series.collect()))
}

/// The filter of the run with the lowest validation loss.
fn best_filter(summary: &Summary) -> &Response {
    let best = summary.best_run().expect("a request has at least one run");
    best.filter.as_ref().expect("clenshaw-gcn has coefficients")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_accepted_and_keeps_to_the_limits() {
        for entry in &ENTRIES {
            let job = Job::new(entry, 3, 0).unwrap();
            assert!(GRAPHS.contains(&entry.graph) && job.max_epochs() <= 150, "{}", entry.model);
            assert!(job.order.out.is_some_and(|out| out.starts_with(FOLDER)));
        }
    }
}

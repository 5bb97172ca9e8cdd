//! `clenshaw compare`: several models on several graphs, under one protocol.

use crate::options::{DataFolder, Threads, setting, whole};
use crate::progress::Progress;
use crate::{Run, interrupt, output};
use clap::Parser;
use clenshaw::data::SplitKind;
use clenshaw::experiment::{self, Event, Options, Order, Request, Summary};
use clenshaw::model::{self, MODELS, ModelInfo};
use clenshaw::report::Table;
use clenshaw::{Error, Result};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Train several models on several graphs, all on the same splits
#[derive(Parser)]
#[command(name = "compare", after_help = EXAMPLES)]
pub struct Compare {
    /// Graphs: names, or paths to your own files
    #[arg(required = true, value_name = "GRAPH")]
    graphs: Vec<String>,
    /// The models, separated by commas; or all
    #[arg(long, value_name = "M,...", value_delimiter = ',', default_value = "all")]
    models: Vec<String>,
    /// Number of runs of each model on each graph, each with a split of its own
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<usize>, allow_negative_numbers = true)]
    runs: usize,
    /// Seed of the first run; the next ones count up
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// The split of every run: balanced, stratified, ratio:a/b/c, or one that came with the graph
    #[arg(long, value_name = "NAME", default_value = "balanced")]
    split: SplitKind,
    /// Set a hyper-parameter of every model that has it; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    data: DataFolder,
    /// The folder for all run folders and the table
    #[arg(long, value_name = "DIR", default_value = "runs/compare")]
    out: PathBuf,
    /// Keep the finished runs of the folder and go on with the others
    #[arg(long)]
    resume: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Every model has its published settings for a graph where there are any, else its defaults (marked *).
A model that fails says so in its place; the others go on.

Examples:
  clenshaw compare cora csbm --models mlp,gcn,clenshaw-gcn
  clenshaw compare cora texas chameleon --models all --runs 3
  clenshaw compare texas --models gcnii,clenshaw-gcn --runs 20 --split stratified --json";

impl Run for Compare {
    fn run(self) -> Result<()> {
        let models = chosen(&self.models)?;
        self.set.iter().try_for_each(|text| somebody_has(setting(text)?.0, &models))?;
        let orders = self.orders(&models)?;
        let store = self.data.store();
        let progress = if self.quiet { Progress::silent() } else { Progress::on_stderr() };
        let followers = progress.follow_all("compare", &orders);
        let watch = |order: usize, event: Event<'_>| followers.see(order, &event);
        let options = Options {
            threads: self.threads.count(),
            store: &store,
            resume: self.resume,
            watch: &watch,
            cancel: &interrupt::flag(&progress, interrupt::RESUME),
        };
        let results = experiment::run_all(&orders, &options);
        followers.finish();
        self.answer(&models, &orders, results)
    }
}

impl Compare {
    /// Model after model on the first graph, then on the next.
    fn orders(&self, models: &[&'static ModelInfo]) -> Result<Vec<Order>> {
        let pairs =
            self.graphs.iter().flat_map(|graph| models.iter().map(move |info| (graph, *info)));
        pairs.map(|(graph, info)| self.order(graph, info)).collect()
    }

    fn order(&self, graph: &str, info: &ModelInfo) -> Result<Order> {
        let mut request = Request::new(graph, info.name)?;
        if request.has_preset() {
            request.apply_preset("paper")?;
        }
        for text in &self.set {
            let (key, value) = setting(text)?;
            if request.hyper.has(key) {
                request.hyper.set(key, value)?;
            }
        }
        request.split = self.split.clone();
        (request.runs, request.seed) = (self.runs, self.seed);
        request.check()?;
        let out = Some(self.out.join(request.folder_name()));
        Ok(Order { request, out })
    }

    /// Prints what there is; the first failure decides how the program ends.
    fn answer(
        &self,
        models: &[&ModelInfo],
        orders: &[Order],
        results: Vec<Result<Summary>>,
    ) -> Result<()> {
        let table = self.table(models, orders, &results);
        std::fs::create_dir_all(&self.out).map_err(Error::io(&self.out))?;
        output::save(&self.out.join("compare.md"), &table.to_markdown())?;
        match self.json {
            true => output::print_json(&self.document(orders, &results))?,
            false => output::print(&self.page(&table, orders, &results))?,
        }
        results.into_iter().find_map(Result::err).map_or(Ok(()), Err)
    }

    /// A row a model, a column a graph: mean and standard deviation of the test accuracy in percent.
    fn table(&self, models: &[&ModelInfo], orders: &[Order], results: &[Result<Summary>]) -> Table {
        let header = ["model"].into_iter().chain(self.graphs.iter().map(String::as_str));
        let mut table = Table::new(header);
        for (m, info) in models.iter().enumerate() {
            let cells = (0..self.graphs.len()).map(|g| {
                let at = g * models.len() + m;
                let mark = if orders[at].request.has_preset() { "" } else { " *" };
                format!("{}{mark}", cell(&results[at]))
            });
            table.row(std::iter::once(info.name.to_owned()).chain(cells));
        }
        table
    }

    fn page(&self, table: &Table, orders: &[Order], results: &[Result<Summary>]) -> String {
        let runs = if self.runs == 1 { "1 run".into() } else { format!("{} runs", self.runs) };
        let about = format!(
            "test accuracy in percent, mean ± standard deviation over {runs}; split {}, seeds from {}",
            self.split, self.seed
        );
        let constants: Vec<String> = self
            .graphs
            .iter()
            .filter_map(|graph| {
                let on_graph = |summary: &&Summary| summary.graph == *graph;
                let summary = results.iter().flatten().find(on_graph)?;
                Some(format!("{graph} {:.2}", 100.0 * summary.majority_share))
            })
            .collect();
        let mut lines = vec![table.to_text(), about];
        if !constants.is_empty() {
            lines.push(format!("always answering the largest class: {}", constants.join(", ")));
        }
        if table.rows.iter().flatten().any(|entry| entry.ends_with(" *")) {
            lines.push("* no published settings for this graph: the model's defaults".into());
        }
        for (order, result) in orders.iter().zip(results) {
            if let Err(error) = result {
                let Request { graph, model, .. } = &order.request;
                lines.push(format!("{} on {graph}: {error}", model.name));
            }
        }
        let mut warnings: Vec<&String> =
            results.iter().flatten().flat_map(|summary| &summary.warnings).collect();
        warnings.dedup();
        lines.extend(warnings.into_iter().map(|warning| format!("warning: {warning}")));
        lines.push(format!("run folders and compare.md in {}", self.out.display()));
        lines.join("\n") + "\n"
    }

    fn document(&self, orders: &[Order], results: &[Result<Summary>]) -> Json {
        let failed = orders.iter().zip(results).filter_map(|(order, result)| {
            let Request { graph, model, .. } = &order.request;
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

/// The models of these names, each once; `all` is every one of the list.
fn chosen(names: &[String]) -> Result<Vec<&'static ModelInfo>> {
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

/// A key that none of the models has is a slip.
fn somebody_has(key: &str, models: &[&ModelInfo]) -> Result<()> {
    let keys = || models.iter().flat_map(|info| info.hyper_params()).map(|hyper| hyper.name);
    match keys().any(|name| name == key) {
        true => Ok(()),
        false => Err(Error::unknown("hyper-parameter", key, keys())),
    }
}

fn cell(result: &Result<Summary>) -> String {
    match result {
        Ok(summary) => {
            let (mean, std) = (summary.test_accuracy.mean, summary.test_accuracy.std);
            format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * std)
        }
        Err(Error::Interrupted) => "-".into(),
        Err(_) => "failed".into(),
    }
}

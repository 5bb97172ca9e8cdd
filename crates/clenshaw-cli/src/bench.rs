//! `clenshaw bench`: what this machine can do, and how near a training step comes to it.

use crate::options::{DataFolder, Threads, setting, whole};
use crate::{Run, output};
use clap::Parser;
use clenshaw::data;
use clenshaw::experiment::Request;
use clenshaw::report::Table;
use clenshaw::tensor::{Roofline, instruction_set};
use clenshaw::train::{PhaseTiming, Setup, StepTiming};
use clenshaw::{Error, Result};
use serde_json::{Value as Json, json};

/// Measure this machine and a training step beside its limits
#[derive(Parser)]
#[command(name = "bench", after_help = EXAMPLES)]
pub struct Bench {
    /// Graphs: names, or paths to your own files
    #[arg(value_name = "GRAPH", default_value = "cora")]
    graphs: Vec<String>,
    /// The model; `clenshaw models` lists them
    #[arg(long, value_name = "M", default_value = "clenshaw-gcn")]
    model: String,
    /// Set a hyper-parameter; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Number of steps to measure
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>, allow_negative_numbers = true)]
    steps: usize,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    data: DataFolder,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A step is forward, backward and optimiser on the whole graph. Its bound is

  flops of dense products / their rate  +  gathered bytes / rate of gathering from a matrix of
  that size  +  bytes read and written in order / rate of streaming through the workspace

with the rates that this machine reaches in loops that do nothing else, all threads at work.
Other work on the machine moves all of these numbers.

Examples:
  clenshaw bench
  clenshaw bench cora chameleon squirrel --set K=8
  clenshaw bench pubmed --set K=16 --threads 1 --json";

impl Run for Bench {
    fn run(self) -> Result<()> {
        if !(1..=100_000).contains(&self.steps) {
            let (key, value) = ("steps".to_owned(), self.steps.to_string());
            return Err(Error::OutOfRange { key, value, allowed: "1..=100000".into() });
        }
        let requests: Vec<Request> =
            self.graphs.iter().map(|graph| self.request(graph)).collect::<Result<_>>()?;
        let store = self.data.store();
        let graphs: Vec<_> =
            self.graphs.iter().map(|name| data::load_from(&store, name)).collect::<Result<_>>()?;
        let mut limits = Roofline::new(self.threads.count());
        let mut documents = Vec::new();
        if !self.json {
            output::print(&machine(&mut limits))?;
        }
        for (request, graph) in requests.iter().zip(&graphs) {
            let setup = Setup::new(graph, request.model, request.hyper.clone());
            let split = request.split.draw(graph, 0)?;
            let step = StepTiming::measure(&setup, graph, &split, &mut limits, self.steps);
            if !self.json {
                output::print(&listing(&request.graph, request.model.title, &step))?;
            }
            documents.push(document(&request.graph, request.model.name, &step));
        }
        if self.json {
            let machine = json!({
                "instructions": instruction_set(),
                "threads": limits.threads(),
                "products_gflops": limits.products() / 1e9,
            });
            output::print_json(&json!({ "machine": machine, "steps": documents }))?;
        }
        Ok(())
    }
}

impl Bench {
    fn request(&self, graph: &str) -> Result<Request> {
        let mut request = Request::new(graph, &self.model)?;
        for text in &self.set {
            let (key, value) = setting(text)?;
            request.hyper.set(key, value)?;
        }
        Ok(request)
    }
}

/// Sizes at which the memory is shown: the first cache, the second, and beyond.
const SIZES: [usize; 5] = [32 << 10, 1 << 20, 5 << 20, 20 << 20, 80 << 20];

fn machine(limits: &mut Roofline) -> String {
    let mut table = Table::new(["bytes", "gather GB/s", "stream GB/s"]);
    for size in SIZES {
        let rates = [limits.gather(size), limits.stream(size)].map(|r| format!("{:.0}", r / 1e9));
        table.row([format!("{:.2} MB", size as f64 / 1e6)].into_iter().chain(rates));
    }
    let head = format!(
        "threads {}, {}: dense products {:.0} GFLOP/s",
        limits.threads(),
        instruction_set(),
        limits.products() / 1e9
    );
    format!("{head}\n\n{}", table.to_text())
}

fn listing(graph: &str, model: &str, step: &StepTiming) -> String {
    let mut table = Table::new(["part", "ms", "bound", "x", "MFLOP", "MB gathered", "MB streamed"]);
    for part in &step.parts {
        let amounts = [part.work.flops, part.work.gathered_bytes(), part.work.streamed];
        let amounts = amounts.map(|amount| format!("{:.1}", amount / 1e6));
        table.row(times(part.name, part.seconds, Some(part.bound)).into_iter().chain(amounts));
    }
    let blank = || [String::new(), String::new(), String::new()];
    table.row(times("waiting", step.waiting(), None).into_iter().chain(blank()));
    table.row(times("step", step.seconds, Some(step.bound)).into_iter().chain(blank()));
    format!(
        "\n{model} on {graph}: {:.2} ms a step, {:.2}x its bound; fastest {:.2} ms; \
         evaluation {:.2} ms; workspace {:.1} MB\n\n{}",
        step.seconds * 1e3,
        step.seconds / step.bound,
        step.fastest * 1e3,
        step.evaluation * 1e3,
        step.workspace_bytes as f64 / 1e6,
        table.to_text()
    )
}

fn times(name: &str, seconds: f64, bound: Option<f64>) -> [String; 4] {
    let bound = bound.filter(|bound| *bound > 0.0);
    let or_blank = |number: Option<f64>| number.map_or_else(String::new, |n| format!("{n:.2}"));
    [
        name.to_owned(),
        format!("{:.2}", seconds * 1e3),
        or_blank(bound.map(|bound| bound * 1e3)),
        or_blank(bound.map(|bound| seconds / bound)),
    ]
}

fn document(graph: &str, model: &str, step: &StepTiming) -> Json {
    let part = |part: &PhaseTiming| {
        json!({
            "name": part.name,
            "ms": part.seconds * 1e3,
            "bound_ms": part.bound * 1e3,
            "flops": part.work.flops,
            "gathered_bytes": part.work.gathered_bytes(),
            "streamed_bytes": part.work.streamed,
        })
    };
    json!({
        "graph": graph,
        "model": model,
        "ms": step.seconds * 1e3,
        "fastest_ms": step.fastest * 1e3,
        "bound_ms": step.bound * 1e3,
        "times_bound": step.seconds / step.bound,
        "waiting_ms": step.waiting() * 1e3,
        "evaluation_ms": step.evaluation * 1e3,
        "workspace_bytes": step.workspace_bytes,
        "parts": step.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

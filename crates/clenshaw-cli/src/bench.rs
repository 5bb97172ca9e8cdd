//! `clenshaw bench`: compare the time of a training step with a lower bound from the roofline model of this
//! machine.

use crate::options::{DataOption, JsonOption, ThreadsOption, setting, whole};
use crate::{RunSubcommand, output};
use clap::Parser;
use clenshaw::data;
use clenshaw::experiment::Request;
use clenshaw::report::Table;
use clenshaw::tensor::{Roofline, instruction_set};
use clenshaw::train::{PhaseTiming, Setup, StepTiming};
use clenshaw::{Error, Result};
use serde_json::{Value as Json, json};

const THREADS_HELP: &str =
    "Number of threads to use for the measurement [default: number of processors]";

/// Compare the time of a training step with a lower bound for this machine
#[derive(Parser)]
#[command(name = "bench", after_help = AFTER_HELP, mut_arg("threads", |arg| arg.help(THREADS_HELP)))]
pub struct Bench {
    /// Graphs: names from `clenshaw data list`, or paths to your own files
    #[arg(value_name = "GRAPH", default_value = "cora")]
    graphs: Vec<String>,
    /// Model to train, one of those listed by `clenshaw models`
    #[arg(short, long, value_name = "MODEL", default_value = "clenshaw-gcn")]
    model: String,
    /// Set one of the hyper-parameters listed by `clenshaw models MODEL`; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Number of training steps to measure
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>, allow_negative_numbers = true)]
    steps: usize,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
}

const AFTER_HELP: &str = "\
A step is a forward pass, a backward pass and an optimiser update on the whole graph. A lower bound
on its time is

  FLOPs of dense products / FLOP rate
  + bytes gathered / gather bandwidth for the size of the source matrix
  + bytes streamed / stream bandwidth for the workspace

where the rates are measured on this machine with the same number of threads. Bytes are gathered
when rows of neighbours are read, and streamed when data is read or written in sequence; the
workspace contains all buffers of a step. Run `clenshaw bench` on an otherwise idle machine.

Examples:
  clenshaw bench
  clenshaw bench cora chameleon squirrel --set K=8
  clenshaw bench pubmed --set K=16 --threads 1 --json";

impl RunSubcommand for Bench {
    fn run(self) -> Result<()> {
        if !(1..=100_000).contains(&self.steps) {
            let (key, value) = ("steps".to_owned(), self.steps.to_string());
            return Err(Error::OutOfRange { key, value, allowed: "1 to 100000".into() });
        }
        let requests: Vec<Request> =
            self.graphs.iter().map(|graph| self.request(graph)).collect::<Result<_>>()?;
        let store = self.data.store();
        let graphs: Vec<_> =
            self.graphs.iter().map(|name| data::load_from(&store, name)).collect::<Result<_>>()?;
        let mut roofline = Roofline::new(self.threads.count());
        let mut documents = Vec::new();
        if !self.json.is_set() {
            output::print(&machine_page(&mut roofline))?;
        }
        for (request, graph) in requests.iter().zip(graphs) {
            let split = request.split.draw(&graph, 0)?;
            let setup = Setup::new(graph, request.model, request.hyper.clone())?;
            let step = StepTiming::measure(&setup, &split, &mut roofline, self.steps)?;
            if !self.json.is_set() {
                output::print(&step_page(&request.graph, request.model.title, &step))?;
            }
            documents.push(step_json(&request.graph, request.model.name, &step));
        }
        if self.json.is_set() {
            let machine = json!({
                "instructions": instruction_set(),
                "threads": roofline.threads(),
                "products_gflops": roofline.product_rate() / 1e9,
            });
            output::print(&output::json(&json!({ "machine": machine, "steps": documents })))?;
        }
        Ok(())
    }
}

impl Bench {
    /// The request for the benchmark of a graph: the model with its defaults and `--set`.
    fn request(&self, graph: &str) -> Result<Request> {
        let mut request = Request::new(graph, &self.model)?;
        self.set.iter().try_for_each(|(key, value)| request.hyper.set(key, value))?;
        Ok(request)
    }
}

/// Sizes in bytes for which the bandwidths are measured and shown.
const SIZES: [usize; 5] = [32 << 10, 1 << 20, 5 << 20, 20 << 20, 80 << 20];

/// Measures the rates of this machine and formats them.
fn machine_page(roofline: &mut Roofline) -> String {
    let mut table = Table::new(["size", "gather GB/s", "stream GB/s"]);
    for size in SIZES {
        let rates = [roofline.gather_rate(size), roofline.stream_rate(size)]
            .map(|r| format!("{:.0}", r / 1e9));
        table.add_row([format!("{:.2} MB", size as f64 / 1e6)].into_iter().chain(rates));
    }
    let head = format!(
        "{}, {}: {:.0} GFLOP/s in dense products",
        output::count(roofline.threads(), "thread"),
        instruction_set(),
        roofline.product_rate() / 1e9
    );
    format!("{head}\n\n{}", table.to_text())
}

/// Formats the measured times of a step and their lower bounds.
fn step_page(graph: &str, model: &str, step: &StepTiming) -> String {
    let mut table =
        Table::new(["part", "ms", "bound ms", "ratio", "MFLOP", "MB gathered", "MB streamed"]);
    for part in &step.phases {
        let amounts = [part.cost.flops, part.cost.gathered_bytes(), part.cost.streamed];
        let amounts = amounts.map(|amount| format!("{:.1}", amount / 1e6));
        table.add_row(times(part.name, part.seconds, Some(part.bound)).into_iter().chain(amounts));
    }
    let blank = || [String::new(), String::new(), String::new()];
    table.add_row(times("waiting", step.waiting(), None).into_iter().chain(blank()));
    table.add_row(times("step", step.seconds, Some(step.bound)).into_iter().chain(blank()));
    format!(
        "\n{model} on {graph}: {:.2} ms per step, {:.2}x the bound; fastest step {:.2} ms; \
         evaluation {:.2} ms; workspace {:.1} MB\n\
         before the first step: node order {:.2} ms, shared sums {:.2} ms, compilation {:.2} ms\n\n{}",
        step.seconds * 1e3,
        step.seconds / step.bound,
        step.fastest * 1e3,
        step.evaluation * 1e3,
        step.workspace_bytes as f64 / 1e6,
        step.preparation.node_order * 1e3,
        step.preparation.shared_sums * 1e3,
        step.preparation.compilation * 1e3,
        table.to_text()
    )
}

/// Formats the first four columns of a row of [`step_page`]: name, time, bound and ratio. The last two are
/// blank without a positive bound.
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

/// The measured times of a step and their lower bounds as JSON.
fn step_json(graph: &str, model: &str, step: &StepTiming) -> Json {
    let part = |part: &PhaseTiming| {
        json!({
            "name": part.name,
            "ms": part.seconds * 1e3,
            "bound_ms": part.bound * 1e3,
            "flops": part.cost.flops,
            "gathered_bytes": part.cost.gathered_bytes(),
            "streamed_bytes": part.cost.streamed,
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
        "node_order_ms": step.preparation.node_order * 1e3,
        "shared_sums_ms": step.preparation.shared_sums * 1e3,
        "compilation_ms": step.preparation.compilation * 1e3,
        "parts": step.phases.iter().map(part).collect::<Vec<_>>(),
    })
}

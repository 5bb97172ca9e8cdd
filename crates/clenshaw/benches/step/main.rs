//! Training steps of this library, which `cargo xtask bench-peers` compares with those of other programs.
//!
//! ```text
//! step export FOLDER GRAPH MODEL [KEY=VALUE...]      writes the input of all programs
//! step run FOLDER THREADS [KEY=VALUE...]             executes the commands on the standard input
//! ```
//!
//! The settings of `export` replace those of the preset; those of `run` replace the exported ones.
//!
//! When it is ready, `run` prints one line of JSON with the loss of the initial parameters, without
//! dropout. For each command on the standard input it then prints one more line: for `steps N`, the
//! seconds of each of N training steps; for `peak`, the peak memory in bytes, now and before the graph was
//! read. A training step consists of the forward pass, the backward pass and the optimiser's step on all
//! nodes at once. The other programs have the same interface.

mod export;
mod generate;

use clenshaw::data::{Dataset, Store};
use clenshaw::experiment::Request;
use clenshaw::rng::Stream;
use clenshaw::tensor::{AlignedVec, Optimiser, Targets, ThreadTeam, Workspace, log_sum_exp};
use clenshaw::train::{Setup, optimiser, read_weights};
use serde_json::json;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

const USAGE: &str = "usage: step export FOLDER GRAPH MODEL [KEY=VALUE...] | \
                     step run FOLDER THREADS [KEY=VALUE...]\n\
                     cargo xtask bench-peers calls it";

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["export", folder, graph, model, ref settings @ ..] => {
            export::export(Path::new(folder), graph, model, settings)
        }
        ["run", folder, threads, ref settings @ ..] => {
            run(Path::new(folder), threads.parse()?, settings)
        }
        // The argument that `cargo bench` passes to all benches.
        [] | ["--bench"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

/// Changes settings of the form `KEY=VALUE`.
fn apply_settings(request: &mut Request, settings: &[&str]) -> Outcome {
    for setting in settings {
        let (key, value) =
            setting.split_once('=').ok_or("expected settings of the form KEY=VALUE")?;
        request.set(key, value)?;
    }
    Ok(())
}

/// The state of a training run.
struct Training {
    setup: Setup,
    targets: Targets<f32>,
    params: AlignedVec<f32>,
    work: Workspace<f32>,
    optimiser: Optimiser<f32>,
    dropout: Stream,
    train: Vec<(usize, u32)>,
}

impl Training {
    fn new(request: &Request, dataset: &Dataset, threads: usize) -> Outcome<Self> {
        let setup = Setup::new(dataset.clone(), request.model, request.hyper.clone())?;
        let split = request.split.draw(dataset, request.seed)?;
        let label = |&i: &u32| dataset.y[i as usize].expect("a split contains labelled nodes only");
        Ok(Self {
            targets: setup.targets(&split)?,
            train: split.train().iter().map(|i| (*i as usize, label(i))).collect(),
            params: setup.initial_params(request.seed),
            work: setup.plan().workspace(ThreadTeam::new(threads)),
            optimiser: optimiser(setup.plan(), setup.info(), setup.hp()),
            dropout: Stream::new(request.seed, "dropout"),
            setup,
        })
    }

    /// One training step.
    fn step(&mut self) {
        let dropout = self.dropout.numbered(self.optimiser.steps + 1);
        self.setup.plan().gradient(&mut self.work, &self.params, &self.targets, &dropout);
        self.work.update(&mut self.optimiser, &mut self.params);
    }

    /// The mean loss on the training nodes, without dropout.
    fn loss(&mut self) -> f64 {
        let c = self.setup.plan().shape().1;
        let scores = self.setup.plan().scores(&mut self.work, &self.params);
        let loss = |&(i, label): &(usize, u32)| {
            let z = &scores[i * c..(i + 1) * c];
            f64::from(log_sum_exp(z) - z[label as usize])
        };
        self.train.iter().map(loss).sum::<f64>() / self.train.len() as f64
    }
}

/// Executes the commands on the standard input.
fn run(folder: &Path, threads: usize, settings: &[&str]) -> Outcome {
    let start_bytes = peak_bytes();
    let text = fs::read_to_string(folder.join("run.toml"))?;
    let mut request = Request::from_toml("run.toml", &text)?;
    apply_settings(&mut request, settings)?;
    let dataset = request.load(&Store::only(folder))?;
    let mut training = Training::new(&request, &dataset, threads)?;
    drop(dataset);
    let initial = "initial.safetensors"; // shared by all programs
    let weights = read_weights(initial, &fs::read(folder.join(initial))?)?;
    training.params = training.setup.params_from(initial, &weights.tensors)?;
    print_line(&json!({ "ready": true, "loss": training.loss() }))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["steps", n] => print_line(&json!(time_steps(&mut training, n.parse()?)))?,
            ["peak"] => print_line(&json!({ "peak": peak_bytes(), "start": start_bytes }))?,
            _ => return Err(format!("`{line}`; expected `steps N` or `peak`").into()),
        }
    }
    Ok(())
}

/// Runs `n` steps and returns the seconds of each.
fn time_steps(training: &mut Training, n: usize) -> Vec<f64> {
    let one = |_| {
        let start = Instant::now();
        training.step();
        start.elapsed().as_secs_f64()
    };
    (0..n).map(one).collect()
}

fn print_line(value: &serde_json::Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}

/// The peak memory of this process in bytes; `None` if the system does not report it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().trim_end_matches(" kB").parse::<u64>().ok()?)
}

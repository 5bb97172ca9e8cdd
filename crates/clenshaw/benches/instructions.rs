//! Instruction counts of three small training steps, compared with `benches/instructions.toml`.
//!
//! ```text
//! cargo bench --workspace --bench instructions                compares
//! cargo bench --workspace --bench instructions -- --update    stores new counts
//! ```
//!
//! Only the optimised build is counted. In the build that tests use, kernels are not inlined across codegen
//! units, and a step takes four to nine times as many instructions, depending on how the crate is divided
//! into codegen units.
//!
//! callgrind counts the instructions of one thread inside `counted_step`; loading the graph and compiling
//! the plan are not included. The count does not depend on the load of the machine.
//! valgrind does not support AVX-512, so the AVX2 kernels are counted; the file names the instruction set,
//! and counts of different instruction sets are not compared.

use clenshaw::data::{self, SplitKind};
use clenshaw::model;
use clenshaw::rng::Stream;
use clenshaw::tensor::{
    AlignedVec, Optimiser, Plan, Targets, ThreadTeam, Workspace, instruction_set,
};
use clenshaw::train::{Setup, optimiser};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, ExitCode};

/// The fraction by which a count may grow.
const TOLERANCE: f64 = 0.03;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/instructions.toml");

/// One training step: a model on a graph.
struct Case {
    name: &'static str,
    model: &'static str,
    set: &'static [(&'static str, &'static str)],
    graph: &'static str,
}

/// Dense features, sparse features, and hidden layers as narrow as the number of classes.
const CASES: [Case; 3] = [
    Case {
        name: "dense",
        model: "clenshaw-gcn",
        set: &[("K", "4")],
        graph: "csbm:nodes=300,degree=10",
    },
    Case { name: "sparse", model: "clenshaw-gcn", set: &[("K", "2")], graph: "cora" },
    Case { name: "narrow", model: "gpr-gnn", set: &[], graph: "csbm:nodes=1000,degree=10" },
];

/// The stored counts of instructions, by the name of the case.
#[derive(Serialize, Deserialize)]
struct Counts {
    compiler: String,
    instruction_set: String,
    steps: BTreeMap<String, u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        [] => check(),
        ["--update"] => update(),
        ["--step", name] => run_step(name),
        _ => Err(format!("unexpected `{}`; expected `--update`", arguments.join(" ")).into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares new counts with the stored ones; returns an error if one has grown by more than the tolerance.
fn check() -> Result<(), Box<dyn Error>> {
    let stored: Counts = toml::from_str(&std::fs::read_to_string(FILE)?)?;
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip_check("valgrind is not installed");
    }
    let counted = count()?;
    if stored.instruction_set != counted.instruction_set {
        let (stored, counted) = (stored.instruction_set, counted.instruction_set);
        return skip_check(&format!("counts are stored for {stored}, valgrind runs {counted}"));
    }
    println!("{:<8} {:>12} {:>12} {:>8}", "step", "stored", "counted", "change");
    let mut grown = false;
    for (name, actual) in &counted.steps {
        let expected = *stored.steps.get(name).ok_or_else(|| format!("no count of `{name}`"))?;
        let change = *actual as f64 / expected as f64 - 1.0;
        let note = match change {
            _ if change > TOLERANCE => "  more",
            _ if change < -TOLERANCE => "  less; store it with `--update`",
            _ => "",
        };
        println!("{name:<8} {expected:>12} {actual:>12} {:>+7.2}%{note}", 1e2 * change);
        grown |= change > TOLERANCE;
    }
    if !grown {
        return Ok(());
    }
    let compilers = match stored.compiler == counted.compiler {
        true => String::new(),
        false => format!(" (stored with {}, now {})", stored.compiler, counted.compiler),
    };
    Err(format!(
        "a training step needs over {}% more instructions than stored{compilers}; \
         if that is intended, run with `--update` and give the reason in the commit",
        1e2 * TOLERANCE
    )
    .into())
}

/// Prints that nothing was compared, and why; returns an error in CI.
fn skip_check(reason: &str) -> Result<(), Box<dyn Error>> {
    let message = format!("not checked: {reason}");
    match std::env::var_os("CI") {
        Some(_) => Err(message.into()),
        None => {
            println!("{message}");
            Ok(())
        }
    }
}

/// Stores new counts.
fn update() -> Result<(), Box<dyn Error>> {
    let header =
        "# Instructions of one training step, written by `benches/instructions.rs --update`.\n";
    Ok(std::fs::write(FILE, format!("{header}\n{}", toml::to_string(&count()?)?))?)
}

/// Counts the instructions of all cases.
fn count() -> Result<Counts, Box<dyn Error>> {
    if cfg!(debug_assertions) {
        return Err("only the optimised build is counted; run `cargo xtask instructions`".into());
    }
    let compiler = String::from_utf8(Command::new("rustc").arg("--version").output()?.stdout)?;
    let (mut steps, mut instruction_set) = (BTreeMap::new(), String::new());
    for case in &CASES {
        let counted;
        (counted, instruction_set) = count_case(case.name)?;
        steps.insert(case.name.to_owned(), counted);
    }
    Ok(Counts { compiler: compiler.trim().into(), instruction_set, steps })
}

/// Returns the instructions of a case and the instruction set of its kernels.
fn count_case(name: &str) -> Result<(u64, String), Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*counted_step*")
        .arg(std::env::current_exe()?)
        .args(["--step", name])
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    // `==123== Collected : 456`; 0 means that the function was not found.
    let collected = log.lines().find_map(|line| line.split_once("Collected :"));
    let collected = collected.and_then(|(_, number)| number.trim().parse().ok());
    let collected = collected.filter(|count| output.status.success() && *count > 0);
    let collected =
        collected.ok_or_else(|| format!("valgrind could not count `{name}`:\n{log}"))?;
    Ok((collected, String::from_utf8(output.stdout)?.trim().into()))
}

/// Prepares a case, runs its step and prints the instruction set that was used.
fn run_step(name: &str) -> Result<(), Box<dyn Error>> {
    let case = CASES.iter().find(|case| case.name == name).ok_or("no such case")?;
    let graph = data::load(case.graph)?;
    let info = model::find(case.model)?;
    let mut hp = info.defaults();
    for (key, value) in case.set {
        hp.set(key, value)?;
    }
    let split = SplitKind::Balanced.draw(&graph, 0)?;
    let setup = Setup::new(graph, info, hp)?;
    let targets = setup.targets(&split)?;
    let mut work = setup.plan().workspace(ThreadTeam::new(1));
    let mut params = setup.initial_params(0);
    let mut optimiser = optimiser(setup.plan(), info, setup.hp());
    counted_step(setup.plan(), &mut work, &mut params, &mut optimiser, &targets);
    println!("{}", instruction_set());
    Ok(())
}

/// Forward pass, backward pass and optimiser; callgrind finds it by its name.
#[inline(never)]
fn counted_step(
    plan: &Plan<f32>,
    work: &mut Workspace<f32>,
    params: &mut AlignedVec<f32>,
    optimiser: &mut Optimiser<f32>,
    targets: &Targets<f32>,
) {
    plan.gradient(work, params, targets, &Stream::new(0, "dropout"));
    work.update(optimiser, params);
}

//! The instructions of three small training steps beside those that are kept, so none grows unseen.
//!
//! ```text
//! cargo xtask instructions            compares with benches/instructions.toml
//! cargo xtask instructions --update   writes it anew
//! ```
//!
//! callgrind counts what one thread does within `counted_step`, in the release build of this very
//! program; loading the graph and compiling the plan are not in it, and neither time nor other work
//! on the machine moves the number.
//! valgrind knows no AVX-512, so the processor it shows us has none, and the kernels for AVX2 are
//! those that are counted; the file names them, and other kernels are not compared.

use crate::Outcome;
use crate::cargo::built;
use clenshaw::data::{self, SplitKind};
use clenshaw::model;
use clenshaw::rng::Stream;
use clenshaw::tensor::{
    AlignedVec, Optimiser, Plan, Targets, ThreadTeam, Workspace, instruction_set,
};
use clenshaw::train::{Setup, optimiser};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much more a step may take than what is kept; what is further below asks to be kept.
const TOLERANCE: f64 = 0.03;

/// The word that makes this program one step.
const TAKE: &str = "--take";

/// A step: a model on a graph.
struct Case {
    name: &'static str,
    model: &'static str,
    set: &'static [(&'static str, &'static str)],
    graph: &'static str,
}

/// Dense features, sparse features, and columns as few as classes.
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

pub fn run(words: &[String]) -> Outcome {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => check(),
        ["--update"] => Ok(std::fs::write(kept_file(), count()?.to_toml())?),
        [TAKE, name] => take(name),
        _ => {
            Err(format!("unexpected `{}`; it takes `--update` or nothing", words.join(" ")).into())
        }
    }
}

fn check() -> Outcome {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success()) {
        return unchecked("valgrind is missing; `apt-get install valgrind`");
    }
    let kept = Counts::from_toml(&std::fs::read_to_string(kept_file())?)?;
    let counted = count()?;
    if kept.kernels != counted.kernels {
        let (kept, counted) = (kept.kernels, counted.kernels);
        return unchecked(&format!("what is kept is of {kept}, what valgrind runs here {counted}"));
    }
    eprintln!("{:<8} {:>12} {:>12} {:>8}", "step", "expected", "actual", "change");
    let mut grown = false;
    for ((name, expected), (_, actual)) in kept.steps.iter().zip(&counted.steps) {
        let change = *actual as f64 / *expected as f64 - 1.0;
        let verdict = verdict(change);
        let told = ["", "  MORE", "  less: keep it with `cargo xtask instructions --update`"];
        eprintln!(
            "{name:<8} {expected:>12} {actual:>12} {:>+7.2}%{}",
            1e2 * change,
            told[verdict as usize]
        );
        grown |= verdict == Verdict::More;
    }
    if !grown {
        return Ok(());
    }
    let compilers = match kept.compiler == counted.compiler {
        true => String::new(),
        false => format!("; kept are those of {}, this is {}", kept.compiler, counted.compiler),
    };
    let percent = 1e2 * TOLERANCE;
    Err(format!(
        "a step takes over {percent}% more instructions than are kept{compilers}; \
         if it must, say why and run `cargo xtask instructions --update`"
    )
    .into())
}

/// Says that nothing was compared; in CI that is an error.
fn unchecked(why: &str) -> Outcome {
    let why = format!("NOT CHECKED: {why}");
    match std::env::var_os("CI") {
        Some(_) => Err(why.into()),
        None => {
            eprintln!("{why}");
            Ok(())
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Same,
    More,
    Less,
}

fn verdict(change: f64) -> Verdict {
    match change {
        _ if change > TOLERANCE => Verdict::More,
        _ if change < -TOLERANCE => Verdict::Less,
        _ => Verdict::Same,
    }
}

/// What `benches/instructions.toml` holds.
#[derive(Debug, PartialEq)]
struct Counts {
    compiler: String,
    kernels: String,
    /// Every case's name and instructions.
    steps: Vec<(&'static str, u64)>,
}

fn kept_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/instructions.toml")
}

impl Counts {
    fn from_toml(text: &str) -> Outcome<Self> {
        let table: toml::Table = text.parse()?;
        let word = |key: &str| {
            let word = table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
            word.ok_or_else(|| format!("instructions.toml: `{key}` is missing"))
        };
        let step = |case: &Case| {
            let steps = table.get("steps").and_then(|steps| steps.get(case.name));
            let count = steps.and_then(toml::Value::as_integer).filter(|count| *count > 0);
            let count = count.ok_or(format!("instructions.toml: no count of `{}`", case.name))?;
            Ok((case.name, count as u64))
        };
        let steps: Outcome<_> = CASES.iter().map(step).collect();
        Ok(Self { compiler: word("compiler")?, kernels: word("kernels")?, steps: steps? })
    }

    fn to_toml(&self) -> String {
        let Self { compiler, kernels, steps } = self;
        let steps: String = steps.iter().map(|(name, n)| format!("{name} = {n}\n")).collect();
        format!(
            "# Instructions of one training step; `cargo xtask instructions --update` writes this.\n\
             compiler = \"{compiler}\"\nkernels = \"{kernels}\"\n\n[steps]\n{steps}"
        )
    }
}

/// Counts every case with the release build.
fn count() -> Outcome<Counts> {
    let program = build()?;
    let compiler = String::from_utf8(Command::new("rustc").arg("--version").output()?.stdout)?;
    let (mut steps, mut kernels) = (vec![], String::new());
    for case in &CASES {
        let counted;
        (counted, kernels) = count_one(&program, case.name)?;
        steps.push((case.name, counted));
    }
    Ok(Counts { compiler: compiler.trim().into(), kernels, steps })
}

/// The release build of this program, made together with `clenshaw` so that both share one library.
fn build() -> Outcome<PathBuf> {
    built(&["build", "--release", "--package", "clenshaw-cli", "--package", "xtask"], "xtask")
}

/// The instructions of a case and the kernels they are of.
fn count_one(program: &Path, name: &str) -> Outcome<(u64, String)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*counted_step*")
        .arg(program)
        .args(["instructions", TAKE, name])
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = collected(&said).filter(|_| output.status.success());
    let counted = counted.ok_or_else(|| format!("valgrind could not count `{name}`:\n{said}"))?;
    Ok((counted, String::from_utf8(output.stdout)?.trim().into()))
}

/// The number in callgrind's `==123== Collected : 456`; 0 would be a function that was not found.
fn collected(said: &str) -> Option<u64> {
    let mut numbers = said.lines().filter_map(|line| line.split_once("Collected :"));
    numbers.next()?.1.trim().parse().ok().filter(|counted| *counted > 0)
}

/// Makes a case ready, takes its step and says which kernels it used.
fn take(name: &str) -> Outcome {
    let case = CASES.iter().find(|case| case.name == name).ok_or("no such case")?;
    let graph = data::load(case.graph)?;
    let info = model::find(case.model)?;
    let mut hp = info.defaults();
    for (key, value) in case.set {
        hp.set(key, value)?;
    }
    let split = SplitKind::Balanced.draw(&graph, 0)?;
    let setup = Setup::new(&graph, info, hp);
    let label = |i: u32| graph.y[i as usize].expect("a split holds labelled nodes only");
    let targets = Targets::mean_over(graph.graph.n_nodes(), &split.train, label);
    let mut work = setup.plan().workspace(ThreadTeam::new(1));
    let mut params = setup.initial(0);
    let mut optimiser = optimiser(setup.plan(), info, &setup.hp);
    counted_step(setup.plan(), &mut work, &mut params, &mut optimiser, &targets);
    println!("{}", instruction_set());
    Ok(())
}

/// Forward, backward, optimiser; callgrind knows it by its name.
#[inline(never)]
fn counted_step(
    plan: &Plan<f32>,
    work: &mut Workspace<f32>,
    params: &mut AlignedVec<f32>,
    optimiser: &mut Optimiser<f32>,
    targets: &Targets<f32>,
) {
    plan.gradient(work, params, targets, &Stream::new(0, "dropout"));
    optimiser.step(params, work.gradients());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_kept() {
        let kept = Counts::from_toml(&std::fs::read_to_string(kept_file()).unwrap()).unwrap();
        assert!(kept.steps.iter().map(|(name, _)| *name).eq(CASES.iter().map(|case| case.name)));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let steps = CASES.iter().zip(1..).map(|(case, n)| (case.name, n)).collect();
        let counts = Counts { compiler: "rustc 1".into(), kernels: "avx2".into(), steps };
        assert_eq!(Counts::from_toml(&counts.to_toml()).unwrap(), counts);
        let without = counts.to_toml().replace("sparse = 2\n", "");
        let error = Counts::from_toml(&without).unwrap_err().to_string();
        assert_eq!(error, "instructions.toml: no count of `sparse`");
    }

    #[test]
    fn callgrind_is_understood() {
        let said = "==7== Events    : Ir\n==7== Collected : 10574869\n==7== \n";
        assert_eq!(collected(said), Some(10574869));
        assert_eq!(collected("==7== Collected : 0\n"), None);
        assert_eq!(collected("valgrind: cannot\n"), None);
    }

    #[test]
    fn three_percent_are_let_be() {
        let changes = [0.0, 0.029, -0.029, 0.031, -0.031];
        let (same, more, less) = (Verdict::Same, Verdict::More, Verdict::Less);
        assert_eq!(changes.map(verdict), [same, same, same, more, less]);
    }
}

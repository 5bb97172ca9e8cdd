//! Every test there is: style, lints, tests, documentation, studies shared with the real Optuna in files
//! and databases, the program's promises on Cora, and the instructions of a step.

use crate::Outcome;
use crate::{acceptance, cargo, instructions, optuna};

/// The steps before the program itself is tried.
const STEPS: &[(&str, &[&str])] = &[
    ("style", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ("lints of the suites with Optuna", OPTUNA_LINTS),
    ("tests", &["test", "--workspace", "--quiet"]),
    ("documentation", &["doc", "--workspace", "--no-deps", "--quiet"]),
];

/// Suites behind a feature are not among all targets.
const OPTUNA_LINTS: &[&str] = &[
    "clippy",
    "--package=clenshaw-tune",
    "--package=clenshaw-cli",
    "--features=optuna-tests",
    "--tests",
    "--quiet",
    "--",
    "-D",
    "warnings",
];

pub fn run(words: &[String]) -> Outcome {
    if let Some(word) = words.first() {
        return Err(format!("unexpected `{word}`; `cargo xtask test` takes no words").into());
    }
    for (name, words) in STEPS {
        eprintln!("== {name}: cargo {}", words.join(" "));
        cargo::run(words)?;
    }
    eprintln!(
        "== optuna: studies shared with versions 4 and 5, and the dashboard, in files and databases"
    );
    optuna::run(&[])?;
    eprintln!("== acceptance: the release program on Cora");
    acceptance::run(&[])?;
    // Last, so that a machine that cannot count them ends with saying so.
    eprintln!("== instructions: three steps of the release program");
    instructions::run(&[])
}

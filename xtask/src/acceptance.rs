//! The program's promises on Cora: the paper's accuracy, and the same bytes for any number of threads.

use crate::Outcome;
use crate::cargo::{built, target};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The paper's mean test accuracy of ClenshawGCN on Cora, and how far ten splits may stray from it.
const PAPER: f64 = 0.8890;
const MARGIN: f64 = 0.013;

pub fn run(words: &[String]) -> Outcome {
    if let Some(word) = words.first() {
        return Err(format!("unexpected `{word}`; `cargo xtask acceptance` takes no words").into());
    }
    let program = built(&["build", "--release", "--package", "clenshaw-cli"], "clenshaw")?;
    let ten = train(&program, "10", "2")?;
    let mean = ten["test_accuracy"]["mean"].as_f64().ok_or("no mean in the document")?;
    if (mean - PAPER).abs() > MARGIN {
        return Err(
            format!("mean test accuracy {mean:.4}; the paper has {PAPER} ± {MARGIN}").into()
        );
    }
    // The first two of the ten runs once more, alone and then threaded, must be the same runs.
    for (runs, threads) in [("2", "1"), ("1", "2")] {
        let again = train(&program, runs, threads)?;
        let (one, other) = (records(&again), records(&ten));
        if one.is_empty() || other[..one.len()] != one[..] {
            return Err(format!("--runs {runs} --threads {threads} gave other numbers").into());
        }
    }
    eprintln!("mean test accuracy {mean:.4} over ten splits; the same numbers for 1 and 2 threads");
    Ok(())
}

fn train(program: &Path, runs: &str, threads: &str) -> Outcome<Value> {
    let folder = target().join("acceptance").join(format!("{runs}-{threads}"));
    let output = Command::new(program)
        .args(["train", "cora", "--model", "clenshaw-gcn", "--preset", "paper", "--json"])
        .args(["--runs", runs, "--seed", "0", "--threads", threads, "--out"])
        .arg(folder)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The runs of a document, without their times.
fn records(document: &Value) -> Vec<Value> {
    let mut runs = document["runs"].as_array().cloned().unwrap_or_default();
    for run in runs.iter_mut().filter_map(Value::as_object_mut) {
        run.shift_remove("seconds");
    }
    runs
}

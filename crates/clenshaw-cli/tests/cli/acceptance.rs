//! The program on Cora with the paper's settings: accuracy, and the same numbers for any number of threads.

use serde_json::Value;
use std::process::Command;

/// The paper's mean test accuracy of ClenshawGCN on Cora.
const PAPER: f64 = 0.8890;
/// The largest accepted difference of a mean over ten splits.
const TOLERANCE: f64 = 0.013;

/// Returns the JSON document of a training with the given number of runs and threads.
fn train(runs: usize, threads: usize) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_clenshaw"))
        .args(["train", "cora", "--model", "clenshaw-gcn", "--preset", "paper", "--json"])
        .args(["--seed", "0", "--runs", &runs.to_string(), "--threads", &threads.to_string()])
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The records of all runs, without their times.
fn records(document: &Value) -> Vec<Value> {
    let mut runs = document["runs"].as_array().unwrap().clone();
    runs.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().shift_remove("seconds")));
    runs
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let (one, two) = (records(&train(1, 1)), records(&train(1, 2)));
    assert_eq!(one.len(), 1);
    assert_eq!(one, two);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn accuracy_of_the_paper() {
        let ten = train(10, 2);
        let mean = ten["test_accuracy"]["mean"].as_f64().unwrap();
        assert!((mean - PAPER).abs() <= TOLERANCE, "{mean:.4}; the paper has {PAPER}");
        // Runs do not depend on the runs beside them.
        assert_eq!(records(&train(2, 1))[..], records(&ten)[..2]);
    }
}

//! Trains on Cora with the paper's settings: the accuracy is near the paper's, and results do not depend on
//! the number of threads.

use serde_json::Value;
use std::process::Command;

/// The paper's mean test accuracy of ClenshawGCN on Cora.
const PAPER: f64 = 0.8890;

/// Trains on Cora and returns the JSON document that the program prints.
fn train(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_clenshaw"))
        .args(["train", "cora", "--model", "clenshaw-gcn", "--preset", "paper", "--json"])
        .args(["--seed", "0"])
        .args(arguments)
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
    for key in ["seconds", "peak_memory_bytes", "forecast_memory_bytes"] {
        runs.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove(key)));
    }
    runs
}

/// The mean test accuracy over all runs.
fn accuracy(document: &Value) -> f64 {
    document["test_accuracy"]["mean"].as_f64().unwrap()
}

#[test]
fn accuracy_of_one_run_is_near_the_papers() {
    let accuracy = accuracy(&train(&["--runs", "1"]));
    assert!((accuracy - PAPER).abs() <= 0.03, "{accuracy:.4}; the paper has {PAPER}");
}

#[test]
fn results_do_not_depend_on_threads_or_other_runs() {
    let train =
        |runs, threads| train(&["--set", "max_epochs=40", "--runs", runs, "--threads", threads]);
    let (two, one, threaded) = (train("2", "2"), train("1", "1"), train("1", "2"));
    assert_eq!(records(&one), records(&threaded));
    assert_eq!(records(&one)[..], records(&two)[..1]);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn mean_accuracy_over_ten_splits_is_near_the_papers() {
        let ten = train(&["--runs", "10", "--threads", "2"]);
        let mean = accuracy(&ten);
        assert!((mean - PAPER).abs() <= 0.013, "{mean:.4}; the paper has {PAPER}");
        assert_eq!(records(&train(&["--runs", "2", "--threads", "1"]))[..], records(&ten)[..2]);
    }
}

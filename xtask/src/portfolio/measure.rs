//! Trains configurations on graphs on which they have not been measured.

use super::scores::{Configuration, Scores};
use super::{GRAPHS, Options, Protocol, RECEIPTS};
use crate::Result;
use crate::cargo::{build, root, target};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Trains what is missing, and appends one receipt per cell.
pub fn measure(options: &Options) -> Result {
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            build(&["build", "--release", "--package=clenshaw-cli", "--bin=clenshaw"], "clenshaw")?
        }
    };
    let scores = Scores::read()?;
    let candidates = candidates(&scores, options);
    let graphs = GRAPHS.iter().filter(|p| options.graphs.iter().any(|graph| graph == p.graph));
    for protocol in graphs {
        let missing: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|&index| scores.value(index, protocol.graph).is_none())
            .collect();
        println!("{}: {} configurations", protocol.graph, missing.len());
        for index in missing {
            let configuration = &scores.configurations[index];
            match train(&program, configuration, protocol) {
                Ok(receipt) => append(&receipt)?,
                // A configuration may diverge or not fit into memory on another graph.
                Err(error) => eprintln!("{} on {}: {error}", configuration.model, protocol.graph),
            }
        }
    }
    Ok(())
}

/// The linear model, and the best configurations of every graph that are not too slow.
fn candidates(scores: &Scores, options: &Options) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([0]);
    for graph in &scores.graphs {
        let own = scores.cells.iter().filter(|((index, other), cell)| {
            other == graph
                && cell.seconds <= options.max_seconds
                && scores.configurations[*index].origins.contains(graph)
        });
        let mut ranked: Vec<(usize, f64)> =
            own.map(|((index, _), cell)| (*index, cell.value)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.extend(ranked.into_iter().take(options.candidates).map(|(index, _)| index));
    }
    found
}

/// Trains a configuration on a graph; returns the receipt.
fn train(program: &Path, configuration: &Configuration, protocol: &Protocol) -> Result<Value> {
    let name = format!("portfolio-{}", std::process::id());
    let folder: PathBuf = target().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(program);
    command.args(["train", protocol.graph, "--model", &configuration.model, "--quiet", "--json"]);
    command.args(["--split", protocol.split, "--runs", &protocol.runs.to_string()]);
    // Times of different machines and loads are compared: one thread never waits for another.
    command.args(["--threads", "1"]);
    command.arg("--out").arg(&folder).current_dir(root());
    for (key, value) in &configuration.hyper {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        command.args(["--set", &format!("{key}={value}")]);
    }
    let output = command.output()?;
    let result = receipt(&folder, &output.stdout);
    let _ = std::fs::remove_dir_all(&folder);
    result.map_err(|error| {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if stderr.is_empty() { error } else { stderr.into() }
    })
}

/// The receipt of a cell, as in the other files of receipts.
fn receipt(folder: &Path, summary: &[u8]) -> Result<Value> {
    let summary: Value = serde_json::from_slice(summary)?;
    let stored: Value = serde_json::from_slice(&std::fs::read(folder.join("receipt.json"))?)?;
    let mut receipt = Map::new();
    for key in ["graph", "model", "split", "hyper"] {
        receipt.insert(key.into(), summary[key].clone());
    }
    let machine =
        ["version", "data_sha256", "processor", "instructions", "threads", "finished_unix_seconds"];
    for key in machine {
        receipt.insert(key.into(), stored[key].clone());
    }
    let runs = summary["runs"].as_array().cloned().unwrap_or_default();
    let seconds: f64 = runs.iter().filter_map(|run| run["seconds"].as_f64()).sum();
    let run = |run: &Value| {
        let keys = ["seed", "split_sha256", "epochs", "val_accuracy", "test_accuracy", "roc_auc"];
        keys.into_iter().map(|key| (key.to_owned(), run[key].clone())).collect::<Map<_, _>>()
    };
    receipt.insert("seconds".into(), json!(seconds));
    receipt.insert("runs".into(), runs.iter().map(run).collect());
    Ok(Value::Object(receipt))
}

fn append(receipt: &Value) -> Result {
    let path = root().join(RECEIPTS);
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    // One write, so that an interruption leaves whole lines.
    file.write_all(format!("{receipt}\n").as_bytes())?;
    let (model, graph) = (&receipt["model"], &receipt["graph"]);
    println!("{model} on {graph}: {:.1} s", receipt["seconds"].as_f64().unwrap_or_default());
    Ok(())
}

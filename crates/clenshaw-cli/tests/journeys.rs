//! Tests of whole user journeys: several commands in a row, from files to predictions.
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod common;

use common::{Random, Sandbox, text, without_times};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

const CLASSES: [&str; 3] = ["red", "green", "blue"];
const N_NODES: usize = 240;

/// Writes `NAME/edges.csv` and `NAME/nodes.csv`, and returns the class of every node.
///
/// Four in five edges join nodes of the same class; every fifth node has no label in the table.
fn write_tables(sandbox: &Sandbox, name: &str) -> HashMap<String, &'static str> {
    let random = &mut Random(7);
    let class: Vec<usize> = (0..N_NODES).map(|_| random.below(3)).collect();
    let mut edges = String::from("source,target\n");
    for _ in 0..4 * N_NODES {
        let (i, same) = (random.below(N_NODES), random.below(5) > 0);
        let j = loop {
            let j = random.below(N_NODES);
            if j != i && (class[j] == class[i]) == same {
                break j;
            }
        };
        writeln!(edges, "person-{i},person-{j}").unwrap();
    }
    let mut nodes = String::from("id,height,weight,town,label\n");
    for (i, &c) in class.iter().enumerate() {
        let (height, weight) = (10 * c + random.below(30), 40 - 10 * c + random.below(30));
        let town = ["York", "Bath", "Ely"][if random.below(3) == 0 { random.below(3) } else { c }];
        let label = if i % 5 == 0 { "" } else { CLASSES[c] };
        writeln!(nodes, "person-{i},{height},{weight},{town},{label}").unwrap();
    }
    sandbox.write(&format!("{name}/edges.csv"), &edges);
    sandbox.write(&format!("{name}/nodes.csv"), &nodes);
    class.into_iter().enumerate().map(|(i, c)| (format!("person-{i}"), CLASSES[c])).collect()
}

/// The share of correct predictions among the rows with this part, and their number.
fn accuracy(predictions: &str, classes: &HashMap<String, &str>, part: &str) -> (f64, usize) {
    let rows = predictions.lines().skip(1).filter(|row| row.rsplit(',').next() == Some(part));
    let correct: Vec<bool> = rows
        .map(|row| {
            let mut cells = row.split(',');
            let (node, prediction) = (cells.next().unwrap(), cells.next().unwrap());
            classes[node] == prediction
        })
        .collect();
    let n_correct = correct.iter().filter(|&&correct| correct).count();
    (n_correct as f64 / correct.len() as f64, correct.len())
}

fn percent(share: &Value) -> String {
    format!("{:.2}", 100.0 * share.as_f64().unwrap())
}

#[test]
fn demo_prints_the_summaries_of_its_run_folders() {
    let sandbox = Sandbox::new();
    let page = sandbox.stdout("demo --runs 1");
    let folders = std::fs::read_dir(sandbox.path("runs/demo")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let summaries: Vec<Value> = folders
        .map(|folder| serde_json::from_slice(&sandbox.read(folder.join("summary.json"))).unwrap())
        .collect();
    assert_eq!(summaries.len(), 12);
    let mut accuracies = HashMap::new();
    for summary in &summaries {
        let linear = summary["hyper"]["use_weight"] == false;
        let (graph, model) =
            (summary["graph"].as_str().unwrap(), summary["model"].as_str().unwrap());
        let label = format!("{model}{}", if linear { ", linear" } else { "" });
        let row = page.lines().find(|line| {
            let cells: Vec<&str> = line.split("  ").filter(|cell| !cell.is_empty()).collect();
            cells.len() > 2 && cells[0] == graph && cells[1].trim() == label
        });
        let row = row.unwrap_or_else(|| panic!("no row for {label} on {graph} in\n{page}"));
        let mean = &summary["test_accuracy"]["mean"];
        assert!(row.contains(&format!(" {}  ", percent(mean))), "{row}: {mean}");
        assert!(row.contains(&percent(&summary["majority_share"])), "{row}");
        accuracies.insert((graph, label), mean.as_f64().unwrap());
    }
    let accuracy = |graph, model: &str| accuracies[&(graph, model.to_owned())];
    assert!(accuracy("cora", "clenshaw-gcn") > 0.83, "{accuracies:?}");
    assert!(accuracy("cora", "gcn") > accuracy("cora", "mlp") + 0.05, "{accuracies:?}");
    assert!(accuracy("csbm", "clenshaw-gcn") > accuracy("csbm", "gcn") + 0.05, "{accuracies:?}");
    assert!(text(&sandbox.read("runs/demo/filters.svg")).contains("<polyline"));
    assert!(page.contains("\npages: runs/demo/cora.html, runs/demo/csbm.html\n"), "{page}");
    for graph in ["cora", "csbm"] {
        let html = text(&sandbox.read(format!("runs/demo/{graph}.html")));
        assert!(html.contains("clenshaw-gcn (use_act=false, use_weight=false)"), "{graph}");
    }
}

/// The interrupt arrives when the first run is finished and the second has started. Also compares the
/// predictions with the labels.
#[cfg(unix)]
#[test]
fn interrupted_training_on_user_tables_is_resumed_with_the_same_bytes() {
    let sandbox = Sandbox::new();
    let classes = write_tables(&sandbox, "people");
    let train = "train people --set max_epochs=1000 --set stop=none --set K=4 --set hidden=16 \
                 --runs 2 --threads 1 --json";
    let whole = sandbox.stdout(&format!("{train} --quiet --out whole"));

    let interrupted = sandbox.interrupt(&format!("{train} --out parts"), |line| {
        let started = line == "people clenshaw-gcn seed 1: started, at most 1000 epochs";
        if started {
            std::thread::sleep(Duration::from_millis(100));
        }
        started
    });
    assert_eq!(interrupted.status.code(), Some(1));
    assert_eq!(text(&interrupted.stdout), "");
    let message =
        "stopping; rerun the same command to resume (press Ctrl-C again to quit immediately)";
    let stderr = text(&interrupted.stderr);
    assert!(stderr.ends_with(&format!("{message}\nerror: interrupted\n")), "{stderr}");
    assert!(sandbox.path("parts/runs/1.checkpoint").exists());
    assert!(!sandbox.path("parts/summary.json").exists());

    let resumed = sandbox.run(&format!("{train} --out parts"));
    let stderr = text(&resumed.stderr);
    let start = "people clenshaw-gcn seed 1: resumed after ";
    let epochs = stderr.lines().find_map(|line| line.strip_prefix(start));
    let epochs = epochs.and_then(|rest| rest.strip_suffix(" epochs, at most 1000 epochs"));
    let epochs: usize = epochs.unwrap_or_else(|| panic!("{stderr}")).parse().unwrap();
    assert!((1..1000).contains(&epochs), "{stderr}");
    assert_eq!(without_times(&text(&resumed.stdout)), without_times(&whole));
    for seed in [0, 1] {
        for file in ["model.safetensors", "epochs.jsonl", "predictions.csv"] {
            let bytes = |folder| sandbox.read(format!("{folder}/runs/{seed}/{file}"));
            assert!(bytes("parts") == bytes("whole"), "{file} of seed {seed} differs");
        }
    }
    assert!(!sandbox.path("parts/runs/1.checkpoint").exists());

    let summary: Value = serde_json::from_str(&whole).unwrap();
    for (seed, run) in summary["runs"].as_array().unwrap().iter().enumerate() {
        let predictions = sandbox.stdout(&format!("predict parts --seed {seed}"));
        assert_eq!(predictions.lines().count(), 1 + N_NODES);
        let header = predictions.lines().next().unwrap();
        assert_eq!(header, "node,prediction,blue,green,red,part");
        for (part, key) in [("val", "val_accuracy"), ("test", "test_accuracy")] {
            let (share, n) = accuracy(&predictions, &classes, part);
            assert!(n >= 30, "{n} nodes in {part}");
            let recorded = run[key].as_f64().unwrap();
            assert!((share - recorded).abs() < 1e-12, "{part}: {share} instead of {recorded}");
        }
        let (share, n) = accuracy(&predictions, &classes, "");
        assert_eq!(n, N_NODES / 5, "nodes without a label are in no part");
        assert!(share > 0.8, "{share} of the nodes without a label are predicted correctly");
    }
}

#[test]
fn training_with_the_best_settings_gives_the_accuracy_of_the_best_trial() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox, "people");
    let tune = "tune people --model gcn --trials 4 --splits 2 --set max_epochs=30 --set hidden=8";
    let page = sandbox.stdout(&format!("{tune} --quiet --pruner none"));
    let line = |start: &str| page.lines().find_map(|line| line.strip_prefix(start)).unwrap();
    let printed = line("best: trial ").split(", validation accuracy ").last().unwrap();
    let settings = line("best settings: ");

    let tuned =
        sandbox.json(&format!("train --config {settings} --seed 0 --runs 2 --json --quiet"));
    let runs = tuned["runs"].as_array().unwrap().iter();
    let mean = runs.map(|run| run["val_accuracy"].as_f64().unwrap()).sum::<f64>() / 2.0;
    assert_eq!(format!("{:.2}%", 100.0 * mean), printed);

    let next = line("next: clenshaw ").split(" (").next().unwrap();
    let evaluation = sandbox.json(&format!("{next} --json --quiet"));
    let seeds = evaluation["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_u64());
    assert!(seeds.eq((2..22).map(Some)), "the splits of the evaluation were not used for tuning");
}

#[test]
fn imported_graph_gives_the_same_results_as_its_tables() {
    let sandbox = Sandbox::new();
    let classes = write_tables(&sandbox, "people");
    let import = sandbox.stdout("data import people --out mine --data graphs");
    let next = import.lines().last().unwrap().strip_prefix("next: clenshaw ").unwrap();
    assert_eq!(next, "train mine");

    let options = "--model gcn --set max_epochs=50 --split stratified --json --quiet";
    let by_name = sandbox.json(&format!("{next} --data graphs {options} --out by-name"));
    let by_path = sandbox.json(&format!("train people {options} --out by-path"));
    assert_eq!(by_name["test_accuracy"], by_path["test_accuracy"]);

    let predictions = sandbox.stdout("predict by-name --data graphs");
    assert_eq!(predictions, text(&sandbox.read("by-path/runs/0/predictions.csv")));
    let (share, _) = accuracy(&predictions, &classes, "test");
    assert_eq!(Some(share), by_name["test_accuracy"]["mean"].as_f64());
    assert!(share > 0.8, "{share}");
    assert_eq!(sandbox.stdout("predict by-path mine --data graphs").lines().count(), 1 + N_NODES);
}

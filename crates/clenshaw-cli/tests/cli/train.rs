//! `clenshaw train` and `clenshaw predict`.

use crate::common::{Sandbox, text, without_times};
use serde_json::{Value, json};

const SMALL: &str = "train csbm:nodes=200 --set max_epochs=20 --runs 2 --json --quiet";

#[test]
fn json_has_settings_runs_and_statistics() {
    let sandbox = Sandbox::new();
    let document = sandbox.json(&format!("{SMALL} --seed 5 --model gcn --out here"));
    assert_eq!(document["graph"], "csbm:nodes=200");
    assert_eq!(document["model"], "gcn");
    assert_eq!(document["split"], "balanced");
    assert_eq!(document["hyper"]["max_epochs"], 20);
    let runs = document["runs"].as_array().unwrap();
    assert_eq!([&runs[0]["seed"], &runs[1]["seed"]], [5, 6]);
    for run in runs {
        assert_eq!(run["epochs"], 20);
        for key in ["best_epoch", "val_loss", "val_accuracy", "macro_f1", "balanced_accuracy"] {
            assert!(run[key].is_number(), "{key}");
        }
    }
    let accuracies: Vec<f64> =
        runs.iter().map(|run| run["test_accuracy"].as_f64().unwrap()).collect();
    let statistic = clenshaw::report::Statistic::of(&accuracies);
    assert_eq!(document["test_accuracy"], json!(statistic));
    let stored: Value = serde_json::from_slice(&sandbox.read("here/summary.json")).unwrap();
    assert_eq!(stored, document);
}

#[test]
fn precedence_is_defaults_preset_config_options() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "my.toml",
        "model = \"gcn\"\nruns = 2\nseed = 3\n[hyper]\nhidden = 8\nmax_epochs = 5\ndropout = 0.1\n",
    );
    let document = sandbox.json(
        "train csbm:nodes=100 --preset paper --config my.toml --set hidden=4 --runs 1 \
         --split stratified --json",
    );
    assert_eq!(document["model"], "gcn");
    assert_eq!((&document["split"], &document["seed"]), (&json!("stratified"), &json!(3)));
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    let hyper = &document["hyper"];
    assert_eq!((&hyper["hidden"], &hyper["max_epochs"]), (&json!(4), &json!(5)));
    assert_eq!((&hyper["dropout"], &hyper["scaling"]), (&json!(0.1), &json!("row")));
}

#[test]
fn run_toml_reproduces_the_run() {
    let sandbox = Sandbox::new();
    let first = sandbox.stdout(&format!("{SMALL} --out one"));
    let again = sandbox.stdout("train --config one/run.toml --json --out two");
    assert_eq!(without_times(&again), without_times(&first));
    assert_eq!(sandbox.read("two/run.toml"), sandbox.read("one/run.toml"));
}

#[test]
fn page_has_table_and_run_folder() {
    let sandbox = Sandbox::new();
    let page =
        sandbox.stdout("train csbm:nodes=200 --set max_epochs=20 --runs 2 --out here --quiet");
    let document: Value = serde_json::from_slice(&sandbox.read("here/summary.json")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let graph =
        "csbm:nodes=200: 200 nodes, 1464 edges, 32 features, 3 classes, edge homophily 0.09";
    assert_eq!(lines[0], graph);
    assert_eq!(
        lines[1],
        "clenshaw-gcn, split balanced: 120 train, 40 val, 40 test, seed 0 (first of 2 splits)"
    );
    let header = "seed  epochs  best epoch  val acc  test acc  macro-F1  balanced acc  seconds";
    assert_eq!(lines[3], header);
    let percent = |value: &Value| format!("{:.2}", 100.0 * value.as_f64().unwrap());
    for (line, run) in lines[5..7].iter().zip(document["runs"].as_array().unwrap()) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[0], run["seed"].to_string());
        assert_eq!(cells[2], run["best_epoch"].to_string());
        assert_eq!(cells[4], percent(&run["test_accuracy"]));
        assert_eq!(cells[6], percent(&run["balanced_accuracy"]));
    }
    let mean = percent(&document["test_accuracy"]["mean"]);
    assert!(lines[8].starts_with(&format!("test accuracy {mean} ± ")), "{}", lines[8]);
    assert!(lines[8].contains("] over 2 runs; majority class "), "{}", lines[8]);
    assert_eq!(lines[9], "run folder: here");
}

#[test]
fn quiet_hides_progress_lines() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(SMALL);
    assert_eq!(text(&output.stderr), "");
    let stderr = text(&sandbox.run(&SMALL.replace("--quiet", "--threads 1 --fresh")).stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{stderr}");
    assert_eq!(lines[0], "csbm:nodes=200 clenshaw-gcn seed 0: started, at most 20 epochs");
    assert!(lines[1].starts_with("csbm:nodes=200 clenshaw-gcn seed 0: 20 epochs, best epoch "));
}

#[test]
fn predict_returns_the_stored_predictions() {
    let sandbox = Sandbox::new();
    let document = sandbox.json(&format!("{SMALL} --out here"));
    let loss = |run: &Value| run["val_loss"].as_f64().unwrap();
    let runs = document["runs"].as_array().unwrap();
    let best = runs.iter().min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
    let stored = |seed: &Value| text(&sandbox.read(format!("here/runs/{seed}/predictions.csv")));
    assert_eq!(sandbox.stdout("predict here"), stored(&best["seed"]));
    for run in runs {
        let seed = &run["seed"];
        assert_eq!(sandbox.stdout(&format!("predict here --seed {seed}")), stored(seed));
    }
    assert_eq!(sandbox.stdout("predict here --seed 1 --threads 2 --out mine.csv"), "");
    assert_eq!(text(&sandbox.read("mine.csv")), stored(&json!(1)));

    let other = sandbox.stdout("predict here csbm:nodes=50");
    assert_eq!(other.lines().count(), 51);
    assert!(
        other.lines().skip(1).all(|line| line.ends_with(',')),
        "nodes of another graph have no part"
    );
    let (code, message) = sandbox.failure("predict here csbm:features=5");
    assert_eq!(code, 2);
    assert!(message.contains("5 features, but the model was trained with 32"), "{message}");
    assert_eq!(
        sandbox.failure("predict here --seed 9"),
        (2, "error: here: no finished run with seed 9\n".into())
    );
}

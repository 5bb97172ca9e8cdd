//! `clenshaw compare`: all models use the same splits, and failures are reported per model.

use crate::common::{Sandbox, text};

const SMALL: &str =
    "compare csbm:nodes=150 grid:rows=8,columns=8 --models mlp,gcn --runs 2 --set max_epochs=15";

#[test]
fn all_models_use_the_splits_of_train() {
    let sandbox = Sandbox::new();
    let document = sandbox.json(&format!("{SMALL} --json --quiet --seed 4"));
    let summaries = document["summaries"].as_array().unwrap();
    let pairs: Vec<(&str, &str)> = summaries
        .iter()
        .map(|s| (s["graph"].as_str().unwrap(), s["model"].as_str().unwrap()))
        .collect();
    let (csbm, grid) = ("csbm:nodes=150", "grid:rows=8,columns=8");
    assert_eq!(pairs, [(csbm, "mlp"), (csbm, "gcn"), (grid, "mlp"), (grid, "gcn")]);
    for run in 0..2 {
        let split = |s: usize| &summaries[s]["runs"][run]["split_sha256"];
        assert_eq!(split(0), split(1), "both models on csbm");
        assert_ne!(split(0), split(2), "two graphs");
    }
    let alone = sandbox.json(
        "train csbm:nodes=150 --model gcn --set max_epochs=15 --split balanced \
         --runs 2 --seed 4 --json --quiet",
    );
    assert_eq!(summaries[1]["test_accuracy"], alone["test_accuracy"]);
    assert_eq!(document["failed"].as_array().unwrap().len(), 0);
}

#[test]
fn page_has_one_row_per_model_and_one_column_per_graph() {
    let sandbox = Sandbox::new();
    let page = sandbox.stdout(&format!("{SMALL} --quiet"));
    let header = page.lines().next().unwrap();
    assert!(header.starts_with("model") && header.ends_with("grid:rows=8,columns=8"), "{header}");
    assert!(page.lines().nth(2).unwrap().starts_with("mlp "), "{page}");
    assert!(
        page.contains("mean ± standard deviation over 2 runs; seeds from 0\nsplit: balanced"),
        "{page}"
    );
    let markdown = text(&sandbox.read("runs/compare/compare.md"));
    assert!(markdown.starts_with("| model |"), "{markdown}");
}

#[test]
fn other_models_continue_if_one_fails() {
    let sandbox = Sandbox::new();
    // A file where gcn's run folder should be makes that model fail.
    let arguments = "compare csbm:nodes=150 --models mlp,gcn --runs 1 --set max_epochs=5 --quiet";
    sandbox.stdout(arguments);
    let compare = sandbox.path("runs/compare");
    let folders = std::fs::read_dir(&compare).unwrap().map(|entry| entry.unwrap().path());
    let gcn = folders.into_iter().find(|path| path.to_string_lossy().contains("gcn")).unwrap();
    std::fs::remove_dir_all(&gcn).unwrap();
    std::fs::write(&gcn, "in the way").unwrap();
    let output = sandbox.run(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    let failed = |line: &str| line.starts_with("gcn ") && line.ends_with("failed");
    assert!(page.lines().any(failed) && page.contains("is a file, not a folder"), "{page}");
    assert!(
        page.contains("test accuracy in percent over 1 run; seeds from 0\nsplit: balanced"),
        "{page}"
    );
}

#[test]
fn models_that_fail_for_the_same_reason_share_a_line() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("compare texas --models mlp,gcn --quiet --data nowhere");
    let output = command.env_remove("CLENSHAW_DATA").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let page = text(&output.stdout);
    assert_eq!(page.matches("looked in nowhere/texas").count(), 1, "{page}");
    assert!(page.contains("\nmlp, gcn on texas: texas: "), "{page}");
}

#[test]
fn finished_runs_are_kept() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&format!("{SMALL} --json --quiet"));
    let again = sandbox.json(&format!("{SMALL} --json --quiet --resume"));
    let runs = |document: &serde_json::Value| document["summaries"][0]["runs"].clone();
    assert_eq!(runs(&first), runs(&again), "records, including times, are read from the folder");
}

#[test]
fn misspelt_arguments_are_rejected() {
    let sandbox = Sandbox::new();
    let cases = [
        ("compare csbm --models gcm", "unknown model `gcm`; did you mean `gcn`?"),
        ("compare csbm coar", "unknown graph `coar`; did you mean `cora`?"),
        (
            "compare csbm --models gcn --set hiden=3",
            "unknown hyper-parameter `hiden`; did you mean",
        ),
        ("compare csbm --models gcn --set hidden", "expected KEY=VALUE"),
        ("compare", "required"),
    ];
    for (arguments, message) in cases {
        let (code, stderr) = sandbox.failure(arguments);
        assert_eq!(code, 2, "{arguments}: {stderr}");
        assert!(stderr.contains(message), "{arguments}: {stderr}");
    }
    assert!(sandbox.is_empty());
}

#[test]
fn repeated_graphs_are_compared_once() {
    let sandbox = Sandbox::new();
    let graph = "csbm:nodes=60";
    let arguments =
        format!("compare {graph} {graph} --models mlp --runs 1 --set max_epochs=3 --json");
    let document: serde_json::Value = serde_json::from_str(&sandbox.stdout(&arguments)).unwrap();
    assert_eq!(document["summaries"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["summaries"][0]["graph"], graph);
}

#[test]
fn folder_with_the_name_of_a_known_graph_is_another_graph() {
    let sandbox = Sandbox::new();
    let rows: String = (0..30).map(|i| format!("n{i},{},{}\n", i % 7, i % 2)).collect();
    sandbox.write("csbm/nodes.csv", &format!("id,age,label\n{rows}"));
    let edges: String = (0..30).map(|i| format!("n{i},n{}\n", (i + 2) % 30)).collect();
    sandbox.write("csbm/edges.csv", &format!("source,target\n{edges}"));
    let arguments = "compare csbm ./csbm csbm/ --models mlp --runs 1 --set max_epochs=3 --json";
    let document = sandbox.json(&format!("{arguments} --quiet"));
    let summaries = document["summaries"].as_array().unwrap();
    let graphs: Vec<&str> = summaries.iter().map(|s| s["graph"].as_str().unwrap()).collect();
    assert_eq!(graphs, ["csbm", "./csbm"]);
}

#[test]
fn accuracy_without_test_nodes_is_a_dash() {
    let sandbox = Sandbox::new();
    let page = sandbox.stdout(
        "compare csbm:nodes=60 --models mlp --runs 2 --split all-labels --set max_epochs=3 --quiet",
    );
    assert!(page.lines().any(|line| line.starts_with("mlp ") && line.ends_with(" -")), "{page}");
    assert!(!page.contains("NaN") && !page.contains("majority class"), "{page}");
}

#[test]
fn interpretation_of_own_tables_is_printed_once() {
    let sandbox = Sandbox::new();
    let rows: String =
        (0..30).map(|i| format!("n{i},{},{}\n", i % 7, ["tea", "coffee"][i % 2])).collect();
    sandbox.write("g/nodes.csv", &format!("id,age,label\n{rows}"));
    let edges: String = (0..30).map(|i| format!("n{i},n{}\n", (i + 2) % 30)).collect();
    sandbox.write("g/edges.csv", &format!("source,target\n{edges}"));
    let output = sandbox.run("compare g --models mlp,gcn --set max_epochs=3 --quiet");
    assert_eq!(text(&output.stderr).matches("numbers: age").count(), 1, "{}", text(&output.stderr));
    let tuned =
        sandbox.stdout("tune g --model gcn --trials 1 --splits 1 --quiet --set max_epochs=3");
    assert!(tuned.contains("\n  numbers: age\n"), "{tuned}");
}

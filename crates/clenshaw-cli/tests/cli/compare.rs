//! Comparing models: one protocol for all, and a failure in its place.

use crate::common::{Sandbox, text};

const SMALL: &str =
    "compare csbm:nodes=150 grid:rows=8,columns=8 --models mlp,gcn --runs 2 --set max_epochs=15";

#[test]
fn every_model_gets_the_splits_that_train_draws() {
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
        "train csbm:nodes=150 --model gcn --preset paper --set max_epochs=15 --split balanced \
         --runs 2 --seed 4 --json --quiet",
    );
    assert_eq!(summaries[1]["test_accuracy"], alone["test_accuracy"]);
    assert_eq!(document["failed"].as_array().unwrap().len(), 0);
}

#[test]
fn the_page_shows_a_row_a_model_and_a_column_a_graph() {
    let sandbox = Sandbox::new();
    let page = sandbox.stdout(&format!("{SMALL} --quiet"));
    let header = page.lines().next().unwrap();
    assert!(header.starts_with("model") && header.ends_with("grid:rows=8,columns=8"), "{header}");
    assert!(page.lines().nth(2).unwrap().starts_with("mlp "), "{page}");
    assert!(page.contains("mean ± standard deviation over 2 runs; split balanced"), "{page}");
    let markdown = text(&sandbox.read("runs/compare/compare.md"));
    assert!(markdown.starts_with("| model |"), "{markdown}");
}

#[test]
fn a_model_that_fails_leaves_the_others_standing() {
    let sandbox = Sandbox::new();
    // A file in the place of gcn's run folder: that order cannot begin.
    let words = "compare csbm:nodes=150 --models mlp,gcn --runs 1 --set max_epochs=5 --quiet";
    sandbox.stdout(words);
    let compare = sandbox.path("runs/compare");
    let folders = std::fs::read_dir(&compare).unwrap().map(|entry| entry.unwrap().path());
    let gcn = folders.into_iter().find(|path| path.to_string_lossy().contains("gcn")).unwrap();
    std::fs::remove_dir_all(&gcn).unwrap();
    std::fs::write(&gcn, "in the way").unwrap();
    let output = sandbox.run(words);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("failed") && page.contains("is a file, not a folder"), "{page}");
    assert!(page.lines().any(|line| line.starts_with("mlp") && line.contains('±')), "{page}");
}

#[test]
fn finished_runs_are_kept_with_resume() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&format!("{SMALL} --json --quiet"));
    let again = sandbox.json(&format!("{SMALL} --json --quiet --resume"));
    let runs = |document: &serde_json::Value| document["summaries"][0]["runs"].clone();
    assert_eq!(runs(&first), runs(&again), "records, times included, come from the folder");
}

#[test]
fn slips_are_named() {
    let sandbox = Sandbox::new();
    let cases = [
        ("compare csbm --models gcm", "unknown model `gcm`; did you mean `gcn`?"),
        (
            "compare csbm --models gcn --set hiden=3",
            "unknown hyper-parameter `hiden`; did you mean",
        ),
        ("compare csbm --models gcn --set hidden", "expected `key=value`"),
        ("compare", "required"),
    ];
    for (words, message) in cases {
        let (code, stderr) = sandbox.refused(words);
        assert_eq!(code, 2, "{words}: {stderr}");
        assert!(stderr.contains(message), "{words}: {stderr}");
    }
    assert!(sandbox.is_empty());
}

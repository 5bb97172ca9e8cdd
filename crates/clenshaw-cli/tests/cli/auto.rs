//! `clenshaw auto`: from one's own tables to predictions, resuming, budgets and small graphs.

use crate::common::{Random, Sandbox, text, without_times};
use serde_json::Value;

/// Options that make a search fast.
const SMALL: &str =
    "--models mlp,gcn,gpr-gnn --set max_epochs=30 --set hidden=8 --splits 3 --trials 8";

/// Writes tables of `n` nodes in two groups. Most edges are within a group and every eighth node has no label.
fn write_groups(sandbox: &Sandbox, folder: &str, n: usize) {
    let mut random = Random(5);
    let (mut nodes, mut edges) =
        (String::from("id,age,income,label\n"), String::from("source,target\n"));
    for i in 0..n {
        let group = i % 2;
        let label = if i % 8 == 7 { "" } else { ["yes", "no"][group] };
        let (age, income) = (20 + random.below(30) + 12 * group, 1000 + random.below(900));
        nodes += &format!("p{i},{age},{income},{label}\n");
        for _ in 0..3 {
            let same = random.below(8) > 0;
            let other = 2 * random.below(n / 2) + if same { group } else { 1 - group };
            if other != i {
                edges += &format!("p{i},p{other}\n");
            }
        }
    }
    sandbox.write(&format!("{folder}/nodes.csv"), &nodes);
    sandbox.write(&format!("{folder}/edges.csv"), &edges);
}

#[test]
fn own_tables_are_answered_with_calibrated_predictions_for_unlabelled_nodes() {
    let sandbox = Sandbox::new();
    write_groups(&sandbox, "mine", 240);
    let document = sandbox.json(&format!("auto mine {SMALL} --out answer --json --quiet"));
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 30);
    let mut correct = 0;
    for node in nodes {
        let p: Vec<f64> =
            ["yes", "no"].map(|class| node["probabilities"][class].as_f64().unwrap()).into();
        assert!((p[0] + p[1] - 1.0).abs() < 1e-5, "{node}");
        // All unlabelled nodes have odd numbers, so they are in the group `no`.
        correct += usize::from(node["prediction"] == "no");
        assert_eq!(node["prediction"], if p[0] > p[1] { "yes" } else { "no" });
    }
    assert!(correct >= 24, "{correct} of 30");
    let expected = &document["expected"];
    let (low, high) = (&expected["interval"][0], &expected["interval"][1]);
    let (low, high) = (low.as_f64().unwrap(), high.as_f64().unwrap());
    let score = expected["score"].as_f64().unwrap();
    assert!(low < score && score < high && low > 0.5, "{expected}");
    assert_eq!(expected["score"], expected["accuracy"]);
    assert_eq!((&document["metric"], &document["trials"]), (&"accuracy".into(), &8.into()));
    assert_eq!(expected["nodes"], document["graph"]["test"]);

    // The ensemble and the single model are files that `predict` accepts, also for other nodes.
    let csv = text(&sandbox.read("answer/predictions.csv"));
    assert!(csv.starts_with("node,prediction,no,yes,part\np7,"), "{csv}");
    let predicted = sandbox.stdout("predict answer --only unlabelled");
    assert_eq!(predicted, csv);
    write_groups(&sandbox, "next", 120);
    assert_eq!(sandbox.stdout("predict answer next").lines().count(), 121);
    for (option, expected) in [
        ("--seed 1", "`--seed` is `1`; expected no seed with an ensemble"),
        ("--only test", "`--only` is `test`; expected unlabelled with an ensemble"),
    ] {
        let (code, error) = sandbox.failure(&format!("predict answer {option}"));
        assert_eq!(code, 2, "{option}: {error}");
        assert!(error.contains(expected), "{error}");
    }
    let single = sandbox.stdout("predict answer/best.safetensors next");
    assert_eq!(single.lines().count(), 121);
    let page = text(&sandbox.read("answer/report.html"));
    assert!(page.contains("\"explanation\":[") && page.contains("played no part in any choice"));
}

#[test]
fn same_seed_and_number_of_trials_give_the_same_answer() {
    let sandbox = Sandbox::new();
    let run = |more: &str| -> Value {
        let arguments = format!("auto csbm:nodes=200 {SMALL} {more} --json --quiet");
        let stdout = without_times(&sandbox.stdout(&arguments));
        let mut document: Value = serde_json::from_str(&stdout).unwrap();
        for row in document["configurations"].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("run_seconds");
        }
        document.as_object_mut().unwrap().remove("folder");
        document.as_object_mut().unwrap().remove("study");
        document
    };
    let first = run("--out a --threads 1");
    assert_eq!(first, run("--out b --threads 2"));
    // An interrupted search: five trials, then the others.
    let arguments = format!("auto csbm:nodes=200 {SMALL} --out c --json --quiet");
    let part = sandbox.json(&arguments.replace("--trials 8", "--trials 5"));
    assert_eq!(part["trials"], 5);
    assert_eq!(first, run("--out c"));
    assert_ne!(first["nodes"], run("--out d --seed 1")["nodes"]);
}

#[test]
fn killed_search_is_resumed() {
    let sandbox = Sandbox::new();
    let arguments = format!("auto csbm:nodes=200 {SMALL} --out a");
    let whole = sandbox.json(&format!("auto csbm:nodes=200 {SMALL} --out b --json --quiet"));
    let mut child = sandbox
        .command(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = std::io::BufRead::lines(stderr).map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("trial 2: ")));
    // The lock of a killed process would be waited for, as tests of the journal do.
    while sandbox.path("a/study.journal.lock").is_symlink() {}
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = sandbox.run(&format!("{arguments} --json"));
    assert!(text(&resumed.stderr).contains("resuming the study: "), "{}", text(&resumed.stderr));
    let resumed: Value = serde_json::from_str(&text(&resumed.stdout)).unwrap();
    assert_eq!(resumed["nodes"], whole["nodes"]);
    assert_eq!(resumed["expected"], whole["expected"]);

    let (code, message) = sandbox.failure(&format!("{arguments} --seed 3 --quiet"));
    assert_eq!(code, 2);
    assert!(message.contains("its `seed` is 0, not 3; start again with --fresh"), "{message}");
    let fresh = sandbox.json(&format!("{arguments} --seed 3 --fresh --json --quiet"));
    assert_eq!(fresh["trials"], 8);
}

#[cfg(unix)]
#[test]
fn interrupted_search_answers_with_what_there_is() {
    let sandbox = Sandbox::new();
    let arguments =
        format!("auto csbm:nodes=200 {SMALL} --out a").replace("--trials 8", "--trials 9999");
    let output = sandbox.interrupt(&arguments, |line| line.starts_with("trial 4: "));
    assert_eq!(output.status.code(), Some(1));
    let page = text(&output.stdout);
    assert!(page.contains("because it was interrupted."), "{page}");
    assert!(page.contains("\nexpected accuracy: "), "{page}");
    assert!(sandbox.path("a/predictions.csv").exists());
}

#[test]
fn budget_without_time_is_an_error() {
    let sandbox = Sandbox::new();
    let (code, message) = sandbox.failure("auto csbm:nodes=100 --budget 0s --out a --quiet");
    assert_eq!(code, 2);
    assert!(
        message.contains("no configuration could be trained within the time; raise --budget"),
        "{message}"
    );
}

#[test]
fn small_graphs_are_reported() {
    let sandbox = Sandbox::new();
    write_groups(&sandbox, "few", 40);
    let output = sandbox.run(&format!("auto few {SMALL} --out a"));
    let page = text(&output.stdout);
    assert!(
        page.contains("\nwarning: only 35 nodes have a label, too few to set some aside"),
        "{page}"
    );
    assert!(page.contains("\nexpected accuracy: not estimated\n"), "{page}");
    sandbox.write("tiny/nodes.csv", "id,x,label\na,1,u\nb,2,v\nc,3,u\nd,1,\n");
    sandbox.write("tiny/edges.csv", "source,target\na,b\nb,c\nc,d\n");
    let (code, message) = sandbox.failure("auto tiny --quiet");
    assert_eq!(code, 2);
    assert!(message.contains("too small to compare models: 3 labelled nodes"), "{message}");
}

#[test]
fn metrics_and_models_can_be_chosen() {
    let sandbox = Sandbox::new();
    write_groups(&sandbox, "mine", 120);
    let document = sandbox.json(&format!(
        "auto mine {SMALL} --exclude gpr-gnn --metric roc-auc --out a --json --quiet"
    ));
    assert_eq!(document["metric"], "roc-auc");
    assert_eq!(document["expected"]["score"], document["expected"]["roc_auc"]);
    for row in document["configurations"].as_array().unwrap() {
        assert!(["mlp", "gcn"].contains(&row["model"].as_str().unwrap()), "{row}");
    }
    for (arguments, expected) in [
        ("--metric acc", "unknown metric `acc`"),
        (
            "--metric roc-auc",
            "`metric` is `roc-auc`; expected accuracy, balanced-accuracy or macro-f1",
        ),
        ("--models gnc", "unknown model `gnc`; did you mean `gcn`?"),
        ("--models mlp --exclude mlp", "`models` is `none`; expected at least one model"),
        ("--without mine", "unknown graph `mine`; did you mean `minesweeper`?"),
        ("--set heads=2 --models mlp", "unknown hyper-parameter `heads`"),
        ("--trials 0", "`trials` is 0, outside 1 to 100000"),
        ("--budget soon", "expected a duration such as 90s, 30m or 2h"),
    ] {
        let (code, message) = sandbox.failure(&format!("auto csbm {arguments} --out b --quiet"));
        assert_eq!(code, 2, "{arguments}: {message}");
        assert!(message.contains(expected), "{arguments}: {message}");
    }
    sandbox.write("other/notes.txt", "mine");
    let (code, message) = sandbox.failure("auto csbm --out other --quiet");
    assert_eq!(code, 2);
    assert!(message.contains("other: contains `notes.txt`, which is not a result of"), "{message}");
}

//! `clenshaw tune`: resuming studies, storage, and the best settings.

use crate::common::{Sandbox, text};

const SMALL: &str = "tune csbm:nodes=150 --trials 3 --splits 2 --set max_epochs=5 --set hidden=8";

#[test]
fn train_uses_the_best_settings_file() {
    let sandbox = Sandbox::new();
    let document = sandbox.json(&format!("{SMALL} --json --quiet"));
    assert_eq!((&document["complete"], &document["ended"]), (&3.into(), &"reached".into()));
    assert_eq!(document["study"], "studies/csbm-nodes=150-clenshaw-gcn.journal");
    let values: Vec<f64> = document["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["value"].as_f64().unwrap())
        .collect();
    let best = values.iter().copied().fold(0.0, f64::max);
    assert_eq!(document["best"]["value"].as_f64(), Some(best));
    let settings = document["best_settings"].as_str().unwrap();
    let summary = sandbox.json(&format!("train --config {settings} --runs 2 --json --quiet"));
    assert_eq!(summary["hyper"]["max_epochs"], 5);
    for (name, value) in document["best"]["params"].as_object().unwrap() {
        let (used, drawn) = (summary["hyper"][name].as_f64(), value.as_f64());
        assert!((used.unwrap() - drawn.unwrap()).abs() < 1e-9, "{name}");
    }
    assert_eq!(summary["seed"], 2, "splits that were not used for tuning");
}

#[test]
fn study_is_resumed_to_reach_more_trials() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{SMALL} --quiet --trials 1").replacen("--trials 3 ", "", 1));
    let output = sandbox.run(&SMALL.replace("--trials 3", "--trials 2"));
    let lines = text(&output.stderr);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[0], "resuming the study: 1 of 2 trials complete");
    assert!(lines[1].starts_with("trial 1: ") && lines[1].ends_with("; 2 of 2 complete"));
    assert_eq!(lines.len(), 2);
    let page = text(&output.stdout);
    for part in [
        "csbm:nodes=150: 150 nodes, ",
        "clenshaw-gcn: mean validation accuracy over 2 splits (balanced), seeds from 0\n",
        "trials: 2 complete\n",
        "\nval acc ",
        "\nhyper-parameter ",
        "\nbest: trial ",
        "\nbest settings: studies/csbm-nodes=150-clenshaw-gcn.best.toml\n",
    ] {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
}

#[test]
fn report_names_the_score_of_the_stopping_rule() {
    let sandbox = Sandbox::new();
    let page = sandbox.stdout(
        "tune csbm:nodes=150,classes=2 --trials 1 --splits 2 --set max_epochs=5 --set hidden=8 \
         --set stop=roc-auc --quiet",
    );
    for part in [
        "clenshaw-gcn: mean validation ROC AUC over 2 splits (balanced), seeds from 0\n",
        "\nval auc ",
        "\nbest: trial 0, validation ROC AUC ",
    ] {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
    assert!(!page.contains("validation accuracy"), "{page}");
    let file = page.split("\nbest settings: ").nth(1).and_then(|rest| rest.lines().next());
    let settings = text(&sandbox.read(file.unwrap()));
    assert!(settings.lines().next().unwrap().contains(": validation ROC AUC "), "{settings}");
}

#[cfg(unix)]
#[test]
fn interrupted_study_writes_the_best_settings_so_far() {
    let sandbox = Sandbox::new();
    let arguments = SMALL.replace("--trials 3", "--trials 100000 --evaluate");
    let output = sandbox.interrupt(&arguments, |line| line.starts_with("trial 1: "));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("error: interrupted\n"));
    let page = text(&output.stdout);
    assert!(page.contains("; interrupted, rerun the same command to resume\n"), "{page}");
    assert!(!page.contains("test accuracy over"), "{page}");
    let best = page.lines().find_map(|line| line.strip_prefix("best settings: ")).unwrap();
    let summary = sandbox.json(&format!("train --config {best} --runs 1 --json --quiet"));
    assert_eq!(summary["hyper"]["max_epochs"], 5);

    let document = sandbox.json(&format!("{SMALL} --json --quiet"));
    let trials = document["trials"].as_array().unwrap().iter();
    let n_interrupted = trials.filter(|trial| trial["notes"]["interrupted"] == true).count();
    let counts = (&document["failed"], &document["interrupted"]);
    assert_eq!(counts, (&0.into(), &n_interrupted.into()));
}

#[test]
fn evaluation_equals_train_with_the_best_settings() {
    let sandbox = Sandbox::new();
    let arguments = SMALL.replace("--trials 3", "--trials 1 --model gcn --study my/own.journal");
    let page = sandbox.stdout(&format!("{arguments} --quiet --evaluate"));
    assert!(page.contains(" over 20 runs; majority class "), "{page}");
    let again = sandbox.json(&format!("{arguments} --quiet --evaluate --json"));
    let trained = sandbox.json("train --config my/own.best.toml --json --quiet --out other");
    assert_eq!(again["evaluation"]["test_accuracy"], trained["test_accuracy"]);
    assert_eq!(again["evaluation"]["runs"][19]["seed"], 21);
}

#[test]
fn database_stores_several_studies() {
    let sandbox = Sandbox::new();
    let arguments = SMALL.replace("--trials 3", "--trials 1 --study sqlite:///my/own.db");
    for (more, n) in [("", 1), ("--name first/one --seed 7", 1), ("--model gcn", 1), ("", 1)] {
        let document = sandbox.json(&format!("{arguments} {more} --json --quiet"));
        assert_eq!(document["study"], "sqlite:///my/own.db");
        assert_eq!(document["trials"].as_array().unwrap().len(), n, "{more}");
    }
    let page = sandbox.stdout(&format!("{arguments} --quiet"));
    let name = "csbm-nodes=150-clenshaw-gcn";
    for part in [
        format!("\nstudy: {name} in sqlite:///my/own.db\n"),
        format!("\nbest settings: studies/{name}.best.toml\n"),
    ] {
        assert!(page.contains(&part), "no `{part}` in\n{page}");
    }
    let settings = text(&sandbox.read("studies/first-one.best.toml"));
    assert!(settings.starts_with("# Trial 0 of first/one in sqlite:///my/own.db: "), "{settings}");
    assert!(sandbox.path("studies/csbm-nodes=150-gcn.best.toml").exists());
}

#[test]
fn journal_and_database_give_the_same_trials() {
    let sandbox = Sandbox::new();
    let arguments =
        SMALL.replace("--trials 3", "--trials 4 --jobs 2 --sampler random --json --quiet");
    let [file, database] = ["one.journal --name s", "sqlite:///one.db --name s"]
        .map(|place| sandbox.json(&format!("{arguments} --study {place}")));
    assert_eq!(file["trials"], database["trials"]);
    assert_eq!(file["best"], database["best"]);
    // The name is printed if it is not that of the journal.
    let arguments = arguments.replace("--json", "--study one.journal");
    let page = sandbox.stdout(&format!("{arguments} --name s"));
    assert!(page.contains("\nstudy: s in one.journal\n"), "{page}");
}

#[test]
fn invalid_arguments_are_rejected() {
    let sandbox = Sandbox::new();
    sandbox.write("s.toml", "[space]\ndropout = 2\n");
    for (arguments, expected) in [
        (
            "--study mysql://me:s@host/db",
            "`study` is `mysql://me:***@host/db`; expected sqlite:///",
        ),
        ("--study sqlite://x.db", "`study` is `sqlite://x.db`; expected sqlite:///FILE, or"),
        ("--sampler tpo", "unknown sampler `tpo`; did you mean `tpe`?"),
        ("--pruner mean", "unknown pruner `mean`; did you mean `median`?"),
        ("--space s.toml", "s.toml: `dropout` is 2, outside 0 to 0.99"),
        ("--space t.toml", "t.toml: cannot be read: "),
        ("--timeout soon", "expected a duration such as 90s, 30m or 2h"),
        ("--trials 0", "`trials` is 0, outside 1 to 100000"),
        ("--splits 0", "`splits` is 0, outside 1 to 100000"),
    ] {
        let (code, message) = sandbox.failure(&format!("tune csbm {arguments}"));
        assert_eq!(code, 2, "{arguments}: {message}");
        assert!(message.contains(expected), "{arguments}: {message}");
    }
    sandbox.stdout(&format!("{SMALL} --trials 1 --quiet").replacen("--trials 3 ", "", 1));
    let (code, message) = sandbox.failure(&format!("{SMALL} --seed 4"));
    assert_eq!(code, 2);
    assert_eq!(
        message,
        "error: study `csbm-nodes=150-clenshaw-gcn`: its `seed` is 0, not 4\n\
         hint: choose another study with --study or --name, or use the settings of this one\n"
    );
}

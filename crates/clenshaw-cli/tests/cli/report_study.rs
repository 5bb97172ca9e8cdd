//! `clenshaw report STUDY`: the data of the page, and the page in a real browser.

use crate::common::browser::Browser;
use crate::common::{Sandbox, text};
use crate::report::{NO_PROBLEMS, data, screenshot};
use clenshaw_tune::{
    AttrKind, Direction, Distribution, JournalStorage, ParamValue, Params, Storage, TrialOutcome,
};
use serde_json::{Value, json};

const TUNE: &str =
    "tune csbm:nodes=150 --trials 6 --splits 2 --set max_epochs=5 --set hidden=8 --pruner none";
const EVIL: &str = "<img src=x onerror=alert(1)>";

/// Writes the page of a study and returns its data.
fn study_page(sandbox: &Sandbox, arguments: &str) -> Value {
    let output = sandbox.run(&format!("report {arguments} --out page.html"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    data(sandbox, "page.html")
}

#[test]
fn page_agrees_with_the_journal_and_its_command_trains_the_best_settings() {
    let sandbox = Sandbox::new();
    let tuned = sandbox.json(&format!("{TUNE} --json --quiet"));
    let journal = tuned["study"].as_str().unwrap();
    assert!(sandbox.run(&format!("report {journal}")).status.success());
    let page = data(&sandbox, journal.replace(".journal", ".html").as_str());
    let study = &page["study"];
    assert_eq!(study["name"], tuned["name"]);
    assert_eq!((&study["direction"], &study["is_share"]), (&"maximize".into(), &true.into()));
    assert_eq!(study["objective"], "validation accuracy");
    let (ours, theirs) = (study["trials"].as_array().unwrap(), tuned["trials"].as_array().unwrap());
    assert_eq!((ours.len(), theirs.len()), (6, 6));
    for (ours, theirs) in ours.iter().zip(theirs) {
        for key in ["number", "state", "value", "params"] {
            assert_eq!(ours[key], theirs[key]);
        }
        assert!(ours["seconds"].as_f64().unwrap() >= 0.0);
    }
    assert_eq!(study["best"]["number"], tuned["best"]["number"]);
    for entry in study["importances"].as_array().unwrap() {
        assert_eq!(entry["importance"], tuned["importance"][entry["name"].as_str().unwrap()]);
    }
    assert_eq!(page["graph"]["nodes"], 150);
    assert_eq!((&study["fixed"]["max_epochs"], &study["notes"]), (&"5".into(), &json!([])));

    let command = study["best"]["command"].as_str().unwrap().strip_prefix("clenshaw ").unwrap();
    assert!(command.contains(" --runs 20 --seed 2 "), "{command}");
    let command = command.replace("--runs 20", "--runs 1");
    let summary = sandbox.json(&format!("{command} --json --quiet"));
    assert_eq!(summary["hyper"]["hidden"], 8);
    for (name, value) in tuned["best"]["params"].as_object().unwrap() {
        let (used, best) = (summary["hyper"][name].as_f64(), value.as_f64());
        assert!((used.unwrap() - best.unwrap()).abs() < 1e-9, "{name}");
    }
}

#[test]
fn database_page_needs_a_name_if_there_are_several_studies() {
    let sandbox = Sandbox::new();
    let tune = TUNE.replace("--trials 6", "--trials 1 --study sqlite:///my.db --quiet");
    sandbox.stdout(&format!("{tune} --name first/one"));
    assert!(sandbox.run("report sqlite:///my.db").status.success());
    assert_eq!(data(&sandbox, "studies/first-one.html")["study"]["name"], "first/one");
    sandbox.stdout(&format!("{tune} --name two --seed 3"));
    let page = study_page(&sandbox, "sqlite:///my.db --name two");
    assert_eq!((&page["study"]["name"], &page["title"]), (&"two".into(), &"Study two".into()));
    sandbox.write("empty.journal", "");
    sandbox.write("empty.db", "");
    for (arguments, expected) in [
        (
            "sqlite:///my.db",
            "sqlite:///my.db: several studies; choose one with --name: first/one, two",
        ),
        ("sqlite:///my.db --name tow", "sqlite:///my.db: unknown study `tow`; did you mean `two`?"),
        ("my.db", "my.db: this is an SQLite database; pass sqlite:///my.db"),
        ("sqlite:///other.db", "sqlite:///other.db: no such file; expected a study written by"),
        ("sqlite:///empty.db", "sqlite:///empty.db: contains no studies; expected a database of"),
        ("studies/none.journal", "studies/none.journal: no such file; expected a study"),
        ("empty.journal", "empty.journal: no studies yet"),
        ("studies/two.best.toml", "studies/two.best.toml: "),
        ("empty.journal empty.journal", "a study is reported on its own page; pass no other"),
        ("sqlite:///my.db --name two --seed 3", "`--seed` is `3`; expected no seed with a study"),
        (
            "latest --name two",
            "`--name` is `two`; expected no name unless a study is given, such as studies/",
        ),
    ] {
        let (code, error) = sandbox.failure(&format!("report {arguments} --out no.html"));
        assert_eq!(code, 2, "{arguments}: {error}");
        assert!(error.contains(expected), "{arguments}: {error}");
    }
    assert!(sandbox.read("empty.db").is_empty(), "a report has created tables");
    assert!(!sandbox.path("other.db").exists() && !sandbox.path("no.html").exists());
}

/// A study as Optuna writes it, with every kind of parameter and state, names full of HTML, and no record of
/// a graph.
fn optuna_study(sandbox: &Sandbox) {
    let storage = JournalStorage::open(sandbox.path("theirs.log")).unwrap();
    let study = storage.open_study(EVIL, Direction::Minimize).unwrap();
    let rate = Distribution::Float { low: 1e-5, high: 1.0, log: true, step: None };
    let depth = Distribution::Int { low: 1, high: 9, log: false, step: 1 };
    let evil = ParamValue::Str(EVIL.into());
    let choices = vec![evil, ParamValue::None, ParamValue::Bool(true), ParamValue::Float(f64::NAN)];
    let kind = Distribution::Categorical { choices };
    for i in 0..24u32 {
        let trial = storage.create_trial(study).unwrap();
        let mut params = Params::from([
            ("rate".to_owned(), (rate.clone(), 10f64.powf(-f64::from(i % 5)))),
            (format!("{EVIL} kind"), (kind.clone(), f64::from(i % 4))),
        ]);
        // A setting that only some trials have.
        if i % 2 == 0 {
            params.insert("depth".into(), (depth.clone(), f64::from(1 + i % 9)));
        }
        storage.set_params(trial.id, &params).unwrap();
        let outcome = match i {
            20 => TrialOutcome::Pruned(Some(3.5)),
            21 => TrialOutcome::Pruned(None),
            22 => TrialOutcome::Fail,
            23 => continue,
            _ => TrialOutcome::Complete(f64::from((i * 7) % 20) + 0.25),
        };
        if i == 22 {
            let attrs = [("failed".to_owned(), json!(EVIL))].into();
            storage.set_trial_attrs(trial.id, AttrKind::User, &attrs).unwrap();
        }
        storage.finish(trial.id, outcome).unwrap();
    }
}

#[test]
fn studies_of_optuna_have_a_page() {
    let sandbox = Sandbox::new();
    optuna_study(&sandbox);
    let page = study_page(&sandbox, "theirs.log");
    let study = &page["study"];
    assert_eq!(page["graph"], Value::Null);
    assert_eq!((&study["direction"], &study["objective"]), (&"minimize".into(), &"value".into()));
    assert_eq!((&study["is_share"], &study["facts"]), (&false.into(), &json!([])));
    let states = study["trials"].as_array().unwrap().iter().map(|trial| &trial["state"]);
    let count = |state: &str| states.clone().filter(|other| *other == state).count();
    assert_eq!(["complete", "pruned", "failed", "running"].map(count), [20, 2, 1, 1]);
    assert_eq!(study["best"], json!({"number": 0, "command": null}));
    assert_eq!(study["trials"][0]["value"], 0.25);
    assert_eq!(study["trials"][22]["reason"], EVIL);
    let parameters = study["parameters"].as_array().unwrap();
    let rate = parameters.iter().find(|parameter| parameter["name"] == "rate").unwrap();
    assert_eq!((&rate["kind"], &rate["log"]), (&"float".into(), &true.into()));
    let sum: f64 = study["importances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["importance"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-9);

    let output = sandbox.run("report theirs.log --out page.html --figures paper");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let svg = |name: &str| text(&sandbox.read(format!("paper/{name}.svg")));
    // One of the two pruned trials has a value.
    assert_eq!(svg("history").matches("<circle").count(), 21);
    assert_eq!(svg("parallel").matches("<path").count(), 20);
    let bars = svg("importance").matches("<rect").count() - 1;
    assert_eq!(bars, parameters.len());
    assert!(["history", "parallel", "importance"].iter().all(|name| !svg(name).contains("<img")));

    let two = r#"{"op_code":0,"worker_id":"w","study_name":"two","directions":[1,2]}"#;
    sandbox.write("two.log", &format!("{two}\n"));
    let (code, error) = sandbox.failure("report two.log");
    assert_eq!(code, 2);
    assert!(error.contains("study `two` has several objectives"), "{error}");
}

#[test]
fn page_works_without_trials_and_without_the_graph() {
    let sandbox = Sandbox::new();
    let storage = JournalStorage::open(sandbox.path("new.journal")).unwrap();
    let study = storage.open_study("new", Direction::Maximize).unwrap();
    let page = study_page(&sandbox, "new.journal");
    assert_eq!((&page["study"]["best"], &page["graph"]), (&Value::Null, &Value::Null));
    let attrs = json!({
        "graph": "no/such/graph", "model": "gcn", "split": "stratified", "splits": 5, "seed": 0,
        "settings": {"dropout": 0.5},
    });
    let attrs = attrs.as_object().unwrap().clone().into_iter().collect();
    storage.set_study_attrs(study, AttrKind::User, &attrs).unwrap();
    let trial = storage.create_trial(study).unwrap();
    let rate = Distribution::Float { low: 1e-5, high: 1.0, log: true, step: None };
    storage.set_params(trial.id, &[("lr".to_owned(), (rate, 0.01))].into()).unwrap();
    storage.finish(trial.id, TrialOutcome::Complete(0.5)).unwrap();
    let page = study_page(&sandbox, "new.journal");
    assert_eq!(page["graph"], Value::Null);
    let note = page["study"]["notes"][0].as_str().unwrap();
    assert!(note.starts_with("The graph is not available here: "), "{note}");
    let command = page["study"]["best"]["command"].as_str().unwrap();
    assert!(command.starts_with("clenshaw train no/such/graph --model gcn --split stratified "));
}

#[test]
#[ignore = "needs Chromium and axe-core: cargo xtask test"]
fn study_page_works_in_a_browser() {
    let sandbox = Sandbox::new();
    optuna_study(&sandbox);
    let page = study_page(&sandbox, "theirs.log");
    let mut browser = Browser::start(1200, 900);
    browser.open(&sandbox.path("page.html"));
    assert_eq!(browser.problems(), NO_PROBLEMS);
    assert_eq!(browser.evaluate("document.querySelectorAll('main img').length"), 0);
    assert!(browser.text("document.querySelector('h1').textContent").contains(EVIL));

    // One dot per complete trial and one ring for the pruned trial with a value.
    let dots = "document.querySelectorAll('#history-chart circle.point').length";
    assert_eq!(browser.evaluate(dots), 21);
    let lines = "document.querySelectorAll('#parallel-chart path.trial').length";
    assert_eq!(browser.evaluate(lines), 20);
    // The keyboard reads the values of the chart in the order of the trials.
    let read = |browser: &mut Browser, key: &str| {
        browser.text(&format!(
            "{{ const chart = document.getElementById('history-chart'); \
             chart.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }})); \
             document.getElementById('announcer').textContent }}"
        ))
    };
    let first = read(&mut browser, "Home");
    assert!(first.starts_with("trial 0, complete: 0.25, "), "{first}");
    let last = read(&mut browser, "End");
    assert!(last.starts_with("trial 20, pruned: 3.5, "), "{last}");
    let shares = browser.evaluate(
        "[...document.querySelectorAll('#importance .bar-value')].map(bar => bar.textContent)",
    );
    let expected: Vec<String> = page["study"]["importances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{:.1}%", 100.0 * entry["importance"].as_f64().unwrap()))
        .collect();
    assert_eq!(shares, json!(expected));

    // The table is sorted by value and shows failed trials with their reason.
    let rows = "[...document.querySelectorAll('#trials tbody tr')].map(row => row.textContent)";
    let first = browser.evaluate(rows)[0].as_str().unwrap().to_owned();
    assert!(first.starts_with("00.25complete"), "{first}");
    browser.evaluate(
        "{ const view = document.getElementById('trials-view'); \
         view.selectedIndex = [...view.options].findIndex(option => option.text === 'failed'); \
         view.dispatchEvent(new Event('change')); }",
    );
    let failed = browser.evaluate(rows)[0].as_str().unwrap().to_owned();
    assert!(failed.starts_with(&format!("22–failed: {EVIL}")), "{failed}");
    assert_eq!(browser.accessibility_problems(), NO_PROBLEMS);
    screenshot(&mut browser, "study.png");
    assert_eq!(browser.problems(), NO_PROBLEMS);
}

//! The real Optuna, versions 4 and 5, and its dashboard at our journals, and we at theirs.
//!
//! `cargo xtask test` makes the Python environments and names them in `CLENSHAW_OPTUNA4` and
//! `CLENSHAW_OPTUNA5`.
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

use clenshaw::tune::{
    Choice, Direction, Distribution, Ending, Journal, Notes, Params, State, Storage, Trial,
    dashboard,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const VERSIONS: [&str; 2] = ["4", "5"];

/// One of the scripts, run by an environment's Python.
fn script(version: &str, script: &str, words: &[&str]) -> Child {
    let variable = format!("CLENSHAW_OPTUNA{version}");
    let Some(folder) = std::env::var_os(&variable) else {
        panic!("{variable} names no Python environment; run `cargo xtask test`")
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/optuna");
    let mut python = Command::new(Path::new(&folder).join("bin/python"));
    python.arg(scripts.join(script)).args(words).env("PYTHONWARNINGS", "ignore");
    python.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it said.
fn said(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn optuna(version: &str, verb: &str, path: &Path, more: &[&str]) -> Value {
    let words = [&[verb, path.to_str().unwrap()], more].concat();
    said(script(version, "study.py", &words))
}

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("study.log")
    }

    /// The journal and its study, which is to maximise.
    fn open(&self) -> (Journal, u64) {
        let journal = Journal::open(self.path()).unwrap();
        let study = journal.study("s", Direction::Maximise).unwrap();
        (journal, study)
    }
}

fn kinds() -> Distribution {
    let word = Choice::Word("word".into());
    let choices = vec![Choice::None, Choice::Flag(true), Choice::Int(3), Choice::Real(0.5), word];
    Distribution::Categorical { choices }
}

/// The space that the script draws from.
fn params() -> Params {
    let rate = Distribution::Float { low: 1e-4, high: 1.0, log: true, step: None };
    let drop = Distribution::Float { low: 0.0, high: 0.9, log: false, step: Some(0.1) };
    let order = Distribution::Int { low: 2, high: 10, log: false, step: 2 };
    [
        ("rate".to_owned(), (rate, 0.0123)),
        ("drop".to_owned(), (drop, 0.5)),
        ("order".to_owned(), (order, 6.0)),
        ("kind".to_owned(), (kinds(), 4.0)),
    ]
    .into()
}

/// A trial of ours, from beginning to end.
fn try_once(journal: &Journal, study: u64, ending: Ending) -> Trial {
    let trial = journal.create_trial(study).unwrap();
    journal.set_params(trial.id, &params()).unwrap();
    journal.report(trial.id, 0, 0.25).unwrap();
    journal.report(trial.id, 10, 1.0).unwrap();
    journal.set_trial_attrs(trial.id, Notes::User, &[("by".into(), json!("us"))].into()).unwrap();
    journal.set_trial_attrs(trial.id, Notes::System, &[("rung".into(), json!(2))].into()).unwrap();
    journal.finish(trial.id, ending).unwrap();
    trial
}

fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn optuna_reads_every_field() {
    for version in VERSIONS {
        let (desk, began) = (Desk::new(), unix_now());
        let (journal, study) = desk.open();
        try_once(&journal, study, Ending::Complete(0.5));
        try_once(&journal, study, Ending::Pruned(Some(1.0)));
        try_once(&journal, study, Ending::Complete(f64::NAN));
        journal.enqueue(study, &[("rate".to_owned(), Choice::Real(0.5))].into()).unwrap();
        journal.create_trial(study).unwrap();
        let attrs = [("graph".to_owned(), json!({"name": "cora"}))].into();
        journal.set_study_attrs(study, Notes::User, &attrs).unwrap();
        let metric = dashboard::metric_name("accuracy");
        journal.set_study_attrs(study, Notes::System, &metric).unwrap();

        let read = optuna(version, "show", &desk.path(), &["s"]);
        assert!(read["version"].as_str().unwrap().starts_with(version));
        assert_eq!(read["directions"], json!(["MAXIMIZE"]));
        assert_eq!(
            (&read["user_attrs"]["graph"]["name"], &read["best"]),
            (&json!("cora"), &json!(0))
        );
        assert_eq!(read["metric_names"], json!(["accuracy"]));
        let trials = read["trials"].as_array().unwrap();
        let of = |key: &str| trials.iter().map(|trial| trial[key].clone()).collect::<Vec<_>>();
        assert_eq!(of("state"), ["COMPLETE", "PRUNED", "FAIL", "WAITING", "RUNNING"]);
        assert_eq!(json!(of("value")), json!([0.5, 1.0, null, null, null]));
        assert_eq!((of("number"), of("id")), (of("id"), of("number")));
        assert_eq!(trials[3]["system_attrs"]["fixed_params"], json!({"rate": 0.5}));
        check_fields(&trials[0]);
        let times = ["started", "finished"].map(|key| trials[0][key].as_f64().unwrap());
        assert!(began - 1.0 < times[0] && times[0] <= times[1] && times[1] < unix_now() + 1.0);
    }
}

fn check_fields(trial: &Value) {
    let external = json!({"rate": 0.0123, "drop": 0.5, "order": 6, "kind": "word"});
    assert_eq!(trial["params"], external);
    assert_eq!(trial["reports"], json!({"0": 0.25, "10": 1.0}));
    assert_eq!(trial["user_attrs"], json!({"by": "us"}));
    assert_eq!(trial["system_attrs"]["rung"], 2);
    for (name, (distribution, _)) in params() {
        let text = trial["distributions"][&name].to_string();
        assert_eq!(Distribution::from_json(&text).unwrap(), distribution, "{name}");
    }
}

#[test]
fn optuna_goes_on_with_our_study_and_we_with_its() {
    for version in VERSIONS {
        let desk = Desk::new();
        let (journal, study) = desk.open();
        try_once(&journal, study, Ending::Complete(0.5));
        journal.enqueue(study, &[("kind".to_owned(), Choice::Flag(true))].into()).unwrap();
        assert_eq!(optuna(version, "go-on", &desk.path(), &["s", "6"])["trials"], 7);
        try_once(&journal, study, Ending::Complete(0.25));
        let trials = journal.trials(study).unwrap();
        assert_eq!(trials.len(), 8);
        for trial in &trials[1..7] {
            assert_eq!(trial.state, State::Complete);
            assert!(trial.params.iter().all(|(name, (kind, _))| *kind == params()[name].0));
            let drawn = trial.external();
            let Choice::Real(rate) = drawn["rate"] else { panic!("{drawn:?}") };
            let Choice::Real(drop) = drawn["drop"] else { panic!("{drawn:?}") };
            let Choice::Int(order) = drawn["order"] else { panic!("{drawn:?}") };
            let word = f64::from(u8::from(drawn["kind"] == Choice::Word("word".into())));
            assert_eq!(trial.value, Some(rate + drop + order as f64 + word));
            assert_eq!(trial.reports.len(), 3);
            assert!(trial.user_attrs["by"].as_str().unwrap().starts_with(version));
            assert!(trial.started.is_some() && trial.finished.is_some());
        }
        assert_eq!(trials[1].external()["kind"], Choice::Flag(true));
        let read = optuna(version, "show", &desk.path(), &["s"]);
        assert_eq!(read["trials"].as_array().unwrap().len(), 8);
    }
}

#[test]
fn what_only_optuna_writes_is_read() {
    for version in VERSIONS {
        let desk = Desk::new();
        assert_eq!(optuna(version, "oddities", &desk.path(), &["s"])["trials"], 3);
        let (journal, study) = desk.open();
        assert_eq!(journal.study_attrs(study, Notes::User).unwrap()["who"], "Optuna");
        let system = journal.study_attrs(study, Notes::System).unwrap();
        assert_eq!(system["study:metric_names"], json!(["accuracy"]));
        let error = journal.study("two", Direction::Minimise).unwrap_err().to_string();
        assert!(error.ends_with("study `two` has 2 objectives, not one to minimise"), "{error}");

        let trials = journal.trials(study).unwrap();
        let states: Vec<State> = trials.iter().map(|trial| trial.state).collect();
        assert_eq!(states, [State::Pruned, State::Fail, State::Waiting]);
        assert!(trials[0].reports[&0].is_nan() && trials[0].reports[&1] == f64::INFINITY);
        let (list, _) = &trials[0].params["x"];
        assert_eq!(trials[1].user_attrs["odd"][0], "-Infinity");
        // A list with NaN goes both ways.
        let ours = journal.create_trial(study).unwrap();
        journal.set_params(ours.id, &[("x".to_owned(), (list.clone(), 0.0))].into()).unwrap();
        journal.finish(ours.id, Ending::Complete(1.0)).unwrap();
        let rate = Distribution::Float { low: 1e-4, high: 1.0, log: true, step: None };
        let claimed = journal.claim_waiting(study).unwrap().unwrap();
        assert_eq!((claimed.number, claimed.fixed("rate", &rate)), (2, Some(0.25)));
        assert_eq!(journal.finish(claimed.id, Ending::Complete(0.5)).unwrap(), State::Complete);
    }
}

#[test]
fn four_workers_lose_no_trial() {
    const EACH: usize = 15;
    for version in VERSIONS {
        let desk = Desk::new();
        let (journal, study) = desk.open();
        let words = ["go-on", desk.path().to_str().unwrap(), "s", "15"].map(str::to_owned);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let theirs = [(); 2].map(|()| script(version, "study.py", &words));
        let numbers: Vec<u64> = std::thread::scope(|scope| {
            let workers = [(); 2].map(|()| {
                scope.spawn(|| {
                    let (journal, study) = desk.open();
                    let one = |_| try_once(&journal, study, Ending::Complete(0.5)).number;
                    (0..EACH).map(one).collect::<Vec<u64>>()
                })
            });
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        theirs.into_iter().map(said).for_each(drop);
        let trials = journal.trials(study).unwrap();
        assert_eq!(trials.len(), 4 * EACH);
        assert!(trials.iter().all(|trial| trial.state == State::Complete));
        assert!(trials.iter().enumerate().all(|(i, trial)| trial.number == i as u64));
        let ours: Vec<u64> =
            trials.iter().filter(|t| t.user_attrs["by"] == "us").map(|t| t.number).collect();
        assert_eq!(numbers.iter().copied().collect::<BTreeSet<_>>(), ours.into_iter().collect());
        assert_eq!(numbers.len(), 2 * EACH);
        let read = optuna(version, "show", &desk.path(), &["s"]);
        assert_eq!(read["trials"].as_array().unwrap().len(), 4 * EACH);
    }
}

#[test]
fn optuna_reads_on_after_half_a_line() {
    for version in VERSIONS {
        let desk = Desk::new();
        let (journal, study) = desk.open();
        try_once(&journal, study, Ending::Complete(0.5));
        let text = std::fs::read_to_string(desk.path()).unwrap();
        std::fs::write(desk.path(), format!("{text}{{\"op_code\":4,\"worker")).unwrap();
        assert_eq!(
            optuna(version, "show", &desk.path(), &["s"])["trials"].as_array().unwrap().len(),
            1
        );
        try_once(&journal, study, Ending::Complete(0.75));
        assert_eq!(optuna(version, "go-on", &desk.path(), &["s", "1"])["trials"], 3);
    }
}

#[test]
fn the_dashboard_shows_our_study() {
    let desk = Desk::new();
    let (journal, study) = desk.open();
    for value in [0.5, f64::NAN, 0.75] {
        try_once(&journal, study, Ending::Complete(value));
    }
    let figure =
        json!({"data": [{"y": vec![0.125; 2000]}], "layout": {"title": {"text": "filter"}}});
    let short = json!({"data": [{"y": [1, 2]}], "layout": {}});
    let put = |make: &dyn Fn(&clenshaw::tune::Attributes) -> clenshaw::tune::Attributes| {
        let now = journal.study_attrs(study, Notes::System).unwrap();
        journal.set_study_attrs(study, Notes::System, &make(&now)).unwrap();
    };
    put(&|_| dashboard::metric_name("validation accuracy"));
    put(&|now| dashboard::note(now, &"old ".repeat(2000)));
    put(&|now| dashboard::note(now, "# Notes\nab\u{e4}c"));
    put(&|now| dashboard::plot(now, "response", &figure));
    put(&|now| dashboard::plot(now, "short", &figure));
    put(&|now| dashboard::plot(now, "short", &short));

    let shown = said(script("5", "dashboard.py", &[desk.path().to_str().unwrap()]));
    assert_eq!(shown["studies"][0]["study_name"], "s");
    let detail = &shown["detail"];
    assert_eq!(detail["directions"], json!(["maximize"]));
    assert_eq!(detail["note"], json!({"version": 2, "body": "# Notes\nab\u{e4}c"}));
    assert_eq!(detail["objective_names"], json!(["validation accuracy"]));
    assert_eq!(detail["best_trials"][0]["number"], 2);
    assert_eq!(detail["trials"].as_array().unwrap().len(), 3);
    assert_eq!(detail["has_intermediate_values"], true);
    let plots = detail["plotly_graph_objects"].as_array().unwrap();
    let plot = |id: &str| {
        let found = plots.iter().find(|plot| plot["id"] == id).unwrap();
        serde_json::from_str::<Value>(found["graph_object"].as_str().unwrap()).unwrap()
    };
    assert_eq!((plots.len(), plot("response"), plot("short")), (2, figure, short));
}

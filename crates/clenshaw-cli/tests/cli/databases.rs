//! Studies of the real program in journals and databases: what Optuna reads of them, what becomes of them
//! when a server is stopped or a worker is killed, and that no password is told.
//!
//! `cargo xtask test` has what this needs.

#[path = "../../../clenshaw-tune/tests/optuna/python.rs"]
mod python;
#[path = "../../../clenshaw-tune/tests/databases/server.rs"]
mod server;

use crate::common::{Sandbox, text};
use clenshaw_tune::{Direction, Place, State, Storage, Trial};
use python::{VERSIONS, optuna};
use serde_json::Value;
use server::{Database, Server};
use std::process::{Child, Stdio};
use std::time::Duration;

const SMALL: &str = "tune csbm:nodes=100 --set max_epochs=5 --set hidden=8 --splits 2 --quiet";
/// Long enough to be met at work.
const LONG: &str =
    "tune csbm:nodes=100 --set max_epochs=400 --set stop=none --set hidden=8 --splits 2";

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn optuna_reads_what_the_program_found() {
    let database = Database::new();
    let sandbox = Sandbox::new();
    let file = sandbox.path("studies.db").display().to_string();
    let journal = sandbox.path("s.journal").display().to_string();
    for place in [journal, format!("sqlite:///{file}"), database.url()] {
        let words = format!("{SMALL} --trials 5 --pruner median --study {place} --name s");
        let output = sandbox.run(&format!("{words} --json"));
        let (told, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{errors}");
        let document: Value = serde_json::from_str(&told).unwrap();
        for version in VERSIONS {
            let theirs = place.replace("postgresql:", "postgresql+psycopg2:");
            let read = optuna(version, "show", &theirs, &["s"]);
            compare(&document, &read);
            let secret = [told.as_str(), &errors, &read.to_string()].concat();
            assert!(!secret.contains("s3cret"), "{secret}");
            let page = sandbox.stdout(&words);
            assert!(page.contains(&format!("\nits settings {}", folder(&place))), "{page}");
            assert!(!page.contains("s3cret"), "{page}");
        }
    }
    let settings = text(&sandbox.read("studies/s.best.toml"));
    assert!(settings.contains("of s in ") && !settings.contains("s3cret"), "{settings}");
}

/// Where the best settings are.
fn folder(place: &str) -> &str {
    place.strip_suffix("s.journal").unwrap_or("studies/s.best.toml")
}

fn compare(document: &Value, read: &Value) {
    let (ours, theirs) = (&document["trials"], &read["trials"]);
    assert_eq!(ours.as_array().unwrap().len(), theirs.as_array().unwrap().len());
    for (ours, theirs) in ours.as_array().unwrap().iter().zip(theirs.as_array().unwrap()) {
        assert_eq!(ours["number"], theirs["number"]);
        assert_eq!(
            ours["state"].as_str().unwrap().to_uppercase(),
            theirs["state"].as_str().unwrap()
        );
        assert_eq!(ours["value"], theirs["value"]);
        assert_eq!(ours["params"], theirs["params"]);
        assert_eq!(ours["notes"], theirs["user_attrs"]);
        assert!(theirs["started"].as_f64().unwrap() <= theirs["finished"].as_f64().unwrap());
    }
    let about = &read["user_attrs"];
    assert_eq!((&about["graph"], &about["seed"]), (&"csbm:nodes=100".into(), &0.into()));
    assert_eq!(read["best"], document["best"]["number"]);
    assert_eq!(read["metric_names"][0], "validation accuracy");
    assert!(
        read["system_attrs"]["dashboard:note_str:0"].as_str().unwrap().contains("clenshaw tune")
    );
}

/// The program, at work.
fn start(sandbox: &Sandbox, words: &str) -> Child {
    sandbox.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn trials(storage: &dyn Storage) -> Vec<Trial> {
    storage.trials(storage.study("s", Direction::Maximise).unwrap()).unwrap()
}

/// Waits until `n` trials are complete and another one has begun.
fn wait_for(storage: &dyn Storage, n: usize, worker: &mut Child) -> Vec<Trial> {
    loop {
        let trials = trials(storage);
        let complete = trials.iter().filter(|trial| trial.state == State::Complete).count();
        let begun = |t: &Trial| t.state == State::Running && !t.params.is_empty();
        if complete >= n && trials.iter().any(begun) {
            return trials;
        }
        assert!(worker.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn a_server_that_is_stopped_in_mid_trial_costs_no_result() {
    let server = Server::new();
    let sandbox = Sandbox::new();
    let place: Place = server.url().parse().unwrap();
    let words =
        format!("{LONG} --trials 8 --jobs 2 --pruner none --study {} --name s", server.url());
    let storage = place.open().unwrap();
    let mut worker = start(&sandbox, &words);
    let before = wait_for(storage.as_ref(), 2, &mut worker);
    server.stop();
    // Long enough for trials to end meanwhile.
    std::thread::sleep(Duration::from_secs(3));
    server.start();
    let output = worker.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = trials(storage.as_ref());
    assert_eq!(after.iter().filter(|trial| trial.state == State::Complete).count(), 8);
    assert_eq!(after.len(), 8, "no trial was begun twice or given up: {after:?}");
    for (i, trial) in after.iter().enumerate() {
        assert_eq!(trial.number, i as u64);
    }
    for trial in before.iter().filter(|trial| trial.state == State::Complete) {
        assert_eq!(after[trial.number as usize].value, trial.value);
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn a_killed_worker_leaves_a_study_that_goes_on() {
    let database = Database::new();
    let sandbox = Sandbox::new();
    let file = format!("sqlite:///{}", sandbox.path("studies.db").display());
    for url in [file, database.url()] {
        let words = format!("{LONG} --pruner none --study {url} --name s --quiet");
        let storage = url.parse::<Place>().unwrap().open().unwrap();
        let mut worker = start(&sandbox, &format!("{words} --trials 9"));
        let before = wait_for(storage.as_ref(), 1, &mut worker);
        worker.kill().unwrap();
        worker.wait().unwrap();
        let left: Vec<Trial> =
            trials(storage.as_ref()).into_iter().filter(|t| t.state == State::Running).collect();
        let [dead] = &left[..] else { panic!("one trial was at work: {left:?}") };
        let document = sandbox.json(&format!("{words} --trials 3 --json"));
        assert_eq!(document["complete"], 3);
        let after = trials(storage.as_ref());
        assert_eq!(after[dead.number as usize].state, State::Fail);
        let again = |t: &&Trial| t.state == State::Complete && t.params == dead.params;
        assert!(after.iter().any(|t| again(&t)), "its settings were not tried again");
        assert!(after.iter().all(|trial| trial.state != State::Running));
        for trial in before.iter().filter(|trial| trial.state == State::Complete) {
            assert_eq!(after[trial.number as usize].value, trial.value);
        }
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn a_server_that_is_away_is_said() {
    let server = Server::new();
    let sandbox = Sandbox::new();
    server.stop();
    let (code, message) = sandbox.refused(&format!("{SMALL} --study {}", server.url()));
    assert_eq!(code, 1, "{message}");
    assert!(message.starts_with("error: postgresql://tester:***@127.0.0.1:"), "{message}");
    assert!(
        message.contains("cannot be reached: ")
            && message.contains("is the server running on host")
    );
    assert!(!message.contains("s3cret"), "{message}");
}

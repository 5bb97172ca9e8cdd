//! Studies in journals and databases: Optuna reads them, they are resumed after a server or a worker has
//! stopped, and no output contains a password.
//!
//! Needs Optuna and PostgreSQL, which `cargo xtask test` provides.

#[path = "../../../clenshaw-tune/tests/suite/python.rs"]
mod python;
#[path = "../../../clenshaw-tune/tests/suite/postgres_server.rs"]
pub mod postgres_server;

use crate::common::{Sandbox, text};
use clenshaw_tune::{Direction, Storage, StorageLocation, Trial, TrialState};
use postgres_server::{Database, Server};
use python::{VERSIONS, optuna};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::Duration;

const SMALL: &str = "tune csbm:nodes=100 --set max_epochs=5 --set hidden=8 --splits 2 --quiet";
/// Takes long enough to be interrupted.
const LONG: &str =
    "tune csbm:nodes=100 --set max_epochs=400 --set stop=none --set hidden=8 --splits 2";

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn optuna_reads_the_same_trials() {
    let database = Database::new();
    let sandbox = Sandbox::new();
    let file = sandbox.path("studies.db").display().to_string();
    let journal = sandbox.path("s.journal").display().to_string();
    for place in [journal, format!("sqlite:///{file}"), database.url()] {
        let arguments = format!("{SMALL} --trials 5 --pruner median --study {place} --name s");
        let output = sandbox.run(&format!("{arguments} --json"));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stderr}");
        let document: Value = serde_json::from_str(&stdout).unwrap();
        let output = sandbox.run(&format!("report {place} --name s --out page.html"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let study = &crate::report::data(&sandbox, "page.html")["study"];
        assert_eq!(study["best"]["number"], document["best"]["number"]);
        for (shown, trial) in
            study["trials"].as_array().unwrap().iter().zip(document["trials"].as_array().unwrap())
        {
            assert_eq!((&shown["value"], &shown["params"]), (&trial["value"], &trial["params"]));
        }
        assert!(!text(&sandbox.read("page.html")).contains("s3cret"));
        for version in VERSIONS {
            let theirs = place.replace("postgresql:", "postgresql+psycopg2:");
            let read = optuna(version, "show", &theirs, &["s"]);
            assert_same_study(&document, &read);
            let all = [stdout.as_str(), &stderr, &read.to_string()].concat();
            assert!(!all.contains("s3cret"), "{all}");
            let page = sandbox.stdout(&arguments);
            assert!(
                page.contains(&format!("\nbest settings: {}", best_settings(&place))),
                "{page}"
            );
            assert!(!page.contains("s3cret"), "{page}");
        }
    }
    let settings = text(&sandbox.read("studies/s.best.toml"));
    assert!(settings.contains("of s in ") && !settings.contains("s3cret"), "{settings}");
}

/// The path of the best settings of the study `s` or, for a journal, its folder.
fn best_settings(place: &str) -> &str {
    place.strip_suffix("s.journal").unwrap_or("studies/s.best.toml")
}

/// Asserts that Optuna has read the study that the program has printed as JSON.
fn assert_same_study(document: &Value, read: &Value) {
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

/// Starts the program in the background.
fn start(sandbox: &Sandbox, arguments: &str) -> Child {
    sandbox.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn trials(storage: &dyn Storage) -> Vec<Trial> {
    storage.trials(storage.open_study("s", Direction::Maximize).unwrap()).unwrap()
}

/// Waits until `n` trials are complete and another one has started; panics if the worker exits before.
fn wait_for(storage: &dyn Storage, n: usize, worker: &mut Child) -> Vec<Trial> {
    loop {
        let trials = trials(storage);
        let complete = trials.iter().filter(|trial| trial.state == TrialState::Complete).count();
        let begun = |t: &Trial| t.state == TrialState::Running && !t.params.is_empty();
        if complete >= n && trials.iter().any(begun) {
            return trials;
        }
        assert!(worker.try_wait().unwrap().is_none(), "the worker ended too early");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn server_restart_during_a_trial_loses_no_result() {
    let server = Server::new();
    let sandbox = Sandbox::new();
    let place: StorageLocation = server.url().parse().unwrap();
    let arguments =
        format!("{LONG} --trials 8 --jobs 2 --pruner none --study {} --name s", server.url());
    let storage = place.open().unwrap();
    let mut worker = start(&sandbox, &arguments);
    let before = wait_for(storage.as_ref(), 2, &mut worker);
    server.stop();
    // Long enough for trials to end in the meantime.
    std::thread::sleep(Duration::from_secs(3));
    server.start();
    let output = worker.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = trials(storage.as_ref());
    assert_eq!(after.iter().filter(|trial| trial.state == TrialState::Complete).count(), 8);
    assert_eq!(after.len(), 8, "no trial was repeated or abandoned: {after:?}");
    for (i, trial) in after.iter().enumerate() {
        assert_eq!(trial.number, i as u64);
    }
    for trial in before.iter().filter(|trial| trial.state == TrialState::Complete) {
        assert_eq!(after[trial.number as usize].value, trial.value);
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn study_is_resumed_after_a_worker_is_killed() {
    let database = Database::new();
    let sandbox = Sandbox::new();
    let file = format!("sqlite:///{}", sandbox.path("studies.db").display());
    for url in [file, database.url()] {
        let arguments = format!("{LONG} --pruner none --study {url} --name s --quiet");
        let storage = url.parse::<StorageLocation>().unwrap().open().unwrap();
        let mut worker = start(&sandbox, &format!("{arguments} --trials 9"));
        let before = wait_for(storage.as_ref(), 1, &mut worker);
        worker.kill().unwrap();
        worker.wait().unwrap();
        let left: Vec<Trial> = trials(storage.as_ref())
            .into_iter()
            .filter(|t| t.state == TrialState::Running)
            .collect();
        let [dead] = &left[..] else { panic!("expected one running trial: {left:?}") };
        let document = sandbox.json(&format!("{arguments} --trials 3 --json"));
        assert_eq!(document["complete"], 3);
        let after = trials(storage.as_ref());
        assert_eq!(after[dead.number as usize].state, TrialState::Fail);
        let again = |t: &&Trial| t.state == TrialState::Complete && t.params == dead.params;
        assert!(
            after.iter().any(|t| again(&t)),
            "the settings of the failed trial were not retried"
        );
        assert!(after.iter().all(|trial| trial.state != TrialState::Running));
        for trial in before.iter().filter(|trial| trial.state == TrialState::Complete) {
            assert_eq!(after[trial.number as usize].value, trial.value);
        }
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn error_about_an_unreachable_server_contains_no_password() {
    let server = Server::new();
    let sandbox = Sandbox::new();
    server.stop();
    let (code, message) = sandbox.failure(&format!("{SMALL} --study {}", server.url()));
    assert_eq!(code, 1, "{message}");
    assert!(message.contains("\nerror: postgresql://tester:***@127.0.0.1:"), "{message}");
    assert!(
        message.contains("cannot be reached: ")
            && message.contains("is the server running on host")
    );
    assert!(!message.contains("s3cret"), "{message}");
}

/// Asserts that no file below a folder contains the password.
fn assert_no_password(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_password(&path);
        } else {
            let content = std::fs::read(&path).unwrap();
            let found = content.windows(6).any(|bytes| bytes == b"s3cret");
            assert!(!found, "{}", path.display());
        }
    }
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn no_file_contains_the_password() {
    let server = Server::new();
    let sandbox = Sandbox::new();
    let study = format!("{} --name s", server.url());
    let output = sandbox.run(&format!("{SMALL} --trials 2 --evaluate --study {study}"));
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(
        stderr.contains("warning: other users of this machine can see the password"),
        "{stderr}"
    );
    sandbox.stdout(&format!("report {study} --out page.html"));
    assert!(sandbox.path("studies/s.best.toml").exists() && sandbox.path("page.html").exists());
    assert_no_password(&sandbox.path("."));
}

#[test]
#[ignore = "needs Optuna and PostgreSQL: cargo xtask optuna"]
fn password_comes_from_the_environment_or_a_file() {
    let server = Server::new();
    let sandbox = Sandbox::new();
    let (user, rest) =
        server.url().split_once(":s3cret").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let url = format!("{user}@{}", rest.split_once('@').unwrap().1);
    let file = sandbox.path(".pgpass");
    let arguments = format!("{SMALL} --trials 1 --study {url} --name s");
    let run = |variable: &str, value: &std::path::Path| {
        let mut command = sandbox.command(&arguments);
        command.env_remove("PGPASSWORD").env_remove("PGPASSFILE").env("HOME", "/nonexistent");
        let output = command.env(variable, value).output().unwrap();
        (output.status.success(), text(&output.stderr))
    };
    let (succeeded, message) = run("PGPASSFILE", &file);
    assert!(!succeeded && message.contains("password missing; set it in ~/.pgpass"), "{message}");
    sandbox.write(".pgpass", "*:*:*:tester:s3cret/@word\n");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, permissions).unwrap();
    for (variable, value) in [
        ("PGPASSFILE", file.as_path()),
        ("HOME", file.parent().unwrap()),
        ("PGPASSWORD", "s3cret/@word".as_ref()),
    ] {
        let (succeeded, message) = run(variable, value);
        assert!(succeeded && !message.contains("password"), "{variable}: {message}");
    }
}

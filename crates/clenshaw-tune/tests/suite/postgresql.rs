//! PostgreSQL servers: the storage contract, heartbeats, restarts and connection errors.

use crate::contract::{CONTRACT, check_heartbeats};
use crate::postgres_server::{Database, Server};
use clenshaw_tune::{
    DatabaseOptions, DatabaseUrl, Direction, Error, RdbStorage, Storage, TrialOutcome, TrialState,
};
use std::time::Duration;

fn open(url: &str) -> clenshaw_tune::Result<RdbStorage> {
    RdbStorage::open(DatabaseUrl::parse(url).unwrap())
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn servers_fulfil_the_contract() {
    for test in CONTRACT {
        let database = Database::new();
        test(&|| Box::new(open(&database.url()).unwrap()));
    }
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn fails_trials_without_recent_heartbeat() {
    let database = Database::new();
    check_heartbeats(&open(&database.url()).unwrap(), |trial, age| {
        database.execute(&format!(
            "UPDATE trial_heartbeats SET heartbeat = heartbeat - interval '{age} seconds'
             WHERE trial_id = {trial}"
        ));
    });
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn calls_continue_after_a_restart_of_the_server() {
    let server = Server::new();
    let storage = open(&server.url()).unwrap();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    storage.record_heartbeat(trial).unwrap();
    server.stop();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| storage.finish(trial, TrialOutcome::Complete(0.5)));
        server.start();
        assert_eq!(waiting.join().unwrap().unwrap(), TrialState::Complete);
    });
    let state = storage.finish(trial, TrialOutcome::Complete(0.5)).unwrap();
    assert_eq!(state, TrialState::Complete);
    assert_eq!(storage.trials(study).unwrap()[0].value, Some(0.5));
    assert_eq!(storage.create_trial(study).unwrap().number, 1);
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn heartbeats_are_ignored_right_after_a_restart() {
    let server = Server::new();
    let (ours, theirs) = (open(&server.url()).unwrap(), open(&server.url()).unwrap());
    let study = ours.open_study("s", Direction::Minimize).unwrap();
    let trial = theirs.create_trial(study).unwrap().id;
    theirs.record_heartbeat(trial).unwrap();
    let sql = "UPDATE trial_heartbeats SET heartbeat = heartbeat - interval '1 hour'";
    let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    client.batch_execute(sql).unwrap();
    server.stop();
    server.start();
    assert_eq!(ours.trials(study).unwrap().len(), 1);
    let failed = ours.fail_stale_trials(study).unwrap();
    assert!(failed.is_empty(), "workers could not record heartbeats during the restart");
    // A storage opened after the restart has no lost connection.
    assert_eq!(open(&server.url()).unwrap().fail_stale_trials(study).unwrap(), [trial]);
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn connection_errors_contain_no_password() {
    let server = Server::new();
    let url = server.url();
    let error = |url: &str| open(url).map(drop).unwrap_err();
    let rejected = error(&url.replace("s3cret", "s4cret"));
    assert!(rejected.to_string().contains("password authentication failed"), "{rejected}");
    assert!(rejected.is_input() && !rejected.to_string().contains("s4cret"), "{rejected}");
    let missing = error(&url.replace("/postgres", "/nothing")).to_string();
    assert!(missing.contains("database \"nothing\" does not exist"), "{missing}");
    server.stop();
    let stopped = error(&url);
    let port = url.rsplit_once(':').unwrap().1.trim_end_matches("/postgres");
    let expected = format!("is the server running on host 127.0.0.1, port {port}?");
    let message = stopped.to_string();
    assert!(message.contains("cannot be reached: ") && message.ends_with(&expected), "{message}");
    assert!(matches!(stopped, Error::Unavailable { .. }) && !message.contains("cret"), "{message}");
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn stopped_server_is_unavailable_after_the_timeout() {
    let server = Server::new();
    let options =
        DatabaseOptions { timeout: Duration::from_millis(500), ..DatabaseOptions::default() };
    let url = DatabaseUrl::parse(&server.url()).unwrap();
    let storage = RdbStorage::open_with(url, options).unwrap();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    server.stop();
    let error = storage.create_trial(study).unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
}

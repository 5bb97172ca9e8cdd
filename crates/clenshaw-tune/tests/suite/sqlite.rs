//! SQLite files: the storage contract, heartbeats, schema versions and file errors.

use crate::contract::{CONTRACT, check_heartbeats, check_read_only, create_dead_trial};
use clenshaw_tune::{
    DatabaseOptions, DatabaseUrl, Direction, Distribution, Error, RdbStorage, Storage,
    TrialOutcome, TrialState,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A database file in a temporary folder.
struct TestFile(tempfile::TempDir);

impl TestFile {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("study.db")
    }

    fn open(&self) -> RdbStorage {
        open(&self.path(), DatabaseOptions::default()).unwrap()
    }

    /// Executes SQL directly.
    fn execute(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

fn open(path: &Path, options: DatabaseOptions) -> clenshaw_tune::Result<RdbStorage> {
    let url = DatabaseUrl::parse(&format!("sqlite:///{}", path.display())).unwrap();
    RdbStorage::open_with(url, options)
}

#[test]
fn databases_fulfil_the_contract() {
    for test in CONTRACT {
        let file = TestFile::new();
        test(&|| Box::new(file.open()));
        let n_files = std::fs::read_dir(file.0.path()).unwrap().count();
        assert_eq!(n_files, 1, "only the database must be left");
    }
}

#[test]
fn finishing_twice_with_the_same_outcome_is_allowed() {
    let file = TestFile::new();
    let storage = file.open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let outcomes = [TrialOutcome::Complete(0.1), TrialOutcome::Pruned(None), TrialOutcome::Fail];
    for outcome in outcomes {
        let trial = storage.create_trial(study).unwrap().id;
        let state = storage.finish(trial, outcome).unwrap();
        assert_eq!(storage.finish(trial, outcome).unwrap(), state);
    }
    let trials = storage.trials(study).unwrap();
    assert_eq!(trials[0].value, Some(0.1));
    assert!(storage.finish(trials[0].id, TrialOutcome::Complete(0.2)).is_err());
}

#[test]
fn fails_trials_without_recent_heartbeat() {
    let file = TestFile::new();
    check_heartbeats(&file.open(), |trial, age| {
        file.execute(&format!(
            "UPDATE trial_heartbeats SET heartbeat = datetime('now', '-{age} seconds') || '.000000'
             WHERE trial_id = {trial}"
        ));
    });
}

#[test]
fn stale_trial_is_failed_and_requeued_in_one_transaction() {
    let file = TestFile::new();
    let storage = file.open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let Some(dead) = create_dead_trial(&storage, study) else { return };
    let x = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
    storage.set_params(dead, &[("x".to_owned(), (x, 0.5))].into()).unwrap();
    file.execute(
        "CREATE TRIGGER stop BEFORE INSERT ON trials BEGIN SELECT RAISE(ABORT, 'killed'); END",
    );
    assert!(storage.requeue_stale_trials(study).unwrap_err().to_string().contains("killed"));
    assert_eq!(storage.trials(study).unwrap()[0].state, TrialState::Running);
    file.execute("DROP TRIGGER stop");
    assert_eq!(storage.requeue_stale_trials(study).unwrap(), [dead]);
    let states = storage.trials(study).unwrap().into_iter().map(|trial| trial.state);
    assert_eq!(states.collect::<Vec<_>>(), [TrialState::Fail, TrialState::Waiting]);
}

#[test]
fn reused_ids_of_deleted_studies_are_not_cached() {
    let file = TestFile::new();
    let storage = file.open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    storage.finish(trial, TrialOutcome::Complete(1.0)).unwrap();
    assert_eq!(storage.trials(study).unwrap()[0].value, Some(1.0));
    // As Optuna deletes a study; SQLite then reuses the ids.
    file.execute(
        "DELETE FROM trial_values; DELETE FROM trial_system_attributes; DELETE FROM trials;
         DELETE FROM study_directions; DELETE FROM studies",
    );
    assert!(storage.trials(study).is_err());
    assert_eq!(storage.open_study("other", Direction::Minimize).unwrap(), study);
    let again = storage.create_trial(study).unwrap().id;
    storage.finish(again, TrialOutcome::Complete(2.0)).unwrap();
    assert_eq!((again, storage.trials(study).unwrap()[0].value), (trial, Some(2.0)));
}

#[test]
fn rejects_other_schema_versions() {
    for (sql, version) in [
        ("UPDATE alembic_version SET version_num = 'v3.0.0.d'", "v3.0.0.d"),
        ("UPDATE alembic_version SET version_num = 'v6.0.0.a'", "v6.0.0.a"),
        ("DELETE FROM alembic_version; UPDATE version_info SET schema_version = 9", "9"),
    ] {
        let file = TestFile::new();
        drop(file.open());
        file.execute(sql);
        let opened = open(&file.path(), DatabaseOptions::default());
        let error = opened.map(drop).unwrap_err().to_string();
        let expected = format!("its schema has version `{version}`; expected `v3.2.0.a`");
        assert!(error.contains(&expected), "{error}");
        assert!(error.contains("optuna storage upgrade"), "{error}");
    }
}

#[test]
fn rejects_long_names_and_large_steps() {
    let file = TestFile::new();
    let storage = file.open();
    assert!(storage.open_study(&"\u{e4}".repeat(512), Direction::Minimize).is_ok());
    let error = storage.open_study(&"a".repeat(513), Direction::Minimize).unwrap_err().to_string();
    assert!(error.ends_with("expected a name of at most 512 characters"), "{error}");
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    let error = storage.report(trial, 1 << 31, 1.0).unwrap_err().to_string();
    assert_eq!(error, "`step` is 2147483648, outside 0 to 2147483647");
}

#[test]
fn errors_name_the_file() {
    let file = TestFile::new();
    std::fs::write(file.path(), "a text that is not a database\n".repeat(20)).unwrap();
    let error = open(&file.path(), DatabaseOptions::default()).map(drop).unwrap_err();
    let expected = "is not an SQLite database; use another file";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert!(error.is_input());
    let missing = file.0.path().join("no/study.db");
    let error = open(&missing, DatabaseOptions::default()).map(drop).unwrap_err().to_string();
    assert!(error.contains("no/study.db: cannot be opened; the file and its folder"), "{error}");
    let folder = open(file.0.path(), DatabaseOptions::default()).map(drop).unwrap_err();
    assert!(folder.is_input(), "{folder}");
}

#[test]
fn locked_file_is_unavailable_after_the_timeout() {
    let file = TestFile::new();
    let options =
        DatabaseOptions { timeout: Duration::from_millis(200), ..DatabaseOptions::default() };
    let storage = open(&file.path(), options).unwrap();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = storage.create_trial(study).unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }));
    assert!(error.to_string().contains("study.db: is locked by other workers"), "{error}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(storage.create_trial(study).unwrap().number, 0);
}

#[test]
fn read_only_file_can_be_read() {
    let open = |path: &Path| -> Box<dyn Storage> {
        Box::new(open(path, DatabaseOptions::default()).unwrap())
    };
    let expected = ["is read-only; ", "the file and its folder must be writable"];
    check_read_only("sqlite::read_only_file_can_be_read", open, expected);
}

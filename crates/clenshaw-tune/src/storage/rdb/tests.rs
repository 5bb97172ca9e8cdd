//! Connections that are lost after a commit, and panics; the contract of all storages is tested in `tests/`.

use super::connection::{Connection, Dialect, SqlError, SqlResult, SqlRow, SqlValue};
use super::{Access, Attempt, DatabaseUrl, RdbStorage};
use crate::{
    AttrKind, Direction, Distribution, ParamValue, Storage, Trial, TrialOutcome, TrialState,
};
use serde_json::json;
use tempfile::TempDir;

/// A connection that is lost after each commit, before the caller receives the response.
struct LostAfterCommit(Box<dyn Connection>);

impl Connection for LostAfterCommit {
    fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    fn execute_batch(&mut self, sql: &str) -> SqlResult<()> {
        self.0.execute_batch(sql)?;
        match sql {
            "COMMIT" => Err(SqlError::Disconnected("the response was lost".into())),
            _ => Ok(()),
        }
    }

    fn query(&mut self, sql: &str, params: &[SqlValue]) -> SqlResult<Vec<SqlRow>> {
        self.0.query(sql, params)
    }
}

/// The storage, with a connection that is lost after the next commit.
fn unreliable(storage: &RdbStorage) -> &RdbStorage {
    let mut session = storage.lock_session();
    let connection = session.connection.take().expect("connected");
    session.connection = Some(Box::new(LostAfterCommit(connection)));
    drop(session);
    storage
}

/// A new database, and its folder.
fn new_storage() -> (RdbStorage, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:///{}", folder.path().join("study.db").display());
    (RdbStorage::open(DatabaseUrl::parse(&url).unwrap()).unwrap(), folder)
}

#[test]
fn panic_in_a_transaction_closes_the_connection() {
    let (storage, _folder) = new_storage();
    let insert_and_panic = |db: &mut dyn Connection, _: Attempt| -> SqlResult<()> {
        db.execute("INSERT INTO studies (study_name) VALUES ('s')", &[])?;
        panic!("within a transaction")
    };
    let call = || storage.transaction(Access::Write, insert_and_panic);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    assert!(storage.lock_session().connection.is_none());
    assert!(storage.studies().unwrap().is_empty(), "the transaction was not rolled back");
    storage.open_study("s", Direction::Minimize).unwrap();
}

#[test]
fn open_existing_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.db");
    let url = DatabaseUrl::parse(&format!("sqlite:///{}", file.display())).unwrap();
    assert!(RdbStorage::open_existing(url.clone()).is_err());
    assert!(!file.exists());
    std::fs::write(&file, "").unwrap();
    let error = RdbStorage::open_existing(url.clone()).err().unwrap().to_string();
    assert!(error.contains("contains no studies"), "{error}");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
    RdbStorage::open(url.clone()).unwrap().open_study("s", Direction::Minimize).unwrap();
    assert_eq!(RdbStorage::open_existing(url).unwrap().studies().unwrap().len(), 1);
}

#[test]
fn repeated_writes_take_effect_once() {
    let (storage, _folder) = new_storage();
    let study = unreliable(&storage).open_study("s", Direction::Minimize).unwrap();
    let first = unreliable(&storage).create_trial(study).unwrap();
    let fixed = [("x".to_owned(), ParamValue::Float(0.5))].into();
    let second = unreliable(&storage).enqueue_trial(study, &fixed).unwrap();
    storage.enqueue_trial(study, &fixed).unwrap();
    let claimed = unreliable(&storage).claim_waiting_trial(study).unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state), (second.id, TrialState::Running));
    let x = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
    let params = [("x".to_owned(), (x, 0.5))].into();
    unreliable(&storage).set_params(first.id, &params).unwrap();
    unreliable(&storage).report(first.id, 1, 0.25).unwrap();
    let attrs = [("a".to_owned(), json!(1))].into();
    unreliable(&storage).set_trial_attrs(first.id, AttrKind::User, &attrs).unwrap();
    unreliable(&storage).set_study_attrs(study, AttrKind::User, &attrs).unwrap();
    let state = unreliable(&storage).finish(first.id, TrialOutcome::Complete(0.75)).unwrap();
    assert_eq!(state, TrialState::Complete);

    let trials = unreliable(&storage).trials(study).unwrap();
    let states: Vec<TrialState> = trials.iter().map(|trial: &Trial| trial.state).collect();
    assert_eq!(states, [TrialState::Complete, TrialState::Running, TrialState::Waiting]);
    assert_eq!((&trials[0].params, trials[0].value), (&params, Some(0.75)));
    assert_eq!(
        (&trials[0].intermediate_values, &trials[0].user_attrs),
        (&[(1, 0.25)].into(), &attrs)
    );
    assert_eq!(storage.studies().unwrap().len(), 1);
}

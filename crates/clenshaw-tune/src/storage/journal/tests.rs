//! Tests specific to journals; the contract of all storages and Optuna itself are tested in `tests/`.

use super::JournalStorage;
use crate::{Direction, Storage, TrialOutcome};
use std::fs;
use std::path::PathBuf;

/// A journal file in a temporary folder.
struct TestJournal {
    folder: tempfile::TempDir,
}

impl TestJournal {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("study.log")
    }

    fn open(&self) -> JournalStorage {
        JournalStorage::open(self.path()).unwrap()
    }

    /// A journal with these lines.
    fn with_lines(lines: &[&str]) -> Self {
        let file = Self::new();
        fs::write(file.path(), lines.concat()).unwrap();
        file
    }
}

#[test]
fn writes_no_nan_or_infinity() {
    let file = TestJournal::new();
    let journal = file.open();
    let study = journal.open_study("s", Direction::Minimize).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    journal.report(trial, 1, f64::NAN).unwrap();
    journal.finish(trial, TrialOutcome::Complete(f64::INFINITY)).unwrap();
    let text = fs::read_to_string(file.path()).unwrap();
    assert!(!text.contains("NaN") && !text.contains("Infinity"), "{text}");
    let times = journal.trials(study).unwrap().remove(0);
    let times = [times.datetime_start.unwrap(), times.datetime_complete.unwrap()];
    assert!(times.iter().all(|time| time.len() == 32 && time.ends_with("+00:00")), "{times:?}");
}

#[test]
fn rejects_other_directions_and_multiple_objectives() {
    let file = TestJournal::with_lines(&[
        "{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"two\",\"directions\":[1,2]}\n",
        "{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"up\",\"directions\":[2]}\n",
    ]);
    let journal = file.open();
    let error = |name| journal.open_study(name, Direction::Minimize).unwrap_err().to_string();
    assert!(error("two").ends_with("study `two` has 2 objectives; expected one to minimize"));
    assert!(error("up").ends_with("the direction of study `up` is maximize, not minimize"));
}

#[test]
fn ignores_the_entries_that_optuna_ignores() {
    let create = |name| {
        format!(
            "{{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"{name}\",\"directions\":[1]}}\n"
        )
    };
    let trial = |study| {
        format!(
            "{{\"op_code\":4,\"worker_id\":\"w\",\"study_id\":{study},\"datetime_start\":\"2024-02-03T04:05:06.000007\"}}\n"
        )
    };
    let lines = [
        create("a"),
        create("a"),
        create("b"),
        trial(1),
        trial(5),
        trial(0),
        "{\"op_code\":10,\"worker_id\":\"w\",\"study_id\":0,\"trial_ids\":[0]}\n".into(),
        "{\"op_code\":1,\"worker_id\":\"w\",\"study_id\":0}\n".into(),
        create("a"),
        trial(2),
        trial(0),
    ];
    let file = TestJournal::with_lines(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let journal = file.open();
    let ids: Vec<u64> = journal.studies().unwrap().iter().map(|study| study.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(journal.open_study("a", Direction::Minimize).unwrap(), 2);
    assert_eq!(journal.trials(1).unwrap()[0].id, 0);
    let [third] = &journal.trials(2).unwrap()[..] else { panic!("one trial") };
    assert_eq!((third.id, third.number), (2, 0));
    assert_eq!(third.datetime_start.as_deref(), Some("2024-02-03T04:05:06.000007"));
    assert!(journal.trials(0).unwrap_err().to_string().ends_with("study 0 does not exist"));
}

#[test]
fn errors_name_file_and_line() {
    let good = "{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"a\",\"directions\":[1]}\n";
    let error = |line: &str| {
        let file = TestJournal::with_lines(&[good, line, good]);
        JournalStorage::open(file.path()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(error("{\"op_co{\"op_code\":4}\n").contains("study.log: line 2: not a journal entry"));
    let unknown = error("{\"op_code\":12,\"worker_id\":\"w\"}\n");
    assert!(unknown.ends_with("study.log: line 2: unknown op_code 12; known: 0 to 10"));
    let folder = tempfile::tempdir().unwrap();
    let error = JournalStorage::open(folder.path()).map(|_| ()).unwrap_err();
    assert!(error.is_input(), "{error}");
    let nowhere = JournalStorage::open(folder.path().join("no/study.log")).unwrap();
    let error = nowhere.open_study("s", Direction::Minimize).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("no/study.log"), "{error}");
}

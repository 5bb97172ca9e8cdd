//! Tests specific to journals; the contract of all storages and compatibility with Optuna are tested in
//! `tests/`.

use super::{JournalStorage, new_entry};
use crate::error::Result;
use crate::{Direction, Distribution, ParamValue, Storage, TrialOutcome};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// The line of an entry of another worker.
fn line(op: u64, fields: Value) -> String {
    new_entry::line("w", &(op, fields))
}

fn new_study(name: &str, directions: &[u64]) -> String {
    line(0, json!({"study_name": name, "directions": directions}))
}

/// A journal with these lines, and its folder.
fn journal(lines: &[String]) -> (Result<JournalStorage>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.log");
    fs::write(&path, lines.concat()).unwrap();
    (JournalStorage::open(path), folder)
}

#[test]
fn writes_no_nan_or_infinity() {
    let (journal, folder) = journal(&[]);
    let journal = journal.unwrap();
    let study = journal.open_study("s", Direction::Minimize).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    journal.report(trial, 1, f64::NAN).unwrap();
    journal.finish(trial, TrialOutcome::Complete(f64::INFINITY)).unwrap();
    let text = fs::read_to_string(folder.path().join("study.log")).unwrap();
    assert!(!text.contains("NaN") && !text.contains("Infinity"), "{text}");
    let times = journal.trials(study).unwrap().remove(0);
    let times = [times.datetime_start.unwrap(), times.datetime_complete.unwrap()];
    assert!(times.iter().all(|time| time.len() == 32 && time.ends_with("+00:00")), "{times:?}");
}

#[test]
fn reads_nan_and_infinities() {
    let trial = r#"{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":null,"#;
    let values = r#""values":[-Infinity],"intermediate_values":{"10":1,"2":NaN}}"#;
    let report = r#"{"op_code":7,"worker_id":"w","trial_id":0,"step":3,"intermediate_value":NaN}"#;
    let lines = [new_study("a", &[1]), format!("{trial}{values}\n{report}\n")];
    let (journal, _folder) = journal(&lines);
    let trial = journal.unwrap().trials(0).unwrap().remove(0);
    assert_eq!(trial.value, Some(f64::NEG_INFINITY));
    let reports = trial.intermediate_values;
    assert_eq!(reports.keys().copied().collect::<Vec<_>>(), [2, 3, 10]);
    assert!(reports[&2].is_nan() && reports[&3].is_nan() && reports[&10] == 1.0);
}

#[test]
fn rejects_multiple_objectives() {
    let (journal, _folder) = journal(&[new_study("two", &[1, 2])]);
    let error = journal.unwrap().open_study("two", Direction::Minimize).unwrap_err().to_string();
    assert!(error.ends_with("study `two` has 2 objectives; expected one to minimize"), "{error}");
}

#[test]
fn ignores_the_entries_that_optuna_ignores() {
    const START: &str = "2024-02-03T04:05:06.000007";
    let create = |name| new_study(name, &[1]);
    let trial = |study| line(4, json!({"study_id": study, "datetime_start": START}));
    let (journal, _folder) = journal(&[
        create("a"),
        create("a"),
        create("b"),
        trial(1),
        trial(5),
        trial(0),
        line(10, json!({"study_id": 0, "trial_ids": [0]})),
        line(1, json!({"study_id": 0})),
        create("a"),
        trial(2),
        trial(0),
    ]);
    let journal = journal.unwrap();
    let ids: Vec<u64> = journal.studies().unwrap().iter().map(|study| study.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(journal.open_study("a", Direction::Minimize).unwrap(), 2);
    assert_eq!(journal.trials(1).unwrap()[0].id, 0);
    let [third] = &journal.trials(2).unwrap()[..] else { panic!("one trial") };
    assert_eq!((third.id, third.number), (2, 0));
    assert_eq!(third.datetime_start.as_deref(), Some(START));
    assert!(journal.trials(0).unwrap_err().to_string().ends_with("study 0 does not exist"));
}

#[test]
fn errors_name_file_and_line() {
    let list = Distribution::Categorical { choices: vec![ParamValue::None] }.to_json();
    let outside = json!({
        "trial_id": 0, "param_name": "x", "param_value_internal": 1, "distribution": list,
    });
    for (entry, expected) in [
        ("{\"op_co{\"op_code\":4}\n".to_owned(), "not a journal entry: "),
        ("[]\n".to_owned(), "not a journal entry: "),
        (line(12, json!({})), "unknown op_code 12; known: 0 to 10"),
        (line(5, json!({"trial_id": 0})), "missing field `param_name`"),
        (line(5, outside), "`x` is choice 1, which is not in its list of choices"),
    ] {
        let lines = [new_study("a", &[1]), entry, new_study("a", &[1])];
        let error = journal(&lines).0.map(drop).unwrap_err().to_string();
        assert!(error.contains(&format!("study.log: line 2: {expected}")), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let error = JournalStorage::open(folder.path()).map(drop).unwrap_err();
    assert!(error.is_input(), "{error}");
    let nowhere = JournalStorage::open(folder.path().join("no/study.log")).unwrap();
    let error = nowhere.open_study("s", Direction::Minimize).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("no/study.log"), "{error}");
}

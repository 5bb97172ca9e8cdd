//! What only journals have; `tests/storages.rs` has what all storages promise, and `tests/optuna.rs` the
//! real Optuna read and write the same files.

use super::Journal;
use crate::{Direction, Ending, Storage};
use std::fs;
use std::path::PathBuf;

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

    fn open(&self) -> Journal {
        Journal::open(self.path()).unwrap()
    }

    /// A journal that holds these lines.
    fn holding(lines: &[&str]) -> Self {
        let desk = Self::new();
        fs::write(desk.path(), lines.concat()).unwrap();
        desk
    }
}

#[test]
fn only_numbers_that_json_has_are_written() {
    let desk = Desk::new();
    let journal = desk.open();
    let study = journal.study("s", Direction::Minimise).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    journal.report(trial, 1, f64::NAN).unwrap();
    journal.finish(trial, Ending::Complete(f64::INFINITY)).unwrap();
    let text = fs::read_to_string(desk.path()).unwrap();
    assert!(!text.contains("NaN") && !text.contains("Infinity"), "{text}");
    let times = journal.trials(study).unwrap().remove(0);
    let times = [times.started.unwrap(), times.finished.unwrap()];
    assert!(times.iter().all(|time| time.len() == 32 && time.ends_with("+00:00")), "{times:?}");
}

#[test]
fn a_study_has_one_direction() {
    let desk = Desk::holding(&[
        "{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"two\",\"directions\":[1,2]}\n",
        "{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"up\",\"directions\":[2]}\n",
    ]);
    let journal = desk.open();
    let said = |name| journal.study(name, Direction::Minimise).unwrap_err().to_string();
    assert!(said("two").ends_with("study `two` has 2 objectives, not one to minimise"));
    assert!(said("up").ends_with("study `up` is to maximise, not to minimise"));
}

#[test]
fn lines_that_optuna_passes_over_are_passed_over() {
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
    let desk = Desk::holding(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let journal = desk.open();
    let ids: Vec<u64> = journal.studies().unwrap().iter().map(|study| study.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(journal.study("a", Direction::Minimise).unwrap(), 2);
    assert_eq!(journal.trials(1).unwrap()[0].id, 0);
    let [third] = &journal.trials(2).unwrap()[..] else { panic!("one trial") };
    assert_eq!((third.id, third.number), (2, 0));
    assert_eq!(third.started.as_deref(), Some("2024-02-03T04:05:06.000007"));
    assert!(journal.trials(0).unwrap_err().to_string().ends_with("there is no study 0 any more"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let good = "{\"op_code\":0,\"worker_id\":\"w\",\"study_name\":\"a\",\"directions\":[1]}\n";
    let said = |line: &str| {
        let desk = Desk::holding(&[good, line, good]);
        Journal::open(desk.path()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(
        said("{\"op_co{\"op_code\":4}\n").contains("study.log: line 2: not a line of a journal")
    );
    let unknown = said("{\"op_code\":12,\"worker_id\":\"w\"}\n");
    assert!(unknown.ends_with("study.log: line 2: unknown operation 12; known: 0 to 10"));
    let folder = tempfile::tempdir().unwrap();
    let error = Journal::open(folder.path()).map(|_| ()).unwrap_err();
    assert!(error.is_input(), "{error}");
    let nowhere = Journal::open(folder.path().join("no/study.log")).unwrap();
    let error = nowhere.study("s", Direction::Minimise).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("no/study.log"), "{error}");
}

//! A journal by itself; `tests/optuna.rs` has the real Optuna read and write the same files.

use super::Journal;
use crate::tune::{
    Choice, Direction, Distribution, Ending, Notes, Params, State, Storage, Study, Trial,
};
use serde_json::json;
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

fn float(high: f64) -> Distribution {
    Distribution::Float { low: 0.0, high, log: false, step: None }
}

fn params(name: &str, distribution: Distribution, value: f64) -> Params {
    [(name.to_owned(), (distribution, value))].into()
}

#[test]
fn what_one_worker_says_another_reads() {
    let desk = Desk::new();
    let (ours, theirs) = (desk.open(), desk.open());
    let study = ours.study("s", Direction::Maximise).unwrap();
    let trial = ours.create_trial(study).unwrap();
    assert_eq!((trial.id, trial.number, trial.state), (0, 0, State::Running));
    ours.set_params(0, &params("x", float(1.0), 0.25)).unwrap();
    ours.report(0, 3, 0.5).unwrap();
    ours.report(0, 4, f64::NAN).unwrap();
    ours.set_trial_attrs(0, Notes::User, &[("seed".into(), json!(7))].into()).unwrap();
    ours.set_trial_attrs(0, Notes::System, &[("rung".into(), json!([1]))].into()).unwrap();
    ours.set_study_attrs(study, Notes::User, &[("graph".into(), json!("cora"))].into()).unwrap();
    assert_eq!(ours.finish(0, Ending::Complete(0.75)).unwrap(), State::Complete);

    assert_eq!(theirs.study("s", Direction::Maximise).unwrap(), study);
    let expected = Study { id: 0, name: "s".into(), direction: Some(Direction::Maximise) };
    assert_eq!(theirs.studies().unwrap(), [expected]);
    assert_eq!(theirs.study_attrs(study, Notes::User).unwrap()["graph"], "cora");
    assert!(theirs.study_attrs(study, Notes::System).unwrap().is_empty());
    let [read] = &theirs.trials(study).unwrap()[..] else { panic!("one trial") };
    assert_eq!((read.state, read.value), (State::Complete, Some(0.75)));
    assert_eq!(read.params, params("x", float(1.0), 0.25));
    assert_eq!(read.external()["x"], Choice::Real(0.25));
    assert_eq!(read.reports, [(3, 0.5)].into());
    assert_eq!((&read.user_attrs["seed"], &read.system_attrs["rung"]), (&json!(7), &json!([1])));
    let times = [&read.started, &read.finished].map(|time| time.clone().unwrap());
    assert!(times.iter().all(|time| time.len() == 32 && time.ends_with("+00:00")), "{times:?}");
    assert!(times[0] <= times[1]);
    assert_eq!(ours.trials(study).unwrap(), theirs.trials(study).unwrap());
    assert_eq!(fs::read_dir(desk.folder.path()).unwrap().count(), 1, "only the journal is left");
}

#[test]
fn a_value_that_is_not_finite_fails_the_trial() {
    let desk = Desk::new();
    let journal = desk.open();
    let study = journal.study("s", Direction::Minimise).unwrap();
    let endings = [Ending::Complete(f64::NAN), Ending::Pruned(Some(f64::INFINITY)), Ending::Fail];
    for ending in endings {
        let trial = journal.create_trial(study).unwrap();
        journal.finish(trial.id, ending).unwrap();
    }
    let trials = journal.trials(study).unwrap();
    let states: Vec<State> = trials.iter().map(|trial| trial.state).collect();
    assert_eq!(states, [State::Fail, State::Pruned, State::Fail]);
    assert!(trials.iter().all(|trial| trial.value.is_none()));
    let text = fs::read_to_string(desk.path()).unwrap();
    assert!(!text.contains("NaN") && !text.contains("Infinity"));
}

#[test]
fn a_finished_trial_does_not_change() {
    let desk = Desk::new();
    let journal = desk.open();
    let study = journal.study("s", Direction::Minimise).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    journal.finish(trial, Ending::Pruned(Some(1.0))).unwrap();
    let errors = [
        journal.report(trial, 1, 1.0).unwrap_err(),
        journal.set_params(trial, &params("x", float(1.0), 0.5)).unwrap_err(),
        journal.finish(trial, Ending::Fail).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().ends_with("trial 0 of study `s` is finished"), "{error}");
    }
    assert!(journal.report(9, 1, 1.0).unwrap_err().to_string().ends_with("there is no trial 9"));
}

#[test]
fn another_kind_of_distribution_is_refused_and_nothing_is_kept() {
    let desk = Desk::new();
    let journal = desk.open();
    let study = journal.study("s", Direction::Minimise).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    journal.set_params(trial, &params("x", float(1.0), 0.5)).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    journal.set_params(trial, &params("x", float(2.0), 1.5)).unwrap();
    let trial = journal.create_trial(study).unwrap().id;
    let int = Distribution::Int { low: 0, high: 1, log: false, step: 1 };
    let mut both = params("x", int.clone(), 1.0);
    both.extend(params("a", int.clone(), 1.0));
    let error = journal.set_params(trial, &both).unwrap_err().to_string();
    assert!(error.contains("`x` has the distribution") && error.contains("study `s`"), "{error}");
    assert!(journal.trials(study).unwrap()[2].params.is_empty());
    let list = Distribution::Categorical { choices: vec![Choice::None] };
    let outside = [params("c", list, 1.0), params("a", int, f64::NAN)];
    assert!(outside.iter().all(|params| journal.set_params(trial, params).is_err()));
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
fn a_waiting_trial_is_claimed_once() {
    let desk = Desk::new();
    let (ours, theirs) = (desk.open(), desk.open());
    let study = ours.study("s", Direction::Minimise).unwrap();
    assert_eq!(ours.claim_waiting(study).unwrap(), None);
    let fixed = [("x".to_owned(), Choice::Real(0.5)), ("y".to_owned(), Choice::Word("b".into()))];
    let waiting = ours.enqueue(study, &fixed.clone().into()).unwrap();
    assert_eq!((waiting.state, waiting.started), (State::Waiting, None));
    let claimed = theirs.claim_waiting(study).unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state), (waiting.id, State::Running));
    assert!(claimed.started.is_some());
    assert_eq!(ours.claim_waiting(study).unwrap(), None);
    let words = Distribution::Categorical {
        choices: vec![Choice::Word("a".into()), Choice::Word("b".into())],
    };
    assert_eq!(claimed.fixed("x", &float(1.0)), Some(0.5));
    assert_eq!(claimed.fixed("x", &float(0.25)), None);
    assert_eq!(claimed.fixed("y", &words), Some(1.0));
    let endless = [("x".to_owned(), Choice::Real(f64::NAN))].into();
    assert!(ours.enqueue(study, &endless).is_err());
}

#[test]
fn threads_share_a_journal() {
    let desk = Desk::new();
    let (journal, other) = (desk.open(), desk.open());
    let study = journal.study("s", Direction::Minimise).unwrap();
    std::thread::scope(|scope| {
        for storage in [&journal, &journal, &other] {
            scope.spawn(move || {
                for _ in 0..10 {
                    let trial = storage.create_trial(study).unwrap();
                    storage.finish(trial.id, Ending::Complete(trial.number as f64)).unwrap();
                }
            });
        }
    });
    let trials = journal.trials(study).unwrap();
    assert_eq!(trials.len(), 30);
    let is_own =
        |(i, trial): (usize, &Trial)| trial.number == i as u64 && trial.value == Some(i as f64);
    assert!(trials.iter().enumerate().all(is_own));
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

#[test]
fn trials_of_the_dead_are_failed_and_those_of_the_living_are_not() {
    let desk = Desk::new();
    let journal = desk.open();
    let study = journal.study("s", Direction::Minimise).unwrap();
    let trial = journal.create_trial(study).unwrap();
    if trial.system_attrs.is_empty() {
        return; // The system does not tell who runs.
    }
    journal.create_trial(study).unwrap();
    let mut dead = trial.system_attrs["clenshaw:worker"].clone();
    dead["started"] = json!(1);
    let attrs = [("clenshaw:worker".to_owned(), dead)].into();
    journal.set_trial_attrs(1, Notes::System, &attrs).unwrap();
    assert_eq!(desk.open().reap_dead(study).unwrap(), [1]);
    assert!(journal.reap_dead(study).unwrap().is_empty());
    let states: Vec<State> = journal.trials(study).unwrap().iter().map(|t| t.state).collect();
    assert_eq!(states, [State::Running, State::Fail]);
}

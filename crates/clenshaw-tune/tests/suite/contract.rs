//! The contract of all storages.

use clenshaw_tune::{
    AttrKind, Direction, Distribution, Error, ParamValue, Params, Storage, StudySummary,
    TrialOutcome, TrialState,
};
use serde_json::json;
use std::path::Path;

/// Opens the same storage again, as another worker would.
pub type Opener<'a> = &'a dyn Fn() -> Box<dyn Storage>;

/// The tests of the contract; each needs an empty storage.
pub const CONTRACT: [fn(Opener<'_>); 10] = [
    writes_are_visible_to_other_workers,
    later_values_replace_earlier_ones,
    studies_are_independent,
    non_finite_values_fail_the_trial,
    finished_trials_cannot_be_changed,
    incompatible_distributions_are_rejected,
    waiting_trials_are_claimed_once,
    concurrent_workers_lose_no_trial,
    trials_of_dead_workers_are_failed,
    parameters_of_dead_workers_are_requeued,
];

fn float(high: f64) -> Distribution {
    Distribution::Float { low: 0.0, high, log: false, step: None }
}

fn params(name: &str, distribution: Distribution, value: f64) -> Params {
    [(name.to_owned(), (distribution, value))].into()
}

fn writes_are_visible_to_other_workers(open: Opener<'_>) {
    let (ours, theirs) = (open(), open());
    let study = ours.open_study("s", Direction::Maximize).unwrap();
    let trial = ours.create_trial(study).unwrap();
    assert_eq!((trial.number, trial.state), (0, TrialState::Running));
    let id = trial.id;
    ours.set_params(id, &params("x", float(1.0), 0.1 + 0.2)).unwrap();
    ours.report(id, 3, 1e-300).unwrap();
    ours.report(id, 4, f64::NAN).unwrap();
    let odd = json!({"text": "a \"b\" \u{e4} \\ '", "list": [1, null, 0.1]});
    ours.set_trial_attrs(id, AttrKind::User, &[("odd".into(), odd.clone())].into()).unwrap();
    ours.set_trial_attrs(id, AttrKind::System, &[("rung".into(), json!([1]))].into()).unwrap();
    ours.set_study_attrs(study, AttrKind::User, &[("graph".into(), json!("cora"))].into()).unwrap();
    assert_eq!(ours.finish(id, TrialOutcome::Complete(1.0 / 3.0)).unwrap(), TrialState::Complete);

    assert_eq!(theirs.open_study("s", Direction::Maximize).unwrap(), study);
    let expected =
        StudySummary { id: study, name: "s".into(), direction: Some(Direction::Maximize) };
    assert_eq!(theirs.studies().unwrap(), [expected]);
    assert_eq!(theirs.study_attrs(study, AttrKind::User).unwrap()["graph"], "cora");
    assert!(theirs.study_attrs(study, AttrKind::System).unwrap().is_empty());
    let [read] = &theirs.trials(study).unwrap()[..] else { panic!("one trial") };
    assert_eq!((read.id, read.state, read.value), (id, TrialState::Complete, Some(1.0 / 3.0)));
    assert_eq!(read.params, params("x", float(1.0), 0.1 + 0.2));
    assert_eq!(read.external_params()["x"], ParamValue::Float(0.1 + 0.2));
    assert_eq!(read.intermediate_values, [(3, 1e-300)].into());
    assert_eq!((&read.user_attrs["odd"], &read.system_attrs["rung"]), (&odd, &json!([1])));
    let times = [&read.datetime_start, &read.datetime_complete].map(|time| time.clone().unwrap());
    let naive = times.each_ref().map(|time| time.trim_end_matches("+00:00"));
    assert!(naive.iter().all(|time| time.len() == 26 && &time[10..11] == "T"), "{times:?}");
    assert!(times[0] <= times[1]);
    assert_eq!(ours.trials(study).unwrap(), theirs.trials(study).unwrap());
}

fn later_values_replace_earlier_ones(open: Opener<'_>) {
    let storage = open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    for value in [1.0, 2.0] {
        storage.report(trial, 7, value).unwrap();
        storage.set_params(trial, &params("x", float(9.0), value)).unwrap();
        let attrs = [("a".to_owned(), json!(value))].into();
        storage.set_trial_attrs(trial, AttrKind::User, &attrs).unwrap();
        storage.set_study_attrs(study, AttrKind::System, &attrs).unwrap();
    }
    let read = storage.trials(study).unwrap().remove(0);
    assert_eq!((read.intermediate_values[&7], read.params["x"].1), (2.0, 2.0));
    assert_eq!(read.user_attrs["a"], 2.0);
    assert_eq!(storage.study_attrs(study, AttrKind::System).unwrap()["a"], 2.0);
}

fn studies_are_independent(open: Opener<'_>) {
    let storage = open();
    let [a, b] =
        ["a", "b \u{e4}'\""].map(|name| storage.open_study(name, Direction::Minimize).unwrap());
    let numbers = [a, b, a, b, b].map(|study| storage.create_trial(study).unwrap().number);
    assert_eq!(numbers, [0, 0, 1, 1, 2]);
    let count = |study| storage.trials(study).unwrap().len();
    assert_eq!((count(a), count(b)), (2, 3));
    let error = storage.open_study("a", Direction::Maximize).unwrap_err().to_string();
    assert!(error.ends_with("the direction of study `a` is minimize, not maximize"), "{error}");
    let error = storage.trials(999).unwrap_err().to_string();
    assert!(error.ends_with("study 999 does not exist"), "{error}");
    let error = storage.create_trial(999).unwrap_err().to_string();
    assert!(error.ends_with("study 999 does not exist"), "{error}");
}

fn non_finite_values_fail_the_trial(open: Opener<'_>) {
    let storage = open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let outcomes = [
        TrialOutcome::Complete(f64::NAN),
        TrialOutcome::Pruned(Some(f64::INFINITY)),
        TrialOutcome::Fail,
    ];
    for outcome in outcomes {
        let trial = storage.create_trial(study).unwrap();
        storage.finish(trial.id, outcome).unwrap();
    }
    use TrialState::{Fail, Pruned};
    assert_eq!(states(storage.as_ref(), study), [Fail, Pruned, Fail]);
    assert!(storage.trials(study).unwrap().iter().all(|trial| trial.value.is_none()));
}

fn finished_trials_cannot_be_changed(open: Opener<'_>) {
    let storage = open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    storage.finish(trial, TrialOutcome::Pruned(Some(1.0))).unwrap();
    let attrs = [("a".to_owned(), json!(1))].into();
    let errors = [
        storage.report(trial, 1, 1.0).unwrap_err(),
        storage.set_params(trial, &params("x", float(1.0), 0.5)).unwrap_err(),
        storage.set_trial_attrs(trial, AttrKind::User, &attrs).unwrap_err(),
        storage.finish(trial, TrialOutcome::Fail).unwrap_err(),
        storage.finish(trial, TrialOutcome::Pruned(Some(2.0))).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::TrialFinished { number: 0, .. }), "{error}");
        assert!(error.to_string().ends_with("trial 0 of study `s` is finished"), "{error}");
    }
    let read = storage.trials(study).unwrap().remove(0);
    assert_eq!((read.state, read.value), (TrialState::Pruned, Some(1.0)));
    assert!(
        read.intermediate_values.is_empty() && read.params.is_empty() && read.user_attrs.is_empty()
    );
    assert!(
        storage.report(99, 1, 1.0).unwrap_err().to_string().ends_with("trial 99 does not exist")
    );
}

fn incompatible_distributions_are_rejected(open: Opener<'_>) {
    let storage = open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    for (high, value) in [(1.0, 0.5), (2.0, 1.5)] {
        let trial = storage.create_trial(study).unwrap().id;
        storage.set_params(trial, &params("x", float(high), value)).unwrap();
    }
    let trial = storage.create_trial(study).unwrap().id;
    let int = Distribution::Int { low: 0, high: 1, log: false, step: 1 };
    let mut both = params("x", int.clone(), 1.0);
    both.extend(params("a", int.clone(), 1.0));
    let error = storage.set_params(trial, &both).unwrap_err().to_string();
    assert!(error.contains("`x` has the distribution") && error.contains("study `s`"), "{error}");
    assert!(storage.trials(study).unwrap()[2].params.is_empty());
    let list = Distribution::Categorical { choices: vec![ParamValue::None] };
    let outside = [params("c", list, 1.0), params("a", int, f64::NAN)];
    assert!(outside.iter().all(|params| storage.set_params(trial, params).is_err()));
}

fn waiting_trials_are_claimed_once(open: Opener<'_>) {
    let (ours, theirs) = (open(), open());
    let study = ours.open_study("s", Direction::Minimize).unwrap();
    assert_eq!(ours.claim_waiting_trial(study).unwrap(), None);
    let fixed =
        [("x".to_owned(), ParamValue::Float(0.5)), ("y".to_owned(), ParamValue::Str("b".into()))];
    let waiting = ours.enqueue_trial(study, &fixed.clone().into()).unwrap();
    assert_eq!((waiting.state, &waiting.datetime_start), (TrialState::Waiting, &None));
    let later = ours.enqueue_trial(study, &[].into()).unwrap();
    let claimed = theirs.claim_waiting_trial(study).unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state), (waiting.id, TrialState::Running));
    assert!(claimed.datetime_start.is_some());
    assert_eq!(ours.claim_waiting_trial(study).unwrap().unwrap().id, later.id);
    assert_eq!(ours.claim_waiting_trial(study).unwrap(), None);
    let list = Distribution::Categorical {
        choices: vec![ParamValue::Str("a".into()), ParamValue::Str("b".into())],
    };
    assert_eq!(claimed.fixed_param("x", &float(1.0)), Some(0.5));
    assert_eq!(claimed.fixed_param("x", &float(0.25)), None);
    assert_eq!(claimed.fixed_param("y", &list), Some(1.0));
    let invalid = [("x".to_owned(), ParamValue::Float(f64::NAN))].into();
    assert!(ours.enqueue_trial(study, &invalid).is_err());
}

/// Two of the three workers share a connection.
fn concurrent_workers_lose_no_trial(open: Opener<'_>) {
    let (ours, theirs) = (open(), open());
    let study = ours.open_study("s", Direction::Minimize).unwrap();
    std::thread::scope(|scope| {
        for storage in [&ours, &ours, &theirs] {
            scope.spawn(move || {
                for _ in 0..10 {
                    let trial = storage.create_trial(study).unwrap();
                    let number = trial.number as f64;
                    storage.set_params(trial.id, &params("x", float(1e9), number)).unwrap();
                    storage.finish(trial.id, TrialOutcome::Complete(number)).unwrap();
                }
            });
        }
    });
    for trials in [ours.trials(study).unwrap(), theirs.trials(study).unwrap()] {
        assert_eq!(trials.len(), 30);
        for (i, trial) in trials.iter().enumerate() {
            assert_eq!((trial.number, trial.value), (i as u64, Some(i as f64)));
            assert_eq!(trial.params["x"].1, i as f64);
        }
    }
}

fn trials_of_dead_workers_are_failed(open: Opener<'_>) {
    let storage = open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    storage.create_trial(study).unwrap();
    let Some(dead) = create_dead_trial(storage.as_ref(), study) else { return };
    assert_eq!(open().fail_stale_trials(study).unwrap(), [dead]);
    assert!(storage.fail_stale_trials(study).unwrap().is_empty());
    assert_eq!(states(storage.as_ref(), study), [TrialState::Running, TrialState::Fail]);
}

fn parameters_of_dead_workers_are_requeued(open: Opener<'_>) {
    let storage = open();
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let Some(without_params) = create_dead_trial(storage.as_ref(), study) else { return };
    let dead = create_dead_trial(storage.as_ref(), study).unwrap();
    storage.set_params(dead, &params("x", float(1.0), 0.5)).unwrap();
    assert_eq!(open().requeue_stale_trials(study).unwrap(), [without_params, dead]);
    assert!(storage.requeue_stale_trials(study).unwrap().is_empty());
    use TrialState::{Fail, Waiting};
    assert_eq!(states(storage.as_ref(), study), [Fail, Fail, Waiting]);
    let claimed = storage.claim_waiting_trial(study).unwrap().unwrap();
    assert_eq!(claimed.fixed_param("x", &float(1.0)), Some(0.5));
}

fn states(storage: &dyn Storage, study: u64) -> Vec<TrialState> {
    storage.trials(study).unwrap().iter().map(|trial| trial.state).collect()
}

/// Creates a running trial whose worker has ended and returns its id; `None` if the operating system does not
/// identify processes.
pub fn create_dead_trial(storage: &dyn Storage, study: u64) -> Option<u64> {
    let trial = storage.create_trial(study).unwrap();
    let mut worker = trial.system_attrs.get("clenshaw:worker")?.clone();
    worker["started"] = json!(1);
    let attrs = [("clenshaw:worker".to_owned(), worker)].into();
    storage.set_trial_attrs(trial.id, AttrKind::System, &attrs).unwrap();
    Some(trial.id)
}

/// Trials are failed if their last heartbeat is older than 120 seconds; `age_heartbeat` makes the heartbeat
/// of a trial older by a number of seconds.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub fn check_heartbeats(storage: &dyn Storage, age_heartbeat: impl Fn(u64, u64)) {
    let study = storage.open_study("s", Direction::Minimize).unwrap();
    let [no_heartbeat, alive, stale, done] =
        [(); 4].map(|()| storage.create_trial(study).unwrap().id);
    for trial in [alive, stale, done] {
        storage.record_heartbeat(trial).unwrap();
    }
    storage.finish(done, TrialOutcome::Complete(1.0)).unwrap();
    for (trial, age) in [(alive, 100), (stale, 121), (done, 121)] {
        age_heartbeat(trial, age);
    }
    assert_eq!(storage.fail_stale_trials(study).unwrap(), [stale]);
    let state = |id| storage.trials(study).unwrap().iter().find(|t| t.id == id).unwrap().state;
    assert_eq!([no_heartbeat, alive, stale, done].map(state), {
        use TrialState::{Complete, Fail, Running};
        [Running, Running, Fail, Complete]
    });
    storage.record_heartbeat(stale).unwrap();
    assert_eq!(state(stale), TrialState::Fail, "a heartbeat must not restart a trial");
}

/// Other users can read a file in a read-only folder, but not write it. The test `name` of this binary runs
/// again as an unprivileged user, with the path in a variable.
pub fn check_read_only(
    name: &str,
    open: impl Fn(&Path) -> Box<dyn Storage>,
    expected_error: [&str; 2],
) {
    const VARIABLE: &str = "CLENSHAW_READ_ONLY";
    if let Some(path) = std::env::var_os(VARIABLE) {
        let storage = open(Path::new(&path));
        let study = storage.open_study("s", Direction::Minimize).unwrap();
        let error = storage.create_trial(study).unwrap_err().to_string();
        let [part, end] = expected_error;
        assert!(error.contains(part) && error.ends_with(end), "{error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study");
    open(&path).open_study("s", Direction::Minimize).unwrap();
    crate::set_mode(folder.path(), 0o555);
    let output = crate::run_unprivileged(name, VARIABLE, &path);
    crate::set_mode(folder.path(), 0o755);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

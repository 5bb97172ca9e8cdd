//! What every storage promises, whatever it keeps studies in.

use clenshaw_tune::{
    Choice, Direction, Distribution, Ending, Notes, Params, State, Storage, Study, Trial,
};
use serde_json::json;

/// Opens one and the same place, as another worker would.
pub type Opener<'a> = &'a dyn Fn() -> Box<dyn Storage>;

/// Every promise; each wants an empty place.
pub const CONTRACT: [fn(Opener<'_>); 9] = [
    what_one_worker_says_another_reads,
    later_words_replace_earlier_ones,
    studies_do_not_mix,
    a_value_that_is_not_finite_fails_the_trial,
    a_finished_trial_does_not_change,
    another_kind_of_distribution_is_refused_and_nothing_is_kept,
    a_waiting_trial_is_claimed_once,
    workers_share_a_study,
    trials_of_the_dead_are_failed_and_those_of_the_living_are_not,
];

fn float(high: f64) -> Distribution {
    Distribution::Float { low: 0.0, high, log: false, step: None }
}

fn params(name: &str, distribution: Distribution, value: f64) -> Params {
    [(name.to_owned(), (distribution, value))].into()
}

fn what_one_worker_says_another_reads(open: Opener<'_>) {
    let (ours, theirs) = (open(), open());
    let study = ours.study("s", Direction::Maximise).unwrap();
    let trial = ours.create_trial(study).unwrap();
    assert_eq!((trial.number, trial.state), (0, State::Running));
    let id = trial.id;
    ours.set_params(id, &params("x", float(1.0), 0.1 + 0.2)).unwrap();
    ours.report(id, 3, 1e-300).unwrap();
    ours.report(id, 4, f64::NAN).unwrap();
    let odd = json!({"text": "a \"b\" \u{e4} \\ '", "list": [1, null, 0.1]});
    ours.set_trial_attrs(id, Notes::User, &[("odd".into(), odd.clone())].into()).unwrap();
    ours.set_trial_attrs(id, Notes::System, &[("rung".into(), json!([1]))].into()).unwrap();
    ours.set_study_attrs(study, Notes::User, &[("graph".into(), json!("cora"))].into()).unwrap();
    assert_eq!(ours.finish(id, Ending::Complete(1.0 / 3.0)).unwrap(), State::Complete);

    assert_eq!(theirs.study("s", Direction::Maximise).unwrap(), study);
    let expected = Study { id: study, name: "s".into(), direction: Some(Direction::Maximise) };
    assert_eq!(theirs.studies().unwrap(), [expected]);
    assert_eq!(theirs.study_attrs(study, Notes::User).unwrap()["graph"], "cora");
    assert!(theirs.study_attrs(study, Notes::System).unwrap().is_empty());
    let [read] = &theirs.trials(study).unwrap()[..] else { panic!("one trial") };
    assert_eq!((read.id, read.state, read.value), (id, State::Complete, Some(1.0 / 3.0)));
    assert_eq!(read.params, params("x", float(1.0), 0.1 + 0.2));
    assert_eq!(read.external()["x"], Choice::Real(0.1 + 0.2));
    assert_eq!(read.reports, [(3, 1e-300)].into());
    assert_eq!((&read.user_attrs["odd"], &read.system_attrs["rung"]), (&odd, &json!([1])));
    let times = [&read.started, &read.finished].map(|time| time.clone().unwrap());
    let naive = times.each_ref().map(|time| time.trim_end_matches("+00:00"));
    assert!(naive.iter().all(|time| time.len() == 26 && &time[10..11] == "T"), "{times:?}");
    assert!(times[0] <= times[1]);
    assert_eq!(ours.trials(study).unwrap(), theirs.trials(study).unwrap());
}

fn later_words_replace_earlier_ones(open: Opener<'_>) {
    let storage = open();
    let study = storage.study("s", Direction::Minimise).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    for value in [1.0, 2.0] {
        storage.report(trial, 7, value).unwrap();
        storage.set_params(trial, &params("x", float(9.0), value)).unwrap();
        let attrs = [("a".to_owned(), json!(value))].into();
        storage.set_trial_attrs(trial, Notes::User, &attrs).unwrap();
        storage.set_study_attrs(study, Notes::System, &attrs).unwrap();
    }
    let read = storage.trials(study).unwrap().remove(0);
    assert_eq!((read.reports[&7], read.params["x"].1), (2.0, 2.0));
    assert_eq!(read.user_attrs["a"], 2.0);
    assert_eq!(storage.study_attrs(study, Notes::System).unwrap()["a"], 2.0);
}

fn studies_do_not_mix(open: Opener<'_>) {
    let storage = open();
    let [a, b] = ["a", "b \u{e4}'\""].map(|name| storage.study(name, Direction::Minimise).unwrap());
    let numbers = [a, b, a, b, b].map(|study| storage.create_trial(study).unwrap().number);
    assert_eq!(numbers, [0, 0, 1, 1, 2]);
    let count = |study| storage.trials(study).unwrap().len();
    assert_eq!((count(a), count(b)), (2, 3));
    let said = storage.study("a", Direction::Maximise).unwrap_err().to_string();
    assert!(said.ends_with("study `a` is to minimise, not to maximise"), "{said}");
    let said = storage.trials(999).unwrap_err().to_string();
    assert!(said.ends_with("there is no study 999 any more"), "{said}");
    assert!(storage.create_trial(999).unwrap_err().to_string().ends_with("no study 999 any more"));
}

fn a_value_that_is_not_finite_fails_the_trial(open: Opener<'_>) {
    let storage = open();
    let study = storage.study("s", Direction::Minimise).unwrap();
    let endings = [Ending::Complete(f64::NAN), Ending::Pruned(Some(f64::INFINITY)), Ending::Fail];
    for ending in endings {
        let trial = storage.create_trial(study).unwrap();
        storage.finish(trial.id, ending).unwrap();
    }
    let trials = storage.trials(study).unwrap();
    let states: Vec<State> = trials.iter().map(|trial| trial.state).collect();
    assert_eq!(states, [State::Fail, State::Pruned, State::Fail]);
    assert!(trials.iter().all(|trial| trial.value.is_none()));
}

fn a_finished_trial_does_not_change(open: Opener<'_>) {
    let storage = open();
    let study = storage.study("s", Direction::Minimise).unwrap();
    let trial = storage.create_trial(study).unwrap().id;
    storage.finish(trial, Ending::Pruned(Some(1.0))).unwrap();
    let note = [("a".to_owned(), json!(1))].into();
    let errors = [
        storage.report(trial, 1, 1.0).unwrap_err(),
        storage.set_params(trial, &params("x", float(1.0), 0.5)).unwrap_err(),
        storage.set_trial_attrs(trial, Notes::User, &note).unwrap_err(),
        storage.finish(trial, Ending::Fail).unwrap_err(),
        storage.finish(trial, Ending::Pruned(Some(2.0))).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().ends_with("trial 0 of study `s` is finished"), "{error}");
    }
    let read = storage.trials(study).unwrap().remove(0);
    assert_eq!((read.state, read.value), (State::Pruned, Some(1.0)));
    assert!(read.reports.is_empty() && read.params.is_empty() && read.user_attrs.is_empty());
    assert!(storage.report(99, 1, 1.0).unwrap_err().to_string().ends_with("there is no trial 99"));
}

fn another_kind_of_distribution_is_refused_and_nothing_is_kept(open: Opener<'_>) {
    let storage = open();
    let study = storage.study("s", Direction::Minimise).unwrap();
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
    let list = Distribution::Categorical { choices: vec![Choice::None] };
    let outside = [params("c", list, 1.0), params("a", int, f64::NAN)];
    assert!(outside.iter().all(|params| storage.set_params(trial, params).is_err()));
}

fn a_waiting_trial_is_claimed_once(open: Opener<'_>) {
    let (ours, theirs) = (open(), open());
    let study = ours.study("s", Direction::Minimise).unwrap();
    assert_eq!(ours.claim_waiting(study).unwrap(), None);
    let fixed = [("x".to_owned(), Choice::Real(0.5)), ("y".to_owned(), Choice::Word("b".into()))];
    let waiting = ours.enqueue(study, &fixed.clone().into()).unwrap();
    assert_eq!((waiting.state, &waiting.started), (State::Waiting, &None));
    let later = ours.enqueue(study, &[].into()).unwrap();
    let claimed = theirs.claim_waiting(study).unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state), (waiting.id, State::Running));
    assert!(claimed.started.is_some());
    assert_eq!(ours.claim_waiting(study).unwrap().unwrap().id, later.id);
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

/// Two of them share one connection.
fn workers_share_a_study(open: Opener<'_>) {
    let (ours, theirs) = (open(), open());
    let study = ours.study("s", Direction::Minimise).unwrap();
    std::thread::scope(|scope| {
        for storage in [&ours, &ours, &theirs] {
            scope.spawn(move || {
                for _ in 0..10 {
                    let trial = storage.create_trial(study).unwrap();
                    let number = trial.number as f64;
                    storage.set_params(trial.id, &params("x", float(1e9), number)).unwrap();
                    storage.finish(trial.id, Ending::Complete(number)).unwrap();
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

fn trials_of_the_dead_are_failed_and_those_of_the_living_are_not(open: Opener<'_>) {
    let storage = open();
    let study = storage.study("s", Direction::Minimise).unwrap();
    let alive = storage.create_trial(study).unwrap();
    let Some(me) = alive.system_attrs.get("clenshaw:worker") else {
        return; // The system does not tell who runs.
    };
    let other = storage.create_trial(study).unwrap().id;
    let mut dead = me.clone();
    dead["started"] = json!(1);
    let attrs = [("clenshaw:worker".to_owned(), dead)].into();
    storage.set_trial_attrs(other, Notes::System, &attrs).unwrap();
    assert_eq!(open().reap_dead(study).unwrap(), [other]);
    assert!(storage.reap_dead(study).unwrap().is_empty());
    let states: Vec<State> =
        storage.trials(study).unwrap().iter().map(|t: &Trial| t.state).collect();
    assert_eq!(states, [State::Running, State::Fail]);
}

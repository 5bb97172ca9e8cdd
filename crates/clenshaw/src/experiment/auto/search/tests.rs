//! Tests of the order of trials, on a study in a journal.

use super::*;
use crate::experiment::auto::AutoRequest;
use clenshaw_tune::{AttrKind, JournalStorage, Storage, Study, TrialOutcome};
use serde_json::json;

/// A study in a journal, and a portfolio.
struct Simulation {
    _folder: tempfile::TempDir,
    storage: JournalStorage,
    portfolio: Portfolio,
    n_splits: usize,
}

impl Simulation {
    fn new(n: usize, n_splits: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = JournalStorage::open(folder.path().join("s.journal")).unwrap();
        let model = crate::model::find("gcn").unwrap();
        let entry = |i: usize| {
            let mut hyper = model.defaults();
            hyper.set("hidden", &(i + 1).to_string()).unwrap();
            PortfolioEntry { name: format!("e{i}"), model, hyper }
        };
        let portfolio = Portfolio { entries: (0..n).map(entry).collect() };
        Self { _folder: folder, storage, portfolio, n_splits }
    }

    fn search(&self) -> Search<'_> {
        Search { portfolio: &self.portfolio, n_splits: self.n_splits, seed: 1 }
    }

    /// Runs the next trial; returns its entry and its number of splits, or `None` at the end.
    fn step(&self, share: f64, score: impl Fn(usize, bool) -> f64) -> Option<(usize, usize)> {
        let study = Study::open(&self.storage, "s", Direction::Maximize).unwrap();
        let search = self.search();
        let trial =
            study.ask_params(|trials, next| search.next_params(trials, next, share)).unwrap()?;
        let trials = study.trials().unwrap();
        let entry = search.entry(&trial).unwrap();
        let is_tuned = trial.params.len() > 1;
        let n = match is_tuned {
            true => self.n_splits,
            false => search.rungs()[search.rung_of(&trials, &trial, entry).0],
        };
        let list = vec![score(entry, is_tuned); n];
        let attrs = [(SCORES.to_owned(), json!(list))].into();
        self.storage.set_trial_attrs(trial.id, AttrKind::User, &attrs).unwrap();
        let outcome = match n == self.n_splits {
            true => TrialOutcome::Complete(list[0]),
            false => TrialOutcome::Pruned(Some(list[0])),
        };
        study.tell(&trial, outcome).unwrap();
        Some((entry, n))
    }

    fn trials(&self) -> Vec<Trial> {
        let id = self.storage.open_study("s", Direction::Maximize).unwrap();
        self.storage.trials(id).unwrap()
    }
}

/// The score `i / 10` for entry `i`, tuned or not.
fn by_index(entry: usize, _tuned: bool) -> f64 {
    entry as f64 / 10.0
}

#[test]
fn rungs_halve_the_portfolio() {
    let simulation = Simulation::new(8, 5);
    assert_eq!(simulation.search().rungs(), [1, 2, 5]);
    let steps: Vec<(usize, usize)> =
        (0..15).map(|_| simulation.step(0.0, by_index).unwrap()).collect();
    let all: Vec<(usize, usize)> = (0..8).map(|entry| (entry, 1)).collect();
    assert_eq!(steps[..8], all);
    assert_eq!(steps[8..12], [(7, 2), (6, 2), (5, 2), (4, 2)], "the better half, best first");
    assert_eq!(steps[12..], [(7, 5), (6, 5), (5, 5)], "at least three");
    let complete = simulation.trials().iter().filter(|t| t.state == TrialState::Complete).count();
    assert_eq!(complete, 3);
}

#[test]
fn numbers_of_splits_of_the_rungs() {
    let rungs = |n| Simulation::new(1, n).search().rungs();
    assert_eq!(rungs(1), [1]);
    assert_eq!(rungs(2), [1, 2]);
    assert_eq!(rungs(3), [1, 2, 3]);
    assert_eq!(rungs(10), [1, 3, 10]);
}

#[test]
fn tuned_trials_are_new_and_follow_the_best_entry() {
    let simulation = Simulation::new(3, 2);
    for _ in 0..6 {
        simulation.step(0.0, by_index).unwrap();
    }
    let best = |_: usize, tuned: bool| if tuned { 0.1 } else { 0.2 };
    for _ in 0..10 {
        let (entry, n) = simulation.step(0.0, best).unwrap();
        assert_eq!(
            (entry, n),
            (2, 2),
            "the settings that are not tuned are those of the best entry"
        );
    }
    let search = simulation.search();
    let trials = simulation.trials();
    let tuned: Vec<String> =
        trials[6..].iter().map(|t| search.configuration(&t.params).unwrap().id()).collect();
    let mut distinct = tuned.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), tuned.len());
    for trial in &trials[6..] {
        let configuration = search.configuration(&trial.params).unwrap();
        assert!(configuration.is_tuned && configuration.hyper.int("hidden") == 3);
    }
}

#[test]
fn time_limits_end_the_rungs() {
    let simulation = Simulation::new(8, 5);
    // Late, but without any result: the first entry is trained nevertheless.
    assert_eq!(simulation.step(0.5, by_index), Some((0, 1)));
    // The time of the first rung is over; the only result is the best.
    assert_eq!(simulation.step(0.5, by_index), Some((0, 2)));
    assert_eq!(simulation.step(0.6, by_index), Some((0, 5)));
    let step = simulation.search().next_step(&simulation.trials(), 3, 0.8);
    assert_eq!(step, SearchStep::Tune(0));
    assert_eq!(simulation.search().next_step(&simulation.trials(), 3, 1.0), SearchStep::End);
}

#[test]
fn interrupted_trials_are_repeated_and_failed_entries_dropped() {
    let simulation = Simulation::new(4, 2);
    let study = Study::open(&simulation.storage, "s", Direction::Maximize).unwrap();
    let search = simulation.search();
    let ask =
        || study.ask_params(|trials, next| search.next_params(trials, next, 0.0)).unwrap().unwrap();
    let first = ask();
    study.tell(&first, TrialOutcome::Fail).unwrap();
    simulation.storage.enqueue_trial(study.id(), &first.retry_params()).unwrap();
    let again = ask();
    assert_eq!((search.entry(&again), &again.params), (Some(0), &first.params));
    let attrs = [(FAILED.to_owned(), json!("out of memory"))].into();
    simulation.storage.set_trial_attrs(again.id, AttrKind::User, &attrs).unwrap();
    study.tell(&again, TrialOutcome::Fail).unwrap();
    let rest: Vec<usize> = (0..6).map(|_| simulation.step(0.0, by_index).unwrap().0).collect();
    assert_eq!(rest, [1, 2, 3, 3, 2, 1]);
}

#[test]
fn queued_trial_with_unknown_parameters_takes_the_next_step() {
    let simulation = Simulation::new(2, 1);
    let study = Study::open(&simulation.storage, "s", Direction::Maximize).unwrap();
    let unknown = [("x".to_owned(), ParamValue::Float(1.0))].into();
    simulation.storage.enqueue_trial(study.id(), &unknown).unwrap();
    assert_eq!(simulation.step(0.0, by_index), Some((0, 1)));
    assert_eq!(simulation.step(0.0, by_index), Some((1, 1)));
}

#[test]
fn interrupted_tuned_trials_keep_their_settings() {
    let simulation = Simulation::new(1, 1);
    simulation.step(0.0, by_index).unwrap();
    let study = Study::open(&simulation.storage, "s", Direction::Maximize).unwrap();
    let search = simulation.search();
    let ask =
        || study.ask_params(|trials, next| search.next_params(trials, next, 0.0)).unwrap().unwrap();
    let tuned = ask();
    assert!(tuned.params.len() > 1);
    study.tell(&tuned, TrialOutcome::Fail).unwrap();
    simulation.storage.enqueue_trial(study.id(), &tuned.retry_params()).unwrap();
    assert_eq!(ask().params, tuned.params);
}

#[test]
fn settings_move_to_the_nearest_point_of_the_space() {
    let among =
        Distribution::Categorical { choices: [0.001, 0.01, 0.1].map(ParamValue::Float).into() };
    assert_eq!(nearest(&among, Value::Real(0.02)), Some(1.0));
    assert_eq!(nearest(&among, Value::Real(0.0)), Some(0.0));
    let steps = Distribution::Float { low: 0.0, high: 0.7, log: false, step: Some(0.1) };
    assert!((nearest(&steps, Value::Real(0.34)).unwrap() - 0.3).abs() < 1e-12);
    assert_eq!(nearest(&steps, Value::Real(0.9)), Some(0.7));
    let int = Distribution::Int { low: 8, high: 32, log: false, step: 4 };
    assert_eq!(nearest(&int, Value::Int(3)), Some(8.0));
    assert_eq!(nearest(&int, Value::Int(15)), Some(16.0));
    let words =
        Distribution::Categorical { choices: ["a", "b"].map(|w| ParamValue::Str(w.into())).into() };
    assert_eq!(nearest(&words, Value::Word("b")), Some(1.0));
    assert_eq!(nearest(&words, Value::Word("c")), None);
    assert_eq!(nearest(&words, Value::Int(1)), None);
}

#[test]
fn search_spaces_of_all_models_can_be_sampled_around_their_defaults() {
    for info in crate::model::MODELS {
        let hyper = info.defaults();
        for (key, distribution) in space(info) {
            let name = key.split_once('.').unwrap().1;
            let (_, value) = hyper.iter().find(|(hyper, _)| hyper.name == name).unwrap();
            assert!(nearest(&distribution, value).is_some(), "{key} = {value}");
        }
    }
    assert_eq!(AutoRequest::new("csbm", "s").splits, 5);
}

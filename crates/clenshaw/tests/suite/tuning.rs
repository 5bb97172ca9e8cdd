//! Studies carried out for real: the same whatever the jobs, interruptions and test labels.
#![allow(clippy::unwrap_used)]

use clenshaw::data::{self, Store};
use clenshaw::experiment::{
    End, Judge, Options, Order, Request, TuneEvent, TuneOptions, TuneRequest, Tuned, run, sampler,
    tune,
};
use clenshaw::{Error, Result};
use clenshaw_tune::{
    Choice, Direction, Distribution, Ending, Journal, Notes, State, Storage, Trial,
};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// A few epochs of a small model on a small graph, drawn by chance and never pruned.
fn asked(graph: &str, trials: usize) -> TuneRequest {
    let mut request = Request::new(graph, "clenshaw-gcn").unwrap();
    request.set("max_epochs", "4").unwrap();
    let mut asked = TuneRequest::new(request, "test");
    for (key, value) in [("hidden", "8"), ("K", "2")] {
        asked.fix(key, value).unwrap();
    }
    (asked.trials, asked.request.runs, asked.request.seed) = (trials, 2, 3);
    asked.sampler = sampler("random").unwrap();
    asked.judge = Judge::Never;
    asked
}

const SMALL: &str = "csbm:nodes=200";

struct Desk {
    folder: TempDir,
    jobs: usize,
    timeout: Option<Duration>,
}

impl Desk {
    fn new(jobs: usize) -> Self {
        Self { folder: tempdir().unwrap(), jobs, timeout: None }
    }

    fn storage(&self) -> Journal {
        Journal::open(self.folder.path().join("study.journal")).unwrap()
    }

    fn tune(&self, asked: &TuneRequest) -> Result<Tuned> {
        self.watched(asked, &AtomicBool::new(false), &|_| {})
    }

    fn watched(
        &self,
        asked: &TuneRequest,
        cancel: &AtomicBool,
        watch: &(dyn Fn(TuneEvent<'_>) + Sync),
    ) -> Result<Tuned> {
        let (jobs, timeout, store) = (self.jobs, self.timeout, &Store::only(self.folder.path()));
        let options = TuneOptions { threads: 2, jobs, timeout, store, watch, cancel };
        tune(asked, &self.storage(), &options)
    }

    fn trials(&self) -> Vec<Trial> {
        let storage = self.storage();
        storage.trials(storage.study("test", Direction::Maximise).unwrap()).unwrap()
    }
}

/// Number, parameters and value of every trial.
fn told(trials: &[Trial]) -> Vec<String> {
    let line = |t: &Trial| format!("{} {:?} {:?} {:?}", t.number, t.params, t.value, t.reports);
    trials.iter().map(line).collect()
}

#[test]
fn one_worker_or_four_find_the_same() {
    let asked = asked(SMALL, 9);
    let [one, four] = [1, 4].map(|jobs| Desk::new(jobs).tune(&asked).unwrap());
    assert_eq!((one.end, one.count(State::Complete)), (End::Reached, 9));
    assert_eq!(told(&one.trials), told(&four.trials));
    let (best, _) = one.best.unwrap();
    assert!(one.trials.iter().all(|trial| trial.value <= best.value));
    assert_eq!(one.importances.len(), asked.space.len());
}

#[test]
fn a_value_is_what_training_says() {
    let asked = asked(SMALL, 2);
    let tuned = Desk::new(1).tune(&asked).unwrap();
    let trial = &tuned.trials[1];
    let request = asked.settings(&trial.params).unwrap();
    let (store, cancel) = (&Store::new(None), &AtomicBool::new(false));
    let options = Options { threads: 1, store, resume: false, watch: &|_, _| {}, cancel };
    let summary = run(&Order { request, out: None }, &options).unwrap();
    let accuracies: Vec<f64> = summary.runs.iter().map(|run| run.val_accuracy).collect();
    assert_eq!(trial.value, Some(accuracies.iter().sum::<f64>() / 2.0));
    assert_eq!(trial.user_attrs["val_accuracies"], serde_json::json!(accuracies));
    let (_, evaluation) = tuned.best.unwrap();
    assert_eq!((evaluation.runs, evaluation.seed), (20, 5), "splits that tuning has not seen");
}

#[test]
fn an_interrupted_study_goes_on_to_as_many_as_were_asked_for() {
    let (desk, asked) = (Desk::new(2), asked(SMALL, 6));
    let cancel = AtomicBool::new(false);
    let watch = |event: TuneEvent<'_>| {
        let first_split_of_trial_3 =
            matches!(event, TuneEvent::Reported { number: 3, step: 1, .. });
        cancel.fetch_or(first_split_of_trial_3, Ordering::Relaxed);
    };
    let first = desk.watched(&asked, &cancel, &watch).unwrap();
    let before = desk.trials();
    let values = before.iter().filter(|trial| trial.state == State::Complete).map(|t| t.value);
    let best = values.max_by(|a, b| a.partial_cmp(b).unwrap()).flatten();
    assert_eq!((first.end, first.best.and_then(|(t, _)| t.value)), (End::Interrupted, best));
    assert!(before.iter().all(|trial| trial.state != State::Running), "{before:?}");
    let given_up: Vec<&Trial> = before.iter().filter(|t| t.state == State::Fail).collect();
    assert!(!given_up.is_empty());
    let tuned = desk.tune(&asked).unwrap();
    assert_eq!(tuned.count(State::Complete), 6);
    for trial in given_up {
        assert_eq!(trial.user_attrs["interrupted"], true);
        let again = |t: &&Trial| t.state == State::Complete && t.params == trial.params;
        assert!(tuned.trials.iter().any(|t| again(&t)), "trial {} is lost", trial.number);
    }
    let n = tuned.trials.len();
    assert_eq!(desk.tune(&asked).unwrap().trials.len(), n, "there was nothing left to do");
}

#[test]
fn a_study_without_time_keeps_what_it_has() {
    let desk = Desk { timeout: Some(Duration::ZERO), ..Desk::new(2) };
    let tuned = desk.tune(&asked(SMALL, 3)).unwrap();
    assert_eq!((tuned.end, tuned.trials.len(), tuned.best.is_none()), (End::OutOfTime, 0, true));
}

/// A folder with a graph whose test labels, in the second round, are all wrong.
fn write_graph(folder: &Path, wrong: bool) {
    let dataset = data::load(SMALL).unwrap();
    let class = |i: usize| dataset.y[i].unwrap();
    let (mut nodes, mut edges) =
        (String::from("id,label,a,b,c\n"), String::from("source,target\n"));
    let mut split = String::from("node,part\n");
    for i in 0..200 {
        let part = ["train", "train", "val", "test"][i % 4];
        writeln!(split, "{i},{part}").unwrap();
        let shift = u32::from(wrong && part == "test");
        let label = (class(i) + shift) % 3;
        let x = |k: u32| f64::from((class(i) + k + i as u32 % 2) % 3);
        writeln!(nodes, "{i},{label},{},{},{}", x(0), x(1), x(2)).unwrap();
    }
    for (i, j) in (0..200).flat_map(|i| [(i, (i * 7 + 3) % 200), (i, (i * 3 + 1) % 200)]) {
        if i != j {
            writeln!(edges, "{i},{j}").unwrap();
        }
    }
    fs::write(folder.join("nodes.csv"), nodes).unwrap();
    fs::write(folder.join("edges.csv"), edges).unwrap();
    fs::write(folder.join("split.txt"), split).unwrap();
}

#[test]
fn test_labels_are_not_read() {
    let folder = tempdir().unwrap();
    let studies = [false, true].map(|wrong| {
        write_graph(folder.path(), wrong);
        let mut asked = asked(&folder.path().display().to_string(), 4);
        let split = format!("file:{}", folder.path().join("split.txt").display());
        asked.request.set("split", &split).unwrap();
        let truth = asked.request.load(&Store::only(folder.path())).unwrap();
        (truth.y, told(&Desk::new(1).tune(&asked).unwrap().trials))
    });
    assert_ne!(studies[0].0, studies[1].0, "the labels do differ");
    assert_eq!(studies[0].1, studies[1].1);
}

#[test]
fn no_configuration_is_tried_twice() {
    for name in ["random", "tpe", "grid"] {
        let mut asked = asked(SMALL, 30);
        asked.sampler = sampler(name).unwrap();
        asked.space.retain(|name, _| ["momentum", "lambda"].contains(&name.as_str()));
        asked.apply_space("s.toml", "[space]\nlambda = [1.0, 1.5, 2.0]").unwrap();
        let tuned = Desk::new(1).tune(&asked).unwrap();
        assert_eq!((tuned.end, tuned.trials.len()), (End::Exhausted, 12), "{name}");
        let mut tried: Vec<String> =
            tuned.trials.iter().map(|t| format!("{:?}", t.external())).collect();
        tried.sort();
        tried.dedup();
        assert_eq!(tried.len(), 12, "{name}");
    }
}

#[test]
fn a_known_configuration_from_outside_ends_at_once() {
    let (desk, mut asked) = (Desk::new(1), asked(SMALL, 1));
    let first = desk.tune(&asked).unwrap().trials.remove(0);
    let external = first.external();
    let fixed: std::collections::BTreeMap<String, Choice> =
        external.into_iter().map(|(name, choice)| (name.to_owned(), choice)).collect();
    let storage = desk.storage();
    let study = storage.study("test", Direction::Maximise).unwrap();
    storage.enqueue(study, &fixed).unwrap();
    asked.trials = 2;
    let second = desk.tune(&asked).unwrap().trials.remove(1);
    assert_eq!(second.user_attrs["duplicate_of"], 0);
    assert_eq!((second.value, second.reports.len()), (first.value, 0));
}

#[test]
fn hopeless_trials_are_pruned_and_do_not_count() {
    // The first five trials learn; those with a rate of nought stay where they began.
    for (splits, epochs) in [(5, "8"), (1, "8")] {
        let mut asked = asked(SMALL, 8);
        asked.request.runs = splits;
        asked.request.set("max_epochs", epochs).unwrap();
        asked.space.clear();
        let space = "[space]\nlr_conv = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]\n\
                     lr_dense = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]\nlr_alpha = [0.0, 0.01]";
        asked.apply_space("s.toml", space).unwrap();
        asked.judge = Judge::Median;
        let tuned = Desk::new(1).tune(&asked).unwrap();
        assert_eq!(tuned.count(State::Complete), 8, "{splits}");
        let pruned: Vec<&Trial> =
            tuned.trials.iter().filter(|trial| trial.state == State::Pruned).collect();
        assert!(!pruned.is_empty(), "{splits} splits: nothing was pruned");
        for trial in pruned {
            let (step, last) = trial.reports.last_key_value().unwrap();
            assert_eq!((trial.value, *step >= 3), (Some(*last), true));
            assert!(*step < 8);
        }
    }
}

#[test]
fn every_pruner_lets_enough_trials_through() {
    for name in ["median", "halving", "hyperband", "none"] {
        let mut asked = asked(SMALL, 3);
        asked.request.runs = 3;
        asked.sampler = sampler("tpe").unwrap();
        asked.judge = name.parse().unwrap();
        let tuned = Desk::new(2).tune(&asked).unwrap();
        assert_eq!((tuned.end, tuned.count(State::Complete)), (End::Reached, 3), "{name}");
    }
}

#[test]
fn a_training_that_diverges_fails_with_its_reason() {
    let mut asked = asked(SMALL, 30);
    asked.space.clear();
    asked.apply_space("s.toml", "[space]\nlr_alpha = [10.0, 0.01]\nmomentum = [0.9]").unwrap();
    for (key, value) in [("max_epochs", "12"), ("K", "64"), ("lr_conv", "10"), ("lr_dense", "10")] {
        asked.fix(key, value).unwrap();
    }
    let tuned = Desk::new(1).tune(&asked).unwrap();
    assert_eq!((tuned.end, tuned.trials.len()), (End::Exhausted, 2));
    let failed = tuned.trials.iter().find(|trial| trial.state == State::Fail);
    let reason = failed.unwrap().user_attrs["failed"].as_str().unwrap();
    assert!(reason.starts_with("training diverged at epoch "), "{reason}");
}

#[test]
fn a_study_about_something_else_is_refused() {
    let desk = Desk::new(1);
    desk.tune(&asked(SMALL, 1)).unwrap();
    let refused = |change: &dyn Fn(&mut TuneRequest)| {
        let mut other = asked(SMALL, 2);
        change(&mut other);
        desk.tune(&other).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|other| other.request.graph = "csbm:nodes=100".into()),
        "study `test`: its graph is \"csbm:nodes=200\", not \"csbm:nodes=100\""
    );
    assert_eq!(refused(&|other| other.request.seed = 9), "study `test`: its seed is 3, not 9");
    assert_eq!(
        refused(&|other| other.request = Request { runs: 2, seed: 3, ..gcn() }),
        "study `test`: its model is \"clenshaw-gcn\", not \"gcn\""
    );
    assert_eq!(
        refused(&|other| other.fix("hidden", "16").unwrap()),
        "study `test`: its `hidden` is 8, not 16"
    );
    assert_eq!(
        refused(&|other| other.fix("dropout", "0.5").unwrap()),
        "study `test`: its `dropout` is tuned, not fixed at 0.5"
    );
}

fn gcn() -> Request {
    Request::new(SMALL, "gcn").unwrap()
}

#[test]
fn the_dashboard_shows_what_and_the_best_filter() {
    let desk = Desk::new(1);
    let mut asked = asked(SMALL, 2);
    asked.command = "clenshaw tune csbm".into();
    let tuned = desk.tune(&asked).unwrap();
    let storage = desk.storage();
    let study = storage.study("test", Direction::Maximise).unwrap();
    let system = storage.study_attrs(study, Notes::System).unwrap();
    assert_eq!(system["study:metric_names"][0], "validation accuracy");
    let note = system["dashboard:note_str:0"].as_str().unwrap();
    assert!(note.contains("clenshaw tune csbm") && note.contains("`dropout`"), "{note}");
    let pieces = (0..).map_while(|i| system.get(&format!("dashboard:plot_data:filter:{i}")));
    let text: String = pieces.map(|piece| piece.as_str().unwrap()).collect();
    let figure: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(figure["data"][0]["y"].as_array().unwrap().len(), 101);
    let title = format!("Filter of trial {}, the best", tuned.best.unwrap().0.number);
    assert!(figure["layout"]["title"]["text"].as_str().unwrap().starts_with(&title));
}

/// A worker that others took for dead: its trial is failed behind its back, at this report.
fn taken_at(step: u64) -> Vec<Trial> {
    let (desk, asked) = (Desk::new(1), asked(SMALL, 3));
    let storage = desk.storage();
    let watch = |event: TuneEvent<'_>| {
        if matches!(event, TuneEvent::Reported { number: 0, step: now, .. } if now == step) {
            let trial = desk.trials().remove(0);
            storage.finish(trial.id, Ending::Fail).unwrap();
            let study = storage.study("test", Direction::Maximise).unwrap();
            storage.enqueue(study, &trial.intended()).unwrap();
        }
    };
    let tuned = desk.watched(&asked, &AtomicBool::new(false), &watch).unwrap();
    assert_eq!((tuned.end, tuned.count(State::Complete)), (End::Reached, 3));
    assert_eq!(tuned.trials[0].state, State::Fail);
    tuned.trials
}

#[test]
fn a_result_that_comes_late_is_kept() {
    let trials = taken_at(2);
    let late = trials.iter().find(|trial| trial.user_attrs.contains_key("late_for")).unwrap();
    assert_eq!((&late.user_attrs["late_for"], &late.params), (&0.into(), &trials[0].params));
    let reported = trials[0].reports[&2];
    assert_eq!((late.state, late.value), (State::Complete, Some(reported)));
    let waited = |trial: &&Trial| trial.user_attrs.contains_key("duplicate_of");
    let waited = trials.iter().find(waited).unwrap();
    assert_eq!((&waited.params, waited.value), (&late.params, late.value));
}

#[test]
fn a_trial_that_is_taken_away_is_given_up() {
    let trials = taken_at(1);
    let again = |t: &&Trial| t.state == State::Complete && t.params == trials[0].params;
    assert!(trials.iter().any(|trial| again(&trial)), "its settings were not tried again");
}

/// Signs of life in a database.
mod hearts {
    use super::*;
    use clenshaw_tune::{Address, Habits, Relational};

    fn database(folder: &Path) -> Relational {
        let url = format!("sqlite:///{}", folder.join("study.db").display());
        let habits = Habits { beat: Duration::from_millis(200), ..Habits::default() };
        Relational::open_with(Address::parse(&url).unwrap(), habits).unwrap()
    }

    /// While the first trial runs, another worker falls silent; the study does not end before its trial
    /// is failed and its settings are tried.
    #[test]
    fn the_dead_are_noticed_while_a_study_runs() {
        let folder = tempdir().unwrap();
        let (ours, theirs) = (database(folder.path()), database(folder.path()));
        let asked = asked(SMALL, 3);
        let file = rusqlite::Connection::open(folder.path().join("study.db")).unwrap();
        file.busy_timeout(Duration::from_secs(60)).unwrap();
        let file = std::sync::Mutex::new(file);
        let dead = std::sync::OnceLock::new();
        let watch = |event: TuneEvent<'_>| {
            if !matches!(event, TuneEvent::Reported { number: 0, step: 1, .. }) {
                return;
            }
            let study = theirs.study("test", Direction::Maximise).unwrap();
            let trial = theirs.create_trial(study).unwrap();
            let point = |(name, distribution): (&String, &Distribution)| {
                (name.clone(), (distribution.clone(), lowest(distribution)))
            };
            theirs.set_params(trial.id, &asked.space.iter().map(point).collect()).unwrap();
            theirs.beat(trial.id).unwrap();
            let sql = format!(
                "UPDATE trial_heartbeats SET heartbeat = '2001-01-01 00:00:00' WHERE trial_id = {}",
                trial.id
            );
            file.lock().unwrap().execute_batch(&sql).unwrap();
            dead.set(trial.number as usize).unwrap();
            let state = || theirs.trials(study).unwrap()[trial.number as usize].state;
            while state() == State::Running {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let (store, cancel) = (&Store::only(folder.path()), &AtomicBool::new(false));
        let options =
            TuneOptions { threads: 1, jobs: 1, timeout: None, store, watch: &watch, cancel };
        let tuned = tune(&asked, &ours, &options).unwrap();
        let dead = &tuned.trials[*dead.get().unwrap()];
        assert_eq!(dead.state, State::Fail);
        let again = |t: &&Trial| t.state == State::Complete && t.params == dead.params;
        assert!(
            tuned.trials.iter().any(|trial| again(&trial)),
            "its settings were not tried again"
        );
        let sql = "SELECT COUNT(*) FROM trials t WHERE NOT EXISTS \
                   (SELECT 1 FROM trial_heartbeats h WHERE h.trial_id = t.trial_id) \
                   AND t.datetime_start IS NOT NULL";
        let silent: i64 = file.lock().unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(silent, 0, "trials ran without a sign of life");
    }

    /// Somebody locks the file while the first trial runs; `then` is what happens when that is noticed.
    fn locked(
        folder: &Path,
        cancel: &AtomicBool,
        then: &(dyn Fn(&rusqlite::Connection) + Sync),
    ) -> Result<Tuned> {
        let url = format!("sqlite:///{}", folder.join("study.db").display());
        let habits = Habits { give_up: Duration::from_millis(50), ..Habits::default() };
        let storage = Relational::open_with(Address::parse(&url).unwrap(), habits).unwrap();
        let other = rusqlite::Connection::open(folder.join("study.db")).unwrap();
        let other = std::sync::Mutex::new(other);
        let watch = |event: TuneEvent<'_>| match event {
            TuneEvent::Reported { number: 0, step: 1, .. } => {
                other.lock().unwrap().execute_batch("BEGIN IMMEDIATE").unwrap();
            }
            TuneEvent::Away { problem } => {
                assert!(problem.contains("study.db: other workers held its lock"), "{problem}");
                then(&other.lock().unwrap());
            }
            _ => {}
        };
        let store = &Store::only(folder);
        let options =
            TuneOptions { threads: 1, jobs: 1, timeout: None, store, watch: &watch, cancel };
        tune(&asked(SMALL, 2), &storage, &options)
    }

    #[test]
    fn a_database_that_is_away_is_waited_for() {
        let (folder, cancel) = (tempdir().unwrap(), AtomicBool::new(false));
        let back = |other: &rusqlite::Connection| other.execute_batch("COMMIT").unwrap();
        let tuned = locked(folder.path(), &cancel, &back).unwrap();
        assert_eq!((tuned.end, tuned.trials.len()), (End::Reached, 2));
        assert_eq!(tuned.count(State::Complete), 2);
        assert_eq!(told(&tuned.trials), told(&Desk::new(1).tune(&asked(SMALL, 2)).unwrap().trials));
    }

    #[test]
    fn nobody_has_to_wait_for_a_database() {
        let (folder, cancel) = (tempdir().unwrap(), AtomicBool::new(false));
        let stop = |_: &rusqlite::Connection| cancel.store(true, Ordering::Relaxed);
        let error = locked(folder.path(), &cancel, &stop).unwrap_err();
        assert!(matches!(error, Error::Study(clenshaw_tune::Error::Unavailable { .. })), "{error}");
    }

    /// The first value of a distribution, as it is kept.
    fn lowest(distribution: &Distribution) -> f64 {
        match *distribution {
            Distribution::Float { low, .. } => low,
            Distribution::Int { low, .. } => low as f64,
            Distribution::Categorical { .. } => 0.0,
        }
    }
}

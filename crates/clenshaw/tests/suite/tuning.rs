//! Tuning studies end to end: results do not depend on parallel jobs, interruptions or test labels.

use clenshaw::data::{self, Store};
use clenshaw::experiment::{
    PrunerKind, Request, RunOptions, StudyEnd, TrainingJob, TuneEvent, TuneOptions, TuneRequest,
    TuneResult, request_study_stop, run, sampler, tune,
};
use clenshaw::{Error, Result};
use clenshaw_tune::{
    AttrKind, Direction, Distribution, JournalStorage, ParamValue, Storage, StorageLocation, Trial,
    TrialOutcome, TrialState,
};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// A study of a small model with a few epochs, random sampling and no pruning.
fn study_request(graph: &str, trials: usize) -> TuneRequest {
    let mut request = Request::new(graph, "clenshaw-gcn").unwrap();
    request.set("max_epochs", "4").unwrap();
    let mut study = TuneRequest::new(request, "test");
    for (key, value) in [("hidden", "8"), ("K", "2")] {
        study.fix(key, value).unwrap();
    }
    (study.trials, study.training.runs, study.training.seed) = (trials, 2, 3);
    study.sampler = sampler("random").unwrap();
    study.pruner = PrunerKind::Never;
    study
}

const SMALL: &str = "csbm:nodes=200";

/// A study in a temporary journal.
struct TestStudy {
    folder: TempDir,
    jobs: usize,
    timeout: Option<Duration>,
}

impl TestStudy {
    fn new(jobs: usize) -> Self {
        Self { folder: tempdir().unwrap(), jobs, timeout: None }
    }

    fn storage(&self) -> JournalStorage {
        JournalStorage::open(self.folder.path().join("study.journal")).unwrap()
    }

    fn tune(&self, study: &TuneRequest) -> Result<TuneResult> {
        self.tune_with(study, &AtomicBool::new(false), &|_| {})
    }

    fn tune_with(
        &self,
        study: &TuneRequest,
        cancel: &AtomicBool,
        on_event: &(dyn Fn(TuneEvent<'_>) + Sync),
    ) -> Result<TuneResult> {
        self.tune_in(&self.storage(), study, cancel, on_event)
    }

    fn tune_in(
        &self,
        storage: &dyn Storage,
        study: &TuneRequest,
        cancel: &AtomicBool,
        on_event: &(dyn Fn(TuneEvent<'_>) + Sync),
    ) -> Result<TuneResult> {
        let (jobs, timeout, store) = (self.jobs, self.timeout, &Store::only(self.folder.path()));
        let options = TuneOptions { threads: 2, jobs, timeout, store, on_event, cancel };
        tune(study, storage, &options)
    }

    fn trials(&self) -> Vec<Trial> {
        let storage = self.storage();
        storage.trials(id(&storage)).unwrap()
    }
}

/// The id of the study in a storage.
fn id(storage: &dyn Storage) -> u64 {
    storage.open_study("test", Direction::Maximize).unwrap()
}

/// Whether the settings of a trial were tried again and completed.
fn was_repeated(trials: &[Trial], trial: &Trial) -> bool {
    trials.iter().any(|t| t.state == TrialState::Complete && t.params == trial.params)
}

/// Number, parameters, value and reports of every trial, as text.
fn trial_lines(trials: &[Trial]) -> Vec<String> {
    let line = |t: &Trial| {
        format!("{} {:?} {:?} {:?}", t.number, t.params, t.value, t.intermediate_values)
    };
    trials.iter().map(line).collect()
}

#[test]
fn results_do_not_depend_on_parallel_jobs() {
    let study = study_request(SMALL, 9);
    let [one, four] = [1, 4].map(|jobs| TestStudy::new(jobs).tune(&study).unwrap());
    assert_eq!((one.end, one.count(TrialState::Complete)), (StudyEnd::TrialsCompleted, 9));
    assert_eq!(trial_lines(&one.trials), trial_lines(&four.trials));
    let (best, _) = one.best.unwrap();
    assert!(one.trials.iter().all(|trial| trial.value <= best.value));
    assert_eq!(one.importances.len(), study.space.len());
}

#[test]
fn trial_value_equals_the_mean_of_training_runs() {
    let study = study_request(SMALL, 2);
    let tuned = TestStudy::new(1).tune(&study).unwrap();
    let trial = &tuned.trials[1];
    let request = study.trial_request(&trial.params).unwrap();
    let (store, cancel) = (&Store::new(None), &AtomicBool::new(false));
    let options = RunOptions { threads: 1, store, resume: false, on_event: &|_, _| {}, cancel };
    let summary = run(&TrainingJob { request, folder: None }, &options).unwrap();
    let accuracies: Vec<f64> = summary.runs.iter().map(|run| run.val_accuracy.unwrap()).collect();
    assert_eq!(trial.value, Some(accuracies.iter().sum::<f64>() / 2.0));
    assert_eq!(trial.user_attrs["val_accuracies"], serde_json::json!(accuracies));
    let (_, evaluation) = tuned.best.unwrap();
    assert_eq!((evaluation.runs, evaluation.seed), (20, 5), "splits not used in tuning");
}

#[test]
fn interrupted_study_resumes_to_the_requested_trials() {
    let (test, study) = (TestStudy::new(2), study_request(SMALL, 6));
    let cancel = AtomicBool::new(false);
    let on_event = |event: TuneEvent<'_>| {
        let first_split_of_trial_3 =
            matches!(event, TuneEvent::Reported { number: 3, step: 1, .. });
        cancel.fetch_or(first_split_of_trial_3, Ordering::Relaxed);
    };
    let first = test.tune_with(&study, &cancel, &on_event).unwrap();
    let before = test.trials();
    let values = before.iter().filter(|trial| trial.state == TrialState::Complete).map(|t| t.value);
    let best = values.max_by(|a, b| a.partial_cmp(b).unwrap()).flatten();
    assert_eq!(
        (first.end, first.best.as_ref().and_then(|(t, _)| t.value)),
        (StudyEnd::Interrupted, best)
    );
    assert!(before.iter().all(|trial| trial.state != TrialState::Running), "{before:?}");
    let interrupted: Vec<&Trial> = before.iter().filter(|t| t.state == TrialState::Fail).collect();
    assert!(!interrupted.is_empty());
    assert_eq!((first.n_failed(), first.n_interrupted()), (0, interrupted.len()));
    let tuned = test.tune(&study).unwrap();
    assert_eq!(tuned.count(TrialState::Complete), 6);
    for trial in interrupted {
        assert_eq!(trial.user_attrs["interrupted"], true);
        assert!(was_repeated(&tuned.trials, trial), "trial {} is lost", trial.number);
    }
    let n = tuned.trials.len();
    assert_eq!(test.tune(&study).unwrap().trials.len(), n, "a complete study runs no trials");
}

#[test]
fn study_without_time_runs_no_trials() {
    let test = TestStudy { timeout: Some(Duration::ZERO), ..TestStudy::new(2) };
    let tuned = test.tune(&study_request(SMALL, 3)).unwrap();
    assert_eq!(
        (tuned.end, tuned.trials.len(), tuned.best.is_none()),
        (StudyEnd::TimedOut, 0, true)
    );
}

/// Writes a graph; with `wrong`, the labels of all test nodes are changed.
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
fn test_labels_are_not_used() {
    let folder = tempdir().unwrap();
    let studies = [false, true].map(|wrong| {
        write_graph(folder.path(), wrong);
        let mut study = study_request(&folder.path().display().to_string(), 4);
        let split = format!("file:{}", folder.path().join("split.txt").display());
        study.training.set("split", &split).unwrap();
        let truth = study.training.load(&Store::only(folder.path())).unwrap();
        (truth.y, trial_lines(&TestStudy::new(1).tune(&study).unwrap().trials))
    });
    assert_ne!(studies[0].0, studies[1].0, "the labels differ");
    assert_eq!(studies[0].1, studies[1].1);
}

#[test]
fn no_configuration_is_tried_twice() {
    for name in ["random", "tpe", "grid"] {
        let mut study = study_request(SMALL, 30);
        study.sampler = sampler(name).unwrap();
        study.space.retain(|name, _| ["momentum", "lambda"].contains(&name.as_str()));
        study.apply_space("s.toml", "[space]\nlambda = [1.0, 1.5, 2.0]").unwrap();
        let tuned = TestStudy::new(1).tune(&study).unwrap();
        assert_eq!((tuned.end, tuned.trials.len()), (StudyEnd::SpaceExhausted, 12), "{name}");
        let mut tried: Vec<String> =
            tuned.trials.iter().map(|t| format!("{:?}", t.external_params())).collect();
        tried.sort();
        tried.dedup();
        assert_eq!(tried.len(), 12, "{name}");
    }
}

#[test]
fn queued_duplicate_completes_without_training() {
    let (test, mut study) = (TestStudy::new(1), study_request(SMALL, 1));
    let first = test.tune(&study).unwrap().trials.remove(0);
    let storage = test.storage();
    storage.enqueue_trial(id(&storage), &first.retry_params()).unwrap();
    study.trials = 2;
    let second = test.tune(&study).unwrap().trials.remove(1);
    assert_eq!(second.user_attrs["duplicate_of"], 0);
    assert_eq!((second.value, second.intermediate_values.len()), (first.value, 0));
}

#[test]
fn poor_trials_are_pruned_and_do_not_count() {
    // Trials with a learning rate of zero do not improve.
    for splits in [5, 1] {
        let mut study = study_request(SMALL, 8);
        study.training.runs = splits;
        study.training.set("max_epochs", "8").unwrap();
        study.space.clear();
        let space = "[space]\nlr_conv = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]\n\
                     lr_dense = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]\nlr_alpha = [0.0, 0.01]";
        study.apply_space("s.toml", space).unwrap();
        study.pruner = PrunerKind::Median;
        let tuned = TestStudy::new(1).tune(&study).unwrap();
        assert_eq!(tuned.count(TrialState::Complete), 8, "{splits}");
        let pruned: Vec<&Trial> =
            tuned.trials.iter().filter(|trial| trial.state == TrialState::Pruned).collect();
        assert!(!pruned.is_empty(), "{splits} splits: nothing was pruned");
        for trial in pruned {
            let (step, last) = trial.intermediate_values.last_key_value().unwrap();
            assert_eq!((trial.value, *step >= 3), (Some(*last), true));
            assert!(*step < 8);
        }
    }
}

#[test]
fn every_pruner_completes_the_study() {
    for name in ["median", "halving", "hyperband", "none"] {
        let mut study = study_request(SMALL, 3);
        study.training.runs = 3;
        study.sampler = sampler("tpe").unwrap();
        study.pruner = name.parse().unwrap();
        let tuned = TestStudy::new(2).tune(&study).unwrap();
        assert_eq!(
            (tuned.end, tuned.count(TrialState::Complete)),
            (StudyEnd::TrialsCompleted, 3),
            "{name}"
        );
    }
}

#[test]
fn diverged_trial_fails_with_its_reason() {
    let mut study = study_request(SMALL, 30);
    study.space.clear();
    study.apply_space("s.toml", "[space]\nlr_alpha = [10.0, 0.01]\nmomentum = [0.9]").unwrap();
    for (key, value) in [("max_epochs", "12"), ("K", "64"), ("lr_conv", "10"), ("lr_dense", "10")] {
        study.fix(key, value).unwrap();
    }
    let tuned = TestStudy::new(1).tune(&study).unwrap();
    assert_eq!((tuned.end, tuned.trials.len()), (StudyEnd::SpaceExhausted, 2));
    assert_eq!((tuned.n_failed(), tuned.n_interrupted()), (tuned.count(TrialState::Fail), 0));
    let failed = tuned.trials.iter().find(|trial| trial.state == TrialState::Fail);
    let reason = failed.unwrap().user_attrs["failed"].as_str().unwrap();
    assert!(reason.starts_with("training diverged at epoch "), "{reason}");
}

#[test]
fn rejects_split_without_validation_nodes() {
    let mut study = study_request(SMALL, 1);
    study.training.set("split", "all-labels").unwrap();
    assert_eq!(
        TestStudy::new(1).tune(&study).unwrap_err().to_string(),
        "`split` is `all-labels`; expected a split with validation nodes, on which trials are compared"
    );
}

#[test]
fn rejects_study_with_different_settings() {
    let test = TestStudy::new(1);
    test.tune(&study_request(SMALL, 1)).unwrap();
    let tune_error = |change: &dyn Fn(&mut TuneRequest)| {
        let mut other = study_request(SMALL, 2);
        change(&mut other);
        test.tune(&other).unwrap_err().to_string()
    };
    assert_eq!(
        tune_error(&|other| other.training.graph = "csbm:nodes=100".into()),
        "study `test`: its `graph` is \"csbm:nodes=200\", not \"csbm:nodes=100\""
    );
    assert_eq!(
        tune_error(&|other| other.training.seed = 9),
        "study `test`: its `seed` is 3, not 9"
    );
    assert_eq!(
        tune_error(&|other| other.training = Request { runs: 2, seed: 3, ..gcn() }),
        "study `test`: its `model` is \"clenshaw-gcn\", not \"gcn\""
    );
    assert_eq!(
        tune_error(&|other| other.fix("hidden", "16").unwrap()),
        "study `test`: its `hidden` is 8, not 16"
    );
    assert_eq!(
        tune_error(&|other| other.fix("dropout", "0.5").unwrap()),
        "study `test`: its `dropout` is tuned, not fixed at 0.5"
    );
}

fn gcn() -> Request {
    Request::new(SMALL, "gcn").unwrap()
}

#[test]
fn score_is_that_of_the_stopping_rule() {
    let mut study = study_request(SMALL, 1);
    assert_eq!(study.score_name(), "accuracy");
    study.apply_space("s.toml", "[space]\nstop = [\"none\", \"roc-auc\"]").unwrap();
    assert_eq!(study.score_name(), "accuracy or ROC AUC");
    study.fix("stop", "roc-auc").unwrap();
    assert_eq!(study.score_name(), "ROC AUC");
}

#[test]
fn dashboard_has_a_note_and_the_best_filter() {
    let test = TestStudy::new(1);
    let mut study = study_request(SMALL, 2);
    study.command = "clenshaw tune csbm".into();
    let tuned = test.tune(&study).unwrap();
    let storage = test.storage();
    let system = storage.study_attrs(id(&storage), AttrKind::System).unwrap();
    assert_eq!(system["study:metric_names"][0], "validation accuracy");
    let note = system["dashboard:note_str:0"].as_str().unwrap();
    assert!(note.contains("clenshaw tune csbm") && note.contains("`dropout`"), "{note}");
    let pieces = (0..).map_while(|i| system.get(&format!("dashboard:plot_data:filter:{i}")));
    let text: String = pieces.map(|piece| piece.as_str().unwrap()).collect();
    let figure: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(figure["data"][0]["y"].as_array().unwrap().len(), 101);
    let title = format!("Filter of the best trial ({})", tuned.best.unwrap().0.number);
    assert!(figure["layout"]["title"]["text"].as_str().unwrap().starts_with(&title));
}

#[test]
fn requested_stop_ends_all_workers_and_no_later_one() {
    let test = TestStudy::new(1);
    let study = study_request(SMALL, 4);
    let folder = test.folder.path();
    let database = format!("sqlite:///{}", folder.join("study.db").display());
    for location in [folder.join("study.journal"), database.into()] {
        let location = StorageLocation::new(&location).unwrap();
        let (both_train, n_messages) = (Barrier::new(2), AtomicUsize::new(0));
        let work = || {
            let (storage, cancel) = (location.open().unwrap(), AtomicBool::new(false));
            let on_event = |event: TuneEvent<'_>| match event {
                TuneEvent::Reported { step: 1, .. } => {
                    if both_train.wait().is_leader() {
                        request_study_stop(storage.as_ref(), "test").unwrap();
                    }
                    while !cancel.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
                TuneEvent::StopRequested => drop(n_messages.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            };
            test.tune_in(storage.as_ref(), &study, &cancel, &on_event).unwrap().end
        };
        let ends = std::thread::scope(|scope| {
            [scope.spawn(work), scope.spawn(work)].map(|worker| worker.join().unwrap())
        });
        assert_eq!(ends, [StudyEnd::Interrupted; 2]);
        assert_eq!(n_messages.into_inner(), 2);
        // The same command resumes the study, and the settings of both trials are tried again.
        let storage = location.open().unwrap();
        let tuned = test.tune_in(storage.as_ref(), &study, &AtomicBool::new(false), &|_| {});
        let tuned = tuned.unwrap();
        assert_eq!(tuned.end, StudyEnd::TrialsCompleted);
        assert_eq!((tuned.count(TrialState::Complete), tuned.count(TrialState::Fail)), (4, 2));
        let failed = tuned.trials.iter().filter(|trial| trial.state == TrialState::Fail);
        assert!(failed.into_iter().all(|trial| was_repeated(&tuned.trials, trial)));
    }
}

/// The trials of a study whose first trial is failed by another process at this report, as if its worker
/// were dead.
fn trials_failed_at(step: u64) -> Vec<Trial> {
    let (test, study) = (TestStudy::new(1), study_request(SMALL, 3));
    let storage = test.storage();
    let on_event = |event: TuneEvent<'_>| {
        if matches!(event, TuneEvent::Reported { number: 0, step: now, .. } if now == step) {
            let trial = test.trials().remove(0);
            storage.finish(trial.id, TrialOutcome::Fail).unwrap();
            storage.enqueue_trial(id(&storage), &trial.retry_params()).unwrap();
        }
    };
    let tuned = test.tune_with(&study, &AtomicBool::new(false), &on_event).unwrap();
    assert_eq!((tuned.end, tuned.count(TrialState::Complete)), (StudyEnd::TrialsCompleted, 3));
    assert_eq!(tuned.trials[0].state, TrialState::Fail);
    tuned.trials
}

#[test]
fn late_result_is_stored_as_a_new_trial() {
    let trials = trials_failed_at(2);
    let late = trials.iter().find(|trial| trial.user_attrs.contains_key("late_for")).unwrap();
    assert_eq!((&late.user_attrs["late_for"], &late.params), (&0.into(), &trials[0].params));
    let reported = trials[0].intermediate_values[&2];
    assert_eq!((late.state, late.value), (TrialState::Complete, Some(reported)));
    let duplicate = |trial: &&Trial| trial.user_attrs.contains_key("duplicate_of");
    let duplicate = trials.iter().find(duplicate).unwrap();
    assert_eq!((&duplicate.params, duplicate.value), (&late.params, late.value));
}

#[test]
fn trial_failed_by_another_process_is_stopped() {
    let trials = trials_failed_at(1);
    assert!(was_repeated(&trials, &trials[0]), "its settings were not tried again");
}

/// Heartbeats and outages of a database.
mod databases {
    use super::*;
    use clenshaw_tune::{DatabaseOptions, DatabaseUrl, RdbStorage};

    /// A database with this interval between heartbeats and this timeout, in milliseconds.
    fn database(folder: &Path, heartbeat_interval: u64, timeout: u64) -> RdbStorage {
        let url = format!("sqlite:///{}", folder.join("study.db").display());
        let [heartbeat_interval, timeout] =
            [heartbeat_interval, timeout].map(Duration::from_millis);
        let options = DatabaseOptions { heartbeat_interval, timeout };
        RdbStorage::open_with(DatabaseUrl::parse(&url).unwrap(), options).unwrap()
    }

    /// While the first trial runs, another worker stops sending heartbeats; its trial is failed and its
    /// settings are tried again before the study ends.
    #[test]
    fn trials_of_dead_workers_are_requeued() {
        let test = TestStudy::new(1);
        let folder = test.folder.path();
        let [ours, theirs] = [(); 2].map(|()| database(folder, 200, 60_000));
        let study = study_request(SMALL, 3);
        let file = rusqlite::Connection::open(folder.join("study.db")).unwrap();
        file.busy_timeout(Duration::from_secs(60)).unwrap();
        let file = std::sync::Mutex::new(file);
        let dead = std::sync::OnceLock::new();
        let on_event = |event: TuneEvent<'_>| {
            if !matches!(event, TuneEvent::Reported { number: 0, step: 1, .. }) {
                return;
            }
            let study_id = id(&theirs);
            let trial = theirs.create_trial(study_id).unwrap();
            let point = |(name, distribution): (&String, &Distribution)| {
                (name.clone(), (distribution.clone(), lowest(distribution)))
            };
            theirs.set_params(trial.id, &study.space.iter().map(point).collect()).unwrap();
            theirs.record_heartbeat(trial.id).unwrap();
            let sql = format!(
                "UPDATE trial_heartbeats SET heartbeat = '2001-01-01 00:00:00' WHERE trial_id = {}",
                trial.id
            );
            file.lock().unwrap().execute_batch(&sql).unwrap();
            dead.set(trial.number as usize).unwrap();
            let state = || theirs.trials(study_id).unwrap()[trial.number as usize].state;
            while state() == TrialState::Running {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let cancel = AtomicBool::new(false);
        let tuned = test.tune_in(&ours, &study, &cancel, &on_event).unwrap();
        let dead = &tuned.trials[*dead.get().unwrap()];
        assert_eq!(dead.state, TrialState::Fail);
        assert!(was_repeated(&tuned.trials, dead), "its settings were not tried again");
        let sql = "SELECT COUNT(*) FROM trials t WHERE NOT EXISTS \
                   (SELECT 1 FROM trial_heartbeats h WHERE h.trial_id = t.trial_id) \
                   AND t.datetime_start IS NOT NULL";
        let silent: i64 = file.lock().unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(silent, 0, "trials ran without a heartbeat");
    }

    /// A trial whose worker stops before the parameters are stored has a heartbeat already.
    #[test]
    fn trial_without_parameters_becomes_stale() {
        for n_waiting in [0, 1] {
            let test = TestStudy::new(1);
            let folder = test.folder.path();
            let [ours, theirs] = [60_000, 1].map(|interval| database(folder, interval, 60_000));
            let study_id = id(&ours);
            let fixed = [("dropout".to_owned(), ParamValue::Float(0.5))].into();
            (0..n_waiting).for_each(|_| drop(ours.enqueue_trial(study_id, &fixed).unwrap()));
            let file = rusqlite::Connection::open(folder.join("study.db")).unwrap();
            let sql = "CREATE TRIGGER stop BEFORE INSERT ON trial_params \
                       BEGIN SELECT RAISE(ABORT, 'the worker stops'); END";
            file.execute_batch(sql).unwrap();
            let cancel = AtomicBool::new(false);
            let result = test.tune_in(&ours, &study_request(SMALL, 1), &cancel, &|_| {});
            assert!(result.unwrap_err().to_string().contains("the worker stops"));
            std::thread::sleep(Duration::from_millis(50));
            let [trial] = &ours.trials(study_id).unwrap()[..] else { panic!("one trial") };
            assert_eq!((trial.state, trial.params.len()), (TrialState::Running, 0));
            assert_eq!(theirs.fail_stale_trials(study_id).unwrap(), [trial.id], "{n_waiting}");
        }
    }

    /// Tunes while another process locks the file during the first trial; `on_unavailable` is called when the
    /// study notices.
    fn tune_with_lock(
        cancel: &AtomicBool,
        on_unavailable: &(dyn Fn(&rusqlite::Connection) + Sync),
    ) -> Result<TuneResult> {
        let test = TestStudy::new(1);
        let storage = database(test.folder.path(), 60_000, 50);
        let other = rusqlite::Connection::open(test.folder.path().join("study.db")).unwrap();
        let other = std::sync::Mutex::new(other);
        let on_event = |event: TuneEvent<'_>| match event {
            TuneEvent::Reported { number: 0, step: 1, .. } => {
                other.lock().unwrap().execute_batch("BEGIN IMMEDIATE").unwrap();
            }
            TuneEvent::StorageUnavailable { problem } => {
                assert!(problem.contains("study.db: is locked by other workers"), "{problem}");
                on_unavailable(&other.lock().unwrap());
            }
            _ => {}
        };
        test.tune_in(&storage, &study_request(SMALL, 2), cancel, &on_event)
    }

    #[test]
    fn study_waits_for_an_unavailable_database() {
        let cancel = AtomicBool::new(false);
        let back = |other: &rusqlite::Connection| other.execute_batch("COMMIT").unwrap();
        let tuned = tune_with_lock(&cancel, &back).unwrap();
        assert_eq!((tuned.end, tuned.trials.len()), (StudyEnd::TrialsCompleted, 2));
        assert_eq!(tuned.count(TrialState::Complete), 2);
        assert_eq!(
            trial_lines(&tuned.trials),
            trial_lines(&TestStudy::new(1).tune(&study_request(SMALL, 2)).unwrap().trials)
        );
    }

    #[test]
    fn waiting_for_a_database_can_be_cancelled() {
        let cancel = AtomicBool::new(false);
        let stop = |_: &rusqlite::Connection| cancel.store(true, Ordering::Relaxed);
        let error = tune_with_lock(&cancel, &stop).unwrap_err();
        assert!(matches!(error, Error::Study(clenshaw_tune::Error::Unavailable { .. })), "{error}");
    }

    /// The lowest value of a distribution, in its internal form.
    fn lowest(distribution: &Distribution) -> f64 {
        match *distribution {
            Distribution::Float { low, .. } => low,
            Distribution::Int { low, .. } => low as f64,
            Distribution::Categorical { .. } => 0.0,
        }
    }
}

//! Journals: the storage contract, workers that are killed, and read-only files.

use crate::contract::{CONTRACT, check_read_only};
use clenshaw_rng::Stream;
use clenshaw_tune::{
    AttrKind, Direction, Distribution, JournalStorage, LockOptions, Storage, Trial, TrialOutcome,
    TrialState,
};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Breaks the locks of killed workers after a short time.
const OPTIONS: LockOptions =
    LockOptions { stale_after: Duration::from_millis(200), timeout: Duration::from_secs(60) };

#[test]
fn journals_fulfil_the_contract() {
    for test in CONTRACT {
        let folder = tempfile::tempdir().unwrap();
        test(&|| Box::new(JournalStorage::open(folder.path().join("study.log")).unwrap()));
        let n_files = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(n_files, 1, "only the journal must be left");
    }
}

/// Runs trials until the process is killed.
fn run_trials(path: &Path) -> clenshaw_tune::Result<()> {
    let journal = JournalStorage::open_with(path, OPTIONS)?;
    let study = journal.open_study("killed", Direction::Minimize)?;
    loop {
        let trial = match journal.claim_waiting_trial(study)? {
            Some(trial) => trial,
            None => journal.create_trial(study)?,
        };
        let x = Distribution::Float { low: 0.0, high: 1e9, log: false, step: None };
        let number = trial.number as f64;
        journal.set_params(trial.id, &[("x".to_owned(), (x, number))].into())?;
        // A long line spans several memory pages, between which a write can be interrupted.
        let long = [("text".to_owned(), "long ".repeat(4000).into())].into();
        journal.set_trial_attrs(trial.id, AttrKind::User, &long)?;
        journal.report(trial.id, 1, number)?;
        journal.finish(trial.id, TrialOutcome::Complete(number))?;
        journal.enqueue_trial(study, &[].into())?;
    }
}

/// The body of a worker process; without the variable it does nothing.
#[test]
fn worker_process() {
    if let Some(path) = std::env::var_os("CLENSHAW_JOURNAL_WORKER") {
        run_trials(Path::new(&path)).unwrap();
    }
}

fn start_worker(path: &Path) -> Child {
    let mut worker = Command::new(std::env::current_exe().unwrap());
    worker.args(["--exact", "journal::worker_process"]).env("CLENSHAW_JOURNAL_WORKER", path);
    worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn study_continues_after_workers_are_killed() {
    kill_workers(15);
}

mod long {
    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn study_continues_after_many_workers_are_killed() {
        super::kill_workers(100);
    }
}

fn kill_workers(n_kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.log");
    let mut delays = Stream::new(0, "kills");
    let mut n_trials = 0;
    for kill in 0..n_kills {
        let mut workers = [start_worker(&path), start_worker(&path)];
        std::thread::sleep(Duration::from_micros(20_000 + 40_000 * kill as u64 % 100_000));
        std::thread::sleep(Duration::from_micros(delays.below(20_000) as u64));
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        if kill % 3 == 0 {
            append_truncated_line(&path);
        }
        let journal = JournalStorage::open_with(&path, OPTIONS).unwrap();
        let study = journal.open_study("killed", Direction::Minimize).unwrap();
        let trials = journal.trials(study).unwrap();
        assert!(trials.len() >= n_trials, "trials were lost");
        n_trials = trials.len();
        // The study can be continued.
        let trial = journal.create_trial(study).unwrap();
        let state = journal.finish(trial.id, TrialOutcome::Complete(1.0)).unwrap();
        assert_eq!(state, TrialState::Complete);
    }
    let journal = JournalStorage::open(&path).unwrap();
    let study = journal.open_study("killed", Direction::Minimize).unwrap();
    let n_running = || {
        let trials = journal.trials(study).unwrap();
        trials.iter().filter(|trial| trial.state == TrialState::Running).count()
    };
    let left = n_running();
    assert_eq!(journal.fail_stale_trials(study).unwrap().len(), left);
    assert_eq!(n_running(), 0);
    check_trials(&journal.trials(study).unwrap(), n_kills);
}

/// Appends a truncated line, as an interrupted write leaves it; real ones are too rare to wait for.
fn append_truncated_line(path: &Path) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(b"{\"op_code\":4,\"worker_id\":\"dead\",\"study").unwrap();
}

fn check_trials(trials: &[Trial], n_kills: usize) {
    let complete = trials.iter().filter(|trial| trial.state == TrialState::Complete);
    assert!(complete.count() > n_kills, "the workers completed no trial");
    let numbers: BTreeSet<u64> = trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, (0..trials.len() as u64).collect());
    for trial in trials.iter().filter(|trial| trial.params.contains_key("x")) {
        assert_eq!(trial.params["x"].1, trial.number as f64);
    }
}

#[test]
fn read_only_journal_can_be_read() {
    let name = "journal::read_only_journal_can_be_read";
    let expected = ["study: cannot be locked: ", "its folder must be writable"];
    check_read_only(name, |path| Box::new(JournalStorage::open(path).unwrap()), expected);
}

//! Workers that are killed at any moment leave a study that opens and goes on.
//!
//! The workers are this program again, started with `CLENSHAW_WORKER` set.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

use clenshaw_rng::Stream;
use clenshaw_tune::{
    Direction, Distribution, Ending, Journal, Notes, Patience, State, Storage, Trial,
};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const KILLS: usize = 60;

/// Locks of the dead are broken soon, or the test would take half an hour.
const SOON: Patience =
    Patience { stale: Duration::from_millis(200), give_up: Duration::from_secs(60) };

/// Runs a trial after another, until it is killed.
fn work(path: &Path) -> clenshaw_tune::Result<()> {
    let journal = Journal::open_with(path, SOON)?;
    let study = journal.study("killed", Direction::Minimise)?;
    loop {
        let trial = match journal.claim_waiting(study)? {
            Some(trial) => trial,
            None => journal.create_trial(study)?,
        };
        let x = Distribution::Float { low: 0.0, high: 1e9, log: false, step: None };
        let number = trial.number as f64;
        journal.set_params(trial.id, &[("x".to_owned(), (x, number))].into())?;
        // Long lines cross pages of memory, where a write can be cut.
        let note = [("note".to_owned(), "long ".repeat(4000).into())].into();
        journal.set_trial_attrs(trial.id, Notes::User, &note)?;
        journal.report(trial.id, 1, number)?;
        journal.finish(trial.id, Ending::Complete(number))?;
        journal.enqueue(study, &[].into())?;
    }
}

/// Not a test but the worker; without the variable there is nothing to do.
#[test]
fn worker() {
    if let Some(path) = std::env::var_os("CLENSHAW_WORKER") {
        work(Path::new(&path)).unwrap();
    }
}

fn start(path: &Path) -> Child {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "worker"]).env("CLENSHAW_WORKER", path);
    again.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_study_survives_workers_that_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.log");
    let mut moments = Stream::new(0, "kills");
    let mut longest = 0;
    for kill in 0..KILLS {
        let mut workers = [start(&path), start(&path)];
        std::thread::sleep(Duration::from_micros(20_000 + 40_000 * kill as u64 % 100_000));
        std::thread::sleep(Duration::from_micros(moments.below(20_000) as u64));
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        if kill % 3 == 0 {
            cut_short(&path);
        }
        let journal = Journal::open_with(&path, SOON).unwrap();
        let study = journal.study("killed", Direction::Minimise).unwrap();
        let trials = journal.trials(study).unwrap();
        assert!(trials.len() >= longest, "trials were lost");
        longest = trials.len();
        // One more by us: the study goes on, and our lines are readable after theirs.
        let trial = journal.create_trial(study).unwrap();
        assert_eq!(journal.finish(trial.id, Ending::Complete(1.0)).unwrap(), State::Complete);
    }
    let journal = Journal::open(&path).unwrap();
    let study = journal.study("killed", Direction::Minimise).unwrap();
    let running = |trials: &[Trial]| trials.iter().filter(|t| t.state == State::Running).count();
    let left = running(&journal.trials(study).unwrap());
    assert_eq!(journal.reap_dead(study).unwrap().len(), left);
    check(&journal.trials(study).unwrap());
    assert_eq!(running(&journal.trials(study).unwrap()), 0);
}

/// Adds half a line, as a write leaves it that was cut: the system does so too rarely to wait for it.
fn cut_short(path: &Path) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(b"{\"op_code\":4,\"worker_id\":\"dead\",\"study").unwrap();
}

fn check(trials: &[Trial]) {
    let complete = trials.iter().filter(|trial| trial.state == State::Complete);
    assert!(complete.count() > KILLS, "the workers did nothing");
    let numbers: BTreeSet<u64> = trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, (0..trials.len() as u64).collect());
    for trial in trials.iter().filter(|trial| trial.params.contains_key("x")) {
        assert_eq!(trial.params["x"].1, trial.number as f64);
    }
}

/// Whether a journal that may only be read can be read, and what is said when it is written.
#[test]
fn a_journal_that_may_only_be_read() {
    if let Some(path) = std::env::var_os("CLENSHAW_READER") {
        let journal = Journal::open(path).unwrap();
        let study = journal.study("s", Direction::Minimise).unwrap();
        let said = journal.create_trial(study).unwrap_err().to_string();
        assert!(said.contains("study.log: cannot be locked: "), "{said}");
        assert!(said.ends_with("its folder must be writable"), "{said}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.log");
    Journal::open(&path).unwrap().study("s", Direction::Minimise).unwrap();
    // Those who may do everything ask somebody who may not.
    let program = folder.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let read_only = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    std::fs::set_permissions(folder.path(), read_only).unwrap();
    let mut reader = Command::new(&program);
    reader.args(["--exact", "a_journal_that_may_only_be_read"]).env("CLENSHAW_READER", &path);
    if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0 {
        reader.uid(65_534).gid(65_534);
    }
    let output = reader.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let writable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), writable).unwrap();
}

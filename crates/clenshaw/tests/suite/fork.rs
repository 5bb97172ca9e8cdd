//! A process that has trained can fork, and the child can train: no thread pool outlives a run.

use clenshaw::data::{self, SplitKind};
use clenshaw::train::{Fit, Setup};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

unsafe extern "C" {
    unsafe fn fork() -> i32;
    safe fn _exit(status: i32) -> !;
    unsafe fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
}

/// The bits of the validation losses of a short training on two threads.
///
/// The graph is large enough for its construction to use several threads.
fn train() -> Vec<u64> {
    let graph = data::load("csbm:nodes=3000").unwrap();
    let info = clenshaw::model::find("clenshaw-gcn").unwrap();
    let mut hp = info.defaults();
    hp.set("max_epochs", "3").unwrap();
    let split = SplitKind::Balanced.draw(&graph, 0).unwrap();
    let mut fit = Fit::new(Setup::new(graph, info, hp).unwrap(), &split, 0, 2).unwrap();
    fit.run_to_end().unwrap();
    fit.history().iter().map(|epoch| epoch.val_loss.unwrap().to_bits()).collect()
}

/// Trains, forks, and trains again in the child.
fn train_fork_and_train() {
    let before = train();
    // SAFETY: the only other thread of this process is the test harness, which waits for this one.
    let child = unsafe { fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        _exit(i32::from(train() != before));
    }
    let mut status = -1;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { waitpid(child, &mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child trained differently");
}

/// Set in the process that forks, since a fork keeps only the calling thread.
const FORKS: &str = "CLENSHAW_TEST_FORKS";

#[test]
fn training_works_in_a_forked_process() {
    if std::env::var_os(FORKS).is_some() {
        return train_fork_and_train();
    }
    let arguments = ["--exact", "fork::training_works_in_a_forked_process", "--test-threads=1"];
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new(test);
    // Its summary would be counted as that of a test binary.
    command.args(arguments).env(FORKS, "1").stdout(Stdio::null());
    let mut process = command.spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        match process.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > Duration::from_secs(120) => {
                process.kill().unwrap();
                panic!("training in a forked process hangs");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{status}");
}

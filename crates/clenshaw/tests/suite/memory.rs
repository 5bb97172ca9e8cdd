//! Memory of a process that trains many models of different sizes.

use clenshaw::data::Store;
use clenshaw::experiment::{Request, RunOptions, TrainingJob, run};
use clenshaw::rng::Stream;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// The environment variable that makes the test the measured process.
const MEASURED: &str = "CLENSHAW_TEST_MEASURED_PROCESS";

/// Trains two runs of a random size, each on a thread of its own.
fn train(sizes: &mut Stream) {
    let mut below = |n: usize| sizes.below(n);
    let graph = format!("csbm:nodes={}", 200 + below(1200));
    let mut request = Request::new(&graph, "clenshaw-gcn").unwrap();
    for (key, value) in [("hidden", 8 + below(120)), ("K", 2 + below(8)), ("max_epochs", 2)] {
        request.set(key, &value.to_string()).unwrap();
    }
    request.runs = 2;
    let (store, cancel) = (Store::new(None), AtomicBool::new(false));
    let options = RunOptions {
        threads: 2,
        store: &store,
        resume: false,
        on_event: &|_, _| {},
        cancel: &cancel,
    };
    run(&TrainingJob { request, folder: None }, &options).unwrap();
}

/// The resident memory of this process in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// Between run 50 and run 300, the memory grows by less than 10%; the test allows 15%.
#[test]
fn memory_stays_flat_over_300_runs() {
    if std::env::var_os(MEASURED).is_some() {
        let mut sizes = Stream::new(1, "sizes");
        let mut train_until = |from: usize, to: usize| {
            (from..to).step_by(2).for_each(|_| train(&mut sizes));
            resident_kib()
        };
        println!("\nresident KiB: {} {}", train_until(0, 50), train_until(50, 300));
        return;
    }
    let test = "memory::memory_stays_flat_over_300_runs";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([test, "--exact", "--nocapture"]).env(MEASURED, "1").output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let numbers = text.lines().find_map(|line| line.strip_prefix("resident KiB: ")).unwrap();
    let (at_50, at_300) = numbers.split_once(' ').unwrap();
    let [at_50, at_300] = [at_50, at_300].map(|number| number.parse::<f64>().unwrap());
    println!("{at_50} KiB after 50 runs, {at_300} KiB after 300 runs");
    assert!(at_300 < 1.15 * at_50, "{at_50} KiB after 50 runs, {at_300} KiB after 300 runs");
}

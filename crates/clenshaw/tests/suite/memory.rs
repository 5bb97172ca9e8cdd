//! Memory of a process that trains many models of different sizes.

use clenshaw::data::Store;
use clenshaw::experiment::{Request, RunOptions, TrainingJob, run};
use clenshaw::model::MODELS;
use clenshaw::rng::Stream;
use clenshaw::tensor::limit_free_memory;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// The environment variable that makes the test the measured process.
const MEASURED: &str = "CLENSHAW_TEST_MEASURED_PROCESS";

/// Trains two runs of one of the models on graphs of a random size, each run on a thread of its own.
fn train(sizes: &mut Stream) {
    let mut below = |n: usize| sizes.below(n);
    let graph = format!("csbm:nodes={}", 100 + below(500));
    let mut request = Request::new(&graph, MODELS[below(MODELS.len())].name).unwrap();
    for (key, value) in [("hidden", 8 + below(56)), ("max_epochs", 2)] {
        if request.hyper.has(key) {
            request.set(key, &value.to_string()).unwrap();
        }
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

/// The resident memory of this process in KiB, without pages of files such as the program itself.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// The KiB of blocks that are in use in all heaps, according to glibc.
fn allocated_kib() -> i32 {
    /// `struct mallinfo`; `counts[7]` is `uordblks`.
    #[repr(C)]
    struct HeapStatistics {
        counts: [std::ffi::c_int; 10],
    }
    unsafe extern "C" {
        safe fn mallinfo() -> HeapStatistics;
    }
    mallinfo().counts[7] / 1024
}

mod long {
    use super::*;

    const RUNS: usize = 500;
    /// Memory is measured whenever this many runs have been trained.
    const INTERVAL: usize = 20;
    /// The number of measurements at the beginning and at the end whose medians are compared: resident memory after
    /// a run varies by up to 15% with the moments at which threads allocate.
    const COMPARED: usize = 9;

    /// Trains in this process and prints resident and allocated KiB.
    fn measure() {
        if std::env::var_os("CLENSHAW_TEST_DEFAULT_HEAP").is_none() {
            limit_free_memory();
        }
        let mut sizes = Stream::new(1, "sizes");
        for _ in 0..RUNS / INTERVAL {
            for _ in 0..INTERVAL / 2 {
                train(&mut sizes);
            }
            println!("\nmeasured: {} {}", resident_kib(), allocated_kib());
        }
    }

    fn median(numbers: &[f64]) -> f64 {
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// Without a limit of free memory, resident memory would grow from 4 to 8 or 12 MB over 300 runs.
    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn memory_is_flat_over_500_runs() {
        if std::env::var_os(MEASURED).is_some() {
            return measure();
        }
        let test = "memory::long::memory_is_flat_over_500_runs";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture", "--include-ignored"]).env(MEASURED, "1");
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("measured: "));
        let (resident, allocated): (Vec<f64>, Vec<f64>) = lines
            .map(|line| line.split_once(' ').unwrap())
            .map(|(resident, allocated)| {
                (resident.parse::<f64>().unwrap(), allocated.parse::<f64>().unwrap())
            })
            .unzip();
        assert_eq!(resident.len(), RUNS / INTERVAL, "{text}");
        for (kind, numbers) in [("resident", resident), ("allocated", allocated)] {
            let first = median(&numbers[..COMPARED]);
            let last = median(&numbers[numbers.len() - COMPARED..]);
            println!("{kind} KiB: median {first} at the beginning, {last} at the end: {numbers:?}");
            assert!(last < 1.1 * first, "{kind}: {numbers:?}");
        }
    }
}

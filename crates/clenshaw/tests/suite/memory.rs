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

    /// The numbers of runs after which memory is measured.
    const MEASURED_AFTER: [usize; 3] = [100, 300, 500];

    /// Trains in this process and prints resident and allocated KiB.
    fn measure() {
        if std::env::var_os("CLENSHAW_TEST_DEFAULT_HEAP").is_none() {
            limit_free_memory();
        }
        let mut sizes = Stream::new(1, "sizes");
        let mut runs = 0;
        for end in MEASURED_AFTER {
            while runs < end {
                train(&mut sizes);
                runs += 2;
            }
            println!("\nmeasured: {} {}", resident_kib(), allocated_kib());
        }
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
        let numbers: Vec<(f64, f64)> = lines
            .map(|line| line.split_once(' ').unwrap())
            .map(|(resident, allocated)| (resident.parse().unwrap(), allocated.parse().unwrap()))
            .collect();
        println!("resident and allocated KiB after {MEASURED_AFTER:?} runs: {numbers:?}");
        let [first, .., last] = numbers[..] else { panic!("{text}") };
        assert!(last.0 < 1.1 * first.0, "resident: {numbers:?}");
        assert!(last.1 < 1.1 * first.1, "allocated: {numbers:?}");
    }
}

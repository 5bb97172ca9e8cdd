//! Memory of a process that trains many models of different sizes.

use clenshaw::data::Store;
use clenshaw::experiment::{Request, RunOptions, TrainingJob, run};
use clenshaw::model::MODELS;
use clenshaw::rng::Stream;
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

/// Bytes in use according to the allocator, in KiB: in all heaps, and in mapped blocks.
fn allocated_kib() -> [usize; 3] {
    #[repr(C)]
    struct Counts([usize; 10]);
    unsafe extern "C" {
        safe fn mallinfo2() -> Counts;
    }
    let Counts(c) = mallinfo2();
    [c[0] / 1024, c[7] / 1024, c[4] / 1024]
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn memory_is_flat() {
        if std::env::var_os(MEASURED).is_some() {
            let mut sizes = Stream::new(1, "sizes");
            for n in 0..250 {
                train(&mut sizes);
                if n % 25 == 24 {
                    eprintln!("{} runs: anon {} KiB, [heap, used, mapped] {:?}", 2 * n + 2, resident_kib(), allocated_kib());
                }
            }
            if let Ok(text) = std::env::var("SMAPS") { std::fs::copy("/proc/self/smaps", text).unwrap(); }
            return;
        }
    }

    /// Measured: 7,656 and 12,476 KiB after 300 runs; 25,484 and 26,388 KiB if no memory is returned. Memory
    /// is not flat: after 50 runs, it was 4,112 and 3,636 KiB.
    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn unused_memory_is_returned_over_300_runs() {
        if std::env::var_os(MEASURED).is_some() {
            let mut sizes = Stream::new(1, "sizes");
            let mut train_until = |from: usize, to: usize| {
                (from..to).step_by(2).for_each(|_| train(&mut sizes));
                resident_kib()
            };
            println!("\nresident KiB: {} {}", train_until(0, 50), train_until(50, 300));
            return;
        }
        let test = "memory::long::unused_memory_is_returned_over_300_runs";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture", "--include-ignored"]).env(MEASURED, "1");
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let numbers = text.lines().find_map(|line| line.strip_prefix("resident KiB: ")).unwrap();
        let (at_50, at_300) = numbers.split_once(' ').unwrap();
        let [at_50, at_300] = [at_50, at_300].map(|number| number.parse::<f64>().unwrap());
        println!("{at_50} KiB after 50 runs, {at_300} KiB after 300 runs");
        assert!(at_300 < 18_000.0, "{at_50} KiB after 50 runs, {at_300} KiB after 300 runs");
    }
}

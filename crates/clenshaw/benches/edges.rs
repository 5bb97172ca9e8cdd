//! Reads a CSV of 6.8 million edges into a symmetric CSR matrix, compared with pandas and scipy.
//!
//! ```text
//! cargo bench -p clenshaw --bench edges
//! ```
//!
//! The list has the size and layout of Twitch-Gamers: 168,114 nodes, a few of them with most edges.
//! Every run is a separate process, alternating between the programs; each prints its time, without
//! start-up, and its peak memory.
//! Without `python3` or its packages, only our own numbers are printed.

mod common;

use clenshaw::data::read::edges::read_edges;
use common::{N_EDGES, N_NODES, median, peak_bytes, write_list};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const RUNS: usize = 7;
/// The argument that makes this program measure one run.
const ONCE: &str = "--once";

/// The same task with pandas and scipy: written plainly, and with types and a sum chosen for speed.
const PYTHON: &str = r#"
import resource, sys, time
import numpy, pandas, scipy.sparse

path, n, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
start = time.perf_counter()
table = pandas.read_csv(path, dtype=numpy.int32 if way == "tuned" else None)
u, v = (table.iloc[:, i].to_numpy() for i in (0, 1))
if way == "tuned":
    ones = numpy.ones(len(u), dtype=numpy.int8)
    csr = scipy.sparse.coo_matrix((ones, (u, v)), shape=(n, n)).tocsr()
    csr = csr + csr.T
else:
    ends = numpy.concatenate([u, v]), numpy.concatenate([v, u])
    csr = scipy.sparse.coo_matrix((numpy.ones(2 * len(u)), ends), shape=(n, n)).tocsr()
seconds = time.perf_counter() - start
print(seconds, csr.nnz, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"#;
const WAYS: [&str; 2] = ["plain", "tuned"];

/// The measurements of one run.
#[derive(Clone, Copy)]
struct Run {
    seconds: f64,
    n_entries: f64,
    peak_bytes: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == ONCE) {
        return once(Path::new(&arguments[at + 1]));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let list = folder.path().join("edges.csv");
    write_list(&list).expect("room for the list");
    let megabytes = fs::metadata(&list).expect("the list is there").len() as f64 / 1e6;
    println!("{N_EDGES} edges, {N_NODES} nodes, {megabytes:.1} MB of text, {RUNS} runs each");

    let python = python().inspect_err(|why| println!("no pandas to compare with: {why}")).ok();
    let (mut ours, mut theirs) = (vec![], [vec![], vec![]]);
    for _ in 0..RUNS {
        let this = std::env::current_exe().expect("this program has a path");
        ours.push(run(Command::new(this).arg(ONCE).arg(&list)));
        let Some(python) = &python else { continue };
        for (way, runs) in WAYS.iter().zip(&mut theirs) {
            let nodes = N_NODES.to_string();
            let mut command = Command::new(python);
            runs.push(run(command.args(["-c", PYTHON]).arg(&list).args([&nodes, *way])));
        }
    }
    let csr = 4.0 * ours[0].n_entries + 8.0 * (N_NODES + 1) as f64;
    println!("the CSR takes {:.1} MB", csr / 1e6);
    let our_median = print_medians("clenshaw", &ours, csr);
    for (way, runs) in WAYS.iter().zip(&theirs).filter(|(_, runs)| !runs.is_empty()) {
        assert_eq!(ours[0].n_entries, runs[0].n_entries, "both count the same entries");
        let their_median = print_medians(&format!("pandas and scipy, {way}"), runs, csr);
        println!("    clenshaw is {:.1} times as fast", their_median / our_median);
    }
}

/// Prints the medians and returns that of the time in seconds.
fn print_medians(name: &str, runs: &[Run], csr: f64) -> f64 {
    let seconds = median(runs.iter().map(|run| run.seconds));
    let peak = median(runs.iter().map(|run| run.peak_bytes));
    let all: Vec<String> = runs.iter().map(|run| format!("{:.3}", run.seconds)).collect();
    println!(
        "{name:<24} {seconds:.3} s, peak memory {:.0} MB, {:.2} times the CSR  ({})",
        peak / 1e6,
        peak / csr,
        all.join(" ")
    );
    seconds
}

/// Measures one run of our reader and prints it in the format that [`run`] parses.
fn once(list: &Path) {
    let start = Instant::now();
    let graph = read_edges(list, Some(N_NODES)).expect("the list is valid");
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds} {} {}", graph.adjacency().n_entries(), peak_bytes());
}

fn run(command: &mut Command) -> Run {
    let output = command.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [seconds, n_entries, peak_bytes] => Run { seconds, n_entries, peak_bytes },
        _ => panic!("{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// A Python environment with pandas and scipy, created once below `target`.
fn python() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pandas");
    let python = folder.join("bin/python");
    if succeeds(Command::new(&python).args(["-c", "import pandas, scipy"])).is_ok() {
        return Ok(python);
    }
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", "pandas", "scipy"]))?;
    Ok(python)
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let problem = || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    output.status.success().then_some(()).ok_or_else(problem)
}

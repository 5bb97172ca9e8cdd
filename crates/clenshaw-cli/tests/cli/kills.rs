//! Processes killed at random moments: the same command, run again, gives the results of an undisturbed one.
//!
//! The short form has a few kills per command. `cargo xtask soak` sets the number of all kills in
//! `CLENSHAW_SOAK_KILLS` and the seed of the moments in `CLENSHAW_SOAK_SEED`. The assertions hold whatever
//! the moment of a kill, so they do not depend on timing.

use crate::common::{Random, Sandbox, text, without_times};
use crate::databases::postgres_server::Database;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take before it counts as stuck. The lock of a journal whose writer was killed is
/// removed after 30 seconds.
const STUCK: Duration = Duration::from_secs(300);
/// Number of kills per command, without `CLENSHAW_SOAK_KILLS`.
const SHORT: usize = 2;
/// Number of commands that are tested, over which the kills are divided.
const COMMANDS: usize = 8;

/// The results of a command: contents by name.
pub type Results = BTreeMap<String, Vec<u8>>;

/// A command to kill.
struct Scenario<'a> {
    name: &'static str,
    arguments: Box<dyn Fn(&Sandbox) -> String + 'a>,
    /// The folder for parsed graphs.
    cache: &'static str,
    prepare: fn(&Sandbox),
    results: Box<dyn Fn(&Sandbox) -> Results + 'a>,
}

impl<'a> Scenario<'a> {
    /// A command that writes its results to the folder `out`.
    fn new(name: &'static str, arguments: &'a str) -> Self {
        Self {
            name,
            arguments: Box::new(|_| arguments.to_owned()),
            cache: "off",
            prepare: |_| {},
            results: Box::new(|sandbox| files(&sandbox.path("out"))),
        }
    }

    /// `tune` in the storage that `study` returns.
    fn tune(name: &'static str, study: impl Fn(&Sandbox) -> String + Clone + 'a) -> Self {
        let storage = study.clone();
        Self {
            name,
            arguments: Box::new(move |sandbox| format!("{TUNE} {}", storage(sandbox))),
            cache: "off",
            prepare: write_space,
            results: Box::new(move |sandbox| points(sandbox, &study(sandbox))),
        }
    }

    fn command(&self, sandbox: &Sandbox) -> Command {
        let mut command = sandbox.command(&(self.arguments)(sandbox));
        command.env("CLENSHAW_CACHE", self.cache).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Runs the command to its end, and returns how long it took.
    fn run(&self, sandbox: &Sandbox, after: &str) -> Duration {
        let start = Instant::now();
        let mut process = self.command(sandbox).spawn().unwrap();
        while process.try_wait().unwrap().is_none() {
            if start.elapsed() > STUCK {
                process.kill().unwrap();
                panic!("{}: stuck {after}", self.name);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{} {after}: {}", self.name, text(&output.stderr));
        start.elapsed()
    }
}

/// The files below a folder, without those that contain times or are locks. Temporary files are an error, as are
/// checkpoints: none may be left after a command has ended.
pub fn files(folder: &Path) -> Results {
    const WITH_TIMES: [&str; 3] = ["summary.json", "receipt.json", ".lock"];
    let mut found = Results::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let left = [".partial", ".checkpoint", ".progress.jsonl", ".db-journal"];
        assert!(!left.iter().any(|end| name.ends_with(end)), "{} was left", path.display());
        if path.is_dir() {
            found.extend(
                files(&path).into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)),
            );
        } else if name == "record.json" {
            found.insert(name, without_times(&text(&fs::read(path).unwrap())).into_bytes());
        } else if !WITH_TIMES.contains(&name.as_str()) {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

/// Kills a process at a random moment of its first `duration`, half of the times right after Ctrl-C, when it
/// writes its checkpoints. Returns the moment.
fn kill_at_random(mut process: Child, duration: Duration, random: &mut Random) -> Duration {
    let moment = duration.mul_f64(random.below(1100) as f64 / 1000.0);
    std::thread::sleep(moment);
    if random.below(2) == 0 {
        let id = process.id().to_string();
        Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(30_000) as u64));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    moment
}

/// A number from the environment.
fn setting(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// Kills the command several times, always running it again to its end, and compares the results.
fn survives_kills(scenario: &Scenario) {
    let n_kills = setting("CLENSHAW_SOAK_KILLS").map_or(SHORT, |all| all.div_ceil(COMMANDS));
    let mut random = Random(setting("CLENSHAW_SOAK_SEED").unwrap_or(1) as u64);
    let sandbox = Sandbox::new();
    (scenario.prepare)(&sandbox);
    let duration = scenario.run(&sandbox, "undisturbed");
    let expected = (scenario.results)(&sandbox);
    assert!(!expected.is_empty(), "{}: no results", scenario.name);
    let mut kills = 0;
    while kills < n_kills {
        let sandbox = Sandbox::new();
        (scenario.prepare)(&sandbox);
        let in_a_row = (1 + random.below(3)).min(n_kills - kills);
        let mut moments = vec![];
        for _ in 0..in_a_row {
            let process = scenario.command(&sandbox).spawn().unwrap();
            moments.push(kill_at_random(process, duration, &mut random));
        }
        let after = format!("after kills at {moments:.3?}");
        scenario.run(&sandbox, &after);
        assert_same(scenario.name, &after, &(scenario.results)(&sandbox), &expected);
        kills += in_a_row;
        println!("{}: {kills} of {n_kills} kills", scenario.name);
    }
    println!("kills: {} {kills}", scenario.name);
}

fn assert_same(name: &str, after: &str, found: &Results, expected: &Results) {
    let names: [Vec<&String>; 2] = [found.keys().collect(), expected.keys().collect()];
    assert_eq!(names[0], names[1], "{name} {after}: other files");
    for (file, bytes) in found {
        assert!(*bytes == expected[file], "{name} {after}: {file} differs: {}", lossy(bytes));
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned()
}

#[test]
fn train_survives_kills() {
    survives_kills(&Scenario::new(
        "train",
        "train csbm:nodes=200 --model clenshaw-gcn --set max_epochs=60 --set stop=none --set hidden=16 \
         --runs 3 --quiet --out out",
    ));
}

#[test]
fn compare_survives_kills() {
    survives_kills(&Scenario::new(
        "compare",
        "compare csbm:nodes=150 grid:rows=8,columns=8 --models mlp,gcn --runs 2 --set max_epochs=40 \
         --quiet --out out",
    ));
}

#[test]
fn reproduce_survives_kills() {
    let arguments =
        "reproduce filters --only filter=low,model=monomial,jacobi --runs 1 --quiet --out out";
    let results = Box::new(reproduced);
    survives_kills(&Scenario { results, ..Scenario::new("reproduce", arguments) });
}

/// How the sentences start that contain the time of a measurement.
const MEASUREMENTS: [&str; 2] = ["Total time of all cells", "Measured "];

/// The files of an experiment, without the time and the machine of the measurement.
fn reproduced(sandbox: &Sandbox) -> Results {
    let mut found = files(&sandbox.path("out"));
    for (name, bytes) in &mut found {
        if name.ends_with(".json") {
            let mut document: Value = serde_json::from_slice(bytes).unwrap();
            remove_measurements(&mut document);
            *bytes = document.to_string().into_bytes();
        } else if name.ends_with(".md") {
            let is_measurement =
                |line: &&str| MEASUREMENTS.iter().any(|start| line.contains(start));
            let page = text(bytes);
            *bytes =
                page.lines().filter(|line| !is_measurement(line)).collect::<String>().into_bytes();
        }
    }
    found
}

/// Removes the entries that contain the time or the machine of a measurement.
fn remove_measurements(value: &mut Value) {
    let is_measurement = |value: &Value| {
        let sentence = value.as_str().unwrap_or_default();
        MEASUREMENTS.iter().any(|start| sentence.starts_with(start))
    };
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| {
                !["provenance", "seconds"].contains(&key.as_str()) && !is_measurement(value)
            });
            fields.values_mut().for_each(remove_measurements);
        }
        Value::Array(values) => {
            values.retain(|value| !is_measurement(value));
            values.iter_mut().for_each(remove_measurements);
        }
        _ => {}
    }
}

/// Tables of a graph that takes a moment to read.
fn write_tables(sandbox: &Sandbox) {
    let n = 20_000;
    let (mut nodes, mut edges) = (String::from("id,a,b,label\n"), String::from("source,target\n"));
    for i in 0..n {
        nodes += &format!("n{i},{},{},{}\n", i % 17, i % 23, ["x", "y"][i % 2]);
        edges += &format!("n{i},n{}\nn{i},n{}\n", (i + 1) % n, (i * 7 + 3) % n);
    }
    sandbox.write("tables/nodes.csv", &nodes);
    sandbox.write("tables/edges.csv", &edges);
}

#[test]
fn import_survives_kills() {
    let arguments = "data import tables --out out/it.graph --force";
    survives_kills(&Scenario { prepare: write_tables, ..Scenario::new("import", arguments) });
}

/// The entry of the cache is compared without its stamp, which contains the times of the source files.
#[test]
fn cache_survives_kills() {
    let results = |sandbox: &Sandbox| {
        let entries = files(&sandbox.path("parsed"));
        assert_eq!(entries.len(), 1, "one entry of the cache: {:?}", entries.keys());
        let path = sandbox.path("parsed").join(entries.keys().next().unwrap());
        let dataset = clenshaw::data::graph_file::open(&path).unwrap();
        Results::from([("sha256".to_owned(), dataset.sha256().into_bytes())])
    };
    let scenario = Scenario::new("cache", "data show tables");
    let results = Box::new(results);
    survives_kills(&Scenario { prepare: write_tables, cache: "parsed", results, ..scenario });
}

/// Tunes every point of a small grid, so that the results do not depend on the numbers of trials.
pub const TUNE: &str = "tune csbm:nodes=100 --model gcn --space space.toml --sampler grid --pruner none \
                    --set max_epochs=30 --set stop=none --set hidden=8 --splits 2 --trials 1000 \
                    --json --quiet --study";

pub fn write_space(sandbox: &Sandbox) {
    let fixed = "lr = 0.01\nwd = 0.0005\n";
    sandbox.write(
        "space.toml",
        &format!("[space]\n{fixed}dropout = [0.0, 0.2, 0.4]\nlayers = [2, 3]\n"),
    );
}

/// The value of every point, each of which must be complete. The study is read by running the command again,
/// when nothing is left to do.
pub fn points(sandbox: &Sandbox, study: &str) -> Results {
    let document = sandbox.json(&format!("{TUNE} {study}"));
    let mut points = Results::new();
    for trial in document["trials"].as_array().unwrap() {
        let is_copy = !trial["notes"]["duplicate_of"].is_null();
        assert_ne!(trial["state"], "running", "{trial}");
        if trial["state"] == "complete" && !is_copy {
            let again =
                points.insert(trial["params"].to_string(), trial["value"].to_string().into_bytes());
            assert_eq!(again, None, "trained twice: {trial}");
        }
    }
    assert_eq!(points.len(), 6, "{document}");
    points.insert("best".into(), json!(document["best"]["value"]).to_string().into_bytes());
    points
}

#[test]
fn tune_in_a_journal_survives_kills() {
    survives_kills(&Scenario::tune("journal", |_| "s.journal --name s".into()));
}

#[test]
fn tune_in_sqlite_survives_kills() {
    survives_kills(&Scenario::tune("sqlite", |_| "sqlite:///s.db --name s".into()));
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn tune_in_postgresql_survives_kills() {
    let database = Database::new();
    let url = database.url();
    // Every sandbox has its own study.
    let study = |sandbox: &Sandbox| {
        let folder = sandbox.path("");
        format!("{url} --name {}", folder.file_name().unwrap().to_str().unwrap())
    };
    survives_kills(&Scenario::tune("postgresql", study));
}

//! `cargo xtask soak [--kills N] [--seed S]`: the long form of the tests of kills, disks, memory and shared studies.
//!
//! The tests are those of `cargo xtask test`, with more kills; see `docs/reliability.md`.

use crate::Result;
use crate::cargo::{cargo, command_line};
use crate::optuna;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Default number of kills.
const KILLS: u64 = 200;

/// The tests: kills at random moments; full, read-only and vanishing disks; many trainings in one process; four
/// workers on one study, two of them Optuna's; a server of PostgreSQL that is stopped and started again.
const TESTS: [&str; 5] = [
    "kills::",
    "disks::",
    "memory::long::",
    "optuna::concurrent_workers_lose_no_trial",
    "databases::server_restart",
];

/// The start of the line with the number of kills of a command.
const KILLED: &str = "kills: ";

/// Runs the tests, and prints what was counted.
pub fn run(arguments: &[String]) -> Result {
    let options = SoakOptions::parse(arguments)?;
    let start = Instant::now();
    eprintln!("== soak: {} kills, seed {}", options.kills, options.seed);
    let services = optuna::prepare();
    let mut command =
        cargo(&["test", "--workspace", "--test", "cli", "--test", "suite", "--no-fail-fast", "--"]);
    // One at a time: kills and memory are not disturbed by other tests.
    command.args(["--nocapture", "--test-threads=1"]).args(TESTS);
    command.env("CLENSHAW_SOAK_KILLS", options.kills.to_string());
    command.env("CLENSHAW_SOAK_SEED", options.seed.to_string());
    match &services {
        Ok(variables) => drop(command.arg("--include-ignored").envs(variables.clone())),
        Err(error) => eprintln!("not run: tests with Optuna and PostgreSQL ({error})"),
    }
    let (counts, passed) = run_tests(&mut command)?;
    let line = format!("{} in {} s", counts.summary(), start.elapsed().as_secs());
    if !passed {
        return Err(format!("FAILED: {line}").into());
    }
    eprintln!("ok: {line}");
    services.map(drop).map_err(|error| format!("tests were not run: {error}").into())
}

struct SoakOptions {
    kills: u64,
    seed: u64,
}

impl SoakOptions {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { kills: KILLS, seed: 1 };
        for pair in arguments.chunks(2) {
            let number = pair.get(1).and_then(|number| number.parse().ok());
            let number = number.ok_or_else(|| format!("`{}` needs a number", pair[0]))?;
            match pair[0].as_str() {
                "--kills" => options.kills = number,
                "--seed" => options.seed = number,
                other => return Err(format!("unknown `{other}`; known: --kills, --seed").into()),
            }
        }
        Ok(options)
    }
}

/// Runs a command and prints its output as it appears; returns what was counted, and whether it succeeded.
fn run_tests(command: &mut Command) -> Result<(Counts, bool)> {
    eprintln!("== {}", command_line(command));
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut counts = Counts::default();
    for line in BufReader::new(child.stdout.take().ok_or("no standard output")?).lines() {
        let line = line?;
        counts.add(&line);
        println!("{line}");
    }
    Ok((counts, child.wait()?.success()))
}

/// The totals of the output of several test programs.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    /// The name of each killed command, and its number of kills.
    kills: Vec<(String, u64)>,
    passed: u64,
    failed: u64,
    /// Reasons of skipped tests.
    skipped: Vec<String>,
}

impl Counts {
    fn add(&mut self, line: &str) {
        // The first line of a test is printed after `test NAME ... `.
        let line = line.rsplit_once(" ... ").map_or(line, |(_, line)| line);
        let number = |text: &str| text.trim().parse::<u64>().ok();
        if let Some((name, n)) = line.strip_prefix(KILLED).and_then(|line| line.rsplit_once(' ')) {
            self.kills.extend(number(n).map(|n| (name.to_owned(), n)));
        } else if let Some(reason) = line.strip_prefix("skipped: ") {
            self.skipped.push(reason.to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let before = |word: &str| result.split(word).next()?.trim_end().rsplit(' ').next();
            self.passed += before("passed").and_then(number).unwrap_or(0);
            self.failed += before("failed").and_then(number).unwrap_or(0);
        }
    }

    /// All counts in one line.
    fn summary(&self) -> String {
        let total: u64 = self.kills.iter().map(|(_, n)| n).sum();
        let kills: Vec<String> = self.kills.iter().map(|(name, n)| format!("{name} {n}")).collect();
        let (passed, failed) = (self.passed, self.failed);
        let skipped = match &self.skipped[..] {
            [] => String::new(),
            reasons => format!("; {} skipped: {}", reasons.len(), reasons[0]),
        };
        format!(
            "{total} kills ({}); {passed} tests passed, {failed} failed{skipped}",
            kills.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_kills_tests_and_skipped_tests() {
        let mut counts = Counts::default();
        let output = "running 3 tests\n\
            test kills::train ... train: 3 of 5 kills\nkills: train 5\nok\n\
            test kills::tune ... kills: journal 4\nok\n\
            test disks::full ... skipped: only root can mount a tmpfs\nok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 9 filtered out\n";
        output.lines().for_each(|line| counts.add(line));
        assert_eq!(
            counts.summary(),
            "9 kills (train 5, journal 4); 4 tests passed, 2 failed; \
             1 skipped: only root can mount a tmpfs"
        );
    }

    #[test]
    fn parses_options() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = SoakOptions::parse(&words("--seed 7 --kills 12")).unwrap();
        assert_eq!((options.kills, options.seed), (12, 7));
        for (text, expected) in [
            ("--kills many", "`--kills` needs a number"),
            ("--kills", "`--kills` needs a number"),
            ("--kill 3", "unknown `--kill`; known: --kills, --seed"),
        ] {
            assert_eq!(SoakOptions::parse(&words(text)).err().unwrap().to_string(), expected);
        }
    }
}

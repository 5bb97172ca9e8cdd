//! `cargo xtask test [--long]`: every check of the project, in one command.
//!
//! Without `--long`, all steps use the same profile and features, and the compiler of the workspace's crates is
//! clippy's, so each crate is checked by clippy and compiled for the tests at once. Optuna and PostgreSQL are
//! installed while the tests compile. The last line lists what was run and what was not.
//!
//! Tests that need Optuna or PostgreSQL are marked `#[ignore]` for a plain `cargo test`; so are long tests,
//! which are in modules named `long`.

use crate::cargo::{cargo, command_line};
use crate::{Result, has_flag};
use crate::{optuna, package};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Arguments of cargo that count instructions in the optimised build.
pub const INSTRUCTIONS: [&str; 4] = ["bench", "--workspace", "--bench", "instructions"];

const FORMAT: [&str; 3] = ["fmt", "--all", "--check"];
/// Environment variables with which cargo compiles the workspace's crates with clippy's driver, which is rustc with
/// more lints; a warning is an error. `cargo clippy` would check all dependencies first, without compiling them.
const WITH_CLIPPY: [(&str, &str); 2] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"),
];
const COMPILE: [&str; 3] = ["test", "--workspace", "--no-run"];
const BUILD: [&str; 2] = ["build", "--workspace"];
const TEST: [&str; 5] = ["test", "--workspace", "--no-fail-fast", "--", "--show-output"];
const DOC: [&str; 3] = ["doc", "--workspace", "--no-deps"];
const PACKAGE: [&str; 4] = ["package", "--workspace", "--allow-dirty", "--no-verify"];
const PACKAGE_AND_BUILD: [&str; 3] = ["package", "--workspace", "--allow-dirty"];
const RELEASE_ACCEPTANCE: [&str; 7] = [
    "test",
    "--release",
    "--package=clenshaw-cli",
    "--",
    "--show-output",
    "--ignored",
    "acceptance",
];
/// The names of the steps that only `--long` runs, for the last line.
const LONG_STEPS: &str = "release acceptance, release instructions, fuzz, dependencies";
/// Number of inputs of the step `fuzz`.
const FUZZ_INPUTS: &str = "2000000";

/// Runs all steps and prints what was run and what was not.
pub fn run(arguments: &[String]) -> Result {
    let long = has_flag(arguments, "--long")?;
    let mut report = TestReport::new();
    match run_steps(long, &mut report) {
        Ok(()) => eprintln!("{}", report.last_line(true, long)),
        Err(error) => {
            eprintln!("{error}");
            return Err(report.last_line(false, long).into());
        }
    }
    Ok(())
}

/// Runs all steps until one fails.
fn run_steps(long: bool, report: &mut TestReport) -> Result {
    eprintln!("== in the background: install Optuna 4 and 5, PostgreSQL, valgrind, PyTorch");
    let services = std::thread::spawn(install);
    let python = std::thread::spawn(package::test_environment);
    report.step("format", &mut cargo(&FORMAT))?;
    report.step("clippy and compile", &mut with_clippy(&COMPILE))?;
    report.step("compile package", &mut with_clippy(&BUILD))?;
    let services = services.join().map_err(|_| "the installation of Optuna panicked")?;
    let mut tests = with_clippy(&TEST);
    match &services {
        Ok(variables) => drop(tests.arg("--include-ignored").envs(variables.clone())),
        Err(error) => report.not_run.push(format!("Optuna and PostgreSQL ({error})")),
    }
    if !long {
        tests.args(["--skip", "long::"]);
    }
    report.step("tests", &mut tests)?;
    let python = python.join().map_err(|_| "the installation of PyTorch panicked")?;
    match &python {
        Ok(python) => {
            report.step("python", &mut package::pytest(python, &package::assemble()?, long))?;
        }
        Err(error) => report.not_run.push(format!("python ({error})")),
    }
    report.step("documentation", cargo(&DOC).env("RUSTDOCFLAGS", "-D warnings"))?;
    if long {
        report.step("packages", &mut cargo(&PACKAGE_AND_BUILD))?;
        report.step("release acceptance", &mut cargo(&RELEASE_ACCEPTANCE))?;
        report.step("release instructions", &mut cargo(&INSTRUCTIONS))?;
        fuzz(report)?;
        dependencies(report)?;
    } else {
        report.step("packages", &mut cargo(&PACKAGE))?;
    }
    services.map(drop)?;
    python.map(drop).map_err(Into::into)
}

/// A cargo command that compiles with clippy's driver.
fn with_clippy(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.envs(WITH_CLIPPY);
    // In CI, nothing is compiled a second time, so the files of incremental compilation would not be used.
    if std::env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Runs the tests of the Python package only.
pub fn python(arguments: &[String]) -> Result {
    let python = package::test_environment()?;
    crate::cargo::run_command(&mut cargo(&BUILD))?;
    let mut tests = package::pytest(&python, &package::assemble()?, false);
    crate::cargo::run_command(tests.args(arguments))
}

/// Installs valgrind, Optuna and PostgreSQL if they are missing; returns the variables that tests read.
fn install() -> Result<optuna::Variables, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        optuna::apt_install("valgrind");
    }
    optuna::prepare()
}

fn fuzz(report: &mut TestReport) -> Result {
    if !crate::fuzz::is_installed() {
        report.not_run.push("fuzz (needs cargo-fuzz)".into());
        return Ok(());
    }
    eprintln!("== fuzz: {FUZZ_INPUTS} inputs");
    crate::fuzz::run(&["--inputs".into(), FUZZ_INPUTS.into()])?;
    report.run.push("fuzz");
    Ok(())
}

fn dependencies(report: &mut TestReport) -> Result {
    if !crate::deny::is_installed() {
        report.not_run.push("dependencies (needs cargo-deny)".into());
        return Ok(());
    }
    report.step("dependencies", &mut cargo(&crate::deny::CHECK))?;
    if let Err(error) = crate::deny::update_advisories() {
        report.not_run.push(format!("advisories ({error})"));
        return Ok(());
    }
    report.step("advisories", &mut cargo(&crate::deny::CHECK_ADVISORIES))
}

/// What was run, and the totals of all test binaries.
struct TestReport {
    start: Instant,
    run: Vec<&'static str>,
    failed: Option<&'static str>,
    not_run: Vec<String>,
    totals: Totals,
}

#[derive(Debug, Default, PartialEq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    filtered: u64,
    /// Tests that passed without a check because something is missing, such as `CLENSHAW_DATA`.
    skipped: u64,
}

impl TestReport {
    fn new() -> Self {
        let (run, not_run) = (vec![], vec![]);
        Self { start: Instant::now(), run, failed: None, not_run, totals: Totals::default() }
    }

    /// Runs a command, prints the shortened output of its tests and adds their results to the totals.
    fn step(&mut self, name: &'static str, command: &mut Command) -> Result {
        eprintln!("== {name}: {}", command_line(command));
        let start = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut filter = OutputFilter::default();
        let mut checked = true;
        let before = (self.totals.ignored, self.totals.filtered);
        for line in BufReader::new(output).lines() {
            let line = line?;
            if let Some(reason) = line.strip_prefix("not checked: ") {
                checked = false;
                self.not_run.push(format!("{name} ({reason})"));
            }
            if filter.process(&line, &mut self.totals) {
                println!("{line}");
            }
        }
        if name != "tests" {
            // Other steps select tests on purpose, so their ignored tests are not counted.
            (self.totals.ignored, self.totals.filtered) = before;
        }
        if !child.wait()?.success() {
            self.failed = Some(name);
            return Err(format!("{name}: `{}` failed", command_line(command)).into());
        }
        eprintln!("   {name}: {}", duration(start));
        if checked {
            self.run.push(name);
        }
        Ok(())
    }

    /// `1512 passed, 0 failed, 3 skipped in 11 min 40 s; run: ...; not run: ...`
    fn last_line(&self, complete: bool, long: bool) -> String {
        let Totals { passed, failed, ignored, filtered, skipped } = self.totals;
        let mut not_run = self.not_run.clone();
        if skipped > 0 {
            not_run
                .push(format!("{skipped} skipped tests (those on public data need CLENSHAW_DATA)"));
        }
        let ignored = filtered + ignored;
        if !long {
            not_run.push(format!("{ignored} long tests, {LONG_STEPS} (--long)"));
        } else if ignored > 0 {
            not_run.push(format!("{ignored} ignored tests"));
        }
        if let Some(failed) = self.failed {
            not_run.push(format!("steps after `{failed}`"));
        }
        let result = if complete { "ok" } else { "FAILED" };
        let not_run = if not_run.is_empty() { "nothing".into() } else { not_run.join(", ") };
        format!(
            "{result}: {} passed, {failed} failed, {skipped} skipped in {}; run: {}; not run: {not_run}",
            passed.saturating_sub(skipped),
            duration(self.start),
            self.run.join(", "),
        )
    }
}

/// The time since `start`, as in `2 min 5 s`.
fn duration(start: Instant) -> String {
    let seconds = start.elapsed().as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

/// Shortens the output of Rust's test harness.
#[derive(Default)]
struct OutputFilter {
    /// Whether the current line is part of the output of tests that passed.
    successes: bool,
}

impl OutputFilter {
    /// Adds the results in a line to the totals, and returns whether to print the line.
    fn process(&mut self, line: &str, totals: &mut Totals) -> bool {
        match line {
            "successes:" => self.successes = true,
            "failures:" => self.successes = false,
            _ => {}
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.successes = false;
            totals.add(result);
            // Results of binaries without tests are not printed.
            return !result.contains(" 0 passed; 0 failed");
        }
        if let Some(result) = pytest_result(line) {
            let skipped = count(result, "skipped");
            totals.add(result);
            // As in Rust's suites, skipped tests are among those that passed.
            (totals.passed, totals.skipped) = (totals.passed + skipped, totals.skipped + skipped);
            return true;
        }
        if self.successes {
            totals.skipped += u64::from(line.starts_with("skipped: "));
            return false;
        }
        let passed = line.starts_with("test ") && !line.ends_with("FAILED");
        !passed && !line.starts_with("running ") && !line.is_empty()
    }
}

impl Totals {
    /// Adds `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.20s`.
    fn add(&mut self, result: &str) {
        self.passed += count(result, "passed");
        self.failed += count(result, "failed");
        self.ignored += count(result, "ignored");
        self.filtered += count(result, "filtered out") + count(result, "deselected");
    }
}

/// The number before a word.
fn count(result: &str, word: &str) -> u64 {
    let before = result.split(word).next().filter(|before| before.len() < result.len());
    let number = before.and_then(|before| before.trim_end().rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The last line of pytest, as in `12 passed, 1 skipped in 3.21s`.
fn pytest_result(line: &str) -> Option<&str> {
    let is_result = line.starts_with(|c: char| c.is_ascii_digit())
        && line.contains(" in ")
        && (line.contains(" passed") || line.contains(" failed"));
    is_result.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test a ... ok
test b ... FAILED
test c ... ignored, needs Optuna

successes:

---- a stdout ----
skipped: no data

successes:
    a

failures:

---- b stdout ----
left: 1

failures:
    b

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.20s

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn shows_failures_and_adds_up_results() {
        let (mut filter, mut totals) = (OutputFilter::default(), Totals::default());
        let shown: Vec<&str> =
            OUTPUT.lines().filter(|line| filter.process(line, &mut totals)).collect();
        let expected = [
            "test b ... FAILED",
            "failures:",
            "---- b stdout ----",
            "left: 1",
            "failures:",
            "    b",
            "test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.20s",
        ];
        assert_eq!(shown, expected);
        let expected = Totals { passed: 1, failed: 1, ignored: 1, filtered: 2, skipped: 1 };
        assert_eq!(totals, expected);
    }

    #[test]
    fn results_of_pytest_are_added() {
        let (mut filter, mut totals) = (OutputFilter::default(), Totals::default());
        let line = "2 failed, 31 passed, 1 skipped, 4 deselected in 12.05s";
        assert!(filter.process(line, &mut totals));
        let expected = Totals { passed: 32, failed: 2, skipped: 1, filtered: 4, ignored: 0 };
        assert_eq!(totals, expected);
    }

    #[test]
    fn last_line_lists_what_was_not_run() {
        let mut report = TestReport::new();
        report.run = vec!["format", "tests"];
        report.not_run = vec!["instructions (valgrind is not installed)".into()];
        report.totals = Totals { passed: 12, skipped: 2, filtered: 3, ..Totals::default() };
        assert_eq!(
            report.last_line(true, true),
            "ok: 10 passed, 0 failed, 2 skipped in 0 s; run: format, tests; not run: \
             instructions (valgrind is not installed), \
             2 skipped tests (those on public data need CLENSHAW_DATA), 3 ignored tests"
        );
        report.failed = Some("tests");
        let line = report.last_line(false, false);
        assert!(line.starts_with("FAILED: ") && line.ends_with("steps after `tests`"), "{line}");
    }
}

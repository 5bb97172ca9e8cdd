//! Fuzzes every file reader with cargo-fuzz.
//!
//! ```text
//! cargo xtask fuzz [--inputs N] [--seconds S] [TARGET...]
//! ```
//!
//! `N` inputs are divided among the targets; each target stops after `S` seconds.
//!
//! The flags that cargo-fuzz passes to the compiler are unstable; `RUSTC_BOOTSTRAP=1` makes the project's own
//! compiler accept them, so that no nightly compiler is needed.

use crate::Result;
use crate::cargo::{cargo, root, run_command};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable with which a stable compiler accepts unstable flags.
const BOOTSTRAP: &str = "RUSTC_BOOTSTRAP";

/// Default number of inputs for all targets together.
const INPUTS: u64 = 1_000_000;

/// The longest input in bytes: enough for every feature of a format, and fast to read.
const MAX_LENGTH: &str = "-max_len=4096";
/// Seconds after which an input counts as a hang; reading one takes microseconds.
const TIMEOUT: &str = "-timeout=10";

/// Dictionaries and the targets that use them.
const DICTIONARIES: &[(&str, &[&str])] = &[
    ("gml", &["gml"]),
    ("graphml", &["graphml", "gexf"]),
    ("matlab", &["matlab", "facebook100"]),
    ("npy", &["npy"]),
    ("npz", &["npz", "arrays", "heterophilous", "geom_splits"]),
    ("pickle", &["pickle", "planetoid", "linkx_splits"]),
    ("tables", &["tables", "edges", "nodes", "text", "linkx", "geom_gcn", "split_file"]),
];

/// Fuzzes the selected targets, and returns an error if a failing input was found.
pub fn run(arguments: &[String]) -> Result {
    let root = root();
    let options = FuzzOptions::parse(arguments, targets(&root)?)?;
    if !is_installed() {
        return Err("needs cargo-fuzz: `cargo install cargo-fuzz --locked`".into());
    }
    eprintln!("== build");
    run_command(&mut fuzz(&["build", "--sanitizer", "none"]))?;
    let (mut total, mut failed) = (0, vec![]);
    for target in &options.targets {
        let result = run_target(&root, target, &options)?;
        let message = result.failure.as_deref().unwrap_or("ok");
        println!("{target:<14} {:>10} inputs  {message}", result.inputs);
        total += result.inputs;
        if result.failure.is_some() {
            failed.push(target.as_str());
        }
    }
    println!("{:<14} {total:>10} inputs", "all");
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failing inputs were found for {}", failed.join(", ")).into()),
    }
}

/// The options of the command line.
struct FuzzOptions {
    /// Inputs per target.
    inputs: u64,
    seconds: Option<u64>,
    targets: Vec<String>,
}

impl FuzzOptions {
    fn parse(arguments: &[String], known: Vec<String>) -> Result<Self> {
        let (mut inputs, mut seconds, mut targets) = (INPUTS, None, vec![]);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|number| number.parse().ok());
            let expected = || format!("`{argument}` must be followed by a number");
            match argument.as_str() {
                "--inputs" => inputs = number().ok_or_else(expected)?,
                "--seconds" => seconds = Some(number().ok_or_else(expected)?),
                _ if known.contains(argument) => targets.push(argument.clone()),
                _ => {
                    let known = known.join(", ");
                    return Err(format!("unknown target `{argument}`; known: {known}").into());
                }
            }
        }
        let targets = if targets.is_empty() { known } else { targets };
        Ok(Self { inputs: inputs.div_ceil(targets.len() as u64), seconds, targets })
    }
}

struct TargetResult {
    /// Number of inputs that were read.
    inputs: u64,
    /// How to reproduce a failure; `None` if there was none.
    failure: Option<String>,
}

/// How the messages of a panic, of our allocator and of libFuzzer start.
const REASONS: [&str; 3] = ["panicked at", "allocation of ", "ERROR: libFuzzer"];

/// The names of all targets, sorted.
fn targets(root: &Path) -> Result<Vec<String>> {
    let files = std::fs::read_dir(root.join("fuzz/fuzz_targets"))?;
    let mut names: Vec<String> = files
        .filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

fn run_target(root: &Path, target: &str, options: &FuzzOptions) -> Result<TargetResult> {
    // New inputs are written to the first folder.
    let folders = ["corpus", "seeds"].map(|name| root.join("fuzz").join(name).join(target));
    std::fs::create_dir_all(&folders[0])?;
    let mut command = fuzz(&["run", "--sanitizer", "none", target]);
    command.args(&folders).args(["--", MAX_LENGTH, TIMEOUT, &format!("-runs={}", options.inputs)]);
    if let Some(seconds) = options.seconds {
        command.arg(format!("-max_total_time={seconds}"));
    }
    let dictionary = DICTIONARIES.iter().find(|(_, targets)| targets.contains(&target));
    if let Some((name, _)) = dictionary {
        let file = root.join(format!("fuzz/dictionaries/{name}.dict"));
        command.arg(format!("-dict={}", file.display()));
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let log = child.stderr.take().ok_or("no standard error")?;
    let log: Vec<String> = BufReader::new(log).lines().collect::<std::result::Result<_, _>>()?;
    let inputs = log.iter().filter_map(|line| inputs_so_far(line)).max().unwrap_or(0);
    let failure = (!child.wait()?.success()).then(|| {
        let reason = log.iter().skip_while(|line| !REASONS.iter().any(|r| line.contains(r)));
        reason.take(20).for_each(|line| eprintln!("{line}"));
        let input = log.iter().find_map(|line| line.split_once("Test unit written to "));
        let input = input.map_or("INPUT", |(_, input)| input);
        format!("FAILED; reproduce: {BOOTSTRAP}=1 cargo fuzz run --sanitizer none {target} {input}")
    });
    Ok(TargetResult { inputs, failure })
}

/// The number in libFuzzer's `#1024 NEW cov: ...`.
fn inputs_so_far(line: &str) -> Option<u64> {
    line.strip_prefix('#')?.split_whitespace().next()?.parse().ok()
}

/// Whether cargo-fuzz is installed.
pub fn is_installed() -> bool {
    fuzz(&["--version"]).output().is_ok_and(|output| output.status.success())
}

/// The command `cargo fuzz`.
fn fuzz(arguments: &[&str]) -> Command {
    let mut command = cargo(&["fuzz"]);
    command.args(arguments).env(BOOTSTRAP, "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_number_of_inputs() {
        let line = "#4096\tpulse  cov: 11 ft: 12 corp: 5/41b lim: 43 exec/s: 2048 rss: 32Mb";
        assert_eq!(inputs_so_far(line), Some(4096));
        assert_eq!(inputs_so_far("INFO: seed corpus: files: 3"), None);
    }

    #[test]
    fn inputs_are_divided_among_the_selected_targets() {
        let known = || ["csv", "npy", "npz"].map(String::from).to_vec();
        let parse = |arguments: &str| {
            let arguments: Vec<String> = arguments.split(' ').map(String::from).collect();
            FuzzOptions::parse(&arguments, known()).map(|o| (o.inputs, o.seconds, o.targets))
        };
        assert_eq!(parse("--inputs 10").unwrap(), (4, None, known()));
        let one = parse("--seconds 7 npy --inputs 10").unwrap();
        assert_eq!(one, (10, Some(7), vec!["npy".into()]));
        assert!(parse("npx").unwrap_err().to_string().contains("known: csv, npy, npz"));
    }

    #[test]
    fn uses_the_compiler_of_the_project() {
        let command = fuzz(&["list"]);
        let variable = command.get_envs().find(|(name, _)| *name == BOOTSTRAP);
        assert_eq!(variable, Some((BOOTSTRAP.as_ref(), Some("1".as_ref()))));
        assert_eq!(crate::cargo::command_line(&command), "cargo fuzz list");
    }
}

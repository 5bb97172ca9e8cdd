//! Every reader against bytes that mean harm: the long suite, with cargo-fuzz on a nightly compiler.
//!
//! ```text
//! cargo xtask fuzz [--inputs N] [--seconds S] [TARGET...]
//! ```
//!
//! `N` inputs are shared out among the targets; none gets more than `S` seconds.

use crate::Outcome;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const INPUTS: u64 = 1_000_000;

/// What no input exceeds: room for every quirk, and quick to read.
const LONGEST: &str = "-max_len=4096";
/// Reading one takes microseconds; what takes so long does not end.
const SECONDS_AN_INPUT: &str = "-timeout=10";

/// Words of the formats, and the targets they help.
const DICTIONARIES: &[(&str, &[&str])] = &[
    ("graphml", &["graphml"]),
    ("matlab", &["matlab", "facebook100"]),
    ("npy", &["npy"]),
    ("npz", &["npz", "arrays", "heterophilous", "geom_splits", "unzip"]),
    ("pickle", &["pickle", "planetoid", "linkx_splits"]),
    ("tables", &["tables", "edges", "nodes", "text", "linkx", "geom_gcn", "split_file"]),
];

pub fn run(words: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let plan = Plan::new(words, targets(&root)?)?;
    if !fuzz(&root, &["--version"]).output().is_ok_and(|output| output.status.success()) {
        return Err("needs a nightly compiler and cargo-fuzz: \
                    `rustup toolchain install nightly`, `cargo install cargo-fuzz`"
            .into());
    }
    eprintln!("== seeds");
    seeds(&root)?;
    eprintln!("== build");
    succeeds(&mut fuzz(&root, &["build", "--sanitizer", "none"]))?;
    let (mut total, mut failed) = (0, vec![]);
    for target in &plan.targets {
        let attack = attack(&root, target, &plan)?;
        println!("{target:<14} {:>10} inputs  {}", attack.inputs, attack.verdict);
        total += attack.inputs;
        if attack.verdict != GOOD {
            failed.push(target.as_str());
        }
    }
    println!("{:<14} {total:>10} inputs", "all");
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("inputs were found that break {}", failed.join(", ")).into()),
    }
}

/// What was asked for.
struct Plan {
    /// How many inputs each target gets.
    inputs: u64,
    seconds: Option<u64>,
    targets: Vec<String>,
}

impl Plan {
    fn new(words: &[String], known: Vec<String>) -> Outcome<Self> {
        let (mut inputs, mut seconds, mut targets) = (INPUTS, None, vec![]);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|number| number.parse().ok());
            let expected = || format!("`{word}` without a number");
            match word.as_str() {
                "--inputs" => inputs = number().ok_or_else(expected)?,
                "--seconds" => seconds = Some(number().ok_or_else(expected)?),
                _ if known.contains(word) => targets.push(word.clone()),
                _ => {
                    let known = known.join(", ");
                    return Err(format!("unknown target `{word}`; known: {known}").into());
                }
            }
        }
        let targets = if targets.is_empty() { known } else { targets };
        Ok(Self { inputs: inputs.div_ceil(targets.len() as u64), seconds, targets })
    }
}

/// What came of a target.
struct Attack {
    inputs: u64,
    verdict: String,
}

/// How a panic, our allocator and libFuzzer itself begin to say what is wrong.
const REASONS: [&str; 3] = ["panicked at", " bytes asked for", "ERROR: libFuzzer"];

const GOOD: &str = "no trouble";

fn targets(root: &Path) -> Outcome<Vec<String>> {
    let files = std::fs::read_dir(root.join("fuzz/fuzz_targets"))?;
    let mut names: Vec<String> = files
        .filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Writes the small files from which libFuzzer makes others, beside those it has kept.
fn seeds(root: &Path) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--quiet", "--package", "clenshaw", "--lib", "data::read::seeds"]);
    succeeds(command.current_dir(root).env("CLENSHAW_SEEDS", root.join("fuzz/corpus")))
}

fn attack(root: &Path, target: &str, plan: &Plan) -> Outcome<Attack> {
    let mut command = fuzz(root, &["run", "--sanitizer", "none", target, "--"]);
    command.args([LONGEST, SECONDS_AN_INPUT, &format!("-runs={}", plan.inputs)]);
    if let Some(seconds) = plan.seconds {
        command.arg(format!("-max_total_time={seconds}"));
    }
    let dictionary = DICTIONARIES.iter().find(|(_, targets)| targets.contains(&target));
    if let Some((name, _)) = dictionary {
        command.arg(format!(
            "-dict={}",
            root.join(format!("fuzz/dictionaries/{name}.dict")).display()
        ));
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let said = child.stderr.take().ok_or("nothing to listen to")?;
    let said: Vec<String> = BufReader::new(said).lines().collect::<Result<_, _>>()?;
    let inputs = said.iter().filter_map(|line| inputs_so_far(line)).max().unwrap_or(0);
    let verdict = match child.wait()?.success() {
        true => GOOD.into(),
        false => {
            let reason = said.iter().skip_while(|line| !REASONS.iter().any(|r| line.contains(r)));
            reason.take(20).for_each(|line| eprintln!("{line}"));
            let input = said.iter().find_map(|line| line.split_once("Test unit written to "));
            let input = input.map_or("nowhere", |(_, input)| input);
            format!(
                "BROKEN; the input is in {input}; \
                 again: cargo +nightly fuzz run --sanitizer none {target} {input}"
            )
        }
    };
    Ok(Attack { inputs, verdict })
}

/// The number in libFuzzer's `#1024 NEW cov: ...`.
fn inputs_so_far(line: &str) -> Option<u64> {
    line.strip_prefix('#')?.split_whitespace().next()?.parse().ok()
}

fn fuzz(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz"]).args(words).current_dir(root);
    command
}

fn succeeds(command: &mut Command) -> Outcome {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed").into()),
    }
}

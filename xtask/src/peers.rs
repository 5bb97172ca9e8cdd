//! Times training steps against PyTorch, PyG and DGL.
//!
//! ```text
//! cargo xtask bench-peers [--graphs A,B] [--only step|layers] [--rounds N] [--threads N] [--large] [--no-dgl]
//! ```
//!
//! A comparison is a graph and a model. Each implementation is a process that starts from the same folder
//! with graph, features, split and initial parameters; `crates/clenshaw/benches/step` writes the folder and
//! documents the protocol. An implementation whose losses differ from ours is not timed.
//! Implementations train one at a time, alternating in rounds, so that each ratio compares measurements that
//! are close in time.
//!
//! PyTorch is installed in an environment in the target folder on the first run; `CLENSHAW_PEERS` and
//! `CLENSHAW_PEERS_DGL` name existing environments. Graphs are read from `CLENSHAW_DATA`; missing ones are
//! generated in the same size.

mod comparison;
mod process;
mod environment;
mod statistics;
mod report;

use crate::{Result, cargo};
use comparison::{Comparison, Part};
use environment::Environments;
use report::Report;
use std::path::PathBuf;

const USAGE: &str = "expected [--graphs A,B] [--only step|layers] [--rounds N] [--threads N] \
                     [--large] [--no-dgl]";

/// Measures the selected comparisons, and prints and writes the report.
pub fn run(arguments: &[String]) -> Result {
    let options = PeerOptions::parse(arguments)?;
    let comparisons = Comparison::selected(&options)?;
    let root = cargo::root();
    let folders =
        Folders { scripts: root.join("benches/peers"), work: cargo::target().join("peers"), root };
    eprintln!("== build clenshaw");
    let build = ["build", "--release", "--package", "clenshaw", "--bench", "step"];
    let clenshaw = cargo::build(&build, "step")?;
    eprintln!("== prepare Python environments");
    let environments = Environments::new(&folders, options.dgl)?;
    let mut report = Report::new(&options, &environments);
    for comparison in comparisons {
        report.add(comparison.measure(&clenshaw, &environments, &folders, &options)?);
    }
    print!("{}", report.text());
    let folder = folders.root.join("benches/runs").join(report::folder_name()?);
    report.write(&folder)?;
    eprintln!("written to {}", folder.strip_prefix(&folders.root)?.display());
    Ok(())
}

/// The options of the command line.
pub struct PeerOptions {
    /// Graphs to measure; all if empty.
    graphs: Vec<String>,
    only: Option<Part>,
    rounds: usize,
    threads: usize,
    large: bool,
    dgl: bool,
    /// The command line, for the report.
    arguments: String,
}

impl PeerOptions {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            graphs: vec![],
            only: None,
            rounds: 7,
            threads: 2,
            large: false,
            dgl: true,
            arguments: arguments.join(" "),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("`{argument}` without a value; {USAGE}"));
            match argument.as_str() {
                "--graphs" => options.graphs = value()?.split(',').map(String::from).collect(),
                "--only" => options.only = Some(Part::parse(value()?)?),
                "--rounds" => options.rounds = parse_count(value()?)?,
                "--threads" => options.threads = parse_count(value()?)?,
                "--large" => options.large = true,
                "--no-dgl" => options.dgl = false,
                _ => return Err(format!("unexpected `{argument}`; {USAGE}").into()),
            }
        }
        Ok(options)
    }
}

/// Parses a positive integer.
fn parse_count(value: &str) -> Result<usize> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("unexpected `{value}`; expected a positive integer").into())
}

/// The folders of a run.
pub struct Folders {
    root: PathBuf,
    /// The scripts of the other implementations.
    scripts: PathBuf,
    /// The folder for Python environments and the inputs of comparisons.
    work: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<PeerOptions> {
        PeerOptions::parse(&text.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn parses_all_options() {
        let some = options("--graphs cora,actor --only layers --rounds 3 --large").unwrap();
        assert_eq!(some.graphs, ["cora", "actor"]);
        assert_eq!((some.only, some.rounds, some.threads), (Some(Part::Layers), 3, 2));
        assert!(some.large && some.dgl);
        assert!(!options("--no-dgl").unwrap().dgl);
    }

    #[test]
    fn rejects_invalid_arguments() {
        for text in ["--rounds 0", "--rounds", "--only steps", "cora"] {
            assert!(options(text).is_err(), "{text}");
        }
    }
}

//! Training steps of ours beside those of PyTorch, PyG and DGL.
//!
//! ```text
//! cargo xtask bench-peers [--graphs A,B] [--only step|layers] [--rounds N] [--threads N] [--large] [--no-dgl]
//! ```
//!
//! A bout is a graph and a model. Every contender of a bout is a process that starts from the same
//! folder: graph, features, split and initial parameters (`crates/clenshaw/benches/step` writes it and
//! documents the lines they speak). Whose losses are not ours does not compete.
//! Contenders train in turn, one at a time, round after round; a round's ratio compares neighbours in time.
//!
//! PyTorch lives in an environment below the target folder, made on the first run; `CLENSHAW_PEERS` and
//! `CLENSHAW_PEERS_DGL` name environments that exist already. Graphs come from `CLENSHAW_DATA`; those
//! that are not there are generated in the same size.

mod bout;
mod contender;
mod environment;
mod goals;
mod numbers;
mod report;

use crate::{Outcome, cargo};
use bout::{Bout, Part};
use environment::Environments;
use report::Report;
use std::path::PathBuf;

const USAGE: &str = "expected [--graphs A,B] [--only step|layers] [--rounds N] [--threads N] \
                     [--large] [--no-dgl]";

pub fn run(words: &[String]) -> Outcome {
    let options = Options::new(words)?;
    let bouts = Bout::chosen(&options)?;
    let root = cargo::root();
    let place =
        Place { peers: root.join("benches/peers"), work: cargo::target().join("peers"), root };
    eprintln!("== build: ours");
    let words = ["build", "--release", "--package", "clenshaw", "--bench", "step"];
    let ours = cargo::built(&words, "step")?;
    eprintln!("== environments");
    let environments = Environments::new(&place, options.dgl)?;
    let mut report = Report::new(&options, &environments);
    for bout in bouts {
        report.add(bout.fight(&ours, &environments, &place, &options)?);
    }
    print!("{}", report.text());
    let folder = place.root.join("benches/runs").join(report::folder_name()?);
    report.write(&folder)?;
    eprintln!("written to {}", folder.strip_prefix(&place.root)?.display());
    Ok(())
}

/// What was asked for.
pub struct Options {
    /// Some graphs, or none for all.
    graphs: Vec<String>,
    only: Option<Part>,
    rounds: usize,
    threads: usize,
    large: bool,
    dgl: bool,
    words: String,
}

impl Options {
    fn new(words: &[String]) -> Outcome<Self> {
        let mut options = Self {
            graphs: vec![],
            only: None,
            rounds: 7,
            threads: 2,
            large: false,
            dgl: true,
            words: words.join(" "),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut next = || words.next().ok_or_else(|| format!("`{word}` alone; {USAGE}"));
            match word.as_str() {
                "--graphs" => options.graphs = next()?.split(',').map(String::from).collect(),
                "--only" => options.only = Some(Part::named(next()?)?),
                "--rounds" => options.rounds = count(next()?)?,
                "--threads" => options.threads = count(next()?)?,
                "--large" => options.large = true,
                "--no-dgl" => options.dgl = false,
                _ => return Err(format!("unexpected `{word}`; {USAGE}").into()),
            }
        }
        Ok(options)
    }
}

fn count(word: &str) -> Outcome<usize> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{word}`; expected a number from 1").into())
}

/// The folders a run works with.
pub struct Place {
    root: PathBuf,
    /// The contenders' programs.
    peers: PathBuf,
    /// Environments and what bouts start from.
    work: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Outcome<Options> {
        Options::new(&text.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_understood() {
        let some = options("--graphs cora,actor --only layers --rounds 3 --large").unwrap();
        assert_eq!(some.graphs, ["cora", "actor"]);
        assert_eq!((some.only, some.rounds, some.threads), (Some(Part::Layers), 3, 2));
        assert!(some.large && some.dgl);
        assert!(!options("--no-dgl").unwrap().dgl);
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["--rounds 0", "--rounds", "--only steps", "cora"] {
            assert!(options(text).is_err(), "{text}");
        }
    }
}

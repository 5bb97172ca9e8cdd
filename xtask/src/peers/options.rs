//! The options of `cargo xtask bench-peers`.

use super::comparison::GRAPHS;
use super::implementation::{Implementation, OTHERS};
use crate::Result;
use std::path::{Path, PathBuf};

pub const USAGE: &str = "expected [--graphs A,B] [--only step|layers|training] [--rounds N] \
                         [--training-rounds N] [--threads N] [--large] [--no-dgl] [--baseline PROGRAM] \
                         [--others A,B] [--name NAME]";

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Steps of ClenshawGCN against implementations in PyTorch, PyG and DGL.
    Step,
    /// Steps of other models against PyG's own layers.
    Layers,
    /// Whole trainings of ClenshawGCN against implementations in PyTorch.
    Training,
}

impl Part {
    fn parse(name: &str) -> Result<Self> {
        match name {
            "step" => Ok(Self::Step),
            "layers" => Ok(Self::Layers),
            "training" => Ok(Self::Training),
            _ => Err(format!("`--only {name}`; expected `step`, `layers` or `training`").into()),
        }
    }
}

/// The options of the command line.
pub struct PeerOptions {
    /// Graphs to measure; all if empty.
    pub graphs: Vec<String>,
    only: Option<Part>,
    pub rounds: usize,
    /// The number of rounds of whole trainings.
    pub training_rounds: usize,
    pub threads: usize,
    pub large: bool,
    pub dgl: bool,
    /// The program `step` of an earlier version.
    pub baseline: Option<PathBuf>,
    /// The names of the other implementations to measure; all if empty.
    others: Vec<String>,
    /// The name of the report's files, without extension.
    pub name: String,
    /// The command line without the folder of the baseline, for the report.
    pub arguments: String,
}

impl PeerOptions {
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            graphs: vec![],
            only: None,
            rounds: 7,
            training_rounds: 3,
            threads: 2,
            large: false,
            dgl: true,
            baseline: None,
            others: vec![],
            name: "peers".into(),
            arguments: shown_arguments(arguments),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("`{argument}` without a value; {USAGE}"));
            match argument.as_str() {
                "--graphs" => options.graphs = value()?.split(',').map(String::from).collect(),
                "--only" => options.only = Some(Part::parse(value()?)?),
                "--rounds" => options.rounds = parse_count(value()?)?,
                "--training-rounds" => options.training_rounds = parse_count(value()?)?,
                "--threads" => options.threads = parse_count(value()?)?,
                "--large" => options.large = true,
                "--no-dgl" => options.dgl = false,
                "--baseline" => options.baseline = Some(value()?.into()),
                "--others" => options.others = parse_others(value()?)?,
                "--name" => options.name = parse_name(value()?)?,
                _ => return Err(format!("unexpected `{argument}`; {USAGE}").into()),
            }
        }
        Ok(options)
    }

    /// Whether a part is measured.
    pub fn includes(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    /// Whether another implementation is measured.
    pub fn compares_with(&self, other: &Implementation) -> bool {
        self.others.is_empty() || self.others.iter().any(|name| name == other.name)
    }

    /// Whether `--graphs` names this graph.
    pub fn names(&self, graph: &str) -> bool {
        self.graphs.iter().any(|name| name == graph)
    }

    /// The selected graphs other than the large ones.
    pub fn small_graphs(&self) -> impl Iterator<Item = &'static str> {
        GRAPHS.into_iter().filter(|graph| self.graphs.is_empty() || self.names(graph))
    }
}

/// Joins the arguments, replacing paths by file names and quoting names with spaces.
fn shown_arguments(arguments: &[String]) -> String {
    let shown = |argument: &String| {
        let name = Path::new(argument).file_name().unwrap_or_default().to_string_lossy();
        if name.contains(' ') { format!("\"{name}\"") } else { name.into_owned() }
    };
    arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Parses the names of implementations other than clenshaw, separated by commas.
fn parse_others(value: &str) -> Result<Vec<String>> {
    let names: Vec<String> = value.split(',').map(String::from).collect();
    let known = OTHERS.map(|other| other.name);
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => {
            Err(format!("unknown implementation `{unknown}`; known: {}", known.join(", ")).into())
        }
        None => Ok(names),
    }
}

/// Checks the name of a file.
fn parse_name(value: &str) -> Result<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match !value.is_empty() && value.chars().all(is_plain) {
        true => Ok(value.into()),
        false => Err(format!("--name `{value}`; expected letters, digits and `-`").into()),
    }
}

/// Parses a positive integer.
fn parse_count(value: &str) -> Result<usize> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("unexpected `{value}`; expected a positive integer").into())
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
        assert!(some.large && some.dgl && some.baseline.is_none());
        let others = options("--no-dgl --baseline before/step --training-rounds 1").unwrap();
        assert!(!others.dgl);
        assert_eq!(others.baseline, Some("before/step".into()));
        assert_eq!(others.arguments, "--no-dgl --baseline step --training-rounds 1");
        assert_eq!((others.rounds, others.training_rounds), (7, 1));
        assert_eq!(others.name, "peers");
    }

    #[test]
    fn others_are_selected_by_name() {
        let arguments = ["--others", "clenshaw before,PyTorch CSR", "--name", "steps-2"];
        let some = PeerOptions::parse(&arguments.map(String::from)).unwrap();
        let names = OTHERS.iter().filter(|other| some.compares_with(other)).map(|other| other.name);
        assert_eq!(names.collect::<Vec<_>>(), ["clenshaw before", "PyTorch CSR"]);
        assert_eq!(some.name, "steps-2");
        assert_eq!(some.arguments, "--others \"clenshaw before,PyTorch CSR\" --name steps-2");
        assert!(OTHERS.iter().all(|other| options("").unwrap().compares_with(other)));
    }

    #[test]
    fn includes_all_parts_or_one() {
        let all = options("").unwrap();
        assert!(all.includes(Part::Step) && all.includes(Part::Training));
        let training = options("--only training --graphs pubmed,twitch-gamers").unwrap();
        assert!(training.includes(Part::Training) && !training.includes(Part::Step));
        assert_eq!(training.small_graphs().collect::<Vec<_>>(), ["pubmed"]);
    }

    #[test]
    fn rejects_invalid_arguments() {
        let invalid = ["--rounds 0", "--rounds", "--only steps", "cora", "--baseline"];
        for text in invalid.into_iter().chain(["--others torch", "--name a/b"]) {
            assert!(options(text).is_err(), "{text}");
        }
    }
}

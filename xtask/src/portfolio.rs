//! Chooses the portfolio of `clenshaw auto` from the receipts of measured cells.
//!
//! ```text
//! regret(S) = mean over graphs g of ( max_c v(c, g) - max_{c in S} v(c, g) )
//! S         = the linear model, an MLP, a low-pass model, then greedily the configuration with the largest
//!             reduction of the regret divided by the square root of its time
//! ```
//!
//! `c` is a configuration: a model with all of its hyper-parameters, as used in a table of `docs/results`
//! with the settings of some graph, or a model's defaults. `v(c, g)` is its mean validation accuracy on the
//! first splits of graph `g`; test labels are not used. A configuration that was not measured on a graph
//! is assumed to be as bad there as the worst one.
//!
//! The choice is made once for all graphs, and once without each graph: without its scores, those of its
//! variants, and the settings that were tuned or published for them. The mean regret on the graphs that were left
//! out is printed.
//!
//! `--measure` trains the best configurations of every graph on all other graphs first, and adds the
//! receipts to `docs/results/portfolio.receipts.jsonl`; it can be interrupted and run again. This task reads
//! receipts as JSON, because `xtask` depends on none of our crates.

mod choose;
mod measure;
mod scores;

use crate::Result;
use crate::cargo::root;
use choose::{Choice, choose};
use scores::Scores;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// The file with the receipts of transfers.
const RECEIPTS: &str = "docs/results/portfolio.receipts.jsonl";
/// The file that this task writes.
const PORTFOLIO: &str = "crates/clenshaw/experiments/portfolio.toml";
/// The number of configurations in a portfolio.
const SIZE: usize = 16;

/// A graph, its split and the number of runs per configuration, all of them with seeds from 0.
pub struct Protocol {
    pub graph: &'static str,
    pub split: &'static str,
    pub runs: usize,
}

const fn protocol(graph: &'static str, split: &'static str, runs: usize) -> Protocol {
    Protocol { graph, split, runs }
}

/// The graphs, with more runs where they are cheap and uncertain.
const GRAPHS: [Protocol; 12] = [
    protocol("texas", "balanced", 10),
    protocol("cornell", "balanced", 10),
    protocol("cornell-corrected", "balanced", 10),
    protocol("chameleon-filtered", "all", 5),
    protocol("chameleon", "balanced", 2),
    protocol("squirrel-filtered", "all", 3),
    protocol("cora", "balanced", 2),
    protocol("citeseer", "balanced", 2),
    protocol("minesweeper", "all", 1),
    protocol("actor", "balanced", 1),
    protocol("squirrel", "balanced", 1),
    protocol("pubmed", "balanced", 1),
];

/// The arguments of the task.
struct Options {
    measure: bool,
    /// The graphs to measure.
    graphs: Vec<String>,
    /// The program that trains; built in the release profile if it is not given.
    program: Option<PathBuf>,
    /// The number of the best configurations of each graph that are measured on the others.
    candidates: usize,
    /// Runs that took longer than this on their own graph are not measured on the others, in seconds.
    max_seconds: f64,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let graphs = GRAPHS.iter().map(|protocol| protocol.graph.to_owned()).collect();
        let mut options =
            Self { measure: false, graphs, program: None, candidates: 4, max_seconds: 25.0 };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--measure" => options.measure = true,
                "--graphs" => options.graphs = value()?.split(',').map(str::to_owned).collect(),
                "--program" => options.program = Some(value()?.into()),
                "--candidates" => options.candidates = value()?.parse()?,
                "--max-seconds" => options.max_seconds = value()?.parse()?,
                _ => return Err(format!("unexpected `{word}`").into()),
            }
        }
        Ok(options)
    }
}

/// Measures what is missing, if requested, and writes the portfolio.
pub fn run(arguments: &[String]) -> Result {
    let options = Options::parse(arguments)?;
    if options.measure {
        measure::measure(&options)?;
    }
    let scores = Scores::read()?;
    let names = scores.names();
    let all = choose(&scores, &[], SIZE);
    println!("{} configurations, {} graphs", scores.configurations.len(), scores.graphs.len());
    println!("mean regret of the portfolio: {:.2} points", 100.0 * all.regret);
    let mut without = BTreeMap::new();
    let mut left_out = vec![];
    for graph in &scores.graphs {
        let choice = choose(&scores, &scores.relatives(graph), SIZE);
        let n = choice.order.iter().filter(|&&index| scores.value(index, graph).is_some()).count();
        match scores.regret(&choice.order, graph) {
            Some(regret) => {
                println!("  without {graph}: regret on it {:.2} ({n} measured)", 100.0 * regret);
                left_out.push(regret);
            }
            None => println!("  without {graph}: none of its portfolio was measured on it"),
        }
        without.insert(graph.clone(), choice);
    }
    let mean = left_out.iter().sum::<f64>() / left_out.len().max(1) as f64;
    println!(
        "mean regret on graphs left out: {:.2} points (of {} graphs)",
        100.0 * mean,
        left_out.len()
    );
    std::fs::write(root().join(PORTFOLIO), to_toml(&scores, &names, &all, &without)?)?;
    println!("{PORTFOLIO}: written");
    Ok(())
}

/// The file, with the configurations that occur in a list.
fn to_toml(
    scores: &Scores,
    names: &[String],
    all: &Choice,
    without: &BTreeMap<String, Choice>,
) -> Result<String> {
    let list = |choice: &Choice| {
        let quoted: Vec<String> =
            choice.order.iter().map(|&index| format!("  \"{}\",\n", names[index])).collect();
        format!("[\n{}]", quoted.concat())
    };
    let mut text = format!(
        "# Written by `cargo xtask portfolio` from docs/results/*.receipts.jsonl; do not edit.\n\
         # Validation accuracies of {} configurations on {} graphs.\n\
         order = {}\n\n[without]\n",
        scores.configurations.len(),
        scores.graphs.len(),
        list(all)
    );
    for (graph, choice) in without {
        writeln!(text, "{graph} = {}", list(choice))?;
    }
    let used = |index: &usize| {
        all.order.contains(index) || without.values().any(|choice| choice.order.contains(index))
    };
    for index in (0..names.len()).filter(used) {
        let configuration = &scores.configurations[index];
        let (name, model) = (&names[index], &configuration.model);
        write!(text, "\n[configuration.{name}]\nmodel = \"{model}\"\nhyper = {{ ")?;
        let entries: Vec<String> = configuration
            .hyper
            .iter()
            .map(|(key, value)| format!("{key} = {}", number(value)))
            .collect();
        writeln!(text, "{} }}", entries.join(", "))?;
    }
    Ok(text)
}

/// A JSON number, flag or string in TOML, in which `1e-5` needs a fraction or exponent as it has in JSON.
fn number(value: &Value) -> String {
    value.to_string()
}

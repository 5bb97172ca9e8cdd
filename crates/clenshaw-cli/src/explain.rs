//! `clenshaw explain`: show what nodes and features contribute to the prediction of one node.

use crate::options::{DataOption, JsonOption, ThreadsOption, whole};
use crate::{RunSubcommand, output, run_folder};
use clap::Parser;
use clenshaw::Result;
use clenshaw::experiment::{self, Explanation, Representation};
use clenshaw::report::{Table, svg_to_png};
use clenshaw::train::{AttributionLimits, AttributionMethod, Contribution};
use std::path::PathBuf;

/// The width of the longest bar, in characters.
const BAR: f64 = 24.0;
/// The maximum number of classes whose probabilities are printed.
const PRINTED_CLASSES: usize = 5;
/// Names with more characters than this are truncated.
const NAME_LENGTH: usize = 40;

/// Explain a prediction: the contributions of nodes, by distance, and of features
#[derive(Parser)]
#[command(name = "explain", after_help = AFTER_HELP)]
pub struct Explain {
    /// Run folder, as written by `clenshaw train`, `compare` or `demo`: a path, a name in `runs` or a unique
    /// prefix of one, or `latest` for the newest
    run: PathBuf,
    /// Name of the node, or its number, counting from 0, if the nodes of the graph have no names
    node: String,
    /// Use the run with this seed [default: the run with the lowest validation loss]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Write an SVG drawing of the node and the nodes that contribute most
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the same drawing as PNG
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Memory that the explanation may use, in GB
    #[arg(long, value_name = "GB", default_value = "4", value_parser = gigabytes)]
    memory: f64,
    /// Maximum number of arithmetic operations; a higher limit can make integrated gradients more accurate
    #[arg(long, value_name = "N", default_value = "1e12", value_parser = operations)]
    operations: f64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
}

const AFTER_HELP: &str = "\
Contributions are parts of the margin: the score of the predicted class minus that of the runner-up.
A positive contribution supports the prediction. The `score` column shows the contributions to the
score of the predicted class alone.

For models whose scores are affine in a value computed for each node from its own features (mlp,
appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii, jacobi-conv, poly, specformer, favard-gnn, h2gcn),
the contributions of nodes are exact. For all other models except uni-filter, and for features, they
are integrated gradients from zero features to the actual ones; the printed gap is the total minus
the sum of the parts. Predictions of uni-filter cannot be explained; the command ends with an error.
docs/explain.md has the equations and limits.

Examples:
  clenshaw explain latest 17
  clenshaw explain latest \"Ada Lovelace\" --svg ada.svg
  clenshaw explain cora-clenshaw-gcn 1708 --json";

impl RunSubcommand for Explain {
    fn run(self) -> Result<()> {
        let folder = run_folder::find(&self.run)?;
        let limits = AttributionLimits {
            bytes: (self.memory * 1e9) as usize,
            operations: self.operations,
            threads: self.threads.count(),
        };
        let store = self.data.store();
        let explanation = experiment::explain(&folder, &store, &self.node, self.seed, &limits)?;
        if let Some(path) = &self.svg {
            output::save(path, explanation.drawing.to_svg())?;
        }
        if let Some(path) = &self.png {
            output::save(path, svg_to_png(&explanation.drawing.to_svg())?)?;
        }
        self.json.print(&explanation, || text(&explanation))
    }
}

/// Parses an amount of memory in GB.
fn gigabytes(text: &str) -> std::result::Result<f64, &'static str> {
    let number = text.parse().ok().filter(|&number: &f64| number > 0.0 && number < 1e6);
    number.ok_or("expected a number of GB, such as 4 or 0.5")
}

/// Parses a number of operations, which may be written as in `1e12`.
fn operations(text: &str) -> std::result::Result<f64, &'static str> {
    let number = text.parse().ok().filter(|&number: &f64| number > 0.0);
    number.ok_or("expected a positive number, such as 1e12")
}

/// The explanation as text for the terminal.
fn text(e: &Explanation) -> String {
    let sections = [
        ("Probabilities", probabilities(e)),
        (&*format!("By distance ({})", method(e)), hops(e)),
        ("By node", nodes(e)),
        ("By term of the polynomial", terms(e)),
        ("By feature, summed over nodes (integrated gradients)", features(e)),
        (nearest_title(e), nearest(e)),
    ];
    let mut text = facts(e);
    for (title, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        text += &format!("\n{title}\n{body}");
    }
    text.extend(e.notes.iter().map(|note| format!("\nnote: {note}\n")));
    text
}

/// The node, the model, the prediction, the label, the neighbours and the margin.
fn facts(e: &Explanation) -> String {
    let predicted = printable(&e.classes[0].class);
    let label = match &e.label {
        Some(label) if *label == e.classes[0].class => {
            format!("{}, as predicted", printable(label))
        }
        Some(label) => format!("{}, so the prediction is wrong", printable(label)),
        None => "unknown".into(),
    };
    let shares: Vec<String> = e
        .neighbour_labels
        .iter()
        .map(|share| {
            format!("{} {:.0}% ({})", printable(&share.class), 100.0 * share.share, share.nodes)
        })
        .collect();
    let part = match e.part {
        "" => "none",
        "train" => "training",
        "val" => "validation",
        part => part,
    };
    let model = format!("{}, seed {}", e.model, e.seed);
    output::fields([
        ("node", printable(&e.node)),
        ("model", model),
        ("predicted", predicted.clone()),
        ("label", label),
        ("part of the split", part.into()),
        ("neighbours", e.degree.to_string()),
        ("labelled neighbours", output::list(&shares)),
        (
            "margin",
            format!(
                "{:+.3}, the score of {predicted} minus that of {}",
                e.total.margin,
                printable(&e.classes[1].class)
            ),
        ),
    ])
}

/// The most likely classes with their probabilities and scores, and the number of other classes.
fn probabilities(e: &Explanation) -> String {
    let mut table = Table::new(["class", "probability", "score"]);
    for class in e.classes.iter().take(PRINTED_CLASSES) {
        table.add_row([
            printable(&class.class),
            format!("{:.1}%", 100.0 * class.probability),
            format!("{:.3}", class.score),
        ]);
    }
    let hidden = e.classes.len().saturating_sub(PRINTED_CLASSES);
    let others = if hidden > 0 { format!("and {hidden} more\n") } else { String::new() };
    table.to_text() + &others
}

/// How the contributions of nodes were computed.
fn method(e: &Explanation) -> String {
    match e.method {
        AttributionMethod::Exact => "exact".into(),
        AttributionMethod::IntegratedGradients => {
            format!("integrated gradients, {} points", e.features.points)
        }
    }
}

/// The columns of a contribution, with a bar relative to the largest one; no bar if that is 0.
fn columns(part: Contribution, largest: f64) -> [String; 3] {
    let share = if largest > 0.0 { part.margin.abs() / largest } else { 0.0 };
    let bar = "█".repeat((BAR * share).round() as usize);
    [format!("{:+.4}", part.margin), format!("{:+.4}", part.score), bar]
}

/// The largest absolute margin.
fn largest(parts: impl Iterator<Item = Contribution>) -> f64 {
    parts.fold(0.0, |max: f64, part| max.max(part.margin.abs()))
}

/// The contributions of nodes by distance, and how they add up to the total.
fn hops(e: &Explanation) -> String {
    let unit = largest(e.hops.iter().map(|hop| hop.contribution));
    let mut table = Table::new(["distance", "nodes", "margin", "score", ""]);
    let mut row = |title: String, nodes: String, part: Contribution, unit: f64| {
        let [margin, score, bar] = columns(part, unit);
        table.add_row([title, nodes, margin, score, bar]);
    };
    for hop in &e.hops {
        let title = distance(hop.hop);
        row(title, hop.nodes.to_string(), hop.contribution, unit);
    }
    let rest = match e.method {
        AttributionMethod::Exact => "no node (biases)",
        AttributionMethod::IntegratedGradients => "no node (zero features)",
    };
    let totals = [(rest, e.without_nodes), ("gap", e.gap), ("total", e.total)];
    totals.into_iter().for_each(|(title, part)| row(title.into(), String::new(), part, 0.0));
    let reach = match e.reach {
        Some(reach) => {
            format!("Nodes more than {} away contribute nothing.\n", output::count(reach, "hop"))
        }
        None => "All nodes of the graph can contribute to this model's scores.\n".into(),
    };
    table.to_text() + &reach
}

/// Formats the distance of a node.
fn distance(hop: Option<usize>) -> String {
    match hop {
        None => "not connected".into(),
        Some(0) => "the node itself".into(),
        Some(hop) => output::count(hop, "hop"),
    }
}

/// The nodes that contribute most.
fn nodes(e: &Explanation) -> String {
    let unit = largest(e.nodes.iter().map(|node| node.contribution));
    let mut table =
        Table::new(["node", "distance", "label", "predicted", "part", "margin", "score", ""]);
    for node in &e.nodes {
        let [margin, score, bar] = columns(node.contribution, unit);
        table.add_row([
            printable(&node.node),
            distance(node.hop),
            node.label.as_ref().map_or("unknown".into(), |label| printable(label)),
            printable(&node.predicted),
            node.part.to_owned(),
            margin,
            score,
            bar,
        ]);
    }
    table.to_text() + &others("node", e.other_nodes.count, e.other_nodes.contribution)
}

/// The line about contributions that are not listed; empty if there are none.
fn others(noun: &str, count: usize, part: Contribution) -> String {
    match count {
        0 => String::new(),
        _ => format!(
            "{}: margin {:+.4}\n",
            output::count(count, &format!("more {noun}")),
            part.margin
        ),
    }
}

/// The contributions of the terms of the polynomial; empty if there is no polynomial.
fn terms(e: &Explanation) -> String {
    let Some(terms) = &e.terms else { return String::new() };
    let unit = largest(terms.terms.iter().map(|term| term.contribution));
    let mut table = Table::new(["k", "coefficient", "margin", "score", ""]);
    for (k, term) in terms.terms.iter().enumerate() {
        let [margin, score, bar] = columns(term.contribution, unit);
        table.add_row([k.to_string(), format!("{:.4}", term.coefficient), margin, score, bar]);
    }
    table.to_text()
}

/// The features that contribute most, and how they add up to the total.
fn features(e: &Explanation) -> String {
    let parts = &e.features;
    let unit = largest(parts.strongest.iter().map(|feature| feature.contribution));
    let mut table = Table::new(["feature", "margin", "score", ""]);
    let mut row = |title: String, part: Contribution, unit: f64| {
        let [margin, score, bar] = columns(part, unit);
        table.add_row([title, margin, score, bar]);
    };
    for feature in &parts.strongest {
        row(printable(&feature.feature), feature.contribution, unit);
    }
    if parts.others.count > 0 {
        let title = output::count(parts.others.count, "more feature");
        row(title, parts.others.contribution, 0.0);
    }
    if parts.by_adjacency != Contribution::default() {
        row("edges".into(), parts.by_adjacency, 0.0);
    }
    row("zero features".into(), parts.without_features, 0.0);
    row(format!("gap ({} points)", parts.points), parts.gap, 0.0);
    table.to_text()
}

fn nearest_title(e: &Explanation) -> &'static str {
    match e.nearest.representation {
        Representation::HiddenLayer => "Nearest training nodes, by the last hidden layer",
        Representation::Scores => "Nearest training nodes, by class scores",
    }
}

/// The most similar training nodes; empty if there are none.
fn nearest(e: &Explanation) -> String {
    if e.nearest.nodes.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["node", "label", "distance"]);
    for node in &e.nearest.nodes {
        table.add_row([
            printable(&node.node),
            printable(&node.label),
            format!("{:.3}", node.distance),
        ]);
    }
    table.to_text()
}

/// Replaces control characters, which a terminal would interpret, by `?`. Text of more than [`NAME_LENGTH`]
/// characters is truncated to this length, and an ellipsis is appended.
fn printable(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match plain.char_indices().nth(NAME_LENGTH) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

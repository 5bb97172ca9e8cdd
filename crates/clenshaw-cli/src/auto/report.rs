//! The answer of `clenshaw auto` as text and as JSON.

use crate::filter_plot;
use crate::output::{self, percent};
use crate::train::interpretation;
use clenshaw::experiment::{AutoAnswer, Estimate, ReportedStudy, StudyEnd};
use clenshaw::graph::Normalisation;
use clenshaw::report::{Table, wrap_text};
use serde_json::{Value as Json, json};
use std::path::Path;

/// The maximum line width of the explanation, in characters.
const WIDTH: usize = 100;
/// The maximum number of configurations in the table.
const MAX_ROWS: usize = 15;

/// Formats the answer as text.
pub fn to_text(answer: &AutoAnswer, study: &ReportedStudy<'_>, folder: &Path) -> String {
    let graph = &answer.graph;
    let mut text = format!(
        "{}: {}, {}, {}, {} classes; {} labelled nodes to learn from, {} to test on, {} unlabelled{}\n",
        graph.name,
        output::count(graph.nodes, "node"),
        output::count(graph.edges, "edge"),
        output::count(graph.features, "feature"),
        graph.classes,
        graph.development,
        graph.test,
        graph.unlabelled,
        interpretation(&answer.dataset)
    );
    text += &output::warnings(&graph.notes);
    for sentence in answer.explanation() {
        let mut lines = wrap_text(&sentence, WIDTH - 2).into_iter();
        text.extend(lines.next().map(|line| format!("- {line}\n")));
        text.extend(lines.map(|line| format!("  {line}\n")));
    }
    text += &format!("\n{}", table(answer).to_text());
    let hidden = answer.configurations.len().saturating_sub(MAX_ROWS);
    if hidden > 0 {
        text += &format!("and {hidden} more in result.json and report.html\n");
    }
    for (name, reason) in &answer.failed {
        text += &format!("not trained: {name}: {reason}\n");
    }
    text += &filter_text(answer);
    text + &expected_scores(answer) + &footer(answer, study, folder)
}

/// The first configurations of the answer. The column `behind` is the difference from the validation score of the
/// first one, or `-` if that was trained on a different number of splits.
fn table(answer: &AutoAnswer) -> Table {
    let title = format!("val {}", answer.objective.title());
    let mut table = Table::new(["configuration", "splits", &title, "behind", "weight", "s/run"]);
    let first = answer.configurations.first();
    for row in answer.configurations.iter().take(MAX_ROWS) {
        let gap = first.filter(|first| first.scores.len() == row.scores.len());
        table.add_row([
            row.title(),
            row.scores.len().to_string(),
            percent(row.validation),
            gap.map_or("-".into(), |first| percent(first.validation - row.validation)),
            if row.weight > 0.0 { percent(row.weight) } else { "-".into() },
            row.run_seconds.map_or("-".into(), |seconds| format!("{seconds:.2}")),
        ]);
    }
    table
}

/// The plot of [`AutoAnswer::filter`]; empty without one.
fn filter_text(answer: &AutoAnswer) -> String {
    answer.filter.as_ref().map_or_else(String::new, |filter| {
        let kind = filter.model.operator.unwrap_or(Normalisation::Looped);
        let title = format!("filter of {}", filter.name);
        let plot = filter_plot::in_terminal(&title, &filter.response, &answer.dataset, kind);
        format!("\n{plot}")
    })
}

/// The expected scores of the ensemble and of the best single model, with 95% intervals, or `not estimated`.
fn expected_scores(answer: &AutoAnswer) -> String {
    let title = answer.objective.title();
    let score = |estimate: &Option<Estimate>| {
        estimate.as_ref().map_or("not estimated".to_owned(), |estimate| {
            let (low, high) = estimate.interval;
            format!("{}% [95%: {} to {}]", percent(estimate.score), percent(low), percent(high))
        })
    };
    format!(
        "\nexpected {title}: {}\nbest single model ({}): {}\n",
        score(&answer.estimate),
        answer.single.name,
        score(&answer.single.estimate)
    )
}

/// Where the results are, the next command, and how to continue if the study was interrupted or timed out.
fn footer(answer: &AutoAnswer, study: &ReportedStudy<'_>, folder: &Path) -> String {
    let place = folder.display();
    let n = answer.predictions.is_labelled.iter().filter(|labelled| !**labelled).count();
    let nodes = match n {
        0 => "all nodes".to_owned(),
        n => output::count(n, "unlabelled node"),
    };
    let note = match answer.end {
        StudyEnd::Interrupted => "interrupted; rerun the same command to resume\n",
        StudyEnd::TimedOut => "to continue, rerun with a larger --budget\n",
        _ => "",
    };
    format!(
        "predictions: {place}/predictions.csv ({nodes})\nreport: {place}/report.html\nstudy: {}\n\
         next: clenshaw predict {place} OTHER-GRAPH (ensemble), or clenshaw predict \
         {place}/best.safetensors OTHER-GRAPH (best single model)\n{note}",
        study.location
    )
}

/// Returns the JSON document.
pub fn to_json(answer: &AutoAnswer, study: &ReportedStudy<'_>, folder: &Path) -> Json {
    let predictions = &answer.predictions;
    let node = |node: usize| {
        let row = predictions.probabilities.row(node).iter();
        let by_class: serde_json::Map<String, Json> =
            predictions.class_names.iter().cloned().zip(row.map(|p| json!(p))).collect();
        json!({
            "node": predictions.node_name(node),
            "prediction": predictions.class_names[predictions.class(node)],
            "probabilities": by_class,
            "part": predictions.parts[node],
        })
    };
    json!({
        "graph": answer.graph,
        "metric": answer.objective.word(),
        "ended": match answer.end {
            StudyEnd::TrialsCompleted => "reached",
            StudyEnd::SpaceExhausted => "exhausted",
            StudyEnd::TimedOut => "out-of-time",
            StudyEnd::Interrupted => "interrupted",
        },
        "seconds": answer.seconds,
        "trials": answer.trials,
        "expected": answer.estimate,
        "ensemble": {
            "validation": answer.ensemble_validation,
            "temperature": answer.ensemble.temperature,
            "members": answer.ensemble.members,
        },
        "single": {
            "name": answer.single.name,
            "model": answer.single.model.info().name,
            "hyper": answer.single.model.hp(),
            "validation": answer.single.validation,
            "split": answer.single.split,
            "expected": answer.single.estimate,
        },
        "filter": answer.filter.as_ref().map(|filter| json!({
            "name": filter.name,
            "validation": filter.validation,
            "response": filter.response,
        })),
        "configurations": answer.configurations,
        "failed": answer.failed,
        "explanation": answer.explanation(),
        "split": answer.split.provenance(),
        "folder": folder,
        "study": study.location.to_string(),
        "classes": predictions.class_names,
        "nodes": answer.nodes_to_predict().into_iter().map(node).collect::<Json>(),
    })
}

//! What a study found, for people and for programs.

use crate::board::ROWS;
use crate::study::Named;
use crate::train::describe;
use clenshaw::data::Dataset;
use clenshaw::experiment::{End, Summary, TuneRequest, Tuned, best_first};
use clenshaw::report::Table;
use clenshaw_tune::{State, Trial};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// `86.49%`.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

/// The tuned settings of a trial as one would type them, in the order of the model.
pub fn named(asked: &TuneRequest, trial: &Trial) -> Vec<(&'static str, String)> {
    let Ok(request) = asked.settings(&trial.params) else { return vec![] };
    let tuned = request.hyper.iter().filter(|(hyper, _)| asked.space.contains_key(hyper.name));
    tuned.map(|(hyper, value)| (hyper.name, value.to_string())).collect()
}

/// A column a trial, a row a setting: the best trials.
fn best_trials(asked: &TuneRequest, tuned: &Tuned) -> Table {
    let best: Vec<&Trial> = best_first(&tuned.trials).into_iter().take(ROWS).collect();
    let heads = best.iter().map(|trial| format!("trial {}", trial.number));
    let mut table = Table::new(std::iter::once(String::new()).chain(heads));
    let values = best.iter().map(|trial| percent(trial.value.unwrap_or_default()));
    table.row(std::iter::once("val acc".to_owned()).chain(values));
    let columns: Vec<_> = best.iter().map(|trial| named(asked, trial)).collect();
    let names = columns.first().map(Vec::as_slice).unwrap_or_default();
    for (i, (name, _)) in names.iter().enumerate() {
        let entry = |column: &Vec<(&str, String)>| {
            column.get(i).map_or_else(String::new, |(_, value)| value.clone())
        };
        table.row(std::iter::once((*name).to_owned()).chain(columns.iter().map(entry)));
    }
    table
}

fn importance(tuned: &Tuned) -> Table {
    let mut table = Table::new(["hyper-parameter", "importance"]);
    for (name, share) in &tuned.importances {
        table.row([name.clone(), format!("{:.1}%", 100.0 * share)]);
    }
    table
}

/// The graph in a line, and what to know before trusting results on it.
#[derive(Default)]
pub struct About {
    /// Name and sizes.
    pub line: String,
    /// Lines, each ended.
    pub warnings: String,
}

impl About {
    /// What there is to say.
    pub fn new(dataset: &Dataset) -> Self {
        let warnings = dataset.warnings.iter().map(|warning| format!("warning: {warning}\n"));
        Self { line: describe(dataset), warnings: warnings.collect() }
    }
}

/// Where things are.
pub struct Places<'a> {
    /// The study.
    pub study: &'a Named,
    /// The best settings, if any trial is complete.
    pub best: &'a Path,
}

/// What people read.
pub fn page(about: &About, asked: &TuneRequest, tuned: &Tuned, places: &Places<'_>) -> String {
    let (request, About { line, warnings }) = (&asked.request, about);
    let splits = match request.runs {
        1 => format!("1 split ({}), seed {}", request.split, request.seed),
        n => format!("{n} splits ({}), seeds from {}", request.split, request.seed),
    };
    let head = format!(
        "{line}\n{warnings}{}: mean validation accuracy over {splits}\ntrials: {}{}\n",
        request.model.name,
        counts(tuned),
        ending(tuned.end)
    );
    let study = places.study;
    let Some((trial, evaluation)) = &tuned.best else {
        return format!("{head}study {study}\n");
    };
    let (best, runs) = (places.best.display(), evaluation.runs);
    format!(
        "{head}\n{}\n{}\nbest: trial {}, validation accuracy {}\nits settings {best}\nstudy {study}\n\
         test accuracy on {runs} other splits: clenshaw train --config {best}\n",
        best_trials(asked, tuned).to_text(),
        importance(tuned).to_text(),
        trial.number,
        percent(trial.value.unwrap_or_default()),
    )
}

/// `100 complete, 43 pruned, 1 failed`.
fn counts(tuned: &Tuned) -> String {
    let failed = tuned.trials.iter().filter(|t| t.user_attrs.contains_key("failed")).count();
    let counts = [
        (tuned.count(State::Complete), "complete"),
        (tuned.count(State::Pruned), "pruned"),
        (failed, "failed"),
        (tuned.count(State::Fail).saturating_sub(failed), "interrupted"),
    ];
    let told = counts.into_iter().filter(|(n, word)| *n > 0 || *word == "complete");
    told.map(|(n, word)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
}

fn ending(end: End) -> &'static str {
    match end {
        End::Reached => "",
        End::Exhausted => "; every point of the space has been tried",
        End::OutOfTime => "; out of time, the same command goes on",
        End::Interrupted => "; interrupted, the same command goes on",
    }
}

/// What programs read.
pub fn document(
    asked: &TuneRequest,
    tuned: &Tuned,
    places: &Places<'_>,
    evaluation: Option<&Summary>,
) -> Json {
    let request = &asked.request;
    let shares = tuned.importances.iter().map(|(name, share)| (name.clone(), json!(share)));
    json!({
        "study": places.study.place.to_string(),
        "name": places.study.name,
        "graph": request.graph,
        "model": request.model.name,
        "split": request.split.to_string(),
        "splits": request.runs,
        "seed": request.seed,
        "ended": match tuned.end {
            End::Reached => "reached",
            End::Exhausted => "exhausted",
            End::OutOfTime => "out-of-time",
            End::Interrupted => "interrupted",
        },
        "complete": tuned.count(State::Complete),
        "pruned": tuned.count(State::Pruned),
        "failed": tuned.count(State::Fail),
        "best": tuned.best.as_ref().map(|(trial, _)| object(trial)),
        "best_settings": tuned.best.as_ref().map(|_| places.best),
        "importance": shares.collect::<Map<String, Json>>(),
        "trials": tuned.trials.iter().map(object).collect::<Json>(),
        "evaluation": evaluation,
    })
}

fn object(trial: &Trial) -> Json {
    let params = trial.external().into_iter();
    let params = params.map(|(name, choice)| (name.to_owned(), choice.to_json()));
    json!({
        "number": trial.number,
        "state": match trial.state {
            State::Running => "running",
            State::Complete => "complete",
            State::Pruned => "pruned",
            State::Fail => "fail",
            State::Waiting => "waiting",
        },
        "value": trial.value,
        "params": params.collect::<Map<String, Json>>(),
        "notes": trial.user_attrs,
    })
}

//! The result of a study as text and as JSON.

use super::progress::BEST_TRIALS;
use super::study::StudyLocation;
use crate::output;
use crate::train::{describe, interpretation};
use clenshaw::data::Dataset;
use clenshaw::experiment::{StudyEnd, Summary, TuneRequest, TuneResult, ranked_trials};
use clenshaw::report::Table;
use clenshaw_tune::{Trial, TrialState};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Formats a score, an accuracy or a ROC AUC, as a percentage, such as `86.49%`.
pub fn percentage(fraction: f64) -> String {
    output::percent(fraction) + "%"
}

/// Returns the tuned hyper-parameters of a trial as key-value pairs, in the model's order; empty if the
/// model rejects them.
pub fn tuned_settings(request: &TuneRequest, trial: &Trial) -> Vec<(&'static str, String)> {
    let Ok(settings) = request.trial_request(&trial.params) else { return vec![] };
    let tuned = settings.hyper.iter().filter(|(hyper, _)| request.space.contains_key(hyper.name));
    tuned.map(|(hyper, value)| (hyper.name, value.to_string())).collect()
}

/// A description of the graph, how its columns and edges were interpreted, and its warnings, one per line.
#[derive(Default)]
pub struct GraphDescription {
    /// The description and the interpretation, in one or several lines.
    pub lines: String,
    warnings: String,
}

impl GraphDescription {
    /// Describes a graph.
    pub fn new(dataset: &Dataset) -> Self {
        Self {
            lines: describe(dataset) + &interpretation(dataset),
            warnings: output::warnings(&dataset.warnings),
        }
    }
}

/// The report on a finished or interrupted study.
pub struct StudyReport<'a> {
    pub graph: &'a GraphDescription,
    pub request: &'a TuneRequest,
    pub result: &'a TuneResult,
    pub study: &'a StudyLocation,
    /// File for the best settings; it is written only if a trial is complete.
    pub best_settings: &'a Path,
}

impl StudyReport<'_> {
    /// Formats the study as text.
    pub fn to_text(&self) -> String {
        let (request, result, study) = (&self.request.training, self.result, self.study);
        let score = self.request.score_name();
        let splits = match request.runs {
            1 => format!("1 split ({}), seed {}", request.split, request.seed),
            n => format!("{n} splits ({}), seeds from {}", request.split, request.seed),
        };
        let header = format!(
            "{}\n{}{}: mean validation {score} over {splits}\ntrials: {}{}\n",
            self.graph.lines,
            self.graph.warnings,
            request.model.name,
            self.trial_counts(),
            end_note(result.end)
        );
        let Some((trial, evaluation)) = &result.best else {
            return format!("{header}study: {study}\n");
        };
        let (best, runs) = (self.best_settings.display(), output::count(evaluation.runs, "run"));
        format!(
            "{header}\n{}\n{}\nbest: trial {}, validation {score} {}\n\
             best settings: {best}\nstudy: {study}\n\
             next: clenshaw train --config {best} (test accuracy of {runs})\n",
            self.best_trials().to_text(),
            self.importances().to_text(),
            trial.number,
            percentage(trial.value.unwrap_or_default()),
        )
    }

    /// Formats the number of trials by state, such as `100 complete, 43 pruned, 1 failed`.
    fn trial_counts(&self) -> String {
        let result = self.result;
        let counts = [
            (result.count(TrialState::Complete), "complete"),
            (result.count(TrialState::Pruned), "pruned"),
            (result.n_failed(), "failed"),
            (result.n_interrupted(), "interrupted"),
        ];
        let shown = counts.into_iter().filter(|(n, state)| *n > 0 || *state == "complete");
        shown.map(|(n, state)| format!("{n} {state}")).collect::<Vec<_>>().join(", ")
    }

    /// The best trials, one per column: the score, and one row per tuned hyper-parameter.
    fn best_trials(&self) -> Table {
        let best: Vec<&Trial> =
            ranked_trials(&self.result.trials).into_iter().take(BEST_TRIALS).collect();
        let headers = best.iter().map(|trial| format!("trial {}", trial.number));
        let mut table = Table::new(std::iter::once(String::new()).chain(headers));
        let values = best.iter().map(|trial| percentage(trial.value.unwrap_or_default()));
        let label = match self.request.score_name() {
            "accuracy" => "val acc",
            "ROC AUC" => "val auc",
            _ => "val score",
        };
        table.add_row(std::iter::once(label.to_owned()).chain(values));
        let columns: Vec<_> =
            best.iter().map(|trial| tuned_settings(self.request, trial)).collect();
        let names = columns.first().map(Vec::as_slice).unwrap_or_default();
        for (i, (name, _)) in names.iter().enumerate() {
            let value = |column: &Vec<(&str, String)>| {
                column.get(i).map_or_else(String::new, |(_, value)| value.clone())
            };
            table.add_row(std::iter::once((*name).to_owned()).chain(columns.iter().map(value)));
        }
        table
    }

    /// The table of importances.
    fn importances(&self) -> Table {
        let mut table = Table::new(["hyper-parameter", "importance"]);
        for (name, importance) in &self.result.importances {
            table.add_row([name.clone(), format!("{:.1}%", 100.0 * importance)]);
        }
        table
    }

    /// Returns the JSON document, with the evaluation of the best settings if there was one.
    pub fn to_json(&self, evaluation: Option<&Summary>) -> Json {
        let (request, result) = (&self.request.training, self.result);
        let importances =
            result.importances.iter().map(|(name, importance)| (name.clone(), json!(importance)));
        json!({
            "study": self.study.location.to_string(),
            "name": self.study.name,
            "graph": request.graph,
            "model": request.model.name,
            "split": request.split.to_string(),
            "splits": request.runs,
            "seed": request.seed,
            "ended": match result.end {
                StudyEnd::TrialsCompleted => "reached",
                StudyEnd::SpaceExhausted => "exhausted",
                StudyEnd::TimedOut => "out-of-time",
                StudyEnd::Interrupted => "interrupted",
            },
            "complete": result.count(TrialState::Complete),
            "pruned": result.count(TrialState::Pruned),
            "failed": result.n_failed(),
            "interrupted": result.n_interrupted(),
            "best": result.best.as_ref().map(|(trial, _)| trial_json(trial)),
            "best_settings": result.best.as_ref().map(|_| self.best_settings),
            "importance": importances.collect::<Map<String, Json>>(),
            "trials": result.trials.iter().map(trial_json).collect::<Json>(),
            "evaluation": evaluation,
        })
    }
}

/// Returns why the study ended before the requested number of trials was complete; empty if it did not.
fn end_note(end: StudyEnd) -> &'static str {
    match end {
        StudyEnd::TrialsCompleted => "",
        StudyEnd::SpaceExhausted => "; the search space is exhausted",
        StudyEnd::TimedOut => "; timeout reached, rerun the same command to resume",
        StudyEnd::Interrupted => "; interrupted, rerun the same command to resume",
    }
}

/// A trial as JSON.
fn trial_json(trial: &Trial) -> Json {
    let params = trial.external_params().into_iter();
    let params = params.map(|(name, choice)| (name.to_owned(), choice.to_json()));
    json!({
        "number": trial.number,
        "state": match trial.state {
            TrialState::Running => "running",
            TrialState::Complete => "complete",
            TrialState::Pruned => "pruned",
            TrialState::Fail => "fail",
            TrialState::Waiting => "waiting",
        },
        "value": trial.value,
        "params": params.collect::<Map<String, Json>>(),
        "notes": trial.user_attrs,
    })
}

//! How the answer of `auto` was chosen: the first section of its page.

use super::{FittedRun, Report, ReportedStudy, StoredStudy, StudyGraph};
use crate::error::Result;
use crate::experiment::{AutoAnswer, ConfigurationRow, Estimate};
use serde::Serialize;

/// What the page shows about the choice of an answer; see [`AutoAnswer`] for the fields.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ChoiceReport {
    /// The name of the score that was maximised.
    objective: &'static str,
    estimate: Option<Estimate>,
    single: SingleReport,
    ensemble_validation: f64,
    temperature: f64,
    explanation: Vec<String>,
    warnings: Vec<String>,
    configurations: Vec<ConfigurationRow>,
    /// Configurations that could not be trained, and why.
    failed: Vec<(String, String)>,
    seconds: f64,
}

/// The best single model.
#[derive(Clone, Debug, Serialize)]
struct SingleReport {
    name: String,
    validation: f64,
    estimate: Option<Estimate>,
}

impl Report {
    /// Collects the page of an answer: how it was chosen, the best single model in detail, and the study.
    ///
    /// # Errors
    /// If the model does not fit the graph, or the study cannot be read.
    pub fn from_answer(
        answer: &AutoAnswer,
        study: &ReportedStudy<'_>,
        threads: usize,
    ) -> Result<Self> {
        let single = &answer.single;
        let training = single.training.as_deref();
        let run = FittedRun {
            model: &single.model,
            dataset: &answer.dataset,
            split: &single.parts,
            epochs: training.map_or(&[], |training| &training.epochs),
            filters: training.map_or(&[], |training| &training.filters),
            best_epoch: training.map_or(0, |training| training.best_epoch),
            seconds: training.map_or(f64::NAN, |training| training.seconds),
        };
        let mut report = Self::from_fit(&run, threads)?;
        report.title = format!("{}, answer of clenshaw auto", answer.graph.name);
        report.study_graph = StudyGraph::Unknown;
        report.study = Some(StoredStudy::read(study)?.report(&report.study_graph));
        report.choice = Some(ChoiceReport {
            objective: answer.objective.title(),
            estimate: answer.estimate.clone(),
            single: SingleReport {
                name: single.name.clone(),
                validation: single.validation,
                estimate: single.estimate.clone(),
            },
            ensemble_validation: answer.ensemble_validation,
            temperature: answer.ensemble.temperature,
            explanation: answer.explanation(),
            warnings: answer.graph.notes.clone(),
            configurations: answer.configurations.clone(),
            failed: answer.failed.clone(),
            seconds: answer.seconds,
        });
        Ok(report)
    }
}

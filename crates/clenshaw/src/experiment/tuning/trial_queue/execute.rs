//! Execution of one trial and storage of its result.
//!
//! Other processes may take a suspended worker for dead. They then fail its trial and requeue the
//! settings. A result that arrives later is stored as a new trial; the worker that takes the requeued
//! settings then finds it as a duplicate.

use super::TrialQueue;
use crate::error::{Error, Result};
use crate::experiment::tuning::evaluate::{Evaluation, StudyContext, TrialRef, mean};
use crate::experiment::tuning::propose::{FAILED, TrialValues, known_value};
use crate::experiment::tuning::result::ranked_trials;
use crate::experiment::tuning::{TuneEvent, study};
use crate::filter::Response;
use clenshaw_tune::{AttrKind, TrialOutcome, TrialState};
use serde_json::json;

impl TrialQueue<'_> {
    /// Trains a trial and stores its result; returns the error if training diverged.
    pub(super) fn run_trial(
        &self,
        trial: TrialRef,
        values: &TrialValues,
        threads: usize,
    ) -> Result<Option<Error>> {
        (self.context.options.on_event)(TuneEvent::Started { number: trial.number });
        let result = self.evaluate(trial, values, threads);
        let stored = self.store_result(trial, &result);
        let (outcome, error) = match (result, stored) {
            (Ok(_) | Err(Error::Interrupted), Ok(())) => {
                return self.report_end(trial).map(|()| None);
            }
            (Err(error @ Error::Diverged { .. }), Ok(())) => {
                return self.report_end(trial).map(|()| Some(error));
            }
            (Ok(outcome), Err(error)) => (Some(outcome), error),
            (Err(_), Err(error)) | (Err(error), Ok(())) => (None, error),
        };
        if !self.was_failed_by_others(trial, &error)? {
            return Err(error);
        }
        if let Some(outcome) = outcome {
            self.store_late_outcome(trial, values, &outcome)?;
        }
        self.report_end(trial).map(|()| None)
    }

    /// The outcome of these values: known from an earlier trial, or trained.
    fn evaluate(
        &self,
        trial: TrialRef,
        values: &TrialValues,
        threads: usize,
    ) -> Result<Evaluation> {
        let StudyContext { request, storage, study_id, .. } = *self.context;
        let trials = storage.trials(study_id)?;
        if let Some((duplicate_of, value)) = known_value(request, &trials, trial.number, values) {
            return Ok(Evaluation::Known { duplicate_of, value });
        }
        let settings = request.settings(&self.params(values))?;
        self.context.evaluate(trial, &settings, threads, &|| self.stop_reason().is_none())
    }

    /// Ends the trial in the storage, unless the error has nothing to do with it.
    fn store_result(&self, trial: TrialRef, result: &Result<Evaluation>) -> Result<()> {
        match result {
            Ok(outcome) => self.store_outcome(trial, outcome),
            Err(error @ Error::Diverged { .. }) => {
                self.set_attribute(trial, FAILED, json!(error.to_string()))?;
                self.finish(trial, TrialOutcome::Fail)
            }
            Err(Error::Interrupted) => {
                self.set_attribute(trial, "interrupted", json!(true))?;
                self.finish(trial, TrialOutcome::Fail)?;
                self.requeue(trial)
            }
            Err(_) => Ok(()),
        }
    }

    fn store_outcome(&self, trial: TrialRef, outcome: &Evaluation) -> Result<()> {
        match outcome {
            Evaluation::Complete(accuracies, filter) => {
                self.set_attribute(trial, "val_accuracies", json!(accuracies))?;
                self.finish(trial, TrialOutcome::Complete(mean(accuracies)))?;
                self.plot_if_best(trial, filter.as_ref())
            }
            Evaluation::Known { duplicate_of, value } => {
                self.set_attribute(trial, "duplicate_of", json!(duplicate_of))?;
                self.finish(trial, TrialOutcome::Complete(*value))
            }
            Evaluation::Pruned(last) => self.finish(trial, TrialOutcome::Pruned(Some(*last))),
        }
    }

    fn set_attribute(&self, trial: TrialRef, key: &str, value: serde_json::Value) -> Result<()> {
        let attrs = [(key.to_owned(), value)].into();
        Ok(self.context.storage.set_trial_attrs(trial.id, AttrKind::User, &attrs)?)
    }

    fn finish(&self, trial: TrialRef, outcome: TrialOutcome) -> Result<()> {
        self.context.storage.finish(trial.id, outcome)?;
        Ok(())
    }

    /// Whether an error was caused by another process failing a trial that we were running.
    fn was_failed_by_others(&self, running: TrialRef, error: &Error) -> Result<bool> {
        if !matches!(error, Error::Study(clenshaw_tune::Error::TrialFinished { .. })) {
            return Ok(false);
        }
        let trials = self.context.storage.trials(self.context.study_id)?;
        let trial = trials.iter().find(|trial| trial.id == running.id);
        Ok(trial.is_some_and(|trial| trial.state == TrialState::Fail))
    }

    /// Stores an outcome as a new trial, because its own trial was failed by another process.
    fn store_late_outcome(
        &self,
        late: TrialRef,
        values: &TrialValues,
        outcome: &Evaluation,
    ) -> Result<()> {
        let StudyContext { storage, study_id, .. } = *self.context;
        let trial = storage.create_trial(study_id)?;
        let trial = TrialRef { id: trial.id, number: trial.number };
        storage.record_heartbeat(trial.id)?;
        storage.set_params(trial.id, &self.params(values))?;
        self.set_attribute(trial, "late_for", json!(late.number))?;
        self.store_outcome(trial, outcome)
    }

    /// Requeues the settings of an interrupted trial for the next worker of the study.
    fn requeue(&self, interrupted: TrialRef) -> Result<()> {
        let StudyContext { storage, study_id, .. } = *self.context;
        let trials = storage.trials(study_id)?;
        let trial = trials.iter().find(|trial| trial.id == interrupted.id);
        study::requeue(storage, study_id, trial.expect("trials are never removed"))
    }

    /// Plots the filter of a trial in the dashboard if the trial is the best one.
    fn plot_if_best(&self, trial: TrialRef, filter: Option<&Response>) -> Result<()> {
        let StudyContext { storage, study_id, .. } = *self.context;
        let Some(filter) = filter else { return Ok(()) };
        // Locked so that the plot of an earlier best trial cannot replace that of a later one.
        let _status = self.status();
        let trials = storage.trials(study_id)?;
        match ranked_trials(&trials).first() {
            Some(best) if best.id == trial.id => {
                study::plot_filter(storage, study_id, trial.number, filter)
            }
            _ => Ok(()),
        }
    }

    fn report_end(&self, trial: TrialRef) -> Result<()> {
        let StudyContext { storage, study_id, options, .. } = *self.context;
        let trials = storage.trials(study_id)?;
        (options.on_event)(TuneEvent::Finished { number: trial.number, trials: &trials });
        Ok(())
    }
}

//! Execution of one trial and storage of its result.
//!
//! Other processes may assume that a suspended worker has died. They then mark its trial as failed and
//! requeue the settings. A result that arrives later is stored as a new trial; if that trial is complete
//! before the requeued settings are taken, they are recognised as a duplicate and not trained again.

use super::WorkerPool;
use crate::error::{Error, Result};
use crate::experiment::tuning::evaluate::{Evaluation, mean};
use crate::experiment::tuning::propose::FAILED;
use crate::experiment::tuning::result::ranked_trials;
use crate::experiment::tuning::{TuneEvent, study};
use crate::filter::Response;
use crate::tensor;
use clenshaw_tune::{AttrKind, Trial, TrialOutcome, TrialState};
use serde_json::json;

impl WorkerPool<'_> {
    /// Runs a trial and stores its result. Returns `Some(error)` if training diverged or did not fit into memory;
    /// an interrupted trial, or one that another process has marked as failed, is not an error.
    pub(super) fn run_trial(&self, trial: &Trial, threads: usize) -> Result<Option<Error>> {
        (self.context.options.on_event)(TuneEvent::Started { number: trial.number });
        let result = self.evaluate(trial, threads);
        // The trial has freed its memory.
        tensor::release_free_memory();
        let stored = self.store_result(trial, &result);
        let (outcome, error) = match (result, stored) {
            (Ok(_) | Err(Error::Interrupted), Ok(())) => {
                return self.report_end(trial).map(|()| None);
            }
            (Err(error), Ok(())) if error.is_due_to_settings() => {
                return self.report_end(trial).map(|()| Some(error));
            }
            (Ok(outcome), Err(error)) => (Some(outcome), error),
            (Err(_), Err(error)) | (Err(error), Ok(())) => (None, error),
        };
        if !self.was_failed_by_others(trial, &error)? {
            return Err(error);
        }
        if let Some(outcome) = outcome {
            self.store_late_outcome(trial, &outcome)?;
        }
        self.report_end(trial).map(|()| None)
    }

    /// Evaluates a trial.
    fn evaluate(&self, trial: &Trial, threads: usize) -> Result<Evaluation> {
        let should_continue = || self.early_end().is_none();
        self.context.source.evaluate(self.context, trial, threads, &should_continue)
    }

    /// Marks the trial as finished in the storage, and requeues it if it was interrupted. After an error that is
    /// neither an interruption nor due to the settings, the trial is left running.
    fn store_result(&self, trial: &Trial, result: &Result<Evaluation>) -> Result<()> {
        match result {
            Ok(outcome) => self.store_outcome(trial, outcome),
            Err(error) if error.is_due_to_settings() => {
                self.set_attribute(trial, FAILED, json!(error.to_string()))?;
                self.finish(trial, TrialOutcome::Fail)
            }
            Err(Error::Interrupted) => {
                self.set_attribute(trial, "interrupted", json!(true))?;
                // Enqueued first: if this process is killed in between, no parameters are lost.
                let (storage, study) = (self.context.storage, self.context.study.id());
                storage.enqueue_trial(study, &trial.retry_params())?;
                self.finish(trial, TrialOutcome::Fail)
            }
            Err(_) => Ok(()),
        }
    }

    /// Finishes a trial whose evaluation returned no error, and plots its filter if it is the best one.
    fn store_outcome(&self, trial: &Trial, outcome: &Evaluation) -> Result<()> {
        match outcome {
            Evaluation::Complete(scores, filter) => {
                self.set_attribute(trial, "val_accuracies", json!(scores))?;
                self.finish(trial, TrialOutcome::Complete(mean(scores)))?;
                self.plot_if_best(trial, filter.as_ref())
            }
            Evaluation::Known { duplicate_of, value } => {
                self.set_attribute(trial, "duplicate_of", json!(duplicate_of))?;
                self.finish(trial, TrialOutcome::Complete(*value))
            }
            Evaluation::Pruned(last) => self.finish(trial, TrialOutcome::Pruned(Some(*last))),
            Evaluation::Skipped(reason) => {
                self.set_attribute(trial, FAILED, json!(reason))?;
                self.finish(trial, TrialOutcome::Fail)
            }
        }
    }

    fn set_attribute(&self, trial: &Trial, key: &str, value: serde_json::Value) -> Result<()> {
        let attrs = [(key.to_owned(), value)].into();
        Ok(self.context.storage.set_trial_attrs(trial.id, AttrKind::User, &attrs)?)
    }

    fn finish(&self, trial: &Trial, outcome: TrialOutcome) -> Result<()> {
        self.context.storage.finish(trial.id, outcome)?;
        Ok(())
    }

    /// Whether an error was caused by another process that marked our running trial as failed.
    fn was_failed_by_others(&self, running: &Trial, error: &Error) -> Result<bool> {
        if !matches!(error, Error::Study(clenshaw_tune::Error::TrialFinished { .. })) {
            return Ok(false);
        }
        let trials = self.context.study.trials()?;
        let trial = trials.iter().find(|trial| trial.id == running.id);
        Ok(trial.is_some_and(|trial| trial.state == TrialState::Fail))
    }

    /// Stores the outcome of the trial `late` as a new trial, because another process has marked `late` as
    /// failed.
    fn store_late_outcome(&self, late: &Trial, outcome: &Evaluation) -> Result<()> {
        let storage = self.context.storage;
        let trial = storage.create_trial(self.context.study.id())?;
        storage.record_heartbeat(trial.id)?;
        storage.set_params(trial.id, &late.params)?;
        self.set_attribute(&trial, "late_for", json!(late.number))?;
        self.store_outcome(&trial, outcome)
    }

    /// Plots the filter of a trial in the dashboard if the trial is the best one.
    fn plot_if_best(&self, trial: &Trial, filter: Option<&Response>) -> Result<()> {
        let (storage, study) = (self.context.storage, &self.context.study);
        let Some(filter) = filter else { return Ok(()) };
        // Locked so that the plot of an earlier best trial cannot replace that of a later one.
        let _status = self.lock_status();
        let trials = study.trials()?;
        match ranked_trials(&trials).first() {
            Some(best) if best.id == trial.id => {
                study::plot_filter(storage, study.id(), trial.number, filter)
            }
            _ => Ok(()),
        }
    }

    /// Emits [`TuneEvent::Finished`] with all trials of the study.
    fn report_end(&self, trial: &Trial) -> Result<()> {
        let trials = self.context.study.trials()?;
        (self.context.options.on_event)(TuneEvent::Finished {
            number: trial.number,
            trials: &trials,
        });
        Ok(())
    }
}

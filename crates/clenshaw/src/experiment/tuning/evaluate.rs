//! Evaluation of one trial: trains on one split after another, reports intermediate values, and stops
//! early if the pruner ends the trial.

use super::pruning::report_interval;
use super::stop::StopListener;
use super::{TuneEvent, TuneOptions, TuneRequest};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::experiment::Request;
use crate::filter::Response;
use crate::train::{EarlyStopping, Epoch, Fit, RunEnd, Setup};
use clenshaw_tune::{Pruner, Storage, Study, Trial};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Data shared by all trials of a study.
pub(super) struct StudyContext<'a> {
    pub request: &'a TuneRequest,
    pub pruner: Pruner,
    pub storage: &'a dyn Storage,
    pub study: Study<'a>,
    pub stop: StopListener<'a>,
    pub dataset: &'a Arc<Dataset>,
    pub splits: &'a [Split],
    pub options: &'a TuneOptions<'a>,
}

/// The outcome of a trial that did not fail.
pub(super) enum Evaluation {
    /// The validation accuracy on every split, and the filter learned on the first one.
    Complete(Vec<f64>, Option<Response>),
    /// The number and the value of another complete trial with the same configuration.
    Known { duplicate_of: u64, value: f64 },
    /// The last value reported before the trial was pruned.
    Pruned(f64),
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The validation accuracy of the best epoch so far, as chosen by the stopping rule; with the rule `roc-auc`, the
/// validation ROC AUC.
fn val_accuracy(stop: EarlyStopping, fit: &Fit) -> f64 {
    let best = fit.history()[stop.best_index(fit.history())];
    best.val_roc_auc.or(best.val_accuracy).expect("`tune` rejects splits without validation nodes")
}

impl StudyContext<'_> {
    /// Trains on every split with the settings of `request`, until the trial is pruned. Does not look for
    /// duplicates of the trial, so the result is never [`Evaluation::Known`].
    ///
    /// `should_continue` is called after every epoch. If it returns `false`, the error is
    /// [`Error::Interrupted`], unless the same epoch is the last one of a split or the trial is pruned at it.
    /// Also fails if training diverges or the storage returns an error.
    pub fn evaluate(
        &self,
        trial: &Trial,
        request: &Request,
        threads: usize,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let setup = Setup::new(self.dataset.clone(), request.model, request.hyper.clone())?;
        let setup = Arc::new(setup);
        let stop = EarlyStopping::from_params(setup.hp());
        let (mut accuracies, mut filter) = (Vec::new(), None);
        for (i, split) in self.splits.iter().enumerate() {
            let mut fit = Fit::new(setup.clone(), split, request.seed + i as u64, threads)?;
            if let Some(last) = self.train(trial, &mut fit, stop, should_continue)? {
                return Ok(Evaluation::Pruned(last));
            }
            accuracies.push(val_accuracy(stop, &fit));
            if i == 0 && setup.info().filter.is_some() {
                filter = fit.setup().filter(fit.best().1);
            }
            let (done, value) = (i + 1, mean(&accuracies));
            let pruned = self.splits.len() > 1 && self.report(trial, done as u64, value)?;
            // Pruning after the last split would save nothing.
            if pruned && done < self.splits.len() {
                return Ok(Evaluation::Pruned(value));
            }
        }
        Ok(Evaluation::Complete(accuracies, filter))
    }

    /// Trains on one split; returns the last reported value if the trial is pruned before the last epoch,
    /// `None` otherwise.
    fn train(
        &self,
        trial: &Trial,
        fit: &mut Fit,
        stop: EarlyStopping,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Option<f64>> {
        let interval = (self.splits.len() == 1).then(|| report_interval(stop.max_epochs));
        let mut pruned = Ok(None);
        let ended = fit.run(|fit, epoch| {
            pruned = self.report_epoch(trial, fit, epoch, stop, interval);
            match should_continue() && matches!(pruned, Ok(None)) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        match (pruned?, ended?) {
            (_, RunEnd::Finished) => Ok(None),
            (Some(value), RunEnd::Stopped) => Ok(Some(value)),
            (None, RunEnd::Stopped) => Err(Error::Interrupted),
        }
    }

    /// At every `interval`-th epoch, reports the validation accuracy of the best epoch so far; without an
    /// interval, reports nothing. Returns the reported value if the pruner ends the trial.
    fn report_epoch(
        &self,
        trial: &Trial,
        fit: &Fit,
        epoch: &Epoch,
        stop: EarlyStopping,
        interval: Option<u64>,
    ) -> Result<Option<f64>> {
        let step = epoch.epoch as u64;
        if interval.is_none_or(|interval| !step.is_multiple_of(interval)) {
            return Ok(None);
        }
        let value = val_accuracy(stop, fit);
        Ok(self.report(trial, step, value)?.then_some(value))
    }

    /// Reports an intermediate value; returns whether the pruner ends the trial.
    fn report(&self, trial: &Trial, step: u64, value: f64) -> Result<bool> {
        let is_pruned = self.study.report(trial, step, value)?;
        let number = trial.number;
        (self.options.on_event)(TuneEvent::Reported { number, step, value });
        Ok(is_pruned)
    }
}

//! Evaluation of one trial of [`tune`](super::tune()): trains on one split after another, reports intermediate
//! values, and stops early if the pruner ends the trial.

use super::pruning::report_interval;
use super::stop::StopListener;
use super::{TrialSource, TuneEvent, TuneOptions, TuneRequest, propose};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::filter::Response;
use crate::train::{EarlyStopping, Epoch, Fit, RunEnd, Setup};
use clenshaw_tune::{NextTrial, Params, Pruner, Storage, Study, Trial, TrialState};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A study in progress, shared by its workers.
pub(in crate::experiment) struct StudyContext<'a> {
    pub source: &'a dyn TrialSource,
    pub storage: &'a dyn Storage,
    pub study: Study<'a>,
    pub stop: StopListener<'a>,
    pub options: &'a TuneOptions<'a>,
}

impl StudyContext<'_> {
    /// Stores an intermediate value and emits [`TuneEvent::Reported`]; returns whether the pruner ends the trial.
    pub fn report(&self, trial: &Trial, step: u64, value: f64) -> Result<bool> {
        let is_pruned = self.study.report(trial, step, value)?;
        let number = trial.number;
        (self.options.on_event)(TuneEvent::Reported { number, step, value });
        Ok(is_pruned)
    }
}

/// The outcome of the evaluation of a trial, other than an error.
pub(in crate::experiment) enum Evaluation {
    /// The score on every split, and the filter learned on the first one, if it is known.
    Complete(Vec<f64>, Option<Response>),
    /// The number and the value of another complete trial with the same configuration.
    Known { duplicate_of: u64, value: f64 },
    /// The last intermediate value of a trial that ended before it had a score on every split.
    Pruned(f64),
    /// The configuration was not evaluated, for this reason, and is not to be tried again. The trial counts as
    /// failed.
    Skipped(String),
}

pub(in crate::experiment) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The validation accuracy of the best epoch so far, as chosen by the stopping rule; with the rule `roc-auc`, the
/// validation ROC AUC.
fn best_val_score(stop: EarlyStopping, fit: &Fit) -> f64 {
    let best = fit.history()[stop.best_index(fit.history())];
    best.val_roc_auc.or(best.val_accuracy).expect("`tune` rejects splits without validation nodes")
}

/// The trials of [`tune`](super::tune()): configurations of one model.
pub(super) struct ModelTrials<'a> {
    pub request: &'a TuneRequest,
    pub pruner: Pruner,
    pub dataset: &'a Arc<Dataset>,
    pub splits: &'a [Split],
}

impl TrialSource for ModelTrials<'_> {
    fn target(&self) -> usize {
        self.request.trials
    }

    /// Complete trials; pruned and failed ones do not count.
    fn n_counted(&self, trials: &[Trial]) -> usize {
        trials.iter().filter(|trial| trial.state == TrialState::Complete).count()
    }

    fn next_params(
        &self,
        trials: &[Trial],
        next: NextTrial<'_>,
    ) -> clenshaw_tune::Result<Option<Params>> {
        let proposed = propose::propose(self.request, &self.pruner, trials, next.number)?;
        Ok(next.complete(&self.request.space, proposed))
    }

    /// Returns the value of a complete trial with the same configuration, or trains.
    fn evaluate(
        &self,
        study: &StudyContext<'_>,
        trial: &Trial,
        threads: usize,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let trials = study.study.trials()?;
        if let Some((duplicate_of, value)) = propose::known_value(self.request, &trials, trial) {
            return Ok(Evaluation::Known { duplicate_of, value });
        }
        self.train_splits(study, trial, threads, should_continue)
    }
}

impl ModelTrials<'_> {
    /// Trains on every split with the settings of the trial, until it is pruned; errors are those of
    /// [`TrialSource::evaluate`].
    fn train_splits(
        &self,
        study: &StudyContext<'_>,
        trial: &Trial,
        threads: usize,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let request = self.request.trial_request(&trial.params)?;
        let setup = Setup::new(self.dataset.clone(), request.model, request.hyper.clone())?;
        let setup = Arc::new(setup);
        let stop = EarlyStopping::from_params(setup.hp());
        let (mut scores, mut filter) = (Vec::new(), None);
        for (i, split) in self.splits.iter().enumerate() {
            let mut fit = Fit::new(setup.clone(), split, request.seed + i as u64, threads)?;
            if let Some(last) = self.train(study, trial, (&mut fit, stop), should_continue)? {
                return Ok(Evaluation::Pruned(last));
            }
            scores.push(best_val_score(stop, &fit));
            if i == 0 && setup.info().filter.is_some() {
                filter = fit.best_filter();
            }
            let (done, value) = (i + 1, mean(&scores));
            let pruned = self.splits.len() > 1 && study.report(trial, done as u64, value)?;
            // Pruning after the last split would save nothing.
            if pruned && done < self.splits.len() {
                return Ok(Evaluation::Pruned(value));
            }
        }
        Ok(Evaluation::Complete(scores, filter))
    }

    /// Trains on one split; returns the last reported value if the trial is pruned before the last epoch, and
    /// `None` if training ends. Fails with [`Error::Interrupted`] if `should_continue` returns
    /// `false` earlier.
    fn train(
        &self,
        study: &StudyContext<'_>,
        trial: &Trial,
        (fit, stop): (&mut Fit, EarlyStopping),
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Option<f64>> {
        let interval = (self.splits.len() == 1).then(|| report_interval(stop.max_epochs));
        let mut pruned = Ok(None);
        let ended = fit.run(|fit, epoch| {
            if interval.is_some_and(|interval| (epoch.epoch as u64).is_multiple_of(interval)) {
                pruned = report_epoch(study, trial, epoch, best_val_score(stop, fit));
            }
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
}

/// Reports this value after an epoch; returns it if the pruner ends the trial.
fn report_epoch(
    study: &StudyContext<'_>,
    trial: &Trial,
    epoch: &Epoch,
    value: f64,
) -> Result<Option<f64>> {
    Ok(study.report(trial, epoch.epoch as u64, value)?.then_some(value))
}

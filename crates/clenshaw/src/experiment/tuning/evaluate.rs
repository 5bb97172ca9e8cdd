//! One trial: train on split after split, tell how it goes, and end early if the pruner says so.

use super::judge::distance;
use super::{DIRECTION, TuneEvent, TuneOptions, TuneRequest};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::experiment::Request;
use crate::filter::Response;
use crate::train::{EarlyStopping, Epoch, Fit, Setup};
use clenshaw_tune::{Notes, Pruner, Storage};

/// What all trials of a study share.
pub(super) struct Bench<'a> {
    pub asked: &'a TuneRequest,
    pub pruner: Pruner,
    pub storage: &'a dyn Storage,
    pub study: u64,
    pub dataset: &'a Dataset,
    pub splits: &'a [Split],
    pub options: &'a TuneOptions<'a>,
}

/// A trial that a worker has.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub id: u64,
    pub number: u64,
}

/// What came out of a trial.
pub(super) enum Evaluation {
    /// The accuracy on every split, and the filter that was learned on the first.
    Complete(Vec<f64>, Option<Response>),
    /// What another trial of the same configuration, named by its number, had.
    Known { twin: u64, value: f64 },
    /// The last report.
    Pruned(f64),
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The epoch whose weights are kept, of those so far.
fn kept(stop: EarlyStopping, fit: &Fit<'_>) -> Epoch {
    fit.history()[stop.best(fit.history())]
}

impl Bench<'_> {
    /// Trains with these settings; `goes_on` is asked after every epoch.
    pub fn evaluate(
        &self,
        trial: Taken,
        request: &Request,
        threads: usize,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Evaluation> {
        let setup = Setup::new(self.dataset, request.model, request.hyper.clone());
        let stop = EarlyStopping::from_params(&setup.hp);
        let (mut accuracies, mut filter) = (Vec::new(), None);
        for (i, split) in self.splits.iter().enumerate() {
            let mut fit = Fit::new(&setup, self.dataset, split, request.seed + i as u64, threads);
            if let Some(last) = self.train(trial, &mut fit, stop, goes_on)? {
                return Ok(Evaluation::Pruned(last));
            }
            accuracies.push(kept(stop, &fit).val_accuracy);
            if i == 0 && setup.info.filter.is_some() {
                filter = setup.filter(&fit.outcome().weights);
            }
            let (done, value) = (i + 1, mean(&accuracies));
            // After the last split there is nothing left to save.
            let pruned = self.splits.len() > 1 && self.report(trial, done as u64, value)?;
            if pruned && done < self.splits.len() {
                return Ok(Evaluation::Pruned(value));
            }
        }
        Ok(Evaluation::Complete(accuracies, filter))
    }

    /// One split; the last report, if the trial is pruned on the way.
    fn train(
        &self,
        trial: Taken,
        fit: &mut Fit<'_>,
        stop: EarlyStopping,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<f64>> {
        let every = (self.splits.len() == 1).then(|| distance(stop.max_epochs));
        let mut said = Ok(None);
        let ended = fit.run(|fit, epoch| {
            said = self.look(trial, fit, epoch, stop, every);
            goes_on() && matches!(said, Ok(None))
        });
        match (said?, ended) {
            (Some(_), Ok(())) => Ok(None),
            (Some(value), Err(Error::Interrupted)) => Ok(Some(value)),
            (_, ended) => ended.map(|()| None),
        }
    }

    /// Reports, if it is time; what was reported, if the pruner ends the trial there.
    fn look(
        &self,
        trial: Taken,
        fit: &Fit<'_>,
        epoch: &Epoch,
        stop: EarlyStopping,
        every: Option<u64>,
    ) -> Result<Option<f64>> {
        let step = epoch.epoch as u64;
        if every.is_none_or(|every| !step.is_multiple_of(every)) {
            return Ok(None);
        }
        let value = kept(stop, fit).val_accuracy;
        Ok(self.report(trial, step, value)?.then_some(value))
    }

    /// Tells the study; whether the pruner ends the trial.
    fn report(&self, trial: Taken, step: u64, value: f64) -> Result<bool> {
        self.storage.report(trial.id, step, value)?;
        let number = trial.number;
        (self.options.watch)(TuneEvent::Reported { number, step, value });
        if self.pruner == Pruner::Never {
            return Ok(false);
        }
        let trials = self.storage.trials(self.study)?;
        let me = trials.iter().find(|other| other.id == trial.id).expect("it is ours and stays");
        let verdict = self.pruner.judge(me, &trials, DIRECTION);
        if !verdict.notes.is_empty() {
            let notes = verdict.notes.into_iter().map(|(key, value)| (key, value.into()));
            self.storage.set_trial_attrs(trial.id, Notes::System, &notes.collect())?;
        }
        Ok(verdict.prunes)
    }
}

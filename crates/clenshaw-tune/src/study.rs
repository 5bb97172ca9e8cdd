//! Studies: ask for parameter values, report intermediate values, tell the outcome.

use crate::error::Result;
use crate::{
    AttrKind, Direction, Distribution, Params, Pruner, Sampler, SamplingContext, Storage, Tpe,
    Trial, TrialOutcome, TrialState,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A study in a storage, with the sampler and pruner of this worker.
///
/// Any number of workers may run trials of one study at the same time, including Optuna's.
pub struct Study<'a> {
    storage: &'a dyn Storage,
    id: u64,
    direction: Direction,
    sampler: Sampler,
    pruner: Pruner,
    seed: u64,
    /// Whether to record the first heartbeat of every trial.
    has_heartbeats: bool,
}

/// The trial for which parameters are proposed, see [`Study::ask_params`].
#[derive(Clone, Copy, Debug)]
pub struct NextTrial<'a> {
    /// The number of the trial.
    pub number: u64,
    /// The enqueued trial that is started; `None` for a new trial.
    pub waiting: Option<&'a Trial>,
}

impl NextTrial<'_> {
    /// Returns the parameters of a search space, each with the value fixed by the enqueued trial
    /// ([`Trial::fixed_param`]) or else the proposed one. `None` if a parameter has neither, or if there is
    /// neither an enqueued trial nor a proposal.
    pub fn complete(
        &self,
        space: &BTreeMap<String, Distribution>,
        proposed: Option<BTreeMap<String, f64>>,
    ) -> Option<Params> {
        if proposed.is_none() && self.waiting.is_none() {
            return None;
        }
        let param = |(name, distribution): (&String, &Distribution)| {
            let fixed = self.waiting.and_then(|trial| trial.fixed_param(name, distribution));
            let internal = fixed.or_else(|| proposed.as_ref()?.get(name).copied())?;
            Some((name.clone(), (distribution.clone(), internal)))
        };
        space.iter().map(param).collect()
    }
}

impl<'a> Study<'a> {
    /// Opens the study of this name, or creates it if it does not exist. The sampler is TPE with seed 0, and no
    /// trial is pruned.
    ///
    /// # Errors
    /// If the study exists with another direction, without a direction or with multiple objectives, or if the
    /// storage fails.
    pub fn open(storage: &'a dyn Storage, name: &str, direction: Direction) -> Result<Self> {
        let id = storage.open_study(name, direction)?;
        let (sampler, pruner) = (Sampler::Tpe(Tpe::default()), Pruner::Never);
        Ok(Self { storage, id, direction, sampler, pruner, seed: 0, has_heartbeats: false })
    }

    /// Replaces the sampler and its seed.
    #[must_use]
    pub fn with_sampler(self, sampler: Sampler, seed: u64) -> Self {
        Self { sampler, seed, ..self }
    }

    /// Replaces the pruner.
    #[must_use]
    pub fn with_pruner(self, pruner: Pruner) -> Self {
        Self { pruner, ..self }
    }

    /// Records the first heartbeat of every trial when the trial starts. The caller must record the later
    /// ones; see [`Storage::record_heartbeat`].
    #[must_use]
    pub fn with_heartbeats(self) -> Self {
        Self { has_heartbeats: true, ..self }
    }

    /// The id of the study in its storage, for calls to the storage that this type does not provide.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Starts the first waiting trial, or a new one if none is waiting, and sets its parameters. Returns
    /// `None` if a parameter is not fixed and the grid has no points left; if a trial has already been started
    /// by then, it is marked as failed.
    ///
    /// # Errors
    /// If a distribution is invalid or incompatible with an earlier one of the same parameter in the study, if the
    /// grid is infinite or too large, or if the storage fails. A trial that has already been started by then remains in the state `Running`.
    pub fn ask(&self, space: &BTreeMap<String, Distribution>) -> Result<Option<Trial>> {
        self.ask_with(space, |trials, number| {
            // A grid must not repeat the points of other brackets; Optuna's grid also uses all trials.
            let trials = &match self.sampler {
                Sampler::Grid => Cow::Borrowed(trials),
                Sampler::Random | Sampler::Tpe(_) => self.pruner.visible_trials(trials, number),
            };
            let (direction, seed) = (self.direction, self.seed);
            self.sampler.sample(&SamplingContext { space, trials, direction, seed, number })
        })
    }

    /// Like [`ask`](Self::ask), with values from `propose` instead of the sampler. `propose` receives the
    /// trials of the study and the number of the trial, and returns internal values by parameter name, or
    /// `None` if no values are left; it may be called twice. The result is `None` if a parameter is neither
    /// fixed nor among the returned values.
    pub fn ask_with(
        &self,
        space: &BTreeMap<String, Distribution>,
        propose: impl Fn(&[Trial], u64) -> Result<Option<BTreeMap<String, f64>>>,
    ) -> Result<Option<Trial>> {
        self.ask_params(|trials, next| {
            let proposed = propose(trials, next.number)?;
            Ok(next.complete(space, proposed))
        })
    }

    /// Like [`ask_with`](Self::ask_with), for a search space that differs between trials: `propose` returns
    /// the parameters of the trial with their distributions, or `None` if none are left. `propose` must itself
    /// use the values that an enqueued trial fixes, see [`NextTrial::complete`].
    pub fn ask_params(
        &self,
        propose: impl Fn(&[Trial], NextTrial<'_>) -> Result<Option<Params>>,
    ) -> Result<Option<Trial>> {
        let trials = self.trials()?;
        let waiting = self.storage.claim_waiting_trial(self.id)?;
        waiting.iter().try_for_each(|trial| self.record_first_heartbeat(trial))?;
        let number = waiting.as_ref().map_or(trials.len() as u64, |trial| trial.number);
        let mut params = propose(&trials, NextTrial { number, waiting: waiting.as_ref() })?;
        let mut trial = match waiting.clone() {
            Some(trial) => trial,
            None if params.is_none() => return Ok(None),
            None => {
                let trial = self.storage.create_trial(self.id)?;
                self.record_first_heartbeat(&trial)?;
                trial
            }
        };
        // If another worker has created a trial in the meantime, the number differs from the expected one.
        if trial.number != number {
            params = propose(&self.trials()?, NextTrial { number: trial.number, waiting: None })?;
        }
        let Some(params) = params else {
            self.storage.finish(trial.id, TrialOutcome::Fail)?;
            return Ok(None);
        };
        self.storage.set_params(trial.id, &params)?;
        trial.params = params;
        Ok(Some(trial))
    }

    /// Records the first heartbeat of a trial, if the study has heartbeats.
    fn record_first_heartbeat(&self, trial: &Trial) -> Result<()> {
        if self.has_heartbeats { self.storage.record_heartbeat(trial.id) } else { Ok(()) }
    }

    /// Stores an intermediate value and returns whether the caller should prune the trial. NaN and infinities
    /// are not stored.
    ///
    /// # Errors
    /// If the storage fails or rejects the value, for example because the trial is finished.
    pub fn report(&self, trial: &Trial, step: u64, value: f64) -> Result<bool> {
        self.storage.report(trial.id, step, value)?;
        if self.pruner == Pruner::Never {
            return Ok(false);
        }
        let trials = self.trials()?;
        let current = trials.iter().find(|other| other.id == trial.id).unwrap_or(trial);
        let decision = self.pruner.decide(current, &trials, self.direction);
        if !decision.system_attrs.is_empty() {
            let attrs = decision.system_attrs.into_iter().map(|(key, value)| (key, value.into()));
            self.storage.set_trial_attrs(trial.id, AttrKind::System, &attrs.collect())?;
        }
        Ok(decision.prune)
    }

    /// Finishes a trial and returns its final state; see [`TrialOutcome`] for values that are not finite.
    ///
    /// # Errors
    /// If the trial does not exist or is already finished, or if the storage fails. Finishing a trial again with
    /// the same result may be accepted.
    pub fn tell(&self, trial: &Trial, outcome: TrialOutcome) -> Result<TrialState> {
        self.storage.finish(trial.id, outcome)
    }

    /// Returns all trials, ordered by number. Fails if the storage does.
    pub fn trials(&self) -> Result<Vec<Trial>> {
        self.storage.trials(self.id)
    }

    /// Returns the complete trial with the best value, the first one if there are several; `None` if no
    /// complete trial has a value.
    pub fn best_trial(&self) -> Result<Option<Trial>> {
        let trials = self.trials()?.into_iter();
        let complete = trials.filter(|trial| trial.state == TrialState::Complete);
        let valued = complete.filter_map(|trial| Some((trial.value?, trial)));
        let loss = |value| self.direction.loss(value);
        let best =
            valued.reduce(|best, next| if loss(next.0) < loss(best.0) { next } else { best });
        Ok(best.map(|(_, trial)| trial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hyperband, JournalStorage, Median, ParamValue};

    fn space() -> BTreeMap<String, Distribution> {
        [("x".to_owned(), Distribution::Int { low: 0, high: 3, log: false, step: 1 })].into()
    }

    fn x(trial: &Trial) -> f64 {
        trial.params["x"].1
    }

    #[test]
    fn asks_for_every_grid_point_and_returns_the_best() {
        let folder = tempfile::tempdir().unwrap();
        let storage = JournalStorage::open(folder.path().join("study.log")).unwrap();
        let study = Study::open(&storage, "s", Direction::Maximize).unwrap();
        let study = study.with_sampler(Sampler::Grid, 7);
        assert_eq!(study.best_trial().unwrap(), None);
        let mut visited = Vec::new();
        while let Some(trial) = study.ask(&space()).unwrap() {
            visited.push(x(&trial) as u64);
            study.tell(&trial, TrialOutcome::Complete(-(x(&trial) - 2.0).abs())).unwrap();
        }
        visited.sort_unstable();
        assert_eq!(visited, [0, 1, 2, 3]);
        assert_eq!(x(&study.best_trial().unwrap().unwrap()), 2.0);
        assert_eq!(study.trials().unwrap().len(), 4, "an exhausted grid creates no trial");
    }

    #[test]
    fn brackets_share_the_grid() {
        let folder = tempfile::tempdir().unwrap();
        let storage = JournalStorage::open(folder.path().join("study.log")).unwrap();
        let study = Study::open(&storage, "s", Direction::Minimize).unwrap();
        let hyperband = Hyperband { max_resource: Some(9), ..Hyperband::new("s") };
        let study = study.with_sampler(Sampler::Grid, 7).with_pruner(Pruner::Hyperband(hyperband));
        let mut visited = Vec::new();
        while let Some(trial) = study.ask(&space()).unwrap() {
            visited.push(x(&trial) as u64);
            study.tell(&trial, TrialOutcome::Complete(0.0)).unwrap();
        }
        visited.sort_unstable();
        assert_eq!(visited, [0, 1, 2, 3]);
    }

    #[test]
    fn starts_enqueued_trials_first() {
        let folder = tempfile::tempdir().unwrap();
        let storage = JournalStorage::open(folder.path().join("study.log")).unwrap();
        let study = Study::open(&storage, "s", Direction::Minimize).unwrap();
        let fixed = [("x".to_owned(), ParamValue::Int(3))].into();
        let waiting = storage.enqueue_trial(study.id(), &fixed).unwrap();
        let trial = study.ask(&space()).unwrap().unwrap();
        assert_eq!((trial.id, x(&trial)), (waiting.id, 3.0));
        assert_eq!(storage.trials(study.id()).unwrap()[0].params, trial.params);
    }

    #[test]
    fn report_applies_the_pruner() {
        let folder = tempfile::tempdir().unwrap();
        let storage = JournalStorage::open(folder.path().join("study.log")).unwrap();
        let median =
            Median { n_startup_trials: 1, n_warmup_steps: 0, interval_steps: 1, n_min_trials: 1 };
        let study = Study::open(&storage, "s", Direction::Minimize).unwrap();
        let study = study.with_pruner(Pruner::Median(median));
        for (value, expected) in [(1.0, false), (2.0, true), (0.5, false)] {
            let trial = study.ask(&space()).unwrap().unwrap();
            assert_eq!(study.report(&trial, 0, value).unwrap(), expected, "{value}");
            let outcome = match expected {
                true => TrialOutcome::Pruned(Some(value)),
                false => TrialOutcome::Complete(value),
            };
            study.tell(&trial, outcome).unwrap();
        }
    }
}

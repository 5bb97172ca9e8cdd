//! The `Storage` implementation of journals.

use super::super::worker::WorkerProcess;
use super::super::{AttrKind, StaleParams, Storage, StudySummary, validation};
use super::replay::Replay;
use super::{JournalStorage, new_entry};
use crate::error::Result;
use crate::{Attributes, Direction, ParamValue, Params, Trial, TrialOutcome, TrialState};
use std::collections::BTreeMap;

impl Storage for JournalStorage {
    fn studies(&self) -> Result<Vec<StudySummary>> {
        Ok(self.read()?.replay.studies().map(|study| study.summary.clone()).collect())
    }

    fn open_study(&self, name: &str, direction: Direction) -> Result<u64> {
        let find = |replay: &Replay| {
            let found = replay.studies().find(|study| study.summary.name == name);
            found.map(|study| self.check_direction(study, direction)).transpose()
        };
        if let Some(id) = find(&self.read()?.replay)? {
            return Ok(id);
        }
        let contents = self.append(|replay| {
            let is_new = find(replay)?.is_none();
            Ok(is_new.then(|| new_entry::create_study(name, direction)).into_iter().collect())
        })?;
        find(&contents.replay)?.ok_or_else(|| self.error("the new study was not accepted".into()))
    }

    fn study_attrs(&self, study: u64, kind: AttrKind) -> Result<Attributes> {
        let contents = self.read()?;
        let study = self.find_study(&contents.replay, study)?;
        Ok(study.attrs(kind).clone())
    }

    fn set_study_attrs(&self, study: u64, kind: AttrKind, attrs: &Attributes) -> Result<()> {
        let decide = |replay: &Replay| {
            self.find_study(replay, study)?;
            Ok(new_entry::set_study_attrs(study, kind, attrs))
        };
        self.append(decide).map(drop)
    }

    fn create_trial(&self, study: u64) -> Result<Trial> {
        let worker = WorkerProcess::to_attrs(self.process.as_ref());
        self.new_trial(study, TrialState::Running, &worker)
    }

    fn enqueue_trial(&self, study: u64, fixed: &BTreeMap<String, ParamValue>) -> Result<Trial> {
        self.new_trial(study, TrialState::Waiting, &validation::fixed_params(fixed)?)
    }

    fn claim_waiting_trial(&self, study: u64) -> Result<Option<Trial>> {
        let first_waiting = |replay: &Replay| -> Result<Option<u64>> {
            let mut trials = replay.trials(self.find_study(replay, study)?);
            Ok(trials.find(|trial| trial.state == TrialState::Waiting).map(|trial| trial.id))
        };
        if first_waiting(&self.read()?.replay)?.is_none() {
            return Ok(None);
        }
        let contents = self.append(|replay| {
            let Some(id) = first_waiting(replay)? else { return Ok(vec![]) };
            // The worker's attributes come first: if only they are written, the trial is still waiting.
            let worker = WorkerProcess::to_attrs(self.process.as_ref());
            let worker = new_entry::set_trial_attrs(id, AttrKind::System, &worker);
            Ok(worker.into_iter().chain([new_entry::start_trial(id)]).collect())
        })?;
        Ok(contents.replay.last_own_trial())
    }

    fn set_params(&self, trial: u64, params: &Params) -> Result<()> {
        let decide = |replay: &Replay| {
            let study = self.study_of_unfinished(replay, trial)?;
            self.check_params(replay, study, params)?;
            let params = params.iter();
            Ok(params
                .map(|(name, (d, internal))| new_entry::set_param(trial, name, d, *internal))
                .collect())
        };
        self.append(decide).map(drop)
    }

    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()> {
        if !value.is_finite() {
            return Ok(());
        }
        let decide = |replay: &Replay| {
            self.study_of_unfinished(replay, trial)?;
            Ok(vec![new_entry::report(trial, step, value)])
        };
        self.append(decide).map(drop)
    }

    fn set_trial_attrs(&self, trial: u64, kind: AttrKind, attrs: &Attributes) -> Result<()> {
        let decide = |replay: &Replay| {
            self.study_of_unfinished(replay, trial)?;
            Ok(new_entry::set_trial_attrs(trial, kind, attrs))
        };
        self.append(decide).map(drop)
    }

    fn finish(&self, trial: u64, outcome: TrialOutcome) -> Result<TrialState> {
        let (state, value) = outcome.state_and_value();
        let decide = |replay: &Replay| {
            self.study_of_unfinished(replay, trial)?;
            Ok(vec![new_entry::finish_trial(trial, state, value)])
        };
        self.append(decide).map(|_| state)
    }

    fn trials(&self, study: u64) -> Result<Vec<Trial>> {
        let contents = self.read()?;
        let study = self.find_study(&contents.replay, study)?;
        Ok(contents.replay.trials(study).cloned().collect())
    }

    fn fail_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        self.end_stale_trials(study, StaleParams::Drop)
    }

    fn requeue_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        self.end_stale_trials(study, StaleParams::Requeue)
    }
}

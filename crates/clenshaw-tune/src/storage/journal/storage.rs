//! A journal as a storage: every call that changes something is one decision with the lock in hand.

use super::super::worker::Worker;
use super::super::{Notes, Storage, Study, rules};
use super::line::Op;
use super::replay::Replay;
use super::{Journal, write};
use crate::error::Result;
use crate::{Attributes, Choice, Direction, Ending, Params, State, Trial};
use std::collections::BTreeMap;

impl Storage for Journal {
    fn studies(&self) -> Result<Vec<Study>> {
        Ok(self.look()?.replay.studies().map(|entry| entry.study.clone()).collect())
    }

    fn study(&self, name: &str, direction: Direction) -> Result<u64> {
        let find = |replay: &Replay| {
            let found = replay.studies().find(|entry| entry.study.name == name);
            found.map(|entry| self.check(entry, direction)).transpose()
        };
        if let Some(id) = find(&self.look()?.replay)? {
            return Ok(id);
        }
        let known = self.act(|replay| {
            let is_new = find(replay)?.is_none();
            Ok(is_new.then(|| write::study(name, direction)).into_iter().collect())
        })?;
        find(&known.replay)?.ok_or_else(|| self.wrong("the new study was not accepted".into()))
    }

    fn study_attrs(&self, study: u64, notes: Notes) -> Result<Attributes> {
        let known = self.look()?;
        let entry = self.study_of(&known.replay, study)?;
        Ok(match notes {
            Notes::User => entry.user_attrs.clone(),
            Notes::System => entry.system_attrs.clone(),
        })
    }

    fn set_study_attrs(&self, study: u64, notes: Notes, attrs: &Attributes) -> Result<()> {
        let op = match notes {
            Notes::User => Op::StudyUserAttr,
            Notes::System => Op::StudySystemAttr,
        };
        let decide = |replay: &Replay| {
            self.study_of(replay, study)?;
            Ok(write::notes(op, ("study_id", study), attrs))
        };
        self.act(decide).map(drop)
    }

    fn create_trial(&self, study: u64) -> Result<Trial> {
        self.make_trial(study, State::Running, &Worker::signature(self.me.as_ref()))
    }

    fn enqueue(&self, study: u64, fixed: &BTreeMap<String, Choice>) -> Result<Trial> {
        self.make_trial(study, State::Waiting, &rules::chosen(fixed)?)
    }

    fn claim_waiting(&self, study: u64) -> Result<Option<Trial>> {
        let first = |replay: &Replay| -> Result<Option<u64>> {
            let mut trials = replay.trials(self.study_of(replay, study)?);
            Ok(trials.find(|trial| trial.state == State::Waiting).map(|trial| trial.id))
        };
        if first(&self.look()?.replay)?.is_none() {
            return Ok(None);
        }
        let known = self.act(|replay| {
            let Some(id) = first(replay)? else { return Ok(vec![]) };
            // Signed first: if only half is written, it waits on instead of running for nobody.
            let signature = Worker::signature(self.me.as_ref());
            let signed = write::notes(Op::TrialSystemAttr, ("trial_id", id), &signature);
            Ok(signed.into_iter().chain([write::claim(id)]).collect())
        })?;
        Ok(self.won(&known))
    }

    fn set_params(&self, trial: u64, params: &Params) -> Result<()> {
        let decide = |replay: &Replay| {
            let (entry, _) = self.open_trial(replay, trial)?;
            self.refuse_conflicts(replay, entry, params)?;
            let lines = params.iter();
            Ok(lines.map(|(name, (kind, x))| write::param(trial, name, kind, *x)).collect())
        };
        self.act(decide).map(drop)
    }

    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()> {
        if !value.is_finite() {
            return Ok(());
        }
        let decide = |replay: &Replay| {
            self.open_trial(replay, trial)?;
            Ok(vec![write::report(trial, step, value)])
        };
        self.act(decide).map(drop)
    }

    fn set_trial_attrs(&self, trial: u64, notes: Notes, attrs: &Attributes) -> Result<()> {
        let op = match notes {
            Notes::User => Op::TrialUserAttr,
            Notes::System => Op::TrialSystemAttr,
        };
        let decide = |replay: &Replay| {
            self.open_trial(replay, trial)?;
            Ok(write::notes(op, ("trial_id", trial), attrs))
        };
        self.act(decide).map(drop)
    }

    fn finish(&self, trial: u64, ending: Ending) -> Result<State> {
        let (state, value) = ending.kept();
        let decide = |replay: &Replay| {
            self.open_trial(replay, trial)?;
            Ok(vec![write::end(trial, state, value)])
        };
        self.act(decide).map(|_| state)
    }

    fn trials(&self, study: u64) -> Result<Vec<Trial>> {
        let known = self.look()?;
        let entry = self.study_of(&known.replay, study)?;
        Ok(known.replay.trials(entry).cloned().collect())
    }

    fn reap_dead(&self, study: u64) -> Result<Vec<u64>> {
        if self.dead(&self.look()?.replay, study)?.is_empty() {
            return Ok(Vec::new());
        }
        let mut dead = Vec::new();
        let decide = |replay: &Replay| {
            dead = self.dead(replay, study)?;
            Ok(dead.iter().map(|&id| write::end(id, State::Fail, None)).collect())
        };
        self.act(decide).map(drop)?;
        Ok(dead)
    }
}

//! What the lines of a journal add up to.
//!
//! Identities are counted, not written: a study is the n-th creation that was accepted, a trial the n-th
//! over all studies. So every reader must accept and refuse exactly the same lines, and these are
//! Optuna's rules: a second study of a name, a change to a trial that is finished, a claim of a trial
//! that runs, and a distribution of another kind are passed over.

use super::line::{Line, Op, direction};
use crate::{Attributes, Distribution, State, Study, Trial};

/// All studies and trials of a journal.
pub(super) struct Replay {
    /// We, as our lines name us.
    worker: String,
    studies: Vec<Entry>,
    trials: Vec<(usize, Trial)>,
    /// The trial that our last line made or claimed.
    pub won: Option<u64>,
}

/// A study; it keeps its place when it is deleted.
pub(super) struct Entry {
    pub study: Study,
    pub n_directions: usize,
    deleted: bool,
    pub user_attrs: Attributes,
    pub system_attrs: Attributes,
    trials: Vec<usize>,
}

impl Replay {
    pub fn new(worker: String) -> Self {
        Self { worker, studies: Vec::new(), trials: Vec::new(), won: None }
    }

    /// The studies that are not deleted.
    pub fn studies(&self) -> impl Iterator<Item = &Entry> {
        self.studies.iter().filter(|entry| !entry.deleted)
    }

    /// A study, unless it is deleted.
    pub fn study(&self, id: u64) -> Option<&Entry> {
        self.studies.get(id as usize).filter(|entry| !entry.deleted)
    }

    /// The trials of a study by number.
    pub fn trials<'a>(&'a self, entry: &'a Entry) -> impl Iterator<Item = &'a Trial> {
        entry.trials.iter().map(|&id| &self.trials[id].1)
    }

    /// A trial and its study.
    pub fn trial(&self, id: u64) -> Option<(&Entry, &Trial)> {
        self.trials.get(id as usize).map(|(study, trial)| (&self.studies[*study], trial))
    }

    /// The distribution that a name has in a study: that of the first trial with it.
    pub fn distribution(&self, entry: &Entry, name: &str) -> Option<&Distribution> {
        let first = entry.trials.iter().find_map(|&id| self.trials[id].1.params.get(name));
        first.map(|(distribution, _)| distribution)
    }

    /// Carries out a line; what cannot be understood changes nothing and is said.
    pub fn apply(&mut self, text: &str) -> Result<(), String> {
        let line = Line::parse(text)?;
        match line.op()? {
            Op::CreateStudy => self.create_study(&line)?,
            Op::DeleteStudy => {
                if let Some(entry) = self.change_study(&line)? {
                    entry.deleted = true;
                }
            }
            Op::StudyUserAttr | Op::StudySystemAttr => self.note_study(&line)?,
            Op::CreateTrial => self.create_trial(&line)?,
            Op::Param => self.set_param(&line)?,
            Op::StateValues => self.set_state(&line)?,
            Op::Report => {
                let report = line.report()?;
                if let Some(trial) = self.change_trial(&line)? {
                    trial.reports.extend(report);
                }
            }
            Op::TrialUserAttr | Op::TrialSystemAttr => self.note_trial(&line)?,
            Op::DiscardTrials => {}
        }
        Ok(())
    }

    fn note_study(&mut self, line: &Line) -> Result<(), String> {
        let Some(entry) = self.change_study(line)? else { return Ok(()) };
        match line.op()? {
            Op::StudyUserAttr => entry.user_attrs.extend(line.user_attr()?),
            _ => entry.system_attrs.extend(line.system_attr()?),
        }
        Ok(())
    }

    fn note_trial(&mut self, line: &Line) -> Result<(), String> {
        let Some(trial) = self.change_trial(line)? else { return Ok(()) };
        match line.op()? {
            Op::TrialUserAttr => trial.user_attrs.extend(line.user_attr()?),
            _ => trial.system_attrs.extend(line.system_attr()?),
        }
        Ok(())
    }

    fn create_study(&mut self, line: &Line) -> Result<(), String> {
        let (name, directions) = line.new_study()?;
        if self.studies().any(|entry| entry.study.name == name) {
            return Ok(());
        }
        let direction = direction(&directions);
        self.studies.push(Entry {
            study: Study { id: self.studies.len() as u64, name, direction },
            n_directions: directions.len(),
            deleted: false,
            user_attrs: Attributes::new(),
            system_attrs: Attributes::new(),
            trials: Vec::new(),
        });
        Ok(())
    }

    /// The study of a line, if it is there.
    fn change_study(&mut self, line: &Line) -> Result<Option<&mut Entry>, String> {
        let entry = self.studies.get_mut(line.study()? as usize);
        Ok(entry.filter(|entry| !entry.deleted))
    }

    /// The trial of a line, if it is there and not finished.
    fn change_trial(&mut self, line: &Line) -> Result<Option<&mut Trial>, String> {
        let found = self.trials.get_mut(line.trial()? as usize);
        Ok(found.map(|(_, trial)| trial).filter(|trial| !trial.state.is_finished()))
    }

    fn create_trial(&mut self, line: &Line) -> Result<(), String> {
        let id = self.trials.len();
        let mut trial = Trial {
            id: id as u64,
            number: 0,
            state: line.state()?,
            value: line.value(),
            params: line.params()?,
            reports: line.reports(),
            user_attrs: line.user_attrs.clone().unwrap_or_default(),
            system_attrs: line.system_attrs.clone().unwrap_or_default(),
            started: line.datetime_start.clone(),
            finished: line.datetime_complete.clone(),
        };
        let Some(entry) = self.change_study(line)? else { return Ok(()) };
        trial.number = entry.trials.len() as u64;
        entry.trials.push(id);
        self.trials.push((line.study()? as usize, trial));
        if line.worker_id == self.worker {
            self.won = Some(id as u64);
        }
        Ok(())
    }

    fn set_param(&mut self, line: &Line) -> Result<(), String> {
        let (name, param) = line.param()?;
        let id = line.trial()?;
        let old = self.trial(id).and_then(|(entry, _)| self.distribution(entry, &name));
        if old.is_none_or(|old| old.is_compatible(&param.0))
            && let Some(trial) = self.change_trial(line)?
        {
            trial.params.insert(name, param);
        }
        Ok(())
    }

    fn set_state(&mut self, line: &Line) -> Result<(), String> {
        let (state, value, ours) = (line.state()?, line.value(), line.worker_id == self.worker);
        let Some(trial) = self.change_trial(line)? else { return Ok(()) };
        if state == State::Running {
            if trial.state == State::Running {
                return Ok(());
            }
            trial.started = line.datetime_start.clone();
        }
        if state.is_finished() {
            trial.finished = line.datetime_complete.clone();
        }
        trial.state = state;
        trial.value = value.or(trial.value);
        let id = trial.id;
        if ours && state == State::Running {
            self.won = Some(id);
        }
        Ok(())
    }
}

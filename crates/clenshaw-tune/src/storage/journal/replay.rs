//! Replays the entries of a journal into studies and trials.
//!
//! Ids are not stored but counted: the id of a study is the number of studies created before it, and the id
//! of a trial is the number of trials created before it in all studies. All readers must therefore accept
//! and ignore exactly the same entries. As in Optuna, these are ignored: a second study with the same name,
//! a change to a finished trial, the start of a running trial, and an incompatible distribution.

use super::entry::{LogEntry, OpCode, direction};
use crate::{Attributes, Distribution, StudySummary, Trial, TrialState};

/// All studies and trials of a journal.
pub(super) struct Replay {
    /// The `worker_id` of this storage's own entries.
    worker_id: String,
    studies: Vec<StudyRecord>,
    /// Trials by id, each with the index of its study.
    trials: Vec<(usize, Trial)>,
    /// The id of the trial that this storage's last entries created or started.
    pub last_own_trial: Option<u64>,
}

/// A study; deleted ones are kept because ids are counted.
pub(super) struct StudyRecord {
    pub summary: StudySummary,
    pub n_objectives: usize,
    is_deleted: bool,
    pub user_attrs: Attributes,
    pub system_attrs: Attributes,
    /// Trial ids by number.
    trials: Vec<usize>,
}

impl Replay {
    pub fn new(worker_id: String) -> Self {
        Self { worker_id, studies: Vec::new(), trials: Vec::new(), last_own_trial: None }
    }

    /// The studies that are not deleted.
    pub fn studies(&self) -> impl Iterator<Item = &StudyRecord> {
        self.studies.iter().filter(|study| !study.is_deleted)
    }

    /// A study, unless it is deleted.
    pub fn study(&self, id: u64) -> Option<&StudyRecord> {
        self.studies.get(id as usize).filter(|study| !study.is_deleted)
    }

    /// The trials of a study by number.
    pub fn trials<'a>(&'a self, study: &'a StudyRecord) -> impl Iterator<Item = &'a Trial> {
        study.trials.iter().map(|&id| &self.trials[id].1)
    }

    /// A trial and its study.
    pub fn trial(&self, id: u64) -> Option<(&StudyRecord, &Trial)> {
        self.trials.get(id as usize).map(|(study, trial)| (&self.studies[*study], trial))
    }

    /// The trial that this storage's last entries created or started.
    pub fn last_own_trial(&self) -> Option<Trial> {
        let (_, trial) = self.trial(self.last_own_trial?)?;
        Some(trial.clone())
    }

    /// The distribution of a parameter in the first trial of a study that has it.
    pub fn distribution(&self, study: &StudyRecord, name: &str) -> Option<&Distribution> {
        let first = study.trials.iter().find_map(|&id| self.trials[id].1.params.get(name));
        first.map(|(distribution, _)| distribution)
    }

    /// Applies one line. A line that cannot be parsed changes nothing and is an error.
    pub fn apply(&mut self, line: &str) -> Result<(), String> {
        let entry = LogEntry::parse(line)?;
        match entry.op()? {
            OpCode::CreateStudy => self.create_study(&entry)?,
            OpCode::DeleteStudy => {
                if let Some(study) = self.study_mut(&entry)? {
                    study.is_deleted = true;
                }
            }
            OpCode::StudyUserAttr | OpCode::StudySystemAttr => self.set_study_attr(&entry)?,
            OpCode::CreateTrial => self.create_trial(&entry)?,
            OpCode::Param => self.set_param(&entry)?,
            OpCode::StateValues => self.set_state(&entry)?,
            OpCode::IntermediateValue => {
                let report = entry.intermediate_value()?;
                if let Some(trial) = self.unfinished_trial_mut(&entry)? {
                    trial.intermediate_values.extend(report);
                }
            }
            OpCode::TrialUserAttr | OpCode::TrialSystemAttr => self.set_trial_attr(&entry)?,
            OpCode::DiscardTrials => {}
        }
        Ok(())
    }

    fn set_study_attr(&mut self, entry: &LogEntry) -> Result<(), String> {
        let Some(study) = self.study_mut(entry)? else { return Ok(()) };
        match entry.op()? {
            OpCode::StudyUserAttr => study.user_attrs.extend(entry.user_attr()?),
            _ => study.system_attrs.extend(entry.system_attr()?),
        }
        Ok(())
    }

    fn set_trial_attr(&mut self, entry: &LogEntry) -> Result<(), String> {
        let Some(trial) = self.unfinished_trial_mut(entry)? else { return Ok(()) };
        match entry.op()? {
            OpCode::TrialUserAttr => trial.user_attrs.extend(entry.user_attr()?),
            _ => trial.system_attrs.extend(entry.system_attr()?),
        }
        Ok(())
    }

    fn create_study(&mut self, entry: &LogEntry) -> Result<(), String> {
        let (name, directions) = entry.new_study()?;
        if self.studies().any(|study| study.summary.name == name) {
            return Ok(());
        }
        let direction = direction(&directions);
        self.studies.push(StudyRecord {
            summary: StudySummary { id: self.studies.len() as u64, name, direction },
            n_objectives: directions.len(),
            is_deleted: false,
            user_attrs: Attributes::new(),
            system_attrs: Attributes::new(),
            trials: Vec::new(),
        });
        Ok(())
    }

    /// The study of an entry, unless it is missing or deleted.
    fn study_mut(&mut self, entry: &LogEntry) -> Result<Option<&mut StudyRecord>, String> {
        let study = self.studies.get_mut(entry.study_id()? as usize);
        Ok(study.filter(|study| !study.is_deleted))
    }

    /// The trial of an entry, unless it is missing or finished.
    fn unfinished_trial_mut(&mut self, entry: &LogEntry) -> Result<Option<&mut Trial>, String> {
        let found = self.trials.get_mut(entry.trial_id()? as usize);
        Ok(found.map(|(_, trial)| trial).filter(|trial| !trial.state.is_finished()))
    }

    fn create_trial(&mut self, entry: &LogEntry) -> Result<(), String> {
        let id = self.trials.len();
        let mut trial = Trial {
            id: id as u64,
            number: 0,
            state: entry.state()?,
            value: entry.value(),
            params: entry.params()?,
            intermediate_values: entry.intermediate_values(),
            user_attrs: entry.user_attrs.clone().unwrap_or_default(),
            system_attrs: entry.system_attrs.clone().unwrap_or_default(),
            datetime_start: entry.datetime_start.clone(),
            datetime_complete: entry.datetime_complete.clone(),
        };
        let Some(study) = self.study_mut(entry)? else { return Ok(()) };
        trial.number = study.trials.len() as u64;
        study.trials.push(id);
        self.trials.push((entry.study_id()? as usize, trial));
        if entry.worker_id == self.worker_id {
            self.last_own_trial = Some(id as u64);
        }
        Ok(())
    }

    fn set_param(&mut self, entry: &LogEntry) -> Result<(), String> {
        let (name, param) = entry.param()?;
        let found = self.trial(entry.trial_id()?);
        let old = found.and_then(|(study, _)| self.distribution(study, &name));
        if old.is_none_or(|old| old.is_compatible(&param.0))
            && let Some(trial) = self.unfinished_trial_mut(entry)?
        {
            trial.params.insert(name, param);
        }
        Ok(())
    }

    fn set_state(&mut self, entry: &LogEntry) -> Result<(), String> {
        let (state, value) = (entry.state()?, entry.value());
        let is_own = entry.worker_id == self.worker_id;
        let Some(trial) = self.unfinished_trial_mut(entry)? else { return Ok(()) };
        if state == TrialState::Running {
            if trial.state == TrialState::Running {
                return Ok(());
            }
            trial.datetime_start = entry.datetime_start.clone();
        }
        if state.is_finished() {
            trial.datetime_complete = entry.datetime_complete.clone();
        }
        trial.state = state;
        trial.value = value.or(trial.value);
        let id = trial.id;
        if is_own && state == TrialState::Running {
            self.last_own_trial = Some(id);
        }
        Ok(())
    }
}

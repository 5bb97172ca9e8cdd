//! Replays the entries of a journal into studies and trials.
//!
//! Ids are not stored but counted: the id of a study is the number of studies created before it, and the id
//! of a trial is the number of trials created before it in all studies. All readers must therefore accept
//! and ignore exactly the same entries. As in Optuna 5, these are ignored: a study with the name of an
//! existing one, an entry for a missing or deleted study or a missing trial, a change to a finished trial, the start
//! of a running trial, setting a parameter with an incompatible distribution, and the discarding of trials.

use super::super::validation;
use super::entry::{self, LogEntry, NewParam, NewState, NewStudy, NewTrial, Report};
use super::entry::{StudyAttr, StudyId, TrialAttr};
use crate::{AttrKind, Attributes, Direction, Distribution, StudySummary, Trial, TrialState};

/// All studies and trials of a journal.
pub(super) struct Replay {
    /// The `worker_id` of this storage's own entries.
    worker_id: String,
    studies: Vec<StudyRecord>,
    /// Trials by id, each with the index of its study.
    trials: Vec<(usize, Trial)>,
    /// The id of the last trial that this storage has created or started since the caller reset this field; `None` if
    /// there is none.
    pub last_own_trial_id: Option<u64>,
}

/// A study; deleted ones are kept because ids are counted.
pub(super) struct StudyRecord {
    pub summary: StudySummary,
    pub n_objectives: usize,
    is_deleted: bool,
    /// User and system attributes.
    attrs: [Attributes; 2],
    /// Trial ids by number.
    trials: Vec<usize>,
}

impl StudyRecord {
    pub fn attrs(&self, kind: AttrKind) -> &Attributes {
        &self.attrs[kind as usize]
    }
}

impl Replay {
    pub fn new(worker_id: String) -> Self {
        Self { worker_id, studies: Vec::new(), trials: Vec::new(), last_own_trial_id: None }
    }

    /// The studies that are not deleted.
    pub fn studies(&self) -> impl Iterator<Item = &StudyRecord> {
        self.studies.iter().filter(|study| !study.is_deleted)
    }

    /// A study, unless it is missing or deleted.
    pub fn study(&self, id: u64) -> Option<&StudyRecord> {
        self.studies.get(id as usize).filter(|study| !study.is_deleted)
    }

    /// The trials of a study, ordered by number.
    pub fn trials<'a>(&'a self, study: &'a StudyRecord) -> impl Iterator<Item = &'a Trial> {
        study.trials.iter().map(|&id| &self.trials[id].1)
    }

    /// A trial and its study, even if the study is deleted; `None` if the trial does not exist.
    pub fn trial(&self, id: u64) -> Option<(&StudyRecord, &Trial)> {
        self.trials.get(id as usize).map(|(study, trial)| (&self.studies[*study], trial))
    }

    /// The trial with the id [`Self::last_own_trial_id`].
    pub fn last_own_trial(&self) -> Option<Trial> {
        let (_, trial) = self.trial(self.last_own_trial_id?)?;
        Some(trial.clone())
    }

    /// The distribution of a parameter in the first trial of a study that has it; `None` if no trial has it.
    pub fn distribution(&self, study: &StudyRecord, name: &str) -> Option<&Distribution> {
        let first = study.trials.iter().find_map(|&id| self.trials[id].1.params.get(name));
        first.map(|(distribution, _)| distribution)
    }

    /// Applies one line. An invalid line is an error and changes nothing.
    pub fn apply(&mut self, line: &str) -> Result<(), String> {
        let entry = LogEntry::parse(line)?;
        let (op, is_own) = (entry.op_code, entry.worker_id == self.worker_id);
        match op {
            entry::CREATE_STUDY => self.create_study(entry.fields()?),
            entry::DELETE_STUDY => {
                let StudyId { study_id } = entry.fields()?;
                if let Some(study) = self.study_mut(study_id) {
                    study.is_deleted = true;
                }
            }
            entry::STUDY_USER_ATTR | entry::STUDY_SYSTEM_ATTR => {
                let StudyAttr { study_id, attr } = entry.fields()?;
                if let Some(study) = self.study_mut(study_id) {
                    study.attrs[(op - entry::STUDY_USER_ATTR) as usize].extend(attr);
                }
            }
            entry::CREATE_TRIAL => self.create_trial(entry.fields()?, is_own)?,
            entry::SET_PARAM => self.set_param(entry.fields()?)?,
            entry::SET_STATE => self.set_state(entry.fields()?, is_own)?,
            entry::REPORT => {
                let Report { trial_id, step, intermediate_value } = entry.fields()?;
                if let Some(trial) = self.unfinished_trial_mut(trial_id) {
                    trial
                        .intermediate_values
                        .extend(intermediate_value.map(|value| (step, value.0)));
                }
            }
            entry::TRIAL_USER_ATTR | entry::TRIAL_SYSTEM_ATTR => {
                let TrialAttr { trial_id, attr } = entry.fields()?;
                match self.unfinished_trial_mut(trial_id) {
                    Some(trial) if op == entry::TRIAL_USER_ATTR => trial.user_attrs.extend(attr),
                    Some(trial) => trial.system_attrs.extend(attr),
                    None => {}
                }
            }
            entry::DISCARD_TRIALS => {}
            _ => return Err(format!("unknown op_code {op}; known: 0 to 10")),
        }
        Ok(())
    }

    fn create_study(&mut self, NewStudy { study_name: name, directions }: NewStudy) {
        if self.studies().any(|study| study.summary.name == name) {
            return;
        }
        // A study with several objectives has no direction.
        let direction = match directions[..] {
            [1] => Some(Direction::Minimize),
            [2] => Some(Direction::Maximize),
            _ => None,
        };
        self.studies.push(StudyRecord {
            summary: StudySummary { id: self.studies.len() as u64, name, direction },
            n_objectives: directions.len(),
            is_deleted: false,
            attrs: Default::default(),
            trials: Vec::new(),
        });
    }

    /// A study, unless it is missing or deleted.
    fn study_mut(&mut self, id: u64) -> Option<&mut StudyRecord> {
        self.studies.get_mut(id as usize).filter(|study| !study.is_deleted)
    }

    /// A trial, unless it is missing or finished.
    fn unfinished_trial_mut(&mut self, id: u64) -> Option<&mut Trial> {
        let found = self.trials.get_mut(id as usize).map(|(_, trial)| trial);
        found.filter(|trial| !trial.state.is_finished())
    }

    /// Adds a trial, unless its study is missing or deleted. `is_own`: whether this storage wrote the entry.
    fn create_trial(&mut self, new: NewTrial, is_own: bool) -> Result<(), String> {
        let (id, study_id) = (self.trials.len(), new.study_id);
        let mut trial = new.into_trial(id as u64)?;
        let Some(study) = self.study_mut(study_id) else { return Ok(()) };
        trial.number = study.trials.len() as u64;
        study.trials.push(id);
        self.trials.push((study_id as usize, trial));
        if is_own {
            self.last_own_trial_id = Some(id as u64);
        }
        Ok(())
    }

    /// Sets a parameter, unless the entry has to be ignored.
    fn set_param(&mut self, new: NewParam) -> Result<(), String> {
        let NewParam { trial_id, param_name: name, param_value_internal, distribution } = new;
        let param = validation::parse_param(&name, &distribution, param_value_internal.0)?;
        let found = self.trial(trial_id);
        let old = found.and_then(|(study, _)| self.distribution(study, &name));
        if old.is_none_or(|old| old.is_compatible(&param.0))
            && let Some(trial) = self.unfinished_trial_mut(trial_id)
        {
            trial.params.insert(name, param);
        }
        Ok(())
    }

    /// Changes the state of a trial, with its value and times, unless the entry has to be ignored. `is_own`:
    /// whether this storage wrote the entry.
    fn set_state(
        &mut self,
        NewState { trial_id, status }: NewState,
        is_own: bool,
    ) -> Result<(), String> {
        let (state, value) = (status.state()?, status.value());
        let Some(trial) = self.unfinished_trial_mut(trial_id) else { return Ok(()) };
        if state == TrialState::Running {
            if trial.state == TrialState::Running {
                return Ok(());
            }
            trial.datetime_start = status.datetime_start;
        }
        if state.is_finished() {
            trial.datetime_complete = status.datetime_complete;
        }
        trial.state = state;
        trial.value = value.or(trial.value);
        if is_own && state == TrialState::Running {
            self.last_own_trial_id = Some(trial_id);
        }
        Ok(())
    }
}

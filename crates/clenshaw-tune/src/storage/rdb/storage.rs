//! The `Storage` implementation of databases.

use super::super::validation::{self, retry_attrs};
use super::super::{AttrKind, StaleParams, Storage, StudySummary};
use super::connection::{Connection, SqlResult};
use super::{Access, Attempt, RdbStorage, read, write};
use crate::error::{Error, Result};
use crate::{Attributes, Direction, ParamValue, Params, Trial, TrialOutcome, TrialState};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

/// The largest step that the tables can store.
const MAX_STEP: u64 = i32::MAX as u64;

impl RdbStorage {
    /// The id of a study; `None` if it does not exist, and an error if its direction is not `expected`.
    fn find_study(
        &self,
        db: &mut dyn Connection,
        name: &str,
        expected: Direction,
    ) -> SqlResult<Option<u64>> {
        let found = read::studies(db, "WHERE s.study_name = $1", &[name.into()])?;
        let check = |(study, n_objectives): &(StudySummary, usize)| {
            let checked = validation::check_direction(study, *n_objectives, expected);
            checked.map_err(|problem| self.invalid(problem))
        };
        found.first().map(check).transpose()
    }

    /// Whether an old heartbeat means that its worker is dead. Returns `false` until two heartbeat intervals
    /// after a lost connection was reopened: other workers may have been unable to record heartbeats, too.
    fn heartbeats_are_reliable(&self) -> bool {
        let max_age = 2 * self.options.heartbeat_interval;
        self.lock_session().reopened.is_none_or(|reopened| reopened.elapsed() > max_age)
    }

    /// Marks stale trials as failed, and enqueues trials with their parameters if requested, in one
    /// transaction. Returns the ids of the failed trials.
    fn end_stale_trials(&self, study: u64, params: StaleParams) -> Result<Vec<u64>> {
        let use_heartbeats = self.heartbeats_are_reliable();
        let find = |db: &mut dyn Connection| self.stale_trials(db, study, use_heartbeats);
        let stale = self.transaction(Access::Read, |db, _| find(db))?;
        if stale.is_empty() {
            return Ok(stale);
        }
        self.transaction(Access::Write, |db, _| {
            self.lock_study(db, study)?;
            let mut failed = Vec::new();
            for id in find(db)? {
                if self.lock_trial(db, id)?.state != TrialState::Running {
                    continue;
                }
                write::finish(db, id, TrialState::Fail, None)?;
                failed.push(id);
                if params == StaleParams::Requeue
                    && let Some(attrs) = read::trial(db, id)?.as_ref().and_then(retry_attrs)
                {
                    self.new_trial(db, study, TrialState::Waiting, &attrs, Attempt::First)?;
                }
            }
            Ok(failed)
        })
    }
}

impl Storage for RdbStorage {
    fn studies(&self) -> Result<Vec<StudySummary>> {
        let studies = self.transaction(Access::Read, |db, _| read::studies(db, "", &[]))?;
        Ok(studies.into_iter().map(|(study, _)| study).collect())
    }

    fn open_study(&self, name: &str, direction: Direction) -> Result<u64> {
        write::check_name(name)?;
        let found = self.transaction(Access::Read, |db, _| self.find_study(db, name, direction))?;
        if let Some(id) = found {
            return Ok(id);
        }
        self.transaction(Access::Write, |db, _| {
            let sql = "INSERT INTO studies (study_name) VALUES ($1) \
                       ON CONFLICT DO NOTHING RETURNING study_id";
            if let Some(row) = db.query_first(sql, &[name.into()])? {
                let sql = "INSERT INTO study_directions (direction, study_id, objective) \
                           VALUES ($1, $2, 0)";
                let direction = direction.to_string().to_uppercase();
                db.execute(sql, &[direction.into(), row.u64(0)?.into()])?;
            }
            let found = self.find_study(db, name, direction)?;
            found.ok_or_else(|| self.invalid("the new study was not accepted".into()))
        })
    }

    fn study_attrs(&self, study: u64, kind: AttrKind) -> Result<Attributes> {
        self.transaction(Access::Read, |db, _| {
            self.check_study(db, study)?;
            read::attrs(db, &write::attr_table("study", kind), study)
        })
    }

    fn set_study_attrs(&self, study: u64, kind: AttrKind, attrs: &Attributes) -> Result<()> {
        self.transaction(Access::Write, |db, _| {
            self.lock_study(db, study)?;
            write::set_attrs(db, ("study", study), kind, attrs)
        })
    }

    fn create_trial(&self, study: u64) -> Result<Trial> {
        let attrs = self.worker_attrs();
        self.transaction(Access::Write, |db, attempt| {
            self.new_trial(db, study, TrialState::Running, &attrs, attempt)
        })
    }

    fn enqueue_trial(&self, study: u64, fixed: &BTreeMap<String, ParamValue>) -> Result<Trial> {
        let mut attrs = validation::fixed_params(fixed)?;
        attrs.extend(write::request_id());
        self.transaction(Access::Write, |db, attempt| {
            self.new_trial(db, study, TrialState::Waiting, &attrs, attempt)
        })
    }

    fn claim_waiting_trial(&self, study: u64) -> Result<Option<Trial>> {
        let attrs = self.worker_attrs();
        self.transaction(Access::Write, |db, attempt| self.claim(db, study, &attrs, attempt))
    }

    fn set_params(&self, trial: u64, params: &Params) -> Result<()> {
        self.transaction(Access::Write, |db, _| {
            // The study is locked before the trial, in the same order as when a trial is created: a
            // consistent order prevents deadlocks.
            let sql = "SELECT study_id FROM trials WHERE trial_id = $1";
            if let Some(row) = db.query_first(sql, &[trial.into()])? {
                self.lock_study(db, row.u64(0)?)?;
            }
            let locked = self.lock_unfinished(db, trial)?;
            self.check_params(db, &locked, params)?;
            params.iter().try_for_each(|(name, value)| write::set_param(db, trial, name, value))
        })
    }

    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()> {
        if !value.is_finite() {
            return Ok(());
        }
        if step > MAX_STEP {
            let (key, value) = ("step".to_owned(), step.to_string());
            return Err(Error::OutOfRange { key, value, allowed: format!("0 to {MAX_STEP}") });
        }
        self.transaction(Access::Write, |db, _| {
            self.lock_unfinished(db, trial)?;
            write::report(db, trial, step, value)
        })
    }

    fn set_trial_attrs(&self, trial: u64, kind: AttrKind, attrs: &Attributes) -> Result<()> {
        self.transaction(Access::Write, |db, _| {
            self.lock_unfinished(db, trial)?;
            write::set_attrs(db, ("trial", trial), kind, attrs)
        })
    }

    fn finish(&self, trial: u64, outcome: TrialOutcome) -> Result<TrialState> {
        let (state, value) = outcome.state_and_value();
        self.transaction(Access::Write, |db, _| {
            let locked = self.lock_trial(db, trial)?;
            if !locked.state.is_finished() {
                return write::finish(db, trial, state, value);
            }
            // An earlier attempt may have been committed before the connection was lost.
            match read::trial(db, trial)? {
                Some(stored) if (stored.state, stored.value) == (state, value) => Ok(()),
                _ => Err(self.finished_error(locked)),
            }
        })?;
        Ok(state)
    }

    fn trials(&self, study: u64) -> Result<Vec<Trial>> {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = finished.entry(study).or_default();
        let trials = self.transaction(Access::Read, |db, _| {
            self.check_study(db, study)?;
            read::trials(db, study, cached)
        })?;
        let finished = trials.iter().filter(|trial| trial.state.is_finished());
        *cached = finished.map(|trial| (trial.id, trial.clone())).collect();
        Ok(trials)
    }

    fn heartbeat_interval(&self) -> Duration {
        self.options.heartbeat_interval
    }

    fn record_heartbeat(&self, trial: u64) -> Result<()> {
        self.transaction(Access::Write, |db, _| write::record_heartbeat(db, trial))
    }

    fn fail_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        self.end_stale_trials(study, StaleParams::Drop)
    }

    fn requeue_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        self.end_stale_trials(study, StaleParams::Requeue)
    }
}

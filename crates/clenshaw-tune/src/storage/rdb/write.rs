//! Writes trials, and attributes of studies, to the tables. If [`RdbStorage::transaction`] repeats a call after a
//! lost connection, the call is not applied twice.

use super::super::worker::{WORKER, WorkerProcess};
use super::super::{AttrKind, clock, json, validation};
use super::connection::{Connection, SqlError, SqlResult};
use super::read::{self, state_name};
use super::{Attempt, RdbStorage};
use crate::error::{Error, Result};
use crate::{Attributes, Distribution, Params, Trial, TrialState};

/// The maximum length of names in the tables, in characters.
const MAX_NAME_LENGTH: usize = 512;

/// The system attribute by which a repeated call finds the trial that it created or started before.
const REQUEST_ID: &str = "clenshaw:request_id";

/// Rejects a name that is too long for the tables.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.chars().count() <= MAX_NAME_LENGTH {
        return Ok(());
    }
    let value = name.chars().take(40).chain(['.', '.', '.']).collect();
    let expected = format!("a name of at most {MAX_NAME_LENGTH} characters");
    Err(Error::BadValue { key: "name".into(), value, expected })
}

/// A trial that is locked until the transaction ends.
pub(super) struct LockedTrial {
    pub state: TrialState,
    number: u64,
    study_id: u64,
    study_name: String,
}

/// The table of attributes; `owner` is `study` or `trial`.
pub(super) fn attr_table(owner: &str, kind: AttrKind) -> String {
    match kind {
        AttrKind::User => format!("{owner}_user_attributes"),
        AttrKind::System => format!("{owner}_system_attributes"),
    }
}

/// Sets attributes of a study or trial; `owner` is a pair: `study` or `trial`, and its id.
pub(super) fn set_attrs(
    db: &mut dyn Connection,
    owner: (&str, u64),
    kind: AttrKind,
    attrs: &Attributes,
) -> SqlResult<()> {
    let (table, column) = (attr_table(owner.0, kind), format!("{}_id", owner.0));
    let sql = format!(
        "INSERT INTO {table} ({column}, \"key\", value_json) VALUES ($1, $2, $3) \
         ON CONFLICT ({column}, \"key\") DO UPDATE SET value_json = excluded.value_json"
    );
    for (name, value) in attrs {
        check_name(name)?;
        db.execute(&sql, &[owner.1.into(), name.as_str().into(), value.to_string().into()])?;
    }
    Ok(())
}

/// Sets a parameter.
pub(super) fn set_param(
    db: &mut dyn Connection,
    trial: u64,
    name: &str,
    (distribution, internal): &(Distribution, f64),
) -> SqlResult<()> {
    let sql = "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) \
               VALUES ($1, $2, $3, $4) ON CONFLICT (trial_id, param_name) DO UPDATE \
               SET param_value = excluded.param_value, \
               distribution_json = excluded.distribution_json";
    let distribution = distribution.to_json();
    db.execute(sql, &[trial.into(), name.into(), (*internal).into(), distribution.into()])
}

/// Stores an intermediate value, which must be finite.
pub(super) fn report(db: &mut dyn Connection, trial: u64, step: u64, value: f64) -> SqlResult<()> {
    let sql = "INSERT INTO trial_intermediate_values \
               (trial_id, step, intermediate_value, intermediate_value_type) \
               VALUES ($1, $2, $3, 'FINITE') ON CONFLICT (trial_id, step) DO UPDATE \
               SET intermediate_value = excluded.intermediate_value, \
               intermediate_value_type = excluded.intermediate_value_type";
    db.execute(sql, &[trial.into(), step.into(), value.into()])
}

/// Stores the final state, value and end time of a trial.
pub(super) fn finish(
    db: &mut dyn Connection,
    trial: u64,
    state: TrialState,
    value: Option<f64>,
) -> SqlResult<()> {
    if let Some(value) = value {
        let sql = "INSERT INTO trial_values (trial_id, objective, value, value_type) \
                   VALUES ($1, 0, $2, 'FINITE') ON CONFLICT (trial_id, objective) DO UPDATE \
                   SET value = excluded.value, value_type = excluded.value_type";
        db.execute(sql, &[trial.into(), value.into()])?;
    }
    let now = db.dialect().now;
    let sql =
        format!("UPDATE trials SET state = $1, datetime_complete = {now} WHERE trial_id = $2");
    db.execute(&sql, &[state_name(state).into(), trial.into()])
}

/// Records a heartbeat of a trial if it is running.
pub(super) fn record_heartbeat(db: &mut dyn Connection, trial: u64) -> SqlResult<()> {
    let sql = format!(
        "INSERT INTO trial_heartbeats (trial_id, heartbeat) SELECT trial_id, {} FROM trials \
         WHERE trial_id = $1 AND state = 'RUNNING' \
         ON CONFLICT (trial_id) DO UPDATE SET heartbeat = excluded.heartbeat",
        db.dialect().heartbeat_now
    );
    db.execute(&sql, &[trial.into()])
}

impl RdbStorage {
    /// Returns an error if a study does not exist.
    pub(super) fn check_study(&self, db: &mut dyn Connection, study: u64) -> SqlResult<()> {
        self.select_study(db, study, "")
    }

    /// Locks a study until the transaction ends, so that no other transaction creates a trial in it; returns
    /// an error if the study does not exist.
    pub(super) fn lock_study(&self, db: &mut dyn Connection, study: u64) -> SqlResult<()> {
        let lock = db.dialect().lock_rows;
        self.select_study(db, study, lock)
    }

    /// Selects a study with the clause `lock`; returns an error if it does not exist.
    fn select_study(&self, db: &mut dyn Connection, study: u64, lock: &str) -> SqlResult<()> {
        let sql = format!("SELECT 1 FROM studies WHERE study_id = $1{lock}");
        let found = db.query_first(&sql, &[study.into()])?;
        found.map(drop).ok_or_else(|| self.invalid(validation::missing_study(study)))
    }

    /// Locks a trial until the transaction ends, or returns an error if it does not exist.
    pub(super) fn lock_trial(&self, db: &mut dyn Connection, trial: u64) -> SqlResult<LockedTrial> {
        let lock = db.dialect().lock_rows;
        let sql = format!("SELECT study_id, state, number FROM trials WHERE trial_id = $1{lock}");
        let row = db.query_first(&sql, &[trial.into()])?;
        let row = row.ok_or_else(|| self.invalid(validation::missing_trial(trial)))?;
        let (study_id, state, number) =
            (row.u64(0)?, read::parse_state(row.text(1)?)?, row.u64(2)?);
        let sql = "SELECT study_name FROM studies WHERE study_id = $1";
        let name = db.query_first(sql, &[study_id.into()])?;
        let name = name.ok_or_else(|| self.invalid(validation::missing_study(study_id)))?;
        Ok(LockedTrial { state, number, study_id, study_name: name.text(0)?.to_owned() })
    }

    /// Locks a trial, or returns an error if it does not exist or is finished.
    pub(super) fn lock_unfinished(
        &self,
        db: &mut dyn Connection,
        trial: u64,
    ) -> SqlResult<LockedTrial> {
        let locked = self.lock_trial(db, trial)?;
        if locked.state.is_finished() { Err(self.finished_error(locked)) } else { Ok(locked) }
    }

    /// The error for changing a finished trial.
    pub(super) fn finished_error(&self, trial: LockedTrial) -> SqlError {
        let LockedTrial { number, study_name: study, .. } = trial;
        SqlError::Invalid(Error::TrialFinished { location: self.url.to_string(), study, number })
    }

    /// Creates a trial, or finds the one that an earlier attempt at this call created.
    pub(super) fn new_trial(
        &self,
        db: &mut dyn Connection,
        study: u64,
        state: TrialState,
        system_attrs: &Attributes,
        attempt: Attempt,
    ) -> SqlResult<Trial> {
        self.lock_study(db, study)?;
        let id = match find_by_request_id(db, system_attrs, attempt)? {
            Some(id) => id,
            None => insert_trial(db, study, state)?,
        };
        set_attrs(db, ("trial", id), AttrKind::System, system_attrs)?;
        self.read_trial(db, id)
    }

    /// Starts the first waiting trial, or finds the one that an earlier attempt at this call started; `None`
    /// if no trial is waiting.
    pub(super) fn claim(
        &self,
        db: &mut dyn Connection,
        study: u64,
        system_attrs: &Attributes,
        attempt: Attempt,
    ) -> SqlResult<Option<Trial>> {
        self.lock_study(db, study)?;
        // Another worker may have marked the trial as failed since the first attempt.
        let found = match find_by_request_id(db, system_attrs, attempt)? {
            Some(id) if self.read_trial(db, id)?.state.is_finished() => None,
            found => found,
        };
        let Some(id) = found.map_or_else(|| lock_first_waiting(db, study), |id| Ok(Some(id)))?
        else {
            return Ok(None);
        };
        let now = db.dialect().now;
        let sql =
            format!("UPDATE trials SET state = $1, datetime_start = {now} WHERE trial_id = $2");
        db.execute(&sql, &[state_name(TrialState::Running).into(), id.into()])?;
        set_attrs(db, ("trial", id), AttrKind::System, system_attrs)?;
        self.read_trial(db, id).map(Some)
    }

    /// Reads a trial; returns an error if it does not exist.
    fn read_trial(&self, db: &mut dyn Connection, id: u64) -> SqlResult<Trial> {
        read::trial(db, id)?.ok_or_else(|| self.invalid(validation::missing_trial(id)))
    }

    /// The system attributes of a trial that this worker runs: the worker and a request id.
    pub(super) fn worker_attrs(&self) -> Attributes {
        let mut attrs = WorkerProcess::to_attrs(self.process.as_ref());
        attrs.extend(request_id());
        attrs
    }

    /// Rejects invalid names and values, and distributions that are incompatible with those of the study.
    pub(super) fn check_params(
        &self,
        db: &mut dyn Connection,
        trial: &LockedTrial,
        params: &Params,
    ) -> SqlResult<()> {
        let sql = "SELECT p.distribution_json FROM trial_params p \
                   JOIN trials t ON t.trial_id = p.trial_id \
                   WHERE t.study_id = $1 AND p.param_name = $2 ORDER BY p.trial_id LIMIT 1";
        for (name, (new, internal)) in params {
            check_name(name)?;
            validation::check_param(name, new, *internal)?;
            let Some(row) = db.query_first(sql, &[trial.study_id.into(), name.as_str().into()])?
            else {
                continue;
            };
            let old = Distribution::from_json(row.text(0)?)?;
            if let Some(problem) = validation::conflict(name, &trial.study_name, &old, new) {
                return Err(self.invalid(problem));
            }
        }
        Ok(())
    }

    /// The ids of the running trials of a study whose worker process has certainly ended, see
    /// [`WorkerProcess::has_died`], and, if `use_heartbeats` is set, of those whose heartbeats have stopped.
    pub(super) fn stale_trials(
        &self,
        db: &mut dyn Connection,
        study: u64,
        use_heartbeats: bool,
    ) -> SqlResult<Vec<u64>> {
        let mut stale = Vec::new();
        if use_heartbeats {
            let age = db.dialect().heartbeat_age;
            let sql = format!(
                "SELECT t.trial_id FROM trials t JOIN trial_heartbeats h ON h.trial_id = t.trial_id \
                 WHERE t.study_id = $1 AND t.state = 'RUNNING' AND {age} > $2"
            );
            let max_age = 2.0 * self.options.heartbeat_interval.as_secs_f64();
            for row in db.query(&sql, &[study.into(), max_age.into()])? {
                stale.push(row.u64(0)?);
            }
        }
        let Some(process) = &self.process else { return Ok(stale) };
        let sql = "SELECT t.trial_id, a.value_json FROM trials t \
                   JOIN trial_system_attributes a ON a.trial_id = t.trial_id \
                   WHERE t.study_id = $1 AND t.state = 'RUNNING' AND a.\"key\" = $2";
        for row in db.query(sql, &[study.into(), WORKER.into()])? {
            let worker = json::parse(row.text(1)?).unwrap_or_default();
            if WorkerProcess::has_died(worker, process) {
                stale.push(row.u64(0)?);
            }
        }
        stale.sort_unstable();
        stale.dedup();
        Ok(stale)
    }
}

/// A new request id, as a system attribute.
pub(super) fn request_id() -> Attributes {
    [(REQUEST_ID.to_owned(), clock::unique_id().into())].into()
}

/// The trial that an earlier attempt at this call created or started; `None` if there is none.
fn find_by_request_id(
    db: &mut dyn Connection,
    attrs: &Attributes,
    attempt: Attempt,
) -> SqlResult<Option<u64>> {
    let id = attrs.get(REQUEST_ID).filter(|_| attempt == Attempt::Retry);
    let Some(id) = id else { return Ok(None) };
    let sql = "SELECT trial_id FROM trial_system_attributes WHERE \"key\" = $1 AND value_json = $2";
    let row = db.query_first(sql, &[REQUEST_ID.into(), id.to_string().into()])?;
    row.map(|row| row.u64(0)).transpose()
}

/// Inserts a trial and returns its id. Its number is the count of trials, so the study must be locked.
fn insert_trial(db: &mut dyn Connection, study: u64, state: TrialState) -> SqlResult<u64> {
    let start = if state == TrialState::Running { db.dialect().now } else { "NULL" };
    let sql = format!(
        "INSERT INTO trials (number, study_id, state, datetime_start) VALUES (\
         (SELECT COUNT(*) FROM trials WHERE study_id = $1), $1, $2, {start}) RETURNING trial_id"
    );
    let row = db.query_first(&sql, &[study.into(), state_name(state).into()])?;
    row.ok_or_else(|| SqlError::Rejected("the new trial has no id".into()))?.u64(0)
}

/// Finds and locks the first waiting trial that no other transaction has locked; `None` if there is none.
fn lock_first_waiting(db: &mut dyn Connection, study: u64) -> SqlResult<Option<u64>> {
    let sql = format!(
        "SELECT trial_id FROM trials WHERE study_id = $1 AND state = 'WAITING' \
         ORDER BY trial_id LIMIT 1{}",
        db.dialect().lock_rows_skip_locked
    );
    db.query_first(&sql, &[study.into()])?.map(|row| row.u64(0)).transpose()
}

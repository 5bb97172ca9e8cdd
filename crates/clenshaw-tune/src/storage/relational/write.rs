//! What we write, each part of a transaction; all of it may be written twice.

use super::super::worker::{WORKER, Worker};
use super::super::{Notes, clock, json, rules};
use super::connection::{Cell, Connection, Fault, Told};
use super::read::{self, state_word};
use super::{Attempt, Relational};
use crate::error::{Error, Result};
use crate::{Attributes, Distribution, Params, State, Trial};

/// The longest name that the tables hold, in characters.
const LONGEST_NAME: usize = 512;

/// The system attribute under which a call finds again what it made when its answer was lost.
const TICKET: &str = "clenshaw:ticket";

/// Refuses a name that the tables would cut or refuse.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.chars().count() <= LONGEST_NAME {
        return Ok(());
    }
    let value = name.chars().take(40).chain(['.', '.', '.']).collect();
    let expected = format!("a name of at most {LONGEST_NAME} characters");
    Err(Error::BadValue { key: "name".into(), value, expected })
}

/// A trial that may change, and its study.
pub(super) struct Open {
    pub study: u64,
    pub study_name: String,
}

/// The table of notes of studies or trials.
pub(super) fn table(owner: &str, notes: Notes) -> String {
    match notes {
        Notes::User => format!("{owner}_user_attributes"),
        Notes::System => format!("{owner}_system_attributes"),
    }
}

/// Notes about a study or a trial, in place of earlier ones.
pub(super) fn note(
    to: &mut dyn Connection,
    owner: (&str, u64),
    notes: Notes,
    attrs: &Attributes,
) -> Told<()> {
    let (table, column) = (table(owner.0, notes), format!("{}_id", owner.0));
    let sql = format!(
        "INSERT INTO {table} ({column}, \"key\", value_json) VALUES ($1, $2, $3) \
         ON CONFLICT ({column}, \"key\") DO UPDATE SET value_json = excluded.value_json"
    );
    for (name, value) in attrs {
        check_name(name)?;
        to.rows(&sql, &[owner.1.into(), name.as_str().into(), value.to_string().into()])?;
    }
    Ok(())
}

/// Sets a parameter.
pub(super) fn param(
    to: &mut dyn Connection,
    trial: u64,
    name: &str,
    (distribution, internal): &(Distribution, f64),
) -> Told<()> {
    let sql = "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) \
               VALUES ($1, $2, $3, $4) ON CONFLICT (trial_id, param_name) DO UPDATE \
               SET param_value = excluded.param_value, \
               distribution_json = excluded.distribution_json";
    let values = [trial.into(), name.into(), (*internal).into(), distribution.to_json().into()];
    to.rows(sql, &values).map(drop)
}

/// A report, which must be finite.
pub(super) fn report(to: &mut dyn Connection, trial: u64, step: u64, value: f64) -> Told<()> {
    let sql = "INSERT INTO trial_intermediate_values \
               (trial_id, step, intermediate_value, intermediate_value_type) \
               VALUES ($1, $2, $3, 'FINITE') ON CONFLICT (trial_id, step) DO UPDATE \
               SET intermediate_value = excluded.intermediate_value, \
               intermediate_value_type = excluded.intermediate_value_type";
    to.rows(sql, &[trial.into(), step.into(), value.into()]).map(drop)
}

/// Ends a trial now.
pub(super) fn end(
    to: &mut dyn Connection,
    trial: u64,
    state: State,
    value: Option<f64>,
) -> Told<()> {
    if let Some(value) = value {
        let sql = "INSERT INTO trial_values (trial_id, objective, value, value_type) \
                   VALUES ($1, 0, $2, 'FINITE') ON CONFLICT (trial_id, objective) DO UPDATE \
                   SET value = excluded.value, value_type = excluded.value_type";
        to.rows(sql, &[trial.into(), value.into()])?;
    }
    let now = to.dialect().now;
    let sql =
        format!("UPDATE trials SET state = $1, datetime_complete = {now} WHERE trial_id = $2");
    to.rows(&sql, &[state_word(state).into(), trial.into()]).map(drop)
}

/// A sign of life of a trial, if it runs.
pub(super) fn beat(to: &mut dyn Connection, trial: u64) -> Told<()> {
    let sql = format!(
        "INSERT INTO trial_heartbeats (trial_id, heartbeat) SELECT trial_id, {} FROM trials \
         WHERE trial_id = $1 AND state = 'RUNNING' \
         ON CONFLICT (trial_id) DO UPDATE SET heartbeat = excluded.heartbeat",
        to.dialect().beat
    );
    to.rows(&sql, &[trial.into()]).map(drop)
}

impl Relational {
    /// Refuses a study that is not there.
    pub(super) fn has_study(&self, to: &mut dyn Connection, study: u64) -> Told<()> {
        let found = to.first("SELECT 1 FROM studies WHERE study_id = $1", &[study.into()])?;
        found.map(drop).ok_or_else(|| self.wrong(rules::no_study(study)))
    }

    /// Keeps others from making trials of a study until the transaction ends; its name.
    pub(super) fn lock_study(&self, to: &mut dyn Connection, study: u64) -> Told<String> {
        let lock = to.dialect().lock;
        let sql = format!("SELECT study_name FROM studies WHERE study_id = $1{lock}");
        match to.first(&sql, &[study.into()])? {
            Some(row) => Ok(row.text(0)?.to_owned()),
            None => Err(self.wrong(rules::no_study(study))),
        }
    }

    /// A trial that is there, whatever its state; nobody else changes it until the transaction ends.
    pub(super) fn lock_trial(&self, to: &mut dyn Connection, trial: u64) -> Told<(State, Open)> {
        let lock = to.dialect().lock;
        let sql = format!("SELECT study_id, state FROM trials WHERE trial_id = $1{lock}");
        let row = to.first(&sql, &[trial.into()])?;
        let row = row.ok_or_else(|| self.wrong(rules::no_trial(trial)))?;
        let (study, state) = (row.whole(0)?, read::state(row.text(1)?)?);
        let name =
            to.first("SELECT study_name FROM studies WHERE study_id = $1", &[study.into()])?;
        let name = name.ok_or_else(|| self.wrong(rules::no_study(study)))?;
        Ok((state, Open { study, study_name: name.text(0)?.to_owned() }))
    }

    /// A trial that may change.
    pub(super) fn open_trial(&self, to: &mut dyn Connection, trial: u64) -> Told<Open> {
        let (state, open) = self.lock_trial(to, trial)?;
        if state.is_finished() {
            return Err(self.finished(to, trial, &open));
        }
        Ok(open)
    }

    /// That a trial is finished.
    pub(super) fn finished(&self, to: &mut dyn Connection, trial: u64, open: &Open) -> Fault {
        let number = to.first("SELECT number FROM trials WHERE trial_id = $1", &[trial.into()]);
        match number.and_then(|row| row.map(|row| row.whole(0)).transpose()) {
            Ok(number) => {
                self.wrong(rules::is_finished(number.unwrap_or_default(), &open.study_name))
            }
            Err(fault) => fault,
        }
    }

    /// Makes a trial, or finds the one that this call has made already.
    pub(super) fn make_trial(
        &self,
        to: &mut dyn Connection,
        study: u64,
        state: State,
        attrs: &Attributes,
        attempt: Attempt,
    ) -> Told<Trial> {
        self.lock_study(to, study)?;
        let id = match found(to, attrs, attempt)? {
            Some(id) => id,
            None => insert_trial(to, study, state)?,
        };
        note(to, ("trial", id), Notes::System, attrs)?;
        self.one(to, id)
    }

    /// Takes the first waiting trial, or finds the one that this call has taken already.
    pub(super) fn claim(
        &self,
        to: &mut dyn Connection,
        study: u64,
        attrs: &Attributes,
        attempt: Attempt,
    ) -> Told<Option<Trial>> {
        self.lock_study(to, study)?;
        let found = found(to, attrs, attempt)?;
        let Some(id) = found.map_or_else(|| first_waiting(to, study), |id| Ok(Some(id)))? else {
            return Ok(None);
        };
        let now = to.dialect().now;
        let sql =
            format!("UPDATE trials SET state = $1, datetime_start = {now} WHERE trial_id = $2");
        to.rows(&sql, &[state_word(State::Running).into(), id.into()])?;
        note(to, ("trial", id), Notes::System, attrs)?;
        self.one(to, id).map(Some)
    }

    fn one(&self, to: &mut dyn Connection, id: u64) -> Told<Trial> {
        read::trial(to, id)?.ok_or_else(|| self.wrong(rules::no_trial(id)))
    }

    /// What a trial of this worker carries: who runs it, and the ticket of this call.
    pub(super) fn signed(&self) -> Attributes {
        let mut attrs = Worker::signature(self.me.as_ref());
        attrs.extend(self.ticketed());
        attrs
    }

    /// The ticket of this call.
    pub(super) fn ticketed(&self) -> Attributes {
        [(TICKET.to_owned(), clock::unique_id().into())].into()
    }

    /// Refuses parameters that do not go with those that the study has.
    pub(super) fn refuse_conflicts(
        &self,
        to: &mut dyn Connection,
        open: &Open,
        params: &Params,
    ) -> Told<()> {
        let sql = "SELECT p.distribution_json FROM trial_params p \
                   JOIN trials t ON t.trial_id = p.trial_id \
                   WHERE t.study_id = $1 AND p.param_name = $2 ORDER BY p.trial_id LIMIT 1";
        for (name, (new, internal)) in params {
            check_name(name)?;
            rules::check_param(name, new, *internal)?;
            let Some(row) = to.first(sql, &[open.study.into(), name.as_str().into()])? else {
                continue;
            };
            let old = Distribution::from_json(row.text(0)?)?;
            if let Some(problem) = rules::conflict(name, &open.study_name, &old, new) {
                return Err(self.wrong(problem));
            }
        }
        Ok(())
    }

    /// The running trials of a study that nobody works on any more: their heartbeats have stopped, or
    /// their worker was a process of this machine and is gone. Heartbeats count only if `heard`.
    pub(super) fn dead(&self, to: &mut dyn Connection, study: u64, heard: bool) -> Told<Vec<u64>> {
        let mut dead = Vec::new();
        if heard {
            let age = to.dialect().age;
            let sql = format!(
                "SELECT t.trial_id FROM trials t JOIN trial_heartbeats h ON h.trial_id = t.trial_id \
                 WHERE t.study_id = $1 AND t.state = 'RUNNING' AND {age} > $2"
            );
            let grace = 2.0 * self.habits.beat.as_secs_f64();
            for row in to.rows(&sql, &[study.into(), grace.into()])? {
                dead.push(row.whole(0)?);
            }
        }
        let Some(me) = &self.me else { return Ok(dead) };
        let sql = "SELECT t.trial_id, a.value_json FROM trials t \
                   JOIN trial_system_attributes a ON a.trial_id = t.trial_id \
                   WHERE t.study_id = $1 AND t.state = 'RUNNING' AND a.\"key\" = $2";
        for row in to.rows(sql, &[study.into(), WORKER.into()])? {
            let signed = json::parse(row.text(1)?).unwrap_or_default();
            if Worker::has_died(signed, me) {
                dead.push(row.whole(0)?);
            }
        }
        dead.sort_unstable();
        dead.dedup();
        Ok(dead)
    }
}

/// The trial that an earlier attempt of the same call has made or taken.
fn found(to: &mut dyn Connection, attrs: &Attributes, attempt: Attempt) -> Told<Option<u64>> {
    let ticket = attrs.get(TICKET).filter(|_| attempt == Attempt::Again);
    let Some(ticket) = ticket else { return Ok(None) };
    let sql = "SELECT trial_id FROM trial_system_attributes WHERE \"key\" = $1 AND value_json = $2";
    let row = to.first(sql, &[TICKET.into(), ticket.to_string().into()])?;
    row.map(|row| row.whole(0)).transpose()
}

/// A new trial, whose number is that of the trials there are; the study must be locked.
fn insert_trial(to: &mut dyn Connection, study: u64, state: State) -> Told<u64> {
    let started = if state == State::Running { to.dialect().now } else { "NULL" };
    let sql = format!(
        "INSERT INTO trials (number, study_id, state, datetime_start) VALUES (\
         (SELECT COUNT(*) FROM trials WHERE study_id = $1), $1, $2, {started}) RETURNING trial_id"
    );
    let row = to.first(&sql, &[study.into(), state_word(state).into()])?;
    row.ok_or_else(|| Fault::Refused("the new trial has no id".into()))?.whole(0)
}

/// The first trial that waits and that nobody else is about to take.
fn first_waiting(to: &mut dyn Connection, study: u64) -> Told<Option<u64>> {
    let sql = format!(
        "SELECT trial_id FROM trials WHERE study_id = $1 AND state = 'WAITING' \
         ORDER BY trial_id LIMIT 1{}",
        to.dialect().lock_free
    );
    to.first(&sql, &[Cell::from(study)])?.map(|row| row.whole(0)).transpose()
}

//! A database as a storage: every call is one transaction.

use super::super::{Notes, Storage, Study, rules};
use super::connection::{Connection, Told};
use super::{Purpose, Relational, read, write};
use crate::error::{Error, Result};
use crate::{Attributes, Choice, Direction, Ending, Params, State, Trial};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

/// The largest step that the tables hold.
const LAST_STEP: u64 = i32::MAX as u64;

impl Relational {
    /// The id of a study, if it is there and has this direction.
    fn find(&self, to: &mut dyn Connection, name: &str, asked: Direction) -> Told<Option<u64>> {
        let found = read::studies(to, "WHERE s.study_name = $1", &[name.into()])?;
        let check = |(study, n): &(Study, usize)| {
            rules::check_direction(study, *n, asked).map_err(|problem| self.wrong(problem))
        };
        found.first().map(check).transpose()
    }

    /// Whether the database was there long enough for the living to have said so.
    fn has_listened(&self) -> bool {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.returned.is_none_or(|since| since.elapsed() > 2 * self.habits.beat)
    }
}

impl Storage for Relational {
    fn studies(&self) -> Result<Vec<Study>> {
        let studies = self.act(Purpose::Look, |to, _| read::studies(to, "", &[]))?;
        Ok(studies.into_iter().map(|(study, _)| study).collect())
    }

    fn study(&self, name: &str, direction: Direction) -> Result<u64> {
        write::check_name(name)?;
        if let Some(id) = self.act(Purpose::Look, |to, _| self.find(to, name, direction))? {
            return Ok(id);
        }
        self.act(Purpose::Change, |to, _| {
            let sql = "INSERT INTO studies (study_name) VALUES ($1) \
                       ON CONFLICT DO NOTHING RETURNING study_id";
            if let Some(row) = to.first(sql, &[name.into()])? {
                let sql = "INSERT INTO study_directions (direction, study_id, objective) \
                           VALUES ($1, $2, 0)";
                let direction = read::direction_word(direction);
                to.rows(sql, &[direction.into(), row.whole(0)?.into()])?;
            }
            let found = self.find(to, name, direction)?;
            found.ok_or_else(|| self.wrong("the new study was not accepted".into()))
        })
    }

    fn study_attrs(&self, study: u64, notes: Notes) -> Result<Attributes> {
        self.act(Purpose::Look, |to, _| {
            self.has_study(to, study)?;
            read::notes(to, &write::table("study", notes), study)
        })
    }

    fn set_study_attrs(&self, study: u64, notes: Notes, attrs: &Attributes) -> Result<()> {
        self.act(Purpose::Change, |to, _| {
            self.lock_study(to, study)?;
            write::note(to, ("study", study), notes, attrs)
        })
    }

    fn create_trial(&self, study: u64) -> Result<Trial> {
        let attrs = self.signed();
        self.act(Purpose::Change, |to, attempt| {
            self.make_trial(to, study, State::Running, &attrs, attempt)
        })
    }

    fn enqueue(&self, study: u64, fixed: &BTreeMap<String, Choice>) -> Result<Trial> {
        let mut attrs = rules::chosen(fixed)?;
        attrs.extend(self.ticketed());
        self.act(Purpose::Change, |to, attempt| {
            self.make_trial(to, study, State::Waiting, &attrs, attempt)
        })
    }

    fn claim_waiting(&self, study: u64) -> Result<Option<Trial>> {
        let attrs = self.signed();
        self.act(Purpose::Change, |to, attempt| self.claim(to, study, &attrs, attempt))
    }

    fn set_params(&self, trial: u64, params: &Params) -> Result<()> {
        self.act(Purpose::Change, |to, _| {
            // The study first, as whoever makes a trial does: those who lock in one order do not wait
            // for each other.
            let row =
                to.first("SELECT study_id FROM trials WHERE trial_id = $1", &[trial.into()])?;
            if let Some(row) = row {
                self.lock_study(to, row.whole(0)?)?;
            }
            let open = self.open_trial(to, trial)?;
            self.refuse_conflicts(to, &open, params)?;
            params.iter().try_for_each(|(name, value)| write::param(to, trial, name, value))
        })
    }

    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()> {
        if !value.is_finite() {
            return Ok(());
        }
        if step > LAST_STEP {
            let (key, value) = ("step".to_owned(), step.to_string());
            return Err(Error::OutOfRange { key, value, allowed: format!("0..={LAST_STEP}") });
        }
        self.act(Purpose::Change, |to, _| {
            self.open_trial(to, trial)?;
            write::report(to, trial, step, value)
        })
    }

    fn set_trial_attrs(&self, trial: u64, notes: Notes, attrs: &Attributes) -> Result<()> {
        self.act(Purpose::Change, |to, _| {
            self.open_trial(to, trial)?;
            write::note(to, ("trial", trial), notes, attrs)
        })
    }

    fn finish(&self, trial: u64, ending: Ending) -> Result<State> {
        let (state, value) = ending.kept();
        self.act(Purpose::Change, |to, _| {
            let (now, open) = self.lock_trial(to, trial)?;
            if !now.is_finished() {
                return write::end(to, trial, state, value);
            }
            // An earlier attempt whose answer was lost.
            match read::trial(to, trial)? {
                Some(kept) if (kept.state, kept.value) == (state, value) => Ok(()),
                _ => Err(self.finished(to, trial, &open)),
            }
        })?;
        Ok(state)
    }

    fn trials(&self, study: u64) -> Result<Vec<Trial>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(study).or_default();
        let trials = self.act(Purpose::Look, |to, _| {
            self.has_study(to, study)?;
            read::trials(to, study, known)
        })?;
        let finished = trials.iter().filter(|trial| trial.state.is_finished());
        *known = finished.map(|trial| (trial.id, trial.clone())).collect();
        Ok(trials)
    }

    fn interval(&self) -> Duration {
        self.habits.beat
    }

    fn beat(&self, trial: u64) -> Result<()> {
        self.act(Purpose::Change, |to, _| write::beat(to, trial))
    }

    fn reap_dead(&self, study: u64) -> Result<Vec<u64>> {
        let heard = self.has_listened();
        let seen = self.act(Purpose::Look, |to, _| self.dead(to, study, heard))?;
        if seen.is_empty() {
            return Ok(seen);
        }
        self.act(Purpose::Change, |to, _| {
            self.lock_study(to, study)?;
            let mut reaped = Vec::new();
            for id in self.dead(to, study, heard)? {
                let (state, _) = self.lock_trial(to, id)?;
                if state == State::Running {
                    write::end(to, id, State::Fail, None)?;
                    reaped.push(id);
                }
            }
            Ok(reaped)
        })
    }
}

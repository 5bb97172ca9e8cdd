//! Reads studies and trials from the tables.

use super::super::{json, validation};
use super::connection::{Connection, SqlError, SqlResult, SqlRow, SqlValue};
use crate::{Attributes, Direction, StudySummary, Trial, TrialState};
use std::collections::BTreeMap;

/// If more trials than this are read, they are selected by a range of ids instead of a list.
const MAX_LISTED: usize = 500;

/// The names of states in the tables, in the order of [`TrialState::ALL`].
const STATE_NAMES: [&str; 5] = ["RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"];

/// The name of a state in the tables.
pub(super) fn state_name(state: TrialState) -> &'static str {
    STATE_NAMES[state as usize]
}

/// Parses the name of a state in the tables.
pub(super) fn parse_state(name: &str) -> SqlResult<TrialState> {
    let code = STATE_NAMES.iter().position(|known| *known == name);
    let unknown = || SqlError::Rejected(format!("unknown trial state `{name}`"));
    code.map(|code| TrialState::ALL[code]).ok_or_else(unknown)
}

/// Returns studies ordered by id, each with the number of its objectives. `filter` is a `WHERE` clause or
/// empty.
pub(super) fn studies(
    db: &mut dyn Connection,
    filter: &str,
    params: &[SqlValue],
) -> SqlResult<Vec<(StudySummary, usize)>> {
    let sql = format!(
        "SELECT s.study_id, s.study_name, d.direction FROM studies s \
         LEFT JOIN study_directions d ON d.study_id = s.study_id {filter} \
         ORDER BY s.study_id, d.objective"
    );
    let mut studies: Vec<(StudySummary, usize)> = Vec::new();
    for row in db.query(&sql, params)? {
        let id = row.u64(0)?;
        if studies.last().is_none_or(|(last, _)| last.id != id) {
            studies.push((StudySummary { id, name: row.text(1)?.to_owned(), direction: None }, 0));
        }
        let (study, n_objectives) = studies.last_mut().expect("just added");
        if let Some(name) = row.optional_text(2)? {
            *n_objectives += 1;
            study.direction = match name {
                _ if *n_objectives > 1 => None,
                "MINIMIZE" => Some(Direction::Minimize),
                "MAXIMIZE" => Some(Direction::Maximize),
                _ => None,
            };
        }
    }
    Ok(studies)
}

/// Returns the attributes in `table` of the study or trial with the id `owner`.
pub(super) fn attrs(db: &mut dyn Connection, table: &str, owner: u64) -> SqlResult<Attributes> {
    let column = if table.starts_with("study") { "study_id" } else { "trial_id" };
    let sql = format!("SELECT \"key\", value_json FROM {table} WHERE {column} = $1");
    db.query(&sql, &[owner.into()])?.iter().map(|row| attr(row, 0)).collect()
}

/// Reads the name of an attribute from a column and its value from the next column.
fn attr(row: &SqlRow, column: usize) -> SqlResult<(String, serde_json::Value)> {
    let (name, text) = (row.text(column)?, row.text(column + 1)?);
    let value = json::parse(text).map_err(|error| {
        SqlError::Rejected(format!("attribute `{name}` is not valid JSON: {error}"))
    })?;
    Ok((name.to_owned(), value))
}

/// Returns all trials of a study, ordered by number. `cached` contains finished trials by id; the details of
/// those with the same number, state and times as in the database are not read again.
pub(super) fn trials(
    db: &mut dyn Connection,
    study: u64,
    cached: &BTreeMap<u64, Trial>,
) -> SqlResult<Vec<Trial>> {
    let rows = trial_rows(db, "study_id = $1", &[study.into()])?;
    // SQLite may reuse an id after its study was deleted, so more than the id is compared.
    fn key(trial: &Trial) -> (u64, TrialState, &Option<String>, &Option<String>) {
        (trial.number, trial.state, &trial.datetime_start, &trial.datetime_complete)
    }
    let (mut trials, mut unread) = (Vec::new(), BTreeMap::new());
    for row in rows {
        match cached.get(&row.id).filter(|cached| key(&row) == key(cached)) {
            Some(cached) => trials.push(cached.clone()),
            None => drop(unread.insert(row.id, row)),
        }
    }
    fill_details(db, &mut unread)?;
    trials.extend(unread.into_values());
    trials.sort_by_key(|trial| trial.number);
    Ok(trials)
}

/// Returns the trial with this id; `None` if it does not exist.
pub(super) fn trial(db: &mut dyn Connection, id: u64) -> SqlResult<Option<Trial>> {
    let rows = trial_rows(db, "trial_id = $1", &[id.into()])?;
    let mut trials = rows.into_iter().map(|trial| (trial.id, trial)).collect();
    fill_details(db, &mut trials)?;
    Ok(trials.into_values().next())
}

/// Reads the rows of the table `trials` that match an SQL condition; other tables are not read.
fn trial_rows(db: &mut dyn Connection, filter: &str, params: &[SqlValue]) -> SqlResult<Vec<Trial>> {
    let sql = format!(
        "SELECT trial_id, number, state, CAST(datetime_start AS TEXT), \
         CAST(datetime_complete AS TEXT) FROM trials WHERE {filter} ORDER BY trial_id"
    );
    let trial = |row: SqlRow| {
        Ok(Trial {
            datetime_start: row.optional_text(3)?.map(iso8601),
            datetime_complete: row.optional_text(4)?.map(iso8601),
            ..Trial::new(row.u64(0)?, row.u64(1)?, parse_state(row.text(2)?)?)
        })
    };
    db.query(&sql, params)?.into_iter().map(trial).collect()
}

/// Adds the contents of the other tables to these trials.
fn fill_details(db: &mut dyn Connection, trials: &mut BTreeMap<u64, Trial>) -> SqlResult<()> {
    let Some(filter) = id_filter(trials) else { return Ok(()) };
    let mut add_table =
        |columns: &str, table: &str, add: fn(&mut Trial, &SqlRow) -> SqlResult<()>| {
            let sql = format!("SELECT trial_id, {columns} FROM {table} WHERE {filter}");
            for row in db.query(&sql, &[])? {
                if let Some(trial) = trials.get_mut(&row.u64(0)?) {
                    add(trial, &row)?;
                }
            }
            Ok(())
        };
    add_table("param_name, param_value, distribution_json", "trial_params", add_param)?;
    add_table("objective, value, value_type", "trial_values", add_value)?;
    add_table(
        "step, intermediate_value, intermediate_value_type",
        "trial_intermediate_values",
        add_intermediate_value,
    )?;
    add_table("\"key\", value_json", "trial_user_attributes", |trial, row| {
        trial.user_attrs.extend([attr(row, 1)?]);
        Ok(())
    })?;
    add_table("\"key\", value_json", "trial_system_attributes", |trial, row| {
        trial.system_attrs.extend([attr(row, 1)?]);
        Ok(())
    })
}

/// An SQL condition that selects these trials, and possibly others between them; `None` if there are none.
fn id_filter(trials: &BTreeMap<u64, Trial>) -> Option<String> {
    let ((first, _), (last, _)) = (trials.first_key_value()?, trials.last_key_value()?);
    if trials.len() > MAX_LISTED {
        return Some(format!("trial_id BETWEEN {first} AND {last}"));
    }
    let ids: Vec<String> = trials.keys().map(u64::to_string).collect();
    Some(format!("trial_id IN ({})", ids.join(", ")))
}

fn add_param(trial: &mut Trial, row: &SqlRow) -> SqlResult<()> {
    let name = row.text(1)?;
    let value = row.optional_f64(2)?.unwrap_or(f64::NAN);
    let param = validation::parse_param(name, row.text(3)?, value).map_err(SqlError::Rejected)?;
    trial.params.insert(name.to_owned(), param);
    Ok(())
}

/// Adds the value of the first objective.
fn add_value(trial: &mut Trial, row: &SqlRow) -> SqlResult<()> {
    if row.u64(1)? == 0 {
        trial.value = Some(number(row, 2)?);
    }
    Ok(())
}

fn add_intermediate_value(trial: &mut Trial, row: &SqlRow) -> SqlResult<()> {
    trial.intermediate_values.insert(row.u64(1)?, number(row, 2)?);
    Ok(())
}

/// Reads a number from a column; the next column contains its type, which encodes NaN and infinities.
fn number(row: &SqlRow, column: usize) -> SqlResult<f64> {
    match (row.text(column + 1)?, row.optional_f64(column)?) {
        ("FINITE", Some(value)) => Ok(value),
        ("INF_POS", _) => Ok(f64::INFINITY),
        ("INF_NEG", _) => Ok(f64::NEG_INFINITY),
        ("NAN", _) => Ok(f64::NAN),
        (kind, value) => {
            let value = value.map_or_else(|| "NULL".to_owned(), |value| value.to_string());
            Err(SqlError::Rejected(format!(
                "value {value} of type `{kind}`; expected a number of type FINITE, or type \
                 INF_POS, INF_NEG or NAN"
            )))
        }
    }
}

/// Converts a time of a database, such as `2024-02-03 04:05:06.5`, to `2024-02-03T04:05:06.500000`.
fn iso8601(text: &str) -> String {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{}.{fraction:0<6}", seconds.replacen(' ', "T", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_times_of_both_databases() {
        for text in ["2024-02-03 04:05:06.5", "2024-02-03 04:05:06.500000"] {
            assert_eq!(iso8601(text), "2024-02-03T04:05:06.500000");
        }
        assert_eq!(iso8601("2024-02-03 04:05:06"), "2024-02-03T04:05:06.000000");
    }

    #[test]
    fn reads_nan_and_infinities_by_type() {
        let read = |value, kind: &str| number(&SqlRow(vec![value, kind.into()]), 0);
        assert_eq!(read(SqlValue::Real(0.5), "FINITE").unwrap(), 0.5);
        assert_eq!(read(SqlValue::Null, "INF_POS").unwrap(), f64::INFINITY);
        assert_eq!(read(SqlValue::Null, "INF_NEG").unwrap(), f64::NEG_INFINITY);
        assert!(read(SqlValue::Null, "NAN").unwrap().is_nan());
        assert!(read(SqlValue::Null, "FINITE").is_err() && read(SqlValue::Null, "ODD").is_err());
    }
}

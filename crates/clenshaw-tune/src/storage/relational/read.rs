//! What the tables say about studies and trials.

use super::super::{json, rules};
use super::connection::{Cell, Connection, Fault, Row, Told};
use crate::{Attributes, Direction, State, Study, Trial};
use std::collections::BTreeMap;

/// More trials than these are asked for by a range instead of one by one.
const LISTED: usize = 500;

const STATES: [(State, &str); 5] = [
    (State::Running, "RUNNING"),
    (State::Complete, "COMPLETE"),
    (State::Pruned, "PRUNED"),
    (State::Fail, "FAIL"),
    (State::Waiting, "WAITING"),
];

/// The word of a state.
pub(super) fn state_word(state: State) -> &'static str {
    STATES.iter().find(|(known, _)| *known == state).map_or("FAIL", |(_, word)| word)
}

/// The state of a word.
pub(super) fn state(word: &str) -> Told<State> {
    let known = STATES.iter().find(|(_, known)| *known == word);
    known.map(|(state, _)| *state).ok_or_else(|| Fault::Refused(format!("unknown state `{word}`")))
}

/// The word of a direction.
pub(super) fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Minimise => "MINIMIZE",
        Direction::Maximise => "MAXIMIZE",
    }
}

/// Studies by id, each with the number of its objectives; `filter` chooses among them.
pub(super) fn studies(
    to: &mut dyn Connection,
    filter: &str,
    values: &[Cell],
) -> Told<Vec<(Study, usize)>> {
    let sql = format!(
        "SELECT s.study_id, s.study_name, d.direction FROM studies s \
         LEFT JOIN study_directions d ON d.study_id = s.study_id {filter} \
         ORDER BY s.study_id, d.objective"
    );
    let mut studies: Vec<(Study, usize)> = Vec::new();
    for row in to.rows(&sql, values)? {
        let id = row.whole(0)?;
        if studies.last().is_none_or(|(last, _)| last.id != id) {
            studies.push((Study { id, name: row.text(1)?.to_owned(), direction: None }, 0));
        }
        let (study, n_directions) = studies.last_mut().expect("it was added");
        if let Some(word) = row.maybe_text(2)? {
            *n_directions += 1;
            study.direction = match word {
                _ if *n_directions > 1 => None,
                "MINIMIZE" => Some(Direction::Minimise),
                "MAXIMIZE" => Some(Direction::Maximise),
                _ => None,
            };
        }
    }
    Ok(studies)
}

/// Notes of a table.
pub(super) fn notes(to: &mut dyn Connection, table: &str, owner: u64) -> Told<Attributes> {
    let column = if table.starts_with("study") { "study_id" } else { "trial_id" };
    let sql = format!("SELECT \"key\", value_json FROM {table} WHERE {column} = $1");
    to.rows(&sql, &[owner.into()])?.iter().map(|row| note(row, 0)).collect()
}

/// A name and what is noted under it, from a column and the next.
fn note(row: &Row, column: usize) -> Told<(String, serde_json::Value)> {
    let (name, text) = (row.text(column)?, row.text(column + 1)?);
    let value = json::parse(text)
        .map_err(|error| Fault::Refused(format!("the attribute `{name}` is not JSON: {error}")))?;
    Ok((name.to_owned(), value))
}

/// All trials of a study by number; those that are known to be finished are not read again.
pub(super) fn trials(
    to: &mut dyn Connection,
    study: u64,
    known: &BTreeMap<u64, Trial>,
) -> Told<Vec<Trial>> {
    let heads = heads(to, "study_id = $1", &[study.into()])?;
    // An id may be given again after its study was deleted, so more than the id must agree.
    let same = |head: &Trial, known: &Trial| {
        (head.number, head.state, &head.started, &head.finished)
            == (known.number, known.state, &known.started, &known.finished)
    };
    let (mut trials, mut unread) = (Vec::new(), BTreeMap::new());
    for head in heads {
        match known.get(&head.id).filter(|known| same(&head, known)) {
            Some(known) => trials.push(known.clone()),
            None => drop(unread.insert(head.id, head)),
        }
    }
    fill(to, &mut unread)?;
    trials.extend(unread.into_values());
    trials.sort_by_key(|trial| trial.number);
    Ok(trials)
}

/// One trial.
pub(super) fn trial(to: &mut dyn Connection, id: u64) -> Told<Option<Trial>> {
    let heads = heads(to, "trial_id = $1", &[id.into()])?;
    let mut trials = heads.into_iter().map(|head| (head.id, head)).collect();
    fill(to, &mut trials)?;
    Ok(trials.into_values().next())
}

/// Trials without what other tables say about them.
fn heads(to: &mut dyn Connection, filter: &str, values: &[Cell]) -> Told<Vec<Trial>> {
    let sql = format!(
        "SELECT trial_id, number, state, CAST(datetime_start AS TEXT), \
         CAST(datetime_complete AS TEXT) FROM trials WHERE {filter} ORDER BY trial_id"
    );
    let head = |row: Row| {
        Ok(Trial {
            id: row.whole(0)?,
            number: row.whole(1)?,
            state: state(row.text(2)?)?,
            value: None,
            params: BTreeMap::new(),
            reports: BTreeMap::new(),
            user_attrs: BTreeMap::new(),
            system_attrs: BTreeMap::new(),
            started: row.maybe_text(3)?.map(dated),
            finished: row.maybe_text(4)?.map(dated),
        })
    };
    to.rows(&sql, values)?.into_iter().map(head).collect()
}

/// Adds what other tables say about these trials.
fn fill(to: &mut dyn Connection, trials: &mut BTreeMap<u64, Trial>) -> Told<()> {
    let Some(within) = within(trials) else { return Ok(()) };
    let mut each = |columns: &str, table: &str, put: fn(&mut Trial, &Row) -> Told<()>| {
        let sql = format!("SELECT trial_id, {columns} FROM {table} WHERE {within}");
        for row in to.rows(&sql, &[])? {
            if let Some(trial) = trials.get_mut(&row.whole(0)?) {
                put(trial, &row)?;
            }
        }
        Ok(())
    };
    each("param_name, param_value, distribution_json", "trial_params", put_param)?;
    each("objective, value, value_type", "trial_values", put_value)?;
    each(
        "step, intermediate_value, intermediate_value_type",
        "trial_intermediate_values",
        put_report,
    )?;
    each("\"key\", value_json", "trial_user_attributes", |trial, row| {
        trial.user_attrs.extend([note(row, 1)?]);
        Ok(())
    })?;
    each("\"key\", value_json", "trial_system_attributes", |trial, row| {
        trial.system_attrs.extend([note(row, 1)?]);
        Ok(())
    })
}

/// What chooses these trials, and perhaps some between them; nothing, if there are none.
fn within(trials: &BTreeMap<u64, Trial>) -> Option<String> {
    let ((first, _), (last, _)) = (trials.first_key_value()?, trials.last_key_value()?);
    if trials.len() > LISTED {
        return Some(format!("trial_id BETWEEN {first} AND {last}"));
    }
    let ids: Vec<String> = trials.keys().map(u64::to_string).collect();
    Some(format!("trial_id IN ({})", ids.join(", ")))
}

fn put_param(trial: &mut Trial, row: &Row) -> Told<()> {
    let name = row.text(1)?;
    let value = row.maybe_real(2)?.unwrap_or(f64::NAN);
    let param = rules::read_param(name, row.text(3)?, value).map_err(Fault::Refused)?;
    trial.params.insert(name.to_owned(), param);
    Ok(())
}

/// The objective, of which there is one in the studies we open.
fn put_value(trial: &mut Trial, row: &Row) -> Told<()> {
    if row.whole(1)? == 0 {
        trial.value = Some(number(row, 2)?);
    }
    Ok(())
}

fn put_report(trial: &mut Trial, row: &Row) -> Told<()> {
    trial.reports.insert(row.whole(1)?, number(row, 2)?);
    Ok(())
}

/// A number and, in the next column, what kind it is: those that are not finite are kept as kinds.
fn number(row: &Row, column: usize) -> Told<f64> {
    match (row.text(column + 1)?, row.maybe_real(column)?) {
        ("FINITE", Some(value)) => Ok(value),
        ("INF_POS", _) => Ok(f64::INFINITY),
        ("INF_NEG", _) => Ok(f64::NEG_INFINITY),
        ("NAN", _) => Ok(f64::NAN),
        (kind, value) => Err(Fault::Refused(format!("{value:?} is no number of kind `{kind}`"))),
    }
}

/// `2024-02-03 04:05:06.5` as `2024-02-03T04:05:06.500000`.
fn dated(text: &str) -> String {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{}.{fraction:0<6}", seconds.replacen(' ', "T", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_one_form() {
        for text in ["2024-02-03 04:05:06.5", "2024-02-03 04:05:06.500000"] {
            assert_eq!(dated(text), "2024-02-03T04:05:06.500000");
        }
        assert_eq!(dated("2024-02-03 04:05:06"), "2024-02-03T04:05:06.000000");
    }

    #[test]
    fn numbers_that_are_not_finite_are_kinds() {
        let told = |value, kind: &str| number(&Row(vec![value, kind.into()]), 0);
        assert_eq!(told(Cell::Real(0.5), "FINITE").unwrap(), 0.5);
        assert_eq!(told(Cell::Null, "INF_POS").unwrap(), f64::INFINITY);
        assert_eq!(told(Cell::Null, "INF_NEG").unwrap(), f64::NEG_INFINITY);
        assert!(told(Cell::Null, "NAN").unwrap().is_nan());
        assert!(told(Cell::Null, "FINITE").is_err() && told(Cell::Null, "ODD").is_err());
    }
}

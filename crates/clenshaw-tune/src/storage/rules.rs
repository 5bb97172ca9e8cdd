//! What every storage holds to, whatever it keeps studies in: the same refusals in the same words.

use super::Study;
use crate::error::{Error, Result};
use crate::trial::FIXED;
use crate::{Attributes, Choice, Direction, Distribution};
use serde_json::json;
use std::collections::BTreeMap;

/// Why a study does not do for somebody who looks for this direction.
pub(super) fn check_direction(
    study: &Study,
    n_directions: usize,
    asked: Direction,
) -> std::result::Result<u64, String> {
    let name = &study.name;
    match study.direction {
        Some(has) if has == asked => Ok(study.id),
        Some(has) => Err(format!("study `{name}` is to {has}, not to {asked}")),
        None => Err(format!("study `{name}` has {n_directions} objectives, not one to {asked}")),
    }
}

pub(super) fn no_study(id: u64) -> String {
    format!("there is no study {id} any more")
}

pub(super) fn no_trial(id: u64) -> String {
    format!("there is no trial {id}")
}

pub(super) fn is_finished(number: u64, study: &str) -> String {
    format!("trial {number} of study `{study}` is finished")
}

/// Refuses an internal value that no reader could use.
pub(super) fn check_param(name: &str, distribution: &Distribution, internal: f64) -> Result<()> {
    let is_choice = matches!(distribution, Distribution::Categorical { .. });
    if internal.is_finite() && (!is_choice || distribution.contains(internal)) {
        return Ok(());
    }
    let (key, value) = (name.to_owned(), internal.to_string());
    Err(Error::OutOfRange { key, value, allowed: distribution.to_json() })
}

/// A parameter as it is kept: its distribution's text and the internal value; or what is wrong.
pub(super) fn read_param(
    name: &str,
    distribution: &str,
    internal: f64,
) -> std::result::Result<(Distribution, f64), String> {
    let distribution = Distribution::from_json(distribution).map_err(|e| e.to_string())?;
    // A choice is a place in a list; a real number outside its bounds harms nobody.
    let is_choice = matches!(distribution, Distribution::Categorical { .. });
    if is_choice && !distribution.contains(internal) {
        return Err(format!("`{name}` is choice {internal}, which its list does not have"));
    }
    Ok((distribution, internal))
}

/// Why a distribution cannot stand beside the one that the study has under this name.
pub(super) fn conflict(
    name: &str,
    study: &str,
    old: &Distribution,
    new: &Distribution,
) -> Option<String> {
    let (has, got) = (old.to_json(), new.to_json());
    (!old.is_compatible(new)).then(|| {
        format!("`{name}` has the distribution {has} in study `{study}`; {got} does not go with it")
    })
}

/// The system attributes of a waiting trial whose parameters are chosen beforehand.
pub(super) fn chosen(fixed: &BTreeMap<String, Choice>) -> Result<Attributes> {
    let endless = |choice: &Choice| matches!(choice, Choice::Real(real) if !real.is_finite());
    if let Some((key, choice)) = fixed.iter().find(|(_, choice)| endless(choice)) {
        let (key, value) = (key.clone(), format!("{choice:?}"));
        return Err(Error::BadValue { key, value, expected: "a finite number".into() });
    }
    let written = fixed.iter().map(|(name, choice)| (name.clone(), choice.to_json()));
    let chosen: Attributes = written.collect();
    Ok([(FIXED.to_owned(), json!(chosen))].into())
}

//! Checks shared by all storages, with the same error messages.

use super::StudySummary;
use crate::error::{Error, Result};
use crate::trial::FIXED_PARAMS;
use crate::{Attributes, Direction, Distribution, ParamValue, Trial};
use serde_json::json;
use std::collections::BTreeMap;

/// Returns the id of a study that has exactly one objective, with the expected direction; otherwise a message.
pub(super) fn check_direction(
    study: &StudySummary,
    n_objectives: usize,
    expected: Direction,
) -> std::result::Result<u64, String> {
    let name = &study.name;
    match study.direction {
        Some(direction) if direction == expected => Ok(study.id),
        Some(direction) => {
            Err(format!("the direction of study `{name}` is {direction}, not {expected}"))
        }
        None if n_objectives == 1 => {
            Err(format!("study `{name}` has no direction; expected {expected}"))
        }
        None => {
            Err(format!("study `{name}` has {n_objectives} objectives; expected one to {expected}"))
        }
    }
}

/// The error message for a study that does not exist.
pub(super) fn missing_study(id: u64) -> String {
    format!("study {id} does not exist")
}

/// The error message for a trial that does not exist.
pub(super) fn missing_trial(id: u64) -> String {
    format!("trial {id} does not exist")
}

/// Rejects an invalid distribution, and an internal value that is not finite or not the index of a choice.
/// Numbers outside the bounds are accepted.
pub(super) fn check_param(name: &str, distribution: &Distribution, internal: f64) -> Result<()> {
    distribution.check(name)?;
    let is_categorical = matches!(distribution, Distribution::Categorical { .. });
    if internal.is_finite() && (!is_categorical || distribution.contains(internal)) {
        return Ok(());
    }
    let (key, value) = (name.to_owned(), internal.to_string());
    Err(Error::OutOfRange { key, value, allowed: distribution.to_json() })
}

/// Parses the JSON of a stored parameter's distribution and returns it with the internal value. Returns a
/// message if the distribution is invalid or the value is not the index of a choice.
pub(super) fn parse_param(
    name: &str,
    distribution: &str,
    internal: f64,
) -> std::result::Result<(Distribution, f64), String> {
    let distribution = Distribution::from_json(distribution).map_err(|e| e.to_string())?;
    // An index outside the list cannot be converted; a number outside its bounds is harmless.
    let is_categorical = matches!(distribution, Distribution::Categorical { .. });
    if is_categorical && !distribution.contains(internal) {
        return Err(format!("`{name}` is choice {internal}, which is not in its list of choices"));
    }
    Ok((distribution, internal))
}

/// Returns a message if a distribution is incompatible with the one that the study contains.
pub(super) fn conflict(
    name: &str,
    study: &str,
    old: &Distribution,
    new: &Distribution,
) -> Option<String> {
    let (has, got) = (old.to_json(), new.to_json());
    (!old.is_compatible(new)).then(|| {
        format!("`{name}` has the distribution {has} in study `{study}`; {got} is incompatible")
    })
}

/// Returns the system attributes of a waiting trial that repeats a failed trial with its
/// [`Trial::retry_params`]; `None` if there are none, or if a value is NaN or infinite and cannot be enqueued.
pub(super) fn retry_attrs(failed: &Trial) -> Option<Attributes> {
    let params = failed.retry_params();
    if params.is_empty() { None } else { fixed_params(&params).ok() }
}

/// Returns the system attributes of a waiting trial with fixed parameters.
///
/// # Errors
/// If a value is NaN or infinite.
pub(super) fn fixed_params(fixed: &BTreeMap<String, ParamValue>) -> Result<Attributes> {
    let non_finite = fixed.iter().find_map(|(key, value)| match value {
        ParamValue::Float(x) if !x.is_finite() => Some((key, x)),
        _ => None,
    });
    if let Some((key, x)) = non_finite {
        let (key, value) = (key.clone(), x.to_string());
        return Err(Error::BadValue { key, value, expected: "a finite number".into() });
    }
    let params: Attributes =
        fixed.iter().map(|(name, value)| (name.clone(), value.to_json())).collect();
    Ok([(FIXED_PARAMS.to_owned(), json!(params))].into())
}

//! For tests: trials, and the studies and results in `tests/fixtures`, which were computed with Optuna.

use crate::{Direction, Distribution, Trial, TrialState};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads `tests/fixtures/{name}.json`.
pub(crate) fn load(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A trial with these parameter values and no results.
pub(crate) fn trial(
    number: u64,
    state: TrialState,
    space: &BTreeMap<String, Distribution>,
    values: &BTreeMap<String, f64>,
) -> Trial {
    let params = values.iter().map(|(name, x)| (name.clone(), (space[name].clone(), *x)));
    Trial { params: params.collect(), ..Trial::new(number, number, state) }
}

/// The direction of a stored study: 1 to minimize, 2 to maximize, as in Optuna.
pub(crate) fn direction(stored: &Value) -> Direction {
    if stored["direction"] == 1 { Direction::Minimize } else { Direction::Maximize }
}

/// Converts a list of numbers.
pub(crate) fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(number).collect()
}

/// A number; NaN and infinities, which JSON cannot represent, are stored as `nan`, `inf` and `-inf`.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// The distributions by key. A key is not the name of a parameter; see [`trials`].
fn distributions(stored: &Value) -> BTreeMap<String, Distribution> {
    let entries = stored.as_object().unwrap().iter();
    let distribution = |json: &Value| Distribution::from_json(&json.to_string()).unwrap();
    entries.map(|(name, json)| (name.clone(), distribution(json))).collect()
}

/// The stored trials; each parameter is a pair of the key of its distribution and its internal value.
pub(crate) fn trials(stored: &Value) -> Vec<Trial> {
    let distributions = distributions(&stored["distributions"]);
    let stored = stored["trials"].as_array().unwrap().iter().enumerate();
    stored.map(|(i, trial)| read_trial(i as u64, trial, &distributions)).collect()
}

fn read_trial(
    trial_number: u64,
    stored: &Value,
    distributions: &BTreeMap<String, Distribution>,
) -> Trial {
    let state = TrialState::ALL[stored["state"].as_u64().unwrap() as usize];
    let pairs = |key: &str| stored[key].as_object().unwrap().iter();
    let param = |(name, pair): (&String, &Value)| {
        let distribution = distributions[pair[0].as_str().unwrap()].clone();
        (name.clone(), (distribution, pair[1].as_f64().unwrap()))
    };
    Trial {
        value: stored["value"].as_f64(),
        params: pairs("params").map(param).collect(),
        intermediate_values: pairs("reports")
            .map(|(step, v)| (step.parse().unwrap(), number(v)))
            .collect(),
        system_attrs: pairs("attrs").map(|(key, v)| (key.clone(), v.clone())).collect(),
        ..Trial::new(trial_number, trial_number, state)
    }
}

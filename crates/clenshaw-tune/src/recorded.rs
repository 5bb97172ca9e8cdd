//! Histories that Optuna recorded, for tests.

use super::{Choice, Direction, Distribution, State, Trial};
use serde_json::Value;
use std::collections::BTreeMap;

/// A recording of `tests/tune`.
pub(super) fn recording(name: &str) -> Value {
    let path = format!("{}/tests/tune/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A trial with these values and nothing else.
pub(super) fn trial(
    number: u64,
    state: State,
    space: &BTreeMap<String, Distribution>,
    values: &BTreeMap<String, f64>,
) -> Trial {
    let params = values.iter().map(|(name, x)| (name.clone(), (space[name].clone(), *x)));
    Trial { params: params.collect(), ..empty(number, state) }
}

fn empty(number: u64, state: State) -> Trial {
    Trial {
        id: number,
        number,
        state,
        value: None,
        params: BTreeMap::new(),
        reports: BTreeMap::new(),
        user_attrs: BTreeMap::new(),
        system_attrs: BTreeMap::new(),
        started: None,
        finished: None,
    }
}

/// `1` and `2` are Optuna's numbers for the directions.
pub(super) fn direction(recorded: &Value) -> Direction {
    if recorded["direction"] == 1 { Direction::Minimise } else { Direction::Maximise }
}

/// Numbers of a list; Python's bare infinities are kept as words.
pub(super) fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(number).collect()
}

/// A number, `nan`, `inf` or `-inf`.
pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// The parameters and what they may be.
pub(super) fn space(recorded: &Value) -> BTreeMap<String, Distribution> {
    let entries = recorded.as_object().unwrap().iter();
    entries.map(|(name, d)| (name.clone(), distribution(d))).collect()
}

fn distribution(recorded: &Value) -> Distribution {
    let attributes = &recorded["attributes"];
    let real = |key: &str| attributes[key].as_f64();
    let whole = |key: &str| attributes[key].as_i64().unwrap();
    let log = attributes["log"] == true;
    match recorded["name"].as_str().unwrap() {
        "FloatDistribution" => Distribution::Float {
            low: real("low").unwrap(),
            high: real("high").unwrap(),
            log,
            step: real("step"),
        },
        "IntDistribution" => {
            Distribution::Int { low: whole("low"), high: whole("high"), log, step: whole("step") }
        }
        _ => {
            let words = attributes["choices"].as_array().unwrap();
            let choices = words.iter().map(|word| Choice::Word(word.to_string())).collect();
            Distribution::Categorical { choices }
        }
    }
}

/// The trials of a recording; a parameter is the name of its distribution and its internal value.
pub(super) fn trials(recorded: &Value) -> Vec<Trial> {
    let distributions = space(&recorded["distributions"]);
    let recorded = recorded["trials"].as_array().unwrap().iter().enumerate();
    recorded.map(|(i, trial)| read(i as u64, trial, &distributions)).collect()
}

fn read(number_: u64, recorded: &Value, distributions: &BTreeMap<String, Distribution>) -> Trial {
    let state = match recorded["state"].as_u64().unwrap() {
        0 => State::Running,
        1 => State::Complete,
        2 => State::Pruned,
        3 => State::Fail,
        _ => State::Waiting,
    };
    let pairs = |key: &str| recorded[key].as_object().unwrap().iter();
    let param = |(name, pair): (&String, &Value)| {
        let distribution = distributions[pair[0].as_str().unwrap()].clone();
        (name.clone(), (distribution, pair[1].as_f64().unwrap()))
    };
    Trial {
        value: recorded["value"].as_f64(),
        params: pairs("params").map(param).collect(),
        reports: pairs("reports").map(|(step, v)| (step.parse().unwrap(), number(v))).collect(),
        system_attrs: pairs("attrs").map(|(key, v)| (key.clone(), v.clone())).collect(),
        ..empty(number_, state)
    }
}

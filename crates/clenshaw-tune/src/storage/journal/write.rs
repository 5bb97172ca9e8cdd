//! The entries that this crate writes, with the fields that Optuna requires.

use super::super::clock;
use super::entry::{OpCode, direction_code, state_code};
use crate::{Attributes, Direction, Distribution, TrialState};
use serde_json::{Value, json};

/// An entry to append: its operation and its fields.
pub(super) type NewEntry = (OpCode, Value);

/// Creates a study.
pub(super) fn study(name: &str, direction: Direction) -> NewEntry {
    (OpCode::CreateStudy, json!({"study_name": name, "directions": [direction_code(direction)]}))
}

/// Creates a trial with its system attributes in one entry, so that it never exists without them. A
/// running trial starts now.
pub(super) fn trial(study: u64, state: TrialState, system_attrs: &Attributes) -> NewEntry {
    let start = (state == TrialState::Running).then(clock::now);
    let fields = json!({
        "study_id": study, "datetime_start": start, "state": state_code(state),
        "value": null, "values": null, "distributions": {}, "params": {},
        "user_attrs": {}, "system_attrs": system_attrs, "intermediate_values": {},
    });
    (OpCode::CreateTrial, fields)
}

/// Sets a parameter.
pub(super) fn param(
    trial: u64,
    name: &str,
    distribution: &Distribution,
    internal: f64,
) -> NewEntry {
    let fields = json!({
        "trial_id": trial, "param_name": name, "param_value_internal": internal,
        "distribution": distribution.to_json(),
    });
    (OpCode::Param, fields)
}

/// Reports an intermediate value.
pub(super) fn intermediate_value(trial: u64, step: u64, value: f64) -> NewEntry {
    let fields = json!({"trial_id": trial, "step": step, "intermediate_value": value});
    (OpCode::IntermediateValue, fields)
}

/// Starts a waiting trial.
pub(super) fn start(trial: u64) -> NewEntry {
    let fields = json!({
        "trial_id": trial, "state": state_code(TrialState::Running), "values": null,
        "datetime_start": clock::now(),
    });
    (OpCode::StateValues, fields)
}

/// Finishes a trial.
pub(super) fn finish(trial: u64, state: TrialState, value: Option<f64>) -> NewEntry {
    let fields = json!({
        "trial_id": trial, "state": state_code(state), "values": value.map(|value| [value]),
        "datetime_complete": clock::now(),
    });
    (OpCode::StateValues, fields)
}

/// Sets attributes of a study or trial, one entry each. `owner` is the name of the id field and the id.
pub(super) fn attrs(op: OpCode, owner: (&str, u64), attrs: &Attributes) -> Vec<NewEntry> {
    let key = match op {
        OpCode::StudyUserAttr | OpCode::TrialUserAttr => "user_attr",
        _ => "system_attr",
    };
    let entry = |(name, value): (&String, &Value)| {
        let attr: Attributes = [(name.clone(), value.clone())].into();
        (op, json!({owner.0: owner.1, key: attr}))
    };
    attrs.iter().map(entry).collect()
}

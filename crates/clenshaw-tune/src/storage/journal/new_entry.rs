//! The entries that this crate writes, with the fields that Optuna requires.

use super::super::clock;
use super::entry;
use crate::{AttrKind, Attributes, Direction, Distribution, TrialState};
use serde_json::{Value, json};

/// An entry to append: its operation and its fields.
pub(super) type NewEntry = (u64, Value);

/// The line of an entry, including the line feed.
pub(super) fn line(worker_id: &str, (op, fields): &NewEntry) -> String {
    let mut line = json!({"op_code": op, "worker_id": worker_id});
    for (key, value) in fields.as_object().expect("fields are an object") {
        line[key] = value.clone();
    }
    format!("{line}\n")
}

/// The entry that creates a study.
pub(super) fn create_study(name: &str, direction: Direction) -> NewEntry {
    (entry::CREATE_STUDY, json!({"study_name": name, "directions": [direction as u64]}))
}

/// The entry that creates a trial together with its system attributes, so that it never exists without them.
/// The start time of a running trial is the current time.
pub(super) fn create_trial(study: u64, state: TrialState, system_attrs: &Attributes) -> NewEntry {
    let start = (state == TrialState::Running).then(clock::now);
    let fields = json!({
        "study_id": study, "datetime_start": start, "state": state as u64,
        "value": null, "values": null, "distributions": {}, "params": {},
        "user_attrs": {}, "system_attrs": system_attrs, "intermediate_values": {},
    });
    (entry::CREATE_TRIAL, fields)
}

/// The entry that sets a parameter.
pub(super) fn set_param(
    trial: u64,
    name: &str,
    distribution: &Distribution,
    internal: f64,
) -> NewEntry {
    let fields = json!({
        "trial_id": trial, "param_name": name, "param_value_internal": internal,
        "distribution": distribution.to_json(),
    });
    (entry::SET_PARAM, fields)
}

/// The entry that reports an intermediate value.
pub(super) fn report(trial: u64, step: u64, value: f64) -> NewEntry {
    let fields = json!({"trial_id": trial, "step": step, "intermediate_value": value});
    (entry::REPORT, fields)
}

/// The entry that starts a waiting trial at the current time.
pub(super) fn start_trial(trial: u64) -> NewEntry {
    let fields = json!({
        "trial_id": trial, "state": TrialState::Running as u64, "values": null,
        "datetime_start": clock::now(),
    });
    (entry::SET_STATE, fields)
}

/// The entry that finishes a trial at the current time.
pub(super) fn finish_trial(trial: u64, state: TrialState, value: Option<f64>) -> NewEntry {
    let fields = json!({
        "trial_id": trial, "state": state as u64, "values": value.map(|value| [value]),
        "datetime_complete": clock::now(),
    });
    (entry::SET_STATE, fields)
}

/// The entries that set attributes of a study, one per attribute.
pub(super) fn set_study_attrs(study: u64, kind: AttrKind, attrs: &Attributes) -> Vec<NewEntry> {
    set_attrs(entry::STUDY_USER_ATTR, ("study_id", study), kind, attrs)
}

/// The entries that set attributes of a trial, one per attribute.
pub(super) fn set_trial_attrs(trial: u64, kind: AttrKind, attrs: &Attributes) -> Vec<NewEntry> {
    set_attrs(entry::TRIAL_USER_ATTR, ("trial_id", trial), kind, attrs)
}

/// One entry per attribute. `user_op` is the code of the operation for user attributes, which is followed by
/// the code for system attributes; `owner` is the name and value of the field that identifies the owner.
fn set_attrs(
    user_op: u64,
    owner: (&str, u64),
    kind: AttrKind,
    attrs: &Attributes,
) -> Vec<NewEntry> {
    let key = ["user_attr", "system_attr"][kind as usize];
    let fields = |(name, value): (&String, &Value)| json!({owner.0: owner.1, key: {name: value}});
    attrs.iter().map(|attr| (user_op + kind as u64, fields(attr))).collect()
}

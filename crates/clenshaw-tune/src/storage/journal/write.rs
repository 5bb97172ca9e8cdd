//! The lines we write, each with the fields Optuna wants.

use super::super::clock;
use super::line::{Op, direction_code, state_code};
use crate::{Attributes, Direction, Distribution, State};
use serde_json::{Value, json};

/// What a line asks for, and its fields.
pub(super) type Written = (Op, Value);

pub(super) fn study(name: &str, direction: Direction) -> Written {
    (Op::CreateStudy, json!({"study_name": name, "directions": [direction_code(direction)]}))
}

/// A trial with its system attributes in one line, so that there is no moment at which it lacks them;
/// it starts now if it is running.
pub(super) fn trial(study: u64, state: State, system_attrs: &Attributes) -> Written {
    let started = (state == State::Running).then(clock::now);
    let fields = json!({
        "study_id": study, "datetime_start": started, "state": state_code(state),
        "value": null, "values": null, "distributions": {}, "params": {},
        "user_attrs": {}, "system_attrs": system_attrs, "intermediate_values": {},
    });
    (Op::CreateTrial, fields)
}

pub(super) fn param(trial: u64, name: &str, distribution: &Distribution, internal: f64) -> Written {
    let fields = json!({
        "trial_id": trial, "param_name": name, "param_value_internal": internal,
        "distribution": distribution.to_json(),
    });
    (Op::Param, fields)
}

pub(super) fn report(trial: u64, step: u64, value: f64) -> Written {
    (Op::Report, json!({"trial_id": trial, "step": step, "intermediate_value": value}))
}

/// A trial that was waiting runs from now on.
pub(super) fn claim(trial: u64) -> Written {
    let state = state_code(State::Running);
    let now = clock::now();
    (
        Op::StateValues,
        json!({"trial_id": trial, "state": state, "values": null, "datetime_start": now}),
    )
}

/// A trial ends now.
pub(super) fn end(trial: u64, state: State, value: Option<f64>) -> Written {
    let fields = json!({
        "trial_id": trial, "state": state_code(state), "values": value.map(|value| [value]),
        "datetime_complete": clock::now(),
    });
    (Op::StateValues, fields)
}

/// Notes of a study or a trial, a line each: `owner` is the field that says whose, and its id.
pub(super) fn notes(op: Op, owner: (&str, u64), attrs: &Attributes) -> Vec<Written> {
    let key = match op {
        Op::StudyUserAttr | Op::TrialUserAttr => "user_attr",
        _ => "system_attr",
    };
    let line = |(name, value): (&String, &Value)| {
        let attr: Attributes = [(name.clone(), value.clone())].into();
        (op, json!({owner.0: owner.1, key: attr}))
    };
    attrs.iter().map(line).collect()
}

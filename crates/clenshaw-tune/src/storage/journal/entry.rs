//! The entries of a journal: one JSON object per line, with an operation, the worker and further fields.

use super::super::json::{self, PythonFloat};
use super::super::validation;
use crate::{Attributes, Direction, Distribution, Params, TrialState};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The operation of an entry, with Optuna's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpCode {
    CreateStudy = 0,
    DeleteStudy = 1,
    StudyUserAttr = 2,
    StudySystemAttr = 3,
    CreateTrial = 4,
    Param = 5,
    StateValues = 6,
    IntermediateValue = 7,
    TrialUserAttr = 8,
    TrialSystemAttr = 9,
    /// Written by Rustuna. Optuna 5 ignores it and Optuna 4 fails on it, so this crate never writes it.
    DiscardTrials = 10,
}

impl OpCode {
    const ALL: [Self; 11] = [
        Self::CreateStudy,
        Self::DeleteStudy,
        Self::StudyUserAttr,
        Self::StudySystemAttr,
        Self::CreateTrial,
        Self::Param,
        Self::StateValues,
        Self::IntermediateValue,
        Self::TrialUserAttr,
        Self::TrialSystemAttr,
        Self::DiscardTrials,
    ];

    /// The line of an entry, including the line feed.
    pub fn to_line(self, worker_id: &str, fields: &Value) -> String {
        let mut line = json!({"op_code": self as u64, "worker_id": worker_id});
        for (key, value) in fields.as_object().expect("fields are an object") {
            line[key] = value.clone();
        }
        format!("{line}\n")
    }
}

/// An entry with the fields of all operations.
#[derive(Debug, Deserialize)]
pub(super) struct LogEntry {
    op_code: u64,
    pub worker_id: String,
    study_id: Option<u64>,
    trial_id: Option<u64>,
    study_name: Option<String>,
    directions: Option<Vec<u64>>,
    user_attr: Option<Attributes>,
    system_attr: Option<Attributes>,
    pub user_attrs: Option<Attributes>,
    pub system_attrs: Option<Attributes>,
    pub datetime_start: Option<String>,
    pub datetime_complete: Option<String>,
    state: Option<u64>,
    value: Option<PythonFloat>,
    values: Option<Vec<PythonFloat>>,
    params: Option<BTreeMap<String, PythonFloat>>,
    distributions: Option<BTreeMap<String, String>>,
    param_name: Option<String>,
    param_value_internal: Option<PythonFloat>,
    distribution: Option<String>,
    step: Option<u64>,
    intermediate_value: Option<PythonFloat>,
    intermediate_values: Option<BTreeMap<u64, Option<PythonFloat>>>,
}

/// The error is a message without the location of the entry.
type EntryResult<T> = Result<T, String>;

fn required<T>(field: Option<T>, name: &str) -> EntryResult<T> {
    field.ok_or_else(|| format!("`{name}` is missing"))
}

impl LogEntry {
    pub fn parse(line: &str) -> EntryResult<Self> {
        json::parse(line).map_err(|e| format!("not a journal entry: {e}"))
    }

    pub fn op(&self) -> EntryResult<OpCode> {
        let known = OpCode::ALL.into_iter().find(|op| *op as u64 == self.op_code);
        known.ok_or_else(|| format!("unknown op_code {}; known: 0 to 10", self.op_code))
    }

    pub fn study_id(&self) -> EntryResult<u64> {
        required(self.study_id, "study_id")
    }

    pub fn trial_id(&self) -> EntryResult<u64> {
        required(self.trial_id, "trial_id")
    }

    pub fn new_study(&self) -> EntryResult<(String, Vec<u64>)> {
        let name = required(self.study_name.clone(), "study_name")?;
        Ok((name, required(self.directions.clone(), "directions")?))
    }

    pub fn user_attr(&self) -> EntryResult<Attributes> {
        required(self.user_attr.clone(), "user_attr")
    }

    pub fn system_attr(&self) -> EntryResult<Attributes> {
        required(self.system_attr.clone(), "system_attr")
    }

    /// The state; running by default.
    pub fn state(&self) -> EntryResult<TrialState> {
        let code = self.state.unwrap_or(0);
        let known = STATES.iter().find(|(_, known)| *known == code);
        known.map(|(state, _)| *state).ok_or_else(|| format!("unknown state {code}"))
    }

    /// The value of the first objective.
    pub fn value(&self) -> Option<f64> {
        let first = self.values.as_ref().and_then(|values| values.first().copied());
        self.value.or(first).map(|number| number.0)
    }

    /// The parameter that is set: name, distribution and internal value.
    pub fn param(&self) -> EntryResult<(String, (Distribution, f64))> {
        let name = required(self.param_name.clone(), "param_name")?;
        let value = required(self.param_value_internal, "param_value_internal")?;
        let text = required(self.distribution.as_deref(), "distribution")?;
        let param = validation::parse_param(&name, text, value.0)?;
        Ok((name, param))
    }

    /// The parameters of a trial that is created with parameters.
    pub fn params(&self) -> EntryResult<Params> {
        let texts = self.distributions.clone().unwrap_or_default();
        let values = self.params.clone().unwrap_or_default();
        let parse = |(name, value): (String, PythonFloat)| {
            let text = texts
                .get(&name)
                .ok_or_else(|| format!("the distribution of `{name}` is missing"))?;
            let param = validation::parse_param(&name, text, value.0)?;
            Ok((name, param))
        };
        values.into_iter().map(parse).collect()
    }

    /// The step and intermediate value; `None` if the value is null.
    pub fn intermediate_value(&self) -> EntryResult<Option<(u64, f64)>> {
        let step = required(self.step, "step")?;
        Ok(self.intermediate_value.map(|value| (step, value.0)))
    }

    /// The intermediate values of a trial that is created with them.
    pub fn intermediate_values(&self) -> BTreeMap<u64, f64> {
        let all = self.intermediate_values.iter().flatten();
        all.filter_map(|(step, value)| value.map(|value| (*step, value.0))).collect()
    }
}

const STATES: [(TrialState, u64); 5] = [
    (TrialState::Running, 0),
    (TrialState::Complete, 1),
    (TrialState::Pruned, 2),
    (TrialState::Fail, 3),
    (TrialState::Waiting, 4),
];

/// Optuna's code for a state.
pub(super) fn state_code(state: TrialState) -> u64 {
    STATES.iter().find(|(known, _)| *known == state).map_or(0, |(_, code)| *code)
}

/// Optuna's code for a direction.
pub(super) fn direction_code(direction: Direction) -> u64 {
    match direction {
        Direction::Minimize => 1,
        Direction::Maximize => 2,
    }
}

/// The direction of a study; `None` unless it has exactly one objective.
pub(super) fn direction(codes: &[u64]) -> Option<Direction> {
    match codes {
        [1] => Some(Direction::Minimize),
        [2] => Some(Direction::Maximize),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let entry = LogEntry::parse(text);
        entry.and_then(|entry| entry.op().and(entry.param())).map(|_| ()).unwrap_err()
    }

    #[test]
    fn invalid_entries_are_errors() {
        assert!(error("{\"op_co{\"op_code\":4}").contains("not a journal entry"));
        assert!(error("[]").contains("not a journal entry"));
        let unknown = error(r#"{"op_code":11,"worker_id":"w"}"#);
        assert_eq!(unknown, "unknown op_code 11; known: 0 to 10");
        assert_eq!(error(r#"{"op_code":5,"worker_id":"w"}"#), "`param_name` is missing");
        let list = Distribution::Categorical { choices: vec![crate::ParamValue::None] }.to_json();
        let fields = json!({"param_name": "x", "param_value_internal": 1, "distribution": list});
        let outside = error(&OpCode::Param.to_line("w", &fields));
        assert_eq!(outside, "`x` is choice 1, which is not in its list of choices");
    }

    #[test]
    fn reads_nan_and_infinities() {
        let text =
            r#"{"op_code":7,"worker_id":"w","trial_id":0,"step":3,"intermediate_value":NaN}"#;
        let (step, value) = LogEntry::parse(text).unwrap().intermediate_value().unwrap().unwrap();
        assert!(step == 3 && value.is_nan());
        let text = r#"{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":null,
            "values":[-Infinity],"intermediate_values":{"10":1,"2":NaN}}"#;
        let entry = LogEntry::parse(text).unwrap();
        assert_eq!(entry.value(), Some(f64::NEG_INFINITY));
        assert_eq!(entry.intermediate_values().keys().copied().collect::<Vec<_>>(), [2, 10]);
    }
}

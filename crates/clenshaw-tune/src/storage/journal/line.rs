//! One line of a journal: an operation, the worker that asked for it, and what it needs.

use super::super::json::{self, Number};
use super::super::rules;
use crate::{Attributes, Direction, Distribution, Params, State};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a line asks for; the number is its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    CreateStudy = 0,
    DeleteStudy = 1,
    StudyUserAttr = 2,
    StudySystemAttr = 3,
    CreateTrial = 4,
    Param = 5,
    StateValues = 6,
    Report = 7,
    TrialUserAttr = 8,
    TrialSystemAttr = 9,
    /// Rustuna's; Optuna 5 passes over it, and Optuna 4 breaks, so we never write it.
    DiscardTrials = 10,
}

impl Op {
    const ALL: [Self; 11] = [
        Self::CreateStudy,
        Self::DeleteStudy,
        Self::StudyUserAttr,
        Self::StudySystemAttr,
        Self::CreateTrial,
        Self::Param,
        Self::StateValues,
        Self::Report,
        Self::TrialUserAttr,
        Self::TrialSystemAttr,
        Self::DiscardTrials,
    ];

    /// The text of a line, its end included.
    pub fn line(self, worker: &str, fields: &Value) -> String {
        let mut line = json!({"op_code": self as u64, "worker_id": worker});
        for (key, value) in fields.as_object().expect("fields have names") {
            line[key] = value.clone();
        }
        format!("{line}\n")
    }
}

/// Everything a line may say.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
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
    value: Option<Number>,
    values: Option<Vec<Number>>,
    params: Option<BTreeMap<String, Number>>,
    distributions: Option<BTreeMap<String, String>>,
    param_name: Option<String>,
    param_value_internal: Option<Number>,
    distribution: Option<String>,
    step: Option<u64>,
    intermediate_value: Option<Number>,
    intermediate_values: Option<BTreeMap<u64, Option<Number>>>,
}

/// What is wrong with a line.
type Said<T> = Result<T, String>;

fn need<T>(field: Option<T>, name: &str) -> Said<T> {
    field.ok_or_else(|| format!("no `{name}`"))
}

impl Line {
    pub fn parse(text: &str) -> Said<Self> {
        json::parse(text).map_err(|e| format!("not a line of a journal: {e}"))
    }

    pub fn op(&self) -> Said<Op> {
        let known = Op::ALL.into_iter().find(|op| *op as u64 == self.op_code);
        known.ok_or_else(|| format!("unknown operation {}; known: 0 to 10", self.op_code))
    }

    pub fn study(&self) -> Said<u64> {
        need(self.study_id, "study_id")
    }

    pub fn trial(&self) -> Said<u64> {
        need(self.trial_id, "trial_id")
    }

    pub fn new_study(&self) -> Said<(String, Vec<u64>)> {
        let name = need(self.study_name.clone(), "study_name")?;
        Ok((name, need(self.directions.clone(), "directions")?))
    }

    pub fn user_attr(&self) -> Said<Attributes> {
        need(self.user_attr.clone(), "user_attr")
    }

    pub fn system_attr(&self) -> Said<Attributes> {
        need(self.system_attr.clone(), "system_attr")
    }

    /// The state; a trial is made running if nothing is said.
    pub fn state(&self) -> Said<State> {
        let code = self.state.unwrap_or(0);
        let known = STATES.iter().find(|(_, known)| *known == code);
        known.map(|(state, _)| *state).ok_or_else(|| format!("unknown state {code}"))
    }

    /// The objective, of which there is one in the studies we open.
    pub fn value(&self) -> Option<f64> {
        let first = self.values.as_ref().and_then(|values| values.first().copied());
        self.value.or(first).map(|number| number.0)
    }

    /// The parameter that is set: name, distribution, internal value.
    pub fn param(&self) -> Said<(String, (Distribution, f64))> {
        let name = need(self.param_name.clone(), "param_name")?;
        let value = need(self.param_value_internal, "param_value_internal")?;
        let text = need(self.distribution.as_deref(), "distribution")?;
        let param = rules::read_param(&name, text, value.0)?;
        Ok((name, param))
    }

    /// All parameters of a trial that is made with them.
    pub fn params(&self) -> Said<Params> {
        let texts = self.distributions.clone().unwrap_or_default();
        let values = self.params.clone().unwrap_or_default();
        let one = |(name, value): (String, Number)| {
            let text = texts.get(&name).ok_or_else(|| format!("no distribution of `{name}`"))?;
            let param = rules::read_param(&name, text, value.0)?;
            Ok((name, param))
        };
        values.into_iter().map(one).collect()
    }

    /// The report; a value that is null was none.
    pub fn report(&self) -> Said<Option<(u64, f64)>> {
        let step = need(self.step, "step")?;
        Ok(self.intermediate_value.map(|value| (step, value.0)))
    }

    pub fn reports(&self) -> BTreeMap<u64, f64> {
        let all = self.intermediate_values.iter().flatten();
        all.filter_map(|(step, value)| value.map(|value| (*step, value.0))).collect()
    }
}

const STATES: [(State, u64); 5] = [
    (State::Running, 0),
    (State::Complete, 1),
    (State::Pruned, 2),
    (State::Fail, 3),
    (State::Waiting, 4),
];

/// The number of a state.
pub(super) fn state_code(state: State) -> u64 {
    STATES.iter().find(|(known, _)| *known == state).map_or(0, |(_, code)| *code)
}

/// The number of a direction.
pub(super) fn direction_code(direction: Direction) -> u64 {
    match direction {
        Direction::Minimise => 1,
        Direction::Maximise => 2,
    }
}

/// The direction of a study with one objective.
pub(super) fn direction(codes: &[u64]) -> Option<Direction> {
    match codes {
        [1] => Some(Direction::Minimise),
        [2] => Some(Direction::Maximise),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        let line = Line::parse(text);
        line.and_then(|line| line.op().and(line.param())).map(|_| ()).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(wrong("{\"op_co{\"op_code\":4}").contains("not a line of a journal"));
        assert!(wrong("[]").contains("not a line of a journal"));
        let unknown = wrong(r#"{"op_code":11,"worker_id":"w"}"#);
        assert_eq!(unknown, "unknown operation 11; known: 0 to 10");
        assert_eq!(wrong(r#"{"op_code":5,"worker_id":"w"}"#), "no `param_name`");
        let list = Distribution::Categorical { choices: vec![crate::Choice::None] }.to_json();
        let fields = json!({"param_name": "x", "param_value_internal": 1, "distribution": list});
        let outside = wrong(&Op::Param.line("w", &fields));
        assert_eq!(outside, "`x` is choice 1, which its list does not have");
    }

    #[test]
    fn numbers_that_json_lacks_are_read() {
        let text =
            r#"{"op_code":7,"worker_id":"w","trial_id":0,"step":3,"intermediate_value":NaN}"#;
        let (step, value) = Line::parse(text).unwrap().report().unwrap().unwrap();
        assert!(step == 3 && value.is_nan());
        let text = r#"{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":null,
            "values":[-Infinity],"intermediate_values":{"10":1,"2":NaN}}"#;
        let line = Line::parse(text).unwrap();
        assert_eq!(line.value(), Some(f64::NEG_INFINITY));
        assert_eq!(line.reports().keys().copied().collect::<Vec<_>>(), [2, 10]);
    }
}

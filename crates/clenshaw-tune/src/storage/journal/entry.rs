//! The entries of a journal: one JSON object per line, with an operation, the worker and further fields.

use super::super::json::{self, PythonFloat};
use super::super::validation;
use crate::{Attributes, Trial, TrialState};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

// The operations, by Optuna's codes.
pub(super) const CREATE_STUDY: u64 = 0;
pub(super) const DELETE_STUDY: u64 = 1;
pub(super) const STUDY_USER_ATTR: u64 = 2;
pub(super) const STUDY_SYSTEM_ATTR: u64 = 3;
pub(super) const CREATE_TRIAL: u64 = 4;
pub(super) const SET_PARAM: u64 = 5;
pub(super) const SET_STATE: u64 = 6;
pub(super) const REPORT: u64 = 7;
pub(super) const TRIAL_USER_ATTR: u64 = 8;
pub(super) const TRIAL_SYSTEM_ATTR: u64 = 9;
/// Written by Rustuna. Optuna 5 ignores it and Optuna 4 fails on it, so this crate never writes it.
pub(super) const DISCARD_TRIALS: u64 = 10;

/// A result whose error is a message without the location of the entry.
type EntryResult<T> = Result<T, String>;

/// An entry; its operation determines the type of its fields.
#[derive(Debug, Deserialize)]
pub(super) struct LogEntry {
    pub op_code: u64,
    pub worker_id: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// The fields of [`CREATE_STUDY`].
#[derive(Deserialize)]
pub(super) struct NewStudy {
    pub study_name: String,
    /// Optuna's code of each objective's direction: 1 to minimize, 2 to maximize.
    pub directions: Vec<u64>,
}

/// The fields of [`DELETE_STUDY`].
#[derive(Deserialize)]
pub(super) struct StudyId {
    pub study_id: u64,
}

/// The fields of [`STUDY_USER_ATTR`] and [`STUDY_SYSTEM_ATTR`].
#[derive(Deserialize)]
pub(super) struct StudyAttr {
    pub study_id: u64,
    #[serde(alias = "user_attr", alias = "system_attr")]
    pub attr: Attributes,
}

/// The fields of [`TRIAL_USER_ATTR`] and [`TRIAL_SYSTEM_ATTR`].
#[derive(Deserialize)]
pub(super) struct TrialAttr {
    pub trial_id: u64,
    #[serde(alias = "user_attr", alias = "system_attr")]
    pub attr: Attributes,
}

/// The fields of [`CREATE_TRIAL`].
#[derive(Deserialize)]
pub(super) struct NewTrial {
    pub study_id: u64,
    #[serde(flatten)]
    status: TrialStatus,
    user_attrs: Option<Attributes>,
    system_attrs: Option<Attributes>,
    /// Internal values by parameter name.
    params: Option<BTreeMap<String, PythonFloat>>,
    /// Distributions as JSON text, by parameter name.
    distributions: Option<BTreeMap<String, String>>,
    /// Intermediate values by step.
    intermediate_values: Option<BTreeMap<u64, Option<PythonFloat>>>,
}

/// The fields of [`SET_STATE`].
#[derive(Deserialize)]
pub(super) struct NewState {
    pub trial_id: u64,
    #[serde(flatten)]
    pub status: TrialStatus,
}

/// The state of a trial, with its value and times.
#[derive(Deserialize)]
pub(super) struct TrialStatus {
    /// The index of the state in [`TrialState::ALL`].
    state: Option<u64>,
    /// The value of the only objective.
    value: Option<PythonFloat>,
    /// The value of each objective.
    values: Option<Vec<PythonFloat>>,
    pub datetime_start: Option<String>,
    pub datetime_complete: Option<String>,
}

/// The fields of [`SET_PARAM`].
#[derive(Deserialize)]
pub(super) struct NewParam {
    pub trial_id: u64,
    pub param_name: String,
    pub param_value_internal: PythonFloat,
    pub distribution: String,
}

/// The fields of [`REPORT`].
#[derive(Deserialize)]
pub(super) struct Report {
    pub trial_id: u64,
    pub step: u64,
    pub intermediate_value: Option<PythonFloat>,
}

impl LogEntry {
    /// Parses a line of the journal.
    pub fn parse(line: &str) -> EntryResult<Self> {
        json::parse(line).map_err(|e| format!("not a journal entry: {e}"))
    }

    /// Converts the fields to a type, which the caller chooses by the operation.
    pub fn fields<T: DeserializeOwned>(self) -> EntryResult<T> {
        serde_json::from_value(Value::Object(self.fields)).map_err(|e| e.to_string())
    }
}

impl TrialStatus {
    /// The state; running by default. Fails if it is unknown.
    pub fn state(&self) -> EntryResult<TrialState> {
        let code = self.state.unwrap_or(0);
        let known = TrialState::ALL.get(code as usize).copied();
        known.ok_or_else(|| format!("unknown state {code}"))
    }

    /// The value of the first objective; `None` if there is none.
    pub fn value(&self) -> Option<f64> {
        let first = self.values.as_ref().and_then(|values| values.first().copied());
        self.value.or(first).map(|number| number.0)
    }
}

impl NewTrial {
    /// Converts to a trial with this id; the caller must set its number. Fails if the state is unknown, or if
    /// a parameter is invalid or has no distribution.
    pub fn into_trial(self, id: u64) -> EntryResult<Trial> {
        let distributions = self.distributions.unwrap_or_default();
        let param = |(name, value): (String, PythonFloat)| {
            let missing = || format!("the distribution of `{name}` is missing");
            let text = distributions.get(&name).ok_or_else(missing)?;
            let param = validation::parse_param(&name, text, value.0)?;
            Ok((name, param))
        };
        let params = self.params.unwrap_or_default().into_iter().map(param);
        let reports = self.intermediate_values.unwrap_or_default().into_iter();
        let (state, value) = (self.status.state()?, self.status.value());
        Ok(Trial {
            value,
            params: params.collect::<EntryResult<_>>()?,
            intermediate_values: reports.filter_map(|(step, x)| Some((step, x?.0))).collect(),
            user_attrs: self.user_attrs.unwrap_or_default(),
            system_attrs: self.system_attrs.unwrap_or_default(),
            datetime_start: self.status.datetime_start,
            datetime_complete: self.status.datetime_complete,
            ..Trial::new(id, 0, state)
        })
    }
}

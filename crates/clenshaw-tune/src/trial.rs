//! Trials: parameters, states and results.

use crate::{Distribution, ParamValue};
use std::collections::BTreeMap;

/// User or system attributes by name.
pub type Attributes = BTreeMap<String, serde_json::Value>;

/// Parameters by name: the distribution of each and its internal value.
pub type Params = BTreeMap<String, (Distribution, f64)>;

/// Whether a study minimizes or maximizes its objective, with Optuna's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Small values are better.
    Minimize = 1,
    /// Large values are better.
    Maximize = 2,
}

impl Direction {
    /// The value, negated if the study maximizes it, so that smaller is better.
    pub(crate) fn loss(self, value: f64) -> f64 {
        match self {
            Self::Minimize => value,
            Self::Maximize => -value,
        }
    }
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Minimize => "minimize",
            Self::Maximize => "maximize",
        })
    }
}

/// The state of a trial, in the order of Optuna's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// A worker is evaluating the trial.
    Running,
    /// The trial has finished with a value.
    Complete,
    /// The trial was stopped early.
    Pruned,
    /// The trial has ended without a value.
    Fail,
    /// The trial is enqueued: no worker has started it yet.
    Waiting,
}

impl TrialState {
    /// All states, each at the index of its code.
    pub(crate) const ALL: [Self; 5] =
        [Self::Running, Self::Complete, Self::Pruned, Self::Fail, Self::Waiting];

    /// Whether the trial has ended; a finished trial cannot be changed.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Pruned | Self::Fail)
    }
}

/// The outcome of a trial, as passed to [`Storage::finish`](crate::Storage::finish).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrialOutcome {
    /// The trial completed with this value. With NaN or an infinity, the trial fails instead.
    Complete(f64),
    /// The trial was pruned, with its last intermediate value, if any.
    Pruned(Option<f64>),
    /// The trial failed.
    Fail,
}

impl TrialOutcome {
    /// The state and value to store; NaN and infinities are never stored.
    pub(crate) fn state_and_value(self) -> (TrialState, Option<f64>) {
        match self {
            Self::Complete(value) if value.is_finite() => (TrialState::Complete, Some(value)),
            Self::Complete(_) | Self::Fail => (TrialState::Fail, None),
            Self::Pruned(value) => (TrialState::Pruned, value.filter(|value| value.is_finite())),
        }
    }
}

/// A snapshot of a trial, as read from a storage: Optuna's `FrozenTrial`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The id of the trial, unique within the storage.
    pub id: u64,
    /// The number of the trial within its study, counted from 0.
    pub number: u64,
    /// The state.
    pub state: TrialState,
    /// The objective of a complete trial or the last intermediate value of a pruned one; otherwise `None`.
    pub value: Option<f64>,
    /// The parameters that have been set.
    pub params: Params,
    /// Intermediate values by step.
    pub intermediate_values: BTreeMap<u64, f64>,
    /// Attributes set by users.
    pub user_attrs: Attributes,
    /// Attributes set by samplers, pruners, storages and dashboards.
    pub system_attrs: Attributes,
    /// The start time in RFC 3339; `None` if the trial has not started. A time without an offset is UTC,
    /// except in trials written by Optuna 4, whose times are local: its journals and all databases store no
    /// offset.
    pub datetime_start: Option<String>,
    /// The end time, in the same format; `None` if the trial has not ended.
    pub datetime_complete: Option<String>,
}

/// The system attribute of Optuna that stores the fixed parameters of an enqueued trial.
pub(crate) const FIXED_PARAMS: &str = "fixed_params";

impl Trial {
    /// A trial without parameters, values and times.
    pub(crate) fn new(id: u64, number: u64, state: TrialState) -> Self {
        Self {
            id,
            number,
            state,
            value: None,
            params: BTreeMap::new(),
            intermediate_values: BTreeMap::new(),
            user_attrs: BTreeMap::new(),
            system_attrs: BTreeMap::new(),
            datetime_start: None,
            datetime_complete: None,
        }
    }

    /// The internal value of a parameter that was fixed when the trial was enqueued; `None` if it was
    /// not fixed, or if the value does not belong to the distribution.
    pub fn fixed_param(&self, name: &str, distribution: &Distribution) -> Option<f64> {
        let fixed = self.system_attrs.get(FIXED_PARAMS)?.get(name)?;
        distribution.to_internal(&ParamValue::from_json(fixed))
    }

    /// The parameters with which to enqueue the trial again: those fixed when it was enqueued, and those set
    /// since then.
    pub fn retry_params(&self) -> BTreeMap<String, ParamValue> {
        let fixed = self.system_attrs.get(FIXED_PARAMS).and_then(serde_json::Value::as_object);
        let fixed = fixed.into_iter().flatten();
        let fixed = fixed.map(|(name, value)| (name.clone(), ParamValue::from_json(value)));
        let set = self.external_params().into_iter();
        fixed.chain(set.map(|(name, value)| (name.to_owned(), value))).collect()
    }

    /// The parameters that have been set, as a user would write them.
    pub fn external_params(&self) -> BTreeMap<&str, ParamValue> {
        let external =
            |(distribution, internal): &(Distribution, f64)| distribution.to_external(*internal);
        self.params.iter().map(|(name, param)| (name.as_str(), external(param))).collect()
    }
}

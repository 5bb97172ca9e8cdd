//! Trials: parameters, states and results.

use crate::{Distribution, ParamValue};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

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
    /// The stored value of the first objective; `None` if there is none. This crate stores the objective of a
    /// complete trial and the last intermediate value of a pruned one.
    pub value: Option<f64>,
    /// The parameters that have been set.
    pub params: Params,
    /// Intermediate values by step.
    pub intermediate_values: BTreeMap<u64, f64>,
    /// Attributes set by users.
    pub user_attrs: Attributes,
    /// Attributes set by samplers, pruners, storages and dashboards.
    pub system_attrs: Attributes,
    /// The start time as stored, in the format of RFC 3339 but possibly without an offset; `None` if the
    /// trial has not started. Without an offset it is UTC, or local time if Optuna 4 has written it.
    pub datetime_start: Option<String>,
    /// The end time, in the same format; `None` if the trial has not ended.
    pub datetime_complete: Option<String>,
}

/// The system attribute of Optuna that stores the fixed parameters of an enqueued trial.
pub(crate) const FIXED_PARAMS: &str = "fixed_params";

impl Trial {
    /// A trial without parameters, values or times.
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

    /// The seconds from the start to the end of the trial; `None` if one of these times is missing, if they
    /// cannot be parsed or compared, or if the end is before the start.
    pub fn seconds(&self) -> Option<f64> {
        let start = parse_time(self.datetime_start.as_deref()?)?;
        let end = parse_time(self.datetime_complete.as_deref()?)?;
        let is_comparable = start.1.is_some() == end.1.is_some();
        let utc = |(time, offset): (SystemTime, Option<i64>)| {
            let since_1970 = time.duration_since(UNIX_EPOCH).ok()?;
            Some(since_1970.as_secs_f64() - offset.unwrap_or(0) as f64)
        };
        let seconds = utc(end)? - utc(start)?;
        (is_comparable && seconds >= 0.0).then_some(seconds)
    }

    /// The parameters that have been set, as a user would write them.
    pub fn external_params(&self) -> BTreeMap<&str, ParamValue> {
        let external =
            |(distribution, internal): &(Distribution, f64)| distribution.to_external(*internal);
        self.params.iter().map(|(name, param)| (name.as_str(), external(param))).collect()
    }
}

/// Splits a time in the format of RFC 3339 into its local time and its offset in seconds, which is `None` if
/// it is missing. Returns `None` if the time is invalid.
fn parse_time(text: &str) -> Option<(SystemTime, Option<i64>)> {
    let parsed = |local: &str| humantime::parse_rfc3339_weak(local).ok();
    if let Some(local) = text.strip_suffix('Z') {
        return Some((parsed(local)?, Some(0)));
    }
    let split = text.len().checked_sub(6).filter(|&at| text.is_char_boundary(at))?;
    let (local, offset) = text.split_at(split);
    let unsigned = offset.strip_prefix(['+', '-']);
    let Some((hours, minutes)) = unsigned.and_then(|unsigned| unsigned.split_once(':')) else {
        return Some((parsed(text)?, None));
    };
    let seconds = 3600 * hours.parse::<i64>().ok()? + 60 * minutes.parse::<i64>().ok()?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some((parsed(local)?, Some(sign * seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_take_offsets_into_account() {
        let seconds = |start: &str, end: &str| {
            let mut trial = Trial::new(0, 0, TrialState::Complete);
            trial.datetime_start = Some(start.into());
            trial.datetime_complete = Some(end.into());
            trial.seconds()
        };
        // The formats of our journals, of databases and of Optuna 4.
        let utc = seconds("2023-08-06T12:00:00.250000+00:00", "2023-08-06T12:00:02.750000+00:00");
        assert_eq!(utc, Some(2.5));
        assert_eq!(seconds("2023-08-06T23:59:59", "2023-08-07 00:00:01.500000"), Some(2.5));
        let mixed = seconds("2023-08-06T14:00:00+02:00", "2023-08-06T09:30:00-03:00");
        assert_eq!(mixed, Some(1800.0));
        assert_eq!(seconds("2023-08-06T12:00:00", "2023-08-06T12:00:02Z"), None);
        assert_eq!(seconds("2023-08-06T12:00:00", "2023-08-06T11:00:00"), None);
        assert_eq!(seconds("yesterday", "today"), None);
        assert_eq!(seconds("2023-08-06T12\u{df}0:00", "2023-08-06T12:00:02"), None);
    }
}

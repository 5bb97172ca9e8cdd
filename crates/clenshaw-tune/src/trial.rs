//! One try of a study: what was drawn, what came out.

use super::{Choice, Distribution};
use std::collections::BTreeMap;

/// Notes by name.
pub type Attributes = BTreeMap<String, serde_json::Value>;

/// Parameters by name: what each is drawn from, and the internal value that was drawn.
pub type Params = BTreeMap<String, (Distribution, f64)>;

/// Which end of the objective is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Small values.
    Minimise,
    /// Large values.
    Maximise,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Minimise => "minimise",
            Self::Maximise => "maximise",
        })
    }
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A worker has it.
    Running,
    /// It has a value.
    Complete,
    /// It was stopped early.
    Pruned,
    /// It ended without a value.
    Fail,
    /// Its parameters were chosen beforehand; no worker has it yet.
    Waiting,
}

impl State {
    /// Whether nothing about the trial changes any more.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Pruned | Self::Fail)
    }
}

/// How a trial ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// With a value; one that is not finite fails the trial.
    Complete(f64),
    /// Stopped early, with its last report, if it had any.
    Pruned(Option<f64>),
    /// Without a value.
    Fail,
}

impl Ending {
    /// What is kept of it: a study never holds NaN or an infinity.
    pub fn kept(self) -> (State, Option<f64>) {
        match self {
            Self::Complete(value) if value.is_finite() => (State::Complete, Some(value)),
            Self::Complete(_) | Self::Fail => (State::Fail, None),
            Self::Pruned(value) => (State::Pruned, value.filter(|value| value.is_finite())),
        }
    }
}

/// A trial as a storage shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its identity within the storage.
    pub id: u64,
    /// Its place in the study, from 0.
    pub number: u64,
    /// Where it stands.
    pub state: State,
    /// The objective, when it is complete; the last report, when it was pruned.
    pub value: Option<f64>,
    /// The parameters, with the internal value of each.
    pub params: Params,
    /// Values reported on the way, by step.
    pub reports: BTreeMap<u64, f64>,
    /// What users note.
    pub user_attrs: Attributes,
    /// What samplers, pruners and dashboards note.
    pub system_attrs: Attributes,
    /// When a worker took it: RFC 3339. Without an offset it is UTC, or local if Optuna 4 wrote it: its
    /// journals have local times, and databases keep no offset.
    pub started: Option<String>,
    /// When it ended, likewise.
    pub finished: Option<String>,
}

/// The system attribute in which a waiting trial keeps the parameters that were chosen for it.
pub(super) const FIXED: &str = "fixed_params";

impl Trial {
    /// The internal value that was chosen beforehand for a parameter, if one was and it belongs.
    pub fn fixed(&self, name: &str, distribution: &Distribution) -> Option<f64> {
        let chosen = self.system_attrs.get(FIXED)?.get(name)?;
        distribution.internal(&Choice::from_json(chosen))
    }

    /// What it was to try, as far as that is known: chosen beforehand, and drawn since.
    pub fn intended(&self) -> BTreeMap<String, Choice> {
        let chosen = self.system_attrs.get(FIXED).and_then(serde_json::Value::as_object);
        let chosen = chosen.into_iter().flatten();
        let chosen = chosen.map(|(name, value)| (name.clone(), Choice::from_json(value)));
        let drawn = self.external().into_iter();
        chosen.chain(drawn.map(|(name, choice)| (name.to_owned(), choice))).collect()
    }

    /// The parameters as a person would write them.
    pub fn external(&self) -> BTreeMap<&str, Choice> {
        let written =
            |(distribution, internal): &(Distribution, f64)| distribution.external(*internal);
        self.params.iter().map(|(name, param)| (name.as_str(), written(param))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_without_a_finite_value_is_not_complete() {
        assert_eq!(Ending::Complete(0.5).kept(), (State::Complete, Some(0.5)));
        assert_eq!(Ending::Complete(f64::NAN).kept(), (State::Fail, None));
        assert_eq!(Ending::Pruned(Some(f64::INFINITY)).kept(), (State::Pruned, None));
    }
}

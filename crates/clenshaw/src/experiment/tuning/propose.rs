//! Proposes the configuration of the next trial: one that no other trial of the study has tried.
//!
//! If the sampler returns a configuration that has been tried, it is called again with different seeds,
//! then replaced by random sampling, and finally by the grid, which detects an exhausted space.

use super::{DIRECTION, TuneRequest};
use crate::rng::Stream;
use clenshaw_tune::{
    Distribution, ParamValue, Pruner, Result, Sampler, SamplingContext, Trial, TrialState,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The user attribute of trials that were skipped, or that failed because of their settings: the reason. Their
/// configurations are not tried again.
pub(in crate::experiment) const FAILED: &str = "failed";

/// Attempts with the study's sampler.
const SAMPLER_ATTEMPTS: u64 = 10;
/// Further attempts with random sampling.
const RANDOM_ATTEMPTS: u64 = 100;

/// The internal value of every tuned parameter.
type TrialValues = BTreeMap<String, f64>;

/// Untried values for trial `number`; `None` if every point of the space has been tried, or if no new one was
/// drawn from a space that is continuous or has more than a million points. With the grid sampler, such a space
/// is an error.
pub(super) fn propose(
    request: &TuneRequest,
    pruner: &Pruner,
    trials: &[Trial],
    number: u64,
) -> Result<Option<TrialValues>> {
    let trials = failed_as_pruned(trials);
    let visible = pruner.visible_trials(&trials, number);
    let seed = request.training.seed;
    let context = |trials, seed| SamplingContext {
        space: &request.space,
        trials,
        direction: DIRECTION,
        seed,
        number,
    };
    let is_new = |values: &TrialValues| {
        !trials.iter().any(|trial| is_tried(trial) && has_values(trial, request, values))
    };
    if request.sampler == Sampler::Grid {
        return Sampler::Grid.sample(&context(&trials, seed));
    }
    for attempt in 0..SAMPLER_ATTEMPTS + RANDOM_ATTEMPTS {
        let sampler = if attempt < SAMPLER_ATTEMPTS { &request.sampler } else { &Sampler::Random };
        let values = sampler.sample(&context(&visible, attempt_seed(seed, attempt)))?;
        if let Some(values) = values.filter(is_new) {
            return Ok(Some(values));
        }
    }
    // A continuous space, or one of more than a million points, has no grid; if nothing new was drawn from
    // it, it counts as exhausted.
    Ok(Sampler::Grid.sample(&context(&trials, seed)).unwrap_or(None))
}

/// The number and the value of another complete trial with the same configuration; `None` if there is none.
pub(super) fn known_value(
    request: &TuneRequest,
    trials: &[Trial],
    trial: &Trial,
) -> Option<(u64, f64)> {
    let values = trial.params.iter().map(|(name, (_, value))| (name.clone(), *value)).collect();
    let others = trials.iter().filter(|other| other.number != trial.number);
    let mut complete = others.filter(|other| other.state == TrialState::Complete);
    let duplicate = complete.find(|other| has_values(other, request, &values))?;
    Some((duplicate.number, duplicate.value?))
}

/// The study's seed for the first attempt, then seeds derived from it.
fn attempt_seed(seed: u64, attempt: u64) -> u64 {
    match attempt {
        0 => seed,
        _ => Stream::new(seed, "tuning").named("again").bits(attempt),
    }
}

/// The trials, with the state of those that failed because of their settings replaced by pruned, so that their
/// configurations count as tried.
fn failed_as_pruned(trials: &[Trial]) -> Cow<'_, [Trial]> {
    let has_failed =
        |trial: &Trial| trial.state == TrialState::Fail && trial.user_attrs.contains_key(FAILED);
    // Copying all trials of a study is expensive, so they are copied only if necessary.
    if !trials.iter().any(has_failed) {
        return Cow::Borrowed(trials);
    }
    let pruned = |trial: &Trial| {
        let state = if has_failed(trial) { TrialState::Pruned } else { trial.state };
        Trial { state, ..trial.clone() }
    };
    Cow::Owned(trials.iter().map(pruned).collect())
}

/// Whether the configuration of a trial counts as tried, see [`failed_as_pruned`]; that of an interrupted trial
/// does not.
fn is_tried(trial: &Trial) -> bool {
    matches!(trial.state, TrialState::Complete | TrialState::Pruned | TrialState::Running)
}

/// Whether a trial has this configuration.
fn has_values(trial: &Trial, request: &TuneRequest, values: &TrialValues) -> bool {
    let same = |(name, value): (&String, &f64)| {
        let param = trial.params.get(name);
        param.is_some_and(|(d, x)| {
            is_equal(&d.to_external(*x), &request.space[name].to_external(*value), d)
        })
    };
    trial.params.len() == values.len() && values.iter().all(same)
}

/// Whether two values are equal; floats within a small tolerance, because other programs may round
/// multiples of a step differently.
fn is_equal(a: &ParamValue, b: &ParamValue, distribution: &Distribution) -> bool {
    match (a, b, distribution) {
        (ParamValue::Float(a), ParamValue::Float(b), Distribution::Float { .. }) => {
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        _ => a.python_eq(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(number: u64, state: TrialState) -> Trial {
        Trial {
            id: number,
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

    #[test]
    fn trials_are_copied_only_if_one_has_failed() {
        let mut trials = vec![trial(0, TrialState::Complete), trial(1, TrialState::Fail)];
        assert!(matches!(failed_as_pruned(&trials), Cow::Borrowed(_)));
        trials[1].user_attrs.insert(FAILED.into(), "training diverged".into());
        let states = failed_as_pruned(&trials).iter().map(|trial| trial.state).collect::<Vec<_>>();
        assert_eq!(states, [TrialState::Complete, TrialState::Pruned]);
    }
}

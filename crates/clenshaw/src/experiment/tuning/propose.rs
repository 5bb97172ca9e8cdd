//! What the next trial tries: nothing that another trial of the study has tried.
//!
//! A sampler that comes upon a known configuration is asked again with another stream of the same
//! trial. If it insists, chance is asked, and at last the grid, which knows when nothing is left.

use super::{DIRECTION, TuneRequest};
use crate::error::Result;
use crate::rng::Stream;
use clenshaw_tune::{Ask, Choice, Distribution, Pruner, Sampler, State, Trial};
use std::collections::BTreeMap;

/// The attribute of a trial that failed by itself and would fail again.
pub(super) const FAILED: &str = "failed";

/// How often the sampler is asked.
const ASKED: u64 = 10;
/// How often chance is asked after that.
const DRAWN: u64 = 100;

/// A value for every tuned parameter.
pub(super) type Values = BTreeMap<String, f64>;

/// Values for trial `number`; nothing, if every point of the space has been tried.
pub(super) fn propose(
    asked: &TuneRequest,
    pruner: &Pruner,
    trials: &[Trial],
    number: u64,
) -> Result<Option<Values>> {
    let spent: Vec<Trial> = trials.iter().map(spent).collect();
    let peers = peers(pruner, &spent, number);
    let seed = asked.request.seed;
    let ask =
        |trials, seed| Ask { space: &asked.space, trials, direction: DIRECTION, seed, number };
    let is_new =
        |values: &Values| !spent.iter().any(|trial| counts(trial) && has(trial, asked, values));
    if asked.sampler == Sampler::Grid {
        return Ok(Sampler::Grid.sample(&ask(&spent, seed))?);
    }
    for again in 0..ASKED + DRAWN {
        let sampler = if again < ASKED { &asked.sampler } else { &Sampler::Random };
        let values = sampler.sample(&ask(&peers, shifted(seed, again)))?;
        if let Some(values) = values.filter(is_new) {
            return Ok(Some(values));
        }
    }
    // A space without a grid has no end, and whoever draws nothing new from it has nothing to gain.
    Ok(Sampler::Grid.sample(&ask(&spent, seed)).unwrap_or(None))
}

/// The number of a completed trial with the same configuration, and its value.
pub(super) fn known(
    asked: &TuneRequest,
    trials: &[Trial],
    number: u64,
    values: &Values,
) -> Option<(u64, f64)> {
    let others = trials.iter().filter(|trial| trial.number != number);
    let mut complete = others.filter(|trial| trial.state == State::Complete);
    let twin = complete.find(|trial| has(trial, asked, values))?;
    Some((twin.number, twin.value?))
}

/// The seed itself, then others.
fn shifted(seed: u64, again: u64) -> u64 {
    match again {
        0 => seed,
        _ => Stream::new(seed, "tuning").named("again").bits(again),
    }
}

/// A trial that failed by itself is as good as pruned: the grid must not offer its point again.
fn spent(trial: &Trial) -> Trial {
    let failed = trial.state == State::Fail && trial.user_attrs.contains_key(FAILED);
    Trial { state: if failed { State::Pruned } else { trial.state }, ..trial.clone() }
}

/// Hyperband's samplers learn from the trials of the same bracket alone.
fn peers(pruner: &Pruner, trials: &[Trial], number: u64) -> Vec<Trial> {
    match pruner {
        Pruner::Hyperband(hyperband) => {
            hyperband.peers(number, trials).into_iter().cloned().collect()
        }
        _ => trials.to_vec(),
    }
}

/// An interrupted trial has tried nothing.
fn counts(trial: &Trial) -> bool {
    matches!(trial.state, State::Complete | State::Pruned | State::Running)
}

/// Whether a trial has this configuration.
fn has(trial: &Trial, asked: &TuneRequest, values: &Values) -> bool {
    let same = |(name, value): (&String, &f64)| {
        let there = trial.params.get(name);
        there.is_some_and(|(d, x)| alike(&d.external(*x), &asked.space[name].external(*value), d))
    };
    trial.params.len() == values.len() && values.iter().all(same)
}

/// Others may round steps differently.
fn alike(a: &Choice, b: &Choice, distribution: &Distribution) -> bool {
    match (a, b, distribution) {
        (Choice::Real(a), Choice::Real(b), Distribution::Float { .. }) => {
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        _ => a.same(b),
    }
}

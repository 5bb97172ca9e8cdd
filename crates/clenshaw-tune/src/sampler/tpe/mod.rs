//! Tree-structured Parzen estimators, as Optuna 5 defines them.
//!
//! ```text
//! l(x) = density of the good trials,  g(x) = density of the others
//! next = the largest of  log l(x) - log g(x)  over 24 candidates drawn from l
//! ```
//!
//! A running trial counts as a bad one (the constant liar), so that workers keep apart.
//! Constraints are not looked at.
//! Bergstra, Bardenet, Bengio & Kegl, NeurIPS 2011; Watanabe, arXiv:2304.11127.

pub(crate) mod kernel;
pub(crate) mod mixture;
mod normal;
mod split;
#[cfg(test)]
mod tests;

use super::{Ask, random};
use crate::{Distribution, State, Trial};
use clenshaw_rng::Stream;
use mixture::Mixture;
use std::collections::BTreeMap;

/// The sampler's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Tpe {
    /// How many finished trials are drawn evenly first.
    pub startup: usize,
    /// How many candidates are drawn from `l`.
    pub candidates: usize,
    /// Whether parameters are seen together.
    pub view: View,
}

/// How the estimators see the parameters of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Each on its own: Optuna's `multivariate=False`, its default up to version 4.
    Alone,
    /// Those that all finished trials have, as one vector: the default of Optuna 5 for one objective.
    Together,
}

impl Default for Tpe {
    fn default() -> Self {
        Self { startup: 10, candidates: 24, view: View::Together }
    }
}

/// Parameters that are drawn together.
type Group<'a> = BTreeMap<&'a str, &'a Distribution>;

impl Tpe {
    /// Values for every parameter.
    pub(super) fn sample(&self, ask: &Ask) -> BTreeMap<String, f64> {
        let mut values = random::sample(ask);
        if ask.others().filter(|trial| is_finished(trial)).count() < self.startup {
            return values;
        }
        let (good, bad) = split::split(ask);
        for group in self.groups(ask) {
            let names: Vec<&str> = group.keys().copied().collect();
            let mut stream = ask.stream().named("tpe").named(&names.join(" "));
            let best = self.best(&group, &good, &bad, &mut stream);
            values.extend(names.into_iter().map(str::to_owned).zip(best));
        }
        values
    }

    /// The candidate of the largest `log l - log g`.
    fn best(
        &self,
        group: &Group,
        good: &[&Trial],
        bad: &[&Trial],
        stream: &mut Stream,
    ) -> Vec<f64> {
        let (l, g) = (Mixture::fit(group, good), Mixture::fit(group, bad));
        let candidates = (0..self.candidates.max(1)).map(|_| l.sample(stream));
        let scored = candidates.map(|x| (l.log_pdf(&x) - g.log_pdf(&x), x));
        // The first of equals, as Optuna's.
        scored.reduce(|a, b| if b.0 > a.0 { b } else { a }).expect("at least one candidate").1
    }

    /// The parameters with more than one value, in groups.
    fn groups<'a>(&self, ask: &Ask<'a>) -> Vec<Group<'a>> {
        let open = ask.space.iter().filter(|(_, d)| !d.is_single());
        let open = open.map(|(name, d)| (name.as_str(), d));
        let (together, alone): (Group, Group) = open.partition(|(name, distribution)| {
            self.view == View::Together && in_every_trial(ask, name, distribution)
        });
        let alone = alone.into_iter().map(|pair| Group::from([pair]));
        alone.chain((!together.is_empty()).then_some(together)).collect()
    }
}

/// Whether all finished trials drew it, and from the same values.
fn in_every_trial(ask: &Ask, name: &str, distribution: &Distribution) -> bool {
    let drew = |trial: &Trial| trial.params.get(name).is_some_and(|(d, _)| d == distribution);
    ask.others().filter(|trial| is_finished(trial)).all(drew)
}

/// Whether it says how good its values are.
fn is_finished(trial: &Trial) -> bool {
    matches!(trial.state, State::Complete | State::Pruned)
}

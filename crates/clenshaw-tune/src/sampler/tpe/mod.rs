//! Tree-structured Parzen estimators, as implemented in Optuna 5.
//!
//! ```text
//! l(x) = density of the good trials,  g(x) = density of the others
//! next = argmax of  log l(x) - log g(x)  over candidates sampled from l
//! ```
//!
//! Running trials are included in `g` (constant liar), so that parallel workers sample different values.
//! Constraints are not supported.
//! Bergstra, Bardenet, Bengio & Kegl, NeurIPS 2011; Watanabe, arXiv:2304.11127.

pub(crate) mod kernel;
pub(crate) mod mixture;
mod normal;
mod split;
#[cfg(test)]
mod optuna_tests;
#[cfg(test)]
mod tests;

use super::{SamplingContext, random};
use crate::{Distribution, Trial, TrialState};
use clenshaw_rng::Stream;
use mixture::Mixture;
use std::collections::BTreeMap;

/// Settings of the TPE sampler, with the names and defaults of Optuna 5.
#[derive(Clone, Debug, PartialEq)]
pub struct Tpe {
    /// The number of trials that must be complete or pruned before the estimators are used; until then,
    /// values are sampled as by [`Sampler::Random`](super::Sampler::Random).
    pub n_startup_trials: usize,
    /// The number of candidates sampled from `l`; 0 has the same effect as 1.
    pub n_ei_candidates: usize,
    /// Whether to sample jointly the parameters that all complete and pruned trials have, with the same
    /// distribution. This is the default of Optuna 5 for studies with one objective; earlier versions sample
    /// each parameter independently by default.
    pub multivariate: bool,
}

impl Default for Tpe {
    fn default() -> Self {
        Self { n_startup_trials: 10, n_ei_candidates: 24, multivariate: true }
    }
}

/// Parameters that are sampled jointly: their distributions by name.
type Group<'a> = BTreeMap<&'a str, &'a Distribution>;

impl Tpe {
    /// Samples an internal value for every parameter.
    pub(super) fn sample(&self, context: &SamplingContext) -> BTreeMap<String, f64> {
        let mut values = random::sample(context);
        let n_finished = context.other_trials().filter(|trial| has_result(trial)).count();
        if n_finished < self.n_startup_trials {
            return values;
        }
        let (good, bad) = split::split(context);
        for group in self.groups(context) {
            let names: Vec<&str> = group.keys().copied().collect();
            let mut stream = context.stream().named("tpe").named(&names.join(" "));
            let best = self.best_candidate(&group, &good, &bad, &mut stream);
            values.extend(names.into_iter().map(str::to_owned).zip(best));
        }
        values
    }

    /// Returns the candidate with the largest `log l - log g`: one internal value per parameter of the group.
    fn best_candidate(
        &self,
        group: &Group,
        good: &[&Trial],
        bad: &[&Trial],
        stream: &mut Stream,
    ) -> Vec<f64> {
        let (l, g) = (Mixture::fit(group, good), Mixture::fit(group, bad));
        let candidates = (0..self.n_ei_candidates.max(1)).map(|_| l.sample(stream));
        let scored = candidates.map(|x| (l.log_pdf(&x) - g.log_pdf(&x), x));
        // Ties go to the first candidate, as in Optuna.
        scored.reduce(|a, b| if b.0 > a.0 { b } else { a }).expect("at least one candidate").1
    }

    /// The parameters with more than one value, in groups that are sampled jointly.
    fn groups<'a>(&self, context: &SamplingContext<'a>) -> Vec<Group<'a>> {
        let variable = context.space.iter().filter(|(_, d)| !d.is_single());
        let variable = variable.map(|(name, d)| (name.as_str(), d));
        let (joint, independent): (Group, Group) = variable.partition(|(name, distribution)| {
            self.multivariate && in_every_trial(context, name, distribution)
        });
        let independent = independent.into_iter().map(|pair| Group::from([pair]));
        independent.chain((!joint.is_empty()).then_some(joint)).collect()
    }
}

/// Whether all complete and pruned trials have the parameter, with this distribution.
fn in_every_trial(context: &SamplingContext, name: &str, distribution: &Distribution) -> bool {
    let has = |trial: &Trial| trial.params.get(name).is_some_and(|(d, _)| d == distribution);
    context.other_trials().filter(|trial| has_result(trial)).all(has)
}

/// Whether the trial is complete or pruned.
fn has_result(trial: &Trial) -> bool {
    matches!(trial.state, TrialState::Complete | TrialState::Pruned)
}

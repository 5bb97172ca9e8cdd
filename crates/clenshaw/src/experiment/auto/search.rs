//! What to do next, as a function of the trials of the study.
//!
//! ```text
//! rung 0   every entry of the portfolio on the first split          1 of 5 splits
//! rung 1   the best half of those with a result, at least 3         2 of 5
//! rung 2   the best quarter, at least 3                             5 of 5
//! then     TPE in the space of one of the three best models, drawn with probabilities 1/2, 1/3, 1/6
//! ```
//!
//! A trial of the portfolio belongs to the rung that is given by the number of earlier trials of its entry.
//! With a time limit, a rung ends after its share of the time (`clock.rs`). Rung 0 is not cut short before there
//! is a result, unless all the time is used.

use super::portfolio::{Portfolio, PortfolioEntry};
use crate::experiment::tuning::{FAILED, declared_distribution, format_value, mean};
use crate::hyper::{HyperParam, Params, Value};
use crate::model::ModelInfo;
use crate::rng::Stream;
use clenshaw_tune::{
    Direction, Distribution, NextTrial, ParamValue, Sampler, SamplingContext, Tpe, Trial,
    TrialState,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The parameter that names the entry of the portfolio.
pub(super) const CONFIGURATION: &str = "configuration";
/// The user attribute with the scores on the first splits, including those from earlier trials of the same entry.
pub(super) const SCORES: &str = "scores";
/// The user attribute with the mean training time of the runs of a trial, in seconds.
pub(super) const RUN_SECONDS: &str = "run_seconds";

/// The share of the time after which each rung ends; the rest is for tuning.
const RUNG_ENDS: [f64; 3] = [0.40, 0.55, 0.75];
/// At least this many entries reach each rung, if as many have results.
const MIN_SURVIVORS: usize = 3;
/// The probabilities of tuning the best model, the second best and the third best.
const MODEL_PROBABILITIES: [f64; 3] = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 6.0];
/// The maximum number of attempts to draw a configuration that has not been tried.
const ATTEMPTS: u64 = 30;
/// With fewer results of a model than this, TPE draws its settings at random. Results of the portfolio count.
const STARTUP_TRIALS: usize = 3;

/// A model with settings.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    /// The name of the entry of the portfolio that it comes from.
    pub entry: String,
    /// Whether it has settings that were proposed by tuning, not taken from the entry.
    pub is_tuned: bool,
    pub model: &'static ModelInfo,
    pub hyper: Params,
}

impl Configuration {
    /// A digest of the model and its hyper-parameters.
    pub fn id(&self) -> String {
        let hyper = serde_json::to_string(&self.hyper).expect("numbers and words only");
        short_digest(&format!("{} {hyper}", self.model.name), 16)
    }
}

/// The first hexadecimal digits of the SHA-256 of a text.
pub(super) fn short_digest(text: &str, digits: usize) -> String {
    let digest = Sha256::digest(text);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..digits].to_owned()
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SearchStep {
    /// Train this entry of the portfolio, on the splits of its next rung.
    Portfolio(usize),
    /// Train new settings of the model of this entry.
    Tune(usize),
    /// There is nothing left to do, or no time left.
    End,
}

/// What determines the next step, besides the trials and the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search<'a> {
    pub portfolio: &'a Portfolio,
    pub n_splits: usize,
    pub seed: u64,
}

impl<'a> Search<'a> {
    /// The number of splits of each rung: one, the rounded square root of all, and all, without duplicates.
    pub fn rungs(&self) -> Vec<usize> {
        let mut rungs = vec![1, (self.n_splits as f64).sqrt().round() as usize, self.n_splits];
        rungs.dedup();
        rungs
    }

    /// The share of the time after which a rung ends.
    pub fn rung_end(&self, rung: usize) -> f64 {
        RUNG_ENDS[rung.min(RUNG_ENDS.len() - 1)]
    }

    /// The entry that a trial trains or starts from; `None` if the trial has none of this portfolio.
    pub fn entry(&self, trial: &Trial) -> Option<usize> {
        let (distribution, internal) = trial.params.get(CONFIGURATION)?;
        match distribution.to_external(*internal) {
            ParamValue::Str(name) => self.entry_named(&name),
            _ => None,
        }
    }

    fn entry_named(&self, name: &str) -> Option<usize> {
        self.portfolio.entries.iter().position(|entry| entry.name == name)
    }

    /// The configuration of a trial with these parameters; `None` unless one of them names an entry of this
    /// portfolio and all others are settings of the entry's model.
    pub fn configuration(&self, params: &clenshaw_tune::Params) -> Option<Configuration> {
        let (distribution, internal) = params.get(CONFIGURATION)?;
        let ParamValue::Str(name) = distribution.to_external(*internal) else { return None };
        let &PortfolioEntry { model, ref hyper, .. } =
            &self.portfolio.entries[self.entry_named(&name)?];
        let mut hyper = hyper.clone();
        for (key, (distribution, internal)) in
            params.iter().filter(|(key, _)| *key != CONFIGURATION)
        {
            let key = key.strip_prefix(model.name)?.strip_prefix('.')?;
            hyper.set(key, &format_value(distribution, *internal)).ok()?;
        }
        Some(Configuration { entry: name, is_tuned: params.len() > 1, model, hyper })
    }

    /// The trials of an entry that count, see [`is_attempt`], in order; without tuned ones.
    fn attempts<'t>(
        &self,
        trials: &'t [Trial],
        entry: usize,
    ) -> impl Iterator<Item = &'t Trial> + use<'t, 'a> {
        let search = *self;
        let is_own =
            move |trial: &&Trial| trial.params.len() == 1 && search.entry(trial) == Some(entry);
        trials.iter().filter(is_own).filter(|trial| is_attempt(trial))
    }

    /// The rung of a trial of the portfolio, and the scores of the earlier trial of its entry with the most splits.
    pub fn rung_of(&self, trials: &[Trial], trial: &Trial, entry: usize) -> (usize, Vec<f64>) {
        let earlier: Vec<&Trial> =
            self.attempts(trials, entry).filter(|other| other.number < trial.number).collect();
        let longest = earlier.iter().map(|trial| scores(trial)).max_by_key(Vec::len);
        (earlier.len().min(self.rungs().len() - 1), longest.unwrap_or_default())
    }

    /// The next step when this share of the time has been used; `index` determines the random draw of a model.
    pub fn next_step(&self, trials: &[Trial], index: u64, share: f64) -> SearchStep {
        let rungs = self.rungs();
        let has_results = trials.iter().any(|trial| !scores(trial).is_empty());
        if share >= 1.0 {
            return SearchStep::End;
        }
        for rung in 0..rungs.len() {
            let is_over = share >= self.rung_end(rung) && (rung > 0 || has_results);
            let members = self.rung_members(trials, rung);
            let open = members.into_iter().find(|&entry| {
                let attempts: Vec<&Trial> = self.attempts(trials, entry).collect();
                attempts.len() <= rung && !attempts.iter().any(|t| t.state == TrialState::Fail)
            });
            if let Some(entry) = open.filter(|_| !is_over) {
                return SearchStep::Portfolio(entry);
            }
        }
        match self.entry_to_tune(trials, index) {
            Some(entry) => SearchStep::Tune(entry),
            None => SearchStep::End,
        }
    }

    /// The entries that reach a rung by the results so far, best first; all entries for rung 0, in their order.
    fn rung_members(&self, trials: &[Trial], rung: usize) -> Vec<usize> {
        let all = 0..self.portfolio.entries.len();
        let Some(before) = rung.checked_sub(1) else { return all.collect() };
        let n_splits = self.rungs()[before];
        let scored = all.filter_map(|entry| {
            let attempts = self.attempts(trials, entry).map(scores);
            let scores = attempts.filter(|scores| scores.len() >= n_splits).max_by_key(Vec::len)?;
            Some((entry, mean(&scores[..n_splits])))
        });
        let mut ranked: Vec<(usize, f64)> = scored.collect();
        // A stable sort: of equal scores, the earlier entry comes first.
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let n = self.portfolio.entries.len().min(ranked.len().max(1) << before);
        ranked.truncate((n >> rung).max(MIN_SURVIVORS));
        ranked.into_iter().map(|(entry, _)| entry).collect()
    }

    /// The best entry of one of the best models, drawn at random with [`MODEL_PROBABILITIES`]; `None` if no model
    /// with a result can be tuned.
    fn entry_to_tune(&self, trials: &[Trial], index: u64) -> Option<usize> {
        let mut best: Vec<(&str, usize, (usize, f64))> = vec![];
        for trial in trials {
            let Some(entry) = self.entry(trial) else { continue };
            let scores = scores(trial);
            let model = self.portfolio.entries[entry].model;
            if scores.is_empty() || space(model).is_empty() {
                continue;
            }
            let value = (scores.len(), mean(&scores));
            match best.iter_mut().find(|(name, ..)| *name == model.name) {
                Some(known) if is_better(value, known.2) => *known = (model.name, entry, value),
                Some(_) => {}
                None => best.push((model.name, entry, value)),
            }
        }
        best.sort_by(|a, b| b.2.0.cmp(&a.2.0).then(b.2.1.total_cmp(&a.2.1)));
        let stream = Stream::new(self.seed, "auto").named("model").numbered(index);
        let weights = &MODEL_PROBABILITIES[..MODEL_PROBABILITIES.len().min(best.len())];
        let mut draw = stream.clone().unit() * weights.iter().sum::<f64>();
        let position = weights.iter().position(|weight| {
            draw -= weight;
            draw < 0.0
        });
        best.get(position.unwrap_or(0)).map(|(_, entry, _)| *entry)
    }

    /// The parameters of the next trial: those of the queued trial if they are valid, otherwise those of the next
    /// step. `None` if there is no next step, or if tuning finds no configuration that has not been tried.
    pub fn next_params(
        &self,
        trials: &[Trial],
        next: NextTrial<'_>,
        share: f64,
    ) -> clenshaw_tune::Result<Option<clenshaw_tune::Params>> {
        if let Some(params) = next.waiting.and_then(|waiting| self.stored_params(waiting)) {
            return Ok(Some(params));
        }
        // Not the number of the trial: that depends on interruptions.
        let earlier =
            trials.iter().filter(|trial| trial.number != next.number && is_attempt(trial));
        let index = earlier.count() as u64;
        match self.next_step(trials, index, share) {
            SearchStep::End => Ok(None),
            SearchStep::Portfolio(entry) => Ok(Some(self.portfolio_params(entry))),
            SearchStep::Tune(entry) => self.tuned_params(trials, index, entry),
        }
    }

    /// The parameters of a trial that trains an entry unchanged.
    fn portfolio_params(&self, entry: usize) -> clenshaw_tune::Params {
        let names = self.portfolio.entries.iter().map(|e| ParamValue::Str(e.name.clone()));
        let distribution = Distribution::Categorical { choices: names.collect() };
        [(CONFIGURATION.to_owned(), (distribution, entry as f64))].into()
    }

    /// The parameters of a queued trial; `None` unless one of them names an entry of this portfolio and all others
    /// are in the search space of the entry's model.
    fn stored_params(&self, waiting: &Trial) -> Option<clenshaw_tune::Params> {
        let stored = waiting.retry_params();
        let Some(ParamValue::Str(name)) = stored.get(CONFIGURATION) else { return None };
        let entry = self.entry_named(name)?;
        let mut params = self.portfolio_params(entry);
        let space = space(self.portfolio.entries[entry].model);
        for (key, value) in stored.iter().filter(|(key, _)| *key != CONFIGURATION) {
            let distribution = space.get(key)?.clone();
            let internal = distribution.to_internal(value)?;
            params.insert(key.clone(), (distribution, internal));
        }
        Some(params)
    }

    /// The parameters of a new configuration of the model of an entry, proposed by TPE from all results of the model;
    /// `None` if [`ATTEMPTS`] proposals have all been tried.
    fn tuned_params(
        &self,
        trials: &[Trial],
        index: u64,
        entry: usize,
    ) -> clenshaw_tune::Result<Option<clenshaw_tune::Params>> {
        let model = self.portfolio.entries[entry].model;
        let space = space(model);
        let mut results: Vec<Trial> =
            trials.iter().filter_map(|trial| self.in_space(trial, model, &space)).collect();
        (0..).zip(&mut results).for_each(|(number, trial)| trial.number = number);
        let number = results.len() as u64;
        let tried: Vec<String> =
            trials.iter().filter_map(|t| Some(self.configuration(&t.params)?.id())).collect();
        let sampler = Sampler::Tpe(Tpe { n_startup_trials: STARTUP_TRIALS, ..Tpe::default() });
        for attempt in 0..ATTEMPTS {
            let stream = Stream::new(self.seed, "auto").named("tuning").numbered(index);
            let seed = stream.bits(attempt);
            let direction = Direction::Maximize;
            let context =
                SamplingContext { space: &space, trials: &results, direction, seed, number };
            let Some(values) = sampler.sample(&context)? else { return Ok(None) };
            let mut params = self.portfolio_params(entry);
            params.extend(values.into_iter().map(|(key, internal)| {
                let distribution = space[&key].clone();
                (key, (distribution, internal))
            }));
            let configuration = self.configuration(&params);
            if configuration.is_some_and(|new| !tried.contains(&new.id())) {
                return Ok(Some(params));
            }
        }
        Ok(None)
    }

    /// Converts a trial of this model to a complete trial at the nearest point of the model's search space. `None` if
    /// the trial is of another model, has no result, or has a setting without a nearest point.
    fn in_space(&self, trial: &Trial, model: &ModelInfo, space: &Space) -> Option<Trial> {
        let configuration = self.configuration(&trial.params)?;
        let scores = scores(trial);
        if configuration.model.name != model.name || scores.is_empty() {
            return None;
        }
        let point = space.iter().map(|(key, distribution)| {
            let name = key.split_once('.').map_or("", |(_, name)| name);
            let (_, value) = configuration.hyper.iter().find(|(hyper, _)| hyper.name == name)?;
            Some((key.clone(), (distribution.clone(), nearest(distribution, value)?)))
        });
        Some(Trial {
            params: point.collect::<Option<_>>()?,
            state: TrialState::Complete,
            value: Some(mean(&scores)),
            ..trial.clone()
        })
    }
}

/// Whether a trial counts as an attempt: queued and interrupted ones do not.
fn is_attempt(trial: &Trial) -> bool {
    match trial.state {
        TrialState::Waiting => false,
        TrialState::Fail => trial.user_attrs.contains_key(FAILED),
        _ => true,
    }
}

/// Whether a result is better: on more splits or, on equally many, with a higher mean.
pub(super) fn is_better(a: (usize, f64), b: (usize, f64)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 > b.1)
}

/// The scores on the first splits that are stored with a trial; empty if there are none.
pub(super) fn scores(trial: &Trial) -> Vec<f64> {
    let list = trial.user_attrs.get(SCORES).and_then(|value| value.as_array());
    list.into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
}

/// A search space by parameter name.
type Space = BTreeMap<String, Distribution>;

/// The declared search space of a model, with the name of the model in every key.
fn space(model: &ModelInfo) -> Space {
    let entry = |hyper: &HyperParam| {
        let key = format!("{}.{}", model.name, hyper.name);
        Some((key, declared_distribution(hyper)?))
    };
    model.hyper_params().filter_map(entry).collect()
}

/// The internal value of the point of a distribution that is nearest to a setting; of listed numbers, that with the
/// nearest logarithm if all of them and the setting are positive. `None` for a flag or word that is not one of the
/// points, and for a number unless all choices are numbers or flags.
fn nearest(distribution: &Distribution, value: Value) -> Option<f64> {
    let number = match value {
        Value::Int(v) => v as f64,
        Value::Real(v) => v,
        Value::Flag(v) => return distribution.to_internal(&ParamValue::Bool(v)),
        Value::Word(v) => return distribution.to_internal(&ParamValue::Str(v.into())),
    };
    let on_steps = |low: f64, high: f64, step: f64| {
        let steps = ((number.clamp(low, high) - low) / step).round();
        Some((low + steps * step).min(high))
    };
    match distribution {
        Distribution::Categorical { choices } => {
            let numbers: Vec<f64> = choices.iter().filter_map(ParamValue::as_f64).collect();
            let is_positive = number > 0.0 && numbers.iter().all(|&choice| choice > 0.0);
            let distance = |choice: f64| match is_positive {
                true => (choice / number).ln().abs(),
                false => (choice - number).abs(),
            };
            let near = (0..numbers.len())
                .min_by(|&a, &b| distance(numbers[a]).total_cmp(&distance(numbers[b])));
            near.filter(|_| numbers.len() == choices.len()).map(|index| index as f64)
        }
        Distribution::Int { low, high, step, .. } => {
            on_steps(*low as f64, *high as f64, *step as f64)
        }
        Distribution::Float { low, high, step: Some(step), .. } => on_steps(*low, *high, *step),
        Distribution::Float { low, high, .. } => Some(number.clamp(*low, *high)),
    }
}

#[cfg(test)]
mod tests;

//! Why the answer is as it is, in sentences.

use super::answer::{AutoAnswer, ConfigurationRow, SpectralFilter};
use crate::experiment::tuning::StudyEnd;

/// The number of points at which a filter is evaluated.
const POINTS: usize = 301;

impl AutoAnswer {
    /// What the graph is like, which frequencies matter, what was tried, and how the answer was chosen: one
    /// sentence or two per entry.
    pub fn explanation(&self) -> Vec<String> {
        let mut sentences = vec![self.graph.homophily_sentence()];
        sentences.extend(self.graph.spectrum_sentence());
        sentences.extend(self.filter.as_ref().map(filter_sentence));
        sentences.push(self.search_sentence());
        sentences.push(self.ensemble_sentence());
        sentences.extend(self.estimate_sentence());
        sentences
    }

    /// How many configurations were compared, and why the search ended.
    fn search_sentence(&self) -> String {
        let n_tuned = self.configurations.iter().filter(|row| row.tuned).count();
        let n = self.configurations.len();
        let mut models: Vec<&str> = self.configurations.iter().map(|row| &*row.model).collect();
        models.sort_unstable();
        models.dedup();
        let reason = match self.end {
            StudyEnd::TrialsCompleted => "the requested number of trials was reached",
            StudyEnd::SpaceExhausted => "nothing was left to try",
            StudyEnd::TimedOut => "the time was used up",
            StudyEnd::Interrupted => "it was interrupted",
        };
        let (n, models) = (count(n, "configuration"), count(models.len(), "model"));
        format!(
            "Compared on validation nodes: {n} of {models}, {n_tuned} of them tuned; the search ended \
             because {reason}."
        )
    }

    fn ensemble_sentence(&self) -> String {
        let members: Vec<&ConfigurationRow> =
            self.configurations.iter().filter(|row| row.weight > 0.0).collect();
        let (score, single) = (100.0 * self.ensemble_validation, 100.0 * self.single.validation);
        let (name, title) = (&self.single.name, self.objective.title());
        match &members[..] {
            [only] => only_member_sentence(only, title, self.ensemble.members.len()),
            _ => format!(
                "The ensemble of {} configurations has a validation {title} of {score:.1}%, the best single \
                 configuration, {name}, {single:.1}%; both are optimistic, because these nodes chose them.",
                members.len()
            ),
        }
    }

    fn estimate_sentence(&self) -> Option<String> {
        let estimate = self.estimate.as_ref()?;
        let ((low, high), n) = (estimate.interval, estimate.nodes);
        Some(format!(
            "On {n} test nodes, which played no part in any choice, its {} is {:.1}% (95% interval {:.1}% to \
             {:.1}%); always predicting the most frequent class gives an accuracy of {:.1}%.",
            self.objective.title(),
            100.0 * estimate.score,
            100.0 * low,
            100.0 * high,
            100.0 * estimate.majority_share
        ))
    }
}

/// The sentence about an ensemble with one configuration, which can differ from the best single one, for example if
/// both have the same score.
fn only_member_sentence(member: &ConfigurationRow, score: &str, n_splits: usize) -> String {
    format!(
        "No combination was better than {} alone (validation {score} {:.1}%); its models are averaged over {}.",
        member.title(),
        100.0 * member.validation,
        count(n_splits, "validation split")
    )
}

/// A count with its noun, as in `1 model` and `2 models`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The mean gain `|h|` of a filter at low, middle and high frequencies, divided by the largest of the three.
fn band_gains(filter: &SpectralFilter) -> [f64; 3] {
    let points = filter.response.sample(POINTS);
    let mean = |low: f64, high: f64| {
        let inside = points.iter().filter(|(mu, _)| (low..=high).contains(mu));
        let (sum, n) = inside.fold((0.0, 0), |(sum, n), (_, h)| (sum + h.abs(), n + 1));
        if n == 0 { 0.0 } else { sum / f64::from(n) }
    };
    let third = 1.0 / 3.0;
    let gains = [mean(third, 1.0), mean(-third, third), mean(-1.0, -third)];
    let largest = gains.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    gains.map(|gain| gain / largest)
}

fn filter_sentence(filter: &SpectralFilter) -> String {
    let [low, middle, high] = band_gains(filter).map(|gain| format!("{gain:.2}"));
    format!(
        "The filter of the best spectral model, {} (validation {:.1}%), has the relative gains {low}, {middle} \
         and {high} at low, middle and high frequencies.",
        filter.name,
        100.0 * filter.validation
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Basis, Filter, Response};

    #[test]
    fn gains_are_relative_means_over_thirds_of_the_spectrum() {
        // h = 1 + mu: means 5/3, 1 and 1/3.
        let response =
            Response::Shared(Filter { basis: Basis::Monomial, coefficients: vec![1.0, 1.0] });
        let model = crate::model::find("gpr-gnn").unwrap();
        let filter = SpectralFilter { name: "g".into(), model, validation: 0.5, response };
        for (gain, expected) in band_gains(&filter).into_iter().zip([1.0, 0.6, 0.2]) {
            assert!((gain - expected).abs() < 0.01, "{gain}");
        }
        assert!(filter_sentence(&filter).contains("gains 1.00, 0.60 and 0.20"));
    }

    #[test]
    fn sentence_about_one_member_names_this_member() {
        let member = ConfigurationRow {
            name: "gcn-cora".into(),
            tuned: false,
            model: "gcn".into(),
            hyper: crate::model::find("gcn").unwrap().defaults(),
            trial: 0,
            scores: vec![0.75, 0.85],
            validation: 0.8,
            run_seconds: None,
            weight: 1.0,
        };
        let sentence = only_member_sentence(&member, "accuracy", 2);
        assert_eq!(
            sentence,
            "No combination was better than gcn-cora alone (validation accuracy 80.0%); its models are \
             averaged over 2 validation splits."
        );
    }
}

//! The score that a search maximises.

use crate::data::{Dataset, Metric};
use crate::error::{Error, Result};
use crate::hyper::{Choice, choices};
use crate::tensor::Mat;
use crate::train::{TestScores, metrics, most_likely};

choices! {
    /// A score of predicted probabilities; larger is better.
    pub enum Objective {
        /// The fraction of nodes classified correctly.
        Accuracy = "accuracy",
        /// The mean recall over classes.
        BalancedAccuracy = "balanced-accuracy",
        /// The mean F1 over classes.
        MacroF1 = "macro-f1",
        /// The area under the ROC curve of the second of two classes.
        RocAuc = "roc-auc",
    }
}

impl Objective {
    /// The objective for the metric that papers report on a graph.
    pub fn of(metric: Metric) -> Self {
        match metric {
            Metric::Accuracy => Self::Accuracy,
            Metric::RocAuc => Self::RocAuc,
        }
    }

    /// The name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced accuracy",
            Self::MacroF1 => "macro-F1",
            Self::RocAuc => "ROC AUC",
        }
    }

    /// Whether all classes count equally, whatever their size.
    pub(super) fn weighs_classes_equally(self) -> bool {
        matches!(self, Self::BalancedAccuracy | Self::MacroF1)
    }

    /// Fails if the objective is not defined for the number of classes of a data set.
    pub(super) fn check(self, dataset: &Dataset) -> Result<()> {
        match (self, dataset.n_classes()) {
            (Self::RocAuc, n) if n != 2 => Err(Error::BadValue {
                key: "metric".into(),
                value: self.word().into(),
                expected: format!(
                    "accuracy, balanced-accuracy or macro-f1 on a graph with {n} classes"
                ),
            }),
            _ => Ok(()),
        }
    }

    /// The score of `nodes`, whose labels `truth` are in the same order; zero if the score is undefined.
    pub(super) fn score(self, probabilities: &Mat<f32>, nodes: &[u32], truth: &[u32]) -> f64 {
        let n_classes = probabilities.cols();
        let predicted: Vec<u32> =
            nodes.iter().map(|&i| most_likely(probabilities.row(i as usize))).collect();
        let score = match self {
            Self::Accuracy => metrics::accuracy(&predicted, truth),
            Self::BalancedAccuracy => metrics::balanced_accuracy(&predicted, truth, n_classes),
            Self::MacroF1 => metrics::macro_f1(&predicted, truth, n_classes),
            Self::RocAuc => {
                let second = |&i: &u32| f64::from(probabilities[(i as usize, 1)]);
                metrics::roc_auc(&nodes.iter().map(second).collect::<Vec<f64>>(), truth)
            }
        };
        if score.is_nan() { 0.0 } else { score }
    }

    /// Returns this score from the scores on test nodes; NaN if it is undefined.
    pub(in crate::experiment) fn of_test(self, scores: &TestScores) -> f64 {
        match self {
            Self::Accuracy => scores.accuracy,
            Self::BalancedAccuracy => scores.balanced_accuracy,
            Self::MacroF1 => scores.macro_f1,
            Self::RocAuc => scores.roc_auc.unwrap_or(f64::NAN),
        }
    }
}

impl std::str::FromStr for Objective {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        let known = Self::WORDS.iter().copied();
        Self::from_word(word).ok_or_else(|| Error::unknown("metric", word, known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_match_hand_computation() {
        // Nodes 0, 2 and 3 are scored; predictions 1, 0, 1 for labels 1, 0, 0.
        let p = Mat::from_vec(4, 2, vec![0.2, 0.8, 0.5, 0.5, 0.9, 0.1, 0.4, 0.6]);
        let score = |objective: Objective| objective.score(&p, &[0, 2, 3], &[1, 0, 0]);
        assert!((score(Objective::Accuracy) - 2.0 / 3.0).abs() < 1e-12);
        assert!((score(Objective::BalancedAccuracy) - 0.75).abs() < 1e-12);
        // F1 of class 0: 2/3, of class 1: 2/3.
        assert!((score(Objective::MacroF1) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(score(Objective::RocAuc), 1.0);
        assert_eq!(Objective::RocAuc.score(&p, &[0], &[1]), 0.0, "one class only");
        let error = "acuracy".parse::<Objective>().unwrap_err().to_string();
        assert!(error.starts_with("unknown metric `acuracy`; did you mean `accuracy`?"), "{error}");
    }
}

//! Full-batch training: one model, one split, one seed.

pub mod metrics;
mod setup;
mod stop;
mod step;
mod fit;
mod weights;

pub use fit::{Epoch, Fit, Outcome};
pub use setup::{Setup, optimiser};
pub use step::{PhaseTiming, StepTiming};
pub use stop::{EarlyStopping, StopRule};
pub use weights::{WeightFile, read_weights, write_weights};

use crate::data::{Dataset, Split};
use crate::tensor::Mat;

/// What the test nodes say about a trained model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestScores {
    /// Share of test nodes whose class is right.
    pub accuracy: f64,
    /// Mean F1 over classes.
    pub macro_f1: f64,
    /// Mean recall over classes.
    pub balanced_accuracy: f64,
    /// The accuracy of always answering the most frequent class.
    pub majority_share: f64,
    /// Of two classes: the chance that a node of the second scores higher than one of the first.
    pub roc_auc: Option<f64>,
}

/// Scores a finished model on the test nodes. The only place that reads their labels.
pub fn test_scores(probabilities: &Mat<f32>, dataset: &Dataset, split: &Split) -> TestScores {
    let label = |&i: &u32| dataset.y[i as usize].expect("a split holds labelled nodes only");
    let truth: Vec<u32> = split.test.iter().map(label).collect();
    let predicted: Vec<u32> =
        split.test.iter().map(|&i| most_likely(probabilities.row(i as usize))).collect();
    let n_classes = dataset.n_classes();
    TestScores {
        accuracy: metrics::accuracy(&predicted, &truth),
        macro_f1: metrics::macro_f1(&predicted, &truth, n_classes),
        balanced_accuracy: metrics::balanced_accuracy(&predicted, &truth, n_classes),
        majority_share: metrics::majority_share(&truth),
        roc_auc: (n_classes == 2).then(|| {
            let score = |&i: &u32| f64::from(probabilities[(i as usize, 1)]);
            metrics::roc_auc(&split.test.iter().map(score).collect::<Vec<f64>>(), &truth)
        }),
    }
}

/// The class with the highest score; the first of equals.
pub fn most_likely(scores: &[f32]) -> u32 {
    let better = |best: usize, c: usize| if scores[c] > scores[best] { c } else { best };
    (1..scores.len()).fold(0, better) as u32
}

//! Training: one model, one data set, one split, one seed. Full batch, except for models with a precomputed filter,
//! which are trained on batches of rows.

pub mod metrics;
mod setup;
mod record;
mod stop;
mod step_timing;
mod fit;
mod forecast;
mod weights;
mod precompute;
mod batches;
mod trained_model;
mod trainer;
mod attribution;

pub use crate::hyper::StopRule;
pub use attribution::{
    Attribution, AttributionLimits, AttributionMethod, AttributionTarget, Contribution,
    PolynomialTerm, PolynomialTerms,
};
#[cfg(any(test, fuzzing))]
pub(crate) use fit::checkpoint::is_checkpoint;
pub use fit::{Epoch, EpochFilter, Fit, Outcome, RunEnd};
pub use forecast::MemoryForecast;
pub use precompute::{PrecomputeOptions, PrecomputeProgress};
pub use setup::{Setup, optimiser};
pub use step_timing::{PhaseTiming, Preparation, StepTiming};
pub use stop::EarlyStopping;
pub use trained_model::{ModelProvenance, TrainedModel};
pub use trainer::{TrainedRun, Trainer};
pub use weights::{WeightFile, read_weights, write_weights};

use crate::data::{Dataset, Split};
use crate::error::Result;
use crate::tensor::Mat;

/// The scores of a trained model on the test nodes; NaN without test nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestScores {
    /// The fraction of nodes classified correctly.
    pub accuracy: f64,
    /// The mean F1 over classes.
    pub macro_f1: f64,
    /// The mean recall over classes.
    pub balanced_accuracy: f64,
    /// The share of the most frequent class among the test nodes: the accuracy of always predicting that
    /// class.
    pub majority_share: f64,
    /// The area under the ROC curve of the second class; `None` unless there are exactly two classes, NaN if
    /// one of them has no test nodes.
    pub roc_auc: Option<f64>,
}

/// Scores predicted probabilities, `[n, C]`, on the test nodes. The test scores of a run are computed only by this
/// function.
///
/// # Errors
/// If the split, the features or the labels do not fit the graph.
///
/// # Panics
/// If the probabilities are not `[n, C]` of this data set.
pub fn test_scores(
    probabilities: &Mat<f32>,
    dataset: &Dataset,
    split: &Split,
) -> Result<TestScores> {
    dataset.check_shapes()?;
    split.check(dataset)?;
    let (shape, n_classes) = ((probabilities.rows(), probabilities.cols()), dataset.n_classes());
    let expected = (dataset.graph.n_nodes(), n_classes);
    assert_eq!(shape, expected, "test_scores: the probabilities and the data set differ in shape");
    let label = |&i: &u32| dataset.y[i as usize].expect("the split was checked");
    let truth: Vec<u32> = split.test().iter().map(label).collect();
    let predicted: Vec<u32> =
        split.test().iter().map(|&i| most_likely(probabilities.row(i as usize))).collect();
    Ok(TestScores {
        accuracy: metrics::accuracy(&predicted, &truth),
        macro_f1: metrics::macro_f1(&predicted, &truth, n_classes),
        balanced_accuracy: metrics::balanced_accuracy(&predicted, &truth, n_classes),
        majority_share: metrics::majority_share(&truth),
        roc_auc: (n_classes == 2).then(|| {
            let score = |&i: &u32| f64::from(probabilities[(i as usize, 1)]);
            metrics::roc_auc(&split.test().iter().map(score).collect::<Vec<f64>>(), &truth)
        }),
    })
}

/// The class with the highest score; in a tie, the lowest class. 0 if there are no scores.
pub fn most_likely(scores: &[f32]) -> u32 {
    let better = |best: usize, c: usize| if scores[c] > scores[best] { c } else { best };
    (1..scores.len()).fold(0, better) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, SplitKind};

    #[test]
    fn test_scores_reject_a_split_of_another_data_set() {
        let (small, large) =
            (data::load("csbm:nodes=60").unwrap(), data::load("csbm:nodes=90").unwrap());
        let split = SplitKind::Balanced.draw(&large, 0).unwrap();
        let probabilities = Mat::zeros(60, small.n_classes());
        assert!(test_scores(&probabilities, &small, &split).is_err());
    }

    #[test]
    #[should_panic(expected = "test_scores: the probabilities and the data set differ in shape")]
    fn test_scores_panic_on_probabilities_of_another_shape() {
        let dataset = data::load("csbm:nodes=60").unwrap();
        let split = SplitKind::Balanced.draw(&dataset, 0).unwrap();
        let _ = test_scores(&Mat::zeros(61, dataset.n_classes()), &dataset, &split);
    }
}

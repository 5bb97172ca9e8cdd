//! The scores on the validation nodes after an epoch.

use crate::error::{Error, Result};
use crate::tensor::log_sum_exp;
use crate::train::{EarlyStopping, Setup, StopRule, metrics, most_likely};

/// The scores on the validation nodes after an epoch.
pub(super) struct Validation {
    pub loss: f64,
    pub accuracy: f64,
    /// For the stopping rule `roc-auc` only.
    pub roc_auc: Option<f64>,
}

impl Validation {
    /// Evaluates the class scores of the validation nodes, each with its label; there is at least one.
    pub fn new<'a>(scores: impl Iterator<Item = (&'a [f32], u32)> + Clone, rule: StopRule) -> Self {
        let (mut loss, mut correct, mut n) = (0.0, 0, 0.0);
        for (z, label) in scores.clone() {
            loss += f64::from(log_sum_exp(z) - z[label as usize]);
            correct += usize::from(most_likely(z) == label);
            n += 1.0;
        }
        let roc_auc = (rule == StopRule::RocAuc).then(|| {
            let margins: Vec<f64> = scores.clone().map(|(z, _)| f64::from(z[1] - z[0])).collect();
            let labels: Vec<u32> = scores.map(|(_, label)| label).collect();
            metrics::roc_auc(&margins, &labels)
        });
        Self { loss: loss / n, accuracy: correct as f64 / n, roc_auc }
    }
}

/// Returns an error if the metric of the stopping rule is not defined for the data set.
pub(super) fn check_metric(stopping: EarlyStopping, setup: &Setup) -> Result<()> {
    let n_classes = setup.dataset().n_classes();
    if stopping.rule != StopRule::RocAuc || n_classes == 2 {
        return Ok(());
    }
    Err(Error::BadValue {
        key: "stop".into(),
        value: stopping.rule.to_string(),
        expected: format!(
            "another rule, because ROC AUC needs 2 classes and there are {n_classes}"
        ),
    })
}

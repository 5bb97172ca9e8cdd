//! Models that were trained without a run folder.

use crate::data::{Dataset, Split};
use crate::error::Result;
use crate::experiment::RunRecord;
use crate::tensor;
use crate::train::{Epoch, EpochFilter, TrainedModel, TrainedRun, test_scores};

/// A trained model and its training.
#[derive(Clone, Copy)]
pub struct FittedRun<'a> {
    /// The model.
    pub model: &'a TrainedModel,
    /// The graph it was trained on.
    pub dataset: &'a Dataset,
    /// The training, validation and test nodes.
    pub split: &'a Split,
    /// The epochs of the training; empty if they are unknown.
    pub epochs: &'a [Epoch],
    /// The initial filter and the filter after every epoch; may be empty.
    pub filters: &'a [EpochFilter],
    /// The epoch whose weights were kept; 0 if it is unknown.
    pub best_epoch: usize,
    /// Training time in seconds; NaN if it is unknown.
    pub seconds: f64,
}

impl<'a> From<&'a TrainedRun> for FittedRun<'a> {
    fn from(run: &'a TrainedRun) -> Self {
        let outcome = run.outcome();
        Self {
            model: run.model(),
            dataset: run.dataset(),
            split: run.split(),
            epochs: &outcome.history,
            filters: &outcome.filters,
            best_epoch: outcome.best.epoch,
            seconds: f64::NAN,
        }
    }
}

impl FittedRun<'_> {
    /// The record of the run, without its Dirichlet energy and memory. Fails if the model, the data set and the split
    /// do not match.
    pub(super) fn record(&self, threads: usize) -> Result<RunRecord> {
        let probabilities = self.model.predict(self.dataset, threads)?;
        let scores = test_scores(&probabilities, self.dataset, self.split)?;
        let best = self.epochs.iter().find(|epoch| epoch.epoch == self.best_epoch);
        Ok(RunRecord {
            seed: self.model.provenance().seed,
            split: self.split.provenance().into(),
            split_sha256: self.split.sha256(),
            epochs: self.epochs.len(),
            best_epoch: self.best_epoch,
            val_loss: best.and_then(|epoch| epoch.val_loss),
            val_accuracy: best.and_then(|epoch| epoch.val_accuracy),
            test_accuracy: scores.accuracy,
            macro_f1: scores.macro_f1,
            balanced_accuracy: scores.balanced_accuracy,
            majority_share: scores.majority_share,
            roc_auc: scores.roc_auc,
            filter: self.model.filter(self.dataset)?,
            energy: None,
            instructions: tensor::instruction_set().into(),
            seconds: self.seconds,
            forecast_memory_bytes: None,
            peak_memory_bytes: None,
        })
    }
}

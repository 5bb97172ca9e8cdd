//! Models that were trained without a run folder.

use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
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
        let (found, expected) = (&self.dataset.class_names, self.model.class_names());
        if found != expected {
            let problem = format!(
                "its classes are {}, but those of the model are {}",
                found.join(", "),
                expected.join(", ")
            );
            return Err(Error::Data { place: self.dataset.name.clone(), problem });
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::train::Trainer;

    #[test]
    fn data_with_other_classes_are_rejected() {
        let load = |text: &str| data::load(text).unwrap();
        let trainer = Trainer::new("mlp").unwrap().set("max_epochs", 2).unwrap();
        let run = trainer.fit(load("csbm:nodes=60")).unwrap();
        let mut other = load("csbm:nodes=60");
        other.class_names.push("third".into());
        let error =
            FittedRun { dataset: &other, ..(&run).into() }.record(1).unwrap_err().to_string();
        assert!(error.contains("third"), "{error}");
    }
}

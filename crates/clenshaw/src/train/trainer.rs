//! Training in a few lines, from model, settings and split to a trained model and its scores.

use super::{Epoch, Fit, PrecomputeOptions, Setup, TestScores, TrainedModel, test_scores};
use crate::data::{Dataset, Split, SplitKind};
use crate::error::Result;
use crate::filter::Response;
use crate::hyper::{Params, Scaling, Value};
use crate::model::{self, ModelInfo};
use crate::tensor;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// Called after every epoch; may stop training.
type EpochCallback<'a> = Box<dyn FnMut(&Epoch) -> ControlFlow<()> + 'a>;

/// The settings of one training run.
///
/// ```
/// use clenshaw::{data, train::Trainer};
/// let data = data::load("csbm:nodes=120")?;
/// let run = Trainer::new("clenshaw-gcn")?.set("K", 4)?.set("max_epochs", 30)?.seed(1).fit(data)?;
/// assert!(run.test_scores()?.accuracy > 0.0);
/// let folder = tempfile::tempdir().unwrap();
/// run.model().save(&folder.path().join("model.safetensors"))?;
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub struct Trainer<'a> {
    info: &'static ModelInfo,
    hp: Params,
    split: SplitKind,
    seed: u64,
    threads: usize,
    memory_budget: Option<u64>,
    precomputed_folder: Option<PathBuf>,
    on_epoch: EpochCallback<'a>,
}

/// A finished run.
pub struct TrainedRun {
    setup: Arc<Setup>,
    split: Split,
    outcome: super::Outcome,
    model: TrainedModel,
}

impl<'a> Trainer<'a> {
    /// A trainer with the defaults for a user's own data: standardised columns, a stratified split,
    /// seed 0, one thread. Fails if the model is unknown.
    pub fn new(model: &str) -> Result<Self> {
        let info = model::find(model)?;
        let mut hp = info.defaults();
        hp.set_value("scaling", Scaling::Standard.word())?;
        let on_epoch = Box::new(|_: &Epoch| ControlFlow::Continue(()));
        Ok(Self {
            info,
            hp,
            split: SplitKind::Stratified,
            seed: 0,
            threads: 1,
            memory_budget: None,
            precomputed_folder: None,
            on_epoch,
        })
    }

    /// Sets a hyper-parameter. Fails if it is unknown or the value is invalid.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Result<Self> {
        self.hp.set_value(key, value)?;
        Ok(self)
    }

    /// Sets how nodes are split.
    pub fn split(self, split: SplitKind) -> Self {
        Self { split, ..self }
    }

    /// Sets the seed of split, initial weights and dropout.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the number of threads, which does not change the result.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the memory in bytes for the terms of a precomputed filter, see [`PrecomputeOptions::budget`]; it does not
    /// change the result.
    pub fn memory_budget(self, bytes: u64) -> Self {
        Self { memory_budget: Some(bytes), ..self }
    }

    /// Sets the folder for terms of a precomputed filter that do not fit into memory.
    pub fn precomputed_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { precomputed_folder: Some(folder.into()), ..self }
    }

    /// Sets a function that is called after every epoch and may stop training, which is not an error.
    pub fn on_epoch(self, on_epoch: impl FnMut(&Epoch) -> ControlFlow<()> + 'a) -> Self {
        Self { on_epoch: Box::new(on_epoch), ..self }
    }

    /// Trains the model and keeps the weights of its best epoch.
    ///
    /// # Errors
    /// If the split cannot be drawn or has no training nodes, features or labels do not fit the graph, there is too
    /// little memory, or training diverges.
    pub fn fit(mut self, dataset: impl Into<Arc<Dataset>>) -> Result<TrainedRun> {
        // The memory of earlier runs.
        tensor::release_free_memory();
        let dataset = dataset.into();
        let split = self.split.draw(&dataset, self.seed)?;
        let options = PrecomputeOptions {
            budget: self.memory_budget,
            folder: self.precomputed_folder.as_deref(),
            threads: self.threads,
            ..PrecomputeOptions::default()
        };
        let setup = Arc::new(Setup::precomputing(dataset, self.info, self.hp, &options)?);
        let mut fit = Fit::new(setup.clone(), &split, self.seed, self.threads)?;
        fit.run(|_, epoch| (self.on_epoch)(epoch))?;
        let outcome = fit.outcome()?;
        let model = TrainedModel::new(fit.setup(), &outcome.weights, fit.provenance());
        Ok(TrainedRun { setup, split, outcome, model })
    }
}

impl TrainedRun {
    /// The scores on the test nodes.
    pub fn test_scores(&self) -> Result<TestScores> {
        test_scores(&self.outcome.probabilities, self.setup.dataset(), &self.split)
    }

    /// The learned filter; `None` if the model has none.
    pub fn filter(&self) -> Option<Response> {
        self.outcome.filter.clone()
    }

    /// The epochs, the weights and the probabilities of every class.
    pub fn outcome(&self) -> &super::Outcome {
        &self.outcome
    }

    /// The data set.
    pub fn dataset(&self) -> &Dataset {
        self.setup.dataset()
    }

    /// The training, validation and test nodes.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The trained model.
    pub fn model(&self) -> &TrainedModel {
        &self.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    #[test]
    fn a_callback_stops_training_without_an_error() {
        let mut epochs = 0;
        let stop_at_three = |_: &Epoch| {
            epochs += 1;
            if epochs == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let data = data::load("csbm:nodes=80").unwrap();
        let run = Trainer::new("clenshaw-gcn")
            .unwrap()
            .on_epoch(stop_at_three)
            .fit(data.clone())
            .unwrap();
        assert_eq!(run.outcome().history.len(), 3);
        assert!(run.filter().is_some());
        assert_eq!(run.model().predict(&data, 1).unwrap(), run.outcome().probabilities);
    }
}

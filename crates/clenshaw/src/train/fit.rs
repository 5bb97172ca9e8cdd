//! The training loop, one epoch at a time.
//!
//! ```text
//! epoch e:  gradient with dropout of stream (seed, e)  ->  optimiser step  ->  validation without dropout
//! ```
//!
//! In a model without dropout and batch statistics, the forward pass of epoch e + 1 computes the scores that
//! validate epoch e. The gradient of epoch e + 1 is then computed in epoch e, in place of an evaluation.
//!
//! With a precomputed filter, an epoch has a gradient and a step per batch of rows (`batch_epoch.rs`).

pub(super) mod checkpoint;
mod batch_epoch;
mod validation;

use super::ModelProvenance;
use super::batches::Batches;
use super::setup::{Setup, hidden_from, optimiser};
use super::stop::EarlyStopping;
use crate::data::Split;
use crate::error::{Error, Result};
use crate::filter::{Basis, Response};
use crate::rng::Stream;
use crate::tensor::{AlignedVec, Mat, Optimiser, Targets, Workspace};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use validation::{Validation, check_metric};

/// The losses and the validation accuracy of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Epoch {
    /// Its number, counted from one.
    pub epoch: usize,
    /// The loss on the training nodes, with dropout, before the step.
    pub train_loss: f64,
    /// The loss on the validation nodes after the step; `None` (`null`) without validation nodes.
    pub val_loss: Option<f64>,
    /// The fraction of validation nodes classified correctly after the step; `None` without them.
    pub val_accuracy: Option<f64>,
    /// The area under the ROC curve on the validation nodes after the step; computed for the stopping rule
    /// `roc-auc` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub val_roc_auc: Option<f64>,
}

/// The filter after an epoch.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EpochFilter {
    /// The epoch, counted from one; 0 for the initial weights.
    pub epoch: usize,
    /// The coefficients of the filter, see [`Setup::filter_coefficients`].
    pub coefficients: Vec<f64>,
}

/// A training run in progress.
pub struct Fit {
    setup: Arc<Setup>,
    stopping: EarlyStopping,
    targets: Targets<f32>,
    /// The batches of rows; `None` unless the model has a precomputed filter.
    batches: Option<Batches>,
    /// The validation nodes and their labels.
    val: Vec<(usize, u32)>,
    /// The name and sizes of the split.
    split: String,
    split_sha256: String,
    seed: u64,
    work: Workspace<f32>,
    /// The memory of the process that was forecast when the run started.
    forecast_bytes: Option<u64>,
    params: AlignedVec<f32>,
    /// The parameters after the best epoch so far.
    best_params: AlignedVec<f32>,
    optimiser: Optimiser<f32>,
    history: Vec<Epoch>,
    filters: Vec<EpochFilter>,
    diverged: Option<Divergence>,
    /// The training loss of the next epoch, if its gradient is already in the workspace.
    next_loss: Option<f64>,
    /// When the run was started or restored.
    started: Instant,
    /// The time spent before the restored checkpoint.
    earlier: Duration,
}

/// How [`Fit::run`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The stopping rule or the maximum number of epochs was reached.
    Finished,
    /// The callback stopped the run before that.
    Stopped,
}

/// A loss that is not finite.
#[derive(Clone, Copy)]
struct Divergence {
    loss: &'static str,
    value: f64,
    /// Whether `params` and `optimiser` already include the step of the diverged epoch.
    stepped: bool,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every epoch.
    pub history: Vec<Epoch>,
    /// The initial filter and the filter after every epoch; empty for models without coefficients.
    pub filters: Vec<EpochFilter>,
    /// The epoch whose weights were kept.
    pub best: Epoch,
    /// The weights of that epoch, in the layout of the plan's parameter vector.
    pub weights: AlignedVec<f32>,
    /// The probability of every class for every node, `[n, C]`.
    pub probabilities: Mat<f32>,
    /// The learned filter, if the model has one.
    pub filter: Option<Response>,
    /// The hidden representation of every node, see [`Setup::hidden`].
    pub hidden: Option<Mat<f32>>,
}

impl Fit {
    /// Prepares a run; `seed` determines the initial weights and dropout. Only the labels of training and
    /// validation nodes are used.
    ///
    /// # Errors
    /// If the split does not fit the data set of `setup` or has no training nodes, if the terms of a precomputed
    /// filter cannot be read, and [`Error::OutOfMemory`] if the run needs more memory than is available.
    pub fn new(
        setup: impl Into<Arc<Setup>>,
        split: &Split,
        seed: u64,
        threads: usize,
    ) -> Result<Self> {
        let setup = setup.into().for_split(split)?;
        let targets = setup.targets(split)?;
        let stopping = EarlyStopping::from_params(setup.hp());
        check_metric(stopping, &setup)?;
        let label = |&i: &u32| setup.dataset().y[i as usize].expect("`targets` checked the split");
        let (work, forecast_bytes) = setup.allocate(threads)?;
        let batches = Batches::new(&setup, split)?;
        let params = setup.initial_params(seed);
        let initial = setup.filter_coefficients(&params);
        Ok(Self {
            stopping,
            targets,
            batches,
            val: split.val().iter().map(|i| (*i as usize, label(i))).collect(),
            split: split.provenance().into(),
            split_sha256: split.sha256(),
            seed,
            work,
            forecast_bytes,
            best_params: params.clone(),
            params,
            optimiser: optimiser(setup.plan(), setup.info(), setup.hp()),
            history: Vec::new(),
            filters: initial
                .map(|coefficients| EpochFilter { epoch: 0, coefficients })
                .into_iter()
                .collect(),
            diverged: None,
            next_loss: None,
            started: Instant::now(),
            earlier: Duration::ZERO,
            setup,
        })
    }

    /// Weights the training nodes of `split`, the split of this run, in the loss. `weights` has one weight per node
    /// of the graph; only the ratios of the weights matter. To be called before the first epoch.
    ///
    /// # Errors
    /// If there is not one weight per node, a weight is negative or not finite, or those of all training
    /// nodes are zero.
    pub fn with_node_weights(mut self, split: &Split, weights: &[f64]) -> Result<Self> {
        let n = self.setup.dataset().graph.n_nodes();
        let invalid = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0));
        let problem = match invalid {
            _ if weights.len() != n => {
                Some(format!("{} node weights for {n} nodes", weights.len()))
            }
            Some(node) => Some(format!(
                "the weight of node {node} is {}; expected a number of at least 0",
                weights[node]
            )),
            None if split.train().iter().all(|&node| weights[node as usize] == 0.0) => {
                Some("every training node has weight 0".into())
            }
            None => None,
        };
        if let Some(problem) = problem {
            return Err(Error::Data { place: self.setup.dataset().name.clone(), problem });
        }
        self.targets.reweight(weights);
        self.next_loss = None;
        Ok(self)
    }

    /// Takes one training step, or one per batch of rows, and evaluates the validation nodes.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite, and an error if the terms of a precomputed filter cannot be read.
    /// The epoch then does not count: [`Fit::history`], [`Fit::outcome`] and [`Fit::checkpoint`] are those of the
    /// epochs before it. After a divergence, further calls return the same error.
    pub fn epoch(&mut self) -> Result<Epoch> {
        let epoch = self.history.len() + 1;
        self.check_divergence()?;
        let (train_loss, validation) = match self.batches {
            None => self.full_batch_epoch(epoch)?,
            Some(_) => self.batch_epoch(epoch)?,
        };
        let record = Epoch {
            epoch,
            train_loss,
            val_loss: validation.as_ref().map(|validation| validation.loss),
            val_accuracy: validation.as_ref().map(|validation| validation.accuracy),
            val_roc_auc: validation.and_then(|validation| validation.roc_auc),
        };
        self.history.push(record);
        let coefficients = self.setup.filter_coefficients(&self.params);
        self.filters.extend(coefficients.map(|coefficients| EpochFilter { epoch, coefficients }));
        if self.stopping.best_index(&self.history) + 1 == epoch {
            self.best_params.copy_from_slice(&self.params);
        }
        Ok(record)
    }

    /// One step with the gradient of all training nodes, and an evaluation.
    fn full_batch_epoch(&mut self, epoch: usize) -> Result<(f64, Option<Validation>)> {
        let train_loss = self.next_loss.take().unwrap_or_else(|| self.gradient(epoch));
        self.require_finite("training loss", train_loss, false)?;
        self.work.update(&mut self.optimiser, &mut self.params);
        let validation = self.validate(epoch);
        if let Some(validation) = &validation {
            self.require_finite("validation loss", validation.loss, true)?;
        }
        Ok((train_loss, validation))
    }

    /// The compiled model; if its basis depends on the training nodes, that of this split.
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// Every epoch so far.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// The initial filter and the filter after every epoch so far; empty for models without coefficients.
    pub fn filters(&self) -> &[EpochFilter] {
        &self.filters
    }

    /// The basis of the coefficients in [`Fit::filters`]; `None` for models without coefficients.
    pub fn filter_basis(&self) -> Option<Basis> {
        self.setup.filter_polynomial(&self.params).map(|filter| filter.basis)
    }

    /// Returns whether the stopping rule or the maximum number of epochs has been reached.
    pub fn is_finished(&self) -> bool {
        self.stopping.should_stop(&self.history)
    }

    /// Trains until [`Fit::is_finished`]; `on_epoch` is called after every epoch and may stop the run.
    ///
    /// A stopped run can be saved with [`Fit::checkpoint`] or continued with another call.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite, see [`Fit::epoch`].
    pub fn run(
        &mut self,
        mut on_epoch: impl FnMut(&mut Self, &Epoch) -> ControlFlow<()>,
    ) -> Result<RunEnd> {
        while !self.is_finished() {
            let epoch = self.epoch()?;
            if on_epoch(self, &epoch).is_break() && !self.is_finished() {
                return Ok(RunEnd::Stopped);
            }
        }
        Ok(RunEnd::Finished)
    }

    /// Trains until [`Fit::is_finished`].
    ///
    /// # Errors
    /// [`Error::Diverged`] if a loss is not finite, see [`Fit::epoch`].
    pub fn run_to_end(&mut self) -> Result<()> {
        self.run(|_, _| ControlFlow::Continue(())).map(|_| ())
    }

    /// The best epoch so far and its weights; panics before the first epoch.
    pub fn best(&self) -> (Epoch, &[f32]) {
        assert!(!self.history.is_empty(), "best: no epoch was trained");
        (self.history[self.stopping.best_index(&self.history)], &self.best_params)
    }

    /// The class scores with the best weights so far, see [`Setup::scores`], computed in the memory of the
    /// training step.
    ///
    /// # Errors
    /// If the terms of a precomputed filter cannot be read.
    pub fn best_scores(&mut self) -> Result<Mat<f32>> {
        self.forget_work();
        self.setup.scores_in(&mut self.work, &self.best_params)
    }

    /// The filter with the best weights so far, see [`Setup::filter`], computed in the memory of the training
    /// step.
    pub fn best_filter(&mut self) -> Option<Response> {
        let mut values = vec![];
        if self.setup.filter_reads_values() {
            self.forget_work();
            values = self.setup.plan().values(&mut self.work, &self.best_params);
        }
        self.setup.filter_from(&self.best_params, &values)
    }

    /// The provenance of the model being trained.
    pub fn provenance(&self) -> ModelProvenance {
        let dataset = self.setup.dataset();
        ModelProvenance {
            graph: dataset.name.clone(),
            data_sha256: self.setup.data_sha256().into(),
            split: self.split.clone(),
            seed: self.seed,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The best weights and their predictions, computed in the memory of the training step; panics before the
    /// first epoch.
    ///
    /// # Errors
    /// If the terms of a precomputed filter cannot be read.
    pub fn outcome(&mut self) -> Result<Outcome> {
        let best = self.best().0;
        self.forget_work();
        let values = self.setup.plan().values(&mut self.work, &self.best_params);
        Ok(Outcome {
            best,
            history: self.history.clone(),
            filters: self.filters.clone(),
            weights: self.best_params.clone(),
            probabilities: self.setup.predict_in(&mut self.work, &self.best_params)?,
            filter: self.setup.filter_from(&self.best_params, &values),
            hidden: hidden_from(values),
        })
    }

    /// To be called before the memory of the training step is used for something else.
    fn forget_work(&mut self) {
        self.next_loss = None;
        self.batches.iter_mut().for_each(Batches::forget_loaded);
    }

    /// The memory that the whole process was expected to need, as forecast before the workspace of this run was
    /// allocated, in bytes; `None` if the system does not provide the current memory.
    pub fn forecast_bytes(&self) -> Option<u64> {
        self.forecast_bytes
    }

    /// The seconds since the run was started or restored, plus those before the restored checkpoint.
    pub fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }

    /// The time of the run, including that before a restored checkpoint.
    fn elapsed(&self) -> Duration {
        self.earlier.saturating_add(self.started.elapsed())
    }

    /// Restores the parameters and the optimiser before the step of a diverged epoch by repeating all earlier
    /// steps, which give the same bits again.
    ///
    /// This avoids copying the state in every epoch of runs that do not diverge.
    fn undo_diverged_step(&mut self) {
        let Some(divergence) = self.diverged.as_mut().filter(|divergence| divergence.stepped)
        else {
            return;
        };
        divergence.stepped = false;
        self.next_loss = None;
        self.params = self.setup.initial_params(self.seed);
        self.optimiser = optimiser(self.setup.plan(), self.setup.info(), self.setup.hp());
        for epoch in 1..=self.history.len() {
            self.gradient(epoch);
            self.work.update(&mut self.optimiser, &mut self.params);
        }
    }

    /// Computes the gradient of an epoch and returns its training loss.
    fn gradient(&mut self, epoch: usize) -> f64 {
        let dropout = dropout_stream(self.seed, epoch);
        let plan = self.setup.plan();
        f64::from(plan.gradient(&mut self.work, &self.params, &self.targets, &dropout))
    }

    /// Evaluates the validation nodes without dropout, after the step of this epoch; `None` if there are none.
    /// Except in the last epoch, the scores are those of the next gradient if it computes them.
    fn validate(&mut self, epoch: usize) -> Option<Validation> {
        if self.val.is_empty() {
            return None;
        }
        let setup = self.setup.clone();
        let (plan, c) = (setup.plan(), setup.plan().shape().1);
        if plan.gradient_keeps_scores() && epoch < self.stopping.max_epochs {
            self.next_loss = Some(self.gradient(epoch + 1));
        }
        let scores = match self.next_loss {
            Some(_) => plan.scores_of_gradient(&self.work),
            None => plan.scores(&mut self.work, &self.params),
        };
        let scores = self.val.iter().map(|&(i, label)| (&scores[i * c..(i + 1) * c], label));
        Some(Validation::new(scores, self.stopping.rule))
    }

    /// If a loss is not finite, marks the run as diverged and returns an error; `stepped` as in [`Divergence`].
    fn require_finite(&mut self, loss: &'static str, value: f64, stepped: bool) -> Result<()> {
        if !value.is_finite() {
            self.diverged = Some(Divergence { loss, value, stepped });
        }
        self.check_divergence()
    }

    /// Returns an error if the run has diverged.
    fn check_divergence(&self) -> Result<()> {
        let Some(Divergence { loss, value, .. }) = self.diverged else { return Ok(()) };
        let hp = self.setup.hp();
        let mut lower: Vec<String> = vec![];
        for group in self.setup.info().groups {
            let rate = format!("`{}` (now {})", group.rate, hp.real(group.rate));
            if !lower.contains(&rate) {
                lower.push(rate);
            }
        }
        let epoch = self.history.len() + 1;
        Err(Error::Diverged { epoch, loss, value, lower: lower.join(" or ") })
    }
}

/// The random stream of the dropout masks of an epoch.
fn dropout_stream(seed: u64, epoch: usize) -> Stream {
    Stream::new(seed, "dropout").numbered(epoch as u64)
}

#[cfg(test)]
mod tests;

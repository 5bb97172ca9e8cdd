//! An epoch on batches of rows.
//!
//! ```text
//! batch b:  gradient with dropout of stream (seed, epoch, b)  ->  optimiser step
//! loss of the epoch = sum_b w_b loss_b          w_b: the weight of the nodes of batch b, sum_b w_b = 1
//! ```
//!
//! The loss of a batch is the weighted mean over its nodes. If the epoch cannot be completed, parameters and optimiser
//! are those before it.

use super::{Fit, Validation, dropout_stream};
use crate::error::Result;
use crate::tensor::Targets;

/// Why [`Fit::batches`] is present.
const HAS_BATCHES: &str = "only runs with batches have such epochs";

impl Fit {
    /// A step per batch, and an evaluation of the validation nodes.
    pub(super) fn batch_epoch(&mut self, epoch: usize) -> Result<(f64, Option<Validation>)> {
        let (params, optimiser) = (self.params.clone(), self.optimiser.clone());
        let result = self.train_batches(epoch).and_then(|loss| {
            let validation = self.validate_batches()?;
            if let Some(validation) = &validation {
                self.require_finite("validation loss", validation.loss, false)?;
            }
            Ok((loss, validation))
        });
        if result.is_err() {
            (self.params, self.optimiser) = (params, optimiser);
        }
        result
    }

    /// Trains on every batch and returns the loss of the epoch.
    fn train_batches(&mut self, epoch: usize) -> Result<f64> {
        let setup = self.setup.clone();
        let dropout = dropout_stream(self.seed, epoch);
        let batches = self.batches.as_ref().expect(HAS_BATCHES).of_epoch(self.seed, epoch);
        let mut loss = 0.0;
        for (b, nodes) in batches.iter().enumerate() {
            self.load(nodes)?;
            let mut targets = self.targets.select(nodes, setup.plan().shape().0);
            let weight = if batches.len() == 1 { 1.0 } else { normalise(&mut targets) };
            let dropout = dropout.numbered(b as u64);
            let batch_loss =
                setup.plan().gradient(&mut self.work, &self.params, &targets, &dropout);
            loss += weight * f64::from(batch_loss);
            self.require_finite("training loss", loss, false)?;
            self.work.update(&mut self.optimiser, &mut self.params);
        }
        Ok(loss)
    }

    /// Evaluates the validation nodes without dropout; `None` if there are none.
    fn validate_batches(&mut self) -> Result<Option<Validation>> {
        if self.val.is_empty() {
            return Ok(None);
        }
        let setup = self.setup.clone();
        let n_classes = setup.plan().shape().1;
        let nodes: Vec<u32> = self.val.iter().map(|(node, _)| *node as u32).collect();
        let mut scores = vec![];
        for batch in self.batches.as_ref().expect(HAS_BATCHES).of_nodes(&nodes) {
            self.load(&batch)?;
            let computed = setup.plan().scores(&mut self.work, &self.params);
            scores.extend_from_slice(&computed[..batch.len() * n_classes]);
        }
        let n_nodes = setup.dataset().graph.n_nodes();
        let row = |i: usize, node: usize| {
            // One batch with all nodes, or batches with the validation nodes in their order.
            let row = if setup.plan().shape().0 == n_nodes { node } else { i };
            &scores[row * n_classes..(row + 1) * n_classes]
        };
        let labelled = self.val.iter().enumerate().map(|(i, &(node, label))| (row(i, node), label));
        Ok(Some(Validation::new(labelled, self.stopping.rule)))
    }

    /// Sets the inputs to the rows of these nodes.
    fn load(&mut self, nodes: &[u32]) -> Result<()> {
        let batches = self.batches.as_mut().expect(HAS_BATCHES);
        batches.load(&mut self.work, nodes)
    }
}

/// Scales the weights of a batch so that their sum is 1, unless all are 0; returns the sum before.
fn normalise(targets: &mut Targets<f32>) -> f64 {
    let weight = targets.total_weight();
    if weight > 0.0 {
        targets.scale_weights(1.0 / weight);
    }
    weight
}

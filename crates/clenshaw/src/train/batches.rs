//! Batches of rows, on which models with a precomputed filter are trained.
//!
//! A plan has a fixed number of rows B, and its inputs are the rows of the terms of B nodes; the last batch is filled
//! up with zeros, which have no weight in the loss.
//!
//! ```text
//! n <= B              one batch with all nodes
//! n_train <= B        one batch with the training nodes
//! otherwise           the training nodes, shuffled in every epoch and divided into batches of B
//! ```

use super::Setup;
use super::precompute::{PrecomputedTerms, TermRows};
use crate::data::Split;
use crate::error::Result;
use crate::rng::Stream;
use crate::tensor::{Mat, Workspace};
use std::sync::Arc;

/// The batches of a run.
pub(super) struct Batches {
    terms: Arc<PrecomputedTerms>,
    /// The rows of training and validation nodes, if they had to be read from files and fit into the budget.
    copy: Option<TermRows>,
    /// The nodes of the only batch, if there is one batch, or all training nodes.
    nodes: Vec<u32>,
    /// Rows of a batch.
    n_rows: usize,
    /// The nodes whose rows are in the inputs of the workspace.
    loaded: Vec<u32>,
}

impl Batches {
    /// The batches of a split; `None` unless the model has a precomputed filter.
    ///
    /// # Errors
    /// If a file with terms cannot be read.
    pub fn new(setup: &Setup, split: &Split) -> Result<Option<Self>> {
        let Some(terms) = setup.terms() else { return Ok(None) };
        let (n_nodes, n_rows) = (terms.shape().n_nodes, setup.plan().shape().0);
        if n_nodes <= n_rows {
            let nodes = (0..n_nodes as u32).collect();
            let terms = Arc::clone(terms);
            return Ok(Some(Self { terms, copy: None, nodes, n_rows, loaded: vec![] }));
        }
        let mut nodes = split.train().to_vec();
        nodes.sort_unstable();
        let mut copied = [&nodes, split.val()].concat();
        copied.sort_unstable();
        let copy = terms.copy_of(&copied)?;
        Ok(Some(Self { terms: Arc::clone(terms), copy, nodes, n_rows, loaded: vec![] }))
    }

    /// The nodes of each batch of an epoch, ascending. They depend on `seed` and the epoch if there are several
    /// batches.
    pub fn of_epoch(&self, seed: u64, epoch: usize) -> Vec<Vec<u32>> {
        let mut nodes = self.nodes.clone();
        if nodes.len() > self.n_rows {
            Stream::new(seed, "batches").numbered(epoch as u64).shuffle(&mut nodes);
        }
        let sorted = |batch: &[u32]| {
            let mut batch = batch.to_vec();
            batch.sort_unstable();
            batch
        };
        nodes.chunks(self.n_rows).map(sorted).collect()
    }

    /// The number of steps of an epoch.
    pub fn n_steps(&self) -> usize {
        self.nodes.len().div_ceil(self.n_rows)
    }

    /// Divides nodes whose scores are needed into batches. With one batch for all nodes, they are all of them.
    pub fn of_nodes(&self, nodes: &[u32]) -> Vec<Vec<u32>> {
        match self.terms.shape().n_nodes <= self.n_rows {
            true => vec![self.nodes.clone()],
            false => nodes.chunks(self.n_rows).map(<[u32]>::to_vec).collect(),
        }
    }

    /// Sets the inputs of the workspace to the rows of these training or validation nodes, unless they contain them
    /// already.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn load(&mut self, work: &mut Workspace<f32>, nodes: &[u32]) -> Result<()> {
        if self.loaded != nodes {
            self.loaded.clear();
            self.terms.load(work, nodes, self.copy.as_ref())?;
            self.loaded.extend(nodes);
        }
        Ok(())
    }

    /// To be called when something else has changed the inputs of the workspace.
    pub fn forget_loaded(&mut self) {
        self.loaded.clear();
    }
}

impl Setup {
    /// The class scores of all nodes, one batch after the other.
    pub(super) fn scores_by_batch(
        &self,
        terms: &PrecomputedTerms,
        work: &mut Workspace<f32>,
        params: &[f32],
    ) -> Result<Mat<f32>> {
        let (n_rows, n_classes) = self.plan().shape();
        let n_nodes = terms.shape().n_nodes;
        let mut scores = Mat::zeros(n_nodes, n_classes);
        let batches = scores.as_mut_slice().chunks_mut(n_rows * n_classes).enumerate();
        for (i, out) in batches {
            let start = (i * n_rows) as u32;
            let nodes: Vec<u32> = (start..start + (out.len() / n_classes) as u32).collect();
            terms.load(work, &nodes, None)?;
            out.copy_from_slice(&self.plan().scores(work, params)[..out.len()]);
        }
        Ok(scores)
    }
}

//! Explanations of a few nodes, for the node panel of the page.

use super::nodes::NodeList;
use crate::data::{Dataset, Split};
use crate::experiment::explain::{Explainer, Explanation};
use crate::tensor::Mat;
use crate::train::{AttributionLimits, TrainedModel};
use serde::Serialize;
use std::collections::BTreeMap;

/// The page explains at most this number of nodes.
const MAX_EXPLAINED: usize = 20;
/// The explanations of a run use at most this number of arithmetic operations: a few seconds of CPU time.
const MAX_OPERATIONS: f64 = 5e9;

/// Explanations by node number, and a note about the choice of nodes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ExplanationReport {
    nodes: BTreeMap<usize, Explanation>,
    note: String,
}

impl ExplanationReport {
    /// Explains the centre of the drawing and the most confident mistakes on test nodes, until an explanation
    /// fails or a limit is reached.
    pub fn new(
        model: &TrainedModel,
        dataset: &Dataset,
        split: &Split,
        probabilities: &Mat<f32>,
        nodes: &NodeList,
        threads: usize,
    ) -> Self {
        let candidates = nodes.to_explain(&dataset.graph, MAX_EXPLAINED);
        let mut explained = BTreeMap::new();
        let mut left = MAX_OPERATIONS;
        let mut problem = None;
        match Explainer::new(model, dataset, split, probabilities) {
            Err(error) => problem = Some(error),
            Ok(explainer) => {
                for &node in &candidates {
                    let limits =
                        AttributionLimits { operations: left, threads, ..Default::default() };
                    match explainer.explain(node, &limits) {
                        Err(error) => {
                            problem = Some(error);
                            break;
                        }
                        Ok((explanation, operations)) => {
                            left -= operations;
                            explained.insert(node, explanation);
                        }
                    }
                }
            }
        }
        let reason = problem
            .map_or(String::new(), |error| format!(" The explanations stopped early: {error}."));
        let note = format!(
            "This page explains {} of {} nodes: the centre of the drawing and the most confident mistakes on \
             test nodes, at most {MAX_EXPLAINED}.{reason}",
            explained.len(),
            dataset.graph.n_nodes()
        );
        Self { nodes: explained, note }
    }

    /// Adds the command that explains other nodes, for models with a run folder.
    pub fn with_command(mut self) -> Self {
        self.note.push_str(" For others, type: clenshaw explain RUN NODE");
        self
    }
}

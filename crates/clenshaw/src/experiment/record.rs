//! What a run was worth.

use super::Request;
use crate::filter::Response;
use crate::hyper::Params;
use crate::report::Statistic;
use serde::{Deserialize, Serialize};

/// One run's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The run's seed.
    pub seed: u64,
    /// The split: kind, sizes and seed.
    pub split: String,
    /// The split's digest.
    pub split_sha256: String,
    /// Epochs trained.
    pub epochs: usize,
    /// The epoch whose weights were kept.
    pub best_epoch: usize,
    /// Its validation loss.
    pub val_loss: f64,
    /// Its validation accuracy.
    pub val_accuracy: f64,
    /// Accuracy on the test nodes.
    pub test_accuracy: f64,
    /// Mean F1 over classes on the test nodes.
    pub macro_f1: f64,
    /// Mean recall over classes on the test nodes.
    pub balanced_accuracy: f64,
    /// The test accuracy of always answering the most frequent class.
    pub majority_share: f64,
    /// Of two classes: the chance that a test node of the second scores higher than one of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<f64>,
    /// What the model does to each frequency, if that can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Response>,
    /// The Dirichlet energy of the last hidden layer as a share of its squares, if the model has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// Time taken.
    pub seconds: f64,
}

/// All runs of a request and what they say together.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The graph, as typed.
    pub graph: String,
    /// The model's name.
    pub model: String,
    /// Its hyper-parameters.
    pub hyper: Params,
    /// The split, as typed.
    pub split: String,
    /// Seed of the first run.
    pub seed: u64,
    /// What a user should know before trusting results on this graph.
    pub warnings: Vec<String>,
    /// One record a run.
    pub runs: Vec<Record>,
    /// Accuracy on the test nodes.
    pub test_accuracy: Statistic,
    /// Mean F1 over classes.
    pub macro_f1: Statistic,
    /// Mean recall over classes.
    pub balanced_accuracy: Statistic,
    /// Of two classes: the area under the curve of true against false positives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<Statistic>,
    /// The test accuracy of always answering the most frequent class, averaged over runs.
    pub majority_share: f64,
    /// Time taken by all runs together.
    pub seconds: f64,
}

impl Summary {
    pub(super) fn new(
        request: &Request,
        warnings: &[String],
        runs: Vec<Record>,
        seconds: f64,
    ) -> Self {
        let of = |number: fn(&Record) -> f64| {
            Statistic::of(&runs.iter().map(number).collect::<Vec<f64>>())
        };
        Self {
            graph: request.graph.clone(),
            model: request.model.name.into(),
            hyper: request.hyper.clone(),
            split: request.split.to_string(),
            seed: request.seed,
            warnings: warnings.to_vec(),
            test_accuracy: of(|run| run.test_accuracy),
            macro_f1: of(|run| run.macro_f1),
            balanced_accuracy: of(|run| run.balanced_accuracy),
            roc_auc: runs
                .iter()
                .map(|run| run.roc_auc)
                .collect::<Option<Vec<f64>>>()
                .map(|runs| Statistic::of(&runs)),
            majority_share: of(|run| run.majority_share).mean,
            runs,
            seconds,
        }
    }

    /// The run with the lowest validation loss.
    pub fn best_run(&self) -> Option<&Record> {
        best(&self.runs)
    }
}

/// The record with the lowest validation loss, the first of equals.
pub(super) fn best(records: &[Record]) -> Option<&Record> {
    records.iter().min_by(|a, b| a.val_loss.total_cmp(&b.val_loss))
}

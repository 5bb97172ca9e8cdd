//! Scores of single runs and their summary.

use super::Request;
use crate::data::Metric;
use crate::filter::Response;
use crate::hyper::Params;
use crate::report::Statistic;
use serde::{Deserialize, Deserializer, Serialize};

/// The scores of one run; [`metrics`](crate::train::metrics) defines those on the test nodes. A record that is made
/// for the report of a fitted model has no energy and no memory, and the instructions of the reporting process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run's seed.
    pub seed: u64,
    /// The split: its name, its sizes and, if it is random, its seed.
    pub split: String,
    /// The SHA-256 of the split.
    pub split_sha256: String,
    /// Number of epochs trained.
    pub epochs: usize,
    /// The epoch whose weights are kept.
    pub best_epoch: usize,
    /// Validation loss at the best epoch; `None` (`null` in JSON) without validation nodes.
    pub val_loss: Option<f64>,
    /// Validation accuracy at the best epoch; `None` (`null` in JSON) without validation nodes.
    pub val_accuracy: Option<f64>,
    /// Accuracy on the test nodes. This score and the next three are NaN (`null` in JSON) without test nodes.
    #[serde(deserialize_with = "nan_if_null")]
    pub test_accuracy: f64,
    /// Mean F1 over classes on the test nodes.
    #[serde(deserialize_with = "nan_if_null")]
    pub macro_f1: f64,
    /// Mean recall over classes on the test nodes.
    #[serde(deserialize_with = "nan_if_null")]
    pub balanced_accuracy: f64,
    /// The share of the most frequent class among the test nodes: the test accuracy of always predicting that
    /// class.
    #[serde(deserialize_with = "nan_if_null")]
    pub majority_share: f64,
    /// Area under the ROC curve on the test nodes; `None` unless there are two classes. If a class has no
    /// test nodes, it is NaN, which is written to JSON as `null` and read back as `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<f64>,
    /// The learned filter, if the model has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Response>,
    /// The Dirichlet energy of the last hidden layer relative to its squared norm; `None` if the model has no
    /// hidden layer or the layer is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// The instruction set with which the run was trained, see [`crate::tensor::instruction_set`]; empty in
    /// records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Training time in seconds.
    pub seconds: f64,
    /// The memory that the process was expected to need, in bytes, forecast when the run started. `None` if
    /// the system does not report how much the process already used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_memory_bytes: Option<u64>,
    /// The largest amount of RAM that the process used at any time before the end of the run, in bytes,
    /// including that of earlier and parallel runs. `None` if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// Deserialises `null`, which stands for NaN in JSON, as NaN.
fn nan_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// All runs of a request and their statistics.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The graph, in command-line syntax.
    pub graph: String,
    /// The model's name.
    pub model: String,
    /// The model's hyper-parameters.
    pub hyper: Params,
    /// The split, in command-line syntax.
    pub split: String,
    /// Seed of the first run.
    pub seed: u64,
    /// The evaluation metric of the graph; for a published data set, the one that papers report.
    pub metric: Metric,
    /// Warnings about the graph and about the split of the first run.
    pub warnings: Vec<String>,
    /// One record per run.
    pub runs: Vec<RunRecord>,
    /// Accuracy on the test nodes.
    pub test_accuracy: Statistic,
    /// Mean F1 over classes.
    pub macro_f1: Statistic,
    /// Mean recall over classes.
    pub balanced_accuracy: Statistic,
    /// Area under the ROC curve; `None` if a run does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<Statistic>,
    /// The share of the most frequent class among the test nodes, averaged over runs: the test accuracy of
    /// always predicting that class.
    pub majority_share: f64,
    /// Wall-clock time in seconds of the job that returned this summary, without earlier jobs that it resumed.
    pub seconds: f64,
}

impl Summary {
    pub(super) fn new(
        request: &Request,
        metric: Metric,
        warnings: Vec<String>,
        runs: Vec<RunRecord>,
        seconds: f64,
    ) -> Self {
        let statistic = |metric: fn(&RunRecord) -> f64| {
            Statistic::of(&runs.iter().map(metric).collect::<Vec<f64>>())
        };
        Self {
            graph: request.graph.clone(),
            model: request.model.name.into(),
            hyper: request.hyper.clone(),
            split: request.split.to_string(),
            seed: request.seed,
            metric,
            warnings,
            test_accuracy: statistic(|run| run.test_accuracy),
            macro_f1: statistic(|run| run.macro_f1),
            balanced_accuracy: statistic(|run| run.balanced_accuracy),
            roc_auc: runs
                .iter()
                .map(|run| run.roc_auc)
                .collect::<Option<Vec<f64>>>()
                .map(|values| Statistic::of(&values)),
            majority_share: statistic(|run| run.majority_share).mean,
            runs,
            seconds,
        }
    }

    /// The run with the lowest validation loss; the first run if there are no validation nodes. `None` if
    /// there are no runs.
    pub fn best_run(&self) -> Option<&RunRecord> {
        best_record(&self.runs)
    }
}

/// The record with the lowest validation loss; ties go to the first. `None` if there are no records.
pub(super) fn best_record(records: &[RunRecord]) -> Option<&RunRecord> {
    let loss = |record: &RunRecord| record.val_loss.unwrap_or(f64::INFINITY);
    records.iter().min_by(|a, b| loss(a).total_cmp(&loss(b)))
}

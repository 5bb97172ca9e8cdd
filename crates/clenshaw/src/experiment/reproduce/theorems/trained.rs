//! The filter of ClenshawGCN before and after training with its preset.

use crate::data::Dataset;
use crate::error::Result;
use crate::experiment::reproduce::cells::ExperimentOptions;
use crate::experiment::{Request, RunOptions, TrainingJob, run};
use crate::filter::Response;
use crate::report::{Histogram, LineChart, LineSeries};
use crate::train::Setup;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The filter before and after training, and the scores of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainedFilter {
    /// The filter of the initial weights.
    pub before: Option<Response>,
    /// The filter of the best epoch.
    pub after: Option<Response>,
    /// Number of epochs trained.
    pub epochs: usize,
    /// The epoch whose weights are kept.
    pub best_epoch: usize,
    /// Validation accuracy at the best epoch; `None` without validation nodes.
    pub val_accuracy: Option<f64>,
    /// Accuracy on the test nodes at the best epoch.
    pub test_accuracy: f64,
    /// Training time in seconds.
    pub seconds: f64,
}

/// The request for one training run of ClenshawGCN with its preset. Fails if there is none for the graph.
pub fn request(graph: &str, seed: u64) -> Result<Request> {
    let mut request = Request::new(graph, "clenshaw-gcn")?;
    request.apply_preset("paper")?;
    request.seed = seed;
    Ok(request)
}

/// Trains the run, unless the experiment's folder contains it, and returns its filters and scores; resumes an
/// interrupted run. `request` must have one run. `dataset` must be its graph and is used only for the filter
/// before training; the run loads the graph again.
pub fn train(
    request: &Request,
    dataset: &Arc<Dataset>,
    options: &ExperimentOptions<'_>,
) -> Result<TrainedFilter> {
    let setup = Setup::new(dataset.clone(), request.model, request.hyper.clone())?;
    let before = setup.filter(&setup.initial_params(request.seed))?;
    let folder = options.folder.join("runs").join(request.folder_name());
    let job = TrainingJob { request: request.clone(), folder: Some(folder) };
    let options = RunOptions {
        threads: 1,
        store: options.store,
        resume: true,
        on_event: &|_, _| {},
        cancel: options.cancel,
    };
    let run = run(&job, &options)?.runs.into_iter().next().expect("the request has one run");
    Ok(TrainedFilter {
        before,
        after: run.filter,
        epochs: run.epochs,
        best_epoch: run.best_epoch,
        val_accuracy: run.val_accuracy,
        test_accuracy: run.test_accuracy,
        seconds: run.seconds,
    })
}

impl TrainedFilter {
    /// A chart of both responses over a histogram of the graph's eigenvalues. `density` is the fraction of
    /// eigenvalues in each of equally wide bins over [-1, 1]; if it is `None`, the chart has no histogram.
    pub fn chart(&self, graph: &str, density: Option<&[f64]>) -> LineChart {
        let series = [("before training", &self.before), ("after training", &self.after)];
        let series = series.iter().filter_map(|(name, response)| {
            let points = response.as_ref()?.sample(201);
            Some(LineSeries { name: (*name).into(), points })
        });
        let title = format!("Filter of ClenshawGCN on {graph}");
        let mut chart = LineChart::responses(&title, series.collect());
        chart.histogram = density.map(|density| {
            let edge = |i: usize| 2.0 * i as f64 / density.len() as f64 - 1.0;
            let bins = density.iter().enumerate().map(|(i, &h)| (edge(i), edge(i + 1), h));
            Histogram { name: "eigenvalues".into(), bins: bins.collect() }
        });
        chart
    }
}

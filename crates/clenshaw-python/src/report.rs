//! Report pages of models that were trained in this process.

use crate::errors::to_python;
use clenshaw::Error;
use clenshaw::data::{Dataset, Split};
use clenshaw::experiment::{FittedRun, Report};
use clenshaw::report::html_page;
use clenshaw::train::{Epoch, EpochFilter, TrainedModel};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

/// What a report shows about the training of a model. Python keeps it as JSON, so that it can be pickled.
#[derive(Serialize, Deserialize)]
pub struct TrainingLog {
    pub epochs: Vec<Epoch>,
    pub filters: Vec<EpochFilter>,
    pub best_epoch: usize,
    pub seconds: f64,
}

/// Returns the page about a model; `parts` are its training, validation and test nodes.
pub fn page(
    model: &TrainedModel,
    dataset: &Dataset,
    log: &str,
    parts: [Vec<u32>; 3],
    threads: usize,
) -> PyResult<String> {
    let log: TrainingLog = serde_json::from_str(log).map_err(|error| {
        to_python(Error::Data { place: "training log".into(), problem: error.to_string() })
    })?;
    let split = Split::new("own", parts).map_err(to_python)?;
    let run = FittedRun {
        model,
        dataset,
        split: &split,
        epochs: &log.epochs,
        filters: &log.filters,
        best_epoch: log.best_epoch,
        seconds: log.seconds,
    };
    Ok(html_page(&Report::from_fit(&run, threads).map_err(to_python)?))
}

//! Training.

use crate::arrays::{Indices, data_error, to_array};
use crate::dataset::Dataset;
use crate::errors::to_python;
use crate::model::{Model, ResponsePoints, params_from};
use crate::report::TrainingLog;
use clenshaw::data::{Split, Store};
use clenshaw::train::{Epoch, EpochFilter, Fit, PrecomputeOptions, Setup, TrainedModel};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval between two checks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// A trained model, its history and its predictions.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct FitResult {
    history: Vec<Epoch>,
    filters: Vec<EpochFilter>,
    best: Epoch,
    scores: Py<PyArray2<f32>>,
    model: TrainedModel,
    response: Option<ResponsePoints>,
    /// Seconds of training.
    #[pyo3(get)]
    seconds: f64,
    /// The exception that ended training early, if any: of the callback, or a `KeyboardInterrupt`.
    #[pyo3(get)]
    error: Option<Py<PyAny>>,
}

#[pymethods]
impl FitResult {
    /// Epoch, training loss, validation loss and validation accuracy; NaN without validation nodes.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let column =
            |value: fn(&Epoch) -> f64| PyArray1::from_iter(py, self.history.iter().map(value));
        let history = PyDict::new(py);
        let epochs = self.history.iter().map(|epoch| epoch.epoch as i64);
        history.set_item("epoch", PyArray1::from_iter(py, epochs))?;
        history.set_item("train_loss", column(|epoch| epoch.train_loss))?;
        history.set_item("val_loss", column(|epoch| epoch.val_loss.unwrap_or(f64::NAN)))?;
        history.set_item("val_accuracy", column(|epoch| epoch.val_accuracy.unwrap_or(f64::NAN)))?;
        Ok(history)
    }

    /// Epochs and filters, as JSON, for [`Model::report_page`].
    #[getter]
    fn log(&self) -> String {
        let log = TrainingLog {
            epochs: self.history.clone(),
            filters: self.filters.clone(),
            best_epoch: self.best.epoch,
            seconds: self.seconds,
        };
        serde_json::to_string(&log).expect("finite numbers only")
    }

    /// The epoch whose weights were kept.
    #[getter]
    fn best_epoch(&self) -> usize {
        self.best.epoch
    }

    /// The validation accuracy of that epoch; NaN without validation nodes.
    #[getter]
    fn best_val_accuracy(&self) -> f64 {
        self.best.val_accuracy.unwrap_or(f64::NAN)
    }

    /// The scores of all nodes, `[n, C]`.
    #[getter]
    fn scores(&self, py: Python<'_>) -> Py<PyArray2<f32>> {
        self.scores.clone_ref(py)
    }

    /// The trained model.
    #[getter]
    fn model(&self) -> Model {
        Model { model: self.model.clone() }
    }

    /// The learned filter; `None` if the model has none.
    #[getter]
    fn response(&self) -> Option<ResponsePoints> {
        self.response.clone()
    }
}

/// Trains a model; `callback` receives the numbers of every epoch and stops training by returning true.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
#[pyo3(signature = (dataset, model, params, train, val, *, seed, threads, node_weights=None, callback=None))]
pub fn fit(
    py: Python<'_>,
    dataset: &Dataset,
    model: &str,
    params: &Bound<'_, PyDict>,
    train: &Bound<'_, PyAny>,
    val: &Bound<'_, PyAny>,
    seed: u64,
    threads: usize,
    node_weights: Option<PyReadonlyArray1<'_, f64>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<FitResult> {
    let info = clenshaw::model::find(model).map_err(to_python)?;
    let hp = params_from(info, params)?;
    let part = |array, name| Indices::extract(array, name)?.convert::<u32>(name);
    let parts = [part(train, "train")?, part(val, "val")?, vec![]];
    let split = Split::new("own", parts).map_err(to_python)?;
    let weights: Option<Vec<f64>> =
        node_weights.map(|weights| weights.as_array().iter().copied().collect());
    let dataset = dataset.dataset.clone();
    if dataset.y.iter().all(Option::is_none) {
        return Err(data_error(
            "no node has a label; expected labels of at least two classes".into(),
        ));
    }
    let threads = threads.max(1);

    let (mut fit, setup, error) = py.detach(move || -> PyResult<_> {
        // Of earlier fits.
        clenshaw::tensor::release_free_memory();
        let folder = Store::new(None).precomputed_folder();
        let options = PrecomputeOptions {
            folder: folder.as_deref(),
            threads,
            ..PrecomputeOptions::default()
        };
        let setup = Setup::precomputing(dataset, info, hp, &options).map_err(to_python)?;
        let setup = Arc::new(setup);
        let mut fit = Fit::new(setup, &split, seed, threads).map_err(to_python)?;
        if let Some(weights) = weights {
            fit = fit.with_node_weights(&split, &weights).map_err(to_python)?;
        }
        let mut error = None;
        let mut checked = Instant::now();
        let end = fit.run(|_, epoch| {
            if callback.is_none() && checked.elapsed() < SIGNAL_INTERVAL {
                return ControlFlow::Continue(());
            }
            checked = Instant::now();
            match Python::attach(|py| after_epoch(py, callback.as_ref(), epoch)) {
                Ok(flow) => flow,
                Err(raised) => {
                    error = Some(raised);
                    ControlFlow::Break(())
                }
            }
        });
        end.map_err(to_python)?;
        let setup = fit.setup().clone();
        Ok((fit, setup, error))
    })?;
    result(py, &mut fit, &setup, error)
}

/// Checks for signals and calls the callback.
fn after_epoch(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    epoch: &Epoch,
) -> PyResult<ControlFlow<()>> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(ControlFlow::Continue(())) };
    let nan = f64::NAN;
    let (val_loss, val_accuracy) =
        (epoch.val_loss.unwrap_or(nan), epoch.val_accuracy.unwrap_or(nan));
    let stop = callback.call1(py, (epoch.epoch, epoch.train_loss, val_loss, val_accuracy))?;
    Ok(if stop.is_truthy(py)? { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

/// The result of a run with at least one epoch.
fn result(
    py: Python<'_>,
    fit: &mut Fit,
    setup: &Setup,
    error: Option<PyErr>,
) -> PyResult<FitResult> {
    if fit.history().is_empty() {
        return Err(error.unwrap_or_else(|| data_error("no epoch was trained".into())));
    }
    let seconds = fit.seconds();
    let (best, scores, model, response) = py.detach(|| -> PyResult<_> {
        let (best, weights) = fit.best();
        let model = TrainedModel::new(setup, weights, fit.provenance());
        let response = fit.best_filter().map(|filter| ResponsePoints::new(&filter));
        Ok((best, fit.best_scores().map_err(to_python)?, model, response))
    })?;
    Ok(FitResult {
        history: fit.history().to_vec(),
        filters: fit.filters().to_vec(),
        best,
        scores: to_array(py, scores)?.unbind(),
        model,
        response,
        seconds,
        error: error.map(|error| error.into_value(py).into_any()),
    })
}

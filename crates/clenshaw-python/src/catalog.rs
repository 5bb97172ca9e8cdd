//! What exists: models, presets, data sets, filters.

use crate::errors::to_python;
use crate::model::{operator_name, params_from, to_dict, to_object};
use clenshaw::data::DATASETS;
use clenshaw::experiment;
use clenshaw::filter::{Basis, Filter};
use clenshaw::hyper::{HyperParam, ValueRange};
use clenshaw::model::{MODELS, ModelFamily, find};
use clenshaw::report::Statistic;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The names of all models.
#[pyfunction]
pub fn model_names() -> Vec<&'static str> {
    MODELS.iter().map(|info| info.name).collect()
}

/// Names, kinds and descriptions of all data sets.
#[pyfunction]
pub fn dataset_names() -> Vec<(&'static str, &'static str, &'static str)> {
    DATASETS.iter().map(|info| (info.name, info.kind(), info.title)).collect()
}

/// The number of processors that this process may use.
#[pyfunction]
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What the registry knows about a model.
#[pyfunction]
pub fn model_info<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let info = find(name).map_err(to_python)?;
    let family = match info.family {
        ModelFamily::Baseline => "baseline",
        ModelFamily::Residual => "residual",
        ModelFamily::Spectral => "spectral",
        ModelFamily::Clenshaw => "clenshaw",
    };
    let dict = PyDict::new(py);
    dict.set_item("name", info.name)?;
    dict.set_item("title", info.title)?;
    dict.set_item("paper", info.paper)?;
    dict.set_item("family", family)?;
    dict.set_item("equation", info.equation)?;
    dict.set_item("operator", operator_name(info))?;
    dict.set_item("inductive", info.inductive)?;
    dict.set_item("presets", experiment::preset_graphs(experiment::PAPER, info))?;
    let hypers = info.hyper_params().map(|hyper| hyper_info(py, hyper));
    dict.set_item("hyper", hypers.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

fn hyper_info<'py>(py: Python<'py>, hyper: &'static HyperParam) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", hyper.name)?;
    dict.set_item("default", to_object(py, hyper.default))?;
    dict.set_item("meaning", hyper.meaning)?;
    match hyper.range {
        ValueRange::Int(low, high) => {
            dict.set_item("type", "int")?;
            dict.set_item("range", (low, high))?;
        }
        ValueRange::Real(low, high) => {
            dict.set_item("type", "float")?;
            dict.set_item("range", (low, high))?;
        }
        ValueRange::Flag => dict.set_item("type", "bool")?,
        ValueRange::OneOf(words) => {
            dict.set_item("type", "str")?;
            dict.set_item("choices", words)?;
        }
    }
    let distribution = experiment::declared_distribution(hyper);
    dict.set_item("distribution", distribution.map(|distribution| distribution.to_json()))?;
    Ok(dict)
}

/// The settings of a model's preset for a graph, including those that are not in the preset.
#[pyfunction]
pub fn preset<'py>(py: Python<'py>, model: &str, graph: &str) -> PyResult<Bound<'py, PyDict>> {
    let info = find(model).map_err(to_python)?;
    let mut hp = params_from(info, &PyDict::new(py))?;
    let settings = experiment::preset("paper", info, graph).map_err(to_python)?;
    let mut split = None;
    for (key, value) in settings {
        match key.as_str() {
            "split" => split = Some(value),
            _ => hp.set(&key, &value).map_err(to_python)?,
        }
    }
    let values = to_dict(py, hp.iter().map(|(hyper, value)| (hyper.name, value)))?;
    if let Some(split) = split {
        values.set_item("split", split)?;
    }
    Ok(values)
}

/// `sum_k c_k phi_k(mu)` at several frequencies.
#[pyfunction]
#[pyo3(signature = (coefficients, basis, mu, a=0.0, b=0.0))]
pub fn filter_response(
    coefficients: Vec<f64>,
    basis: &str,
    mu: Vec<f64>,
    a: f64,
    b: f64,
) -> PyResult<Vec<f64>> {
    let basis = match basis {
        "monomial" => Basis::Monomial,
        "chebyshev-first" => Basis::ChebyshevFirst,
        "chebyshev-second" => Basis::ChebyshevSecond,
        "chebyshev-laplacian" => Basis::ChebyshevLaplacian,
        "legendre" => Basis::Legendre,
        "jacobi" => Basis::Jacobi { a, b },
        "bernstein" => Basis::Bernstein,
        other => {
            return Err(PyValueError::new_err(format!(
                "`basis` is `{other}`; expected one of monomial, chebyshev-first, chebyshev-second, \
                 chebyshev-laplacian, legendre, jacobi, bernstein"
            )));
        }
    };
    if coefficients.is_empty() {
        return Err(PyValueError::new_err("`coefficients` is empty; expected at least one number"));
    }
    if a.min(b) <= -1.0 || !(a + b).is_finite() {
        return Err(PyValueError::new_err(format!(
            "`a` is {a} and `b` is {b}; expected more than -1"
        )));
    }
    if matches!(basis, Basis::Bernstein) {
        return Ok(mu.into_iter().map(|mu| bernstein(coefficients.clone(), mu)).collect());
    }
    let filter = Filter { basis, coefficients };
    Ok(mu.into_iter().map(|mu| filter.evaluate(mu)).collect())
}

/// The Bernstein sum by de Casteljau's algorithm, which needs no matrix to another basis.
fn bernstein(mut coefficients: Vec<f64>, mu: f64) -> f64 {
    let (low, high) = ((1.0 + mu) / 2.0, (1.0 - mu) / 2.0);
    for n in (1..coefficients.len()).rev() {
        for k in 0..n {
            coefficients[k] = low * coefficients[k] + high * coefficients[k + 1];
        }
    }
    coefficients[0]
}

/// Mean, sample standard deviation and half-width of the 95% bootstrap interval of the mean.
#[pyfunction]
pub fn statistic(values: Vec<f64>) -> (f64, f64, f64) {
    let Statistic { mean, std, ci95 } = Statistic::of(&values);
    (mean, std, ci95)
}

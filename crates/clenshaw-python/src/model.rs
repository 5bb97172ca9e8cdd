//! Trained models.

use crate::arrays::{Indices, to_array, to_matrix};
use crate::dataset::Dataset;
use crate::errors::to_python;
use crate::report;
use crate::table::Schema;
use clenshaw::data::{self, Split};
use clenshaw::experiment::explain_with;
use clenshaw::filter::Response;
use clenshaw::graph::Normalisation;
use clenshaw::hyper::{Params, Value, ValueRange};
use clenshaw::model::ModelInfo;
use clenshaw::tensor::Mat;
use clenshaw::train::{AttributionLimits, TrainedModel};
use numpy::PyArray2;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString};
use std::path::PathBuf;

/// The number of points at which a response is sampled.
const POINTS: usize = 401;

/// A trained model with everything that a prediction needs.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct Model {
    pub model: TrainedModel,
}

/// A learned filter: its response at points from -1 to 1, and its coefficients.
#[derive(Clone, IntoPyObject)]
pub struct ResponsePoints {
    mu: Vec<f64>,
    response: Vec<f64>,
    /// One list per channel; empty for a gain.
    coefficients: Vec<Vec<f64>>,
    /// The basis, as JSON; empty for a gain.
    basis: String,
}

impl ResponsePoints {
    pub fn new(filter: &Response) -> Self {
        let (mu, response) = filter.sample(POINTS).into_iter().unzip();
        let filters = match filter {
            Response::Shared(filter) => std::slice::from_ref(filter),
            Response::Channels(filters) => filters,
            Response::Gain(_) | Response::Tabulated(_) => &[],
        };
        let basis = filters
            .first()
            .map(|filter| serde_json::to_value(&filter.basis).expect("text and numbers only"));
        let basis = match basis {
            None => String::new(),
            Some(serde_json::Value::String(name)) => name,
            Some(other) => other.to_string(),
        };
        let coefficients = filters.iter().map(|filter| filter.coefficients.clone()).collect();
        Self { mu, response, coefficients, basis }
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        TrainedModel::load(&path).map(|model| Self { model }).map_err(to_python)
    }

    /// Writes a model file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(&path).map_err(to_python)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.model.to_bytes())
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        TrainedModel::from_bytes("model", bytes).map(|model| Self { model }).map_err(to_python)
    }

    /// The name of the model.
    #[getter]
    fn name(&self) -> &'static str {
        self.model.info().name
    }

    /// The hyper-parameters.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.model.hp().iter().map(|(hyper, value)| (hyper.name, value)))
    }

    /// The names of the classes.
    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.model.class_names().to_vec()
    }

    /// The number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.model.n_features()
    }

    /// How the columns of a table become features; `None` if it was not trained on a table.
    #[getter]
    fn schema(&self) -> Option<Schema> {
        self.model.schema().map(|schema| Schema { schema: schema.clone() })
    }

    /// The scaling of the features, as JSON.
    #[getter]
    fn scaler(&self) -> String {
        serde_json::to_string(self.model.scaler()).expect("text and numbers only")
    }

    /// The normalised adjacency that the model propagates with: `plain`, `looped` or `None`.
    #[getter]
    fn operator(&self) -> Option<&'static str> {
        operator_name(self.model.info())
    }

    /// Whether it can be applied to another graph.
    #[getter]
    fn inductive(&self) -> bool {
        self.model.info().inductive
    }

    /// How it was trained: graph, digest of the data, split, seed, version.
    #[getter]
    fn provenance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let provenance = self.model.provenance();
        let dict = PyDict::new(py);
        dict.set_item("graph", &provenance.graph)?;
        dict.set_item("data_sha256", &provenance.data_sha256)?;
        dict.set_item("split", &provenance.split)?;
        dict.set_item("seed", provenance.seed)?;
        dict.set_item("version", &provenance.version)?;
        Ok(dict)
    }

    /// The parameters as arrays by name.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        for (name, weights) in self.model.weights() {
            state.set_item(name, to_array(py, weights.clone())?)?;
        }
        Ok(state)
    }

    /// The same model with other values of its parameters.
    fn with_state(&self, state: &Bound<'_, PyDict>) -> PyResult<Self> {
        let weights = state.iter().map(|(name, value)| {
            let name: String = name.extract()?;
            let weights: Mat<f32> = to_matrix(&value, &name)?;
            Ok((name, weights))
        });
        let weights = weights.collect::<PyResult<_>>()?;
        self.model.with_weights(weights).map(|model| Self { model }).map_err(to_python)
    }

    /// The scores of all nodes of a graph, `[n, C]`.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        dataset: &Dataset,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let scores = py.detach(|| self.model.scores(&dataset.dataset, threads.max(1)));
        to_array(py, scores.map_err(to_python)?)
    }

    /// The page about this model, as HTML; `log` is the training log of its `FitResult`.
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    #[pyo3(signature = (dataset, log, train, val, test, *, node_names=None, threads))]
    fn report_page(
        &self,
        py: Python<'_>,
        dataset: &Dataset,
        log: &str,
        train: &Bound<'_, PyAny>,
        val: &Bound<'_, PyAny>,
        test: &Bound<'_, PyAny>,
        node_names: Option<Vec<String>>,
        threads: usize,
    ) -> PyResult<String> {
        let part = |array, name| Indices::extract(array, name)?.convert::<u32>(name);
        let parts = [part(train, "train")?, part(val, "val")?, part(test, "test")?];
        py.detach(|| match node_names {
            None => report::page(&self.model, &dataset.dataset, log, parts, threads.max(1)),
            Some(node_names) => {
                let named = data::Dataset { node_names, ..(*dataset.dataset).clone() };
                report::page(&self.model, &named, log, parts, threads.max(1))
            }
        })
    }

    /// The hidden representation of all nodes; `None` if the model has none.
    fn hidden<'py>(
        &self,
        py: Python<'py>,
        dataset: &Dataset,
    ) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let hidden = py.detach(|| self.model.hidden(&dataset.dataset)).map_err(to_python)?;
        hidden.map(|hidden| to_array(py, hidden)).transpose()
    }

    /// The explanation of the prediction of one node, as JSON.
    fn explain(
        &self,
        py: Python<'_>,
        dataset: &Dataset,
        node: usize,
        train: Vec<u32>,
        val: Vec<u32>,
        threads: usize,
    ) -> PyResult<String> {
        let limits = AttributionLimits { threads: threads.max(1), ..AttributionLimits::default() };
        let explained = py.detach(|| {
            let split = Split::new("python", [train, val, vec![]])?;
            explain_with(&self.model, &dataset.dataset, &split, node, &limits)
        });
        let explanation = explained.map_err(to_python)?;
        Ok(serde_json::to_string(&explanation).expect("text and numbers only"))
    }

    /// The learned filter; `None` if the model has none.
    fn response(&self, py: Python<'_>, dataset: &Dataset) -> PyResult<Option<ResponsePoints>> {
        let filter = py.detach(|| self.model.filter(&dataset.dataset)).map_err(to_python)?;
        Ok(filter.map(|filter| ResponsePoints::new(&filter)))
    }
}

/// The name of a model's operator in Python.
pub fn operator_name(info: &ModelInfo) -> Option<&'static str> {
    info.operator.map(|kind| match kind {
        Normalisation::Plain => "plain",
        Normalisation::Looped => "looped",
        Normalisation::TwoHop => "two-hop",
    })
}

/// The hyper-parameters of a model with these values; the others have their defaults.
pub fn params_from(info: &ModelInfo, values: &Bound<'_, PyDict>) -> PyResult<Params> {
    let mut hp = info.defaults();
    for (key, value) in values {
        let key: String = key.extract()?;
        set(&mut hp, &key, &value)?;
    }
    Ok(hp)
}

fn set(hp: &mut Params, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let declared = hp.iter().find(|(hyper, _)| hyper.name == key);
    let is_real = declared.is_some_and(|(hyper, _)| matches!(hyper.range, ValueRange::Real(..)));
    if let Ok(text) = value.cast::<PyString>() {
        // Text stands for a choice only: `K="8"` is a mistake.
        return match declared.map(|(hyper, _)| hyper.range) {
            None | Some(ValueRange::OneOf(_)) => hp.set(key, text.to_str()?).map_err(to_python),
            Some(_) => Err(wrong_type(key, value)),
        };
    }
    let is_flag = value.is_instance_of::<PyBool>() || type_name(value).starts_with("bool");
    let value: Value = match () {
        () if is_flag => value.is_truthy()?.into(),
        () if is_real => value.extract::<f64>().map_err(|_| wrong_type(key, value))?.into(),
        () => match value.extract::<i64>() {
            Ok(integer) => integer.into(),
            Err(_) => value.extract::<f64>().map_err(|_| wrong_type(key, value))?.into(),
        },
    };
    hp.set_value(key, value).map_err(to_python)
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string())
}

fn wrong_type(key: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let found = type_name(value);
    PyTypeError::new_err(format!(
        "`{key}` is {value} of type {found}; expected a number, a bool or a choice"
    ))
}

/// Values as Python objects.
pub fn to_dict<'py, 'a>(
    py: Python<'py>,
    values: impl Iterator<Item = (&'a str, Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name, to_object(py, value))?;
    }
    Ok(dict)
}

pub fn to_object(py: Python<'_>, value: Value) -> Bound<'_, PyAny> {
    match value {
        Value::Int(v) => PyInt::new(py, v).into_any(),
        Value::Real(v) => PyFloat::new(py, v).into_any(),
        Value::Flag(v) => PyBool::new(py, v).to_owned().into_any(),
        Value::Word(v) => PyString::new(py, v).into_any(),
    }
}

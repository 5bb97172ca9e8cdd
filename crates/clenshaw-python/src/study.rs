//! Studies in Optuna's storage formats.

use crate::errors::to_python;
use clenshaw_tune::{
    Direction, Distribution, ParamValue, Sampler, Storage, StorageLocation, Tpe, TrialOutcome,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A study that maximises its objective.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct Study {
    storage: Box<dyn Storage>,
    name: String,
    seed: u64,
    random: bool,
}

/// A running trial.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct Trial {
    trial: clenshaw_tune::Trial,
}

fn error(error: clenshaw_tune::Error) -> PyErr {
    to_python(error.into())
}

#[pymethods]
impl Study {
    /// Opens or creates a study in a journal file or a database.
    #[new]
    fn new(storage: PathBuf, name: String, seed: u64, random: bool) -> PyResult<Self> {
        let storage = StorageLocation::new(&storage).and_then(|location| location.open());
        let study = Self { storage: storage.map_err(error)?, name, seed, random };
        study.open().map(drop)?;
        Ok(study)
    }

    /// Starts a trial; `None` if the search space, distributions as JSON, is exhausted.
    fn ask(&self, py: Python<'_>, space: BTreeMap<String, String>) -> PyResult<Option<Trial>> {
        let parse = |(name, text): (String, String)| {
            Ok((name, Distribution::from_json(&text).map_err(error)?))
        };
        let space = space.into_iter().map(parse).collect::<PyResult<BTreeMap<_, _>>>()?;
        let study = self.open()?;
        let trial = py.detach(|| study.ask(&space)).map_err(error)?;
        Ok(trial.map(|trial| Trial { trial }))
    }

    /// Stores the value of a trial; `None` marks it as failed.
    fn tell(&self, py: Python<'_>, trial: &Trial, value: Option<f64>) -> PyResult<()> {
        let outcome = value.filter(|value| value.is_finite());
        let outcome = outcome.map_or(TrialOutcome::Fail, TrialOutcome::Complete);
        let study = self.open()?;
        py.detach(|| study.tell(&trial.trial, outcome)).map(drop).map_err(error)
    }

    /// Number, state, value and parameters of every trial.
    fn trials<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let trials = self.open()?.trials().map_err(error)?;
        let row = |trial: &clenshaw_tune::Trial| {
            let row = PyDict::new(py);
            row.set_item("number", trial.number)?;
            row.set_item("state", format!("{:?}", trial.state).to_uppercase())?;
            row.set_item("value", trial.value)?;
            row.set_item("params", params(py, trial)?)?;
            Ok(row)
        };
        trials.iter().map(row).collect()
    }
}

impl Study {
    fn open(&self) -> PyResult<clenshaw_tune::Study<'_>> {
        let study = clenshaw_tune::Study::open(&*self.storage, &self.name, Direction::Maximize);
        let sampler = match self.random {
            true => Sampler::Random,
            false => Sampler::Tpe(Tpe::default()),
        };
        Ok(study.map_err(error)?.with_sampler(sampler, self.seed))
    }
}

#[pymethods]
impl Trial {
    /// Its number in the study.
    #[getter]
    fn number(&self) -> u64 {
        self.trial.number
    }

    /// Its parameters.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        params(py, &self.trial)
    }
}

fn params<'py>(py: Python<'py>, trial: &clenshaw_tune::Trial) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in trial.external_params() {
        let value = match value {
            ParamValue::Int(v) => PyInt::new(py, v).into_any(),
            ParamValue::Float(v) => PyFloat::new(py, v).into_any(),
            ParamValue::Bool(v) => PyBool::new(py, v).to_owned().into_any(),
            ParamValue::Str(v) => PyString::new(py, &v).into_any(),
            other => return Err(PyRuntimeError::new_err(format!("`{name}` is {other:?}"))),
        };
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The importance of every parameter of a study, by PED-ANOVA.
#[pyfunction]
pub fn param_importances(study: &Study) -> PyResult<BTreeMap<String, f64>> {
    let trials = study.open()?.trials().map_err(error)?;
    Ok(clenshaw_tune::param_importances(&trials, Direction::Maximize).into_iter().collect())
}

//! Data sets.

use crate::arrays::{PLACE, data_error, to_array, to_matrix, to_sparse};
use crate::errors::to_python;
use crate::graph::Graph;
use crate::table::Schema;
use clenshaw::data::{self, Features, SplitKind, Store, fetch as download};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A graph with features and labels.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct Dataset {
    pub dataset: Arc<data::Dataset>,
}

/// Features that Python receives as an array, or as a tuple of the arrays of a CSR matrix and its shape.
pub struct FeatureArrays(pub Features);

impl<'py> IntoPyObject<'py> for FeatureArrays {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            Features::Dense(x) => Ok(to_array(py, x)?.into_any()),
            Features::Sparse { pattern, values } => {
                let offsets = pattern.offsets().iter().map(|&offset| offset as i64);
                let indices = pattern.indices().iter().map(|&index| i64::from(index));
                let arrays = (
                    PyArray1::from_vec(py, values),
                    PyArray1::from_iter(py, indices),
                    PyArray1::from_iter(py, offsets),
                    (pattern.n_rows(), pattern.n_cols()),
                );
                Ok(arrays.into_pyobject(py)?.into_any())
            }
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for FeatureArrays {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        type Csr<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, (usize, usize));
        if let Ok((values, indices, indptr, (n_rows, n_cols))) = x.extract::<Csr<'py>>() {
            let x = to_sparse(n_cols, &indptr, &indices, &values)?;
            return match x.n_rows() == n_rows {
                true => Ok(Self(x)),
                false => Err(data_error(format!("`X` has {} rows, not {n_rows}", x.n_rows()))),
            };
        }
        Ok(Self(Features::Dense(to_matrix(&x, "X")?)))
    }
}

/// Arrays of training, validation and test nodes.
type SplitArrays<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

#[pymethods]
impl Dataset {
    /// A data set from arrays; `classes` has -1 for unlabelled nodes. Labels are checked only if
    /// there are any.
    #[new]
    #[pyo3(signature = (graph, features, classes, class_names, schema=None))]
    fn new(
        graph: &Graph,
        features: FeatureArrays,
        classes: PyReadonlyArray1<'_, i64>,
        class_names: Vec<String>,
        schema: Option<&Schema>,
    ) -> PyResult<Self> {
        let y: Vec<Option<u32>> =
            classes.as_array().iter().map(|&class| u32::try_from(class).ok()).collect();
        let is_labelled = y.iter().any(Option::is_some);
        let dataset = data::Dataset {
            schema: schema.map(|schema| schema.schema.clone()),
            ..data::Dataset::new(PLACE, graph.graph.clone(), features.0, y, class_names)
        };
        let dataset = match is_labelled {
            true => dataset.checked(),
            false => dataset.check_shapes().map(|()| dataset),
        };
        Ok(Self { dataset: Arc::new(dataset.map_err(to_python)?) })
    }

    /// Loads a data set by name or path.
    #[staticmethod]
    #[pyo3(signature = (name, folder=None))]
    fn load(py: Python<'_>, name: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        let load = || data::load_from(&Store::new(folder), name);
        let dataset = py.detach(load).map_err(to_python)?;
        Ok(Self { dataset: Arc::new(dataset) })
    }

    /// The name by which it was loaded.
    #[getter]
    fn name(&self) -> &str {
        &self.dataset.name
    }

    /// The graph.
    #[getter]
    fn graph(&self) -> Graph {
        Graph::unchanged(self.dataset.graph.clone())
    }

    /// The features.
    #[getter]
    fn features(&self) -> FeatureArrays {
        FeatureArrays(self.dataset.x.clone())
    }

    /// The names of the features; `None` if they have none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.dataset.schema.as_ref().map(data::Schema::feature_names)
    }

    /// How the columns of its node table became features; `None` if it was not read from one.
    #[getter]
    fn schema(&self) -> Option<Schema> {
        self.dataset.schema.clone().map(|schema| Schema { schema })
    }

    /// The class of every node, -1 if it is unknown.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.dataset.y.iter().map(|class| class.map_or(-1, i64::from)))
    }

    /// The names of the classes.
    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.dataset.class_names.clone()
    }

    /// The names of the nodes; empty if they have none.
    #[getter]
    fn node_names(&self) -> Vec<String> {
        self.dataset.node_names.clone()
    }

    /// Its origin, in one sentence.
    #[getter]
    fn source(&self) -> &str {
        &self.dataset.source
    }

    /// Known flaws.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.dataset.warnings.clone()
    }

    /// What was done with the data when it was read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dataset.notes.clone()
    }

    /// The names of the splits published with it.
    #[getter]
    fn split_names(&self) -> Vec<String> {
        self.dataset.splits.iter().map(|split| split.name.clone()).collect()
    }

    /// The training, validation and test nodes of a split, such as `stratified` or `balanced`.
    fn split<'py>(&self, py: Python<'py>, kind: &str, seed: u64) -> PyResult<SplitArrays<'py>> {
        let kind: SplitKind = kind.parse().map_err(to_python)?;
        let split = kind.draw(&self.dataset, seed).map_err(to_python)?;
        let array =
            |part: &[u32]| PyArray1::from_iter(py, part.iter().map(|&node| i64::from(node)));
        let [train, val, test] = split.parts();
        Ok((array(train), array(val), array(test)))
    }

    /// The digest of graph, features and labels.
    fn sha256(&self) -> String {
        self.dataset.sha256()
    }
}

/// Downloads the files of a public data set into the cache folder, or into `folder`; `mirror` is a folder
/// or address to copy them from instead of their published sources.
#[pyfunction]
#[pyo3(signature = (name, folder=None, mirror=None))]
pub fn fetch(
    py: Python<'_>,
    name: &str,
    folder: Option<PathBuf>,
    mirror: Option<&str>,
) -> PyResult<PathBuf> {
    let store = Store::new(folder);
    let info = data::find(name).map_err(to_python)?;
    let Some(files) = info.files() else {
        return Err(PyValueError::new_err(format!(
            "`{name}` is generated; there is no file to fetch"
        )));
    };
    let manifest = download::manifest(files.folder).map_err(to_python)?;
    let Some(into) = store.primary_folder().map(PathBuf::from) else {
        return Err(PyValueError::new_err("there is no cache folder; pass `folder`"));
    };
    let cancel = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    py.detach(|| {
        std::thread::scope(|scope| {
            let transfer = scope.spawn(|| {
                let options = download::FetchOptions {
                    from: mirror,
                    proxies: download::Proxies::from_env(),
                    ..download::FetchOptions::new(&into, &cancel)
                };
                let report = download::fetch(manifest, &options);
                done.store(true, Ordering::Release);
                report
            });
            // Ctrl-C reaches the main thread only, so the download runs in another one.
            let mut interrupted = None;
            while !done.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(20));
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    cancel.store(true, Ordering::Relaxed);
                    interrupted = Some(error);
                    break;
                }
            }
            let report = transfer.join().expect("downloads return their errors");
            match interrupted {
                Some(error) => Err(error),
                None => report.map(|_| into.join(files.folder)).map_err(to_python),
            }
        })
    })
}

//! The native module of the Python package `clenshaw`.
//!
//! It wraps the library and converts arrays; everything that is idiomatic Python (estimators, graphs of
//! other libraries, result objects) is in `python/clenshaw`. Functions release the GIL while they compute.

mod arrays;
mod catalog;
mod dataset;
mod errors;
mod fit;
mod graph;
mod model;
mod report;
mod study;
mod table;

use pyo3::prelude::*;

/// The native part of the package `clenshaw`.
#[pymodule]
mod _clenshaw {
    #[pymodule_export]
    use crate::catalog::{
        available_threads, dataset_names, filter_response, model_info, model_names, preset,
        statistic,
    };
    #[pymodule_export]
    use crate::dataset::{Dataset, fetch};
    #[pymodule_export]
    use crate::fit::{FitResult, fit};
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::study::{Study, Trial, param_importances};
    #[pymodule_export]
    use crate::table::Schema;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        if let Ok(name) = std::env::var("CLENSHAW_CPU") {
            clenshaw::tensor::select_instruction_set(&name).map_err(crate::errors::to_python)?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

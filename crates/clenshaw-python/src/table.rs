//! Tables of features.

use crate::dataset::FeatureArrays;
use crate::errors::to_python;
use clenshaw::data::{EncodedFeatures, FeatureTable, TableOptions, schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How the columns of a table become features.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct Schema {
    pub schema: schema::Schema,
}

/// Features, their schema, and warnings.
type EncodedTable = (FeatureArrays, Schema, Vec<String>);

#[pymethods]
impl Schema {
    /// Infers a schema from text cells, empty if missing, and encodes the table.
    #[staticmethod]
    fn infer(py: Python<'_>, columns: Vec<(String, Vec<String>)>) -> PyResult<EncodedTable> {
        let encode = || FeatureTable::new(columns)?.encode(&TableOptions::default());
        py.detach(encode).map(encoded).map_err(to_python)
    }

    /// The schema of columns that are all numbers.
    #[staticmethod]
    fn numbers(names: Vec<String>) -> Self {
        let column = |name| schema::ColumnSchema {
            name,
            role: schema::ColumnRole::Number {
                format: schema::NumberFormat::Number,
                fill: 0.0,
                indicator: false,
            },
            reason: "numbers".into(),
        };
        let columns = names.into_iter().map(column).collect();
        Self { schema: schema::Schema { columns, structural: None, weight: None } }
    }

    /// Encodes another table; columns are matched by name.
    fn encode(
        &self,
        py: Python<'_>,
        columns: Vec<(String, Vec<String>)>,
    ) -> PyResult<EncodedTable> {
        let encode = || FeatureTable::new(columns)?.encode_as(&self.schema);
        py.detach(encode).map(encoded).map_err(to_python)
    }

    /// The names of the features, in the order of their columns.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.schema.feature_names()
    }

    /// Name, kind and reason of every column.
    #[getter]
    fn columns(&self) -> Vec<(String, String, String)> {
        let columns = self.schema.columns.iter();
        columns
            .map(|column| (column.name.clone(), column.kind().into(), column.reason.clone()))
            .collect()
    }

    /// The schema as JSON.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.schema).expect("text and numbers only")
    }

    /// Reads the schema that `to_json` returned.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let schema = serde_json::from_str(text);
        schema
            .map(|schema| Self { schema })
            .map_err(|error| PyValueError::new_err(format!("not a schema: {error}")))
    }
}

fn encoded(encoded: EncodedFeatures) -> EncodedTable {
    let EncodedFeatures { x, schema, warnings } = encoded;
    (FeatureArrays(x), Schema { schema }, warnings)
}

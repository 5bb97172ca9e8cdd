//! Conversions between NumPy arrays and the library's types.

use crate::errors::to_python;
use clenshaw::Error;
use clenshaw::data::Features;
use clenshaw::tensor::{Mat, Pattern, Real};
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1,
    PyReadonlyArray2,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The name of data from memory in error messages.
pub const PLACE: &str = "the graph";

pub fn data_error(problem: String) -> PyErr {
    to_python(Error::Data { place: PLACE.into(), problem })
}

/// A matrix as a NumPy array; the values are moved, not copied.
pub fn to_array<'py, T: Element + Real>(
    py: Python<'py>,
    matrix: Mat<T>,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let shape = [matrix.rows(), matrix.cols()];
    PyArray1::from_vec(py, matrix.into_vec()).reshape(shape)
}

/// Returns an error if the numbers of an array cannot be read directly.
fn check_aligned<T: Element, D: Dimension>(
    array: &PyReadonlyArray<'_, T, D>,
    name: &str,
) -> PyResult<()> {
    match array.data().is_aligned() {
        true => Ok(()),
        false => Err(PyTypeError::new_err(format!("`{name}` is not aligned; pass a copy"))),
    }
}

/// A copy of a two-dimensional array of `float32` or `float64` as a matrix.
pub fn to_matrix(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Mat<f32>> {
    if let Ok(array) = array.extract::<PyReadonlyArray2<'_, f32>>() {
        check_aligned(&array, name)?;
        let view = array.as_array();
        return Ok(Mat::from_vec(view.nrows(), view.ncols(), view.iter().copied().collect()));
    }
    if let Ok(array) = array.extract::<PyReadonlyArray2<'_, f64>>() {
        check_aligned(&array, name)?;
        let view = array.as_array();
        let values = view.iter().map(|&value| value as f32).collect();
        return Ok(Mat::from_vec(view.nrows(), view.ncols(), values));
    }
    Err(PyTypeError::new_err(format!(
        "`{name}` is {}; expected a two-dimensional array of float32 or float64",
        array.get_type()
    )))
}

/// Whole numbers of an `int32` or `int64` array.
pub enum Indices<'py> {
    Int32(PyReadonlyArray1<'py, i32>),
    Int64(PyReadonlyArray1<'py, i64>),
}

impl<'py> Indices<'py> {
    pub fn extract(array: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        if let Ok(array) = array.extract() {
            return Ok(Self::Int32(array));
        }
        array.extract().map(Self::Int64).map_err(|_| {
            PyTypeError::new_err(format!(
                "`{name}` is {}; expected a one-dimensional array of int32 or int64",
                array.get_type()
            ))
        })
    }

    /// The numbers, converted; an error names the first one that does not fit.
    pub fn convert<T: TryFrom<i64> + Default>(&self, name: &str) -> PyResult<Vec<T>> {
        // Two simple loops, which the compiler vectorises, instead of one that stops at an error.
        fn all<T: TryFrom<i64> + Default>(
            name: &str,
            values: impl ExactSizeIterator<Item = i64> + Clone,
        ) -> PyResult<Vec<T>> {
            match values.clone().find(|&value| T::try_from(value).is_err()) {
                Some(value) => Err(data_error(format!("`{name}` contains {value}"))),
                None => Ok(values.map(|value| T::try_from(value).unwrap_or_default()).collect()),
            }
        }
        match self {
            Self::Int32(array) => {
                check_aligned(array, name)?;
                match array.as_slice() {
                    Ok(slice) => all(name, slice.iter().map(|&value| i64::from(value))),
                    Err(_) => all(name, array.as_array().iter().map(|&value| i64::from(value))),
                }
            }
            Self::Int64(array) => {
                check_aligned(array, name)?;
                match array.as_slice() {
                    Ok(slice) => all(name, slice.iter().copied()),
                    Err(_) => all(name, array.as_array().iter().copied()),
                }
            }
        }
    }
}

/// The rows of a sparse matrix: its pattern and values, with ascending columns in every row. The values
/// of repeated entries are added.
pub fn to_sparse(
    n_cols: usize,
    indptr: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
) -> PyResult<Features> {
    let offsets: Vec<usize> = Indices::extract(indptr, "indptr")?.convert("indptr")?;
    let indices: Vec<u32> = Indices::extract(indices, "indices")?.convert("indices")?;
    let values = to_vector(values, "data")?;
    check_offsets(&offsets, indices.len(), values.len())?;
    let (mut ends, mut columns, mut sums) = (vec![0], vec![], vec![]);
    for row in offsets.windows(2) {
        let mut entries: Vec<(u32, f32)> =
            (row[0]..row[1]).map(|entry| (indices[entry], values[entry])).collect();
        entries.sort_by_key(|(column, _)| *column);
        for (column, value) in entries {
            match (columns.len() > *ends.last().unwrap_or(&0)).then(|| columns.last()).flatten() {
                Some(&last) if last == column => {
                    *sums.last_mut().expect("one value per column") += value;
                }
                _ => {
                    columns.push(column);
                    sums.push(value);
                }
            }
        }
        ends.push(columns.len());
    }
    let pattern = Pattern::try_new(n_cols, ends, columns).map_err(data_error)?;
    Ok(Features::Sparse { pattern, values: sums })
}

/// Returns an error unless the offsets are those of compressed rows.
pub fn check_offsets(offsets: &[usize], n_indices: usize, n_values: usize) -> PyResult<()> {
    let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if offsets.first() != Some(&0) || !ascending || offsets.last() != Some(&n_indices) {
        return Err(data_error(format!(
            "`indptr` does not ascend from 0 to the number of indices, {n_indices}"
        )));
    }
    match n_indices == n_values {
        true => Ok(()),
        false => Err(data_error(format!("{n_values} values for {n_indices} indices"))),
    }
}

/// The numbers of a one-dimensional array of `float32` or `float64`.
pub fn to_vector(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f32>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, f32>>() {
        check_aligned(&array, name)?;
        return Ok(array.as_array().iter().copied().collect());
    }
    match array.extract::<PyReadonlyArray1<'_, f64>>() {
        Ok(array) => {
            check_aligned(&array, name)?;
            Ok(array.as_array().iter().map(|&value| value as f32).collect())
        }
        Err(_) => Err(PyTypeError::new_err(format!(
            "`{name}` is {}; expected a one-dimensional array of float32 or float64",
            array.get_type()
        ))),
    }
}

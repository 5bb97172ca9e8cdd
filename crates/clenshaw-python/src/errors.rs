//! Errors of the library as Python exceptions.

use clenshaw::Error;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError,
    PyValueError,
};

/// Invalid input is a `ValueError`, an error of the operating system an `OSError`, too little
/// memory a `MemoryError`, and a loss that is not finite a `RuntimeError`.
pub fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::MissingFiles { .. } => PyFileNotFoundError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Diverged { .. } => PyRuntimeError::new_err(text),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

"""Arrays from what other libraries use, without importing these libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clenshaw._errors import describe

#: The arrays of a CSR matrix: values, column indices, row offsets, shape.
Csr = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]


def to_numpy(values: Any) -> np.ndarray:
    """Return a NumPy array of a list, an array or a tensor of any library, without a copy if possible."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    for method in ("to_numpy", "numpy"):
        if hasattr(values, method) and not isinstance(values, np.ndarray):
            return np.asarray(getattr(values, method)())
    return np.asarray(values)


def is_sparse(values: Any) -> bool:
    """Return whether an object is a SciPy sparse matrix or array."""
    return hasattr(values, "tocsr") and hasattr(values, "nnz")


def is_table(values: Any) -> bool:
    """Return whether an object is a table with named columns: of pandas, polars or Arrow."""
    if isinstance(values, np.ndarray) or is_sparse(values):
        return False
    return hasattr(values, "column_names") or (hasattr(values, "columns") and hasattr(values, "shape"))


def column_names(table: Any) -> list[Any]:
    """Return the names of the columns of a table."""
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def column(table: Any, name: Any) -> np.ndarray:
    """Return one column of a table."""
    values = table.column(name) if hasattr(table, "column_names") else table[name]
    return to_numpy(values)


def csr_arrays(matrix: Any) -> Csr:
    """Return the arrays of a SciPy sparse matrix in CSR format."""
    matrix = matrix.tocsr()
    n_rows, n_cols = (int(size) for size in matrix.shape)
    return to_real(matrix.data, "data"), indices(matrix.indices), indices(matrix.indptr), (n_rows, n_cols)


def indices(values: Any) -> np.ndarray:
    """Return whole numbers as an ``int32`` or ``int64`` array."""
    array = to_numpy(values)
    if array.dtype in (np.int32, np.int64):
        return array
    if array.size == 0 or array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.array_equal(array, np.floor(array)):
        return array.astype(np.int64)
    raise TypeError(f"expected whole numbers, got an array of {array.dtype}")


def to_real(values: Any, name: str) -> np.ndarray:
    """Return an array of ``float32`` or ``float64``; other numbers are converted."""
    array = to_numpy(values)
    if array.dtype in (np.float32, np.float64):
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "iub":
        return array.astype(np.float64 if array.dtype.itemsize > 2 else np.float32)
    if array.dtype.kind == "f":
        return array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if array.dtype.kind == "c":
        raise ValueError(f"`{name}` contains complex numbers; Complex data not supported")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` contains values that are not numbers: {error}") from None


def is_missing(value: Any) -> bool:
    """Return whether a value is ``None``, NaN, NaT or pandas' ``NA``."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def to_cell(value: Any) -> str:
    """Return the text of a table's cell; empty if the value is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def to_mask(mask: Any, n_nodes: int, name: str) -> np.ndarray:
    """Return a boolean array of one value per node, from booleans or node numbers."""
    array = to_numpy(mask)
    if array.dtype == bool:
        if array.shape != (n_nodes,):
            raise ValueError(f"`{name}` has shape {array.shape}, but the graph has {n_nodes} nodes")
        return array
    numbers = indices(array)
    outside = (numbers < 0) | (numbers >= n_nodes)
    if numbers.ndim != 1 or outside.any():
        found = numbers[outside][0] if numbers.ndim == 1 else f"an array of shape {numbers.shape}"
        raise ValueError(f"`{name}` contains {found}; expected node numbers from 0 to {n_nodes - 1}")
    selected = np.zeros(n_nodes, dtype=bool)
    selected[numbers] = True
    return selected


def require(condition: Any, problem: Callable[[], str]) -> None:
    """Raise a ``ValueError`` unless the condition holds."""
    if not condition:
        raise ValueError(problem())


def check_two_dimensional(array: np.ndarray, name: str, value: Any) -> None:
    """Raise a ``ValueError`` unless an array has two dimensions."""
    if array.ndim != 2:
        hint = "; Reshape your data: expected 2D array" if array.ndim < 2 else "; expected <= 2 dimensions"
        raise ValueError(f"`{name}` is {describe(value)} with {array.ndim} dimensions{hint}")

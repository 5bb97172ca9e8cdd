"""Conversion of arrays, tensors and tables of other libraries, without importing these libraries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from clenshaw._errors import describe

#: The arrays of a CSR matrix: values, column indices, row offsets, shape.
Csr = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]


def to_numpy(values: Any) -> np.ndarray:
    """Return a NumPy array of a list, an array or a tensor of any library, without a copy if possible.

    Masked values become ``None``.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        objects = np.array(values.data, dtype=object)
        objects[np.ma.getmaskarray(values)] = None
        return objects
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    for method in ("to_numpy", "numpy"):
        if hasattr(values, method):
            return np.asarray(getattr(values, method)())
    return np.asarray(values)


def is_sparse(values: Any) -> bool:
    """Return whether an object is a SciPy sparse matrix or array."""
    return hasattr(values, "tocsr") and hasattr(values, "nnz")


def is_table(values: Any) -> bool:
    """Return whether an object is a pandas, polars or Arrow table with named columns."""
    kind = type(values)
    if isinstance(values, np.ndarray) or is_sparse(values):
        return False
    return hasattr(kind, "column_names") or (hasattr(kind, "columns") and hasattr(kind, "shape"))


def column_names(table: Any) -> list[Any]:
    """Return the names of the columns of a table."""
    # The type is examined: columns of pandas are attributes of the object.
    names = list(table.column_names if hasattr(type(table), "column_names") else table.columns)
    repeated = next((name for name, count in Counter(map(str, names)).items() if count > 1), None)
    if repeated is not None:
        raise ValueError(f"the table has several columns named `{repeated}`")
    return names


def column(table: Any, name: Any) -> np.ndarray:
    """Return one column of a table; dates and durations as Python objects."""
    array = to_numpy(table.column(name) if hasattr(type(table), "column_names") else table[name])
    # NumPy converts times in nanoseconds to integers.
    return array.astype(f"{array.dtype.kind}8[us]").astype(object) if array.dtype.kind in "mM" else array


def without_column(table: Any, name: Any) -> Any:
    """Return a table without one column; ``None`` if there is no other."""
    others = [other for other in column_names(table) if other != name]
    if not others:
        return None
    # `iloc` is of pandas; polars and Arrow have `select`.
    return table[others] if hasattr(type(table), "iloc") else table.select(others)


class ColumnTable:
    """Columns by name: the part of a data frame's interface that features need."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return (len(next(iter(self._columns.values()))), len(self._columns))

    def column(self, name: str) -> np.ndarray:
        """Return one column."""
        values = self._columns[name]
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array

    def select(self, names: list[str]) -> ColumnTable:
        """Return some of the columns."""
        return ColumnTable({name: self._columns[name] for name in names})


def csr_arrays(matrix: Any) -> Csr:
    """Return the arrays of a SciPy sparse matrix in CSR format."""
    matrix = matrix.tocsr()
    n_rows, n_cols = (int(size) for size in matrix.shape)
    return to_real(matrix.data, "data"), indices(matrix.indices), indices(matrix.indptr), (n_rows, n_cols)


def indices(values: Any) -> np.ndarray:
    """Return whole numbers as an ``int32`` or ``int64`` array."""
    array = to_numpy(values)
    if array.dtype in (np.int32, np.int64):
        return _aligned(array)
    if array.size == 0 or array.dtype.kind in "iub":
        return array.astype(np.int64)
    if _all_of(array, int) and max(map(abs, array.ravel().tolist())) < 2**63:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.array_equal(array, np.floor(array)) and np.abs(array).max() < 2.0**63:
        return array.astype(np.int64)
    raise TypeError(f"expected whole numbers, got an array of {array.dtype}")


def _aligned(array: np.ndarray) -> np.ndarray:
    """Return an array whose numbers can be read directly, a copy if necessary."""
    # NumPy regards every empty array as aligned.
    address: int = array.__array_interface__["data"][0]
    return array if address % array.dtype.itemsize == 0 else array.copy()


def _all_of(array: np.ndarray, kind: type) -> bool:
    """Return whether an array of objects, such as pandas makes of nullable columns, has one type only."""
    return array.dtype == object and all(type(value) is kind for value in array.ravel().tolist())


def to_real(values: Any, name: str) -> np.ndarray:
    """Return an array of ``float32`` or ``float64``; other numbers are converted."""
    array = to_numpy(values)
    if array.dtype in (np.float32, np.float64):
        return _aligned(array)
    if array.dtype.kind in "iub":
        return array.astype(np.float64 if array.dtype.itemsize > 2 else np.float32)
    if array.dtype.kind == "f":
        return array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if array.dtype.kind == "c":
        raise ValueError(f"`{name}` contains complex numbers; Complex data not supported")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"`{name}` contains values that are not numbers: {error}") from None


def is_missing(value: Any) -> bool:
    """Return whether a value is ``None``, NaN, NaT or pandas' ``NA``."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array has no single truth value
        return False


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
    if array.dtype == bool or (array.size and _all_of(array, bool)):
        array = array.astype(bool)
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


def check_two_dimensional(array: np.ndarray, name: str, value: Any) -> None:
    """Raise a ``ValueError`` unless an array has two dimensions."""
    if array.ndim != 2:
        hint = "; Reshape your data: expected 2D array" if array.ndim < 2 else "; expected <= 2 dimensions"
        raise ValueError(f"`{name}` is {describe(value)} with {array.ndim} dimensions{hint}")

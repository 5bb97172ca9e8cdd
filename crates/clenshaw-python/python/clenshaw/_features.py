"""Features and labels as the arrays that the native module takes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._arrays import (
    ColumnTable,
    Csr,
    check_two_dimensional,
    column,
    column_names,
    csr_arrays,
    is_missing,
    is_sparse,
    is_table,
    to_cell,
    to_numpy,
    to_real,
)
from clenshaw._by_node import values_by_node
from clenshaw._errors import warn, warn_of_conversion

if TYPE_CHECKING:
    from clenshaw._graph import GraphSource

#: Up to this number of nodes, nodes without features get one feature each.
MAX_IDENTITY = 100_000
#: The number of columns of sparse features; weights and their gradients are dense.
MAX_FEATURES = 2**24
#: The number of degree features: degree 0, 1, 2-3, 4-7, ...
DEGREE_FEATURES = 24


@dataclass
class EncodedFeatures:
    """A feature matrix and how it was computed."""

    x: np.ndarray | Csr
    #: How the columns of a table became features; ``None`` for arrays.
    schema: _clenshaw.Schema | None = None
    #: The names of the columns of a table; ``None`` for arrays.
    names: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of nodes and features."""
        shape = self.x[3] if isinstance(self.x, tuple) else self.x.shape
        return (int(shape[0]), int(shape[1]))


def encode_features(X: Any, schema: _clenshaw.Schema | None = None) -> EncodedFeatures:
    """Convert features; a table is encoded by ``schema`` or, without one, by an inferred schema."""
    if is_table(X):
        return _encode_table(X, schema)
    if is_sparse(X):
        _check_shape(X)
        return EncodedFeatures(csr_arrays(X))
    array = to_numpy(X)
    check_two_dimensional(array, "X", X)
    _check_shape(array)
    return EncodedFeatures(to_real(array, "X"))


def _check_shape(X: Any) -> None:
    for size, name in zip(X.shape, ("sample", "feature")):
        if size == 0:
            raise ValueError(f"found 0 {name}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required in `X`")
    if X.shape[1] > MAX_FEATURES:
        raise ValueError(f"`X` has {X.shape[1]} columns; expected at most {MAX_FEATURES}")


def features_of(source: GraphSource) -> EncodedFeatures:
    """Return the features of a graph that was read."""
    if source.X is None:
        return structural_features(source.graph)
    if source.schema is not None:
        features = encode_features(source.X)
        names = table_columns(source.schema)
        return replace(features, schema=source.schema, names=np.array(names, dtype=object) if names else None)
    features = encode_features(source.X)
    if isinstance(source.X, ColumnTable) and features.shape[1] == 0:  # no attribute of the nodes is usable
        return structural_features(source.graph)
    return features


def table_columns(schema: _clenshaw.Schema) -> list[str]:
    """Return the columns of the table of nodes that a schema was made of, without names, labels and split."""
    return [name for name, kind, _ in schema.columns if kind not in ("id", "label", "split")]


def structural_features(graph: _clenshaw.Graph, schema: _clenshaw.Schema | None = None) -> EncodedFeatures:
    """Return features computed from the graph: one per node or, on large graphs, one per range of degrees.

    A schema, if there is one, decides which.
    """
    n = graph.n_nodes
    kind = "identity" if n <= MAX_IDENTITY else "degree"
    if (kind if schema is None else structure_of(schema)) == "identity":
        x = (np.ones(n, np.float32), np.arange(n), np.arange(n + 1), (n, n))
        return EncodedFeatures(x, _structural_schema("identity"))
    degrees = np.diff(graph.to_csr()[0])
    bins = np.minimum(np.ceil(np.log2(degrees + 1)).astype(np.int64), DEGREE_FEATURES - 1)
    x = (np.ones(n, np.float32), bins, np.arange(n + 1), (n, DEGREE_FEATURES))
    return EncodedFeatures(x, _structural_schema("degree"))


def structure_of(schema: _clenshaw.Schema) -> str | None:
    """Return the kind of features computed from the graph: ``identity``, ``degree``, or ``None`` if they were given."""
    kind = json.loads(schema.to_json()).get("structural")
    return None if kind is None else str(kind)


def encode_unnamed(X: Any, names: list[str], schema: _clenshaw.Schema) -> EncodedFeatures:
    """Encode features without names in the order of the columns of the table that the model was trained on."""
    if schema.feature_names == sorted(names):
        order = np.argsort(np.array(names, dtype=object), kind="stable")
        return replace(encode_features(X.tocsr()[:, order] if is_sparse(X) else to_numpy(X)[:, order]), schema=schema)
    if is_sparse(X):
        raise ValueError("`X` is sparse, but the model was trained on a table with text or missing values")
    return _encode_table(ColumnTable(dict(zip(names, to_numpy(X).T))), schema)


def _structural_schema(kind: str) -> _clenshaw.Schema:
    return _clenshaw.Schema.from_json(json.dumps({"columns": [], "structural": kind}))


def _encode_table(table: Any, schema: _clenshaw.Schema | None) -> EncodedFeatures:
    _check_shape(table)
    names = column_names(table)
    text_names = [str(name) for name in names]
    columns = [column(table, name) for name in names]
    original = np.array(text_names, dtype=object)
    if _all_numbers(columns) and (schema is None or _is_numbers(schema, text_names)):
        # Features are ordered by the name of their column.
        order = np.argsort(np.array(text_names, dtype=object), kind="stable")
        arrays = [to_real(columns[i], text_names[i]) for i in order]
        return EncodedFeatures(np.stack(arrays, axis=1), schema or _clenshaw.Schema.numbers(text_names), original)
    # Labels and splits of a table to predict are not read.
    other = set() if schema is None else {name for name, _, _ in schema.columns} - set(table_columns(schema))
    cells = [
        (name, [to_cell(value) for value in values.tolist()])
        for name, values in zip(text_names, columns)
        if name not in other
    ]
    x, found, messages = _clenshaw.Schema.infer(cells) if schema is None else schema.encode(cells)
    for message in messages:
        if LABEL_WARNING not in message:  # see `warn_of_label_columns`
            warn(message)
    if schema is None:
        ignored = [f"`{name}` ({reason})" for name, kind, reason in found.columns if kind == "ignored"]
        if ignored:
            warn(f"columns of X that are not used: {', '.join(ignored)}")
    return EncodedFeatures(x, found, original)


def _all_numbers(columns: list[np.ndarray]) -> bool:
    """Return whether all columns are finite numbers."""
    return all(
        values.dtype.kind in "iuf" and (values.dtype.kind != "f" or bool(np.isfinite(values).all()))
        for values in columns
    )


def _is_numbers(schema: _clenshaw.Schema, names: list[str]) -> bool:
    """Return whether a schema has exactly these columns, each of them one number."""
    return sorted(names) == schema.feature_names


@dataclass
class EncodedLabels:
    """Class numbers of all nodes, -1 for unlabelled ones, and the classes."""

    codes: np.ndarray
    classes: np.ndarray

    @property
    def class_names(self) -> list[str]:
        """The classes as text, in order."""
        names = [_class_name(value) for value in self.classes.tolist()]
        if len(set(names)) < len(names):
            return [f"{name} ({type(value).__name__})" for name, value in zip(names, self.classes.tolist())]
        return names


def _class_name(value: Any) -> str:
    """Return a class as text; 1.0 is written as the whole number it is."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def label_values(y: Any, n_nodes: int, nodes: list[Any] | None) -> np.ndarray:
    """Return one label per node, in the order of the nodes.

    A dict and a pandas Series contain the labels of some nodes, by name or number, see ``values_by_node``.
    """
    found = values_by_node(y, n_nodes, nodes, "y")
    if found is not None:
        values = np.empty(n_nodes, dtype=object)
        for node, label in found.items():
            values[node] = label
        return values
    array = to_numpy(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warn_of_conversion("A column-vector y was passed when a 1d array was expected; its only column is used")
        array = array.ravel()
    elif array.ndim == 1 and isinstance(y, (list, tuple)) and len({type(value) for value in y}) > 1:
        # NumPy would convert all labels to one type: NaN to "nan".
        array = np.empty(len(y), dtype=object)
        array[:] = y
    if array.ndim != 1:
        raise ValueError(f"`y` has shape {array.shape}; expected one label per node (1d array)")
    if len(array) != n_nodes:
        raise ValueError(f"`y` has {len(array)} labels, but the graph has {n_nodes} nodes")
    return array


def encode_labels(values: np.ndarray) -> EncodedLabels:
    """Number the labels; negative numbers, ``None`` and NaN are unlabelled."""
    if values.dtype.kind == "b":
        codes, classes = values.astype(np.int64), np.array([False, True])
        return EncodedLabels(codes, classes)
    if values.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            known = (values >= 0) & ~(values != values)
    else:
        known = np.array([not _is_unlabelled(value) for value in values.tolist()], dtype=bool)
    present = _as_numbers(values[known])
    if present.dtype.kind == "f":
        if np.isinf(present).any():
            raise ValueError("`y` contains infinity; expected finite labels (Input contains infinity)")
        if not np.array_equal(present, np.floor(present)):
            raise ValueError("Unknown label type: continuous; `y` contains decimal numbers, expected classes")
    classes, numbers = _unique(present)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = numbers
    return EncodedLabels(codes, classes)


def _as_numbers(labels: np.ndarray) -> np.ndarray:
    """Return labels of type object that are all integers, floats or bools as an array of these."""
    if labels.dtype != object or not labels.size:
        return labels
    kinds = {type(label) for label in labels.tolist()}
    is_number = all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds)
    return np.array(labels.tolist()) if is_number or kinds == {bool} else labels


def _is_unlabelled(value: Any) -> bool:
    if is_missing(value):
        return True
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and bool(value < 0)


def _unique(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values and the index of each value among them."""
    try:
        classes, numbers = np.unique(values, return_inverse=True)
    except TypeError:
        found = sorted(set(values.tolist()), key=lambda value: (type(value).__name__, str(value)))
        index = {value: i for i, value in enumerate(found)}
        classes = np.empty(len(found), dtype=object)
        classes[:] = found
        numbers = np.array([index[value] for value in values.tolist()], dtype=np.int64)
    if classes.dtype == object and all(isinstance(value, str) for value in classes.tolist()):
        classes = classes.astype(str) if values.dtype.kind == "U" else classes
    return classes, numbers.astype(np.int64)


#: Columns that are probably the label.
LABEL_NAMES = ("label", "class", "target", "y")
#: The end of the native warning about such columns.
LABEL_WARNING = "is used as a feature; ignore it if it contains the classes"


def warn_of_label_columns(X: Any, schema: _clenshaw.Schema | None, codes: np.ndarray) -> None:
    """Warn about columns of a table that are used as features and may be the label itself."""
    if not is_table(X):
        return
    used = {name for name, kind, _ in schema.columns if kind != "ignored"} if schema is not None else set()
    known = codes >= 0
    for name in column_names(X):
        if str(name) not in used:
            continue
        values = column(X, name)
        if str(name).lower() in LABEL_NAMES:
            if values.dtype.kind == "f" and (values % 1 > 0).any():  # a quantity such as a coordinate
                continue
            warn(f"column `{name}` is used as a feature; if it is the label itself, leave it out")
        elif values.dtype.kind in "OUT" and _determines(values.tolist(), codes, known):
            warn(f"column `{name}` determines every known label; if it is the label itself, leave it out")


def _determines(values: list[Any], codes: np.ndarray, known: np.ndarray) -> bool:
    """Return whether each value of a text column occurs with one class only; columns of many values never count."""
    n_known = int(known.sum())
    texts = [value if isinstance(value, str) else None for value in values]
    if not all(isinstance(value, str) or is_missing(value) for value in values):
        return False
    if 2 * len(set(texts)) > n_known or len(np.unique(codes[known])) < 2:
        return False
    classes: dict[str | None, int] = {}
    return all(classes.setdefault(texts[i], int(codes[i])) == codes[i] for i in np.flatnonzero(known))


def classes_from_names(names: list[str]) -> np.ndarray:
    """Return the classes of a loaded model: integers if all names are non-negative ones, otherwise text."""
    if all(name.isdigit() and str(int(name)) == name for name in names):
        return np.array([int(name) for name in names])
    return np.array(names, dtype=object)

"""Generated arguments of every public function: documented exceptions only, and never a panic.

``CLENSHAW_EXAMPLES=50`` tries fifty times as many, with another seed each time.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import Problem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import clenshaw
from clenshaw import NodeClassifier, _clenshaw

FACTOR = int(os.environ.get("CLENSHAW_EXAMPLES", "1"))
settings.register_profile(
    "default", max_examples=60 * FACTOR, deadline=None, derandomize=FACTOR == 1, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("default")

#: What invalid arguments may raise; a panic is a BaseException and none of these.
DOCUMENTED = (ValueError, TypeError, KeyError, FileNotFoundError)


@contextlib.contextmanager
def documented() -> Iterator[None]:
    """Allow the documented exceptions, and no other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except DOCUMENTED as error:
            assert str(error), f"{type(error).__name__} without a message"
        except RuntimeError as error:  # a loss that is not finite
            assert "not finite" in str(error) or "diverged" in str(error), error


# Strategies ------------------------------------------------------------------------------------

huge = st.sampled_from([-(2**63), -1, 2**31, 2**32, 2**40, 2**63 - 1])
index_values = st.integers(0, 7) | st.integers(-3, 12) | huge
floats = st.floats(width=32) | st.sampled_from([math.nan, math.inf, -math.inf, 1e38, -1e38, 0.0])
dtypes = st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.uint64, bool,
                          complex, "U3", "S2", object, "datetime64[D]", ">f4", ">i8"])
shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=8)
scalars = st.none() | st.booleans() | st.integers(-5, 2**70) | floats | st.text(max_size=5) | st.binary(max_size=3)


@st.composite
def arrays(draw: Any) -> Any:
    """Arrays of any type and shape; some are unusual views."""
    kind = np.dtype(draw(dtypes))
    shape = draw(shapes)
    if kind == object:
        flat = np.empty(int(np.prod(shape)), dtype=object)
        flat[:] = draw(st.lists(scalars, min_size=flat.size, max_size=flat.size))
        return flat.reshape(shape)
    array = draw(npst.arrays(kind, shape))
    how = draw(st.sampled_from(["plain", "transposed", "reversed", "unaligned", "read-only"]))
    if how == "transposed":
        return array.T
    if how == "reversed" and array.ndim:
        return array[::-1]
    if how == "unaligned" and kind.kind in "iuf":
        copy = np.ndarray(array.shape, array.dtype, buffer=bytearray(array.nbytes + 1), offset=1)
        copy[...] = array
        return copy
    array.flags.writeable = how != "read-only"
    return array


edge_indices = st.lists(st.tuples(index_values, index_values), max_size=12).map(
    lambda pairs: np.array(pairs, dtype=np.int64).reshape(-1, 2).T
)
adjacencies = npst.arrays(np.float64, st.integers(0, 8).map(lambda n: (n, n)), elements=floats)


@st.composite
def sparse_matrices(draw: Any) -> Any:
    """SciPy matrices; the arrays of some were changed afterwards, so that they are invalid."""
    array = draw(npst.arrays(np.float32, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=floats))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = draw(st.sampled_from([sp.csr_array, sp.csc_matrix, sp.coo_array]))(array)
        if draw(st.booleans()):
            matrix = sp.csr_array(matrix)
            if matrix.nnz:
                matrix.indices[draw(st.integers(0, matrix.nnz - 1))] = draw(st.integers(-2, 12))
    return matrix


edge_tables = st.builds(
    lambda pairs, names, weights: pd.DataFrame(
        {names[0]: [p[0] for p in pairs], names[1]: [p[1] for p in pairs], **({"weight": weights[: len(pairs)]} if len(weights) >= len(pairs) else {})}
    ),
    st.lists(st.tuples(scalars, scalars) | st.tuples(index_values, index_values), max_size=8),
    st.sampled_from([("source", "target"), ("a", "b"), (0, 1), ("u", "v")]),
    st.lists(floats, max_size=8),
)

graphs = st.one_of(
    edge_indices,
    edge_indices.map(lambda index: index.astype(np.int32)),
    st.tuples(edge_indices, npst.arrays(np.float32, st.integers(0, 12), elements=floats)),
    adjacencies,
    sparse_matrices(),
    edge_tables,
    arrays(),
    scalars,
    st.builds(lambda i, n, x: SimpleNamespace(edge_index=i, num_nodes=n, x=x), edge_indices | arrays(),
              st.none() | st.integers(-1, 12) | huge, st.none() | arrays()),
    st.lists(st.lists(st.integers(-1, 5), max_size=4), max_size=4),
    st.dictionaries(st.text(max_size=3), scalars, max_size=3),
)
tables = st.builds(
    lambda columns, n: pd.DataFrame({name: values[:n] for name, values in columns.items()}),
    st.dictionaries(st.text(max_size=3) | st.integers(0, 3), st.lists(scalars, min_size=8, max_size=8), max_size=4),
    st.integers(0, 8),
)
feature_matrices = st.one_of(
    st.none(), arrays(), sparse_matrices(), tables, scalars,
    npst.arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=floats),
)
labels = st.one_of(
    st.none(),
    arrays(),
    st.lists(scalars, max_size=9),
    st.lists(st.integers(-1, 2), max_size=9),
    st.dictionaries(st.integers(-1, 9) | st.text(max_size=2), scalars, max_size=6),
    scalars,
)
masks = st.none() | arrays() | st.lists(index_values | st.booleans(), max_size=8) | scalars


# NodeClassifier --------------------------------------------------------------------------------


@given(graph=graphs, X=feature_matrices, y=labels, label=st.none() | st.text(max_size=3),
       sample_weight=st.none() | arrays(), train_mask=masks, val_mask=masks)
@settings(max_examples=300 * FACTOR)
def test_fit_with_anything(graph: Any, X: Any, y: Any, label: Any, **more: Any) -> None:
    model = NodeClassifier("gcn", max_epochs=1, hidden=4)
    with documented():
        model.fit(graph, X, y, label=label, **more)
        assert np.isfinite(model.predict_proba()).all()


@given(data=st.data())
@settings(max_examples=150 * FACTOR)
def test_fit_with_one_wrong_argument(problem: Problem, data: Any) -> None:
    """The other arguments are right, so that the wrong one is reached."""
    arguments = {"graph": problem.edge_index, "X": problem.X, "y": problem.y}
    strategies = {"graph": graphs, "X": feature_matrices, "y": labels, "sample_weight": arrays(),
                  "train_mask": masks, "val_mask": masks}
    wrong = data.draw(st.sampled_from(sorted(strategies)))
    with documented():
        NodeClassifier("gcn", max_epochs=1, hidden=4).fit(**{**arguments, wrong: data.draw(strategies[wrong])})


@given(graph=graphs, X=feature_matrices)
@settings(max_examples=150 * FACTOR)
def test_predict_with_anything(problem: Problem, graph: Any, X: Any) -> None:
    for name in ("predict", "transform"):
        with documented():
            getattr(fitted(problem), name)(graph, X)
    with documented():
        fitted_on_table(problem).decision_function(graph, X)


@given(X=feature_matrices)
def test_predict_with_any_features(problem: Problem, X: Any) -> None:
    with documented():
        fitted(problem).predict(problem.edge_index, X)
    with documented():
        fitted_on_table(problem).predict(problem.edge_index, X)


MODELS: dict[str, NodeClassifier] = {}


def fitted(problem: Problem) -> NodeClassifier:
    return MODELS.setdefault("array", problem.fit("gcn", max_epochs=1)) if "array" not in MODELS else MODELS["array"]


def fitted_on_table(problem: Problem) -> NodeClassifier:
    if "table" not in MODELS:
        table = pd.DataFrame({"a": problem.X[:, 0], "b": np.where(problem.y, "x", "y")})
        MODELS["table"] = NodeClassifier("gcn", max_epochs=1).fit(problem.edge_index, table, problem.y)
    return MODELS["table"]


@given(y=labels, mask=masks, sample_weight=st.none() | arrays())
def test_score_with_anything(problem: Problem, y: Any, mask: Any, sample_weight: Any) -> None:
    with documented():
        fitted(problem).score(y=y, mask=mask, sample_weight=sample_weight)


@given(data=st.data())
@settings(max_examples=150 * FACTOR)
def test_parameters_of_any_value(problem: Problem, data: Any) -> None:
    names = sorted(NodeClassifier().get_params())
    params = data.draw(st.dictionaries(st.sampled_from(names), scalars, max_size=3))
    model = data.draw(st.sampled_from(_clenshaw.model_names()))
    with documented():
        NodeClassifier(**{"model": model, "max_epochs": 1, **params}).fit(problem.edge_index, problem.X, problem.y)


@pytest.mark.parametrize("model", _clenshaw.model_names())
def test_hyper_parameters_at_their_bounds(problem: Problem, model: str) -> None:
    """Every bound is accepted or reported; widths and depths of thousands would only take time."""
    for hyper in _clenshaw.model_info(model)["hyper"]:
        if "range" not in hyper or hyper["name"] in ("hidden", "max_epochs"):
            continue
        low, high = hyper["range"]
        for value in (low, min(high, 64), np.nextafter(low, -1e9), np.nextafter(high, 1e9), low - 1, high + 1):
            value = int(value) if hyper["type"] == "int" else float(value)
            name = {"lambda": "lambda_"}.get(hyper["name"], hyper["name"])
            with documented():
                NodeClassifier(model, **{"max_epochs": 2, "hidden": 4, name: value}).fit(
                    problem.edge_index, problem.X, problem.y
                )


@given(state=st.dictionaries(st.text(max_size=5) | st.integers(0, 3), arrays() | scalars, max_size=3), real=st.booleans())
def test_load_state_dict_with_anything(problem: Problem, state: Any, real: bool) -> None:
    model = fitted(problem)
    original = model.state_dict()
    if real and state:
        state = {**original, next(iter(original)): next(iter(state.values()))}
    with documented():
        model.load_state_dict(state)
    model.load_state_dict(original)


@given(content=st.binary(max_size=300))
def test_load_any_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError):
        NodeClassifier.load(tmp_path / "model")


def test_load_damaged_files(problem: Problem, tmp_path: Path) -> None:
    fitted(problem).save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    for at in range(0, len(content), max(1, len(content) // 150)):
        for damaged in (content[:at], content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]):
            (tmp_path / "damaged").write_bytes(damaged)
            with pytest.raises(ValueError):
                NodeClassifier.load(tmp_path / "damaged")


# Functions -------------------------------------------------------------------------------------


@given(graph=graphs, y=labels, bins=st.integers(-5, 300) | scalars, normalisation=st.sampled_from(["looped", "plain", "x"]) | scalars)
@settings(max_examples=150 * FACTOR)
def test_statistics_of_anything(graph: Any, y: Any, bins: Any, normalisation: Any) -> None:
    with documented():
        clenshaw.homophily(graph, y)
    with documented():
        clenshaw.spectrum(graph, bins=bins, normalisation=normalisation)
    with documented():
        found = clenshaw.spectrum(graph)
        assert found.density.sum() == pytest.approx(1)


@given(coefficients=st.lists(floats, max_size=40) | arrays() | scalars, basis=st.sampled_from(
    ["monomial", "chebyshev-first", "chebyshev-second", "chebyshev-laplacian", "legendre", "jacobi", "bernstein"]) | scalars,
    mu=st.none() | arrays() | st.lists(floats, max_size=5), a=floats | scalars, b=floats)
@settings(max_examples=150 * FACTOR)
def test_filter_response_of_anything(coefficients: Any, basis: Any, mu: Any, a: Any, b: Any) -> None:
    with documented():
        clenshaw.filter_response(coefficients, basis, mu, a=a, b=b)


def test_long_filters_take_no_minutes() -> None:
    assert clenshaw.filter_response(np.ones(2000), "bernstein", [0.3]) == pytest.approx(1)


@given(settings_=st.dictionaries(
    st.sampled_from(["n_nodes", "n_classes", "degree", "homophily", "n_features", "signal", "random_state"]),
    st.integers(-3, 400) | floats | scalars, max_size=4))
def test_make_csbm_with_anything(settings_: dict[str, Any]) -> None:
    with documented():
        clenshaw.make_csbm(**{"n_nodes": 50, **settings_})


@given(name=st.text(max_size=12) | scalars, kind=st.text(max_size=12) | st.sampled_from(
    ["ratio:1/1", "ratio:-1/1/1", "ratio:nan/1/1", "ratio:0/0/0", "file:nowhere", "geom:99", "balanced"]) | scalars,
    seed=st.integers(-3, 2**65) | scalars)
def test_datasets_with_anything(name: Any, kind: Any, seed: Any) -> None:
    with documented():
        clenshaw.datasets.load(name)
    with documented():
        clenshaw.make_csbm(n_nodes=20).split(kind, seed)
    with documented():
        clenshaw.models(name)
    with documented():
        NodeClassifier.from_preset("gcn", name)


@given(graph=graphs, X=feature_matrices, y=labels, models=st.lists(st.sampled_from(["mlp", "gcn", "x"]) | scalars, max_size=2) | scalars,
       n_runs=st.integers(-1, 2) | scalars.filter(lambda n: not isinstance(n, int)), n_jobs=st.integers(-2, 3) | st.text(max_size=1))
@settings(max_examples=60 * FACTOR)
def test_compare_with_anything(graph: Any, X: Any, y: Any, models: Any, n_runs: Any, n_jobs: Any) -> None:
    with documented():
        clenshaw.compare(graph, models, X=X, y=y, n_runs=n_runs, n_jobs=n_jobs)


@given(model=st.sampled_from(["mlp", "x"]) | scalars, n_trials=st.integers(-1, 1), n_splits=st.integers(-1, 1),
       params=st.none() | st.dictionaries(st.sampled_from(["hidden", "lr", "x"]), scalars, max_size=2),
       study=st.none() | st.integers(0, 3) | floats, random_state=scalars)
@settings(max_examples=40 * FACTOR)
def test_tune_with_anything(problem: Problem, model: Any, n_trials: Any, n_splits: Any, params: Any, study: Any, random_state: Any) -> None:
    given_params = {"max_epochs": 1, **(params or {})}
    with documented(), contextlib.suppress(RuntimeError):  # none of the trials is complete
        clenshaw.tune(problem.edge_index, model, X=problem.X, y=problem.y, n_trials=n_trials, n_splits=n_splits,
                      params=given_params, study=study, random_state=random_state)


@given(graph=graphs, X=feature_matrices, key=st.integers(-9, 9) | arrays() | st.lists(index_values, max_size=4))
def test_nodes_of_anything(graph: Any, X: Any, key: Any) -> None:
    with documented():
        nodes = clenshaw.Nodes(graph, X)
        with contextlib.suppress(IndexError):  # as arrays do
            assert len(nodes[key]) <= max(len(nodes), len(np.atleast_1d(key)))


@given(y=labels, n_splits=st.integers(-1, 3), kind=st.text(max_size=5) | st.sampled_from(["stratified", "balanced", "ratio:1/1/1"]),
       random_state=st.none() | st.integers(-3, 2**65))
def test_splits_of_anything(y: Any, n_splits: Any, kind: Any, random_state: Any) -> None:
    with documented():
        for train, test in clenshaw.NodeSplit(n_splits, kind, random_state).split(None, y):
            assert not set(train.tolist()) & set(test.tolist())


# The native module -----------------------------------------------------------------------------


@given(indptr=arrays(), indices=arrays(), weights=st.none() | arrays(), n=st.integers(-1, 12) | huge)
@settings(max_examples=200 * FACTOR)
def test_native_graphs_of_anything(indptr: Any, indices: Any, weights: Any, n: int) -> None:
    if 2**31 <= n < 2**33:
        return  # an honest request for gigabytes
    with documented(), contextlib.suppress(OverflowError):  # a negative number of nodes
        _clenshaw.Graph.from_edges(indptr, indices, weights, n)
    with documented():
        _clenshaw.Graph.from_csr(indptr, indices, weights)


def test_wide_sparse_features_do_not_fill_the_memory(problem: Problem) -> None:
    wide = sp.csr_array(([1.0], ([0], [5])), shape=(60, 2**31 - 1))
    with pytest.raises(ValueError, match="columns; expected at most"):
        NodeClassifier("gcn", max_epochs=1).fit(problem.edge_index, wide, problem.y)

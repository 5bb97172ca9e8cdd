"""Stored scores of public implementations, and PyTorch modules, through the Python package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _golden
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import Problem

import clenshaw
from clenshaw import NodeClassifier, _clenshaw
from clenshaw._estimator_names import to_python

FIXTURES = _golden.paths()


def known_params(fixture: _golden.Fixture) -> dict[str, Any]:
    """The hyper-parameters of a fixture that the model has."""
    names = {hyper["name"] for hyper in _clenshaw.model_info(fixture.model)["hyper"]}
    return to_python({name: value for name, value in fixture.params.items() if name in names})


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_scores_agree_with_the_fixture(path: Path) -> None:
    fixture = _golden.load(path)
    model = NodeClassifier(fixture.model, **{**known_params(fixture), "max_epochs": 1, "scaling": "raw"})
    y = fixture.y.astype(np.int64)
    assert len(np.unique(y)) == fixture.n_classes
    model.fit(fixture.edge_index, fixture.x, y, train_mask=fixture.train_mask, val_mask=[])
    state = model.state_dict()
    assert {name: array.shape for name, array in state.items()} == {
        name: array.shape for name, array in fixture.weights.items()
    }
    model.load_state_dict(fixture.weights)
    scale = np.abs(fixture.logits).max()
    assert np.abs(model.decision_function() - fixture.logits).max() <= 2e-5 * scale
    # Weights in, weights out.
    for name, array in model.state_dict().items():
        assert np.array_equal(array, fixture.weights[name].astype(np.float32)), name
    again = NodeClassifier(fixture.model, **{**known_params(fixture), "max_epochs": 1, "scaling": "raw"})
    again.fit(fixture.edge_index, fixture.x, y, train_mask=fixture.train_mask, val_mask=[])
    again.load_state_dict(model.state_dict())
    assert np.array_equal(again.decision_function(), model.decision_function())


def test_every_model_but_linkx_and_poly_has_a_fixture() -> None:
    assert {_golden.model_name(path) for path in FIXTURES} == set(_clenshaw.model_names()) - {"linkx", "poly"}


def weighted(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    index = problem.edge_index
    return index, np.abs(np.sin(index.min(0) * 60.0 + index.max(0))) + 0.5


def features(problem: Problem, kind: str) -> Any:
    if kind == "binary":
        return (problem.X > 0).astype(np.float32)
    if kind == "sparse":
        return sp.csr_array(np.where(np.abs(problem.X) > 1, problem.X, 0))
    # Means and scales that only scaling makes harmless.
    return problem.X * np.array([1, 10, 0.1, 3, 1, 1]) + np.array([0, 5, -2, 0, 1, 0])


CASES = [(model, False, "standard") for model in _clenshaw.model_names()]
CASES += [(model, True, "row") for model in _clenshaw.model_names()]
CASES += [("clenshaw-gcn", weights, scaling) for weights in (False, True) for scaling in ("raw", "zscore", "row0")]


@pytest.mark.parametrize(("model", "weights", "scaling"), CASES)
def test_torch_modules_have_the_same_scores(problem: Problem, model: str, weights: bool, scaling: str) -> None:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # the graphs are small
    kind = {"row": "binary", "row0": "sparse"}.get(scaling, "numbers")
    X = features(problem, kind)
    index, values = weighted(problem)
    graph = (index, values) if weights else index
    # Lanczos iterations amplify rounding errors with every term; with the default K = 16, any two implementations differ.
    terms = {"K": 6} if model == "opt-basis-gnn" else {}
    estimator = NodeClassifier(model, max_epochs=5, scaling=scaling, random_state=2, **terms).fit(graph, X, problem.y)
    module = clenshaw.to_torch(estimator).eval()
    x = torch.tensor(X.toarray() if kind == "sparse" else np.asarray(X), dtype=torch.float32)
    with torch.no_grad():
        logits = module(x, torch.tensor(index), torch.tensor(values, dtype=torch.float32) if weights else None).numpy()
    expected = estimator.decision_function()
    assert np.abs(logits - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())


def test_torch_modules_of_tables_read_the_encoded_features(problem: Problem) -> None:
    torch = pytest.importorskip("torch")
    pandas = pytest.importorskip("pandas")
    from clenshaw._features import encode_features

    table = pandas.DataFrame({"z": problem.X[:, 0], "kind": np.where(problem.y, "a", "b"), "b": problem.X[:, 1]})
    estimator = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, table, problem.y)
    module = clenshaw.to_torch(estimator).eval()
    encoded = encode_features(table, estimator._model.schema).x
    if isinstance(encoded, tuple):
        encoded = sp.csr_array(encoded[:3], shape=encoded[3]).toarray()
    with torch.no_grad():
        logits = module(torch.tensor(encoded, dtype=torch.float32), torch.tensor(problem.edge_index)).numpy()
    np.testing.assert_allclose(logits, estimator.decision_function(), atol=1e-5)

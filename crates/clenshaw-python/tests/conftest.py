"""A small problem that most tests share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import clenshaw

# Optuna, joblib and others print what the tests do not need.
os.environ.setdefault("RUST_BACKTRACE", "0")


@dataclass(frozen=True)
class Problem:
    """A graph of 60 nodes in 3 classes whose neighbours mostly agree."""

    edge_index: Any
    X: Any
    y: Any
    train: Any
    val: Any
    test: Any

    def fit(self, model: str = "gcn", **params: Any) -> clenshaw.NodeClassifier:
        """Train on the given split, by default for 10 epochs with seed 0."""
        estimator = clenshaw.NodeClassifier(model, **{"max_epochs": 10, "random_state": 0, **params})
        return estimator.fit(self.edge_index, self.X, self.y, train_mask=self.train, val_mask=self.val)


@pytest.fixture(scope="session")
def problem() -> Problem:
    data = clenshaw.make_csbm(n_nodes=60, n_features=6, degree=6, homophily=0.8, random_state=1)
    return Problem(data.edge_index, data.X.copy(), data.y.copy(), *data.split("stratified", 0))


@pytest.fixture(scope="session")
def adjacency(problem: Problem) -> np.ndarray:
    """The dense adjacency of the problem."""
    dense = np.zeros((60, 60))
    dense[problem.edge_index[0], problem.edge_index[1]] = 1.0
    return dense

"""scikit-learn: its estimator checks, model selection and pipelines."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import Problem
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

import clenshaw
from clenshaw import NodeClassifier, Nodes, NodeSplit

# The checks call fit(X, y) with a matrix of samples, which is no graph.
NO_GRAPH = "the first argument of fit and predict is a graph, and the check passes a matrix of samples"
#: Checks that do not fit, or accept that fit raises.
INDEPENDENT = {
    "check_array_api_input",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_partial_fit_n_features",
    "check_estimators_unfitted",
    "check_fit1d",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_non_transformer_estimators_n_iter",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_supervised_y_no_nan",
    "check_transformer_n_iter",
    "check_transformer_preserve_dtypes",
    "check_transformers_unfitted",
    "check_valid_tag_types",
}


def expected_failures_of_graphs(estimator: Any) -> dict[str, str]:
    """The checks that fail because of the graph."""
    names = {check.func.__name__ for _, check in estimator_checks_generator(estimator, legacy=True)}
    return dict.fromkeys(names - INDEPENDENT, NO_GRAPH)


@parametrize_with_checks(
    [NodeClassifier("gcn", max_epochs=20)], expected_failed_checks=expected_failures_of_graphs
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def to_nodes(X: Any) -> Nodes:
    """The graph of the five nearest neighbours of every sample."""
    if isinstance(X, Nodes):
        return X
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    try:
        dense = np.nan_to_num(dense.real.astype(float), posinf=0, neginf=0).reshape(len(dense), -1)
    except (TypeError, ValueError):
        dense = np.zeros((max(len(np.atleast_1d(dense)), 1), 1))
    distances = ((dense[:, None] - dense[None]) ** 2).sum(2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :6]
    index = np.stack([np.repeat(np.arange(len(dense)), nearest.shape[1]), nearest.ravel()])
    return Nodes((index, None), X if hasattr(X, "shape") else np.asarray(X))


class NeighbourClassifier(NodeClassifier):
    """A classifier of samples: every call builds the graph of nearest neighbours of what it receives."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NeighbourClassifier:  # type: ignore[override]
        super().fit(to_nodes(X), y, sample_weight=sample_weight)
        return self

    def logits(self, X: Any, _: Any = None) -> np.ndarray:
        self._check_fitted()
        return super().logits(to_nodes(X))

    def transform(self, X: Any, _: Any = None) -> np.ndarray:
        self._check_fitted()
        return super().transform(to_nodes(X))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:  # type: ignore[override]
        return self.fit(X, y, sample_weight).transform(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:  # type: ignore[override]
        return self.fit(X, y, sample_weight).predict(X)

    def predict(self, X: Any, _: Any = None) -> np.ndarray:
        return super().predict(X)

    def predict_proba(self, X: Any, _: Any = None) -> np.ndarray:
        return super().predict_proba(X)

    def decision_function(self, X: Any, _: Any = None) -> np.ndarray:
        return super().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        return super().score(to_nodes(X), y, sample_weight=sample_weight)


ALWAYS = {
    "check_classifiers_classes": "the label -1 marks nodes without a label, which every graph to predict has",
    "check_sample_weight_equivalence_on_dense_data": "a node of weight 0 stays in the graph, and one of weight 2 is one node",
    "check_sample_weight_equivalence_on_sparse_data": "a node of weight 0 stays in the graph, and one of weight 2 is one node",
}
NEIGHBOURS = {
    "check_methods_subset_invariance": "predictions depend on the neighbours that are passed with a sample",
    "check_methods_sample_order_invariance": "sums over neighbours run in the order of the nodes, which changes the last digit",
}


def expected_failures_of_samples(estimator: Any) -> dict[str, str]:
    return ALWAYS if estimator.model == "mlp" else {**ALWAYS, **NEIGHBOURS}


@parametrize_with_checks(
    [NeighbourClassifier(model, max_epochs=150, validation_fraction=0.0, random_state=0) for model in ("mlp", "gcn")],
    expected_failed_checks=expected_failures_of_samples,
)
def test_checks_of_scikit_learn_with_a_graph_of_neighbours(estimator: Any, check: Any) -> None:
    check(estimator)


# Model selection -------------------------------------------------------------------------------


@pytest.fixture
def nodes(problem: Problem) -> Nodes:
    return Nodes(problem.edge_index, problem.X)


def test_nodes_are_indexed_like_rows(nodes: Nodes) -> None:
    assert nodes.shape == (60, 6) and len(nodes) == 60 and nodes.ndim == 2
    some = nodes[np.array([5, 3, 8])]
    assert some.selected.tolist() == [5, 3, 8] and some.graph is nodes.graph
    assert some[[True, False, True]].selected.tolist() == [5, 8]
    assert some[1:].selected.tolist() == [3, 8] and some[0].selected.tolist() == [5]
    assert nodes[np.arange(4), :].shape == (4, 6)
    assert repr(some).startswith("Nodes(3 of 60 nodes, ")
    with pytest.raises(IndexError):
        nodes[60]


def test_some_nodes_are_trained_and_predicted_with_the_whole_graph(problem: Problem, nodes: Nodes) -> None:
    chosen = np.array([40, 3, 17, 25, 8, 30, 11, 59, 2, 0, 33, 34])
    model = NodeClassifier("gcn", max_epochs=5).fit(nodes[chosen], problem.y[chosen])
    y = np.full(60, -1)
    y[chosen] = problem.y[chosen]
    expected = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, y)
    assert np.array_equal(model.probs_, expected.probs_)
    assert np.array_equal(model.predict(nodes[chosen]), expected.predict()[chosen])
    assert np.array_equal(model.predict_proba(nodes[[5, 4]]), expected.probs_[[5, 4]])
    assert np.array_equal(model.transform(nodes[[5, 4]]), expected.transform()[[5, 4]])
    assert model.score(nodes[[5, 4]], problem.y[[5, 4]]) == np.mean(expected.predict()[[5, 4]] == problem.y[[5, 4]])
    # Another Nodes of the same graph.
    again = Nodes(problem.edge_index, problem.X)
    assert np.array_equal(model.predict(again[chosen]), expected.predict()[chosen])


def test_sample_weights_of_some_nodes(problem: Problem, nodes: Nodes) -> None:
    chosen = np.flatnonzero(problem.train)[::-1]
    weights = np.linspace(0.5, 2, len(chosen))
    model = NodeClassifier("gcn", max_epochs=5, validation_fraction=0).fit(
        nodes[chosen], problem.y[chosen], sample_weight=weights
    )
    spread = np.ones(60)
    spread[chosen] = weights
    expected = NodeClassifier("gcn", max_epochs=5).fit(
        problem.edge_index, problem.X, problem.y, sample_weight=spread, train_mask=chosen, val_mask=[]
    )
    np.testing.assert_allclose(model.probs_, expected.probs_, atol=1e-6)


def by_hand(problem: Problem, model: NodeClassifier, train: np.ndarray, test: np.ndarray) -> float:
    y = np.full(60, -1)
    y[train] = problem.y[train]
    model.fit(problem.edge_index, problem.X, y)
    return float(np.mean(model.predict()[test] == problem.y[test]))


@pytest.mark.parametrize("splitter", [KFold(3), StratifiedKFold(3), NodeSplit(3), NodeSplit(2, "ratio:50/25/25", 7)])
def test_cross_val_score_is_transductive(problem: Problem, nodes: Nodes, splitter: Any) -> None:
    model = NodeClassifier("gcn", max_epochs=10, random_state=0)
    found = cross_val_score(model, nodes, problem.y, cv=splitter)
    expected = [by_hand(problem, model, train, test) for train, test in splitter.split(np.zeros((60, 1)), problem.y)]
    assert found.tolist() == expected


def test_cross_validation_in_processes(problem: Problem, nodes: Nodes) -> None:
    model = NodeClassifier("gcn", max_epochs=5, random_state=0)
    here = cross_val_score(model, nodes, problem.y, cv=3)
    assert np.array_equal(cross_val_score(model, nodes, problem.y, cv=3, n_jobs=2), here)


def test_cross_val_predict_and_scorers(problem: Problem, nodes: Nodes) -> None:
    model = NodeClassifier("gcn", max_epochs=20, random_state=0)
    predicted = cross_val_predict(model, nodes, problem.y, cv=StratifiedKFold(3))
    score = cross_val_score(model, nodes, problem.y, cv=StratifiedKFold(3)).mean()
    assert accuracy_score(problem.y, predicted) == pytest.approx(score)
    scores = cross_validate(model, nodes, problem.y, cv=3, scoring=["f1_macro", "roc_auc_ovr", "neg_log_loss"])
    assert np.isfinite(scores["test_f1_macro"]).all() and (scores["test_roc_auc_ovr"] > 0.5).all()
    # Two classes: the scorer reads one score per node.
    binary = problem.y == 1
    aucs = cross_val_score(model, nodes, binary, cv=KFold(2), scoring="roc_auc")
    train, test = next(KFold(2).split(np.zeros((60, 1))))
    fitted = NodeClassifier("gcn", max_epochs=20, random_state=0).fit(nodes[train], binary[train])
    assert aucs[0] == pytest.approx(roc_auc_score(binary[test], fitted.predict_proba(nodes[test])[:, 1]))


def test_decision_function_of_two_classes(problem: Problem) -> None:
    model = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, problem.y == 1)
    logits = model.logits()
    assert logits.shape == (60, 2)
    assert np.array_equal(model.decision_function(), logits[:, 1] - logits[:, 0])
    assert np.array_equal(model.predict(), model.decision_function() > 0)


def test_grid_search(problem: Problem, nodes: Nodes) -> None:
    grid = {"model": ["mlp", "gcn"], "dropout": [0.0, 0.5]}
    search = GridSearchCV(NodeClassifier(max_epochs=10, random_state=0), grid, cv=NodeSplit(2)).fit(nodes, problem.y)
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        model = NodeClassifier(max_epochs=10, random_state=0, **params)
        assert mean == pytest.approx(cross_val_score(model, nodes, problem.y, cv=NodeSplit(2)).mean())
    best = search.best_estimator_
    assert np.array_equal(search.predict(nodes), best.predict())
    assert best.get_params()["model"] == search.best_params_["model"]


def test_randomized_search_and_pipeline(problem: Problem, nodes: Nodes) -> None:
    pipeline = Pipeline([("classify", NodeClassifier("gcn", max_epochs=5, random_state=0))])
    search = RandomizedSearchCV(pipeline, {"classify__hidden": [4, 8]}, n_iter=2, cv=2, random_state=0)
    search.fit(nodes, problem.y)
    expected = NodeClassifier("gcn", max_epochs=5, random_state=0, hidden=search.best_params_["classify__hidden"])
    assert np.array_equal(search.predict(nodes), expected.fit(nodes, problem.y).predict())
    embedding = Pipeline([("graph", NodeClassifier("gcn", max_epochs=5)), ("tree", _tree())])
    assert embedding.fit(nodes, problem.y).score(nodes, problem.y) == 1.0


def _tree() -> BaseEstimator:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


@pytest.mark.parametrize("kind", ["stratified", "balanced", "ratio:40/30/30"])
def test_node_split_is_that_of_the_data_set(kind: str) -> None:
    data = clenshaw.make_csbm(n_nodes=90, random_state=2)
    pairs = list(NodeSplit(3, kind, random_state=5).split(None, data.y))
    assert len(pairs) == 3 == NodeSplit(3).get_n_splits()
    for seed, (train, test) in enumerate(pairs, start=5):
        masks = data.split(kind, seed)
        assert np.array_equal(train, np.flatnonzero(masks[0] | masks[1]))
        assert np.array_equal(test, np.flatnonzero(masks[2]))


def test_node_split_leaves_out_unlabelled_nodes(problem: Problem) -> None:
    y = np.where(np.arange(60) % 4, problem.y, -1)
    for train, test in NodeSplit(2).split(None, y):
        assert (y[train] >= 0).all() and (y[test] >= 0).all() and len(train) + len(test) == 45


def test_tables_in_nodes(problem: Problem) -> None:
    table = pd.DataFrame({"z": problem.X[:, 0], "a": problem.X[:, 1], "kind": np.where(problem.y, "x", "y")})
    nodes = Nodes(problem.edge_index, table)
    assert nodes.shape == (60, 4)
    model = NodeClassifier("gcn", max_epochs=5).fit(nodes, problem.y)
    expected = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, table, problem.y)
    assert np.array_equal(model.probs_, expected.probs_) and model.feature_names_in_.tolist() == ["z", "a", "kind"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict_proba(Nodes(problem.edge_index, table)), model.probs_)


def test_labels_of_nodes_are_positional(problem: Problem) -> None:
    names = [f"n{(7 * i) % 60}" for i in range(60)]
    edges = pd.DataFrame(np.array(names)[problem.edge_index.T], columns=["source", "target"])
    table = pd.DataFrame(problem.X, index=names, columns=list("abcdef"))
    model = NodeClassifier("gcn", max_epochs=10, random_state=0)
    nodes = Nodes(edges, table)
    expected = cross_val_score(model, nodes, problem.y, cv=3, error_score="raise")
    truth = pd.Series(problem.y, index=names)
    assert np.array_equal(cross_val_score(model, nodes, truth, cv=3, error_score="raise"), expected)
    # The same for numbered nodes, and for the splitter.
    plain = Nodes(problem.edge_index, problem.X)
    shuffled = pd.Series(problem.y, index=np.random.default_rng(0).permutation(60))
    for cv in (3, NodeSplit(3)):
        assert np.array_equal(
            cross_val_score(model, plain, shuffled, cv=cv, error_score="raise"),
            cross_val_score(model, plain, problem.y, cv=cv, error_score="raise"),
        )
    half, weights = nodes[::2], pd.Series(np.arange(1.0, 31), index=names[::2])
    by_series = clone(model).fit(half, truth[::2], sample_weight=weights)
    by_array = clone(model).fit(half, problem.y[::2], sample_weight=weights.to_numpy())
    assert np.array_equal(by_series.probs_, by_array.probs_)
    assert by_series.score(half, truth[::2], sample_weight=weights) == by_array.score(
        half, problem.y[::2], sample_weight=weights.to_numpy()
    )


def test_masks_of_the_graph_are_not_used_for_nodes(problem: Problem) -> None:
    data = SimpleNamespace(edge_index=problem.edge_index, x=problem.X, y=problem.y, train_mask=problem.train,
                           val_mask=problem.val, test_mask=problem.test)
    model = NodeClassifier("gcn", max_epochs=5, random_state=0)
    assert np.array_equal(
        cross_val_score(model, Nodes(data), problem.y, cv=3, error_score="raise"),
        cross_val_score(model, Nodes(problem.edge_index, problem.X), problem.y, cv=3, error_score="raise"),
    )


def test_a_wrong_number_of_splits_is_reported(problem: Problem) -> None:
    for wrong in ("balanced", 0, 2.5):
        with pytest.raises(ValueError, match="`n_splits` is .*; expected a number of splits"):
            next(NodeSplit(wrong).split(problem.X, problem.y))  # type: ignore[arg-type]

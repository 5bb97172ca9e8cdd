"""Comparison, tuning, data sets, spectra, homophily, filters, and how results show themselves."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import optuna
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.stats
from conftest import Problem
from numpy import polynomial

import clenshaw
from clenshaw import NodeClassifier

optuna.logging.set_verbosity(optuna.logging.WARNING)


# Comparison ------------------------------------------------------------------------------------


def test_compare_trains_on_the_same_splits() -> None:
    data = clenshaw.make_csbm(n_nodes=90, random_state=0)
    models = ["mlp", NodeClassifier("gcn", max_epochs=20, hidden=8)]
    comparison = clenshaw.compare(data, [models[0], models[1]], n_runs=3, random_state=4, n_jobs=2)
    name = repr(models[1])
    assert list(comparison.scores) == ["mlp", name]
    for run in range(3):
        train, val, test = data.split("stratified", 4 + run)
        model = NodeClassifier("gcn", max_epochs=20, hidden=8, random_state=4 + run)
        model.fit(data, train_mask=train, val_mask=val)
        assert comparison.scores[name][run] == pytest.approx((model.predict() == data.y)[test].mean())
    sizes = [np.bincount(data.y[data.split("stratified", 4 + run)[2]]).max() for run in range(3)]
    assert comparison.majority == pytest.approx(np.mean(sizes) / data.split("stratified", 4)[2].sum())
    again = clenshaw.compare(data, models, n_runs=3, random_state=4, n_jobs=1)
    assert all(np.array_equal(again.scores[key], comparison.scores[key]) for key in again.scores)


def test_intervals_are_those_of_the_program() -> None:
    # The example in the documentation of the library's `Statistic`: 89.00 ± 1.63 [95% ± 1.50].
    row = clenshaw.Comparison({"a": np.array([0.87, 0.89, 0.91, 0.89])}, "stratified", 0.3).rows()[0]
    assert (row["mean"], row["std"], row["ci95"]) == pytest.approx((0.89, 0.01633, 0.015), rel=1e-3)
    # For many runs the bootstrap agrees with the normal approximation.
    values = np.random.default_rng(0).normal(0.6, 0.05, 400)
    row = clenshaw.Comparison({"a": values}, "stratified", 0.3).rows()[0]
    assert row["ci95"] == pytest.approx(1.96 * values.std(ddof=1) / 20, rel=0.1)
    row = clenshaw.Comparison({"a": np.array([0.5])}, "stratified", 0.3).rows()[0]
    assert math.isnan(row["std"]) and math.isnan(row["ci95"]) and row["runs"] == 1


def test_comparisons_become_frames_and_text() -> None:
    comparison = clenshaw.Comparison({"a": np.array([0.5, 0.7]), "b": np.array([0.9, 0.9])}, "balanced", 0.4)
    frame = comparison.to_frame()
    assert frame.index.tolist() == ["b", "a"] and frame.loc["a", "mean"] == pytest.approx(0.6)
    assert "balanced" in repr(comparison) and "majority class  40.00" in repr(comparison)


def test_compare_accepts_graphs_and_names(problem: Problem) -> None:
    table = pd.DataFrame(problem.X, columns=list("abcdef"))
    one = clenshaw.compare(problem.edge_index, ["mlp"], X=table, y=problem.y, n_runs=1)
    two = clenshaw.compare(nx.from_edgelist(problem.edge_index.T.tolist()), ["mlp"], X=problem.X[nodes_in_order(problem)],
                           y=problem.y[nodes_in_order(problem)], n_runs=1)
    assert 0 < one.scores["mlp"][0] <= 1 and 0 < two.scores["mlp"][0] <= 1
    assert clenshaw.compare("csbm:nodes=60", ["mlp"], n_runs=1).scores["mlp"].shape == (1,)
    karate = clenshaw.compare(nx.karate_club_graph(), ["gcn"], label="club", n_runs=1)
    assert karate.majority >= 0.5
    with pytest.raises(ValueError, match="`n_runs` is 0"):
        clenshaw.compare("csbm:nodes=60", ["mlp"], n_runs=0)
    with pytest.raises(ValueError, match="`y` is missing"):
        clenshaw.compare(problem.edge_index, ["mlp"], X=problem.X)
    with pytest.raises(ValueError, match="no test nodes"):
        clenshaw.compare("csbm:nodes=60", ["mlp"], split="ratio:1/1/0")
    with pytest.raises(ValueError, match="did you mean"):
        clenshaw.compare("csbm:nodes=60", ["gnc"])


def nodes_in_order(problem: Problem) -> list[int]:
    return list(nx.from_edgelist(problem.edge_index.T.tolist()).nodes)


# Tuning ----------------------------------------------------------------------------------------


SMALL = {"max_epochs": 5, "hidden": 4}


def tune(problem: Problem, **settings: Any) -> clenshaw.TuningResult:
    return clenshaw.tune(
        problem.edge_index, settings.pop("model", "gcn"), X=problem.X, y=problem.y, n_splits=2,
        **{"n_trials": 4, "params": SMALL, "random_state": 0, **settings},
    )


def test_tune_in_memory(problem: Problem) -> None:
    result = tune(problem)
    assert len(result.trials) == 4 and all(trial["state"] == "COMPLETE" for trial in result.trials)
    assert result.best_value == max(trial["value"] for trial in result.trials)
    assert not {"max_epochs", "hidden"} & set(result.best_params) and "dropout" in result.best_params
    estimator = result.estimator(**SMALL)
    assert estimator.hidden == 4 and estimator.dropout == result.best_params["dropout"]
    frame = result.to_frame()
    assert frame["value"].max() == result.best_value and set(result.best_params) <= set(frame.columns)
    assert set(result.importances) <= set(result.best_params)
    again = tune(problem)
    assert [trial["params"] for trial in again.trials] == [trial["params"] for trial in result.trials]
    assert again.best_value == result.best_value


def test_the_value_of_a_trial_is_the_validation_accuracy() -> None:
    data = clenshaw.make_csbm(n_nodes=60, random_state=3)
    result = clenshaw.tune(data, "gcn", n_trials=1, n_splits=2, params=SMALL, random_state=5)
    accuracies = []
    for seed in (5, 6):
        train, val, _ = data.split("stratified", seed)
        model = result.estimator(**SMALL, random_state=seed).fit(data, train_mask=train, val_mask=val)
        accuracies.append(model.validation_accuracy_)
    assert result.best_value == pytest.approx(np.mean(accuracies))


@pytest.mark.parametrize("file", ["study.journal", "study.db"])
def test_optuna_reads_the_study(problem: Problem, tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    result = tune(problem, study=path if file.endswith("journal") else f"sqlite:///{path}", name="mine", model="clenshaw-gcn")
    if file.endswith("journal"):
        storage: Any = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    else:
        storage = f"sqlite:///{path}"
    study = optuna.load_study(study_name="mine", storage=storage)
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert [trial.value for trial in study.trials] == [trial["value"] for trial in result.trials]
    assert study.best_value == result.best_value
    # In Optuna the hyper-parameters have the names of the program.
    assert {name.removesuffix("_") for name in result.best_params} == set(study.best_params)
    # The study continues.
    more = tune(problem, study=path if file.endswith("journal") else f"sqlite:///{path}", name="mine",
                model="clenshaw-gcn", n_trials=2)
    assert len(more.trials) == 6 and [t["value"] for t in more.trials[:4]] == [t["value"] for t in result.trials]


def test_tune_an_existing_study(problem: Problem) -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    result = tune(problem, study=study, model="clenshaw-gcn")
    assert result.study is study and len(study.trials) == 4
    assert result.best_value == study.best_value
    assert {name.removesuffix("_") for name in result.best_params} == set(study.best_params)
    assert result.estimator().get_params()["model"] == "clenshaw-gcn"
    with pytest.raises(ValueError, match="maximi"):
        tune(problem, study=optuna.create_study(direction="minimize"))


def test_wrong_tuning_is_reported(problem: Problem) -> None:
    with pytest.raises(RuntimeError, match="none of 0 trials is complete"):
        tune(problem, n_trials=0)
    with pytest.raises(ValueError, match="has no hyper-parameter `K`"):
        tune(problem, params={"K": 3})
    with pytest.raises(TypeError):
        tune(problem, study=3)


# Data sets -------------------------------------------------------------------------------------


def test_cora_is_built_in() -> None:
    data = clenshaw.datasets.load("cora")
    assert (data.n_nodes, data.n_edges, len(data.classes)) == (2708, 5278, 7)
    assert data.X.shape == (2708, 1433) and sp.issparse(data.X)
    assert data.edge_index.shape == (2, 10556) and data.adjacency.nnz == 10556
    assert (data.adjacency != data.adjacency.T).nnz == 0
    assert len(data.y) == 2708 and set(data.y.tolist()) == set(data.classes.tolist())
    assert clenshaw.homophily(data).edge == pytest.approx(0.81, abs=0.005)
    assert "cora" in repr(data)
    model = NodeClassifier("gcn", max_epochs=5).fit(data)
    assert np.array_equal(model.logits(), NodeClassifier("gcn", max_epochs=5).fit(data.adjacency, data.X, data.y).logits())


def test_names_of_data_sets() -> None:
    names = clenshaw.datasets.names()
    assert {"cora", "chameleon", "csbm"} <= set(names) and all(names.values())
    with pytest.raises(ValueError, match="did you mean `cora`"):
        clenshaw.datasets.load("coar")


def test_own_files(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,size,label\na,1.5,x\nb,2,y\nc,0.5,\nd,3,x\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    data = clenshaw.datasets.load(tmp_path)
    assert data.node_names == ["a", "b", "c", "d"] and data.feature_names == ["size"]
    assert data.y.tolist() == ["x", "y", None, "x"] and data.classes.tolist() == ["x", "y"]
    assert data.X.tolist() == [[1.5], [2.0], [0.5], [3.0]]
    model = NodeClassifier("gcn", max_epochs=2).fit(data)
    assert model.nodes_ == data.node_names
    assert model.score(y={"c": "x"}) in (0.0, 1.0)
    with pytest.raises((FileNotFoundError, ValueError)):
        clenshaw.datasets.load(tmp_path / "missing")


def test_fetch_reports_what_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="generated; there is no file to fetch"):
        clenshaw.datasets.fetch("csbm", folder=tmp_path)
    with pytest.raises(ValueError, match="unknown"):
        clenshaw.datasets.fetch("nothing", folder=tmp_path)
    with pytest.raises((FileNotFoundError, OSError, ValueError)):
        clenshaw.datasets.fetch("chameleon", folder=tmp_path, mirror=tmp_path / "missing")


@pytest.mark.skipif("CLENSHAW_DATA" not in os.environ, reason="CLENSHAW_DATA, a folder with data sets, is not set")
def test_fetch_from_a_folder(tmp_path: Path) -> None:
    data = clenshaw.datasets.fetch("texas", folder=tmp_path, mirror=os.environ["CLENSHAW_DATA"])
    assert data.n_nodes == 183 and any(tmp_path.iterdir())


# Graph statistics ------------------------------------------------------------------------------


def test_homophily_by_hand() -> None:
    path = [[0, 1, 2], [1, 2, 3]]
    found = clenshaw.homophily(path, ["a", "a", "b", "b"])
    assert found.edge == pytest.approx(2 / 3) and found.node == pytest.approx((1 + 0.5 + 0.5 + 1) / 4)
    unknown = clenshaw.homophily(path, ["a", "a", "b", None])
    assert unknown.edge == pytest.approx(1 / 2)
    nothing = clenshaw.homophily(path, [None] * 4)
    assert math.isnan(nothing.edge) and math.isnan(nothing.node)
    assert clenshaw.homophily(nx.karate_club_graph(), label="club").edge == pytest.approx(67 / 78)
    assert clenshaw.homophily(path, {0: "a", 1: "a"}).edge == 1
    with pytest.raises(ValueError, match="`y` is missing"):
        clenshaw.homophily(path)


@pytest.mark.parametrize("normalisation", ["plain", "looped"])
@pytest.mark.parametrize("graph", [nx.cycle_graph(12), nx.complete_graph(7), nx.path_graph(9), nx.star_graph(6),
                                   nx.karate_club_graph()], ids=["cycle", "complete", "path", "star", "karate"])
def test_spectra_are_those_of_numpy(graph: Any, normalisation: str) -> None:
    a = nx.to_numpy_array(graph) + (np.eye(len(graph)) if normalisation == "looped" else 0)
    scale = 1 / np.sqrt(a.sum(1))
    eigenvalues = np.linalg.eigvalsh(a * np.outer(scale, scale))
    spectrum = clenshaw.spectrum(graph, bins=7, normalisation=normalisation)
    assert spectrum.exact and spectrum.density.sum() == pytest.approx(1)
    np.testing.assert_allclose(spectrum.mu, (np.arange(7) + 0.5) * 2 / 7 - 1, atol=1e-12)
    # Eigenvalues on the border of two intervals may be in either.
    edges = np.linspace(-1, 1, 8)
    low = np.searchsorted(np.sort(eigenvalues), edges - 1e-4)
    high = np.searchsorted(np.sort(eigenvalues), edges + 1e-4)
    below = np.concatenate([[0], np.cumsum(spectrum.density)]) * len(graph)
    assert (low[1:-1] - 1e-6 <= below[1:-1]).all() and (below[1:-1] <= high[1:-1] + 1e-6).all()


def test_wrong_spectra_are_reported() -> None:
    for settings, text in (({"bins": 0}, "bins"), ({"normalisation": "x"}, "plain or looped")):
        with pytest.raises(ValueError, match=text):
            clenshaw.spectrum([[0], [1]], **settings)
    with pytest.raises((ValueError, TypeError, OverflowError)):
        clenshaw.spectrum([[0], [1]], bins=-1)


def test_filter_response_against_numpy() -> None:
    rng = np.random.default_rng(0)
    mu = np.linspace(-1, 1, 31)
    for n in (1, 2, 5, 12):
        c = rng.normal(size=n)
        first = polynomial.chebyshev.chebval(mu, c)
        np.testing.assert_allclose(clenshaw.filter_response(c, "monomial", mu), polynomial.polynomial.polyval(mu, c), atol=1e-12)
        np.testing.assert_allclose(clenshaw.filter_response(c, "chebyshev-first", mu), first, atol=1e-12)
        np.testing.assert_allclose(clenshaw.filter_response(c, "chebyshev-laplacian", -mu), first, atol=1e-12)
        np.testing.assert_allclose(clenshaw.filter_response(c, "legendre", mu), polynomial.legendre.legval(mu, c), atol=1e-12)
        second = sum(c[k] * scipy.special.eval_chebyu(k, mu) for k in range(n))
        np.testing.assert_allclose(clenshaw.filter_response(c, "chebyshev-second", mu), second, atol=1e-11)
        jacobi = sum(c[k] * scipy.special.eval_jacobi(k, 0.5, 1.5, mu) for k in range(n))
        np.testing.assert_allclose(clenshaw.filter_response(c, "jacobi", mu, a=0.5, b=1.5), jacobi, atol=1e-10)
        bernstein = sum(c[k] * scipy.stats.binom.pmf(k, n - 1, (1 - mu) / 2) for k in range(n))
        np.testing.assert_allclose(clenshaw.filter_response(c, "bernstein", mu), bernstein, atol=1e-12)
    assert clenshaw.filter_response([1.0]).shape == (201,)
    assert clenshaw.filter_response([0, 1], "monomial", [[0.1, 0.2]]).tolist() == [[0.1, 0.2]]
    for arguments, text in ((([],), "empty"), (([1], "fourier"), "expected one of monomial")):
        with pytest.raises(ValueError, match=text):
            clenshaw.filter_response(*arguments)
    with pytest.raises(ValueError, match="more than -1"):
        clenshaw.filter_response([1], "jacobi", a=-1)


@pytest.mark.parametrize("model", ["clenshaw-gcn", "gpr-gnn", "bern-net", "jacobi-conv", "cheb-net-ii"])
def test_learned_filters_are_their_coefficients(problem: Problem, model: str) -> None:
    learned = problem.fit(model, max_epochs=5).filter_
    assert learned is not None and learned.mu[0] == -1 and learned.mu[-1] == 1
    basis, settings = learned.basis, {}
    if basis.startswith("{"):
        import json

        ((basis, settings),) = json.loads(basis).items()
    channels = [clenshaw.filter_response(c, basis, learned.mu, **settings) for c in learned.coefficients]
    np.testing.assert_allclose(np.mean(channels, axis=0), learned.response, atol=1e-6)
    assert learned(0.0) == pytest.approx(float(np.interp(0.0, learned.mu, learned.response)))
    assert learned.density is None or learned.density.sum() == pytest.approx(1)


def test_make_csbm() -> None:
    data = clenshaw.make_csbm(900, n_classes=4, degree=12.0, homophily=0.7, n_features=5, signal=3.0, random_state=1)
    assert data.X.shape == (900, 5) and np.bincount(data.y).tolist() == [225] * 4
    assert 2 * data.n_edges / 900 == pytest.approx(12, rel=0.1)
    assert clenshaw.homophily(data).edge == pytest.approx(0.7, abs=0.05)
    wide = clenshaw.make_csbm(3000, n_features=500, signal=3.0, degree=1.0, random_state=1)
    means = np.stack([wide.X[wide.y == c].mean(0) for c in range(3)])
    np.testing.assert_allclose(np.linalg.norm(means, axis=1), 3.0, atol=0.4)
    assert np.array_equal(data.X, clenshaw.make_csbm(900, n_classes=4, degree=12, homophily=0.7, n_features=5,
                                                     signal=3, random_state=1).X)
    assert not np.array_equal(clenshaw.make_csbm(60, random_state=0).X, clenshaw.make_csbm(60, random_state=1).X)
    kinds = clenshaw.make_csbm(np.int64(60), degree=np.float32(5), homophily=np.float64(0.5), random_state=np.int64(3))
    assert kinds.n_nodes == 60
    with pytest.raises(ValueError, match="`homophily` is 1.5"):
        clenshaw.make_csbm(60, homophily=1.5)


def test_splits_of_data_sets() -> None:
    data = clenshaw.make_csbm(90, random_state=0)
    for kind in ("stratified", "balanced", "ratio:1/1/1"):
        train, val, test = data.split(kind, 3)
        assert (train.astype(int) + val + test == 1).all()
    with pytest.raises(ValueError, match="unknown split|split"):
        data.split("nothing")


def test_models() -> None:
    models = clenshaw.models()
    assert len(models) == 28 and len({model.name for model in models}) == 28
    info = clenshaw.models("clenshaw-gcn")
    assert "ClenshawGCN" in repr(info) and info.inductive and not clenshaw.models("linkx").inductive
    with pytest.raises(ValueError, match="did you mean"):
        clenshaw.models("clenshaw")


# Notebooks -------------------------------------------------------------------------------------


class WellFormed(HTMLParser):
    """Checks that every tag is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag


def check_html(result: Any) -> str:
    html = result._repr_html_()
    parser = WellFormed()
    parser.feed(html)
    parser.close()
    assert parser.open == [] and parser.tags
    assert "script" not in parser.tags
    return str(html)


EVIL = "<script>alert('&')</script>"


def test_results_show_themselves_as_html(problem: Problem) -> None:
    evil = np.array(["plain", EVIL, "x"])[problem.y]
    model = NodeClassifier("clenshaw-gcn", max_epochs=5)
    assert "not fitted" in check_html(model)
    model.fit(problem.edge_index, problem.X, evil)
    html = check_html(model)
    assert "&lt;script&gt;" in html and "<svg" in html
    check_html(NodeClassifier("mlp", max_epochs=2).fit(problem.edge_index, problem.X, evil))
    check_html(NodeClassifier(EVIL))
    svg = ElementTree.fromstring(model.filter_.to_svg())
    assert svg.tag.endswith("svg")
    check_html(model.filter_)
    check_html(clenshaw.Comparison({EVIL: np.array([0.5, 0.6]), "one": np.array([0.5])}, EVIL, 0.4))
    trials = [{"number": 0, "state": "COMPLETE", "value": 0.5, "params": {EVIL: EVIL}},
              {"number": 1, "state": "FAIL", "value": None, "params": {}}]
    check_html(clenshaw.TuningResult(EVIL, {EVIL: EVIL}, 0.5, trials))


def test_flat_and_loaded_filters_are_drawn(problem: Problem, tmp_path: Path) -> None:
    mu = np.linspace(-1, 1, 5)
    for response in (np.zeros(5), np.full(5, -2.0), np.array([1e-30, 0, 0, 0, 1e30])):
        ElementTree.fromstring(clenshaw.LearnedFilter(mu, response, np.zeros((0, 0)), "").to_svg())
    model = problem.fit("clenshaw-gcn", max_epochs=2)
    model.save(tmp_path / "model")
    check_html(NodeClassifier.load(tmp_path / "model"))
    import pickle

    check_html(pickle.loads(pickle.dumps(model)))


def test_every_public_name_is_documented() -> None:
    for name in clenshaw.__all__:
        value = getattr(clenshaw, name)
        assert name == "__version__" or (value.__doc__ and len(value.__doc__) > 30), name


def test_compare_names_models_of_a_dict() -> None:
    models = {"short": NodeClassifier("gcn", max_epochs=3), "plain": "mlp"}
    assert list(clenshaw.compare("csbm:nodes=60", models, n_runs=1).scores) == ["short", "plain"]


def test_tuned_estimators_keep_fixed_parameters() -> None:
    result = clenshaw.tune("csbm:nodes=60", "gcn", n_trials=2, n_splits=1, params={"max_epochs": 7})
    assert result.estimator().max_epochs == 7 and "0000000" not in repr(result)


def test_loaded_models_have_filters_and_encode_tables(problem: Problem, tmp_path: Path) -> None:
    table = pd.DataFrame({"b": problem.X[:, 0], "a": np.where(problem.X[:, 1] > 0, "x", "y")})
    model = NodeClassifier("clenshaw-gcn", K=3, max_epochs=5).fit(problem.edge_index, table, problem.y)
    model.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert loaded.filter_ is None
    learned = loaded.filter_response(problem.edge_index, table)
    assert learned is not None and model.filter_ is not None
    assert np.array_equal(learned.response, model.filter_.response)
    encoded = model.encode(table)
    encoded = encoded if isinstance(encoded, np.ndarray) else encoded.toarray()
    assert np.allclose(encoded[:, 2], table["b"]) and np.array_equal(encoded[:, 0], table["a"] == "x")


# A folder with its own split -----------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, problem: Problem) -> Path:
    """The problem as files, with the columns `height`, `town`, `label` and `split`."""
    part = np.where(problem.train, "train", np.where(problem.val, "val", "test"))
    rows = [
        f"n{i},{problem.X[i, 0]},{'York' if problem.X[i, 1] > 0 else 'Bath'},class {problem.y[i]},{part[i]}"
        for i in range(60)
    ]
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "nodes.csv").write_text("\n".join(["id,height,town,label,split", *rows]) + "\n")
    edges = [f"n{u},n{v}" for u, v in problem.edge_index.T]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    return folder


def test_the_split_of_a_folder_is_used(folder: Path, problem: Problem) -> None:
    data = clenshaw.datasets.load(folder)
    assert data.split_names == ["own"]
    model = NodeClassifier("gcn", max_epochs=5).fit(data)
    assert np.array_equal(model.train_mask_, problem.train) and np.array_equal(model.val_mask_, problem.val)
    assert model.test_mask_ is not None and np.array_equal(model.test_mask_, problem.test)
    right = model.predict() == data.y
    assert model.score() == model.score(data) == pytest.approx(right[problem.test].mean())
    # Masks that are passed replace those of the folder.
    other = NodeClassifier("gcn", max_epochs=5).fit(data, train_mask=problem.test)
    assert not ((other.train_mask_ | other.val_mask_) & ~problem.test).any() and other.test_mask_ is None
    comparison = clenshaw.compare(data, "gcn", n_runs=2)
    assert comparison.split == "own" and "split own" in repr(comparison)
    assert clenshaw.compare(data, "mlp", n_runs=1, split="balanced").split == "balanced"
    own = clenshaw.tune(data, "gcn", n_trials=1, n_splits=1, params={"max_epochs": 5})
    named = clenshaw.tune(data, "gcn", n_trials=1, n_splits=1, params={"max_epochs": 5}, split="own")
    assert own.best_value == named.best_value


def test_a_model_of_a_folder_knows_its_columns(folder: Path, tmp_path: Path) -> None:
    data = clenshaw.datasets.load(folder)
    model = NodeClassifier("gcn", max_epochs=5).fit(data)
    assert sorted(model.feature_names_in_) == ["height", "town"] and model.n_features_in_ == 2
    edges, people = pd.read_csv(folder / "edges.csv"), pd.read_csv(folder / "nodes.csv")
    for table in (people, people.set_index("id"), people[["town", "height", "id"]], people.sample(frac=1, random_state=0)):
        probs = model.predict_proba(edges, table)
        names = table["id"] if "id" in table else table.index
        by_name = pd.DataFrame(probs, index=list(names)).loc[data.node_names].to_numpy()
        np.testing.assert_allclose(by_name, model.probs_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(clenshaw.datasets.load(folder)), model.probs_, atol=1e-6)
    model.save(tmp_path / "model.safetensors")
    loaded = NodeClassifier.load(tmp_path / "model.safetensors")
    assert sorted(loaded.feature_names_in_) == ["height", "town"]
    np.testing.assert_allclose(loaded.predict_proba(data), model.probs_, atol=1e-6)
    program = os.environ.get("CLENSHAW_PROGRAM")
    if program:
        subprocess.run([program, "predict", str(tmp_path / "model.safetensors"), str(folder)], check=True, cwd=tmp_path)
    # Another table with other values: the encoded features do not match.
    other = tmp_path / "other"
    other.mkdir()
    (other / "edges.csv").write_text((folder / "edges.csv").read_text())
    (other / "nodes.csv").write_text((folder / "nodes.csv").read_text().replace("York", "Leeds"))
    with pytest.raises(ValueError, match="not those of the training; read its table of nodes"):
        model.predict(clenshaw.datasets.load(other))


def test_score_of_a_graph_with_a_test_mask(problem: Problem) -> None:
    masks = {"train_mask": problem.train, "val_mask": problem.val, "test_mask": problem.test}
    data = SimpleNamespace(edge_index=problem.edge_index, x=problem.X, y=problem.y, **masks)
    model = NodeClassifier("gcn", max_epochs=5).fit(data)
    assert model.score(data) == model.score()
    copy = SimpleNamespace(**vars(data))
    copy.test_mask = problem.val
    assert model.score(copy) == model.score(mask=problem.val)
    assert model.score(copy, mask=problem.train) == model.score(mask=problem.train)


# Small things ----------------------------------------------------------------------------------------


def test_compare_one_model_in_one_run(problem: Problem) -> None:
    data = clenshaw.make_csbm(n_nodes=60, random_state=0)
    by_name = clenshaw.compare(data, "mlp", n_runs=1)
    assert list(by_name.scores) == ["mlp"] and "nan" not in repr(by_name) + by_name._repr_html_()
    assert "(one run: no interval)" in repr(by_name)
    estimator = NodeClassifier("mlp", max_epochs=5)
    assert list(clenshaw.compare(data, estimator, n_runs=1).scores) == [repr(estimator)]
    nodes = clenshaw.Nodes(problem.edge_index, problem.X)
    expected = clenshaw.compare(problem.edge_index, estimator, X=problem.X, y=problem.y, n_runs=1)
    assert clenshaw.compare(nodes, estimator, y=problem.y, n_runs=1).majority == expected.majority
    with pytest.raises(ValueError, match="expected a whole graph, got Nodes"):
        clenshaw.compare(nodes[:10], estimator, y=problem.y[:10])


def test_reprs_are_short(problem: Problem) -> None:
    found = clenshaw.homophily(problem.edge_index, problem.y)
    assert repr(found) == f"Homophily(edge={found.edge:.3g}, node={found.node:.3g})"
    assert repr(clenshaw.spectrum(problem.edge_index)).startswith("Spectrum(100 intervals from -1 to 1, mean ")


def test_messages_say_what_to_do(problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # no downloaded files
    monkeypatch.delenv("CLENSHAW_DATA", raising=False)
    with pytest.raises(ValueError) as missing:
        NodeClassifier("gcn").fit(problem.edge_index, problem.X)
    assert str(missing.value).count("missing") == 1
    with pytest.raises(ValueError, match="negative numbers are unlabelled nodes"):
        NodeClassifier("gcn").fit(problem.edge_index, problem.X, np.where(problem.y > 0, 1, -1))
    with pytest.raises(IsADirectoryError, match=r"is a folder; pass the file model\.safetensors inside"):
        NodeClassifier.load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"`clenshaw\.datasets\.fetch\('questions'\)` downloads them"):
        clenshaw.datasets.load("questions", folder=tmp_path)
    with pytest.raises(FileNotFoundError) as lost:
        clenshaw.datasets.load(tmp_path / "nowhere")
    assert "fetch" not in str(lost.value)


# Report pages ------------------------------------------------------------------------------------


def page_data(html: str) -> dict[str, Any]:
    """The data embedded in a report page."""
    start = html.index('id="report-data">') + len('id="report-data">')
    return json.loads(html[start : html.index("</script>", start)])


def test_report_page_agrees_with_the_estimator(problem: Problem, tmp_path: Path) -> None:
    model = problem.fit("clenshaw-gcn", K=3)
    page = model.report()
    run = page_data(page.html)["runs"][0]
    assert run["scores"]["accuracy"] == pytest.approx(model.score(y=problem.y, mask=problem.test))
    assert run["epochs"]["train_loss"] == pytest.approx(model.history_["train_loss"].tolist())
    assert run["best_epoch"] == model.best_epoch_
    assert model.filter_ is not None
    assert run["filter"]["coefficients"] == pytest.approx(model.filter_.coefficients[0].tolist())
    assert run["filter"]["history"]["epochs"] == list(range(11))
    assert np.sum(run["confusion"]) == np.asarray(problem.test).sum()
    assert run["nodes"]["name"] is None
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html


def test_report_page_is_shown_in_a_sandboxed_frame(problem: Problem) -> None:
    page = problem.fit().report()
    frames: list[tuple[str, dict[str, str | None]]] = []

    class Frames(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            frames.append((tag, dict(attrs)))

    Frames().feed(page._repr_html_())
    [(tag, attributes)] = frames
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == page.html
    assert repr(page).startswith("<ReportPage of ")


def test_report_page_without_test_nodes_and_with_names() -> None:
    graph = nx.karate_club_graph()
    names = {node: f"<b>{node}</b>" for node in graph}
    graph = nx.relabel_nodes(graph, names)
    clubs = nx.get_node_attributes(graph, "club")
    with pytest.warns(UserWarning, match="determines every known label"):
        model = NodeClassifier("gcn", max_epochs=5, random_state=0).fit(graph, y=clubs)
    run = page_data(model.report().html)["runs"][0]
    assert run["scores"] is None and run["confusion"] is None
    assert run["nodes"]["name"] == list(names.values())


def test_report_page_needs_the_training_graph(problem: Problem, tmp_path: Path) -> None:
    model = problem.fit()
    model.save(tmp_path / "model.safetensors")
    for other in (pickle.loads(pickle.dumps(model)), NodeClassifier.load(tmp_path / "model.safetensors")):
        with pytest.raises(ValueError, match="call `report` after `fit`"):
            other.report()
    model.load_state_dict(model.state_dict())
    with pytest.raises(ValueError, match="call `report` after `fit`"):
        model.report()
    with pytest.raises(clenshaw.NotFittedError):
        NodeClassifier("gcn").report()

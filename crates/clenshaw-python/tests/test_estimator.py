"""NodeClassifier: results, parameters, labels, callbacks, persistence, and agreement with the program."""

from __future__ import annotations

import copy
import csv
import json
import os
import pickle
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Problem
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

import clenshaw
from clenshaw import NodeClassifier, _clenshaw
from clenshaw._estimator_names import KEYWORDS

MODELS = _clenshaw.model_names()
PRESETS = Path(__file__).resolve().parents[2] / "clenshaw" / "experiments" / "presets"
PROGRAM = os.environ.get("CLENSHAW_PROGRAM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="CLENSHAW_PROGRAM is not set")


# Determinism -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["gcn", "clenshaw-gcn", "linkx", "opt-basis-gnn"])
def test_same_seed_gives_same_bits_for_any_number_of_threads(problem: Problem, model: str) -> None:
    expected = problem.fit(model, n_jobs=1).decision_function()
    for n_jobs in (None, -1, 1, 2, 3, 7):
        assert np.array_equal(problem.fit(model, n_jobs=n_jobs).decision_function(), expected), n_jobs


def test_other_seeds_give_other_weights(problem: Problem) -> None:
    zero, one = problem.fit(random_state=0), problem.fit(random_state=1)
    assert not np.array_equal(zero.decision_function(), one.decision_function())
    assert np.array_equal(problem.fit(random_state=None).probs_, zero.probs_)


def test_random_state_may_be_a_generator(problem: Problem) -> None:
    for make in (np.random.RandomState, np.random.default_rng):
        first, second = problem.fit(random_state=make(5)), problem.fit(random_state=make(5))
        assert np.array_equal(first.probs_, second.probs_)
    with pytest.raises(ValueError, match=r"`random_state` is -1"):
        problem.fit(random_state=-1)
    with pytest.raises(ValueError, match=r"2\*\*64"):
        problem.fit(random_state=2**64)
    with pytest.raises(ValueError, match="NumPy generator"):
        problem.fit(random_state="x")


def test_n_jobs_is_checked_and_bounded(problem: Problem) -> None:
    for n_jobs in (0, -2, True, 1.5, "2"):
        with pytest.raises(ValueError, match="`n_jobs`"):
            problem.fit(n_jobs=n_jobs)
    assert np.array_equal(problem.fit(n_jobs=10**9, max_epochs=1).probs_, problem.fit(max_epochs=1).probs_)


# Agreement with the program --------------------------------------------------------------------


def write_graph(folder: Path, problem: Problem) -> tuple[Path, Path]:
    graph, split = folder / "graph.npz", folder / "split.csv"
    np.savez(graph, edge_index=problem.edge_index, x=problem.X, y=problem.y)
    parts = np.select([problem.train, problem.val], ["train", "val"], "test")
    split.write_text("node,part\n" + "".join(f"{i},{part}\n" for i, part in enumerate(parts)))
    return graph, split


def run_program(*arguments: object) -> str:
    assert PROGRAM is not None
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def read_predictions(text: str) -> tuple[list[str], np.ndarray]:
    rows = list(csv.DictReader(text.splitlines()))
    keys = [key for key in rows[0] if key not in ("node", "prediction", "part", "label", "true", "correct")]
    return [row["prediction"] for row in rows], np.array([[float(row[key]) for key in keys] for row in rows])


@needs_program
@pytest.mark.parametrize("model", ["gcn", "clenshaw-gcn", "gcn-jk", "jacobi-conv"])
def test_training_equals_that_of_the_program(problem: Problem, tmp_path: Path, model: str) -> None:
    graph, split = write_graph(tmp_path, problem)
    folder = tmp_path / "run"
    run_program(
        "train", graph, "-m", model, "--split", f"file:{split}", "--seed", 3, "-s", "max_epochs=15", "-o", folder, "-q"
    )
    file = folder / "runs" / "3" / "model.safetensors"
    here = problem.fit(model, random_state=3, max_epochs=15)
    there = NodeClassifier.load(file)
    assert there.model == model and there.max_epochs == 15 and there.scaling == "standard"
    for name, value in there.state_dict().items():
        assert np.array_equal(here.state_dict()[name], value), name
    assert np.array_equal(there.decision_function(problem.edge_index, problem.X), here.decision_function())
    assert there.classes_.tolist() == here.classes_.tolist() == [0, 1, 2]
    epochs = [json.loads(line) for line in (folder / "runs" / "3" / "epochs.jsonl").read_text().splitlines()]
    losses = [epoch["train_loss"] for epoch in epochs if "train_loss" in epoch]
    np.testing.assert_allclose(losses, here.history_["train_loss"], rtol=1e-6)


@needs_program
def test_a_model_with_weights_per_node_predicts_its_own_data_set(tmp_path: Path) -> None:
    data = clenshaw.datasets.load("csbm:nodes=60")
    run_program("train", "csbm:nodes=60", "-m", "linkx", "-s", "max_epochs=5", "-o", tmp_path / "run", "-q")
    model = NodeClassifier.load(tmp_path / "run" / "runs" / "0" / "model.safetensors")
    labels, probabilities = read_predictions((tmp_path / "run" / "runs" / "0" / "predictions.csv").read_text())
    np.testing.assert_allclose(model.predict_proba(data), probabilities, atol=1e-6)
    assert [str(label) for label in model.predict(data)] == labels
    with pytest.raises(ValueError, match="only predict the nodes of its own graph"):
        model.predict(clenshaw.datasets.load("csbm:nodes=60,seed=1"))


@needs_program
def test_program_predicts_with_a_model_saved_here(problem: Problem, tmp_path: Path) -> None:
    graph, _ = write_graph(tmp_path, problem)
    model = problem.fit("clenshaw-gcn")
    model.save(tmp_path / "model.safetensors")
    labels, probabilities = read_predictions(run_program("predict", tmp_path / "model.safetensors", graph))
    assert labels == [str(label) for label in model.predict()]
    np.testing.assert_allclose(probabilities, model.predict_proba(), atol=1e-6)


@needs_program
def test_program_predicts_from_a_table_with_a_model_trained_here(problem: Problem, tmp_path: Path) -> None:
    table = pd.DataFrame({"z": problem.X[:, 0], "a": problem.X[:, 1], "kind": np.where(problem.y == 0, "x", "y")})
    names = [f"n{i}" for i in range(60)]
    table.index = pd.Index(names, name="id")
    edges = pd.DataFrame({"source": [names[i] for i in problem.edge_index[0]],
                          "target": [names[i] for i in problem.edge_index[1]]})
    words = np.array(["red", "green", "blue"])[problem.y]
    model = NodeClassifier("gcn", max_epochs=10).fit(edges, table, words)
    model.save(tmp_path / "model.safetensors")
    folder = tmp_path / "graph"
    folder.mkdir()
    table.to_csv(folder / "nodes.csv")
    edges.to_csv(folder / "edges.csv", index=False)
    labels, probabilities = read_predictions(run_program("predict", tmp_path / "model.safetensors", folder))
    assert labels == model.predict().tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(), atol=1e-6)


# Models and parameters -------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_every_model_fits_predicts_and_survives_a_file(problem: Problem, model: str, tmp_path: Path) -> None:
    # Specformer starts with weights near zero, so it needs more epochs.
    settings = {"max_epochs": 100} if model == "specformer" else {}
    estimator = problem.fit(model, **settings)
    scores = estimator.decision_function()
    assert scores.dtype == np.float32 and np.isfinite(scores).all()
    exact = np.exp(scores - scores.max(1, keepdims=True), dtype=np.float64)
    np.testing.assert_allclose(estimator.predict_proba(), exact / exact.sum(1, keepdims=True), rtol=1e-6)
    assert np.array_equal(estimator.predict(), scores.argmax(1))
    assert np.array_equal(estimator.labels_, estimator.predict())
    # Training reduces the loss, and these epochs are enough to beat chance.
    losses = estimator.history_["train_loss"]
    assert losses[-1] < losses[0] and (estimator.predict() == problem.y).mean() > 0.4
    estimator.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    if model in ("linkx", "uni-filter"):
        with pytest.raises(ValueError, match="has weights or a basis for each node"):
            loaded.predict(problem.edge_index, problem.X)
    else:
        assert np.array_equal(loaded.decision_function(problem.edge_index, problem.X), scores)
    given = {name: value for name, value in loaded.get_params().items() if value is not None}
    for hyper in _clenshaw.model_info(model)["hyper"]:
        name = KEYWORDS.get(hyper["name"], hyper["name"])
        expected = {"max_epochs": 10, "scaling": "standard", **settings}.get(name, hyper["default"])
        if name == "homophily":  # the default stands for that of the training nodes
            y, (source, target) = problem.y, problem.edge_index
            inside = problem.train[source] & problem.train[target]
            expected = (y[source] == y[target])[inside].mean()
        # The measured homophily is not rounded in the same way everywhere.
        assert given[name] == (pytest.approx(expected, abs=1e-12) if name == "homophily" else expected), name


@pytest.mark.parametrize("model", MODELS)
def test_every_hyper_parameter_is_documented_and_accepted(model: str) -> None:
    documentation = NodeClassifier.__doc__ or ""
    for hyper in _clenshaw.model_info(model)["hyper"]:
        name = KEYWORDS.get(hyper["name"], hyper["name"])
        assert f"\n    {name} : " in documentation
        assert hyper["meaning"].split(" ")[0].lower() in documentation.lower()
        estimator = NodeClassifier(model, **{name: hyper["default"]})
        assert estimator._hyper_values()[hyper["name"]] == hyper["default"]


def presets() -> list[tuple[str, str]]:
    return [(model, graph) for model in MODELS for graph in clenshaw.models(model).presets]


@pytest.mark.parametrize(("model", "graph"), presets())
def test_presets_are_those_of_the_files(model: str, graph: str) -> None:
    settings = tomllib.loads((PRESETS / f"{model}.toml").read_text())[graph]
    estimator = NodeClassifier.from_preset(model, graph, n_jobs=2)
    assert estimator.model == model and estimator.n_jobs == 2
    for name, value in settings.items():
        if name in ("split", "tuned", "borrowed"):
            continue
        assert getattr(estimator, KEYWORDS.get(name, name)) == value, name


def test_there_are_presets() -> None:
    assert len(presets()) > 100 and ("clenshaw-gcn", "chameleon") in presets()
    with pytest.raises(ValueError, match="gcn has no preset for `nowhere`; it has .*cora"):
        NodeClassifier.from_preset("gcn", "nowhere")


def test_parameters_are_those_of_scikit_learn() -> None:
    model = NodeClassifier("gcn", hidden=8, lambda_=None, random_state=3)
    params = model.get_params()
    assert params["model"] == "gcn" and params["hidden"] == 8 and params["lambda_"] is None
    copied = clone(model)
    assert copied is not model and copied.get_params() == params
    assert model.set_params(hidden=16) is model and model.hidden == 16 and copied.hidden == 8
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model.set_params(nothing=1)
    with pytest.raises(TypeError, match="nothing"):
        NodeClassifier(nothing=1)  # type: ignore[call-arg]
    assert is_classifier(model)
    assert repr(model) == "NodeClassifier('gcn', hidden=16, random_state=3)"


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"model": "gnc"}, ValueError, "did you mean `gcn`"),
        ({"model": 3}, TypeError, "str"),
        ({"K": 3}, ValueError, "gcn has no hyper-parameter `K`; it has .*hidden"),
        ({"hidden": 0}, ValueError, "`hidden` is 0, outside 1 to 4096"),
        ({"hidden": 2.5}, ValueError, "`hidden` is `2.5`; expected a whole number"),
        ({"hidden": "8"}, TypeError, "`hidden` is 8 of type str"),
        ({"hidden": 2**80}, ValueError, "`hidden`"),
        ({"hidden": True}, ValueError, "`hidden`"),
        ({"hidden": [8]}, TypeError, "`hidden` is .* of type list"),
        ({"dropout": 1.0}, ValueError, "`dropout` is 1, outside"),
        ({"dropout": -0.1}, ValueError, "`dropout`"),
        ({"dropout": float("nan")}, ValueError, "`dropout`"),
        ({"lr": float("inf")}, ValueError, "`lr`"),
        ({"stop": "never"}, ValueError, "`stop` is `never`; .*patience"),
        ({"stop": 3}, ValueError, "`stop`"),
        ({"class_weights": 3}, ValueError, "`class_weights`"),
        ({"validation_fraction": 1.0}, ValueError, "`validation_fraction` is 1.0; expected a number from 0 to below 1"),
        ({"validation_fraction": "x"}, ValueError, "`validation_fraction`"),
    ],
)
def test_wrong_parameters_are_reported(problem: Problem, params: dict[str, Any], error: Any, text: str) -> None:
    model = NodeClassifier(**{"model": "gcn", **params})
    with pytest.raises(error, match=text):
        model.fit(problem.edge_index, problem.X, problem.y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_numpy_numbers_are_parameters(problem: Problem, kind: Any) -> None:
    given = problem.fit(hidden=kind(8), max_epochs=kind(3), dropout=np.float32(0.5), class_weights=np.bool_(True))
    expected = problem.fit(hidden=8, max_epochs=3, dropout=0.5, class_weights=True)
    assert np.array_equal(given.probs_, expected.probs_)


# Fitted state ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.predict(),
        lambda m: m.predict_proba(),
        lambda m: m.decision_function(),
        lambda m: m.transform(),
        lambda m: m.score(),
        lambda m: m.save("never"),
        lambda m: m.state_dict(),
        lambda m: m.load_state_dict({}),
        clenshaw.to_torch,
    ],
)
def test_an_unfitted_estimator_cannot_be_used(call: Any) -> None:
    with pytest.raises(clenshaw.NotFittedError, match="call `fit` first") as raised:
        call(NodeClassifier())
    assert isinstance(raised.value, (SklearnNotFittedError, ValueError, AttributeError))


def test_not_fitted_error_needs_no_scikit_learn() -> None:
    code = "import clenshaw, sys\ntry: clenshaw.NodeClassifier().predict()\nexcept clenshaw.NotFittedError: print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_only_numpy_is_imported() -> None:
    code = (
        "import clenshaw, sys; d = clenshaw.make_csbm(n_nodes=30, random_state=0); "
        "m = clenshaw.NodeClassifier('gcn', max_epochs=2).fit(d.edge_index, d.X, d.y); repr(m); m._repr_html_(); "
        "print([n for n in ('scipy', 'pandas', 'torch', 'sklearn', 'networkx', 'tqdm', 'optuna') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_history_has_every_epoch(problem: Problem) -> None:
    seen: list[tuple[int, float, float, float]] = []
    model = NodeClassifier("gcn", max_epochs=12, stop="none", random_state=0)
    model.fit(problem.edge_index, problem.X, problem.y, train_mask=problem.train, val_mask=problem.val,
              callback=lambda *numbers: seen.append(numbers))
    history = model.history_
    assert list(history) == ["epoch", "train_loss", "val_loss", "val_accuracy"]
    assert history["epoch"].tolist() == list(range(1, 13)) and model.n_iter_ == 12
    assert [tuple(row) for row in zip(*(history[key].tolist() for key in history))] == seen
    assert model.validation_accuracy_ == history["val_accuracy"][model.best_epoch_ - 1]
    assert np.array_equal(model.train_mask_, problem.train) and np.array_equal(model.val_mask_, problem.val)


def test_validation_accuracy_is_that_of_the_kept_weights(problem: Problem) -> None:
    model = problem.fit("clenshaw-gcn", max_epochs=40)
    correct = model.predict()[problem.val] == problem.y[problem.val]
    assert model.validation_accuracy_ == pytest.approx(correct.mean())


@pytest.mark.parametrize("how", ["pickle", "copy", "subprocess"])
def test_pickled_estimators_predict(problem: Problem, tmp_path: Path, how: str) -> None:
    model = problem.fit("clenshaw-gcn")
    if how == "pickle":
        other = pickle.loads(pickle.dumps(model))
    elif how == "copy":
        other = copy.deepcopy(model)
    else:
        (tmp_path / "in").write_bytes(pickle.dumps(model))
        code = (
            "import pickle, pathlib, sys; folder = pathlib.Path(sys.argv[1]); "
            "m = pickle.loads((folder / 'in').read_bytes()); m.predict(); "
            "(folder / 'out').write_bytes(pickle.dumps(m))"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
        other = pickle.loads((tmp_path / "out").read_bytes())
    assert other.get_params() == model.get_params()
    assert np.array_equal(other.predict_proba(), model.predict_proba())
    assert np.array_equal(other.decision_function(problem.edge_index, problem.X), model.decision_function())
    assert np.array_equal(other.filter_.response, model.filter_.response)
    assert other.history_["train_loss"].tolist() == model.history_["train_loss"].tolist()
    assert other.score(y=problem.y) == model.score(y=problem.y)
    with pytest.raises(ValueError, match="pass a graph"):
        other.transform()
    np.testing.assert_array_equal(other.transform(problem.edge_index, problem.X), model.transform())


def test_unfitted_estimators_can_be_pickled() -> None:
    model = NodeClassifier("gcn", hidden=3)
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


def test_refitting_replaces_everything(problem: Problem) -> None:
    model = problem.fit("clenshaw-gcn")
    table = pd.DataFrame(problem.X, columns=list("fedcba"))
    model.set_params(model="gcn").fit(problem.edge_index, table, problem.y == 1)
    assert model.classes_.tolist() == [False, True] and model.predict_proba().shape == (60, 2)
    assert model.feature_names_in_.tolist() == list("fedcba")
    model.fit(problem.edge_index, problem.X, problem.y)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.probs_, clone(model).fit(problem.edge_index, problem.X, problem.y).probs_)


def test_state_dict_round_trip(problem: Problem) -> None:
    model, other = problem.fit(random_state=0), problem.fit(random_state=1)
    state = model.state_dict()
    assert all(array.dtype == np.float32 and array.ndim == 2 for array in state.values())
    assert other.load_state_dict(state) is other
    assert np.array_equal(other.decision_function(), model.decision_function())
    assert np.array_equal(other.labels_, model.labels_)
    with pytest.raises(ValueError, match="param"):
        other.load_state_dict({})
    name = next(iter(state))
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        other.load_state_dict({**state, name: np.zeros((1, 1))})
    with pytest.raises(ValueError, match="unknown"):
        other.load_state_dict({**state, "unknown": np.zeros((1, 1))})


def test_new_weights_replace_the_predictions_of_an_unpickled_model(problem: Problem) -> None:
    other = pickle.loads(pickle.dumps(problem.fit(random_state=1)))
    expected = problem.fit(random_state=0)
    other.load_state_dict(expected.state_dict())
    assert np.array_equal(other.predict(problem.edge_index, problem.X), expected.predict())
    with pytest.raises(ValueError, match="pass a graph"):
        other.predict()


def test_loading_other_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        NodeClassifier.load(tmp_path / "missing")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match="text"):
        NodeClassifier.load(tmp_path / "text")


# Callbacks -------------------------------------------------------------------------------------


def fit_with(problem: Problem, callback: Any, **params: Any) -> NodeClassifier:
    model = NodeClassifier("gcn", **{"max_epochs": 30, "stop": "none", "random_state": 0, **params})
    return model.fit(problem.edge_index, problem.X, problem.y, train_mask=problem.train, val_mask=problem.val,
                     callback=callback)


@pytest.mark.parametrize("verbose", [0, 1])
def test_callbacks_stop_training(problem: Problem, verbose: int, capfd: Any) -> None:
    model = fit_with(problem, lambda epoch, *_: epoch == 5, verbose=verbose)
    assert model.n_iter_ == 5
    assert np.array_equal(model.probs_, fit_with(problem, None, max_epochs=5).probs_)
    assert ("gcn" in capfd.readouterr().err) == bool(verbose)
    assert fit_with(problem, lambda *_: None).n_iter_ == 30


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_exceptions_of_callbacks_propagate_after_the_best_epoch_is_kept(problem: Problem, error: Any) -> None:
    model = NodeClassifier("gcn", max_epochs=30, stop="none", random_state=0)

    def callback(epoch: int, *_: float) -> None:
        if epoch == 5:
            raise error

    with pytest.raises(type(error)) as raised:
        model.fit(problem.edge_index, problem.X, problem.y, train_mask=problem.train, val_mask=problem.val,
                  callback=callback)
    assert raised.value is error
    assert model.n_iter_ == 5
    assert np.array_equal(model.probs_, fit_with(problem, None, max_epochs=5).probs_)


def test_verbose_without_tqdm_prints_lines() -> None:
    code = (
        "import sys; sys.modules['tqdm'] = None; import clenshaw, time; "
        "d = clenshaw.make_csbm(n_nodes=30, random_state=0); "
        "clenshaw.NodeClassifier('gcn', max_epochs=3, verbose=1).fit("
        "d.edge_index, d.X, d.y, callback=lambda epoch, *_: time.sleep(1.05 if epoch < 3 else 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "of at most 3: train loss" in done.stderr


# Sample weights --------------------------------------------------------------------------------


def fit_weighted(problem: Problem, weights: Any, train: Any = None, **params: Any) -> NodeClassifier:
    model = NodeClassifier("gcn", **{"max_epochs": 10, "random_state": 0, **params})
    return model.fit(problem.edge_index, problem.X, problem.y, sample_weight=weights,
                     train_mask=problem.train if train is None else train, val_mask=problem.val)


def test_equal_weights_are_no_weights(problem: Problem) -> None:
    expected = problem.fit().decision_function()
    for weights in (np.ones(60), np.full(60, 8, dtype=np.int32), [0.25] * 60, pd.Series(np.ones(60))):
        np.testing.assert_allclose(fit_weighted(problem, weights).decision_function(), expected, atol=1e-6)


def test_weight_zero_takes_a_node_out_of_training(problem: Problem) -> None:
    dropped = np.flatnonzero(problem.train)[::3]
    weights = np.ones(60)
    weights[dropped] = 0
    fewer = problem.train.copy()
    fewer[dropped] = False
    np.testing.assert_allclose(
        fit_weighted(problem, weights).decision_function(), fit_weighted(problem, None, fewer).decision_function(),
        atol=1e-6,
    )


def test_the_loss_is_the_weighted_mean(problem: Problem) -> None:
    """Node weights [2, 1]: the loss of the first epoch is two thirds of one loss and one third of the other."""
    first, second = (int(np.flatnonzero(problem.train & (problem.y == c))[0]) for c in (0, 1))
    weights = np.zeros(60)

    def loss(**pairs: float) -> float:
        weights[:] = 0
        weights[first], weights[second] = pairs["a"], pairs["b"]
        return float(fit_weighted(problem, weights, max_epochs=1, dropout=0.0).history_["train_loss"][0])

    assert loss(a=2, b=1) == pytest.approx((2 * loss(a=1, b=0) + loss(a=0, b=1)) / 3, rel=1e-6)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.ones(59), "59 node weights for 60 nodes"),
        (np.ones((60, 1)), "1D array"),
        (-np.ones(60), "expected a number of at least 0"),
        (np.full(60, np.nan), "expected a number of at least 0"),
        (np.zeros(60), "`sample_weight` is zero for every training node"),
        (["x"] * 60, "not numbers"),
    ],
)
def test_wrong_weights_are_reported(problem: Problem, weights: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        fit_weighted(problem, weights)


# Hold-out --------------------------------------------------------------------------------------


def test_validation_nodes_are_held_out_of_every_class(problem: Problem) -> None:
    model = NodeClassifier("gcn", max_epochs=2, validation_fraction=0.25, random_state=0)
    model.fit(problem.edge_index, problem.X, problem.y)
    assert not (model.train_mask_ & model.val_mask_).any() and (model.train_mask_ | model.val_mask_).all()
    for label in range(3):
        members = problem.y == label
        assert model.val_mask_[members].sum() == round(0.25 * members.sum())
    again = clone(model).fit(problem.edge_index, problem.X, problem.y)
    assert np.array_equal(again.val_mask_, model.val_mask_)
    other = clone(model).set_params(random_state=1).fit(problem.edge_index, problem.X, problem.y)
    assert not np.array_equal(other.val_mask_, model.val_mask_)


def test_small_classes_are_for_training_only(problem: Problem) -> None:
    y = np.full(60, -1)
    y[:10], y[10:12] = 0, 1
    model = NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, y)
    assert model.val_mask_.sum() == 2 and model.val_mask_[:10].sum() == 2
    assert model.train_mask_[10:12].all()


def test_no_validation_fraction_trains_for_all_epochs(problem: Problem) -> None:
    model = NodeClassifier("gcn", max_epochs=30, patience=1, validation_fraction=0)
    model.fit(problem.edge_index, problem.X, problem.y)
    assert model.n_iter_ == 30 and not model.val_mask_.any() and np.isnan(model.validation_accuracy_)
    assert np.isnan(model.history_["val_loss"]).all()


def test_masks_may_be_booleans_or_numbers(problem: Problem) -> None:
    expected = problem.fit()
    for convert in (np.flatnonzero, lambda mask: np.flatnonzero(mask).tolist(), list, pd.Series,
                    lambda mask: pd.array(mask, dtype="boolean"), lambda mask: np.flatnonzero(mask).astype(np.uint8)):
        model = NodeClassifier("gcn", max_epochs=10, random_state=0).fit(
            problem.edge_index, problem.X, problem.y,
            train_mask=convert(problem.train), val_mask=convert(problem.val),
        )
        assert np.array_equal(model.probs_, expected.probs_)


def test_wrong_masks_are_reported(problem: Problem) -> None:
    def fit(**masks: Any) -> Any:
        return NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, problem.y, **masks)

    with pytest.raises(ValueError, match="`train_mask` has shape"):
        fit(train_mask=[True] * 3)
    with pytest.raises(ValueError, match="`train_mask` contains 60; expected node numbers from 0 to 59"):
        fit(train_mask=[0, 60])
    with pytest.raises(ValueError, match="`val_mask` contains -1"):
        fit(val_mask=[-1])
    with pytest.raises(TypeError, match="whole numbers"):
        fit(train_mask=[0.5])
    with pytest.raises(ValueError, match="`train_mask` and `val_mask` overlap: both contain the node 20"):
        fit(train_mask=range(0, 30), val_mask=range(20, 40))
    with pytest.raises(ValueError, match="train"):
        fit(train_mask=[])
    # Only a val_mask: the other labelled nodes are for training.
    model = fit(val_mask=range(20))
    assert model.train_mask_.tolist() == [False] * 20 + [True] * 40


def test_unlabelled_nodes_of_the_training_mask_are_reported(problem: Problem) -> None:
    y = problem.y.astype(float)
    y[:3] = np.nan
    with pytest.warns(UserWarning, match="3 nodes of `train_mask` have no label") as caught:
        model = NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, y, train_mask=np.arange(60))
    assert caught[0].filename == __file__
    assert not (model.train_mask_ | model.val_mask_)[:3].any()


# Labels ----------------------------------------------------------------------------------------


NAMES = np.array(["red", "green", "blue"])


@pytest.mark.parametrize(
    ("convert", "classes"),
    [
        (lambda y: y, [0, 1, 2]),
        (lambda y: y.tolist(), [0, 1, 2]),
        (lambda y: y.astype(np.float32), [0.0, 1.0, 2.0]),
        (lambda y: y.astype(np.uint8), [0, 1, 2]),
        (lambda y: y.reshape(-1, 1), [0, 1, 2]),
        (lambda y: pd.Series(y), [0, 1, 2]),
        (lambda y: pd.Series(y, dtype="Int64"), [0, 1, 2]),
        (lambda y: pd.Series(y).astype("category"), [0, 1, 2]),
        (lambda y: dict(enumerate(y.tolist())), [0, 1, 2]),
        (lambda y: dict(enumerate(y)), [0, 1, 2]),
        (lambda y: {np.int64(i): v for i, v in enumerate(y)}, [0, 1, 2]),
        (lambda y: NAMES[y], ["blue", "green", "red"]),
        (lambda y: NAMES[y].tolist(), ["blue", "green", "red"]),
        (lambda y: NAMES[y].astype(object), ["blue", "green", "red"]),
        (lambda y: NAMES[y].astype("S"), [b"blue", b"green", b"red"]),
        (lambda y: pd.Series(NAMES[y]), ["blue", "green", "red"]),
        (lambda y: pd.Series(NAMES[y], dtype="category"), ["blue", "green", "red"]),
        (lambda y: [(1, "one", None)[v] if v < 2 else ("t",)[0] for v in y], ["t", 1, "one"]),
    ],
)
def test_labels_of_any_type(problem: Problem, convert: Any, classes: list[Any]) -> None:
    labels = convert(problem.y)
    if np.ndim(labels) == 2:
        warnings.simplefilter("ignore", DataConversionWarning)
    model = NodeClassifier("gcn", max_epochs=60, random_state=0).fit(problem.edge_index, problem.X, labels)
    assert sorted(map(str, model.classes_.tolist())) == sorted(map(str, classes))
    assert {type(c) for c in model.classes_.tolist()} == {type(c) for c in classes}
    flat = [labels[i] for i in range(60)] if isinstance(labels, dict) else list(np.asarray(labels, dtype=object).ravel())
    # The predicted labels are those that were given: separable data, so training nodes are right.
    right = np.mean([a == b for a, b in zip(model.predict(), flat)])
    assert right > 0.9
    assert model.score(y=labels, mask=np.arange(60)) == pytest.approx(right)


def test_bools_are_classes(problem: Problem) -> None:
    model = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, problem.y == 1)
    assert model.classes_.dtype == bool and model.predict().dtype == bool
    other = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, (problem.y == 1).astype(int))
    assert np.array_equal(model.predict_proba(), other.predict_proba())


@pytest.mark.parametrize("unlabelled", [-1, -7, -0.5, None, float("nan"), np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("words", [False, True])
def test_unlabelled_nodes(problem: Problem, unlabelled: Any, words: bool) -> None:
    known = (NAMES[problem.y] if words else problem.y).tolist()
    y = [label if i % 2 else unlabelled for i, label in enumerate(known)]
    partial = NodeClassifier("gcn", max_epochs=5, random_state=0).fit(problem.edge_index, problem.X, y)
    expected = NodeClassifier("gcn", max_epochs=5, random_state=0).fit(
        problem.edge_index, problem.X, {i: known[i] for i in range(1, 60, 2)}
    )
    assert (partial.train_mask_ | partial.val_mask_).tolist() == [bool(i % 2) for i in range(60)]
    assert np.array_equal(partial.probs_, expected.probs_)
    assert partial.classes_.tolist() == (["blue", "green", "red"] if words else [0, 1, 2])
    # The nodes without a label are not scored.
    assert partial.score(y=y, mask=np.arange(60)) == np.mean((partial.predict() == np.array(known))[1::2])


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([0, 1] * 10, "20 labels"),
        ([None] * 60, "no node has a label"),
        ([0] * 60, "all labelled nodes have the same class"),
        ([0.5, 1] * 30, "continuous"),
        ([np.inf, 1.0] * 30, "infinity"),
        (np.zeros((60, 2)), "one label per node"),
        ({60: 1, 0: 0}, "node 60"),
        ({"x": 1}, "node 'x'"),
        ({-1: 1}, "node -1"),
        (None, "`y` is missing"),
    ],
)
def test_wrong_labels_are_reported(problem: Problem, y: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, y)


def test_series_are_matched_by_name_if_the_nodes_have_names(problem: Problem) -> None:
    names = [f"n{i:02d}" for i in range(60)]
    table = pd.DataFrame(problem.X, index=names, columns=list("abcdef"))
    edges = pd.DataFrame(np.array(names)[problem.edge_index.T], columns=["source", "target"])
    y = pd.Series(problem.y, index=names)
    expected = NodeClassifier("gcn", max_epochs=5).fit(edges, table, y.to_numpy())
    shuffled = NodeClassifier("gcn", max_epochs=5).fit(edges, table, y.sample(frac=1, random_state=0))
    assert np.array_equal(shuffled.probs_, expected.probs_)
    assert expected.nodes_ == names


# Scores ----------------------------------------------------------------------------------------


def test_score_defaults(problem: Problem) -> None:
    model = problem.fit(max_epochs=30)
    right = model.predict() == problem.y
    assert model.score(y=problem.y) == pytest.approx(right[problem.test].mean())
    assert model.score(y=problem.y, mask=problem.train) == pytest.approx(right[problem.train].mean())
    # The object passed to `fit`: the nodes it has not seen. A copy is another graph: all nodes.
    assert model.score(problem.edge_index, problem.X, problem.y) == model.score(y=problem.y)
    assert model.score(problem.edge_index.copy(), problem.X, problem.y) == pytest.approx(right.mean())
    restored = pickle.loads(pickle.dumps(model))
    assert restored.score(problem.edge_index, problem.X, problem.y) == pytest.approx(right.mean())
    weights = np.arange(60.0)
    assert model.score(y=problem.y, sample_weight=weights) == pytest.approx(
        np.average(right[problem.test], weights=weights[problem.test])
    )
    everything = NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, problem.y)
    with pytest.raises(ValueError, match="no node to score has a label"):
        everything.score(y=problem.y)
    with pytest.raises(ValueError, match="`y` is missing"):
        model.score()
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(y=problem.y, sample_weight=[1.0])


def test_transform_returns_what_the_last_layer_reads(problem: Problem) -> None:
    model = problem.fit("clenshaw-gcn")
    state = model.state_dict()
    hidden = model.transform()
    assert hidden.shape == (60, 64) and (hidden >= 0).all()
    weights = [array for array in state.values() if array.shape == (64, 3)]
    bias = [array for array in state.values() if array.shape == (1, 3)]
    np.testing.assert_allclose(hidden @ weights[0] + bias[0], model.decision_function(), atol=1e-5)
    scores = problem.fit("appnp")
    assert np.array_equal(scores.transform(), scores.decision_function())


def test_fit_predict(problem: Problem) -> None:
    model = NodeClassifier("gcn", max_epochs=5, random_state=0)
    found = model.fit_predict(problem.edge_index, problem.X, problem.y, train_mask=problem.train, val_mask=problem.val)
    assert np.array_equal(found, problem.fit(max_epochs=5).predict())

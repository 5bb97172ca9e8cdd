"""Hyper-parameter tuning with studies in Optuna's storage formats."""

from __future__ import annotations

import math
import os
import tempfile
import time
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._compare import LabelledGraph, labelled_graph, run_once
from clenshaw._estimator import NodeClassifier
from clenshaw._estimator_names import to_python, to_registry


@dataclass
class TuningResult:
    """The trials of a study.

    Attributes
    ----------
    model : str
        The model.
    best_params : dict
        The hyper-parameters of the best trial, by their names in Python.
    best_value : float
        The mean validation accuracy of the best trial.
    trials : list of dict
        Number, state, value and parameters of every trial.
    importances : dict of float
        The importance of every hyper-parameter, by PED-ANOVA; empty if an ``optuna.Study`` was passed.
    study
        The ``optuna.Study``, if one was passed.
    fixed_params : dict
        The hyper-parameters that were not searched, as passed to ``tune``.
    """

    model: str
    best_params: dict[str, Any]
    best_value: float
    trials: list[dict[str, Any]]
    importances: dict[str, float] = field(default_factory=dict)
    study: Any = None
    fixed_params: dict[str, Any] = field(default_factory=dict)

    def estimator(self, **params: Any) -> NodeClassifier:
        """Return an estimator with the best hyper-parameters and those that were fixed."""
        return NodeClassifier(self.model, **{**self.fixed_params, **self.best_params, **params})

    def to_frame(self) -> Any:
        """Return the trials as a pandas data frame."""
        import pandas

        rows = [{"number": t["number"], "state": t["state"], "value": t["value"], **t["params"]} for t in self.trials]
        return pandas.DataFrame(rows).set_index("number")

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={_show(value)}" for name, value in self.best_params.items())
        return (
            f"TuningResult({self.model}: best validation accuracy {100 * self.best_value:.2f}% "
            f"of {len(self.trials)} trials with {best})"
        )

    def _repr_html_(self) -> str:
        ranked = sorted((t for t in self.trials if t["value"] is not None), key=lambda t: -t["value"])[:10]
        names = list(self.best_params)
        head = "".join(f"<th>{escape(name)}</th>" for name in ["trial", "validation accuracy, %", *names])
        rows = "".join(
            f"<tr><td>{t['number']}</td><td>{100 * t['value']:.2f}</td>"
            + "".join(f"<td>{escape(_show(t['params'].get(name, '')))}</td>" for name in names) + "</tr>"
            for t in ranked
        )
        return f"<table><caption>{escape(self.model)}: best trials</caption><tr>{head}</tr>{rows}</table>"


def _show(value: Any) -> str:
    """Return a value as text; steps of a tenth are shown as such, without rounding errors."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def tune(
    data: Any,
    model: str = "clenshaw-gcn",
    *,
    X: Any = None,
    y: Any = None,
    label: str | None = None,
    n_trials: int = 30,
    timeout: float | None = None,
    n_splits: int = 3,
    split: str | None = None,
    study: Any = None,
    name: str | None = None,
    params: dict[str, Any] | None = None,
    random_state: int | None = None,
) -> TuningResult:
    """Search the hyper-parameters of a model by mean validation accuracy; test labels are not read.

    Parameters
    ----------
    data, X, y, label
        The graph, as in ``compare``.
    model
        The name of the model; the search space is the default one of ``clenshaw tune``.
    n_trials
        The number of trials to run in this call.
    timeout
        Seconds after which no trial is started.
    n_splits
        The number of splits that every trial is trained on.
    split
        The kind of split, as in ``compare``.
    study
        An ``optuna.Study`` that maximises, or a storage in one of Optuna's formats: the path of a journal file,
        ``sqlite:///FILE`` or a ``postgresql://`` address. By default, the trials are not stored.
    name
        The name of the study in its storage; by default the name of the model.
    params
        Hyper-parameters with fixed values.
    random_state
        The seed of the sampler, and of the first split and run; ``None`` is 0.

    Raises
    ------
    RuntimeError
        If no trial is complete.
    """
    graph = labelled_graph(data, X, y, label)
    kind = graph.split_name(split)
    seed = random_state or 0
    fixed = to_registry(NodeClassifier(model, **(params or {}))._hyper_values())
    hypers = _clenshaw.model_info(model)["hyper"]
    given = to_registry(dict(params or {}))
    space = {h["name"]: h["distribution"] for h in hypers if h["distribution"] and h["name"] not in given}

    def objective(values: dict[str, Any]) -> float:
        return mean_accuracy(graph, model, {**fixed, **values}, kind, range(seed, seed + n_splits))

    deadline = math.inf if timeout is None else time.monotonic() + timeout
    if hasattr(study, "optimize") and hasattr(study, "ask"):
        result = _tune_optuna(study, model, space, objective, n_trials, timeout)
    elif study is not None:
        result = _tune_native(os.fspath(study), name or model, model, space, objective, n_trials, deadline, seed)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "study.journal")
            result = _tune_native(path, name or model, model, space, objective, n_trials, deadline, seed)
    return replace(result, fixed_params=dict(params or {}))


def mean_accuracy(graph: LabelledGraph, model: str, params: dict[str, Any], split: str, seeds: range) -> float:
    """Return the mean validation accuracy over splits."""
    runs = [run_once(graph, model, params, split, seed, evaluate=False) for seed in seeds]
    return float(np.mean([run.val_accuracy for run in runs]))


def _tune_native(
    storage: str, name: str, model: str, space: dict[str, str], objective: Any, n_trials: int, deadline: float, seed: int
) -> TuningResult:
    study = _clenshaw.Study(storage, name, seed, False)
    for _ in range(n_trials):
        trial = study.ask(space) if time.monotonic() < deadline else None
        if trial is None:
            break
        try:
            value = objective(trial.params)
        except RuntimeError:
            # Training diverged: the trial counts as failed, and the search continues.
            study.tell(trial, None)
        except BaseException:
            study.tell(trial, None)
            raise
        else:
            study.tell(trial, value)
    trials = study.trials()
    for each in trials:
        each["params"] = to_python(each["params"])
    importances = to_python(_clenshaw.param_importances(study))
    return _result(model, trials, importances, None)


def _tune_optuna(
    study: Any, model: str, space: dict[str, str], objective: Any, n_trials: int, timeout: float | None
) -> TuningResult:
    import optuna

    if study.direction != optuna.study.StudyDirection.MAXIMIZE:
        raise ValueError("the study minimises; expected one created with `direction=\"maximize\"`")
    distributions = {name: optuna.distributions.json_to_distribution(text) for name, text in space.items()}

    def run(trial: Any) -> float:
        values = {name: _suggest(trial, name, distribution) for name, distribution in distributions.items()}
        return float(objective(values))

    study.optimize(run, n_trials=n_trials, timeout=timeout, catch=(RuntimeError,))
    trials = [
        {"number": t.number, "state": t.state.name, "value": t.value, "params": to_python(t.params)}
        for t in study.trials
    ]
    return _result(model, trials, {}, study)


def _suggest(trial: Any, name: str, distribution: Any) -> Any:
    kind = type(distribution).__name__
    if kind == "CategoricalDistribution":
        return trial.suggest_categorical(name, distribution.choices)
    suggest = trial.suggest_int if kind == "IntDistribution" else trial.suggest_float
    return suggest(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)


def _result(model: str, trials: list[dict[str, Any]], importances: dict[str, float], study: Any) -> TuningResult:
    complete = [trial for trial in trials if trial["value"] is not None and trial["state"] == "COMPLETE"]
    if not complete:
        raise RuntimeError(f"none of {len(trials)} trials is complete; raise `n_trials` or `timeout`")
    best = max(complete, key=lambda trial: trial["value"])
    return TuningResult(model, dict(best["params"]), best["value"], trials, importances, study)

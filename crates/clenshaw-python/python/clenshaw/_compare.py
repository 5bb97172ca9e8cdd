"""Comparison of models on the same splits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from threading import Event
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._estimator import NodeClassifier
from clenshaw._features import encode_labels, features_of, label_values, warn_of_label_columns
from clenshaw._graph import read_graph_of
from clenshaw._nodes import Nodes
from clenshaw.datasets import load, only_split

@dataclass
class Comparison:
    """Test accuracies of several models on the same splits.

    Attributes
    ----------
    scores : dict of ndarray
        The test accuracy of every run, by model.
    split : str
        The kind of split.
    majority : float
        The mean share of the most frequent class among the test nodes.
    """

    scores: dict[str, np.ndarray]
    split: str
    majority: float

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per model, best first: mean, standard deviation and 95% interval of the mean.

        The interval is a percentile bootstrap interval, as in ``clenshaw compare`` and in most papers on these
        models. With fewer than about ten runs it is too narrow; for a single run, both the interval and the
        standard deviation are NaN.
        """
        rows = []
        for name, scores in self.scores.items():
            mean, std, ci95 = _clenshaw.statistic(scores.tolist())
            if len(scores) < 2:
                std = ci95 = math.nan
            rows.append({"model": name, "mean": mean, "std": std, "ci95": ci95, "runs": len(scores)})
        return sorted(rows, key=lambda row: -row["mean"])

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.rows()).set_index("model")

    def __repr__(self) -> str:
        width = max([len("majority class"), *map(len, self.scores)]) + 2
        lines = [f"{'model':<{width}}test accuracy, mean ± std [95% ±], split {self.split}"]
        for row in self.rows():
            spread = f"± {100 * row['std']:.2f} [± {100 * row['ci95']:.2f}] over {row['runs']} runs"
            one = row["runs"] == 1
            lines.append(f"{row['model']:<{width}}{100 * row['mean']:.2f} {'(one run: no interval)' if one else spread}")
        return "\n".join([*lines, f"{'majority class':<{width}}{100 * self.majority:.2f}"])

    def _repr_html_(self) -> str:
        cells = ""
        for row in self.rows():
            one = row["runs"] == 1
            spread = "" if one else f" ± {100 * row['std']:.2f}"
            interval = "one run: no interval" if one else f"± {100 * row['ci95']:.2f}"
            cells += (
                f"<tr><td>{escape(row['model'])}</td><td>{100 * row['mean']:.2f}{spread}</td>"
                f"<td>{interval}</td><td>{row['runs']}</td></tr>"
            )
        head = "<tr><th>model</th><th>test accuracy, %</th><th>95% interval</th><th>runs</th></tr>"
        foot = f"<caption>split {escape(self.split)}; majority class {100 * self.majority:.2f}%</caption>"
        return f"<table>{foot}{head}{cells}</table>"


@dataclass
class LabelledGraph:
    """A graph with features and labels, ready for training."""

    dataset: _clenshaw.Dataset
    codes: np.ndarray

    def split_name(self, split: str | None) -> str:
        """Return a kind of split; by default the only published one or else ``stratified``."""
        return split if split is not None else only_split(self.dataset) or "stratified"


def labelled_graph(data: Any, X: Any = None, y: Any = None, label: str | None = None) -> LabelledGraph:
    """Read a graph with labels: a name or path, a data set, or a graph with ``X`` and ``y``."""
    if isinstance(data, str):
        data = load(data)
    if hasattr(data, "_native") and X is None and y is None:
        return LabelledGraph(data._native, data._native.classes)
    if isinstance(data, Nodes):
        if len(data) < data.graph.graph.n_nodes:
            raise ValueError(f"expected a whole graph, got {data!r}; pass the graph, `X` and `y`")
        data, X = data.graph, data.X if X is None else X
    source = read_graph_of(data, X, y, label)
    y = source.y if y is None else y
    if y is None:
        raise ValueError("`y` is missing, and the graph has no labels")
    features = features_of(source)
    labels = encode_labels(label_values(y, source.graph.n_nodes, source.nodes))
    warn_of_label_columns(source.X, features.schema, labels.codes)
    dataset = _clenshaw.Dataset(source.graph, features.x, labels.codes, labels.class_names, features.schema)
    return LabelledGraph(dataset, labels.codes)


def compare(
    data: Any,
    models: str
    | NodeClassifier
    | Sequence[str | NodeClassifier]
    | Mapping[str, str | NodeClassifier] = ("mlp", "gcn", "gcnii", "gpr-gnn", "clenshaw-gcn"),
    *,
    X: Any = None,
    y: Any = None,
    label: str | None = None,
    n_runs: int = 10,
    split: str | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Train several models on the same splits and compare their test accuracy.

    Parameters
    ----------
    data
        A data set, the name or path of one, or a graph in any form that ``NodeClassifier.fit`` accepts.
    models
        Names of models, which are trained with their defaults, or estimators, which are trained with their
        parameters. The keys of a dict are the names in the result. A single name or estimator is also accepted.
    X, y, label
        Features and labels of a graph, as in ``NodeClassifier.fit``.
    n_runs
        The number of runs per model. Run ``i``, counted from 0, uses the seed ``random_state + i`` for a random
        split, the initial weights and dropout.
    split
        ``stratified``, ``balanced``, ``ratio:a/b/c`` or the name of a published split. By default the
        published split of the data set, if it has exactly one, or else ``stratified``.
    random_state
        The seed of the first run; ``None`` is 0.
    n_jobs
        The number of runs to train in parallel; ``None`` and -1 use all processors.
    """
    graph = labelled_graph(data, X, y, label)
    split = graph.split_name(split)
    models = [models] if isinstance(models, (str, NodeClassifier)) else models
    estimators = {}
    named = models.items() if isinstance(models, Mapping) else ((str(model), model) for model in models)
    for name, model in named:
        estimator = model if isinstance(model, NodeClassifier) else NodeClassifier(model)
        estimators[name] = (estimator.model, estimator._hyper_values())
    if n_runs < 1:
        raise ValueError(f"`n_runs` is {n_runs}; expected at least 1")
    seeds = [(random_state or 0) + run for run in range(n_runs)]
    jobs = _clenshaw.available_threads() if n_jobs in (None, -1) else n_jobs
    tasks = [(name, seed) for name in estimators for seed in seeds]
    if not len(graph.dataset.split(split, seeds[0])[2]):
        raise ValueError(f"the split `{split}` has no test nodes")
    stopped = Event()

    def run(task: tuple[str, int]) -> float:
        name, seed = task
        model, params = estimators[name]
        return run_once(graph, model, params, split, seed, stopped=stopped).test_accuracy

    with ThreadPoolExecutor(jobs) as pool:
        try:
            accuracies = list(pool.map(run, tasks))
        except BaseException:
            # After an error or Ctrl-C, running tasks end within an epoch, and others are not started.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    scores = {name: np.array([a for (other, _), a in zip(tasks, accuracies) if other == name]) for name in estimators}
    shares = []
    for seed in seeds:
        test = graph.codes[graph.dataset.split(split, seed)[2]]
        shares.append(np.bincount(test).max() / len(test))
    return Comparison(scores, split, float(np.mean(shares)))


@dataclass
class RunScores:
    """The scores of one run."""

    val_accuracy: float
    test_accuracy: float


def run_once(
    graph: LabelledGraph,
    model: str,
    params: dict[str, Any],
    split: str,
    seed: int,
    *,
    evaluate: bool = True,
    stopped: Event | None = None,
) -> RunScores:
    """Train once on one thread; the test accuracy is NaN unless ``evaluate`` is set and there are test nodes."""
    train, val, test = graph.dataset.split(split, seed)
    callback = None if stopped is None else lambda *_: stopped.is_set()
    result = _clenshaw.fit(
        graph.dataset, model, params, train, val, seed=seed, threads=1, callback=callback
    )
    if result.error is not None:
        raise result.error
    accuracy = math.nan
    if evaluate and len(test):
        accuracy = float((np.asarray(result.scores)[test].argmax(axis=1) == graph.codes[test]).mean())
    return RunScores(result.best_val_accuracy, accuracy)

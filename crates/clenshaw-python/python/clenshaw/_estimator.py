"""The scikit-learn estimator for node classification."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._arrays import ColumnTable, column, column_names, is_table, to_numpy, to_real, without_column
from clenshaw._by_node import mask_of, weights_of, without_index
from clenshaw._errors import not_fitted, warn
from clenshaw._estimator_names import KEYWORDS, OWN_PARAMS, to_python, to_registry
from clenshaw._features import (
    EncodedFeatures,
    classes_from_names,
    encode_features,
    encode_labels,
    encode_unnamed,
    features_of,
    label_values,
    structural_features,
    structure_of,
    table_columns,
    warn_of_label_columns,
)
from clenshaw._filter import LearnedFilter
from clenshaw._graph import GraphSource, read_graph_of
from clenshaw._hyper_parameters import HyperParameters
from clenshaw._nodes import Nodes, hold_out
from clenshaw._progress import Progress
from clenshaw._report import ReportPage
from clenshaw.datasets import Dataset

#: The maximum number of threads.
MAX_THREADS = 256

EpochCallback = Callable[[int, float, float, float], Any]


class NodeClassifier(HyperParameters):
    __doc__ = HyperParameters.__doc__

    _estimator_type = "classifier"

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        graph: Any,
        X: Any = None,
        y: Any = None,
        *,
        label: str | None = None,
        sample_weight: Any = None,
        train_mask: Any = None,
        val_mask: Any = None,
        callback: EpochCallback | None = None,
    ) -> NodeClassifier:
        """Train on the labelled nodes of a graph.

        Edge directions are dropped, self-loops removed and repeated edges merged; ``notes_`` lists what was
        changed. The weights of repeated edges are added; if an edge is listed in both directions, its weight is
        the mean of the two. Without features, each node is one-hot encoded; on graphs of more than 100,000
        nodes, its degree is, binned by powers of two.

        Parameters
        ----------
        graph
            A SciPy sparse matrix or a square array, whose nonzero entries are edge weights; an edge index of
            shape (2, E), or a tuple of it and weights; a pandas, polars or Arrow edge table with the columns
            ``source``, ``target`` and, optionally, ``weight``; a NetworkX, igraph, PyTorch Geometric or DGL
            graph; a data set of ``clenshaw.datasets``; or ``Nodes``. In an edge table, nodes are numbers 0, 1,
            2, ... or names. Names must be the index of a pandas table ``X`` or be in a column ``id``, ``node``,
            ``name`` or ``node_id`` of the table ``X``; without ``X``, they are sorted, see ``nodes_``.
        X
            Features of all nodes: an array, a sparse matrix or a table. In a table, text columns become one
            feature per value, and missing numbers are filled with the median and marked by a second
            feature; a warning lists columns that are not used and columns that may be the label. By default,
            the features that come with the graph are used.
        y
            Labels of any type; negative numbers, ``None`` and NaN mean that the label is unknown. A list or
            array has one label per node; a dict or a pandas Series has the labels of some nodes, by name or
            number. With ``Nodes``, there must be one label per selected node, in the same order.
        label
            The node attribute with the labels, for NetworkX, igraph and DGL graphs.
        sample_weight
            Weights of the nodes in the training loss, one per node; only their ratios matter. A dict or Series
            is matched as in ``y``.
        train_mask, val_mask
            Nodes for training and for early stopping, as booleans, node names or node numbers (names only, if
            the names are numbers); a Series of booleans is matched as in ``y``. By default, those that come with
            the graph: the masks of PyTorch Geometric and DGL, or the split of a data set that has exactly one.
            Without these, ``validation_fraction`` of the labelled nodes of each class is used for early stopping
            and the rest for training. A ``train_mask`` replaces all masks of the graph.
        callback
            Called after every epoch with its number, training loss, validation loss and validation
            accuracy; training stops if it returns true.

        Returns
        -------
        NodeClassifier
            This estimator, with the weights of its best epoch.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, at the latest one epoch later. If an epoch was complete, the estimator is then
            fitted with the best weights so far.
        """
        source, features, values, _ = self._read(graph, X, y, label)
        if values is None:
            # scikit-learn's checks require the second half.
            raise ValueError("`y` is missing: fit requires y to be passed, but the target y is None")
        n_nodes = source.graph.n_nodes
        labels = encode_labels(values)
        n_classes = len(np.unique(labels.codes[labels.codes >= 0]))
        if n_classes < 2:
            problem = "all labelled nodes have the same class" if n_classes else "no node has a label"
            hint = ""
            if _has_negative(values):
                hint = "; negative numbers are unlabelled nodes: if they are a class, number the classes from 0"
            raise ValueError(f"`y` has {n_classes} class: {problem}; expected at least two{hint}")
        warn_of_label_columns(source.X, features.schema, labels.codes)
        params = self._hyper_values()
        dataset = _clenshaw.Dataset(source.graph, features.x, labels.codes, labels.class_names, features.schema)
        masks = (source.train_mask, source.val_mask, source.test_mask)
        if train_mask is not None and any(mask is not None for mask in masks):
            # The masks of the graph belong together: the training nodes may contain its test nodes.
            source = replace(source, train_mask=None, val_mask=None, test_mask=None)
        train, val = self._split(source, labels.codes, train_mask, val_mask)
        weights = None
        if sample_weight is not None:
            if isinstance(graph, Nodes):
                sample_weight = without_index(sample_weight)
            weights = weights_of(sample_weight, n_nodes, source.nodes, train)
            if isinstance(graph, Nodes) and len(weights) == len(graph):
                spread = np.ones(n_nodes)
                spread[graph.selected] = weights
                weights = spread
            if weights.ndim != 1:
                raise ValueError(f"`sample_weight` has shape {weights.shape}; Sample weights must be 1D array")
            if len(weights) == n_nodes and not weights[train].any():
                raise ValueError("`sample_weight` is zero for every training node")
        with Progress(self.verbose, self.model, params, callback) as progress:
            result = _clenshaw.fit(
                dataset, self.model, params, train, val,
                seed=self._seed(), threads=self._threads(), node_weights=weights, callback=progress.callback,
            )
        self._label = label
        self._fit_graph = graph
        self._store(result, source, features, labels.classes, dataset, train, val)
        if result.error is not None:
            raise result.error
        return self

    def fit_predict(self, graph: Any, X: Any = None, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Train, and return the predicted label of every node."""
        return self.fit(graph, X, y, **fit_params).predict()

    def _read(
        self, graph: Any, X: Any, y: Any, label: str | None
    ) -> tuple[GraphSource, EncodedFeatures, np.ndarray | None, np.ndarray | None]:
        """Return the graph, its features and labels, and the nodes that ``Nodes`` selects."""
        selected = None
        if isinstance(graph, Nodes):
            if y is None:
                X, y = None, X
            y = without_index(y)
            selected, X, graph = graph.selected, graph.X, graph.graph
        source = read_graph_of(graph, X, y if selected is None else None, label)
        features = features_of(source)
        n = source.graph.n_nodes
        if features.shape[0] != n:
            raise ValueError(f"`X` has {features.shape[0]} rows, but the graph has {n} nodes")
        labels = source.y if y is None else y
        values = None
        if labels is not None:
            values = label_values(labels, n if selected is None or y is None else len(selected), source.nodes)
        if values is not None and selected is not None:
            some = values if y is not None else values[selected]
            values = np.empty(n, dtype=object)
            values[selected] = some.tolist()
            values = values if some.dtype.kind not in "iuf" or len(selected) < n else some[np.argsort(selected)]
        return source, features, values, selected

    def _split(
        self, source: GraphSource, codes: np.ndarray, train_mask: Any, val_mask: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the training and validation nodes."""
        n = len(codes)
        given = train_mask is not None or val_mask is None
        train_mask = source.train_mask if train_mask is None else train_mask
        val_mask = source.val_mask if val_mask is None else val_mask
        usable = codes >= 0
        if source.test_mask is not None:
            usable &= ~mask_of(source.test_mask, n, source.nodes, "test_mask")
        train = usable if train_mask is None else mask_of(train_mask, n, source.nodes, "train_mask")
        unlabelled = int((train & (codes < 0)).sum())
        if unlabelled:
            warn(f"{unlabelled} nodes of `train_mask` have no label and are not used for training")
        train = train & (codes >= 0)
        if val_mask is not None:
            val = mask_of(val_mask, n, source.nodes, "val_mask") & (codes >= 0)
            if not given:
                train = train & ~val
            if (train & val).any():
                first = int(np.flatnonzero(train & val)[0])
                node = first if source.nodes is None else source.nodes[first]
                raise ValueError(f"`train_mask` and `val_mask` overlap: both contain the node {node!r}")
            return np.flatnonzero(train), np.flatnonzero(val)
        fraction = self.validation_fraction
        if not isinstance(fraction, (int, float)) or not 0 <= fraction < 1:
            raise ValueError(f"`validation_fraction` is {fraction!r}; expected a number from 0 to below 1")
        return hold_out(np.where(train, codes, -1), float(fraction), self._seed())

    def _store(
        self,
        result: _clenshaw.FitResult,
        source: GraphSource,
        features: EncodedFeatures,
        classes: np.ndarray,
        dataset: _clenshaw.Dataset,
        train: np.ndarray,
        val: np.ndarray,
    ) -> None:
        n_nodes = source.graph.n_nodes
        self._model = result.model
        self._dataset: _clenshaw.Dataset | None = dataset
        self._source: GraphSource | None = source
        self.classes_ = classes
        self.n_features_in_ = features.shape[1] if features.names is None else len(features.names)
        if features.names is not None:
            self.feature_names_in_ = features.names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.nodes_ = source.nodes
        self.notes_ = list(source.graph.notes)
        self.history_ = result.history
        self.n_iter_ = len(result.history["epoch"])
        self.best_epoch_ = result.best_epoch
        self.validation_accuracy_ = result.best_val_accuracy
        self.fit_seconds_ = result.seconds
        self._log: str | None = result.log
        self.train_mask_ = _mask(train, n_nodes)
        self.val_mask_ = _mask(val, n_nodes)
        self.test_mask_ = None if source.test_mask is None else mask_of(
            source.test_mask, n_nodes, source.nodes, "test_mask"
        )
        self.filter_ = self._learned_filter(result.response, dataset)
        self._set_scores(np.asarray(result.scores))

    def _learned_filter(self, points: Any, dataset: _clenshaw.Dataset) -> LearnedFilter | None:
        if points is None:
            return None
        learned = LearnedFilter._from_points(points)
        learned._graph = dataset.graph
        learned._normalisation = self._model.operator
        return learned

    def _set_scores(self, scores: np.ndarray) -> None:
        self._scores: np.ndarray | None = scores
        self.probs_ = _softmax(scores)
        self.labels_ = self.classes_[scores.argmax(axis=1)]

    # --------------------------------------------------------------- prediction

    def fit_transform(self, graph: Any, X: Any = None, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Train, and return an embedding of every node, see ``transform``."""
        return self.fit(graph, X, y, **fit_params).transform()

    def decision_function(self, graph: Any = None, X: Any = None) -> np.ndarray:
        """Return the logits or, for two classes, those of the second minus those of the first, of shape (n,).

        That is the rule of scikit-learn, whose scorers rely on it; ``logits`` has one column per class for
        any number of classes.
        """
        scores = self.logits(graph, X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def logits(self, graph: Any = None, X: Any = None) -> np.ndarray:
        """Return the score of every class for every node, of shape (n, C): before the softmax."""
        self._check_fitted()
        if self._is_own(graph) and X is None and self._scores is not None:
            scores, selected = self._scores, _selected(graph)
        else:
            dataset, _, selected = self._read_other(graph, X)
            scores = self._model.scores(dataset, self._threads())
        return scores if selected is None else scores[selected]

    def predict_proba(self, graph: Any = None, X: Any = None) -> np.ndarray:
        """Return the probability of every class for every node, of shape (n, C).

        Parameters
        ----------
        graph, X
            The graph to predict and its features, as in ``fit``; by default the training graph. Columns of a
            table are matched by name.
        """
        return _softmax(self.logits(graph, X))

    def predict(self, graph: Any = None, X: Any = None) -> np.ndarray:
        """Return the most likely label of every node; parameters as in ``predict_proba``."""
        best = self.logits(graph, X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def transform(self, graph: Any = None, X: Any = None) -> np.ndarray:
        """Return an embedding of every node: the input of the last layer.

        Models that do not expose it, such as ``mlp`` and the decoupled models, return their class scores.
        """
        self._check_fitted()
        dataset, _, selected = self._read_other(graph, X)
        hidden = self._model.hidden(dataset)
        embedding = self._model.scores(dataset, self._threads()) if hidden is None else hidden
        return embedding if selected is None else embedding[selected]

    def filter_response(self, graph: Any = None, X: Any = None) -> LearnedFilter | None:
        """Return the learned filter over the spectrum of a graph; ``None`` if the model has none.

        Parameters
        ----------
        graph, X
            As in ``predict``; the filter of the training graph, the default, is also in ``filter_``.
        """
        self._check_fitted()
        dataset, _, _ = self._read_other(graph, X)
        return self._learned_filter(self._model.response(dataset), dataset)

    def report(self) -> ReportPage:
        """Return a page about the model and its training: scores, learned filter, curves, mistakes.

        A notebook shows the page; ``report().save("page.html")`` writes it to a file. The scores are those of
        the test nodes that come with the graph or, without these, of the labelled nodes that were used neither
        for training nor for early stopping.

        Raises
        ------
        ValueError
            If the training graph is not available, as after unpickling or ``load``, or if ``load_state_dict``
            has replaced the weights.
        """
        self._check_fitted()
        dataset, log = self._dataset, getattr(self, "_log", None)
        if dataset is None or log is None:
            raise ValueError(
                "the page needs the training graph and the history of these parameters, which a loaded, "
                "unpickled or changed model does not have; call `report` after `fit`"
            )
        known = np.asarray(dataset.classes) >= 0
        test = self._held_out() & known & ~(self.train_mask_ | self.val_mask_)
        names = None if self.nodes_ is None else [str(node) for node in self.nodes_]
        return ReportPage(self._model.report_page(
            dataset, log, np.flatnonzero(self.train_mask_), np.flatnonzero(self.val_mask_), np.flatnonzero(test),
            node_names=names, threads=self._threads(),
        ))

    def explain(self, node: Any) -> dict[str, Any]:
        """Return what nodes and features contribute to the prediction of one node of the training graph.

        The result has the form of ``clenshaw explain --json``; ``docs/explain.md`` describes it. It contains,
        among others, the contributions of nodes, features and distances (``hops``) to the margin between the
        predicted class and the runner-up; the parts add up to ``total``.

        Parameters
        ----------
        node
            The name of the node, as in ``nodes_``, or its number if the nodes have no names.
        """
        self._check_fitted()
        dataset, _, _ = self._read_other(None, None)
        index = self._node_index(node)
        train, val = (np.flatnonzero(mask).tolist() for mask in (self.train_mask_, self.val_mask_))
        explanation: dict[str, Any] = json.loads(self._model.explain(dataset, index, train, val, self._threads()))
        if self.nodes_ is not None:
            for entry in [explanation, *explanation["nodes"], *explanation["nearest"]["nodes"]]:
                entry["node"] = self.nodes_[entry["index"]]
        return explanation

    def _node_index(self, node: Any) -> int:
        n = len(self.probs_)
        if self.nodes_ is not None:
            found = [index for index, name in enumerate(self.nodes_) if name == node]
            if not found:
                raise ValueError(f"`node` is {node!r}, which is not in `nodes_`")
            return found[0]
        if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or not 0 <= node < n:
            raise ValueError(f"`node` is {node!r}; expected a whole number from 0 to {n - 1}")
        return int(node)

    def encode(self, X: Any) -> Any:
        """Return the features that the model reads for ``X``, before scaling.

        A dense array is returned as it is; the columns of a table are encoded as in ``fit``. Sparse features are
        returned as a ``scipy.sparse.csr_array``. The module of ``to_torch`` expects these features.
        """
        self._check_fitted()
        x = encode_features(X, self._model.schema if is_table(X) else None).x
        if isinstance(x, np.ndarray):
            return x
        import scipy.sparse

        values, columns, offsets, shape = x
        return scipy.sparse.csr_array((values, columns, offsets), shape=shape)

    def score(
        self, graph: Any = None, X: Any = None, y: Any = None, *, mask: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the accuracy: the share of the scored nodes that are classified correctly.

        Parameters
        ----------
        graph, X
            As in ``predict``.
        y
            The true labels; unlabelled nodes are ignored. By default, those that come with the graph.
        mask
            The nodes to score, as booleans, node numbers or names. By default, the test nodes that come with
            the graph. If there are none, the nodes of the training graph that were used neither for training
            nor for early stopping, or all nodes of another graph. The training graph is scored if ``graph`` is
            omitted or is the object that was passed to ``fit``.
        sample_weight
            Weights of the nodes in the mean.
        """
        self._check_fitted()
        if isinstance(graph, Nodes):
            X, y = (None, X) if y is None else (X, y)
            y, sample_weight, mask = without_index(y), without_index(sample_weight), without_index(mask)
        predicted = self.predict(graph, X)
        values, source = self._true_labels(graph, X, y)
        nodes = None if isinstance(graph, Nodes) else self.nodes_ if source is None else source.nodes
        known = encode_labels(values).codes >= 0
        if mask is not None:
            known &= mask_of(mask, len(predicted), nodes, "mask")
        elif graph is None or (graph is getattr(self, "_fit_graph", None) and not isinstance(graph, Nodes)):
            known &= self._held_out()
        elif source is not None and source.test_mask is not None:
            known &= mask_of(source.test_mask, len(predicted), nodes, "test_mask")
        if not known.any():
            raise ValueError(
                "no node to score has a label; on the training graph, nodes for training and early stopping "
                "are not scored unless `mask` selects them"
            )
        correct = np.array([a == b for a, b in zip(predicted[known].tolist(), values[known].tolist())])
        if sample_weight is None:
            return float(correct.mean())
        weights = weights_of(sample_weight, len(predicted), nodes, np.flatnonzero(known))
        if weights.shape != predicted.shape:
            raise ValueError(f"`sample_weight` has shape {weights.shape}, but there are {len(predicted)} nodes")
        return float(np.average(correct, weights=weights[known]))

    def _true_labels(self, graph: Any, X: Any, y: Any) -> tuple[np.ndarray, GraphSource | None]:
        """Return the true labels, ``y`` or by default those of the graph, and the source of the graph."""
        source, selected = self._source, _selected(graph)
        if graph is not None:
            source = self._read_source(graph.graph if isinstance(graph, Nodes) else graph, X)
        if y is not None:
            n = len(self.probs_) if source is None else source.graph.n_nodes
            nodes = self.nodes_ if source is None else source.nodes
            return label_values(y, n if selected is None else len(selected), nodes), source
        if source is None or source.y is None:
            raise ValueError("`y` is missing, and the graph has no labels")
        values = label_values(source.y, source.graph.n_nodes, source.nodes)
        return values if selected is None else values[selected], source

    def _held_out(self) -> np.ndarray:
        """Return the nodes of the training graph that ``score`` uses by default."""
        return ~(self.train_mask_ | self.val_mask_) if self.test_mask_ is None else self.test_mask_

    def _is_own(self, graph: Any) -> bool:
        """Return whether the graph is the training graph, without reading it."""
        return graph is None or (isinstance(graph, Nodes) and graph.graph is self._source)

    def _read_source(self, graph: Any, X: Any) -> GraphSource:
        """Read a graph to predict; the attribute that contained the labels in training is not a feature."""
        source = read_graph_of(graph, X)
        table = source.X
        if isinstance(table, ColumnTable) and self._label is not None and self._label in table.column_names:
            return replace(source, X=without_column(table, self._label), y=table.column(self._label))
        return source

    def _read_other(self, graph: Any, X: Any) -> tuple[_clenshaw.Dataset, GraphSource, np.ndarray | None]:
        """Return the data set to predict, its source, and the nodes that ``Nodes`` selects."""
        if graph is None:
            if X is not None:
                raise ValueError("`X` was given without a graph")
            if self._dataset is None or self._source is None:
                raise ValueError(
                    "this model was loaded from a file or unpickled, without its training graph; pass a graph"
                )
            return self._dataset, self._source, None
        if isinstance(graph, Dataset) and X is None and not self._model.inductive:
            # Weights per node: the data set must be the one of the training, including its labels.
            return graph._native, graph._clenshaw_source(), None
        selected = _selected(graph)
        if isinstance(graph, Nodes):
            graph, X = graph.graph, graph.X
        source = self._read_source(graph, X)
        features = self._encode_other(source, source.X)
        n, n_rows = source.graph.n_nodes, features.shape[0]
        if n_rows != n:
            raise ValueError(f"`X` has {n_rows} rows, but the graph has {n} nodes")
        codes = np.full(n, -1, dtype=np.int64)
        names = self._model.class_names
        return _clenshaw.Dataset(source.graph, features.x, codes, names, features.schema), source, selected

    def _encode_other(self, source: GraphSource, X: Any) -> EncodedFeatures:
        """Encode the features of another graph as those of the training graph were."""
        schema, name = self._model.schema, type(self).__name__
        if schema is not None and structure_of(schema) is not None:
            features = structural_features(source.graph, schema)
            if features.shape[1] != self._model.n_features:
                raise ValueError("the model was trained with one feature per node; it can only predict its own graph")
            return features
        if schema is not None and source.schema is not None:
            if source.schema.feature_names != schema.feature_names:
                raise ValueError(
                    "the features of the data set are not those of the training; read its table of nodes, for "
                    "example with pandas, and pass it as `X`"
                )
            return replace(encode_features(X), schema=schema)
        if X is None:
            raise ValueError("`X` is missing: the model was trained with features, and the graph has none")
        if schema is not None and not is_table(X):
            warn(f"X does not have valid feature names, but {name} was fitted with feature names")
            self._check_width(X)
            return encode_unnamed(X, self.feature_names_in_.tolist(), schema)
        if schema is None and is_table(X):
            warn(f"X has feature names, but {name} was fitted without feature names")
            X = np.stack([to_real(column(X, each), str(each)) for each in column_names(X)], axis=1)
        features = encode_features(X, schema)
        if schema is None:
            self._check_width(X)
        return features

    def _check_width(self, X: Any) -> None:
        found, expected = np.shape(X)[1:], self.n_features_in_
        if found != (expected,):
            raise ValueError(
                f"X has {found[0] if found else 0} features, but {type(self).__name__} is expecting {expected} "
                "features as input"
            )

    # ------------------------------------------------------------------ weights

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that ``load`` and ``clenshaw predict`` read."""
        self._check_fitted()
        self._model.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NodeClassifier:
        """Read a model that was saved here or trained by ``clenshaw train`` (``model.safetensors``).

        Classes become integers if the names of all of them are non-negative whole numbers, and text otherwise.
        The training graph is not in the file, so a graph must be passed to ``predict``. LINKX has weights for
        each node, so a loaded LINKX can predict only the data set of ``clenshaw.datasets`` that it was trained
        on.
        """
        if os.path.isdir(path):
            raise IsADirectoryError(f"`{os.fspath(path)}` is a folder; pass the file model.safetensors inside")
        native = _clenshaw.Model.load(os.fspath(path))
        model = cls(native.name, **to_python(native.params))
        model._restore(native, classes_from_names(native.class_names))
        return model

    def _restore(self, native: _clenshaw.Model, classes: np.ndarray) -> None:
        self._model, self.classes_ = native, classes
        self._dataset = self._source = self._scores = self._fit_graph = self._log = None
        self._label = self.test_mask_ = self.nodes_ = None
        self.filter_ = None
        self.n_features_in_ = native.n_features
        names = [] if native.schema is None else table_columns(native.schema)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return the trained weights as arrays, by name."""
        self._check_fitted()
        return self._model.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> NodeClassifier:
        """Replace the weights of a fitted model; names and shapes must be those of ``state_dict``."""
        self._check_fitted()
        arrays = {name: to_real(np.atleast_2d(to_numpy(value)), name) for name, value in state.items()}
        self._model = self._model.with_state(arrays)
        # The training log is that of the old parameters.
        self._log = None
        if self._dataset is not None:
            self._set_scores(self._model.scores(self._dataset, self._threads()))
            self.filter_ = self._learned_filter(self._model.response(self._dataset), self._dataset)
        else:
            # Without the training graph, its predictions are those of the old parameters.
            self._scores = self.filter_ = None
            for name in ("labels_", "probs_"):
                self.__dict__.pop(name, None)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
            state["_dataset"] = state["_source"] = state["_fit_graph"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("_model"), bytes):
            self._model = _clenshaw.Model.from_bytes(state["_model"])

    # --------------------------------------------------------------- parameters

    @classmethod
    def from_preset(cls, model: str, graph: str, **params: Any) -> NodeClassifier:
        """Return an estimator with the published or tuned settings of a model for a public graph.

        Parameters
        ----------
        model
            The name of the model.
        graph
            The name of a graph in ``clenshaw.models(model).presets``.
        **params
            Parameters that replace those of the preset.
        """
        known = _clenshaw.model_info(model)["presets"]
        if graph not in known:
            raise ValueError(f"{model} has no preset for `{graph}`; it has {', '.join(known)}")
        settings = to_python(_clenshaw.preset(model, graph))
        settings.pop("split", None)
        return cls(model, **{**settings, **params})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        return {name: getattr(self, name) for name in self._param_names()}

    def set_params(self, **params: Any) -> NodeClassifier:
        """Set parameters of the estimator."""
        known = self._param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}."
                )
            setattr(self, name, value)
        return self

    @classmethod
    def _param_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _hyper_values(self) -> dict[str, Any]:
        """Return the hyper-parameters that were set, with ``scaling="standard"`` by default."""
        given = {name: value for name, value in self.get_params().items()
                 if name not in OWN_PARAMS and value is not None}
        values = {"scaling": "standard", **to_registry(given)}
        known: set[str] = {hyper["name"] for hyper in _clenshaw.model_info(self.model)["hyper"]}
        unknown = [KEYWORDS.get(name, name) for name in values if name not in known]
        if unknown:
            names = ", ".join(sorted(KEYWORDS.get(name, name) for name in known))
            raise ValueError(f"{self.model} has no hyper-parameter `{unknown[0]}`; it has {names}")
        return values

    def _seed(self) -> int:
        state = self.random_state
        if state is None:
            return 0
        if isinstance(state, (int, np.integer)) and not isinstance(state, bool):
            if not 0 <= state < 2**64:
                raise ValueError(f"`random_state` is {state}; expected a whole number from 0 to 2**64 - 1")
            return int(state)
        for method in ("randint", "integers"):  # of RandomState, of Generator
            if hasattr(state, method):
                return int(getattr(state, method)(2**31))
        raise ValueError(f"`random_state` is {state!r}; expected None, an int or a NumPy generator")

    def _threads(self) -> int:
        jobs = self.n_jobs
        if jobs is None or jobs == -1:
            return _clenshaw.available_threads()
        if not isinstance(jobs, (int, np.integer)) or isinstance(jobs, bool) or jobs < 1:
            raise ValueError(f"`n_jobs` is {jobs!r}; expected None, -1 or a number of threads")
        return min(int(jobs), MAX_THREADS)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_model"):
            raise not_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, sparse=True),
        )

    # ------------------------------------------------------------------ display

    def __repr__(self) -> str:
        defaults = {
            name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        changed = [f"{name}={value!r}" for name, value in self.get_params().items()
                   if name != "model" and not _same(value, defaults[name])]
        return f"{type(self).__name__}({', '.join([repr(self.model), *changed])})"

    def _repr_html_(self) -> str:
        title = f"<code>{escape(repr(self))}</code>"
        if not hasattr(self, "_model"):
            return f"<p>{title}: not fitted</p>"
        rows = [("classes", ", ".join(escape(str(name)) for name in self.classes_.tolist()[:12]))]
        if hasattr(self, "history_"):
            n_train, n_val = int(self.train_mask_.sum()), int(self.val_mask_.sum())
            rows += [
                ("training nodes", f"{n_train}, and {n_val} for early stopping"),
                ("epochs", f"{self.n_iter_}, best {self.best_epoch_}"),
            ]
            if n_val:
                rows.append(("validation accuracy", f"{100 * self.validation_accuracy_:.1f}% (chose the epoch)"))
        table = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{text}</td></tr>" for name, text in rows)
        learned = getattr(self, "filter_", None)
        drawing = learned.to_svg() if learned is not None else ""
        return f"<div><p>{title}</p><table>{table}</table>{drawing}</div>"


def _has_negative(values: np.ndarray) -> bool:
    """Return whether labels contain negative numbers."""
    return any(isinstance(v, (int, float)) and not isinstance(v, bool) and v < 0 for v in values.tolist())


def _selected(graph: Any) -> np.ndarray | None:
    """Return the nodes that ``Nodes`` selects; ``None`` for any other graph."""
    return graph.selected if isinstance(graph, Nodes) else None


def _mask(nodes: np.ndarray, n_nodes: int) -> np.ndarray:
    mask = np.zeros(n_nodes, dtype=bool)
    mask[nodes] = True
    return mask


def _softmax(scores: np.ndarray) -> np.ndarray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    powers = np.exp(shifted.astype(np.float64))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))

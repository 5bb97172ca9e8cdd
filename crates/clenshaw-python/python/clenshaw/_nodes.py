"""Nodes of a graph as samples, so that scikit-learn can split, search and score them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._arrays import indices, to_numpy
from clenshaw._by_node import without_index
from clenshaw._features import encode_labels, features_of, label_values
from clenshaw._graph import GraphSource, read_graph_of


class Nodes:
    """Some or all nodes of a graph, indexed like the rows of an array.

    Selecting nodes keeps the whole graph. A classifier that is fitted with some of the nodes and their
    labels therefore sees the features and edges of the others, but not their labels: the transductive
    setting. This makes ``GridSearchCV``, ``cross_val_score`` and every splitter of scikit-learn work.

    Parameters
    ----------
    graph
        The graph, in any form that ``NodeClassifier.fit`` accepts.
    X
        The features of all nodes; by default those that come with the graph.

    Labels and weights that are passed with ``Nodes`` must be in the order of the selected nodes: the index of a
    pandas Series is not used, nor are the masks that come with the graph.

    Examples
    --------
    >>> import clenshaw, numpy as np
    >>> data = clenshaw.make_csbm(n_nodes=60, random_state=0)
    >>> nodes = clenshaw.Nodes(data.edge_index, data.X)
    >>> nodes.shape
    (60, 32)
    >>> nodes[np.arange(10)].shape
    (10, 32)
    """

    def __init__(self, graph: Any, X: Any = None) -> None:
        source = read_graph_of(graph, X)
        # The nodes to fit and to test are selected; the masks of the graph are not used.
        self.graph: GraphSource = replace(source, train_mask=None, val_mask=None, test_mask=None)
        self.X: Any = source.X
        self._n_features = features_of(self.graph).shape[1]
        self.selected: np.ndarray = np.arange(source.graph.n_nodes)

    def __len__(self) -> int:
        return len(self.selected)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of selected nodes, and of features."""
        return (len(self.selected), self._n_features)

    @property
    def ndim(self) -> int:
        """Two, as for a matrix of features."""
        return 2

    def __getitem__(self, key: Any) -> Nodes:
        """Select nodes by an index array, a mask or a slice."""
        if isinstance(key, tuple):
            key = key[0]
        chosen = Nodes.__new__(Nodes)
        chosen.graph, chosen.X, chosen._n_features = self.graph, self.X, self._n_features
        chosen.selected = np.atleast_1d(self.selected[key])
        return chosen

    def __repr__(self) -> str:
        graph = self.graph.graph
        return f"Nodes({len(self)} of {graph.n_nodes} nodes, {graph.n_edges} edges, {self._n_features} features)"


class NodeSplit:
    """Splits of the labelled nodes, as used in the literature; a scikit-learn splitter.

    Each split is a pair. Its first part contains the training and validation nodes, from which
    ``NodeClassifier`` holds out its own validation nodes; its second part contains the test nodes.

    Parameters
    ----------
    n_splits
        The number of splits.
    kind
        ``"stratified"``: 60/20/20 of each class; ``"balanced"``: ``round(0.6 n / C)`` training nodes of
        each class, as in the papers on spectral GNNs; ``"ratio:a/b/c"``: shares of all labelled nodes.
    random_state
        The seed of the first split, incremented for each further split; ``None`` is 0.
    """

    def __init__(self, n_splits: int = 10, kind: str = "stratified", random_state: int | None = None) -> None:
        self.n_splits = n_splits
        self.kind = kind
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield pairs of index arrays into the rows of ``X``: nodes to fit, nodes to test."""
        if not isinstance(self.n_splits, (int, np.integer)) or isinstance(self.n_splits, bool) or self.n_splits < 1:
            raise ValueError(f"`n_splits` is {self.n_splits!r}; expected a number of splits, at least 1")
        n = len(to_numpy(y))
        labels = encode_labels(label_values(without_index(y), n, None))
        no_edges = _clenshaw.Graph.from_edges(indices([]), indices([]), None, n)
        data = _clenshaw.Dataset(no_edges, np.ones((n, 1)), labels.codes, labels.class_names)
        for seed in range(self.n_splits):
            train, val, test = data.split(self.kind, (self.random_state or 0) + seed)
            yield np.sort(np.concatenate([train, val])), test


def hold_out(codes: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the labelled nodes into training and validation nodes, class by class.

    A class with fewer than three labelled nodes is used for training only.
    """
    generator = np.random.default_rng(seed)
    train, val = [], []
    for code in np.unique(codes[codes >= 0]):
        members = generator.permutation(np.flatnonzero(codes == code))
        n_val = 0 if len(members) < 3 or fraction == 0 else max(1, round(fraction * len(members)))
        val.append(members[:n_val])
        train.append(members[n_val:])
    empty = np.zeros(0, dtype=np.int64)
    return np.sort(np.concatenate([empty, *train])), np.sort(np.concatenate([empty, *val]))

"""Data sets: built in, generated, downloaded, or read from your own files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._errors import warn
from clenshaw._features import classes_from_names
from clenshaw._graph import GraphSource

__all__ = ["Dataset", "fetch", "load", "names"]


class Dataset:
    """A graph with features and labels.

    It can be passed to ``NodeClassifier.fit`` instead of a graph, and to ``compare`` and ``tune``. If it has
    exactly one split, for example the column ``split`` of your own table, they use this split by default.

    Attributes
    ----------
    name : str
        The name or path with which it was loaded.
    X : ndarray or scipy.sparse.csr_array
        The features; sparse features need SciPy.
    y : ndarray
        The label of every node; ``None`` (for numbers, -1) if it is unknown.
    classes : ndarray
        The classes.
    feature_names, node_names : list of str or None
        Names, if there are any.
    split_names : list of str
        The names of the splits that come with it; the column ``split`` of your own table is ``own``.
    notes, warnings : list of str
        How the files were interpreted, and known flaws of the data.
    """

    def __init__(self, native: _clenshaw.Dataset) -> None:
        self._native = native
        self.name: str = native.name
        self.classes: np.ndarray = classes_from_names(native.class_names)
        self.feature_names: list[str] | None = native.feature_names
        self.node_names: list[str] | None = native.node_names or None
        self.source: str = native.source
        self.notes: list[str] = native.notes
        self.warnings: list[str] = native.warnings
        self.split_names: list[str] = native.split_names

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return self._native.graph.n_nodes

    @property
    def n_edges(self) -> int:
        """The number of undirected edges."""
        return self._native.graph.n_edges

    @property
    def edge_index(self) -> np.ndarray:
        """Both directions of every edge, of shape (2, 2 * n_edges)."""
        offsets, columns, _ = self._native.graph.to_csr()
        rows = np.repeat(np.arange(self.n_nodes), np.diff(offsets))
        return np.stack([rows, columns.astype(np.int64)])

    @property
    def adjacency(self) -> Any:
        """The symmetric adjacency matrix as a ``scipy.sparse.csr_array``; needs SciPy."""
        import scipy.sparse

        offsets, columns, weights = self._native.graph.to_csr()
        values = np.ones(len(columns), np.float32) if weights is None else weights
        return scipy.sparse.csr_array((values, columns, offsets), shape=(self.n_nodes, self.n_nodes))

    @property
    def X(self) -> Any:
        """The features of all nodes."""
        features = self._native.features
        if isinstance(features, np.ndarray):
            return features
        import scipy.sparse

        values, columns, offsets, shape = features
        return scipy.sparse.csr_array((values, columns, offsets), shape=shape)

    @property
    def y(self) -> np.ndarray:
        """The label of every node."""
        codes = self._native.classes
        if self.classes.dtype.kind in "iu":
            return np.where(codes >= 0, self.classes[codes], -1)
        labels: np.ndarray = self.classes[codes].astype(object)
        labels[codes < 0] = None
        return labels

    def split(self, kind: str = "stratified", seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return boolean masks of training, validation and test nodes.

        Parameters
        ----------
        kind
            ``stratified``, ``balanced``, ``ratio:a/b/c``, or the name of a published split, see
            ``split_names``.
        seed
            The seed of a random split.
        """
        masks = []
        for part in self._native.split(kind, seed):
            mask = np.zeros(self.n_nodes, dtype=bool)
            mask[part] = True
            masks.append(mask)
        return masks[0], masks[1], masks[2]

    def _clenshaw_source(self) -> GraphSource:
        features = self._native.features
        x = features if isinstance(features, np.ndarray) else _CsrFeatures(*features)
        source = GraphSource(self._native.graph, X=x, y=self.y, nodes=self.node_names, schema=self._native.schema)
        name = only_split(self._native)
        if name is not None:
            source.train_mask, val, test = self.split(name)
            source.val_mask, source.test_mask = val if val.any() else None, test if test.any() else None
        return source

    def __repr__(self) -> str:
        n_features = self._native.features
        width = n_features.shape[1] if isinstance(n_features, np.ndarray) else n_features[3][1]
        return (
            f"Dataset({self.name}: {self.n_nodes} nodes, {self.n_edges} edges, {width} features, "
            f"{len(self.classes)} classes)"
        )


def only_split(native: _clenshaw.Dataset) -> str | None:
    """Return the name of the published split of a data set, if it has exactly one."""
    names = native.split_names
    return names[0] if len(names) == 1 else None


class _CsrFeatures:
    """Sparse features without SciPy: the part of a SciPy matrix that this package uses."""

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self.nnz = len(data)

    def tocsr(self) -> _CsrFeatures:
        return self


def load(name: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name, or your own files by path.

    Parameters
    ----------
    name
        A name returned by ``names``, or a path, which is read as by ``clenshaw train``. ``cora`` is built in,
        ``csbm`` and others are generated (``csbm:nodes=500,homophily=0.3``), and others are read from files,
        see ``fetch``.
    folder
        A data folder to search before ``$CLENSHAW_DATA`` and the cache folder.
    """
    try:
        native = _clenshaw.Dataset.load(os.fspath(name), None if folder is None else os.fspath(folder))
    except FileNotFoundError as error:
        if name not in names():
            raise
        raise FileNotFoundError(f"{error}; `clenshaw.datasets.fetch({name!r})` downloads them") from None
    data = Dataset(native)
    for warning in data.warnings:
        warn(f"{data.name}: {warning}")
    return data


def fetch(
    name: str, *, folder: str | os.PathLike[str] | None = None, mirror: str | os.PathLike[str] | None = None
) -> Dataset:
    """Download the files of a public data set, verify their checksums, and load it.

    Parameters
    ----------
    name
        The name of the data set.
    folder
        Where to store the files; by default ``$CLENSHAW_DATA``, or else the cache folder.
    mirror
        A folder or URL to read the files from, instead of their published sources.
    """
    into = None if folder is None else os.fspath(folder)
    _clenshaw.fetch(name, into, None if mirror is None else os.fspath(mirror))
    return load(name, folder=folder)


def names() -> dict[str, str]:
    """Return the names of all data sets, with their descriptions."""
    return {name: f"{title} ({kind})" for name, kind, title in _clenshaw.dataset_names()}

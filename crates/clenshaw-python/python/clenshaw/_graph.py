"""Readers of graphs: matrices, edge lists, tables, and graph objects of other libraries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._arrays import (
    ColumnTable,
    check_two_dimensional,
    column,
    column_names,
    csr_arrays,
    indices,
    is_missing,
    is_sparse,
    is_table,
    to_numpy,
    to_real,
    without_column,
)
from clenshaw._by_node import is_series, whole_numbers
from clenshaw._errors import describe, warn

#: Names of the columns of an edge table: source and target.
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"))
#: Names of the column of edge weights.
WEIGHT_NAMES = ("weight", "edge_weight")
#: Names of the column of a table of nodes that contains the names of the nodes.
ID_NAMES = ("id", "node", "name", "node_id")

EXPECTED = (
    "a SciPy sparse matrix, a square array, an edge index of shape (2, E), a tuple (edge index, weights), "
    "a table of edges, a graph of NetworkX, igraph, PyTorch Geometric or DGL, or a clenshaw data set"
)


@dataclass
class GraphSource:
    """A graph and the features, labels, masks and names that came with it."""

    graph: _clenshaw.Graph
    #: Features, as an array, a sparse matrix or a table.
    X: Any = None
    #: Labels, in any form that ``fit`` accepts.
    y: Any = None
    #: The names of the nodes in order; ``None`` if they are numbered.
    nodes: list[Any] | None = None
    #: How features that are already encoded were made of the columns of a table.
    schema: _clenshaw.Schema | None = None
    train_mask: Any = None
    val_mask: Any = None
    test_mask: Any = None


def read_graph_of(graph: Any, X: Any = None, y: Any = None, label: str | None = None) -> GraphSource:
    """Read a graph; given features and labels determine the number and names of its nodes.

    The features to use are ``X`` of the result.
    """
    if is_table(graph) and label is None:
        return _from_table(graph, X, _n_labels(y))
    n_nodes = n_rows(X) if X is not None else _n_labels(y)
    source = read_graph(graph, n_nodes=n_nodes, label=label)
    if X is None or X is source.X:
        return source
    if source.nodes is not None and hasattr(type(X), "iloc") and is_table(X):
        index = list(X.index)
        if index != list(range(len(index))) and len(index) == len(source.nodes) and set(index) == set(source.nodes):
            X = X.loc[source.nodes]
    return replace(source, X=X, schema=None)


class _AtLeast(int):
    """A number of nodes that the edges may exceed."""


def _n_labels(y: Any) -> int | None:
    """Return the number of nodes that labels imply; ``None`` if they may be those of some nodes only."""
    if isinstance(y, dict):
        return None
    if is_series(y):
        index = list(y.index)
        if whole_numbers(index) and len(set(index)) == len(index):
            return _AtLeast(len(index)) if set(index) == set(range(len(index))) else None
    return n_rows(y)


def n_rows(values: Any) -> int | None:
    """Return the number of rows of an array, a table or a list; ``None`` if it has none."""
    shape = getattr(values, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(values) if hasattr(values, "__len__") else None


def read_graph(
    source: Any,
    *,
    n_nodes: int | None = None,
    nodes: list[Any] | None = None,
    label: str | None = None,
) -> GraphSource:
    """Read a graph of any supported kind.

    Parameters
    ----------
    source
        The graph.
    n_nodes
        The number of nodes, for edge lists; otherwise one more than the largest node.
    nodes
        The names of the nodes in order, for tables of edges.
    label
        The node attribute that contains the labels, for graph objects.
    """
    if isinstance(source, GraphSource):
        return source
    if isinstance(source, _clenshaw.Graph):
        return GraphSource(source)
    if hasattr(source, "_clenshaw_source"):
        found = source._clenshaw_source()
        assert isinstance(found, GraphSource)
        return found
    if is_table(source) and label is None:
        return _from_table(source, None, n_nodes, nodes)
    if hasattr(source, "edge_index"):
        return _from_pyg(source)
    if hasattr(source, "ndata") and hasattr(source, "edges"):
        return _from_dgl(source, label)
    if hasattr(source, "nodes") and hasattr(source, "adj"):
        return _from_networkx(source, label)
    if hasattr(source, "get_edgelist") and hasattr(source, "vs"):
        return _from_igraph(source, label)
    if label is not None:
        raise ValueError(
            f"`label` names a node attribute of a graph object, but the graph is {describe(source)}; pass `y`"
        )
    if is_sparse(source):
        return GraphSource(_from_sparse(source))
    if isinstance(source, tuple) and len(source) == 2 and np.ndim(source[0]) == 2:
        return GraphSource(_from_index(source[0], source[1], n_nodes))
    try:
        array = to_numpy(source)
    except Exception:  # of an unknown object that cannot be converted
        array = np.asarray(None)
    if array.dtype == object or array.dtype.kind in "USOMmV":
        raise TypeError(f"the graph is {describe(source)}; expected {EXPECTED}")
    check_two_dimensional(array, "graph", source)
    is_index = array.shape[0] == 2 and (array.dtype.kind in "iu" or array.size == 0)
    # Two edges or a matrix of two nodes: the number of nodes decides.
    if is_index and (array.shape[1] != 2 or n_nodes not in (None, 2)):
        return GraphSource(_from_index(array, None, n_nodes))
    if array.shape[0] == array.shape[1]:
        return GraphSource(_from_dense(array))
    raise ValueError(
        f"the graph is an array of {array.dtype} of shape {array.shape}; expected {EXPECTED}"
    )


def _from_sparse(matrix: Any) -> _clenshaw.Graph:
    n_rows, n_cols = matrix.shape
    if n_rows != n_cols:
        raise ValueError(f"the adjacency matrix is {n_rows} x {n_cols}; expected a square matrix")
    _check_size(n_rows, matrix.nnz)
    data, columns, offsets, _ = csr_arrays(matrix)
    weights = None if _all_ones(data) else data
    return _clenshaw.Graph.from_csr(offsets, columns, weights)


def _all_ones(values: np.ndarray) -> bool:
    return values.size == 0 or bool(values.min() == 1 == values.max())


def _from_dense(array: np.ndarray) -> _clenshaw.Graph:
    if not np.isfinite(array).all():
        raise ValueError("the adjacency matrix contains NaN or inf; expected finite numbers")
    sources, targets = np.nonzero(array)
    weights = to_real(array[sources, targets], "graph")
    return _clenshaw.Graph.from_edges(sources, targets, None if _all_ones(weights) else weights, len(array))


def _from_index(index: Any, weights: Any, n_nodes: int | None) -> _clenshaw.Graph:
    pair = indices(index)
    if pair.ndim != 2 or pair.shape[0] != 2:
        raise ValueError(f"the edge index has shape {pair.shape}; expected (2, number of edges)")
    if weights is not None:
        weights = to_real(weights, "weights").reshape(-1)
    if n_nodes is None or isinstance(n_nodes, _AtLeast):
        largest = max(int(pair.max()) + 1, 0) if pair.size else 0
        if n_nodes is None or largest > n_nodes:
            _check_size(largest, pair.shape[1])
        n_nodes = max(largest, n_nodes or 0)
    if not 0 <= n_nodes < 2**32:
        raise ValueError(f"the graph has {n_nodes} nodes; expected at most {2**32 - 1}")
    sources, targets = np.ascontiguousarray(pair[0]), np.ascontiguousarray(pair[1])
    return _clenshaw.Graph.from_edges(sources, targets, weights, n_nodes)


def _check_size(n_nodes: int, n_edges: int) -> None:
    """Raise a ``ValueError`` for sizes that follow from a wrong node number, before memory is allocated."""
    if n_nodes > 1_000_000 and n_nodes > 1000 * n_edges:
        raise ValueError(
            f"{n_edges} edges between {n_nodes} nodes; number the nodes from 0 without gaps, or pass `X` or `y`"
        )


def _from_pyg(data: Any) -> GraphSource:
    if data.edge_index is None:
        raise ValueError(f"the graph is {describe(data)} without an edge_index")
    index = indices(data.edge_index)
    weights = getattr(data, "edge_weight", None)
    n_nodes = getattr(data, "num_nodes", None)
    x, y = getattr(data, "x", None), getattr(data, "y", None)
    if x is not None:
        n_nodes = len(x)
    elif n_nodes is not None and y is None:
        _check_size(n_nodes, index.size // 2)
    return GraphSource(
        _from_index(index, weights, n_nodes),
        X=x,
        y=None if y is None else to_numpy(y).reshape(-1),
        **{name: _first_split(getattr(data, name, None)) for name in ("train_mask", "val_mask", "test_mask")},
    )


def _first_split(mask: Any) -> Any:
    """Return a mask; of several splits, one per column, the first."""
    if mask is None:
        return None
    array = to_numpy(mask)
    if array.ndim == 2:
        warn(f"the masks contain {array.shape[1]} splits, one per column; the first one is used")
        return array[:, 0]
    return array


def _from_dgl(graph: Any, label: str | None) -> GraphSource:
    sources, targets = graph.edges()
    index = np.stack([indices(sources), indices(targets)])
    data = graph.ndata
    weights = graph.edata["weight"] if "weight" in graph.edata else None

    def attribute(*names: str) -> Any:
        found = [data[name] for name in names if name in data]
        return found[0] if found else None

    if label is not None and label not in data:
        known = ", ".join(map(str, data)) or "none"
        raise ValueError(f"the DGL graph has no node data `{label}`; node data: {known}")
    return GraphSource(
        _from_index(index, weights, int(graph.num_nodes())),
        X=attribute("feat", "x"),
        y=attribute(label) if label else attribute("label", "y"),
        train_mask=attribute("train_mask"),
        val_mask=attribute("val_mask"),
        test_mask=attribute("test_mask"),
    )


def _from_networkx(graph: Any, label: str | None) -> GraphSource:
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    edges = list(graph.edges(data="weight", default=1.0))
    index = np.array([[number[u], number[v]] for u, v, _ in edges], dtype=np.int64).reshape(-1, 2).T
    weights = np.array([1.0 if weight is None else weight for _, _, weight in edges], dtype=np.float64)
    attributes = [dict(graph.nodes[node]) for node in nodes]
    X, y = _split_attributes(attributes, label, "the NetworkX graph")
    return GraphSource(
        _from_index(index, None if _all_ones(weights) else weights, len(nodes)), X=X, y=y, nodes=nodes
    )


def _from_igraph(graph: Any, label: str | None) -> GraphSource:
    index = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    weights = graph.es["weight"] if "weight" in graph.es.attributes() else None
    names = graph.vs.attributes()
    attributes = [{name: vertex[name] for name in names if name != "name"} for vertex in graph.vs]
    X, y = _split_attributes(attributes, label, "the igraph graph")
    nodes = list(graph.vs["name"]) if "name" in names else None
    return GraphSource(_from_index(index, weights, graph.vcount()), X=X, y=y, nodes=nodes)


def _split_attributes(
    attributes: list[dict[Any, Any]], label: str | None, what: str
) -> tuple[ColumnTable | None, list[Any] | None]:
    """Return the node attributes as a table of features, and those of the label."""
    names = list(dict.fromkeys(name for node in attributes for name in node))
    if label is not None and label not in names:
        known = ", ".join(map(str, names)) or "none"
        raise ValueError(f"no node of {what} has the attribute `{label}`; attributes: {known}")
    y = [node.get(label) for node in attributes] if label is not None else None
    features = [name for name in names if name != label]
    if not features:
        return None, y
    return ColumnTable({str(name): [node.get(name) for node in attributes] for name in features}), y


def _from_table(table: Any, X: Any, n_nodes: int | None, nodes: list[Any] | None = None) -> GraphSource:
    """Read a table of edges; the order of named nodes is that of the table ``X``."""
    names = column_names(table)
    lower = {str(name).lower(): name for name in names}
    ends = next(((lower[s], lower[t]) for s, t in END_NAMES if s in lower and t in lower), None)
    if ends is None:
        if len(names) < 2:
            raise ValueError(f"the edge table has the columns {names}; expected at least source and target")
        ends = (names[0], names[1])
        warn(f"the edge table has no columns named source and target; `{ends[0]}` and `{ends[1]}` are used")
    sources, targets = column(table, ends[0]), column(table, ends[1])
    weight = next((lower[name] for name in WEIGHT_NAMES if name in lower), None)
    weights = None if weight is None else column(table, weight)
    unused = [f"`{name}`" for name in names if name not in (*ends, weight)]
    if unused:
        hint = "" if weight is not None else "; the weight of an edge is the column `weight`"
        warn(f"columns of the edge table that are not used: {', '.join(unused)}{hint}")
    both = np.concatenate([sources, targets])
    listed = both.tolist()
    numbered = all(isinstance(name, int) for name in listed)
    if not numbered and any(map(is_missing, listed)):
        raise ValueError("the edge table has missing ends")
    if nodes is None and X is not None:
        nodes, X = _names_of_rows(X, set(listed))
        if nodes is None and not numbered:
            raise ValueError(
                "the nodes of the edge table are named, and `X` does not contain their names; pass a pandas table "
                "with the names as its index, or a table with the names in a column "
                + ", ".join(f"`{name}`" for name in ID_NAMES[:-1]) + f" or `{ID_NAMES[-1]}`"
            )
    if nodes is None and numbered:
        n_nodes = n_nodes if X is None else n_rows(X)
        if X is not None or _is_numbering(both, n_nodes):
            return GraphSource(_from_index(both.reshape(2, -1), weights, n_nodes), X=X)
    if nodes is None:
        nodes = sorted(set(listed)) if numbered else sorted(set(listed), key=str)
        if numbered:
            warn("the numbers of the nodes are not 0, 1, 2, ...: they are read as names and sorted, see `nodes_`")
        else:
            warn("the nodes are named, and no table of nodes gives their order; they are sorted by name, see `nodes_`")
    number = {node: i for i, node in enumerate(nodes)}
    if len(number) < len(nodes):
        raise ValueError("the index of `X` contains a node twice")
    missing = next((name for name in listed if name not in number), None)
    if missing is not None:
        raise ValueError(
            f"the edge table contains the node `{missing}`, which is not in the index of `X` or in a column "
            "`id` of it"
        )
    numbers = np.array([number[name] for name in listed], dtype=np.int64).reshape(2, -1)
    return GraphSource(_from_index(numbers, weights, len(nodes)), X=X, nodes=list(nodes))


def _names_of_rows(X: Any, names: set[Any]) -> tuple[list[Any] | None, Any]:
    """Return the name of the node in each row of ``X``, and ``X`` without the column of these names.

    The names are the index of a pandas table or, if it does not contain them or is the default index, a column
    that does.
    """
    if not is_table(X):
        return None, X
    index = list(X.index) if hasattr(type(X), "iloc") else None
    contains = index is not None and names <= set(index)
    if names and (not contains or index == list(range(len(X)))):
        lower = {str(name).lower(): name for name in column_names(X)}
        for candidate in (lower[name] for name in ID_NAMES if name in lower):
            found = column(X, candidate).tolist()
            if names <= set(found) and len(set(found)) == len(found):
                return found, without_column(X, candidate)
            if names <= set(found) and not contains:
                raise ValueError(f"the column `{candidate}` of `X` contains a node twice")
    return index, X


def _is_numbering(ends: np.ndarray, n_nodes: int | None) -> bool:
    """Return whether the ends of edges are node numbers: below a given number of nodes, or without gaps."""
    if not ends.size or ends.min() < 0:  # negative numbers are an error, reported later
        return True
    last = int(ends.max())
    return (n_nodes is not None and last < n_nodes) or len(set(ends.tolist())) == last + 1

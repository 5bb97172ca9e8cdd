"""Graphs of other libraries give the same adjacency and the same predictions."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from conftest import Problem

import clenshaw
from clenshaw import NodeClassifier
from clenshaw._graph import read_graph, read_graph_of


def dense(graph: Any, **settings: Any) -> np.ndarray:
    """The adjacency that the package makes of a graph."""
    native = read_graph(graph, **settings).graph
    indptr, indices, weights = native.to_csr()
    values = np.ones(len(indices), np.float32) if weights is None else weights
    return sp.csr_array((values, indices, indptr), shape=(native.n_nodes, native.n_nodes)).toarray()


def notes(graph: Any, **settings: Any) -> list[str]:
    return list(read_graph(graph, **settings).graph.notes)


# Unweighted ------------------------------------------------------------------------------------


def from_networkx(a: np.ndarray, kind: Any = nx.Graph) -> Any:
    graph = kind()
    graph.add_nodes_from(range(len(a)))
    graph.add_edges_from(np.argwhere(a).tolist())
    return graph


def from_igraph(a: np.ndarray) -> Any:
    return igraph.Graph(n=len(a), edges=np.argwhere(np.triu(a)).tolist())


class DglLike:
    """The interface of a DGL graph that is used; DGL itself cannot be installed from PyPI here."""

    def __init__(self, index: Any, n: int, ndata: dict[str, Any], edata: dict[str, Any] | None = None) -> None:
        self._index, self._n, self.ndata, self.edata = index, n, ndata, edata or {}

    def edges(self) -> tuple[Any, Any]:
        return self._index[0], self._index[1]

    def num_nodes(self) -> int:
        return self._n


GRAPHS = {
    "dense": lambda a: a,
    "dense bool": lambda a: a.astype(bool),
    "dense int": lambda a: a.astype(np.int8),
    "dense list": lambda a: a.astype(int).tolist(),
    "dense Fortran": lambda a: np.asfortranarray(a),
    "upper triangle": lambda a: np.triu(a),
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "coo_matrix": sp.coo_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "csr of bools": lambda a: sp.csr_array(a.astype(bool)),
    "csr of int64": lambda a: sp.csr_array(a.astype(np.int64)),
    "csr with int64 indices": lambda a: _with_int64(sp.csr_array(a)),
    "csr, unsorted": lambda a: _reversed_rows(sp.csr_array(a)),
    "lower triangle csr": lambda a: sp.csr_array(np.tril(a)),
    "edge index": lambda a: np.argwhere(a).T,
    "edge index int32": lambda a: np.argwhere(a).T.astype(np.int32),
    "edge index uint16": lambda a: np.argwhere(a).T.astype(np.uint16),
    "edge index, contiguous": lambda a: np.ascontiguousarray(np.argwhere(a).T),
    "edge index, one direction": lambda a: np.argwhere(np.triu(a)).T,
    "edge index list": lambda a: np.argwhere(a).T.tolist(),
    "edge index, every edge twice": lambda a: np.concatenate([np.argwhere(a), np.argwhere(a)]).T,
    "index and ones": lambda a: (np.argwhere(a).T, np.ones(int(a.sum()))),
    "index and no weights": lambda a: (np.argwhere(a).T, None),
    "pandas": lambda a: pd.DataFrame(np.argwhere(a), columns=["source", "target"]),
    "pandas nullable": lambda a: pd.DataFrame(np.argwhere(a), columns=["source", "target"]).astype("Int64"),
    "pandas src dst": lambda a: pd.DataFrame(np.argwhere(a), columns=["src", "dst"]),
    "pandas, other columns": lambda a: pd.DataFrame(
        {"kind": "x", "edge_index": 3, "column_names": 4, "Target": np.argwhere(a)[:, 1], "Source": np.argwhere(a)[:, 0]}
    ),
    "polars": lambda a: pl.DataFrame(np.argwhere(a), schema=["source", "target"]),
    "polars uint32": lambda a: pl.DataFrame(np.argwhere(a).astype(np.uint32), schema=["from", "to"]),
    "arrow": lambda a: pa.table({"source": np.argwhere(a)[:, 0], "target": np.argwhere(a)[:, 1]}),
    "networkx": from_networkx,
    "networkx DiGraph": lambda a: from_networkx(a, nx.DiGraph),
    "networkx DiGraph, one direction": lambda a: from_networkx(np.triu(a), nx.DiGraph),
    "networkx MultiGraph": lambda a: from_networkx(a, nx.MultiGraph),
    "networkx MultiDiGraph": lambda a: from_networkx(a, nx.MultiDiGraph),
    "igraph": from_igraph,
    "igraph directed": lambda a: igraph.Graph(n=len(a), edges=np.argwhere(a).tolist(), directed=True),
    "dgl": lambda a: DglLike(np.argwhere(a).T, len(a), {}),
    "namespace like PyG": lambda a: SimpleNamespace(edge_index=np.argwhere(a).T, num_nodes=len(a)),
}


def _with_int64(matrix: Any) -> Any:
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def _reversed_rows(matrix: Any) -> Any:
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


@pytest.mark.parametrize("kind", GRAPHS)
def test_every_kind_of_graph_gives_the_same_result(problem: Problem, adjacency: np.ndarray, kind: str) -> None:
    graph = GRAPHS[kind](adjacency)
    assert np.array_equal(dense(graph, n_nodes=60), adjacency)
    model = NodeClassifier("clenshaw-gcn", max_epochs=5, random_state=0)
    model.fit(graph, problem.X, problem.y, train_mask=problem.train, val_mask=problem.val)
    expected = problem.fit("clenshaw-gcn", max_epochs=5)
    assert np.array_equal(model.decision_function(), expected.decision_function())
    assert np.array_equal(expected.predict_proba(graph, problem.X), expected.predict_proba())
    assert clenshaw.homophily(graph, problem.y) == clenshaw.homophily(adjacency, problem.y)


def test_torch_tensors_are_arrays(problem: Problem) -> None:
    torch = pytest.importorskip("torch")
    model = NodeClassifier("gcn", max_epochs=10, random_state=0).fit(
        torch.tensor(problem.edge_index), torch.tensor(problem.X, requires_grad=True), torch.tensor(problem.y),
        train_mask=torch.tensor(problem.train), val_mask=torch.tensor(problem.val),
    )
    assert np.array_equal(model.probs_, problem.fit().probs_)
    weights = torch.rand(problem.edge_index.shape[1])
    weighted = (torch.tensor(problem.edge_index), weights)
    assert np.array_equal(dense(weighted), dense((problem.edge_index, weights.numpy())))


# Weights, directions, loops --------------------------------------------------------------------

# 0 -> 1 has weight 2 and 1 -> 0 weight 4; 1 -> 2 has 0.5 in one direction; 2 -> 2 is a loop; 3 is isolated.
ARCS = [(0, 1, 2.0), (1, 0, 4.0), (1, 2, 0.5), (2, 2, 9.0)]
EXPECTED = np.array([[0, 3, 0, 0], [3, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]], np.float32)
ROWS, COLUMNS, WEIGHTS = (np.array(values) for values in zip(*ARCS))
MATRIX = sp.coo_array((WEIGHTS, (ROWS, COLUMNS)), shape=(4, 4))


def weighted_networkx(kind: Any) -> Any:
    graph = kind()
    graph.add_nodes_from(range(4))
    graph.add_weighted_edges_from(ARCS)
    return graph


@pytest.mark.parametrize(
    "graph",
    [
        MATRIX.toarray(),
        MATRIX,
        MATRIX.tocsr(),
        MATRIX.tocsc(),
        sp.csr_matrix(MATRIX).astype(np.float32),
        (np.stack([ROWS, COLUMNS]), WEIGHTS),
        (np.stack([ROWS, COLUMNS]).tolist(), WEIGHTS.tolist()),
        (np.stack([ROWS, COLUMNS]), WEIGHTS.reshape(-1, 1)),
        pd.DataFrame(ARCS, columns=["source", "target", "weight"]),
        pl.DataFrame(ARCS, schema=["source", "target", "weight"], orient="row"),
        pa.table({"u": ROWS, "v": COLUMNS, "edge_weight": WEIGHTS}),
        weighted_networkx(nx.DiGraph),
        weighted_networkx(nx.MultiDiGraph),
        igraph.Graph(n=4, edges=[arc[:2] for arc in ARCS], directed=True, edge_attrs={"weight": WEIGHTS.tolist()}),
        SimpleNamespace(edge_index=np.stack([ROWS, COLUMNS]), edge_weight=WEIGHTS, num_nodes=4),
        DglLike(np.stack([ROWS, COLUMNS]), 4, {}, {"weight": WEIGHTS}),
    ],
    ids=lambda graph: type(graph).__module__.split(".")[0] + "." + type(graph).__name__,
)
def test_both_directions_are_averaged_and_loops_removed(graph: Any) -> None:
    assert np.array_equal(dense(graph, n_nodes=4), EXPECTED)
    found = notes(graph, n_nodes=4)
    assert found[0] == "self-loops removed: 1"
    assert found[1] == "3 entries between different nodes became 2 undirected edges"


def test_the_rules_hold_for_random_weighted_graphs() -> None:
    rng = np.random.default_rng(3)
    a = np.where(rng.random((30, 30)) < 0.2, rng.uniform(0.5, 2, (30, 30)).astype(np.float32), 0)
    both = (a > 0) & (a.T > 0)
    expected = np.where(both, (a + a.T) / 2, a + a.T)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(dense(a), expected, rtol=1e-6)
    np.testing.assert_allclose(dense(sp.csr_array(a)), expected, rtol=1e-6)


def test_repeated_weighted_edges_are_added() -> None:
    index = np.array([[0, 0, 1], [1, 1, 2]])
    assert dense((index, [1.0, 2.0, 0.5]))[0, 1] == 3.0
    # SciPy adds repeated entries, NetworkX keeps parallel edges.
    matrix = sp.coo_array(([1.0, 2.0, 0.5], (index[0], index[1])), shape=(3, 3))
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from([(0, 1, 1.0), (0, 1, 2.0), (1, 2, 0.5)])
    assert np.array_equal(dense(matrix), dense(graph)) and dense(matrix)[0, 1] == 3.0
    # Without weights, repeated edges are one edge.
    assert dense(index)[0, 1] == 1.0


def test_weights_change_predictions(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    index = problem.edge_index[:, problem.edge_index[0] < problem.edge_index[1]]
    weights = rng.uniform(0.1, 3, index.shape[1])
    model = NodeClassifier("gcn", max_epochs=5).fit((index, weights), problem.X, problem.y)
    ones = NodeClassifier("gcn", max_epochs=5).fit(index, problem.X, problem.y)
    assert not np.array_equal(model.probs_, ones.probs_)
    matrix = sp.coo_array((weights, (index[0], index[1])), shape=(60, 60))
    assert np.array_equal(
        NodeClassifier("gcn", max_epochs=5).fit(matrix, problem.X, problem.y).probs_, model.probs_
    )


def test_notes_are_empty_for_clean_graphs(problem: Problem) -> None:
    assert problem.fit(max_epochs=1).notes_ == []
    one_direction = problem.edge_index[:, problem.edge_index[0] < problem.edge_index[1]]
    assert NodeClassifier("gcn", max_epochs=1).fit(one_direction, problem.X, problem.y).notes_ == []
    loops = np.concatenate([problem.edge_index, [[3, 4], [3, 4]]], axis=1)
    assert NodeClassifier("gcn", max_epochs=1).fit(loops, problem.X, problem.y).notes_ == ["self-loops removed: 2"]


def test_explicit_zeros_are_no_edges() -> None:
    matrix = sp.csr_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert np.array_equal(dense(matrix), [[0, 0, 0], [0, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_wrong_weights_are_reported(weight: float) -> None:
    for graph in (([[0], [1]], [weight]), sp.csr_array([[0, weight], [weight, 0]]), np.array([[0, weight], [weight, 0]])):
        with pytest.raises(ValueError, match="expected (a finite, non-negative number|finite numbers)"):
            read_graph(graph)


# Ambiguous and odd arrays ----------------------------------------------------------------------


def test_two_edges_or_two_nodes() -> None:
    array = np.array([[0, 1], [1, 2]])
    # With three nodes it is an edge index; with two it is a matrix with a loop.
    assert np.array_equal(dense(array, n_nodes=3), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert dense(array, n_nodes=2).shape == (2, 2)
    model = NodeClassifier("gcn", max_epochs=1).fit(array, [[1.0], [2.0], [0.0]], [0, 1, 0])
    assert model.predict().shape == (3,)


def test_graphs_without_edges() -> None:
    for graph in (np.zeros((2, 0), int), [[], []], np.zeros((5, 5)), sp.csr_array((5, 5)), from_networkx(np.zeros((5, 5)))):
        assert np.array_equal(dense(graph, n_nodes=5), np.zeros((5, 5)))


def test_nodes_without_edges_at_the_end_come_from_X() -> None:
    assert dense([[0], [1]], n_nodes=4).shape == (4, 4)
    model = NodeClassifier("gcn", max_epochs=1).fit([[0, 1, 0], [1, 2, 2]], np.eye(5), [0, 1, 0, 1, 0])
    assert len(model.predict()) == 5


@pytest.mark.parametrize(
    ("graph", "error", "text"),
    [
        (np.zeros((3, 4)), ValueError, r"float64 of shape \(3, 4\)"),
        (np.zeros(3), ValueError, "1 dimensions"),
        (np.zeros((2, 2, 2)), ValueError, "3 dimensions"),
        (sp.csr_array((3, 4)), ValueError, "expected a square matrix"),
        ("cora", TypeError, "the graph is str; expected a SciPy"),
        (None, TypeError, "the graph is NoneType"),
        (object(), TypeError, "the graph is object"),
        ([["a", "b"], ["c", "d"]], TypeError, "the graph is list"),
        ([[0, 1], [1]], TypeError, "the graph is list"),
        (np.array([[0, -1, 2], [1, 2, 0]]), ValueError, "contains -1"),
        (np.array([[0, 9, 2], [1, 2, 0]]), ValueError, "node 9 in the edge list, but the graph has 3 nodes"),
        (np.array([[0, 2**40, 2], [1, 2, 0]]), ValueError, "contains 1099511627776"),
        ((np.zeros((3, 2), int), np.ones(2)), ValueError, r"shape \(3, 2\); expected \(2, number of edges\)"),
        ((np.array([[0.5], [1.0]]), None), TypeError, "whole numbers"),
        (([[0], [1]], [1.0, 2.0]), ValueError, "1 sources, 1 targets and 2 weights"),
        (np.full((3, 3), 1j), (ValueError, TypeError), "omplex"),
        (pd.DataFrame({"source": [0, 1]}), ValueError, "expected at least source and target"),
        (pd.DataFrame({"source": [0, None], "target": [1, 2]}), ValueError, "missing ends"),
        (pd.DataFrame({"source": ["a", None], "target": ["b", "c"]}), ValueError, "missing ends"),
        (SimpleNamespace(edge_index=None), ValueError, "without an edge_index"),
    ],
)
def test_wrong_graphs_are_reported(graph: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        read_graph(graph, n_nodes=3)


@pytest.mark.parametrize(
    "graph",
    [
        [[0, 1, 2], [1, 2, 4_000_000_000]],
        (np.array([[0], [4_000_000_000]]), [1.0]),
        sp.coo_array(([1.0], ([0], [1])), shape=(4_000_000_000, 4_000_000_000)),
        SimpleNamespace(edge_index=np.array([[0], [1]]), num_nodes=4_000_000_000),
    ],
)
def test_a_wrong_node_number_does_not_fill_the_memory(graph: Any) -> None:
    with pytest.raises(ValueError, match="4000000000|4000000001"):
        clenshaw.spectrum(graph)


# Names of nodes --------------------------------------------------------------------------------


def test_names_in_edge_tables_follow_the_index_of_X(problem: Problem) -> None:
    names = np.array([f"node-{(7 * i) % 60}" for i in range(60)])
    table = pd.DataFrame(problem.X, index=names, columns=list("abcdef"))
    expected = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, table, problem.y)
    ends = names[problem.edge_index.T]
    for edges in (
        pd.DataFrame(ends, columns=["source", "target"]),
        pl.DataFrame({"source": ends[:, 0], "target": ends[:, 1]}),
        pa.table({"source": ends[:, 0].astype(object), "target": ends[:, 1].astype(object)}),
    ):
        model = NodeClassifier("gcn", max_epochs=5).fit(edges, table, problem.y)
        assert model.nodes_ == names.tolist()
        assert np.array_equal(model.probs_, expected.probs_)
        nodes = clenshaw.Nodes(edges, table)
        assert np.array_equal(model.predict_proba(nodes), model.probs_)
    with pytest.raises(ValueError, match="`node-1`, which is not in the index of `X`"):
        read_graph_of(pd.DataFrame({"source": ["node-1"], "target": ["node-2"]}), table.drop("node-1"))
    with pytest.raises(ValueError, match="twice"):
        read_graph_of(pd.DataFrame({"source": ["a"], "target": ["b"]}), pd.DataFrame({"x": [1, 2, 3]}, index=list("aba")))


def test_names_in_edge_tables_are_sorted_without_X() -> None:
    edges = pd.DataFrame({"source": ["c", "a"], "target": ["b", "c"]})
    with pytest.warns(UserWarning, match="sorted by name"):
        model = NodeClassifier("gcn", max_epochs=1).fit(edges, y={"a": 0, "b": 1, "c": 0})
    assert model.nodes_ == ["a", "b", "c"]


def test_numbers_as_names_follow_the_index_of_X() -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=[30, 10, 20])
    edges = pd.DataFrame({"source": [30, 10], "target": [10, 20]})
    assert np.array_equal(
        sp.csr_array((np.ones(4), *reversed(read_graph_of(edges, table).graph.to_csr()[:2])), shape=(3, 3)).toarray(),
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]],
    )


def test_columns_without_names_are_reported() -> None:
    with pytest.warns(UserWarning, match="`a` and `b` are used"):
        assert dense(pd.DataFrame({"a": [0], "b": [1]})).tolist() == [[0, 1], [1, 0]]


# Graph objects with features and labels --------------------------------------------------------


def labelled_networkx(problem: Problem) -> Any:
    graph = nx.Graph()
    for i in range(60):
        graph.add_node(f"n{i}", size=float(problem.X[i, 0]), kind="ab"[i % 2], club=f"class {problem.y[i]}")
    graph.add_edges_from((f"n{u}", f"n{v}") for u, v in problem.edge_index.T)
    return graph


def test_networkx_attributes_are_features_and_labels(problem: Problem) -> None:
    graph = labelled_networkx(problem)
    model = NodeClassifier("gcn", max_epochs=5).fit(graph, label="club")
    table = pd.DataFrame({"size": problem.X[:, 0].astype(float), "kind": ["ab"[i % 2] for i in range(60)]})
    expected = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, table, [f"class {c}" for c in problem.y])
    assert np.array_equal(model.probs_, expected.probs_)
    assert model.nodes_ == [f"n{i}" for i in range(60)]
    assert sorted(model.feature_names_in_) == ["kind", "size"]
    # The labels are no feature of a graph to predict.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(graph), model.predict())
    every = np.mean(model.predict() == [f"class {c}" for c in problem.y])
    assert model.score(graph.copy()) == pytest.approx(every) == model.score(graph, mask=range(60))
    with pytest.raises(ValueError, match="no node to score has a label"):
        model.score(graph)
    # Labels by name.
    known = {f"n{i}": int(problem.y[i]) for i in range(30)}
    partial = NodeClassifier("gcn", max_epochs=5).fit(graph, problem.X, known)
    by_number = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, {i: int(problem.y[i]) for i in range(30)})
    assert np.array_equal(partial.probs_, by_number.probs_)
    assert partial.score(graph, problem.X, {f"n{i}": int(problem.y[i]) for i in range(60)}) > 0


def test_networkx_without_features(problem: Problem) -> None:
    graph = nx.karate_club_graph()
    model = NodeClassifier("gcn", max_epochs=20, random_state=0).fit(graph, label="club")
    assert set(model.classes_) == {"Mr. Hi", "Officer"} and not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(graph), model.predict())
    matrix = nx.to_scipy_sparse_array(graph, weight="weight")
    clubs = [graph.nodes[node]["club"] for node in graph]
    assert np.array_equal(NodeClassifier("gcn", max_epochs=20, random_state=0).fit(matrix, y=clubs).probs_, model.probs_)
    with pytest.raises(ValueError, match="no node of the NetworkX graph has the attribute `team`; attributes: club"):
        NodeClassifier().fit(graph, label="team")
    with pytest.raises(ValueError, match="one feature per node; it can only predict its own graph"):
        model.predict(nx.path_graph(5))
    with pytest.raises(ValueError, match="`y` is missing"):
        NodeClassifier().fit(graph)


def test_label_is_for_graph_objects(problem: Problem) -> None:
    with pytest.raises(ValueError, match="pass `y`"):
        NodeClassifier().fit(problem.edge_index, problem.X, label="club")
    with pytest.raises(ValueError, match="pass `y`"):
        NodeClassifier().fit(pd.DataFrame(problem.edge_index.T, columns=["source", "target"]), problem.X, label="club")


def test_igraph_attributes_are_features_and_labels(problem: Problem) -> None:
    one_direction = problem.edge_index[:, problem.edge_index[0] < problem.edge_index[1]]
    graph = igraph.Graph(n=60, edges=one_direction.T.tolist())
    graph.vs["name"] = [f"n{i}" for i in range(60)]
    graph.vs["size"] = problem.X[:, 0].astype(float).tolist()
    graph.vs["club"] = [f"class {c}" for c in problem.y]
    model = NodeClassifier("gcn", max_epochs=5).fit(graph, label="club")
    other = labelled_networkx(problem)
    for node in other:
        del other.nodes[node]["kind"]
    assert np.array_equal(model.probs_, NodeClassifier("gcn", max_epochs=5).fit(other, label="club").probs_)
    assert model.nodes_ == [f"n{i}" for i in range(60)]
    assert np.array_equal(model.predict(graph), model.predict())


def test_round_trips(problem: Problem, adjacency: np.ndarray) -> None:
    data = clenshaw.make_csbm(n_nodes=60, n_features=6, degree=6, homophily=0.8, random_state=1)
    assert np.array_equal(data.adjacency.toarray(), adjacency)
    assert np.array_equal(dense(data), adjacency)
    graph = nx.from_scipy_sparse_array(data.adjacency)
    assert np.array_equal(dense(graph), adjacency)
    assert np.array_equal(nx.to_numpy_array(nx.from_edgelist(data.edge_index.T.tolist()), nodelist=range(60)), adjacency)
    assert np.array_equal(dense(igraph.Graph.Adjacency(data.adjacency.toarray().tolist(), mode="undirected")), adjacency)
    weighted = (data.edge_index, np.abs(np.sin(data.edge_index.sum(0))) + 0.5)
    native = read_graph(weighted).graph
    indptr, indices, weights = native.to_csr()
    assert np.array_equal(dense(sp.csr_array((weights, indices, indptr))), dense(weighted))


# PyTorch Geometric -----------------------------------------------------------------------------


def pyg(problem: Problem, **more: Any) -> Any:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    return data.Data(
        x=torch.tensor(problem.X), edge_index=torch.tensor(problem.edge_index), y=torch.tensor(problem.y), **more
    )


def test_pyg_masks_are_used(problem: Problem) -> None:
    torch = pytest.importorskip("torch")
    masks = {name: torch.tensor(getattr(problem, name)) for name in ("train", "val", "test")}
    data = pyg(problem, **{f"{name}_mask": mask for name, mask in masks.items()})
    model = NodeClassifier("gcn", max_epochs=10, random_state=0).fit(data)
    expected = problem.fit()
    assert np.array_equal(model.probs_, expected.probs_)
    assert np.array_equal(model.predict(data), expected.predict())
    right = (model.predict() == problem.y)[problem.test].mean()
    assert model.score() == pytest.approx(right) == model.score(mask=problem.test)
    # Without a validation mask, validation nodes are taken from the training nodes only.
    del data.val_mask
    held_out = NodeClassifier("gcn", max_epochs=2).fit(data)
    assert np.array_equal(held_out.train_mask_ | held_out.val_mask_, problem.train)
    # Without masks for training, test nodes are not used.
    del data.train_mask
    rest = NodeClassifier("gcn", max_epochs=2).fit(data)
    assert np.array_equal(rest.train_mask_ | rest.val_mask_, ~problem.test)


def test_pyg_with_several_splits_uses_the_first(problem: Problem) -> None:
    torch = pytest.importorskip("torch")
    masks = {
        f"{name}_mask": torch.tensor(np.stack([getattr(problem, name), np.zeros(60, bool)], axis=1))
        for name in ("train", "val", "test")
    }
    with pytest.warns(UserWarning, match="2 splits, one per column; the first one is used"):
        model = NodeClassifier("gcn", max_epochs=10, random_state=0).fit(pyg(problem, **masks))
    assert np.array_equal(model.probs_, problem.fit().probs_)


def test_pyg_weights_and_label_columns(problem: Problem) -> None:
    torch = pytest.importorskip("torch")
    weights = np.abs(np.sin(problem.edge_index.sum(0))) + 0.5
    data = pyg(problem, edge_weight=torch.tensor(weights))
    assert np.array_equal(dense(data), dense((problem.edge_index, weights)))
    data.y = data.y.reshape(-1, 1)
    model = NodeClassifier("gcn", max_epochs=3).fit(data)
    expected = NodeClassifier("gcn", max_epochs=3).fit((problem.edge_index, weights), problem.X, problem.y)
    assert np.array_equal(model.probs_, expected.probs_)
    # Own features and labels replace those of the graph.
    other = NodeClassifier("gcn", max_epochs=3).fit(data, problem.X[:, :2], problem.y == 1)
    assert other.n_features_in_ == 2 and other.classes_.tolist() == [False, True]


def test_pyg_round_trip(problem: Problem) -> None:
    convert = pytest.importorskip("torch_geometric.utils")
    data = pyg(problem)
    assert np.array_equal(dense(convert.to_networkx(data)), dense(data))
    assert np.array_equal(dense(convert.to_scipy_sparse_matrix(data.edge_index, num_nodes=60)), dense(data))


def test_other_graphs_of_pyg_are_reported() -> None:
    data = pytest.importorskip("torch_geometric.data")
    with pytest.raises((TypeError, ValueError)):
        read_graph(data.HeteroData())
    with pytest.raises(ValueError, match="without an edge_index"):
        read_graph(data.Data())


# DGL -------------------------------------------------------------------------------------------


def test_dgl_data_is_used(problem: Problem) -> None:
    data = {"feat": problem.X, "label": problem.y, "train_mask": problem.train, "val_mask": problem.val,
            "test_mask": problem.test}
    model = NodeClassifier("gcn", max_epochs=10, random_state=0).fit(DglLike(problem.edge_index, 60, data))
    assert np.array_equal(model.probs_, problem.fit().probs_)
    assert model.score() == pytest.approx((model.predict() == problem.y)[problem.test].mean())
    named = DglLike(problem.edge_index, 60, {"x": problem.X, "club": problem.y == 0})
    assert NodeClassifier("gcn", max_epochs=2).fit(named, label="club").classes_.tolist() == [False, True]
    with pytest.raises(ValueError, match="team"):
        NodeClassifier("gcn", max_epochs=2).fit(named, label="team")


# No features -----------------------------------------------------------------------------------


def test_nodes_without_features_get_one_each(problem: Problem) -> None:
    model = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, y=problem.y)
    expected = NodeClassifier("gcn", max_epochs=5, scaling="raw").fit(problem.edge_index, sp.eye_array(60, format="csr"), problem.y)
    np.testing.assert_allclose(model.decision_function(), expected.decision_function(), atol=1e-6)
    assert model.n_features_in_ == 60


def test_large_graphs_without_features_get_degrees() -> None:
    n = 100_001
    index = np.stack([np.arange(n - 1), np.arange(1, n)])
    star = np.stack([np.zeros(5000, int), np.arange(50_000, 55_000)])
    y = np.where(np.arange(n) % 2, 1, 0)
    model = NodeClassifier("mlp", max_epochs=1).fit(np.concatenate([index, star], axis=1), y=y)
    assert model.n_features_in_ == 24
    # An MLP sees the degree only: ends of the path, inner nodes, nodes of the star, its centre.
    assert len(np.unique(model.decision_function(), axis=0)) == 3
    smaller = model.predict(np.stack([np.arange(9), np.arange(1, 10)]))
    assert len(smaller) == 10


# Order of the nodes ----------------------------------------------------------------------------


NAMES = [f"n{(7 * i) % 60}" for i in range(60)]


def named_edges(problem: Problem) -> pd.DataFrame:
    return pd.DataFrame(np.array(NAMES)[problem.edge_index.T], columns=["source", "target"])


def fit_table(problem: Problem, edges: Any, X: Any, **settings: Any) -> NodeClassifier:
    y = settings.pop("y", dict(zip(NAMES, problem.y.tolist())))
    return NodeClassifier("gcn", max_epochs=5).fit(edges, X, y, **settings)


@pytest.mark.parametrize("name", ["id", "node", "Name", "node_id"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_column_of_names_gives_the_order_of_the_nodes(problem: Problem, kind: str, name: str) -> None:
    columns = {letter: problem.X[:, i] for i, letter in enumerate("abcdef")}
    expected = fit_table(problem, named_edges(problem), pd.DataFrame(columns, index=NAMES))
    columns = {name: np.array(NAMES, dtype=object), **columns}
    make: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind]
    X = make(columns)
    model = fit_table(problem, named_edges(problem), X)
    assert model.nodes_ == NAMES and model.feature_names_in_.tolist() == list("abcdef")
    assert np.array_equal(model.probs_, expected.probs_)
    assert np.array_equal(model.predict_proba(named_edges(problem), X), expected.probs_)
    assert clenshaw.Nodes(named_edges(problem), X).shape == (60, 6)


def test_a_column_of_numbers_gives_the_order_of_the_nodes(problem: Problem) -> None:
    ids = np.random.default_rng(0).permutation(60)
    columns = {letter: problem.X[:, i] for i, letter in enumerate("abcdef")}
    expected = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, pd.DataFrame(columns), problem.y)
    edges = pd.DataFrame(ids[problem.edge_index.T], columns=["source", "target"])
    for X in (pd.DataFrame({"id": ids, **columns}), pl.DataFrame({"id": ids, **columns})):
        model = NodeClassifier("gcn", max_epochs=5).fit(edges, X, problem.y)
        assert model.nodes_ == ids.tolist() and np.array_equal(model.probs_, expected.probs_)


def test_names_without_an_order_of_the_rows_are_an_error(problem: Problem) -> None:
    tables = [problem.X, sp.csr_array(problem.X), pl.DataFrame(problem.X), pl.DataFrame({"id": range(60), "a": range(60)})]
    for X in tables:
        with pytest.raises(ValueError, match="named, and `X` does not contain their names; pass a pandas table"):
            fit_table(problem, named_edges(problem), X)
    with pytest.raises(ValueError, match="`n0`, which is not in the index of `X` or in a column `id`"):
        fit_table(problem, named_edges(problem), pd.DataFrame(problem.X))
    with pytest.raises(ValueError, match="column `id` of `X` contains a node twice"):
        fit_table(problem, named_edges(problem), pl.DataFrame({"id": [*NAMES, "n0"], "a": range(61)}))


def test_rows_of_a_table_follow_the_names_of_a_graph_object(problem: Problem) -> None:
    graph = labelled_networkx(problem)
    X = pd.DataFrame(problem.X, index=[f"n{i}" for i in range(60)], columns=list("abcdef"))
    y = [int(c) for c in problem.y]
    model = NodeClassifier("gcn", max_epochs=5).fit(graph, X, y)
    shuffled = NodeClassifier("gcn", max_epochs=5).fit(graph, X.sample(frac=1, random_state=0), y)
    assert np.array_equal(model.probs_, shuffled.probs_)


def test_labels_masks_and_weights_are_matched_by_name(problem: Problem) -> None:
    X = pd.DataFrame(problem.X, index=NAMES, columns=list("abcdef"))
    edges, weights = named_edges(problem), np.arange(1.0, 61)
    expected = fit_table(
        problem, edges, X, y=problem.y, train_mask=problem.train, val_mask=problem.val, sample_weight=weights
    )
    order = np.random.default_rng(1).permutation(60)

    def series(values: Any) -> Any:
        return pd.Series(np.asarray(values), index=NAMES).iloc[order]

    names = np.array(NAMES)
    for train, val in [
        (series(problem.train), series(problem.val)),
        (names[problem.train], names[problem.val].tolist()),
        (series(problem.train)[lambda mask: mask], dict(zip(NAMES, problem.val.tolist()))),
        (np.flatnonzero(problem.train), np.flatnonzero(problem.val)),
    ]:
        model = fit_table(
            problem, edges, X, y=series(problem.y), train_mask=train, val_mask=val, sample_weight=series(weights)
        )
        assert np.array_equal(model.probs_, expected.probs_)
    assert model.score(y=series(problem.y), mask=series(problem.test)) == model.score(y=problem.y, mask=problem.test)
    by_name = model.score(y=series(problem.y), mask=names[problem.test], sample_weight=series(weights))
    assert by_name == model.score(y=problem.y, mask=problem.test, sample_weight=weights)
    with pytest.raises(ValueError, match="`train_mask` contains 'zoe', which is not the name of a node"):
        fit_table(problem, edges, X, train_mask=["zoe"])
    with pytest.raises(ValueError, match="`sample_weight` has no weight for the node"):
        fit_table(problem, edges, X, sample_weight=series(weights)[:10])
    with pytest.raises(ValueError, match="`y` contains the node 'n0' twice"):
        fit_table(problem, edges, X, y=pd.concat([series(problem.y), pd.Series([1], index=["n0"])]))
    with pytest.raises(ValueError, match="`y` has a label for the node 'zoe'"):
        fit_table(problem, edges, X, y=pd.Series(problem.y, index=["zoe", *NAMES[1:]]))


def test_numbers_with_gaps_are_names() -> None:
    edges = pd.DataFrame({"source": [30, 1, 10, 20], "target": [1, 10, 20, 30]})
    with pytest.warns(UserWarning, match="not 0, 1, 2, ...: they are read as names and sorted, see `nodes_`"):
        model = NodeClassifier("gcn", max_epochs=5).fit(edges, y={1: "a", 10: "a", 20: "b", 30: "b"})
    assert model.nodes_ == [1, 10, 20, 30] and model.probs_.shape == (4, 2)
    with pytest.warns(UserWarning, match="read as names"):
        same = NodeClassifier("gcn", max_epochs=5).fit(edges, y=pd.Series(["b", "a", "b", "a"], index=[20, 10, 30, 1]))
    assert np.array_equal(model.probs_, same.probs_)
    with pytest.warns(UserWarning, match="read as names"):
        same = NodeClassifier("gcn", max_epochs=5).fit(edges, y=["a", "a", "b", "b"], train_mask=[1, 10, 20, 30])
    assert same.nodes_ == [1, 10, 20, 30]
    # The features give the number of nodes: node 3 has no edges.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gap = pd.DataFrame({"source": [0, 1], "target": [2, 4]})
        assert NodeClassifier("gcn", max_epochs=2).fit(gap, np.eye(5), [0, 1, 0, 1, 0]).nodes_ is None
        assert NodeClassifier("gcn", max_epochs=2).fit(gap, y=[0, 1, 0, 1, 0]).nodes_ is None


def test_a_series_of_numbered_nodes_is_matched_by_its_index(problem: Problem) -> None:
    order = np.random.default_rng(2).permutation(60)
    y, train, val = (pd.Series(values).iloc[order] for values in (problem.y, problem.train, problem.val))
    expected = problem.fit(max_epochs=5)
    model = NodeClassifier("gcn", max_epochs=5, random_state=0)
    model.fit(problem.edge_index, problem.X, y, train_mask=train, val_mask=val)
    assert np.array_equal(model.probs_, expected.probs_)
    few = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, y.iloc[:30])
    same = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, y.iloc[:30].to_dict())
    assert np.array_equal(few.probs_, same.probs_)
    # Without features, the edges may have more nodes than the labels.
    start = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, y=pd.Series(problem.y[:30]))
    same = NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, y=dict(enumerate(problem.y[:30].tolist())))
    assert np.array_equal(start.probs_, same.probs_)
    assert NodeClassifier("gcn", max_epochs=2).fit([[0, 1, 2], [1, 2, 3]], y=pd.Series([0, 1] * 3)).probs_.shape == (6, 2)
    # An index that is not a numbering is ignored.
    other = NodeClassifier("gcn", max_epochs=5).fit(
        problem.edge_index, problem.X, pd.Series(problem.y, index=np.arange(100, 160))
    )
    assert np.array_equal(
        other.probs_, NodeClassifier("gcn", max_epochs=5).fit(problem.edge_index, problem.X, problem.y).probs_
    )


def test_unused_columns_of_an_edge_table_are_reported() -> None:
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2], "minutes": [3, 4]})
    with pytest.warns(UserWarning, match="edge table that are not used: `minutes`; the weight of an edge is the column"):
        clenshaw.spectrum(edges)
    with pytest.warns(UserWarning, match="edge table that are not used: `minutes`$"):
        clenshaw.spectrum(edges.assign(weight=1.0))


def test_graphs_without_usable_attributes_have_structural_features(problem: Problem) -> None:
    graph = nx.karate_club_graph()
    expected = NodeClassifier("gcn", max_epochs=5).fit(nx.Graph(graph.edges), y=dict(graph.nodes(data="club")))
    for _, _, edge in graph.edges(data=True):
        edge.clear()
    y = dict(graph.nodes(data="club"))
    for node in graph:
        graph.nodes[node].clear()
        graph.nodes[node]["title"] = f"member {node}"
    with pytest.warns(UserWarning, match="columns of X that are not used: `title`"):
        model = NodeClassifier("gcn", max_epochs=5).fit(graph, y=y)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == expected.n_features_in_ == 34
    assert model.predict(graph).shape == (34,)
    lone = igraph.Graph([(0, 1), (1, 2), (2, 3)])
    lone.vs["title"] = ["same"] * 4
    with pytest.warns(UserWarning, match="not used"):
        assert NodeClassifier("gcn", max_epochs=2).fit(lone, y=[0, 0, 1, 1]).probs_.shape == (4, 2)

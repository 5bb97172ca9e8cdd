"""Reads the public files of a graph into arrays, as `harness.Inputs` takes them.

Planetoid's files are pickles of SciPy matrices; the other graphs have Geom-GCN's text files.
All six graphs have Geom-GCN's splits, of which the first is used.
"""

import pickle

import numpy
import scipy.sparse
import torch

PLANETOID = ("cora", "citeseer", "pubmed")
FOLDERS = {"actor": "film"}


def read(data, graph, scaling):
    """Returns the arrays of a graph, with scaled features."""
    name = FOLDERS.get(graph, graph)
    folder = f"{data}/{name}"
    x, y, edges = (read_planetoid if graph in PLANETOID else read_geom_gcn)(folder, name)
    masks = numpy.load(f"{folder}/splits/{name}_split_0.6_0.2_0.npz")
    arrays = {"y": y.astype(numpy.int32)}
    for part in ("train", "val", "test"):
        arrays[part] = masks[f"{part}_mask"].nonzero()[0].astype(numpy.int32)
    arrays.update(csr_arrays("p", normalised(edges, len(y))))
    arrays.update(csr_arrays("x", scaled(x, scaling)))
    arrays["x.columns"] = numpy.int32(x.shape[1])
    return arrays


def tensors(arrays):
    return {name: torch.as_tensor(array) for name, array in arrays.items()}


def read_planetoid(folder, name):
    def load(part):
        with open(f"{folder}/ind.{name}.{part}", "rb") as file:
            return pickle.load(file, encoding="latin1")

    all_x, test_x, all_y, test_y = (load(part) for part in ("allx", "tx", "ally", "ty"))
    test = numpy.loadtxt(f"{folder}/ind.{name}.test.index", dtype=int)
    # Some test nodes of Citeseer have no features and no label.
    n = max(test) + 1
    x = scipy.sparse.vstack([all_x, scipy.sparse.csr_matrix((n - all_x.shape[0], all_x.shape[1]))]).tolil()
    x[test] = test_x
    y = numpy.zeros((n, all_y.shape[1]))
    y[: len(all_y)], y[test] = all_y, test_y
    edges = [(u, v) for u, neighbours in load("graph").items() for v in neighbours]
    return x.tocsr(), y.argmax(1), numpy.array(edges)


def read_geom_gcn(folder, name):
    edges = numpy.loadtxt(f"{folder}/out1_graph_edges.txt", dtype=int, skiprows=1)
    with open(f"{folder}/out1_node_feature_label.txt") as file:
        lines = [line.split("\t") for line in file.readlines()[1:]]
    lines.sort(key=lambda line: int(line[0]))
    rows = [numpy.fromstring(features, dtype=numpy.float32, sep=",") for _, features, _ in lines]
    y = numpy.array([int(label) for *_, label in lines])
    if name != "film":
        return scipy.sparse.csr_matrix(numpy.stack(rows)), y, edges
    # Actor's file lists the indices of the ones.
    rows = [numpy.unique(row.astype(int)) for row in rows]
    offsets = numpy.cumsum([0] + [len(row) for row in rows])
    indices = numpy.concatenate(rows)
    ones = numpy.ones(len(indices), dtype=numpy.float32)
    return scipy.sparse.csr_matrix((ones, indices, offsets), shape=(len(rows), indices.max() + 1)), y, edges


def normalised(edges, n):
    """Returns P~ = D^-1/2 (A + I) D^-1/2, where A has every edge once in each direction and no self-loops."""
    u, v = edges[edges[:, 0] != edges[:, 1]].T
    loops = numpy.arange(n)
    rows, columns = numpy.concatenate([u, v, loops]), numpy.concatenate([v, u, loops])
    p = scipy.sparse.csr_matrix((numpy.ones(len(rows), dtype=numpy.float32), (rows, columns)), shape=(n, n))
    p.data[:] = 1
    scale = scipy.sparse.diags(numpy.asarray(p.sum(1)).ravel() ** -0.5)
    return (scale @ p @ scale).tocsr()


def scaled(x, scaling):
    """Divides each row by its sum, except for rows of zeros."""
    if scaling == "raw":
        return x
    assert scaling == "row0", scaling
    sums = numpy.asarray(x.sum(1)).ravel()
    return (scipy.sparse.diags(1 / numpy.where(sums == 0, 1, sums)) @ x).tocsr()


def csr_arrays(name, matrix):
    matrix.sort_indices()
    return {
        f"{name}.offsets": matrix.indptr.astype(numpy.int32),
        f"{name}.indices": matrix.indices.astype(numpy.int32),
        f"{name}.values": matrix.data.astype(numpy.float32),
    }

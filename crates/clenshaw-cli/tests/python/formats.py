"""Writes one graph with pandas, NetworkX and SciPy in every format and compares what clenshaw reads.

    python formats.py CLENSHAW FOLDER
"""

import json
import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp


def people():
    """A weighted graph whose nodes have numbers, a category, a flag and a class."""
    random = np.random.default_rng(3)
    graph = nx.karate_club_graph()
    graph = nx.relabel_nodes(graph, {node: f"member {node}" for node in graph})
    for node, data in graph.nodes(data=True):
        club = data.pop("club")
        data["age"] = int(random.integers(20, 70))
        data["height"] = float(np.round(random.normal(1.7, 0.1), 3))
        data["town"] = str(random.choice(["York", "Bath", "Ely"]))
        data["active"] = bool(random.integers(2))
        data["class"] = club
    return graph


def nodes_table(graph):
    table = pd.DataFrame.from_dict(dict(graph.nodes(data=True)), orient="index")
    return table.rename_axis("id").reset_index()


def edges_table(graph):
    rows = [(a, b, weight) for a, b, weight in graph.edges(data="weight")]
    return pd.DataFrame(rows, columns=["source", "target", "weight"])


def write_all(folder, graph):
    """Writes every format; returns their paths."""
    nodes, edges = nodes_table(graph), edges_table(graph)

    def tables(name, write_nodes, write_edges):
        os.makedirs(f"{folder}/{name}")
        write_nodes(f"{folder}/{name}/nodes")
        write_edges(f"{folder}/{name}/edges")
        return name

    def csv(path):
        nodes.to_csv(f"{path}.csv", index=False)

    matrix = nx.to_scipy_sparse_array(graph, nodelist=list(nodes.id), weight="weight", format="csr")
    paths = [
        tables("csv", csv, lambda path: edges.to_csv(f"{path}.csv", index=False)),
        tables(
            "semicolons",
            lambda path: nodes.to_csv(f"{path}.csv", index=False, sep=";", decimal=","),
            lambda path: edges.to_csv(f"{path}.tsv", index=False, sep="\t"),
        ),
        tables(
            "gzip",
            lambda path: nodes.to_csv(f"{path}.csv.gz", index=False),
            lambda path: edges.to_csv(f"{path}.csv.gz", index=False),
        ),
        tables(
            "parquet",
            lambda path: nodes.to_parquet(f"{path}.parquet"),
            lambda path: edges.to_parquet(f"{path}.parquet"),
        ),
        tables("edgelist", csv, lambda path: nx.write_edgelist(
            nx.relabel_nodes(graph, {node: node.replace(" ", "-") for node in graph}), f"{path}.edgelist"
        )),
        tables("scipy", csv, lambda path: sp.save_npz(f"{path}.npz", sp.csr_matrix(matrix))),
    ]
    dashed = nodes.assign(id=nodes.id.str.replace(" ", "-"))
    dashed.to_csv(f"{folder}/edgelist/nodes.csv", index=False)
    nx.write_graphml(graph, f"{folder}/graph.graphml")
    nx.write_gml(graph, f"{folder}/graph.gml")
    nx.write_gexf(graph, f"{folder}/graph.gexf")
    with open(f"{folder}/graph.json", "w") as file:
        json.dump(nx.node_link_data(graph), file)
    os.makedirs(f"{folder}/pajek")
    nx.write_pajek(graph, f"{folder}/pajek/graph.net")
    csv(f"{folder}/pajek/nodes")
    files = ["graph.graphml", "graph.gml", "graph.gexf", "graph.json", "pajek/graph.net"]
    return paths + files


def main():
    program, folder = sys.argv[1:3]

    def clenshaw(*arguments):
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    graph = people()
    expected = None
    for path in write_all(folder, graph):
        report = json.loads(clenshaw("data", "check", path, "--json", "--label", "class"))
        d = report["description"]
        found = {key: d[key] for key in ["nodes", "edges", "features", "classes", "class_sizes", "edge_homophily"]}
        expected = expected or found
        assert found == expected, f"{path}: {found}, but csv has {expected}"
        weighted = any("weights" in finding["text"] for finding in report["findings"])
        assert weighted, f"{path}: {report['findings']}"
        summary = json.loads(clenshaw("train", path, "--label", "class", "--set", "max_epochs=2", "-q", "--json"))
        assert summary["split"] == "stratified", path
    assert expected["nodes"] == 34 and expected["edges"] == 78 and expected["features"] == 6, expected

    # Columns in another order, one missing, one extra, no labels.
    clenshaw("train", "csv", "--label", "class", "--set", "max_epochs=50", "-q", "--out", "run")
    own = clenshaw("predict", "run")
    nodes = nodes_table(graph)
    os.makedirs(f"{folder}/shuffled")
    shuffled = nodes.drop(columns="class").assign(extra=1)[::-1]
    shuffled[["town", "extra", "active", "id", "height", "age"]].to_csv(
        f"{folder}/shuffled/nodes.csv", index=False
    )
    edges_table(graph)[::-1].to_csv(f"{folder}/shuffled/edges.csv", index=False)
    other = clenshaw("predict", "run", "shuffled")

    def classes(csv):
        return dict(line.split(",")[:2] for line in csv.splitlines()[1:])

    # Arrays as in PyTorch Geometric; the second graph has no labels.
    index = {node: i for i, node in enumerate(nodes.id)}
    edge_index = np.array([(index[a], index[b]) for a, b in graph.edges()]).T
    x = nodes[["age", "height"]].to_numpy(np.float32)
    y = (nodes["class"] == "Officer").to_numpy(np.int64)
    np.savez(f"{folder}/arrays.npz", edge_index=edge_index, x=x, y=y)
    np.savez(f"{folder}/unlabelled.npz", edge_index=edge_index, x=x)
    clenshaw("train", "arrays.npz", "--set", "max_epochs=20", "-q", "--out", "arrays")
    assert classes(clenshaw("predict", "arrays")) == classes(clenshaw("predict", "arrays", "unlabelled.npz"))

    assert classes(own) == classes(other), "the order of rows, columns and edges changed predictions"
    print("ok")


if __name__ == "__main__":
    main()

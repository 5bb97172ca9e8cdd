"""Trains ClenshawGCN from the public files, evaluating the validation nodes after every epoch, and prints
the test accuracy and the seconds since the imports.

    python train.py train|check IMPLEMENTATION GRAPH DATA SETTINGS THREADS [CACHE]

IMPLEMENTATION is `csr` or a variant of `clenshaw_sparse.py`. SETTINGS is a folder with `settings.json`;
`check` only prints the losses of the initial parameters in the same folder. With CACHE, the arrays are
read from this .npz file, which is written if it does not exist.
"""

import os
import sys
import time

import numpy
import torch

import clenshaw_csr
import clenshaw_sparse
import public_files
from harness import Inputs, answer, losses, read_arrays, read_settings

IMPORTED = time.perf_counter()


def read_graph(data, graph, scaling, cache=None):
    if cache is None:
        return public_files.read(data, graph, scaling)
    if not os.path.exists(cache):
        numpy.savez(cache, **public_files.read(data, graph, scaling))
    with numpy.load(cache) as arrays:
        return dict(arrays)


def initial_weights(hyper, n_features, n_classes):
    """Returns uniform weights and the identity filter."""
    width, layers = hyper["hidden"], range(hyper["K"] + 1)

    def uniform(n_inputs, *shape):
        bound = n_inputs**-0.5
        return torch.empty(shape).uniform_(-bound, bound)

    weights = {"alpha": torch.zeros(1, len(layers))}
    weights["alpha"][0, -1] = 1
    shapes = {"in": (n_features, width), "out": (width, n_classes)}
    for name, (inputs, outputs) in shapes.items():
        weights[f"w_{name}"], weights[f"b_{name}"] = uniform(inputs, inputs, outputs), uniform(inputs, 1, outputs)
    for l in layers:
        weights[f"conv.{l}.w"], weights[f"conv.{l}.b"] = uniform(width, width, width), uniform(width, 1, width)
    return weights


def make(name, inputs):
    return clenshaw_csr.ClenshawGCN(inputs) if name == "csr" else clenshaw_sparse.implementation(inputs, name)


def accuracy(scores, nodes, y):
    return (scores[nodes].argmax(1) == y[nodes]).float().mean().item()


def train(implementation, arrays, epochs):
    """Returns the test accuracy after the last epoch."""
    y, val, test = (arrays[name].long() for name in ("y", "val", "test"))
    history = []
    for _ in range(epochs):
        implementation.step()
        history.append(accuracy(implementation.scores(), val, y))
    return accuracy(implementation.scores(), test, y)


def main(command, name, graph, data, folder, threads, *cache):
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    settings = read_settings(folder)
    hyper = settings["hyper"]
    arrays = public_files.tensors(read_graph(data, graph, hyper["scaling"], *cache))
    if command == "check":
        weights = read_arrays(f"{folder}/initial.safetensors")
        implementation = make(name, Inputs(arrays, weights, settings))
        checked = losses(implementation)
        implementation.step()  # so that the cache of torch.compile has the step with dropout
        answer(checked)
        return
    weights = initial_weights(hyper, int(arrays["x.columns"]), int(arrays["y"].max()) + 1)
    implementation = make(name, Inputs(arrays, weights, settings))
    score = train(implementation, arrays, hyper["max_epochs"])
    answer({"score": score, "seconds": time.perf_counter() - IMPORTED})


main(*sys.argv[1:])

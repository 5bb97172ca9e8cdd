"""What all implementations share: reading the input folder, the optimisers and the protocol.

`crates/clenshaw/benches/step` writes the folder and documents the protocol; `cargo xtask bench-peers` is the client.
An implementation is an object with three methods:

    loss()         returns the loss on the training nodes without dropout
    scores()       returns the scores of all nodes and classes without dropout
    step(dropout)  runs one training step: forward pass, backward pass, optimiser
"""

import json
import sys
import time
import warnings

import numpy
import torch

warnings.filterwarnings("ignore")  # `torch.jit`, which PyG uses, is deprecated; CSR is in beta

KINDS = {"F32": numpy.float32, "I32": numpy.int32}


class Inputs:
    """The graph as arrays, the initial parameters and the settings."""

    def __init__(self, arrays, weights, settings):
        self.weights = weights
        self.model, self.hyper, self.groups = (settings[key] for key in ("model", "hyper", "groups"))
        self.p = [arrays[f"p.{part}"] for part in ("offsets", "indices", "values")]
        self.n = len(self.p[0]) - 1
        self.train = arrays["train"].long()
        self.y = arrays["y"].long()[self.train]
        self.dense_x = arrays.get("x")
        if self.dense_x is None:
            self.x = [arrays[f"x.{part}"] for part in ("offsets", "indices", "values")]
            self.n_features = int(arrays["x.columns"])
        else:
            self.n_features = self.dense_x.shape[1]

    def features(self):
        """Returns X as a dense matrix."""
        if self.dense_x is not None:
            return self.dense_x
        return csr(*self.x, (self.n, self.n_features)).to_dense()

    def edge_index(self):
        """Returns both directions of every edge, without self-loops, as columns (source, target)."""
        offsets, indices, _ = self.p
        target = torch.repeat_interleave(torch.arange(self.n), offsets.long().diff())
        source = indices.long()
        return torch.stack([source, target])[:, source != target]


def read_settings(path):
    with open(f"{path}/settings.json") as file:
        return json.load(file)


def read_folder(path):
    """Returns the inputs in a folder."""
    weights = read_arrays(f"{path}/initial.safetensors")
    return Inputs(read_arrays(f"{path}/peer.safetensors"), weights, read_settings(path))


def read_arrays(path):
    """Returns the arrays of a safetensors file by name."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            kind = numpy.dtype(KINDS[entry["dtype"]])
            count, offset = (end - start) // kind.itemsize, 8 + length + start
            array = numpy.fromfile(path, kind, count, offset=offset)
            arrays[name] = torch.from_numpy(array.reshape(entry["shape"]))
    return arrays


def csr(offsets, indices, values, shape):
    """Returns a CSR matrix with 32-bit indices, which MKL uses without conversion."""
    return torch.sparse_csr_tensor(offsets, indices, values, shape, check_invariants=False)


def optimisers(folder, params, **how):
    """Returns one Adam and, if a group uses momentum, one SGD; `params` maps our names to tensors."""
    adam, momentum = [], []
    for group in folder.groups:
        members = list({id(params[name]): params[name] for name in group["params"]}.values())
        entry = {"params": members, "lr": group["rate"], "weight_decay": group["decay"]}
        if group["rule"] == "adam":
            adam.append(entry)
        else:
            assert group["rule"] == "momentum", group["rule"]
            momentum.append({**entry, "momentum": group["momentum"]})
    both = [torch.optim.Adam(adam, **how)]
    if momentum:
        both.append(torch.optim.SGD(momentum, **how))
    return both


class Autograd:
    """Implements the protocol for a module that returns class scores, with gradients from autograd."""

    def __init__(self, folder, module, params, **how):
        self.folder, self.module = folder, module
        self.optimisers = optimisers(folder, params, **how)

    def scores_loss(self, scores):
        return torch.nn.functional.cross_entropy(scores[self.folder.train], self.folder.y)

    @torch.no_grad()
    def scores(self):
        self.module.eval()
        return self.module()

    def loss(self):
        return self.scores_loss(self.scores()).item()

    def step(self, dropout=True):
        self.module.train(dropout)
        for optimiser in self.optimisers:
            optimiser.zero_grad()
        self.scores_loss(self.module()).backward()
        for optimiser in self.optimisers:
            optimiser.step()


def peak_bytes():
    """Returns the peak memory of this process, or None if the system does not report it."""
    try:
        with open("/proc/self/status") as file:
            lines = [line.split() for line in file if line.startswith("VmHWM:")]
        return 1024 * int(lines[0][1])
    except OSError:
        return None


def losses(implementation):
    """Returns the loss before and after one step without dropout."""
    first = implementation.loss()
    implementation.step(False)
    return {"loss": first, "loss_after_step": implementation.loss()}


def answer(value):
    print(json.dumps(value), flush=True)


def time_steps(implementation, n):
    """Runs n steps and returns the seconds of each."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        implementation.step(True)
        times.append(time.perf_counter() - start)
    return times


def serve(make):
    """Answers requests on standard input; `make` creates the implementation from the inputs."""
    *_, path, threads = sys.argv
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    start = peak_bytes()
    implementation = make(read_folder(path))
    answer({"ready": True, **losses(implementation)})
    for line in sys.stdin:
        match line.split():
            case ["steps", n]:
                answer(time_steps(implementation, int(n)))
            case ["peak"]:
                answer({"peak": peak_bytes(), "start": start})
            case _:
                sys.exit(f"`{line.strip()}`; expected `steps N` or `peak`")

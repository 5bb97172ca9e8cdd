"""Trained models as PyTorch modules.

A model is one function of a :class:`_Net`, which holds the features, the graph and the weights of a
forward pass. The functions follow ``crates/clenshaw/src/model`` line by line: the same names of
weights and hyper-parameters, the same operations, dropout in the same places. Letters are those of
``docs/notation.md``. PyTorch is imported on first use, so that the package works without it.
"""

# `l` is the papers' letter for a layer.
# ruff: noqa: E741

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["build_module"]

FloatArray = npt.NDArray[np.floating[Any]]


def build_module(
    model: str,
    params: Mapping[str, Any],
    weights: Mapping[str, FloatArray],
    operator: str | None,
    scaler: Mapping[str, Any],
    n_classes: int,
) -> torch.nn.Module:
    """Build a PyTorch module with the weights of a trained model.

    The module has one parameter per trained weight, with underscores for the dots of its name, and
    buffers for running statistics and for the statistics of feature scaling. Calling
    ``module(x, edge_index, edge_weight=None)`` returns the class scores, ``[n, C]``. It computes in
    the type of its parameters, on their device, and scales the features itself. A new module is in
    evaluation mode; ``module.train()`` turns on dropout and batch statistics.

    Parameters
    ----------
    model : str
        Name of the model, such as ``"clenshaw-gcn"``.
    params : mapping of str to int, float, bool or str
        All hyper-parameters of the model.
    weights : mapping of str to array
        All weights of the model, two-dimensional, including running statistics.
    operator : {"plain", "looped"} or None
        Operator that the model propagates with: ``"plain"`` is ``D^-1/2 A D^-1/2``, ``"looped"``
        the same with one self-loop per node.
    scaler : mapping
        Feature scaling and its statistics: ``{"kind": "raw"}``, ``{"kind": "row0"}``,
        ``{"kind": "row", "minimum": m}`` or ``{"kind": "columns", "mean": [...], "std": [...]}``.
    n_classes : int
        Number of classes C.

    Returns
    -------
    torch.nn.Module
        The module. That of LINKX has weights per node and accepts only the graph it was trained on.

    Raises
    ------
    ValueError
        If the model is unknown, a hyper-parameter is missing, or a weight is missing, unexpected or
        of the wrong shape.
    ImportError
        If PyTorch is not installed.
    """
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError("this needs PyTorch; install it with `pip install torch`") from error
    if model not in _MODELS:
        known = ", ".join(sorted(_MODELS))
        raise ValueError(f"unknown model `{model}`; known models: {known}")
    if operator not in (None, "plain", "looped"):
        raise ValueError(f"unknown operator `{operator}`; expected `plain`, `looped` or None")
    declared = _declare(model, params, weights, operator, n_classes)
    _check_weights(model, declared, weights)
    module: torch.nn.Module = _module_class()(
        model, dict(params), operator, n_classes, declared, weights, scaler
    )
    return module.eval()


# Weights ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Weight:
    """The declaration of a weight; one that is not trained is a running statistic."""

    shape: tuple[int, int]
    trained: bool


Lookup = Callable[[str, _Weight], "Tensor"]


def _declare(
    model: str,
    params: Mapping[str, Any],
    weights: Mapping[str, FloatArray],
    operator: str | None,
    n_classes: int,
) -> dict[str, _Weight]:
    """The weights that a model declares, found by a forward pass with zeros on an empty graph."""
    import torch

    _, first = _MODELS[model]
    n_features = _n_rows(model, weights, first)
    n_nodes = _n_rows(model, weights, "a.0.w") if model == "linkx" else 1
    declared: dict[str, _Weight] = {}

    def declare(name: str, weight: _Weight) -> Tensor:
        declared[name] = weight
        return torch.zeros(weight.shape)

    x, edges = torch.zeros(n_nodes, n_features), torch.zeros(2, 0, dtype=torch.int64)
    net = _Net(params, n_classes, x, (edges, None), operator, declare, training=False)
    try:
        with torch.no_grad():
            _MODELS[model][0](net)
    except KeyError as error:
        raise ValueError(f"{model}: missing hyper-parameter `{error.args[0]}`") from None
    return declared


def _n_rows(model: str, weights: Mapping[str, FloatArray], name: str) -> int:
    if name not in weights:
        raise ValueError(f"{model}: missing weight `{name}`")
    shape = np.shape(weights[name])
    if len(shape) != 2:
        raise ValueError(f"{model}: weight `{name}` has shape {shape}; expected a matrix")
    return int(shape[0])


def _check_weights(
    model: str, declared: Mapping[str, _Weight], weights: Mapping[str, FloatArray]
) -> None:
    for name, weight in declared.items():
        if name not in weights:
            raise ValueError(f"{model}: missing weight `{name}`, of shape {weight.shape}")
        found = np.shape(weights[name])
        if found != weight.shape:
            raise ValueError(
                f"{model}: weight `{name}` has shape {found}; expected {weight.shape}"
            )
    for name in weights:
        if name not in declared:
            raise ValueError(
                f"{model}: unexpected weight `{name}`; expected {', '.join(declared)}"
            )


def _attribute(name: str) -> str:
    """The name of a weight in the module; PyTorch does not allow dots."""
    return name.replace(".", "_")


# The module ------------------------------------------------------------------------------------


@cache
def _module_class() -> type[Any]:
    """The class of all modules, defined on first use because it inherits from PyTorch."""
    import torch

    class TorchClassifier(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        """A trained model of ``clenshaw``: class scores from features and edges."""

        def __init__(
            self,
            model: str,
            hyper: dict[str, Any],
            operator: str | None,
            n_classes: int,
            declared: Mapping[str, _Weight],
            weights: Mapping[str, FloatArray],
            scaler: Mapping[str, Any],
        ) -> None:
            super().__init__()
            self.model, self.operator, self.n_classes = model, operator, n_classes
            self.hyper = hyper
            dtype = np.result_type(np.float32, *weights.values())
            for name, weight in declared.items():
                tensor = torch.tensor(np.asarray(weights[name], dtype))
                if weight.trained:
                    self.register_parameter(_attribute(name), torch.nn.Parameter(tensor))
                else:
                    self.register_buffer(_attribute(name), tensor)
            self.scaling, statistics = _scaler_statistics(scaler, dtype)
            n_features = _n_rows(model, weights, _MODELS[model][1])
            for name, values in statistics.items():
                if values.ndim == 1 and len(values) != n_features:
                    raise ValueError(
                        f"{model}: the scaler has {len(values)} columns; expected {n_features}"
                    )
                self.register_buffer(name, torch.tensor(values))

        def forward(
            self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
        ) -> Tensor:
            """Compute the class scores.

            Parameters
            ----------
            x : Tensor
                Features before scaling, ``[n, f]``.
            edge_index : Tensor
                Edges, ``[2, E]``, in one or both directions. Self-loops are dropped and repeated
                edges merged.
            edge_weight : Tensor, optional
                Weights, ``[E]``, at least 0. Those of repeated edges are added; the weight of an
                edge listed in both directions is the mean of both.

            Returns
            -------
            Tensor
                Scores before the softmax, ``[n, C]``.
            """
            dtype = next(self.parameters()).dtype
            x = _scale(self, x.to(torch.promote_types(x.dtype, dtype))).to(dtype)
            net = _Net(
                self.hyper, self.n_classes, x, (edge_index, edge_weight), self.operator,
                self._lookup, self.training,
            )  # fmt: skip
            return _MODELS[self.model][0](net)

        def _lookup(self, name: str, weight: _Weight) -> Tensor:
            found: Tensor = getattr(self, _attribute(name))
            if tuple(found.shape) != weight.shape:
                raise ValueError(
                    f"{self.model}: weight `{name}` has shape {tuple(found.shape)}, but these "
                    f"features and this graph need {weight.shape}"
                )
            return found

        def extra_repr(self) -> str:
            return f"{self.model}, operator={self.operator}, n_classes={self.n_classes}"

    TorchClassifier.__qualname__ = "TorchClassifier"
    return TorchClassifier


def __getattr__(name: str) -> Any:
    """Let pickle find the class of a module."""
    if name == "TorchClassifier":
        return _module_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Features --------------------------------------------------------------------------------------


def _scaler_statistics(
    scaler: Mapping[str, Any], dtype: np.dtype[Any]
) -> tuple[str, dict[str, npt.NDArray[Any]]]:
    """The kind of a scaler and its statistics by name of buffer."""
    kind = scaler.get("kind")
    if kind in ("raw", "row0"):
        return kind, {}
    if kind == "row":
        return kind, {"scaler_minimum": np.array(np.float32(scaler["minimum"]), dtype)}
    if kind != "columns":
        raise ValueError(
            f"unknown scaler `{kind}`; expected `raw`, `row0`, `row` or `columns`"
        )
    # A mean of 2e7 with a deviation of 1e4, as in dates, has too few digits in one f32.
    mean = np.asarray(scaler["mean"], np.float64)
    rounded = mean.astype(dtype)
    return kind, {
        "scaler_mean": rounded,
        "scaler_mean_rest": (mean - rounded).astype(dtype),
        "scaler_std": np.asarray(scaler["std"], dtype),
    }


def _scale(module: Any, x: Tensor) -> Tensor:
    """Scale features with the statistics of a module."""
    if module.scaling == "row0":
        sums = x.sum(dim=1, keepdim=True)
        return x * sums.reciprocal().masked_fill(sums == 0, 0.0)
    if module.scaling == "row":
        x = x - module.scaler_minimum
        return x / x.sum(dim=1, keepdim=True).clamp(min=1.0)
    if module.scaling == "columns":
        if x.shape[1] != len(module.scaler_std):
            raise ValueError(f"got {x.shape[1]} features; expected {len(module.scaler_std)}")
        scaled: Tensor = (x - module.scaler_mean - module.scaler_mean_rest) / module.scaler_std
        return scaled
    return x


# The graph -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Graph:
    """The adjacency A: symmetric, without self-loops, ordered by row and column."""

    n_nodes: int
    index: Tensor  # [2, entries]
    weight: Tensor  # [entries]

    @staticmethod
    def from_edges(n: int, edges: Tensor, weight: Tensor | None, dtype: torch.dtype) -> _Graph:
        """Merge edges as ``Graph::from_weighted_edges`` does."""
        import torch

        if edges.numel() and not (0 <= int(edges.min()) and int(edges.max()) < n):
            raise ValueError(f"an edge has a node out of range; expected 0 to {n - 1}")
        edges = edges.long()
        kept = edges[0] != edges[1]
        if weight is not None:
            if not bool((weight.isfinite() & (weight >= 0)).all()):
                raise ValueError("an edge weight is negative or not finite")
            kept = kept & (weight > 0)
            weight = weight[kept].to(dtype)
        edges = edges[:, kept]
        if weight is None or bool((weight == 1).all()):
            index, count = _merge(n, torch.cat([edges, edges.flip(0)], dim=1))
            return _Graph(n, index, torch.ones_like(count, dtype=dtype))
        there, weight = _merge(n, edges, weight)
        both = torch.cat([there, there.flip(0)], dim=1)
        index, total = _merge(n, both, torch.cat([weight, weight]))
        _, directions = _merge(n, both, torch.ones_like(weight).repeat(2))
        return _Graph(n, index, total / directions)

    def adjacency(self) -> Tensor:
        """A, sparse, [n, n]."""
        return _sparse(self.n_nodes, self.index, self.weight)

    def operator(self, kind: str) -> Tensor:
        """P (`plain`) or P~ (`looped`), sparse, [n, n]."""
        import torch

        index, weight = self.index, self.weight
        if kind == "looped":
            loops = torch.arange(self.n_nodes, device=index.device).expand(2, -1)
            index = torch.cat([index, loops], dim=1)
            weight = torch.cat([weight, weight.new_ones(self.n_nodes)])
        degree = weight.new_zeros(self.n_nodes).index_add(0, index[0], weight)
        empty = degree == 0
        scale = degree.masked_fill(empty, 1.0).rsqrt().masked_fill(empty, 0.0)
        return _sparse(self.n_nodes, index, weight * scale[index[0]] * scale[index[1]])

    def two_hops(self) -> _Graph:
        """The graph that joins nodes at distance exactly two, without weights."""
        import torch

        a = _sparse(self.n_nodes, self.index, torch.ones_like(self.weight).detach())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
            walks = torch.sparse.mm(a, a).coalesce().indices()
        nearer = torch.isin(_keys(self.n_nodes, walks), _keys(self.n_nodes, self.index))
        index = walks[:, ~nearer & (walks[0] != walks[1])]
        return _Graph(self.n_nodes, index, self.weight.new_ones(index.shape[1]))


def _keys(n: int, index: Tensor) -> Tensor:
    return index[0] * n + index[1]


def _merge(n: int, index: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Distinct entries in ascending order, with the sums of their weights or their counts."""
    import torch

    keys, group, count = torch.unique(_keys(n, index), return_inverse=True, return_counts=True)
    index = torch.stack([keys.div(n, rounding_mode="floor"), keys % n])
    if weight is None:
        return index, count
    return index, weight.new_zeros(len(keys)).index_add(0, group, weight)


def _sparse(n: int, index: Tensor, weight: Tensor) -> Tensor:
    import torch

    a = torch.sparse_coo_tensor(index, weight, (n, n), check_invariants=False)
    return a.coalesce()


# The input of a model --------------------------------------------------------------------------


@dataclass
class _Net:
    """Features, graph and weights of one forward pass, as `Net` in Rust."""

    hyper: Mapping[str, Any]
    n_classes: int
    x: Tensor  # [n, f], scaled
    edges: tuple[Tensor, Tensor | None]
    operator: str | None
    lookup: Lookup
    training: bool

    @cached_property
    def graph(self) -> _Graph:
        index, weight = self.edges
        return _Graph.from_edges(self.x.shape[0], index, weight, self.x.dtype)

    @cached_property
    def p(self) -> Tensor:
        """The operator, P or P~."""
        if self.operator is None:
            raise ValueError("this model needs an operator, `plain` or `looped`")
        return self.graph.operator(self.operator)

    def param(self, name: str, rows: int, cols: int) -> Tensor:
        return self.lookup(name, _Weight((rows, cols), trained=True))

    def linear(self, name: str, h: Tensor, width: int) -> Tensor:
        """`H W`."""
        return h @ self.param(name, h.shape[1], width)

    def dense(self, w: str, b: str, h: Tensor, width: int) -> Tensor:
        """`H W + b`."""
        return self.linear(w, h, width) + self.param(b, 1, width)

    def drop(self, h: Tensor, rate: str = "dropout") -> Tensor:
        """Dropout at the rate of a hyper-parameter, in training only."""
        import torch

        return torch.nn.functional.dropout(h, self.hyper[rate], self.training)

    def batch_norm(self, name: str, h: Tensor) -> Tensor:
        """`(H - mean) / sqrt(var + eps) gamma + beta`."""
        import torch

        width = h.shape[1]
        gamma, beta = (self.param(f"{name}.{part}", 1, width) for part in ("gamma", "beta"))
        statistic = _Weight((1, width), trained=False)
        mean, var = (self.lookup(f"{name}.{part}", statistic) for part in ("mean", "var"))
        return torch.nn.functional.batch_norm(
            h, mean[0], var[0], gamma[0], beta[0], self.training, 0.1, self.hyper["bn_eps"]
        )


def _concat(parts: Sequence[Tensor]) -> Tensor:
    import torch

    return torch.cat(list(parts), dim=1)


def _sum(parts: Sequence[Tensor]) -> Tensor:
    return sum(parts[1:], start=parts[0])


def _relu_star(h: Tensor) -> Tensor:
    """`max(H, 0)`, whose gradient is 1 at exactly 0."""
    return h.masked_fill(h < 0, 0.0)


def _at_least(h: Tensor, floor: float) -> Tensor:
    """`max(H, floor)`, whose gradient is 0 at exactly `floor`."""
    return h.masked_fill(h <= floor, floor)


# Dense layers ----------------------------------------------------------------------------------


def _mlp(net: _Net) -> Tensor:
    """`out = drop(relu(drop(X) W1 + b1)) W2 + b2`, also the head of the decoupled models."""
    y = net.dense("w_in", "b_in", net.drop(net.x), net.hyper["hidden"]).relu()
    return net.dense("w_out", "b_out", net.drop(y), net.n_classes)


def _linkx(net: _Net) -> Tensor:
    """`out = MLP(relu(drop([h_A | h_X] W + b) + h_A + h_X))`, `h_A = MLP(A)`, `h_X = MLP(X)`."""
    width = net.hyper["hidden"]

    def mlp(name: str, n_layers: int, h: Tensor, outputs: int) -> Tensor:
        last = n_layers - 1
        for l in range(last):
            h = net.dense(f"{name}.{l}.w", f"{name}.{l}.b", h, width).relu()
            h = net.batch_norm(f"{name}.{l}.bn", h)
            h = net.drop(h) if name == "out" else h
        return net.dense(f"{name}.{last}.w", f"{name}.{last}.b", h, outputs)

    h_a = mlp("a", net.hyper["layers_A"], net.graph.adjacency(), width)
    h_x = mlp("x", net.hyper["layers_X"], net.x, width)
    h = net.drop(net.dense("both.w", "both.b", _concat([h_a, h_x]), width), "dropout_inner")
    if net.hyper["relu_inner"]:
        h = h.relu()
    return mlp("out", net.hyper["layers"], (h + h_a + h_x).relu(), net.n_classes)


# Message passing -------------------------------------------------------------------------------


def _convolution(net: _Net, l: int, h: Tensor, width: int) -> Tensor:
    """`P~ (H W) + b`."""
    hw = net.linear(f"conv.{l}.w", h, width)
    return net.p @ hw + net.param(f"conv.{l}.b", 1, width)


def _activate(net: _Net, l: int, h: Tensor) -> Tensor:
    """`relu(norm(H))`."""
    return (net.batch_norm(f"bn.{l}", h) if net.hyper["bn"] else h).relu()


def _gcn(net: _Net) -> Tensor:
    """`H(l) = relu(P~ drop(H(l-1)) W(l) + b(l))`, `out = P~ drop(H(L-1)) W(L) + b(L)`."""
    h, last = net.x, net.hyper["layers"] - 1
    for l in range(last):
        h = net.drop(_convolution(net, l, h, net.hyper["hidden"]).relu())
    return _convolution(net, last, h, net.n_classes)


def _gcn_jk(net: _Net) -> Tensor:
    """`H(l) = relu(norm(P~ drop(H(l-1)) W(l) + b(l)))`, `out = join(H(1), ..., H(T)) W + b`."""
    h, width, last = net.x, net.hyper["hidden"], net.hyper["layers"] - 1
    layers = []
    for l in range(last):
        layers.append(_activate(net, l, _convolution(net, l, h, width)))
        h = net.drop(layers[-1])
    layers.append(_convolution(net, last, h, width))
    joined = _join(net, layers)
    return net.dense("w_out", "b_out", joined, net.n_classes)


def _join(net: _Net, layers: list[Tensor]) -> Tensor:
    """The maximum, the concatenation or the attention of an LSTM over the layers' outputs."""
    join = net.hyper["join"]
    if join == "lstm":
        return _attention(net, layers)
    if join == "concat":
        return _concat(layers)
    most = layers[0]
    for h in layers[1:]:
        most = most.where(most >= h, h)  # the gradient of a tie goes to the earlier layer
    return most


def _attention(net: _Net, layers: list[Tensor]) -> Tensor:
    """`sum_l s_l H(l)`, `(s_1, ..., s_T) = softmax([forward_l | backward_l] a)` for each node."""
    width = max(len(layers) * layers[0].shape[1] // 2, 1)
    forward = _lstm(net, "forward", layers, width)
    backward = _lstm(net, "backward", layers[::-1], width)[::-1]
    a = net.param("attention.w", 2 * width, 1)
    scores = [_concat([ahead, back]) @ a for ahead, back in zip(forward, backward)]
    shares = _concat(scores).softmax(dim=1)  # [n, T]
    return _sum([shares[:, l : l + 1] * h for l, h in enumerate(layers)])


def _lstm(net: _Net, name: str, values: list[Tensor], width: int) -> list[Tensor]:
    """`c <- f c + i g`, `h <- o tanh(c)`; `i, f, o = sigmoid(x W + h U + b)`, `g` with tanh."""
    inputs = values[0].shape[1]
    gates = [
        [net.param(f"{name}.{gate}.{part}", rows, width) for part, rows in
         (("w", inputs), ("u", width), ("b", 1))]
        for gate in "ifog"
    ]  # fmt: skip
    h = c = values[0].new_zeros(values[0].shape[0], width)
    states = []
    for x in values:
        i, f, o, g = (x @ w + h @ u + b for w, u, b in gates)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return states


def _mixhop(net: _Net) -> Tensor:
    """`H <- drop(relu(norm(mix(H))))`, `out = mix(H) W + b`, `mix(H) = [P~^j (H W_j + b_j)]_j`."""

    def mix(l: int, h: Tensor, width: int) -> Tensor:
        parts = []
        for j in range(net.hyper["hops"] + 1):
            part = net.dense(f"conv.{l}.w.{j}", f"conv.{l}.b.{j}", h, width)
            for _ in range(j):
                part = net.p @ part
            parts.append(part)
        return _concat(parts)

    h, last = net.x, net.hyper["layers"] - 1
    for l in range(last):
        h = net.drop(_activate(net, l, mix(l, h, net.hyper["hidden"])))
    return net.dense("w_out", "b_out", mix(last, h, net.n_classes), net.n_classes)


def _h2gcn(net: _Net) -> Tensor:
    """`r0 = relu(X W)`, `r_k = [B1 r_{k-1} | B2 r_{k-1}]`, `out = drop([r0 | r1 | ...]) W'`."""
    b1, b2 = net.p, net.graph.two_hops().operator("plain")
    r = net.linear("w_in", net.x, net.hyper["hidden"])
    rounds = [r.relu() if net.hyper["relu"] else r]
    for _ in range(net.hyper["rounds"]):
        rounds.append(_concat([b1 @ rounds[-1], b2 @ rounds[-1]]))
    return net.linear("w_out", net.drop(_concat(rounds)), net.n_classes)


def _air_gnn(net: _Net) -> Tensor:
    """`R = P~ X - Z`, `X_i <- Z_i + max(0, 1 - gamma lambda / |R_i|) R_i`, K times from `X = Z`."""
    lambda_ = net.hyper["lambda"]
    threshold = lambda_ / (2.0 * (1.0 - lambda_))
    x = z = _mlp(net)
    for _ in range(net.hyper["K"]):
        r = net.p @ x - z
        square = r.square().sum(dim=1, keepdim=True)
        short = square.sqrt() <= threshold
        # Short rows have no gradient; that of sqrt would be infinite at 0.
        length = square.masked_fill(short, 1.0).sqrt()
        x = z + (1.0 - threshold / length).masked_fill(short, 0.0) * r
    return x


def _cheb_net(net: _Net) -> Tensor:
    """`H = relu(sum_k T_k(L^) X W0_k + b0)`, `out = sum_k T_k(L^) drop(H) W1_k + b1`, `L^ = -P`."""

    def convolution(l: int, h: Tensor, width: int) -> Tensor:
        hw = [net.linear(f"conv.{l}.w.{k}", h, width) for k in range(net.hyper["terms"])]
        return _clenshaw(net, _chebyshev_laplacian, hw) + net.param(f"conv.{l}.b", 1, width)

    h = convolution(0, net.x, net.hyper["hidden"]).relu()
    return convolution(1, net.drop(h), net.n_classes)


def _arma(net: _Net) -> Tensor:
    """`H(t+1) = relu(P H(t) W_t + drop(X) V_t + b_t)`, `out = drop(mean of H(T)) W' + b'`."""
    n_layers, n_stacks, width = (net.hyper[key] for key in ("layers", "stacks", "hidden"))
    # The last W_t and V_t that exist serve all further layers.
    last_w, last_v = (min(n_layers, 2) - 1, 0) if net.hyper["shared"] else (n_layers - 1,) * 2
    roots = [net.drop(net.x, "dropout_root") for _ in range(n_layers)]
    stacks = []
    for s in range(n_stacks):
        h = net.x
        for t, root in enumerate(roots):
            v = min(t, last_v)
            hw = net.linear(f"stack.{s}.w.{min(t, last_w)}", h, width)
            xv = net.dense(f"stack.{s}.v.{v}", f"stack.{s}.b.{v}", root, width)
            h = (net.p @ hw + xv).relu()
        stacks.append(h)
    return net.dense("w_out", "b_out", net.drop(_sum(stacks) / n_stacks), net.n_classes)


# Residual networks -----------------------------------------------------------------------------


def _gcnii(net: _Net) -> Tensor:
    """`S = (1 - alpha) P~ drop(H) + alpha H0`, `H = relu(t_l M W_l + (1 - t_l) S)`.

    `M = S`; in the variant GCNII*, `M = [P~ drop(H) | H0]`.
    """
    alpha, width = net.hyper["alpha"], net.hyper["hidden"]
    h = h0 = net.dense("w_in", "b_in", net.drop(net.x), width).relu()
    for l in range(1, net.hyper["L"] + 1):
        t = math.log(net.hyper["lambda"] / l + 1.0)
        ph = net.p @ net.drop(h)
        s = (1.0 - alpha) * ph + alpha * h0
        m = _concat([ph, h0]) if net.hyper["star"] else s
        h = (t * net.linear(f"conv.{l - 1}.w", m, width) + (1.0 - t) * s).relu()
    return net.dense("w_out", "b_out", net.drop(h), net.n_classes)


Residuals = Callable[[int, "Tensor", "Tensor", "Tensor"], "Tensor"]


def _residual(net: _Net, beta: Sequence[float], residuals: Residuals) -> Tensor:
    """`H(l) = drop(relu*(beta_l (Z W(l) + b(l)) + (1 - beta_l) Z))`, `l = 0..=K`.

    `Z = residuals(l, H(l-1), H(l-2), H*)`; layers K - 1 and K have no activation and no dropout.
    """
    width, order = net.hyper["hidden"], net.hyper["K"]
    h_star = net.drop(_relu_star(net.dense("w_in", "b_in", net.drop(net.x), width)))
    h1 = h2 = h_star.new_zeros(h_star.shape)  # H(l-1), H(l-2)
    for l in range(order + 1):
        h = residuals(l, h1, h2, h_star)
        if net.hyper["use_weight"]:
            zw = net.dense(f"conv.{l}.w", f"conv.{l}.b", h, width)
            h = beta[l] * zw + (1.0 - beta[l]) * h
        if net.hyper["use_act"] and l + 2 <= order:
            h = net.drop(_relu_star(h), "dropout_conv")
        h1, h2 = h, h1
    return net.dense("w_out", "b_out", net.drop(_relu_star(h1)), net.n_classes)


def _decaying(net: _Net) -> list[float]:
    """`beta_l = min(1, ln(lambda / l + 1))`; layer 0 has the value of layer K."""
    order, lambda_ = net.hyper["K"], net.hyper["lambda"]
    return [min(1.0, math.log(lambda_ / (l or order) + 1.0)) for l in range(order + 1)]


def _clenshaw_gcn(net: _Net) -> Tensor:
    """`Z = 2 P~ H(l-1) - H(l-2) + alpha_l H*`."""
    alpha = net.param("alpha", 1, net.hyper["K"] + 1)[0]
    return _residual(
        net, _decaying(net), lambda l, h1, h2, h_star: 2.0 * (net.p @ h1) - h2 + alpha[l] * h_star
    )


def _fixed_clenshaw_gcn(net: _Net) -> Tensor:
    """`Z = 2 P~ H(l-1) - H(l-2) + alpha_l H*` with frozen alpha."""
    a, order, kind = net.hyper["alpha"], net.hyper["K"], net.hyper["order"]
    alpha = [a * (1.0 - a) ** (l if kind == "released" else order - l) for l in range(order + 1)]
    if kind != "ppr":
        alpha[order if kind == "released" else 0] = (1.0 - a) ** order
    return _residual(
        net, _decaying(net), lambda l, h1, h2, h_star: 2.0 * (net.p @ h1) - h2 + alpha[l] * h_star
    )


def _horner_gcn(net: _Net) -> Tensor:
    """`Z = P~ H(l-1) + alpha_l H*`."""
    order = net.hyper["K"]
    alpha = net.param("alpha", 1, order + 1)[0]
    beta = _decaying(net) if net.hyper["decay"] else [0.5] * (order + 1)
    return _residual(net, beta, lambda l, h1, _, h_star: net.p @ h1 + alpha[l] * h_star)


# Polynomial filters ----------------------------------------------------------------------------

# Step k of a recurrence: (a, b, c) of `phi_{k+1} = (a mu + b) phi_k - c phi_{k-1}`.
RecurrenceStep = Callable[[int], tuple[float, float, float]]


def _monomial(k: int) -> tuple[float, float, float]:
    """`mu^k`."""
    return 1.0, 0.0, 0.0


def _chebyshev(k: int) -> tuple[float, float, float]:
    """`T_k(mu)`."""
    return (1.0 if k == 0 else 2.0), 0.0, 1.0


def _chebyshev_second(k: int) -> tuple[float, float, float]:
    """`U_k(mu)`."""
    return 2.0, 0.0, 1.0


def _chebyshev_laplacian(k: int) -> tuple[float, float, float]:
    """`T_k(-mu)`: the scaled Laplacian L^ is -P."""
    return (-1.0 if k == 0 else -2.0), 0.0, 1.0


def _legendre(k: int) -> tuple[float, float, float]:
    """`P_k(mu)`."""
    return (2.0 * k + 1.0) / (k + 1.0), 0.0, k / (k + 1.0)


def _jacobi(a: float, b: float, sign: float = 1.0) -> RecurrenceStep:
    """`P_k^(a,b)(mu)`; a negative sign selects the recurrence of JacobiConv's released code."""
    s = a + b

    def step(k: int) -> tuple[float, float, float]:
        if k == 0:
            return (s + 2.0) / 2.0, (a - b) / 2.0, 0.0
        k += 1  # the degree of the polynomial that the step computes
        c = 2.0 * k * (k + s) * (2.0 * k + s - 2.0)
        return (
            (2.0 * k + s - 1.0) * (2.0 * k + s) * (2.0 * k + s - 2.0) / c,
            sign * (2.0 * k + s - 1.0) * (a * a - b * b) / c,
            2.0 * (k + a - 1.0) * (k + b - 1.0) * (2.0 * k + s) / c,
        )

    return step


def _clenshaw(net: _Net, step: RecurrenceStep, terms: Sequence[Tensor]) -> Tensor:
    """`sum_k phi_k(P) v_k = s_0`, `s_k = v_k + (a_k P + b_k) s_{k+1} - c_{k+1} s_{k+2}`."""
    s1, s2 = terms[-1], terms[-1].new_zeros(())  # s_{k+1}, s_{k+2}
    for k in reversed(range(len(terms) - 1)):
        (a, b, _), (_, _, c) = step(k), step(k + 1)
        s1, s2 = terms[k] + a * (net.p @ s1) + b * s1 - c * s2, s1
    return s1


def _nodes_and_interpolation(order: int) -> tuple[FloatArray, FloatArray]:
    """The Chebyshev nodes, and M: values v at the nodes have the coefficients `c = v M`."""
    angle = (order - np.arange(order + 1) + 0.5) * np.pi / (order + 1)
    m = np.cos(np.outer(angle, np.arange(order + 1))) * 2.0 / (order + 1)
    m[:, 0] /= 2.0
    return np.cos(angle), m


def _bernstein_to_chebyshev(order: int) -> FloatArray:
    """Row k: `C(K,k) ((1 + mu)/2)^{K-k} ((1 - mu)/2)^k` in the Chebyshev basis."""
    nodes, m = _nodes_and_interpolation(order)
    low, high = (1.0 + nodes) / 2.0, (1.0 - nodes) / 2.0
    rows = [math.comb(order, k) * low ** (order - k) * high**k for k in range(order + 1)]
    product: FloatArray = np.array(rows) @ m
    return product


def _learned(net: _Net, name: str, relu: bool = False, m: FloatArray | None = None) -> Tensor:
    """Coefficients `c = f(theta) M`, [K + 1], where `f` may be relu."""
    c = net.param(name, 1, net.hyper["K"] + 1)
    c = c.relu() if relu else c
    return (c if m is None else c @ c.new_tensor(m))[0]


def _page_rank(alpha: float, order: int) -> list[float]:
    """`c_k = alpha (1-alpha)^k` for `k < K` and `c_K = (1-alpha)^K`."""
    return [alpha * (1.0 - alpha) ** k for k in range(order)] + [(1.0 - alpha) ** order]


def _decoupled(net: _Net, step: RecurrenceStep, c: Sequence[float] | Tensor) -> Tensor:
    """`out = sum_k c_k phi_k(P) drop(Z)`, `Z = head(X)`."""
    z = net.drop(_mlp(net), "dropout_prop")
    return _clenshaw(net, step, [c_k * z for c_k in c])


def _appnp(net: _Net) -> Tensor:
    """`Z(k) = (1 - alpha) P~ Z(k-1) + alpha Z(0)`, `Z(0) = head(X)`, `out = Z(K)`."""
    z = _mlp(net)
    c = _page_rank(net.hyper["alpha"], net.hyper["K"])
    return _clenshaw(net, _monomial, [c_k * z for c_k in c])


def _gpr_gnn(net: _Net) -> Tensor:
    """`out = sum_k gamma_k P~^k drop(Z)`, `Z = head(X)`."""
    return _decoupled(net, _monomial, _learned(net, "gamma"))


def _bern_net(net: _Net) -> Tensor:
    """`out = sum_k relu(theta_k) C(K,k) / 2^K (2I - L)^{K-k} L^k drop(Z)`, `Z = head(X)`."""
    m = _bernstein_to_chebyshev(net.hyper["K"])
    return _decoupled(net, _chebyshev, _learned(net, "theta", relu=True, m=m))


def _cheb_base(net: _Net) -> Tensor:
    """`out = sum_k w_k / max(k, 1)^q T_k(L^) drop(Z)`, `Z = head(X)`."""
    damping = np.maximum(np.arange(net.hyper["K"] + 1.0), 1.0) ** -net.hyper["q"]
    return _decoupled(net, _chebyshev_laplacian, _learned(net, "w", m=np.diag(damping)))


def _cheb_net_ii(net: _Net) -> Tensor:
    """`out = sum_k c_k T_k(L^) drop(Z)`; the filter has the value relu(theta_j) at the node x_j."""
    _, m = _nodes_and_interpolation(net.hyper["K"])
    c = _learned(net, "theta", relu=net.hyper["relu"], m=m)
    return _decoupled(net, _chebyshev_laplacian, c)


def _poly(net: _Net) -> Tensor:
    """`out = sum_k c_k phi_k(P~) drop(Z)`, `Z = head(X)`; `filter` selects phi and c."""
    kind, order, t = net.hyper["filter"], net.hyper["K"], net.hyper["t"]
    if kind in ("sgc", "ppr"):
        alpha = 0.0 if kind == "sgc" else net.hyper["alpha"]
        return _decoupled(net, _monomial, _page_rank(alpha, order))
    if kind == "heat":
        c = [math.exp(-t) * t**k / math.factorial(k) for k in range(order + 1)]
        return _decoupled(net, _monomial, c)
    if kind == "gaussian":
        nodes, m = _nodes_and_interpolation(order)
        return _decoupled(net, _chebyshev, (np.exp(-t * (1.0 - nodes) ** 2) @ m).tolist())
    if kind == "bernstein":
        return _bern_net(net)
    steps: dict[str, RecurrenceStep] = {
        "monomial": _monomial,
        "chebyshev": _chebyshev,
        "chebyshev2": _chebyshev_second,
        "legendre": _legendre,
        "jacobi": _jacobi(net.hyper["a"], net.hyper["b"]),
    }
    if kind not in steps:
        raise ValueError(f"poly: unknown filter `{kind}`")
    return _decoupled(net, steps[kind], _learned(net, "theta"))


def _jacobi_conv(net: _Net) -> Tensor:
    """`out_c = sum_k w_kc g_0 ... g_{k-1} P_k^(a,b)(P) drop(Z)_c`, `Z = drop(X) W + b`.

    `g_k = alpha tanh(eta_k)`.
    """
    order, alpha = net.hyper["K"], net.hyper["alpha"]
    z = net.drop(net.dense("w_in", "b_in", net.drop(net.x), net.n_classes), "dropout_prop")
    eta, w = net.param("eta", order, 1), net.param("w", order + 1, net.n_classes)
    g = (alpha * eta.tanh()).cumprod(dim=0)
    terms = [w[0] * z] + [g[k] * w[k + 1] * z for k in range(order)]
    sign = -1.0 if net.hyper["released_sign"] else 1.0
    return _clenshaw(net, _jacobi(net.hyper["a"], net.hyper["b"], sign), terms)


# Filters per channel ---------------------------------------------------------------------------


def _per_channel(net: _Net, basis: Callable[[Tensor], list[Tensor]]) -> Tensor:
    """`out = drop(sum_k alpha_k (.) B_k) W' + b'`, `Z = drop(relu(drop(X) W + b))`.

    `basis(Z)` returns `B_0, ..., B_K`.
    """
    width = net.hyper["hidden"]
    z = net.dense("w_in", "b_in", net.drop(net.x), width).relu()
    z = net.drop(z, "dropout_basis")
    alpha = net.param("alpha", net.hyper["K"] + 1, width)
    h = _sum([alpha_k * b for alpha_k, b in zip(alpha, basis(z))])
    return net.dense("w_out", "b_out", net.drop(h), net.n_classes)


def _favard_gnn(net: _Net) -> Tensor:
    """`s_k B_k = P B_{k-1} - eta_{k-1} B_{k-1} - s_{k-1} B_{k-2}`, `s_0 B_0 = Z`, `s >= 0.01`."""
    order, width = net.hyper["K"], net.hyper["hidden"]

    def basis(z: Tensor) -> list[Tensor]:
        s = _at_least(net.param("s", order + 1, width), 0.01)
        eta = net.param("eta", order, width)
        b1, b2 = z / s[0], z.new_zeros(())  # B_{k-1}, B_{k-2}
        all_b = [b1]
        for k in range(1, order + 1):
            b1, b2 = (net.p @ b1 - eta[k - 1] * b1 - s[k - 1] * b2) / s[k], b1
            all_b.append(b1)
        return all_b

    return _per_channel(net, basis)


def _opt_basis_gnn(net: _Net) -> Tensor:
    """`s_k B_k = V - <V, B_{k-1}> B_{k-1} - <V, B_{k-2}> B_{k-2}`, `V = P B_{k-1}`, `|B_k| = 1`."""

    def normalise(v: Tensor) -> Tensor:
        s = _at_least((v * v).sum(dim=0), 1e-16).sqrt()
        return v * s.reciprocal().masked_fill(s <= 1e-6, 0.0)  # 0 where V is only rounding error

    def basis(z: Tensor) -> list[Tensor]:
        all_b = [normalise(z)]
        for _ in range(net.hyper["K"]):
            v = net.p @ all_b[-1]
            for b in reversed(all_b[-2:]):
                v = v - (v * b).sum(dim=0) * b
            all_b.append(normalise(v))
        return all_b

    return _per_channel(net, basis)


# Every model, and its weight with one row per feature.
_MODELS: dict[str, tuple[Callable[[_Net], Tensor], str]] = {
    "mlp": (_mlp, "w_in"),
    "linkx": (_linkx, "x.0.w"),
    "gcn": (_gcn, "conv.0.w"),
    "gcn-jk": (_gcn_jk, "conv.0.w"),
    "mixhop": (_mixhop, "conv.0.w.0"),
    "h2gcn": (_h2gcn, "w_in"),
    "gcnii": (_gcnii, "w_in"),
    "air-gnn": (_air_gnn, "w_in"),
    "cheb-net": (_cheb_net, "conv.0.w.0"),
    "arma": (_arma, "stack.0.w.0"),
    "appnp": (_appnp, "w_in"),
    "gpr-gnn": (_gpr_gnn, "w_in"),
    "bern-net": (_bern_net, "w_in"),
    "cheb-base": (_cheb_base, "w_in"),
    "cheb-net-ii": (_cheb_net_ii, "w_in"),
    "jacobi-conv": (_jacobi_conv, "w_in"),
    "favard-gnn": (_favard_gnn, "w_in"),
    "opt-basis-gnn": (_opt_basis_gnn, "w_in"),
    "poly": (_poly, "w_in"),
    "horner-gcn": (_horner_gcn, "w_in"),
    "fixed-clenshaw-gcn": (_fixed_clenshaw_gcn, "w_in"),
    "clenshaw-gcn": (_clenshaw_gcn, "w_in"),
}

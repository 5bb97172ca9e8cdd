"""The input of a model: features, graph and weights of one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from clenshaw._torch._graph import Graph


@dataclass(frozen=True)
class Weight:
    """The declaration of a weight; one that is not trained is a running statistic."""

    shape: tuple[int, int]
    trained: bool


@dataclass
class Net:
    """Features, graph and weights of one forward pass, as `Net` in Rust."""

    hyper: Mapping[str, Any]
    n_classes: int
    x: Tensor  # [n, f], scaled
    make_graph: Callable[[], Graph]
    operator: str | None
    lookup: Callable[[str, Weight], Tensor]
    training: bool

    @cached_property
    def graph(self) -> Graph:
        """The graph; models that do not use it do not read the edges."""
        return self.make_graph()

    @property
    def p(self) -> Tensor:
        """The operator, P or P~."""
        if self.operator is None:
            raise ValueError("this model needs an operator, `plain` or `looped`")
        return self.graph.plain if self.operator == "plain" else self.graph.looped

    def param(self, name: str, rows: int, cols: int) -> Tensor:
        """A trained weight, [rows, cols]."""
        return self.lookup(name, Weight((rows, cols), trained=True))

    def linear(self, name: str, h: Tensor, width: int) -> Tensor:
        """`H W`."""
        return h @ self.param(name, h.shape[1], width)

    def dense(self, w: str, b: str, h: Tensor, width: int) -> Tensor:
        """`H W + b`."""
        return self.linear(w, h, width) + self.param(b, 1, width)

    def mlp(self, x: Tensor | None = None) -> Tensor:
        """`out = drop(relu(drop(X) W1 + b1)) W2 + b2`: the model MLP, and the head of others."""
        x = self.x if x is None else x
        y = self.dense("w_in", "b_in", self.drop(x), self.hyper["hidden"]).relu()
        return self.dense("w_out", "b_out", self.drop(y), self.n_classes)

    def drop(self, h: Tensor, rate: str = "dropout") -> Tensor:
        """Dropout at the rate of a hyper-parameter, in training only."""
        return torch.nn.functional.dropout(h, self.hyper[rate], self.training)

    def batch_norm(self, name: str, h: Tensor) -> Tensor:
        """`(H - mean) / sqrt(var + eps) gamma + beta`."""
        width = h.shape[1]
        gamma, beta = (self.param(f"{name}.{part}", 1, width) for part in ("gamma", "beta"))
        statistic = Weight((1, width), trained=False)
        mean, var = (self.lookup(f"{name}.{part}", statistic) for part in ("mean", "var"))
        return torch.nn.functional.batch_norm(
            h, mean[0], var[0], gamma[0], beta[0], self.training, 0.1, self.hyper.get("bn_eps", 1e-5)
        )

    def layer_norm(self, name: str, h: Tensor) -> Tensor:
        """`(H - mean) / sqrt(var + eps) gamma + beta`, with the statistics of every row."""
        width = h.shape[1]
        gamma, beta = (self.param(f"{name}.{part}", 1, width) for part in ("gamma", "beta"))
        return torch.nn.functional.layer_norm(h, (width,), gamma[0], beta[0], 1e-5)

    def normalise(self, layer: int, h: Tensor) -> Tensor:
        """The normalisation that the hyper-parameter `norm` selects."""
        norm = self.hyper.get("norm", "none")
        if norm == "batch":
            return self.batch_norm(f"bn.{layer}", h)
        return self.layer_norm(f"ln.{layer}", h) if norm == "layer" else h

    @property
    def has_skip(self) -> bool:
        """Whether hidden layers have skip connections."""
        return bool(self.hyper.get("skip", "none") == "linear")

    def neighbour_mean(self, h: Tensor, loops: bool = False) -> Tensor:
        """`M H = D^-1/2 P D^1/2 H`; 0 for a node without neighbours."""
        p = self.graph.looped if loops else self.graph.plain
        root = self.graph.root_degrees(loops)[:, None]
        return (p @ (h * root)) / root.masked_fill(root == 0, 1.0)


def concat(parts: Sequence[Tensor]) -> Tensor:
    """`[H1 | H2 | ...]`."""
    return torch.cat(list(parts), dim=1)


def total(parts: Sequence[Tensor]) -> Tensor:
    """`H1 + H2 + ...`, in this order."""
    return sum(parts[1:], start=parts[0])


def relu_star(h: Tensor) -> Tensor:
    """`max(H, 0)`, whose gradient is 1 at exactly 0."""
    return h.masked_fill(h < 0, 0.0)


def at_least(h: Tensor, floor: float) -> Tensor:
    """`max(H, floor)`, whose gradient is 0 at exactly `floor`."""
    return h.masked_fill(h <= floor, floor)

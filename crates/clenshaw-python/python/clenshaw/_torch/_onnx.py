"""Export to ONNX: the module without merging of edges and without sparse matrices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

#: Models that need more of the graph than products with one operator, or a computation in double precision.
NOT_EXPORTED = ("gat", "gat-sep", "h2gcn", "linkx", "specformer", "uni-filter")


@dataclass(frozen=True)
class EdgeOperator:
    """A symmetric operator as a list of its entries and its diagonal; ONNX has no sparse matrices."""

    index: Tensor  # [2, E]
    weight: Tensor  # [E]
    diagonal: Tensor  # [n]

    def __matmul__(self, h: Tensor) -> Tensor:
        """`P H`: for every entry, a row of H is added to another row."""
        rows = self.weight[:, None] * h[self.index[1]]
        return torch.zeros_like(h).index_add(0, self.index[0], rows) + self.diagonal[:, None] * h


@dataclass(frozen=True)
class EdgeGraph:
    """The part of ``Graph`` that most models use, for edges that are already merged."""

    n_nodes: int
    index: Tensor
    weight: Tensor

    def root_degrees(self, loops: bool) -> Tensor:
        """The square root of every node's degree, with or without self-loops, [n]."""
        own = torch.full_like(self.weight[:1], float(loops)).expand(self.n_nodes)
        return own.index_add(0, self.index[0], self.weight).sqrt()

    def _operator(self, loop: float) -> EdgeOperator:
        loops = torch.full_like(self.weight[:1], loop).expand(self.n_nodes)
        degree = loops.index_add(0, self.index[0], self.weight)
        empty = degree == 0
        scale = degree.masked_fill(empty, 1.0).rsqrt().masked_fill(empty, 0.0)
        weight = self.weight * scale[self.index[0]] * scale[self.index[1]]
        return EdgeOperator(self.index, weight, loops * scale.square())

    @cached_property
    def plain(self) -> EdgeOperator:
        """P."""
        return self._operator(0.0)

    @cached_property
    def looped(self) -> EdgeOperator:
        """P~."""
        return self._operator(1.0)


class ExportedClassifier(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A module whose graph has every edge once per direction, and weights."""

    def __init__(self, classifier: Any) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """Compute the class scores, [n, C]."""
        scores: Tensor = self.classifier.scores(x, lambda: EdgeGraph(x.shape[0], edge_index, edge_weight))
        return scores


def export(classifier: Any, path: str | os.PathLike[str]) -> None:
    """Write a module as an ONNX model, see ``TorchClassifier.to_onnx``."""
    if classifier.model in NOT_EXPORTED:
        raise ValueError(f"{classifier.model} cannot be exported: it needs more of the graph than its operator")
    if classifier.training:
        raise ValueError("the module is in training mode; call `eval()` before the export")
    dtype = next(classifier.parameters()).dtype
    x = torch.zeros(5, classifier.n_features, dtype=dtype)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    n, n_entries = torch.export.Dim("n"), torch.export.Dim("E")
    torch.onnx.export(
        ExportedClassifier(classifier).eval(),
        (x, edges, torch.ones(4, dtype=dtype)),
        os.fspath(path),
        input_names=["x", "edge_index", "edge_weight"],
        output_names=["scores"],
        dynamic_shapes={"x": {0: n}, "edge_index": {1: n_entries}, "edge_weight": {0: n_entries}},
        dynamo=True,
        external_data=False,
        verbose=False,
    )

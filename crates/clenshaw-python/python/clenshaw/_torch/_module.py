"""The PyTorch module of a trained model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clenshaw._torch import _scaling
from clenshaw._torch._graph import Graph, GraphCache
from clenshaw._torch._models import FEATURE_WEIGHTS, MODELS
from clenshaw._torch._net import Net, Weight

FloatArray = npt.NDArray[np.floating[Any]]


class TorchClassifier(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A trained model of ``clenshaw``: class scores from features and edges.

    The arguments are those of :func:`clenshaw._torch.build_module`.
    """

    def __init__(
        self,
        model: str,
        params: Mapping[str, Any],
        weights: Mapping[str, FloatArray],
        operator: str | None,
        scaler: Mapping[str, Any],
        n_classes: int,
    ) -> None:
        super().__init__()
        self.model, self.operator, self.n_classes = model, operator, n_classes
        self.hyper = dict(params)
        self._cache = GraphCache()
        self.n_features = _n_rows(model, weights, "w_in" if "w_in" in weights else FEATURE_WEIGHTS.get(model, "w_in"))
        declared = self._declare(weights)
        _check_weights(model, declared, weights)
        dtype = np.result_type(np.float32, *weights.values())
        for name, weight in declared.items():
            tensor = torch.tensor(np.asarray(weights[name], dtype))
            if weight.trained:
                self.register_parameter(_attribute(name), torch.nn.Parameter(tensor))
            else:
                self.register_buffer(_attribute(name), tensor)
        self.scaling, statistics = _scaling.statistics(scaler, self.n_features, dtype)
        for name, values in statistics.items():
            self.register_buffer(name, torch.tensor(values))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
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
        return self.scores(x, lambda: self._cache.graph(len(x), edge_index, edge_weight, dtype))

    def scores(self, x: Tensor, make_graph: Callable[[], Graph]) -> Tensor:
        """Compute the class scores on a graph that is built only if the model uses it."""
        dtype = next(self.parameters()).dtype
        x = x.to(torch.promote_types(x.dtype, dtype))
        x = _scaling.scale(self.scaling, self._buffers, x).to(dtype)  # type: ignore[arg-type, unused-ignore]
        net = Net(self.hyper, self.n_classes, x, make_graph, self.operator, self._lookup, self.training)
        return MODELS[self.model](net)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the module as an ONNX model; needs the packages ``onnx`` and ``onnxscript``.

        Its inputs are ``x``, ``[n, f]``, in the type of the parameters, ``edge_index``, ``[2, E]``,
        int64, and ``edge_weight``, ``[E]``; its output is ``scores``, ``[n, C]``. Edges are not
        merged: ``edge_index`` must contain every edge once in each direction and no self-loops, as
        ``clenshaw.datasets.Dataset.edge_index`` does. Without weights, ``edge_weight`` is all ones.

        Parameters
        ----------
        path
            The file to write.

        Raises
        ------
        ValueError
            For ``gat``, ``gat-sep``, ``h2gcn`` and ``linkx``, which use more of the graph than products with its
            operator, and in training mode.
        """
        from clenshaw._torch._onnx import export

        export(self, path)

    def _lookup(self, name: str, weight: Weight) -> Tensor:
        found: Tensor = getattr(self, _attribute(name))
        if tuple(found.shape) != weight.shape:
            raise ValueError(
                f"{self.model}: weight `{name}` has shape {tuple(found.shape)}, but these "
                f"features and this graph need {weight.shape}"
            )
        return found

    def _declare(self, weights: Mapping[str, FloatArray]) -> dict[str, Weight]:
        """The weights of the model, found by a forward pass with zeros on a graph without edges."""
        n_nodes = _n_rows(self.model, weights, "a.0.w") if self.model == "linkx" else 1
        declared: dict[str, Weight] = {}

        def declare(name: str, weight: Weight) -> Tensor:
            declared[name] = weight
            return torch.zeros(weight.shape)

        def graph() -> Graph:
            return Graph(n_nodes, torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0))

        x = torch.zeros(n_nodes, self.n_features)
        net = Net(self.hyper, self.n_classes, x, graph, self.operator, declare, training=False)
        try:
            with torch.no_grad():
                MODELS[self.model](net)
        except KeyError as error:
            raise ValueError(f"{self.model}: missing hyper-parameter `{error.args[0]}`") from None
        return declared

    def extra_repr(self) -> str:
        """The model, for ``repr``."""
        return f"{self.model}, operator={self.operator}, n_classes={self.n_classes}"


def _attribute(name: str) -> str:
    """The name of a weight in the module; PyTorch does not allow dots."""
    return name.replace(".", "_")


def _n_rows(model: str, weights: Mapping[str, FloatArray], name: str) -> int:
    if name not in weights:
        raise ValueError(f"{model}: missing weight `{name}`")
    shape = np.shape(weights[name])
    if len(shape) != 2:
        raise ValueError(f"{model}: weight `{name}` has shape {shape}; expected a matrix")
    return int(shape[0])


def _check_weights(
    model: str, declared: Mapping[str, Weight], weights: Mapping[str, FloatArray]
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

"""The adjacency of a graph, its normalised operators, and the cache of the last graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    once = cached_property
else:

    def once(compute):
        """A cached property that can be used for training if it was first used in inference mode."""

        @wraps(compute)
        def outside_inference_mode(graph):
            with torch.inference_mode(False):
                return compute(graph)

        return cached_property(outside_inference_mode)


@dataclass(frozen=True)
class Graph:
    """The adjacency A: symmetric, without self-loops, ordered by row and column."""

    n_nodes: int
    index: Tensor  # [2, entries]
    weight: Tensor  # [entries]

    @staticmethod
    def from_edges(n: int, edges: Tensor, weight: Tensor | None, dtype: torch.dtype) -> Graph:
        """Merge edges as ``Graph::from_weighted_edges`` does."""
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
            return Graph(n, index, torch.ones_like(count, dtype=dtype))
        there, weight = _merge(n, edges, weight)
        both = torch.cat([there, there.flip(0)], dim=1)
        index, total = _merge(n, both, torch.cat([weight, weight]))
        _, directions = _merge(n, both, torch.ones_like(weight).repeat(2))
        return Graph(n, index, total / directions)

    @once
    def adjacency(self) -> Tensor:
        """A, sparse, [n, n]."""
        return _sparse(self.n_nodes, self.index, self.weight)

    @once
    def plain(self) -> Tensor:
        """P = D^-1/2 A D^-1/2, sparse, [n, n]."""
        return _normalised(self.n_nodes, self.index, self.weight)

    @once
    def looped(self) -> Tensor:
        """P~, the same with one self-loop per node, sparse, [n, n]."""
        loops = torch.arange(self.n_nodes, device=self.index.device).expand(2, -1)
        index = torch.cat([self.index, loops], dim=1)
        weight = torch.cat([self.weight, self.weight.new_ones(self.n_nodes)])
        return _normalised(self.n_nodes, index, weight)

    @once
    def eigen(self) -> tuple[Tensor, Tensor]:
        """The eigenvalues of P in descending order, [n], and its eigenvectors, one column each, [n, n]."""
        values, vectors = torch.linalg.eigh(self.plain.to_dense().double())
        dtype = self.weight.dtype
        return values.flip(0), vectors.flip(1).to(dtype)

    def root_degrees(self, loops: bool) -> Tensor:
        """The square root of every node's degree, with or without self-loops, [n]."""
        own = self.weight.new_full((self.n_nodes,), float(loops))
        return own.index_add(0, self.index[0], self.weight).sqrt()

    @once
    def two_hops(self) -> Graph:
        """The graph that joins nodes at distance exactly two, without weights."""
        a = _sparse(self.n_nodes, self.index, torch.ones_like(self.weight).detach())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
            walks = torch.sparse.mm(a, a).coalesce().indices()
        nearer = torch.isin(_keys(self.n_nodes, walks), _keys(self.n_nodes, self.index))
        index = walks[:, ~nearer & (walks[0] != walks[1])]
        return Graph(self.n_nodes, index, self.weight.new_ones(index.shape[1]))


class GraphCache:
    """The graph of the last forward pass, for passes with the same edges and weights.

    Tensors are the same if they have the same memory, shape and version, the counter that PyTorch
    increases with every change in place. Changes that PyTorch does not see, such as those of a NumPy
    array that shares the memory, are not noticed.
    """

    def __init__(self) -> None:
        # The tensors are kept, because freed memory could be that of the next graph.
        self._last: tuple[Any, tuple[Tensor, Tensor | None], Graph] | None = None

    def graph(self, n: int, edges: Tensor, weight: Tensor | None, dtype: torch.dtype) -> Graph:
        """The graph with n nodes, from the cache if it is the last one."""
        key = _cache_key(n, edges, weight, dtype)
        if key is None:
            return Graph.from_edges(n, edges, weight, dtype)
        last = self._last
        if last is None or last[0] != key:
            with torch.inference_mode(False):  # the graph may be used for training later
                graph = Graph.from_edges(n, edges, weight, dtype)
            self._last = last = (key, (edges, weight), graph)
        return last[2]

    def __reduce__(self) -> tuple[type[GraphCache], tuple[()]]:
        """Copies and pickles of a module start with an empty cache."""
        return GraphCache, ()


def _cache_key(n: int, edges: Tensor, weight: Tensor | None, dtype: torch.dtype) -> Any:
    """What identifies a graph; ``None`` if it cannot be cached."""
    tensors = [edges] if weight is None else [edges, weight]
    if torch.compiler.is_compiling() or any(t.requires_grad or t.is_inference() for t in tensors):
        return None
    try:
        parts = [(t.data_ptr(), t.shape, t.stride(), t.dtype, t.device, t._version) for t in tensors]
    except RuntimeError:  # a tensor without memory, as within `torch.func.vmap`
        return None
    return n, dtype, parts


def _normalised(n: int, index: Tensor, weight: Tensor) -> Tensor:
    """D^-1/2 W D^-1/2 for the matrix W of the entries; rows without entries stay 0."""
    degree = weight.new_zeros(n).index_add(0, index[0], weight)
    empty = degree == 0
    scale = degree.masked_fill(empty, 1.0).rsqrt().masked_fill(empty, 0.0)
    return _sparse(n, index, weight * scale[index[0]] * scale[index[1]])


def _keys(n: int, index: Tensor) -> Tensor:
    return index[0] * n + index[1]


def _merge(n: int, index: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Distinct entries in ascending order, with the sums of their weights or their counts."""
    keys, group, count = torch.unique(_keys(n, index), return_inverse=True, return_counts=True)
    index = torch.stack([keys.div(n, rounding_mode="floor"), keys % n])
    if weight is None:
        return index, count
    return index, weight.new_zeros(len(keys)).index_add(0, group, weight)


def _sparse(n: int, index: Tensor, weight: Tensor) -> Tensor:
    return torch.sparse_coo_tensor(index, weight, (n, n), check_invariants=False).coalesce()

"""Values of nodes: labels, masks and weights in the order of the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clenshaw._arrays import indices, to_mask, to_numpy, to_real


def is_series(values: Any) -> bool:
    """Return whether an object is a Series of pandas or of a library with the same interface."""
    has_index = hasattr(values, "index") and hasattr(values, "items") and hasattr(values, "iloc")
    return has_index and getattr(values, "ndim", None) == 1


def without_index(values: Any) -> Any:
    """Return the values of a Series by position; other values as they are."""
    return to_numpy(values) if is_series(values) else values


def whole_numbers(values: list[Any]) -> bool:
    """Return whether all values are whole numbers."""
    return all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values)


def values_by_node(values: Any, n_nodes: int, nodes: list[Any] | None, name: str) -> dict[int, Any] | None:
    """Return the values of a dict or Series by node number; ``None`` if they are matched by position.

    A dict contains nodes by name or, if they have no names, by number. So does the index of a Series, with
    two exceptions that are matched by position: a default index (0, 1, 2, ...) of nodes with other names, and
    an index that does not contain node numbers if the nodes are numbered.
    """
    if isinstance(values, dict):
        pairs = list(values.items())
    elif is_series(values):
        index = list(values.index)
        if nodes is None:
            if not whole_numbers(index) or len(set(index)) < len(index) or not set(index) <= set(range(n_nodes)):
                return None
        elif index == list(range(n_nodes)) and not set(index) <= set(nodes):
            return None
        pairs = list(zip(index, to_numpy(values).tolist()))
    else:
        return None
    number = None if nodes is None else {node: i for i, node in enumerate(nodes)}
    found: dict[int, Any] = {}
    for node, value in pairs:
        i = node if number is None else number.get(node)
        if not isinstance(i, (int, np.integer)) or not 0 <= i < n_nodes:
            kind = "a label" if name == "y" else "a value"
            raise ValueError(f"`{name}` has {kind} for the node {node!r}, which is not in the graph")
        if int(i) in found:
            raise ValueError(f"`{name}` contains the node {node!r} twice")
        found[int(i)] = value
    return found


def mask_of(mask: Any, n_nodes: int, nodes: list[Any] | None, name: str) -> np.ndarray:
    """Return a boolean array of one value per node, from booleans, node names or node numbers.

    Names take precedence over numbers if the nodes are named.
    """
    if isinstance(mask, dict) or (is_series(mask) and all(isinstance(v, (bool, np.bool_)) for v in mask.tolist())):
        found = values_by_node(mask, n_nodes, nodes, name)
        if found is not None:
            chosen = np.zeros(n_nodes, dtype=bool)
            chosen[[i for i, value in found.items() if value]] = True
            return chosen
    array = to_numpy(mask)
    listed = array.tolist() if array.ndim == 1 and array.size else []
    if nodes is None or not listed or all(isinstance(value, bool) for value in listed):
        return to_mask(mask, n_nodes, name)
    number = {node: i for i, node in enumerate(nodes)}
    unknown = [value for value in listed if value not in number]
    if unknown and whole_numbers(listed) and not whole_numbers(nodes):
        return to_mask(mask, n_nodes, name)
    if unknown:
        raise ValueError(f"`{name}` contains {unknown[0]!r}, which is not the name of a node")
    return to_mask(indices([number[value] for value in listed]), n_nodes, name)


def weights_of(weights: Any, n_nodes: int, nodes: list[Any] | None, needed: np.ndarray) -> np.ndarray:
    """Return one weight per node; nodes that are not needed may have none and then get weight one."""
    found = values_by_node(weights, n_nodes, nodes, "sample_weight")
    if found is None:
        return to_real(weights, "sample_weight").astype(np.float64)
    values = np.ones(n_nodes)
    values[list(found)] = to_real(list(found.values()), "sample_weight")
    missing = next((i for i in needed.tolist() if i not in found), None)
    if missing is not None:
        node = missing if nodes is None else nodes[missing]
        raise ValueError(f"`sample_weight` has no weight for the node {node!r}")
    return values

"""Trained models as PyTorch modules.

Each model is one function of a ``Net``, which contains the features, the graph and the weights of a forward
pass. The functions follow ``crates/clenshaw/src/model`` line by line: weights and hyper-parameters have the
same names, and operations and dropout are the same. Letters are those of ``docs/notation.md``. PyTorch is
imported on first use, so that the package works without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

__all__ = ["build_module"]


def build_module(
    model: str,
    params: Mapping[str, Any],
    weights: Mapping[str, npt.NDArray[np.floating[Any]]],
    operator: str | None,
    scaler: Mapping[str, Any],
    n_classes: int,
) -> torch.nn.Module:
    """Build a PyTorch module with the weights of a trained model.

    The module has one parameter per trained weight, with underscores for the dots of its name, and
    buffers for running statistics and for the statistics of feature scaling. Calling
    ``module(x, edge_index, edge_weight=None)`` returns the class scores, ``[n, C]``. It computes in
    the type of its parameters, on their device, and scales the features itself. A new module is in
    evaluation mode; ``module.train()`` turns on dropout and batch statistics. The normalised graph
    is kept for further calls with the same tensors ``edge_index`` and ``edge_weight``.

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
    from clenshaw._torch._models import MODELS
    from clenshaw._torch._module import TorchClassifier

    if model not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise ValueError(f"unknown model `{model}`; known models: {known}")
    if operator not in (None, "plain", "looped"):
        raise ValueError(f"unknown operator `{operator}`; expected `plain`, `looped` or None")
    return TorchClassifier(model, params, weights, operator, scaler, n_classes).eval()

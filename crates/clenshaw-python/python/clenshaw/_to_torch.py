"""Fitted estimators as PyTorch modules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clenshaw._estimator import NodeClassifier
from clenshaw._torch import build_module

if TYPE_CHECKING:
    import torch


def to_torch(model: NodeClassifier) -> torch.nn.Module:
    """Return a PyTorch module with the weights of a fitted estimator.

    Calling ``module(x, edge_index, edge_weight=None)`` returns the class scores, equal to
    ``model.logits`` up to rounding, which ``opt-basis-gnn`` amplifies: its basis is that of
    the Lanczos process, and at its default K = 16 scores in float32 may differ by a few percent. The module
    scales the features itself; it computes in the type of its parameters and on their device. It is
    returned in evaluation mode; to continue training in PyTorch, call ``module.train()``, which turns
    on dropout. ``module.to_onnx(path)`` writes an ONNX model.

    The normalised graph is kept for further calls with the same tensors ``edge_index`` and
    ``edge_weight``. A tensor that is changed in place is noticed; the memory of a tensor that is
    changed through NumPy is not.

    Parameters
    ----------
    model
        A fitted estimator. Its setting ``gather="bf16"``, which rounds the values that products with
        the graph read to 16 bits, is ignored: the module computes in the type of its parameters.

    Returns
    -------
    torch.nn.Module
        The module. ``x`` has the features as they were passed to ``fit``; for a table, those of
        ``model.encode(X)``. Without features, ``x`` is the identity matrix (up to 100,000 nodes). The module of
        ``linkx`` accepts only the graph it was trained on.

    Examples
    --------
    >>> import clenshaw
    >>> import torch
    >>> data = clenshaw.make_csbm(n_nodes=100, random_state=0)
    >>> model = clenshaw.NodeClassifier("gcn", max_epochs=10).fit(data)
    >>> module = clenshaw.to_torch(model)
    >>> logits = module(torch.from_numpy(data.X), torch.from_numpy(data.edge_index))
    >>> bool(abs(logits.detach().numpy() - model.logits()).max() < 1e-5)
    True
    """
    model._check_fitted()
    native = model._model
    return build_module(
        native.name,
        native.params,
        native.state_dict(),
        native.operator,
        json.loads(native.scaler),
        len(native.class_names),
    )

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
    ``model.logits`` up to rounding. ``opt-basis-gnn`` amplifies rounding errors: its basis is that of the
    Lanczos process, and at its default K = 16, scores in float32 may differ by a few percent. The module scales
    the features itself; it computes in the type of its parameters and on their device. It is returned in
    evaluation mode; to continue training in PyTorch, call ``module.train()``, which turns on dropout.
    ``module.to_onnx(path)`` writes an ONNX model.

    The normalised graph is kept for further calls with the same tensors ``edge_index`` and
    ``edge_weight``. In-place changes to these tensors are detected; changes to a NumPy array that shares
    their memory are not.

    Parameters
    ----------
    model
        A fitted estimator. Its setting ``gather="bf16"``, which rounds the values that products with
        the graph read to 16 bits, is ignored: the module computes in the type of its parameters.

    Returns
    -------
    torch.nn.Module
        The module. Its input ``x`` contains the features that were passed to ``fit`` or, if these were a table,
        ``model.encode(X)``. If the model was trained without features on at most 100,000 nodes, ``x`` is the
        identity matrix. The module of ``linkx`` accepts only the graph it was trained on.

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

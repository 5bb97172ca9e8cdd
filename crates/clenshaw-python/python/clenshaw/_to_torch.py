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
    ``model.decision_function`` up to rounding. ``x`` has the features before scaling, in the order of
    ``model.state_dict``'s first layer; for tables that is the order of the encoded features. Training can
    continue in PyTorch: ``module.train()`` turns on dropout.

    Examples
    --------
    >>> import clenshaw, torch                                                  # doctest: +SKIP
    >>> module = clenshaw.to_torch(model)                                       # doctest: +SKIP
    >>> logits = module(torch.from_numpy(X), torch.from_numpy(edge_index))      # doctest: +SKIP
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

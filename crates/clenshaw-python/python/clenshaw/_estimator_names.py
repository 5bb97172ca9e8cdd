"""Names of parameters that differ between Python and the registry of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Hyper-parameters whose name is a Python keyword, and their names in Python.
KEYWORDS = {"lambda": "lambda_"}
#: Parameters of the estimator that are not hyper-parameters of a model.
OWN_PARAMS = ("model", "validation_fraction", "random_state", "n_jobs", "verbose")


def to_python(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters by their names in Python."""
    return {KEYWORDS.get(name, name): value for name, value in params.items()}


def to_registry(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters by their names in the registry of models."""
    original = {python: name for name, python in KEYWORDS.items()}
    return {original.get(name, name): value for name, value in params.items()}

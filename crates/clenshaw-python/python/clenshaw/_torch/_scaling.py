"""Feature scaling with the statistics of the training graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor


def statistics(
    scaler: Mapping[str, Any], n_features: int, dtype: np.dtype[Any]
) -> tuple[str, dict[str, npt.NDArray[Any]]]:
    """The kind of a scaler, and its statistics by name of buffer."""
    kind = scaler.get("kind")
    if kind in ("raw", "row0"):
        return kind, {}
    if kind == "row":
        return kind, {"scaler_minimum": np.array(np.float32(scaler["minimum"]), dtype)}
    if kind != "columns":
        raise ValueError(f"unknown scaler `{kind}`; expected `raw`, `row0`, `row` or `columns`")
    mean = np.asarray(scaler["mean"], np.float64)
    if len(mean) != n_features:
        raise ValueError(f"the scaler has {len(mean)} columns; expected {n_features}")
    # A mean of 2e7 with a deviation of 1e4, as in dates, has too few digits in one f32.
    rounded = mean.astype(dtype)
    return kind, {
        "scaler_mean": rounded,
        "scaler_mean_rest": (mean - rounded).astype(dtype),
        "scaler_std": np.asarray(scaler["std"], dtype),
    }


def scale(kind: str, buffers: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """Scale features; ``buffers`` are those of ``statistics``."""
    if kind == "row0":
        sums = x.sum(dim=1, keepdim=True)
        return x * sums.reciprocal().masked_fill(sums == 0, 0.0)
    if kind == "row":
        x = x - buffers["scaler_minimum"]
        return x / x.sum(dim=1, keepdim=True).clamp(min=1.0)
    if kind == "columns":
        std = buffers["scaler_std"]
        if x.shape[1] != len(std):
            raise ValueError(f"got {x.shape[1]} features; expected {len(std)}")
        return (x - buffers["scaler_mean"] - buffers["scaler_mean_rest"]) / std
    return x

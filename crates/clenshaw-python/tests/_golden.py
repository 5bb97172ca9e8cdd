"""Loader of the parity fixtures: graph, hyper-parameters, weights, scores and gradients of a model.

The files are described in ``crates/clenshaw/tests/golden/README.md``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_REPOSITORY_FOLDER = Path(__file__).resolve().parents[2] / "clenshaw" / "tests" / "golden"

# Hyper-parameters that fixtures leave at their defaults.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "gcn": {"layers": 2},
    "sage": {"layers": 2},
    "gat": {"layers": 2},
    "gcn-jk": {"bn_eps": 1e-5},
    "mixhop": {"bn_eps": 1e-5},
    "h2gcn": {"relu": True},
    "horner-gcn": {"use_weight": True, "use_act": True},
    "fixed-clenshaw-gcn": {"use_weight": True, "use_act": True},
}
_DROPOUTS = ("dropout", "dropout_prop", "dropout_conv", "dropout_root", "dropout_basis")
_DROPOUTS += ("dropout_attention",)
_FLAGS = {"bn", "decay", "released_sign", "relu", "shared", "star", "use_act", "use_weight"}
_FLAGS |= {"jk", "loops", "pre_linear", "released"}
_WORDS = {
    "order": ("released", "ppr", "ppr-tail"),
    "concat": ("max", "concat"),
    "norm": ("none", "batch", "layer"),
    "skip": ("none", "linear"),
}
_PLAIN = {"arma", "bern-net", "cheb-base", "cheb-net", "cheb-net-ii", "favard-gnn", "h2gcn"}
_PLAIN |= {"gat-sep", "jacobi-conv", "opt-basis-gnn", "sage", "sage-sep"}
_PLAIN |= {"specformer", "uni-filter"}


@dataclass(frozen=True)
class Fixture:
    """One file."""

    model: str
    params: dict[str, Any]  # without dropout
    operator: str | None
    n_classes: int
    edge_index: Array  # [2, E], each edge in one direction
    x: Array  # [n, f]
    y: Array  # [n]
    train_mask: Array  # [n], bool
    weights: dict[str, Array]  # two-dimensional, with running statistics
    gradients: dict[str, Array]  # shaped as the weights
    logits: Array  # [n, C]
    loss: float


def paths() -> list[Path]:
    """Every fixture of ``$GOLDEN_DIR``, by default of the repository, without those in training mode."""
    folder = Path(os.environ.get("GOLDEN_DIR", _REPOSITORY_FOLDER))
    found = [path for path in sorted(folder.glob("*.npz")) if "_train." not in path.name]
    if not found:
        raise FileNotFoundError(f"no fixtures in {folder}")
    return found


def model_name(path: Path) -> str:
    return path.name.split(".")[0].replace("_", "-")


def operator_of(model: str) -> str | None:
    """The operator that a model declares."""
    if model in ("mlp", "linkx"):
        return None
    return "plain" if model in _PLAIN else "looped"


def load(path: Path) -> Fixture:
    """Read a fixture, with dropout off."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    model = model_name(path)
    return Fixture(
        model=model,
        params=_params(model, arrays),
        operator=operator_of(model),
        n_classes=int(arrays["hp.classes"]),
        edge_index=np.ascontiguousarray(arrays["edges"].T),
        x=arrays["x"],
        y=arrays["y"],
        train_mask=arrays["train_mask"].astype(bool),
        weights=_matrices(model, arrays, "param.") | _matrices(model, arrays, "buf."),
        gradients=_matrices(model, arrays, "grad."),
        logits=arrays["logits"],
        loss=float(arrays["loss"]),
    )


def _params(model: str, arrays: dict[str, Array]) -> dict[str, Any]:
    params: dict[str, Any] = {**dict.fromkeys(_DROPOUTS, 0.0), **_DEFAULTS.get(model, {})}
    for key, array in arrays.items():
        if not key.startswith("hp.") or key in ("hp.features", "hp.classes"):
            continue
        name, value = key.removeprefix("hp."), array.item()
        if name == "ffn_multiplier":  # stored as a real number
            value = int(value)
        if name in _WORDS:
            params["join" if name == "concat" else name] = _WORDS[name][int(value)]
        else:
            params[name] = bool(value) if name in _FLAGS else value
    if model in ("gcn", "sage", "gat") and "hp.layers" in arrays:
        params["head"] = "dense"  # fixtures that state the number of convolutions
    return params


def _matrices(model: str, arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays of a prefix; vectors are rows, except JacobiConv's eta, which is a column."""
    found = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
    columns = {"eta"} if model == "jacobi-conv" else set()
    return {
        name: array.reshape((-1, 1) if name in columns else (-1, array.shape[-1]))
        for name, array in found.items()
    }

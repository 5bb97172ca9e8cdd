"""Node classification on graphs, whether neighbours mostly share a class or mostly do not.

>>> import clenshaw
>>> data = clenshaw.make_csbm(n_nodes=300, random_state=0)
>>> train, val, test = data.split("stratified", seed=0)
>>> model = clenshaw.NodeClassifier("clenshaw-gcn", K=4, random_state=0)
>>> _ = model.fit(data.edge_index, data.X, data.y, train_mask=train, val_mask=val)
>>> model.predict_proba().shape
(300, 3)

The package requires only NumPy. It reads graphs from SciPy, NetworkX, igraph, PyTorch Geometric and DGL, and
edge tables from pandas, polars and Arrow, without importing any of these libraries.
"""

from __future__ import annotations

from clenshaw import datasets
from clenshaw._catalog import (
    Homophily,
    ModelInfo,
    Spectrum,
    filter_response,
    homophily,
    make_csbm,
    models,
    spectrum,
)
from clenshaw._clenshaw import __version__
from clenshaw._compare import Comparison, compare
from clenshaw._errors import NotFittedError
from clenshaw._estimator import NodeClassifier
from clenshaw._filter import LearnedFilter
from clenshaw._nodes import Nodes, NodeSplit
from clenshaw._report import ReportPage
from clenshaw._to_torch import to_torch
from clenshaw._tune import TuningResult, tune

__all__ = [
    "Comparison",
    "Homophily",
    "LearnedFilter",
    "ModelInfo",
    "NodeClassifier",
    "NodeSplit",
    "Nodes",
    "NotFittedError",
    "ReportPage",
    "Spectrum",
    "TuningResult",
    "__version__",
    "compare",
    "datasets",
    "filter_response",
    "homophily",
    "make_csbm",
    "models",
    "spectrum",
    "to_torch",
    "tune",
]

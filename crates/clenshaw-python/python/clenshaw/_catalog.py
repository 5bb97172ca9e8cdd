"""Models, spectra, homophily and generated graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clenshaw import _clenshaw
from clenshaw._features import encode_labels, label_values
from clenshaw._graph import read_graph, read_graph_of
from clenshaw.datasets import Dataset, load


@dataclass(frozen=True)
class ModelInfo:
    """A model of the registry.

    Attributes
    ----------
    name, title, paper, family, equation
        Its name, its name in tables, its publication, its kind, and its forward equations.
    inductive
        Whether a fitted model can be applied to another graph.
    presets
        The graphs for which the model has published or tuned settings.
    hyper
        One dict per hyper-parameter: name, type, default, range or choices, meaning.
    """

    name: str
    title: str
    paper: str
    family: str
    equation: str
    operator: str | None
    inductive: bool
    presets: list[str]
    hyper: list[dict[str, Any]]

    def __repr__(self) -> str:
        return f"ModelInfo({self.name}: {self.title}, {self.paper})"


def models(name: str | None = None) -> Any:
    """Return all models, or the one of this name.

    Examples
    --------
    >>> import clenshaw
    >>> len(clenshaw.models())
    28
    >>> clenshaw.models("gcnii").title
    'GCNII'
    """
    if name is not None:
        return ModelInfo(**_clenshaw.model_info(name))
    return [ModelInfo(**_clenshaw.model_info(each)) for each in _clenshaw.model_names()]


@dataclass(frozen=True)
class Homophily:
    """How often neighbours have the same class.

    Attributes
    ----------
    edge : float
        The share of edges that join nodes of the same class.
    node : float
        The share of a node's neighbours that are in its own class, averaged over nodes.
    """

    edge: float
    node: float

    def __repr__(self) -> str:
        return f"Homophily(edge={self.edge:.3g}, node={self.node:.3g})"


def homophily(graph: Any, y: Any = None, *, label: str | None = None) -> Homophily:
    """Return the homophily of a labelled graph; NaN if no edge joins labelled nodes.

    Unlabelled nodes are ignored.

    Parameters
    ----------
    graph
        The graph, in any form that ``NodeClassifier.fit`` accepts.
    y
        The labels; by default those that come with the graph.
    label
        The node attribute with the labels, for NetworkX, igraph and DGL graphs.

    Examples
    --------
    >>> import clenshaw
    >>> clenshaw.homophily([[0, 1, 0], [1, 0, 1], [0, 1, 0]], ["a", "a", "b"])
    Homophily(edge=0.5, node=0.5)
    """
    source = read_graph_of(graph, None, y, label)
    labels = source.y if y is None else y
    if labels is None:
        raise ValueError("`y` is missing, and the graph has no labels")
    codes = encode_labels(label_values(labels, source.graph.n_nodes, source.nodes)).codes
    edge, node = source.graph.homophily(codes)
    return Homophily(float("nan") if edge is None else edge, float("nan") if node is None else node)


@dataclass(frozen=True)
class Spectrum:
    """The distribution of a graph's eigenvalues.

    Attributes
    ----------
    mu : ndarray
        The centres of intervals of equal length from -1 to 1.
    density : ndarray
        The share of eigenvalues in each interval.
    exact : bool
        Whether all eigenvalues were computed; otherwise the kernel polynomial method estimates the shares.
    """

    mu: np.ndarray
    density: np.ndarray
    exact: bool

    def __repr__(self) -> str:
        mean = float(np.average(self.mu, weights=self.density)) if self.density.any() else 0.0
        kind = "exact" if self.exact else "estimated"
        return f"Spectrum({len(self.mu)} intervals from -1 to 1, mean {mean:.3g}, {kind})"


def spectrum(graph: Any, *, bins: int = 100, normalisation: str = "looped") -> Spectrum:
    """Return the distribution of the eigenvalues of the normalised adjacency matrix.

    Parameters
    ----------
    graph
        The graph, in any form that ``NodeClassifier.fit`` accepts.
    bins
        The number of intervals.
    normalisation
        ``"looped"``: with one self-loop per node, as most models use; ``"plain"``: without.
    """
    shares, exact = read_graph(graph).graph.spectral_density(normalisation, bins)
    edges = np.linspace(-1, 1, bins + 1)
    return Spectrum((edges[:-1] + edges[1:]) / 2, np.array(shares), exact)


def filter_response(
    coefficients: Any, basis: str = "chebyshev-second", mu: Any = None, *, a: float = 0.0, b: float = 0.0
) -> np.ndarray:
    """Return ``sum_k c_k phi_k(mu)``.

    Parameters
    ----------
    coefficients
        ``c_0, c_1, ...``
    basis
        ``monomial``, ``chebyshev-first``, ``chebyshev-second``, ``chebyshev-laplacian`` (``T_k(-mu)``),
        ``legendre``, ``jacobi`` or ``bernstein``.
    mu
        Frequencies in [-1, 1]; by default 201 points.
    a, b
        The exponents of the Jacobi weight.

    Examples
    --------
    >>> import clenshaw
    >>> clenshaw.filter_response([0, 0, 1], "chebyshev-second", [1.0]).tolist()
    [3.0]
    """
    points = np.linspace(-1, 1, 201) if mu is None else np.atleast_1d(np.asarray(mu, dtype=np.float64))
    numbers = np.atleast_1d(np.asarray(coefficients, dtype=np.float64)).tolist()
    return np.array(_clenshaw.filter_response(numbers, basis, points.ravel().tolist(), a, b)).reshape(points.shape)


def make_csbm(
    n_nodes: int = 2000,
    *,
    n_classes: int = 3,
    degree: float = 15.0,
    homophily: float = 0.1,
    n_features: int = 32,
    signal: float = 1.0,
    random_state: int | None = None,
) -> Dataset:
    """Generate a graph by the contextual stochastic block model.

    Parameters
    ----------
    n_nodes, n_classes, n_features
        The numbers of nodes, classes and features; classes have the same size or differ by one node.
    degree
        The average number of neighbours.
    homophily
        The expected share of edges that join nodes of the same class.
    signal
        The root mean square length of the class means of the features; the noise of every feature has
        variance 1.
    random_state
        The seed; ``None`` is 0.
    """
    settings = (
        f"nodes={n_nodes},classes={n_classes},degree={float(degree)!r},homophily={float(homophily)!r},"
        f"features={n_features},signal={float(signal)!r},seed={random_state or 0}"
    )
    return load(f"csbm:{settings}")

"""Learned filters: the response h(mu) over the spectrum of the normalised adjacency."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

from clenshaw import _clenshaw


class LearnedFilter:
    """The frequency response of a spectral model.

    A frequency is an eigenvalue ``mu`` of the normalised adjacency: 1 is the lowest frequency, where
    neighbours have equal values, and -1 the highest, where they have opposite ones.

    Attributes
    ----------
    mu : ndarray
        Frequencies from -1 to 1.
    response : ndarray
        The response at these frequencies; for several channels their mean, and for matrix-valued
        coefficients the root mean square.
    coefficients : ndarray of shape (channels, K + 1)
        The coefficients of the polynomial; empty if the model's coefficients are matrices.
    basis : str
        The polynomial basis, for example ``chebyshev-second``; empty if there are no coefficients.
    """

    def __init__(self, mu: np.ndarray, response: np.ndarray, coefficients: np.ndarray, basis: str) -> None:
        self.mu = mu
        self.response = response
        self.coefficients = coefficients
        self.basis = basis
        self._graph: _clenshaw.Graph | None = None
        self._normalisation: str | None = None
        self._density: np.ndarray | None = None

    @property
    def density(self) -> np.ndarray | None:
        """The share of the graph's eigenvalues in 80 intervals from -1 to 1; ``None`` if it is not known."""
        if self._density is None and self._graph is not None and self._normalisation in ("plain", "looped"):
            shares, _ = self._graph.spectral_density(self._normalisation, 80)
            self._density = np.array(shares)
        return self._density

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_graph": None}

    @classmethod
    def _from_points(cls, points: dict[str, Any]) -> LearnedFilter:
        coefficients = np.array(points["coefficients"], dtype=np.float64)
        return cls(np.array(points["mu"]), np.array(points["response"]), coefficients, points["basis"])

    def __call__(self, mu: Any) -> np.ndarray:
        """Return the response at given frequencies, interpolated linearly between the sampled ones."""
        return np.interp(np.asarray(mu, dtype=np.float64), self.mu, self.response)

    def __repr__(self) -> str:
        low, high = float(self(1.0)), float(self(-1.0))
        terms = f", {self.coefficients.shape[-1]} terms" if self.coefficients.size else ""
        basis = f"{_basis_name(self.basis)}{terms}, " if self.basis else ""
        return f"LearnedFilter({basis}h(1) = {low:.3g} at the lowest frequency, h(-1) = {high:.3g} at the highest)"

    def _repr_html_(self) -> str:
        return f"<figure>{self.to_svg()}<figcaption>{escape(repr(self))}</figcaption></figure>"

    def to_svg(self, width: int = 560, height: int = 260) -> str:
        """Return a drawing of the response, over the spectral density of the graph if it is known."""
        left, right, top, bottom = 52, 16, 16, 44
        inner_width, inner_height = width - left - right, height - top - bottom
        low, high = min(0.0, float(self.response.min())), max(0.0, float(self.response.max()))
        if high - low < 1e-12:
            high = low + 1.0

        def x(mu: float) -> float:
            return left + (mu + 1) / 2 * inner_width

        def y(value: float) -> float:
            return top + (high - value) / (high - low) * inner_height

        parts = []
        density = self.density
        if density is not None and density.max() > 0:
            bar = inner_width / len(density)
            heights = density / density.max() * inner_height
            parts += [
                f'<rect x="{left + i * bar:.1f}" y="{top + inner_height - h:.1f}" width="{bar:.2f}" '
                f'height="{h:.1f}" fill="#9aa5b1" fill-opacity="0.35"/>'
                for i, h in enumerate(heights) if h > 0.05
            ]
        for mu in (-1.0, -0.5, 0.0, 0.5, 1.0):
            parts.append(
                f'<text x="{x(mu):.1f}" y="{height - 26}" text-anchor="middle" font-size="11" '
                f'fill="currentColor">{mu:g}</text>'
            )
        for value in np.linspace(low, high, 4):
            parts.append(
                f'<line x1="{left}" x2="{width - right}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
                f'stroke="currentColor" stroke-opacity="0.15"/><text x="{left - 6}" y="{y(value) + 4:.1f}" '
                f'text-anchor="end" font-size="11" fill="currentColor">{value:.2g}</text>'
            )
        points = " ".join(f"{x(mu):.1f},{y(value):.1f}" for mu, value in zip(self.mu, self.response))
        parts.append(f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="2"/>')
        label = "frequency: eigenvalue mu of the normalised adjacency (1: lowest, -1: highest)"
        parts.append(
            f'<text x="{left + inner_width / 2:.0f}" y="{height - 8}" text-anchor="middle" font-size="11" '
            f'fill="currentColor">{label}</text>'
        )
        title = "Learned filter h(mu)" + (", grey: spectral density" if density is not None else "")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'role="img" aria-label="{escape(repr(self))}"><title>{title}</title>{"".join(parts)}</svg>'
        )


def _basis_name(basis: str) -> str:
    """Return the name of a basis that may have parameters, as JSON."""
    if not basis.startswith("{"):
        return basis
    return next(iter(json.loads(basis)))


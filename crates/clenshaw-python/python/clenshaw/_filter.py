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
        rows = points["coefficients"]
        # A channel whose basis is exhausted, because its features span few frequencies, has fewer terms.
        coefficients = np.zeros((len(rows), max(map(len, rows), default=0)))
        for row, values in zip(coefficients, rows):
            row[: len(values)] = values
        return cls(np.array(points["mu"]), np.array(points["response"]), coefficients, points["basis"])

    def __call__(self, mu: Any) -> Any:
        """Return the response at given frequencies, interpolated linearly between the sampled ones."""
        return np.interp(np.asarray(mu, dtype=np.float64), self.mu, self.response)

    def __repr__(self) -> str:
        # Without the density, which takes time to compute, the frequencies that occur are not known.
        occupied = self.mu[_has_eigenvalues(self.mu, self._density)]
        high, low = float(occupied.min()), float(occupied.max())
        terms = f", {self.coefficients.shape[-1]} terms" if self.coefficients.size else ""
        basis = f"{_basis_name(self.basis)}{terms}, " if self.basis else ""
        return (
            f"LearnedFilter({basis}h({low:.2g}) = {float(self(low)):.3g} at the lowest frequency, "
            f"h({high:.2g}) = {float(self(high)):.3g} at the highest)"
        )

    def _repr_html_(self) -> str:
        # The drawing computes the density, which the caption uses.
        drawing = self.to_svg()
        caption = f'<figcaption style="font-size:smaller">{escape(repr(self))}</figcaption>'
        return f'<figure style="margin:0">{drawing}{caption}</figure>'

    def to_svg(self, width: int = 560, height: int = 270) -> str:
        """Return a drawing of the response, over the spectral density of the graph if it is known.

        Where the graph has no eigenvalue, the response has no effect: there the curve is dashed, and its
        values do not set the scale.
        """
        density = self.density
        used = _has_eigenvalues(self.mu, density)
        ticks = _ticks(min(0.0, self.response[used].min()), max(0.0, self.response[used].max()))
        axes = _Axes(width, height, ticks)
        thin = 'stroke-width="1" stroke-opacity="0.6" stroke-dasharray="3 3"'
        curves = [
            axes.curve(self.mu, self.response, np.ones_like(used), thin),
            axes.curve(self.mu, self.response, used, 'stroke-width="2"'),
        ]
        grey = "; grey: eigenvalues of the graph; dashed: no eigenvalues" if density is not None else ""
        legend = f"h(μ): learned filter{grey}"
        parts = [axes.bars(density), axes.lines_and_labels(), *curves, axes.title(legend)]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="11" fill="currentColor">'
            f"<title>{escape(repr(self))}</title>{''.join(parts)}</svg>"
        )


class _Axes:
    """The coordinates of a drawing: frequencies from -1 to 1, values from the first to the last tick."""

    def __init__(self, width: int, height: int, ticks: np.ndarray) -> None:
        self.left, self.top, self.right, self.bottom = 44.0, 28.0, width - 14.0, height - 42.0
        self.ticks = ticks

    def x(self, mu: Any) -> Any:
        return self.left + (mu + 1) / 2 * (self.right - self.left)

    def y(self, value: Any) -> Any:
        low, high = self.ticks[0], self.ticks[-1]
        return self.top + (high - value) / (high - low) * (self.bottom - self.top)

    def bars(self, density: np.ndarray | None) -> str:
        """The density as one outline, scaled to 70% of the height."""
        if density is None or density.max() <= 0:
            return ""
        edges = self.x(np.linspace(-1, 1, len(density) + 1))
        tops = self.bottom - 0.7 * (self.bottom - self.top) * density / density.max()
        steps = "".join(f"V{top:.1f}H{edge:.1f}" for top, edge in zip(tops, edges[1:]))
        outline = f"M{self.left:.1f},{self.bottom:.1f}{steps}V{self.bottom:.1f}Z"
        return f'<path d="{outline}" fill="#9aa5b1" fill-opacity="0.35"/>'

    def curve(self, mu: np.ndarray, values: np.ndarray, drawn: np.ndarray, style: str) -> str:
        """A line through some of the points; those above or below the axes are left out."""
        inside = drawn & (values >= self.ticks[0]) & (values <= self.ticks[-1])
        path, pen = [], "M"
        for x, y, shown in zip(self.x(mu), self.y(values), inside):
            if shown:
                path.append(f"{pen}{x:.1f},{y:.1f}")
            pen = "L" if shown else "M"
        return f'<path d="{"".join(path)}" fill="none" stroke="#0072b2" {style}/>'

    def lines_and_labels(self) -> str:
        parts = []
        for value in self.ticks:
            y, opacity = self.y(value), 0.6 if value == 0 else 0.12
            line = f"M{self.left:.1f},{y:.1f}H{self.right:.1f}"
            parts.append(
                f'<path d="{line}" stroke="currentColor" stroke-opacity="{opacity}"/>'
                f'<text x="{self.left - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
            )
        for mu in (-1.0, -0.5, 0.0, 0.5, 1.0):
            parts.append(f'<text x="{self.x(mu):.1f}" y="{self.bottom + 16:.0f}" text-anchor="middle">{mu:g}</text>')
        ends = ((self.left, "start", "high frequency"), (self.right, "end", "low frequency"))
        for x, anchor, text in (*ends, (self.x(0.0), "middle", "μ")):
            parts.append(f'<text x="{x:.0f}" y="{self.bottom + 34:.0f}" text-anchor="{anchor}">{text}</text>')
        return "".join(parts)

    def title(self, text: str) -> str:
        return f'<text x="{self.left:.0f}" y="16">{text}</text>'


def _has_eigenvalues(mu: np.ndarray, density: np.ndarray | None) -> np.ndarray:
    """Return whether the graph has eigenvalues in the interval of every ``mu``."""
    if density is None or density.max() <= 0:
        return np.ones(len(mu), dtype=bool)
    # The kernel polynomial method leaves traces outside the spectrum.
    occupied = density > 1e-4 * density.sum()
    interval = np.clip(np.floor((mu + 1) / 2 * len(density)), 0, len(density) - 1).astype(int)
    # The ends of intervals belong to both.
    before = np.clip(np.ceil((mu + 1) / 2 * len(density)) - 1, 0, len(density) - 1).astype(int)
    used = occupied[interval] | occupied[before]
    return used if used.any() else np.ones(len(mu), dtype=bool)


def _ticks(low: float, high: float) -> np.ndarray:
    """Return three to seven multiples of 1, 2 or 5 times a power of ten that cover an interval."""
    if not np.isfinite(high - low) or high - low < 1e-12:
        return np.array([0.0, 0.5, 1.0])
    power = 10.0 ** np.floor(np.log10((high - low) / 3))
    step = power * next(factor for factor in (1.0, 2.0, 5.0, 10.0) if (high - low) / (factor * power) <= 5)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return np.asarray(np.round(np.arange(first, last + 1) * step, 12) + 0.0)


def _basis_name(basis: str) -> str:
    """Return the name of a basis that may have parameters, as JSON."""
    if not basis.startswith("{"):
        return basis
    return str(next(iter(json.loads(basis))))

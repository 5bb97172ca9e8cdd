"""Polynomial bases, and sums in them by Clenshaw's recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

FloatArray = npt.NDArray[np.floating[Any]]
# Step k of a recurrence: (a, b, c) of `phi_{k+1} = (a mu + b) phi_k - c phi_{k-1}`.
RecurrenceStep = Callable[[int], tuple[float, float, float]]


def monomial(k: int) -> tuple[float, float, float]:
    """`mu^k`."""
    return 1.0, 0.0, 0.0


def chebyshev(k: int) -> tuple[float, float, float]:
    """`T_k(mu)`."""
    return (1.0 if k == 0 else 2.0), 0.0, 1.0


def chebyshev_second(k: int) -> tuple[float, float, float]:
    """`U_k(mu)`."""
    return 2.0, 0.0, 1.0


def chebyshev_laplacian(k: int) -> tuple[float, float, float]:
    """`T_k(-mu)`: the scaled Laplacian L^ is -P."""
    return (-1.0 if k == 0 else -2.0), 0.0, 1.0


def legendre(k: int) -> tuple[float, float, float]:
    """`P_k(mu)`."""
    return (2.0 * k + 1.0) / (k + 1.0), 0.0, k / (k + 1.0)


def jacobi(a: float, b: float, sign: float = 1.0) -> RecurrenceStep:
    """`P_k^(a,b)(mu)`; a negative sign selects the recurrence of JacobiConv's released code."""
    s = a + b

    def step(k: int) -> tuple[float, float, float]:
        if k == 0:
            return (s + 2.0) / 2.0, (a - b) / 2.0, 0.0
        k += 1  # the degree of the polynomial that the step computes
        c = 2.0 * k * (k + s) * (2.0 * k + s - 2.0)
        return (
            (2.0 * k + s - 1.0) * (2.0 * k + s) * (2.0 * k + s - 2.0) / c,
            sign * (2.0 * k + s - 1.0) * (a * a - b * b) / c,
            2.0 * (k + a - 1.0) * (k + b - 1.0) * (2.0 * k + s) / c,
        )

    return step


def clenshaw(p: Tensor, step: RecurrenceStep, terms: Sequence[Tensor]) -> Tensor:
    """`sum_k phi_k(P) v_k = s_0`, `s_k = v_k + (a_k P + b_k) s_{k+1} - c_{k+1} s_{k+2}`."""
    s1, s2 = terms[-1], terms[-1].new_zeros(())  # s_{k+1}, s_{k+2}
    for k in reversed(range(len(terms) - 1)):
        (a, b, _), (_, _, c) = step(k), step(k + 1)
        s1, s2 = terms[k] + a * (p @ s1) + b * s1 - c * s2, s1
    return s1


def nodes_and_interpolation(order: int) -> tuple[FloatArray, FloatArray]:
    """The Chebyshev nodes, and M: values v at the nodes have the coefficients `c = v M`."""
    angle = (order - np.arange(order + 1) + 0.5) * np.pi / (order + 1)
    m = np.cos(np.outer(angle, np.arange(order + 1))) * 2.0 / (order + 1)
    m[:, 0] /= 2.0
    return np.cos(angle), m


def bernstein_to_chebyshev(order: int) -> FloatArray:
    """Row k: `C(K,k) ((1 + mu)/2)^{K-k} ((1 - mu)/2)^k` in the Chebyshev basis."""
    nodes, m = nodes_and_interpolation(order)
    low, high = (1.0 + nodes) / 2.0, (1.0 - nodes) / 2.0
    rows = [math.comb(order, k) * low ** (order - k) * high**k for k in range(order + 1)]
    product: FloatArray = np.array(rows) @ m
    return product


def page_rank(alpha: float, order: int) -> list[float]:
    """`c_k = alpha (1-alpha)^k` for `k < K` and `c_K = (1-alpha)^K`."""
    return [alpha * (1.0 - alpha) ** k for k in range(order)] + [(1.0 - alpha) ** order]

"""Models whose graph convolution is one polynomial filter: decoupled models, and filters per channel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from clenshaw._torch._net import Net, at_least, total
from clenshaw._torch._polynomials import (
    FloatArray,
    RecurrenceStep,
    bernstein_to_chebyshev,
    chebyshev,
    chebyshev_laplacian,
    chebyshev_second,
    clenshaw,
    jacobi,
    legendre,
    monomial,
    nodes_and_interpolation,
    page_rank,
)


def _learned(net: Net, name: str, relu: bool = False, m: FloatArray | None = None) -> Tensor:
    """Coefficients `c = f(theta) M`, [K + 1], where `f` may be relu."""
    c = net.param(name, 1, net.hyper["K"] + 1)
    c = c.relu() if relu else c
    return (c if m is None else c @ c.new_tensor(m))[0]


def _decoupled(net: Net, step: RecurrenceStep, c: Sequence[float] | Tensor) -> Tensor:
    """`out = sum_k c_k phi_k(P) drop(Z)`, `Z = head(X)`; with `precompute`, `out = head(sum_k c_k phi_k(P) X)`."""
    if net.hyper.get("precompute"):
        return net.mlp(clenshaw(net.p, step, [c_k * net.x for c_k in c]))
    z = net.drop(net.mlp(), "dropout_prop")
    return clenshaw(net.p, step, [c_k * z for c_k in c])


def appnp(net: Net) -> Tensor:
    """`Z(k) = (1 - alpha) P~ Z(k-1) + alpha Z(0)`, `Z(0) = head(X)`, `out = Z(K)`."""
    c = page_rank(net.hyper["alpha"], net.hyper["K"])
    if net.hyper.get("precompute"):
        return _decoupled(net, monomial, c)
    z = net.mlp()
    return clenshaw(net.p, monomial, [c_k * z for c_k in c])


def gpr_gnn(net: Net) -> Tensor:
    """`out = sum_k gamma_k P~^k drop(Z)`, `Z = head(X)`."""
    return _decoupled(net, monomial, _learned(net, "gamma"))


def bern_net(net: Net) -> Tensor:
    """`out = sum_k relu(theta_k) C(K,k) / 2^K (2I - L)^{K-k} L^k drop(Z)`, `Z = head(X)`."""
    m = bernstein_to_chebyshev(net.hyper["K"])
    return _decoupled(net, chebyshev, _learned(net, "theta", relu=True, m=m))


def cheb_base(net: Net) -> Tensor:
    """`out = sum_k w_k / max(k, 1)^q T_k(L^) drop(Z)`, `Z = head(X)`."""
    damping = np.maximum(np.arange(net.hyper["K"] + 1.0), 1.0) ** -net.hyper["q"]
    return _decoupled(net, chebyshev_laplacian, _learned(net, "w", m=np.diag(damping)))


def cheb_net_ii(net: Net) -> Tensor:
    """`out = sum_k c_k T_k(L^) drop(Z)`; the filter has the value relu(theta_j) at the node x_j."""
    _, m = nodes_and_interpolation(net.hyper["K"])
    c = _learned(net, "theta", relu=net.hyper["relu"], m=m)
    return _decoupled(net, chebyshev_laplacian, c)


def poly(net: Net) -> Tensor:
    """`out = sum_k c_k phi_k(P~) drop(Z)`, `Z = head(X)`; `filter` selects phi and c."""
    kind, order, t = net.hyper["filter"], net.hyper["K"], net.hyper["t"]
    if kind in ("sgc", "ppr"):
        alpha = 0.0 if kind == "sgc" else net.hyper["alpha"]
        return _decoupled(net, monomial, page_rank(alpha, order))
    if kind == "heat":
        c = [math.exp(-t) * t**k / math.factorial(k) for k in range(order + 1)]
        return _decoupled(net, monomial, c)
    if kind == "gaussian":
        nodes, m = nodes_and_interpolation(order)
        return _decoupled(net, chebyshev, (np.exp(-t * (1.0 - nodes) ** 2) @ m).tolist())
    if kind == "bernstein":
        return bern_net(net)
    steps: dict[str, RecurrenceStep] = {
        "monomial": monomial,
        "chebyshev": chebyshev,
        "chebyshev2": chebyshev_second,
        "legendre": legendre,
        "jacobi": jacobi(net.hyper["a"], net.hyper["b"]),
    }
    if kind not in steps:
        raise ValueError(f"poly: unknown filter `{kind}`")
    return _decoupled(net, steps[kind], _learned(net, "theta"))


def jacobi_conv(net: Net) -> Tensor:
    """`out_c = sum_k w_kc g_0 ... g_{k-1} P_k^(a,b)(P) drop(Z)_c`, `Z = drop(X) W + b`.

    `g_k = alpha tanh(eta_k)`. With `precompute`, `Z_j = sum_k w_kj g_0 ... g_{k-1} P_k^(a,b)(P) X_j` for every feature
    j, `out = drop(Z) W + b`.
    """

    def dense(x: Tensor) -> Tensor:
        return net.dense("w_in", "b_in", net.drop(x), net.n_classes)

    order, alpha, precompute = net.hyper["K"], net.hyper["alpha"], net.hyper.get("precompute")
    z = net.x if precompute else net.drop(dense(net.x), "dropout_prop")
    eta, w = net.param("eta", order, 1), net.param("w", order + 1, z.shape[1])
    terms, g = [w[0] * z], z.new_ones(())
    for k in range(order):
        g = g * alpha * eta[k].tanh()
        terms.append(g * w[k + 1] * z)
    sign = -1.0 if net.hyper["released_sign"] else 1.0
    out = clenshaw(net.p, jacobi(net.hyper["a"], net.hyper["b"], sign), terms)
    return dense(out) if precompute else out


# Filters per channel ---------------------------------------------------------------------------


def _per_channel(net: Net, basis: Callable[[Tensor], list[Tensor]]) -> Tensor:
    """`out = drop(sum_k alpha_k (.) B_k) W' + b'`, `Z = drop(relu(drop(X) W + b))`.

    `basis(Z)` returns `B_0, ..., B_K`.
    """
    width = net.hyper["hidden"]
    z = net.dense("w_in", "b_in", net.drop(net.x), width).relu()
    z = net.drop(z, "dropout_basis")
    alpha = net.param("alpha", net.hyper["K"] + 1, width)
    h = total([alpha_k * b for alpha_k, b in zip(alpha, basis(z))])
    return net.dense("w_out", "b_out", net.drop(h), net.n_classes)


def favard_gnn(net: Net) -> Tensor:
    """`s_k B_k = P B_{k-1} - eta_{k-1} B_{k-1} - s_{k-1} B_{k-2}`, `s_0 B_0 = Z`, `s >= 0.01`."""
    order, width = net.hyper["K"], net.hyper["hidden"]

    def basis(z: Tensor) -> list[Tensor]:
        s = at_least(net.param("s", order + 1, width), 0.01)
        eta = net.param("eta", order, width)
        b1, b2 = z / s[0], z.new_zeros(())  # B_{k-1}, B_{k-2}
        all_b = [b1]
        for k in range(1, order + 1):
            b1, b2 = (net.p @ b1 - eta[k - 1] * b1 - s[k - 1] * b2) / s[k], b1
            all_b.append(b1)
        return all_b

    return _per_channel(net, basis)


def opt_basis_gnn(net: Net) -> Tensor:
    """`s_k B_k = V - <V, B_{k-1}> B_{k-1} - <V, B_{k-2}> B_{k-2}`, `V = P B_{k-1}`, `|B_k| = 1`."""

    def normalise(v: Tensor) -> Tensor:
        s = at_least((v * v).sum(dim=0), 1e-16).sqrt()
        return v * s.reciprocal().masked_fill(s <= 1e-6, 0.0)  # 0 where V is only rounding error

    def basis(z: Tensor) -> list[Tensor]:
        all_b = [normalise(z)]
        for _ in range(net.hyper["K"]):
            v = net.p @ all_b[-1]
            for b in reversed(all_b[-2:]):
                v = v - (v * b).sum(dim=0) * b
            all_b.append(normalise(v))
        return all_b

    return _per_channel(net, basis)

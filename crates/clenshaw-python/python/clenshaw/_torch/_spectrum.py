"""Models that compute with the spectrum of the graph or with the features before training."""

# `l` is the papers' letter for a layer.
# ruff: noqa: E741

from __future__ import annotations

import math

import torch
from torch import Tensor

from clenshaw._torch._net import Net, concat, total


def specformer(net: Net) -> Tensor:
    """`Z <- Z (.) c_0 + sum_m U (F_m (.) U' Z) (.) c_m`, F learned on all eigenvalues of `L = I - P`."""
    z = net.dense("w_in", "b_in", net.drop(net.x), net.hyper["hidden"]).relu()
    z = net.drop(net.dense("w_enc", "b_enc", z, net.n_classes))
    mu, u = net.graph.eigen
    filters = _filters(net, 1.0 - mu)
    for l in range(net.hyper["layers"]):
        c = net.param(f"comb.{l}", net.hyper["heads"] + 1, net.n_classes)
        spectrum = u.T @ z
        terms = [c[0] * net.drop(z, "dropout_prop")]
        for c_m, f in zip(c[1:], filters.T):
            terms.append(c_m * net.drop(u @ (f[:, None] * spectrum), "dropout_prop"))
        z = total(terms)
    return z


def _filters(net: Net, eigenvalues: Tensor) -> Tensor:
    """The values of all filters on the eigenvalues, which are in double precision, [n, heads]."""
    width = net.hyper["hidden"]
    frequency = 10_000.0 ** (-2.0 * torch.arange(width // 2, dtype=torch.float64) / width)
    phase = 100.0 * eigenvalues[:, None] * frequency.to(eigenvalues.device)
    code = concat([eigenvalues[:, None], phase.sin(), phase.cos()]).to(net.x.dtype)
    e = net.dense("eig.w", "eig.b", code, width)
    e = e + net.drop(_attention(net, net.layer_norm("mha.ln", e)), "dropout_attention")
    inner = net.dense("ffn.w1", "ffn.b1", net.layer_norm("ffn.ln", e), width)
    inner = torch.nn.functional.gelu(inner)
    e = e + net.drop(net.dense("ffn.w2", "ffn.b2", inner, width), "dropout_attention")
    return net.dense("dec.w", "dec.b", e, net.hyper["heads"])


def _attention(net: Net, y: Tensor) -> Tensor:
    """Scaled dot-product attention of the rows of `y` to all rows; a head has consecutive channels."""
    width, heads = net.hyper["hidden"], net.hyper["heads"]
    q, k, v = (net.dense(f"mha.w{part}", f"mha.b{part}", y, width) for part in "qkv")
    parts = []
    for head in range(heads):
        channels = slice(head * width // heads, (head + 1) * width // heads)
        scores = math.sqrt(heads / width) * (q[:, channels] @ k[:, channels].T)
        weights = net.drop(scores.softmax(dim=1), "dropout_attention")
        parts.append(weights @ v[:, channels])
    return net.dense("mha.wo", "mha.bo", concat(parts), width)


def uni_filter(net: Net) -> Tensor:
    """`Z = sum_k theta_k B_k` in the universal basis of the features, then dense layers."""
    theta = net.param("theta", 1, net.hyper["K"] + 1)[0]
    basis = universal_basis(net)
    z = total([theta_k * net.drop(b, "dropout_basis") for theta_k, b in zip(theta, basis)])
    last = net.hyper["mlp_layers"] - 1
    for l in range(last + 1):
        z = net.drop(z)
        y = net.linear(f"lin.{l}.w", z, net.hyper["hidden"] if l < last else net.n_classes)
        if net.hyper["bn"] and l < last:
            y = net.batch_norm(f"bn.{l}", y)
        y = y + z if y.shape == z.shape else y
        z = y.relu() if l < last else y
    return z


def universal_basis(net: Net) -> list[Tensor]:
    """`B_0, ..., B_K`: `B_k = tau P^k x + (1 - tau) u_k`, in double precision until the end."""
    tau = net.hyper["tau"]
    p, x = net.p.detach().double(), net.x.detach().double()
    cosine = max(math.cos(0.5 * math.pi * (1.0 - net.hyper["homophily"])), 1e-6)

    def normalised(v: Tensor) -> Tensor:
        norm = v.norm(dim=0)
        return v * norm.reciprocal().masked_fill(norm <= 1e-8, 0.0)  # 0 where V is rounding error

    power, v1, v2 = x, normalised(x), torch.zeros_like(x)
    u = total_u = v1
    basis = [x]
    for k in range(1, net.hyper["K"] + 1):
        v = p @ v1
        for known in (v1, v2):
            v = v - (v * known).sum(dim=0) * known
        v = normalised(v)
        reference = basis[-1] if net.hyper["released"] else u
        dot = (total_u * reference).sum(dim=0) / k
        square = (dot / cosine) ** 2 - ((k - 1) * cosine + 1.0) / k
        u = normalised(total_u / k + square.clamp(min=0.0).sqrt() * v)
        total_u = total_u + u
        power = p @ power
        basis.append(tau * power + (1.0 - tau) * u)
        v2, v1 = v1, v
    return [b.to(net.x.dtype) for b in basis]

"""Dense, message-passing and residual models, and the table of all models."""

# `l` is the papers' letter for a layer.
# ruff: noqa: E741

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import gelu

from clenshaw._torch import _filters, _spectrum
from clenshaw._torch._net import Net, concat, relu_star, total
from clenshaw._torch._polynomials import chebyshev_laplacian, clenshaw


def mlp(net: Net) -> Tensor:
    """`out = drop(relu(drop(X) W1 + b1)) W2 + b2`; without a hidden layer `drop(X) W2 + b2`."""
    if net.hyper["hidden"] == 0:
        return net.dense("w_out", "b_out", net.drop(net.x), net.n_classes)
    return net.mlp()


def linkx(net: Net) -> Tensor:
    """`out = MLP(relu(drop([h_A | h_X] W + b) + h_A + h_X))`, `h_A = MLP(A)`, `h_X = MLP(X)`."""
    width = net.hyper["hidden"]

    def mlp(name: str, n_layers: int, h: Tensor, outputs: int) -> Tensor:
        last = n_layers - 1
        for l in range(last):
            h = net.dense(f"{name}.{l}.w", f"{name}.{l}.b", h, width).relu()
            h = net.batch_norm(f"{name}.{l}.bn", h)
            h = net.drop(h) if name == "out" else h
        return net.dense(f"{name}.{last}.w", f"{name}.{last}.b", h, outputs)

    h_a = mlp("a", net.hyper["layers_A"], net.graph.adjacency, width)
    h_x = mlp("x", net.hyper["layers_X"], net.x, width)
    h = net.drop(net.dense("both.w", "both.b", concat([h_a, h_x]), width), "dropout_inner")
    if net.hyper["relu_inner"]:
        h = h.relu()
    return mlp("out", net.hyper["layers"], (h + h_a + h_x).relu(), net.n_classes)


# Message passing -------------------------------------------------------------------------------


def _convolution(net: Net, l: int, h: Tensor, width: int) -> Tensor:
    """`P~ (H W) + b`."""
    hw = net.linear(f"conv.{l}.w", h, width)
    return net.p @ hw + net.param(f"conv.{l}.b", 1, width)


def _activate(net: Net, l: int, h: Tensor) -> Tensor:
    """`relu(norm(H))`."""
    return (net.batch_norm(f"bn.{l}", h) if net.hyper["bn"] else h).relu()


Convolution = Callable[[Net, int, "Tensor", int], "Tensor"]


def _stack(
    net: Net,
    convolution: Convolution,
    x: Tensor | None = None,
    activate: Callable[[Tensor], Tensor] = torch.relu,
) -> Tensor:
    """`H(l) = drop(act(norm(conv(H(l-1)) + H(l-1) V(l) + c(l))))`, `out = conv(H(L-1))` or `H W + b`."""
    h, width = net.x if x is None else x, net.hyper["hidden"]
    is_dense = net.hyper.get("head") == "dense"
    n_hidden = net.hyper["layers"] - (not is_dense)
    if net.hyper.get("pre_linear"):
        h = net.drop(net.dense("w_in", "b_in", h, width))
    outputs = []
    for l in range(n_hidden):
        z = convolution(net, l, h, width)
        if net.has_skip:
            z = z + net.dense(f"skip.{l}.w", f"skip.{l}.b", h, z.shape[1])
        h = net.drop(activate(net.normalise(l, z)))
        outputs.append(h)
    if net.hyper.get("jk") and outputs:
        h = total(outputs)
    if is_dense:
        return net.dense("w_out", "b_out", h, net.n_classes)
    return convolution(net, n_hidden, h, net.n_classes)


def gcn(net: Net) -> Tensor:
    """`H(l) = relu(P~ drop(H(l-1)) W(l) + b(l))`, `out = P~ drop(H(L-1)) W(L) + b(L)`."""
    return _stack(net, _convolution)


def sage(net: Net) -> Tensor:
    """`H(l) = drop(relu(M H(l-1) W(l) + b(l) + H(l-1) R(l)))`, `out` without activation."""

    def convolution(net: Net, l: int, h: Tensor, width: int) -> Tensor:
        means = net.neighbour_mean(net.linear(f"conv.{l}.w", h, width), net.hyper["loops"])
        return means + net.dense(f"conv.{l}.root", f"conv.{l}.b", h, width)

    return _stack(net, convolution)


def sage_sep(net: Net) -> Tensor:
    """`H <- H + ffn([Z | M Z])`, `Z = LN(H)`, from `gelu(drop(X W + b))`; `out = LN(H) W + b`."""
    width = net.hyper["hidden"]
    h = gelu(net.drop(net.dense("w_in", "b_in", net.x, width)))
    for l in range(net.hyper["layers"]):
        z = net.layer_norm(f"mod.{l}.ln", h)
        both, name = concat([z, net.neighbour_mean(z)]), f"mod.{l}.ffn"
        inner = net.dense(f"{name}.w1", f"{name}.b1", both, width * net.hyper["ffn_multiplier"])
        update = net.dense(f"{name}.w2", f"{name}.b2", gelu(net.drop(inner)), width)
        h = h + net.drop(update)
    return net.dense("w_out", "b_out", net.layer_norm("ln_out", h), net.n_classes)


def gcn_jk(net: Net) -> Tensor:
    """`H(l) = relu(norm(P~ drop(H(l-1)) W(l) + b(l)))`, `out = join(H(1), ..., H(T)) W + b`."""
    h, width, last = net.x, net.hyper["hidden"], net.hyper["layers"] - 1
    layers = []
    for l in range(last):
        layers.append(_activate(net, l, _convolution(net, l, h, width)))
        h = net.drop(layers[-1])
    layers.append(_convolution(net, last, h, width))
    joined = _join(net, layers)
    return net.dense("w_out", "b_out", joined, net.n_classes)


def _join(net: Net, layers: list[Tensor]) -> Tensor:
    """The maximum, the concatenation or the attention of an LSTM over the layers' outputs."""
    join = net.hyper["join"]
    if join == "lstm":
        return _attention(net, layers)
    if join == "concat":
        return concat(layers)
    most = layers[0]
    for h in layers[1:]:
        most = most.where(most >= h, h)  # the gradient of a tie goes to the earlier layer
    return most


def _attention(net: Net, layers: list[Tensor]) -> Tensor:
    """`sum_l s_l H(l)`, `(s_1, ..., s_T) = softmax([forward_l | backward_l] a)` for each node."""
    width = max(len(layers) * layers[0].shape[1] // 2, 1)
    forward = _lstm(net, "forward", layers, width)
    backward = _lstm(net, "backward", layers[::-1], width)[::-1]
    a = net.param("attention.w", 2 * width, 1)
    scores = [concat([ahead, back]) @ a for ahead, back in zip(forward, backward)]
    shares = concat(scores).softmax(dim=1)  # [n, T]
    return total([shares[:, l : l + 1] * h for l, h in enumerate(layers)])


def _lstm(net: Net, name: str, values: list[Tensor], width: int) -> list[Tensor]:
    """`c <- f c + i g`, `h <- o tanh(c)`; `i, f, o = sigmoid(x W + h U + b)`, `g` with tanh."""
    inputs = values[0].shape[1]
    gates = [
        [net.param(f"{name}.{gate}.{part}", rows, width) for part, rows in
         (("w", inputs), ("u", width), ("b", 1))]
        for gate in "ifog"
    ]  # fmt: skip
    h = c = values[0].new_zeros(values[0].shape[0], width)
    states = []
    for x in values:
        i, f, o, g = (x @ w + h @ u + b for w, u, b in gates)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return states


def mixhop(net: Net) -> Tensor:
    """`H <- drop(relu(norm(mix(H))))`, `out = mix(H) W + b`, `mix(H) = [P~^j (H W_j + b_j)]_j`."""

    def mix(l: int, h: Tensor, width: int) -> Tensor:
        parts = []
        for j in range(net.hyper["hops"] + 1):
            part = net.dense(f"conv.{l}.w.{j}", f"conv.{l}.b.{j}", h, width)
            for _ in range(j):
                part = net.p @ part
            parts.append(part)
        return concat(parts)

    h, last = net.x, net.hyper["layers"] - 1
    for l in range(last):
        h = net.drop(_activate(net, l, mix(l, h, net.hyper["hidden"])))
    return net.dense("w_out", "b_out", mix(last, h, net.n_classes), net.n_classes)


def h2gcn(net: Net) -> Tensor:
    """`r0 = relu(X W)`, `r_k = [B1 r_{k-1} | B2 r_{k-1}]`, `out = drop([r0 | r1 | ...]) W'`."""
    b1, b2 = net.p, net.graph.two_hops.plain
    r = net.linear("w_in", net.x, net.hyper["hidden"])
    rounds = [r.relu() if net.hyper["relu"] else r]
    for _ in range(net.hyper["rounds"]):
        rounds.append(concat([b1 @ rounds[-1], b2 @ rounds[-1]]))
    return net.linear("w_out", net.drop(concat(rounds)), net.n_classes)


def _attend(net: Net, index: Tensor, values: Tensor, scores: tuple[Tensor, Tensor], head: Tensor,
            dropout: str | None) -> Tensor:  # fmt: skip
    """`out_i = sum_j drop(w_ij) values_j`, `w_ij` = softmax over j of `leaky(source_j + destination_i)`.

    The columns of ``index`` are pairs (i, j), and ``head`` contains the head of every column of
    ``values``.
    """
    source, destination = scores
    i, j = index[0], index[1]
    e = torch.nn.functional.leaky_relu(source[j] + destination[i], net.hyper["slope"])
    largest = torch.full_like(source, -math.inf)
    largest = largest.scatter_reduce(0, i[:, None].expand_as(e), e.detach(), "amax")
    w = (e - largest[i]).exp()
    w = w / torch.zeros_like(source).index_add(0, i, w)[i]
    if dropout is not None:
        w = net.drop(w, dropout)
    return torch.zeros_like(values).index_add(0, i, w[:, head] * values[j])


def gat(net: Net) -> Tensor:
    """`out_i = sum_j w_ij G_j + b`, `G = H W`, in layers with elu between them."""
    index = net.graph.index
    if net.hyper["loops"]:
        index = torch.cat([index, torch.arange(len(net.x), device=index.device).expand(2, -1)], dim=1)
    last = net.hyper["layers"] - 1

    def attention(l: int, h: Tensor, heads: int, width: int) -> Tensor:
        g = net.linear(f"conv.{l}.w", h, heads * width)
        by_head = g.reshape(-1, heads, width)
        source, destination = (
            (by_head * net.param(f"conv.{l}.att_{end}", heads, width)).sum(2)
            for end in ("src", "dst")
        )
        head = torch.arange(heads, device=g.device).repeat_interleave(width)
        return _attend(net, index, g, (source, destination), head, "dropout_attention")

    def convolution(net: Net, l: int, h: Tensor, width: int) -> Tensor:
        heads = net.hyper["heads_out" if l == last else "heads"]
        z = attention(l, h, heads, width)
        if l == last:
            z = z.reshape(-1, heads, width).mean(1)
        return z + net.param(f"conv.{l}.b", 1, z.shape[1])

    if net.hyper.get("head") == "dense":
        return _stack(net, lambda net, l, h, width: attention(l, h, 1, width))
    return _stack(net, convolution, net.drop(net.x), torch.nn.functional.elu)


def gat_sep(net: Net) -> Tensor:
    """`x <- x + ffn([z | m])`, `z = LN(x) W + b`, m the attention over neighbours; `out = LN(x) W' + b'`."""
    width, heads = net.hyper["hidden"], net.hyper["heads"]

    def norm(name: str, x: Tensor) -> Tensor:
        gamma, beta = (net.param(f"{name}.{part}", 1, width)[0] for part in ("gamma", "beta"))
        return torch.nn.functional.layer_norm(x, (width,), gamma, beta, net.hyper["ln_eps"])

    gelu = torch.nn.functional.gelu
    x = gelu(net.drop(net.dense("w_in", "b_in", net.x, width)))
    head = torch.arange(width, device=x.device) % heads
    for l in range(net.hyper["layers"]):
        z = net.dense(f"mod.{l}.w", f"mod.{l}.b", norm(f"mod.{l}.ln", x), width)
        source = net.dense(f"mod.{l}.att_src", f"mod.{l}.att_src_b", z, heads)
        destination = net.linear(f"mod.{l}.att_dst", z, heads)
        m = _attend(net, net.graph.index, z, (source, destination), head, None)
        inner = width * net.hyper["ffn_multiplier"]
        y = gelu(net.drop(net.dense(f"mod.{l}.ffn.w1", f"mod.{l}.ffn.b1", concat([z, m]), inner)))
        x = x + net.drop(net.dense(f"mod.{l}.ffn.w2", f"mod.{l}.ffn.b2", y, width))
    return net.dense("w_out", "b_out", norm("ln_out", x), net.n_classes)


def air_gnn(net: Net) -> Tensor:
    """`R = P~ X - Z`, `X_i <- Z_i + max(0, 1 - gamma lambda / |R_i|) R_i`, K times from `X = Z`."""
    lambda_ = net.hyper["lambda"]
    threshold = lambda_ / (2.0 * (1.0 - lambda_))
    x = z = net.mlp()
    for _ in range(net.hyper["K"]):
        r = net.p @ x - z
        square = r.square().sum(dim=1, keepdim=True)
        short = square.sqrt() <= threshold
        # Short rows have no gradient; that of sqrt would be infinite at 0.
        length = square.masked_fill(short, 1.0).sqrt()
        x = z + (1.0 - threshold / length).masked_fill(short, 0.0) * r
    return x


def cheb_net(net: Net) -> Tensor:
    """`H = relu(sum_k T_k(L^) X W0_k + b0)`, `out = sum_k T_k(L^) drop(H) W1_k + b1`, `L^ = -P`."""

    def convolution(l: int, h: Tensor, width: int) -> Tensor:
        hw = [net.linear(f"conv.{l}.w.{k}", h, width) for k in range(net.hyper["terms"])]
        return clenshaw(net.p, chebyshev_laplacian, hw) + net.param(f"conv.{l}.b", 1, width)

    h = convolution(0, net.x, net.hyper["hidden"]).relu()
    return convolution(1, net.drop(h), net.n_classes)


def arma(net: Net) -> Tensor:
    """`H(t+1) = relu(P H(t) W_t + drop(X) V_t + b_t)`, `out = drop(mean of H(T)) W' + b'`."""
    n_layers, n_stacks, width = (net.hyper[key] for key in ("layers", "stacks", "hidden"))
    # The last W_t and V_t that exist serve all further layers.
    last_w, last_v = (min(n_layers, 2) - 1, 0) if net.hyper["shared"] else (n_layers - 1,) * 2
    roots = [net.drop(net.x, "dropout_root") for _ in range(n_layers)]
    stacks = []
    for s in range(n_stacks):
        h = net.x
        for t, root in enumerate(roots):
            v = min(t, last_v)
            hw = net.linear(f"stack.{s}.w.{min(t, last_w)}", h, width)
            xv = net.dense(f"stack.{s}.v.{v}", f"stack.{s}.b.{v}", root, width)
            h = (net.p @ hw + xv).relu()
        stacks.append(h)
    return net.dense("w_out", "b_out", net.drop(total(stacks) / n_stacks), net.n_classes)


# Residual networks -----------------------------------------------------------------------------


def gcnii(net: Net) -> Tensor:
    """`S = (1 - alpha) P~ drop(H) + alpha H0`, `H = relu(t_l M W_l + (1 - t_l) S)`.

    `M = S`; in the variant GCNII*, `M = [P~ drop(H) | H0]`.
    """
    alpha, width = net.hyper["alpha"], net.hyper["hidden"]
    h = h0 = net.dense("w_in", "b_in", net.drop(net.x), width).relu()
    for l in range(1, net.hyper["L"] + 1):
        t = math.log(net.hyper["lambda"] / l + 1.0)
        dropped = net.drop(h)
        ph = net.p @ dropped
        s = (1.0 - alpha) * ph + alpha * h0
        m = concat([ph, h0]) if net.hyper["star"] else s
        h = t * net.linear(f"conv.{l - 1}.w", m, width) + (1.0 - t) * s
        if net.has_skip:
            h = h + net.linear(f"skip.{l - 1}.w", dropped, width)
        h = net.normalise(l - 1, h).relu()
    return net.dense("w_out", "b_out", net.drop(h), net.n_classes)


Residuals = Callable[[int, "Tensor", "Tensor", "Tensor"], "Tensor"]


def _residual(net: Net, beta: Sequence[float], residuals: Residuals) -> Tensor:
    """`H(l) = drop(relu*(beta_l (Z W(l) + b(l)) + (1 - beta_l) Z))`, `l = 0..=K`.

    `Z = residuals(l, H(l-1), H(l-2), H*)`; layers K - 1 and K have no activation and no dropout.
    """
    width, order = net.hyper["hidden"], net.hyper["K"]
    h_star = net.drop(relu_star(net.dense("w_in", "b_in", net.drop(net.x), width)))
    h1 = h2 = h_star.new_zeros(h_star.shape)  # H(l-1), H(l-2)
    for l in range(order + 1):
        h = residuals(l, h1, h2, h_star)
        if net.hyper["use_weight"]:
            zw = net.dense(f"conv.{l}.w", f"conv.{l}.b", h, width)
            h = beta[l] * zw + (1.0 - beta[l]) * h
        if net.has_skip:
            h = h + net.linear(f"skip.{l}.w", h_star if l == 0 else h1, width)
        h = net.normalise(l, h)
        if net.hyper["use_act"] and l + 2 <= order:
            h = net.drop(relu_star(h), "dropout_conv")
        h1, h2 = h, h1
    return net.dense("w_out", "b_out", net.drop(relu_star(h1)), net.n_classes)


def _decaying(net: Net) -> list[float]:
    """`beta_l = min(1, ln(lambda / l + 1))`; layer 0 has the value of layer K."""
    order, lambda_ = net.hyper["K"], net.hyper["lambda"]
    return [min(1.0, math.log(lambda_ / (l or order) + 1.0)) for l in range(order + 1)]


def _clenshaw_residuals(net: Net, alpha: Sequence[float] | Tensor) -> Tensor:
    """`Z = 2 P~ H(l-1) - H(l-2) + alpha_l H*`."""
    return _residual(
        net, _decaying(net), lambda l, h1, h2, h_star: 2.0 * (net.p @ h1) - h2 + alpha[l] * h_star
    )


def clenshaw_gcn(net: Net) -> Tensor:
    """`Z = 2 P~ H(l-1) - H(l-2) + alpha_l H*`."""
    return _clenshaw_residuals(net, net.param("alpha", 1, net.hyper["K"] + 1)[0])


def fixed_clenshaw_gcn(net: Net) -> Tensor:
    """`Z = 2 P~ H(l-1) - H(l-2) + alpha_l H*` with frozen alpha."""
    a, order, kind = net.hyper["alpha"], net.hyper["K"], net.hyper["order"]
    alpha = [a * (1.0 - a) ** (l if kind == "released" else order - l) for l in range(order + 1)]
    if kind != "ppr":
        alpha[order if kind == "released" else 0] = (1.0 - a) ** order
    return _clenshaw_residuals(net, alpha)


def horner_gcn(net: Net) -> Tensor:
    """`Z = P~ H(l-1) + alpha_l H*`."""
    order = net.hyper["K"]
    alpha = net.param("alpha", 1, order + 1)[0]
    beta = _decaying(net) if net.hyper["decay"] else [0.5] * (order + 1)
    return _residual(net, beta, lambda l, h1, _, h_star: net.p @ h1 + alpha[l] * h_star)


MODELS: dict[str, Callable[[Net], Tensor]] = {
    "mlp": mlp,
    "linkx": linkx,
    "gcn": gcn,
    "sage": sage,
    "sage-sep": sage_sep,
    "gcn-jk": gcn_jk,
    "mixhop": mixhop,
    "h2gcn": h2gcn,
    "gat": gat,
    "gat-sep": gat_sep,
    "gcnii": gcnii,
    "air-gnn": air_gnn,
    "cheb-net": cheb_net,
    "arma": arma,
    "appnp": _filters.appnp,
    "gpr-gnn": _filters.gpr_gnn,
    "bern-net": _filters.bern_net,
    "cheb-base": _filters.cheb_base,
    "cheb-net-ii": _filters.cheb_net_ii,
    "jacobi-conv": _filters.jacobi_conv,
    "specformer": _spectrum.specformer,
    "favard-gnn": _filters.favard_gnn,
    "opt-basis-gnn": _filters.opt_basis_gnn,
    "poly": _filters.poly,
    "uni-filter": _spectrum.uni_filter,
    "horner-gcn": horner_gcn,
    "fixed-clenshaw-gcn": fixed_clenshaw_gcn,
    "clenshaw-gcn": clenshaw_gcn,
}

# The weight with one row per feature, where it is not `w_in`.
FEATURE_WEIGHTS = {
    "linkx": "x.0.w",
    "gcn": "conv.0.w",
    "sage": "conv.0.w",
    "gcn-jk": "conv.0.w",
    "gat": "conv.0.w",
    "mixhop": "conv.0.w.0",
    "cheb-net": "conv.0.w.0",
    "arma": "stack.0.w.0",
    "uni-filter": "lin.0.w",
}

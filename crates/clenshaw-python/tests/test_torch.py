"""Modules of `clenshaw._torch` compared with stored results of public implementations.

Models and variants without fixtures are compared with dense implementations of their equations.
"""

from __future__ import annotations

import copy
import io
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import _golden
import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the graphs are small

from clenshaw._torch import build_module  # noqa: E402
from clenshaw._torch._graph import Graph  # noqa: E402
from clenshaw._torch._models import MODELS  # noqa: E402
from clenshaw._torch._net import relu_star  # noqa: E402
from clenshaw._torch._onnx import EdgeGraph  # noqa: E402

RAW = {"kind": "raw"}
RUST_MODELS = Path(__file__).resolve().parents[2] / "clenshaw" / "src" / "model"
WITHOUT_FIXTURE = {"linkx", "poly"}
FIXTURES = _golden.paths()
# One fixture per model.
FIRST = {_golden.model_name(path): path for path in reversed(FIXTURES)}


def build(fixture: _golden.Fixture, dtype: Any = np.float64, **params: Any) -> Any:
    weights = {name: array.astype(dtype) for name, array in fixture.weights.items()}
    hyper = {**fixture.params, **params}
    return build_module(
        fixture.model, hyper, weights, fixture.operator, RAW, fixture.n_classes
    )


def inputs(fixture: _golden.Fixture) -> tuple[Any, Any]:
    return torch.tensor(fixture.x), torch.tensor(fixture.edge_index)


def assert_close(actual: Any, expected: Any, scale: float, tolerance: float) -> None:
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance * scale


# Fixtures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-5)])
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_scores_loss_and_gradients_agree_with_the_fixture(
    path: Path, dtype: Any, tolerance: float
) -> None:
    fixture = _golden.load(path)
    if fixture.model == "specformer" and dtype is np.float32:
        tolerance = 2e-4  # phases of 100 times an eigenvalue amplify rounding
    module = build(fixture, dtype)
    logits = module(*inputs(fixture))
    assert logits.dtype == (torch.float64 if dtype is np.float64 else torch.float32)
    assert_close(logits.detach(), fixture.logits, np.abs(fixture.logits).max(), tolerance)

    mask = torch.tensor(fixture.train_mask)
    loss = torch.nn.functional.cross_entropy(logits[mask], torch.tensor(fixture.y)[mask])
    assert_close(loss.detach(), fixture.loss, 1.0, tolerance)

    loss.backward()
    found = {name: parameter.grad for name, parameter in module.named_parameters()}
    expected = {name.replace(".", "_"): g for name, g in fixture.gradients.items()}
    assert found.keys() == expected.keys()
    scale = max(np.abs(gradient).max() for gradient in expected.values())
    for name, gradient in expected.items():
        assert_close(found[name], gradient, scale, tolerance)


def test_every_model_of_the_library_is_covered() -> None:
    sources = "".join(path.read_text() for path in sorted(RUST_MODELS.glob("*.rs")))
    declared = set(re.findall(r'^pub static INFO.*\n    name: "(.*)",$', sources, re.M))
    assert len(declared) == 28
    assert declared == set(MODELS)
    assert declared == set(FIRST) | WITHOUT_FIXTURE


# Models without fixtures -----------------------------------------------------------------------


def random_weights(shapes: dict[str, tuple[int, int]], seed: int = 0) -> dict[str, Any]:
    """Standard normal; variances are positive."""
    rng = np.random.default_rng(seed)
    drawn = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    return {k: np.abs(v) + 0.5 if k.endswith(".var") else v for k, v in drawn.items()}


def small_problem(n: int = 9, f: int = 4) -> tuple[Any, Any, Any]:
    """Features, edges and the dense adjacency of a random graph with an isolated node."""
    rng = np.random.default_rng(7)
    edges = np.array([(i, j) for i in range(n - 1) for j in range(i) if rng.random() < 0.4]).T
    a = np.zeros((n, n))
    a[edges[0], edges[1]] = a[edges[1], edges[0]] = 1.0
    return rng.normal(size=(n, f)), edges, a


def looped(a: Any) -> Any:
    """P~ of a dense adjacency."""
    a = a + np.eye(len(a))
    scale = a.sum(1) ** -0.5
    return a * np.outer(scale, scale)


def run(module: Any, x: Any, edges: Any) -> Any:
    return module(torch.tensor(x), torch.tensor(edges)).detach().numpy()


def relu(h: Any) -> Any:
    return np.maximum(h, 0.0)


def normalised(w: dict[str, Any], name: str, h: Any) -> Any:
    gamma, beta, mean, var = (w[f"{name}.{part}"] for part in ("gamma", "beta", "mean", "var"))
    return (h - mean) / np.sqrt(var + 1e-5) * gamma + beta


ORDER = 5
POLY = {"K": ORDER, "hidden": 3, "alpha": 0.3, "t": 1.5, "a": 0.5, "b": -0.25}
POLY |= {"dropout": 0.0, "dropout_prop": 0.0}
HEAD = {"w_in": (4, 3), "b_in": (1, 3), "w_out": (3, 2), "b_out": (1, 2)}


def responses(theta: Any) -> dict[str, Any]:
    """The response of every filter of `poly` in closed form; gaussian is interpolated."""
    special = pytest.importorskip("scipy.special")
    chebyshev = np.polynomial.chebyshev
    k = np.arange(ORDER + 1)

    def learned(phi: Any) -> Any:
        return lambda mu: sum(c * phi(i, mu) for i, c in enumerate(theta))

    def bernstein(mu: Any) -> Any:
        low, high = (1 + mu) / 2, (1 - mu) / 2
        terms = (special.binom(ORDER, i) * low ** (ORDER - i) * high**i for i in k)
        return sum(max(c, 0.0) * term for c, term in zip(theta, terms))

    gaussian = chebyshev.chebinterpolate(lambda mu: np.exp(-1.5 * (1 - mu) ** 2), ORDER)
    ppr = 0.3 * 0.7**k
    ppr[-1] = 0.7**ORDER
    heat = np.exp(-1.5) * 1.5**k / special.factorial(k)
    return {
        "sgc": lambda mu: mu**ORDER,
        "ppr": lambda mu: np.polyval(ppr[::-1], mu),
        "heat": lambda mu: np.polyval(heat[::-1], mu),
        "gaussian": lambda mu: chebyshev.chebval(mu, gaussian),
        "monomial": lambda mu: np.polyval(theta[::-1], mu),
        "chebyshev": learned(special.eval_chebyt),
        "chebyshev2": learned(special.eval_chebyu),
        "legendre": learned(special.eval_legendre),
        "jacobi": learned(lambda i, mu: special.eval_jacobi(i, 0.5, -0.25, mu)),
        "bernstein": bernstein,
    }


FILTERS = ("sgc", "ppr", "heat", "gaussian", "monomial", "chebyshev", "chebyshev2")
FILTERS += ("legendre", "jacobi", "bernstein")


def poly_module(kind: str) -> tuple[Any, dict[str, Any]]:
    fixed = kind in ("sgc", "ppr", "heat", "gaussian")
    w = random_weights(HEAD if fixed else {**HEAD, "theta": (1, ORDER + 1)})
    return build_module("poly", {**POLY, "filter": kind}, w, "looped", RAW, 2), w


@pytest.mark.parametrize("kind", FILTERS)
def test_poly_scales_every_frequency_by_its_response(kind: str) -> None:
    x, edges, a = small_problem()
    module, w = poly_module(kind)
    theta = w["theta"][0] if "theta" in w else np.zeros(ORDER + 1)
    mu, v = np.linalg.eigh(looped(a))
    z = relu(x @ w["w_in"] + w["b_in"]) @ w["w_out"] + w["b_out"]
    expected = v @ (responses(theta)[kind](mu)[:, None] * (v.T @ z))
    assert_close(run(module, x, edges), expected, np.abs(expected).max(), 1e-12)


LINKX = {"layers_A": 2, "layers_X": 1, "layers": 2, "hidden": 3, "bn_eps": 1e-5}
LINKX |= {"dropout": 0.0, "dropout_inner": 0.0, "relu_inner": False}


def linkx_weights(n: int) -> dict[str, Any]:
    shapes = {"a.0.w": (n, 3), "a.1.w": (3, 3), "x.0.w": (4, 3), "both.w": (6, 3)}
    shapes |= {"out.0.w": (3, 3), "out.1.w": (3, 2)}
    shapes |= {name[:-1] + "b": (1, cols) for name, (_, cols) in shapes.items()}
    parts = ("gamma", "beta", "mean", "var")
    shapes |= {f"{net}.0.bn.{part}": (1, 3) for net in ("a", "out") for part in parts}
    return random_weights(shapes)


@pytest.mark.parametrize("relu_inner", [False, True])
def test_linkx_matches_its_equations(relu_inner: bool) -> None:
    x, edges, a = small_problem()
    w = linkx_weights(len(x))
    module = build_module("linkx", {**LINKX, "relu_inner": relu_inner}, w, None, RAW, 2)
    h_a = normalised(w, "a.0.bn", relu(a @ w["a.0.w"] + w["a.0.b"])) @ w["a.1.w"] + w["a.1.b"]
    h_x = x @ w["x.0.w"] + w["x.0.b"]
    h = np.hstack([h_a, h_x]) @ w["both.w"] + w["both.b"]
    h = relu((relu(h) if relu_inner else h) + h_a + h_x)
    h = normalised(w, "out.0.bn", relu(h @ w["out.0.w"] + w["out.0.b"]))
    expected = h @ w["out.1.w"] + w["out.1.b"]
    assert_close(run(module, x, edges), expected, np.abs(expected).max(), 1e-12)


def test_linkx_rejects_a_graph_of_another_size() -> None:
    x, edges, _ = small_problem(n=9)
    module = build_module("linkx", LINKX, linkx_weights(9), None, RAW, 2)
    with pytest.raises(ValueError, match=r"`a\.0\.w` has shape \(9, 3\)"):
        run(module, x[:8], edges[:, :0])


JK_LSTM = {"layers": 3, "hidden": 3, "bn": False, "join": "lstm", "dropout": 0.0}


def jk_weights() -> dict[str, Any]:
    width = 4  # 3 layers of width 3: 9 / 2, rounded down
    shapes = {f"conv.{l}.w": (4 if l == 0 else 3, 3) for l in range(3)}
    shapes |= {f"conv.{l}.b": (1, 3) for l in range(3)}
    rows = {"w": 3, "u": width, "b": 1}
    shapes |= {
        f"{way}.{gate}.{part}": (rows[part], width)
        for way in ("forward", "backward") for gate in "ifog" for part in rows
    }  # fmt: skip
    shapes |= {"attention.w": (2 * width, 1), "w_out": (3, 2), "b_out": (1, 2)}
    return random_weights(shapes)


def test_gcn_jk_with_lstm_attention_matches_torch_lstm() -> None:
    x, edges, a = small_problem()
    w, p = jk_weights(), looped(a)
    module = build_module("gcn-jk", JK_LSTM, w, "looped", RAW, 2)
    h, layers = x, []
    for l in range(3):
        h = p @ h @ w[f"conv.{l}.w"] + w[f"conv.{l}.b"]
        h = relu(h) if l < 2 else h
        layers.append(h)

    lstm = torch.nn.LSTM(3, 4, bidirectional=True, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for way, suffix in (("forward", ""), ("backward", "_reverse")):
            for part, name in (("w", "weight_ih"), ("u", "weight_hh"), ("b", "bias_ih")):
                gates = np.hstack([w[f"{way}.{gate}.{part}"] for gate in "ifgo"]).T
                target = getattr(lstm, f"{name}_l0{suffix}")
                target.copy_(torch.tensor(gates).reshape(target.shape))
            getattr(lstm, f"bias_hh_l0{suffix}").zero_()
        states = lstm(torch.tensor(np.stack(layers, axis=1)))[0].numpy()  # [n, T, 8]
    scores = np.exp(states @ w["attention.w"])
    joined = (scores / scores.sum(axis=1, keepdims=True) * np.stack(layers, axis=1)).sum(axis=1)
    expected = joined @ w["w_out"] + w["b_out"]
    assert_close(run(module, x, edges), expected, np.abs(expected).max(), 1e-12)


@pytest.mark.parametrize("case", ["linkx", "gcn-jk", *(f"poly-{kind}" for kind in FILTERS)])
def test_gradients_without_fixture_agree_with_finite_differences(case: str) -> None:
    x, edges, _ = small_problem()
    if case == "linkx":
        module = build_module("linkx", LINKX, linkx_weights(len(x)), None, RAW, 2)
    elif case == "gcn-jk":
        module = build_module("gcn-jk", JK_LSTM, jk_weights(), "looped", RAW, 2)
    else:
        module, _ = poly_module(case.removeprefix("poly-"))
    names = [name for name, _ in module.named_parameters()]
    arguments = (torch.tensor(x), torch.tensor(edges))

    def scores(*values: Any) -> Any:
        weights = dict(zip(names, values))
        return torch.func.functional_call(module, weights, arguments)

    assert torch.autograd.gradcheck(scores, tuple(module.parameters()))


# Graphs ----------------------------------------------------------------------------------------


def dense_operator(n: int, edges: Any, weight: Any, kind: str) -> Any:
    weight = None if weight is None else torch.tensor(weight, dtype=torch.float64)
    graph = Graph.from_edges(n, torch.tensor(edges), weight, torch.float64)
    return getattr(graph, kind).to_dense().numpy()


@pytest.mark.parametrize("kind", ["plain", "looped"])
def test_weighted_operators_agree_with_gcn_norm(kind: str) -> None:
    gcn_conv = pytest.importorskip("torch_geometric.nn.conv.gcn_conv")
    _, edges, _ = small_problem()
    weight = np.random.default_rng(3).uniform(0.1, 4.0, edges.shape[1])
    both = torch.tensor(np.hstack([edges, edges[::-1]]))
    index, values = gcn_conv.gcn_norm(
        both, torch.tensor(np.tile(weight, 2)), 9, add_self_loops=kind == "looped",
        dtype=torch.float64,
    )  # fmt: skip
    expected = np.zeros((9, 9))
    expected[index[0], index[1]] = values
    assert_close(dense_operator(9, edges, weight, kind), expected, 1.0, 1e-14)


def test_gcn_with_edge_weights_agrees_with_gcn_conv() -> None:
    nn = pytest.importorskip("torch_geometric.nn")
    fixture = _golden.load(FIRST["gcn"])
    x, edges = inputs(fixture)
    weight = torch.linspace(0.5, 3.0, edges.shape[1], dtype=torch.float64)
    h, both = x, torch.cat([edges, edges.flip(0)], dim=1)
    for l in range(2):
        w, b = fixture.weights[f"conv.{l}.w"], fixture.weights[f"conv.{l}.b"]
        conv = nn.GCNConv(*w.shape).double()
        with torch.no_grad():
            conv.lin.weight.copy_(torch.tensor(w.T))
            conv.bias.copy_(torch.tensor(b[0]))
            h = conv(h.relu() if l else h, both, weight.repeat(2))
    logits = build(fixture)(x, edges, weight).detach()
    assert_close(logits, h.numpy(), h.abs().max().item(), 1e-12)


def test_edges_merge_as_in_the_library() -> None:
    # The example of `Graph::from_weighted_edges`: the mean of both directions, no loops.
    edges = np.array([[0, 1, 1, 2], [1, 0, 2, 2]])
    weight = torch.tensor([2.0, 4.0, 0.5, 9.0], dtype=torch.float64)
    graph = Graph.from_edges(3, torch.tensor(edges), weight, torch.float64)
    expected = [[0, 3, 0], [3, 0, 0.5], [0, 0.5, 0]]
    assert graph.adjacency.to_dense().tolist() == expected


@pytest.mark.parametrize(
    ("edges", "weight", "entry"),
    [
        ([(0, 1), (0, 1)], [2.0, 3.0], 5.0),  # repeated weights are added
        ([(0, 1), (0, 1), (1, 0)], [2.0, 3.0, 1.0], 3.0),  # then both directions averaged
        ([(0, 1), (1, 0)], [2.0, 0.0], 2.0),  # an edge of weight 0 does not exist
        ([(0, 1), (0, 1)], [1.0, 1.0], 1.0),  # weights that are all 1 are no weights
        ([(0, 1), (0, 1), (1, 0)], None, 1.0),
    ],
)
def test_repeated_edges(edges: list[tuple[int, int]], weight: Any, entry: float) -> None:
    index = torch.tensor(edges).T
    weight = None if weight is None else torch.tensor(weight)
    a = Graph.from_edges(3, index, weight, torch.float32).adjacency.to_dense()
    assert a.tolist() == [[0, entry, 0], [entry, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("model", sorted(FIRST))
def test_direction_order_repetition_and_loops_of_edges_do_not_matter(model: str) -> None:
    fixture = _golden.load(FIRST[model])
    module = build(fixture)
    x, edges = inputs(fixture)
    expected = module(x, edges).detach()
    loops = torch.arange(4).expand(2, -1)
    other = torch.cat([edges.flip(0, 1), loops, edges, edges], dim=1)
    assert_close(module(x, other).detach(), expected.numpy(), 1.0, 1e-12)
    assert_close(module(x, edges.int()).detach(), expected.numpy(), 1.0, 0.0)


def test_nodes_at_distance_two_exclude_neighbours_and_the_node_itself() -> None:
    # A path 0-1-2-3 with a triangle 3-4-5 at its end, and an isolated node.
    edges = torch.tensor([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5)]).T
    weight = torch.full((6,), 2.5)
    graph = Graph.from_edges(7, edges, weight, torch.float32).two_hops
    a = graph.adjacency.to_dense()
    rows = [row.nonzero().flatten().tolist() for row in a]
    assert rows == [[2], [3], [0, 4, 5], [1], [2], [2], []]
    assert set(a.flatten().tolist()) == {0.0, 1.0}


# The cache -------------------------------------------------------------------------------------


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry per graph that is built."""
    calls: list[int] = []
    from_edges = Graph.from_edges

    def counted(n: int, *args: Any) -> Graph:
        calls.append(n)
        return from_edges(n, *args)

    monkeypatch.setattr(Graph, "from_edges", staticmethod(counted))
    return calls


def test_the_graph_is_built_once_for_the_same_tensors(built: list[int]) -> None:
    fixture = _golden.load(FIRST["clenshaw-gcn"])
    module = build(fixture)
    x, edges = inputs(fixture)
    weight = torch.linspace(0.5, 2.0, edges.shape[1], dtype=torch.float64)
    expected = module(x, edges, weight)
    p = module._cache._last[2].looped
    for _ in range(3):
        assert torch.equal(module(2.0 * x / 2.0, edges, weight), expected)
    assert len(built) == 1 and module._cache._last[2].looped is p
    assert not torch.equal(module(x, edges), expected)
    assert len(built) == 2


@pytest.mark.parametrize("change", ["edges", "weight"])
def test_a_change_in_place_builds_the_graph_again(built: list[int], change: str) -> None:
    fixture = _golden.load(FIRST["clenshaw-gcn"])
    module = build(fixture)
    x, edges = inputs(fixture)
    weight = torch.linspace(0.5, 2.0, edges.shape[1], dtype=torch.float64)
    module(x, edges, weight)
    if change == "edges":
        edges[:, 0] = torch.tensor([0, 3])
    else:
        weight[0] = 5.0
    expected = build(fixture)(x, edges.clone(), weight.clone())
    assert torch.equal(module(x, edges, weight), expected)
    assert len(built) == 3


def test_memory_that_is_reused_for_other_edges_is_noticed() -> None:
    fixture = _golden.load(FIRST["gcn"])
    module = build(fixture)
    x, edges = inputs(fixture)
    for shift in range(20):
        other = (edges + shift) % len(x)
        assert torch.equal(module(x, other), build(fixture)(x, other))


def test_another_number_of_nodes_or_type_builds_the_graph_again(built: list[int]) -> None:
    fixture = _golden.load(FIRST["gcn"])
    module = build(fixture, np.float32)
    x, edges = inputs(fixture)
    module(x, edges)
    assert len(module(torch.cat([x, x[:2]]), edges)) == len(x) + 2
    assert module.double()(x, edges).dtype == torch.float64
    assert len(built) == 3


def test_a_graph_first_seen_in_inference_mode_can_be_trained_on(built: list[int]) -> None:
    fixture = _golden.load(FIRST["h2gcn"])
    module = build(fixture)
    x, edges = inputs(fixture)
    with torch.inference_mode():
        expected = module(x, edges).clone()
        inside = torch.tensor(fixture.edge_index)  # has no version
        assert torch.equal(module(x, inside), expected)
    module(x, edges).sum().backward()
    assert len(built) == 2 and module.w_in.grad is not None


def test_edge_weights_that_need_gradients_are_not_cached(built: list[int]) -> None:
    fixture = _golden.load(FIRST["gcn"])
    module = build(fixture)
    x, edges = inputs(fixture)
    weight = torch.full((edges.shape[1],), 2.0, dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        module(x, edges, weight).sum().backward()
    assert len(built) == 2


def test_copies_and_pickles_have_an_empty_cache() -> None:
    fixture = _golden.load(FIRST["gcn"])
    module = build(fixture)
    module(*inputs(fixture))
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert other._cache._last is None


def test_gradients_reach_edge_weights_and_features() -> None:
    fixture = _golden.load(FIRST["clenshaw-gcn"])
    module = build(fixture)
    x, edges = inputs(fixture)
    weight = torch.linspace(0.5, 2.0, edges.shape[1], dtype=torch.float64).requires_grad_()
    x.requires_grad_()
    module(x, edges, weight).square().sum().backward()
    assert weight.grad.abs().min() > 0 and x.grad.abs().max() > 0


@pytest.mark.parametrize(
    ("edges", "weight", "message"),
    [
        ([[0], [99]], None, "out of range"),
        ([[-1], [0]], None, "out of range"),
        ([[0], [1]], [-1.0], "negative or not finite"),
        ([[0], [1]], [float("nan")], "negative or not finite"),
    ],
)
def test_invalid_edges_are_rejected(edges: Any, weight: Any, message: str) -> None:
    fixture = _golden.load(FIRST["gcn"])
    weight = None if weight is None else torch.tensor(weight)
    with pytest.raises(ValueError, match=message):
        build(fixture)(torch.tensor(fixture.x), torch.tensor(edges), weight)


# Training mode ---------------------------------------------------------------------------------

# The dropout rates of each model in the order in which they are applied, for K, L = 4, 2 layers;
# `p` stands for `dropout`, the others for its suffix.
RATES = {
    "mlp": "p p",
    "gcn": "p",
    "gcn-jk": "p",
    "mixhop": "p",
    "h2gcn": "p",
    "gcnii": "p p p p p p",
    "air-gnn": "p p",
    "cheb-net": "p",
    "arma": "root root p",
    "appnp": "p p",
    "gpr-gnn": "p p prop",
    "bern-net": "p p prop",
    "cheb-base": "p p prop",
    "cheb-net-ii": "p p prop",
    "jacobi-conv": "p prop",
    "gat": "p attention p attention",
    "gat-sep": "p p p p p",
    "specformer": "p p" + 5 * " attention" + 8 * " prop",  # three heads and filters
    "uni-filter": 5 * "basis " + "p p",
    "favard-gnn": "p basis p",
    "opt-basis-gnn": "p basis p",
    "horner-gcn": "p p conv conv conv p",
    "fixed-clenshaw-gcn": "p p conv conv conv p",
    "clenshaw-gcn": "p p conv conv conv p",
}
DROPOUTS = {"dropout": 0.5, "dropout_prop": 0.4, "dropout_conv": 0.3}
DROPOUTS |= {"dropout_root": 0.2, "dropout_basis": 0.1, "dropout_attention": 0.6}


def of_depth_four(model: str) -> _golden.Fixture:
    """A fixture with K or L = 4 or, without these, with two layers."""
    paths = [path for path in FIXTURES if _golden.model_name(path) == model]
    fixtures = [_golden.load(path) for path in paths]
    depth = {"K": 4, "L": 4, "layers": 2}
    for fixture in fixtures:
        if all(fixture.params.get(key, value) == value for key, value in depth.items()):
            return fixture
    return fixtures[0]  # the number of dropouts does not depend on K


@pytest.mark.parametrize("model", sorted(RATES))
def test_dropout_is_applied_where_the_library_applies_it(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = of_depth_four(model)
    module = build(fixture, **DROPOUTS)
    rates = []
    dropout = torch.nn.functional.dropout

    def recorded(h: Any, p: float, training: bool) -> Any:
        rates.append(p if training else 0.0)
        return dropout(h, p, training)

    monkeypatch.setattr(torch.nn.functional, "dropout", recorded)
    x, edges = inputs(fixture)
    in_evaluation = module(x, edges)
    assert torch.equal(in_evaluation, build(fixture)(x, edges))
    rates.clear()
    torch.manual_seed(0)
    assert not torch.allclose(module.train()(x, edges), in_evaluation)
    words = RATES[model].split()
    assert rates == [DROPOUTS["dropout" if w == "p" else f"dropout_{w}"] for w in words]


def test_linkx_and_poly_drop_in_training_only() -> None:
    x, edges, _ = small_problem()
    w = linkx_weights(len(x))
    linkx = [
        build_module("linkx", {**LINKX, "layers": 2, name: 0.5}, w, None, RAW, 2)
        for name in ("dropout", "dropout_inner")
    ]
    _, w = poly_module("legendre")
    hyper = {**POLY, "filter": "legendre"}
    poly = [
        build_module("poly", {**hyper, name: 0.5}, w, "looped", RAW, 2)
        for name in ("dropout", "dropout_prop")
    ]
    for module in linkx + poly:
        expected = run(module, x, edges)
        assert np.array_equal(run(module, x, edges), expected)
        torch.manual_seed(0)
        first, second = (run(module.train(), x, edges) for _ in range(2))
        assert not np.allclose(first, second)


def test_training_mode_updates_running_statistics_as_batch_norm() -> None:
    path = next(path for path in FIXTURES if path.name.startswith("mixhop.bn.g1"))
    fixture = _golden.load(path)
    module = build(fixture)
    x, edges = inputs(fixture)
    before = module.bn_0_mean.clone()
    module(x, edges)
    assert torch.equal(module.bn_0_mean, before)
    module.train()(x, edges)
    p = module_operator(fixture)
    parts = [x @ torch.tensor(fixture.weights[f"conv.0.w.{j}"]) for j in range(3)]
    parts = [part + torch.tensor(fixture.weights[f"conv.0.b.{j}"]) for j, part in enumerate(parts)]
    mixed = torch.cat([parts[0], p @ parts[1], p @ p @ parts[2]], dim=1)
    expected = 0.9 * before + 0.1 * mixed.mean(dim=0)
    assert torch.allclose(module.bn_0_mean, expected)


def module_operator(fixture: _golden.Fixture) -> Any:
    return torch.tensor(
        dense_operator(len(fixture.x), fixture.edge_index, None, fixture.operator or "plain")
    )


def test_relu_star_passes_the_gradient_at_zero() -> None:
    h = torch.tensor([-1.0, -0.0, 0.0, 2.0], requires_grad=True)
    relu_star(h).sum().backward()
    assert h.grad.tolist() == [0.0, 1.0, 1.0, 1.0]


# Features --------------------------------------------------------------------------------------


def identity_head(scaler: dict[str, Any], dtype: Any) -> Any:
    """An MLP whose scores are the positive and the negative part of two scaled features."""
    w_in = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]])
    weights = {"w_in": w_in, "b_in": np.zeros((1, 4)), "w_out": w_in.T, "b_out": np.zeros((1, 2))}
    weights = {name: array.astype(dtype) for name, array in weights.items()}
    return build_module("mlp", {"hidden": 4, "dropout": 0.0}, weights, None, scaler, 2)


X = np.array([[2.0, 6.0], [0.0, 0.0], [0.25, 0.25], [-3.0, 1.0]])


@pytest.mark.parametrize(
    ("scaler", "expected"),
    [
        (RAW, X),
        ({"kind": "row0"}, [[0.25, 0.75], [0, 0], [0.5, 0.5], [1.5, -0.5]]),
        ({"kind": "row", "minimum": 0.0}, [[0.25, 0.75], [0, 0], [0.25, 0.25], [-3, 1]]),
        (
            {"kind": "row", "minimum": -3.0},
            [[5 / 14, 9 / 14], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]],
        ),
        (
            {"kind": "columns", "mean": [1.0, 0.0], "std": [2.0, 1.0]},
            [[0.5, 6], [-0.5, 0], [-0.375, 0.25], [-2, 1]],
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_are_scaled(scaler: dict[str, Any], expected: Any, dtype: Any) -> None:
    found = run(identity_head(scaler, dtype), X, np.zeros((2, 0), np.int64))
    assert_close(found, np.array(expected), 1.0, 1e-6 if dtype is np.float32 else 1e-15)


def test_columns_with_a_large_mean_keep_their_precision_in_float32() -> None:
    # Dates as yyyymmdd, as in twitch-gamer; the mean is not a number of 24 bits.
    mean, std = 20_150_101.37, 12_345.678
    x = np.array([[20_140_229.0, 0.0], [20_161_231.0, 1.0]], np.float32)
    module = identity_head({"kind": "columns", "mean": [mean, 0.0], "std": [std, 1.0]}, np.float32)
    expected = (x.astype(np.float64) - [mean, 0.0]) / [std, 1.0]
    assert_close(run(module, x, np.zeros((2, 0), np.int64)), expected, 1.0, 1e-6)


# Modules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["clenshaw-gcn", "mixhop", "jacobi-conv"])
def test_state_dict_round_trip(model: str) -> None:
    fixture = _golden.load(FIRST[model])
    module, file = build(fixture), io.BytesIO()
    torch.save(module.state_dict(), file)
    zeros = {name: np.zeros_like(array) for name, array in fixture.weights.items()}
    other = build_module(
        fixture.model, fixture.params, zeros, fixture.operator, RAW, fixture.n_classes
    )
    file.seek(0)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(*inputs(fixture)), module(*inputs(fixture)))
    names = {name.replace(".", "_") for name in fixture.weights}
    assert set(module.state_dict()) == names


def test_scaler_statistics_are_part_of_the_state() -> None:
    columns = {"kind": "columns", "mean": [1.0, 0.0], "std": [2.0, 1.0]}
    state = identity_head(columns, np.float32).state_dict()
    assert {"scaler_mean", "scaler_mean_rest", "scaler_std"} < set(state)
    row = {"kind": "row", "minimum": 0.5}
    assert "scaler_minimum" in identity_head(row, np.float32).state_dict()


def test_modules_can_be_pickled_copied_and_converted() -> None:
    fixture = _golden.load(FIRST["clenshaw-gcn"])
    module = build(fixture, np.float32)
    expected = module(*inputs(fixture))
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert torch.equal(other(*inputs(fixture)), expected)
    assert module.double()(*inputs(fixture)).dtype == torch.float64


def test_a_module_can_be_trained() -> None:
    fixture = _golden.load(FIRST["clenshaw-gcn"])
    module = build(fixture, np.float32).train()
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    y = torch.tensor(fixture.y)
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(*inputs(fixture)), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


# ONNX ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["clenshaw-gcn", "jacobi-conv", "mixhop", "mlp"])
def test_exported_models_have_the_same_scores(model: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    fixture = _golden.load(FIRST[model])
    build(fixture, np.float32).to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    edges = np.hstack([fixture.edge_index, fixture.edge_index[::-1]]).astype(np.int64)
    weight = np.ones(edges.shape[1], np.float32)
    feed = {"x": fixture.x.astype(np.float32), "edge_index": edges, "edge_weight": weight}
    (scores,) = session.run(["scores"], feed)
    assert_close(scores, fixture.logits, np.abs(fixture.logits).max(), 1e-6)


@pytest.mark.parametrize("kind", ["plain", "looped"])
@pytest.mark.parametrize("weighted", [False, True])
def test_operators_of_exported_models_agree_with_sparse_ones(kind: str, weighted: bool) -> None:
    _, edges, _ = small_problem()
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.1, 4.0, edges.shape[1]) if weighted else np.ones(edges.shape[1])
    both, twice = torch.tensor(np.hstack([edges, edges[::-1]])), torch.tensor(np.tile(weight, 2))
    h = torch.tensor(rng.normal(size=(9, 2)))
    found = getattr(EdgeGraph(9, both, twice), kind) @ h
    expected = dense_operator(9, edges, weight, kind) @ h.numpy()
    assert_close(found, expected, 1.0, 1e-12)


def test_models_that_cannot_be_exported_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="h2gcn cannot be exported"):
        build(_golden.load(FIRST["h2gcn"])).to_onnx(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="training mode"):
        build(_golden.load(FIRST["gcn"])).train().to_onnx(tmp_path / "model.onnx")


# Errors ----------------------------------------------------------------------------------------


def test_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown model `clenshaw`.*clenshaw-gcn.*poly"):
        build_module("clenshaw", {}, {}, "looped", RAW, 3)


def changed(**weights: Any) -> dict[str, Any]:
    """The arguments of `build_module` for GCN; `None` removes a weight."""
    fixture = _golden.load(FIRST["gcn"])
    names = {name.replace("_", "."): array for name, array in weights.items()}
    all_weights = {**fixture.weights, **names}
    return {
        "model": "gcn",
        "params": fixture.params,
        "weights": {name: array for name, array in all_weights.items() if array is not None},
        "operator": "looped",
        "scaler": RAW,
        "n_classes": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (changed(conv_1_b=None), r"missing weight `conv\.1\.b`, of shape \(1, 3\)"),
        (changed(conv_0_w=None), r"missing weight `conv\.0\.w`"),
        (changed(conv_2_w=np.zeros((3, 3))), r"unexpected weight `conv\.2\.w`"),
        (
            changed(conv_1_w=np.zeros((5, 4))),
            r"weight `conv\.1\.w` has shape \(5, 4\); expected \(5, 3\)",
        ),
        (changed(conv_0_b=np.zeros(5)), r"weight `conv\.0\.b` has shape \(5,\); expected \(1, 5\)"),
        (changed(conv_0_w=np.zeros(5)), r"weight `conv\.0\.w` has shape \(5,\)"),
        ({**changed(), "params": {"layers": 2, "dropout": 0.5}}, "hyper-parameter `hidden`"),
        ({**changed(), "operator": None}, "needs an operator"),
        ({**changed(), "operator": "two-hop"}, "unknown operator `two-hop`"),
        ({**changed(), "scaler": {"kind": "zscore"}}, "unknown scaler `zscore`"),
        (
            {**changed(), "scaler": {"kind": "columns", "mean": [0.0], "std": [1.0]}},
            "scaler has 1 columns; expected 7",
        ),
    ],
)  # fmt: skip
def test_invalid_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_module(**arguments)


def test_another_number_of_features_is_named() -> None:
    fixture = _golden.load(FIRST["gcn"])
    x, edges = inputs(fixture)
    with pytest.raises(ValueError, match=r"`conv\.0\.w` has shape \(7, 5\)"):
        build(fixture)(x[:, :6], edges)


def test_package_imports_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from clenshaw._torch import build_module\n"
        "try: build_module('mlp', {}, {}, None, {'kind': 'raw'}, 2)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install torch" in done.stdout, done.stderr

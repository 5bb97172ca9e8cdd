"""NodeClassifier.explain: the parts of an explanation add up, and nodes are found by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Problem

import clenshaw


def total(parts: list[dict[str, Any]], key: str) -> float:
    return sum(part[key] for part in parts)


@pytest.mark.parametrize("model", ["appnp", "gcn", "clenshaw-gcn", "linkx"])
def test_parts_add_up_to_the_logits(problem: Problem, model: str) -> None:
    estimator = problem.fit(model)
    explanation = estimator.explain(7)
    logits = np.sort(estimator.logits()[7])
    assert explanation["total"]["score"] == pytest.approx(logits[-1], rel=1e-4)
    assert explanation["total"]["margin"] == pytest.approx(logits[-1] - logits[-2], rel=1e-3, abs=1e-4)
    for key in ("score", "margin"):
        rest = explanation["without_nodes"][key] + explanation["gap"][key]
        expected = explanation["total"][key]
        assert total(explanation["hops"], key) + rest == pytest.approx(expected, abs=1e-9)
    assert [entry["probability"] for entry in explanation["classes"]] == pytest.approx(
        np.sort(estimator.predict_proba()[7])[::-1], rel=1e-5
    )
    nearest = [entry["index"] for entry in explanation["nearest"]["nodes"]]
    assert np.isin(nearest, np.flatnonzero(problem.train)).all()


def test_nodes_are_found_by_name(problem: Problem) -> None:
    names = [f"node {i}" for i in range(60)]
    X = pd.DataFrame(problem.X, index=names)
    edges = pd.DataFrame({"source": [names[i] for i in problem.edge_index[0]], "target": [names[i] for i in problem.edge_index[1]]})
    estimator = clenshaw.NodeClassifier("gcn", max_epochs=5, random_state=0)
    estimator.fit(edges, X, pd.Series(problem.y, index=names))
    explanation = estimator.explain("node 7")
    assert (explanation["node"], explanation["index"]) == ("node 7", list(estimator.nodes_).index("node 7"))
    assert all(entry["node"] in names for entry in explanation["nodes"])
    with pytest.raises(ValueError, match="'node 99', which is not in `nodes_`"):
        estimator.explain("node 99")


@pytest.mark.parametrize("node", [-1, 60, 1.5, "7", True, None])
def test_bad_nodes(problem: Problem, node: Any) -> None:
    with pytest.raises(ValueError, match=r"expected a whole number from 0 to 59"):
        problem.fit("mlp").explain(node)

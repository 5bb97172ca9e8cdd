"""Features of every kind give the same predictions; tables are matched by the names of their columns."""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from conftest import Problem

from clenshaw import NodeClassifier
from clenshaw._features import encode_features


def fit(problem: Problem, X: Any, **params: Any) -> NodeClassifier:
    model = NodeClassifier("gcn", **{"max_epochs": 5, "random_state": 0, **params})
    return model.fit(problem.edge_index, X, problem.y, train_mask=problem.train, val_mask=problem.val)


def dense(X: Any, schema: Any = None) -> np.ndarray:
    """The features that the package makes."""
    found = encode_features(X, schema).x
    if isinstance(found, tuple):
        return sp.csr_array(found[:3], shape=found[3]).toarray()
    return np.asarray(found)


def names(X: Any) -> list[str]:
    schema = encode_features(X).schema
    assert schema is not None
    return schema.feature_names


# Arrays ----------------------------------------------------------------------------------------


def unaligned(x: np.ndarray) -> np.ndarray:
    copy = np.ndarray(x.shape, x.dtype, buffer=bytearray(x.nbytes + 1), offset=1)
    copy[...] = x
    return copy


WHOLE = {
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "float64": lambda x: x.astype(np.float64),
    "longdouble": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "int8": lambda x: x.astype(np.int8),
    "int64": lambda x: x.astype(np.int64),
    "object": lambda x: x.astype(int).astype(object),
    "list": lambda x: x.tolist(),
    "Fortran": lambda x: np.asfortranarray(x),
    "strided view": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed view": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed view": lambda x: np.ascontiguousarray(x.T).T,
    "unaligned": unaligned,
    "np.matrix": np.matrix,
    "masked array": np.ma.masked_array,
    "text": lambda x: x.astype(int).astype(str),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_arrays_of_every_type_and_layout(problem: Problem, kind: str) -> None:
    whole = np.round(problem.X * 3).astype(np.float64)
    X = WHOLE[kind](whole)
    assert np.array_equal(dense(X), whole)
    expected = fit(problem, whole)
    assert np.array_equal(fit(problem, X).logits(), expected.logits())
    assert np.array_equal(expected.predict_proba(problem.edge_index, X), expected.probs_)


def test_booleans_and_unsigned_numbers_are_numbers(problem: Problem) -> None:
    binary = problem.X > 0
    expected = fit(problem, binary.astype(float))
    for kind in (bool, np.uint8, np.uint64):
        assert np.array_equal(fit(problem, binary.astype(kind)).logits(), expected.logits())


def test_masked_values_are_missing(problem: Problem) -> None:
    X = np.ma.masked_array(problem.X, mask=np.arange(360).reshape(60, 6) == 8)
    with pytest.raises(ValueError, match="node 1, feature 2 is NaN"):
        fit(problem, X)
    hidden = np.arange(60) % 2 == 0
    partial = NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, np.ma.masked_array(problem.y, hidden))
    expected = NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, problem.X, np.where(hidden, -1, problem.y))
    np.testing.assert_array_equal(partial.logits(), expected.logits())


def test_float64_is_rounded_to_float32(problem: Problem) -> None:
    precise = problem.X.astype(np.float64) + 1e-9
    assert np.array_equal(fit(problem, precise).logits(), fit(problem, precise.astype(np.float32)).logits())
    # Whole numbers above 2**24 lose digits, but keep their size.
    large = np.full((60, 1), 2**24 + 1) + np.arange(60)[:, None]
    assert np.array_equal(fit(problem, large, scaling="raw").logits(), fit(problem, large.astype(np.float32), scaling="raw").logits())


def test_inputs_are_not_changed(problem: Problem) -> None:
    X = problem.X.copy()
    X.flags.writeable = False
    y, index = problem.y.copy(), problem.edge_index.copy()
    y.flags.writeable = index.flags.writeable = False
    NodeClassifier("gcn", max_epochs=2).fit(index, X, y)
    matrix = sp.csr_array(problem.X)
    before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
    fit(problem, matrix)
    assert all(np.array_equal(a, b) for a, b in zip(before, (matrix.data, matrix.indices, matrix.indptr)))


@pytest.mark.parametrize(
    ("X", "error", "text"),
    [
        (np.ones(60), ValueError, "2D array"),
        (np.ones((60, 2, 2)), ValueError, "dimensions"),
        (np.ones((59, 2)), ValueError, "59"),
        (np.ones((60, 0)), ValueError, r"0 feature\(s\)"),
        (np.full((60, 2), np.nan), ValueError, "node 0, feature 0 is NaN; expected a finite number"),
        (np.full((60, 2), -np.inf), ValueError, "node 0, feature 0 is -inf"),
        (np.full((60, 2), 1e39), ValueError, "node 0, feature 0 is inf"),
        (np.full((60, 2), "x"), ValueError, "`X` contains values that are not numbers"),
        (np.full((60, 2), 1j), ValueError, "Complex data not supported"),
        (sp.csr_array((60, 0)), ValueError, r"0 feature\(s\)"),
        (sp.csr_array(np.full((60, 1), np.nan)), ValueError, "node 0, feature 0 is NaN"),
        (pd.DataFrame(index=range(60)), ValueError, r"0 feature\(s\)"),
        (pd.DataFrame([[1, 2]] * 60, columns=["a", "a"]), ValueError, "several columns named `a`"),
        (pd.DataFrame([[1, 2]] * 60, columns=["1", 1]), ValueError, "several columns named `1`"),
    ],
)
def test_wrong_features_are_reported(problem: Problem, X: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        NodeClassifier("gcn", max_epochs=1).fit(problem.edge_index, X, problem.y)


def test_another_number_of_features_is_reported(problem: Problem) -> None:
    model = fit(problem, problem.X)
    for X in (problem.X[:, :5], sp.csr_array(problem.X[:, :5])):
        with pytest.raises(ValueError, match="X has 5 features, but NodeClassifier is expecting 6 features as input"):
            model.predict(problem.edge_index, X)
    with pytest.raises(ValueError, match="`X` is missing"):
        model.predict(problem.edge_index)
    with pytest.raises(ValueError, match="`X` was given without a graph"):
        model.predict(X=problem.X)
    with pytest.raises(ValueError, match="`X` has 59 rows"):
        model.predict(np.zeros((60, 60)), problem.X[:59])


# Sparse ----------------------------------------------------------------------------------------


def test_sparse_features_of_every_format(problem: Problem) -> None:
    X = np.where(np.abs(problem.X) > 0.8, problem.X, 0)
    expected = fit(problem, sp.csr_array(X))
    assert np.array_equal(dense(sp.csr_array(X)), X)
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array, sp.dok_array, sp.bsr_array, sp.dia_array):
        model = fit(problem, kind(X))
        assert np.array_equal(model.logits(), expected.logits()), kind
        assert np.array_equal(expected.predict_proba(problem.edge_index, kind(X)), expected.probs_)
    # Sparse and dense features are the same numbers; raw, because mostly zero columns are not centred.
    np.testing.assert_allclose(
        fit(problem, sp.csr_array(X), scaling="raw").logits(), fit(problem, X, scaling="raw").logits(), atol=1e-5
    )


def test_unsorted_and_repeated_entries(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    rows, columns, values = rng.integers(0, 60, 300), rng.integers(0, 9, 300), rng.normal(size=300)
    matrix = sp.coo_array((values, (rows, columns)), shape=(60, 9))
    order = np.lexsort((rng.random(300), rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=60))])
    messy = sp.csr_array((values[order], columns[order], indptr), shape=(60, 9))
    assert not messy.has_canonical_format
    np.testing.assert_allclose(dense(messy), matrix.toarray(), atol=1e-12)
    np.testing.assert_allclose(fit(problem, messy).logits(), fit(problem, matrix.tocsr()).logits(), atol=1e-5)


def test_explicit_zeros_change_nothing(problem: Problem) -> None:
    X = sp.csr_array(np.where(np.abs(problem.X) > 0.8, problem.X, 0))
    zeros = X.copy()
    zeros.data[::3] = 0
    clean = zeros.copy()
    clean.eliminate_zeros()
    np.testing.assert_allclose(
        fit(problem, zeros, scaling="raw").logits(), fit(problem, clean, scaling="raw").logits(), atol=1e-6
    )


# Tables ----------------------------------------------------------------------------------------


def tables(problem: Problem) -> dict[str, Any]:
    frame = pd.DataFrame(problem.X.astype(np.float64), columns=list("fedcba"))
    return {
        "pandas": frame,
        "pandas float32": frame.astype(np.float32),
        "pandas nullable": frame.astype("Float64"),
        "pandas arrow": frame.astype("float64[pyarrow]"),
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "chunked arrow": pa.concat_tables([pa.Table.from_pandas(frame[:20]), pa.Table.from_pandas(frame[20:])]),
        "another order": frame[list("abcdef")],
    }


@pytest.mark.parametrize("kind", ["pandas", "pandas float32", "pandas nullable", "pandas arrow", "polars", "arrow",
                                  "chunked arrow", "another order"])
def test_tables_of_numbers(problem: Problem, kind: str) -> None:
    table = tables(problem)[kind]
    # Features are ordered by the names of their columns.
    np.testing.assert_array_equal(dense(table).astype(np.float32), problem.X[:, ::-1])
    model = fit(problem, table)
    assert model.n_features_in_ == 6 and sorted(model.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(model.logits(), fit(problem, tables(problem)["pandas"]).logits())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in tables(problem).values():
            np.testing.assert_array_equal(model.logits(problem.edge_index, other), model.logits())


def test_arrays_and_tables_are_matched_by_position(problem: Problem) -> None:
    table = tables(problem)["pandas"]
    named, unnamed = fit(problem, table), fit(problem, problem.X)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but NodeClassifier was fitted with"):
        found = named.logits(problem.edge_index, problem.X)
    np.testing.assert_array_equal(found, named.logits())
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found = named.logits(problem.edge_index, sp.csr_array(problem.X))
    np.testing.assert_allclose(found, named.logits(), atol=1e-5)
    with pytest.warns(UserWarning, match="X has feature names, but NodeClassifier was fitted without feature names"):
        found = unnamed.logits(problem.edge_index, table)
    np.testing.assert_array_equal(found, unnamed.logits())


def mixed(problem: Problem) -> pd.DataFrame:
    n = np.arange(60)
    return pd.DataFrame(
        {
            "size": np.where(n % 7 == 0, np.nan, problem.X[:, 0]),
            "kind": np.array(["x", "y", "z"])[n % 3],
            "flag": n % 2 == 0,
            "count": n % 5,
        }
    )


def test_categories_missing_values_and_booleans(problem: Problem) -> None:
    frame = mixed(problem)
    assert names(frame) == ["count", *[name for name in names(frame) if name.startswith("flag")],
                            "kind=x", "kind=y", "kind=z", "size", "size missing"]
    encoded = dense(frame)
    by_name = dict(zip(names(frame), encoded.T))
    assert np.array_equal(by_name["kind=y"], (frame["kind"] == "y").astype(float))
    assert np.array_equal(by_name["size missing"], frame["size"].isna().astype(float))
    median = float(np.median(frame["size"].dropna()))
    np.testing.assert_allclose(by_name["size"], frame["size"].fillna(median).to_numpy(), rtol=1e-6)
    flags = [by_name[name] for name in by_name if name.startswith("flag")]
    assert any(np.array_equal(column, frame["flag"].astype(float)) for column in flags)


@pytest.mark.parametrize(
    "convert",
    [
        lambda f: f.assign(kind=f["kind"].astype("category")),
        lambda f: f.assign(flag=f["flag"].astype("boolean"), size=f["size"].astype("Float64"), count=f["count"].astype("Int64")),
        lambda f: f.convert_dtypes(),
        lambda f: f.astype(object),
        lambda f: f[["kind", "count", "size", "flag"]],
        pl.from_pandas,
        lambda f: pl.from_pandas(f).with_columns(pl.col("kind").cast(pl.Categorical)),
        pa.Table.from_pandas,
        lambda f: pa.Table.from_pandas(f.assign(kind=f["kind"].astype("category"))),
    ],
)
def test_mixed_tables_of_other_libraries(problem: Problem, convert: Any) -> None:
    frame = mixed(problem)
    table = convert(frame)
    assert names(table) == names(frame)
    np.testing.assert_array_equal(dense(table), dense(frame))
    model = fit(problem, frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.logits(problem.edge_index, table), model.logits())


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_are_days(problem: Problem, unit: str) -> None:
    days = pd.date_range("2020-01-01", periods=60)
    frame = pd.DataFrame({"a": problem.X[:, 0], "day": days.astype(f"datetime64[{unit}]")})
    expected = days.to_numpy().astype("datetime64[D]").astype(int)
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(dict(zip(names(table), dense(table).T))["day"], expected)
    frame.loc[3, "day"] = pd.NaT
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert names(table) == ["a", "day", "day missing"]
        assert dense(table)[:, 2].tolist() == [float(i == 3) for i in range(60)]


def test_columns_that_are_not_used_are_reported(problem: Problem) -> None:
    frame = mixed(problem).assign(key=[f"key-{i}" for i in range(60)])
    with pytest.warns(UserWarning, match=r"columns of X that are not used: `key` \(") as caught:
        model = fit(problem, frame)
    assert caught[0].filename == __file__ or "conftest" in caught[0].filename
    np.testing.assert_array_equal(model.logits(), fit(problem, mixed(problem)).logits())
    assert model.feature_names_in_.tolist() == ["size", "kind", "flag", "count", "key"]


def test_missing_extra_and_unknown_columns_at_prediction(problem: Problem) -> None:
    frame = mixed(problem)
    model = fit(problem, frame)
    with pytest.warns(UserWarning, match="size"):
        without = model.logits(problem.edge_index, frame.drop(columns="size"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled = model.logits(problem.edge_index, frame.assign(size=np.nan))
        np.testing.assert_array_equal(without, filled)
        np.testing.assert_array_equal(model.logits(problem.edge_index, frame.assign(new=1)), model.logits())
    with pytest.warns(UserWarning, match="kind"):
        model.logits(problem.edge_index, frame.assign(kind="never seen"))


def test_numbers_as_names_of_columns(problem: Problem) -> None:
    frame = pd.DataFrame(problem.X)
    assert fit(problem, frame).feature_names_in_.tolist() == ["0", "1", "2", "3", "4", "5"]
    wide = pd.DataFrame(np.tile(problem.X, (1, 2)))
    model = fit(problem, wide)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(model.logits(problem.edge_index, wide.to_numpy()), model.logits())
    np.testing.assert_array_equal(model.logits(problem.edge_index, wide[wide.columns[::-1]]), model.logits())


def test_names_survive_files(problem: Problem, tmp_path: Any) -> None:
    frame = mixed(problem)
    model = fit(problem, frame)
    model.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert loaded.n_features_in_ == model.n_features_in_ == 4
    np.testing.assert_array_equal(loaded.logits(problem.edge_index, frame[frame.columns[::-1]]), model.logits())


def test_columns_named_like_attributes(problem: Problem) -> None:
    frame = pd.DataFrame(problem.X, columns=["column_names", "edge_index", "nodes", "shape", "columns", "index"])
    np.testing.assert_array_equal(dense(frame).astype(np.float32), problem.X[:, np.argsort(frame.columns.to_numpy())])


def test_columns_that_may_be_the_label_are_reported(problem: Problem) -> None:
    club = np.array(["red", "green", "blue"])[problem.y]
    known = {i: int(problem.y[i]) for i in range(30)}

    def messages(**columns: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            NodeClassifier("gcn", max_epochs=2).fit(problem.edge_index, pd.DataFrame(columns), known)
        return [str(warning.message) for warning in caught]

    size = problem.X[:, 0]
    assert messages(size=size, club=club) == [
        "column `club` determines every known label; if it is the label itself, leave it out"
    ]
    assert messages(size=size, Label=club, y=problem.y) == [
        f"column `{name}` is used as a feature; if it is the label itself, leave it out" for name in ("Label", "y")
    ]
    wrong = club.copy()
    wrong[0] = "blue" if club[0] != "blue" else "red"
    assert messages(size=size, club=wrong) == []
    assert messages(size=size, code=problem.y) == [] == messages(x=size, y=problem.X[:, 1])
    # Nearly one value per labelled node says nothing.
    assert messages(size=size, group=[f"g{i % 20}" for i in range(60)]) == []


def test_the_club_of_the_karate_club_is_reported() -> None:
    graph = nx.karate_club_graph()
    y = {node: graph.nodes[node]["club"] for node in (0, 1, 2, 31, 32, 33)}
    with pytest.warns(UserWarning, match="column `club` determines every known label"):
        NodeClassifier("gcn", max_epochs=2).fit(graph, y=y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NodeClassifier("gcn", max_epochs=2).fit(graph, label="club")

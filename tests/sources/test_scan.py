"""What `scan` says and does apart from the contract: arguments, paths, groups, the ways it goes."""

import math
from datetime import timedelta
from decimal import Decimal

import duckdb
import engine_cases
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from grids import slow
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn

ROWS = pl.DataFrame(
    {
        "p": [0.1, 0.6, 0.7, 0.9],
        "y": [0, 1, 0, 1],
        "g": ["a", "b", "a", "b"],
        "w": [1.0, 2.0, 0.5, 1.0],
    }
)


def ask(source=ROWS, **options):
    return engine_cases.ask(source, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": 3}, "`label` must be the name of a column; got 3"),
        ({"label": "q"}, "`label` names no column 'q'; the columns are 'p', 'y', 'g', 'w'"),
        ({"prob": "q"}, "`prob` names no column 'q'"),
        ({"prob": "g"}, "`prob` column 'g' must hold numbers; its type is String"),
        ({"prob": ["p"]}, "at least 2; got \\['p'\\]"),
        ({"prob": []}, "`prob` must be the name of a column or a list of names"),
        ({"prob": ["p", "p"]}, "`prob` must name each column once"),
        ({"missing": "error"}, "`missing` must be 'raise' or 'drop'; got 'error'"),
        ({"engine": "polars"}, "`engine` is only for paths"),
        ({"engine": "spark"}, "`engine` must be 'auto', 'polars' or 'duckdb'; got 'spark'"),
        ({"kind": "confidence"}, "needs a list of columns as `prob`"),
        ({"kind": "best", "prob": ["p", "w"]}, "`kind` must be 'classwise'"),
        ({"sum_tolerance": 0.1}, "`sum_tolerance` is only for several columns of scores"),
        (
            {"prob": ["p", "w"], "sum_tolerance": 2},
            "`sum_tolerance` must be a number between 0 and 1",
        ),
        ({"prob": ["p", "w"], "pos_label": 1}, "`pos_label` is only for one column of scores"),
        ({"labels": "ab"}, "`labels` must be a list of the classes"),
        (
            {"labels": [0, 1, 2]},
            "`labels` must name two classes for a vector of scores, the positive one last",
        ),
        ({"labels": [0, 0]}, "`labels` must name each class once; got 0, 0"),
        ({"labels": [0, 1], "pos_label": 0}, "One of the two is enough"),
        (
            {"labels": ["a", "b"]},
            "`labels` must be values of `label` column 'y', which holds numbers; got 'a'",
        ),
        (
            {"label": "g", "pos_label": 1},
            "`pos_label` must be values of `label` column 'g', which holds strings; got 1",
        ),
        ({"bins": 0}, "`bins` must be a whole number ≥ 1"),
        ({"bins": "quantiles"}, "a bin rule, 'sketch' or None; got 'quantiles'"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, message):
    with pytest.raises(tn.InputError, match=message):
        ask(**options)


@pytest.mark.parametrize("source", [3, {"p": [0.5]}, [1, 2], np.zeros(3)])
def test_a_source_that_is_none_is_refused(source):
    message = "`source` must be a frame or relation.* or a path of Parquet, Arrow IPC, CSV, TSV or JSON lines; got"
    with pytest.raises(tn.InputError, match=message):
        ask(source)


def test_classes_without_a_name_for_every_column_are_refused():
    rows = pl.LazyFrame({"a": [0.5, 0.5], "b": [0.5, 0.5], "y": ["u", "u"]})
    with pytest.raises(
        tn.InputError, match="one distinct value per `prob` column; got 1 \\('u'\\) for 2 columns"
    ):
        ask(rows, prob=["a", "b"])


def test_columns_that_may_be_meant_by_name_or_by_place_are_refused():
    rows = pl.LazyFrame({"1": [0.5, 0.4], "0": [0.5, 0.6], "y": [0, 1]})
    with pytest.raises(tn.InputError, match="columns of class codes in order; they are named 1, 0"):
        ask(rows, prob=["1", "0"])
    assert ask(rows, prob=["1", "0"], labels=[1, 0]).classes == (1, 0)
    named = pl.LazyFrame({"a": [0.5, 0.4], "b": [0.5, 0.6], "y": ["a", "b"]})
    with pytest.raises(tn.InputError, match="`labels` must name the `prob` columns in their order"):
        ask(named, prob=["a", "b"], labels=["b", "a"])


@pytest.mark.parametrize(
    ("y", "event", "n"),
    [(["u", "u"], "u", 2), (["u", "u"], "v", 0), ([3, 3], 3, 2), ([3, 3], 4, 0)],
)
def test_one_label_is_the_event_or_it_is_not(y, event, n):
    rows = pl.LazyFrame({"p": [0.5, 0.6], "y": y})
    assert ask(rows, pos_label=event).parts[0].events.sum() == n


@pytest.mark.parametrize("bins", [None, 10, "sketch"])
def test_weights_of_a_group_that_vanish_when_squared_are_refused(bins):
    rows = pl.LazyFrame(
        {"p": [0.2, 0.6, 0.7], "y": [0, 1, 1], "w": [1.0, 1e-300, 1e-301], "g": ["a", "b", "b"]}
    )
    with pytest.raises(
        tn.InputError, match=r"largest weight above 2\*\*-332; it is about 2\*\*-997 in group 'b'"
    ):
        ask(rows, weight="w", by="g", bins=bins)
    assert ask(
        rows.with_columns(w=pl.Series([1.0, 0, 0])), weight="w", by="g", bins=bins
    ).keys() == {"a"}


def test_groups_come_by_value_or_by_tuple_in_order():
    assert list(ask(by="g")) == ["a", "b"]
    assert list(ask(by=["g"])) == [("a",), ("b",)]
    assert list(ask(by=["y", "g"])) == [(0, "a"), (1, "b")]


def test_nan_and_null_are_one_group():
    rows = ROWS.with_columns(k=pl.Series([1.0, None, math.nan, 1.0]))
    found = ask(rows, by="k")
    assert list(found) == [1.0, None]
    assert found[None].n == 2


def test_a_library_that_is_not_there_is_named(without, tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    without("polars", "duckdb")
    with pytest.raises(
        tn.errors.MissingLibraryError, match=r"polars or duckdb.*pip install 'trueness\[cli\]'"
    ):
        tn.scan(tmp_path / "rows.parquet", label="y", prob="p")
    with pytest.raises(
        tn.errors.MissingLibraryError, match=r"duckdb.*pip install 'trueness\[duckdb\]'"
    ):
        tn.scan(tmp_path / "rows.parquet", label="y", prob="p", engine="duckdb")


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.floats(0, 1), st.integers(0, 2)), min_size=1, max_size=60
    ),
    n_bins=st.integers(1, 300),
)
def test_the_place_of_any_score_is_that_of_memory(rows, n_bins):
    y, p, g = (np.array(column) for column in zip(*rows, strict=True))
    found = tn.scan_groups(
        pl.LazyFrame({"y": y, "p": p, "g": g}), label="y", prob="p", by="g", bins=n_bins
    )
    assert sum(found.values()) == tn.binned(y, p, bins=n_bins)


@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=60),
    n_bins=st.integers(1, 20),
)
def test_equal_mass_in_two_passes_is_equal_mass_in_memory(rows, n_bins):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    found = tn.scan(pl.LazyFrame({"y": y, "p": p}), label="y", prob="p", bins=tn.EqualMass(n_bins))
    assert found == tn.binned(y, p, bins=tn.EqualMass(n_bins))


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 64), st.integers(0, 9)), min_size=1, max_size=40
    )
)
def test_a_whole_weight_is_the_row_so_often(rows):
    y, p, w = (np.array(column) for column in zip(*rows, strict=True))
    if w.sum() == 0:
        w[0] = 1
    lazy = pl.LazyFrame({"y": y, "p": p / 64, "w": w})
    found = tn.scan(lazy, label="y", prob="p", weight="w", bins=5).parts[0]
    wanted = tn.binned(np.repeat(y, w), np.repeat(p / 64, w), bins=5).parts[0]
    for name in ("weight", "events", "sum_score", "sum_square", "sum_event_score"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name


def test_equal_weights_lose_no_digit_in_long_runs():
    n = 1_000_000
    rows = pl.LazyFrame({"y": np.zeros(n), "p": np.full(n, 0.5), "w": np.full(n, 0.1)})
    rows = rows.with_columns(hour=pl.duration(hours=1))
    # The pass for arrays adds short runs of rows plainly; the group-by, for groups of durations, adds whole numbers.
    assert ask(rows, weight="w").weight == pytest.approx(0.1 * n, rel=1e-13)
    assert ask(rows, weight="w", by="hour")[timedelta(hours=1)].weight == pytest.approx(
        0.1 * n, rel=1e-15
    )


# DuckDB believes the least and greatest value that a Parquet file states, which leave nan out.
@pytest.mark.parametrize("bins", [10, *slow(None, tn.EqualMass(2), "sketch")])
@pytest.mark.parametrize("by", ["g", *slow(None)])
@pytest.mark.parametrize("kind", ["path", "relation"])
def test_nan_in_a_parquet_file_is_seen_by_duckdb(tmp_path, bins, by, kind):
    ROWS.with_columns(p=pl.Series([0.1, math.nan, 0.7, 0.9])).write_parquet(tmp_path / "x.parquet")
    path = str(tmp_path / "x.parquet")
    source = path if kind == "path" else duckdb.sql(f"from '{path}'")
    options = {"bins": bins, "by": by, "engine": "duckdb" if kind == "path" else "auto"}
    with pytest.raises(tn.InputError, match="must not have missing values; 1 of 4 rows has one"):
        ask(source, **options)
    with pytest.warns(tn.errors.DroppedRowsWarning, match="1 of 4 rows"):
        found = ask(source, missing="drop", **options)
    assert sum(part.n for part in found.values()) == 3 if by else found.n == 3
    ROWS.with_columns(w=pl.Series([1.0, 1.0, 1.0, math.nan])).write_parquet(tmp_path / "w.parquet")
    with pytest.raises(tn.InputError, match="`weight` column 'w' must not have missing values"):
        ask(str(tmp_path / "w.parquet"), weight="w", engine="duckdb", bins=bins)


def test_labels_that_floats_cannot_tell_apart_are_refused():
    rows = pl.DataFrame({"p": [0.3, 0.7], "y": [2**53, 2**53 + 1]})
    with pytest.raises(
        tn.InputError, match=r"numbers beyond 2\^53 \(9007199254740993\).*cast it to strings"
    ):
        ask(rows.lazy(), labels=[2**53, 2**53 + 1], bins=None)


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # by Ibis, of DuckDB 2
@pytest.mark.parametrize("bins", [None, 10])
def test_nan_in_a_parquet_file_is_seen_through_ibis(tmp_path, bins):
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    ROWS.with_columns(p=pl.Series([0.1, math.nan, 0.7, 0.9])).write_parquet(tmp_path / "x.parquet")
    table = ibis.duckdb.connect().read_parquet(str(tmp_path / "x.parquet"))
    with pytest.raises(tn.InputError, match="must not have missing values; 1 of 4 rows has one"):
        ask(table, bins=bins)
    with pytest.warns(tn.errors.DroppedRowsWarning, match="1 of 4 rows"):
        assert ask(table, bins=bins, missing="drop").n == 3


def test_decimals_of_arrow_are_the_nearest_floats():
    digits = [Decimal(i).scaleb(-4) for i in range(10_001)]
    table = pa.table(
        {"p": pa.array(digits, pa.decimal128(5, 4)), "y": [1] * 10_001, "g": [0] * 10_001}
    )
    expected = tn.binned([1] * 10_001, [i / 10_000 for i in range(10_001)], bins=100)
    assert tn.scan(table, label="y", prob="p", bins=100) == expected
    assert tn.scan_groups(table, label="y", prob="p", bins=100, by="g")[0] == expected


def test_groups_have_a_function_of_their_own_which_is_named():
    with pytest.raises(TypeError, match=r"takes no `by`; use `trueness.scan_groups`"):
        tn.scan(ROWS, label="y", prob="p", by="g")


def test_small_groups_are_left_out_and_counted():
    frame = pl.LazyFrame(
        {"y": [0, 1, 1, 0, 1], "p": [0.1, 0.6, 0.9, 0.3, 0.4], "g": ["a", "a", "a", "b", "c"]}
    )
    with pytest.warns(
        tn.errors.DroppedRowsWarning,
        match="2 groups of fewer than 3 rows left out: 2 rows are hidden",
    ):
        found = tn.scan_groups(frame, by="g", label="y", prob="p", min_rows=3)
    assert {key: sums.n for key, sums in found.items()} == {"a": 3}
    with pytest.raises(tn.InputError, match="`min_rows` must be"):
        tn.scan_groups(frame, by="g", label="y", prob="p", min_rows=0)

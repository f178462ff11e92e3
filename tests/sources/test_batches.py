"""Weights, groups, classes and named labels in several batches: what memory gives, and what is said of bad rows."""

import math
import sys
from datetime import datetime
from functools import cache

import duckdb
import numpy as np
import polars as pl
import pytest
from engine_cases import ask, check
from grids import fast, slow

import trueness as tn

N = 300_000  # three batches of DuckDB; Polars, whose batches are longer, is asked for the rows four times
rng = np.random.default_rng(7)
P = np.round(rng.beta(1, 2, N), 3)
CUT = np.sort(np.round(rng.random((N, 2)), 2), axis=1)
ROWS = pl.DataFrame(
    {
        "p": P,
        "y": (rng.random(N) < P).astype(np.int64),
        "w": rng.random(N) * 10.0 ** rng.integers(-6, 6, N),
        "whole": rng.integers(0, 4, N),
        "g": rng.choice(["a", "b", None], N).tolist(),
        "h": rng.integers(0, 3, N),
        "c": rng.integers(0, 3, N),
        "c0": CUT[:, 0],
        "c1": CUT[:, 1] - CUT[:, 0],
        "c2": 1 - CUT[:, 1],
    }
).with_columns(
    word=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")),
    f=pl.col("c").cast(float),
)
CLASSES = {"label": "c", "prob": ["c0", "c1", "c2"]}
QUESTIONS = {
    "bins": {},
    "weights": {"weight": "w"},
    "whole weights": {"weight": "whole"},
    "weights, distinct": {"weight": "w", "bins": None},
    "groups": {"by": "g"},
    "groups by two columns, weights": {"by": ["g", "h"], "weight": "w"},
    "groups, distinct": {"by": "g", "bins": None},
    "distinct": {"bins": None},
    "isotonic": {"bins": tn.Isotonic()},
    "equal mass, weights": {"bins": tn.EqualMass(5), "weight": "whole"},
    "words": {"label": "word", "pos_label": "yes"},
    "words in order": {"label": "word", "labels": ["no", "yes"], "by": "h"},
    "the other event": {"labels": [1, 0]},
    "class-wise": CLASSES,
    "confidence": {**CLASSES, "kind": "confidence"},
    "top label": {**CLASSES, "kind": "top-label", "weight": "w"},
    "classes, groups": {**CLASSES, "by": "g"},
    "classes, distinct": {**CLASSES, "bins": None, "kind": "confidence"},
    "classes, float codes": {**CLASSES, "label": "f"},
    "sketch by group": {"bins": "sketch", "by": "g"},
    "sketch of classes": {**CLASSES, "bins": "sketch"},
    "sketch of weights": {"bins": "sketch", "weight": "w", "by": "g"},
}
SOME = (
    "weights",
    "groups",
    "equal mass, weights",
    "words in order",
    "top label",
    "classes, distinct",
    "sketch of weights",
)
ENGINES = {
    "polars": lambda rows: rows.lazy(),
    "duckdb": lambda rows: duckdb.connect().from_arrow(rows.to_arrow()),
}
engines = pytest.mark.parametrize("engine", ENGINES)


@cache
def in_memory(name):
    """The sums of the rows, or of those of each group."""
    options = {"label": "y", "prob": "p"} | QUESTIONS[name]
    by = options.pop("by", None)
    if by is None:
        return tn.scan(ROWS, **options)
    names = [by] if isinstance(by, str) else by
    groups = {
        key: tn.scan(rows, **options)
        for key, rows in ROWS.partition_by(names, as_dict=True).items()
    }
    return {key[0] if isinstance(by, str) else key: sums for key, sums in groups.items()}


def four_times(sums):
    return (
        {key: four_times(one) for key, one in sums.items()}
        if isinstance(sums, dict)
        else sums + sums + sums + sums
    )


@pytest.mark.parametrize("name", fast({name: name for name in QUESTIONS}, *SOME))
@pytest.mark.parametrize("engine", ["duckdb", *slow("polars")])
def test_batches_give_what_memory_gives(engine, name):
    times = (
        4 if engine == "polars" and QUESTIONS[name].get("bins", 10) in (10, "sketch", None) else 1
    )
    found = ask(ENGINES[engine](pl.concat([ROWS] * times, rechunk=False)), **QUESTIONS[name])
    wanted = in_memory(name)
    check(found, four_times(wanted) if times == 4 else wanted, weighted="weight" in QUESTIONS[name])


@engines
def test_rows_that_miss_a_value_are_dropped_and_counted(engine):
    some = pl.int_range(pl.len()) % 5
    gaps = {"p": math.nan, "w": None, "word": None}
    rows = ROWS.with_columns(
        pl.when(some == i).then(pl.lit(gap)).otherwise(name).alias(name)
        for i, (name, gap) in enumerate(gaps.items())
    )
    asked = {"label": "word", "labels": ["no", "yes"], "weight": "w", "by": "h"}
    with pytest.warns(
        tn.errors.DroppedRowsWarning,
        match="180,000 of 300,000 rows have a missing value and were dropped",
    ):
        found = ask(ENGINES[engine](rows), **asked, missing="drop")
    check(found, ask(ENGINES[engine](ROWS.filter(some >= 3)), **asked), weighted=True)


@pytest.mark.parametrize("engine", ["duckdb", *slow("polars")])
@pytest.mark.parametrize(
    ("name", "value", "options", "message"),
    [
        (
            "p",
            1.5,
            {"by": "g"},
            r"`prob` column 'p' must lie in \[0, 1\]; 1 of 9,000 rows does not, the largest is 1.5",
        ),
        ("p", None, {"by": "g"}, "`prob` column 'p' must not have missing values; 1 of 9,000"),
        (
            "p",
            math.nan,
            {"weight": "w"},
            "`prob` column 'p' must not have missing values; 1 of 9,000",
        ),
        (
            "w",
            -1.0,
            {"weight": "w"},
            "`weight` column 'w' must be at least 0 and at most 1e[+]100; 1 of 9,000",
        ),
        (
            "w",
            1e200,
            {"weight": "w"},
            "`weight` column 'w' must be at least 0 and at most 1e[+]100; 1 of 9,000",
        ),
        ("y", 2, {"bins": None}, "`label` column 'y' must be 0 or 1; 1 of 9,000 labels is not"),
        ("word", "?", {"label": "word", "labels": ["no", "yes"]}, "named in `labels`.*1 of 9,000"),
        ("c", 3, CLASSES, "class codes 0 to 2.*1 of 9,000"),
        ("c0", 1.0, CLASSES, "must sum to 1 within 1e-06; 1 of 9,000 does not"),
    ],
)
def test_a_bad_value_is_explained(engine, name, value, options, message):
    last = pl.int_range(pl.len()) == 8999
    rows = ROWS.head(9000).with_columns(
        pl.when(last).then(pl.lit(value)).otherwise(name).alias(name)
    )
    if name == "c0":
        rows = rows.with_columns(pl.when(last).then(0.5).otherwise("c1").alias("c1"))
    with pytest.raises(tn.InputError, match=message):
        ask(ENGINES[engine](rows), **options)


@engines
def test_a_group_of_no_weight_is_left_out_but_looked_at(engine):
    rows = ROWS.head(9000).with_columns(w=pl.when(pl.col("h") == 1).then(0.0).otherwise("w"))
    assert list(ask(ENGINES[engine](rows), weight="w", by="h")) == [0, 2]
    bad = rows.with_columns(p=pl.when(pl.col("h") == 1).then(2.0).otherwise("p"))
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]"):
        ask(ENGINES[engine](bad), weight="w", by="h")


@engines
def test_many_small_groups_add_up(engine):
    rows = ROWS.head(3000).with_columns(k=pl.int_range(pl.len()) // 3)
    found = ask(ENGINES[engine](rows), by="k")
    assert len(found) == 1000
    assert sum(found.values()) == ask(rows)


KEYS = {
    "float": pl.when(pl.col("h") == 0)
    .then(-0.0)
    .when(pl.col("h") == 1)
    .then(math.nan)
    .otherwise("c"),
    "boolean": pl.when(pl.col("h") > 0).then(pl.col("h") == 1),
    "category": pl.col("g").cast(pl.Categorical),
    "time": pl.lit(datetime(2024, 1, 2)) + pl.duration(seconds="c"),
    "long text": pl.lit("a name of more than sixteen bytes, ")
    + pl.col("g")
    + pl.col("c").cast(pl.String),
    "users": pl.int_range(pl.len()) // 7,
}


@pytest.mark.slow
@engines
@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("options", [{}, {"cluster": "c"}], ids=str)
def test_keys_of_any_type_are_those_of_the_group_by(engine, name, options, monkeypatch):
    rows = ROWS.head(150).with_columns(k=KEYS[name])
    found = [ask(ENGINES[engine](rows), by=by, **options) for by in ("k", ["h", "k"])]
    monkeypatch.setattr("trueness.sources.engines._group_sums.sums_of_batches", lambda *_: None)
    for by, mine in zip(("k", ["h", "k"]), found, strict=True):
        wanted = ask(ENGINES[engine](rows), by=by, **options)
        assert mine == wanted
        assert list(mine) == list(wanted)


def test_without_pyarrow_groups_are_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert ask(ROWS.lazy(), by="g") == in_memory("groups")


def test_a_nan_among_labels_of_a_parquet_file_is_seen(tmp_path):
    path = str(tmp_path / "rows.parquet")
    pl.DataFrame({"p": [0.1, 0.2, 0.3], "y": [1.0, math.nan, 1.0]}).write_parquet(path)
    for engine in ("polars", "duckdb"):
        with pytest.raises(
            tn.InputError, match="`label` column 'y' must not have missing values; 1 of 3"
        ):
            ask(path, labels=[0, 1], engine=engine)


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"bins": None}])
@engines
def test_short_integers_far_apart_are_groups(engine, options):
    keys = (-128, -100, 0, 5, 127)
    g = np.repeat(np.array(keys, np.int8), 2000)
    rows = ROWS.head(10_000).with_columns(g=pl.Series(g), h=pl.Series(g % 2))
    found = ask(ENGINES[engine](rows), by=["h", "g"], **options)
    assert {key: sums.n for key, sums in found.items()} == {(v % 2, v): 2000 for v in keys}
    assert {
        key: sums.n for key, sums in ask(ENGINES[engine](rows), by="g", **options).items()
    } == dict.fromkeys(keys, 2000)


@pytest.mark.parametrize("cluster", [None, "user"])
def test_sketches_of_many_small_groups_are_those_of_their_rows(cluster):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 5, 2000)
    columns = {
        "y": (rng.uniform(size=2000) < p).astype(int),
        "p": p,
        "a": rng.choice([f"a{i}" for i in range(60)], 2000),
        "b": rng.choice([f"b{i}" for i in range(40)], 2000),
        "user": rng.integers(0, 400, 2000).astype(str),
    }
    frame = pl.DataFrame(columns)
    how = {} if cluster is None else {"cluster": cluster}
    groups = tn.scan_groups(frame.lazy(), by=["a", "b"], label="y", prob="p", bins="sketch", **how)
    assert len(groups) > 1_050  # so many that a group has few rows
    for (a, b), sums in list(groups.items())[::97]:
        part = frame.filter((pl.col("a") == a) & (pl.col("b") == b))
        rows = {} if cluster is None else {"cluster": part["user"]}
        assert sums == tn.sketch(part["y"], part["p"], **rows)

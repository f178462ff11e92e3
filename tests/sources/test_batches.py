"""Weights, groups, classes and named labels, batch by batch: what memory gives, and when another way is taken."""

import math
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import duckdb
import engine_cases
import numpy as np
import polars as pl
import pytest

import trueness as tn
from trueness.sources import _batches, _scan

N = 9000
rng = np.random.default_rng(7)
P = np.round(rng.beta(1, 2, N), 3)
CUT = np.sort(np.round(rng.random((N, 2)), 2), axis=1)
ROWS = pl.DataFrame(
    {
        "p": P,
        "y": (rng.random(N) < P).astype(np.int64),
        "w": rng.random(N) * 10.0 ** rng.integers(-6, 6, N),
        "whole": rng.integers(0, 4, N),
        "g": rng.choice(["a", "b", None], N),
        "h": rng.integers(0, 3, N),
        "c": rng.integers(0, 3, N),
        "c0": CUT[:, 0],
        "c1": CUT[:, 1] - CUT[:, 0],
        "c2": 1 - CUT[:, 1],
    }
).with_columns(word=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")))
CLASSES = {"label": "c", "prob": ["c0", "c1", "c2"]}
QUESTIONS = {
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
    "dropping": {"missing": "drop", "weight": "w"},
    "sketch by group": {"bins": "sketch", "by": "g"},
    "sketch of classes": {**CLASSES, "bins": "sketch"},
    "sketch of weights": {"bins": "sketch", "weight": "w", "by": "g"},
}
ENGINES = {"polars": lambda rows: rows.lazy(), "duckdb": lambda rows: duckdb.connect().from_arrow(rows.to_arrow())}


@pytest.fixture
def only_batches(monkeypatch):
    """Batches of few rows, and no other way."""

    def refuse(*_):
        raise AssertionError("the general way was taken")

    monkeypatch.setattr(_scan, "rows_of", refuse)
    monkeypatch.setattr(_batches, "_BATCH_ROWS", 3000)
    monkeypatch.setattr(_batches, "_FEW_ROWS", 10)


def ask(source, **options):
    return engine_cases.ask(source, **options)


def same(found, wanted, weighted):
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            same(found[key], value, weighted)
        return
    if not weighted:
        assert found == wanted
        return
    assert (found.n, found.kind, found.classes) == (wanted.n, wanted.kind, wanted.classes)
    names = {
        tn.Tally: ["score", "weight", "events", "squares"],
        tn.Binned: ["score", "weight", "events", "squares", "sum_score", "sum_square", "sum_event_score"],
        tn.Sketch: ["cell", "ends", "weight", "events", "squares", "scores_by_label", "squares_by_label"],
    }[type(found)]
    for mine, theirs in zip(found.parts, wanted.parts, strict=True):
        for name in names:
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-12, atol=0, err_msg=name)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_batches_give_what_the_group_by_gives(monkeypatch, only_batches, engine, question):
    rows = ENGINES[engine](ROWS.with_columns(f=pl.col("c").cast(pl.Float64)))
    found = ask(rows, **question)
    monkeypatch.undo()
    monkeypatch.setattr(_scan, "sums_of_batches", lambda *_: None)
    same(found, ask(rows, **question), "weight" in question)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_miss_a_value_are_dropped_and_counted(only_batches, engine):
    some = pl.int_range(pl.len()) % 5
    gaps = {"p": math.nan, "w": None, "word": None}
    rows = ROWS.with_columns(
        pl.when(some == i).then(pl.lit(gap)).otherwise(name).alias(name) for i, (name, gap) in enumerate(gaps.items())
    )
    kept = ROWS.filter(some >= 3)
    with pytest.warns(tn.DroppedRowsWarning, match="5,400 of 9,000 rows have a missing value and were dropped"):
        found = ask(ENGINES[engine](rows), label="word", labels=["no", "yes"], weight="w", missing="drop", by="g")
    same(found, ask(ENGINES[engine](kept), label="word", labels=["no", "yes"], weight="w", by="g"), weighted=True)


@pytest.mark.parametrize("engine", ENGINES)
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
        ("p", math.nan, {"weight": "w"}, "`prob` column 'p' must not have missing values; 1 of 9,000"),
        ("w", -1.0, {"weight": "w"}, "`weight` column 'w' must be at least 0 and at most 1e[+]100; 1 of 9,000"),
        ("w", 1e200, {"weight": "w"}, "`weight` column 'w' must be at least 0 and at most 1e[+]100; 1 of 9,000"),
        ("y", 2, {"bins": None}, "`label` column 'y' must be 0 or 1; 1 of 9,000 labels is not"),
        ("word", "?", {"label": "word", "labels": ["no", "yes"]}, "named in `labels`.*1 of 9,000"),
        ("c", 3, CLASSES, "class codes 0 to 2.*1 of 9,000"),
        ("c0", 1.0, CLASSES, "must sum to 1 within 1e-06; 1 of 9,000 does not"),
    ],
)
def test_a_bad_value_is_explained(engine, name, value, options, message):
    last = pl.int_range(pl.len()) == N - 1
    rows = ROWS.with_columns(pl.when(last).then(pl.lit(value)).otherwise(name).alias(name))
    if name == "c0":
        rows = rows.with_columns(pl.when(last).then(0.5).otherwise("c1").alias("c1"))
    with pytest.raises(tn.InputError, match=message):
        ask(ENGINES[engine](rows), **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_group_of_no_weight_is_left_out_but_looked_at(only_batches, engine):
    rows = ROWS.with_columns(w=pl.when(pl.col("h") == 1).then(0.0).otherwise("w"))
    assert list(ask(ENGINES[engine](rows), weight="w", by="h")) == [0, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bad_score_of_no_weight_is_bad(engine):
    rows = ROWS.with_columns(w=pl.when(pl.col("h") == 1).then(0.0).otherwise("w"))
    rows = rows.with_columns(p=pl.when(pl.col("h") == 1).then(2.0).otherwise("p"))
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]"):
        ask(ENGINES[engine](rows), weight="w", by="h")


@pytest.mark.parametrize("engine", ENGINES)
def test_many_small_groups_are_left_to_the_engine(monkeypatch, engine):
    rows = ROWS.with_columns(k=pl.int_range(pl.len()) // 3)
    assert _batches.sums_of_batches(*asked(ENGINES[engine](rows), by="k")) is None
    assert sum(ask(ENGINES[engine](rows), by="k").values()) == ask(ROWS)


def asked(source, **options):
    import narwhals.stable.v2 as nw

    from trueness.sources._question import check_question

    frame = nw.from_native(source)
    question = check_question("y", "p", None, options["by"], None, None, None, "raise", None)
    return frame, question, frame.collect_schema(), tn.EqualWidth(10)


def test_without_pyarrow_the_general_way_is_taken(monkeypatch):
    wanted = ask(ROWS.lazy(), by="g")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(_batches, "_batches", None)
    assert ask(ROWS.lazy(), by="g") == wanted


def test_a_nan_among_labels_of_a_parquet_file_is_seen(tmp_path):
    path = str(tmp_path / "rows.parquet")
    pl.DataFrame({"p": [0.1, 0.2, 0.3], "y": [1.0, math.nan, 1.0]}).write_parquet(path)
    for engine in ("polars", "duckdb"):
        with pytest.raises(tn.InputError, match="`label` column 'y' must not have missing values; 1 of 3"):
            ask(path, labels=[0, 1], engine=engine)


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"bins": None}])
@pytest.mark.parametrize("engine", ENGINES)
def test_short_integers_far_apart_are_groups(monkeypatch, only_batches, engine, options):
    monkeypatch.setattr(_batches, "_FEW_ROWS", 1)
    g = np.repeat(np.array([-128, -100, 0, 5, 127], np.int8), 300)
    rows = ROWS.head(1500).with_columns(g=pl.Series(g), h=pl.Series(g % 2))
    found = ask(ENGINES[engine](rows), by=["h", "g"], **options)
    assert {key: sums.n for key, sums in found.items()} == {(v % 2, v): 300 for v in (-128, -100, 0, 5, 127)}
    found = ask(ENGINES[engine](rows), by="g", **options)
    assert {key: sums.n for key, sums in found.items()} == dict.fromkeys((-128, -100, 0, 5, 127), 300)


def test_many_pairs_of_groups_are_counted_before_they_are_made(monkeypatch):
    monkeypatch.setattr(_batches, "_encode", lambda column: (range(10**12), np.zeros(3, np.int64)))
    with pytest.raises(_batches._NeedsGroupByError):
        _batches._encode_groups([None, None])


def test_scans_in_threads_leave_the_filters_of_warnings_alone():
    before = list(warnings.filters)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: ask(ROWS.lazy(), by="g"), range(30)))
    assert all(one == found[0] for one in found)
    assert warnings.filters == before


def test_a_batch_of_one_class_is_no_news(only_batches):
    found = ask(ROWS.lazy(), **{**CLASSES, "kind": "confidence", "bins": None, "by": "c"})
    assert len(found) == 3

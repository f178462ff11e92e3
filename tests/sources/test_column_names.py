"""Columns are found by their very names, whatever an engine reads into a name."""

import duckdb
import engine_cases
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from grids import fast, slow

import trueness as tn

P, Y, W, G = [0.1, 0.6, 0.7, 0.9], [0, 1, 0, 1], [1.0, 2.0, 0.5, 1.0], ["a", "b", "a", "b"]
NAMES = [
    "*",
    "^p$",
    "^.*$",
    "a b",
    "a.b",
    "a`b",
    'a"b',
    "a'b",
    "a\\b",
    "😀",
    "p",
    "y",
    "ok",
    "place",
    "cell",
    "by0",
]
NAMES += ["x0", "t", "w", "part", "c0", "n", "select", "{p}", "$p", "\n"]
QUESTIONS = {
    "bins": {},
    "distinct": {"bins": None},
    "weight": {"weight": 2},
    "by": {"by": 3},
    "event": {"pos_label": 1},
}


def of_duckdb(table):
    connection = duckdb.connect()
    connection.register("rows", table)
    return connection.sql("from rows")


ENGINES = {
    "polars": lambda table: pl.from_arrow(table).lazy(),
    "polars in memory": pl.from_arrow,
    "duckdb": of_duckdb,
    "pandas": lambda table: table.to_pandas(),
    "pyarrow": lambda table: table,
}


def ask(source, names, question):
    options = {
        key: names[value] if key in ("weight", "by") else value for key, value in question.items()
    }
    return engine_cases.ask(source, label=names[1], prob=names[0], **options)


def check(source, names, question):
    found, wanted = (
        ask(source, names, question),
        ask(pa.table([P, Y, W, G], names=list("pywg")), "pywg", question),
    )
    if "weight" in question:
        assert found.parts[0].sum_score == pytest.approx(wanted.parts[0].sum_score, rel=1e-12)
    else:
        assert found == wanted


@pytest.mark.parametrize(
    "role", fast({"prob": 0, "label": 1, "weight": 2, "by": 3}, "prob", "weight")
)
@pytest.mark.parametrize("engine", fast(ENGINES, "polars in memory"))
def test_any_name_is_taken_literally(engine, role):
    questions = list(QUESTIONS.values()) if role < 2 else [QUESTIONS[("weight", "by")[role - 2]]]
    plain = ["zz0", "zz1", "zz2", "zz3"]
    named = [(P, Y, W, G)[role]] * len(NAMES)
    source = engine(pa.table([*named, P, Y, W, G], names=[*NAMES, *plain]))
    for i, name in enumerate(NAMES):
        names = [name if place == role else other for place, other in enumerate(plain)]
        # What may be a pattern is asked everything; of the others, each a question in turn.
        for question in questions if i < 2 else [questions[i % len(questions)]]:
            check(source, names, question)


@pytest.mark.parametrize(
    "names", [["t", "x0", "by0", "w"], *slow(["y", "p", "c0", "c1"], ["c1", "c0", "y", "p"])]
)
@pytest.mark.parametrize("engine", ENGINES)
def test_names_like_our_own_do_not_change_places(engine, names):
    for question in QUESTIONS.values():
        check(ENGINES[engine](pa.table([P, Y, W, G], names=names)), names, question)


def test_an_empty_name_is_a_name():
    for question in QUESTIONS.values():
        for frame in (pl.LazyFrame, pd.DataFrame):
            check(frame({"": P, "y": Y, "w": W, "g": G}), ["", "y", "w", "g"], question)


# DuckDB takes y and Y for one name, and would answer with the first.
@pytest.mark.parametrize("bins", [10, None])
def test_names_that_differ_in_case_are_two(bins):
    for label, event in (("y", 1), ("Y", 0)):
        found = tn.scan(
            duckdb.sql("select 0.5 as p, 1 as y, 0 as Y"), label=label, prob="p", bins=bins
        )
        assert found.parts[0].events.sum() == event


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(
        tn.InputError, match="`label` must name one column; `source` has 2 columns named 'y'"
    ):
        tn.scan(duckdb.sql("select 0.5 as p, 1 as y, 0 as y"), label="y", prob="p")
    assert (
        tn.scan(duckdb.sql("select 0.5 as p, 1 as y, 0 as z, 1 as z"), label="y", prob="p").n == 1
    )

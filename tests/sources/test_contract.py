"""The same cases through every engine that needs no cluster: equal bits without weights, 1e-12 with them."""

import duckdb
import polars as pl
import pytest
from engine_cases import CASES, run, run_grouped


def of_duckdb(table):
    connection = duckdb.connect()
    connection.register("rows", table)
    return connection.sql("select * from rows")


ENGINES = {
    "polars": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": of_duckdb,
    "pandas": lambda table: table.to_pandas(),
    "pyarrow": lambda table: table,
}
# Polars answers in milliseconds, so that the fast run asks it everything; of the others, these.
ASKED_OF_OTHERS = (
    "every edge of 10 bins",
    "string labels named",
    "a NULL score, dropped",
    "weights of every size",
    "groups by two columns",
    "classes, weights",
    "sketch: ordinary rows",
)
EVERY = [
    pytest.param(
        engine,
        one,
        id=f"{engine}-{one.name}",
        marks=() if engine == "polars" or one.name in ASKED_OF_OTHERS else pytest.mark.slow,
    )
    for engine in ENGINES
    for one in CASES
]


def test_there_are_enough_cases():
    assert len(CASES) >= 40
    assert len({one.name for one in CASES}) == len(CASES)
    assert {one.name for one in CASES} >= set(ASKED_OF_OTHERS)


@pytest.mark.parametrize(
    ("engine", "one"), [pair for pair in EVERY if pair.values[1].table.num_rows]
)
def test_the_group_by_gives_what_memory_gives(engine, one):
    run_grouped(one, ENGINES[engine])


@pytest.mark.parametrize(("engine", "one"), EVERY)
def test_all_rows_give_what_memory_gives(engine, one):
    run(one, ENGINES[engine](one.table))

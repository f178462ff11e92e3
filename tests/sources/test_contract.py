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


def test_there_are_enough_cases():
    assert len(CASES) >= 40
    assert len({one.name for one in CASES}) == len(CASES)


@pytest.mark.parametrize("one", [one for one in CASES if one.table.num_rows], ids=lambda one: one.name)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_group_by_gives_what_memory_gives(engine, one):
    run_grouped(one, ENGINES[engine])


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
@pytest.mark.parametrize("engine", ENGINES)
def test_all_rows_give_what_memory_gives(engine, one):
    run(one, ENGINES[engine](one.table))

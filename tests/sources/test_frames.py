"""Columns of types that engines do not have."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from engine_cases import ask
from grids import slow

import trueness as tn

ROWS = {
    "p": [0.125, 0.5, 0.75, 1.0],
    "y": [0, 1, 0, 1],
    "w": [1.0, 2.0, 1.0, 0.5],
    "g": ["a", "b", "a", "b"],
}
ENGINES = {
    "polars": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": lambda table: table,
}
NO_NUMBERS = {
    "lists": pa.array([[0.1], [0.2], [0.3], [0.4]]),
    "structs": pa.array([{"a": 0.1}] * 4),
    "bytes": pa.array([b"0", b"1", b"0", b"1"]),
    "dates": pa.array([datetime.date(2024, 1, 1)] * 4),
    "times": pa.array([datetime.datetime(2024, 1, 1)] * 4),
}


@pytest.mark.parametrize("column", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_columns_that_hold_no_numbers_are_refused(engine, column):
    for argument, name in (("prob", "p"), ("weight", "w"), ("label", "y")):
        table = pa.table({**ROWS, name: column})
        with pytest.raises(
            tn.InputError, match=f"`{argument}` column '{name}' must hold .*; its type is "
        ):
            ask(ENGINES[engine](table), weight="w")


@pytest.mark.parametrize(
    "column", [NO_NUMBERS["lists"], NO_NUMBERS["structs"]], ids=["lists", "structs"]
)
@pytest.mark.parametrize("engine", ENGINES)
def test_groups_that_are_no_single_values_are_refused(engine, column):
    with pytest.raises(
        tn.InputError, match=r"`by` column 'g' must hold single values; its type is (List|Struct)"
    ):
        ask(ENGINES[engine](pa.table({**ROWS, "g": column})), by="g")


@pytest.mark.parametrize(
    "engine", ["polars", "pandas", *slow(*sorted({*ENGINES} - {"polars", "pandas"}))]
)
def test_a_column_of_nothing_is_missing_everywhere(engine):
    for argument, name in (("prob", "p"), ("weight", "w"), ("label", "y")):
        table = pa.table({**ROWS, name: pa.nulls(4, pa.float64())})
        with pytest.raises(
            tn.InputError,
            match=f"`{argument}` column '{name}' must not have missing values; 4 of 4",
        ):
            ask(ENGINES[engine](table), weight="w")
    assert list(
        ask(ENGINES[engine](pa.table({**ROWS, "g": pa.nulls(4, pa.string())})), by="g")
    ) == [None]


@pytest.mark.parametrize("engine", ENGINES)
def test_decimals_are_numbers(engine):
    exact = pa.array([Decimal("0.125"), Decimal("0.500"), Decimal("0.750"), Decimal("1.000")])
    assert ask(ENGINES[engine](pa.table({**ROWS, "p": exact})), bins=None) == tn.tally(
        ROWS["y"], ROWS["p"]
    )
    labels = pa.array([Decimal(0), Decimal(1), Decimal(0), Decimal(1)])
    assert ask(ENGINES[engine](pa.table({**ROWS, "y": labels}))) == tn.binned(ROWS["y"], ROWS["p"])


@pytest.mark.parametrize("by", ["g", *slow(None)])
def test_objects_of_pandas_that_are_numbers_are_read(by):
    wanted = ask(pd.DataFrame(ROWS), by=by, weight="w")
    for name in ("p", "y", "w"):
        for of in (Decimal, float):
            frame = pd.DataFrame(ROWS, index=[7, 3, 3, 1])
            frame[name] = pd.Series(
                [of(v) for v in ROWS[name]], dtype=object, index=frame.index
            ).values
            assert ask(frame, by=by, weight="w") == wanted


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (np.array(ROWS["p"]) + 0j, "complex128"),
        (pd.period_range("2024", periods=4, freq="D"), r"period\[D\]"),
        (pd.interval_range(0, 4), "interval"),
    ],
)
def test_types_of_pandas_that_are_no_numbers_are_refused(column, kind):
    for argument, name in (("prob", "p"), ("weight", "w"), ("label", "y")):
        frame = pd.DataFrame(ROWS)
        frame[name] = column
        with pytest.raises(
            tn.InputError,
            match=f"`{argument}` column '{name}' must hold numbers; its type is {kind}",
        ):
            ask(frame, weight="w")


def test_objects_that_are_no_numbers_are_refused():
    with pytest.raises(
        tn.InputError, match="`prob` column 'p' must not have missing values; 1 of 4"
    ):
        ask(pd.DataFrame({**ROWS, "p": [Decimal("0.5"), None, Decimal(1), Decimal(1)]}))
    with pytest.raises(tn.InputError, match="must hold numbers; got a str, 'a', at row 1"):
        ask(pd.DataFrame({**ROWS, "p": [0.5, "a", 0.5, None]}))
    with pytest.raises(
        tn.InputError, match="`by` column 'g' must hold single values; it holds a list"
    ):
        ask(pd.DataFrame({**ROWS, "g": [[1], [2], [3], [4]]}), by="g")

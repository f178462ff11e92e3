"""A source that cannot be read any more is an InputError that says so, whatever the engine raised."""

import duckdb
import polars as pl
import pytest
from engine_cases import ask

import trueness as tn

ROWS = pl.DataFrame({"p": [0.1, 0.6], "y": [0, 1], "g": ["a", "b"]})


def closed(folder):
    connection = duckdb.connect()
    connection.register("rows", ROWS.to_arrow())
    rows = connection.sql("from rows")
    connection.close()
    return rows


def dropped(folder):
    connection = duckdb.connect()
    connection.execute("create table r as select 0.5 as p, 1 as y, 'a' as g")
    rows = connection.sql("from r")
    connection.execute("drop table r")
    return rows


def deleted(folder, scan):
    ROWS.write_parquet(folder / "rows.parquet")
    rows = scan(str(folder / "rows.parquet"))
    (folder / "rows.parquet").unlink()
    return rows


OOPS = "select cast(x as double) as p, 1 as y, x as g from (values ('0.1'), ('oops')) t(x)"
SOURCES = {
    "closed connection": (closed, "closed"),
    "dropped table": (dropped, "does not exist"),
    "deleted file, Polars": (lambda folder: deleted(folder, pl.scan_parquet), "No such file"),
    "deleted file, DuckDB": (
        lambda folder: deleted(folder, duckdb.connect().read_parquet),
        "No files found",
    ),
    "a cast, Polars": (
        lambda _: ROWS.lazy().with_columns(p=pl.col("g").cast(pl.Float64)),
        "conversion",
    ),
    "a cast, DuckDB": (lambda _: duckdb.connect().sql(OOPS), "oops"),
    "never right": (lambda _: ROWS.lazy().select("nothing"), "nothing"),
}


@pytest.mark.parametrize(
    "options", [{}, {"by": "g"}, {"bins": tn.EqualMass(2)}], ids=["bins", "by", "mass"]
)
@pytest.mark.parametrize(("make", "because"), SOURCES.values(), ids=SOURCES)
def test_what_an_engine_raises_is_an_input_error(tmp_path, make, because, options):
    with pytest.raises(tn.InputError, match=rf"`source` \(.*\) cannot be read: .*{because}"):
        ask(make(tmp_path), **options)


def failing(error):
    def fail(_):
        raise error

    return ROWS.lazy().with_columns(pl.col("p").map_batches(fail, return_dtype=pl.Float64))


@pytest.mark.parametrize(
    "home",
    ["pyspark.errors.exceptions.base", "py4j.protocol", "dask.base", "ibis.common", "pyarrow.lib"],
)
def test_engines_are_known_by_the_home_of_their_errors(home):
    error = type("SessionError", (RuntimeError,), {"__module__": home})("gone\n\nfor good")
    with pytest.raises(
        tn.InputError, match=r"`source` \(LazyFrame\) cannot be read: .*gone; for good"
    ):
        ask(failing(error))


def test_a_fault_in_the_code_of_a_user_stays_theirs():
    with pytest.raises(ZeroDivisionError):
        ask(failing(ZeroDivisionError()))

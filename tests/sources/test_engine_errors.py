"""A source that cannot be read any more is an InputError that says so, whatever the engine raised."""

import duckdb
import engine_cases
import polars as pl
import pytest

import trueness as tn
from trueness.sources._scan import _engine_errors

ROWS = pl.DataFrame({"p": [0.1, 0.6], "y": [0, 1], "g": ["a", "b"]})
every = pytest.mark.parametrize(
    "options", [{}, {"bins": None}, {"by": "g"}, {"bins": tn.EqualMass(2)}], ids=["bins", "distinct", "by", "mass"]
)


def refused(source, because, options):
    with pytest.raises(tn.InputError, match=rf"`source` \(.*\) cannot be read: .*{because}"):
        engine_cases.ask(source, **options)


@every
def test_a_closed_connection(options):
    connection = duckdb.connect()
    connection.register("rows", ROWS.to_arrow())
    rows = connection.sql("from rows")
    connection.close()
    refused(rows, "closed", options)


@every
def test_a_table_that_was_dropped(options):
    connection = duckdb.connect()
    connection.execute("create table r as select 0.5 as p, 1 as y, 'a' as g")
    rows = connection.sql("from r")
    connection.execute("drop table r")
    refused(rows, "does not exist", options)


@every
def test_a_file_that_was_deleted(tmp_path, options):
    path = tmp_path / "rows.parquet"
    ROWS.write_parquet(path)
    lazy, relation = pl.scan_parquet(path), duckdb.connect().read_parquet(str(path))
    path.unlink()
    refused(lazy, "No such file", options)
    refused(relation, "No files found", options)


@every
def test_a_cast_that_fails_half_way(options):
    refused(ROWS.lazy().with_columns(p=pl.col("g").cast(pl.Float64)), "conversion", options)
    text = "select cast(x as double) as p, 1 as y, x as g from (values ('0.1'), ('oops')) t(x)"
    refused(duckdb.connect().sql(text), "oops", options)


def test_a_frame_that_was_never_right():
    refused(ROWS.lazy().select("nothing"), "nothing", {})


def test_a_fault_in_the_code_of_a_user_stays_theirs():
    rows = ROWS.lazy().with_columns(pl.col("p").map_batches(lambda _: 1 / 0, return_dtype=pl.Float64))
    with pytest.raises(ZeroDivisionError):
        tn.scan(rows, label="y", prob="p")


@pytest.mark.parametrize(
    "home", ["pyspark.errors.exceptions.base", "py4j.protocol", "dask.base", "ibis.common", "pyarrow.lib"]
)
def test_what_an_engine_raises_is_known_by_its_home(home):
    theirs = type("SessionError", (RuntimeError,), {"__module__": home})
    with (
        pytest.raises(tn.InputError, match=r"`source` \(DataFrame\) cannot be read: gone; for good\.$"),
        _engine_errors(ROWS),
    ):
        raise theirs("gone\n\nfor good")
    ours = type("OurError", (RuntimeError,), {"__module__": "trueness"})
    with pytest.raises(ours), _engine_errors(ROWS):
        raise ours("not theirs")

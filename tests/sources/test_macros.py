"""The macros for DuckDB give the sums of the library."""

import numpy as np
import polars as pl
import pytest

import trueness as tn

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

RNG = np.random.default_rng(8)
P = np.concatenate(
    [RNG.random(2_000), np.arange(101) / 100, np.nextafter(np.arange(1, 30) / 30, 0), [0.0, 1.0]]
)
Y = (RNG.random(P.size) < P).astype(int)


@pytest.fixture(scope="module")
def connection():
    found = duckdb.connect()
    found.execute(tn.sources.duckdb_macros())
    found.register("predictions", pl.DataFrame({"y": Y, "p": P}).to_arrow())
    return found


def test_measures_of_the_tally_are_those_of_the_rows(connection):
    sums = connection.sql("FROM tally('predictions', y, p)").fetchnumpy()
    tally = tn.tally(sums["label"], sums["prob"], sample_weight=sums["n"])
    for measure in (tn.ece, tn.ace, tn.brier, tn.tce):
        assert measure(tally) == measure(Y, P)
    for measure in (tn.smooth_ece, tn.log_loss):
        assert measure(tally) == pytest.approx(measure(Y, P), rel=1e-12)


@pytest.mark.parametrize("bins", [2, 7, 10, 15, 30, 100])
def test_bins_hold_the_rows_that_the_library_puts_there(connection, bins):
    found = connection.sql(f"FROM calibration_bins('predictions', y, p, {bins})").fetchnumpy()
    table = tn.bin_table(Y, P, bins=bins)
    filled = table.n > 0
    assert found["bin"].tolist() == np.flatnonzero(filled).tolist()
    assert found["n"].tolist() == table.n[filled].tolist()
    np.testing.assert_allclose(found["score"], table.score[filled], rtol=1e-15)
    np.testing.assert_allclose(found["rate"], table.rate[filled], rtol=1e-15)
    query = f"SELECT sum(n * abs(rate - score)) / sum(n) FROM calibration_bins('predictions', y, p, {bins})"
    assert connection.sql(query).fetchall()[0][0] == pytest.approx(
        tn.ece(Y, P, bins=bins), abs=1e-14
    )


def test_other_columns_of_the_table_change_nothing(connection):
    connection.execute(
        "CREATE TABLE crowded AS SELECT y, p AS q, 1 - p AS p, 7 AS nearest, 3 AS bin FROM predictions"
    )
    found = connection.sql("FROM calibration_bins('crowded', y, q, 10)").fetchall()
    assert found == connection.sql("FROM calibration_bins('predictions', y, p, 10)").fetchall()

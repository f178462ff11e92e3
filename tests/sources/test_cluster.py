"""The contract on real clusters: Spark (classic and Connect) and Dask, each with two workers as processes; and on Ibis.

These need Java or libraries that the other tests do without: `pytest -m cluster tests/sources`.
"""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from engine_cases import CASES, GRID_EDGES, run
from local_cluster import SparkCluster, why_not

import trueness as tn

pytestmark = [
    pytest.mark.cluster,
    # Warnings of the engines about each other are not ours to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*PySpark.*"),
]


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    cluster = SparkCluster(tmp_path_factory.mktemp("spark"))
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def spark(spark_cluster):
    session = spark_cluster.session()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect(spark_cluster):
    pytest.importorskip("grpc", reason="Spark Connect needs grpc: pip install 'pyspark[connect]'")
    session = spark_cluster.connect()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_client():
    distributed = pytest.importorskip("distributed")
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        distributed.LocalCluster(**options, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def of_spark(session, table):
    """Spark has no unsigned numbers, and cannot make a frame of no rows from a table."""
    fields = [
        pa.field(f.name, pa.int16() if f.type == pa.uint8() else f.type) for f in table.schema
    ]
    table = table.cast(pa.schema(fields))
    if table.num_rows:
        return session.createDataFrame(table)
    one = pa.table(
        {f.name: pa.array([0 if f.type != pa.string() else ""], f.type) for f in table.schema}
    )
    return session.createDataFrame(one).where("1 = 0")


# Half of the cases, still more than forty, for each of these: a case takes a second of a cluster. Every edge of the
# cells of a sketch goes to all of them.
EVEN, ODD = (
    [c for i, c in enumerate(CASES) if i % 2 == half or c.name == GRID_EDGES] for half in (0, 1)
)


@pytest.mark.parametrize("one", EVEN, ids=lambda one: one.name)
def test_spark_gives_what_memory_gives(spark, one):
    run(one, of_spark(spark, one.table).repartition(3))


@pytest.mark.parametrize("one", ODD, ids=lambda one: one.name)
def test_spark_connect_gives_what_memory_gives(connect, one):
    run(one, of_spark(connect, one.table))


@pytest.mark.parametrize("one", EVEN, ids=lambda one: one.name)
def test_dask_on_two_workers_gives_what_memory_gives(dask_client, one):
    frames = pytest.importorskip("dask.dataframe")
    # Dask turns objects into strings, and booleans with gaps would be objects.
    rows = one.table.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    run(one, frames.from_pandas(rows, npartitions=3))


@pytest.mark.parametrize("one", ODD, ids=lambda one: one.name)
def test_ibis_gives_what_memory_gives(one):
    run(one, pytest.importorskip("ibis").memtable(one.table))


# SQLFrame cannot make a frame of no known type, takes half a minute to write the query of a weighted one, and has no
# SQL expressions for buckets of clusters.
FEW = [
    one
    for one in CASES[::3]
    if 2 < one.table.num_rows < 500 and not one.options.keys() & {"weight", "cluster"}
]


@pytest.mark.parametrize("one", FEW, ids=lambda one: one.name)
def test_sqlframe_gives_what_memory_gives(one):
    session = pytest.importorskip("sqlframe.duckdb").DuckDBSession()
    run(one, session.createDataFrame(one.table.to_pandas(types_mapper=pd.ArrowDtype)))


@pytest.mark.parametrize("one", EVEN, ids=lambda one: one.name)
def test_pandas_with_nullable_columns_gives_what_memory_gives(one):
    run(one, one.table.to_pandas().convert_dtypes())


def test_sqlframe_finds_every_cell_of_a_sketch(tmp_path):
    session = pytest.importorskip("sqlframe.duckdb").DuckDBSession()
    pq = pytest.importorskip("pyarrow.parquet")
    one = next(c for c in CASES if c.name == GRID_EDGES)
    pq.write_table(one.table, tmp_path / "rows.parquet")
    run(one, session.read.parquet(str(tmp_path / "rows.parquet")))


@pytest.mark.parametrize("name", ["ordinary rows", "sketch: ordinary rows"])
def test_empty_and_skewed_partitions_of_spark_change_nothing(spark, name):
    one = next(c for c in CASES if c.name == name)
    run(
        one,
        spark.createDataFrame(one.table)
        .repartition(37, "p")
        .union(spark.createDataFrame(one.table.slice(0, 0))),
    )
    run(one, spark.createDataFrame(one.table).repartition(4, "y"))


# Spark looks into a.b, quotes with backticks, and takes p and P for one name.
@pytest.mark.parametrize("name", ["*", "a.b", "a`b", "P", "c1"])
def test_spark_takes_any_name_literally(spark, name):
    table = pa.table([[0.1, 0.6], [0, 1], [1, 0]], names=[name, "y", "Y"])
    rows = spark.createDataFrame(table)
    assert tn.scan(rows, label="y", prob=name) == tn.binned([0, 1], [0.1, 0.6])
    assert tn.scan(rows, label="Y", prob=name, bins=None) == tn.tally([1, 0], [0.1, 0.6])


@pytest.mark.parametrize("name", ["*", "a.b", "a`b", "^p$", "a b", 'a"b', "P", "c1", "select"])
def test_ibis_and_dask_take_any_name_literally(name):
    table = pa.table([[0.1, 0.6], [0, 1], ["a", "b"]], names=[name, "y", "g"])
    for rows in (
        pytest.importorskip("ibis").memtable(table),
        pytest.importorskip("dask.dataframe").from_pandas(table.to_pandas(), npartitions=2),
    ):
        assert tn.scan(rows, label="y", prob=name) == tn.binned([0, 1], [0.1, 0.6])
        assert sum(
            tn.scan_groups(rows, label="y", prob=name, by="g", bins=None).values()
        ) == tn.tally([0, 1], [0.1, 0.6])


def test_what_spark_raises_is_an_input_error(spark):
    rows = spark.createDataFrame(pa.table({"p": [0.1], "y": [0]})).selectExpr(
        "p", "y", "raise_error('boom') AS w"
    )
    with pytest.raises(tn.InputError, match=r"`source` \(DataFrame\) cannot be read: .*boom"):
        tn.scan(rows, label="y", prob="p", weight="w")


N, PRIME, STEP = 3_000_000, 1_000_003, 7_919


def slow_rows(session):
    """Rows that any worker can make anew, at some cost."""
    costly = "length(sha2(sha2(sha2(sha2(cast(id AS string), 512), 512), 512), 512)) = 128"
    return session.range(0, N, 1, 48).selectExpr(
        f"cast(id * {STEP} % {PRIME} AS double) / {PRIME}D AS p",
        f"{costly} AND (id * 31) % 100 < 40 AS y",
    )


def rows_in_memory():
    n = np.arange(N)
    return (n * 31) % 100 < 40, (n * STEP % PRIME) / PRIME


def test_an_executor_killed_in_the_middle_of_a_scan_changes_no_bit(spark, spark_cluster):
    found = []
    scan = threading.Thread(
        target=lambda: found.append(tn.scan(slow_rows(spark), label="y", prob="p", bins=100))
    )
    scan.start()
    tracker = spark.sparkContext.statusTracker()
    done = 0
    while scan.is_alive() and done < 3:
        stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
        done = max([stage.numCompletedTasks for stage in stages if stage is not None], default=0)
        time.sleep(0.02)
    victims = spark_cluster.executors(0) or spark_cluster.executors(1)
    assert scan.is_alive(), "the scan was over before an executor could be killed"
    os.kill(victims[0], signal.SIGKILL)
    scan.join(timeout=300)
    assert found == [tn.binned(*rows_in_memory(), bins=100)]


def watch_by_day(rows):
    """The one line of the page on watching: groups of an engine become looks, without the day that is still open."""
    watch = tn.Watch()
    groups = tn.scan_groups(rows, by=["day", "region"], label="y", prob="p", bins="sketch")
    watch.update(groups, time="day", before="2025-01-04")
    return watch


def days_of_regions():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=400).round(2)
    days = np.datetime64("2025-01-01") + np.arange(400) // 100
    region = np.where(np.arange(400) % 2, "north", "south")
    return pa.table(
        {"y": (rng.uniform(size=400) < p).astype(np.int8), "p": p, "day": days, "region": region}
    )


def check_watch(watch):
    wanted = watch_by_day(pl.from_arrow(days_of_regions()))
    assert wanted.history[""].position == ("2025-01-01", "2025-01-02", "2025-01-03")
    assert watch.history[""].n.tolist() == [100] * 3
    assert watch.to_json() == wanted.to_json()


def test_a_watch_takes_the_days_of_spark_in_one_line(spark):
    check_watch(watch_by_day(spark.createDataFrame(days_of_regions()).repartition(3)))


def test_a_watch_takes_the_days_of_spark_connect_in_one_line(connect):
    check_watch(watch_by_day(connect.createDataFrame(days_of_regions())))


def test_a_watch_takes_the_days_of_ibis_and_dask_in_one_line():
    table = days_of_regions()
    check_watch(watch_by_day(pytest.importorskip("ibis").memtable(table)))
    rows = table.to_pandas(types_mapper=pd.ArrowDtype)
    check_watch(
        watch_by_day(pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=3))
    )


def test_spark_gives_the_slices_of_the_other_engines(spark):
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    made = {
        "a": rng.choice(["x", "y", "z"], 900),
        "b": rng.integers(0, 3, 900),
        "p": rng.integers(1, 9, 900) / 9,
    }
    table = pa.table(made | {"y": (rng.random(900) < made["p"]).astype(np.int64)})
    every = (
        pl.from_arrow(table).lazy(),
        duckdb.from_arrow(table),
        spark.createDataFrame(table).repartition(3),
    )
    sums = [tn.scan_groups(one, by=["a", "b"], label="y", prob="p", bins=None) for one in every]
    assert sums[0] == sums[1] == sums[2]
    first, *others = (tn.worst_slices(one, columns=one.names, seed=0) for one in sums)
    assert first.tried > 30
    assert all(one == first for one in others)

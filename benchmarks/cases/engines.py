"""`tn.scan` of Parquet against the engine's bare scan and its own group-by.

The file has a float32 score and a bool label in row groups of 2^20 rows. "Bare" sums both columns; "by hand" groups by
⌊10 p⌋ and sums both, which misplaces scores at edges and adds floats in any order. Calls take turns, and ratios are
taken within a round. Memory is the peak of a separate process, shown beside that for a file of one row.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from benchmark import Page, case
from processes import child

import trueness as tn

RATIO_BAR = 1.3
MEMORY_BAR = 400.0
GROUP = 1 << 20
WARM_UP = 4  # calls until Java has compiled what it runs


def write(path: Path, n: int) -> None:
    """Scores drawn from a beta distribution and labels that are calibrated, row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([("p", pa.float32()), ("y", pa.bool_())])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n, GROUP):
            p = rng.beta(2, 5, min(GROUP, n - start)).astype(np.float32)
            file.write_table(
                pa.table({"p": p, "y": rng.random(p.size) < p}, schema=schema), row_group_size=GROUP
            )


def polars_bare(path: Path) -> Any:
    import polars as pl

    return (
        pl.scan_parquet(path)
        .select(pl.col("p").sum(), pl.col("y").sum())
        .collect(engine="streaming")
    )


def polars_by_hand(path: Path) -> Any:
    import polars as pl

    place = (pl.col("p") * 10).floor().cast(pl.Int64).alias("bin")
    rows = pl.scan_parquet(path).group_by(place)
    return rows.agg(pl.len(), pl.col("p").sum(), pl.col("y").sum()).collect(engine="streaming")


def duckdb_bare(path: Path) -> Any:
    import duckdb

    return duckdb.read_parquet(str(path)).aggregate("sum(p), sum(y::INT)").fetchall()


def duckdb_by_hand(path: Path) -> Any:
    import duckdb

    sums = "floor(p * 10)::INT AS bin, count(*), sum(p), sum(y::INT)"
    return duckdb.read_parquet(str(path)).aggregate(sums, "bin").fetchall()


def scan(path: Path, engine: Any) -> Any:
    return tn.scan(path, label="y", prob="p", engine=engine)


CLASSES = [f"c{k}" for k in range(10)]


def write_general(path: Path, n: int) -> None:
    """Weights, a column of 100 groups, and ten classes beside score and label."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    kinds = {
        "p": pa.float32(),
        "y": pa.bool_(),
        "w": pa.float64(),
        "g": pa.int32(),
        "c": pa.int32(),
    }
    schema = pa.schema([*kinds.items(), *((name, pa.float64()) for name in CLASSES)])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n, GROUP):
            m = min(GROUP, n - start)
            p, odds = (
                rng.beta(2, 5, m).astype(np.float32),
                rng.standard_exponential((m, len(CLASSES))),
            )
            columns = {
                "p": p,
                "y": rng.random(m) < p,
                "w": rng.random(m),
                "g": rng.integers(0, 100, m),
            }
            columns |= {"c": rng.integers(0, len(CLASSES), m)}
            columns |= dict(zip(CLASSES, (odds / odds.sum(axis=1, keepdims=True)).T, strict=True))
            file.write_table(pa.table(columns).cast(schema), row_group_size=GROUP)


def polars_general(path: Path) -> dict[str, Callable[[], Any]]:
    """Group-bys written by hand."""
    import polars as pl

    def group(rows: Any, *keys: str, n: Any, score: Any, events: Any) -> Any:
        place = (pl.col("p") * 10).floor().cast(pl.Int64).alias("bin")
        sums = [n.alias("n"), score.sum().alias("score"), events.sum().alias("events")]
        return rows.group_by(place, *keys).agg(*sums).collect(engine="streaming")

    rows, p, y, w = pl.scan_parquet(path), pl.col("p"), pl.col("y"), pl.col("w")
    top = rows.with_columns(p=pl.max_horizontal(CLASSES))
    top = top.with_columns(
        y=pl.coalesce(pl.when(pl.col(c) == p).then(k) for k, c in enumerate(CLASSES)) == pl.col("c")
    )
    each = [
        (rows.select(pl.col(c).alias("p"), (pl.col("c") == k).alias("y")))
        for k, c in enumerate(CLASSES)
    ]
    each = [part.with_columns(k=pl.lit(k)) for k, part in enumerate(each)]
    return {
        "weight": lambda: group(rows, n=w.sum(), score=w * p, events=w * y),
        "by": lambda: group(rows, "g", n=pl.len(), score=p, events=y),
        "confidence": lambda: group(top, n=pl.len(), score=p, events=y),
        "classwise": lambda: group(pl.concat(each), "k", n=pl.len(), score=p, events=y),
    }


def duckdb_general(path: Path) -> dict[str, Callable[[], Any]]:
    import duckdb

    rows, place = duckdb.read_parquet(str(path)), "floor(p * 10)::INT AS bin"
    names = ", ".join(CLASSES)
    top = rows.project(
        f"greatest({names}) AS p, list_position([{names}], greatest({names})) = c + 1 AS y"
    )
    each = rows.project(f"unnest([{names}]) AS p, unnest(range({len(CLASSES)})) AS k, c").project(
        "p, k, k = c AS y"
    )
    plain = "count(*), sum(p), sum(y::INT)"
    return {
        "weight": lambda: rows.aggregate(
            f"{place}, sum(w), sum(w * p), sum(w * y::INT)", "bin"
        ).fetchall(),
        "by": lambda: rows.aggregate(f"g, {place}, {plain}", "g, bin").fetchall(),
        "confidence": lambda: top.aggregate(f"{place}, {plain}", "bin").fetchall(),
        "classwise": lambda: each.aggregate(f"k, {place}, {plain}", "k, bin").fetchall(),
    }


GENERAL: dict[str, dict[str, Any]] = {
    "weight": {"label": "y", "prob": "p", "weight": "w"},
    "by": {"label": "y", "prob": "p", "by": "g"},
    "confidence": {"label": "c", "prob": CLASSES, "kind": "confidence"},
    "classwise": {"label": "c", "prob": CLASSES},
}


BARE: dict[str, Callable[[Path], Any]] = {"polars": polars_bare, "duckdb": duckdb_bare}
BY_HAND: dict[str, Callable[[Path], Any]] = {"polars": polars_by_hand, "duckdb": duckdb_by_hand}


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Wall time, and CPU time of all cores."""
    start = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def scan_ratios(engine: str, path: Path, n: int) -> tuple[list[float], float]:
    """Median ratios of the scan to the bare scan and to the group-by, in seconds and in CPU time; and its seconds."""
    calls = [lambda: BARE[engine](path), lambda: BY_HAND[engine](path), lambda: scan(path, engine)]
    for call in calls:
        call()
    times = np.array([[timed(call) for call in calls] for _ in range(n)])
    ratios = np.median(times[:, 2:] / times[:, :2], axis=0)
    return [*ratios[0], *ratios[1]], float(np.median(times[:, 2, 0]))


def constant_group(path: Path, engine: str) -> Any:
    """The rows with a constant group, which forces a group-by."""
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(path).with_columns(pl.lit(0).alias("g"))
    import duckdb

    return duckdb.read_parquet(str(path)).project("*, 0 AS g")


def sketch_ratios(engine: Any, path: Path, n: int) -> list[float]:
    """Median ratios of the seconds of a sketch to those of ten bins: from batches, and by a group-by."""
    options: dict[str, Any] = {"label": "y", "prob": "p"}
    bins: tuple[Any, ...] = ("sketch", 10)
    calls = [lambda b=b: tn.scan(path, **options, bins=b, engine=engine) for b in bins]
    calls += [
        lambda b=b: tn.scan_groups(constant_group(path, engine), **options, by="g", bins=b)
        for b in bins
    ]
    for call in calls:
        call()
    times = np.array([[timed(call)[0] for call in calls] for _ in range(n)])
    return [float(ratio) for ratio in np.median(times[:, ::2] / times[:, 1::2], axis=0)]


def peak(engine: str, path: Path) -> float:
    """Peak megabytes of a process that only scans the file."""
    answer = child("cases.engines", engine, str(path))
    assert answer is not None, engine
    return float(answer["peak"])


def measure(engine: str, path: str) -> None:
    scan(Path(path), engine)
    # Not ru_maxrss: a child process starts with that of its parent.
    status = Path("/proc/self/status").read_text(encoding="ascii").split()
    print(json.dumps({"peak": int(status[status.index("VmHWM:") + 1]) / 1024}))


def on_spark(path: Path, place: Path, workers: int, n: int) -> list[float]:
    """Seconds of each of n scans on a cluster of that many workers, of one core each."""
    sys.path.append(str(Path(__file__).parents[2] / "tests"))
    from local_cluster import SparkCluster

    place.mkdir()
    cluster = SparkCluster(place, n=workers, cores=1)
    try:
        session = cluster.session(cores=workers)
        session.conf.set("spark.sql.files.maxPartitionBytes", str(16 << 20))
        rows = session.read.parquet(str(path))
        for _ in range(WARM_UP):
            tn.scan(rows, label="y", prob="p")
        seconds = [timed(lambda: tn.scan(rows, label="y", prob="p"))[0] for _ in range(n)]
        session.stop()
    finally:
        cluster.close()
    return seconds


@contextmanager
def parquet(page: Page, n: int, write_rows: Callable[[Path, int], None]) -> Iterator[Path]:
    """A file of n rows in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_rows(path, n)
        page.text(f"{n:,} rows, {path.stat().st_size / 1e6:,.0f} MB of Parquet.")
        yield path


@case(
    "engines",
    "`scan` of Parquet against a bare scan and a group-by, time and memory",
    "5 min, 0.6 GB of disk",
)
def engines(page: Page, quick: bool, *, rows: int = 0, rounds: int = 0) -> None:
    n, rounds = rows or (10**6 if quick else 10**8), rounds or (2 if quick else 5)
    judged = True if n >= 10**8 else None
    with parquet(page, n, write) as path:
        one = path.with_name("one.parquet")
        write(one, 1)
        page.head(
            "engine",
            "× bare scan",
            "(CPU)",
            "× by hand",
            "(CPU)",
            "rows/s",
            "peak MB",
            "of one row",
        )
        for engine in BARE:
            ratios, seconds = scan_ratios(engine, path, rounds)
            memory = peak(engine, path)
            cells = [*(f"{ratio:.2f}" for ratio in ratios), f"{n / seconds:,.0f}", f"{memory:,.0f}"]
            page.row(engine, *cells, f"{peak(engine, one):,.0f}")
            by_hand = ratios[2]
            promise = f"{engine}: at most {RATIO_BAR:g}× the group-by by hand"
            page.bar(promise, f"{by_hand:.2f}×", judged and by_hand <= RATIO_BAR)
            page.bar(
                f"{engine}: below {MEMORY_BAR:g} MB",
                f"{memory:,.0f} MB",
                judged and memory < MEMORY_BAR,
            )


@case(
    "engines-general",
    "`scan` with weights, groups and classes against group-bys",
    "5 min, 2 GB of disk",
)
def engines_general(page: Page, quick: bool, *, rows: int = 0, rounds: int = 0) -> None:
    n, rounds = rows or (2 * 10**5 if quick else 2 * 10**7), rounds or (2 if quick else 5)
    with parquet(page, n, write_general) as path:
        page.head("engine", "question", "× by hand", "(CPU)", "rows/s")
        for engine, hand in (("polars", polars_general(path)), ("duckdb", duckdb_general(path))):
            for question, by_hand in hand.items():
                scan = tn.scan_groups if question == "by" else tn.scan
                calls = [
                    by_hand,
                    lambda s=scan, q=question, e=engine: s(path, engine=e, **GENERAL[q]),
                ]
                wall, cpu, seconds = ratio(calls, rounds)
                page.row(engine, question, f"{wall:.2f}", f"{cpu:.2f}", f"{n / seconds:,.0f}")
                promise = f"{engine}, {question}: at most {RATIO_BAR:g}× the group-by by hand"
                page.bar(
                    promise, f"{wall:.2f}×", bool(wall <= RATIO_BAR) if n >= 2 * 10**7 else None
                )


def write_keys(path: Path, n: int) -> None:
    """Keys of several types beside score and label: 100 numbers, 336 days and 20 long names as text, and users."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    days = np.array([f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)])
    models = np.array([f"model {i} of a longer name" for i in range(20)])
    schema = pa.schema(
        [
            ("p", pa.float32()),
            ("y", pa.bool_()),
            ("number", pa.int64()),
            *((k, pa.string()) for k in TEXTS),
        ]
    )
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n, GROUP):
            m = min(GROUP, n - start)
            p = rng.beta(2, 5, m).astype(np.float32)
            users = pa.array(rng.integers(0, 500_000, m)).cast(pa.string())
            keys = [
                rng.integers(0, 100, m),
                days[rng.integers(0, 336, m)],
                models[rng.integers(0, 20, m)],
                users,
            ]
            columns = dict(zip(schema.names, [p, rng.random(m) < p, *keys], strict=True))
            file.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)


TEXTS = ("day", "model", "user")
KEYS_BAR = 1.5


def group_by_hand(engine: str, path: Path, key: str) -> Any:
    """The group-by of ten bins in each group, as someone would write it."""
    if engine == "polars":
        import polars as pl

        place = (pl.col("p") * 10).floor().cast(pl.Int64).alias("bin")
        sums = [pl.len(), pl.col("p").sum(), pl.col("y").sum()]
        return pl.scan_parquet(path).group_by(key, place).agg(*sums).collect(engine="streaming")
    import duckdb

    sums = f'"{key}", floor(p * 10)::INT AS bin, count(*), sum(p), sum(y::INT)'
    return duckdb.read_parquet(str(path)).aggregate(sums, f'"{key}", bin').to_arrow_table()


@case(
    "engines-keys",
    "`scan_groups` by keys of several types, and clusters, against group-bys",
    "5 min, 1 GB of disk",
)
def engines_keys(page: Page, quick: bool, *, rows: int = 0, rounds: int = 0) -> None:
    n, rounds = rows or (3 * 10**5 if quick else 2 * 10**7), rounds or (2 if quick else 3)
    options: dict[str, Any] = {"label": "y", "prob": "p"}
    with parquet(page, n, write_keys) as path:
        page.head("engine", "key", "× by hand", "(CPU)", "rows/s")
        for engine in BARE:
            for key in ("number", *TEXTS):
                calls = [
                    lambda e=engine, k=key: group_by_hand(e, path, k),
                    lambda e=engine, k=key: tn.scan_groups(path, by=k, engine=e, **options),
                ]
                wall, cpu, seconds = ratio(calls, rounds)
                page.row(engine, key, f"{wall:.2f}", f"{cpu:.2f}", f"{n / seconds:,.0f}")
                promise = f"{engine}, {key}: at most {KEYS_BAR:g}× the group-by by hand"
                page.bar(
                    promise, f"{wall:.2f}×", bool(wall <= KEYS_BAR) if n >= 2 * 10**7 else None
                )
        page.head(
            "engine", "sums of 64 buckets of 500,000 users", "× without clusters", "(CPU)", "rows/s"
        )
        for engine in BARE:
            for bins in (10, "sketch"):
                scans = [
                    {**options, "bins": bins, "engine": engine, **more}
                    for more in ({}, {"cluster": "user"})
                ]
                wall, cpu, seconds = ratio(
                    [lambda o=one: tn.scan(path, **o) for one in scans], rounds
                )
                page.row(engine, str(bins), f"{wall:.2f}", f"{cpu:.2f}", f"{n / seconds:,.0f}")


def ratio(calls: list[Callable[[], Any]], rounds: int) -> tuple[float, float, float]:
    """The second call as a ratio to the first, in seconds and in CPU time; and its seconds."""
    for call in calls:
        call()
    times = np.array([[timed(call) for call in calls] for _ in range(rounds)])
    wall, cpu = np.median(times[:, 1] / times[:, 0], axis=0)
    return float(wall), float(cpu), float(np.median(times[:, 1, 0]))


@case("engines-sketch", "`scan` to sketches, as a ratio to ten bins", "5 min, 0.6 GB of disk")
def engines_sketch(page: Page, quick: bool, *, rows: int = 0, rounds: int = 0) -> None:
    n, rounds = rows or (10**6 if quick else 10**8), rounds or (2 if quick else 5)
    with parquet(page, n, write) as path:
        page.head("engine", "sketch / ten bins, batches", "sketch / ten bins, group-by")
        for engine in BARE:
            page.row(engine, *(f"{ratio:.2f}" for ratio in sketch_ratios(engine, path, rounds)))


@case(
    "engines-spark",
    "`scan` on a Spark cluster of one and of two workers; needs Java",
    "10 min, 0.6 GB of disk",
)
def engines_spark(page: Page, quick: bool, *, rows: int = 0, rounds: int = 0) -> None:
    n, rounds = rows or (10**6 if quick else 10**8), rounds or (2 if quick else 5)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with parquet(page, n, write) as path:
        for turn, workers in enumerate((1, 2, 2, 1)):  # in this order, so that drift cancels
            seconds[workers] += on_spark(path, path.with_name(f"spark-{turn}"), workers, rounds)
    page.head("workers", "median seconds", "range")
    for workers, found in seconds.items():
        page.row(
            str(workers), f"{statistics.median(found):.2f}", f"{min(found):.2f}–{max(found):.2f}"
        )
    one, two = (statistics.median(seconds[workers]) for workers in (1, 2))
    page.text(f"Two workers are {one / two:.2f} times as fast as one.")


if __name__ == "__main__":  # a fresh process, started by `peak`
    measure(*sys.argv[1:])

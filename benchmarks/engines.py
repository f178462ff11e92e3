"""`tn.scan` of Parquet against the engine's bare scan and its own group-by, as a Markdown table of ratios.

    python benchmarks/engines.py                      # 10^8 rows, some 600 MB in a temporary folder
    python benchmarks/engines.py --rows 10000000      # a tenth of them; the bars are for the full size
    python benchmarks/engines.py --general            # weights, groups and classes, 2·10^7 rows
    python benchmarks/engines.py --spark              # also a Spark cluster of one and of two workers; needs Java
    python benchmarks/engines.py --sketch             # also sketches, as ratios to ten bins made the same way

The file has a float32 score and a bool label in row groups of 2^20 rows. "Bare" sums both columns; "by hand" groups by
⌊10 p⌋ and sums both, which misplaces scores at edges and adds floats in any order. Calls take turns, and ratios are
taken within a round. Memory is the peak of a process of its own, with what the same process needs for a file
of one row beside it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import trueness as tn

RATIO_BAR = 1.3
MEMORY_BAR = 400.0
GROUP = 1 << 20
WARM_UP = 4  # calls until the Java machines have compiled what they run


def write(path: Path, n: int) -> None:
    """Scores drawn from a beta distribution and labels that are calibrated, row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([("p", pa.float32()), ("y", pa.bool_())])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n, GROUP):
            p = rng.beta(2, 5, min(GROUP, n - start)).astype(np.float32)
            file.write_table(pa.table({"p": p, "y": rng.random(p.size) < p}, schema=schema), row_group_size=GROUP)


def polars_bare(path: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(path).select(pl.col("p").sum(), pl.col("y").sum()).collect(engine="streaming")


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


def scanned(path: Path, engine: Any) -> Any:
    return tn.scan(path, label="y", score="p", engine=engine)


CLASSES = [f"c{k}" for k in range(10)]


def write_general(path: Path, n: int) -> None:
    """Weights, a column of 100 groups, and ten classes beside score and label."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    kinds = {"p": pa.float32(), "y": pa.bool_(), "w": pa.float64(), "g": pa.int32(), "c": pa.int32()}
    schema = pa.schema([*kinds.items(), *((name, pa.float64()) for name in CLASSES)])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n, GROUP):
            m = min(GROUP, n - start)
            p, odds = rng.beta(2, 5, m).astype(np.float32), rng.standard_exponential((m, len(CLASSES)))
            columns = {"p": p, "y": rng.random(m) < p, "w": rng.random(m), "g": rng.integers(0, 100, m)}
            columns |= {"c": rng.integers(0, len(CLASSES), m)}
            columns |= dict(zip(CLASSES, (odds / odds.sum(axis=1, keepdims=True)).T, strict=True))
            file.write_table(pa.table(columns).cast(schema), row_group_size=GROUP)


def polars_general(path: Path) -> dict[str, Callable[[], Any]]:
    """Group-bys as one would write them by hand."""
    import polars as pl

    def asked(rows: Any, *keys: str, n: Any, score: Any, events: Any) -> Any:
        place = (pl.col("p") * 10).floor().cast(pl.Int64).alias("bin")
        sums = [n.alias("n"), score.sum().alias("score"), events.sum().alias("events")]
        return rows.group_by(place, *keys).agg(*sums).collect(engine="streaming")

    rows, p, y, w = pl.scan_parquet(path), pl.col("p"), pl.col("y"), pl.col("w")
    top = rows.with_columns(p=pl.max_horizontal(CLASSES))
    top = top.with_columns(y=pl.coalesce(pl.when(pl.col(c) == p).then(k) for k, c in enumerate(CLASSES)) == pl.col("c"))
    each = [(rows.select(pl.col(c).alias("p"), (pl.col("c") == k).alias("y"))) for k, c in enumerate(CLASSES)]
    each = [part.with_columns(k=pl.lit(k)) for k, part in enumerate(each)]
    return {
        "weight": lambda: asked(rows, n=w.sum(), score=w * p, events=w * y),
        "by": lambda: asked(rows, "g", n=pl.len(), score=p, events=y),
        "confidence": lambda: asked(top, n=pl.len(), score=p, events=y),
        "classwise": lambda: asked(pl.concat(each), "k", n=pl.len(), score=p, events=y),
    }


def duckdb_general(path: Path) -> dict[str, Callable[[], Any]]:
    import duckdb

    rows, place = duckdb.read_parquet(str(path)), "floor(p * 10)::INT AS bin"
    names = ", ".join(CLASSES)
    top = rows.project(f"greatest({names}) AS p, list_position([{names}], greatest({names})) = c + 1 AS y")
    each = rows.project(f"unnest([{names}]) AS p, unnest(range({len(CLASSES)})) AS k, c").project("p, k, k = c AS y")
    plain = "count(*), sum(p), sum(y::INT)"
    return {
        "weight": lambda: rows.aggregate(f"{place}, sum(w), sum(w * p), sum(w * y::INT)", "bin").fetchall(),
        "by": lambda: rows.aggregate(f"g, {place}, {plain}", "g, bin").fetchall(),
        "confidence": lambda: top.aggregate(f"{place}, {plain}", "bin").fetchall(),
        "classwise": lambda: each.aggregate(f"k, {place}, {plain}", "k, bin").fetchall(),
    }


GENERAL: dict[str, dict[str, Any]] = {
    "weight": {"label": "y", "score": "p", "weight": "w"},
    "by": {"label": "y", "score": "p", "by": "g"},
    "confidence": {"label": "c", "score": CLASSES, "kind": "confidence"},
    "classwise": {"label": "c", "score": CLASSES},
}


def general(n: int, n_rounds: int) -> None:
    """The ratio of scans with weights, groups and classes to a group-by written by hand; calls take turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_general(path, n)
        print(f"{n:,} rows, {path.stat().st_size / 1e6:,.0f} MB of Parquet\n")
        print("| engine | question | × by hand | (CPU) | at most | rows/s |\n|---|---|---|---|---|---|")
        for engine, hand in (("polars", polars_general(path)), ("duckdb", duckdb_general(path))):
            for question, by_hand in hand.items():
                calls = [
                    by_hand,
                    lambda q=question, e=engine: (tn.scan_groups if q == "by" else tn.scan)(
                        path, engine=e, **GENERAL[q]
                    ),
                ]
                for call in calls:
                    call()
                times = np.array([[timed(call) for call in calls] for _ in range(n_rounds)])
                ratio = np.median(times[:, 1] / times[:, 0], axis=0)
                cells = [
                    f"{ratio[0]:.2f}",
                    f"{ratio[1]:.2f}",
                    f"{RATIO_BAR:g}",
                    f"{n / np.median(times[:, 1, 0]):,.0f}",
                ]
                print(f"| {engine} | {question} | {' | '.join(cells)} |", flush=True)


BARE: dict[str, Callable[[Path], Any]] = {"polars": polars_bare, "duckdb": duckdb_bare}
BY_HAND: dict[str, Callable[[Path], Any]] = {"polars": polars_by_hand, "duckdb": duckdb_by_hand}


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds that pass, and seconds of CPU time on all cores."""
    start = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def rounds(engine: str, path: Path, n: int) -> tuple[list[float], float]:
    """Median ratios of the scan to the bare scan and to the group-by, in seconds and in CPU time; and its seconds."""
    calls = [lambda: BARE[engine](path), lambda: BY_HAND[engine](path), lambda: scanned(path, engine)]
    for call in calls:
        call()
    times = np.array([[timed(call) for call in calls] for _ in range(n)])
    ratios = np.median(times[:, 2:] / times[:, :2], axis=0)
    return [*ratios[0], *ratios[1]], float(np.median(times[:, 2, 0]))


def constant_group(path: Path, engine: str) -> Any:
    """The rows, in one group that only a group-by can tell of."""
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(path).with_columns(pl.lit(0).alias("g"))
    import duckdb

    return duckdb.read_parquet(str(path)).project("*, 0 AS g")


def sketch_ratios(engine: Any, path: Path, n: int) -> list[float]:
    """Median ratios of the seconds of a sketch to those of ten bins: from batches, and by a group-by."""
    options: dict[str, Any] = {"label": "y", "score": "p"}
    bins: tuple[Any, ...] = ("sketch", 10)
    calls = [lambda b=b: tn.scan(path, **options, bins=b, engine=engine) for b in bins]
    calls += [lambda b=b: tn.scan_groups(constant_group(path, engine), **options, by="g", bins=b) for b in bins]
    for call in calls:
        call()
    times = np.array([[timed(call)[0] for call in calls] for _ in range(n)])
    return [float(ratio) for ratio in np.median(times[:, ::2] / times[:, 1::2], axis=0)]


def peak(engine: str, path: Path) -> float:
    """Megabytes at the peak of a process that scans the file and nothing else."""
    command = [sys.executable, __file__, "--measure", engine, str(path)]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def measure(engine: str, path: str) -> None:
    scanned(Path(path), engine)
    # Not ru_maxrss: a child process begins with its parent's.
    status = Path("/proc/self/status").read_text(encoding="ascii").split()
    print(json.dumps(int(status[status.index("VmHWM:") + 1]) / 1024))


def on_spark(path: Path, place: Path, workers: int, n: int) -> list[float]:
    """Seconds of each of n scans on a cluster of that many workers, of one core each."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from local_cluster import SparkCluster

    place.mkdir()
    cluster = SparkCluster(place, n=workers, cores=1)
    try:
        session = cluster.session(cores=workers)
        session.conf.set("spark.sql.files.maxPartitionBytes", str(16 << 20))
        rows = session.read.parquet(str(path))
        for _ in range(WARM_UP):
            tn.scan(rows, label="y", score="p")
        seconds = [timed(lambda: tn.scan(rows, label="y", score="p"))[0] for _ in range(n)]
        session.stop()
    finally:
        cluster.close()
    return seconds


def spark_scaling(path: Path, folder: Path, n: int) -> None:
    """Print the seconds of a scan on one worker and on two; the clusters take turns, 1-2-2-1, so that drift cancels."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for turn, workers in enumerate((1, 2, 2, 1)):
        seconds[workers] += on_spark(path, folder / f"spark-{turn}", workers, n)
    one, two = (statistics.median(seconds[workers]) for workers in (1, 2))
    print(f"\nSpark: {one:.2f} s on one worker ({min(seconds[1]):.2f}–{max(seconds[1]):.2f}), ", end="")
    print(f"{two:.2f} s on two ({min(seconds[2]):.2f}–{max(seconds[2]):.2f}): {one / two:.2f} times as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="10^8 by default, 2·10^7 with --general")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--general", action="store_true")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--sketch", action="store_true")
    parser.add_argument("--measure", nargs=2, metavar=("ENGINE", "PATH"))
    asked = parser.parse_args()
    if asked.measure:
        measure(*asked.measure)
        return
    if asked.general:
        general(asked.rows or 2 * 10**7, asked.rounds)
        return
    asked.rows = asked.rows or 10**8
    with tempfile.TemporaryDirectory() as folder:
        path, one = Path(folder, "rows.parquet"), Path(folder, "one.parquet")
        write(path, asked.rows)
        write(one, 1)
        print(f"{asked.rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB of Parquet\n")
        print("| engine | × bare scan | (CPU) | × by hand | (CPU) | at most | rows/s | peak MB | of one row | below |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for engine in BARE:
            ratios, seconds = rounds(engine, path, asked.rounds)
            cells = [*(f"{ratio:.2f}" for ratio in ratios), f"{RATIO_BAR:g}", f"{asked.rows / seconds:,.0f}"]
            cells += [f"{peak(engine, path):,.0f}", f"{peak(engine, one):,.0f}", f"{MEMORY_BAR:g}"]
            print(f"| {engine} | {' | '.join(cells)} |", flush=True)
        if asked.sketch:
            print("\n| engine | sketch / ten bins, batches | sketch / ten bins, group-by |\n|---|---|---|")
            for engine in BARE:
                batches, group_by = sketch_ratios(engine, path, asked.rounds)
                print(f"| {engine} | {batches:.2f} | {group_by:.2f} |", flush=True)
        if asked.spark:
            spark_scaling(path, Path(folder), asked.rounds)


if __name__ == "__main__":
    main()

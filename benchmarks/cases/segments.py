"""Segments: CPU time of the joint test, how often it flags anything in calibrated data, and its power.

The yardstick is Holm's method on the exact two-sided tail of the events of each segment.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit, ndtr

import trueness as tn

SECONDS_BAR = 5.0
LEVEL = 0.95


class Rows(NamedTuple):
    y: np.ndarray
    p: np.ndarray
    by: dict[str, np.ndarray]
    cluster: np.ndarray | None = None


def rare_and_overlapping(rng: np.random.Generator) -> Rows:
    """Segments of one to ten rows, five large ones and the two halves of the scores."""
    p = rng.beta(0.3, 20, 800)
    by = {
        "small": rng.integers(0, 250, p.size).astype(str),
        "large": rng.integers(0, 5, p.size),
        "half": p > 0.005,
    }
    return Rows(rng.random(p.size) < p, p, by)


def uniform_and_crossed(rng: np.random.Generator) -> Rows:
    p = rng.random(800)
    return Rows(
        rng.random(p.size) < p,
        p,
        {"a": rng.integers(0, 8, p.size), "b": rng.integers(0, 5, p.size)},
    )


def clustered(rng: np.random.Generator) -> Rows:
    """A hundred clusters of one to ten rows; labels of a cluster share a latent normal variable."""
    cluster = np.repeat(np.arange(100), rng.integers(1, 11, 100))
    u = ndtr(
        np.sqrt(0.4) * rng.normal(size=100)[cluster] + np.sqrt(0.6) * rng.normal(size=cluster.size)
    )
    p = rng.beta(2, 5, cluster.size)
    by = {"rows": rng.integers(0, 5, p.size), "clusters": rng.integers(0, 4, 100)[cluster]}
    return Rows(u < p, p, by, cluster)


CALIBRATED: dict[str, tuple[Callable[[np.random.Generator], Rows], int]] = {
    "rare events, 257 segments in three columns": (rare_and_overlapping, 1),
    "the same, crossed": (rare_and_overlapping, 2),
    "uniform scores, two columns, crossed": (uniform_and_crossed, 2),
    "100 clusters, labels alike": (clustered, 1),
}


def one_off(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.random.Generator], Rows]:
    """Sixty segments of 200 rows, the 55th of which has other probabilities."""

    def draw(rng: np.random.Generator) -> Rows:
        p, shop = rng.beta(1, 9, 12_000), np.repeat(np.arange(60), 200)
        truth = np.where(shop == 54, change(p), p)
        return Rows(rng.random(p.size) < truth, p, {"shop": shop.astype(str)})

    return draw


CHANGED = {
    "2.2 times the events": one_off(lambda p: np.minimum(1, 2.2 * p)),
    "1.7 times the events": one_off(lambda p: np.minimum(1, 1.7 * p)),
    "half the events": one_off(lambda p: p / 2),
    "slope 0.3, same log-odds at 10 %": one_off(
        lambda p: expit(logit(0.1) + 0.3 * (logit(p) - logit(0.1)))
    ),
}


def alike(own: float, *, clusters: bool = False) -> Callable[[np.random.Generator], Rows]:
    """All log-odds are 0.5 + 0.7 x; those of one of eight segments, "7", are higher by `own`."""

    def draw(rng: np.random.Generator) -> Rows:
        n = 1_600
        p, cluster, group = rng.beta(1, 3, n), np.arange(n) // 4, rng.integers(0, 8, n)
        u = ndtr(
            np.sqrt(0.3) * rng.normal(size=n // 4)[cluster] + np.sqrt(0.7) * rng.normal(size=n)
        )
        truth = expit(0.5 + 0.7 * logit(p) + own * (group == 7))
        y = (u if clusters else rng.random(n)) < truth
        return Rows(
            y, p, {"group": group.astype(str), "high": p > 0.2}, cluster if clusters else None
        )

    return draw


ALIKE = {
    "none": alike(0.0),
    "none, 400 clusters with labels alike": alike(0.0, clusters=True),
    "one of eight, log-odds higher by 0.5": alike(0.5),
    "one of eight, log-odds higher by 1": alike(1.0),
}


def covered(size: int, spread: float, runs: int) -> float:
    """How often the limits of the segment shown first, of 40, hold its true gap."""
    hits = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        p, by = rng.beta(1, 2, 40 * size), np.repeat(np.arange(40), size)
        truth = expit(logit(p) + spread * rng.normal(size=40)[by])
        result = tn.segments(rng.random(p.size) < truth, p, by.astype(str), resamples=19, seed=run)
        gap = (truth - p)[by == int(result.value[0])].mean()
        hits += result.gap_low[0] <= gap <= result.gap_high[0]
    return hits / runs


def holm_flags(pvalues: np.ndarray, alpha: float) -> np.ndarray:
    order = np.argsort(pvalues)
    adjusted = np.maximum.accumulate(pvalues[order] * np.arange(pvalues.size, 0, -1))
    flags = np.empty(pvalues.size, dtype=bool)
    flags[order] = adjusted <= alpha
    return flags


def found(rows: Rows, seed: int, crossed: int = 1) -> Any:
    return tn.segments(
        rows.y, rows.p, rows.by, cluster=rows.cluster, crossed=crossed, level=LEVEL, seed=seed
    )


def sizes(quick: bool) -> Iterator[tuple[str, Rows, int]]:
    rng = np.random.default_rng(0)
    n = 20_000 if quick else 100_000
    p = rng.beta(1, 9, n)
    y = rng.random(n) < p
    yield (
        f"{n:,} rows, {n // 10:,} segments",
        Rows(y, p, {"id": rng.integers(0, n // 10, n).astype(str)}),
        1,
    )
    three = {
        "a": rng.integers(0, 100, n).astype(str),
        "b": rng.integers(0, 5, n),
        "c": rng.integers(0, 10, n),
    }
    yield f"{n:,} rows, three columns of 100, 5 and 10 values, crossed", Rows(y, p, three), 2
    cluster = rng.integers(0, n // 5, n)
    yield (
        f"{n:,} rows in clusters, {n // 10:,} segments",
        Rows(y, p, {"id": rng.integers(0, n // 10, n).astype(str)}, cluster),
        1,
    )


@case(
    "segments", "joint test of segments: CPU time, false flags and power", "3 min", one_thread=True
)
def segments(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (40 if quick else 400)
    page.head("rows and segments", "CPU seconds", title="Time")
    first = 0.0
    for name, rows, crossed in sizes(quick):
        start = time.process_time()
        found(rows, 0, crossed)
        seconds = time.process_time() - start
        first = first or seconds
        page.row(name, f"{seconds:.2f}")
    promise = f"10,000 segments of 100,000 rows in {SECONDS_BAR:.0f} CPU seconds"
    page.bar(promise, f"{first:.2f} s", None if quick else first <= SECONDS_BAR)
    page.head("calibrated data", "any flag at 0.05", title=f"False flags in {runs:,} data sets")
    for name, (draw, crossed) in CALIBRATED.items():
        flags = sum(
            found(draw(np.random.default_rng(run)), run, crossed).flagged.any()
            for run in range(runs)
        )
        page.row(name, f"{flags / runs:.3f}")
    columns = ("the 55th of 60 segments has", "flagged", "by Holm's method", "any other flagged")
    page.head(*columns, title=f"Power in {runs // 4:,} data sets")
    for name, draw in CHANGED.items():
        hits = np.zeros(3)
        for run in range(runs // 4):
            result = found(draw(np.random.default_rng(run)), run)
            at = result.value.index("54")
            others = np.delete(result.flagged, at).any()
            hits += [result.flagged[at], holm_flags(result.pvalue, 1 - LEVEL)[at], others]
        page.row(name, *(f"{share:.2f}" for share in hits / (runs // 4)))
    page.head(
        "segments with an error of their own",
        "it differs",
        "any other differs",
        title=f"In {runs:,} data sets",
    )
    for name, draw in ALIKE.items():
        hits = np.zeros(2)
        for run in range(runs):
            result = found(draw(np.random.default_rng(run)), run)
            own = np.array([value == "7" for value in result.value]) & name.startswith("one")
            hits += [result.differs[own].any(), result.differs[~own].any()]
        page.row(name, *(f"{share:.3f}" for share in hits / runs))
    page.head(
        "40 segments",
        "calibrated",
        "log-odds shifted by N(0, 0.6²)",
        title=f"Limits of the first hold, {runs:,} runs",
    )
    for size in (20, 75, 200):
        page.row(
            f"of {size} rows", *(f"{covered(size, spread, runs):.3f}" for spread in (0.0, 0.6))
        )

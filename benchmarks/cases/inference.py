"""Intervals, tests and resampling against plain transcriptions of their formulas.

The transcriptions are what a reader of the papers would write first: Python row by row, and NumPy with a mask per bin
or a sort per resolution. Interval ends and T-Cal statistics (up to 256 bins) must agree with the library.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from benchmark import Page, case
from scipy import stats
from timing import Line, Pace, race_or_fail, time_table

import trueness as tn
from trueness import calibration_test, ece_interval, simulate

LEVEL = 0.9
RATIO_BAR = 60.0
SECONDS_BAR = 1.0
EXTRA_BAR = 0.010


class Bin(NamedTuple):
    """Rows of a bin, with u = y − z: their number, sum and sum of squares of u."""

    n: float
    s: float
    q: float


def bins_by_rows(y: list[int], z: list[float], m: int) -> list[Bin]:
    """Row by row."""
    n, s, q = [0] * m, [0.0] * m, [0.0] * m
    for label, score in zip(y, z, strict=True):
        i = min(int(score * m), m - 1)
        u = label - score
        n[i] += 1
        s[i] += u
        q[i] += u * u
    return [Bin(*b) for b in zip(n, s, q, strict=True) if b[0]]


def bins_by_masks(y: np.ndarray, z: np.ndarray, m: int) -> list[Bin]:
    """A mask for every bin."""
    found = []
    for i in range(m):
        inside = (z >= i / m) & ((z < (i + 1) / m) | (i == m - 1))
        u = y[inside] - z[inside]
        if u.size:
            found.append(Bin(u.size, u.sum(), (u * u).sum()))
    return found


def algorithm_1(bins: list[Bin], m: int) -> tuple[float, float, float]:
    """T, low and high of Sun et al. (2025): equations (4), (7) and (8), for P(positive) in m bins of equal width."""
    n = sum(b.n for b in bins)
    t = sum((b.s**2 - b.q) / (b.n - 1) for b in bins if b.n > 1) / n
    square = sum(b.n / n * (b.s / b.n) ** 2 for b in bins)
    fourth = sum(b.n / n * (b.s / b.n) ** 4 for b in bins)
    within = sum(b.n / n * (b.s / b.n) ** 2 * (b.q / b.n - (b.s / b.n) ** 2) for b in bins)
    spread = math.sqrt(max(0.0, fourth - square**2 + 4 * within) / n)
    one, two = stats.norm.ppf(LEVEL), stats.norm.ppf((1 + LEVEL) / 2)
    t_plus = max(t, 0.0)
    if t_plus / 2 <= t_plus - two * spread:
        low = t_plus - two * spread
    elif t_plus - one * spread < t_plus / 2:
        low = max(0.0, t_plus - one * spread)
    else:
        low = t_plus / 2
    if t_plus < one * math.sqrt(1 / 15) * math.sqrt(m) / n:
        low = 0.0
    return t, low, t_plus + two * spread


def t_cal_by_rows(y: list[int], z: list[float], levels: int) -> list[float]:
    """T-Cal of Lee et al. (2023) at 2, 4, …, 2^levels bins, row by row."""
    found = []
    for b in range(1, levels + 1):
        n, s, q = defaultdict(int), defaultdict(float), defaultdict(float)
        for label, score in zip(y, z, strict=True):
            i = min(int(score * 2**b), 2**b - 1)
            u = label - score
            n[i] += 1
            s[i] += u
            q[i] += u * u
        found.append(sum((s[i] ** 2 - q[i]) / n[i] for i in n) / len(y))
    return found


def t_cal_by_sorting(y: np.ndarray, z: np.ndarray, levels: int) -> list[float]:
    """The same with a sort of the rows at every resolution."""
    found = []
    u = y - z
    for b in range(1, levels + 1):
        _, place, n = np.unique(
            np.minimum((z * 2**b).astype(int), 2**b - 1), return_inverse=True, return_counts=True
        )
        s, q = np.bincount(place, u), np.bincount(place, u * u)
        found.append(float(((s**2 - q) / n).sum() / u.size))
    return found


def adaptive_t_cal(statistic: Callable[..., list[float]], y: Any, z: Any, draws: int) -> float:
    """The smallest of the Monte-Carlo p-values, times their number."""
    levels = math.ceil(2 * math.log2(len(y) / math.sqrt(math.log(len(y)))))
    rng = np.random.default_rng(0)
    observed = statistic(y, z, levels)
    reached = [1] * levels
    for _ in range(draws):
        labels = (rng.random(len(y)) < z).astype(int)
        drawn = statistic(labels.tolist() if isinstance(y, list) else labels, z, levels)
        reached = [c + (new >= old) for c, new, old in zip(reached, drawn, observed, strict=True)]
    return min(1.0, levels * min(reached) / (draws + 1))


def analytic_interval(n: int, pace: Pace) -> list[Line]:
    d = simulate.binary(n, distortion=simulate.Logit(slope=0.9), seed=0)
    y, z, m = d.y_true, d.y_prob, max(2, round(n**0.4))
    rows = y.tolist(), z.tolist()
    found = race_or_fail(
        {
            "trueness": lambda: ece_interval(y, z, method="analytic", level=LEVEL, squared=True),
            "rows": lambda: algorithm_1(bins_by_rows(*rows, m), m),
            "masks": lambda: algorithm_1(bins_by_masks(y, z, m), m),
        },
        pace,
    )
    ours = found["trueness"].result
    for name in ("rows", "masks"):
        np.testing.assert_allclose(found[name].result, (ours.estimate, *ours.hull), rtol=1e-9)
    title = f"analytic interval, {n:,} rows, k = 1, {m} bins"
    return [
        Line(title, found["trueness"]),
        Line("… row by row", found["rows"], against=found["trueness"], at_least=RATIO_BAR),
        Line("… a mask per bin", found["masks"], against=found["trueness"], at_least=RATIO_BAR),
    ]


def many_classes(page: Page, n: int, pace: Pace, judged: bool) -> list[Line]:
    d = simulate.multiclass(n, 10, seed=0)
    found = race_or_fail(
        {"k": lambda: ece_interval(d.y_true, d.y_prob, k=2, method="analytic")}, pace
    )["k"]
    wall = statistics.median(found.wall.values())
    title = f"analytic interval, {n:,} rows, K = 10, k = 2"
    page.bar(
        f"{title}: under {SECONDS_BAR:g} s", f"{wall:.3g} s", wall < SECONDS_BAR if judged else None
    )
    return [Line(title, found)]


def t_cal(n: int, pace: Pace) -> list[Line]:
    d = simulate.binary(n, seed=0)
    y, z, draws, few, more = d.y_true, d.y_prob, 1000, 2, 20
    rows = y.tolist(), z.tolist()
    levels = math.ceil(2 * math.log2(n / math.sqrt(math.log(n))))
    np.testing.assert_allclose(
        t_cal_by_rows(*rows, levels), t_cal_by_sorting(y, z, levels), atol=1e-12
    )
    ours = [
        calibration_test(y, z, method="t-cal", bins=2**b, resamples=1).statistic
        for b in range(1, 9)
    ]
    np.testing.assert_allclose(t_cal_by_sorting(y, z, 8), ours, atol=1e-12)
    found = race_or_fail(
        {
            "trueness": lambda: calibration_test(
                y, z, method="adaptive-t-cal", resamples=draws, seed=0
            ),
            "rows": partial(adaptive_t_cal, t_cal_by_rows, *rows, few),
            "sorting": partial(adaptive_t_cal, t_cal_by_sorting, y, z, more),
        },
        pace,
    )
    return [
        Line(
            f"adaptive T-Cal, {n:,} rows, {draws:,} draws, {levels} resolutions", found["trueness"]
        ),
        # The observed statistics are one more turn of the loop.
        Line(
            f"… row by row, from {few} draws",
            found["rows"],
            (draws + 1) / (few + 1),
            found["trueness"],
            RATIO_BAR,
        ),
        Line(
            f"… a sort per resolution, from {more} draws",
            found["sorting"],
            (draws + 1) / (more + 1),
            found["trueness"],
            RATIO_BAR,
        ),
    ]


def bootstrap(page: Page, n: int, pace: Pace, judged: bool) -> list[Line]:
    d = simulate.binary(n, seed=0)
    y, p = d.y_true, d.y_prob
    found = race_or_fail(
        {
            "pass": lambda: tn.ece(y, p, bins=10),
            "interval": lambda: ece_interval(
                y, p, bins=10, method="bootstrap", resamples=1000, seed=0
            ),
        },
        pace,
    )
    one, interval = found["pass"], found["interval"]
    wall = statistics.median(interval.wall[i] - one.wall[i] for i in interval.wall if i in one.wall)
    cpu = statistics.median(interval.cpu[i] - one.cpu[i] for i in interval.cpu if i in one.cpu)
    promise = f"1,000 resamples of `ece`, {n:,} rows: within {EXTRA_BAR * 1e3:g} ms of one pass"
    added = f"{wall * 1e3:+.2f} ms, CPU {cpu * 1e3:+.2f} ms"
    page.bar(promise, added, max(wall, cpu) <= EXTRA_BAR if judged else None)
    return [
        Line(f"`ece`, {n:,} rows, 10 bins: one pass", one),
        Line('… `ece_interval(method="bootstrap", bins=10, resamples=1000)`', interval),
    ]


@case(
    "inference",
    "intervals and tests against plain transcriptions of their formulas",
    "30 s",
    one_thread=True,
)
def inference(page: Page, quick: bool, *, rows: int = 0) -> None:
    pace = Pace(rounds=5, fewest=3) if quick else Pace(slow_s=30.0)
    n = rows or (100_000 if quick else 1_000_000)
    judged = not quick
    lines = [*analytic_interval(n, pace), *many_classes(page, n, pace, judged)]
    lines += [*t_cal(n // 100, pace), *bootstrap(page, n, pace, judged)]
    time_table(page, "inference", lines, judged=judged)

"""Slices: how often a planted slice is found and named, beside segments, MCGrad's test and a plain tree; time, memory.

Ten columns; in a slice of 1 % or 3 % of the rows, defined by one to three of them, the log-odds are off by ±0.8.
"""

import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn

SHIFT, COLUMNS = 0.8, 10
SECONDS_BAR, MEMORY_BAR = 60.0, 2e9


class Rows(NamedTuple):
    y: np.ndarray
    p: np.ndarray
    columns: dict[str, np.ndarray]
    wrong: np.ndarray


class Answer(NamedTuple):
    alarm: bool
    """Whether anything is flagged."""
    rows: np.ndarray | None
    """The rows of the first flagged slice, if the method names one."""


def planted(n: int, depth: int, share: float, seed: int) -> Rows:
    """A slice of `depth` columns; depth 0 is calibrated."""
    rng = np.random.default_rng((seed, depth, round(1000 * share)))
    columns = {f"x{j}": rng.integers(0, 4, n).astype(str) for j in range(COLUMNS)}
    wrong = np.full(n, depth > 0)
    for j in range(depth):
        columns[f"x{j}"] = np.where(
            rng.random(n) < share ** (1 / depth), "1", rng.choice(["0", "2", "3"], n)
        )
        wrong &= columns[f"x{j}"] == "1"
    p = rng.uniform(0.1, 0.6, n)
    sign = 1 if seed % 2 else -1
    return Rows(
        (rng.random(n) < expit(logit(p) + sign * SHIFT * wrong)).astype(int), p, columns, wrong
    )


NULLS = ("uniform", "extreme", "rare", "rounded", "weights", "clusters")


def calibrated(
    law: str, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Labels drawn from the scores, and options; in clusters of four, labels are alike."""
    p = {
        "extreme": lambda: rng.beta(0.2, 0.2, n).clip(1e-9, 1 - 1e-9),
        "rare": lambda: rng.beta(0.5, 12, n),
        "rounded": lambda: rng.integers(1, 10, n) / 10,
    }.get(law, lambda: rng.uniform(0.05, 0.95, n))()
    if law != "clusters":
        return (
            rng.random(n) < p,
            p,
            {"sample_weight": rng.exponential(size=n)} if law == "weights" else {},
        )
    cluster = np.arange(n) // 4
    common = rng.random(n)[cluster]
    return np.where(rng.random(n) < 0.5, common, rng.random(n)) < p, p, {"cluster": cluster}


@case(
    "slices-null",
    "how often a calibrated model is flagged, six laws, 10 and 50 columns",
    "40 min",
    one_thread=True,
)
def slices_null(page: Page, quick: bool, *, runs: int = 0) -> None:
    page.head(
        "columns",
        "rows",
        "runs",
        *NULLS,
        title="Calibrated: share of data sets with any slice flagged at 0.05",
    )
    for width, n, least, most in ((10, 1_000, 50, 1_000), (50, 500, 25, 600)):
        shares, times = list[float](), runs or (50 if quick else most)
        for law in NULLS:
            flags = 0
            for run in range(times):
                rng = np.random.default_rng((run, width, NULLS.index(law)))
                columns = {
                    f"x{j}": rng.integers(0, 4, n) if j % 2 else rng.normal(size=n)
                    for j in range(width)
                }
                y, p, options = calibrated(law, n, rng)
                found = tn.worst_slices(
                    y, p, columns, min_rows=least, resamples=39, seed=run, **options
                )
                flags += found.joint_p <= 0.05
            shares.append(flags / times)
        page.row(str(width), f"{n:,}", f"{times:,}", *(f"{share:.3f}" for share in shares))
        worst = max(shares)
        page.bar(
            f"{width} columns: at most 0.065", f"{worst:.3f}", None if quick else worst <= 0.065
        )


def mask(rows: Rows, conditions: list[tuple[str, str]]) -> np.ndarray:
    return np.all([rows.columns[name] == value for name, value in conditions], axis=0)


def by_slices(depth: int) -> Callable[[Rows], Answer]:
    def ask(rows: Rows) -> Answer:
        found = tn.worst_slices(rows.y, rows.p, rows.columns, depth=depth, resamples=199, seed=0)
        if not found.flagged.any() or "score" in found.rule[0]:
            return Answer(bool(found.flagged.any()), None)
        pairs = [tuple(one.split(" = ")) for one in found.rule[0].split(" and ")]
        return Answer(True, mask(rows, pairs))  # type: ignore[arg-type]  # name and value

    return ask


def by_segments(rows: Rows) -> Answer:
    found = tn.segments(rows.y, rows.p, rows.columns, crossed=2, resamples=199, seed=0)
    if not found.flagged.any():
        return Answer(False, None)
    i = int(np.argmin(found.adjusted_pvalue + 1e-9 * found.pvalue))
    return Answer(
        True,
        mask(
            rows, list(zip(found.column[i].split(" × "), found.value[i].split(" × "), strict=True))
        ),
    )


def by_mcgrad(rows: Rows) -> Answer:
    import pandas as pd
    from mcgrad.metrics import MulticalibrationError

    frame = pd.DataFrame({**rows.columns, "y": rows.y, "p": rows.p})
    found = MulticalibrationError(frame, "y", "p", categorical_segment_columns=list(rows.columns))
    # Its p-value is that of one segment; its documentation calls values above 5 significant.
    return Answer(bool(found.mce_sigma > 5), None)


def by_tree(rows: Rows) -> Answer:
    """The leaf with the largest mean residual, in units of its standard error, of a tree that nobody tests."""
    from sklearn.tree import DecisionTreeRegressor

    x = np.stack(
        [values == value for values in rows.columns.values() for value in np.unique(values)], axis=1
    )
    leaf = (
        DecisionTreeRegressor(max_depth=4, min_samples_leaf=50, random_state=0)
        .fit(x, rows.y - rows.p)
        .apply(x)
    )
    excess, variance = (np.bincount(leaf, one) for one in (rows.y - rows.p, rows.p * (1 - rows.p)))
    z = np.abs(excess) / np.sqrt(np.maximum(variance, 1e-300))
    return Answer(bool(z.max() > 1.96), leaf == z.argmax())


METHODS: dict[str, Callable[[Rows], Answer]] = {
    "`worst_slices`, depth 2": by_slices(2),
    "`worst_slices`, depth 3": by_slices(3),
    "`segments(crossed=2)`": by_segments,
    "MCGrad's multicalibration error above 5 sigma": by_mcgrad,
    "a tree of the residuals, its worst leaf at 1.96": by_tree,
}


def named(answer: Answer, rows: Rows) -> bool:
    """Whether at least half of the rows that are named or wrong are both."""
    if not answer.alarm or answer.rows is None:
        return False
    return bool((answer.rows & rows.wrong).sum() >= 0.5 * (answer.rows | rows.wrong).sum())


def large(n: int, width: int) -> tuple[float, float, Any]:
    """CPU seconds, peak memory in bytes, and the result for numbers and codes by halves."""
    rng = np.random.default_rng(0)
    columns = {
        f"x{j}": rng.normal(size=n) if j % 2 else rng.integers(0, 6, n) for j in range(width)
    }
    p = rng.beta(2, 3, n)
    y = rng.random(n) < expit(logit(p) + 0.4 * ((columns["x0"] == 1) & (columns["x1"] > 1.2)))
    start = time.process_time()
    found = tn.worst_slices(y, p, columns, seed=0)
    return (
        time.process_time() - start,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        found,
    )


@case("slices", "planted slices found; time and memory of 50 columns", "10 min", one_thread=True)
def slices(page: Page, quick: bool, *, runs: int = 0, rows: int = 10_000) -> None:
    runs = runs or (5 if quick else 40)
    n, width = (100_000, 20) if quick else (1_000_000, 50)
    seconds, memory, found = large(n, width)
    page.head(
        "rows",
        "columns",
        "slices",
        "CPU s",
        "peak GB",
        "first slice",
        "method",
        title="Time and memory",
    )
    page.row(
        f"{n:,}",
        str(width),
        f"{found.tried:,}",
        f"{seconds:.1f}",
        f"{memory / 1e9:.2f}",
        found.rule[0],
        found.method,
    )
    full = not quick
    page.bar(
        "50 columns × 10⁶ rows, depth 2, below 60 s",
        f"{seconds:.1f} s",
        seconds < SECONDS_BAR if full else None,
    )
    page.bar("and below 2 GB", f"{memory / 1e9:.2f} GB", memory < MEMORY_BAR if full else None)
    cases = [(0, 0.0), *((depth, share) for share in (0.01, 0.03) for depth in (1, 2, 3))]
    titles = [f"depth {depth}, {share:.0%}" if depth else "calibrated" for depth, share in cases]
    page.head(
        "named (alarm)",
        *titles,
        title=f"{rows:,} rows, ten columns, log-odds ±{SHIFT}, {runs} data sets each",
    )
    for name, ask in METHODS.items():
        cells = []
        try:
            for depth, share in cases:
                data = [planted(rows, depth, share, run) for run in range(runs)]
                answers = [ask(one) for one in data]
                right = np.mean([named(a, b) for a, b in zip(answers, data, strict=True)])
                alarm = np.mean([one.alarm for one in answers])
                cells.append(f"{right:.2f} ({alarm:.2f})" if depth else f"({alarm:.2f})")
        except ImportError as error:
            page.text(f"{name} was left out: {error}.")
            continue
        page.row(name, *cells)

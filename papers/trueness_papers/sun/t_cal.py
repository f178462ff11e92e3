"""Power of the interval beside that of T-Cal, a test of full calibration (Sun et al. 2025, Figures 5 and 10)."""

import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness.infer.interval._analytic import zero_threshold
from trueness.infer.null._redrawn_labels import monte_carlo_pvalue
from trueness.typing import Bools, Floats, Ints
from trueness_papers.experiment import SUN, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.figures import PowerPoint, draw_t_cal
from trueness_papers.sun.simulation import (
    LEVEL,
    SETTINGS,
    SHAPES,
    SymmetricPair,
    generator_for,
    true_squared_error,
)

__all__ = ["METHODS", "T_CAL", "BinSums", "compare_power", "rejections", "simulate_rows"]

_ALPHA = round(1 - LEVEL, 12)
_DRAWS = 1000
_ROWS, _CALIBRATED, _REDRAWN = 20, 21, 22
"""Purposes of random generators: data sets, calibrated ones for a threshold, and labels drawn from scores."""


class BinSums(NamedTuple):
    r"""Sums of the residuals of the first of two classes, for several sets of labels of the same rows.

    The residuals of the two classes are u and −u, so the inner product of two rows is :math:`2 u u'`.
    """

    cell: Ints
    """The cells that contain rows."""
    n: Ints
    """Their rows."""
    total: Floats
    """Σu, of shape (sets, cells)."""
    squares: Floats
    """Σu²."""

    @classmethod
    def of_rows(cls, z: Floats, labels: Bools, cells: int) -> "BinSums":
        """From ascending scores of the first class, and for each set of labels whether the rows have it."""
        cell = np.minimum((z * cells).astype(np.int64), cells - 1)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        total = np.add.reduceat(labels, first, axis=1, dtype=np.float64) - np.add.reduceat(z, first)
        # A row of the first class has (1 − z)² = z² + 1 − 2z.
        squares = np.add.reduceat(labels * (1 - 2 * z), first, axis=1) + np.add.reduceat(
            z * z, first
        )
        return cls(cell[first], np.diff(np.append(first, z.size)), total, squares)

    def joined(self) -> "BinSums":
        """Every two cells joined."""
        cell = self.cell // 2
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        parts = (
            np.add.reduceat(values, first, axis=-1) for values in (self.n, self.total, self.squares)
        )
        return BinSums(cell[first], *parts)

    def statistic(self, *, debiased: bool) -> Floats:
        """T of each set of labels, with the divisor N − 1, or T-Cal's statistic, with the divisor N."""
        share = np.where(self.n >= 2, 2 / np.maximum(self.n - debiased, 1) / self.n.sum(), 0.0)
        return np.asarray((self.total**2 - self.squares) @ share)


def rejections(
    z: Floats, y: Bools, cells: int, threshold: float, rng: np.random.Generator | None
) -> dict[str, bool]:
    """Which tests reject calibration.

    Parameters
    ----------
    z : array of shape (n,), ascending
        Scores of the first class.
    y : array of shape (n,)
        Whether the rows have it.
    cells : int
        Parts of [0, 1]: the paper's mK, an even number.
    threshold : float
        For T-Cal, from calibrated data sets.
    rng : numpy.random.Generator or None
        For labels drawn from the scores; None leaves out the tests that need them.
    """
    n, half = z.size, cells // 2
    drawn = rng.random((_DRAWS, n)) < z if rng else np.empty((0, n), dtype=np.bool_)
    labels = np.concatenate([y[np.newaxis], drawn])
    fine = BinSums.of_rows(z, labels, cells)
    coarse = fine.joined()
    t_cal, debiased = fine.statistic(debiased=False), fine.statistic(debiased=True)

    def reject(statistics: Floats) -> bool:
        return bool(monte_carlo_pvalue(statistics[0], statistics[1:]) <= _ALPHA)

    found = {
        "interval, k = 1": _top_statistic(z, y, cells) >= zero_threshold(n, _ALPHA, cells, 2),
        "interval, k = K": bool(debiased[0] >= zero_threshold(n, _ALPHA, cells, 2, 2)),
        "interval, k = K, m": bool(
            coarse.statistic(debiased=True)[0] >= zero_threshold(n, _ALPHA, half, 2, 2)
        ),
        "T-Cal, one threshold": bool(t_cal[0] > threshold),
    }
    if rng:
        tests = {
            "T-Cal": t_cal,
            "T-Cal, m": coarse.statistic(debiased=False),
            "exact, k = K": debiased,
        }
        found |= {name: reject(statistics) for name, statistics in tests.items()}
    return found


def _top_statistic(z: Floats, y: Bools, cells: int) -> float:
    """T of the larger score alone."""
    order = np.argsort(top := np.maximum(z, 1 - z))
    hit = (y == (z >= 0.5))[order]
    (both,) = BinSums.of_rows(top[order], hit[np.newaxis], cells).statistic(debiased=True)
    return float(both) / 2


METHODS = {
    "interval, k = 1": "by the text: T of the larger score, zero rejected from z σ₀/(n √w) on",
    "interval, k = K": "by the text: the same for both scores, in mK parts of the simplex",
    "interval, k = K, m": "the same in m parts",
    "T-Cal, one threshold": "by the text: both scores, mK parts, one threshold from 1,000 calibrated data sets",
    "T-Cal": "by the text: the same with 1,000 sets of labels drawn from the scores of each data set",
    "T-Cal, m": "the same in m parts",
    "exact, k = K": "ours improved: T in the place of T-Cal's statistic, with the same labels",
}


_DRAWN = ("interval, k = 1", "interval, k = K", "T-Cal, one threshold", "T-Cal, m", "exact, k = K")


def simulate_rows(
    setting: int, n: int, beta: float, runs: int, rng: np.random.Generator
) -> tuple[Floats, Bools]:
    """Scores of the first class, ascending, and whether the rows have it: arrays of shape (runs, n)."""
    z = np.sort(rng.beta(*SHAPES[setting], (runs, n)), axis=1)
    return z, rng.random((runs, n)) < SymmetricPair(*SHAPES[setting], beta).distorted(z)


@cache
def calibrated_threshold(setting: int, n: int, seed: int) -> float:
    """The upper tenth of T-Cal's statistic in 1,000 calibrated data sets of the setting."""
    rng = generator_for(seed, setting, n, 0, 0, _CALIBRATED)
    sets = zip(*simulate_rows(setting, n, 1.0, _DRAWS, rng), strict=True)
    bins = (BinSums.of_rows(z, y[np.newaxis], SETTINGS[setting].cells[n]) for z, y in sets)
    return float(np.quantile([one.statistic(debiased=False)[0] for one in bins], LEVEL))


def compare_power(
    setting: int, n: int, index: int, runs: int, redrawn: int, seed: int
) -> dict[str, list[int]]:
    """For each test, how many data sets it rejects, and of how many; labels are redrawn for the first `redrawn`."""
    law = SETTINGS[setting]
    threshold = calibrated_threshold(setting, n, seed)
    sets = simulate_rows(
        setting, n, law.betas[index], runs, generator_for(seed, setting, n, index, 0, _ROWS)
    )
    counts = {name: [0, 0] for name in METHODS}
    for run, (z, y) in enumerate(zip(*sets, strict=True)):
        rng = generator_for(seed, setting, n, index, run, _REDRAWN) if run < redrawn else None
        for name, rejected in rejections(z, y, law.cells[n], threshold, rng).items():
            counts[name][0] += rejected
            counts[name][1] += 1
    return counts


# -------------------------------------------------------------------------------------- experiment

_QUICK = {100: (0, 10, 14, 20), 1000: (10, 20)}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    runs = (
        {100: (1000, 1000), 1000: (1000, 200)} if size == "full" else {100: (60, 60), 1000: (20, 5)}
    )
    return [
        Piece(
            f"setting-{setting}-n-{n}-beta-{index:02d}",
            compare_power,
            {
                "setting": setting,
                "n": n,
                "index": index,
                "runs": many,
                "redrawn": redrawn,
                "seed": seed,
            },
        )
        for n, (many, redrawn) in runs.items()
        for setting in SHAPES
        for index in (range(len(SETTINGS[setting].betas)) if size == "full" else _QUICK[n])
    ]


def _points(results: Mapping[str, Any]) -> list[PowerPoint]:
    points = []
    for key, found in results.items():
        _, setting, _, n, _, index = key.split("-")
        beta = SETTINGS[int(setting)].betas[int(index)]
        error = math.sqrt(true_squared_error(int(setting), beta))
        for name, (hits, runs) in found.items():
            low, high = clopper_pearson(hits, runs, 0.95)
            points.append(
                PowerPoint(
                    int(n), int(setting), beta, error, name, hits / runs, float(low), float(high)
                )
            )
    return points


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know their sizes
    points = _points(results)
    rows = [
        Row((f"{p.n:,}", str(p.setting), f"{p.beta:g}", f"{p.error:.4f}", p.method), p.power)
        for p in points
    ]
    methods = "; ".join(f"`{name}`: {words}" for name, words in METHODS.items())
    note = (
        f"Level 0.1; β = 1 is calibrated, so the last row of each block is the level. {_data_sets(results)} The "
        f"paper has the lines of its interval and of T-Cal in figures and prints no number. {methods}."
    )
    headings = ("rows", "setting", "β", "l2 error", "share rejected")
    title = "Power of the interval and of T-Cal"
    table = Table(title, "", headings, tuple(rows), digits=3, note=note, across=headings[-1])
    picture = Picture(
        "power",
        "Share of data sets in which calibration is rejected, by the interval and by T-Cal, with 95 % limits "
        "(Clopper-Pearson); grey line: the level.",
        partial(draw_t_cal, [p for p in points if p.method in _DRAWN]),
    )
    return Outcome((table,), (picture,), _remarks(points))


def _data_sets(results: Mapping[str, Any]) -> str:
    """How many data sets there are per β, by number of rows."""
    counts = {int(key.split("-")[3]): found for key, found in results.items()}
    return " ".join(
        f"{n:,} rows: {found['T-Cal, one threshold'][1]:,} data sets per β, of which labels are redrawn for "
        f"{found['T-Cal'][1]:,}."
        for n, found in counts.items()
    )


def _remarks(points: Sequence[PowerPoint]) -> tuple[str, ...]:
    power = {(p.n, p.setting, p.beta, p.method): p.power for p in points}

    def largest_gap(one: str, other: str) -> str:
        gaps = {
            key[:3]: value - power[(*key[:3], other)]
            for key, value in power.items()
            if key[3] == one
        }
        n, setting, beta = max(gaps, key=lambda key: abs(gaps[key]))
        return (
            f"{gaps[n, setting, beta]:+.3f} (setting {setting}, {n:,} rows, β = {beta:g})".replace(
                "-", "−"
            )
        )

    levels = {
        name: [p.power for p in points if p.method == name and p.beta == 1] for name in METHODS
    }
    spans = "; ".join(
        f"{name} {min(found):.3f} to {max(found):.3f}" for name, found in levels.items() if found
    )
    return (
        "The paper says that the power of its interval and of T-Cal is very similar. Largest difference in power "
        f"between the interval for k = 1 and T-Cal: {largest_gap('interval, k = 1', 'T-Cal, m')} in m parts, which "
        "have as many rows as the interval's cells, and "
        f"{largest_gap('interval, k = 1', 'T-Cal, one threshold')} in mK parts. The interval for k = K differs from "
        f"T-Cal in the same cells by up to {largest_gap('interval, k = K', 'T-Cal, one threshold')}.",
        f"Level (rejected although calibrated): {spans}.",
        "The paper prints neither the number of cells of T-Cal nor how its threshold is simulated. mK parts of the "
        "simplex have the width of the interval's cells, m parts are the partition of section 2.1 for k = K; one "
        "threshold from calibrated data sets needs to know the law of the scores, labels drawn for each data set do "
        "not.",
        "The divisor N − 1 in the place of T-Cal's N, with the same labels, changes the power by up to "
        f"{largest_gap('exact, k = K', 'T-Cal')}: N gives less weight to cells with few rows.",
        "Z₁ ~ Beta(5, 1/2) in setting 2 is the score of the first class, as printed; the authors' code draws the "
        "class. It matters for full calibration alone. T-Cal is not in the files of the authors' code that we have.",
    )


T_CAL = Experiment(
    name="sun-t-cal",
    paper=SUN,
    covers="Figures 5 and 10 (T-Cal)",
    title="power of the interval and of T-Cal on the full simplex",
    pieces=_pieces,
    assemble=_assemble,
    minutes=4,
)

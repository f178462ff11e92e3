"""Where an isotonic or smooth reliability curve lies when the scores are the true probabilities."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from trueness._input.arguments import Seed, checked_fraction, checked_whole, generator
from trueness._numerics.smooth import KernelMeans
from trueness._tally.cells import Cells
from trueness._tally.rules import Isotonic, pooled_cells
from trueness.results import CurveBand
from trueness.typing import Floats, Numbers

__all__ = ["consistency_of_curve"]

# Cells that labels are redrawn for, and places of a smooth curve.
_CELLS, _PLACES = 1024, 256

_Drawn: TypeAlias = tuple[Floats, Callable[[Numbers], Floats]]
"""Where a curve is drawn, and how high, by the events of the cells."""


def consistency_of_curve(
    cells: Cells,
    method: Literal["isotonic", "smooth"],
    *,
    bandwidth: float = 0.0,
    level: float = 0.95,
    resamples: int = 199,
    seed: Seed = None,
) -> CurveBand:
    """Quantiles, place by place, of curves whose labels are drawn from the scores.

    Scores are first pooled to about 1,024 cells of equal mass. Their events are binomial with the mean score, which
    varies no less than the events of the single scores (Hoeffding 1956). For weights that are not whole numbers, events
    are normal with variance Σw²p(1 − p).
    """
    level, resamples, rng = checked_fraction(level, "level"), checked_whole(resamples, "resamples"), generator(seed)
    few = pooled_cells(cells, _CELLS)
    x, curve = _isotonic(few) if method == "isotonic" else _smooth(few, bandwidth)
    drawn = [curve(_events(few, rng)) for _ in range(resamples)]
    there = np.isfinite(x)
    low, high = np.quantile(
        np.stack([y[there] for y in drawn]), [(1 - level) / 2, (1 + level) / 2], axis=0, method="median_unbiased"
    )
    return CurveBand(x[there], low, high, level, method, resamples)


def _events(cells: Cells, rng: np.random.Generator) -> Numbers:
    p = np.clip(cells.score, 0, 1)
    if cells.exact:
        return rng.binomial(cells.weight.astype(np.int64, copy=False), p)
    assert cells.squares is not None
    found = cells.weight * p + np.sqrt(cells.squares * p * (1 - p)) * rng.standard_normal(cells.size)
    return np.clip(found, 0, cells.weight)


def _isotonic(cells: Cells) -> _Drawn:
    def curve(events: Numbers) -> Floats:
        start = Isotonic().group(Cells(cells.score, cells.count, cells.weight, events, cells.squares)).start
        rate = np.add.reduceat(events, start[:-1]) / np.add.reduceat(cells.weight, start[:-1])
        return np.repeat(rate, np.diff(start))

    return cells.score, curve


def _smooth(cells: Cells, bandwidth: float) -> _Drawn:
    means = KernelMeans(cells.score, cells.weight, bandwidth, _PLACES)
    return means.scores(), means.labels

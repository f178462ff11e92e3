"""Limits of what depends on the order of the rows, where a sketch does not know the order inside its cells."""

import numpy as np

from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rules import Isotonic
from trueness.measure._bin_bounds import Ends
from trueness.measure._cuts import Spread
from trueness.typing import Floats

__all__ = ["base_score", "fitted_score", "walk_range", "walk_reach"]


def walk_reach(cells: Spread) -> Ends:
    """The largest distance of the cumulated differences from 0, over Σw."""
    (top, highest), (bottom, lowest) = _extremes(cells)
    return Ends(max(top, -bottom), max(highest, -lowest))


def walk_range(cells: Spread) -> Ends:
    """The distance between the highest and the lowest point of the cumulated differences, over Σw."""
    (top, highest), (bottom, lowest) = _extremes(cells)
    return Ends(top - bottom, highest - lowest)


def _extremes(cells: Spread) -> tuple[Ends, Ends]:
    """Limits of the highest and of the lowest point of the walk.

    It is known at the ends of cells. Within a cell it climbs by events alone, by w(1 − p) each: at most by all of them,
    if they come first; and it falls by what others add, wp each.
    """
    total = float(cells.n.sum())
    ends = np.concatenate([[0.0], np.cumsum(cells.excess)]) / total
    # Equal scores are one step, which ends where the cell does.
    climb, fall = (cells.n[:, 1] - cells.sum_score[:, 1]) / total, cells.sum_score[:, 0] / total
    climb, fall = np.where(cells.tied, 0, climb), np.where(cells.tied, 0, fall)
    top, bottom = float(ends.max()), float(ends.min())
    highest, lowest = float((ends[:-1] + climb).max()), float((ends[:-1] - fall).min())
    return Ends(top, max(top, highest)), Ends(bottom, min(bottom, lowest))


def fitted_score(cells: Spread, rule: str) -> Ends:
    """The mean score of the isotonic fit.

    Rows in their order can be fitted at least as well as if each cell were one tie; and no better than if in
    each cell the rows without an event came first, since any rising fit suits that order best.
    """
    pooled = np.column_stack([cells.n.sum(axis=1), cells.n[:, 1]])
    return Ends(_fit(_sorted_within(cells, pooled), rule), _fit(pooled, rule))


def base_score(cells: Spread, rule: str) -> float:
    """The mean score of the base rate."""
    return _fit(cells.n.sum(axis=0)[None, :] @ np.array([[1.0, 0.0], [1.0, 1.0]]), rule)


def _sorted_within(cells: Spread, pooled: Floats) -> Floats:
    """Rows and events: of each cell first those without, then those with an event; of ties, all at once."""
    first = np.column_stack([cells.n[:, 0], np.zeros(len(pooled))])
    second = np.column_stack([cells.n[:, 1], cells.n[:, 1]])
    tied = cells.tied[:, None]
    both = np.stack([np.where(tied, pooled, first), np.where(tied, 0, second)], axis=1).reshape(-1, 2)
    return both[both[:, 0] > 0]


def _fit(pairs: Floats, rule: str) -> float:
    # Whole numbers are compared exactly.
    whole = bool((pairs == np.rint(pairs)).all())
    weight, events = (column.astype(np.int64 if whole else np.float64) for column in pairs.T)
    cells = Cells(np.arange(weight.size, dtype=np.float64), weight, weight, events)
    start = Isotonic().group(cells).start[:-1]
    n, k = segment_sums(weight, start).astype(np.float64), segment_sums(events, start).astype(np.float64)
    rate = k / n
    if rule == "brier":
        return float((n * rate * (1 - rate)).sum() / n.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(k > 0, k * np.log(rate), 0) + np.where(k < n, (n - k) * np.log1p(-rate), 0)
    return float(-logs.sum() / n.sum())

"""The axes of the diagrams: all of [0, 1], and axes that fit the scores."""

import math

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness._report.records import Axes
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._text.ticks import linear_ticks, percent_tick, round_up, zoomed_ends
from trueness.measure._bin_table import effective_counts
from trueness.typing import Floats

_BARS = 50
_RARE = 0.01
_HALF = 0.5
# Logit axes, if this share of the rows lies within this part of linear axes, at one end, and few at the other half.
_CROWD, _CORNER, _FEW = 0.75, 0.04, 0.1
_REACH = 1.5
_DECADES = np.array([10.0**-k for k in range(12, 0, -1)])


def whole_axes(sums: Cells | Bins) -> Axes:
    """Linear axes from 0 to 1."""
    return _linear(sums, 0.0, 1.0)


def fitted_axes(sums: Cells | Bins, tenths: Bins, level: float) -> Axes:
    """Axes that show nearly all scores and the intervals of the rates of `tenths`.

    They are linear and zoom in on one end of [0, 1], or logit if even then most scores would crowd in a corner.
    """
    with np.errstate(invalid="ignore"):
        lows, highs = clopper_pearson(*effective_counts(tenths), level)
    least = min(_quantile(sums, _RARE), float(np.nanmin(tenths.rate)))
    most = max(_quantile(sums, 1 - _RARE), float(np.nanmax(tenths.rate)))
    # Long intervals are cut off: they would push all points into a corner.
    least = min(least, max(float(np.nanmin(lows)), 1 - _REACH * (1 - least)))
    most = max(most, min(float(np.nanmax(highs)), _REACH * most))
    low, high = zoomed_ends(least, most)
    if isinstance(sums, Cells) and _crowded(sums, low, high):
        return _logit(sums, most, least)
    return _linear(sums, low, high)


def _quantile(sums: Cells | Bins, share: float) -> float:
    reached = np.cumsum(sums.weight, dtype=np.float64)
    score = sums.score[sums.weight > 0]
    return float(score[min(np.searchsorted(reached[sums.weight > 0], share * reached[-1]), score.size - 1)])


def _crowded(cells: Cells, low: float, high: float) -> bool:
    """Whether most scores strictly between 0 and 1 lie in one corner of the linear axes, and few far from it."""
    p, corner, far = cells.score, _CORNER * (high - low), 0.5 * (high - low)
    share = cells.weight / cells.weight.sum()
    at_zero = share[(p > 0) & (p < low + corner)].sum() >= _CROWD and share[p > low + far].sum() < _FEW
    at_one = share[(p < 1) & (p > high - corner)].sum() >= _CROWD and share[p < high - far].sum() < _FEW
    return bool(at_zero or at_one)


def _linear(sums: Cells | Bins, low: float, high: float) -> Axes:
    return _axes("linear", sums, low, high, linear_ticks(low, high))


def _logit(cells: Cells, most: float, least: float) -> Axes:
    """From below nearly all positive scores to above nearly all scores and rates."""
    inside = (cells.score > 0) & (cells.score < 1)
    score, reached = cells.score[inside], np.cumsum(cells.weight[inside], dtype=np.float64)
    tiny = 0.1 / max(1, int(cells.count.sum()))

    def at(share: float) -> float:
        return float(score[min(np.searchsorted(reached, share * reached[-1]), score.size - 1)])

    if at(0.5) < 0.5:
        low, high = _decade(min(max(at(_RARE), tiny), at(0.1))), most
        high = round_up(most) if most < _HALF else 1 - _decade(max(1 - most, tiny))
    else:
        high = 1 - _decade(min(max(1 - at(1 - _RARE), tiny), 1 - at(0.9)))
        low = 1 - round_up(1 - least) if least > 1 - _HALF else _decade(max(least, tiny))
    ticks = np.concatenate([_DECADES, [0.5], 1 - _DECADES[::-1]])
    ticks = ticks[(ticks >= low * 0.999) & (1 - ticks >= (1 - high) * 0.999)]
    return _axes("logit", cells, low, high, ticks[:: -(-ticks.size // 6)].tolist())


def _decade(value: float) -> float:
    return float(10.0 ** max(-12, math.floor(math.log10(min(value, 0.1)) + 1e-9)))


def _axes(scale: str, sums: Cells | Bins, low: float, high: float, ticks: list[float]) -> Axes:
    edges = np.linspace(low, high, _BARS + 1)
    if scale == "logit":
        first, last = (math.log(end / (1 - end)) for end in (low, high))
        edges = 1 / (1 + np.exp(-np.linspace(first, last, _BARS + 1)))
    return Axes(scale, low, high, tuple(ticks), tuple(map(percent_tick, ticks)), _histogram(sums, edges))


def _histogram(sums: Cells | Bins, edges: Floats) -> tuple[float, ...]:
    """Weight per bar; that of a bin is spread evenly over its width. The outer bars include the scores beyond."""
    edges = np.concatenate([[0.0], edges[1:-1], [1.0]])
    if isinstance(sums, Bins):
        reached = np.concatenate([[0.0], np.cumsum(sums.weight, dtype=np.float64)])
        heights = np.diff(np.interp(edges, sums.edges, reached))
    else:
        heights = np.histogram(sums.score, bins=edges, weights=sums.weight)[0].astype(np.float64)
    return tuple(np.round(heights, 6).tolist())

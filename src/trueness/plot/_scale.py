"""Which axes show the scores at hand, and how these are spread along them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._tally.cells import segment_sums
from trueness.errors import InputError
from trueness.results import Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trueness._tally.cells import Cells
    from trueness.plot._canvas import Scale
    from trueness.plot._models import Problem
    from trueness.typing import Floats

__all__ = ["edges_of", "histogram_of", "scale_of"]

_BARS = 50
_RARE = 0.02


def scale_of(found: list[Problem], asked: Any) -> Scale:
    """The scale that was asked for; 'auto' is logarithmic where linear axes would show a single point."""
    if asked not in ("auto", "linear", "log", "logit"):
        raise InputError("scale", "must be 'auto', 'linear', 'log' or 'logit'", f"got {asked!r}")
    if asked != "auto":
        given: Scale = asked
        return given
    cells = [problem.cells for problem in found if problem.cells.size]
    total = sum(float(c.weight.sum()) for c in cells)
    rate = sum(float(c.events.sum()) for c in cells) / total
    if _share(cells, 0.0, 1.0, total) < 0.5 or _RARE < rate < 1 - _RARE:
        return "linear"
    if rate <= _RARE and _share(cells, -1.0, 0.1, total) >= 0.9:
        return "log" if _share(cells, 0.5, 2.0, total) < 0.001 else "logit"
    return "logit" if rate >= 1 - _RARE and _share(cells, 0.9, 2.0, total) >= 0.9 else "linear"


def _share(cells: list[Cells], low: float, high: float, total: float) -> float:
    """Share of the weight whose scores lie strictly between."""
    inside = 0.0
    for c in cells:
        first, last = np.searchsorted(c.score, low, side="right"), np.searchsorted(c.score, high, side="left")
        inside += float(c.weight[first:last].sum())
    return inside / total


def edges_of(found: list[Problem], scale: Scale, points: Sequence[Floats] = ()) -> Floats:
    """Edges of the bars of a histogram, the first and the last of which are the ends of the axes.

    On a scale without 0 or 1 the first and last bar hold what lies beyond. `points` are to lie inside.
    """
    if scale == "linear":
        return np.arange(_BARS + 1) / _BARS
    ends = np.array([e for e in (_ends(problem.cells) for problem in found) if e is not None] or [(0.1, 0.1)])
    most = float(np.nanmax(np.concatenate([1 - ends[:, 1], *points])))
    least = _decade(float(ends[:, 0].min()))
    if scale == "log":
        return np.geomspace(least, min(1.0, 10 * _decade(most * 0.999)), _BARS + 1)
    high = _decade(float(ends[:, 1].min()))
    logit = np.linspace(np.log(least / (1 - least)), np.log((1 - high) / high), _BARS + 1)
    return np.asarray(1 / (1 + np.exp(-logit)))


def _ends(cells: Cells) -> tuple[float, float] | None:
    """How near 0 and 1 the axes are to come: to all but a thousandth of the scores between them.

    No nearer than a tenth of a row in all rows, which says nothing of rates, unless a tenth of the scores do.
    """
    inside = (cells.score > 0) & (cells.score < 1)
    if not inside.any():
        return None
    score, total = cells.score[inside], np.cumsum(cells.weight[inside], dtype=float)
    least = 0.1 / max(1, int(cells.count.sum()))

    def at(share: float) -> float:
        return float(score[min(np.searchsorted(total, share * total[-1]), score.size - 1)])

    return min(max(at(0.001), least), at(0.1)), min(max(1 - at(0.999), least), 1 - at(0.9))


def _decade(value: float) -> float:
    return float(10.0 ** np.clip(np.floor(np.log10(max(value, 1e-12))), -12, -1))


def histogram_of(cells: Cells, edges: Floats) -> Histogram:
    """The weight of the scores between edges; the outer bars hold what lies beyond."""
    start = np.searchsorted(cells.score, edges)
    start[0], start[-1] = 0, cells.size
    weight: Any = np.zeros(edges.size - 1, dtype=cells.weight.dtype)
    filled = start[1:] > start[:-1]
    if filled.any():
        weight[filled] = segment_sums(cells.weight, start[:-1][filled])
    return Histogram(edges, weight)

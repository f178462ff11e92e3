"""Venn-Abers prediction: the isotonic fit of a new score, with its label taken as 0 and as 1.

The regression is fitted again with the new row in it. With label 1, a row between two known scores is always pooled
with the upper one, and with label 0 with the lower one: no mean can be above 1 or below 0. So both values are step
functions of the score, with steps at known scores only.
"""

from typing import NamedTuple

import numpy as np

from trueness import _kernels
from trueness._numerics.steps import on_common_edges
from trueness.typing import Floats, Ints, Numbers

MOST_WEIGHT = 2.0**60
"""Weights must sum to less, so that weight 1, the weight of the new row, is not lost beside them."""


class Pair(NamedTuple):
    """Two step functions with the same edges: each value holds from an edge (included) up to the next one."""

    edges: Floats
    """Ascending, of shape (k,)."""
    p0: Floats
    """Values with label 0, of shape (k + 1,); they never fall."""
    p1: Floats
    """Values with label 1, of shape (k + 1,); they never fall, and exceed p0."""


class Corners(NamedTuple):
    """The corners of the cumulative sum diagram, in whole numbers."""

    weight: Ints
    """Zero, and the cumulative weight of the cells: of shape (m + 1,)."""
    events: Ints
    """The same for events."""
    unit: int
    """The weight of the new row, on the same scale."""


def corners(weight: Numbers, events: Numbers) -> Corners:
    """The diagram of cells in ascending order of score, from the weight of their rows and of their events.

    Exact for whole numbers. Other weights are rounded first, to 2⁻⁶⁰ of their sum plus one. The new row has weight 1.

    >>> diagram = corners(np.array([1, 2]), np.array([0, 1]))
    >>> diagram.weight.tolist(), diagram.events.tolist(), diagram.unit
    ([0, 1, 3], [0, 0, 1], 1)
    """
    if weight.dtype.kind == "i":
        return Corners(_cumulative(weight), _cumulative(events), 1)
    total = float(weight.sum()) + 1
    assert total <= MOST_WEIGHT
    shift = 61 - int(np.frexp(total)[1])  # total·2^shift < 2⁶¹; scaling by a power of two rounds nothing
    # Rounded separately, so that no cell can have more events than weight.
    others, ones = (_cumulative(np.rint(np.ldexp(x, shift))) for x in (np.maximum(weight - events, 0), events))
    return Corners(others + ones, ones, 1 << shift)


def venn_abers(score: Floats, diagram: Corners) -> Pair:
    """Both values as functions of the score, for strictly ascending known scores and the diagram of their cells.

    >>> pair = venn_abers(np.array([0.3, 0.7]), corners(np.array([1, 1]), np.array([0, 1])))
    >>> pair.p0.tolist(), pair.p1.tolist()
    ([0.0, 0.0, 0.5], [0.5, 1.0, 1.0])
    """
    W, E, unit = diagram
    with_event, without = _kernels.venn_abers(W, E, unit)
    first0, p0 = _without_event(W, E, unit, *without)
    first, left, right = with_event
    # In whole numbers the quotients never fall; only the conversion of sums above 2⁵³ may make them.
    first1, p1 = first - 1, np.maximum.accumulate((E[right] - E[left] + unit) / (W[right] - W[left] + unit))
    # p0 takes a value at a known score, and p1 just above the score before it.
    edges0, p0 = score[first0], np.concatenate([[0.0], p0])
    edges1, p1 = np.nextafter(score[np.append(first1[1:], score.size) - 1], 2.0), np.append(p1, 1.0)
    edges, (low, high) = on_common_edges([edges0, edges1], [p0, p1])
    steps = (np.diff(low) > 0) | (np.diff(high) > 0)
    steps &= edges <= 1  # nothing is above a score of 1
    kept = np.append(True, steps)
    return Pair(edges[steps], low[kept], high[kept])


def _cumulative(parts: Numbers) -> Ints:
    """Zero, and the cumulative sums."""
    sums = np.zeros(parts.size + 1, np.int64)
    np.cumsum(parts.astype(np.int64, copy=False), out=sums[1:])
    return sums


def _without_event(W: Ints, E: Ints, unit: int, first: Ints, left: Ints, right: Ints) -> tuple[Ints, Floats]:
    """The cells at which the fit takes a new value, and these values; in the mirror, runs begin where they end here."""
    m = W.size - 1
    left, right = m - right[::-1], m - left[::-1]
    values = np.maximum.accumulate((E[right] - E[left]) / (W[right] - W[left] + unit))
    return (m + 1 - np.append(first[1:], m + 1))[::-1], values

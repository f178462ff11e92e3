"""Functions of a score that are constant, or linear, between sorted points.

And those of Venn-Abers prediction.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness.typing import Floats, Ints, Numbers


def ranks(edges: Floats, p: NDArray[Any]) -> Ints:
    """The number of edges at most each score: a fast ``np.searchsorted(edges, p, "right")``."""
    status, out = _kernels.ranks(edges, _contiguous(p))
    assert status == 0, "scores were checked before"
    return out


def steps(edges: Floats, values: Floats, p: NDArray[Any]) -> Floats:
    """A step function at each score.

    It is values[0] below edges[0], values[j] from edges[j − 1] up to the next edge.
    """
    status, out = _kernels.steps(edges, values, _contiguous(p))
    assert status == 0, "scores were checked before"
    return out


def _contiguous(p: NDArray[Any]) -> NDArray[Any]:
    return np.require(
        p, dtype=np.float32 if p.dtype == np.float32 else np.float64, requirements=["C", "A"]
    )


def interpolate(x: Floats, y: Floats, p: NDArray[Any]) -> Floats:
    """Linear interpolation at each score, constant outside the points.

    X is strictly ascending, y does not fall.

    Unlike `np.interp`, whatever the rounding, the result never falls as the score grows, nor leaves
    the range of y.
    """
    start = np.concatenate([[0.0], x])
    width = np.concatenate([[1.0], np.diff(x), [1.0]])
    base = np.concatenate([y[:1], y])
    top = np.concatenate([y, y[-1:]])
    rise = top - base
    step = ranks(x, p)
    out = base[step]
    # Few, where most points come in pairs of equal height.
    rising = np.flatnonzero((rise > 0)[step])
    step = step[rising]
    # The fraction comes first: a slope would overflow where neighbours are closer than 1e-308.
    fraction = (p[rising] - start[step]) / width[step]
    out[rising] = np.minimum(base[step] + fraction * rise[step], top[step])
    return out


def on_common_edges(edges: Sequence[Floats], values: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Several step functions on the ascending union of their edges, with a row of values each.

    >>> late = np.array([0.5]), np.array([1.0, 2.0])
    >>> early = np.array([0.2]), np.array([3.0, 4.0])
    >>> edges, values = on_common_edges(*zip(late, early))
    >>> edges.tolist(), values.tolist()
    ([0.2, 0.5], [[1.0, 1.0, 2.0], [3.0, 4.0, 4.0]])
    """
    # A stable sort merges what is sorted already.
    union = np.sort(np.concatenate(edges), kind="stable")
    union = union[np.diff(union, prepend=-1.0) > 0]
    out = np.empty((len(edges), union.size + 1))
    for row, row_edges, levels in zip(out, edges, values, strict=True):
        row[0] = levels[0]
        row[1:] = levels[np.searchsorted(row_edges, union, "right")]
    return union, out


MOST_WEIGHT = 2.0**60
"""Weights must sum to less, so that weight 1, the weight of the new row, is not lost beside
them."""


class Pair(NamedTuple):
    """Two step functions with the same edges.

    Each value holds from an edge (included) up to the next one.
    """

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
    """The diagram of cells in ascending order of score, from the weights of rows and events.

    Exact for whole numbers. Other weights are rounded first, to 2⁻⁶⁰ of their sum plus one. The new
    row has weight 1.
    """
    if weight.dtype.kind == "i":
        return Corners(_cumulative(weight), _cumulative(events), 1)
    total = float(weight.sum()) + 1
    assert total <= MOST_WEIGHT
    # total·2^shift < 2⁶¹; scaling by a power of two rounds nothing.
    shift = 61 - int(np.frexp(total)[1])
    # Rounded separately, so that no cell can have more events than weight.
    non_events, ones = (
        _cumulative(np.rint(np.ldexp(x, shift))) for x in (np.maximum(weight - events, 0), events)
    )
    return Corners(non_events + ones, ones, 1 << shift)


def venn_abers(score: Floats, diagram: Corners) -> Pair:
    """Both values as functions of the score.

    The known scores are strictly ascending; the diagram is that of their cells.
    """
    W, E, unit = diagram
    with_event, without = _kernels.venn_abers(W, E, unit)
    first0, p0 = _without_event(W, E, unit, *without)
    first, left, right = with_event
    # In whole numbers the quotients never fall; only the conversion of sums above 2⁵³ may make
    # them.
    first1 = first - 1
    p1 = np.maximum.accumulate((E[right] - E[left] + unit) / (W[right] - W[left] + unit))
    # p0 takes a value at a known score, and p1 just above the score before it.
    edges0 = score[first0]
    p0 = np.concatenate([[0.0], p0])
    edges1 = np.nextafter(score[np.append(first1[1:], score.size) - 1], 2.0)
    p1 = np.append(p1, 1.0)
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


def _without_event(
    W: Ints, E: Ints, unit: int, first: Ints, left: Ints, right: Ints
) -> tuple[Ints, Floats]:
    """The cells at which the fit takes a new value, and these values.

    In the mirror, runs begin where they end here.
    """
    m = W.size - 1
    left, right = m - right[::-1], m - left[::-1]
    values = np.maximum.accumulate((E[right] - E[left]) / (W[right] - W[left] + unit))
    return (m + 1 - np.append(first[1:], m + 1))[::-1], values

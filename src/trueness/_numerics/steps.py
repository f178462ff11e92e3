"""Functions of a score in [0, 1] that are constant, or linear, between sorted points."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness.typing import Floats, Ints


def ranks(edges: Floats, p: NDArray[Any]) -> Ints:
    """How many of the ascending edges are at most each score: ``np.searchsorted(edges, p, "right")``, but faster.

    >>> ranks(np.array([0.2, 0.5]), np.array([0.1, 0.2, 0.9])).tolist()
    [0, 1, 2]
    """
    status, out = _kernels.ranks(edges, _contiguous(p))
    assert status == 0, "scores were checked before"
    return out


def steps(edges: Floats, values: Floats, p: NDArray[Any]) -> Floats:
    """A step function at each score: values[0] below edges[0], values[j] from edges[j − 1] up to the next edge.

    >>> steps(np.array([0.5]), np.array([0.1, 0.8]), np.array([0.49, 0.5, 1.0])).tolist()
    [0.1, 0.8, 0.8]
    """
    status, out = _kernels.steps(edges, values, _contiguous(p))
    assert status == 0, "scores were checked before"
    return out


def _contiguous(p: NDArray[Any]) -> NDArray[Any]:
    return np.require(p, dtype=np.float32 if p.dtype == np.float32 else np.float64, requirements=["C", "A"])


def interpolate(x: Floats, y: Floats, p: NDArray[Any]) -> Floats:
    """Linear interpolation at each score, constant outside the points; x is strictly ascending, y does not fall.

    Unlike `np.interp`, whatever the rounding, the result never falls as the score grows, nor leaves the range of y.

    >>> interpolate(np.array([0.25, 0.75]), np.array([0.0, 1.0]), np.array([0.1, 0.5, 0.75, 0.9])).tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    start, width = np.concatenate([[0.0], x]), np.concatenate([[1.0], np.diff(x), [1.0]])
    base, top = np.concatenate([y[:1], y]), np.concatenate([y, y[-1:]])
    rise = top - base
    at = ranks(x, p)
    out = base[at]
    rising = np.flatnonzero((rise > 0)[at])  # few, where most points come in pairs of equal height
    at = at[rising]
    # The fraction comes first: a slope would overflow where neighbours are closer than 1e-308.
    fraction = (p[rising] - start[at]) / width[at]
    out[rising] = np.minimum(base[at] + fraction * rise[at], top[at])
    return out


def on_common_edges(edges: Sequence[Floats], values: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Several step functions on the union of their edges: that union, ascending, and one row of values per function.

    >>> late, early = (np.array([0.5]), np.array([1.0, 2.0])), (np.array([0.2]), np.array([3.0, 4.0]))
    >>> edges, values = on_common_edges(*zip(late, early))
    >>> edges.tolist(), values.tolist()
    ([0.2, 0.5], [[1.0, 1.0, 2.0], [3.0, 4.0, 4.0]])
    """
    # A stable sort merges what is sorted already.
    union = np.sort(np.concatenate(edges), kind="stable")
    union = union[np.diff(union, prepend=-1.0) > 0]
    out = np.empty((len(edges), union.size + 1))
    for row, own, levels in zip(out, edges, values, strict=True):
        row[0] = levels[0]
        row[1:] = levels[np.searchsorted(own, union, "right")]
    return union, out

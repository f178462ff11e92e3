"""Functions of a score that are constant, or linear, between sorted points; scores are in [0, 1]."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness.typing import Floats, Ints

__all__ = ["interpolated", "on_common_edges", "ranks", "steps"]


def ranks(edges: Floats, p: NDArray[Any]) -> Ints:
    """How many edges are not above each score.

    Parameters
    ----------
    edges : array of shape (k,)
        Ascending.
    p : array of shape (n,)
        Scores, of any float type.

    Returns
    -------
    array of int64
        From 0 to k: the same as binary search from the right, and several times as fast.

    Examples
    --------
    >>> ranks(np.array([0.2, 0.5]), np.array([0.1, 0.2, 0.9])).tolist()
    [0, 1, 2]
    """
    status, found = _kernels.ranks(_vector(edges), _ready(p))
    assert status == 0, "scores were checked before"
    return found


def steps(edges: Floats, values: Floats, p: NDArray[Any]) -> Floats:
    """A function that takes its next value at each edge.

    Parameters
    ----------
    edges : array of shape (k,)
        Ascending.
    values : array of shape (k + 1,)
        Below the first edge, from each edge up to the next, and from the last edge on.
    p : array of shape (n,)
        Scores.

    Returns
    -------
    array of float64, shape (n,)
        The value at each score.

    Examples
    --------
    >>> steps(np.array([0.5]), np.array([0.1, 0.8]), np.array([0.49, 0.5, 1.0])).tolist()
    [0.1, 0.8, 0.8]
    """
    status, found = _kernels.steps(_vector(edges), values, _ready(p))
    assert status == 0, "scores were checked before"
    return found


def _vector(edges: Floats) -> Floats:
    assert edges.ndim == 1, "edges are a vector; the loop does not look"
    return edges


def _ready(p: NDArray[Any]) -> NDArray[Any]:
    return np.require(p, dtype=np.float32 if p.dtype == np.float32 else np.float64, requirements=["C", "A"])


def interpolated(x: Floats, y: Floats, p: NDArray[Any]) -> Floats:
    """A line from point to point, constant before the first and after the last.

    Parameters
    ----------
    x, y : arrays of shape (k,)
        Points: x ascending strictly, y not falling, k ≥ 1.
    p : array of shape (n,)
        Scores.

    Returns
    -------
    array of float64, shape (n,)
        The value at each score; it never falls as the score grows, nor leaves the range of y, whatever the rounding.

    Examples
    --------
    >>> interpolated(np.array([0.25, 0.75]), np.array([0.0, 1.0]), np.array([0.1, 0.5, 0.75, 0.9])).tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    start, width = np.concatenate([[0.0], x]), np.concatenate([[1.0], np.diff(x), [1.0]])
    base, top = np.concatenate([y[:1], y]), np.concatenate([y, y[-1:]])
    rise = top - base
    at = ranks(x, p)
    found = base[at]
    on_the_way = np.flatnonzero((rise > 0)[at])  # few, where most points come in pairs of equal height
    at = at[on_the_way]
    # The share of the way comes first: a slope would overflow where neighbours are closer than 1e-308.
    share = (p[on_the_way] - start[at]) / width[at]
    found[on_the_way] = np.minimum(base[at] + share * rise[at], top[at])
    return found


def on_common_edges(edges: Sequence[Floats], values: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Several step functions, written with the same edges.

    Parameters
    ----------
    edges, values : sequences of arrays
        Of each function, as for :func:`steps`.

    Returns
    -------
    edges : array of shape (k,)
        Every edge of any of them, ascending.
    values : array of shape (number of functions, k + 1)
        Of each function, below the first edge and from each edge on.

    Examples
    --------
    >>> late, early = (np.array([0.5]), np.array([1.0, 2.0])), (np.array([0.2]), np.array([3.0, 4.0]))
    >>> edges, values = on_common_edges(*zip(late, early))
    >>> edges.tolist(), values.tolist()
    ([0.2, 0.5], [[1.0, 1.0, 2.0], [3.0, 4.0, 4.0]])
    """
    # A stable sort merges what is sorted already.
    every = np.sort(np.concatenate(edges), kind="stable")
    every = every[np.diff(every, prepend=-1.0) > 0]
    found = np.empty((len(edges), every.size + 1))
    for row, own, levels in zip(found, edges, values, strict=True):
        row[0] = levels[0]
        row[1:] = levels[np.searchsorted(own, every, "right")]
    return every, found

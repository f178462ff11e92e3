"""Which step of a step function each score is on, and its value."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.typing import Floats, Ints

__all__ = ["step_values", "steps"]

_GRID = 1 << 10
_MANY = 1 << 13
_BLOCK = 1 << 14


def steps(inner: Floats, p: NDArray[Any]) -> tuple[Ints, Ints]:
    """The number of edges that are at most each score, and the rows that may lie on an edge.

    Parameters
    ----------
    inner : array of float64
        Edges in ascending order, inside [0, 1].
    p : array of float
        Scores in [0, 1].

    Returns
    -------
    place : array of int64
        What ``np.searchsorted(inner, p, side="right")`` gives.
    near : array of int64
        Rows among which are all that equal an edge.

    Examples
    --------
    >>> steps(np.array([0.2, 0.5]), np.array([0.1, 0.2, 0.9]))[0].tolist()
    [0, 1, 2]
    """
    if p.size < _MANY:
        return np.searchsorted(inner, p, side="right"), np.arange(p.size)
    first = _edges_below(inner)
    place = np.where(first[1:] == first[:-1], first[:-1], -1).take(_cells(p), mode="clip")
    near = np.flatnonzero(place < 0)
    place[near] = np.searchsorted(inner, p[near], side="right")
    return place, near


def step_values(inner: Floats, values: Floats, p: NDArray[Any]) -> Floats:
    """The value of the step that each score is on: ``values[searchsorted(inner, p, side="right")]``.

    Examples
    --------
    >>> step_values(np.array([0.2, 0.5]), np.array([0.0, 0.4, 1.0]), np.array([0.1, 0.2, 0.9])).tolist()
    [0.0, 0.4, 1.0]
    """
    if p.size < _MANY:
        return np.asarray(values[np.searchsorted(inner, p, side="right")])
    first = _edges_below(inner)
    table = np.where(first[1:] == first[:-1], values[first[:-1]], np.nan)
    found = np.empty(p.size)
    # In blocks: temporary arrays of all rows would be new memory at each call, which costs more than the look-up.
    for i in range(0, p.size, _BLOCK):
        some, out = p[i : i + _BLOCK], found[i : i + _BLOCK]
        table.take(_cells(some), out=out, mode="clip")
        near = np.flatnonzero(np.isnan(out))
        out[near] = values[np.searchsorted(inner, some[near], side="right")]
    return found


def _edges_below(inner: Floats) -> Ints:
    """How many edges lie below each line of the grid; scores between two lines with equal numbers are on one step."""
    return np.searchsorted(inner, np.arange(_GRID + 2) / _GRID, side="left")


def _cells(p: NDArray[Any]) -> NDArray[np.intp]:
    """The cell of the grid that each score is in: exactly so, because the grid has a power of two cells."""
    return np.asarray(np.multiply(p, _GRID, dtype=np.result_type(p, np.float32)).astype(np.intp))

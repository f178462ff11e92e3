"""Which step of a step function each score is on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.typing import Floats, Ints

__all__ = ["steps"]

_GRID = 1 << 12
_MANY = 1 << 13


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
    # Scores in a cell of the grid without an edge are all on one step. The grid has a power of two cells, so that the
    # product is exact and a score is in no cell but its own.
    first = np.searchsorted(inner, np.arange(_GRID + 2) / _GRID, side="left")
    table = np.where(first[1:] == first[:-1], first[:-1], -1)
    cell = np.multiply(p, _GRID, dtype=np.result_type(p, np.float32)).astype(np.int64)
    place = table.take(cell, mode="clip")  # every cell is there; mode="raise" would be twice as slow
    near = np.flatnonzero(place < 0)
    place[near] = np.searchsorted(inner, p[near], side="right")
    return place, near

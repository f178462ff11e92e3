"""Moments of columns within the cells of a grid, in NumPy."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["grid_moments"]

Floats = NDArray[np.float64]


def grid_moments(p: Floats, columns: Floats, table: Floats) -> None:
    r"""Sum columns, times powers of where a score lies in its cell, over the scores of each cell of a grid.

    Parameters
    ----------
    p : array of float64, shape (m,)
        Scores in [0, 1], in any order.
    columns : array of float64, shape (c, m)
        What each score has; c is at most 4.
    table : array of float64, shape (c, 4, n + 1)
        Added to: [column, power 0 .. 3, cell]. Cell j holds the scores whose position :math:`x = n p + 1/2` has the
        whole part j; the rest of it is what is raised to powers. Scores of one cell that follow each other are added
        in order, and their sum is then added to the table.
    """
    if p.size == 0:
        return
    position = p * (table.shape[-1] - 1) + 0.5
    cell = position.astype(np.int64)
    offset = position - cell
    starts = np.diff(cell, prepend=cell[0]) != 0
    run = np.cumsum(starts)
    of_run = cell[np.concatenate([[True], starts[1:]])]
    for column, sums in zip(columns, table, strict=True):
        term = column
        for power, own in enumerate(sums):
            term = term * offset if power else term
            np.add.at(own, of_run, np.bincount(run, term))

"""Moments of residuals within the cells of a grid in NumPy, as whole numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.reference_losses import row_faults

__all__ = ["cell_residual_moments", "residual_moments"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 16_384


def residual_moments(p: NDArray[np.floating[Any]], y: NDArray[Any], table: Ints, bits: int) -> int:
    r"""Sum residuals, times powers of where a score lies in its cell, over the rows of each cell of a grid.

    Parameters
    ----------
    p : array of float32 or float64, shape (n,)
        Scores.
    y : array of shape (n,)
        Labels 0 or 1.
    table : array of int64, shape (N + 1, 4)
        Added to: [cell, power 0 .. 3]. Cell j holds the scores whose position :math:`x = N p + 1/2` has the whole part
        j; the rest of it is what is raised to powers. Each term is rounded to a multiple of 2⁻ᵇ, b the `bits`.
    bits : int
        At most 50, and such that n·2ᵇ is below 2⁶³.

    Returns
    -------
    int
        Status: BAD_SCORE, BAD_LABEL.
    """
    status = 0
    for i in range(0, p.size, _CHUNK):
        score, label = p[i : i + _CHUNK].astype(np.float64), y[i : i + _CHUNK]
        found = row_faults(score, label)
        status |= found
        if not found:
            _add(score, label.astype(np.float64), np.ones(score.size, np.int64), table, bits)
    return status


def cell_residual_moments(score: Floats, weight: Ints, events: Ints, table: Ints, bits: int) -> None:
    """The sums of :func:`residual_moments` over cells: distinct scores, the weight of their rows and of the events.

    Weights are whole numbers; with W their sum, W·2ᵇ is below 2⁶³.
    """
    for i in range(0, score.size, _CHUNK):
        some = slice(i, i + _CHUNK)
        for label, w in enumerate((weight[some] - events[some], events[some])):
            _add(score[some], np.full(w.size, float(label)), w, table, bits)


def _add(p: Floats, y: Floats, w: Ints, table: Ints, bits: int) -> None:
    position = p * (table.shape[0] - 1) + 0.5
    cell = position.astype(np.int64)
    place = position - cell
    term = y - p
    for power in range(4):
        term = term * place if power else term
        np.add.at(table[:, power], cell, np.rint(term * 2.0**bits).astype(np.int64) * w)

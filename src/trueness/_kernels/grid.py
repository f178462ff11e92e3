r"""A fixed grid of cells over [0, 1], fine near 0 and near 1.

A cell is given by the exponent and the first 7 bits of the mantissa of :math:`\min(p, 1 - p)`, so
that it is never wider than 1/128 of the distance of its scores from the nearer end. From 2⁻³¹ to
1/2 that makes 30 octaves of 128 cells, as many above 1/2; what lies between an end and 2⁻³¹ is one
cell, and 0 and 1 have cells of their own. Cells are closed on the left and open on the right: any
edge with few binary digits is an edge of cells.
"""

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_SHIFT: Final = 52 - 7
_LOWEST: Final = (1022 - 30) << 7
_HALF: Final = 30 * 2**7 + 2
GRID_CELLS: Final = 2 * _HALF  # number of cells; the same number as in grid.h


def cell_of(p: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """The cell of each score in [0, 1], from 0 to GRID_CELLS - 1, ascending with the score.

    >>> cell_of(np.array([0.0, 1e-12, 0.25, 0.5, 1.0])).tolist()
    [0, 1, 3714, 3842, 7683]
    """
    score = np.add(p, 0.0, dtype=np.float64)
    lower = score < 0.5
    tail = np.where(lower, score, 1 - score)  # exact from 1/2 up
    # One unit less in the upper half: what is closed on the left there is closed on the right in 1
    # - p.
    bits = tail.view(np.int64) - ~lower
    step = np.where(tail > 0, np.maximum((bits >> _SHIFT) - (_LOWEST - 2), 1), 0)
    return np.where(lower, step, GRID_CELLS - 1 - step)


@cache
def grid_edges() -> NDArray[np.float64]:
    """The starts of the cells, and the end of the last one; of shape (GRID_CELLS + 1,).

    Cell c holds the scores from ``edges[c]`` up to, not including, ``edges[c + 1]``; the last one
    holds 1 alone.

    >>> bool(np.isin([0.125, 0.25, 0.5, 0.75], grid_edges()).all())
    True
    """
    steps = (np.arange(_HALF - 1) + _LOWEST) << _SHIFT
    tail = steps.view(np.float64)  # 2⁻³¹ … 1/2
    edges = np.concatenate([[0.0, 5e-324], tail, (1 - tail[:-1])[::-1], [1.0, 1.0]])
    edges.flags.writeable = False
    return edges

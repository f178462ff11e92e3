"""The kernel in NumPy that adds up cells; a part of :mod:`trueness._kernels.reference`."""

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.fixed import parts, square_parts

__all__ = ["cell_sums"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A dozen temporary arrays of one chunk stay inside a second-level cache.
_CHUNK = 8_192


def cell_sums(score: Floats, weight: Ints, events: Ints, start: Ints, table: Ints) -> None:
    r"""Sum the cells of each bin, in whole numbers.

    Parameters
    ----------
    score : array of float64, shape (m,)
        Distinct scores in [0, 1], ascending.
    weight, events : arrays of int64, shape (m,)
        Weight of the rows of each score, and of those with label 1.
    start : array of int64, shape (B + 1,)
        Bin b holds the cells from start[b] up to start[b + 1]; together they hold all.
    table : array of int64, shape (B, 2, 5)
        Added to, as by :func:`trueness._kernels.reference.bin_sums` with moments.
    """
    for at in range(0, score.size, _CHUNK):
        few = slice(at, at + _CHUNK)
        pieces = [part.astype(np.int64) for part in (*parts(score[few]), *square_parts(score[few]))]
        own = np.clip(start, at, min(at + _CHUNK, score.size)) - at
        filled = np.flatnonzero(own[1:] > own[:-1])
        for label, n in enumerate((weight[few] - events[few], events[few])):
            for column, terms in enumerate((n, *(n * piece for piece in pieces))):
                table[filled, label, column] += np.add.reduceat(terms, own[filled])

r"""Softmax of a matrix of logits, without a matrix of probabilities where that can be.

One pass over the logits finds the largest one of each row, m, and the total :math:`\sum_j e^{z_j - m}`. The largest
probability is one over the total; any other is :math:`e^{z_j - m}` over it, computed a few at a time when it is needed.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._tally.blocks import as_float, blocks
from trueness.typing import Floats, Ints

__all__ = ["Softmax", "columns_of", "row_blocks", "softmax_of", "with_probabilities"]

_ENTRIES = 1 << 18  # 2 MB of probabilities; two blocks may exist at a time
_FEWEST_COLUMNS = 4  # a cache line that is read for one column should serve some more


class Softmax(NamedTuple):
    """What one pass over the logits finds in each row."""

    top: Floats
    """The largest logit."""
    total: Floats
    """The sum of the powers of e of all differences from it."""
    predicted: Ints
    """Where the largest probability stands, the first if tied."""
    correct: NDArray[np.uint8]
    """Whether that class came."""

    def fill(self, logits: NDArray[Any], rows: slice, out: Floats) -> Floats:
        """The probabilities of some rows, or of some of their columns."""
        _kernels.softmax(as_float(logits), self.top[rows], self.total[rows], out)
        return out


def softmax_of(sample: Sample) -> Softmax:
    """Every logit is checked here."""
    status, pieces = 0, []
    for rows, Z in blocks(sample.p):
        found, *columns = _kernels.logit_tops(Z, sample.y[rows])
        status |= found
        pieces.append(columns)
    if status:
        sample.explain()
    if len(pieces) == 1:
        return Softmax(*pieces[0])  # type: ignore[arg-type]  # in their order
    return Softmax(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


def columns_of(sample: Sample, softmax: Softmax) -> Iterator[Floats]:
    """The probabilities of each class, of a few classes at a time."""
    n, k = sample.p.shape
    step = max(_FEWEST_COLUMNS, _ENTRIES // max(1, n))
    for j in range(0, k, step):
        few = sample.p[:, j : j + step]
        yield from softmax.fill(few, slice(0, n), np.empty(few.shape)).T


def row_blocks(sample: Sample, softmax: Softmax) -> Iterator[tuple[slice, Floats]]:
    """The probabilities of all classes, of a few rows at a time; each block takes the place of the last."""
    n, k = sample.p.shape
    step = max(1, _ENTRIES // k)
    room = np.empty((min(n, step), k))
    for i in range(0, n, step):
        few = sample.p[i : i + step]
        yield slice(i, i + step), softmax.fill(few, slice(i, i + step), room[: few.shape[0]])


def with_probabilities(sample: Sample) -> Sample:
    """The sample with a matrix of probabilities in place of logits, for whatever needs it whole."""
    softmax = softmax_of(sample)
    P = np.empty(sample.p.shape)
    for rows, Z in blocks(sample.p):
        softmax.fill(Z, rows, P[rows])
    return Sample(sample.y, P, sample.w, sample.classes, sample.tolerance, sample.rows, sample.dropped)

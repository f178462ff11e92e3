"""Logarithmic losses, summed in whole numbers so that the order of the rows does not matter."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness.typing import Floats, Numbers

# Whole weights up to this sum have exact sums of losses.
_MOST_EXACT = 2**38
# Losses are summed in units of 2⁻⁶². Of a mean below 2⁻²⁰ they would leave too few digits.
_BITS, _FEWEST_BITS = 62, 42
# Cells whose temporaries stay in the processor's cache, and whose products are not worth a second thread to BLAS.
_BLOCK = 2**13


class Predictions(NamedTuple):
    """Scores, the weight of their rows and of the events; a weight of None means rows with labels, in any order."""

    score: NDArray[Any]
    weight: Numbers | None
    events: NDArray[Any]

    def of_events(self) -> "Predictions":
        """The events alone."""
        if self.weight is not None:
            return Predictions(self.score, self.events, self.events)
        chosen = self.events == 1
        return Predictions(self.score[chosen], None, self.events[chosen])

    def cells(self) -> "Predictions":
        """One entry per distinct score, ascending."""
        if self.weight is not None:
            return self
        _, score, count, events = _kernels.cells(self.score, self.events)
        return Predictions(score, count, events)


def mean_log_loss(parts: Sequence[Predictions], total: float) -> float:
    """The sum of −log(predicted probability of the label) over all rows of all parts, divided by `total`.

    Cells must be in ascending order of score. The mean is accurate to 1e-13 of its value, and inf if a label had
    probability 0. Without weights, or with whole ones, it does not depend on the order of the rows.

    >>> rows = Predictions(np.array([0.5, 0.25]), None, np.array([0, 1]))
    >>> cells = Predictions(np.array([0.25, 0.5]), np.array([1, 1]), np.array([1, 0]))
    >>> mean_log_loss([rows], 2) == mean_log_loss([cells], 2) == 1.5 * math.log(2)
    True
    """
    if all(_exact(part) for part in parts):
        sums = [_whole_sums(part) for part in parts]
        if any(infinite for *_, infinite in sums):
            return math.inf
        units = sum((a << 48) + (b << 24) + c for a, b, c, _ in sums)
        if units >= int(total) << _FEWEST_BITS:
            return units / (int(total) << _BITS)
    return sum(_weighted(part.cells()) for part in parts) / total


def _exact(part: Predictions) -> bool:
    return part.weight is None or (part.weight.dtype.kind == "i" and int(part.weight.sum()) <= _MOST_EXACT)


def _whole_sums(part: Predictions) -> list[int]:
    if part.weight is None:
        return list(_kernels.loss_sums(part.score, part.events)[1].tolist())
    score, weight, events = map(np.ascontiguousarray, part)
    return list(_kernels.cell_loss_sums(score, weight, events).tolist())


def _weighted(part: Predictions) -> float:
    assert part.weight is not None
    others = _surprise(part.weight - part.events, part.score, complement=True)
    return _surprise(part.events, part.score) + others


def _surprise(weight: Numbers, p: Floats, *, complement: bool = False) -> float:
    """Σ −w log p over w > 0, or Σ −w log(1 − p), of ascending p."""
    first, last = (0, int(np.searchsorted(p, 1.0))) if complement else (int(np.searchsorted(p, 0.0, "right")), p.size)
    if weight[:first].any() or weight[last:].any():
        return math.inf
    total = 0.0
    for i in range(first, last, _BLOCK):
        some = slice(i, min(i + _BLOCK, last))
        logs = np.log1p(-p[some]) if complement else np.log(p[some])
        total -= float(weight[some].astype(np.float64, copy=False) @ logs)
    return total + 0.0

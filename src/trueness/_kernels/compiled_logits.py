"""The kernels in C for logits; a part of :mod:`trueness._kernels.compiled`."""

from ctypes import c_double, c_int64

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.library import bind, call, every_fault, in_threads, shares, workers
from trueness._kernels.reference import Floats, Ints, Scores

__all__ = ["logit_tops", "softmax", "softmax_derivatives"]

_softmax_derivatives = bind("softmax_derivatives", 4, c_int64, c_int64, c_double)
_logit_tops = bind("logit_tops", 6, c_int64, c_int64)
_softmax = bind("softmax", 4, c_int64, c_int64)


def softmax_derivatives(Z: Scores, y: Ints, w: Floats, beta: float) -> tuple[int, Floats]:
    """See :func:`trueness._kernels.reference.softmax_derivatives`."""
    rows = shares(Z.shape[0], workers(Z.size))
    sums = np.zeros((len(rows), 5))

    def work(i: int) -> int:
        return int(call(_softmax_derivatives, (Z, y, w, sums[i]), *rows[i], beta))

    return every_fault(in_threads(work, len(rows))), sums.sum(axis=0)


def logit_tops(Z: Scores, y: Ints) -> tuple[int, Floats, Floats, Ints, NDArray[np.uint8]]:
    """See :func:`trueness._kernels.reference.logit_tops`."""
    n = Z.shape[0]
    top, total = np.empty(n), np.empty(n)
    predicted, correct = np.empty(n, np.int64), np.empty(n, np.uint8)
    rows = shares(n, workers(Z.size))

    def work(i: int) -> int:
        return int(call(_logit_tops, (Z, y, top, total, predicted, correct), *rows[i]))

    return every_fault(in_threads(work, len(rows))), top, total, predicted, correct


def softmax(Z: Scores, top: Floats, total: Floats, P: Floats) -> None:
    """See :func:`trueness._kernels.reference.softmax`."""
    rows = shares(Z.shape[0], workers(Z.size))
    in_threads(lambda i: call(_softmax, (Z, top, total, P), *rows[i]), len(rows))

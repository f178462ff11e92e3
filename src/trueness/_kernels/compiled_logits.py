"""The kernels in C for logits and log losses; a part of :mod:`trueness._kernels.compiled`."""

from ctypes import c_double, c_int64

import numpy as np
from numpy.typing import NDArray

from trueness._kernels import reference
from trueness._kernels.library import bind, call, every_fault, in_threads, shares, workers
from trueness._kernels.reference import Floats, Ints, Labels, Scores

__all__ = [
    "cell_line_sums",
    "cell_loss_sums",
    "line_sums",
    "logit_tops",
    "logits",
    "loss_sums",
    "placement_sums",
    "row_line_sums",
    "softmax",
    "softmax_derivatives",
]

_softmax_derivatives = bind("softmax_derivatives", 4, c_int64, c_int64, c_double)
_logit_tops = bind("logit_tops", 6, c_int64, c_int64)
_softmax = bind("softmax", 4, c_int64, c_int64)


def softmax_derivatives(Z: Scores, y: Ints, w: Floats, beta: float) -> tuple[int, Floats]:
    """See :func:`trueness._kernels.reference.softmax_derivatives`."""
    if _softmax_derivatives is None:
        return reference.softmax_derivatives(Z, y, w, beta)
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


_line_sums = bind("line_sums", 4, c_double, c_double, c_double)
_placement_sums = bind("placement_sums", 3, c_double, c_double, c_double)


def line_sums(
    x: Floats, weight: Floats | Ints, events: Floats | Ints, slope: float, intercept: float, centre: float
) -> Floats:
    """See :func:`trueness._kernels.reference_logistic.line_sums`."""
    if _line_sums is None:
        return reference.line_sums(x, weight, events, slope, intercept, centre)
    sums = np.zeros(5)
    call(_line_sums, (x, weight, events, sums), slope, intercept, centre)
    return sums


def placement_sums(weight: Floats | Ints, events: Floats | Ints, total: float, rest: float, area: float) -> Floats:
    """See :func:`trueness._kernels.reference_logistic.placement_sums`."""
    if _placement_sums is None:
        return reference.placement_sums(weight, events, total, rest, area)
    sums = np.zeros(3)
    call(_placement_sums, (weight, events, sums), total, rest, area)
    return sums


_loss_sums = bind("loss_sums", 3, c_int64, c_int64)
_cell_loss_sums = bind("cell_loss_sums", 4)


def loss_sums(p: Scores, y: Labels) -> tuple[int, Ints]:
    """See :func:`trueness._kernels.reference_losses.loss_sums`."""
    if _loss_sums is None:
        return reference.loss_sums(p, y)
    rows = shares(p.size, workers(p.size))
    sums = np.zeros((len(rows), 4), np.int64)

    def work(i: int) -> int:
        return int(call(_loss_sums, (p, y, sums[i]), *rows[i]))

    return every_fault(in_threads(work, len(rows))), sums.sum(axis=0)


def cell_loss_sums(score: Floats, weight: Ints, events: Ints) -> Ints:
    """See :func:`trueness._kernels.reference_losses.cell_loss_sums`."""
    if _cell_loss_sums is None:
        return reference.cell_loss_sums(score, weight, events)
    sums = np.zeros(4, np.int64)
    call(_cell_loss_sums, (score, weight, events, sums))
    return sums


_logits = bind("logits", 2, c_int64, c_int64)
_row_line_sums = bind("row_line_sums", 3, c_int64, c_int64, c_double, c_double, c_double)
_cell_line_sums = bind("cell_line_sums", 4, c_double, c_double, c_double)


def logits(p: Scores) -> Floats:
    """See :func:`trueness._kernels.reference_lines.logits`."""
    if _logits is None:
        return reference.logits(p)
    rows, found = shares(p.size, workers(p.size)), np.empty(p.size)
    in_threads(lambda i: call(_logits, (p, found), *rows[i]), len(rows))
    return found


def row_line_sums(x: Floats, y: Labels, slope: float, intercept: float, centre: float) -> Ints:
    """See :func:`trueness._kernels.reference_lines.row_line_sums`."""
    if _row_line_sums is None:
        return reference.row_line_sums(x, y, slope, intercept, centre)
    rows = shares(x.size, workers(x.size))
    sums = np.zeros((len(rows), 5, 2), np.int64)
    in_threads(lambda i: call(_row_line_sums, (x, y, sums[i]), *rows[i], slope, intercept, centre), len(rows))
    return np.asarray(sums.sum(axis=0))


def cell_line_sums(x: Floats, weight: Ints, events: Ints, slope: float, intercept: float, centre: float) -> Ints:
    """See :func:`trueness._kernels.reference_lines.cell_line_sums`."""
    if _cell_line_sums is None:
        return reference.cell_line_sums(x, weight, events, slope, intercept, centre)
    sums = np.zeros((5, 2), np.int64)
    call(_cell_line_sums, (x, weight, events, sums), slope, intercept, centre)
    return sums

"""The kernels in NumPy that apply softmax to logits; a part of :mod:`trueness._kernels.reference`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.library import BAD_LABEL, BAD_SCORE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.floating[Any]]

# A dozen temporary arrays of one chunk stay inside a second-level cache.
_CHUNK = 8_192
_LEAST = -746.0  # e^t rounds to 0 below it
_LANES, _TILE = 16, 1_024
# 1/12!, 1/11!, …, 1/0!
_TAYLOR = [1 / f for f in (479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1)]
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
# ln 2 in two parts; products of the first with whole numbers up to 2²⁰ are exact.
_LN2, _LN2_REST = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")


def logit_tops(Z: Scores, y: Ints) -> tuple[int, Floats, Floats, Ints, NDArray[np.uint8]]:
    r"""The maximum and total of each row for softmax, the predicted class, and whether it was right.

    `Z`, of shape (n, K), holds logits, of which -inf is one unless all of a row are; `y` class codes 0 .. K−1. Returns
    the status (BAD_SCORE for a nan, a +inf or a row of -inf alone; BAD_LABEL), the largest logit m of the row,
    Σ exp(z − m), at least 1 (the largest probability is one over it), the smallest index that attains it, and whether
    that is y.
    """
    n, n_classes = Z.shape
    top, total = np.empty(n), np.empty(n)
    predicted = np.zeros(n, np.int64)
    status = BAD_LABEL if y.size and (y.min() < 0 or y.max() >= n_classes) else 0
    step = max(1, _CHUNK // n_classes)
    for rows in (slice(i, i + step) for i in range(0, n, step)):
        top[rows] = Z[rows].max(axis=1)
        powers = _powers(Z[rows], top[rows])
        total[rows] = _row_sums(powers)
        if np.isnan(total[rows]).any():
            status |= BAD_SCORE
            continue
        predicted[rows] = (powers / total[rows, None]).argmax(axis=1)
    return status, top, total, predicted, (predicted == y).astype(np.uint8)


def softmax(Z: Scores, top: Floats, total: Floats, P: Floats) -> None:
    """Fill `P` with the probabilities exp(z − top) / total of logits, perhaps of some columns only.

    `top` and `total` are those of :func:`logit_tops` for all columns.
    """
    step = max(1, _CHUNK // Z.shape[1])
    for rows in (slice(i, i + step) for i in range(0, Z.shape[0], step)):
        P[rows] = _powers(Z[rows], top[rows]) / total[rows, None]


def _powers(Z: Scores, top: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return _exp(np.subtract(Z, top[:, None], dtype=np.float64))


def _exp(t: Floats) -> Floats:
    """e^t for t ≤ 0, by exactly the operations of the compiled kernel: NumPy's own differs between machines."""
    t = np.where(t < _LEAST, _LEAST, t)
    n = np.rint(t * _PER_LN2)
    r = (t - n * _LN2) - n * _LN2_REST
    q = np.full_like(r, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        q *= r
        q += coefficient
    return np.asarray(np.ldexp(q, np.nan_to_num(n).astype(np.intc)))


def _row_sums(powers: Floats) -> Floats:
    """Entries are added to 16 lanes, in turn; the lanes of 1,024 entries to those of all; then half to half."""
    n, n_classes = powers.shape
    lanes = np.zeros((n, _LANES))
    for start in range(0, n_classes, _TILE):
        part = np.zeros((n, _LANES))
        for i in range(start, min(start + _TILE, n_classes), _LANES):
            few = powers[:, i : min(i + _LANES, n_classes)]
            part[:, : few.shape[1]] += few
        lanes += part
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def softmax_derivatives(Z: Scores, y: Ints, w: Floats, beta: float) -> tuple[int, Floats]:
    r"""Log loss of softmax(β z) and its derivatives in β, summed over rows.

    Logits are finite; their differences and the squares of these must not overflow. `w` has a weight per row, or none
    at all. Returns the status (BAD_LABEL) and Σ w (log Σ_j exp(β z_j) − β z_y), Σ w (m − z_y), Σ w v, Σ w s, Σ w q,
    with the mean m and the central moments v, s, q of orders 2, 3 and 4 of a row's logits under its softmax. The first
    four are the loss and its derivatives; the fourth derivative lies between −2 Σ w q and Σ w q. The last two need not
    be finite if cubes or fourth powers of differences overflow. The compiled sums may differ from these by 1e-12 of the
    sum of the terms' magnitudes.
    """
    n, n_classes = Z.shape
    sums = np.zeros(5)
    if ((y < 0) | (y >= n_classes)).any():
        return BAD_LABEL, sums
    step = max(1, _CHUNK // max(1, n_classes))
    for rows in (slice(i, i + step) for i in range(0, n, step)):
        difference = Z[rows].astype(np.float64)
        difference -= difference.max(axis=1, keepdims=True)
        power = np.exp(beta * difference)
        total = power.sum(axis=1)
        mean = (difference * power).sum(axis=1) / total
        own = difference[np.arange(total.size), y[rows]]
        terms = [np.log(total) - beta * own, mean - own]
        difference -= mean[:, None]
        power /= total[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            power *= difference
            for _ in 2, 3, 4:
                power *= difference
                terms.append(power.sum(axis=1))
            sums += [np.sum(term if w.size == 0 else w[rows] * term) for term in terms]
    return 0, sums

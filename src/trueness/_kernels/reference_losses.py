"""Sums of logarithmic losses in NumPy, the same in any order and partition of the rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.library import BAD_LABEL, BAD_SCORE

__all__ = ["cell_loss_sums", "loss_sums", "minus_log"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 16_384
# Coefficients of FreeBSD's e_log.c: even and odd powers of s², and the logarithm of 2 in two parts.
_EVEN = tuple(map(float.fromhex, ("0x1.999999997fa04p-2", "0x1.c71c51d8e78afp-3", "0x1.39a09d078c69fp-3")))
_ODD = tuple(
    map(
        float.fromhex,
        ("0x1.5555555555593p-1", "0x1.2492494229359p-2", "0x1.7466496cb03dep-3", "0x1.2f112df3e5244p-3"),
    )
)
_LOG_2, _LOG_2_REST = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
_ROOT, _ONE = np.int64(0x3FE6A09E667F3BCD), np.int64(0x3FF0000000000000)  # √½ and 1, as bits
_MANTISSA = np.int64(0xFFFFFFFFFFFFF)


def loss_sums(p: NDArray[np.floating[Any]], y: NDArray[Any]) -> tuple[int, Ints]:
    r"""Sum −log of the predicted probability of each label, in whole numbers.

    Parameters
    ----------
    p : array of float32 or float64, shape (n,)
        Scores.
    y : array of shape (n,)
        Labels 0 or 1.

    Returns
    -------
    status : int
        BAD_SCORE, BAD_LABEL.
    sums : array of int64, shape (4,)
        The sum is sums[0]·2⁻¹⁴ + sums[1]·2⁻³⁸ + sums[2]·2⁻⁶² over the rows with a finite loss; sums[3] counts the
        others. Each loss is off by less than one unit in its last place and 2⁻⁶².
    """
    status, sums = 0, np.zeros(4, np.int64)
    for i in range(0, p.size, _CHUNK):
        score, label = p[i : i + _CHUNK].astype(np.float64), y[i : i + _CHUNK]
        found = row_faults(score, label)
        status |= found
        if not found:
            sums += _weighted_sums(score, label.astype(np.int64), event=True)
            sums += _weighted_sums(score, (label == 0).astype(np.int64), event=False)
    return status, sums


def row_faults(p: Floats, y: NDArray[Any]) -> int:
    """Whether a score or a label is bad: BAD_SCORE, BAD_LABEL."""
    bad_score, bad_label = not ((p >= 0) & (p <= 1)).all(), not ((y == 0) | (y == 1)).all()
    return BAD_SCORE * bad_score | BAD_LABEL * bad_label


def cell_loss_sums(score: Floats, weight: Ints, events: Ints) -> Ints:
    """The sums of :func:`loss_sums` over cells: distinct scores, the weight of their rows and of the events.

    Weights are whole numbers that sum to at most 2³⁸.
    """
    sums = np.zeros(4, np.int64)
    for i in range(0, score.size, _CHUNK):
        some = slice(i, i + _CHUNK)
        sums += _weighted_sums(score[some], events[some], event=True)
        sums += _weighted_sums(score[some], weight[some] - events[some], event=False)
    return sums


def _weighted_sums(p: Floats, weight: Ints, *, event: bool) -> Ints:
    other = 1 - p
    chance, rest = (p, np.zeros_like(p)) if event else (other, (1 - other) - p)
    high = minus_log(np.where(chance == 0, 1.0, chance), rest) * 2.0**14
    a = np.rint(high)
    middle = (high - a) * 2.0**24
    b = np.rint(middle)
    limbs = (a, b, np.rint((middle - b) * 2.0**24))
    return np.array([*(limb.astype(np.int64) @ weight for limb in limbs), weight[chance == 0].sum()])


def minus_log(m: Floats, rest: Floats) -> Floats:
    r"""−log(m + rest) for m in (0, 1], off by less than one unit in the last place.

    `rest` is what rounding took from m if it was computed as 1 − p, else 0. With :math:`m = 2^k (1 + f)` and
    :math:`s = f / (2 + f)`, the logarithm of 1 + f is 2 artanh s.
    """
    bits = (m * 2.0**54).view(np.int64) + (_ONE - _ROOT)  # 2⁵⁴: no number is subnormal then
    k = ((bits >> 52) - (1023 + 54)).astype(np.float64)
    f = ((bits & _MANTISSA) + _ROOT).view(np.float64) - 1 + rest * (1 - k)
    s = f / (2 + f)
    z = s * s
    w = z * z
    even = w * (_EVEN[0] + w * (_EVEN[1] + w * _EVEN[2]))
    odd = z * (_ODD[0] + w * (_ODD[1] + w * (_ODD[2] + w * _ODD[3])))
    half = 0.5 * f * f
    small = half - (s * (half + (even + odd)) + k * _LOG_2_REST)
    return np.asarray((small - f) - k * _LOG_2)

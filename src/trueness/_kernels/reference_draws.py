"""Random whole numbers by inversion in NumPy; a part of :mod:`trueness._kernels.reference`."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["outcome_tables", "outcomes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint16]


def outcome_tables(trials: Ints, odds: Floats, mode: Ints, low: Ints, start: Ints) -> Floats:
    r"""Tables of binomial distribution functions.

    Parameters
    ----------
    trials : array of int64, shape (m,)
        Trials of each distribution.
    odds : array of float64, shape (m,)
        Odds p / (1 − p) of a success.
    mode, low : arrays of int64, shape (m,)
        The most probable outcome, and the smallest one in the table.
    start : array of int64, shape (m + 1,)
        Entry i has the outcomes low[i], low[i] + 1, …, one more than start[i + 1] − start[i]: at most 2¹⁴.

    Returns
    -------
    array of float64
        For entry i, from start[i] up to start[i + 1], the probabilities of at most each outcome but the last, times
        2¹⁶. Probabilities outside the table are taken as 0.
    """
    cdf = np.empty(start[-1])
    for n, ratio, middle, least, begin, end in zip(trials, odds, mode, low, start[:-1], start[1:], strict=True):
        up = np.arange(middle, least + end - begin)
        down = np.arange(middle, least, -1)
        above = np.cumprod(np.append(1.0, (n - up) * ratio / (up + 1)))
        below = np.cumprod(np.append(1.0, down / ((n - (down - 1)) * ratio)))
        total = np.cumsum(np.concatenate([below[:0:-1], above]))
        cdf[begin:end] = total[:-1] * (65536 / total[-1])
    return cdf


def outcomes(words: Words, thresholds: Words, start: Ints, low: Ints) -> NDArray[np.int32]:
    """The outcomes that random words select.

    Parameters
    ----------
    words : array of uint16, shape (m, draws)
        Random words.
    thresholds : array of uint16
        The whole parts of :func:`outcome_tables`; 2¹⁶ is replaced by 2¹⁶ − 1.
    start, low : arrays of int64, shapes (m + 1,) and (m,)
        As for :func:`outcome_tables`.

    Returns
    -------
    array of int32, shape (m, draws)
        `low` plus the number of thresholds below the word. If the word is equal to a threshold, this number is
        not decided: it is returned as −1 minus the number of thresholds below the word.
    """
    found = np.empty(words.shape, np.int32)
    for own, word, least, begin, end in zip(found, words, low, start[:-1], start[1:], strict=True):
        below = np.searchsorted(thresholds[begin:end], word, "left")
        equal = below < np.searchsorted(thresholds[begin:end], word, "right")
        own[:] = np.where(equal, -1 - below, least + below)
    return found

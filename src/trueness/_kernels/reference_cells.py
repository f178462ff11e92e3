"""Sums over cells of a tally or a grid, and drawn labels, in NumPy; a part of :mod:`trueness._kernels.reference`."""

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.fixed import fixed_value, parts, square_parts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A dozen temporary arrays of one chunk stay inside a second-level cache.
_CHUNK = 8_192
# Cells that are added before their sum is added to that of their bin.
_STRETCH = 256


def cell_sums(score: Floats, weight: Ints, events: Ints, start: Ints, table: Ints) -> None:
    """Sum cells (ascending scores, weight of the rows and of the events of each) of each bin, in whole numbers.

    Bin b holds the cells from start[b] up to start[b + 1]; together they hold all. The sums are added to `table`, as by
    :func:`trueness._kernels.reference.bin_sums` with moments.
    """
    for at in range(0, score.size, _CHUNK):
        few = slice(at, at + _CHUNK)
        pieces = [part.astype(np.int64) for part in (*parts(score[few]), *square_parts(score[few]))]
        own = np.clip(start, at, min(at + _CHUNK, score.size)) - at
        filled = np.flatnonzero(own[1:] > own[:-1])
        for label, n in enumerate((weight[few] - events[few], events[few])):
            for column, terms in enumerate((n, *(n * piece for piece in pieces))):
                table[filled, label, column] += np.add.reduceat(terms, own[filled])


def float_sums(table: Ints) -> Floats:
    """The sums of :func:`trueness._kernels.reference.bin_sums` as floats: [bin, (Σw, Σw², Σwy, Σwp, Σwp², Σwyp)].

    A row of weight 2 is two rows, so that Σw² is Σw.
    """
    weight, hi, lo, square_hi, square_lo = table.sum(axis=1).T
    events, event_hi, event_lo = table[:, 1, :3].T
    scores = fixed_value(hi, lo), fixed_value(square_hi, square_lo), fixed_value(event_hi, event_lo)
    return np.column_stack([weight, weight, events, *scores])


def grid_moments(p: Floats, columns: Floats, table: Floats) -> None:
    r"""Sum columns, times powers of where a score lies in its cell, over the scores of each cell of a grid.

    Scores are in any order; `columns`, of shape (c, m), are what each score has. The sums are added to `table`, of
    shape (c, n + 1, 4): [column, cell, power 0 .. 3]. Cell j holds the scores whose position :math:`x = n p + 1/2` has
    the whole part j; the rest of it is what is raised to powers. The compiled sums may differ from these by rounding.
    """
    position = p * (table.shape[1] - 1) + 0.5
    cell = position.astype(np.int64)
    position -= cell
    for term, sums in zip(columns, table, strict=True):
        for power in range(4):
            sums[:, power] += np.bincount(cell, term * position**power, table.shape[1])


def residual_sums(score: Floats, weight: Ints, events: Ints, first: Ints) -> Floats:
    r"""Sum the residuals of the cells of each bin.

    A score p has n rows, e of them with label 1; bins begin at the cells `first`. Returned are, for each bin,
    :math:`\sum n`, :math:`\sum e`, :math:`\sum n p`, :math:`\sum (e - n p)`, the sum of squared residuals
    :math:`\sum (n p^2 + e (1 - 2 p))`, their variance :math:`\sum n v` with :math:`v = p (1 - p)`, and
    :math:`\sum n v^2`. Cells are added in order, 256 at a time.
    """
    n, e = weight.astype(np.float64), events.astype(np.float64)
    v = score * (1 - score)
    terms = (n, e, n * score, e - n * score, n * score * score + e * (1 - 2 * score), n * v, n * (v * v))
    size = np.diff(np.append(first, score.size))
    stretches = -(-size // _STRETCH)
    place = np.arange(score.size) - np.repeat(first, size)
    stretch = place // _STRETCH + np.repeat(np.cumsum(stretches) - stretches, size)
    bin_of = np.repeat(np.arange(first.size), stretches)
    of_stretch = (np.bincount(stretch, term, bin_of.size) for term in terms)
    return np.array([np.bincount(bin_of, sums, first.size) for sums in of_stretch])


Words = NDArray[np.uint16]


def outcome_tables(trials: Ints, odds: Floats, mode: Ints, low: Ints, start: Ints) -> Floats:
    r"""Tables of binomial distribution functions.

    For each distribution: its trials, the odds p / (1 − p) of a success, the most probable outcome, the smallest one in
    the table, and where its entries start. Entry i has the outcomes low[i], low[i] + 1, …, one more than start[i + 1] −
    start[i]: at most 2¹⁴. Returned are, from start[i] up to start[i + 1], the probabilities of at most each outcome but
    the last, times 2¹⁶. Probabilities outside the table are taken as 0.
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
    """The outcomes that random words, of shape (m, draws), select: `low` plus the number of thresholds below the word.

    The thresholds are the whole parts of :func:`outcome_tables`, 2¹⁶ replaced by 2¹⁶ − 1; `start` and `low` are its. If
    the word is equal to a threshold, the outcome is not decided: −1 minus the number of thresholds below is returned.
    """
    found = np.empty(words.shape, np.int32)
    for own, word, least, begin, end in zip(found, words, low, start[:-1], start[1:], strict=True):
        below = np.searchsorted(thresholds[begin:end], word, "left")
        equal = below < np.searchsorted(thresholds[begin:end], word, "right")
        own[:] = np.where(equal, -1 - below, least + below)
    return found

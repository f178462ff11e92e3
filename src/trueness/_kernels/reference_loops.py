"""Sums over cells, drawn labels, isotonic fits and softmax in NumPy.

A part of :mod:`trueness._kernels.reference`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.fixed import fixed_value, parts, square_parts
from trueness._kernels.library import BAD_LABEL, BAD_SCORE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.floating[Any]]
Words = NDArray[np.uint16]

# A dozen temporary arrays of one chunk stay inside a second-level cache.
_CHUNK = 8_192
# Cells that are added before their sum is added to that of their bin.
_STRETCH = 256


def cell_sums(score: Floats, weight: Ints, events: Ints, start: Ints, table: Ints) -> None:
    """Sum the cells of each bin in whole numbers.

    Cells are ascending scores, with the weight of the rows and of the events of each.

    Bin b holds the cells from start[b] up to start[b + 1]; together they hold all. The sums are
    added to `table`, as by :func:`trueness._kernels.reference.bin_sums` with moments.
    """
    for begin in range(0, score.size, _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        pieces = [
            part.astype(np.int64) for part in (*parts(score[chunk]), *square_parts(score[chunk]))
        ]
        local = np.clip(start, begin, min(begin + _CHUNK, score.size)) - begin
        filled = np.flatnonzero(local[1:] > local[:-1])
        for label, n in enumerate((weight[chunk] - events[chunk], events[chunk])):
            for column, terms in enumerate((n, *(n * piece for piece in pieces))):
                table[filled, label, column] += np.add.reduceat(terms, local[filled])


def float_sums(table: Ints) -> Floats:
    """The sums of :func:`trueness._kernels.reference.bin_sums` as floats.

    They are [bin, (Σw, Σw², Σwy, Σwp, Σwp², Σwyp)].

    A row of weight 2 is two rows, so that Σw² is Σw.
    """
    weight, hi, lo, square_hi, square_lo = table.sum(axis=1).T
    events, event_hi, event_lo = table[:, 1, :3].T
    scores = fixed_value(hi, lo), fixed_value(square_hi, square_lo), fixed_value(event_hi, event_lo)
    return np.column_stack([weight, weight, events, *scores])


def grid_moments(p: Floats, columns: Floats, table: Floats) -> None:
    r"""Sum columns over the scores of each grid cell, times powers of the place in the cell.

    Scores are in any order; `columns`, of shape (c, m), are what each score has. The sums are added
    to `table`, of shape (c, n + 1, 4): [column, cell, power 0 .. 3]. Cell j holds the scores whose
    position :math:`x = n p + 1/2` has the whole part j; the rest of it is what is raised to powers.
    The compiled sums may differ from these by rounding.
    """
    position = p * (table.shape[1] - 1) + 0.5
    cell = position.astype(np.int64)
    position -= cell
    for term, sums in zip(columns, table, strict=True):
        for power in range(4):
            sums[:, power] += np.bincount(cell, term * position**power, table.shape[1])


def residual_sums(score: Floats, weight: Ints, events: Ints, first: Ints) -> Floats:
    r"""Sum the residuals of the cells of each bin.

    A score p has n rows, e of them with label 1; bins begin at the cells `first`. Returned are, for
    each bin, :math:`\sum n`, :math:`\sum e`, :math:`\sum n p`, :math:`\sum (e - n p)`, the sum of
    squared residuals :math:`\sum (n p^2 + e (1 - 2 p))`, their variance :math:`\sum n v` with
    :math:`v = p (1 - p)`, and :math:`\sum n v^2`. Cells are added in order, 256 at a time.
    """
    n = weight.astype(np.float64)
    e = events.astype(np.float64)
    v = score * (1 - score)
    terms = (
        n,
        e,
        n * score,
        e - n * score,
        n * score * score + e * (1 - 2 * score),
        n * v,
        n * (v * v),
    )
    size = np.diff(np.append(first, score.size))
    stretches = -(-size // _STRETCH)
    place = np.arange(score.size) - np.repeat(first, size)
    stretch = place // _STRETCH + np.repeat(np.cumsum(stretches) - stretches, size)
    bin_of = np.repeat(np.arange(first.size), stretches)
    of_stretch = (np.bincount(stretch, term, bin_of.size) for term in terms)
    return np.array([np.bincount(bin_of, sums, first.size) for sums in of_stretch])


def outcome_tables(trials: Ints, odds: Floats, mode: Ints, low: Ints, start: Ints) -> Floats:
    r"""Tables of binomial distribution functions.

    For each distribution: its trials, the odds p / (1 − p) of a success, the most probable outcome,
    the smallest one in the table, and where its entries start. Entry i has the outcomes low[i],
    low[i] + 1, …, one more than start[i + 1] − start[i]: at most 2¹⁴. Returned are, from start[i]
    up to start[i + 1], the probabilities of at most each outcome but the last, times 2¹⁶.
    Probabilities outside the table are taken as 0.
    """
    cdf = np.empty(start[-1])
    for n, ratio, middle, lowest, begin, end in zip(
        trials, odds, mode, low, start[:-1], start[1:], strict=True
    ):
        up = np.arange(middle, lowest + end - begin)
        down = np.arange(middle, lowest, -1)
        above = np.cumprod(np.append(1.0, (n - up) * ratio / (up + 1)))
        below = np.cumprod(np.append(1.0, down / ((n - (down - 1)) * ratio)))
        total = np.cumsum(np.concatenate([below[:0:-1], above]))
        cdf[begin:end] = total[:-1] * (65536 / total[-1])
    return cdf


def outcomes(words: Words, thresholds: Words, start: Ints, low: Ints) -> NDArray[np.int32]:
    """The outcomes that random words, of shape (m, draws), select.

    An outcome is `low` plus the number of thresholds below the word.

    The thresholds are the whole parts of :func:`outcome_tables`, 2¹⁶ replaced by 2¹⁶ − 1; `start`
    and `low` are its. If the word is equal to a threshold, the outcome is not decided: −1 minus the
    number of thresholds below is returned.
    """
    drawn = np.empty(words.shape, np.int32)
    for row, word, lowest, begin, end in zip(drawn, words, low, start[:-1], start[1:], strict=True):
        below = np.searchsorted(thresholds[begin:end], word, "left")
        equal = below < np.searchsorted(thresholds[begin:end], word, "right")
        row[:] = np.where(equal, -1 - below, lowest + below)
    return drawn


def pava(weight: NDArray[Any], events: NDArray[Any]) -> Ints:
    """Pool adjacent violators: the first cell of each block of the isotonic fit of events / weight.

    Weights > 0 and sums of labels are in ascending order of score. Neighbouring blocks are pooled
    while the mean on the left is not below the mean on the right; means are compared as fractions
    (int64) or as float64 quotients.
    """
    exact = weight.dtype == np.int64

    def not_below(left_sum: float, left: float, right_sum: float, right: float) -> bool:
        if exact:
            return bool(left_sum * right >= right_sum * left)
        return bool(left_sum / left >= right_sum / right)

    starts: list[int] = []
    weights: list[float] = []
    sums: list[float] = []
    for i, (w, e) in enumerate(zip(weight.tolist(), events.tolist(), strict=True)):
        starts.append(i)
        weights.append(w)
        sums.append(e)
        while len(starts) > 1 and not_below(sums[-2], weights[-2], sums[-1], weights[-1]):
            starts.pop()
            w = weights.pop()
            e = sums.pop()
            weights[-1] += w
            sums[-1] += e
    return np.array(starts, np.int64)


def block_pava(count: Ints, events: Ints, n_min: int, n_max: int) -> Ints:
    r"""Pool adjacent violators into blocks of limited size.

    Tie groups are pushed one by one and pooled as by Algorithm 2 of Matsubara et al. (2023); the
    groups that are not wholly inside the first N − n_min rows form the tail, which joins the last
    block or stands alone. Groups are never split, so the limits hold up to one group; a block that
    would stay below n_min joins its right neighbour, or its left one where the right is above n_max
    and the left has room. If n_max < 2 n_min − 1, the last block before the tail may stay below
    n_min, as in the published algorithm.

    `count` and `events` are those of each tie group, in ascending order of score; the first cell of
    each block is returned.
    """
    before_tail = int(count.sum()) - n_min
    head = int(np.searchsorted(np.cumsum(count), before_tail, "right"))
    starts: list[int] = []
    sizes: list[int] = []
    sums: list[int] = []

    def push(start: int, size: int, total: int) -> None:
        starts.append(start)
        sizes.append(size)
        sums.append(total)

    def merge(left: int) -> None:
        sizes[left] += sizes.pop(left + 1)
        sums[left] += sums.pop(left + 1)
        starts.pop(left + 1)

    def left_has_room() -> bool:
        return sizes[-1] > n_max and len(starts) > 2 and sizes[-3] + sizes[-2] <= n_max

    for i in range(head):
        push(i, int(count[i]), int(events[i]))
        while len(starts) > 1:
            left, right = sizes[-2:]
            pair = left + right
            if pair <= n_min or (pair <= n_max and sums[-2] * right >= sums[-1] * left):
                merge(len(starts) - 2)
            elif left >= n_min:
                break
            elif left_has_room():
                merge(len(starts) - 3)
                break
            else:
                merge(len(starts) - 2)

    if head < count.size:
        push(head, int(count[head:].sum()), int(events[head:].sum()))
        if len(starts) > 1:
            if sizes[-2] + sizes[-1] <= n_max:
                merge(len(starts) - 2)
            elif sizes[-2] < n_min and n_max >= 2 * n_min - 1:
                merge(len(starts) - (3 if left_has_room() else 2))
    return np.array(starts, np.int64)


def venn_abers(corner_weight: Ints, corner_events: Ints, unit: int) -> tuple[Ints, Ints]:
    r"""The isotonic fit at every cell when one more row joins that cell: as an event, and as none.

    The corners of the cumulative sum diagram are :math:`P_i = (W_i, E_i)`, :math:`i = 0 \dots m`.
    When an event of weight `unit` joins cell j, the corners before it move to :math:`Q_i = P_i -
    (unit, unit)`, and the fitted value is the slope of the bridge, the one edge of the lower hull
    that leads from some :math:`Q_a` to some :math:`P_b`. It never falls as j grows, so both ends of
    the bridge only move to the right.

    W and E are zero, then the sums of weights and of events up to and with each cell; neither they
    nor their difference fall, `unit` is at least 1, and W + unit must stay below 2⁶³. Returned are
    the bridges, each with rows `first`, a and b: in cells j from ``first[i]`` (counted from 1) up
    to ``first[i + 1]`` the bridge leads from ``a[i]`` to ``b[i]``, and the value is (E_b − E_a +
    unit) / (W_b − W_a + unit). The second array is the same seen in a mirror: cells and corners are
    counted from the right, and what is no event takes the place of events; 1 − value is the fit
    when the row is no event.
    """
    hull = _lower_hull(corner_weight.tolist(), corner_events.tolist())
    turned = [corner_weight.size - 1 - i for i in reversed(hull)]
    W, N = (x[-1] - x[::-1] for x in (corner_weight, corner_weight - corner_events))
    with_event = _bridges(corner_weight.tolist(), corner_events.tolist(), hull, unit)
    return with_event, _bridges(W.tolist(), N.tolist(), turned, unit)


def _lower_hull(W: list[int], E: list[int]) -> list[int]:
    """The corners of the lower convex hull of the points (W, E), as indices from left to right.

    Corners on a straight line between others are left out. Whole numbers of any size are exact.
    """
    hull: list[int] = []
    for i in range(len(W)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (E[b] - E[a]) * (W[i] - W[b]) < (E[i] - E[b]) * (W[b] - W[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def _bridges(W: list[int], E: list[int], hull: list[int], unit: int) -> Ints:
    """The bridges of one direction: the first cell and the corners a and b of each.

    W and E are the cumulative sums, and `hull` is their lower hull. A cell whose corner is not
    below the bridge so far keeps that bridge.
    """
    bridges: list[tuple[int, int, int]] = []
    a = 0
    b = 0
    h = 0
    for j in range(1, len(W)):
        if j > 1 and (E[j - 1] - E[a]) * (W[b] - W[a] + unit) >= (E[b] - E[a] + unit) * (
            W[j - 1] - W[a]
        ):
            continue
        a = j - 1
        while h + 1 < len(hull):
            c = hull[h + 1]
            if (E[b] - E[a] + unit) * (W[c] - W[b]) < (E[c] - E[b]) * (W[b] - W[a] + unit):
                break
            b = c
            h = h + 1
        bridges.append((j, a, b))
    return np.array(bridges, np.int64).reshape(-1, 3).T.copy()


def ranks(edges: Floats, p: Scores) -> tuple[int, Ints]:
    """Status (BAD_SCORE), and the number of ascending edges not above each score.

    There may be no edges.
    """
    # Comparisons with nan are false, so nan is a fault too.
    status = 0 if p.size == 0 or (p.min() >= 0 and p.max() <= 1) else BAD_SCORE
    return status, np.searchsorted(edges, p, "right").astype(np.int64, copy=False)


def steps(edges: Floats, values: Floats, p: Scores) -> tuple[int, Floats]:
    """Status (BAD_SCORE), and a step function of the scores.

    It has a value below the first edge, and one from each edge on.
    """
    status, rank = ranks(edges, p)
    return status, values[rank]


_LEAST = -746.0  # e^t rounds to 0 below it
_LANES = 16
_TILE = 1_024
# 1/12!, 1/11!, …, 1/0!
_TAYLOR = [
    1 / f for f in (479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1)
]
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
# ln 2 in two parts; products of the first with whole numbers up to 2²⁰ are exact.
_LN2 = float.fromhex("0x1.62e42fefa0000p-1")
_LN2_REST = float.fromhex("0x1.cf79abc9e3b3ap-40")


def logit_tops(Z: Scores, y: Ints) -> tuple[int, Floats, Floats, Ints, NDArray[np.uint8]]:
    r"""Maximum and total of each row for softmax, the predicted class, and if it was right.

    `Z`, of shape (n, K), holds logits, of which -inf is one unless all of a row are; `y` class
    codes 0 .. K−1. Returns the status (BAD_SCORE for a nan, a +inf or a row of -inf alone;
    BAD_LABEL), the largest logit m of the row, Σ exp(z − m), at least 1 (the largest probability is
    one over it), the smallest index that attains it, and whether that is y.
    """
    n, n_classes = Z.shape
    top = np.empty(n)
    total = np.empty(n)
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
    """e^t for t ≤ 0, by exactly the operations of the compiled kernel.

    NumPy's own differs between machines.
    """
    t = np.where(t < _LEAST, _LEAST, t)
    n = np.rint(t * _PER_LN2)
    r = (t - n * _LN2) - n * _LN2_REST
    q = np.full_like(r, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        q *= r
        q += coefficient
    return np.asarray(np.ldexp(q, np.nan_to_num(n).astype(np.intc)))


def _row_sums(powers: Floats) -> Floats:
    """Entries are added to 16 lanes, in turn.

    The lanes of 1,024 entries to those of all; then half to half.
    """
    n, n_classes = powers.shape
    lanes = np.zeros((n, _LANES))
    for start in range(0, n_classes, _TILE):
        part = np.zeros((n, _LANES))
        for i in range(start, min(start + _TILE, n_classes), _LANES):
            block = powers[:, i : min(i + _LANES, n_classes)]
            part[:, : block.shape[1]] += block
        lanes += part
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def softmax_derivatives(Z: Scores, y: Ints, w: Floats, beta: float) -> tuple[int, Floats]:
    r"""Log loss of softmax(β z) and its derivatives in β, summed over rows.

    Logits are finite; their differences and the squares of these must not overflow. `w` has a
    weight per row, or none at all. Returns the status (BAD_LABEL) and Σ w (log Σ_j exp(β z_j) − β
    z_y), Σ w (m − z_y), Σ w v, Σ w s, Σ w q, with the mean m and the central moments v, s, q of
    orders 2, 3 and 4 of a row's logits under its softmax. The first four are the loss and its
    derivatives; the fourth derivative lies between −2 Σ w q and Σ w q. The last two need not be
    finite if cubes or fourth powers of differences overflow. The compiled sums may differ from
    these by 1e-12 of the sum of the terms' magnitudes.
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
        label_difference = difference[np.arange(total.size), y[rows]]
        terms = [np.log(total) - beta * label_difference, mean - label_difference]
        difference -= mean[:, None]
        power /= total[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            power *= difference
            for _ in 2, 3, 4:
                power *= difference
                terms.append(power.sum(axis=1))
            sums += [np.sum(term if w.size == 0 else w[rows] * term) for term in terms]
    return 0, sums

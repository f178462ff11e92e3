"""`next_labels`: which rows people should label, drawn with known probabilities."""

import math
from dataclasses import dataclass

import numpy as np

from trueness._input.arguments import Seed, checked_whole, whole_seed
from trueness._input.columns import LEAVE_OUT, refuse_bad
from trueness._input.sample import refuse_shuffled_index
from trueness._input.zero_one import finite_numbers, zero_one
from trueness._numerics.streams import stream
from trueness.errors import InputError
from trueness.results import NextLabels
from trueness.typing import ArrayLike, Bools, Floats, Ints

_GROUPS = 5
"""Groups of the scores, crossed with the judge's labels."""
_FEWEST = 2
"""The smallest number of labels of a stratum: one label has no spread."""
_SPREAD = 0.5
"""The share of the labels that is spread evenly over the rows. In simulations with a share of .3,
and strata by the judge's labels alone, limits covered .83 where the judge misses events."""


def next_labels(
    y_prob: ArrayLike,
    judge: ArrayLike | None = None,
    *,
    budget: int,
    labelled: ArrayLike | None = None,
    seed: Seed = 0,
) -> NextLabels:
    r"""Rows that people should label next: where labels are uncertain, with known probabilities.

    Parameters
    ----------
    y_prob : array-like of shape (n,)
        Predicted probabilities of all rows.
    judge : array-like of shape (n,), optional
        Labels of a judge for all rows, 0 and 1.
    budget : int
        How many rows to label.
    labelled : array-like of shape (n,), optional
        Which rows have a human label already, as truth values: they are not chosen again.
    seed : int or numpy.random.Generator, default 0
        For the draw.

    Returns
    -------
    NextLabels
        `index` has the rows, `human_prob` the probability of each row; the record is passed to
        :func:`powered` as `human_prob` when the labels are there. `relative_length` is what to
        expect: shorter limits for rare events with a good judge, no gain for common events.

    Notes
    -----
    Strata are fifths of the scores, crossed with the judge's labels. With :math:`m_h` the mean of
    score and judge in stratum h, and :math:`\bar p_h` that of the score, its labels are

    .. math:: n_h = l_h + (n - \sum l) \frac{N_h S_h}{\sum N S} , \quad
        S_h^2 = \max\{m_h (1 - m_h), \bar p_h (1 - \bar p_h)\} , \quad l_h = \max(2, n N_h / 2 N) .

    Half of the labels go to all rows alike, so that a judge who misses events cannot empty its own
    strata. Rows are drawn without replacement inside strata; labels that are there already take no
    part in the draw. `human_prob` is that of the rows drawn now: :math:`n_h / N_h`.

    Rows that have a label already must be a random sample, at least inside strata.

    References
    ----------
    J. Neyman, On the two different aspects of the representative method, Journal of the Royal
    Statistical Society 97 (1934), 558-606.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 15, 3_000)
    >>> wrong = rng.random(3_000) < p
    >>> flagged = np.where(rng.random(3_000) < 0.95, wrong, ~wrong)
    >>> found = tn.next_labels(p, flagged, budget=100)
    >>> found.index.size, round(float(found.human_prob.sum()), 6)
    (100, 100.0)
    >>> y_human = np.full(3_000, np.nan)
    >>> y_human[found.index] = wrong[found.index]
    >>> tn.powered(y_human, flagged, p, human_prob=found).humans
    100
    """
    rows = _read(y_prob, judge, labelled)
    free = ~rows.labelled
    n_free = int(free.sum())
    budget = checked_whole(budget, "budget")
    if budget > n_free:
        raise InputError(
            "budget", f"must be at most {n_free:,}, the rows without a label", f"got {budget:,}"
        )
    rng = stream(whole_seed(seed), "subset")
    stratum = _strata(rows, budget)
    size = np.bincount(stratum)
    room = np.bincount(stratum, free).astype(np.float64)
    chosen = _allocation(_spreads(rows, stratum), size, room, budget)
    picked = [
        rng.choice(np.flatnonzero(free & (stratum == h)), count, replace=False)
        for h, count in enumerate(chosen.tolist())
    ]
    return NextLabels(
        index=np.sort(np.concatenate(picked)),
        human_prob=(chosen / size)[stratum],
        stratum=stratum,
        low_score=_extreme(np.minimum, rows.p, stratum, math.inf),
        high_score=_extreme(np.maximum, rows.p, stratum, -math.inf),
        judge=_labels_of(rows, stratum),
        size=size,
        chosen=chosen,
        relative_length=_relative_length(rows, stratum, chosen),
        n=rows.p.size,
    )


@dataclass(frozen=True)
class _Rows:
    """Scores and judgements of all rows."""

    p: Floats
    judge: Floats | None
    """The judge's labels."""
    labelled: Bools
    """Which rows have a human label already."""

    @property
    def guess(self) -> Floats:
        """The probability of an event: the mean of score and judge's label, or the score alone."""
        if self.judge is None:
            return self.p
        return (self.p + self.judge) / 2


def _read(y_prob: ArrayLike, judge: ArrayLike | None, labelled: ArrayLike | None) -> _Rows:
    """The arguments of :func:`next_labels`, checked and as arrays.

    Without `labelled` no row has a label yet, and without `judge` the judge's labels are None.
    Refused are no rows at all, scores that are missing or outside [0, 1], and columns that are not
    0 and 1.
    """
    refuse_shuffled_index(y_prob, {"judge": judge, "labelled": labelled})
    p = finite_numbers(y_prob, "y_prob", if_missing=LEAVE_OUT)
    outside = (p < 0) | (p > 1)
    if outside.any():
        refuse_bad("y_prob", "must lie in [0, 1]", outside, "values do not, the first")
    if p.size == 0:
        raise InputError("y_prob", "must have at least one row", "it is empty")
    remedy = "Scores need a cut first, such as `score >= 0.5`."
    labels = None
    if judge is not None:
        labels = zero_one(judge, "judge", p.size, remedy=remedy, if_missing=LEAVE_OUT)
    has_label = np.zeros(p.size, bool)
    if labelled is not None:
        remedy = "True where there is a human label: `~np.isnan(y_human)`."
        has_label = zero_one(labelled, "labelled", p.size, remedy=remedy, if_missing=remedy) == 1
    return _Rows(p, labels, has_label)


def _strata(rows: _Rows, budget: int) -> Ints:
    """The number of the stratum of each row: groups of scores, crossed with the judge's labels.

    `budget` is the number of labels to be drawn. Every stratum must be able to get two of them.
    With too small a budget for five groups of scores, the judge's labels are ignored first, then
    there are four groups, with the judge's labels and without, and so on. The last resort is one
    stratum of all rows.
    """
    for groups in range(_GROUPS, 0, -1):
        for judge in (rows.judge, None):
            stratum = _crossed(rows, judge, groups)
            if _FEWEST * (int(stratum.max()) + 1) <= budget:
                return stratum
    return np.zeros(rows.p.size, np.int64)


def _crossed(rows: _Rows, judge: Floats | None, groups: int) -> Ints:
    """The stratum of each row: groups of scores for each label of the judge, if there is one.

    `judge` has the judge's labels, or is None. `groups` is the number of groups, which begin at
    quantiles of the scores of all rows; scores with many ties give fewer. A group with fewer than
    two rows to label joins its neighbour. If fewer than two such rows have one of the judge's
    labels, the judge is ignored. Strata are numbered 0, 1, … by label, then by score.
    """
    cuts = np.quantile(rows.p, np.arange(1, groups) / groups)
    group = np.searchsorted(np.unique(cuts), rows.p, side="right")
    free = ~rows.labelled
    labels = np.zeros(rows.p.size) if judge is None else judge
    smallest = min(free[labels == value].sum() for value in (0.0, 1.0))
    if smallest < _FEWEST:  # a label that hardly any row has is no stratum
        labels = np.zeros(rows.p.size)
    code = np.zeros(rows.p.size, np.int64)
    following = 0
    for value in np.unique(labels):
        inside = labels == value
        joined = _joined(np.bincount(group[inside & free], minlength=groups))
        code[inside] = following + joined[group[inside]]
        following += int(joined.max()) + 1
    return code


def _joined(room: Ints) -> Ints:
    """The number of the stratum of each group of scores, so that each has room for two labels.

    `room` is the number of rows without a label in each group. A stratum takes groups from left to
    right until it has room; the last takes what is left if that alone has too little.
    """
    code = np.zeros(room.size, np.int64)
    stratum = 0
    room_in_stratum = 0
    for i, rows in enumerate(room.tolist()):
        if room_in_stratum >= _FEWEST and room[i:].sum() >= _FEWEST:
            stratum += 1
            room_in_stratum = 0
        code[i] = stratum
        room_in_stratum += rows
    return code


def _spreads(rows: _Rows, stratum: Ints) -> Floats:
    """The standard deviation of a label in each stratum, as far as it can be guessed beforehand.

    It is √(m(1 − m)). Two guesses of the event rate m are tried, the mean score of the stratum and
    the mean of score and judge's label. The larger standard deviation is taken, so that a judge who
    finds no events does not make a stratum look certain.
    """
    size = np.bincount(stratum)
    guess = np.bincount(stratum, rows.guess) / size
    score = np.bincount(stratum, rows.p) / size
    return np.sqrt(np.maximum(guess * (1 - guess), score * (1 - score)))


def _allocation(deviation: Floats, size: Ints, room: Floats, budget: int) -> Ints:
    """The number of labels to draw in each stratum; they add up to `budget`.

    Each stratum has a standard deviation of its labels, `size` rows, and `room`, the rows without a
    label. Half of the labels are spread evenly over the rows, at least two to a stratum. The rest
    follows Neyman's rule, in proportion to `size` times standard deviation. No stratum gets more
    than its room. If the budget does not allow that start, each stratum gets its part of two
    labels, and what is left is in proportion to the rows. Fractions are rounded down; the labels
    that are then missing go to the largest remainders. `budget` must not exceed the sum of `room`.
    """
    share = size / size.sum()
    floor = np.minimum(np.maximum(_FEWEST, _SPREAD * budget * share), room)
    if floor.sum() > budget:
        fewest = np.minimum(_FEWEST, room)
        floor = fewest * min(1.0, budget / fewest.sum())
        deviation = np.ones(deviation.size)
    left = budget - float(floor.sum())
    wanted = floor + _filled(size * deviation, room - floor, left)
    whole: Ints = np.floor(wanted + 1e-9).astype(np.int64)
    missing = budget - int(whole.sum())
    # The largest remainders first, where there is room.
    order = np.argsort(-(np.where(whole < room, wanted - whole, -1.0)), kind="stable")
    while missing > 0:
        for h in order:
            if missing > 0 and whole[h] < room[h]:
                whole[h] += 1
                missing -= 1
    return whole


def _filled(weight: Floats, room: Floats, amount: float) -> Floats:
    """Share an amount among places in proportion to their weights, none getting more than its room.

    The result has what each place gets. What exceeds the room of a place is shared among the
    others, again by weight. If all places are full, their sum is less than `amount`.
    """
    filled = np.zeros(weight.size)
    for _ in range(weight.size):
        has_room = room - filled > 1e-9
        left = amount - float(filled.sum())
        if left <= 1e-9 or not has_room.any():
            break
        parts = np.where(has_room, np.maximum(weight, 1e-12), 0.0)
        filled = np.minimum(filled + left * parts / parts.sum(), room)
    return filled


def _extreme(rule: np.ufunc, p: Floats, stratum: Ints, start: float) -> Floats:
    """The smallest or largest value in each stratum, by `np.minimum` or `np.maximum`.

    `start` is what a stratum without rows has.
    """
    extreme = np.full(int(stratum.max()) + 1, start)
    rule.at(extreme, stratum, p)
    return extreme


def _labels_of(rows: _Rows, stratum: Ints) -> Floats:
    """The judge's label in each stratum; nan if rows have different ones, or without a judge."""
    if rows.judge is None:
        return np.full(int(stratum.max()) + 1, math.nan)
    low = _extreme(np.minimum, rows.judge, stratum, math.inf)
    high = _extreme(np.maximum, rows.judge, stratum, -math.inf)
    return np.where(low == high, low, math.nan)


def _relative_length(rows: _Rows, stratum: Ints, chosen: Ints) -> float:
    """The standard error of the event rate with this design, relative to simple random sampling.

    `chosen` is the number of labels of each stratum. With N_h/N the share of the rows in stratum h,
    m_h its guessed event rate and n_h its labels, the variance of the design is Σ (N_h/N)² m_h(1 −
    m_h)/n_h. That of n random labels is Σ (N_h/N) m_h(1 − m_h)/n: they, too, are weighted by strata
    afterwards. The result is the root of the ratio: below 1 is a gain. It is 1 if no label varies.
    """
    size = np.bincount(stratum)
    guess = np.bincount(stratum, rows.guess) / size
    share = size / size.sum()
    variance = guess * (1 - guess)
    at_random = float((share * variance).sum()) / float(chosen.sum())
    designed = float((share**2 * variance / np.maximum(chosen, 1)).sum())
    if at_random > 0:
        return math.sqrt(designed / at_random)
    return 1.0

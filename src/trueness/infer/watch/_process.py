"""The e-process of a stream, in arrays with a row per segment and a column per alternative."""

import math
from typing import ClassVar, NamedTuple

import numpy as np

from trueness._numerics.logistic import logits
from trueness.typing import Floats, Ints

SHIFTS = tuple(sign * d for d in (0.1, 0.2, 0.4, 0.8, 1.6) for sign in (1, -1))
ALTERNATIVES = (*((d, 1.0) for d in SHIFTS), *((0.0, s) for s in (0.5, 0.7, 0.85, 1.2, 1.5)))
"""Shift d and slope s of the log-odds: logit q = d + s·logit p."""
REFUTED = 1e300
"""The logarithm of infinite evidence, in a form that JSON has; its negative is that of 0."""
_STEP = 0.05
_END = 60
"""The candidates of the shift: multiples of a step, up to this many of them on either side."""
_BLOCK = 2**16
"""Numbers of log-ratios that are computed at a time, so that they stay in the processor's cache."""
_MANY = 2**12
_FINE = 128
"""With more entries than the first, scores whose log-odds lie in a cell of 1/128 are taken at their
mean: E stays valid."""
_FAR = 800
"""The log-odds at which 0 and 1 have cells of their own: further away than those of any float."""


class Look(NamedTuple):
    """Entries of one score each: rows, or sums of rows that are taken at one score."""

    score: Floats
    weight: Floats
    """The number of labels; a share of it for rows in clusters."""
    events: Floats
    """The same of labels that are events."""
    code: Ints
    """The stream of each entry: its segment, or 0 for all rows."""

    def refuted(self, streams: int) -> Ints:
        """How many labels of each of the streams contradict a score of exactly 0 or 1."""
        wrong_at_one = np.where(self.score == 1, self.weight - self.events, 0.0)
        wrong = np.where(self.score == 0, self.events, wrong_at_one)
        of_streams = np.bincount(self.code, wrong, streams)
        return np.ceil(of_streams).astype(np.int64)

    @property
    def pooled(self) -> "Look":
        """The entries of one stream; those of nearly equal score are joined if there are many.

        Above 4,096 entries, those with log-odds in the same cell of width 1/128 become one entry.
        Its score is their mean score, its weight and events are their sums. `code` becomes 0: all
        entries must be of one stream.
        """
        if self.score.size <= _MANY:
            return self
        log_odds = np.clip(logits(self.score), -_FAR, _FAR)
        cell = np.floor(_FINE * (log_odds + _FAR)).astype(np.int64)
        total = np.bincount(cell, self.weight * self.score).astype(np.float64)
        weight = np.bincount(cell, self.weight).astype(np.float64)
        events = np.bincount(cell, self.events).astype(np.float64)
        filled = np.flatnonzero(weight)
        code = np.zeros(filled.size, dtype=np.int64)
        return Look(total[filled] / weight[filled], weight[filled], events[filled], code)

    def log_ratios(self, shift: Floats, slope: Floats, streams: int) -> Floats:
        r"""The log-likelihood of each alternative relative to the scores, in each stream.

        That is Σ y·log(q/p) + (1 − y)·log((1 − q)/(1 − p)), of shape (streams, alternatives). Here
        q has the log-odds z = `shift` + `slope`·x, where x = logit p. For n labels at one score, e
        of them events, it is n·(log(1 + eˣ) − log(1 + eᶻ)) + e·(z − x). Scores of 0 and 1 stay
        where they are under every alternative: their ratio is 1.
        """
        ratios = np.zeros((streams, shift.size))
        inside = np.flatnonzero((self.score > 0) & (self.score < 1))
        order = inside[np.argsort(self.code[inside], kind="stable")]
        x = logits(self.score[order])
        size = 1 + _BLOCK // shift.size
        for start in range(0, order.size, size):
            block = order[start : start + size]
            log_odds = x[start : start + size, np.newaxis]
            z = shift + slope * log_odds
            ratio = self.weight[block, np.newaxis] * (_softplus(log_odds) - _softplus(z))
            ratio += self.events[block, np.newaxis] * (z - log_odds)
            first = np.flatnonzero(np.diff(self.code[block], prepend=-1))
            ratios[self.code[block][first]] += np.add.reduceat(ratio, first, axis=0)
        return ratios


def _softplus(z: Floats) -> Floats:
    """log(1 + eᶻ), several times as fast as NumPy's `logaddexp`."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


class Streams:
    r"""The e-processes of several streams.

    An error may begin at any look. The onset at look j has weight 1/(j(j + 1)), and M, the part of
    the evidence that belongs to one alternative, is kept for all onsets together: M ← (M + 1/(t(t +
    1)))·eˡ at look t, whose log-ratio is ℓ. The evidence is the mean of M over the alternatives
    plus 1/(t + 1), the weight of onsets to come.

    Each array has a row per stream.
    """

    stored: ClassVar[tuple[str, ...]] = (
        "log_evidence",
        "mass",
        "best",
        "onset",
        "looks",
        "refuted",
        "sums",
    )

    def __init__(self, alternatives: int, streams: int) -> None:
        """Begin this number of streams, without a look and with evidence 1 each.

        A stream is all rows, or one segment. `alternatives` is the number of ways in which its
        scores may be wrong: pairs of a shift and a slope of the log-odds.
        """
        shape = streams, alternatives
        self.log_evidence = np.zeros(streams)
        """log E, the evidence of each stream."""
        self.mass = np.full(shape, -REFUTED)
        """log M by alternative."""
        self.best = np.zeros(shape)
        """The largest sum of log-ratios from some look on: that look is the likeliest onset."""
        self.onset = np.zeros(shape, dtype=np.int64)
        """The number of that look."""
        self.looks = np.zeros(streams, dtype=np.int64)
        """Looks that had rows."""
        self.refuted = np.zeros(streams, dtype=np.int64)
        """Rows whose label contradicts a score of 0 or 1."""
        self.sums = np.zeros((streams, 3))
        """Rows, events and Σp."""

    def grow(self, new: int) -> None:
        """Make room for streams that begin now."""
        for name, more in vars(Streams(self.mass.shape[1], new)).items():
            setattr(self, name, np.concatenate([getattr(self, name), more]))

    def step(self, present: Ints, ratios: Floats, refuted: Ints, look: int) -> None:
        """Enter one look at the streams that have rows in it, and update their evidence.

        `present` are the numbers of these streams. `ratios` are the log-likelihood ratios of this
        look's labels, alternative to scores, of shape (streams, alternatives). `refuted` is the
        number of labels of each stream that contradict a score of exactly 0 or 1; from the first of
        these on the evidence is infinite. `look` is the number of the look among all, and is kept
        as the onset of an error where the sum of ratios since the last onset is not above 0.
        """
        self.looks[present] += 1
        self.refuted[present] += refuted
        t = self.looks[present][:, np.newaxis].astype(np.float64)
        onset_weight = -np.log(t * (t + 1))
        self.mass[present] = np.logaddexp(self.mass[present], onset_weight) + ratios
        best = self.best[present]
        self.onset[present] = np.where(best <= 0, look, self.onset[present])
        # An estimate: rounded, so that the stored state is small.
        self.best[present] = np.round(np.maximum(best, 0) + ratios, 3)
        # The first labels that refute a score are the onset.
        new = present[(refuted > 0) & (self.refuted[present] == refuted)]
        self.best[new] = REFUTED
        self.onset[new] = look
        mean = np.logaddexp.reduce(self.mass[present], axis=1) - math.log(self.mass.shape[1])
        evidence = np.logaddexp(mean, -np.log1p(self.looks[present]))
        self.log_evidence[present] = np.where(self.refuted[present] > 0, REFUTED, evidence)


def listed(weighted: Floats, alpha: float) -> Ints:
    """The streams that the e-BH procedure rejects, those with the largest evidence first.

    `weighted` is log(weight × E) of each stream, where E is its evidence. For the largest k such
    that the k-th largest of these is at least −log(k · alpha), the k largest are rejected; there
    may be none. The expected share of false rejections is at most `alpha`, whatever the dependence,
    if the weights add up to at most 1.

    R. Wang, A. Ramdas, False discovery rate control with e-values, Journal of the Royal Statistical
    Society B 84 (2022), 822-852.
    """
    order = np.argsort(-weighted, kind="stable")
    enough = np.flatnonzero(weighted[order] >= -np.log(alpha * np.arange(1, order.size + 1)))
    if enough.size:
        return order[: enough[-1] + 1]
    return order[:0]


class ShiftLimits(NamedTuple):
    """The likeliest shift of the log-odds, and the limits of a confidence sequence."""

    value: float
    low: float
    high: float


class ShiftSequence(Streams):
    """Which constant shifts of the log-odds are possible: each candidate has its own e-process."""

    stored = ("mass", "looks", "alive", "likelihood")

    def __init__(self) -> None:
        super().__init__(len(SHIFTS), 2 * _END + 1)
        self.alive = np.ones(2 * _END + 1, dtype=bool)
        """Whether a candidate was never refuted."""
        self.likelihood = np.zeros(2 * _END + 1)
        """The log-likelihood of every candidate relative to no shift."""

    def enter(self, look: Look, alpha: float) -> None:
        """Enter one look of all rows, and reject the shifts that it contradicts.

        Each candidate is a shift of the log-odds, constant over time, with an e-process of its own:
        evidence against it, with the other shifts of `SHIFTS` as alternatives. A candidate whose
        evidence reaches 1/alpha is rejected for good. The candidates that are left are a confidence
        sequence of level 1 − alpha.
        """
        # Distances from a candidate, the first of which is the candidate itself, in steps.
        away = np.rint(np.array([0, *SHIFTS]) / _STEP).astype(np.int64)
        reach = np.arange(away.min() - _END, away.max() + _END + 1)
        (of_shifts,) = look.log_ratios(reach * _STEP, np.ones(reach.size), 1)
        shifts = np.arange(-_END, _END + 1)[:, np.newaxis]
        values = of_shifts[shifts + away - reach[0]]
        of_candidate = values[:, 0]
        self.likelihood += of_candidate
        ratios = values[:, 1:] - of_candidate[:, np.newaxis]
        candidates = np.arange(len(values))
        self.step(candidates, ratios, np.zeros_like(candidates), 0)
        self.alive &= self.log_evidence < -math.log(alpha)

    @property
    def limits(self) -> ShiftLimits:
        """The likeliest shift, and the limits of the shifts that were not rejected.

        Candidates are multiples of 0.05 from −3 to 3. Limits are one candidate further out than
        those that are left. Without a look the shift is nan and the limits are infinite. If the
        likeliest candidate is the first or last, the shift is infinite; so is a limit where the
        first or last is left. If all were rejected, the limits are nan or, with an infinite shift,
        run from that last candidate to infinity.
        """
        if not self.looks[0]:
            return ShiftLimits(math.nan, -math.inf, math.inf)
        best = int(np.argmax(self.likelihood)) - _END
        left = np.flatnonzero(self.alive) - _END
        is_at_end = abs(best) == _END
        value = math.copysign(math.inf, best) if is_at_end else best * _STEP
        if left.size:
            # One step further: the end lies between the last candidate that is left and the first
            # that is not.
            return ShiftLimits(value, _candidate(int(left[0]) - 1), _candidate(int(left[-1]) + 1))
        if not is_at_end:
            return ShiftLimits(value, math.nan, math.nan)
        if best > 0:
            return ShiftLimits(value, _candidate(best), math.inf)
        return ShiftLimits(value, -math.inf, _candidate(best))


def _candidate(place: int) -> float:
    """The shift of the candidate at this place from 0; infinite beyond the last candidate."""
    if abs(place) > _END:
        return math.copysign(math.inf, place)
    return float(place) * _STEP

"""The e-process of a stream: its arithmetic on arrays, a row per segment and a column per alternative."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trueness.typing import Bools, Floats, Ints

SHIFTS = (0.1, 0.2, 0.4, 0.8, 1.6)
ALTERNATIVES = (*((sign * d, 1.0) for d in SHIFTS for sign in (1, -1)), *((0.0, s) for s in (0.5, 0.7, 0.85, 1.2, 1.5)))
"""Shift d and slope s of the log-odds: logit q = d + s·logit p."""
_STEP, _END = 0.05, 60
"""The candidates of the shift: multiples of a step, up to this many of them on either side."""
_BLOCK = 2**13
_NOTHING_YET = -1e300
"""log 0, in a form that JSON has."""
_MANY = 2**15
_FINE = 128
"""With more entries, scores whose log-odds lie in a cell of 1/128 are taken at their mean: E stays valid."""


class Look(NamedTuple):
    """Entries of one score each: rows, or sums of rows that are taken at one score; `code` is their segment."""

    score: Floats
    weight: Floats
    """The number of labels; a share of it for rows in clusters."""
    events: Floats
    code: Ints

    @property
    def inside(self) -> Bools:
        """Whether a score lies strictly between 0 and 1."""
        return np.asarray((self.score > 0) & (self.score < 1))

    def refuted(self, segments: int) -> Ints:
        """Labels of each segment that contradict a score of exactly 0 or 1."""
        wrong = np.where(self.score == 0, self.events, np.where(self.score == 1, self.weight - self.events, 0.0))
        return np.ceil(np.bincount(self.code, wrong, segments)).astype(np.int64)

    @property
    def pooled(self) -> "Look":
        """Many entries of one segment in few."""
        inside = self.inside
        if self.score.size <= _MANY or not inside.any():
            return self
        p = self.score[inside]
        cell = np.floor(_FINE * (np.log(p) - np.log1p(-p))).astype(np.int64)
        cell -= cell.min()
        sums = [np.bincount(cell, v[inside]) for v in (self.weight * self.score, self.weight, self.events)]
        total, weight, events = (np.asarray(v[sums[1] > 0], dtype=np.float64) for v in sums)
        ends = (self.score[~inside], self.weight[~inside], self.events[~inside])
        pooled: Any = [np.concatenate(pair) for pair in zip((total / weight, weight, events), ends, strict=True)]
        return Look(pooled[0], pooled[1], pooled[2], np.zeros(pooled[0].size, dtype=np.int64))

    def log_ratios(self, shift: Floats, slope: Floats, segments: int) -> Floats:
        r"""Σ y·log(q/p) + (1 − y)·log((1 − q)/(1 − p)) of each segment, for each alternative.

        With x = logit p and z = d + s·x that is Σ n·(log(1 + eˣ) − log(1 + eᶻ)) + Σ e·(z − x) for n labels and e
        events at one score. Scores of 0 and 1 stay where they are under every alternative: their ratio is 1.
        """
        found = np.zeros((segments, shift.size))
        if not self.score.size:
            return found
        inside = self.inside
        order = np.flatnonzero(inside)[np.argsort(self.code[inside], kind="stable")]
        p, weight, events, code = self.score[order], self.weight[order], self.events[order], self.code[order]
        x = np.log(p) - np.log1p(-p)
        for at in _blocks(order.size):
            z = shift + slope * x[at, np.newaxis]
            ratio = weight[at, np.newaxis] * (np.logaddexp(0, x[at])[:, np.newaxis] - np.logaddexp(0, z))
            ratio += events[at, np.newaxis] * (z - x[at, np.newaxis])
            first = np.flatnonzero(np.diff(code[at], prepend=-1))
            found[code[at][first]] += np.add.reduceat(ratio, first, axis=0)
        return found


NOTHING = Look(np.empty(0), np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))


@dataclass
class Streams:
    r"""The e-processes of several streams.

    An error may begin at any look. The onset at look j has weight 1/(j(j + 1)), and M, the part of the evidence that
    belongs to one alternative, is kept for all onsets together: M ← (M + 1/(t(t + 1)))·eˡ at look t, whose
    log-ratio is ℓ. The evidence is the mean of M over the alternatives plus 1/(t + 1), the weight of onsets to come.
    """

    alternatives: Floats
    """A row for each alternative: shift and slope."""
    mass: Floats = field(init=False)
    """log M by stream and alternative."""
    best: Floats = field(init=False)
    """The logarithm of the largest term of M: that of one onset."""
    onset: Ints = field(init=False)
    """The look at which that onset lies."""
    looks: Ints = field(init=False)
    """Looks of each stream that had rows."""
    refuted: Ints = field(init=False)
    """Rows whose label contradicts a score of 0 or 1."""

    def __post_init__(self) -> None:
        size = len(self.alternatives)
        self.mass, self.best = np.empty((0, size)), np.empty((0, size))
        self.onset = np.empty((0, size), dtype=np.int64)
        self.looks, self.refuted = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def grow(self, size: int) -> None:
        """Make room for streams that begin now."""
        new = size - self.looks.size
        if not new:
            return
        wide = np.full((new, len(self.alternatives)), _NOTHING_YET)
        self.mass, self.best = np.concatenate([self.mass, wide]), np.concatenate([self.best, wide])
        self.onset = np.concatenate([self.onset, np.zeros(wide.shape, dtype=np.int64)])
        self.looks, self.refuted = (
            np.concatenate([values, np.zeros(new, dtype=np.int64)]) for values in (self.looks, self.refuted)
        )
        self.__dict__.pop("log_evidence", None)

    def step(self, at: Ints, ratios: Floats, refuted: Ints, look: int) -> None:
        """Enter one look of some of the streams."""
        self.looks[at] += 1
        self.refuted[at] += refuted
        t = self.looks[at][:, np.newaxis].astype(np.float64)
        begin = -np.log(t * (t + 1))
        self.mass[at] = np.logaddexp(self.mass[at], begin) + ratios
        self.onset[at] = np.where(begin > self.best[at], look, self.onset[at])
        self.best[at] = np.maximum(self.best[at], begin) + ratios
        new = at[(refuted > 0) & (self.refuted[at] == refuted)]
        self.best[new], self.onset[new] = -_NOTHING_YET, look  # the first labels that refute a score are the onset
        self.__dict__.pop("log_evidence", None)

    @cached_property
    def log_evidence(self) -> Floats:
        """The logarithm of E of each stream; ∞ if a label refuted a score."""
        begun = np.logaddexp.reduce(self.mass, axis=1) - math.log(len(self.alternatives))
        found = np.logaddexp(begun, -np.log1p(self.looks))
        return np.where(self.refuted > 0, math.inf, found)

    def leading(self, stream: int) -> tuple[int, int]:
        """The look at which the error of a stream probably began, and the alternative that fits best."""
        a = int(np.argmax(self.best[stream]))
        return int(self.onset[stream, a]), int(np.argmax(self.mass[stream]))


def listed(weighted: Floats, alpha: float) -> Ints:
    """The streams that the e-BH procedure names: the k largest of weight × log E, all at least 1/(kα).

    `weighted` has logarithms.

    References
    ----------
    R. Wang, A. Ramdas, False discovery rate control with e-values, Journal of the Royal Statistical Society B 84
    (2022), 822-852.
    """
    order = np.argsort(-weighted, kind="stable")
    enough = weighted[order] >= -np.log(alpha * np.arange(1, order.size + 1))
    most = np.flatnonzero(enough)
    return order[: most[-1] + 1] if most.size else order[:0]


@dataclass
class ShiftSequence:
    """Which constant shifts of the log-odds the stream has not ruled out: each has an e-process of its own."""

    alive: Ints = field(default_factory=lambda: np.arange(-_END, _END + 1))
    """Candidates, in steps."""
    mass: Floats = field(default_factory=lambda: np.full((2 * _END + 1, 2 * len(SHIFTS)), _NOTHING_YET))
    likelihood: Floats = field(default_factory=lambda: np.zeros(2 * _END + 1))
    """The log-likelihood of every candidate relative to no shift."""
    looks: int = 0

    def step(self, look: Look, alpha: float) -> None:
        """Enter one look of all rows."""
        away = np.array([round(sign * d / _STEP) for d in SHIFTS for sign in (1, -1)])
        reach = np.arange(-_END + away.min(), _END + away.max() + 1)
        one = look._replace(code=np.zeros(look.score.size, dtype=np.int64))
        (values,) = one.log_ratios(reach * _STEP, np.ones(reach.size), 1)
        self.likelihood += values[(reach >= -_END) & (reach <= _END)]
        ratios = values[self.alive[:, np.newaxis] + away - reach[0]] - values[self.alive - reach[0]][:, np.newaxis]
        self.looks += 1
        self.mass = np.logaddexp(self.mass, -math.log(self.looks * (self.looks + 1))) + ratios
        evidence = np.logaddexp(np.logaddexp.reduce(self.mass, axis=1) - math.log(away.size), -math.log1p(self.looks))
        kept = evidence < -math.log(alpha)
        self.alive, self.mass = self.alive[kept], self.mass[kept]

    @property
    def limits(self) -> tuple[float, float, float]:
        """The likeliest shift and the ends of the sequence; infinite where the candidates end, nan if none is left."""
        best = int(np.argmax(self.likelihood)) - _END
        value = math.nan if not self.looks else math.copysign(math.inf, best) if abs(best) == _END else best * _STEP
        if not self.alive.size and abs(best) == _END:  # beyond all candidates
            return value, *((best * _STEP, math.inf) if best > 0 else (-math.inf, best * _STEP))
        if not self.alive.size:
            return value, math.nan, math.nan
        low, high = int(self.alive[0]), int(self.alive[-1])
        # One step further: the end lies between the last candidate that is left and the first that is not.
        return (
            value,
            -math.inf if low == -_END else (low - 1) * _STEP,
            math.inf if high == _END else (high + 1) * _STEP,
        )


def weights_of(known: Sequence[str], declared: Sequence[str], first: int) -> Floats:
    """The weight of each segment, with a sum of at most 1.

    Segments named beforehand share 1; otherwise those of the first look share ½, and the i-th that comes later has
    1/(2i(i + 1)).
    """
    if declared:
        return np.full(len(known), 1 / len(declared))
    later = np.arange(1, len(known) - first + 1)
    return np.concatenate([np.full(first, 0.5 / max(first, 1)), 0.5 / (later * (later + 1.0))])

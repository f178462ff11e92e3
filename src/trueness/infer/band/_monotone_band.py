"""The monotone band: where the event probability can lie if it rises with the score."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv

from trueness._input.arguments import checked_fraction
from trueness._tally.binned_scores import bin_starts
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rules import EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.results import MonotoneBand
from trueness.typing import ArrayLike, Bools, Floats, Ints, RowOptions

# More groups would narrow the band little and cost more: see the notes of `curve_band`.
_MOST_GROUPS = 1000
_ASSUMPTIONS = (
    "Assumes independent rows and an event probability that never falls as the score rises."
)


def monotone_band(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None,
    *,
    level: float,
    rows: RowOptions,
) -> MonotoneBand:
    """The band of any rising curve; see :func:`trueness.curve_band`."""
    level = checked_fraction(level, "level")
    evidence = read_rows(y_true, y_prob, rows, kind="confidence")
    band = band_runs(evidence).band(level)
    return replace(band, assumptions=f"{band.assumptions} {evidence.note}".rstrip())


def band_runs(evidence: Evidence) -> "BandRuns":
    """Everything about the monotone band of these rows but its level.

    Refused are several scores per row, clusters, and weights that do not count rows.
    """
    evidence.require_one("the monotone band of a matrix")
    argument = evidence.units.argument
    if not argument and evidence.weight_type == "importance":
        argument = "weight_type='importance'"
    if argument:
        demand = "is not accepted by the monotone band: rows must be independent, of equal weight"
        raise InputError(argument, demand)
    if not evidence.cells.whole:
        demand = "must be whole numbers for the monotone band, which counts rows"
        raise InputError("sample_weight", demand)
    return BandRuns(evidence.cells)


class _Pair(NamedTuple):
    """Two numbers for each group of rows."""

    first: Floats
    """For the rows of its first score."""
    others: Floats
    """For its other rows; without meaning if it has only one score."""


class _Ends(NamedTuple):
    """The band at the edges of the groups, one more than there are groups."""

    low: Floats
    high: Floats


class BandRuns:
    """The groups of rows and their runs: everything about the band but its level."""

    def __init__(self, cells: Cells) -> None:
        """Group the rows by score, and count rows and events in runs of neighbouring groups.

        `cells` has rows and events at each distinct score; its weights must count rows. With n rows
        there are at most 2√n groups, and at most 1,000. If there are no more distinct scores than
        that, each is a group; otherwise groups have about the same number of rows. Scores without
        rows are dropped.

        A run is 1, 2, 4, 8, … neighbouring groups, starting at any group, so that runs overlap.
        `runs` is their number, over which the error rate is split.
        """
        filled = cells.weight > 0
        if not filled.all():
            cells = Cells(
                score=cells.score[filled],
                count=cells.count[filled],
                weight=cells.weight[filled],
                events=cells.events[filled],
            )
        weight = cells.weight
        events = cells.events
        self.n = int(weight.sum())
        groups = min(_MOST_GROUPS, round(2 * math.sqrt(self.n)))
        if cells.size <= groups:
            first = np.arange(cells.size)
        else:
            first = bin_starts(cells, EqualMass(groups))
        last = np.append(first[1:], cells.size) - 1
        self._number = first.size
        self._several = last > first
        """Whether a group has several scores."""
        x = cells.score
        self._first = x[first]
        self._last = x[last]
        # Between the first and the last score of a group, the band rests on its neighbours only.
        self._second = x[np.minimum(first + 1, last)]
        self._last_but_one = np.where(last > first + 1, x[last - 1], 0.0)
        size = np.add.reduceat(weight, first)
        hits = np.add.reduceat(events, first)
        first_size = weight[first]
        self._share = _Pair(
            first=np.where(self._several, first_size, size) / self.n,
            others=np.where(self._several, size - first_size, 0) / self.n,
        )
        """The share of all rows."""
        self._begin, self._end = _dyadic_runs(first.size)
        self.runs = int(self._begin.size)
        rows_before = np.append(0, np.cumsum(size))
        hits_before = np.append(0, np.cumsum(hits))
        self._rows = (rows_before[self._end] - rows_before[self._begin]).astype(np.float64)
        self._events = (hits_before[self._end] - hits_before[self._begin]).astype(np.float64)

    def _ends(self, alpha: float) -> _Ends:
        """The band of level 1 − alpha at the edges of the groups.

        Each run of groups gives Clopper and Pearson's limits of its event rate, each with the error
        rate alpha/2 divided by the number of runs (Bonferroni). As the probability rises with the
        score, a run's upper limit holds at its first score and below, and its lower limit at its
        last score and above. So the upper end before a group is the smallest upper limit of all
        runs that begin with this group or a later one, and 1 after the last. The lower end is the
        largest lower limit of all runs that end before this group or an earlier one, and 0 before
        the first.
        """
        n = self._rows
        k = self._events
        tail = alpha / (2 * self.runs)
        # Clopper and Pearson's limits; 1/2 stands for the 0 rows that the formula does not take.
        upper = np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 0.5), tail), 1.0)
        lower = np.where(k > 0, betaincinv(np.maximum(k, 0.5), n - k + 1, tail), 0.0)
        high = np.ones(self._number + 1)
        low = np.zeros(self._number + 1)
        np.minimum.at(high, self._begin, upper)
        np.maximum.at(low, self._end, lower)
        return _Ends(np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1])

    def _low_of_first(self, low: Floats) -> Floats:
        """The lower end at the first score of each group.

        A group of several scores may rise within, so that the end before it counts.
        """
        return np.where(self._several, low[:-1], low[1:])

    def _distances(self, ends: _Ends) -> _Pair:
        """How far the score may be from the event probability in each group, according to the band.

        `ends` is the band at the edges of the groups. The distance is the larger of (upper end −
        score) and (score − lower end). The first score of a group has its own; for the other scores
        of the group it is the largest of theirs.
        """
        low, high = ends
        above_first = high[:-1] - self._first
        below_first = self._first - self._low_of_first(low)
        above_others = high[1:] - self._second
        below_others = np.maximum(self._last_but_one - low[:-1], self._last - low[1:])
        return _Pair(
            first=np.maximum(above_first, below_first),
            others=np.maximum(above_others, below_others),
        )

    def share_within(self, eps: float, alpha: float) -> float:
        """The share of rows that the band at level 1 − alpha shows to be right within `eps`."""
        distance = self._distances(self._ends(alpha))
        first = float(self._share.first[distance.first <= eps].sum())
        return first + float(self._share.others[distance.others <= eps].sum())

    def band(self, level: float) -> MonotoneBand:
        """The band at a level, with one or two entries for each group of scores.

        A group of one score has one entry. A group of several scores has two: its first score, and
        its last, which stands for all others. `share` is the share of the rows of an entry, and
        `distance` the largest distance of their scores from either end of the band.
        """
        ends = self._ends(1 - level)
        low, high = ends
        several = self._several
        return MonotoneBand(
            score=_interleaved(self._first, self._last, several),
            low=_interleaved(self._low_of_first(low), low[1:], several),
            high=_interleaved(high[:-1], high[1:], several),
            distance=_interleaved(*self._distances(ends), several),
            share=_interleaved(*self._share, several),
            level=level,
            n=self.n,
            runs=self.runs,
            assumptions=_ASSUMPTIONS,
        )


def _dyadic_runs(groups: int) -> tuple[Ints, Ints]:
    """The first group of each run of 1, 2, 4, … neighbouring groups, and the one after its last.

    `groups` is the number of groups.
    """
    sizes = [2**power for power in range(groups.bit_length())]
    begins = [np.arange(groups - size + 1) for size in sizes]
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    return np.concatenate(begins), np.concatenate(ends)


def _interleaved(first: Floats, last: Floats, several: Bools) -> Floats:
    """One entry for the first score of each group, and one for the last if the group has several.

    `first` and `last` have a number for every group, and `several` says which groups have several
    scores. The entries of a group follow each other.
    """
    kept = np.column_stack([np.ones(several.size, dtype=bool), several]).ravel()
    return np.asarray(np.column_stack([first, last]).ravel()[kept])

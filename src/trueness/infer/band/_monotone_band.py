"""The monotone band: where the event probability can lie if it rises with the score."""

import math
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from scipy.special import betainccinv, betaincinv

from trueness._input.arguments import checked_fraction
from trueness._tally.binned_scores import bin_starts
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.results import MonotoneBand
from trueness.typing import ArrayLike, Floats, Ints, RowOptions

_MOST_GROUPS = 1000
_ASSUMPTIONS = (
    "Assumes independent rows and an event probability that never falls as the score rises."
)


@partial(takes_rows, kind="confidence")
def monotone_band(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    **rows: Unpack[RowOptions],
) -> MonotoneBand:
    r"""Confidence band for the event probability at every score, if it rises with the score.

    The band holds for all scores jointly and at any number of rows. It assumes nothing but
    independent rows and a rising probability, so it can show that scores are right: "within 0.05"
    if it stays within 0.05 of the diagonal.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or a :class:`trueness.Tally` in place of both. For a matrix,
        the largest score of each row is examined; a matrix of two columns is the binary problem of
        its second column. Rows must be independent: there is no band for clusters.
    level : float, default 0.95
        Probability that the whole band holds.
    **rows
        As for :func:`trueness.ece`; `sample_weight` must be whole numbers.

    Returns
    -------
    MonotoneBand
        Arrays `score`, `low` and `high`; `within(eps)` and `widest`.

    Notes
    -----
    The rows are cut, by their scores alone, into at most :math:`2 \sqrt n`, and never more than
    1,000, groups of equal size. The band looks at all M runs of 1, 2, 4, 8, … neighbouring groups.
    Let a run have N rows, k of them events, and scores from a to b. If :math:`f` rises, then k is
    at least as large as a binomial number with rate :math:`f(a)`, and at most as large as one with
    rate :math:`f(b)`. So Clopper-Pearson limits of k out of N give

    .. math:: f(a) \le U , \quad f(b) \ge L , \quad \text{each at level } 1 - \frac{1 - \text{level}}{2M} ,

    and the band at a score is the smallest U of all runs that begin at or above it, and the largest
    L of all runs that end at or below it. This is proven at any n. It is wide: for calibrated,
    uniform scores, 95 % of rows lie within about 0.28 at 1,000 rows, 0.14 at 10,000, 0.065 at
    100,000 and 0.032 at 1,000,000.

    If the probability does not rise with the score, the band means nothing. Where `high` falls
    below `low`, no rising function fits (`rising` is False). All rows of a cell of a sketch are
    taken at their mean score.

    References
    ----------
    T. Dimitriadis, L. Dümbgen, A. Henzi, M. Puke, J. Ziegel, Honest calibration assessment for
    binary outcome predictions, Biometrika 110 (2023), 663-680.

    See Also
    --------
    equivalence_test : The p-value of "within", and other evidence for calibration.
    reliability_bands : Bands for the rates of bins.

    Examples
    --------
    Two scores, 1,000 rows each, both right:

    >>> import trueness as tn
    >>> band = tn.monotone_band([1] * 200 + [0] * 800 + [1] * 700 + [0] * 300, [0.2] * 1000 + [0.7] * 1000)
    >>> band.score.tolist(), band.low.round(3).tolist(), band.high.round(3).tolist()
    ([0.2, 0.7], [0.171, 0.664], [0.232, 0.734])
    >>> band.within(0.04), band.within(0.03)
    (True, False)
    """
    level = checked_fraction(level, "level")
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence")
    found = band_runs(evidence).band(level)
    return replace(found, assumptions=f"{found.assumptions} {evidence.note}".rstrip())


def band_runs(evidence: Evidence) -> "BandRuns":
    """Everything about the band but its level.

    Rows must be independent, and their weights count rows.
    """
    evidence.require_one("the monotone band of a matrix")
    if evidence.dependent or evidence.weight_type == "importance":
        argument = "cluster" if evidence.dependent else "weight_type='importance'"
        raise InputError(
            argument,
            "is not accepted by the monotone band: rows must be independent, of equal weight",
        )
    if not evidence.cells.whole:
        raise InputError(
            "sample_weight", "must be whole numbers for the monotone band, which counts rows"
        )
    return BandRuns(evidence.cells)


class BandRuns:
    """The groups of rows and their runs: everything about the band but its level."""

    def __init__(self, cells: Cells) -> None:
        filled = cells.weight > 0
        if not filled.all():
            cells = Cells(
                cells.score[filled], cells.count[filled], cells.weight[filled], cells.events[filled]
            )
        weight = cells.weight
        events = cells.events
        self.n = int(weight.sum())
        groups = min(_MOST_GROUPS, round(2 * math.sqrt(self.n)))
        first = (
            np.arange(cells.size) if cells.size <= groups else bin_starts(cells, EqualMass(groups))
        )
        last = np.append(first[1:], cells.size) - 1
        self._number = first.size
        self._several = last > first
        x = cells.score
        self._first = x[first]
        self._last = x[last]
        # Between the first and the last score of a group, the band rests on its neighbours only.
        self._second = x[np.minimum(first + 1, last)]
        self._last_but_one = np.where(last > first + 1, x[last - 1], 0.0)
        size = np.add.reduceat(weight, first)
        hits = np.add.reduceat(events, first)
        own = weight[first]
        self._share = (
            np.where(self._several, own, size) / self.n,
            np.where(self._several, size - own, 0) / self.n,
        )
        self._begin, self._end = _dyadic_runs(first.size)
        self.runs = int(self._begin.size)
        rows = np.append(0, np.cumsum(size))
        found = np.append(0, np.cumsum(hits))
        self._rows = (rows[self._end] - rows[self._begin]).astype(np.float64)
        self._events = (found[self._end] - found[self._begin]).astype(np.float64)

    def _ends(self, alpha: float) -> tuple[Floats, Floats]:
        """The band at the edges of the groups, highest ends first.

        The smallest upper limit of all runs that begin with this group or a later one, 1 after the
        last; the largest lower limit of all runs that end before this group or an earlier one, 0
        before the first.
        """
        n = self._rows
        k = self._events
        tail = alpha / (2 * self.runs)
        upper = np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 0.5), tail), 1.0)
        lower = np.where(k > 0, betaincinv(np.maximum(k, 0.5), n - k + 1, tail), 0.0)
        high = np.ones(self._number + 1)
        low = np.zeros(self._number + 1)
        np.minimum.at(high, self._begin, upper)
        np.maximum.at(low, self._end, lower)
        return np.minimum.accumulate(high[::-1])[::-1], np.maximum.accumulate(low)

    def _distances(self, high: Floats, low: Floats) -> tuple[Floats, Floats]:
        """The largest distance of score and band: for the first score of each group, and for its other scores."""
        of_first = np.where(self._several, low[:-1], low[1:])
        inner = np.maximum(self._last_but_one - low[:-1], self._last - low[1:])
        return np.maximum(high[:-1] - self._first, self._first - of_first), np.maximum(
            high[1:] - self._second, inner
        )

    def share_within(self, eps: float, alpha: float) -> float:
        """The share of rows that the band at level 1 − alpha shows to be right within `eps`."""
        both = zip(self._share, self._distances(*self._ends(alpha)), strict=True)
        return sum(float(share[far <= eps].sum()) for share, far in both)

    def band(self, level: float) -> MonotoneBand:
        """The band at a level."""
        (high, low), several = self._ends(1 - level), self._several
        return MonotoneBand(
            score=_interleaved(self._first, self._last, several),
            low=_interleaved(np.where(several, low[:-1], low[1:]), low[1:], several),
            high=_interleaved(high[:-1], high[1:], several),
            distance=_interleaved(*self._distances(high, low), several),
            share=_interleaved(*self._share, several),
            level=level,
            n=self.n,
            runs=self.runs,
            assumptions=_ASSUMPTIONS,
        )


def _dyadic_runs(groups: int) -> tuple[Ints, Ints]:
    """First group, and last group plus 1, of all runs of 1, 2, 4, … groups."""
    begins = {
        size: np.arange(groups - size + 1)
        for size in (2**power for power in range(groups.bit_length()))
    }
    return np.concatenate(list(begins.values())), np.concatenate(
        [begin + size for size, begin in begins.items()]
    )


def _interleaved(first: Floats, last: Floats, several: Any) -> Floats:
    """One entry for the first score of each group, and another for the last if there are several."""
    kept = np.column_stack([np.ones(several.size, dtype=bool), several]).ravel()
    return np.asarray(np.column_stack([first, last]).ravel()[kept])

"""The joint test of quantile forecasts: in which of their gaps outcomes fall."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from trueness._numerics.streams import stream
from trueness._tally.evidence import Evidence
from trueness.errors import InputError
from trueness.infer.test._method import Outcome
from trueness.typing import Floats, Ints

NAMES = ("gaps", "location", "spread")
WORDS = {
    "gaps": "the shares of the gaps between quantiles",
    "location": "the location of the outcomes among the quantiles",
    "spread": "the spread of the outcomes among the quantiles",
}
_SOME = 0.2
"""From this p-value on, no statistic is called the strongest evidence."""


@dataclass(frozen=True)
class Gaps:
    """The outcomes in each gap between the quantiles, and the share that the levels state."""

    count: Ints
    """How many outcomes fell into each gap: one more than there are levels."""
    stated: Floats
    """The share of each gap according to the levels; they sum to 1."""
    levels: Floats

    @property
    def n(self) -> int:
        return int(self.count.sum())


def gaps_of(evidence: Evidence) -> Gaps | None:
    """The number of outcomes in each gap between neighbouring quantiles, and the stated shares.

    K stated levels leave K + 1 gaps. The evidence has a row for each outcome and level, whose label
    is 1 if the outcome is at most at the quantile. None for other events, and if outcomes may be
    dependent: if a cluster holds several of them, not only the rows of one.
    """
    events = evidence.events
    if events is None or events.kind != "quantiles" or evidence.rows is None:
        return None
    assert events.levels is not None
    size = events.levels.size
    rows = evidence.units.code.reshape(-1, size)
    alone = bool((rows == rows[:, :1]).all()) and np.unique(rows[:, 0]).size == rows.shape[0]
    if not alone:
        return None
    place = size - np.asarray(evidence.rows.y).reshape(-1, size).astype(np.int64).sum(axis=1)
    stated = np.diff(np.concatenate([[0.0], events.levels, [1.0]]))
    return Gaps(np.bincount(place, minlength=size + 1), stated, events.levels)


def quantiles_outcome(evidence: Evidence, draws: int, seed: int) -> Outcome:
    """The joint test of quantiles, as a method of :func:`trueness.calibration_test`.

    The gaps are redrawn `draws` times. Events that are not quantiles, and clusters of several
    outcomes, are refused.
    """
    events = evidence.events
    if events is None or events.kind != "quantiles":
        remedy = "`tn.events.quantiles` makes them."
        raise InputError(
            "method", "'quantiles' needs quantile forecasts", "got others", remedy=remedy
        )
    gaps = gaps_of(evidence)
    if gaps is None:
        remedy = "`method='omnibus'` takes clusters."
        demand = "must not hold several rows for `method='quantiles'`"
        raise InputError("cluster", demand, "got clusters of rows", remedy=remedy)
    alone, pvalue = _pvalues(gaps, draws, seed)
    smallest = min(alone.values())
    strongest = min(alone, key=lambda name: alone[name])
    assumptions = (
        "Rows are independent; the level is exact at any n: the gap of each row was redrawn "
        f"{draws:,} times from the stated levels."
    )
    details = {"alone": alone, "strongest": ""}
    if smallest < _SOME:
        details["strongest"] = WORDS[strongest]
        evidence_words = f"{WORDS[strongest]} (p = {smallest:.3g} alone)"
        assumptions = f"{assumptions} Strongest evidence: {evidence_words}."
    return Outcome(smallest, pvalue, assumptions, 1 / (draws + 1), details)


def _pvalues(gaps: Gaps, draws: int, seed: int) -> tuple[dict[str, float], float]:
    """The p-value of each statistic by its name, and the joint one of the smallest of them.

    `draws` sets of gap counts are drawn from the multinomial distribution of the stated shares. The
    p-value of a statistic is its rank among the drawn and the observed. The joint p-value is the
    rank of the smallest p-value among the smallest ones of all sets.
    """
    redrawn = stream(seed, "labels").multinomial(gaps.n, gaps.stated, size=draws)
    values = _statistics(np.vstack([gaps.count, redrawn]), gaps)
    ranks = np.stack([_upper_share(column) for column in values.T], axis=1)
    joint = _upper_share(-ranks.min(axis=1))
    return dict(zip(NAMES, ranks[0].tolist(), strict=True)), float(joint[0])


def _statistics(count: Ints, gaps: Gaps) -> Floats:
    """Pearson's statistic and the absolute contrasts of location and spread, a row for each set.

    `count` has a row for each set of outcomes, with the outcomes in each gap between quantiles.
    With z the normal quantile of the middle of a gap's stated levels, location is |Σ (count −
    expected) z|. Spread has (z − z̄)² in place of z, less its own mean; the means are weighted by
    the stated shares. All are rounded to nine digits after the point, so that equal draws are ties.
    """
    expected = gaps.n * gaps.stated
    residual = count - expected
    pearson = (residual**2 / expected).sum(axis=1)
    middle = ndtri(np.cumsum(gaps.stated) - gaps.stated / 2)
    location = np.abs(residual @ middle)
    width = (middle - gaps.stated @ middle) ** 2
    spread = np.abs(residual @ (width - gaps.stated @ width))
    # Rounded, so that draws that are equal but for the order of a sum are ties.
    return np.asarray(np.round(np.stack([pearson, location, spread], axis=1), 9), np.float64)


def _upper_share(values: Floats) -> Floats:
    """For each value, the share of all values that are at least as large."""
    order = np.sort(values)
    return np.asarray(1 - np.searchsorted(order, values, side="left") / values.size, np.float64)

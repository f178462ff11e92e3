"""Confidence limits of measures of gaps: l1 and l2 errors in bins that do not depend on the labels."""

import math
from typing import Any, NamedTuple

from trueness._tally.bins import Bins
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, BlockIsotonic, Distinct, EqualMass, Isotonic, as_rule
from trueness._tally.tally import Tally
from trueness.errors import quietly
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._ece import bin_gaps
from trueness.infer.limits._limits import SEVERAL, Asked, Limits, LimitsOf, Options, biased
from trueness.measure._binned import checked_norm


class Gaps(NamedTuple):
    """A power mean over bins of a power of |event rate − mean score|."""

    rule: BinRule
    norm: float
    power: int

    @property
    def blind(self) -> bool:
        """Whether the bins do not depend on the labels."""
        return not isinstance(self.rule, Isotonic | BlockIsotonic)


def gaps_of(function: str, options: Options) -> Gaps | None:
    """The bins and norm of a measure of gaps; None for other losses."""
    bins, norm = options.get("bins", 10), checked_norm(options.get("norm", "l1"))
    if function == "ace":
        return Gaps(bins if isinstance(bins, BinRule) else EqualMass(bins), norm, 1)
    if function == "mce":
        return Gaps(as_rule(bins), math.inf, 1)
    loss = options.get("loss", "absolute")
    if loss not in ("absolute", "squared"):
        return None
    return Gaps(as_rule(bins), norm, 1 if loss == "absolute" else 2)


def gap_limits(function: str) -> LimitsOf:
    """Limits of the l1 and the l2 error; none for other norms."""

    def limits(asked: Asked) -> Limits:
        gaps = gaps_of(function, asked.options)
        if gaps is not None and gaps.blind and (gaps.norm, gaps.power) == (1, 1):
            return _l1_limits(asked, gaps.rule)
        if gaps is not None and gaps.blind and (gaps.norm, gaps.power) in ((2, 1), (1, 2)):
            return _l2_limits(asked, gaps.rule, squared=gaps.power == 2)
        return biased(asked)

    return limits


def squared_limits(asked: Asked) -> Limits:
    """Limits of the squared ECE."""
    return _l2_limits(asked, asked.options.get("bins"), squared=True, k=asked.options.get("k"))


def _l1_limits(asked: Asked, rule: BinRule) -> Limits:
    """Two one-sided limits."""
    data = asked.evidence
    if data.one is None:
        return Limits(note=SEVERAL)
    gaps = quietly(bin_gaps, data, rule)
    low, high = gaps.low(asked.alpha, asked.rng), gaps.high(asked.alpha)
    return Limits(low, high, "signed sums of gaps, and redrawn labels")


def _l2_limits(asked: Asked, bins: Any, *, squared: bool, k: int | None = None) -> Limits:
    """The score set of `ece_interval`; with zero, its hull."""
    data = asked.evidence
    if k in (None, 1) and data.one is None:
        return Limits(note=SEVERAL)
    if data.rows is None and not data.whole:
        return Limits(note="No interval from sums with weights that are not whole numbers. Pass labels and scores.")
    if isinstance(data.one, Bins):
        part = data.one if bins is None else data.one.coarsen(as_rule(bins))
        data, bins = Evidence.of_sums(Tally("binary", (part.at_means(),))), Distinct()
    found = quietly(interval_of, data, k=k, bins=bins, level=asked.level, squared=squared, rng=asked.rng)
    low, high = found.hull
    return Limits(low, high, f"test inversion (score), {found.bins}", note=found.note)

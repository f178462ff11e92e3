"""How often outcomes lie inside intervals, or at most at quantiles, with limits."""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from trueness._level import Level
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.events import are_ranges
from trueness._tally.evidence import Evidence
from trueness.errors import InputError
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.test._quantiles import gaps_of
from trueness.results import Coverage, LevelHistogram
from trueness.typing import Floats

_EXACT = "exact binomial"
_CLUSTERED = "Clopper-Pearson, effective number of rows"


@dataclass(frozen=True)
class _Law:
    """How outcomes differ from what is stated, if they are about normal.

    Spread is their standard deviation divided by the stated one, shift their mean less the stated
    one in stated standard deviations.
    """

    spread: float = math.nan
    spread_low: float = math.nan
    spread_high: float = math.nan
    shift: float = math.nan
    shift_low: float = math.nan
    shift_high: float = math.nan

    def without_limits(self) -> "_Law":
        """The estimates alone, where rows depend on each other."""
        return _Law(spread=self.spread, shift=self.shift)


_NO_LAW = _Law()


class _Share(NamedTuple):
    """How often outcomes lie inside an interval, or at most at a quantile, with limits."""

    stated: float
    value: float
    low: float
    high: float
    exact: bool
    """Whether the limits are those of independent rows."""


def coverage_of(evidence: Evidence, level: float) -> Coverage | None:
    """How often outcomes lie inside intervals, or at most at quantiles, with limits.

    The evidence has a row for each outcome and stated level. The result has, for each level, the
    stated share of outcomes inside, the observed one and its limits. The limits of all levels of
    quantiles hold together at `level`, by Bonferroni's inequality. For quantiles it also has the
    spread and the shift of the outcomes relative to what is stated, without limits in clusters; for
    intervals with a stated level the spread alone.

    Mean width, interval score and the shares on either side are None if only some of the rows are
    there. The result is None for events other than intervals and quantiles.
    """
    events = evidence.events
    if events is None or evidence.rows is None or not are_ranges(events):
        return None
    size = 1 if events.kind == "interval" else _levels(evidence).size
    # Limits of all levels hold together by Bonferroni's inequality.
    share_level = Level.of_alpha(Level(level).alpha / size).confidence
    shares = [_share(evidence, place, size, share_level) for place in range(size)]
    stated, value, low, high, _ = np.array(shares, np.float64).T
    exact = all(share.exact for share in shares)
    n = evidence.rows.n // size
    law = _NO_LAW
    if events.kind == "quantiles":
        law = _law_of_outcomes(_levels(evidence), value, n, level)
        if gaps_of(evidence) is None:
            law = law.without_limits()
    elif events.levels is not None:
        law = _Law(spread=_spread_of_interval(float(stated[0]), float(value[0])))
    whole = evidence.rows.n == events.n  # of some of the rows the shares outside are not known
    return Coverage(
        words=events.words,
        stated=stated,
        value=value,
        low=low,
        high=high,
        n=n,
        level=level,
        method=_EXACT if exact else _CLUSTERED,
        **asdict(law),
        below=events.below if whole else None,
        above=events.above if whole else None,
        mean_width=events.mean_width if whole else None,
        interval_score=events.interval_score if whole else None,
        strictly_below=events.strictly_below if whole else None,
    )


def level_histogram_of(evidence: Evidence, level: float) -> LevelHistogram:
    """How often outcomes fall between neighbouring quantiles, divided by how often they should.

    K stated levels leave K + 1 gaps, the first below the lowest quantile and the last above the
    highest. `density` of the result is the share of the outcomes in a gap over the difference of
    its two levels: 1 if the levels are right.

    The limits are those of the density if the stated levels are right: binomial quantiles of the
    count of each gap, which hold together at `level` by Bonferroni's inequality. Outcomes in
    clusters have none (nan). Events that are not quantiles are refused with InputError.
    """
    events = evidence.events
    if events is None or events.kind != "quantiles" or evidence.rows is None:
        remedy = "`tn.events.quantiles` makes them."
        raise InputError("events", "must be quantile forecasts", remedy=remedy)
    levels = _levels(evidence)
    edges = np.concatenate([[0.0], levels, [1.0]])
    stated = np.diff(edges)
    n = evidence.rows.n // levels.size
    inside = np.asarray(evidence.rows.y).reshape(-1, levels.size).astype(np.int64).sum(axis=1)
    count = np.bincount(levels.size - inside, minlength=stated.size)
    low = high = np.full(stated.size, math.nan)
    if gaps_of(evidence) is not None:
        tail = Level(level).alpha / (2 * stated.size)
        low, high = (
            _binomial_quantiles(n, stated, share) / n / stated for share in (tail, 1 - tail)
        )
    return LevelHistogram(
        words=events.words,
        low_level=edges[:-1],
        high_level=edges[1:],
        density=count / n / stated,
        low=low,
        high=high,
        n=n,
        level=level,
    )


def _binomial_quantiles(n: int, p: Floats, probability: float) -> Floats:
    """For each p, the smallest count that a binomial count of n exceeds rarely enough.

    It is at most that count with at least this probability.
    """
    from scipy.stats import binom  # which takes long to load

    return np.asarray(binom.ppf(probability, n, p), np.float64)


def _levels(evidence: Evidence) -> Floats:
    """The stated levels of quantiles."""
    assert evidence.events is not None
    assert evidence.events.levels is not None
    return evidence.events.levels


def _share(evidence: Evidence, place: int, size: int, level: float) -> _Share:
    """The share of outcomes inside, at the level number `place` of `size` levels.

    The rows of the evidence are those of all levels, one after the other for each outcome: row
    `place`, `place` + `size` and so on are those of this level. Inside means at most at the
    quantile, or in the interval. The limits at `level` are Clopper-Pearson's. If some cluster has
    several outcomes, they are those of an effective number of rows, and the result says that they
    are not exact.
    """
    if size == 1:
        part = evidence
    else:
        assert evidence.rows is not None
        part = evidence.at(np.arange(place, evidence.rows.n, size))
    rows = part.rows
    assert rows is not None
    stated = _mean(np.asarray(rows.p, np.float64))
    inside = int(np.asarray(rows.y).astype(np.int64).sum())
    value = inside / rows.n
    if part.units.largest == 1:
        low, high = (float(end) for end in clopper_pearson(inside, rows.n, level))
        return _Share(stated, value, low, high, exact=True)
    ratio = ratio_limits(part.cells, level, part.clustered)
    high = min(1.0, ratio.high * stated)
    return _Share(stated, value, ratio.low * stated, high, exact=False)


def _mean(stated: Floats) -> float:
    """The mean of stated probabilities; of equal numbers that number, to the last bit."""
    if (stated == stated[0]).all():
        return float(stated[0])
    return float(stated.mean())


def _spread_of_interval(stated: float, observed: float) -> float:
    """The standard deviation of normal outcomes in units of what a central interval states.

    `stated` and `observed` are its stated and observed share of outcomes inside. The result is the
    normal quantile of (1 + stated)/2 over that of (1 + observed)/2: above 1, the intervals are too
    narrow. It is nan if no outcome, or every outcome, is inside.
    """
    if not 0 < observed < 1:
        return math.nan
    return float(ndtri((1 + stated) / 2) / ndtri((1 + observed) / 2))


def _law_of_outcomes(levels: Floats, share: Floats, n: int, level: float) -> _Law:
    r"""The spread :math:`s` and the shift :math:`m` of normal outcomes, with limits at `level`.

    s is the standard deviation of outcomes over the stated one: above 1, what is stated is too
    narrow. m is the mean outcome less the stated mean, in stated standard deviations. `levels` are
    the stated levels τ of the quantiles, and `share` is the share of the `n` outcomes at most at
    each.

    With s and m, :math:`\Phi((\Phi^{-1}(\tau) - m)/s)` is nearest to the shares: a line is fitted
    to their normal quantiles by generalised least squares, with the covariances of the shares if
    what is stated holds. Its slope is 1/s and its intercept −m/s. Shares are kept at least half an
    outcome away from 0 and 1. The limits of the shift take the slope as known.

    All is nan for a single level, and if the lower limit of the slope is not above 0.
    """
    if levels.size < 2:
        return _NO_LAW
    z = ndtri(levels)
    observed = ndtri(np.clip(share, 0.5 / n, 1 - 0.5 / n))
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    both_below = np.minimum.outer(levels, levels)
    covariance = (both_below - np.outer(levels, levels)) / np.outer(density, density) / n
    design = np.stack([np.ones(z.size), z], axis=1)
    weighted = np.linalg.solve(covariance, design)
    precision = design.T @ weighted
    intercept, slope = np.linalg.solve(precision, weighted.T @ observed)
    errors = np.sqrt(np.diag(np.linalg.inv(precision)))
    intercept_half, slope_half = -ndtri(Level(level).tail) * errors
    if slope <= slope_half:
        return _NO_LAW
    shift = -float(intercept / slope)
    return _Law(
        spread=float(1 / slope),
        spread_low=float(1 / (slope + slope_half)),
        spread_high=float(1 / (slope - slope_half)),
        shift=shift,
        shift_low=shift - float(intercept_half / slope),
        shift_high=shift + float(intercept_half / slope),
    )

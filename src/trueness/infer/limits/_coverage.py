"""How often outcomes lie inside intervals, or at most at quantiles, with limits."""

import math

import numpy as np
from scipy.special import ndtri

from trueness._level import Level
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.evidence import Evidence
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.results import Coverage
from trueness.typing import Floats, Ints

_EXACT = "exact binomial"
_CLUSTERED = "Clopper-Pearson, effective number of rows"


def coverage_of(evidence: Evidence, level: float) -> Coverage | None:
    """The coverage of intervals or quantiles; None for other events."""
    events = evidence.events
    if events is None or evidence.rows is None or events.kind not in ("interval", "quantiles"):
        return None
    size = 1 if events.kind == "interval" else _levels(evidence).size
    # Limits of all levels hold together by Bonferroni's inequality.
    each = Level.of_alpha(Level(level).alpha / size).confidence
    shares = [_share(evidence, place, size, each) for place in range(size)]
    stated, value, low, high = np.array([share[:4] for share in shares]).T
    exact = all(share[4] for share in shares)
    spread = math.nan
    shift = math.nan
    n = evidence.rows.n // size
    if events.kind == "quantiles":
        spread, shift = _spread_and_shift(_levels(evidence), value, n)
    elif events.levels is not None:
        spread = _spread_of_interval(float(stated[0]), float(value[0]))
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
        spread=spread,
        shift=shift,
        below=events.below if whole else None,
        above=events.above if whole else None,
        mean_width=events.mean_width if whole else None,
        interval_score=events.interval_score if whole else None,
        strictly_below=events.strictly_below if whole else None,
    )


def _levels(evidence: Evidence) -> Floats:
    assert evidence.events is not None
    assert evidence.events.levels is not None
    return evidence.events.levels


def _share(
    evidence: Evidence, place: int, size: int, level: float
) -> tuple[float, float, float, float, bool]:
    """Stated and observed share of one level with limits, and whether these are exact."""
    if size == 1:
        part = evidence
    else:
        assert evidence.rows is not None
        part = evidence.at(np.arange(place, evidence.rows.n, size))
    rows = part.rows
    assert rows is not None
    stated = float(np.asarray(rows.p, np.float64).mean())
    inside = int(np.asarray(rows.y).astype(np.int64).sum())
    if part.cluster is None or _is_distinct(part.cluster):
        low, high = (float(end) for end in clopper_pearson(inside, rows.n, level))
        return stated, inside / rows.n, low, high, True
    found = ratio_limits(part.cells, level, part.clustered)
    return stated, inside / rows.n, found.low * stated, min(1.0, found.high * stated), False


def _is_distinct(cluster: Ints) -> bool:
    """Whether each row is a cluster of its own."""
    return bool(np.unique(cluster).size == cluster.size)


def _spread_of_interval(stated: float, observed: float) -> float:
    """How many times as far as a central interval states normal outcomes spread; nan if none is outside."""
    if not 0 < observed < 1:
        return math.nan
    return float(ndtri((1 + stated) / 2) / ndtri((1 + observed) / 2))


def _spread_and_shift(levels: Floats, share: Floats, n: int) -> tuple[float, float]:
    r"""The spread :math:`s` and the shift :math:`m` with :math:`\Phi((\Phi^{-1}(\tau) - m)/s)` nearest to the shares.

    By generalised least squares on the scale of :math:`\Phi^{-1}`, with the covariances of the
    shares if what is stated holds.
    """
    if levels.size < 2:
        return math.nan, math.nan
    z = ndtri(levels)
    observed = ndtri(np.clip(share, 0.5 / n, 1 - 0.5 / n))
    density = np.exp(-(z**2) / 2)
    low = np.minimum.outer(levels, levels)
    covariance = (low - np.outer(levels, levels)) / np.outer(density, density)
    design = np.stack([np.ones(z.size), z], axis=1)
    weighted = np.linalg.solve(covariance, design)
    intercept, slope = np.linalg.solve(design.T @ weighted, weighted.T @ observed)
    if slope <= 0:
        return math.nan, math.nan
    return float(1 / slope), float(-intercept / slope)

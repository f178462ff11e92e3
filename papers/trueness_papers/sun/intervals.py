"""The intervals that Sun et al. 2025 compare, as published and corrected, on one data set."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from trueness._numerics.pairs import Support, pair_sums
from trueness._tally.binned_scores import BinnedScores, of_matrix
from trueness._tally.rows_or_sums import as_sample
from trueness.infer import ece_interval
from trueness.infer._analytic import analytic_region, zero_threshold
from trueness.infer._exact import PairStatistic
from trueness.infer._hulc import adaptive_hulc, hulc
from trueness.infer._redrawn_labels import label_batches, monte_carlo_pvalue
from trueness.infer._resampling import (
    RowKinds,
    bootstrap_squared_ece,
    centred_interval,
    percentile_interval,
    politis_romano,
    subsampling,
)
from trueness.simulate import Simulated
from trueness_papers.sun.simulation import LEVEL, SETTINGS

__all__ = ["CORRECTED", "PUBLISHED", "Verdict", "judge_methods"]

PUBLISHED = ("analytic", "bootstrap", "subsampling", "adaptive HulC", "T-Cal")
"""The methods in the paper's figures."""
CORRECTED = ("score", "analytic, reachable", "centred bootstrap", "Politis-Romano", "HulC")
"""Our interval, and corrected versions of the published ones."""

_RESAMPLES = 500
_T_CAL_DRAWS = 199  # (draws + 1) · 0.1 is whole, so the level is exact
_PURPOSES = ("score", "bootstrap", "subsampling", "Politis-Romano", "HulC", "adaptive HulC", "T-Cal")


class Verdict(NamedTuple):
    """How a method did on one data set."""

    covers: bool | None
    """None for a test, which has no interval."""
    length: float | None
    """Of the continuous part, as published; the ends of resampled intervals may be negative."""
    power: bool
    """Whether zero is excluded."""
    above_zero: float | None = None
    """Length of the non-negative part."""


def judge_methods(
    data: Simulated, setting: int, truth: float, draws: Callable[[int], np.random.Generator], *, slow: bool = True
) -> Iterator[tuple[str, Verdict]]:
    """All methods on one data set.

    Parameters
    ----------
    data : Simulated
    setting : int
    truth : float
        The squared error.
    draws : function of the number of a method, from 1
        Its random generator.
    slow : bool
        Whether the bootstraps are included.
    """
    law, n = SETTINGS[setting], len(data)
    rng = {name: draws(number) for number, name in enumerate(_PURPOSES, start=1)}
    scores = of_matrix(as_sample(data.y_true, data.y_prob, {}, kind="confidence"), law.k, law.cells[n])
    found = ece_interval(data.y_true, data.y_prob, k=law.k, level=LEVEL, squared=True, seed=rng["score"])
    yield "score", Verdict(truth in found, found.high - found.low, not found.includes_zero, found.high - found.low)
    yield from _analytic(scores, law.cells[n], truth)
    rows = RowKinds(scores)
    if slow:
        resampled = bootstrap_squared_ece(rows, _RESAMPLES, rng["bootstrap"])
        yield "bootstrap", _open(*percentile_interval(rows.estimate, resampled, LEVEL), truth)
        yield "centred bootstrap", _closed(*centred_interval(rows.estimate, resampled, LEVEL), truth)
    for name, method in (("subsampling", subsampling), ("adaptive HulC", adaptive_hulc)):
        yield name, _open(*method(rows, level=LEVEL, resamples=_RESAMPLES, rng=rng[name]), truth)
    for name, method in (("Politis-Romano", politis_romano), ("HulC", hulc)):
        yield name, _closed(*method(rows, level=LEVEL, resamples=_RESAMPLES, rng=rng[name]), truth)
    yield "T-Cal", Verdict(None, None, _t_cal(scores, rng["T-Cal"]) <= 1 - LEVEL + 1e-9)


def _analytic(scores: BinnedScores, cells: int, truth: float) -> Iterator[tuple[str, Verdict]]:
    sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
    alpha = round(1 - LEVEL, 12)
    supports: dict[Support, str] = {"published": "analytic"}
    if scores.k > 1:
        supports["reachable"] = "analytic, reachable"
    for support, name in supports.items():
        threshold = zero_threshold(sums.total, alpha, cells, scores.classes, scores.k, support)
        region = analytic_region(sums.statistic, sums.variance, sums.total, threshold, alpha)
        covers = region.includes_zero if truth == 0 else region.low <= truth <= region.high
        length = region.high - region.low
        yield name, Verdict(covers, length, not region.includes_zero, length)


def _open(low: float, high: float, truth: float) -> Verdict:
    """An open interval whose ends may be negative, as the authors count."""
    return Verdict(low < truth < high, high - low, low > 0, max(high, 0.0) - max(low, 0.0))


def _closed(low: float, high: float, truth: float) -> Verdict:
    """A closed interval cut at zero, since errors are not negative; one entirely below zero becomes {0}."""
    low, high = max(low, 0.0), max(high, 0.0)
    return Verdict(low <= truth <= high, high - low, low > 0, high - low)


def _t_cal(scores: BinnedScores, rng: np.random.Generator) -> float:
    """P-value of T-Cal in the cells of the interval."""
    statistic = PairStatistic(scores.z, scores.count, scores.first, "rows")
    (seen,) = statistic(list(scores.hits.T[:, :, np.newaxis]))
    null = [statistic(hits) for hits in label_batches(scores.z, scores.count, _T_CAL_DRAWS, rng)]
    return float(monte_carlo_pvalue(seen, np.concatenate(null)))

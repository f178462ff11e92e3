"""The intervals that Sun et al. 2025 compare, as published and corrected, on one data set."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from trueness import ece_interval
from trueness._numerics.pairs import Support, pair_sums
from trueness._tally.binned_scores import BinnedScores, of_matrix
from trueness._tally.rows_or_sums import as_sample
from trueness.infer.interval._analytic import analytic_region, zero_threshold
from trueness.infer.interval._resampling import (
    RowKinds,
    adaptive_hulc,
    bootstrap_squared_ece,
    centred_interval,
    hulc,
    percentile_interval,
    published_subsampling,
    subsampling,
)
from trueness.simulate import Simulated
from trueness_papers.sun.simulation import LEVEL, SETTINGS

__all__ = ["CORRECTED", "IMPROVED", "OF_THE_PAPER", "Verdict", "judge_improved", "judge_published"]

OF_THE_PAPER = ("analytic", "bootstrap", "subsampling", "Politis-Romano", "adaptive HulC")
"""The intervals of the paper: `subsampling` is that of its code and figures, `Politis-Romano` that of its text.

T-Cal, a test, has an experiment of its own.
"""
IMPROVED = ("score",)
"""The default of :func:`trueness.ece_interval`."""
CORRECTED = ("analytic, reachable", "centred bootstrap", "HulC")
"""Corrected versions of the published intervals."""

_RESAMPLES, _BOOTSTRAPS = 500, 200
"""Subsamples and bootstrap resamples, as in the authors' code; the paper prints no number."""
_PURPOSES = ("score", "bootstrap", "subsampling", "Politis-Romano", "HulC", "adaptive HulC")


class Verdict(NamedTuple):
    """How a method did on one data set."""

    covers: bool
    length: float
    """Of the continuous part, as published; the ends of resampled intervals may be negative."""
    power: bool
    """Whether zero is excluded."""
    above_zero: float
    """Length of the non-negative part."""


Draws: TypeAlias = Callable[[int], np.random.Generator]


def _generator(draws: Draws, name: str) -> np.random.Generator:
    return draws(1 + _PURPOSES.index(name))


def judge_improved(
    data: Simulated, setting: int, truth: float, draws: Draws
) -> Iterator[tuple[str, Verdict]]:
    """The library's default interval, in its own bins; `draws` maps the number of a method to its generator."""
    rng = _generator(draws, "score")
    found = ece_interval(
        data.y_true, data.y_prob, k=SETTINGS[setting].k, level=LEVEL, squared=True, seed=rng
    )
    length = found.high - found.low
    yield "score", Verdict(truth in found, length, not found.includes_zero, length)


def judge_published(
    data: Simulated, setting: int, truth: float, draws: Draws
) -> Iterator[tuple[str, Verdict]]:
    """The intervals of the paper and their corrected versions, in the paper's cells; `truth` is the squared error."""
    law, n = SETTINGS[setting], len(data)
    scores = of_matrix(
        as_sample(data.y_true, data.y_prob, {}, kind="confidence"), law.k, law.cells[n]
    )
    yield from _analytic(scores, law.cells[n], truth)
    rows = RowKinds(scores)
    resampled = bootstrap_squared_ece(rows, _BOOTSTRAPS, _generator(draws, "bootstrap"))
    yield "bootstrap", _open(*percentile_interval(rows.estimate, resampled, LEVEL), truth)
    yield "centred bootstrap", _closed(*centred_interval(rows.estimate, resampled, LEVEL), truth)
    for name, method in (("subsampling", published_subsampling), ("adaptive HulC", adaptive_hulc)):
        yield (
            name,
            _open(
                *method(rows, level=LEVEL, resamples=_RESAMPLES, rng=_generator(draws, name)), truth
            ),
        )
    for name, method in (("Politis-Romano", subsampling), ("HulC", hulc)):
        yield (
            name,
            _closed(
                *method(rows, level=LEVEL, resamples=_RESAMPLES, rng=_generator(draws, name)), truth
            ),
        )


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

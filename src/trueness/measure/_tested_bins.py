"""The bins behind the test-based calibration error: sizes, rejected predictions, and how predictions are spread."""

import numpy as np

from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rules import BinRule
from trueness.measure._tce import Test, checked_alpha, checked_test, rejections
from trueness.results import TestedBins
from trueness.typing import Floats, Numbers

__all__ = ["bins_with_tests"]

# Places at which the density of a bin is given.
_PLACES = 64


def bins_with_tests(cells: Cells, rule: BinRule, alpha: float, test: Test) -> TestedBins:
    """The bins of one binary problem, as :func:`trueness.tce` sees them; empty ones are left out."""
    level, chosen = checked_alpha(alpha), checked_test(test)
    groups = rule.group(cells)
    filled = groups.start[1:] > groups.start[:-1]
    first = groups.start[:-1][filled]
    last = groups.start[1:][filled]
    refuted = np.where(rejections(cells, first, level, chosen), cells.weight, 0)
    weight, rejected = segment_sums(cells.weight, first), segment_sums(refuted, first)
    spread = [_density(cells.score[a:b], cells.weight[a:b]) for a, b in zip(first, last, strict=True)]
    return TestedBins(
        low_edge=groups.edges[:-1][filled],
        high_edge=groups.edges[1:][filled],
        n=np.asarray(segment_sums(cells.count, first), dtype=np.int64),
        weight=weight,
        rejected=rejected,
        rate=segment_sums(cells.events, first) / weight,
        score=segment_sums(cells.weight * cells.score, first) / weight,
        places=np.stack([places for places, _ in spread]),
        density=np.stack([density for _, density in spread]),
        tce=float(100 * rejected.sum() / weight.sum()),
        alpha=level,
        test=chosen,
        bins=repr(rule),
    )


def _density(score: Floats, weight: Numbers) -> tuple[Floats, Floats]:
    """A kernel density between the least and the largest score, reflected at both, from sums over 64 bars."""
    low, high = float(score[0]), float(score[-1])
    if high - low < 1e-12:
        return np.full(_PLACES, low), np.ones(_PLACES)
    share = np.minimum(((score - low) / (high - low) * _PLACES).astype(np.int64), _PLACES - 1)
    bars = np.bincount(share, weight, minlength=_PLACES)
    middle = (np.arange(_PLACES) + 0.5) / _PLACES
    total = bars.sum()
    mean = (bars * middle).sum() / total
    deviation = np.sqrt((bars * (middle - mean) ** 2).sum() / total)
    # Silverman's width; many rows deserve a narrow kernel, but not one narrower than the bars.
    width = max(0.9 * float(deviation) * max(float(total), 1.0) ** -0.2, 1.0 / _PLACES)
    away = middle[:, None] - np.concatenate([-middle, middle, 2 - middle])
    density = np.exp(-0.5 * (away / width) ** 2) @ np.tile(bars, 3)
    return low + middle * (high - low), density / density.max()

r"""Power to detect a miscalibration: whether "not rejected" means calibrated, and what would have been noticed.

Three alternatives matter, whatever the rows say:

- the rarer label is 1.25 times as frequent as predicted, or 1/1.25 times: all log-odds are shifted;
- the l2 error equals a tolerance: all log-odds are pulled towards their centre at the same mean (scores too extreme),
  or shifted if the scores vary too little for that.

The power is that of the omnibus test at these scores. If the score test of the shift or the slope alone has a
non-centrality of 7 or more, it is 1 and nothing is drawn. The number of rows needed scales that non-centrality.

What these rows notice with probability 0.9 is found along four lines: log-odds shifted up or down, pulled together or
apart at the same mean. Labels are drawn at three non-centralities of each; a line through the normal quantiles of the
three powers gives the place where the power is 0.9.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri, stdtrit

from trueness._numerics.roots import bracketed_root
from trueness._tally.cells import Cells
from trueness.infer.plan._score_law import ScoreLaw, moved
from trueness.infer.test._omnibus import power_function
from trueness.results._verdict import ENOUGH, NOTICED, RATIO, DetectionPower
from trueness.typing import Floats

_LARGEST, _SHARE = 0.05, 0.5
_CERTAIN = 7.0
_WIDEST = 40.0
# Above this many distinct scores, neighbours are taken at their mean.
_MANY = 1024
# The omnibus test needs about this many times the rows of the best test for the case at hand.
_PRICE = 1.5
# Non-centralities at which the power is drawn, around that of power 0.9.
_PLACES = (2.8, 3.6, 4.6)
_FIRST, _STEEPEST, _STEPS = 1e-5, 30.0, 24


def detection_power(
    cells: Cells, alpha: float, effective: float, rng: np.random.Generator, clusters: float | None = None
) -> DetectionPower:
    """Power of the omnibus test at level `alpha`, for as many independent rows as these are worth: `effective`.

    With few clusters, Student's t in place of the normal distribution costs rows; with very few, random signs of their
    residuals cannot reject at all.
    """
    n = float(cells.weight.sum())
    rows = n if cells.whole else float(cells.count.sum())
    expected = float(cells.weight @ cells.score)
    rare = min(expected, n - expected) / n
    tolerance = min(_LARGEST, _SHARE * rare) if rare > 0 else _LARGEST
    if clusters is not None:
        if 2 ** (1 - clusters) > alpha:
            return DetectionPower(0.0, 0.0, tolerance, None, (math.nan, math.nan), (math.nan, math.nan), math.nan)
        effective *= float(ndtri(alpha / 2) / stdtrit(clusters - 1, alpha / 2)) ** 2
    scores = _Scores(cells, effective)
    if scores.variance == 0:  # only scores of 0 and 1, which one wrong label contradicts
        power = -math.expm1(effective * math.log1p(-tolerance))
        needed = math.ceil(math.log1p(-ENOUGH) / math.log1p(-tolerance))
        noticed = -math.expm1(math.log1p(-NOTICED) / effective)
        rows_needed = None if power >= ENOUGH else needed
        return DetectionPower(power, power, tolerance, rows_needed, (math.nan, math.nan), (math.nan, math.nan), noticed)
    side = 1 if 2 * expected <= n else -1
    shifts = [scores.shifted_to(side, factor) for factor in (RATIO, 1 / RATIO)]
    alternatives = [*shifts, scores.off_by(tolerance, side)]
    power_at = power_function(scores.cells, alpha, rng=rng)
    powers = [1.0 if scores.strength(one) >= _CERTAIN else power_at(one) for one in alternatives]
    enough = min(powers) >= ENOUGH
    return DetectionPower(
        *(min(powers[:2]), powers[2], tolerance, None if enough else scores.rows(alternatives, alpha, rows)),
        *_noticed(scores, power_at),
    )


def _noticed(
    scores: "_Scores", power_at: Callable[..., float]
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """The observed/expected and the slopes that are noticed with probability 0.9, and the largest error among them."""
    lines: tuple[tuple[Callable[[float], Floats], float], ...] = (
        (lambda d: scores.moved(1.0, -d), _WIDEST),
        (lambda d: scores.moved(1.0, d), _WIDEST),
        (lambda d: scores.flattened(1 - d), 1.0),
        (lambda d: scores.flattened(1 + d), _STEEPEST),
    )
    found = [scores.noticed(line, widest, power_at) for line, widest in lines]
    ends = [None if math.isnan(d) else line(d) for d, (line, _) in zip(found, lines, strict=True)]
    below, above = (math.nan if one is None else float(scores.w @ one / (scores.w @ scores.p)) for one in ends[:2])
    error = max((scores.error(one) for one in ends if one is not None), default=math.nan)
    return (below, above), (1 - found[2], 1 + found[3]), error


class _Scores:
    """The scores of independent rows, and alternatives to them."""

    def __init__(self, cells: Cells, effective: float) -> None:
        n = float(cells.weight.sum())
        if cells.whole and effective > n - 0.5:
            score, weight = cells.score, cells.weight.astype(np.int64)
        else:  # as many rows as these are worth, at quantiles of the scores
            size = max(1, round(effective))
            below = np.cumsum(cells.weight)
            middle = (np.arange(size) + 0.5) / size * below[-1]
            score, weight = np.unique(cells.score[np.searchsorted(below, middle)], return_counts=True)
        if score.size > _MANY:
            first = np.unique(np.searchsorted(np.cumsum(weight), np.arange(_MANY) * (weight.sum() / _MANY)))
            sums = np.add.reduceat(score * weight, first)
            weight = np.add.reduceat(weight, first)
            score = sums / weight
        self.cells = Cells(score, weight, weight, np.zeros_like(weight))
        self.n = float(weight.sum())
        self.p, self.w = score, weight.astype(np.float64)
        self.variance = float(self.w @ (score * (1 - score)))

    def moved(self, slope: float, shift: float) -> Floats:
        """The scores with other log-odds; those of 0 and 1 stay."""
        return moved(self.p, slope, shift)

    def error(self, other: Floats) -> float:
        """The l2 distance from the scores."""
        return math.sqrt(float(self.w @ (other - self.p) ** 2) / self.n)

    def shifted_to(self, side: int, factor: float) -> Floats:
        """Log-odds shifted so that the rarer label is `factor` times as frequent, as far as that is possible."""
        expected = self.w @ self.p if side > 0 else self.w @ (1 - self.p)
        target = factor * float(expected)

        def gap(shift: float) -> float:
            other = self.moved(1.0, side * shift)
            return float(self.w @ other if side > 0 else self.w @ (1 - other)) - target

        return self.moved(1.0, side * _root(gap, -_WIDEST, _WIDEST))

    def off_by(self, tolerance: float, side: int) -> Floats:
        """Log-odds pulled together at the same mean, or else shifted, until the l2 error is `tolerance`."""
        if self.error(self.flattened(0.0)) > tolerance:
            return self.flattened(_root(lambda b: tolerance - self.error(self.flattened(b)), 0.0, 1.0))
        return self.moved(1.0, side * _root(lambda a: self.error(self.moved(1.0, side * a)) - tolerance, 0.0, _WIDEST))

    def flattened(self, slope: float) -> Floats:
        """Log-odds pulled together or apart, at the same mean."""
        mean = float(self.w @ self.p)
        return self.moved(slope, _root(lambda a: float(self.w @ self.moved(slope, a)) - mean, -_WIDEST, _WIDEST))

    def noticed(self, line: Callable[[float], Floats], widest: float, power_at: Callable[..., float]) -> float:
        """How far along a line of alternatives the power is 0.9; nan if it is nowhere so high."""
        places = np.geomspace(_FIRST, widest, _STEPS)
        strengths = np.maximum.accumulate([self.strength(line(d)) for d in places])
        if strengths[-1] <= 0:
            return math.nan
        asked = np.array(_PLACES) * min(1.0, float(strengths[-1]) / _PLACES[-1])
        # Both grow together in the beginning, so logarithms are nearly on a line.
        known = np.log(np.maximum(strengths, 1e-300))
        at = np.exp(np.interp(np.log(asked), known, np.log(places)))
        powers = np.array([power_at(line(d)) for d in at])
        slope, constant = np.polyfit(asked, ndtri(np.clip(powers, 0.002, 0.998)), 1)
        wanted = (float(ndtri(NOTICED)) - constant) / slope if slope > 0 else math.inf
        if not 0 < wanted <= max(strengths[-1], 0.0):
            return math.nan
        return float(np.exp(np.interp(math.log(wanted), known, np.log(places))))

    def strength(self, other: Floats) -> float:
        """Non-centrality of the score tests of shift and slope together."""
        return math.sqrt(self.n * ScoreLaw(self.p, self.w / self.n).strength(other))

    def rows(self, alternatives: list[Floats], alpha: float, n: float) -> int:
        """About how many rows give power 0.8, to two digits: the non-centrality grows with the root of their number."""
        weakest = max(min(map(self.strength, alternatives)), 1e-6)
        needed = n * max(1.1, _PRICE * ((-float(ndtri(alpha / 2)) + float(ndtri(ENOUGH))) / weakest) ** 2)
        return math.ceil(round(needed, 1 - math.floor(math.log10(needed))))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is zero, or the end that is nearer to it."""
    if function(low) >= 0:
        return low
    return high if function(high) <= 0 else bracketed_root(function, low, high, xtol=1e-9)

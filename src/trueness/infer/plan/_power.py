r"""Power: to detect a miscalibration, and of equivalence tests to accept.

And the scores that it is planned for.

Three alternatives matter, whatever the rows say:

- the rarer label is 1.25 times as frequent as predicted, or 1/1.25 times: all log-odds are shifted;
- the l2 error equals a tolerance: all log-odds are pulled towards their centre at the same mean
  (scores too extreme), or shifted if the scores vary too little for that.

The power is that of the omnibus test at these scores. If the score test of the shift or the slope
alone has a non-centrality of 7 or more, it is 1 and nothing is drawn. The number of rows needed
scales that non-centrality.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtri

from trueness._input.arguments import checked_fraction, is_number
from trueness._input.columns import column
from trueness._numerics.roots import bracketed_root
from trueness._numerics.streams import stream
from trueness._numerics.students_t import t_over_normal
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import tally
from trueness._tally.tally import Tally
from trueness.errors import InputError, collected_warnings, quietly
from trueness.infer.band._monotone_band import BandRuns
from trueness.infer.interval._score_interval import DefaultParts, upper_limit
from trueness.infer.limits._ece import bin_gaps
from trueness.infer.test._equivalence import SHARE
from trueness.infer.test._omnibus import power_function
from trueness.results._verdict import DetectionPower
from trueness.results._verdict_words import ENOUGH, NOTICED, RATIO
from trueness.typing import ArrayLike, Floats, Ints

_LARGEST = 0.05
_SHARE = 0.5
_CERTAIN = 7.0
_WIDEST = 40.0
# Above this many distinct scores, neighbours are taken at their mean.
_MANY = 1024
# The omnibus test needs about this many times the rows of the best test for the case at hand.
_PRICE = 1.5
# Non-centralities at which the power is drawn, around that of power 0.9.
_PLACES = (2.8, 3.6, 4.6)
_FIRST = 1e-5
_STEEPEST = 30.0
_STEPS = 24


def detection_power(
    cells: Cells, alpha: float, effective: float, seed: int, clusters: float | None = None
) -> DetectionPower:
    """Power of the omnibus test at level `alpha`, for as many independent rows as these are worth: `effective`.

    Student's t of few clusters costs rows; with very few, random signs cannot reject at all.
    """
    n = float(cells.weight.sum())
    rows = n if cells.whole else float(cells.count.sum())
    expected = float(cells.weight @ cells.score)
    rare = min(expected, n - expected) / n
    tolerance = min(_LARGEST, _SHARE * rare) if rare > 0 else _LARGEST
    unknown = (math.nan, math.nan)
    if clusters is not None:
        if 2 ** (1 - clusters) > alpha:
            return DetectionPower(0.0, 0.0, tolerance, None, unknown, unknown, math.nan)
        effective /= t_over_normal(alpha / 2, clusters - 1) ** 2
    scores = _Scores(cells, effective)
    if not scores.w @ (
        scores.p * (1 - scores.p)
    ):  # only scores of 0 and 1, which one wrong label contradicts
        power = -math.expm1(effective * math.log1p(-tolerance))
        needed = (
            None if power >= ENOUGH else math.ceil(math.log1p(-ENOUGH) / math.log1p(-tolerance))
        )
        noticed = -math.expm1(math.log1p(-NOTICED) / effective)
        return DetectionPower(power, power, tolerance, needed, unknown, unknown, noticed)
    side = 1 if 2 * expected <= n else -1
    shifts = [scores.shifted_to(side, factor) for factor in (RATIO, 1 / RATIO)]
    alternatives = [*shifts, scores.off_by(tolerance, side)]
    power_at = power_function(scores.cells, alpha, seed=seed)
    powers = [1.0 if scores.strength(one) >= _CERTAIN else power_at(one) for one in alternatives]
    enough = min(powers) >= ENOUGH
    return DetectionPower(
        *(
            min(powers[:2]),
            powers[2],
            tolerance,
            None if enough else scores.rows(alternatives, alpha, rows),
        ),
        *_noticed(scores, power_at),
    )


def _noticed(
    scores: "_Scores", power_at: Callable[..., float]
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """The observed/expected and the slopes that are noticed with probability 0.9, and the largest error among them.

    Labels are drawn at three places of each of four lines: log-odds shifted down or up, pulled
    together or apart.
    """
    lines: tuple[tuple[Callable[[float], Floats], float], ...] = (
        (lambda d: scores.moved(1.0, -d), _WIDEST),
        (lambda d: scores.moved(1.0, d), _WIDEST),
        (lambda d: scores.flattened(1 - d), 1.0),
        (lambda d: scores.flattened(1 + d), _STEEPEST),
    )
    found = [scores.noticed(line, widest, power_at) for line, widest in lines]
    ends = [None if math.isnan(d) else line(d) for d, (line, _) in zip(found, lines, strict=True)]
    below, above = (
        math.nan if one is None else float(scores.w @ one / (scores.w @ scores.p))
        for one in ends[:2]
    )
    error = max((scores.error(one) for one in ends if one is not None), default=math.nan)
    return (below, above), (1 - found[2], 1 + found[3]), error


class _Scores:
    """The scores of independent rows, and alternatives to them."""

    def __init__(self, cells: Cells, effective: float) -> None:
        n = float(cells.weight.sum())
        if cells.whole and effective > n - 0.5:
            score = cells.score
            weight = cells.weight.astype(np.int64)
        else:  # as many rows as these are worth, at quantiles of the scores
            size = max(1, round(effective))
            below = np.cumsum(cells.weight)
            middle = (np.arange(size) + 0.5) / size * below[-1]
            score, weight = np.unique(
                cells.score[np.searchsorted(below, middle)], return_counts=True
            )
        if score.size > _MANY:
            first = np.unique(
                np.searchsorted(np.cumsum(weight), np.arange(_MANY) * (weight.sum() / _MANY))
            )
            sums = np.add.reduceat(score * weight, first)
            weight = np.add.reduceat(weight, first)
            score = sums / weight
        self.cells = Cells(score, weight, weight, np.zeros_like(weight))
        self.p = score
        self.w = weight.astype(np.float64)
        self.n = float(weight.sum())
        self.moved = partial(moved, score)

    def error(self, other: Floats) -> float:
        """The l2 distance from the scores."""
        return math.sqrt(float(self.w @ (other - self.p) ** 2) / self.n)

    def shifted_to(self, side: int, factor: float) -> Floats:
        """Log-odds shifted so that the rarer label is `factor` times as frequent, as far as that is possible."""

        def of_rarer(p: Floats) -> float:
            return float(self.w @ (p if side > 0 else 1 - p))

        target = factor * of_rarer(self.p)
        shift = _root(lambda a: of_rarer(self.moved(1.0, side * a)) - target, -_WIDEST, _WIDEST)
        return self.moved(1.0, side * shift)

    def off_by(self, tolerance: float, side: int) -> Floats:
        """Log-odds pulled together at the same mean, or else shifted, until the l2 error is `tolerance`."""
        if self.error(self.flattened(0.0)) > tolerance:
            return self.flattened(
                _root(lambda b: tolerance - self.error(self.flattened(b)), 0.0, 1.0)
            )
        return self.moved(
            1.0,
            side * _root(lambda a: self.error(self.moved(1.0, side * a)) - tolerance, 0.0, _WIDEST),
        )

    def flattened(self, slope: float) -> Floats:
        """Log-odds pulled together or apart, at the same mean."""
        mean = float(self.w @ self.p)
        return self.moved(
            slope, _root(lambda a: float(self.w @ self.moved(slope, a)) - mean, -_WIDEST, _WIDEST)
        )

    def noticed(
        self, line: Callable[[float], Floats], widest: float, power_at: Callable[..., float]
    ) -> float:
        """How far along a line of alternatives the power is 0.9; nan if it is nowhere so high."""
        places = np.geomspace(_FIRST, widest, _STEPS)
        strengths = np.maximum.accumulate([self.strength(line(d)) for d in places])
        if strengths[-1] <= 0:
            return math.nan
        # Three non-centralities; a line through the normal quantiles of their powers gives the
        # place of power 0.9.
        asked = np.array(_PLACES) * min(1.0, float(strengths[-1]) / _PLACES[-1])
        # Both grow together in the beginning, so logarithms are nearly on a line.
        known = np.log(np.maximum(strengths, 1e-300))
        at = np.exp(np.interp(np.log(asked), known, np.log(places)))
        powers = np.array([power_at(line(d)) for d in at])
        slope, constant = np.polyfit(asked, ndtri(np.clip(powers, 0.002, 0.998)), 1)
        wanted = (float(ndtri(NOTICED)) - constant) / slope if slope > 0 else math.inf
        if not 0 < wanted <= strengths[-1]:
            return math.nan
        return float(np.exp(np.interp(math.log(wanted), known, np.log(places))))

    def strength(self, other: Floats) -> float:
        """Non-centrality of the score tests of shift and slope together."""
        return math.sqrt(self.n * ScoreLaw(self.p, self.w / self.n).strength(other))

    def rows(self, alternatives: list[Floats], alpha: float, n: float) -> int:
        """About how many rows give power 0.8, to two digits: the non-centrality grows with the root of their number."""
        weakest = max(min(map(self.strength, alternatives)), 1e-6)
        needed = n * max(
            1.1, _PRICE * ((-float(ndtri(alpha / 2)) + float(ndtri(ENOUGH))) / weakest) ** 2
        )
        return math.ceil(round(needed, 1 - math.floor(math.log10(needed))))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is zero, or the end that is nearer to it."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return bracketed_root(function, low, high, xtol=1e-9)


# Points of a normal distribution, in standard deviations.
_GRID = np.linspace(-10, 10, 2001)
# Standard deviations of log-odds between which one is searched for a c-statistic.
_NARROW = 1e-3
_WIDE = 1e3
_FARTHEST = 700.0
_RAREST = 1e-9


class ScoreLaw(NamedTuple):
    """Values of the scores, ascending, and the share of each."""

    score: Floats
    share: Floats

    @property
    def prevalence(self) -> float:
        """The event rate."""
        return float(self.share @ self.score)

    @property
    def c_statistic(self) -> float:
        """The probability that an event has a higher score than a non-event.

        Ties count one half.
        """
        events = self.share * self.score
        others = self.share * (1 - self.score)
        below = np.cumsum(others) - others / 2
        return float(events @ below / (events.sum() * others.sum()))

    @property
    def information(self) -> tuple[float, float, float]:
        """The means of p (1 − p), and of this times the first and the second power of the log-odds."""
        v = self.share * self.score * (1 - self.score)
        x = log_odds_of(self.score)
        return float(v.sum()), float(v @ x), float(v @ x**2)

    def shift(self, ratio: float, slope: float) -> float:
        """The intercept with which log-odds of this slope have `ratio` times the events that the scores predict."""
        inside = (self.score > 0) & (self.score < 1)
        x = log_odds_of(self.score[inside])
        share = self.share[inside]
        target = ratio * self.prevalence - float(self.share[self.score == 1].sum())
        if not 0 < target < share.sum():
            limit = (
                float(share.sum()) + float(self.share[self.score == 1].sum())
            ) / self.prevalence
            demand = f"must be below {limit:.4g}, at which every row is an event"
            raise InputError("detect_oe", demand, f"got {ratio:g}")
        return bracketed_root(
            lambda a: float(share @ expit(slope * x + a)) - target,
            -_FARTHEST,
            _FARTHEST,
            xtol=1e-10,
        )

    def strength(self, truth: Floats) -> float:
        """Non-centrality per row of the score tests of shift and slope together, if these are the event rates."""
        total, first, second = self.information
        gap = self.share * (truth - self.score)
        spread = second - first**2 / total
        along = float(
            gap
            @ np.where(
                (self.score > 0) & (self.score < 1), log_odds_of(self.score) - first / total, 0.0
            )
        )
        return float(gap.sum()) ** 2 / total + (
            along**2 / spread if spread > 1e-12 * total else 0.0
        )

    def rows(self, n: int, most: int, *, density: bool = False) -> tuple[Floats, Ints]:
        """Scores at quantiles of the law, at most `most` distinct ones, and the number of the n rows with each.

        With `density`, scores lie between the values of the law, too.
        """
        m = min(n, most)
        reached = np.cumsum(self.share)
        at = (np.arange(m) + 0.5) / m
        if density:
            score = np.interp(at, reached - self.share / 2, self.score)
        else:
            score = self.score[np.minimum(np.searchsorted(reached, at), self.score.size - 1)]
        score, place = np.unique(score, return_inverse=True)
        return score, np.bincount(place, np.diff(np.arange(m + 1) * n // m)).astype(np.int64)


def log_odds_of(score: Floats) -> Floats:
    """Log-odds; 0 for scores of 0 and 1, which no shift and no slope moves."""
    inside = (score > 0) & (score < 1)
    return np.where(inside, logit(np.where(inside, score, 0.5)), 0.0)


def moved(score: Floats, slope: float, shift: float) -> Floats:
    """Scores with other log-odds; those of 0 and 1 stay."""
    return np.where((score > 0) & (score < 1), expit(slope * log_odds_of(score) + shift), score)


def score_law(
    prevalence: Any, c_statistic: Any, log_odds: Any, scores: ArrayLike | None
) -> ScoreLaw | None:
    """The law that the arguments describe; None if they give a prevalence only."""
    if scores is not None and log_odds is not None:
        raise InputError("scores", "must be given without `log_odds`", "got both")
    if prevalence is not None:
        checked_fraction(prevalence, "prevalence")
    if c_statistic is not None and not (is_number(c_statistic) and 0.5 < c_statistic < 1):
        raise InputError("c_statistic", "must be above 0.5 and below 1", f"got {c_statistic!r}")
    if scores is not None:
        return _of_scores(scores)
    if log_odds is not None:
        return _of_pair(log_odds)
    if prevalence is None:
        raise InputError(
            "prevalence", "must be given, or `log_odds` or `scores`", "got none of them"
        )
    if c_statistic is None:
        return None
    return _with_c(float(prevalence), float(c_statistic))


def _of_scores(scores: ArrayLike) -> ScoreLaw:
    values = column(scores, "scores").values
    if values.ndim != 1 or values.size == 0:
        raise InputError("scores", "must be a vector of probabilities", f"got shape {values.shape}")
    with collected_warnings():  # the labels are stand-ins
        try:
            (cells,) = tally(np.arange(values.size) % 2, scores).parts
        except InputError as error:
            raise error.but(argument="scores") from error
    law = ScoreLaw(cells.score, cells.weight / cells.weight.sum())
    if law.information[0] == 0:
        raise InputError("scores", "must not all be 0 or 1", "such scores leave nothing to plan")
    return law


def _of_pair(log_odds: Any) -> ScoreLaw:
    pair = tuple(log_odds) if isinstance(log_odds, list | tuple) or np.ndim(log_odds) == 1 else ()
    if (
        len(pair) != 2
        or not all(map(is_number, pair))
        or not (abs(pair[0]) < _FARTHEST and 0 < pair[1] < _WIDE)
    ):
        demand = "must be the mean and the standard deviation of the log-odds, the latter above 0"
        raise InputError("log_odds", demand, f"got {log_odds!r}")
    return _normal(float(pair[0]), float(pair[1]))


def _normal(mean: float, deviation: float) -> ScoreLaw:
    density = np.exp(-(_GRID**2) / 2)
    return ScoreLaw(expit(mean + deviation * _GRID), density / density.sum())


def _with_c(prevalence: float, c_statistic: float) -> ScoreLaw:
    """Normal log-odds with this prevalence and c-statistic."""
    if not _RAREST <= prevalence <= 1 - _RAREST:
        demand = f"must not be so near 0 or 1 if `c_statistic` is given: at least {_RAREST:g}, at most 1 - {_RAREST:g}"
        raise InputError("prevalence", demand, f"got {prevalence!r}")

    def law(deviation: float) -> ScoreLaw:
        reach = 40 + 10 * deviation
        mean = bracketed_root(
            lambda m: _normal(m, deviation).prevalence - prevalence, -reach, reach, xtol=1e-10
        )
        return _normal(mean, deviation)

    def gap(log_deviation: float) -> float:
        return law(math.exp(log_deviation)).c_statistic - c_statistic

    low = math.log(_NARROW)
    high = math.log(_WIDE)
    if not gap(low) < 0 < gap(high):
        raise InputError("c_statistic", "must not be so near 0.5 or 1", f"got {c_statistic!r}")
    return law(math.exp(bracketed_root(gap, low, high, xtol=1e-8)))


Accepted: TypeAlias = Literal["l2", "ece", "band"]
# Sets of labels for each number of rows, or the first few if all or none of these are accepted.
_DRAWS: Final[dict[str, int]] = {"l2": 100, "ece": 100, "band": 40}
_FEW_DRAWS = 20
_HIGH_POWER = 0.9
_FACTOR = 1.1
_LEAST_ROWS = 20
_FIRST_ROWS = 2_000
MOST_ROWS = 10**7
# The interval cuts n scores into n^0.65 cells (_FINE); the simulation keeps _PER_CELL scores for
# each of them.
_PER_CELL = 4
_FINE = 0.65
# If no score is shared by more rows than this, scores are taken to have a density.
_TIED = 0.02


def acceptance_size(
    law: ScoreLaw,
    criterion: Accepted,
    within: float,
    level: float,
    power: float,
    seed: int,
    step: Callable[[], None],
) -> int | None:
    """Rows with which calibrated scores are accepted with probability `power`.

    None if there are too many.

    `step` is called after each number of rows that is tried: about ten times.
    """
    draws = _DRAWS[criterion]
    few = _FEW_DRAWS if power <= _HIGH_POWER else draws

    def accepted(n: int) -> float:
        """The share of data sets that are.

        If all or none of the first few are, there are no more.
        """
        most = max(1024, math.ceil(_PER_CELL * n**_FINE))
        kept = 0
        rng = stream(seed, "labels")
        score, count = law.rows(n, most, density=law.share.max() <= _TIED)
        for done in range(1, draws + 1):
            cells = Cells(score, count, count, rng.binomial(count, score))
            kept += _keeps(cells, criterion, within, 1 - level)
            if done == few and kept in (0, few):
                break
        step()
        return kept / done

    return rows_for(
        partial(quietly, accepted), power, _FIRST_ROWS, least=_LEAST_ROWS, times=4, draws=draws
    )


def rows_for(
    power_at: Callable[[int], float],
    power: float,
    first: float,
    *,
    least: int,
    times: int,
    draws: int,
) -> int | None:
    """Rows with which a simulated power, which rises with their number, is `power`.

    None if there are too many.

    Near its target, the normal quantile of the power is about linear in log n.
    """
    target = float(ndtri(power))
    n = max(first, float(least))
    seen: list[tuple[float, float]] = []

    def reached(n: float) -> bool:
        share = power_at(math.ceil(n))
        seen.append((math.log(n), float(ndtri(min(max(share, 0.5 / draws), 1 - 0.5 / draws)))))
        return share >= power

    if n <= MOST_ROWS and reached(n):
        while n > least and reached(max(n / times, least)):
            n = max(n / times, least)
        low = max(n / times, least)
        high = n
    else:
        while n < MOST_ROWS and not reached(min(times * n, MOST_ROWS)):
            n *= times
        if n >= MOST_ROWS:
            return None
        low = n
        high = min(times * n, MOST_ROWS)
    while high > low * _FACTOR:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    # The nearest four smooth the noise of the simulation.
    near = sorted(seen, key=lambda point: abs(point[1] - target))[:4]
    x, z = np.array(near).T
    slope, intercept = np.polyfit(x, z, 1) if len(near) > 1 else (0.0, 0.0)
    # Equal powers have no slope but that of rounding.
    if np.ptp(z) > 0 and slope > 0:
        fitted = math.exp(min((target - intercept) / slope, 700.0))
        high = min(max(fitted, low / _FACTOR), high * _FACTOR)
    return math.ceil(high)


def _keeps(cells: Cells, criterion: Accepted, within: float, alpha: float) -> bool:
    if criterion == "l2":
        return upper_limit(DefaultParts.of_cells(cells))(alpha) <= within**2
    if criterion == "band":
        return BandRuns(cells).share_within(within, alpha) >= SHARE - 1e-12
    return bin_gaps(Evidence.of_sums(Tally("binary", (cells,))), 10).high(alpha) <= within

r"""Power to detect a miscalibration, and of equivalence tests to accept; and laws of scores.

Three alternatives matter, whatever the rows are:

- the rarer label is 1.25 times as frequent as predicted, or 1/1.25 times: all log-odds are shifted;
- the l2 error equals a tolerance: all log-odds are pulled towards their centre at the same mean
  (scores too extreme), or shifted if the scores vary too little for that.

The power is that of the omnibus test at these scores. If the score test of the shift or the slope
alone has a non-centrality of 7 or more, it is 1 and nothing is drawn. The number of rows needed
scales that non-centrality.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit, ndtri

from trueness._input.arguments import checked_fraction, is_number
from trueness._input.columns import column
from trueness._numerics.roots import bracketed_root
from trueness._numerics.streams import stream
from trueness._numerics.students_t import t_over_normal
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import tally
from trueness._tally.sums_of_rows import Sums
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

# The tolerance is the smaller of this and half the share of the rarer label.
_LARGEST = 0.05
_SHARE = 0.5
# With this non-centrality of a score test the power is taken to be 1.
_CERTAIN = 7.0
# The largest shift of log-odds.
_WIDEST = 40.0
# With more distinct scores, neighbours are taken at their mean.
_MANY = 1024
# The omnibus test needs about 1.5 times the rows of the best test for the case at hand.
_PRICE = 1.5
# Non-centralities at which the power is drawn, around that of power 0.9.
_PLACES = (2.8, 3.6, 4.6)
# Places on a line of alternatives, from the first to the widest: the number of steps.
_FIRST = 1e-5
# The largest slope of log-odds, less 1.
_STEEPEST = 30.0
_STEPS = 24


def detection_power(
    cells: Cells, alpha: float, effective: float, seed: int, clusters: float
) -> DetectionPower:
    """Power of the omnibus test at level `alpha`, for the `effective` number of independent rows.

    The record holds the power against shifts and against an error of a tolerance, the rows needed
    if either is too small, and what is noticed with probability 0.9. `clusters` is the number of
    clusters, infinite without: Student's t of few costs rows, and with very few random signs cannot
    reject, so that the power is 0. Of scores that are all 0 or 1 the power is that to see one wrong
    label.
    """
    n = float(cells.weight.sum())
    rows = n if cells.whole else float(cells.count.sum())
    expected = float(cells.weight @ cells.score)
    rare = min(expected, n - expected) / n
    tolerance = min(_LARGEST, _SHARE * rare) if rare > 0 else _LARGEST
    unknown = (math.nan, math.nan)
    if 2 ** (1 - clusters) > alpha:
        return DetectionPower(0.0, 0.0, tolerance, None, unknown, unknown, math.nan)
    effective /= t_over_normal(alpha / 2, clusters - 1) ** 2
    scores = _Scores(cells, effective)
    if not scores.w @ (scores.p * (1 - scores.p)):
        # Only scores of 0 and 1, which one wrong label contradicts.
        power = -math.expm1(effective * math.log1p(-tolerance))
        needed = None
        if power < ENOUGH:
            needed = math.ceil(math.log1p(-ENOUGH) / math.log1p(-tolerance))
        noticed = -math.expm1(math.log1p(-NOTICED) / effective)
        return DetectionPower(power, power, tolerance, needed, unknown, unknown, noticed)
    side = 1 if 2 * expected <= n else -1
    alternatives = [
        scores.shifted_to(side, RATIO),
        scores.shifted_to(side, 1 / RATIO),
        scores.off_by(tolerance, side),
    ]
    power_at = power_function(scores.cells, alpha, seed=seed)
    powers = []
    for truth in alternatives:
        is_certain = scores.strength(truth) >= _CERTAIN
        powers.append(1.0 if is_certain else power_at(truth))
    needed = None
    if min(powers) < ENOUGH:
        needed = scores.rows(alternatives, alpha, rows)
    shifts = min(powers[:2])
    return DetectionPower(shifts, powers[2], tolerance, needed, *_noticed(scores, power_at))


class _Noticed(NamedTuple):
    """What is noticed with probability 0.9: observed/expected, slopes and the largest error."""

    ratios: tuple[float, float]
    slopes: tuple[float, float]
    error: float


def _noticed(scores: "_Scores", power_at: Callable[[Floats], float]) -> _Noticed:
    """What is noticed with probability 0.9 on four lines of alternatives.

    Along them log-odds are shifted down or up, pulled together or apart. `power_at` is the power of
    the test for given event probabilities. Where nothing on a line is noticed, its number is nan.
    """
    errors: list[float] = []

    def place(line: Callable[[float], Floats], widest: float) -> float:
        """Where the line is noticed; nan if nowhere."""
        distance = scores.noticed(line, widest, power_at)
        if not math.isnan(distance):
            errors.append(scores.error(line(distance)))
        return distance

    def ratio(line: Callable[[float], Floats]) -> float:
        """Observed/expected where the line is noticed."""
        distance = place(line, _WIDEST)
        if math.isnan(distance):
            return math.nan
        return float(scores.w @ line(distance) / (scores.w @ scores.p))

    below = ratio(lambda d: scores.moved(1.0, -d))
    above = ratio(lambda d: scores.moved(1.0, d))
    flatter = place(lambda d: scores.flattened(1 - d), 1.0)
    steeper = place(lambda d: scores.flattened(1 + d), _STEEPEST)
    return _Noticed((below, above), (1 - flatter, 1 + steeper), max(errors, default=math.nan))


class _Scores:
    """The scores of independent rows, and alternatives to them."""

    def __init__(self, cells: Cells, effective: float) -> None:
        """Scores and numbers of rows, from cells that are worth `effective` independent rows.

        If the cells have fewer effective rows than weight, these are put at quantiles of the
        scores. More than 1,024 distinct scores are pooled with their neighbours.
        """
        n = float(cells.weight.sum())
        if cells.whole and effective > n - 0.5:
            score = cells.score
            weight = cells.weight.astype(np.int64)
        else:  # the effective number of rows, at quantiles of the scores
            size = max(1, round(effective))
            below = np.cumsum(cells.weight)
            middle = (np.arange(size) + 0.5) / size * below[-1]
            drawn = cells.score[np.searchsorted(below, middle)]
            score, weight = np.unique(drawn, return_counts=True)
        if score.size > _MANY:
            start = np.arange(_MANY) * (weight.sum() / _MANY)
            first = np.unique(np.searchsorted(np.cumsum(weight), start))
            sums = np.add.reduceat(score * weight, first)
            weight = np.add.reduceat(weight, first)
            score = sums / weight
        self.cells = Cells(score, weight, weight, np.zeros_like(weight))
        self.p = score
        self.w = weight.astype(np.float64)
        self.n = float(weight.sum())
        self.moved = partial(moved, score)

    def error(self, truth: Floats) -> float:
        """The l2 distance of event probabilities from the scores."""
        return math.sqrt(float(self.w @ (truth - self.p) ** 2) / self.n)

    def shifted_to(self, side: int, factor: float) -> Floats:
        """Event probabilities with shifted log-odds, at which the rarer label is more frequent.

        It is `factor` times as frequent as predicted, if that is possible, or as frequent as the
        widest shift makes it. `side` is 1 if the rarer label is the event, and −1 otherwise.
        """

        def expected_rarer(p: Floats) -> float:
            return float(self.w @ (p if side > 0 else 1 - p))

        def lacking(shift: float) -> float:
            return expected_rarer(self.moved(1.0, side * shift)) - target

        target = factor * expected_rarer(self.p)
        return self.moved(1.0, side * _root(lacking, -_WIDEST, _WIDEST))

    def off_by(self, tolerance: float, side: int) -> Floats:
        """Event probabilities whose l2 error, the typical distance from the scores, is `tolerance`.

        Their log-odds are pulled together at the same mean. Where scores vary too little for that,
        they are shifted: up if `side` is 1, down if it is −1.
        """

        def too_flat(slope: float) -> float:
            return tolerance - self.error(self.flattened(slope))

        def too_far(shift: float) -> float:
            return self.error(self.moved(1.0, side * shift)) - tolerance

        if self.error(self.flattened(0.0)) > tolerance:
            return self.flattened(_root(too_flat, 0.0, 1.0))
        return self.moved(1.0, side * _root(too_far, 0.0, _WIDEST))

    def flattened(self, slope: float) -> Floats:
        """Event probabilities whose log-odds have this slope, at the same mean.

        A slope below 1 pulls log-odds together, one above pulls them apart.
        """
        mean = float(self.w @ self.p)

        def too_high(shift: float) -> float:
            return float(self.w @ self.moved(slope, shift)) - mean

        return self.moved(slope, _root(too_high, -_WIDEST, _WIDEST))

    def noticed(
        self,
        line: Callable[[float], Floats],
        widest: float,
        power_at: Callable[[Floats], float],
    ) -> float:
        """The place on a line of alternatives where the power is 0.9; nan if there is none.

        `line` gives the event probabilities at a place from 0, the scores themselves, to `widest`;
        `power_at` is the power of the test for these. The power is simulated at three places only.
        A straight line through the normal quantiles of these powers on the non-centrality (distance
        in standard errors) gives that with power 0.9, and interpolation gives its place.
        """
        places = np.geomspace(_FIRST, widest, _STEPS)
        strengths = np.maximum.accumulate([self.strength(line(d)) for d in places])
        if strengths[-1] <= 0:
            return math.nan
        drawn = np.array(_PLACES) * min(1.0, float(strengths[-1]) / _PLACES[-1])
        # Places and non-centralities grow together in the beginning, so logarithms are nearly on a
        # line. At places that are too near the non-centrality may be 0.
        log_strengths = np.log(np.maximum(strengths, 1e-300))
        log_places = np.log(places)
        distances = np.exp(np.interp(np.log(drawn), log_strengths, log_places))
        powers = np.array([power_at(line(d)) for d in distances])
        slope, constant = np.polyfit(drawn, ndtri(np.clip(powers, 0.002, 0.998)), 1)
        wanted = (float(ndtri(NOTICED)) - constant) / slope if slope > 0 else math.inf
        if not 0 < wanted <= strengths[-1]:
            return math.nan
        return float(np.exp(np.interp(math.log(wanted), log_strengths, log_places)))

    def strength(self, truth: Floats) -> float:
        """Non-centrality of the score tests of shift and slope together, for event probabilities.

        It is the distance in standard errors.
        """
        return math.sqrt(self.n * ScoreLaw(self.p, self.w / self.n).strength(truth))

    def rows(self, alternatives: list[Floats], alpha: float, n: float) -> int:
        """About the number of rows with power 0.8 for each alternative, to two digits.

        Alternatives are event probabilities for the `n` rows at hand. Their non-centrality grows
        with the square root of the number of rows.
        """
        weakest = max(min(map(self.strength, alternatives)), 1e-6)  # no alternative may be 0
        wanted = -float(ndtri(alpha / 2)) + float(ndtri(ENOUGH))
        needed = n * max(1.1, _PRICE * (wanted / weakest) ** 2)
        return math.ceil(round(needed, 1 - math.floor(math.log10(needed))))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is zero; the nearer end if it is not between the ends."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return bracketed_root(function, low, high, xtol=1e-9)


# Points of a normal distribution, in standard deviations.
_GRID = np.linspace(-10, 10, 2001)
# For a c-statistic, the standard deviation of log-odds is sought between these.
_NARROW = 1e-3
_WIDE = 1e3
_FARTHEST = 700.0
_RAREST = 1e-9


class Information(NamedTuple):
    """What a row says about shift and slope: means of p (1 − p) times powers of the log-odds."""

    total: float
    """Of p (1 − p)."""
    first: float
    """Of p (1 − p) times the log-odds."""
    second: float
    """Of p (1 − p) times their square."""


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
        non_events = self.share * (1 - self.score)
        below = np.cumsum(non_events) - non_events / 2
        return float(events @ below / (events.sum() * non_events.sum()))

    @property
    def information(self) -> Information:
        """What a row says about shift and slope; scores of 0 and 1 say nothing."""
        v = self.share * self.score * (1 - self.score)
        x = log_odds_of(self.score)
        return Information(float(v.sum()), float(v @ x), float(v @ x**2))

    def shift(self, ratio: float, slope: float) -> float:
        """The intercept at which log-odds of this slope give `ratio` times the expected events.

        If log-odds x become intercept + slope·x, the event rate is `ratio` times that of the
        scores. Scores of 0 and 1 stay. A ratio is refused if it cannot be reached: certain events
        alone are already more, or even all other rows as events would be fewer.
        """
        inside = (self.score > 0) & (self.score < 1)
        x = log_odds_of(self.score[inside])
        share = self.share[inside]
        certain = float(self.share[self.score == 1].sum())
        target = ratio * self.prevalence - certain
        if not 0 < target < share.sum():
            limit = (float(share.sum()) + certain) / self.prevalence
            demand = f"must be below {limit:.4g}, at which every row is an event"
            raise InputError("detect_oe", demand, f"got {ratio:g}")

        def too_many(intercept: float) -> float:
            return float(share @ expit(slope * x + intercept)) - target

        return bracketed_root(too_many, -_FARTHEST, _FARTHEST, xtol=1e-10)

    def strength(self, truth: Floats) -> float:
        """Non-centrality per row of the chi-square score test of shift and slope.

        `truth` is the event rate at each score. Times the number of rows it is how far the mean of
        the statistic exceeds the degrees of freedom. If all log-odds are equal, there is no slope
        to test, and it is that of the shift.
        """
        total, first, second = self.information
        gap = self.share * (truth - self.score)
        of_shift = float(gap.sum()) ** 2 / total
        log_odds_variance = second - first**2 / total
        if not log_odds_variance > 1e-12 * total:
            return of_shift
        inside = (self.score > 0) & (self.score < 1)
        centred = np.where(inside, log_odds_of(self.score) - first / total, 0.0)
        return of_shift + float(gap @ centred) ** 2 / log_odds_variance

    def rows(self, n: int, limit: int, *, density: bool = False) -> tuple[Floats, Ints]:
        """The distinct scores of n rows at quantiles of the law, and the number of rows with each.

        At most `limit` quantiles are taken, at the middle of as many equal shares; the n rows are
        divided among them as evenly as whole numbers allow. With `density` quantiles are
        interpolated between the values of the law; otherwise they are among its values.
        """
        m = min(n, limit)
        reached = np.cumsum(self.share)
        quantile = (np.arange(m) + 0.5) / m
        if density:
            score = np.interp(quantile, reached - self.share / 2, self.score)
        else:
            place = np.searchsorted(reached, quantile)
            score = self.score[np.minimum(place, self.score.size - 1)]
        score, place = np.unique(score, return_inverse=True)
        return score, np.bincount(place, np.diff(np.arange(m + 1) * n // m)).astype(np.int64)


def log_odds_of(score: Floats) -> Floats:
    """Log-odds; 0 for scores of 0 and 1, which no shift and no slope moves."""
    inside = (score > 0) & (score < 1)
    return np.where(inside, logit(np.where(inside, score, 0.5)), 0.0)


def moved(score: Floats, slope: float, shift: float) -> Floats:
    """Scores with the log-odds slope · log-odds + shift; those of 0 and 1 stay."""
    return np.where((score > 0) & (score < 1), expit(slope * log_odds_of(score) + shift), score)


def score_law(
    prevalence: float | None,
    c_statistic: float | None,
    log_odds: Sequence[float] | None,
    scores: ArrayLike | None,
) -> ScoreLaw | None:
    """The law of the scores that the arguments describe; None if they give a prevalence only.

    `prevalence` is the event rate, `c_statistic` the probability that an event has the higher
    score, `log_odds` the mean and standard deviation of normal log-odds, and `scores` are those of
    rows. `scores` come first, then `log_odds`, then prevalence and c-statistic, for which log-odds
    are normal. Refused are scores and log-odds together, and neither of these without a prevalence.
    """
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
    """The law of the scores of rows, which count alike; scores of only 0 and 1 are refused."""
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


def _of_pair(log_odds: Sequence[float]) -> ScoreLaw:
    """The law of normal log-odds, from their mean and standard deviation, checked."""
    is_vector = isinstance(log_odds, list | tuple) or np.ndim(log_odds) == 1
    if is_vector and len(log_odds) == 2 and all(map(is_number, log_odds)):
        mean, deviation = log_odds
        if abs(mean) < _FARTHEST and 0 < deviation < _WIDE:
            return _normal(float(mean), float(deviation))
    demand = "must be the mean and the standard deviation of the log-odds, the latter above 0"
    raise InputError("log_odds", demand, f"got {log_odds!r}")


def _normal(mean: float, deviation: float) -> ScoreLaw:
    """The law of normal log-odds with this mean and standard deviation, at points of a grid."""
    density = np.exp(-(_GRID**2) / 2)
    return ScoreLaw(expit(mean + deviation * _GRID), density / density.sum())


def _with_c(prevalence: float, c_statistic: float) -> ScoreLaw:
    """The law of normal log-odds with this prevalence and c-statistic.

    The standard deviation of the log-odds is found by the c-statistic, and for each of these the
    mean by the prevalence. Refused are values that are too near their limits for such a law.
    """
    if not _RAREST <= prevalence <= 1 - _RAREST:
        demand = (
            "must not be so near 0 or 1 if `c_statistic` is given: "
            f"at least {_RAREST:g}, at most 1 - {_RAREST:g}"
        )
        raise InputError("prevalence", demand, f"got {prevalence!r}")

    def law(deviation: float) -> ScoreLaw:
        """The law with the prevalence and this standard deviation of the log-odds."""

        def too_many(mean: float) -> float:
            return _normal(mean, deviation).prevalence - prevalence

        farthest = 40 + 10 * deviation
        mean = bracketed_root(too_many, -farthest, farthest, xtol=1e-10)
        return _normal(mean, deviation)

    def too_separated(log_deviation: float) -> float:
        return law(math.exp(log_deviation)).c_statistic - c_statistic

    low = math.log(_NARROW)
    high = math.log(_WIDE)
    if not too_separated(low) < 0 < too_separated(high):
        raise InputError("c_statistic", "must not be so near 0.5 or 1", f"got {c_statistic!r}")
    return law(math.exp(bracketed_root(too_separated, low, high, xtol=1e-8)))


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
# If no score has a larger share of the rows, scores are taken to have a density.
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

    `law` is the distribution of the scores. Labels are drawn from them, and accepted if the upper
    limit of the `criterion` at `level` is at most `within`; for 'band', if enough of the rows lie
    within. `step` is called after each number of rows that is tried. None if more than 10⁷ rows are
    needed.
    """
    draws = _DRAWS[criterion]
    first_draws = _FEW_DRAWS if power <= _HIGH_POWER else draws
    has_density = bool(law.share.max() <= _TIED)

    def accepted(n: int) -> float:
        """The share of data sets that are accepted.

        If all or none of the first few are, no more are drawn.
        """
        limit = max(1024, math.ceil(_PER_CELL * n**_FINE))
        rng = stream(seed, "labels")
        score, count = law.rows(n, limit, density=has_density)
        drawn = 0
        kept = 0
        while drawn < draws:
            cells = Cells(score, count, count, rng.binomial(count, score))
            kept += _keeps(cells, criterion, within, 1 - level)
            drawn += 1
            if drawn == first_draws and kept in (0, drawn):
                break
        step()
        return kept / drawn

    return rows_for(
        lambda n: quietly(accepted, n), power, _FIRST_ROWS, fewest=_LEAST_ROWS, times=4, draws=draws
    )


def rows_for(
    power_at: Callable[[int], float],
    power: float,
    first: float,
    *,
    fewest: int,
    times: int,
    draws: int,
) -> int | None:
    """The number of rows at which a simulated power reaches `power`; None above 10⁷ rows.

    `power_at` gives the share of simulated data sets of n rows, out of `draws`, in which the test
    succeeds. The true power must rise with n. The search begins at `first` rows. It multiplies or
    divides them by `times` until the power is reached at one number and missed at another.
    Bisection then brings the two within 10 % of each other.

    A straight line of the normal quantile of power on log n, through the four tried numbers with
    the power nearest to the target, smooths the noise of the simulation. Its answer is at most 10 %
    outside the two numbers. If the line does not rise, the larger of the two is taken. The result
    is rounded up and at least `fewest`.
    """
    target = float(ndtri(power))
    n = max(first, float(fewest))
    seen: list[tuple[float, float]] = []

    def is_enough(n: float) -> bool:
        simulated = power_at(math.ceil(n))
        # A power of 0 or 1 has no finite quantile: half a draw is the other way.
        inner = min(max(simulated, 0.5 / draws), 1 - 0.5 / draws)
        seen.append((math.log(n), float(ndtri(inner))))
        return simulated >= power

    if n <= MOST_ROWS and is_enough(n):
        while n > fewest and is_enough(max(n / times, fewest)):
            n = max(n / times, fewest)
        low = max(n / times, fewest)
        high = n
    else:
        while n < MOST_ROWS and not is_enough(min(times * n, MOST_ROWS)):
            n *= times
        if n >= MOST_ROWS:
            return None
        low = n
        high = min(times * n, MOST_ROWS)
    while high > low * _FACTOR:
        middle = math.sqrt(low * high)
        if is_enough(middle):
            high = middle
        else:
            low = middle
    fitted = _fitted_rows(seen, target)
    if fitted is not None:
        high = min(max(fitted, low / _FACTOR), high * _FACTOR)
    return max(math.ceil(high), fewest)


def _fitted_rows(seen: Sequence[tuple[float, float]], target: float) -> float | None:
    """The rows at which a line through the tried numbers nearest to the target reaches it.

    `seen` has the logarithm of each number of rows and the normal quantile of its power. Four
    numbers smooth the noise of the simulation. None if the line does not rise.
    """
    nearest = sorted(seen, key=lambda point: abs(point[1] - target))[:4]
    log_n, quantile = np.array(nearest).T
    slope, intercept = np.polyfit(log_n, quantile, 1) if len(nearest) > 1 else (0.0, 0.0)
    # Equal powers have no slope but that of rounding.
    if np.ptp(quantile) > 0 and slope > 0:
        return math.exp(min((target - intercept) / slope, 700.0))
    return None


def _keeps(cells: Cells, criterion: Accepted, within: float, alpha: float) -> bool:
    """Whether rows are accepted: whether a criterion is shown to be at most `within`.

    `cells` has rows and events at each score. For 'l2' and 'ece' the upper limit with the error
    rate `alpha` must be at most `within`. For 'band' the share of rows that the monotone band shows
    to be right within that must be large enough.
    """
    if criterion == "l2":
        return upper_limit(DefaultParts.of_cells(cells))(alpha) <= within**2
    if criterion == "band":
        return BandRuns(cells).share_within(within, alpha) >= SHARE - 1e-12
    return bin_gaps(Sums.read(Tally("binary", (cells,))), 10).high(alpha) <= within

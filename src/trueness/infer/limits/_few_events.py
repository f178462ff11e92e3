"""Few expected events among the human labels: the test and the event rate of `powered`.

Below about ten events the prediction of a label is fitted to the very events that it explains, and
neither it nor the normal law can be trusted. Here the estimate with the judge is blended with that
of the humans alone, and its law is that of redrawn labels.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from trueness._level import Level
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.ridge_logistic import ridge_logistic
from trueness.typing import Floats, Ints

FEW_EVENTS = 20.0
"""With fewer expected events among the human rows the methods of this file are used. The plain test
has a size of .073 at 7 expected events and at most .05 from 10 on (300 labels); its limits cover
.92 at 5 events and .96 at 10."""
_HALF = 3.0
"""With this many expected events the judge counts for half; chosen with the recipe, on other laws
than those of the tests."""
_CLASSES = 5
"""More values of the judge than this are grouped at their quantiles."""
_POOLS = 1_024
"""More rows than this are pooled with their neighbours for the law of the judge."""
_RIDGE = 1.0
_STEEPEST = 5.0
"""Log-odds beyond this count as this: a few certain scores must not decide a slope."""
_LARGEST_LOGIT = 30.0
"""Scores of 0 and 1 have infinite log-odds."""
_PRIOR = np.diag([1e-6, 1e-4])
"""Keeps the regression of the judge on the score finite where the score decides it."""
_DRAWS = 999
_MANY_ROWS = 200_000
"""More rows than this have fewer draws, to save time."""
_FEW_DRAWS = 199
_ENTRIES = 1 << 21
"""Numbers drawn at a time, so that memory stays small."""
_TINY = 1e-300
"""In place of a variance or a range of 0, as of equal scores, which nothing can be divided by."""


@dataclass(frozen=True)
class JudgedRows:
    """Independent rows, ascending by score, some with a human label."""

    p: Floats
    """Scores."""
    y: Floats
    """Human labels; 0 where there is none."""
    share: Floats
    """The weight of each human label among all; 0 where there is none."""
    judge: Floats

    @classmethod
    def of(cls, p: Floats, y: Floats, share: Floats, judge: Floats) -> "JudgedRows":
        """The rows in an order that depends on their content only."""
        y = np.where(share > 0, y, 0.0)
        order = np.lexsort((share, y, judge, p))
        return cls(p[order], y[order], share[order], judge[order])

    @property
    def known(self) -> Ints:
        """The places of the rows with a human label."""
        return np.flatnonzero(self.share)

    @property
    def units(self) -> float:
        """Human labels of equal weight."""
        return 1 / float(self.share @ self.share)


def expected_events(p: Floats, share: Floats) -> float:
    """The rarer label's expected number among the human rows, from the scores alone."""
    mean = float(share @ p)
    return min(mean, 1 - mean) / float(share @ share)


def judge_weight(events: float) -> float:
    """How much the judge counts in the blend with humans alone."""
    return events / (events + _HALF)


class JudgeLaw:
    """What the judge says given the score: a few classes and the probability of each.

    It is fitted to all rows, with and without a human label.
    """

    def __init__(self, rows: JudgedRows) -> None:
        """Fit the law to all rows: the judge's classes and the probability of each given the score.

        A class is one of the judge's numbers. A judge with more than five different numbers is cut
        into five classes at quantiles, and the number of a class is then the mean of its rows. The
        numbers are centred and divided by their range, so that the judge's unit does not matter.
        The probabilities are logistic regressions on the log-odds of the score.
        """
        values, code = np.unique(rows.judge, return_inverse=True)
        if values.size > _CLASSES:
            edges = np.quantile(rows.judge, np.arange(1, _CLASSES) / _CLASSES)
            code = np.unique(np.searchsorted(edges, rows.judge, "right"), return_inverse=True)[1]
            values = np.bincount(code, rows.judge) / np.bincount(code)
        # In units of their own, so that the unit of the judge does not matter.
        self.values = (values - values.mean()) / max(float(np.ptp(values)), _TINY)
        """The judge's number for each class, ascending."""
        self.code = code
        """The class of each row."""
        self.exceeds = self._exceeds(rows.p)
        """P(class > c | score), of shape (classes − 1, rows)."""
        self.probability = -np.diff(self.exceeds, axis=0, prepend=1.0, append=0.0)
        """P(class = c | score), of shape (classes, rows)."""
        self.mean = self.values @ self.probability
        """The judge's mean at the score of each row."""
        self.variance = np.maximum(self.values**2 @ self.probability - self.mean**2, 0.0)
        """The judge's variance at the score of each row."""

    def _exceeds(self, p: Floats) -> Floats:
        """P(class > c | score) for every class c but the last, of shape (classes − 1, rows).

        Classes are those of the judge's numbers, ascending. Each row of the result is a logistic
        regression of "class above c" on the log-odds of the scores `p`, which are in ascending
        order. It is fitted to at most 1,024 pools of neighbouring scores, with a small ridge that
        keeps it finite. Where separate regressions cross, the lower one is used for both, so that
        the probability never rises with c. With a single class there is none, and the result has no
        rows.
        """
        cuts = self.values.size - 1
        if not cuts:
            return np.zeros((0, p.size))
        size = min(p.size, _POOLS)
        pool = np.arange(p.size) * size // p.size
        weight = np.bincount(pool).astype(np.float64)
        x = np.clip(logit(p), -_LARGEST_LOGIT, _LARGEST_LOGIT)
        design = np.column_stack([np.ones(size), np.bincount(pool, x) / weight])
        weights = np.tile(weight, (cuts, 1))
        events = np.array([np.bincount(pool, self.code > c) for c in range(cuts)])
        lines = ridge_logistic(design, weights, events.reshape(cuts, size), np.zeros(2), _PRIOR)
        exceeds = expit(lines @ np.vstack([np.ones(p.size), x]))
        # Lines of separate regressions may cross; the probabilities must not increase with c.
        return np.asarray(np.minimum.accumulate(exceeds, axis=0))

    @property
    def centred(self) -> Floats:
        """The judge less its mean at the score."""
        return np.asarray(self.values[self.code] - self.mean)

    def steepest(self, p: Floats, sign: float) -> Floats:
        """The largest slope, in size, of the event probability over the judge at each score `p`.

        The probability is a line over the judge's number that passes through p at the judge's mean
        and stays in [0, 1]; it rises with the judge if `sign` is positive, and falls otherwise.
        """
        below = np.maximum(self.mean - self.values[0], 1e-12)
        above = np.maximum(self.values[-1] - self.mean, 1e-12)
        if sign > 0:
            return np.asarray(np.minimum(p / below, (1 - p) / above))
        return np.asarray(np.minimum(p / above, (1 - p) / below))

    def draw(self, uniform: Floats) -> Floats:
        """The judge of every row, drawn from its law given the score.

        `uniform` holds a random number between 0 and 1 for each, of shape (draws, rows).
        """
        code = np.zeros(uniform.shape, np.int8)
        for above in self.exceeds:
            code += uniform < above
        return np.asarray(self.values[code])


class _Fit(NamedTuple):
    """Ridge regressions of human labels less scores, one for each set of labels."""

    beta: Floats
    """Coefficients, of shape (sets, 5)."""
    fitted: Floats
    """The fit at each labelled row, of shape (sets, labelled rows)."""
    residual: Floats
    """The residual of each labelled row from the fit without that row."""


class _Statistic:
    """The test statistic of sets of labels: sums of gaps of cells, blended and squared.

    The gap of a row, label less score, is predicted by ridge regression from five columns:
    √(p(1 − p)), this times (p − ½), both of these times the judge, and the judge. The sums of a
    cell with the predictions are blended with those of the humans alone.
    """

    def __init__(self, rows: JudgedRows, law: JudgeLaw, cell: Ints) -> None:
        """Prepare what is the same for every set of labels.

        `law` has the judge's number for each row. `cell` is the cell of each row: cells are
        numbered from 0 without gaps, and rows are in their order. `weight` is E / (E + 3), how much
        the judge counts in the blend with humans alone, where E is the number of rarer labels that
        the scores expect among the human ones. The five columns of the regression are scaled to a
        mean square of 1 with the observed judge, and with the same factors for drawn ones.
        """
        p = rows.p
        labelled = rows.known
        self.known = labelled
        self.first = np.flatnonzero(np.diff(cell, prepend=-1))
        self.size = p.size
        self.weight = judge_weight(expected_events(p, rows.share))
        spread = np.sqrt(p * (1 - p))
        self.centre = float(law.values[law.code].mean())
        judge = law.values[law.code] - self.centre
        slope = p - 0.5
        columns = (spread, spread * slope, spread * judge, spread * slope * judge, judge)
        # A judge who says the same of all rows has columns of 0.
        scale = [max(math.sqrt(float((column**2).mean())), 1e-150) for column in columns]
        self.fixed = [spread / scale[0], spread * slope / scale[1]]
        """The columns without the judge."""
        self.by_judge = [
            spread / scale[2],
            spread * slope / scale[3],
            np.full(p.size, 1 / scale[4]),
        ]
        """What the judge is multiplied by in the other columns."""
        self.share = rows.share[labelled]
        self.p = p[labelled]
        inside = cell[labelled][:, None] == np.arange(cell[-1] + 1)
        self.inside: Floats = inside.astype(np.float64)
        self.forms = _forms(rows, cell)

    def values(self, judge: Floats, y: Floats) -> Floats:
        """The statistic of each set of labels, of shape (sets,); large is miscalibrated.

        `judge` holds the judge's numbers for all rows, of shape (sets, rows), and `y` the labels of
        the rows that humans labelled, of shape (sets, labelled rows).

        The gap of a row, label less score, is predicted by the ridge regression of the set; a
        labelled row by the fit without it. In each cell the predicted gaps of all rows are summed,
        corrected by the weighted residuals of the human labels, and blended with the sum of the
        weighted gaps of the humans alone. The statistic is the sum of squares of linear forms of
        these sums: cumulative sums from both ends, their total and their slope.
        """
        judge = judge - self.centre
        gap = y - self.p
        fit = self._fit(judge[:, self.known], gap)
        fixed = np.array([np.add.reduceat(column, self.first) for column in self.fixed])
        drawn = np.array(
            [np.add.reduceat(judge * column, self.first, axis=1) for column in self.by_judge]
        )
        predicted = fit.beta[:, :2] @ fixed + np.einsum("bk,kbc->bc", fit.beta[:, 2:], drawn)
        # A labelled row is predicted by the fit without it.
        predicted += (gap - fit.residual - fit.fitted) @ self.inside
        with_judge = predicted / self.size + (fit.residual * self.share) @ self.inside
        alone = (gap * self.share) @ self.inside
        blended = self.weight * with_judge + (1 - self.weight) * alone
        return np.asarray(((blended @ self.forms.T) ** 2).sum(axis=1))

    def _fit(self, judge: Floats, gap: Floats) -> _Fit:
        """The ridge regression of each set of gaps of labelled rows on the five columns.

        `judge` and `gap` are of shape (sets, labelled rows): the judge's centred number, and label
        less score. Rows have the weights of their human labels, scaled to sum to their number. The
        result has the coefficients, the fit at each labelled row, and the residual of each from the
        fit without it. That residual is (gap − fit)/(1 − leverage), which needs no further fit.
        """
        constant = [np.broadcast_to(column[self.known], judge.shape) for column in self.fixed]
        varying = [judge * column[self.known] for column in self.by_judge]
        x = np.stack([*constant, *varying], axis=2)
        weight = self.share * self.share.size
        weighted = (x * weight[:, None]).transpose(0, 2, 1)
        square = weighted @ x + _RIDGE * np.eye(5)
        beta = np.linalg.solve(square, weighted @ gap[..., None])[..., 0]
        fitted = (x @ beta[..., None])[..., 0]
        inverse = np.linalg.solve(square, x.transpose(0, 2, 1))
        leverage = weight * (x * inverse.transpose(0, 2, 1)).sum(axis=2)
        return _Fit(beta, fitted, (gap - fitted) / (1 - leverage))


def end_sums(share: Floats) -> Floats:
    """Linear forms that sum cells from either end, in rows, times the root of the cell's share.

    The first half sums from the first cell up to each, the second from each to the last.
    """
    triangle = np.tril(np.ones((share.size, share.size)))
    root = np.sqrt(share)[:, None]
    return np.vstack([root * triangle, root * triangle.T])


def _forms(rows: JudgedRows, cell: Ints) -> Floats:
    """Linear forms of the gaps of cells, in rows: sums from both ends, their total, their slope.

    `cell` is the cell of each row; the result has a column for each cell. Multiplied by the gaps of
    the cells, label less score, it gives numbers that are large in size if scores are
    miscalibrated. The slope is over the mean log-odds of the cells and is uncorrelated with the
    total. Each of these three kinds is scaled so that, for calibrated scores and humans alone, the
    variances of its forms add up to 1.
    """
    size = np.bincount(cell)
    variance = np.bincount(cell, rows.p * (1 - rows.p)) / cell.size / rows.units
    variance = np.maximum(variance, _TINY)
    slope = np.bincount(cell, np.clip(logit(rows.p), -_STEEPEST, _STEEPEST)) / size
    slope = slope - variance @ slope / variance.sum()
    scaled = []
    for form in (end_sums(size / cell.size), np.ones((1, size.size)), slope[None, :]):
        total = float((form**2 @ variance).sum())
        scaled.append(form / math.sqrt(max(total, _TINY)))
    return np.vstack(scaled)


def redrawn_pvalue(rows: JudgedRows, law: JudgeLaw, cell: Ints, rng: np.random.Generator) -> float:
    """P-value of the hypothesis that the scores are calibrated, for few events among human labels.

    It is (1 + the number of redrawn sets whose statistic is at least the observed one) / (draws +
    1), with 999 draws, or 199 for more than 200,000 rows. The statistic is the sum of squared sums
    of gaps (label − score) over cells; `cell` is the cell of each row.

    Judge and labels are drawn together: the judge from `law`, its law given the score, the label
    with a mean that is the score on average over the judge. The observed labels decide one number
    only, how strongly label and judge go together (:func:`_label_slope`).
    """
    statistic = _Statistic(rows, law, cell)
    labelled = rows.known
    p = rows.p[labelled]
    slope = _label_slope(rows, law)
    observed = statistic.values(law.values[law.code][None, :], rows.y[labelled][None, :])[0]
    draws = _DRAWS if rows.p.size <= _MANY_ROWS else _FEW_DRAWS
    block = max(1, _ENTRIES // rows.p.size)
    as_far = 0
    for start in range(0, draws, block):
        number = min(block, draws - start)
        judge = law.draw(rng.random((number, rows.p.size)))
        chance = np.clip(p + slope * (judge[:, labelled] - law.mean[labelled]), 0.0, 1.0)
        y = (rng.random(chance.shape) < chance).astype(np.float64)
        # Equal sets of labels have equal values, up to rounding.
        as_far += int((statistic.values(judge, y) >= observed * (1 - 1e-9)).sum())
    return (1 + as_far) / (draws + 1)


def _label_slope(rows: JudgedRows, law: JudgeLaw) -> Floats:
    """The slope of the event probability over the judge, at the score of each labelled row.

    The probability is a line over the judge's number that passes through the score at the judge's
    mean. Its slope is the steepest that keeps it in [0, 1], times one factor for all rows: the
    observed covariance of labels and judge at equal scores, divided by the covariance that the
    steepest slopes would give. The factor is between −1 and 1; it is 0 if the judge says the same
    of all rows.
    """
    labelled = rows.known
    share = rows.share[labelled]
    gap = rows.y[labelled] - rows.p[labelled]
    covariance = float(share @ (gap * law.centred[labelled]))
    steepest = law.steepest(rows.p, covariance)[labelled]
    possible = float(share @ (steepest * law.variance[labelled]))
    strength = min(abs(covariance) / possible, 1.0) if possible > 0 else 0.0
    return math.copysign(strength, covariance) * steepest


@dataclass(frozen=True)
class BlendedRate:
    """The event rate by humans, with as much of the judge as the events can bear."""

    value: float
    units: float
    """Human labels of equal weight."""
    rows: float
    """Rows of equal weight whose share of events would be as uncertain."""

    @property
    def variance(self) -> float:
        """The variance of the value."""
        rate = min(max(self.value, 0.5 / self.units), 1 - 0.5 / self.units)
        return rate * (1 - rate) / self.rows

    def limits(self, level: float) -> tuple[float, float]:
        """Clopper-Pearson limits of as many rows."""
        low, high = clopper_pearson(self.value * self.rows, self.rows, 1 - 2 * Level(level).tail)
        return float(low), float(high)


def blended_rate(rows: JudgedRows, law: JudgeLaw) -> BlendedRate:
    """The event rate from human labels, with help of a judge who has labels for all rows.

    The mean score is corrected by the judge, less its mean at the score, times a slope, and by the
    mean residual of the humans. The slope is that of label − score on the judge among the labelled
    rows; for a labelled row it is fitted without that row. It is multiplied by E / (E + 3), where E
    is the number of the rarer label among the humans: with few events a regression promises too
    much. What the judge gains in variance is multiplied by the same weight.

    `law` has the judge's classes and their means given the score. The result has the rate and the
    number of rows of equal weight that it is worth. If the judge says the same of all labelled rows
    at their scores, its slope is 0 and it changes nothing.
    """
    labelled = rows.known
    share = rows.share[labelled]
    judge = law.centred[labelled]
    gap = rows.y[labelled] - rows.p[labelled]
    rate = float(share @ rows.y[labelled])
    n = rows.units
    weight = judge_weight(n * min(rate, 1 - rate))
    products = share * judge * gap
    squares = share * judge**2
    covariance = float(products.sum())
    total = float(squares.sum())
    slope = weight * covariance / total if total > 0 else 0.0
    # The slope for a labelled row leaves out that row; a single row with all squares leaves none.
    rest_squares = total - squares
    usable = rest_squares > 1e-12 * total
    rest_products = weight * (covariance - products)
    without = np.where(usable, rest_products / np.where(usable, rest_squares, 1.0), 0.0)
    slopes = np.full(rows.p.size, slope)
    slopes[labelled] = without
    correction = share @ (gap - without * judge)
    value = float(rows.p.mean() + (slopes * law.centred).mean() + correction)
    value = min(max(value, 0.0), 1.0)
    # A rate of 0 or 1 would have no variance: half an event or non-event is seen.
    inner = min(max(value, 0.5 / n), 1 - 0.5 / n)
    variance = inner * (1 - inner)
    unlabelled = max(1 - n / rows.p.size, 0.0)
    gain = weight * (2 * slope * covariance - slope**2 * total) * unlabelled
    gain = min(max(gain, 0.0), variance * unlabelled)
    return BlendedRate(value, n, n * variance / (variance - gain))

"""Few expected events among the human labels: the test and the event rate of `powered`.

Below about ten events the prediction of a label is fitted to the very events that it explains, and
neither it nor the normal law can be trusted. Here the estimate with the judge is blended with that
of the humans alone, and its law is that of redrawn labels.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from trueness._level import Level
from trueness._numerics.logistic import ridge_logistic
from trueness._numerics.proportions import clopper_pearson
from trueness.typing import Floats, Ints

FEW_EVENTS = 20.0
"""With fewer expected events among the human rows the methods of this file are used. The plain test
has a size of .073 at 7 expected events and at most .05 from 10 on (300 labels); its limits cover
.92 at 5 events and .96 at 10."""
_HALF = 3.0
"""With this many expected events the judge counts for half; chosen with the recipe, on other laws
than those of the tests."""
_CLASSES = 5
_POOLS = 1_024
_RIDGE = 1.0
_STEEPEST = 5.0
_LARGEST_LOGIT = 30.0
_PRIOR = np.diag([1e-6, 1e-4])
"""Keeps the regression of the judge on the score finite where the score decides it."""
_DRAWS = 999
_MANY_ROWS = 200_000
_FEW_DRAWS = 199
_ENTRIES = 1 << 21


@dataclass(frozen=True)
class JudgedRows:
    """Independent rows, some with a human label, by score; `share` is its weight, 0 without one."""

    p: Floats
    y: Floats
    share: Floats
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

    All rows are used.
    """

    def __init__(self, rows: JudgedRows) -> None:
        values, code = np.unique(rows.judge, return_inverse=True)
        if values.size > _CLASSES:
            edges = np.quantile(rows.judge, np.arange(1, _CLASSES) / _CLASSES)
            code = np.unique(np.searchsorted(edges, rows.judge, "right"), return_inverse=True)[1]
            values = np.bincount(code, rows.judge) / np.bincount(code)
        # In units of their own, so that the unit of the judge does not matter.
        self.values = (values - values.mean()) / max(float(np.ptp(values)), 1e-300)
        self.code = code.reshape(-1)
        self.exceeds = self._exceeds(rows.p)
        self.probability = -np.diff(self.exceeds, axis=0, prepend=1.0, append=0.0)
        self.mean = self.values @ self.probability
        self.variance = np.maximum(self.values**2 @ self.probability - self.mean**2, 0.0)

    def _exceeds(self, p: Floats) -> Floats:
        """P(class > c | score) for every c but the last, in rows."""
        cuts = self.values.size - 1
        if not cuts:
            return np.zeros((0, p.size))
        size = min(p.size, _POOLS)
        pool = np.arange(p.size) * size // p.size
        weight = np.bincount(pool).astype(np.float64)
        x = np.clip(logit(p), -_LARGEST_LOGIT, _LARGEST_LOGIT)
        pooled = np.bincount(pool, x) / weight
        events = np.array([np.bincount(pool, self.code > c) for c in range(cuts)])
        design = np.column_stack([np.ones(size), pooled])
        weights = np.tile(weight, (cuts, 1))
        line = ridge_logistic(design, weights, events.reshape(cuts, size), np.zeros(2), _PRIOR)
        exceeds = expit(line @ np.vstack([np.ones(p.size), x]))
        return np.asarray(np.minimum.accumulate(exceeds, axis=0))

    @property
    def centred(self) -> Floats:
        """The judge less its mean at the score."""
        return np.asarray(self.values[self.code] - self.mean)

    def sensitivity(self, p: Floats, sign: float) -> Floats:
        """The largest slope of the event probability over the judge.

        It keeps the probability in [0, 1], and its mean at the score.
        """
        below = np.maximum(self.mean - self.values[0], 1e-12)
        above = np.maximum(self.values[-1] - self.mean, 1e-12)
        if sign > 0:
            return np.asarray(np.minimum(p / below, (1 - p) / above))
        return np.asarray(np.minimum(p / above, (1 - p) / below))

    def draw(self, uniform: Floats) -> Floats:
        """The judge of every row, drawn from its law given the score."""
        code = np.zeros(uniform.shape, np.int8)
        for above in self.exceeds:
            code += uniform < above
        return np.asarray(self.values[code])


class _Statistic:
    """The blended sums of every cell, for one or many sets of labels of humans and judge."""

    def __init__(self, rows: JudgedRows, law: JudgeLaw, cell: Ints) -> None:
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
        scale = [max(math.sqrt(float((column**2).mean())), 1e-150) for column in columns]
        self.fixed = [spread / scale[0], spread * slope / scale[1]]
        self.by_judge = [
            spread / scale[2],
            spread * slope / scale[3],
            np.full(p.size, 1 / scale[4]),
        ]
        self.share = rows.share[labelled]
        self.p = p[labelled]
        inside = cell[labelled][:, None] == np.arange(cell[-1] + 1)
        self.inside: Floats = inside.astype(np.float64)
        self.forms = _forms(rows, cell)

    def values(self, judge: Floats, y: Floats) -> Floats:
        """The statistic of each set of labels: the judge's of all rows, the humans' of theirs."""
        judge = judge - self.centre
        fixed = np.array([np.add.reduceat(column, self.first) for column in self.fixed])
        drawn = np.array(
            [np.add.reduceat(judge * column, self.first, axis=1) for column in self.by_judge]
        )
        labelled_judge = judge[:, self.known]
        shape = labelled_judge.shape
        constant = [np.broadcast_to(column[self.known], shape) for column in self.fixed]
        varying = [labelled_judge * column[self.known] for column in self.by_judge]
        x = np.stack([*constant, *varying], axis=2)
        u = y - self.p
        weight = self.share * self.share.size
        weighted = x * weight[:, None]
        square = weighted.transpose(0, 2, 1) @ x + _RIDGE * np.eye(5)
        beta = np.linalg.solve(square, weighted.transpose(0, 2, 1) @ u[..., None])[..., 0]
        fit = (x @ beta[..., None])[..., 0]
        inverse = np.linalg.solve(square, x.transpose(0, 2, 1))
        leverage = weight * (x * inverse.transpose(0, 2, 1)).sum(axis=2)
        # The residual that a fit without the row would leave.
        residual = (u - fit) / (1 - leverage)
        lead = beta[:, :2] @ fixed + np.einsum("bk,kbc->bc", beta[:, 2:], drawn)
        lead += (u - residual - fit) @ self.inside
        with_judge = lead / self.size + (residual * self.share) @ self.inside
        alone = (u * self.share) @ self.inside
        blended = self.weight * with_judge + (1 - self.weight) * alone
        return np.asarray(((blended @ self.forms.T) ** 2).sum(axis=1))


def _forms(rows: JudgedRows, cell: Ints) -> Floats:
    """Mean gap, slope and cumulative sums from both ends.

    Each has unit variance for calibrated humans alone.
    """
    size = np.bincount(cell)
    share = size / cell.size
    variance = np.bincount(cell, rows.p * (1 - rows.p)) / cell.size / rows.units
    variance = np.maximum(variance, 1e-300)
    root = np.sqrt(share)[:, None]
    triangle = np.tril(np.ones((size.size, size.size)))
    ends = np.vstack([root * triangle, root * triangle.T])
    slope = np.bincount(cell, np.clip(logit(rows.p), -_STEEPEST, _STEEPEST)) / size
    slope = slope - variance @ slope / variance.sum()
    scaled = []
    for form in (ends, np.ones((1, size.size)), slope[None, :]):
        total = float((form**2 @ variance).sum())
        scaled.append(form / math.sqrt(max(total, 1e-300)))
    return np.vstack(scaled)


def redrawn_pvalue(rows: JudgedRows, law: JudgeLaw, cell: Ints, rng: np.random.Generator) -> float:
    """The share of redrawn labels whose blended sums are as far from zero.

    Judge and labels are drawn together: the judge from its law given the score, the label with a
    mean that is the score whatever the judge is worth. The labels decide one number only, how
    strongly the two go together.
    """
    statistic = _Statistic(rows, law, cell)
    labelled = rows.known
    p = rows.p[labelled]
    share = rows.share[labelled]
    together = float(share @ ((rows.y[labelled] - p) * law.centred[labelled]))
    steepest = law.sensitivity(rows.p, together)[labelled]
    possible = float(share @ (steepest * law.variance[labelled]))
    strength = min(abs(together) / possible, 1.0) if possible > 0 else 0.0
    slope = math.copysign(strength, together) * steepest
    observed = statistic.values(law.values[law.code][None, :], rows.y[labelled][None, :])[0]
    draws = _DRAWS if rows.p.size <= _MANY_ROWS else _FEW_DRAWS
    block = max(1, _ENTRIES // rows.p.size)
    reached = 0
    for start in range(0, draws, block):
        number = min(block, draws - start)
        judge = law.draw(rng.random((number, rows.p.size)))
        chance = np.clip(p + slope * (judge[:, labelled] - law.mean[labelled]), 0.0, 1.0)
        y = (rng.random(chance.shape) < chance).astype(np.float64)
        # Equal sets of labels have equal values, up to rounding.
        reached += int((statistic.values(judge, y) >= observed * (1 - 1e-9)).sum())
    return (1 + reached) / (draws + 1)


@dataclass(frozen=True)
class BlendedRate:
    """The event rate by humans, with as much of the judge as the events can bear."""

    value: float
    units: float
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
    """The mean label, with the judge as a control variate that is shrunk twice.

    The judge enters less its mean at the score.
    """
    labelled = rows.known
    share = rows.share[labelled]
    f = law.centred[labelled]
    u = rows.y[labelled] - rows.p[labelled]
    rate = float(share @ rows.y[labelled])
    n = rows.units
    weight = judge_weight(n * min(rate, 1 - rate))
    products = share * f * u
    squares = share * f**2
    together = float(products.sum())
    total = float(squares.sum())
    slope = weight * together / total if total > 0 else 0.0
    # The slope for a labelled row leaves out that row.
    rest_squares = total - squares
    usable = rest_squares > 1e-12 * total
    rest_products = weight * (together - products)
    without = np.where(usable, rest_products / np.where(usable, rest_squares, 1.0), 0.0)
    of_rows = np.full(rows.p.size, slope)
    of_rows[labelled] = without
    value = float(rows.p.mean() + (of_rows * law.centred).mean() + share @ (u - without * f))
    value = min(max(value, 0.0), 1.0)
    near = min(max(value, 0.5 / n), 1 - 0.5 / n)
    variance = near * (1 - near)
    rest = max(1 - n / rows.p.size, 0.0)
    gain = weight * (2 * slope * together - slope**2 * total) * rest
    gain = min(max(gain, 0.0), variance * rest)
    return BlendedRate(value, n, n * variance / (variance - gain))

"""`decide`: the threshold that costs imply, what decisions by it cost, and what miscalibration costs there."""

import math
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.optimize import isotonic_regression

from trueness._input.arguments import Seed, checked_fraction, checked_number, generator
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness.errors import InputError
from trueness.infer.decision._certificate import certificate_of
from trueness.infer.limits._row_means import mean_row_limits, mean_value_limits
from trueness.results import Decision, Estimate
from trueness.typing import ArrayLike, Bools, Floats, Ints, RowOptions

_FOLDS, _DRAWS, _MANY = 5, 400, 20_000
_LARGEST = 1e60  # third powers of costs are summed


@partial(takes_rows, kind="confidence")
def decide(
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    cost_fp: float,
    cost_fn: float,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    seed: Seed = 0,
    **rows: Unpack[RowOptions],
) -> Decision:
    r"""The threshold that two costs imply, and what decisions by these scores cost.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`; one score per row. Sums are refused: cross-fitting needs the rows.
    cost_fp, cost_fn : float
        What it costs to act on a row without the event, and not to act on one with it; both above 0, in any unit.
    level : float, default 0.95
        Confidence level of all limits.
    cluster : array-like, optional
        Rows of one cluster are not independent.
    seed : int or numpy.random.Generator, default 0
        Seed of the folds and of the noise floor.
    **rows
        As for :func:`ece`.

    Returns
    -------
    Decision
        The threshold :math:`c_{FP} / (c_{FP} + c_{FN})`; the mean cost per row of acting from it on, at the best
        threshold (found on other rows than it is judged by), after isotonic recalibration (likewise), and of acting
        always or never; what miscalibration costs at the threshold, with its noise floor; and the most that any
        increasing map could save, at any costs of the same sum.

    Notes
    -----
    Acting is right if the event is likelier than :math:`c_{FP} / (c_{FP} + c_{FN})`: for calibrated scores no other
    threshold is cheaper. The miscalibration is the cost by these scores less that by their isotonic regression on the
    same rows, which is that of the cheapest threshold, never below 0; its noise floor is the mean of that for labels
    drawn from the scores.

    References
    ----------
    Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 3_000)
    >>> found = tn.decide(rng.uniform(size=3_000) < p, p, cost_fp=1, cost_fn=5)
    >>> round(found.threshold, 4), round(found.cost.value, 4)
    (0.1667, 0.527)
    """
    fp = checked_number(cost_fp, "cost_fp", "a number above 0", low=0)
    fn = checked_number(cost_fn, "cost_fn", "a number above 0", low=0)
    if not (min(fp, fn) >= 1 / _LARGEST and max(fp, fn) <= _LARGEST):
        demand = f"must be, as `cost_fn`, a number from {1 / _LARGEST:g} to {_LARGEST:g}"
        raise InputError("cost_fp", demand, f"got {cost_fp!r} and {cost_fn!r}")
    level = checked_fraction(level, "level")
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    evidence.require_one("a decision", counted=True)
    evidence.need_rows("A decision needs the rows")
    _ = evidence.sums  # checks every value, and warns
    return decision_of(evidence, fp, fn, level, generator(seed))


class _Costs(NamedTuple):
    """Rows by distinct score and fold, and the two costs."""

    score: Floats
    n: Floats
    """Rows of each score in each fold."""
    events: Floats
    fp: float
    fn: float
    level: float
    rows: tuple[Floats, Ints, Ints, Ints] | None
    """Labels, places among the scores, folds and clusters of the rows; None if rows are independent."""

    @property
    def threshold(self) -> float:
        return self.fp / (self.fp + self.fn)

    def estimate(self, name: str, act: Bools) -> Estimate:
        """The mean cost with limits of acting on some scores, or on some in each fold."""
        n, acted = float(self.n.sum()), float(self.n[act].sum())
        surprise = (acted * self.fp + (n - acted) * self.fn) / n
        if self.rows is None:
            found = float(self.events[act].sum())
            wrong = [acted - found, float(self.events.sum()) - found]
            counts, values = np.array([*wrong, n - sum(wrong)]), np.array([self.fp, self.fn, 0.0])
            limits, value = mean_value_limits(values, counts, surprise, self.level), float(counts @ values / n)
        else:
            y, place, fold, cluster = self.rows
            losses = np.where(act[place] if act.ndim == 1 else act[place, fold], self.fp * (1 - y), self.fn * y)
            limits, value = mean_row_limits(losses, surprise, self.level, None, cluster), float(losses.mean())
        low, high = min(limits.low, value), max(min(limits.high, max(self.fp, self.fn)), value)
        how = (limits.method, round(n), "Mean cost per row.", limits.standard_error)
        return Estimate(name, value, low, high, self.level, *how)

    def walk(self, n: Any, events: Any) -> Floats:
        """The cost of acting from each score on, and of acting never, less that of acting always."""
        return np.concatenate([[0.0], np.cumsum((self.fp + self.fn) * events - self.fp * n)])

    def best_cut(self, score: Floats, n: Floats, events: Floats) -> float:
        """The cheapest threshold: a score, or more than 1 to act never; the one nearest to that of the costs."""
        cost, cuts = self.walk(n, events), np.append(score, math.nextafter(1, 2))
        cheapest = np.flatnonzero(cost <= cost.min() + 1e-12 * (self.fp + self.fn) * n.sum())
        return float(cuts[cheapest[np.argmin(np.abs(cuts[cheapest] - self.threshold))]])

    def cross_fitted(self) -> tuple[Bools, Bools]:
        """Decisions on each score in each fold by the best threshold, and by the isotonic map, of other folds."""
        best, mapped = np.zeros(self.n.shape, dtype=bool), np.zeros(self.n.shape, dtype=bool)
        for k in range(_FOLDS):
            n, events = (v.sum(axis=1) - v[:, k] for v in (self.n, self.events))
            some = n > 0
            if some.any():
                score, n, events = self.score[some], n[some], events[some]
                best[:, k] = self.score >= self.best_cut(score, n, events)
                rate = isotonic_regression(events / n, weights=n).x
                mapped[:, k] = np.interp(self.score, score, rate) >= self.threshold
        return best, mapped


def decision_of(evidence: Evidence, fp: float, fn: float, level: float, rng: np.random.Generator) -> Decision:
    """The decision of evidence that holds rows."""
    known = evidence.expanded
    y, p = (np.asarray(v, dtype=np.float64) for v in (known.sample.y, known.sample.p))
    score, place = np.unique(p, return_inverse=True)
    units = np.arange(y.size) if known.cluster is None else known.cluster
    fold = rng.permutation(int(units.max()) + 1)[units] % _FOLDS
    cell = place.reshape(-1) * _FOLDS + fold
    sums: Any = (np.bincount(cell, v, score.size * _FOLDS).reshape(-1, _FOLDS) for v in (np.ones(y.size), y))
    n, events = sums
    rows = None if known.cluster is None else (y, place.reshape(-1), fold, known.cluster)
    costs = _Costs(score, n, events, fp, fn, level, rows)
    best, recalibrated = costs.cross_fitted()
    count, t = n.sum(axis=1).astype(np.int64), costs.threshold
    at = int(np.searchsorted(score, t))

    def lost(labels: Any) -> float:
        walk = costs.walk(count, labels)
        return float(walk[at] - walk.min()) / y.size

    alone, draws = count.max() == 1, _DRAWS if score.size < _MANY else _DRAWS // 10
    drawn = [lost(rng.random(score.size) < score if alone else rng.binomial(count, score)) for _ in range(draws)]
    nan, what = math.nan, "Mean cost less that after isotonic regression."
    miscalibration = Estimate(
        *("cost of miscalibration", lost(events.sum(axis=1)), nan, nan, level, "", evidence.n, what),
        floor=float(np.mean(drawn)),
        floor_high=float(np.quantile(drawn, level)),
    )
    return Decision(
        threshold=t,
        cost=costs.estimate("cost", score >= t),
        best_threshold=costs.best_cut(score, count, events.sum(axis=1)),
        best_cost=costs.estimate("cost at the best threshold", best),
        recalibrated_cost=costs.estimate("cost after recalibration", recalibrated),
        always=costs.estimate("cost of acting always", score >= 0),
        never=costs.estimate("cost of acting never", score < 0),
        miscalibration=miscalibration,
        most_to_save=certificate_of(evidence, level).high * (fp + fn),
        cost_fp=fp,
        cost_fn=fn,
        level=level,
        n=evidence.n,
    )

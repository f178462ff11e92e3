"""`decide`: the threshold that costs imply, what decisions by it cost, and what miscalibration costs there."""

import math
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.optimize import isotonic_regression

from trueness._input.arguments import Seed, checked_fraction, checked_number, generator
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rows_or_sums import takes_rows
from trueness.errors import InputError
from trueness.infer.decision._certificate import certificate_of
from trueness.infer.limits._row_means import mean_row_limits
from trueness.results import Decision, Estimate
from trueness.typing import ArrayLike, Bools, Floats, Ints, RowOptions

_FOLDS, _DRAWS, _MANY = 5, 400, 20_000


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
        As for :func:`ece`; one score per row.
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
    same rows, never below 0; its noise floor is the mean of that for labels drawn from the scores.

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
    fp, fn = (
        checked_number(v, name, "a number above 0", low=0) for v, name in ((cost_fp, "cost_fp"), (cost_fn, "cost_fn"))
    )
    if not math.isfinite(fp + fn):
        raise InputError("cost_fp", "must be finite, and `cost_fn` too", f"got {cost_fp!r} and {cost_fn!r}")
    level = checked_fraction(level, "level")
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    evidence.require_one("a decision")
    if not evidence.whole:
        raise InputError("sample_weight", "must be whole numbers, which count rows", "got fractions")
    evidence.need_rows("A decision needs the rows")
    _ = evidence.sums  # checks every value, and warns
    return decision_of(evidence, fp, fn, level, generator(seed))


class _Costs(NamedTuple):
    """Rows and the two costs."""

    y: Floats
    p: Floats
    fp: float
    fn: float
    cluster: Ints | None
    level: float
    n: int

    @property
    def threshold(self) -> float:
        return self.fp / (self.fp + self.fn)

    def each(self, act: Bools) -> Floats:
        """The cost of every row."""
        return np.where(act, self.fp * (1 - self.y), self.fn * self.y)

    def estimate(self, name: str, act: Bools) -> Estimate:
        """The mean cost with limits."""
        losses = self.each(act)
        surprise = float(np.where(act, self.fp, self.fn).mean())
        limits = mean_row_limits(losses, surprise, self.level, None, self.cluster)
        value, most = float(losses.mean()), max(self.fp, self.fn)
        low, high = min(limits.low, value), max(min(limits.high, most), value)
        how = (limits.method, self.n, "Mean cost per row.", limits.standard_error)
        return Estimate(name, value, low, high, self.level, *how)


def decision_of(evidence: Evidence, fp: float, fn: float, level: float, rng: np.random.Generator) -> Decision:
    """The decision of evidence that holds rows."""
    known = evidence.expanded
    y, p = (np.asarray(v, dtype=np.float64) for v in (known.sample.y, known.sample.p))
    costs = _Costs(y, p, fp, fn, known.cluster, level, evidence.n)
    cells = cells_of_rows(known.sample)
    t = costs.threshold
    best, recalibrated, cut = _cross_fitted(costs, rng)
    value = _miscalibration(cells, np.asarray(cells.events, np.float64), fp, fn)
    count, draws = cells.weight.astype(np.int64), _DRAWS if cells.size < _MANY else _DRAWS // 10
    drawn = [_miscalibration(cells, rng.binomial(count, cells.score).astype(float), fp, fn) for _ in range(draws)]
    nan = math.nan
    miscalibration = Estimate(
        *(
            "cost of miscalibration",
            value,
            nan,
            nan,
            level,
            "",
            evidence.n,
            "Mean cost less that after isotonic regression.",
        ),
        floor=float(np.mean(drawn)),
        floor_high=float(np.quantile(drawn, level)),
    )
    return Decision(
        threshold=t,
        cost=costs.estimate("cost", p >= t),
        best_threshold=cut,
        best_cost=costs.estimate("cost at the best threshold", best),
        recalibrated_cost=costs.estimate("cost after recalibration", recalibrated),
        always=costs.estimate("cost of acting always", np.ones(y.size, dtype=bool)),
        never=costs.estimate("cost of acting never", np.zeros(y.size, dtype=bool)),
        miscalibration=miscalibration,
        most_to_save=certificate_of(evidence, level).high * (fp + fn),
        cost_fp=fp,
        cost_fn=fn,
        level=level,
        n=evidence.n,
    )


def _cross_fitted(costs: _Costs, rng: np.random.Generator) -> tuple[Bools, Bools, float]:
    """Decisions of each row by the best threshold and by the isotonic map of other folds; the best of all rows."""
    units = np.arange(costs.y.size) if costs.cluster is None else costs.cluster
    fold = rng.permutation(int(units.max()) + 1)[units] % _FOLDS
    best, mapped = np.zeros(costs.y.size, dtype=bool), np.zeros(costs.y.size, dtype=bool)
    for k in range(_FOLDS):
        train, test = fold != k, fold == k
        if train.any() and test.any():
            score, n, events = _cells(costs.y[train], costs.p[train])
            best[test] = costs.p[test] >= _best_cut(score, n, events, costs)
            rate = isotonic_regression(events / n, weights=n).x
            mapped[test] = np.interp(costs.p[test], score, rate) >= costs.threshold
    return best, mapped, _best_cut(*_cells(costs.y, costs.p), costs)


def _cells(y: Floats, p: Floats) -> tuple[Floats, Floats, Floats]:
    score, code = np.unique(p, return_inverse=True)
    code = code.reshape(-1)
    return score, np.bincount(code).astype(np.float64), np.asarray(np.bincount(code, y), dtype=np.float64)


def _best_cut(score: Floats, n: Floats, events: Floats, costs: _Costs) -> float:
    """The cheapest threshold: a score, or more than 1 to act never; of several the one nearest to that of the costs."""
    missed = np.concatenate([[0.0], np.cumsum(events)])
    acted = np.concatenate([np.cumsum((n - events)[::-1])[::-1], [0.0]])
    cost = costs.fp * acted + costs.fn * missed
    cuts = np.append(score, math.nextafter(1, 2))
    cheapest = np.flatnonzero(cost <= cost.min() + 1e-12 * (1 + cost.min()))
    return float(cuts[cheapest[np.argmin(np.abs(cuts[cheapest] - costs.threshold))]])


def _miscalibration(cells: Cells, events: Floats, fp: float, fn: float) -> float:
    """The mean cost by the scores less that by their isotonic regression."""
    n, t = np.asarray(cells.weight, dtype=np.float64), fp / (fp + fn)
    rate = isotonic_regression(events / n, weights=n).x

    def cost(act: Any) -> float:
        return float(np.where(act, fp * (n - events), fn * events).sum() / n.sum())

    return max(cost(cells.score >= t) - cost(rate >= t), 0.0)

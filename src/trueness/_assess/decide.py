"""`decide`: what decisions at the threshold that costs imply cost, and what recalibration would save."""

from functools import partial
from typing import Unpack

from trueness._assess.asked import Asked
from trueness._assess.held_out import deal, held_out, is_splittable
from trueness._assess.makers import MAKERS
from trueness._assess.rows import ModelRows
from trueness._input.arguments import Seed, checked_fraction, checked_number, whole_seed
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness.errors import InputError, quietly
from trueness.infer.decision._decide import Mended, decision_of, mended_costs
from trueness.results import Decision
from trueness.typing import ArrayLike, RowOptions

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
        What it costs to act on a row without the event, and not to act on one with it; both above
        0, in any unit.
    seed : int or numpy.random.Generator, default 0
        Seed of the folds.
    level, cluster, **rows
        As for :func:`estimate`.

    Returns
    -------
    Decision
        The threshold :math:`c_{FP} / (c_{FP} + c_{FN})`; the mean cost per row of acting from it
        on, at the best threshold (found on other rows than it is judged by), after automatic
        calibration (likewise), and of acting always or never; what miscalibration costs at the
        threshold; and the most that any increasing map could save, at any costs of the same sum.

    Notes
    -----
    For calibrated scores no other threshold is cheaper. What miscalibration costs is the cost by
    these scores less that by the scores of :class:`AutoCalibration`, the map of the report, on rows
    that it was not fitted on, compared row by row; it may be negative. Costs of acting always or never are a rate times a cost, and have exact binomial limits; other
    costs have Student's, corrected for skewness. Folds are dealt by content: neither the order of
    rows nor the names of clusters count.

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
    asked = Asked(ModelRows(evidence), MAKERS, level, whole_seed(seed), None)
    mended = _mended(asked, fp, fn)
    return decision_of(evidence, fp, fn, mended=mended, level=level, seed=asked.seed)


def _mended(a: Asked, fp: float, fn: float) -> Mended:
    """What the map of the report saves; unknown where the rows cannot be split."""
    from trueness.recalibrate import AutoCalibration  # loads scikit-learn

    evidence = a.view("confidence")
    labels = evidence.need_rows("").y
    if not is_splittable(evidence) or bool((labels == labels.flat[0]).all()):
        return mended_costs(evidence, None, fp, fn, a.level)
    (after, *_) = quietly(held_out, a, AutoCalibration())
    return mended_costs(deal(a).rows, after, fp, fn, a.level)

"""Prior shift: whether one factor on the odds explains the miscalibration, and how large it is."""

import math
from dataclasses import replace
from typing import Unpack

import numpy as np

from trueness._level import checked_level
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._slope import shift_limits, slope_limits
from trueness.measure._slope import InsideCells, inside_cells
from trueness.results import Estimate, PriorShift
from trueness.typing import ArrayLike, RowOptions


@takes_rows
def prior_shift(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    **rows: Unpack[RowOptions],
) -> PriorShift:
    r"""Whether the scores look as if one class had been weighted, over-sampled or down-sampled, and by what factor.

    Weighting positives w-fold, or keeping one in w negatives, multiplies the odds of a model by w
    and leaves their ratios alone. Such a shift can be distinguished from other errors;
    :func:`trueness.recalibrate.prior_correction` undoes it.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or a :class:`trueness.Tally` in place of both. A matrix must
        have two columns, of which the second is the score.
    level, cluster, **rows
        As for :func:`trueness.estimate`.

    Returns
    -------
    PriorShift
        The weight and the calibration slope with their limits; whether a shift is `suspected`, and
        whether it is `shown`; the finding as a sentence.

    Notes
    -----
    With :math:`a` the maximum-likelihood intercept in :math:`\mathrm{logit}\,P(Y = 1) = a +
    \mathrm{logit}\,p`,

    .. math:: w = e^{-a} ,

    without units. A shift is suspected if the limits of :math:`w` exclude 1 and those of the slope
    (:func:`trueness.calibration_slope`) include it. It is shown if the limits of the slope also lie
    between 0.8 and 1.25: with few rows the slope is too uncertain to tell a shift from scores that
    are too extreme as well, and doubled odds are suspected in nearly all samples of 300 rows, but
    shown in none. The limits are those of the likelihood ratio; for weights that are not whole
    numbers, and for clusters, Wald limits with the sandwich variance. Scores of exactly 0 and 1 are
    left out.

    References
    ----------
    C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001.
    M. Saerens, P. Latinne, C. Decaestecker, Adjusting the outputs of a classifier to new a priori
    probabilities, Neural Computation 14 (2002).

    Examples
    --------
    Positives were weighted 20-fold in training:

    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 10, 20_000)
    >>> y = rng.random(p.size) < p
    >>> weighted = 20 * p / (20 * p + 1 - p)
    >>> shift = tn.prior_shift(y, weighted)
    >>> shift.shown, shift.low < 20 < shift.high
    (True, True)
    >>> print(shift.sentence.partition(";")[0])
    Looks like positives weighted about 20× (95 % 18–21)
    """
    level = checked_level(level)
    evidence = Evidence.of(y_true, y_prob, rows, cluster=cluster)
    if evidence.view != "binary":
        demand = "must be the probability of one class, or have two columns"
        got = "a matrix has a weight per class"
        remedy = "`PriorCorrection().fit(y_prob, y_true).weight_` estimates them."
        raise InputError("y_prob", demand, got, remedy=remedy)
    grouped = evidence.clustered if evidence.dependent else None
    intercept, slope = (
        limits(evidence.cells, level, grouped) for limits in (shift_limits, slope_limits)
    )
    return replace(
        shift_of_limits(intercept, slope, inside_cells(evidence.cells), level), note=evidence.note
    )


def shift_of_limits(
    intercept: Limits | Estimate, slope: Limits | Estimate, inside: InsideCells, level: float
) -> PriorShift:
    """The prior shift from the intercept at slope 1 and the slope, with their limits."""
    with np.errstate(over="ignore"):
        weight, high, low = (
            float(np.exp(-one)) for one in (intercept.value, intercept.low, intercept.high)
        )
    if math.isnan(weight):  # equal labels leave one limit finite
        if intercept.high < math.inf:
            weight = math.inf
        elif intercept.low > -math.inf:
            weight = 0.0
        else:
            weight = math.nan
    n = int(inside.cells.row_counts.sum())
    return PriorShift(
        weight, low, high, level, slope.value, slope.low, slope.high, n, inside.certain
    )

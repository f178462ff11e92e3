"""Calibration slope and intercept on the logit scale, and observed over expected events."""

import math
from collections.abc import Callable
from typing import Unpack

import numpy as np

from trueness._numerics.logistic import recalibration_line, recalibration_shift
from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_binned, as_tally, takes_rows
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, MovedScoresWarning, NoEstimateWarning, warn
from trueness.typing import ArrayLike, Floats, Numbers, RowOptions


@takes_rows
def calibration_slope(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    eps: float = 1e-12,
    **rows: Unpack[RowOptions],
) -> float:
    r"""Slope of the logistic regression of labels on the logits of the scores (Cox 1958).

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    eps : float, default 1e-12
        Scores of exactly 0 or 1, whose logit is infinite, are moved inwards by this much, with a
        warning.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        1 for a calibrated model; below 1 if the scores are too extreme, above 1 if they are not extreme
        enough. nan, with a warning, if the maximum-likelihood estimate is not finite: one class only,
        one score only, or scores that separate the classes.

    Notes
    -----
    The maximum-likelihood :math:`b` in :math:`\mathrm{logit}\,P(Y = 1) = a + b\,\mathrm{logit}\,p`.

    Examples
    --------
    >>> import trueness as tn
    >>> round(tn.calibration_slope([0, 1, 0, 1, 0, 1, 1, 1], [0.2, 0.2, 0.5, 0.5, 0.8, 0.8, 0.8, 0.8]), 4)
    0.421
    """
    return _estimate(y_true, y_prob, eps, rows, lambda x, c: recalibration_line(x, c.weight, c.events)[0], "slope")


@takes_rows
def calibration_intercept(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    eps: float = 1e-12,
    **rows: Unpack[RowOptions],
) -> float:
    r"""Calibration intercept: the shift of the logits that makes the scores right on average.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    eps : float, default 1e-12
        As for :func:`calibration_slope`.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        0 for a model that is right on average; above 0 if events are more frequent than predicted. nan,
        with a warning, if there is only one class.

    Notes
    -----
    The maximum-likelihood :math:`a` in :math:`\mathrm{logit}\,P(Y = 1) = a + \mathrm{logit}\,p`, with the
    slope fixed at 1 (calibration in the large).

    Examples
    --------
    >>> import trueness as tn
    >>> abs(round(tn.calibration_intercept([0, 1], [0.5, 0.5]), 6))
    0.0
    """
    return _estimate(y_true, y_prob, eps, rows, lambda x, c: recalibration_shift(x, c.weight, c.events), "intercept")


def _estimate(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None,
    eps: float,
    rows: RowOptions,
    fit: Callable[[Floats, Cells], float],
    name: str,
) -> float:
    if isinstance(eps, bool) or not isinstance(eps, int | float | np.floating) or not 0 < eps < 0.5:
        raise InputError("eps", "must lie strictly between 0 and 0.5", f"got {eps!r}")
    value = as_tally(y_true, y_prob, rows).average(lambda cells: fit(_logit(cells, eps), cells))
    if math.isnan(value):
        warn(f"The {name} has no finite estimate on these rows; returning nan.", NoEstimateWarning)
    return float(value)


def _logit(cells: Cells, eps: float) -> Floats:
    p = cells.score
    ends = (p == 0) | (p == 1)
    if ends.any():
        moved = int(cells.count[ends].sum())
        warn(f"{moved:,} scores are exactly 0 or 1 and were moved inwards by {eps:g}.", MovedScoresWarning)
    return logits(p, eps)


def inside_cells(cells: Cells) -> tuple[Cells, float, float]:
    """The cells with scores strictly between 0 and 1; the weight of the others, and of those whose label is wrong.

    Weights without fractions give whole numbers.
    """
    p = cells.score
    inside = (p > 0) & (p < 1)
    certain = cells.weight[~inside].sum().item()
    wrong = np.where(p == 1, cells.weight - cells.events, cells.events)[~inside].sum().item()
    kept = Cells(**{name: column[inside] for name, column in cells.columns().items()})
    return kept, certain, wrong


def logits(p: Floats, eps: float) -> Floats:
    """Log-odds, with 0 and 1 moved inwards."""
    inside = np.where((p == 0) | (p == 1), eps, p)  # 1 − eps may round to 1, so the logit of 1 is minus that of 0
    return np.asarray(np.where(p == 1, -1.0, 1.0) * (np.log(inside) - np.log1p(-inside)))


@takes_rows
def observed_expected(
    y_true: ArrayLike | Tally | Binned, y_prob: ArrayLike | None = None, **rows: Unpack[RowOptions]
) -> float:
    r"""Observed divided by expected events.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        :math:`\sum y / \sum p`: 1 for a model that is right on average, 2 if events are twice as
        frequent as predicted. inf if there are events but all scores are 0; nan, with a warning, if there
        are no events either.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.observed_expected([0, 1, 1, 1], [0.5, 0.5, 0.25, 0.25])
    2.0
    """
    if isinstance(y_true, Binned):
        value = as_binned(y_true, y_prob, 1, rows).average(lambda b: _ratio(b.events, b.sum_score))
    else:  # from the scores themselves: in units of 2⁻⁵³ tiny ones would be 0, which matters in a ratio
        value = as_tally(y_true, y_prob, rows).average(lambda c: _ratio(c.events, c.weight * c.score))
    if math.isnan(value):
        warn("No event was predicted and none was observed: the ratio is 0/0; returning nan.", NoEstimateWarning)
    return value


def _ratio(events: Numbers, scores: Floats) -> float:
    observed, expected = float(events.sum()), float(scores.sum())
    if expected == 0:
        return math.inf if observed > 0 else math.nan
    return observed / expected

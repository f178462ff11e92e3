"""Validity: for how many predictions the miscalibration stays within a tolerance."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import as_binned, row_options
from trueness._tally.rules import BinsLike, Distinct, as_rule
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.results import ValidityCurve, ValidityRuns
from trueness.typing import ArrayLike, Floats, Kind, Missing, WeightType

_FEW = 5
_DIGITS = 12


@suggests_keywords
def validity_curve(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> ValidityCurve:
    r"""The fraction of predictions whose miscalibration is at most ε, as a function of ε.

    Each predicted value is compared with the mean label of its rows. The curve increases from the
    fraction of predictions that are exactly right to 1, with a jump where another predicted value
    is within the tolerance.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Tally
        Outcomes of rows that were used neither for the classifier nor for the calibrator.
    y_prob : array-like of shape (n,) or (n, K)
        Predictions with few distinct values, as after binning. For a matrix, `kind` chooses what is
        compared.
    bins : int, sequence of edges or bin rule, optional
        Default: every distinct value separately. Predictions that are nearly all distinct need
        bins; the curve is then about the mean prediction in each bin.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    ValidityCurve
        ``curve(0.05)`` is the fraction of predictions off by at most 0.05, ``curve.epsilon(0.9)``
        the tolerance that 90 % of them meet, ``curve.area`` the integral.

    Notes
    -----
    For predicted values (or bins) :math:`b` with weight :math:`w_b`, mean prediction :math:`p_b`
    and rate :math:`r_b`,

    .. math:: V(\varepsilon) = \sum_b \frac{w_b}{\sum_c w_c} \,
       1\{|r_b - p_b| \le \varepsilon\} , \qquad
       \int_0^1 V = 1 - \mathrm{ECE}_1 ,

    the l1 error of :func:`trueness.ece` with the same bins (`tn.Distinct()` by default). For a
    matrix, 'classwise' gives the mean of the curves of the classes, 'top-label' their mean weighted
    by how often each class is predicted.

    V is biased downwards, as the calibration error is biased upwards, because rates of few rows
    vary by chance.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML, 2021.

    Examples
    --------
    Two events in eight rows predicted 0.25; four in eight rows predicted 0.75.

    >>> from trueness.recalibrate import validity_curve
    >>> curve = validity_curve([0, 0, 0, 1] * 2 + [0, 1] * 4, [0.25] * 8 + [0.75] * 8)
    >>> curve(0.1), curve(0.25), curve.epsilon(0.9), curve.area
    (0.5, 1.0, 0.25, 0.875)
    """
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    rule = Distinct() if bins is None else as_rule(bins)
    sums = as_binned(y_true, y_prob, rule, rows)
    values, seen = (
        sum(totals)
        for totals in zip(*((part.size, part.totals.rows) for part in sums.parts), strict=True)
    )
    if bins is None and seen < _FEW * values:
        times = (
            f"The predictions have {values:,} distinct values, each seen {seen / values:.1f} times "
            "on average"
        )
        chance = (
            "rates of so few labels vary by chance, and validity is far too low. `bins=` pools "
            "adjacent values."
        )
        warn(f"{times}: {chance}", FewRowsWarning)
    every = [
        (part.weight[is_filled], part.events[is_filled], part.score[is_filled])
        for part in sums.parts
        for is_filled in [part.count > 0]
    ]
    # Classes have all rows each and count equally, top labels as often as they are predicted.
    weight, events, score = (
        np.concatenate(column).astype(np.float64) for column in zip(*every, strict=True)
    )
    # Gaps that are equal but for rounding, as those of two complementary classes, are one jump.
    gaps = np.asarray(np.round(np.abs(events / weight - score), _DIGITS), np.float64)
    jumps, jump_of_bin = np.unique(gaps, return_inverse=True)
    total = np.cumsum(np.bincount(jump_of_bin, weights=weight))
    return ValidityCurve(jumps, total / total[-1], sums.n, jump_of_bin.size, sums.kind)


def mean_validity(curves: Iterable[ValidityCurve]) -> ValidityRuns:
    r"""Validity over several runs: marginal, and conditional.

    One run, with its own rows to fit a calibrator on and its own test rows, says how many of its
    predictions are off by at most ε. Over several runs, V is averaged; and the share of runs in
    which *every* predicted value is off by at most ε estimates the probability that a conditional
    guarantee holds.

    Parameters
    ----------
    curves : iterable of ValidityCurve
        One of each run, by :func:`trueness.validity_curve`.

    Returns
    -------
    ValidityRuns
        ``found(0.05)`` is the mean of V, ``found.error_at(0.05)`` its standard error,
        ``found.conditional(0.05)`` the share of runs with all values within 0.05.

    Notes
    -----
    With :math:`V_r` of run :math:`r` of :math:`R` and its largest distance :math:`d_r`,

    .. math:: V(\varepsilon) = \frac1R \sum_r V_r(\varepsilon) , \qquad
       V_{\text{conditional}}(\varepsilon) = \frac1R \sum_r 1\{d_r \le \varepsilon\} .

    Both are biased downwards, since the rates of few rows vary by chance.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML, 2021, sections 2.1 and 4.

    Examples
    --------
    One run is right within 0.1 for half of its rows, the other for all.

    >>> from trueness.recalibrate import mean_validity, validity_curve
    >>> first = validity_curve([0, 0, 0, 1] * 2 + [0, 1] * 4, [0.25] * 8 + [0.75] * 8)
    >>> second = validity_curve([0, 0, 0, 1] * 4, [0.25] * 16)
    >>> found = mean_validity([first, second])
    >>> found(0.1), found.conditional(0.1)
    (0.75, 0.5)
    """
    if not isinstance(curves, Iterable) or getattr(curves, "ndim", 1) == 0:
        raise InputError("curves", "must be records of `validity_curve`", f"got {curves!r}")
    runs = list(curves)
    if not runs:
        raise InputError("curves", "must hold at least one curve", "got none")
    if not all(isinstance(curve, ValidityCurve) for curve in runs):
        raise InputError(
            "curves", "must be records of `validity_curve`", f"got {type(runs[0]).__name__}"
        )
    worst = _mean_of_steps([(curve.jumps[-1:], np.ones(1)) for curve in runs], None)
    return _mean_of_steps([(curve.jumps, curve.share) for curve in runs], worst)


def _mean_of_steps(
    curves: list[tuple[Floats, Floats]], conditional: ValidityRuns | None
) -> ValidityRuns:
    """The mean of step curves at all their jumps, with its standard error, nan for one curve."""
    jumps = np.unique(np.concatenate([jumps_of_curve for jumps_of_curve, _ in curves]))
    every = np.array(
        [
            np.append(0.0, share)[np.searchsorted(jumps_of_curve, jumps, side="right")]
            for jumps_of_curve, share in curves
        ]
    )
    degrees = len(curves) - 1
    error = every.std(axis=0) / np.sqrt(degrees) if degrees else np.full(jumps.size, np.nan)
    return ValidityRuns(
        jumps=jumps,
        share=every.mean(axis=0),
        error=error,
        runs=len(curves),
        conditional=conditional,
    )

"""Validity: for how many predictions the miscalibration stays within a tolerance."""

from typing import Any, Unpack

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from trueness._input.arguments import checked_fraction
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.accept import as_binned, takes_rows
from trueness._tally.bins import Bins
from trueness._tally.rules import BinRule, BinsLike, Distinct, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.results import ValidityBand, ValidityCurve
from trueness.typing import ArrayLike, Floats, RowOptions

__all__ = ["validity_band", "validity_curve"]

_FEW = 5


@takes_rows
def validity_curve(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    **rows: Unpack[RowOptions],
) -> ValidityCurve:
    r"""For how many predictions the miscalibration is at most ε, as a function of ε.

    Rows with the same predicted value are compared with the mean of their labels. The curve rises from the share of
    predictions that are exactly right to 1, and jumps where one more predicted value comes within the tolerance.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Tally
        What happened, on rows that neither the classifier nor the calibrator saw.
    y_prob : array-like of shape (n,) or (n, K)
        Predictions that have few distinct values, as binning makes them. For a matrix, `kind` says what is compared.
    bins : int, sequence of edges or bin rule, optional
        Default: every distinct value by itself. Predictions that are nearly all distinct need bins, and the curve
        then speaks of the mean prediction in each bin.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    ValidityCurve
        ``curve(0.05)`` is the share of predictions off by at most 0.05, ``curve.epsilon(0.9)`` the tolerance that
        90 % of them meet, ``curve.area`` the integral, ``curve.conditional`` the curve of the worst value alone.

    See Also
    --------
    validity_band : Bounds for the true curve.
    validity_runs : The mean over many splits into calibration and test rows.

    Notes
    -----
    For predicted values (or bins) :math:`b` with weight :math:`w_b`, mean prediction :math:`p_b` and rate :math:`r_b`,

    .. math:: V(\varepsilon) = \sum_b \frac{w_b}{\sum_c w_c} \, 1\{|r_b - p_b| \le \varepsilon\} , \qquad
       \int_0^1 V = 1 - \mathrm{ECE}_1 ,

    the l1 error of :func:`trueness.ece` with the same bins (`tn.Distinct()` by default). A class-wise matrix gives
    the mean of the curves of the classes, 'top-label' their mean weighted by how often each class was predicted.

    The estimate has a bias: the rate of few rows is off by chance, so that V is too low, as the calibration error is
    too large. No estimator is free of it, since with m rows at a value only polynomials of degree m in the rate have
    unbiased estimators, and a step is none. What can be said: ``curve.expected_area`` is what valid predictions
    would have shown with as many rows at each value, and :func:`validity_band` bounds the true curve.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting",
    ICML, 2021.

    Examples
    --------
    Where 0.25 was predicted, two of eight events came; where 0.75 was, four of eight.

    >>> from trueness.recalibrate import validity_curve
    >>> curve = validity_curve([0, 0, 0, 1] * 2 + [0, 1] * 4, [0.25] * 8 + [0.75] * 8)
    >>> curve(0.1), curve(0.25), curve.epsilon(0.9), curve.area
    (0.5, 1.0, 0.25, 0.875)
    """
    rule = Distinct() if bins is None else as_rule(bins)
    found = as_binned(y_true, y_prob, rule, rows)
    if bins is None:
        _warn_if_distinct(found)
    return _curve(found, [_gaps(part) for part in found.parts], _expected_area(found, rule))


@takes_rows
def validity_band(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    level: float = 0.9,
    **rows: Unpack[RowOptions],
) -> ValidityBand:
    """Two curves between which the true validity lies with probability of at least `level`, for all ε at once.

    Parameters
    ----------
    y_true, y_prob, bins
        As for :func:`validity_curve`; bins must not look at the labels, and weights are whole numbers.
    level : float, default 0.9
        Probability that the curve lies between the two throughout.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    ValidityBand
        Two :class:`ValidityCurve`, `low` and `high`.

    Notes
    -----
    Each predicted value has a Clopper-Pearson interval for its rate, at level 1 − (1 − level)/B for B values; all hold
    together with probability of at least `level`, whatever the truth. Within its interval a rate can be as far from
    the predicted value as `low` has it, and as near as `high` has it. The shares are those of the rows at hand. With
    bins of several values the band is about the mean of their rates, and its level holds to a close approximation.

    Examples
    --------
    >>> from trueness.recalibrate import validity_band
    >>> band = validity_band([0] * 90 + [1] * 10, [0.1] * 100)
    >>> band.low(0.03), band.high(0.03), round(band.low.largest, 3)
    (0.0, 1.0, 0.064)
    """
    level = checked_fraction(level, "level")
    rule = blind_to_labels(Distinct() if bins is None else as_rule(bins))
    found = as_binned(y_true, y_prob, rule, rows)
    if not all(part.whole for part in found.parts):
        raise InputError(
            "sample_weight",
            "must be whole numbers that sum to less than 2³⁵ for a band, which counts rows",
            "others have a curve alone (`band=None` of `ValidityDisplay`)",
        )
    values = sum(int((part.count > 0).sum()) for part in found.parts)
    each = 1 - (1 - level) / values
    near, far = zip(*(_extremes(part, each) for part in found.parts), strict=True)
    return ValidityBand(_curve(found, far, None), _curve(found, near, None), level)


def _filled(part: Bins) -> tuple[Floats, Floats, Floats]:
    """Weight, events and mean score of the bins that have rows."""
    kept = part.count > 0
    w, events = part.weight[kept].astype(np.float64), part.events[kept].astype(np.float64)
    return w, events, part.score[kept]


def _gaps(part: Bins) -> Floats:
    w, events, score = _filled(part)
    return np.abs(events / w - score)


def _extremes(part: Bins, level: float) -> tuple[Floats, Floats]:
    """The least and the largest distance between the predicted value and a rate inside its interval."""
    w, events, score = _filled(part)
    low, high = clopper_pearson(events, w, level)
    return np.maximum(0.0, np.maximum(low - score, score - high)), np.maximum(score - low, high - score)


def _curve(found: Binned, gaps: Any, expected_area: float | None) -> ValidityCurve:
    gap = np.concatenate(gaps)
    mass = np.concatenate(_masses(found))
    jumps, at = np.unique(gap, return_inverse=True)
    total = np.cumsum(np.bincount(at, weights=mass))
    return ValidityCurve(jumps, total / total[-1], found.n, gap.size, found.kind, expected_area)


def _masses(found: Binned) -> list[Floats]:
    """The share of each bin: classes count alike, or by how often each was predicted."""
    weights = [_filled(part)[0] for part in found.parts]
    if found.kind != "classwise":
        return weights
    return [w / w.sum() for w in weights]


def _expected_area(found: Binned, rule: BinRule) -> float | None:
    if not isinstance(rule, Distinct) or not all(part.whole for part in found.parts):
        return None
    spread = np.concatenate([_mean_absolute_deviation(*_filled(part)[::2]) for part in found.parts])
    mass = np.concatenate(_masses(found))
    return float(1 - mass @ spread / mass.sum())


def _mean_absolute_deviation(n: Floats, p: Floats) -> Floats:
    """E|X/n − p| for X ~ Bin(n, p), by de Moivre: 2 ν C(n, ν) pᵛ (1 − p)ⁿ⁻ᵛ⁺¹ / n with ν = ⌊np⌋ + 1."""
    v = np.minimum(np.floor(n * p) + 1, n)
    log = gammaln(n + 1) - gammaln(v) - gammaln(n - v + 1) + xlogy(v, p) + xlog1py(n - v + 1, -p)
    return np.asarray(2 * np.exp(log) / n)


def _warn_if_distinct(found: Binned) -> None:
    values = sum(part.size for part in found.parts)
    seen = sum(part.totals.rows for part in found.parts)
    if seen < _FEW * values:
        warn(
            f"The predictions have {values:,} distinct values, each seen {seen / values:.1f} times on average: a mean "
            "of so few labels is off by chance, so validity is far too low. `bins=` pools neighbouring values.",
            FewRowsWarning,
        )

"""Validity: for how many predictions the miscalibration stays within a tolerance."""

import reprlib
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from trueness._input.arguments import MOST_RESAMPLES, checked_fraction, checked_whole, generator
from trueness._keywords import suggests_keywords
from trueness._numerics.proportions import clopper_pearson
from trueness._progress import Progress, reporter
from trueness._tally.bins import Bins
from trueness._tally.rows_or_sums import as_binned, takes_rows
from trueness._tally.rules import BinRule, BinsLike, Distinct, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, Remedy, remedies, warn
from trueness.recalibrate._calibration_set import REMEDIES, CalibrationSet, accept_rows
from trueness.recalibrate._calibrator import Calibrator
from trueness.results import ValidityBand, ValidityCurve, ValidityRuns
from trueness.typing import ArrayLike, Floats, RowOptions

_FEW = 5

_REMEDIES = REMEDIES | {
    "pos-label": Remedy("pos-label", "Pass `y_true == {value!r}` if that value is the event."),
    "one-vs-rest": Remedy("one-vs-rest", "Evaluate one column at a time."),
}


@takes_rows
def validity_curve(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    **rows: Unpack[RowOptions],
) -> ValidityCurve:
    r"""The fraction of predictions whose miscalibration is at most ε, as a function of ε.

    Each predicted value is compared with the mean label of its rows. The curve increases from the fraction of
    predictions that are exactly right to 1, with a jump where another predicted value is within the tolerance.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Tally
        Outcomes of rows that were used neither for the classifier nor for the calibrator.
    y_prob : array-like of shape (n,) or (n, K)
        Predictions with few distinct values, as after binning. For a matrix, `kind` chooses what is compared.
    bins : int, sequence of edges or bin rule, optional
        Default: every distinct value separately. Predictions that are nearly all distinct need bins; the curve is then
        about the mean prediction in each bin.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    ValidityCurve
        ``curve(0.05)`` is the fraction of predictions off by at most 0.05, ``curve.epsilon(0.9)`` the tolerance that
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

    the l1 error of :func:`trueness.ece` with the same bins (`tn.Distinct()` by default). For a matrix, 'classwise'
    gives the mean of the curves of the classes, 'top-label' their mean weighted by how often each class is predicted.

    V is biased downwards, as the calibration error is biased upwards, because rates of few rows vary by chance. No
    unbiased estimator exists: with m rows at a value, only polynomials of degree m in the rate have one, and a step is
    none. For reference, ``curve.expected_area`` is the expected area of calibrated predictions with the same numbers
    of rows, and :func:`validity_band` bounds the true curve.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting",
    ICML, 2021.

    Examples
    --------
    Two events in eight rows predicted 0.25; four in eight rows predicted 0.75.

    >>> from trueness.recalibrate import validity_curve
    >>> curve = validity_curve([0, 0, 0, 1] * 2 + [0, 1] * 4, [0.25] * 8 + [0.75] * 8)
    >>> curve(0.1), curve(0.25), curve.epsilon(0.9), curve.area
    (0.5, 1.0, 0.25, 0.875)
    """
    rule = Distinct() if bins is None else as_rule(bins)
    sums = as_binned(y_true, y_prob, rule, rows)
    if bins is None:
        _warn_if_distinct(sums)
    return _curve(sums, [_gaps(part) for part in sums.parts], _expected_area(sums, rule))


@takes_rows
def validity_band(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    level: float = 0.95,
    **rows: Unpack[RowOptions],
) -> ValidityBand:
    """Simultaneous confidence band for the validity curve.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Tally
        Labels of rows that were used neither for the classifier nor for the calibrator.
    y_prob : array-like of shape (n,) or (n, K)
        Predictions with few distinct values, as after binning.
    bins : int, sequence of edges or bin rule, optional
        By default every distinct value is judged separately. Predictions that are nearly all distinct need bins, which
        must not depend on the labels.
    level : float, default 0.95
        Confidence level, for all ε simultaneously.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    ValidityBand
        Two :class:`ValidityCurve`, `low` and `high`.

    Notes
    -----
    Each predicted value has a Clopper-Pearson interval for its rate, at level 1 − (1 − level)/B for B values, so that
    all hold simultaneously with probability at least `level`. `low` assumes the rate in each interval farthest from the
    predicted value, `high` the nearest. The weights of the values are those of the sample. With bins of several values
    the band is about their mean rates, and its level is a close approximation.

    Examples
    --------
    >>> from trueness.recalibrate import validity_band
    >>> band = validity_band([0] * 90 + [1] * 10, [0.1] * 100)
    >>> band.low(0.03), band.high(0.03), round(band.low.largest, 3)
    (0.0, 1.0, 0.076)
    """
    level = checked_fraction(level, "level")
    rule = blind_to_labels(Distinct() if bins is None else as_rule(bins))
    sums = as_binned(y_true, y_prob, rule, rows)
    if not all(part.whole for part in sums.parts):
        raise InputError(
            "sample_weight",
            "must be whole numbers that sum to less than 2³⁵ for a band, which counts rows",
            remedy="With other weights, draw the curve alone (`band=None` of `ValidityDisplay`).",
        )
    values = sum(int((part.count > 0).sum()) for part in sums.parts)
    each = 1 - (1 - level) / values
    near, far = zip(*(_extremes(part, each) for part in sums.parts), strict=True)
    return ValidityBand(_curve(sums, far, None), _curve(sums, near, None), level)


def _nonempty_bins(part: Bins) -> tuple[Floats, Floats, Floats]:
    """Weight, events and mean score of the bins that have rows."""
    kept = part.count > 0
    w, events = part.weight[kept].astype(np.float64), part.events[kept].astype(np.float64)
    return w, events, part.score[kept]


def _gaps(part: Bins) -> Floats:
    w, events, score = _nonempty_bins(part)
    return np.abs(events / w - score)


def _extremes(part: Bins, level: float) -> tuple[Floats, Floats]:
    """The smallest and the largest distance between the predicted value and a rate in its interval."""
    w, events, score = _nonempty_bins(part)
    low, high = clopper_pearson(events, w, level)
    return np.maximum(0.0, np.maximum(low - score, score - high)), np.maximum(score - low, high - score)


def _curve(sums: Binned, gaps: Any, expected_area: float | None) -> ValidityCurve:
    gap = np.concatenate(gaps)
    mass = _masses(sums)
    jumps, at = np.unique(gap, return_inverse=True)
    total = np.cumsum(np.bincount(at, weights=mass))
    return ValidityCurve(jumps, total / total[-1], sums.n, gap.size, sums.kind, expected_area)


def _masses(sums: Binned) -> Floats:
    """The weight of each bin: classes have all rows each and count equally, top labels as often as predicted."""
    return np.concatenate([_nonempty_bins(part)[0] for part in sums.parts])


def _expected_area(sums: Binned, rule: BinRule) -> float | None:
    if not isinstance(rule, Distinct) or not all(part.whole for part in sums.parts):
        return None
    spread = np.concatenate([_mean_absolute_deviation(*_nonempty_bins(part)[::2]) for part in sums.parts])
    mass = _masses(sums)
    return float(1 - mass @ spread / mass.sum())


def _mean_absolute_deviation(n: Floats, p: Floats) -> Floats:
    """E|X/n − p| for X ~ Bin(n, p), by de Moivre: 2 ν C(n, ν) pᵛ (1 − p)ⁿ⁻ᵛ⁺¹ / n with ν = ⌊np⌋ + 1."""
    v = np.minimum(np.floor(n * p) + 1, n)
    log = gammaln(n + 1) - gammaln(v) - gammaln(n - v + 1) + xlogy(v, p) + xlog1py(n - v + 1, -p)
    return np.asarray(2 * np.exp(log) / n)


def _warn_if_distinct(sums: Binned) -> None:
    values = sum(part.size for part in sums.parts)
    seen = sum(part.totals.rows for part in sums.parts)
    if seen < _FEW * values:
        warn(
            f"The predictions have {values:,} distinct values, each seen {seen / values:.1f} times on average: rates "
            "of so few labels vary by chance, and validity is far too low. `bins=` pools adjacent values.",
            FewRowsWarning,
        )


@suggests_keywords
def validity_runs(
    calibrator: Any,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_fit: int,
    n_test: int | None = None,
    runs: int = 100,
    bins: BinsLike | None = None,
    sample_weight: ArrayLike | None = None,
    seed: int | np.random.Generator | None = None,
    progress: Progress = True,
) -> ValidityRuns:
    """Mean validity of a calibrator over random splits into calibration and test rows.

    In each run, `n_fit` rows are drawn to fit the calibrator and `n_test` of the others to evaluate its predictions,
    both without replacement.

    Parameters
    ----------
    calibrator : Calibrator or None
        A copy is fitted in each run; if it has a parameter `seed`, each copy gets a different one. None: evaluate the
        scores themselves.
    y_true, y_prob : array-like of shape (n,)
        Labels, 0/1, and scores of rows that the classifier was not trained on.
    n_fit : int
        Number of rows to fit on.
    n_test : int, optional
        Number of test rows; default: all others.
    runs : int, default 100
        Number of splits.
    bins : int, sequence of edges or bin rule, optional
        By default every distinct prediction is judged separately. Calibrators whose predictions are nearly all distinct
        need bins.
    sample_weight : array-like of shape (n,), optional
        Weights; rows are drawn regardless of their weight, unless it is 0.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same splits, whatever the calibrator.
    progress : bool or callable, default True
        A bar on stderr, if that is a terminal and the run takes more than two seconds; or a function of (done, total).

    Returns
    -------
    ValidityRuns
        Mean of V and its standard error at every jump of any run; `conditional` is the fraction of runs in which every
        predicted value is within the tolerance.

    Notes
    -----
    Splits of the same rows overlap, so the standard error is about the mean over all splits of these rows, not about
    other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness import simulate
    >>> from trueness.recalibrate import validity_runs
    >>> data = simulate.binary(2000, scores=simulate.Discrete([0.2, 0.7]), seed=1)
    >>> mean = validity_runs(None, data.y_true, data.y_prob, n_fit=500, runs=10, seed=1)
    >>> mean(0.05), mean.conditional(0.05)
    (1.0, 1.0)
    """
    report = reporter(progress)
    _check_calibrator(calibrator)
    with remedies(_REMEDIES):
        rows = accept_rows(y_prob, y_true, sample_weight)
    n_test = _test_size(rows.y.size, n_fit, n_test)
    runs = checked_whole(runs, "runs", MOST_RESAMPLES)
    curves = []
    for done, rng in enumerate(generator(seed).spawn(runs), start=1):
        drawn = rng.permutation(rows.y.size)[: n_fit + n_test]
        curves.append(_run(calibrator, rows, drawn[:n_fit], drawn[n_fit:], bins, rng))
        report(done, runs)
    return mean_validity(curves)


def _run(
    calibrator: Any, rows: CalibrationSet, fit: Any, test: Any, bins: BinsLike | None, rng: np.random.Generator
) -> ValidityCurve:
    known, new = rows.take(fit), rows.take(test)
    predicted = new.p
    if calibrator is not None:
        from sklearn.base import clone

        copy = clone(calibrator)
        if "seed" in copy.get_params(deep=False):
            copy.set_params(seed=int(rng.integers(1 << 32)))
        predicted = copy.fit(known.p, known.y, known.w).predict(predicted)
    return validity_curve(new.y, predicted, bins=bins, sample_weight=new.w)


@suggests_keywords
def mean_validity(curves: Sequence[ValidityCurve]) -> ValidityRuns:
    """The mean of validity curves, at least one, from your own runs.

    Examples
    --------
    >>> from trueness.recalibrate import mean_validity, validity_curve
    >>> days = [validity_curve([0, 1], [0.5, 0.5], bins=1), validity_curve([0, 1], [0.25, 0.25], bins=1)]
    >>> mean = mean_validity(days)
    >>> mean(0.1), mean.error_at(0.1), mean.area
    (0.5, 0.5, 0.875)
    """
    try:
        curves = list(curves)
    except TypeError:
        curves = []
    if not curves or not all(isinstance(curve, ValidityCurve) for curve in curves):
        raise InputError("curves", "must be validity curves, at least one")
    return _mean(curves, _mean([curve.conditional for curve in curves], None))


def _mean(curves: list[ValidityCurve], conditional: ValidityRuns | None) -> ValidityRuns:
    jumps = np.unique(np.concatenate([curve.jumps for curve in curves]))
    runs = len(curves)
    free = np.sqrt(runs - 1) if runs > 1 else np.nan  # makes standard errors of population standard deviations
    mean, square = np.zeros(jumps.size), np.zeros(jumps.size)
    for curve in curves:
        mean += _values_at(curve, jumps)
    mean /= runs
    for curve in curves:
        square += (_values_at(curve, jumps) - mean) ** 2 / runs
    areas = np.array([curve.area for curve in curves])
    area_error = float(areas.std() / free)
    return ValidityRuns(jumps, mean, np.sqrt(square) / free, float(areas.mean()), area_error, runs, conditional)


def _values_at(curve: ValidityCurve, jumps: Floats) -> Floats:
    # Not `at`: its tolerance would let a run jump slightly too early.
    return np.concatenate([[0.0], curve.share])[np.searchsorted(curve.jumps, jumps, side="right")]


def _check_calibrator(calibrator: Any) -> None:
    """Raise unless it is None or can be cloned, fitted on a vector of probabilities and used to predict."""
    got = remedy = ""
    kind = type(calibrator).__name__
    if isinstance(calibrator, type):
        got, remedy = f"got the class {calibrator.__name__}", f"`{calibrator.__name__}()` makes an instance."
    elif calibrator is not None and not all(hasattr(calibrator, n) for n in ("fit", "predict", "get_params")):
        got = f"got {reprlib.repr(calibrator)}"
    elif hasattr(calibrator, "predict_proba") and not isinstance(calibrator, Calibrator):
        got = f"{kind} is a classifier, which takes rows of features"
    elif getattr(calibrator, "_shape", "vector") == "matrix":
        got = f"{kind} takes a matrix"
    elif getattr(calibrator, "_scale", "probabilities") == "logits":
        got, remedy = f"this {kind} takes logits", "`from_logits=False` changes it."
    if got:
        demand = "must be a calibrator of a vector of probabilities such as `PlattScaling()`, or None"
        raise InputError("calibrator", demand, got, remedy=remedy)


def _test_size(rows: int, n_fit: Any, n_test: Any) -> int:
    left = rows - checked_whole(n_fit, "n_fit")
    if left < 1:
        raise InputError("n_fit", "must leave rows for the test", f"it is {n_fit:,} and there are {rows:,} rows")
    if n_test is None:
        return left
    if checked_whole(n_test, "n_test") > left:
        raise InputError("n_test", f"must be at most {left:,}, the rows that `n_fit` leaves", f"got {n_test:,}")
    return int(n_test)

"""Validity over many splits into rows for the calibrator and rows for its test."""

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness._input.arguments import checked_whole, generator
from trueness._progress import Progress, reporter
from trueness._tally.rules import BinsLike
from trueness.errors import InputError
from trueness.recalibrate._rows import Rows, accepted_rows
from trueness.recalibrate._validity import validity_curve
from trueness.recalibrate._words import own_words
from trueness.results import ValidityCurve, ValidityRuns
from trueness.typing import ArrayLike, Floats

__all__ = ["mean_validity", "validity_runs"]


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
    """Validity of a calibrator, as a mean over random splits.

    In each run `n_fit` rows are drawn to fit the calibrator and `n_test` of the others to see how valid its
    predictions are; both without replacement.

    Parameters
    ----------
    calibrator : Calibrator or None
        Fitted anew in each run, on a copy; if it has a parameter `seed`, each copy gets one of its own. None: the
        scores are judged as they are.
    y_true : array-like of shape (n,)
        Labels, 0/1.
    y_prob : array-like of shape (n,)
        Scores of rows that the classifier was not trained on.
    n_fit : int
        Rows for the calibrator.
    n_test : int, optional
        Rows for the test; default: all others.
    runs : int, default 100
        How many splits.
    bins : int, sequence of edges or bin rule, optional
        As for :func:`validity_curve`; for calibrators whose predictions are nearly all distinct.
    sample_weight : array-like of shape (n,), optional
        Weights of rows; a row is drawn whatever its weight, unless that is 0.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same splits, whatever the calibrator.
    progress : bool or callable, default True
        A bar on stderr, if that is a terminal and the run takes more than two seconds; or a function of (done, total).

    Returns
    -------
    ValidityRuns
        Mean of V and its standard deviation at every jump of any run; `conditional` is the share of runs in which
        every predicted value is within the tolerance.

    Notes
    -----
    Splits of the same rows overlap, so the standard deviation of the mean tells how well the mean over splits of these
    rows is known, not how other rows would differ.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness import simulate
    >>> from trueness.recalibrate import validity_runs
    >>> data = simulate.binary(2000, scores=simulate.Discrete([0.2, 0.7]), seed=1)
    >>> found = validity_runs(None, data.y_true, data.y_prob, n_fit=500, runs=10, seed=1)
    >>> found(0.05), found.conditional(0.05)
    (1.0, 1.0)
    """
    report = reporter(progress)
    _check_calibrator(calibrator)
    with own_words(takes_logits=False, labels_first=True):
        rows = accepted_rows(y_prob, y_true, sample_weight)
    n_test = _checked_sizes(rows.y.size, n_fit, n_test)
    runs = checked_whole(runs, "runs")
    curves = []
    for done, rng in enumerate(generator(seed).spawn(runs), start=1):
        drawn = rng.permutation(rows.y.size)[: n_fit + n_test]
        curves.append(_run(calibrator, rows, drawn[:n_fit], drawn[n_fit:], bins, rng))
        report(done, runs)
    return mean_validity(curves)


def _run(
    calibrator: Any, rows: Rows, fit: Any, test: Any, bins: BinsLike | None, rng: np.random.Generator
) -> ValidityCurve:
    p, y, w = rows.p, rows.y, rows.w
    predicted = p[test]
    if calibrator is not None:
        from sklearn.base import clone

        copy = clone(calibrator)
        if "seed" in copy.get_params(deep=False):
            copy.set_params(seed=int(rng.integers(1 << 32)))
        predicted = copy.fit(p[fit], y[fit], None if w is None else w[fit]).predict(predicted)
    return validity_curve(y[test], predicted, bins=bins, sample_weight=None if w is None else w[test])


def mean_validity(curves: Sequence[ValidityCurve]) -> ValidityRuns:
    """The mean of validity curves, for runs of your own making.

    Parameters
    ----------
    curves : sequence of ValidityCurve
        At least one.

    Returns
    -------
    ValidityRuns

    Examples
    --------
    >>> from trueness.recalibrate import mean_validity, validity_curve
    >>> days = [validity_curve([0, 1], [0.5, 0.5], bins=1), validity_curve([0, 1], [0.25, 0.25], bins=1)]
    >>> found = mean_validity(days)
    >>> found(0.1), found.error_at(0.1), found.area
    (0.5, 0.5, 0.875)
    """
    curves = list(curves)
    if not curves or not all(isinstance(curve, ValidityCurve) for curve in curves):
        raise InputError("curves", "must be validity curves, at least one")
    return _mean(curves, _mean([curve.conditional for curve in curves], None))


def _mean(curves: list[ValidityCurve], conditional: ValidityRuns | None) -> ValidityRuns:
    jumps = np.unique(np.concatenate([curve.jumps for curve in curves]))
    runs, free = len(curves), _free(len(curves))
    mean, square = np.zeros(jumps.size), np.zeros(jumps.size)
    for curve in curves:
        mean += _along(curve, jumps)
    mean /= runs
    for curve in curves:
        square += (_along(curve, jumps) - mean) ** 2 / runs
    areas = np.array([curve.area for curve in curves])
    area_error = float(areas.std() / free)
    return ValidityRuns(jumps, mean, np.sqrt(square) / free, float(areas.mean()), area_error, runs, conditional)


def _along(curve: ValidityCurve, jumps: Floats) -> Floats:
    # Not `at`: its slack would let a run jump a little too early.
    return np.concatenate([[0.0], curve.share])[np.searchsorted(curve.jumps, jumps, side="right")]


def _free(runs: int) -> float:
    """What turns the deviation of the runs, around their own mean, into that of the mean; nan for one run."""
    return float(np.sqrt(runs - 1)) if runs > 1 else float("nan")


def _check_calibrator(calibrator: Any) -> None:
    """Raise unless it is None, or can be copied, fitted on a vector of probabilities and asked."""
    demand = "`calibrator` must be a calibrator of a vector of probabilities such as `PlattScaling()`, or None"
    if isinstance(calibrator, type):
        raise InputError(f"{demand}; got the class {calibrator.__name__}. `{calibrator.__name__}()` makes one.")
    if calibrator is None:
        return
    if not all(hasattr(calibrator, name) for name in ("fit", "predict", "get_params")):
        raise InputError(f"{demand}; got {reprlib.repr(calibrator)}.")
    if hasattr(calibrator, "predict_proba"):
        raise InputError(f"{demand}; {type(calibrator).__name__} is a classifier, which takes rows of features.")
    if getattr(calibrator, "_shape", "vector") == "matrix":
        raise InputError(f"{demand}; {type(calibrator).__name__} takes a matrix.")
    if getattr(calibrator, "_scale", "probabilities") == "logits":
        raise InputError(
            f"{demand}; this {type(calibrator).__name__} takes logits. `input='probabilities'` changes it."
        )


def _checked_sizes(rows: int, n_fit: Any, n_test: Any) -> int:
    left = rows - checked_whole(n_fit, "n_fit")
    if left < 1:
        raise InputError("n_fit", "must leave rows for the test", f"it is {n_fit:,} and there are {rows:,} rows")
    if n_test is None:
        return left
    asked = checked_whole(n_test, "n_test")
    if asked > left:
        raise InputError("n_test", f"must be at most {left:,}, the rows that `n_fit` leaves", f"got {asked:,}")
    return asked

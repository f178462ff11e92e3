"""Errors without bins: the smooth ECE.

And ICI, E50, E90 and Emax, distances of a spline or loess from the diagonal.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, Unpack

import numpy as np

from trueness._input.arguments import checked_word
from trueness._numerics.averages import weighted_quantiles
from trueness._numerics.logistic import logits
from trueness._numerics.smooth import Loess, Residuals, loess, smooth_errors
from trueness._numerics.splines import PERCENTILES, SplineFit, fit_spline
from trueness._tally.by_segment import Measured, measured
from trueness._tally.cells import Cells, pool_cells
from trueness._tally.row_sums import UnsortedRows
from trueness._tally.rows_or_sums import as_rows_or_cells, as_tally
from trueness._tally.tally import Parts, Tally
from trueness.errors import CertainScoresWarning, InputError, NoEstimateWarning, warn
from trueness.measure._slope import inside_cells, left_out
from trueness.typing import ArrayLike, Floats, Numbers, RowOptions

FlexibleMethod: TypeAlias = Literal["spline", "loess"]
METHODS = ("spline", "loess")

# More distinct scores than this are pooled to about 4,096 cells; the outermost at either end stay
# cells of their own.
_MANY = 2**15
_POOLS = 4096
_ENDS = 256
_PLACES = 512


@measured
def ici(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    curve: FlexibleMethod = "spline",
    knots: int = 5,
    **rows: Unpack[RowOptions],
) -> float:
    r"""Integrated calibration index: mean distance between a flexible calibration curve and the diagonal.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    curve : {'spline', 'loess'}, default 'spline'
        'spline': logistic regression on a restricted cubic spline of the log-odds. 'loess': local
        quadratic regression.
    knots : int, default 5
        Knots of a spline, 3 to 7.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        Between 0 and 1, in units of probability. nan, with a warning, if the curve has no finite
        estimate.

    Notes
    -----
    With :math:`c` the curve, over the rows,

    .. math:: \mathrm{ICI} = \frac1n \sum_i |c(p_i) - p_i| ;

    :func:`e50`, :func:`e90` and :func:`emax` are the median, the 0.9 quantile and the maximum of
    the same distances. All are biased upwards: a calibrated model scores above zero (see
    :func:`trueness.noise_floor`).

    Splines leave out scores of exactly 0 and 1, with a warning; loess uses all rows, and its curve
    may leave [0, 1] a little. Both agree with R (``rms::lrm`` on ``rcs(logit(p), 5)``; ``loess``
    with its defaults). The ``Eavg``, ``E90`` and ``Emax`` of R's ``rms::val.prob`` belong to
    another curve, ``lowess`` without robustness steps, and differ: on one data set its Emax is
    0.187 where that of loess is 0.319.

    With more than 32,768 distinct scores, neighbours are pooled to about 4,096 cells; the outermost
    are not.

    References
    ----------
    Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics for quantifying
    the calibration of logistic regression models", Statistics in Medicine, 2019. Harrell,
    "Regression modeling strategies", 2015.

    Examples
    --------
    Scores of 0.2 and 0.6; one of four and three of four events.

    >>> import trueness as tn
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.2] * 4 + [0.6] * 4
    >>> round(tn.ici(y, p), 6), round(tn.measure.emax(y, p), 6)
    (0.1, 0.15)
    """
    return _error(y_true, y_prob, curve, knots, rows, 0)


def _like_ici(name: str, which: int, first_line: str, example: float) -> Measured[...]:
    """Another summary of the distances of :func:`ici`."""

    def measure(
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        curve: FlexibleMethod = "spline",
        knots: int = 5,
        **rows: Unpack[RowOptions],
    ) -> float:
        return _error(y_true, y_prob, curve, knots, rows, which)

    own = ici.__doc__ or ""
    parameters = own.partition("    Parameters\n")[2].partition("    Notes\n")[0]
    references = own.partition("    References\n")[2].partition("    Examples\n")[0]
    measure.__name__ = measure.__qualname__ = name
    measure.__doc__ = f"""{first_line}

    Parameters
{parameters}    References
{references}    Examples
    --------
    >>> import trueness as tn
    >>> round(tn.measure.{name}([0, 0, 0, 1, 0, 1, 1, 1], [0.2] * 4 + [0.6] * 4), 6)
    {example}
    """
    return measured(measure)


e50 = _like_ici(
    "e50", 1, "Median distance between a flexible calibration curve and the diagonal.", 0.1
)
e90 = _like_ici(
    "e90",
    2,
    "90 % quantile of the distance between a flexible calibration curve and the diagonal.",
    0.15,
)
emax = _like_ici(
    "emax",
    3,
    "Largest distance between a flexible calibration curve and the diagonal, at any score.",
    0.15,
)


def _error(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None,
    curve: FlexibleMethod,
    knots: int,
    rows: RowOptions,
    which: int,
) -> float:
    checked_word(curve, "curve", METHODS)
    checked_knots(knots)
    tally = as_tally(y_true, y_prob, rows)
    if curve == "spline":
        warn_certain_scores(tally)
    value = float(
        tally.average(lambda cells: float(distances(fit_curve(cells, curve, knots))[which]))
    )
    if math.isnan(value):
        warn_no_curve()
    return value


def checked_knots(knots: int) -> int:
    """The number of knots, or an error."""
    if (
        isinstance(knots, bool)
        or not isinstance(knots, int | np.integer)
        or knots not in PERCENTILES
    ):
        raise InputError("knots", "must be a whole number from 3 to 7", f"got {knots!r}")
    return int(knots)


def warn_certain_scores(tally: Tally) -> None:
    """Count the scores of exactly 0 and 1, which splines leave out."""
    parts = [inside_cells(part) for part in tally.parts]
    certain = sum(part.certain_weight for part in parts)
    if certain:
        total = sum(float(part.totals.weight) for part in tally.parts)
        wrong = sum(part.wrong for part in parts)
        warn(
            left_out(total, certain, wrong, "The spline leaves", "`'loess'` uses all rows."),
            CertainScoresWarning,
        )


def warn_no_curve() -> None:
    """Say that there is no curve."""
    warn("The curve has no finite estimate on these rows; returning nan.", NoEstimateWarning)


@dataclass(frozen=True)
class SplineCurve:
    """A calibration curve by splines of the log-odds."""

    cells: Cells
    """The rows it was fitted to, perhaps pooled: those with scores strictly between 0 and 1."""
    fit: SplineFit | None
    """None if there is no finite estimate."""

    def at(self, score: Floats) -> Floats:
        """The curve; nan at scores of 0 and 1, and everywhere if there is no fit."""
        found = np.full(score.size, np.nan)
        if self.fit is not None:
            inside = (score > 0) & (score < 1)
            found[inside] = self.fit.probability(logits(score[inside]))
        return found


@dataclass(frozen=True)
class LoessCurve:
    """A calibration curve by loess."""

    cells: Cells
    """The rows it was fitted to, perhaps pooled."""
    smoother: Loess | None
    """None if there are no rows."""

    def at(self, score: Floats) -> Floats:
        """The curve; nan beyond the scores."""
        if self.smoother is None:
            return np.full(score.size, np.nan)
        return np.asarray(
            self.smoother.design(score) @ (self.smoother.operator @ self.cells.events)
        )


def usable_cells(cells: Cells, curve: FlexibleMethod) -> Cells:
    """The rows that a curve is fitted to: all, or for splines those with scores strictly between 0 and 1."""
    if curve == "loess":
        return cells
    return inside_cells(cells).cells


def fit_curve(cells: Cells, curve: FlexibleMethod, knots: int = 5) -> SplineCurve | LoessCurve:
    """The flexible curve of one binary problem."""
    used = usable_cells(cells, curve)
    few = few_cells(used)
    if curve == "loess":
        return LoessCurve(few, loess(few.score, few.weight) if few.size else None)
    if not few.size:
        return SplineCurve(few, None)
    return SplineCurve(
        few, fit_spline(logits(few.score), few.weight, few.events, knot_candidates(used, knots))
    )


def knot_candidates(cells: Cells, number: int) -> Iterator[Floats]:
    """Harrell's percentiles of the log-odds, then fewer of them; equal ones are one knot."""
    for fewer in range(number, 2, -1):
        yield np.unique(weighted_quantiles(cells.score, cells.weight, PERCENTILES[fewer], logits))


def few_cells(cells: Cells) -> Cells:
    """The cells, pooled if they are many."""
    if cells.size <= _MANY:
        return cells
    return pool_cells(cells, _POOLS - 2 * _ENDS, ends=_ENDS)


def curve_places(cells: Cells) -> Floats:
    """Up to 512 scores at which a curve is drawn: half evenly spaced in score and half in log-odds."""
    low = cells.score[0]
    high = cells.score[-1]
    inside = inside_cells(cells).cells.score
    if low == high:
        return cells.score[:1]
    places = [np.linspace(low, high, _PLACES // 2 + 2)]
    if inside.size:
        first, last = logits(inside[[0, -1]])
        log_odds = np.linspace(first, last, _PLACES // 2)[1:-1]
        places.append(np.exp(-np.logaddexp(0, -log_odds)))
    return np.asarray(np.clip(np.unique(np.concatenate(places)), low, high))


def distances(curve: SplineCurve | LoessCurve) -> Floats:
    """ICI, E50, E90 and Emax; nan if there is no curve."""
    cells = curve.cells
    if not cells.size:
        return np.full(4, np.nan)
    return distance_summary(np.abs(curve.at(cells.score) - cells.score), cells.weight)


def distance_summary(
    distance: Floats, weight: Numbers, shares: Sequence[float] = (0.5, 0.9, 1.0)
) -> Floats:
    """The mean of distances and their quantiles."""
    order = np.argsort(distance)
    mean = float(distance @ weight) / float(weight.sum())
    return np.array([mean, *weighted_quantiles(distance[order], weight[order], shares)])


@measured
def smooth_ece(
    y_true: ArrayLike | Tally, y_prob: ArrayLike | None = None, **rows: Unpack[RowOptions]
) -> float:
    r"""Smooth calibration error: the residuals are smoothed by a Gaussian kernel instead of binned.

    The data choose the width of the kernel: it equals the error itself.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        Between 0 and 1, in units of probability; accurate to 1e-6.

    Notes
    -----
    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1n \sum_i K_\sigma(t, p_i) (y_i - p_i) \Big| \, dt

    with the Gaussian kernel reflected at 0 and 1, at the :math:`\sigma` for which
    :math:`\mathrm{smECE}_\sigma = \sigma`. It is unique, because the left side falls in :math:`\sigma`.

    References
    ----------
    Błasiok, Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing", 2023.

    Examples
    --------
    >>> import trueness as tn
    >>> import warnings; warnings.simplefilter("ignore", tn.errors.OneClassWarning)
    >>> round(tn.smooth_ece([0, 0, 0], [0.95, 0.95, 0.95]), 6)
    0.95
    """
    return smooth_ece_of_tallies([as_rows_or_cells(y_true, y_prob, rows)])[0]


def smooth_ece_of_tallies(tallies: Sequence[Parts[UnsortedRows] | Tally]) -> list[float]:
    """:func:`smooth_ece` of each tally, taken together."""
    parts = [part for tally in tallies for part in tally.parts if part.score.size]
    errors = smooth_errors([Residuals(part.score, part.weight, part.events) for part in parts])
    values = {id(part): error for part, (error, _) in zip(parts, errors, strict=True)}
    return [tally.average(lambda part: values[id(part)]) for tally in tallies]

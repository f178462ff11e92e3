"""Maps of log-odds: Platt scaling and beta calibration.

With a ridge, quadratic scaling and splines.
"""

import math
from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from trueness._input.arguments import checked_whole
from trueness._numerics.logistic import bounded_logistic, recalibration_line, recalibration_shift
from trueness._numerics.ridge_logistic import ridge_logistic
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate import _logit_map as shapes
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._formula import LogOdds, line, log_scores
from trueness.recalibrate._saving import Field, all_of, array, meets, number
from trueness.typing import Floats, Ints

# Outside these magnitudes the squares of logits could overflow, or their differences count as none.
_SMALL = 1e-3
_LARGE = 1e100
_VANISHING = 1e-300
# A slope that changes no log-odds by more than this is what rounding leaves of 0.
_ROUNDING = 1e-12
NO_MAXIMUM = "so the likelihood has no finite maximum. Platt's smoothed targets replaced the labels"
_DESIGNS = {  # of beta calibration: (a, b, c) = free parameters @ matrix
    "abm": np.eye(3),
    "am": np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    "ab": np.array([[1.0, 0.0, math.log(2)], [0.0, 1.0, -math.log(2)]]),
}
_MOST_KNOTS = 1_000
_ascending = meets("ascending", lambda _, value: value.size and (np.diff(value) > 0).all())
_SEPARATE = f"The scores separate the labels, {NO_MAXIMUM}"


@with_parameters
class PlattScaling(shapes.LogitMap):
    r"""Platt scaling: logistic regression of the labels on the logits of the scores.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits or other real numbers, such as the margins of a support vector
        machine, which are used unchanged. Otherwise they are P(positive), whose logit is taken.
    targets : {'labels', 'platt'}, default 'labels'
        What is regressed: the labels, or Platt's smoothed targets, which prevent overconfidence in
        small samples.

    Notes
    -----
    A score with logit :math:`x` becomes :math:`1 / (1 + e^{-(a + b x)})`; intercept :math:`a` and
    slope :math:`b` maximise the likelihood. With `limits`, scores 0 and 1 become 0 and 1 for a
    positive slope, 1 and 0 for a negative one, and :math:`1 / (1 + e^{-a})` for slope 0.

    Platt's targets are :math:`(N_1 + 1) / (N_1 + 2)` for events and :math:`1 / (N_0 + 2)` for
    non-events, with :math:`N_1` and :math:`N_0` their numbers (weights). The optimum is found by
    Newton's method with step halving.

    If a threshold separates the labels, or all are equal, the likelihood has no finite maximum:
    Platt's targets, for which it has one, replace the labels, with a
    :class:`~trueness.errors.SeparableWarning`. If all scores are equal, the slope is not determined
    and is set to 1, with the same warning.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods, 1999.

    H.-T. Lin, C.-J. Lin, R. C. Weng, A note on Platt's probabilistic outputs for support vector
    machines, Machine Learning 68 (2007).

    Examples
    --------
    Odds of 1:3 and 3:1 were predicted, 1:2 and 2:1 were observed: the logits shrink to 63 %.

    >>> from trueness.recalibrate import PlattScaling
    >>> fitted = PlattScaling().fit([0.25] * 6 + [0.75] * 6, [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1])
    >>> round(fitted.slope_, 4), round(abs(fitted.intercept_), 4)
    (0.6309, 0.0)
    >>> fitted.predict([0.0, 0.25, 0.5]).round(4)
    array([0.116 , 0.3333, 0.5   ])
    """

    _state: ClassVar = {
        **shapes.EPS_STATE,
        "slope": Field("factor of the logit of a score", number()),
        "intercept": Field(
            "number added to it, which gives the log-odds of the prediction", number()
        ),
    }

    from_logits: bool = False
    targets: Literal["labels", "platt"] = "labels"
    eps: float | None = None
    limits: bool = False
    ridge: float = 0.0

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit the slope and the intercept of the log-odds; with `ridge` by penalized likelihood.

        Where the likelihood has no maximum there is a warning, and a line all the same.
        """
        x = self._fit_logits(rows).astype(np.float64)
        w = rows.weights
        unit = _unit(x)
        x = x * unit
        smooth = smoothed_events(rows.y, w)
        events = w * rows.y if self.targets == "labels" else smooth
        if self.ridge:
            X = np.column_stack([np.ones_like(x), x])
            ridge = self.ridge * np.diag([1, unit * unit])
            ((intercept, slope),) = ridge_logistic(
                X, w[None], events[None], np.array([0, 1 / unit]), ridge
            )
            self.slope_ = float(slope) * unit
            self.intercept_ = float(intercept)
            return
        slope, intercept = recalibration_line(x, w, events)
        if math.isnan(slope):
            slope, intercept = recalibration_line(x, w, smooth)
            if not math.isnan(slope):
                shown = f"{round(slope * unit, 12):.4g}"
                warn(f"{_SEPARATE}; the slope is {shown}.", SeparableWarning)
        if math.isnan(slope):
            slope = 1 / unit
            intercept = recalibration_shift(x / unit, w, events)
            if math.isnan(intercept):
                intercept = recalibration_shift(x / unit, w, smooth)
            text = "All scores are equal: the slope is not determined; it is set to 1."
            warn(text, SeparableWarning)
        else:
            slope = float(_unless_rounding(slope, x))
        self.slope_ = slope * unit
        self.intercept_ = intercept

    def _formula(self) -> LogOdds:
        return self._log_odds(line(self.intercept_, self.slope_))


def smoothed_events(y: Ints, w: Floats) -> Floats:
    """Platt's targets times the weights."""
    ones = float(np.sum(w * y))
    zeros = float(np.sum(w)) - ones
    return np.asarray(w * np.where(y == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2)))


def _unless_rounding(slope: float | Floats, x: Floats) -> Floats:
    """Slopes, each 0 if it moves no log-odds of the rows by more than rounding.

    If all labels are equal, the sign of a slope of 1e-17 would decide whether scores of 0 and 1 go
    to 0 or 1 (`limits`). The columns of `x` belong to the slopes.
    """
    largest = np.maximum(1.0, np.abs(x).max(axis=0))
    return np.where(np.abs(slope) * largest > _ROUNDING, slope, 0.0)


def _unit(x: Floats) -> float:
    """A power of two that brings huge or tiny logits near 1."""
    largest = float(np.max(np.abs(x)))
    if _SMALL <= largest <= _LARGE or largest < _VANISHING:
        return 1.0
    return math.ldexp(1.0, -math.frexp(largest)[1])


@with_parameters
class BetaCalibration(shapes.LogitMap):
    r"""Beta calibration: the map that is optimal if each class has beta-distributed scores.

    More flexible than :class:`trueness.PlattScaling`: the two ends of the scale bend independently.
    The family contains the identity, so calibrated scores can stay unchanged.

    Parameters
    ----------
    parameters : {'abm', 'am', 'ab'}, default 'abm'
        Which parameters are free. 'abm': all three. 'am': one slope for both ends, a = b. 'ab': the
        map passes through (1/2, 1/2).

    Notes
    -----
    A score :math:`p` becomes

    .. math:: \frac{1}{1 + e^{-(a \log p - b \log(1 - p) + c)}} , \qquad a, b \ge 0 ,

    with maximum-likelihood parameters under that constraint, which makes the map increasing. (The
    published procedure drops a parameter that is estimated as negative and refits; the likelihood
    here is never lower.) With m the score that is mapped to 1/2, :math:`c = b \log(1 - m) - a \log
    m`. With `limits`, score 0 becomes 0 if a > 0, else :math:`1 / (1 + e^{-c})`; score 1 becomes 1
    if b > 0, else the same.

    If a threshold separates the labels, or all are equal, there is no finite optimum: Platt's
    targets replace the labels, with a :class:`~trueness.errors.SeparableWarning` (see
    :class:`trueness.PlattScaling`). If the scores have fewer distinct values than there are
    parameters, the optimum nearest to the identity is returned, with the same warning.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, Beyond sigmoids: how to obtain well-calibrated probabilities
    from binary classifiers with beta calibration, Electronic Journal of Statistics 11 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import BetaCalibration
    >>> p = np.repeat([0.2, 0.5, 0.8], 10)
    >>> y = np.repeat([0, 1, 0, 1, 0, 1], [9, 1, 5, 5, 1, 9])
    >>> fitted = BetaCalibration().fit(p, y)
    >>> fitted.predict([0.0, 0.2, 0.5, 0.8, 1.0]).round(4)
    array([0.0015, 0.1   , 0.5   , 0.9   , 0.9985])
    """

    _state: ClassVar = {
        **shapes.EPS_STATE,
        "a": Field("factor of log p", number(least=0)),
        "b": Field("factor of −log(1 − p)", number(least=0)),
        "c": Field("number added to both, which gives the log-odds of the prediction", number()),
    }

    parameters: Literal["abm", "am", "ab"] = "abm"
    eps: float | None = None
    limits: bool = False
    ridge: float = 0.0

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit a, b ≥ 0 and c of the log-odds; with `ridge` by penalized likelihood.

        Labels that the scores separate are smoothed first. Scores with too few distinct values have
        the fit nearest to the identity. Both are warned of.
        """
        p = rows.p.astype(np.float64)
        w = rows.weights
        make = _DESIGNS[self.parameters]
        slopes = np.asarray(make[:, :2].any(axis=1))  # are not negative, and 1 for the identity
        X = log_scores(self._fit_logits(rows))[:, [1, 2, 0]] @ make.T
        identity = slopes.astype(np.float64)
        events = w * rows.y
        if self.ridge:
            ridge = self.ridge * np.eye(identity.size)
            (theta,) = ridge_logistic(X, w[None], events[None], identity, ridge, slopes)
            self.a_, self.b_, self.c_ = map(float, theta @ make)
            return
        n_distinct = np.unique(p).size
        if self._separable(p, rows.y):
            events = smoothed_events(rows.y, w)
            warn(f"{_SEPARATE}.", SeparableWarning)
        elif n_distinct < identity.size:
            values = "value does" if n_distinct == 1 else "values do"
            finding = (
                f"The scores' {n_distinct} distinct {values} not determine {identity.size} "
                "parameters"
            )
            warn(f"{finding}; the fit nearest to the identity is returned.", SeparableWarning)
        theta = bounded_logistic(X, w, events, identity, slopes)
        theta = np.where(slopes, _unless_rounding(theta, X), theta)
        self.a_, self.b_, self.c_ = map(float, theta @ make)

    def _separable(self, p: Floats, y: Ints) -> bool:
        """Whether the map could follow the labels ever closer: no likelihood is the largest."""
        event = p[y == 1]
        rest = p[y == 0]
        if self.parameters == "ab":  # log-odds have the sign of p − 1/2, whatever a and b are
            return bool((event >= 0.5).all() and (rest <= 0.5).all() and (p != 0.5).any())
        if not event.size or not rest.size:
            return True
        return bool(rest.max() <= event.min() and p.min() < p.max())

    def _formula(self) -> LogOdds:
        return self._log_odds(line(self.c_, 0.0, self.a_, self.b_))


@with_parameters
class _Curved(shapes.LogitMap):
    """A map of log-odds with a shape, fitted with a ridge towards the identity."""

    _positive: ClassVar = "ridge"

    from_logits: bool = False
    ridge: float = 1.0
    monotone: bool = True
    eps: float | None = None
    limits: bool = False

    def _fit(self, rows: CalibrationSet) -> None:
        """Adapt the shape to the logits, and fit its coefficients by penalized regression."""
        cells = shapes.logit_cells(self._fit_logits(rows), rows.y, rows.w)
        self._adapt(cells)
        shape = self._curve_shape
        bounded = shape.bounded if self.monotone else None
        (self.coefficients_,) = ridge_logistic(
            shape.basis(cells.z),
            cells.weight[None],
            cells.events[None],
            shape.identity,
            self.ridge * shape.ridge,
            bounded,
        )

    @abstractmethod
    def _adapt(self, cells: shapes.LogitCells) -> None:
        """Choose what of the shape depends on the scores."""

    @property
    @abstractmethod
    def _curve_shape(self) -> shapes.LogitShape: ...

    def _formula(self) -> LogOdds:
        return self._log_odds(self._curve_shape.curve(self.coefficients_))


@with_parameters
class QuadraticScaling(_Curved):
    r"""Quadratic scaling of the log-odds: a + b z + c z², or a + b z + c z|z|.

    One parameter more than :class:`trueness.PlattScaling`: the slope may differ between low and
    high scores or, with `signed`, between modest and extreme ones.

    Parameters
    ----------
    signed : bool, default False
        Whether the square has the sign of the log-odds, z|z|, which bends both ends alike.
    ridge : float, default 1
        Half this, times the squared distance of (a, b, c) from the identity (0, 1, 0), is added to
        the log loss summed over rows.
    monotone : bool, default True
        Whether the map must not decrease between the most extreme scores of the fit; beyond them it
        is straight.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import QuadraticScaling
    >>> p = np.repeat([0.2, 0.5, 0.8], 1000)
    >>> y = np.concatenate([np.arange(1000) < n for n in (100, 500, 800)]).astype(int)
    >>> QuadraticScaling().fit(p, y).predict([0.2, 0.5, 0.8]).round(2)
    array([0.1, 0.5, 0.8])
    """

    _state: ClassVar = {
        **shapes.EPS_STATE,
        "reach": Field(
            "largest distance of fitted log-odds from 0; beyond it, the map is straight",
            number(above=0),
        ),
        "coefficients": Field(
            "value at log-odds 0; slopes at −reach (signed: at 0) and at reach", array(lambda _: 3)
        ),
    }

    signed: bool = False

    def _adapt(self, cells: shapes.LogitCells) -> None:
        self.reach_ = cells.reach

    @property
    def _curve_shape(self) -> shapes.LogitShape:
        return shapes.bend(self.reach_, signed=bool(self.signed))

    def _natural(self, i: int) -> float:
        return float((self._curve_shape.natural @ self.coefficients_)[i])

    a_ = property(lambda self: self._natural(0), doc="The value at log-odds 0.")
    b_ = property(lambda self: self._natural(1), doc="The slope at log-odds 0.")
    c_ = property(lambda self: self._natural(2), doc="The factor of the square.")


@with_parameters
class SplineCalibration(_Curved):
    r"""Spline calibration: a curve of log-odds with a piecewise linear slope.

    The slope is linear between knots and constant outside them.

    Parameters
    ----------
    n_knots : int, default 5
        Knots at quantiles of the fitted log-odds, from 5 to 95 % in equal steps; fewer if these
        coincide.
    ridge : float, default 1
        Half this, times the squared distance of the slopes from 1 and of the value at log-odds 0
        from 0, is added to the log loss summed over rows.
    monotone : bool, default True
        Whether the curve must not decrease.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import SplineCalibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=20_000)
    >>> y = rng.binomial(1, np.clip(2 * p - 0.5, 0.25, 0.75))
    >>> SplineCalibration().fit(p, y).predict([0.1, 0.3, 0.5, 0.7, 0.9]).round(1)
    array([0.2, 0.2, 0.5, 0.8, 0.8])
    """

    _state: ClassVar = {
        **shapes.EPS_STATE,
        "knots": Field(
            "log-odds of the knots", all_of(array(lambda c: np.size(c.knots_)), _ascending)
        ),
        "coefficients": Field(
            "value at log-odds 0, then the slopes at knots", array(lambda c: 1 + np.size(c.knots_))
        ),
    }

    n_knots: int = 5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checked_whole(self.n_knots, "n_knots", _MOST_KNOTS)

    def _adapt(self, cells: shapes.LogitCells) -> None:
        self.knots_ = shapes.spline_knots(cells.z, cells.weight, self.n_knots)

    @property
    def _curve_shape(self) -> shapes.LogitShape:
        return shapes.spline(self.knots_)

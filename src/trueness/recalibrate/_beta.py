"""Beta calibration: log-odds linear in log p and log(1 − p)."""

import math
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trueness._input.arguments import checked_word
from trueness._numerics.logistic import bounded_logistic
from trueness._numerics.ridge_logistic import ridge_logistic
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, check_flag
from trueness.recalibrate._fitted_state import Field, number
from trueness.recalibrate._logit_map import EPS_STATE, check_eps, check_penalty, rows_eps, warn_moved
from trueness.recalibrate._platt import smoothed_events
from trueness.typing import Bools, Floats, Ints

Parameters: TypeAlias = Literal["abm", "am", "ab"]


class _Design(NamedTuple):
    """The free parameters, from which (a, b, c) = parameters @ make."""

    make: Floats
    bounded: Bools
    start: Floats


_LOG2 = math.log(2)
_DESIGNS = {
    "abm": _Design(np.eye(3), np.array([True, True, False]), np.array([1.0, 1.0, 0.0])),
    "am": _Design(np.array([[1.0, 1, 0], [0, 0, 1]]), np.array([True, False]), np.array([1.0, 0.0])),
    "ab": _Design(np.array([[1, 0, _LOG2], [0, 1, -_LOG2]]), np.array([True, True]), np.array([1.0, 1.0])),
}


class BetaCalibration(Calibrator):
    r"""Beta calibration: the map that is optimal if each class has beta-distributed scores.

    More flexible than :class:`PlattScaling`: the two ends of the scale bend independently. The family contains the
    identity, so calibrated scores can stay unchanged.

    Parameters
    ----------
    parameters : {'abm', 'am', 'ab'}, default 'abm'
        Which parameters are free. 'abm': all three. 'am': one slope for both ends, a = b. 'ab': the map passes through
        (1/2, 1/2).
    eps : float, optional
        Scores are clipped to [eps, 1 − eps], because 0 and 1 have infinite log-odds; `fit` warns if some are exactly 0
        or 1. Default: 1 / (2 (n + 1)) for n rows, or less if some scores are nearer to 0 or 1, but at least the square
        of that.
    limits : bool, default False
        Whether `predict` uses scores outside [eps, 1 − eps] unchanged, so that 0 and 1 are mapped to the limits of the
        map.
    ridge : float, default 0
        Half this, times the squared distance of the free parameters from those of the identity, is added to the log
        loss summed over rows: it shrinks the map towards the identity where rows are few. 1 is a good choice.

    Attributes
    ----------
    a_, b_, c_ : float
        Coefficients of the formula below; a and b are not negative.

    Notes
    -----
    A score :math:`p` becomes

    .. math:: \frac{1}{1 + e^{-(a \log p - b \log(1 - p) + c)}} , \qquad a, b \ge 0 ,

    with maximum-likelihood parameters under that constraint, which makes the map increasing. (The published procedure
    drops a parameter that is estimated as negative and refits; the likelihood here is never lower.) With m the score
    that is mapped to 1/2, :math:`c = b \log(1 - m) - a \log m`. With `limits`, score 0 becomes 0 if a > 0, else
    :math:`1 / (1 + e^{-c})`; score 1 becomes 1 if b > 0, else the same.

    If a threshold separates the labels, or all are equal, there is no finite optimum: Platt's targets replace the
    labels, with a :class:`~trueness.errors.SeparableWarning` (see :class:`PlattScaling`). If the scores have fewer
    distinct values than there are parameters, the optimum nearest to the identity is returned, with the same warning.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, Beyond sigmoids: how to obtain well-calibrated probabilities from binary
    classifiers with beta calibration, Electronic Journal of Statistics 11 (2017).

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
        **EPS_STATE,
        "a": Field("factor of log p", number(least=0)),
        "b": Field("factor of −log(1 − p)", number(least=0)),
        "c": Field("number added to both, which gives the log-odds of the prediction", number()),
    }

    def __init__(
        self,
        *,
        parameters: Parameters = "abm",
        eps: float | None = None,
        limits: bool = False,
        ridge: float = 0.0,
    ) -> None:
        self.parameters = parameters
        self.eps = eps
        self.limits = limits
        self.ridge = ridge

    def _check_parameters(self) -> None:
        check_eps(self.eps)
        check_flag("limits", self.limits)
        check_penalty("ridge", self.ridge)
        checked_word(self.parameters, "parameters", tuple(_DESIGNS))

    def _fit(self, rows: CalibrationSet) -> None:
        p, w = rows.p.astype(np.float64), rows.weights
        design = _DESIGNS[self.parameters]
        self.eps_ = rows_eps(self.eps, rows)
        warn_moved(p, self.eps_)
        logs = np.column_stack([*self._logs(p), np.ones(p.size)])
        events = w * rows.y
        if self.ridge:
            ridge = self.ridge * np.eye(design.start.size)
            (theta,) = ridge_logistic(logs @ design.make.T, w[None], events[None], design.start, ridge, design.bounded)
            self.a_, self.b_, self.c_ = map(float, theta @ design.make)
            return
        n_distinct = np.unique(p).size
        if self._separable(p, rows.y):
            events = smoothed_events(rows.y, w)
            warn(
                "The scores separate the labels, so the likelihood has no finite maximum. Platt's smoothed targets "
                "replaced the labels.",
                SeparableWarning,
            )
        elif n_distinct < design.start.size:
            values = "value does" if n_distinct == 1 else "values do"
            warn(
                f"The scores' {n_distinct} distinct {values} not determine {design.start.size} parameters; the fit "
                "nearest to the identity is returned.",
                SeparableWarning,
            )
        parameters = bounded_logistic(logs @ design.make.T, w, events, design.start, design.bounded)
        self.a_, self.b_, self.c_ = map(float, parameters @ design.make)

    def _separable(self, p: Floats, y: Ints) -> bool:
        event, rest = p[y == 1], p[y == 0]
        if self.parameters == "ab":  # log-odds have the sign of p − 1/2, whatever a and b are
            return bool((event >= 0.5).all() and (rest <= 0.5).all() and (p != 0.5).any())
        if not event.size or not rest.size:
            return True
        return bool(rest.max() <= event.min() and p.min() < p.max())

    def _map(self, p: NDArray[Any]) -> Floats:
        score = p.astype(np.float64)
        with np.errstate(divide="ignore"):
            logs = (np.log(score), -np.log1p(-score)) if self.limits else self._logs(score)
        # 0 · ∞ is nan, but a factor of 0 drops the term for every score.
        terms = [factor * log for factor, log in zip((self.a_, self.b_), logs, strict=True) if factor]
        return np.asarray(expit(sum(terms, np.full(score.shape, self.c_))))

    def _logs(self, p: Floats) -> tuple[Floats, Floats]:
        """Columns log p and −log(1 − p) of scores moved into [eps, 1 − eps]."""
        inside = np.clip(p, self.eps_, 1 - self.eps_)
        # 1 − eps may round to 1: near 1, the logarithms are those of eps.
        near = 1 - p < self.eps_
        low, high = math.log(self.eps_), math.log1p(-self.eps_)
        with np.errstate(divide="ignore"):
            return np.where(near, high, np.log(inside)), np.where(near, -low, -np.log1p(-inside))

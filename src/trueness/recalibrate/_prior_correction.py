"""Correction for a prior shift: classes weighted or sampled in training, or a new event rate."""

import math
import sys
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from trueness._input.arguments import checked_fraction, is_real
from trueness._keywords import suggests_keywords
from trueness._level import level_percent
from trueness._numerics.logistic import recalibration_shift
from trueness._numerics.softmax import softmax
from trueness.errors import InputError, SeparableWarning, warn
from trueness.infer.limits._slope import shift_limits
from trueness.recalibrate._calibration_set import CalibrationSet, Shape, accept_probabilities
from trueness.recalibrate._calibrator import Calibrator, with_parameters
from trueness.recalibrate._formula import Linear, LogOdds, Logs, Odds, Softmax, line
from trueness.recalibrate._logistic import NO_MAXIMUM, smoothed_events
from trueness.recalibrate._saving import Field, Fitted, Stored, array, n_classes, number
from trueness.typing import ArrayLike, Floats

_LARGEST_LOG = 300.0  # beyond this, a weight is too near the largest float to be multiplied by
_SUM_TOLERANCE = 1e-6
# The ridge, per row, that keeps shifts finite which nothing determines; it changes others by about
# as much.
_RIDGE = 1e-9
_MAX_STEPS = 100
_MAX_HALVINGS = 60
_CONVERGED = 1e-10


@suggests_keywords
def prior_correction(
    y_prob: ArrayLike,
    *,
    weight: float | ArrayLike | None = None,
    rate_train: float | ArrayLike | None = None,
    rate_deploy: float | ArrayLike | None = None,
) -> Floats:
    r"""Correct the scores of a model that was trained with class weights or with resampled classes.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, K)
        P(positive), or one column per class.
    weight : float, or array-like of shape (K,) for a matrix
        The factor by which the odds are too high: the weight of positives in training if negatives
        had weight 1, or w if one in w negatives was kept. For a matrix, the weight of each class; a
        common factor has no effect.
    rate_train, rate_deploy : float, or array-like of shape (K,) for a matrix
        Instead of `weight`: the rate of positives in training, after any sampling, and where the
        scores will be used. For a matrix, the shares of the classes, which sum to one.

    Returns
    -------
    array of shape (n,) or (n, K)
        Probabilities. Scores of exactly 0 and 1 stay as they are.

    Notes
    -----
    With odds(r) = r / (1 − r),

    .. math::

        \mathrm{logit}\,p' = \mathrm{logit}\,p - \log w , \qquad
        w = \frac{\mathrm{odds}(\text{rate\_train})}{\mathrm{odds}(\text{rate\_deploy})} ;

    for a matrix :math:`p'_k \propto p_k / w_k` with :math:`w_k = \text{rate\_train}_k /
    \text{rate\_deploy}_k`. The inverse is the same correction with weight 1/w. If the weight is
    unknown, :func:`trueness.prior_shift` and :class:`trueness.PriorCorrection` estimate it from
    labels.

    References
    ----------
    C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001.
    A. Dal Pozzolo, O. Caelen, R. A. Johnson, G. Bontempi, Calibrating probability with
    undersampling for unbalanced classification, IEEE Symposium Series on Computational
    Intelligence 2015.

    Examples
    --------
    Positives were weighted 20-fold. Odds of 1:1 were 1:20 before.

    >>> import trueness as tn
    >>> tn.recalibrate.prior_correction([0.0, 0.5, 0.9, 1.0], weight=20).round(4)
    array([0.    , 0.0476, 0.3103, 1.    ])

    A model trained on as many positives as negatives, used where one row in a hundred is positive:

    >>> tn.recalibrate.prior_correction([0.5, 0.9], rate_train=0.5, rate_deploy=0.01).round(4)
    array([0.01  , 0.0833])
    """
    p = accept_probabilities(y_prob)
    classes = p.shape[1] if p.ndim == 2 else None
    return _division(_log_weights(weight, rate_train, rate_deploy, classes))(p)


def _division(log_weight: float | Floats) -> Odds | LogOdds | Softmax:
    """The map that divides odds, or columns, by weights."""
    if isinstance(log_weight, np.ndarray):
        return Softmax(Logs(), Linear(shift=-log_weight))
    if abs(log_weight) > _LARGEST_LOG:
        return LogOdds(line(-log_weight, 1.0))
    return Odds(float(np.exp(log_weight)))


def _check_choice(weight: object, rate_train: object, rate_deploy: object) -> bool:
    """Whether a weight or two rates are given; raises if both or half of the rates are."""
    rates = [rate is not None for rate in (rate_train, rate_deploy)]
    if weight is not None and any(rates):
        demand = "must be given without `rate_train` and `rate_deploy`, from which it would follow"
        raise InputError("weight", demand, "got both")
    if any(rates) and not all(rates):
        named, absent = ("rate_train", "rate_deploy") if rates[0] else ("rate_deploy", "rate_train")
        raise InputError(absent, f"must be given with `{named}`", "got None")
    return weight is not None or all(rates)


def _log_weights(
    weight: object, rate_train: object, rate_deploy: object, classes: int | None
) -> float | Floats:
    """The logarithm of the weight of positives, or of each of K classes, from what was passed.

    That is a weight, or two rates; anything else is an error.
    """
    if not _check_choice(weight, rate_train, rate_deploy):
        raise InputError(
            "weight", "must be given, or both `rate_train` and `rate_deploy`", "got neither"
        )
    if weight is not None:
        if classes:
            return np.log(_numbers(weight, "weight", classes))
        return float(np.log(_number(weight)))
    rates = {"rate_train": rate_train, "rate_deploy": rate_deploy}
    if classes is None:
        train, deploy = (checked_fraction(rate, name) for name, rate in rates.items())
        return float(np.log(train) - np.log1p(-train) - np.log(deploy) + np.log1p(-deploy))
    shares = {name: _numbers(rate, name, classes) for name, rate in rates.items()}
    for name, share in shares.items():
        if abs(share.sum() - 1) > _SUM_TOLERANCE:
            raise InputError(
                name, "must sum to 1", f"got {share.tolist()}, which sum to {share.sum():g}"
            )
    return np.asarray(np.log(shares["rate_train"]) - np.log(shares["rate_deploy"]))


def _number(weight: object) -> float:
    """One weight; anything but a finite number above 0 is an error."""
    if is_real(weight):
        # A float32 cannot hold the largest float64.
        plain = weight.item() if isinstance(weight, np.generic) else weight
        if 0 < plain <= sys.float_info.max:
            return float(weight)
    raise InputError(
        "weight", "must be one finite number above 0 for a vector of scores", f"got {weight!r}"
    )


def _numbers(values: object, name: str, classes: int) -> Floats:
    array = np.asarray(values)
    good = array.shape == (classes,) and array.dtype.kind in "iuf"
    if not good or not (array > 0).all() or not np.isfinite(array).all():
        demand = f"must have one finite number above 0 for each of the {classes} columns"
        raise InputError(name, demand, f"got {values!r}")
    return array.astype(np.float64)


def _logs(calibrator: Fitted, value: Stored) -> str:
    if calibrator.n_classes_ is None:
        return number()(calibrator, value)
    return array(n_classes)(calibrator, value)


def _limit(calibrator: Fitted, value: Stored) -> str:
    is_infinite = isinstance(value, float) and math.isinf(value) and calibrator.n_classes_ is None
    if is_infinite:
        return ""
    return _logs(calibrator, value)


@with_parameters
class PriorCorrection(Calibrator):
    r"""Divide the odds by one weight: undo class weights, sampling or a changed event rate.

    Parameters
    ----------
    weight : float, or array-like of shape (K,) for a matrix, optional
        The factor by which the odds are too high, such as the weight that positives had in
        training; for a matrix, one factor per class. Estimated by default.
    rate_train, rate_deploy : float, or array-like of shape (K,) for a matrix, optional
        Rates of positives from which the weight follows, instead of `weight`.
    level : float, default 0.95
        Confidence level of the limits of an estimated weight.

    Attributes
    ----------
    weight_ : float, or array of shape (K,)
        The weight; for a matrix, one per class, with the first set to 1.
    weight_low_, weight_high_ : float or array, or None if the weight was given
        Its confidence limits.
    log_weight_, log_weight_low_, log_weight_high_
        Their logarithms.

    Notes
    -----
    A score with logit :math:`x` becomes :math:`1 / (1 + e^{-(x - \log w)})`; a row of a matrix
    becomes :math:`p_k / w_k`, divided by its sum. The estimate maximises the likelihood, which
    makes the expected number of events of each class equal to the observed one: :math:`w = e^{-a}`
    with the calibration intercept :math:`a`. Its limits are those of the likelihood ratio (matrix:
    Wald).

    With a single parameter, a few events are enough to fit it. The order of the scores never
    changes, and scores that are too extreme stay so: :func:`trueness.prior_shift` says whether one
    weight is the right map.

    Scores of exactly 0 and 1 stay as they are and are left out of the fit, as are rows of a matrix
    that give their label the probability 0. If a class has no rows, Platt's smoothed targets
    replace the labels; if no score can move, the weight is 1; both with a
    :class:`~trueness.errors.SeparableWarning`.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker, Adjusting the outputs of a classifier to new a priori
    probabilities, Neural Computation 14 (2002).

    Examples
    --------
    Odds of 1:1 and 3:1 were predicted; both were four times too high.

    >>> from trueness.recalibrate import PriorCorrection
    >>> p = [0.5] * 10 + [0.75] * 14
    >>> y = [1] * 2 + [0] * 8 + [1] * 6 + [0] * 8
    >>> fitted = PriorCorrection().fit(p, y)
    >>> round(fitted.weight_, 6)
    4.0
    >>> fitted.predict([0.5, 0.75, 1.0]).round(4)
    array([0.2   , 0.4286, 1.    ])
    """

    _shape: ClassVar[Shape] = "any"
    _state: ClassVar = {
        "log_weight": Field(
            "logarithm of the number that the odds, or each column, are divided by", _logs
        ),
        "log_weight_low": Field(
            "lower confidence limit of the same; null if the weight was given", _limit, True
        ),
        "log_weight_high": Field(
            "upper confidence limit of the same; null if the weight was given", _limit, True
        ),
    }

    weight: float | ArrayLike | None = None
    rate_train: float | ArrayLike | None = None
    rate_deploy: float | ArrayLike | None = None
    level: float = 0.95

    weight_ = property(
        lambda self: _exp(self.log_weight_),
        doc="The factor, or factors, by which odds are divided.",
    )
    weight_low_ = property(
        lambda self: _exp(self.log_weight_low_), doc="Lower confidence limit, or None."
    )
    weight_high_ = property(
        lambda self: _exp(self.log_weight_high_), doc="Upper confidence limit, or None."
    )

    def _check_parameters(self) -> None:
        _check_choice(self.weight, self.rate_train, self.rate_deploy)

    def _fit(self, rows: CalibrationSet) -> None:
        """Take the weight from the parameters, without limits, or estimate it from the rows."""
        self.log_weight_low_: Any = None
        self.log_weight_high_: Any = None
        if _check_choice(self.weight, self.rate_train, self.rate_deploy):
            logs = _log_weights(self.weight, self.rate_train, self.rate_deploy, self.n_classes_)
            if self.n_classes_ is not None:
                logs = logs - logs[0]  # type: ignore[index]  # an array, of classes
            self.log_weight_ = logs
        elif self.n_classes_ is None:
            self._fit_vector(rows)
        else:
            self._fit_matrix(rows)

    def _fit_vector(self, rows: CalibrationSet) -> None:
        """Estimate one shift of the log-odds of a vector of scores, with its limits.

        If all scores are 0 or 1, the weight is 1 and its limits are infinite. If all labels are
        equal, smoothed targets take their place. Both are warned of.
        """
        p = rows.p.astype(np.float64)
        inside = (p > 0) & (p < 1)
        if not inside.any():
            warn(
                "No score lies strictly between 0 and 1: the weight is set to 1.", SeparableWarning
            )
            self.log_weight_ = 0.0
            self.log_weight_low_ = -math.inf
            self.log_weight_high_ = math.inf
            return
        limits = shift_limits(rows.cells(), float(self.level))
        shift = limits.value
        low = limits.low
        high = limits.high
        if math.isnan(shift):
            x = np.log(p[inside]) - np.log1p(-p[inside])
            w = rows.weights[inside]
            shift = recalibration_shift(x, w, smoothed_events(rows.y[inside], w))
            weight = f"the weight is {math.exp(min(-shift, 700)):.4g}"
            warn(f"The rows have one class only, {NO_MAXIMUM}; {weight}.", SeparableWarning)
        self.log_weight_ = -shift
        self.log_weight_low_ = -high
        self.log_weight_high_ = -low

    def _fit_matrix(self, rows: CalibrationSet) -> None:
        """Estimate a shift of the logits of each class against the first, with normal limits.

        Rows whose label has a score of 0 are left out. If a class has no rows, smoothed totals take
        the place of the observed ones, with a warning.
        """
        p = rows.p.astype(np.float64)
        w = rows.weights
        possible = p[np.arange(p.shape[0]), rows.y] > 0
        p = p[possible]
        y = rows.y[possible]
        w = w[possible]
        K = p.shape[1]
        totals = np.bincount(y, w, minlength=K).astype(np.float64)
        if not totals.all():
            count = int((totals == 0).sum())
            subject = "1 class has no rows" if count == 1 else f"{count:,} classes have no rows"
            message = (
                f"{subject} that its scores allow: Platt's smoothed targets replaced the labels."
            )
            warn(message, SeparableWarning)
            # From the rows of each class to each other class.
            from_other_classes = totals / (totals + K)
            totals = (
                np.where(totals > 0, totals * (totals + 1) / (totals + K), 0)
                + from_other_classes.sum()
                - from_other_classes
            )
        with np.errstate(divide="ignore"):
            shifts, information = _class_shifts(np.log(p), w, totals)
        variance = np.diag(np.linalg.inv(information[1:, 1:]))
        reach = float(ndtri((1 + float(self.level)) / 2)) * np.sqrt(
            np.concatenate([[0.0], variance])
        )
        self.log_weight_ = shifts[0] - shifts
        self.log_weight_low_ = self.log_weight_ - reach
        self.log_weight_high_ = self.log_weight_ + reach

    def _learnt_in_words(self) -> str:
        if self.n_classes_ is not None:
            return super()._learnt_in_words()
        words = f"The odds of the scores are divided by {self.weight_:.3g}"
        if self.weight_low_ is None:
            return f"{words}."
        limits = f"{self.weight_low_:.3g} to {self.weight_high_:.3g}"
        return f"{words} ({level_percent(self.level)}: {limits})."

    def _formula(self) -> Odds | LogOdds | Softmax:
        return _division(self.log_weight_)


def _exp(value: float | Floats | None) -> float | Floats | None:
    if value is None:
        return None
    with np.errstate(over="ignore"):
        powers: float | Floats = np.exp(value)
    return powers if isinstance(powers, np.ndarray) else float(powers)


def _class_shifts(x: Floats, w: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """Shifts of logits at which the expected totals are `totals`, and their information."""
    ridge = _RIDGE * max(float(w.sum()), 1.0)
    peak = x.max(axis=1, initial=-np.inf) if x.size else np.zeros(0)
    x = x - peak[:, None]

    def loss(b: Floats) -> float:
        return float(w @ np.logaddexp.reduce(x + b, axis=1) - totals @ b + ridge * (b @ b) / 2)

    b = np.zeros(totals.size)
    value = loss(b)
    information = np.eye(totals.size) * ridge
    for _ in range(_MAX_STEPS):
        q = softmax(x + b) if x.size else np.zeros_like(x)
        expected = w @ q
        information = np.diag(expected + ridge) - q.T @ (q * w[:, None])
        step = np.linalg.solve(information, totals - expected - ridge * b)
        for _ in range(_MAX_HALVINGS):
            trial = loss(b + step)
            if trial <= value + 1e-12 * abs(value):
                break
            step = step / 2
        b = b + step
        value = trial
        if np.max(np.abs(step)) <= _CONVERGED * (1 + np.max(np.abs(b))):
            break
    return b, information

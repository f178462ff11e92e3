"""Correction of scores for a prior shift: classes that were weighted or sampled in training, or a new event rate."""

import sys
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trueness._input.arguments import checked_fraction
from trueness._keywords import suggests_keywords
from trueness._numerics.softmax import softmax
from trueness.errors import InputError
from trueness.recalibrate._calibration_set import accept_probabilities
from trueness.typing import ArrayLike, Floats

# Beyond this, a weight is too near the largest float to be multiplied by.
_LARGEST_LOG = 300.0
_SUM_TOLERANCE = 1e-6


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
        The factor by which the odds are too high: the weight of positives in training if negatives had weight 1, or w
        if one in w negatives was kept. For a matrix, the weight of each class; a common factor has no effect.
    rate_train, rate_deploy : float, or array-like of shape (K,) for a matrix
        Instead of `weight`: the rate of positives in training, after any sampling, and where the scores will be used.
        For a matrix, the shares of the classes, which sum to one.

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

    for a matrix :math:`p'_k \propto p_k / w_k` with :math:`w_k = \text{rate\_train}_k / \text{rate\_deploy}_k`.
    The inverse is the same correction with weight 1/w. If the weight is unknown, :func:`trueness.prior_shift` and
    :class:`trueness.PriorCorrection` estimate it from labels.

    References
    ----------
    C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001.
    A. Dal Pozzolo, O. Caelen, R. A. Johnson, G. Bontempi, Calibrating probability with undersampling for unbalanced
    classification, IEEE Symposium Series on Computational Intelligence 2015.

    Examples
    --------
    Positives were weighted 20-fold. Odds of 1:1 were 1:20 before.

    >>> import trueness as tn
    >>> tn.prior_correction([0.0, 0.5, 0.9, 1.0], weight=20).round(4)
    array([0.    , 0.0476, 0.3103, 1.    ])

    A model trained on as many positives as negatives, used where one row in a hundred is positive:

    >>> tn.prior_correction([0.5, 0.9], rate_train=0.5, rate_deploy=0.01).round(4)
    array([0.01  , 0.0833])
    """
    p = accept_probabilities(y_prob)
    if p.ndim == 2 and p.shape[1] < 2:
        got = f"got shape {p.shape}"
        raise InputError("y_prob", "must be a vector, or a matrix of at least two columns", got)
    return divide_odds(p, log_weights(weight, rate_train, rate_deploy, p.shape[1] if p.ndim == 2 else None))


def divide_odds(p: NDArray[Any], log_weight: float | Floats) -> Floats:
    """Scores whose odds, or columns, are divided by weights."""
    p = p.astype(np.float64)
    with np.errstate(divide="ignore"):
        if p.ndim == 2:
            return softmax(np.log(p) - log_weight)
        if abs(float(log_weight)) > _LARGEST_LOG:
            return np.asarray(expit(np.log(p) - np.log1p(-p) - log_weight))
    return np.asarray(p / (p + np.exp(log_weight) * (1 - p)))


def check_choice(weight: Any, rate_train: Any, rate_deploy: Any) -> bool:
    """Whether a weight or two rates are given; raises if both or half of the rates are."""
    rates = [rate is not None for rate in (rate_train, rate_deploy)]
    if weight is not None and any(rates):
        demand = "must be given without `rate_train` and `rate_deploy`, from which it would follow"
        raise InputError("weight", demand, "got both")
    if any(rates) and not all(rates):
        given, absent = ("rate_train", "rate_deploy") if rates[0] else ("rate_deploy", "rate_train")
        raise InputError(absent, f"must be given with `{given}`", "got None")
    return weight is not None or all(rates)


def log_weights(weight: Any, rate_train: Any, rate_deploy: Any, classes: int | None) -> float | Floats:
    """The logarithm of the weight of positives, or of each of K classes."""
    if not check_choice(weight, rate_train, rate_deploy):
        raise InputError("weight", "must be given, or both `rate_train` and `rate_deploy`", "got neither")
    if weight is not None:
        return np.log(_numbers(weight, "weight", classes)) if classes else float(np.log(_number(weight)))
    rates = {"rate_train": rate_train, "rate_deploy": rate_deploy}
    if classes is None:
        train, deploy = (checked_fraction(rate, name) for name, rate in rates.items())
        return float(np.log(train) - np.log1p(-train) - np.log(deploy) + np.log1p(-deploy))
    shares = {name: _numbers(rate, name, classes) for name, rate in rates.items()}
    for name, share in shares.items():
        if abs(share.sum() - 1) > _SUM_TOLERANCE:
            raise InputError(name, "must sum to 1", f"got {share.tolist()}, which sum to {share.sum():g}")
    return np.asarray(np.log(shares["rate_train"]) - np.log(shares["rate_deploy"]))


def _number(weight: Any) -> float:
    one = isinstance(weight, Real) and not isinstance(weight, bool | np.bool_)
    plain = weight.item() if isinstance(weight, np.generic) else weight  # a float32 cannot hold the largest float64
    if not one or not 0 < plain <= sys.float_info.max:
        raise InputError("weight", "must be one finite number above 0 for a vector of scores", f"got {weight!r}")
    return float(weight)


def _numbers(values: Any, name: str, classes: int) -> Floats:
    array = np.asarray(values)
    good = array.shape == (classes,) and array.dtype.kind in "iuf"
    if not good or not (array > 0).all() or not np.isfinite(array).all():
        demand = f"must have one finite number above 0 for each of the {classes} columns"
        raise InputError(name, demand, f"got {values!r}")
    return array.astype(np.float64)

"""Random effects: the mean of estimates from several centres, and how far centres differ."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from trueness._input.columns import column
from trueness._input.scores import numeric
from trueness._keywords import suggests_keywords
from trueness._level import Level, checked_level
from trueness._numerics.roots import bracketed_root
from trueness._numerics.students_t import t_limits
from trueness.errors import InputError
from trueness.results import Heterogeneity
from trueness.typing import ArrayLike, Floats

# The likelihood may have two maxima: the grid is fine enough to tell them apart, and the best of
# its points is refined. It goes from 1e-9 of the smallest variance to 1,000 times the largest
# difference between centres, squared, or the largest variance.
_GRID = 400
_SMALLEST = 1e-9
_LARGEST = 1e3
# Numbers whose squares, and ratios of squares, are floats.
_HUGE = 1e20


@suggests_keywords
def heterogeneity(
    values: ArrayLike, standard_errors: ArrayLike, *, level: float = 0.95
) -> Heterogeneity:
    r"""The mean of estimates from several centres, and how far centres differ.

    The random-effects model of meta-analysis: each centre has a true value of its own, and an
    estimate with a known standard error.

    Parameters
    ----------
    values : array-like of shape (k,)
        The estimates, on a scale on which they are about normal (log O/E, slope, logit of the AUC),
        one per centre.
    standard_errors : array-like of shape (k,)
        Their standard errors, above 0.
    level : float, default 0.95
        Confidence level of all limits.

    Returns
    -------
    Heterogeneity
        `mean` with limits, `tau2` with limits, and the range in which a new centre lies.

    Notes
    -----
    With estimates :math:`y_k`, variances :math:`v_k` and weights :math:`w_k = 1/(v_k + \tau^2)`,
    :math:`\tau^2` maximises the restricted likelihood

    .. math:: -\tfrac12 \sum \log(v_k + \tau^2) - \tfrac12 \log \sum w_k
              - \tfrac12 \sum w_k (y_k - \mu)^2 , \qquad \mu = \frac{\sum w_k y_k}{\sum w_k} .

    **Limits of the mean** are those of Hartung and Knapp: Student's t with k − 1 degrees of freedom
    and the variance :math:`q / \sum w_k` with :math:`q = \max(1, \sum w_k (y_k - \mu)^2 / (k -
    1))`: without the maximum they can be narrower than if all centres had one true value.

    **A new centre** has its true value in :math:`\mu \pm t_{k-1} \sqrt{\tau^2 + se^2}`. This takes
    the estimate of :math:`\tau^2` as known. With few centres it is often 0 although centres differ,
    and the range is then too narrow: read it as "at least", beside the limits of `tau2`.

    **Limits of** :math:`\tau^2` are those at which :math:`\sum w_k (y_k - \mu)^2` reaches the
    quantiles of its law, :math:`\chi^2_{k-1}`; `pvalue` is that of :math:`\tau^2 = 0` by the same
    law (Cochran).

    R's metafor gives the same numbers by ``rma(y, se^2, test = "adhoc")`` and ``confint``.

    References
    ----------
    W. Viechtbauer, Conducting meta-analyses in R with the metafor package, Journal of Statistical
    Software 36 (2010). J. Hartung, G. Knapp, A refined method for the meta-analysis of controlled
    clinical trials with binary outcome, Statistics in Medicine 20 (2001), 3875-3889. W.
    Viechtbauer, Confidence intervals for the amount of heterogeneity in meta-analysis, Statistics
    in Medicine 26 (2007), 37-52.

    Examples
    --------
    >>> import trueness as tn
    >>> found = tn.heterogeneity([0.1, -0.4, 0.3, -0.1], [0.15, 0.2, 0.1, 0.12])
    >>> round(found.mean, 4), round(found.tau2, 4)
    (0.0028, 0.0608)
    """
    level = checked_level(level)
    y = _read(values, "values")
    errors = _read(standard_errors, "standard_errors")
    if y.size != errors.size:
        got = f"got {errors.size} for {y.size}"
        raise InputError("standard_errors", "must have one entry per entry of `values`", got)
    if y.size < 2:
        raise InputError("values", "must be of at least 2 centres", f"got {y.size}")
    if not (errors > 0).all():
        got = f"got {float(errors.min()):g}"
        raise InputError("standard_errors", "must be above 0", got)
    if errors.min() < 1 / _HUGE:
        raise InputError(
            "standard_errors", f"must be at least {1 / _HUGE:g}", f"got {errors.min():g}"
        )
    return random_effects(y, errors**2, level)


def random_effects(y: Floats, variance: Floats, level: float) -> Heterogeneity:
    """The mean of the estimates `y` of centres, and how far the true values of centres differ.

    `variance` is that of each estimate, for sampling alone; there are at least two. The variance
    between centres, tau², is that of restricted maximum likelihood. The mean weights each estimate
    by 1/(variance + tau²) and has Student's t limits with centres − 1 degrees of freedom, with an
    error that is widened if Q at tau² is larger than these. The prediction limits are for the true
    value of a new centre. Limits of tau² are the values at which Cochran's Q has its chi-square
    quantiles, and the p-value is that of Q for tau² = 0. More in :func:`heterogeneity`.
    """
    # In units of the usual variance, so that no step below depends on the unit of the values.
    unit = float(np.median(variance))
    median = float(np.median(y))
    scaled = _Centres((y - median) / math.sqrt(unit), variance / unit)
    tau2 = scaled.between_variance()
    weight = 1 / (scaled.variance + tau2)
    freedom = y.size - 1
    mean = scaled.mean(tau2)
    inflation = max(1.0, scaled.q(tau2) / freedom)
    error = math.sqrt(inflation / float(weight.sum()))
    limits = t_limits(mean, error, freedom, level)
    prediction = t_limits(mean, math.sqrt(tau2 + error**2), freedom, level)
    tail = Level(level).tail
    tau2_low = scaled.variance_with_q(float(chdtri(freedom, tail)))
    tau2_high = scaled.variance_with_q(float(chdtri(freedom, 1 - tail)))

    def back(value: float) -> float:
        """A value in the units of the estimates."""
        return median + math.sqrt(unit) * value

    return Heterogeneity(
        mean=back(mean),
        low=back(limits[0]),
        high=back(limits[1]),
        standard_error=math.sqrt(unit) * error,
        prediction_low=back(prediction[0]),
        prediction_high=back(prediction[1]),
        tau2=unit * tau2,
        tau2_low=unit * tau2_low,
        tau2_high=unit * tau2_high,
        pvalue=float(chdtrc(freedom, scaled.q(0.0))),
        centres=int(y.size),
        level=level,
    )


class _Centres(NamedTuple):
    """Estimates and their variances, one per centre.

    With tau2 the variance of the true values between centres, an estimate has the weight
    w = 1/(its variance + tau2).
    """

    y: Floats
    variance: Floats

    def mean(self, tau2: float) -> float:
        """The weighted mean of the estimates."""
        weight = 1 / (self.variance + tau2)
        return float((weight * self.y).sum() / weight.sum())

    def q(self, tau2: float) -> float:
        """Cochran's Q, Σw(y − mean)², which falls as the variance between centres grows."""
        weight = 1 / (self.variance + tau2)
        return float((weight * (self.y - self.mean(tau2)) ** 2).sum())

    def likelihood(self, tau2: float) -> float:
        """The restricted log-likelihood of a variance between centres, but for a constant."""
        total = self.variance + tau2
        weights = float((1 / total).sum())
        return -0.5 * (float(np.log(total).sum()) + math.log(weights) + self.q(tau2))

    def slope(self, tau2: float) -> float:
        """Twice the derivative of the restricted log-likelihood by the variance between centres.

        With the weights w it is Σw²(y − mean)² − Σw + Σw²/Σw. Its sign says whether the likelihood
        rises.
        """
        weight = 1 / (self.variance + tau2)
        residual = self.y - self.mean(tau2)
        weighted_squares = float((weight**2 * residual**2).sum())
        squares = float((weight**2).sum())
        total = float(weight.sum())
        return weighted_squares - total + squares / total

    def between_variance(self) -> float:
        """The variance between centres that maximises the restricted likelihood.

        It is 0 if the likelihood falls from 0 on. Otherwise it is the best point of a grid, refined
        between its neighbours by the root of the derivative. If the derivative does not change its
        sign there, as where the likelihood is flat but for rounding, the point itself is returned.
        """
        largest = _LARGEST * max(float(np.ptp(self.y)) ** 2, float(self.variance.max()))
        smallest = _SMALLEST * float(self.variance.min())
        grid = [0.0, *np.geomspace(smallest, largest, _GRID).tolist()]
        best = max(range(_GRID), key=lambda i: self.likelihood(grid[i]))
        if self.slope(grid[best]) > 0:
            low = grid[best]
            high = grid[best + 1]
        elif best == 0:
            return 0.0
        else:
            low = grid[best - 1]
            high = grid[best]
        if self.slope(low) <= 0 or self.slope(high) > 0:
            return float(grid[best])
        return _root(self.slope, low, high)

    def variance_with_q(self, target: float) -> float:
        """The variance between centres at which Cochran's Q is `target`.

        Q falls as the variance grows. If it is at most `target` for a variance of 0, the result is
        0.
        """
        if self.q(0.0) <= target:
            return 0.0
        high = max(float(np.ptp(self.y)) ** 2, float(self.variance.max()))
        while self.q(high) > target:
            high *= 4
        return _root(lambda tau2: self.q(tau2) - target, 0.0, high)


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """The number between two others at which a function is 0, to 13 digits."""
    return bracketed_root(f, low, high, xtol=1e-14 * high, rtol=1e-13)


def _read(values: ArrayLike, name: str) -> Floats:
    """The numbers of an argument called `name`: one finite number per centre, none beyond 1e20.

    Anything else is refused.
    """
    entered = numeric(column(values, name), name)
    numbers = entered.values.astype(np.float64)
    if numbers.ndim != 1:
        raise InputError(name, "must be one number per centre", f"got shape {numbers.shape}")
    missing = entered.missing is not None and entered.missing.any()
    if missing or not np.isfinite(numbers).all():
        raise InputError(name, "must be finite", "some are missing or infinite")
    if numbers.size and np.abs(numbers).max() > _HUGE:
        got = f"got {numbers[np.abs(numbers).argmax()]:g}"
        raise InputError(name, f"must be at most {_HUGE:g} from 0", got)
    return numbers

"""Confidence intervals and the t test of a binomial proportion, for many counts at once."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betainccinv, betaincinv, ndtri, stdtrit

from trueness._level import Level
from trueness.typing import Bools, Floats

_ROUNDS = 60
"""Halvings of [0, 1] until two floats are neighbours, or as good as."""


def clopper_pearson(k: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Ends of the exact interval: rates that neither one-sided test at (1 − level)/2 rejects.

    For `k` events in `n` trials, which are broadcast; nan where `n` is 0. Whole numbers are covered
    with probability at least `level` at every rate, usually more. Real-valued counts, such as
    effective ones, have no such guarantee.

    C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the
    case of the binomial, Biometrika 26 (1934), 404-413. :doi:`10.1093/biomet/26.4.404`
    """
    return _beta_ends(k, n, level, 0.0)


def jeffreys(k: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Ends of Jeffreys' interval: the central posterior interval under the prior Beta(1/2, 1/2).

    Arguments as in :func:`clopper_pearson`. The low end is 0 at k = 0 and the high end 1 at k = n,
    where the posterior's own quantiles would exclude the observed rate. Coverage is `level` on
    average over rates. A real-valued k between 0 and 1/2 may lie outside.

    L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion,
    Statistical Science 16 (2001), 101-133. :doi:`10.1214/ss/1009213286`
    """
    return _beta_ends(k, n, level, 0.5)


def mid_p(k: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    r"""Ends of the mid-P interval: the rates whose mid-P tails are at least (1 − level)/2.

    Arguments as in :func:`clopper_pearson`, except that without trials the ends are 0 and 1. The
    mid-P tail of k events is :math:`P(X > k) + \frac12 P(X = k)`, or the same below. The low end is
    0 at k = 0 and the high end 1 at k = n. Coverage is close to `level` and may lie below it: for
    50 to 300 rows and rates of a judge it was at least .930 at .95 in simulations.

    G. Berry and P. Armitage, Mid-P confidence intervals: a brief review, The Statistician 44
    (1995), 417-423.
    """
    k, n = _counts(k, n)
    tail = Level(level).tail
    low = np.where(k > 0, _mid_p_end(np.maximum(k, 0), n, tail), 0.0)
    high = np.where(k < n, 1 - _mid_p_end(np.maximum(n - k, 0), n, tail), 1.0)
    return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)


def _mid_p_end(k: Floats, n: Floats, tail: float) -> Floats:
    """The rate at which `k` or more events of `n` have the mid-P probability `tail`.

    Mid-P counts k itself by half: P(X > k) + P(X = k) / 2. There is no closed form, so it is found
    by bisection.
    """
    low = np.zeros(k.shape)
    high = np.ones(k.shape)
    for _ in range(_ROUNDS):
        rate = (low + high) / 2
        with np.errstate(invalid="ignore"):
            at_least = np.where(k > 0, betainc(k, n - k + 1, rate), 1.0)
            above = np.where(n > k, betainc(k + 1, n - k, rate), 0.0)
        beyond = (at_least + above) / 2 > tail
        high = np.where(beyond, rate, high)
        low = np.where(beyond, low, rate)
    return (low + high) / 2


def wilson(k: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    r"""Ends of Wilson's score interval, without continuity correction.

    Arguments as in :func:`clopper_pearson`. The rates :math:`x` with :math:`n (k/n - x)^2 \le z^2 x
    (1 - x)`, :math:`z` the normal quantile of (1 + level)/2. Coverage is close to `level` on
    average, lower at some rates near 0 and 1.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927), 209-212. :doi:`10.1080/01621459.1927.10502953`
    """
    k, n = _counts(k, n)
    z = -float(ndtri(Level(level).tail))
    with np.errstate(invalid="ignore"):
        # The product of the roots over the larger one: centre minus half-width cancels for small k,
        # and at k = 0 it would leave a rounding error where the end is 0.
        root = z * np.sqrt(z**2 + 4 * k * (n - k) / n)
        low, other = (2 * x**2 / n / (2 * x + z**2 + root) for x in (k, n - k))
        return low, 1 - other


def _counts(k: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    events, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    return events, trials


def _beta_ends(k: ArrayLike, n: ArrayLike, level: float, prior: float) -> tuple[Floats, Floats]:
    """Lower and upper limits of a rate from `k` events of `n`, as quantiles of beta distributions.

    With `prior` 0 they are the limits of Clopper and Pearson, with 1/2 those of Jeffreys' prior.
    The lower limit is 0 at k = 0, the upper 1 at k = n; both are nan without trials.
    """
    k, n = _counts(k, n)
    tail = Level(level).tail
    low = betaincinv(k + prior, n - k + 1 - prior, tail)
    high = betainccinv(k + 1 - prior, n - k + prior, tail)
    low = np.where(k > 0, low, 0.0)
    high = np.where(k < n, high, 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def t_rejections(
    k: ArrayLike,
    n: ArrayLike,
    starts: ArrayLike,
    scores: ArrayLike,
    alpha: float,
    *,
    published: bool = False,
) -> Bools:
    r"""Which of the scores in a bin a two-sided t test on the bin's labels rejects as its rate.

    Arguments as of :func:`~trueness._numerics.binomial.binomial_rejections`; `k` and `n` may be
    real numbers, such as effective counts. `published` reproduces the code published with the
    test-based calibration error. It is not a test of level `alpha`: it takes :math:`r (1 - r)` for
    :math:`s`, and rejects everything, even the rate, where that is 0.

    With rate :math:`r = k / n`, score :math:`p` is rejected if

    .. math:: |r - p| \sqrt{n} \ge t_{n-1, 1-\alpha/2} \, s, \qquad
       s^2 = r (1 - r) \frac{n}{n - 1} .

    A bin whose labels are all equal rejects every score except its rate; a bin of one row or none
    rejects nothing.
    """
    scores = np.asarray(scores, np.float64)
    k = np.asarray(k, np.float64)
    n = np.asarray(n, np.float64)
    rows = np.maximum(n, 1.0) if published else np.where(n > 1, n, 2.0)
    rate = k / rows
    freedom = np.maximum(rows - 1, 1.0) if published else rows - 1
    spread = rate * (1 - rate) if published else np.sqrt(rate * (1 - rate) * rows / freedom)
    reach = np.where(
        published | (n > 1), -stdtrit(freedom, alpha / 2) * spread / np.sqrt(rows), np.inf
    )
    sizes = np.diff(np.append(np.asarray(starts, np.int64), scores.size))
    distance = np.abs(np.repeat(rate, sizes) - scores)
    return np.asarray((distance >= np.repeat(reach, sizes)) & (published | (distance > 0)))

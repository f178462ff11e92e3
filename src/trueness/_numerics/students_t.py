"""Quantiles and limits by Student's t; by the normal law for infinitely many degrees of freedom."""

import math

from scipy.special import ndtri, stdtrit


def t_quantile(level: float, freedom: float) -> float:
    """Half the width of the central interval of Student's t.

    Of the normal law for infinitely many degrees.
    """
    upper = (1 + level) / 2
    return float(ndtri(upper) if math.isinf(freedom) else stdtrit(freedom, upper))


def t_limits(estimate: float, error: float, freedom: float, level: float) -> tuple[float, float]:
    """Limits by Student's t; without degrees of freedom there are none."""
    if freedom <= 0:
        return -math.inf, math.inf
    reach = t_quantile(level, freedom) * error
    return estimate - reach, estimate + reach


def t_over_normal(tail: float, freedom: float) -> float:
    """How much farther the quantile of Student's t lies from 0 than the normal one.

    1 for infinite freedom.
    """
    if math.isinf(freedom):
        return 1.0
    return float(stdtrit(freedom, tail) / ndtri(tail))

"""Weighted power means of absolute values: the norms of calibration errors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["exponent", "power_mean"]

_NAMED = {"l1": 1.0, "l2": 2.0, "max": math.inf}


def exponent(norm: str | float) -> float:
    """
    Exponent that a norm's name stands for.

    Parameters
    ----------
    norm : {'l1', 'l2', 'max'} or float
        A name, or the exponent itself: a number of at least 1.

    Returns
    -------
    float
        1 for 'l1', 2 for 'l2', infinity for 'max', a number unchanged.

    Raises
    ------
    ValueError
        If the name is unknown or the number is below 1 or not a number.

    Examples
    --------
    >>> exponent("l2"), exponent("max"), exponent(3)
    (2.0, inf, 3.0)
    """
    p = _NAMED.get(norm, math.nan) if isinstance(norm, str) else float(norm)
    if not p >= 1:
        raise ValueError(f"`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got {norm!r}.")
    return p


def power_mean(values: ArrayLike, weight: ArrayLike, norm: str | float = "l1") -> float:
    r"""
    Weighted power mean of absolute values.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers of either sign, such as the gaps of bins.
    weight : array-like of shape (n,)
        Non-negative weights. An entry of weight 0 is ignored, whatever its value, nan included.
    norm : {'l1', 'l2', 'max'} or float, default 'l1'
        The exponent :math:`p \ge 1`; 'max' is its limit, the largest absolute value.

    Returns
    -------
    float
        Between the smallest and the largest absolute value; nan when no weight is positive.

    Notes
    -----
    .. math:: \left( \frac{\sum_i w_i |v_i|^p}{\sum_i w_i} \right)^{1/p}

    The values are divided by their maximum before the power is taken, so that no exponent
    overflows or underflows.

    Examples
    --------
    >>> power_mean([0.25, -0.75], [3, 1], "l1")
    0.375
    >>> power_mean([0.25, -0.75], [3, 1], "max")
    0.75
    """
    p = exponent(norm)
    w = np.asarray(weight, dtype=np.float64)
    kept = w > 0
    w = w[kept]
    v = np.abs(np.asarray(values, dtype=np.float64)[kept])
    if v.size == 0:
        return math.nan
    if p == 1:
        return float(np.sum(w * v) / np.sum(w))
    largest = float(np.max(v))
    if p == math.inf or not 0 < largest < math.inf:
        return largest
    powers = float(np.sum(w * (v / largest) ** p) / np.sum(w))
    return largest * math.pow(powers, 1 / p)

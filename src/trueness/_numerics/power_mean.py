"""Weighted power means of absolute values: the norms of calibration errors."""

import math

import numpy as np
from numpy.typing import ArrayLike

_total = np.add.reduce  # np.sum without its wrapper, which costs more than the sum of ten numbers
_NAMED = {"l1": 1.0, "l2": 2.0, "max": math.inf}


def exponent(norm: str | float) -> float:
    """The exponent of a norm: 'l1', 'l2', 'max' or a number of at least 1. Anything else is a ValueError.

    >>> exponent("l2"), exponent("max"), exponent(3)
    (2.0, inf, 3.0)
    """
    p = _NAMED.get(norm, math.nan) if isinstance(norm, str) else float(norm)
    if not p >= 1:
        raise ValueError(f"`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got {norm!r}.")
    return p


def power_mean(values: ArrayLike, weight: ArrayLike, norm: str | float = "l1") -> float:
    r"""Weighted power mean of absolute values, :math:`(\sum w |v|^p / \sum w)^{1/p}`; the largest for ``"max"``.

    Entries of weight 0 are ignored, even if they are nan; nan if no weight is positive.

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
        return float(_total(w * v) / _total(w))
    largest = float(np.maximum.reduce(v))
    if p == math.inf or not 0 < largest < math.inf:
        return largest
    # In units of the largest value, so that no exponent overflows or underflows.
    powers = float(_total(w * (v / largest) ** p) / _total(w))
    return largest * math.pow(powers, 1 / p)

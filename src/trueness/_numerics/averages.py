"""Weighted power means (the norms of calibration errors) and weighted quantiles."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from trueness.errors import InputError
from trueness.typing import Floats, Numbers

_total = np.add.reduce  # np.sum without its wrapper, which costs more than the sum of ten numbers
_NAMED = {"l1": 1.0, "l2": 2.0, "max": math.inf}


def exponent(norm: str | float) -> float:
    """The exponent p of a norm, from its name ('l1', 'l2', 'max') or as a number of at least 1.

    'max' has the exponent infinity. Anything else, a bool too, raises InputError.
    """
    if type(norm) is str and norm in _NAMED:
        return _NAMED[norm]
    number = isinstance(norm, int | float | np.integer | np.floating) and not isinstance(norm, bool)
    try:
        if number:
            p = float(norm)
        elif isinstance(norm, str):
            p = _NAMED.get(norm, math.nan)
        else:
            p = math.nan
    except OverflowError:
        p = math.nan
    if not p >= 1:
        raise InputError("norm", "must be 'l1', 'l2', 'max' or a number ≥ 1", f"got {norm!r}")
    return p


def power_mean(values: ArrayLike, weight: ArrayLike, norm: str | float = "l1") -> float:
    r"""Weighted power mean of absolute values, :math:`(\sum w |v|^p / \sum w)^{1/p}`.

    The largest for ``"max"``.

    Entries of weight 0 are ignored, even if they are nan; nan if no weight is positive.
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


def weighted_quantiles(
    values: Floats,
    weight: Numbers,
    shares: Sequence[float],
    of: Callable[[Floats], Floats] = np.asarray,
) -> Floats:
    r"""Quantiles of a rising function `of` ascending values with weights.

    For repeated values they are as ``numpy.quantile`` has them.

    Each value is repeated `weight` times. For weights that are not whole numbers, value k of m lies
    at :math:`S_k = (k - 1) w_k + (m - 1) \sum_{i<k} w_i`, relative to :math:`S_m`; equal ones give
    the same quantiles as none.

    >>> values = np.array([1.0, 2.0, 4.0])
    >>> weighted_quantiles(values, np.array([1, 2, 1]), [0.0, 0.5, 0.75]).tolist()
    [1.0, 2.0, 2.5]
    >>> weighted_quantiles(values, np.array([0.5, 0.5, 0.5]), [0.0, 0.5, 0.75]).tolist()
    [1.0, 2.0, 3.0]
    """
    last = values.size - 1
    wanted = np.asarray(shares, dtype=np.float64)
    if weight.dtype.kind == "f":
        before = np.cumsum(weight) - weight
        place = np.maximum.accumulate(np.arange(values.size) * weight + last * before)
        position = np.clip(
            np.searchsorted(place, wanted * place[-1], side="right") - 1, 0, max(0, last - 1)
        )
        after = np.minimum(position + 1, last)
        width = np.where(place[after] > place[position], place[after] - place[position], 1)
        part = np.clip((wanted * place[-1] - place[position]) / width, 0, 1)
    else:
        reached = np.cumsum(weight)
        rank = wanted * (reached[-1] - 1)
        # Of the same type: else all of `reached` would be converted.
        below = np.floor(rank).astype(reached.dtype)
        position, after = (
            np.minimum(np.searchsorted(reached, r, side="right"), last) for r in (below, below + 1)
        )
        part = rank - below
    low = of(values[position])
    high = of(values[after])
    return np.asarray((1 - part) * low + part * high)

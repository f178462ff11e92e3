"""Quantiles of weighted values."""

from collections.abc import Callable, Sequence

import numpy as np

from trueness.typing import Floats, Numbers


def weighted_quantiles(
    values: Floats, weight: Numbers, shares: Sequence[float], of: Callable[[Floats], Floats] = np.asarray
) -> Floats:
    r"""Quantiles of a rising function `of` ascending values, as ``numpy.quantile`` has them for repeated values.

    Each value is repeated `weight` times. For weights that are not whole numbers, value k of m lies at
    :math:`S_k = (k - 1) w_k + (m - 1) \sum_{i<k} w_i`, relative to :math:`S_m`; equal ones give the same quantiles as
    none.

    >>> weighted_quantiles(np.array([1.0, 2.0, 4.0]), np.array([1, 2, 1]), [0.0, 0.5, 0.75]).tolist()
    [1.0, 2.0, 2.5]
    >>> weighted_quantiles(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.5, 0.5]), [0.0, 0.5, 0.75]).tolist()
    [1.0, 2.0, 3.0]
    """
    last, wanted = values.size - 1, np.asarray(shares, dtype=np.float64)
    if weight.dtype.kind == "f":
        before = np.cumsum(weight) - weight
        place = np.maximum.accumulate(np.arange(values.size) * weight + last * before)
        at = np.clip(np.searchsorted(place, wanted * place[-1], side="right") - 1, 0, max(0, last - 1))
        after = np.minimum(at + 1, last)
        width = np.where(place[after] > place[at], place[after] - place[at], 1)
        part = np.clip((wanted * place[-1] - place[at]) / width, 0, 1)
    else:
        reached = np.cumsum(weight)
        rank = wanted * (reached[-1] - 1)
        below = np.floor(rank).astype(reached.dtype)  # of the same type: else all of `reached` would be converted
        at, after = (np.minimum(np.searchsorted(reached, r, side="right"), last) for r in (below, below + 1))
        part = rank - below
    low, high = of(values[at]), of(values[after])
    return np.asarray((1 - part) * low + part * high)

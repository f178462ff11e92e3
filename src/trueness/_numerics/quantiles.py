"""Quantiles of weighted values."""

from collections.abc import Callable, Sequence

import numpy as np

from trueness.typing import Floats, Numbers


def weighted_quantiles(
    values: Floats, weight: Numbers, shares: Sequence[float], of: Callable[[Floats], Floats] = np.asarray
) -> Floats:
    """Quantiles of a rising function `of` ascending values, as ``numpy.quantile`` has them for repeated values.

    Each value is repeated `weight` times; weights that are not whole numbers are scaled so that their mean is 1.

    >>> weighted_quantiles(np.array([1.0, 2.0, 4.0]), np.array([1, 2, 1]), [0.0, 0.5, 0.75]).tolist()
    [1.0, 2.0, 2.5]
    """
    place = np.asarray(shares, dtype=np.float64)
    last = values.size - 1
    if weight.dtype.kind != "f" and weight.max() == weight.min() == 1:
        place = place * last
        below = np.floor(place).astype(np.int64)
        low, high = of(values[below]), of(values[np.minimum(below + 1, last)])
        return np.asarray(low + (place - below) * (high - low))
    reached = np.cumsum(weight)
    if reached.dtype.kind == "f":
        reached = reached * (values.size / reached[-1])
    place = place * (reached[-1] - 1)
    below = np.floor(place).astype(reached.dtype)  # ranks of the same type: else all of `reached` would be converted
    at, after = (np.minimum(np.searchsorted(reached, rank, side="right"), last) for rank in (below, below + 1))
    low, high = of(values[at]), of(values[after])
    return np.asarray(low + (place - below) * (high - low))

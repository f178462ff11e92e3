"""Holm's adjustment of p-values for their number."""

from collections.abc import Sequence

import numpy as np

from trueness.typing import Floats


def holm(pvalues: Floats) -> Floats:
    """Holm's adjusted p-values: rejecting those at most α keeps the family-wise error rate at α.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none is smaller than the one
    before.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979), 65-70.
    """
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * np.arange(pvalues.size, 0, -1)
    adjusted = np.empty(pvalues.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def holm_adjusted(pvalues: Sequence[float | None]) -> list[float | None]:
    """The same over the p-values that exist; the others stay None and are not counted."""
    present = np.array([p for p in pvalues if p is not None], dtype=np.float64)
    adjusted = iter(holm(present).tolist())
    return [None if p is None else next(adjusted) for p in pvalues]

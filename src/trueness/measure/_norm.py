"""How gaps of bins become one number."""

import numpy as np

from trueness._numerics.means import exponent, power_mean
from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.typing import Norm

__all__ = ["checked_norm", "norm_of_gaps"]


def checked_norm(norm: Norm) -> float:
    """The exponent of a norm."""
    if isinstance(norm, str) and norm == "l1":
        return 1.0
    good = isinstance(norm, str | int | float | np.integer | np.floating) and not isinstance(norm, bool)
    try:
        return exponent(norm) if good else exponent("")
    except ValueError:
        raise InputError("norm", "must be 'l1', 'l2', 'max' or a number ≥ 1", f"got {norm!r}") from None


def norm_of_gaps(bins: Bins, p: float) -> float:
    """The power mean of |rate − mean score| over bins by weight; empty bins weigh nothing."""
    if p == 1.0:  # |Σwy − Σwp| needs no division, and so no care for empty bins
        return float(np.add.reduce(np.abs(bins.excess))) / bins.totals.weight
    return power_mean(bins.gap, bins.weight, p)

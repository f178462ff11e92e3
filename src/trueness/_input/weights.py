"""Weights of rows."""

from typing import get_args

import numpy as np

from trueness._input import scores
from trueness._input.columns import Column, column, first_place, refuse_bad
from trueness._input.pixels import by_pixel
from trueness.errors import InputError, Remedy
from trueness.typing import Floats, Ints, WeightType

WEIGHT_TYPES = get_args(WeightType)
# Of weights, and of their ratios: their squares are summed, and must neither overflow nor vanish.
_LARGEST = 1e100


def row_weights(given: object, n_rows: int, pixels: int = 0) -> Column:
    """Weights as float64, one per row; :func:`check_weights` checks their values."""
    weights = column(given, "sample_weight")
    weights = weights._replace(values=by_pixel(weights.values, n_rows, pixels))
    if weights.values.shape != (n_rows,):
        demand = f"must have one entry per row ({n_rows:,})"
        raise InputError("sample_weight", demand, f"got shape {weights.values.shape}")
    weights = scores.numeric(weights, "sample_weight")
    return weights._replace(
        values=np.require(weights.values, dtype=np.float64, requirements=["C", "A"])
    )


def check_weights(w: Floats, rows: Ints | None = None, *, allow_zeros: bool = False) -> None:
    """Raise unless every weight is finite and at least 0, and some are above 0.

    `rows` are the user's row numbers.
    """
    if w.size == 0:
        return
    high = w.max()
    lowest = w.min()
    if lowest == 0:
        lowest = w.min(where=w > 0, initial=np.inf)
    if lowest >= high / _LARGEST and 1 / _LARGEST <= high <= _LARGEST:
        return
    if np.isnan(w).any():
        scores.refuse_nan(w, "sample_weight", rows)
    bad = ~((w >= 0) & (w < np.inf))
    if bad.any():
        words = f"weights are not, the first is {scores.format_value(w[np.argmax(bad)])}"
        refuse_bad("sample_weight", "must be finite and at least 0", bad, words, rows)
    if high == 0 and allow_zeros:
        return
    if high == 0:
        raise InputError(
            "sample_weight", "must have a weight above zero", f"all {w.size:,} are zero"
        )
    if 1 / _LARGEST <= high <= _LARGEST:
        demand = f"must be 0 or at least {1 / _LARGEST:g} of the largest weight"
        got = f"they reach from {scores.format_value(lowest)} to {scores.format_value(high)}"
        remedy = "Set the smallest weights to 0: beside the largest they count for nothing."
        raise InputError(
            "sample_weight", demand, got, place=first_place(w == lowest, rows), remedy=remedy
        )
    demand = f"must have its largest weight between {1 / _LARGEST:g} and {_LARGEST:g}"
    got = f"it is {scores.format_value(high)}"
    scale = Remedy(
        "rescale-weights", "Multiply all weights by one number: calibration errors do not change."
    )
    raise InputError("sample_weight", demand, got, place=first_place(w == high, rows), remedy=scale)


def require_whole(w: Floats) -> None:
    """Raise unless weights can count rows."""
    if bool((w == np.floor(w)).all()):
        return
    raise InputError(
        "sample_weight",
        "must be whole numbers that sum to less than 2³⁵, which count rows",
        remedy="For other weights use `weight_type='importance'`.",
    )

"""Row weights: reading and checking them."""

from typing import Any

import numpy as np

from trueness._input.columns import Column, column, first_place, is_or_are
from trueness._input.scores import format_value, numeric, refuse_nan
from trueness.errors import InputError, Remedy
from trueness.typing import Floats, Ints

NAME = "sample_weight"
LARGEST = 1e100
"""The largest weight: squares of weights are summed, which must neither overflow nor vanish."""


def row_weights(given: Any, n_rows: int) -> Column:
    """Weights as float64, one per row; :func:`check_weights` checks their values."""
    found = column(given, NAME)
    if found.values.shape != (n_rows,):
        raise InputError(NAME, f"must have one entry per row ({n_rows:,})", f"got shape {found.values.shape}")
    found = numeric(found, NAME)
    return found._replace(values=np.require(found.values, dtype=np.float64, requirements=["C", "A"]))


def check_weights(w: Floats, rows: Ints | None = None, *, allow_zeros: bool = False) -> None:
    """Raise unless every weight is finite and at least 0, and some are above 0; `rows` are the user's row numbers."""
    if w.size == 0:
        return
    high = w.max()
    if w.min() >= 0 and 1 / LARGEST <= high <= LARGEST:
        return
    if np.isnan(w).any():
        refuse_nan(w, NAME, rows)
    bad = ~((w >= 0) & (w < np.inf))
    if bad.any():
        count = int(bad.sum())
        raise InputError(
            NAME,
            "must be finite and at least 0",
            f"{count:,} of {w.size:,} weights {is_or_are(count)} not, the first is {format_value(w[np.argmax(bad)])}",
            place=first_place(bad, rows),
        )
    if high == 0 and allow_zeros:
        return
    if high == 0:
        raise InputError(NAME, "must have a weight above zero", f"all {w.size:,} are zero")
    raise InputError(
        NAME,
        f"must have its largest weight between {1 / LARGEST:g} and {LARGEST:g}",
        f"it is {format_value(high)}",
        place=first_place(w == high, rows),
        remedy=Remedy("rescale-weights", "Multiply all weights by one number: calibration errors do not change."),
    )

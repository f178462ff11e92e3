"""What row weights may be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column, column
from trueness._input.scores import numeric, shown
from trueness.errors import InputError
from trueness.typing import Floats

__all__ = ["explain_weights", "row_weights"]

NAME = "sample_weight"


def row_weights(given: Any, n_rows: int) -> Column:
    """Weights as float64, one per row; their values are checked in the pass over the rows."""
    found = numeric(column(given, NAME), NAME)
    if found.values.ndim != 1 or found.values.shape[0] != n_rows:
        raise InputError(f"`{NAME}` must have one entry per row ({n_rows:,}); got shape {_shape(found.values)}.")
    return found._replace(values=np.ascontiguousarray(found.values, dtype=np.float64))


def explain_weights(w: Floats) -> None:
    """Raise the error that fits; return if every weight is finite and at least 0."""
    bad = ~((w >= 0) & (w < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        count = int(bad.sum())
        raise InputError(
            f"`{NAME}` must be finite and at least 0; {count:,} of {w.size:,} weights "
            f"{'are' if count > 1 else 'is'} not, the first is {shown(w[at])} at row {at}."
        )
    if not (w > 0).any():
        raise InputError(f"`{NAME}` must have a weight above 0; all {w.size:,} are 0.")


def _shape(array: NDArray[Any]) -> str:
    return " × ".join(f"{s:,}" for s in array.shape) or "()"

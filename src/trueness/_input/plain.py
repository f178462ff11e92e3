"""The shortest way in: two NumPy vectors that need no conversion."""

from typing import Any

import numpy as np

from trueness._input.sample import Sample

__all__ = ["plain_sample"]


def plain_sample(y_true: Any, y_prob: Any) -> Sample | None:
    """The rows as they are, or None if anything has to be looked into."""
    if type(y_true) is not np.ndarray or type(y_prob) is not np.ndarray or y_prob.ndim != 1:
        return None
    y, p = y_true.dtype, y_prob.dtype
    if y.kind not in "biuf" or p.kind not in "biuf" or y.itemsize > 8 or p.itemsize > 8:
        return None
    return Sample(y_true, y_prob) if y_true.shape == y_prob.shape and y_true.size else None

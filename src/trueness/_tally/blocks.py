"""Rows of a matrix as the kernels take them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_float", "blocks"]

_ENTRIES = 1 << 16


def blocks(p: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """All rows at once if they are ready, else some at a time, converted; at least one block, if only of no rows."""
    if _is_ready(p):
        yield slice(0, p.shape[0]), p
        return
    step = max(1, _ENTRIES // p.shape[1])
    for i in range(0, max(1, p.shape[0]), step):
        yield slice(i, i + step), as_float(p[i : i + step])


def as_float(p: NDArray[Any]) -> NDArray[Any]:
    """Contiguous float32 or float64, which hold the same numbers."""
    if _is_ready(p):
        return p
    wanted = np.float32 if p.dtype.kind == "f" and p.dtype.itemsize <= 4 else np.float64
    return np.require(p, dtype=wanted, requirements=["C", "A"])


def _is_ready(p: NDArray[Any]) -> bool:
    return p.dtype in (np.float32, np.float64) and p.flags.c_contiguous and p.flags.aligned

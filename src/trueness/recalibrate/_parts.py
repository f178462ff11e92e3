"""Rows cut into parts at random."""

import numpy as np

from trueness.recalibrate._rows import Rows
from trueness.typing import Ints

__all__ = ["parts"]


def parts(rows: Rows, n: int, seed: int | np.random.Generator | None) -> list[Rows]:
    """Rows dealt out at random, class after class: sizes, and events per part, differ by at most one."""
    order = np.random.default_rng(seed).permutation(rows.y.size)
    order = order[np.argsort(rows.y[order], kind="stable")]
    return [_taken(rows, np.sort(order[i::n])) for i in range(n)]


def _taken(rows: Rows, which: Ints) -> Rows:
    """Some of the rows."""
    return Rows(rows.p[which], rows.y[which], None if rows.w is None else rows.w[which], rows.classes)

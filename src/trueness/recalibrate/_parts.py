"""Rows cut into parts at random."""

from typing import Any

import numpy as np

from trueness.errors import InputError
from trueness.recalibrate._rows import Rows
from trueness.typing import Ints

__all__ = ["checked_seed", "parts", "taken"]


def checked_seed(seed: Any) -> np.random.Generator:
    """The generator itself, or a fresh one that starts from `seed`."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0):
        return np.random.default_rng(seed)
    raise InputError(f"`seed` must be a whole number ≥ 0, a numpy Generator or None; got {seed!r}.")


def parts(rows: Rows, n: int, rng: np.random.Generator) -> list[Rows]:
    """Rows dealt out at random, class after class: sizes, and events per part, differ by at most one."""
    order = rng.permutation(rows.y.size)
    order = order[np.argsort(rows.y[order], kind="stable")]
    return [taken(rows, np.sort(order[i::n])) for i in range(n)]


def taken(rows: Rows, which: Ints) -> Rows:
    """Some of the rows."""
    return Rows(rows.p[which], rows.y[which], None if rows.w is None else rows.w[which], rows.classes)

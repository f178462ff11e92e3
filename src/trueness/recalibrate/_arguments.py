"""Arguments that several functions here take, checked."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from trueness.errors import InputError

__all__ = ["checked_level", "checked_whole", "generator"]


def checked_level(level: Any) -> float:
    """A level strictly between 0 and 1."""
    if isinstance(level, bool | np.bool_) or not isinstance(level, Real) or not 0 < float(level) < 1:
        raise InputError(f"`level` must lie strictly between 0 and 1; got {level!r}.")
    return float(level)


def checked_whole(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"`{name}` must be a whole number ≥ 1; got {value!r}.")
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """The generator itself, or a fresh one that starts from `seed`."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0):
        return np.random.default_rng(seed)
    raise InputError(f"`seed` must be a whole number ≥ 0, a numpy Generator or None; got {seed!r}.")

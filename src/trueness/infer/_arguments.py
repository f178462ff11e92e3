"""Arguments that every kind of inference takes, checked."""

from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError

__all__ = ["Seed", "checked_level", "checked_resamples", "generator"]

Seed: TypeAlias = int | np.random.Generator | None


def generator(seed: Seed) -> np.random.Generator:
    """The generator itself, or a fresh one that starts from `seed`."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (_is_whole(seed) and seed >= 0):
        return np.random.default_rng(seed)
    raise InputError(f"`seed` must be a whole number ≥ 0, a numpy Generator or None; got {seed!r}.")


def checked_level(level: Any) -> float:
    """A level strictly between 0 and 1."""
    if isinstance(level, bool | np.bool_) or not isinstance(level, Real) or not 0 < float(level) < 1:
        raise InputError(f"`level` must lie strictly between 0 and 1; got {level!r}.")
    return float(level)


def checked_resamples(resamples: Any, name: str = "resamples") -> int:
    """A whole number of at least 1."""
    if not _is_whole(resamples) or resamples < 1:
        raise InputError(f"`{name}` must be a whole number ≥ 1; got {resamples!r}.")
    return int(resamples)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)

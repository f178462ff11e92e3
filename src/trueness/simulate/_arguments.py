"""Checks of the arguments that generators share."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from trueness._numerics.power_mean import exponent
from trueness.errors import InputError, Place
from trueness.typing import ArrayLike, Floats, Norm

Seed: TypeAlias = int | np.random.Generator | None


def generator(seed: Seed) -> np.random.Generator:
    """The generator itself, or a fresh one that starts from `seed`."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (_is_whole(seed) and seed >= 0):
        return np.random.default_rng(seed)
    raise InputError("seed", "must be a whole number ≥ 0, a numpy Generator or None", f"got {seed!r}")


MOST_ENTRIES = 10**8
"""Entries of the largest arrays that are drawn: 0.8 GB each, of which there are several."""


def check_count(value: Any, name: str, least: int = 1, most: int = MOST_ENTRIES) -> int:
    """A whole number from `least` to `most`."""
    if not _is_whole(value) or value < least:
        raise InputError(name, f"must be a whole number ≥ {least}", f"got {value!r}")
    if value > most:
        remedy = "Draw several samples with seeds of their own; their tallies add." if name == "n" else ""
        raise InputError(name, f"must be at most {most:,}", f"got {float(min(value, 10**300)):g}", remedy=remedy)
    return int(value)


def check_number(
    value: Any, name: str, demand: str = "a finite number", *, low: float = -np.inf, high: float = np.inf
) -> float:
    """A number strictly between `low` and `high`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not low < float(value) < high:
        raise InputError(name, f"must be {demand}", f"got {value!r}")
    return float(value)


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> None:
    """Raise unless it is one of a few words or numbers."""
    if value not in choices:
        listed = ", ".join(map(repr, choices[:-1]))
        raise InputError(name, f"must be {listed} or {choices[-1]!r}", f"got {value!r}")


def check_norm(norm: Norm) -> float:
    """The exponent of a norm; infinity for 'max'."""
    try:
        return exponent(norm)
    except (TypeError, ValueError):
        raise InputError("norm", "must be 'l1', 'l2', 'max' or a number ≥ 1", f"got {norm!r}") from None


def as_floats(values: ArrayLike, name: str) -> Floats:
    """A copy of the values as float64."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, "must hold numbers only", f"got {type(values).__name__}") from None


def check_array(values: ArrayLike, name: str, *, dimensions: tuple[int, ...] = (1,)) -> Floats:
    """A non-empty array of probabilities: numbers in [0, 1], the rows of a matrix summing to one."""
    array = as_floats(values, name)
    if array.ndim not in dimensions or not array.size:
        shapes = " or ".join({1: "a vector", 2: "a matrix"}[d] for d in dimensions)
        raise InputError(name, f"must be {shapes} with at least one entry", f"got shape {array.shape}")
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        bad = array[~inside]
        got = f"{bad.size:,} of {array.size:,} values do not, the first is {bad[0]:g}"
        raise InputError(name, "must lie in [0, 1]", got, place=Place(int(np.argwhere(~inside)[0][0])))
    if array.ndim == 2:
        _check_rows(array, name)
    return array


def check_shares(weights: ArrayLike | None, size: int, name: str) -> Floats:
    """`size` weights, normalized to sum to one; equal by default."""
    if weights is None:
        return np.full(size, 1 / size)
    w = as_floats(weights, name)
    if w.shape != (size,):
        raise InputError(name, f"must have {size} entries", f"got shape {w.shape}")
    if not (np.isfinite(w) & (w >= 0)).all() or w.sum() <= 0:
        raise InputError(name, "must be finite and non-negative, and not all zero", f"the smallest is {w.min():g}")
    return np.asarray(w / w.sum())


def _check_rows(array: Floats, name: str) -> None:
    if array.shape[1] < 2:
        raise InputError(name, "must have at least 2 columns when it is a matrix", f"got shape {array.shape}")
    sums = array.sum(axis=1)
    off = np.abs(sums - 1) > 1e-6
    if off.any():
        row = int(off.argmax())
        got = f"{off.sum():,} of {off.size:,} do not, the first sums to {sums[row]:.6g}"
        raise InputError("", f"Rows of `{name}` must sum to 1", got, place=Place(row))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)

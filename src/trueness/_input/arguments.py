"""Options that many functions take: whole numbers, fractions, words and seeds."""

import math
import reprlib
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError

_TOO_LARGE = 2**62
Seed: TypeAlias = int | np.random.Generator | None


# The largest numbers that decide how much is computed or stored at once. More is refused before anything is allocated.
MOST_RESAMPLES = 10**6
MOST_WORKERS = 1024
MOST_ITERATIONS = 10**6


def checked_whole(value: Any, name: str, most: int | None = None, remedy: str = "") -> int:
    """A whole number of at least 1 and at most `most`."""
    if not _is_whole(value) or value < 1:
        raise InputError(name, "must be a whole number ≥ 1", f"got {reprlib.repr(value)}")
    if value >= _TOO_LARGE:
        raise InputError(name, "must be below 2⁶²", f"got {reprlib.repr(value)}")
    if most is not None and value > most:
        raise InputError(name, f"must be at most {most:,}", f"got {value:,}", remedy=remedy)
    return int(value)


def checked_resamples(value: Any) -> int:
    """The number of resamples."""
    return checked_whole(value, "resamples", MOST_RESAMPLES, "A few thousand suffice for most limits and p-values.")


def check_jobs(value: Any) -> None:
    """Raise unless it is a number of processes as scikit-learn takes it: None, or negative to leave processors free."""
    if value is not None and not (_is_whole(value) and value and abs(value) <= MOST_WORKERS):
        demand = f"must be None or a whole number other than 0, at most {MOST_WORKERS:,}"
        raise InputError("n_jobs", demand, f"got {reprlib.repr(value)}")


def checked_fraction(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    if not is_real(value) or not 0 < value < 1:  # compared as it is: a whole number may be too large for a float
        raise InputError(name, "must lie strictly between 0 and 1", f"got {value!r}")
    return float(value)


def checked_number(
    value: Any, name: str, demand: str = "a finite number", *, low: float = -math.inf, high: float = math.inf
) -> float:
    """A number strictly between `low` and `high`, which `demand` describes."""
    if not is_real(value) or not low < value < high:
        raise InputError(name, f"must be {demand}", f"got {value!r}")
    return float(value)


def is_real(value: Any) -> bool:
    """Whether it is a number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Whether it is a finite number of Python or NumPy, and not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        # Not compared with the largest float64: NumPy warns that a float32 cannot hold it.
        return math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def checked_word(value: Any, name: str, words: tuple[str, ...]) -> str:
    """One of the words."""
    if not isinstance(value, str) or value not in words:
        *most, last = map(repr, words)
        raise InputError(name, f"must be {', '.join(most)} or {last}", f"got {value!r}")
    return value


def check_seed(seed: Any) -> None:
    """Raise unless it can seed a generator; none is made, since most calls draw nothing."""
    if not (seed is None or isinstance(seed, np.random.Generator) or (_is_whole(seed) and seed >= 0)):
        raise InputError("seed", "must be a whole number ≥ 0, a numpy Generator or None", f"got {seed!r}")


def generator(seed: Seed) -> np.random.Generator:
    """The generator that was passed, or a new one with this seed."""
    check_seed(seed)
    return np.random.default_rng(seed)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)

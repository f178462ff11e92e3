"""Options that many functions take: whole numbers, fractions, words and seeds."""

import json
import math
import reprlib
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np

from trueness.errors import InputError, did_you_mean

_TOO_LARGE = 2**62
Seed: TypeAlias = int | np.random.Generator | None


# The largest numbers that decide how much is computed or stored at once. More is refused before
# anything is allocated.
MOST_RESAMPLES = 10**6
MOST_WORKERS = 1024
MOST_ITERATIONS = 10**6


def checked_whole(
    value: object, name: str, most: int | None = None, remedy: str = "", *, least: int = 1
) -> int:
    """A whole number of at least `least` and at most `most`."""
    if not _is_whole(value) or value < least:
        raise InputError(name, f"must be a whole number ≥ {least}", f"got {reprlib.repr(value)}")
    if most is not None and value > most:
        shown = f"{value:,}" if value < _TOO_LARGE else reprlib.repr(value)
        got = f"got {shown}"
        raise InputError(name, f"must be at most {most:,}", got, remedy=remedy)
    if value >= _TOO_LARGE:
        raise InputError(name, "must be below 2⁶²", f"got {reprlib.repr(value)}")
    return int(value)


def checked_resamples(value: object) -> int:
    """The number of resamples."""
    return checked_whole(
        value, "resamples", MOST_RESAMPLES, "A few thousand suffice for most limits and p-values."
    )


def check_jobs(value: object) -> None:
    """Raise unless it is a number of processes as scikit-learn takes it.

    None, or negative to leave processors free.
    """
    if value is None:
        return
    if not _is_whole(value) or value == 0 or abs(value) > MOST_WORKERS:
        demand = f"must be None or a whole number other than 0, at most {MOST_WORKERS:,}"
        raise InputError("n_jobs", demand, f"got {reprlib.repr(value)}")


def checked_fraction(value: object, name: str) -> float:
    """A number strictly between 0 and 1."""
    # Compared as it is: a whole number may be too large for a float.
    if not is_real(value) or not 0 < value < 1:
        raise InputError(name, "must lie strictly between 0 and 1", f"got {value!r}")
    return float(value)


def checked_number(
    value: object,
    name: str,
    demand: str = "a finite number",
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """A number strictly between `low` and `high`, which `demand` describes."""
    if not is_number(value) or not low < value < high:
        raise InputError(name, f"must be {demand}", f"got {value!r}")
    return float(value)


def is_real(value: object) -> TypeGuard[float]:
    """Whether it is a number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number of Python or NumPy, and not a truth value."""
    try:  # not compared with the largest float64: NumPy warns that a float32 cannot hold it
        return is_real(value) and math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def checked_word(value: object, name: str, words: tuple[str, ...]) -> str:
    """One of the words."""
    if not isinstance(value, str) or value not in words:
        *first_words, last = map(repr, words)
        demand = f"must be {', '.join(first_words)} or {last}"
        raise InputError(name, demand, f"got {value!r}", remedy=did_you_mean(value, words))
    return value


Plain = TypeVar("Plain")


def checked_json(value: Plain, name: str) -> Plain:
    """The value as JSON brings it back; an error names the argument if that is another value."""
    try:
        back = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False))
        is_same = back == value
    except (TypeError, ValueError, RecursionError):
        is_same = False
    if not is_same:
        demand = "must be ready for JSON: text, numbers, lists and dicts of these"
        raise InputError(name, demand, f"got {reprlib.repr(value)}")
    plain: Plain = back
    return plain


def check_flag(value: object, name: str) -> None:
    """Raise unless it is a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, "must be True or False", f"got {value!r}")


def check_ignore_index(value: object) -> None:
    """Raise unless it can be a label to ignore."""
    if value is not None and not (_is_whole(value) and abs(value) < 2**64):
        raise InputError(
            "ignore_index", "must be a whole number of 64 bits or None", f"got {value!r}"
        )


def check_seed(seed: object) -> None:
    """Raise unless it can seed a generator; none is made, since most calls draw nothing."""
    if seed is None or isinstance(seed, np.random.Generator):
        return
    if not _is_whole(seed) or seed < 0:
        raise InputError(
            "seed", "must be a whole number ≥ 0, a numpy Generator or None", f"got {seed!r}"
        )


def whole_seed(seed: Seed) -> int:
    """The seed as a whole number.

    A Generator supplies one, and None stands for one from the system.
    """
    check_seed(seed)
    if seed is None:
        seed = np.random.default_rng()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    return int(seed)


def generator(seed: Seed) -> np.random.Generator:
    """The generator that was passed, or a new one with this seed."""
    check_seed(seed)
    return np.random.default_rng(seed)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


Function = TypeVar("Function", bound=Callable[..., Any])


def labels_and_scores(function: Function) -> Function:
    """Refuse a third argument without a name with a message that shows the call that was meant."""
    name = f"tn.{getattr(function, '__name__', '')}"

    @wraps(function)
    def checked(*arguments: object, **options: object) -> object:
        if len(arguments) > 2:
            demand = f"`{name}` takes labels and scores; all else needs a name"
            got = f"got {len(arguments)} arguments without one"
            raise InputError("", demand, got, remedy=_meant(name, arguments))
        return function(*arguments, **options)

    return cast(Function, checked)


def _meant(name: str, arguments: tuple[Any, ...]) -> str:
    """The call that was probably meant, by what the arguments are."""
    first, second, third, *_ = arguments
    if isinstance(second, str) and isinstance(third, str):
        return f"Pass the columns: `{name}(frame[{second!r}], frame[{third!r}])`."
    if hasattr(first, "predict_proba"):
        return f"Pass labels and scores: `{name}(y, model.predict_proba(X)[:, 1])`."
    if name in ("tn.compare", "tn.report"):
        return f"Pass several models as a dict: `{name}(y_true, {{'a': a, 'b': b}})`."
    return "For several models: `tn.report(y_true, {'a': a, 'b': b})`."

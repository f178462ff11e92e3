"""What a fitted map consists of: the meaning of each number, and the checks of one that is read from a file."""

import reprlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError

Check: TypeAlias = Callable[[Any, Any], str]
"""A function of the calibrator and a value that returns the demand the value does not meet; empty if it is fine."""

Size: TypeAlias = Callable[[Any], int]
"""A length that depends on what the calibrator has learnt."""

_SLACK = 1e-9  # weighted sums are rounded, and a map of an earlier version may exceed 1 by that much


def finite(_: Any, value: Any) -> str:
    """Anything, but numbers must be finite."""
    is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    return "finite" if is_float and not np.isfinite(value).all() else ""


@dataclass(frozen=True)
class Field:
    """One attribute of a fitted calibrator."""

    about: str
    """What it means, for readers of the file."""
    demand: Check = finite
    optional: bool = False
    """Whether it may be None."""

    def check(self, calibrator: Any, name: str) -> None:
        """Raise unless the calibrator's value is one that `fit` could have left."""
        value = getattr(calibrator, f"{name}_")
        demand = "" if self.optional and value is None else self.demand(calibrator, value)
        if demand:
            value = value.tolist() if isinstance(value, np.ndarray) else value
            raise InputError(
                "stored",
                f"must be a complete {type(calibrator).__name__}",
                f"its {name!r} must be {demand}; got {reprlib.repr(value)}",
            )


def number(*, least: float = -np.inf, above: float = -np.inf) -> Check:
    """One finite number."""
    limit = f" ≥ {least:g}" if least > -np.inf else f" above {above:g}" if above > -np.inf else ""

    def check(_: Any, value: Any) -> str:
        is_number = _is_whole(value) or isinstance(value, float)
        good = is_number and abs(value) <= sys.float_info.max and least <= value and above < value
        return "" if good else f"a finite number{limit}"

    return check


def whole(least: int = 0) -> Check:
    """One whole number."""
    return lambda _, value: "" if _is_whole(value) and value >= least else f"a whole number ≥ {least}"


def boolean(_: Any, value: Any) -> str:
    """True or False."""
    return "" if isinstance(value, bool) else "true or false"


def one_of(words: Sequence[str]) -> Check:
    """One of a few words."""
    return lambda _, value: "" if value in words else f"one of {', '.join(map(repr, words))}"


def array(*sizes: Size, dtypes: Sequence[str] = ("float64",), least: float = -np.inf) -> Check:
    """An array of finite numbers."""

    def check(calibrator: Any, value: Any) -> str:
        shape = tuple(size(calibrator) for size in sizes)
        if not isinstance(value, np.ndarray) or value.dtype not in dtypes or value.shape != shape:
            return f"an array of shape {shape} of {' or '.join(dtypes)}"
        if not np.isfinite(value).all():
            return "finite"
        return f"at least {least:g}" if (value < least).any() else ""

    return check


def fractions(size: Size | None = None, *, rising: bool = False, at_least: int = 0) -> Check:
    """A vector of numbers in [0, 1], of any length from `at_least` on unless `size` is given."""

    def check(calibrator: Any, value: Any) -> str:
        demand = array(size or (lambda _: np.size(value)))(calibrator, value)
        if demand:
            return demand
        if value.size < at_least:
            return f"of length {at_least} at least"
        if value.size and not (value.min() >= -_SLACK and value.max() <= 1 + _SLACK):
            return "in [0, 1]"
        return "ascending" if rising and (np.diff(value) < 0).any() else ""

    return check


def all_of(*checks: Check) -> Check:
    """All of several checks; the first demand that is not met counts."""
    return lambda calibrator, value: next((demand for check in checks if (demand := check(calibrator, value))), "")


def n_steps(calibrator: Any) -> int:
    """The number of steps of a map that is cut at `edges_`."""
    return int(calibrator.edges_.size) + 1


def fitted_calibrator(_: Any, value: Any) -> str:
    """A fitted calibrator of one score."""
    good = hasattr(value, "predict") and getattr(value, "n_classes_", 0) is None
    return "" if good else "a fitted calibrator of a vector of scores"


def fitted_calibrators(*, gaps: bool = False) -> Check:
    """A list of such calibrators, one per class; `gaps` allows None among them."""

    def check(calibrator: Any, value: Any) -> str:
        if not isinstance(value, list) or len(value) != calibrator.n_classes_:
            return f"a list of {calibrator.n_classes_} calibrators"
        bad = any(fitted_calibrator(calibrator, inner) for inner in value if inner is not None or not gaps)
        return "a list of fitted calibrators of a vector of scores" if bad else ""

    return check


def _n_classes(calibrator: Any, value: Any) -> str:
    if value is None and calibrator._shape != "matrix":
        return ""
    if calibrator._shape == "vector":
        return "null, as it takes a vector"
    return whole(2)(calibrator, value)


def _class_names(calibrator: Any, value: Any) -> str:
    n = calibrator.n_classes_
    if n is None:
        return "" if value is None else "null for a vector"
    return "" if isinstance(value, tuple) and len(value) == n else f"a tuple of {n} names"


def _column_names(calibrator: Any, value: Any) -> str:
    good = isinstance(value, tuple) and len(value) == calibrator.n_classes_
    return "" if good else "null, or a tuple of names, one per class"


def _names(_: Any, value: Any) -> str:
    good = isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)
    return "" if good else "null, or a tuple of names"


def _text(_: Any, value: Any) -> str:
    return "" if isinstance(value, str) else "null, or text"


def today() -> str:
    """The date in UTC, such as '2026-01-31'."""
    return datetime.now(UTC).date().isoformat()


COMMON = {
    "n_rows": Field("rows of positive weight that it was fitted on", whole(1)),
    "n_classes": Field("columns of the scores; null for a vector of P(positive)", _n_classes),
    "classes": Field("names of the columns in order; null for a vector", _class_names),
    "columns": Field("column names of the frame that it was fitted on; null for an array", _column_names, True),
    "score_names": Field("columns that the scores were in; null if they had no names", _names, True),
    "label_name": Field("column that the labels were in; null if it had no name", _text, True),
    "date": Field("day of the fit, in UTC", _text, True),
    "version": Field("version of trueness that fitted it", _text, True),
    "seen": Field("CRC-32 of some of the scores it was fitted on, to warn when it is evaluated on them", whole()),
}
"""What every calibrator keeps."""


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

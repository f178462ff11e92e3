"""Scores: reading them, and the errors for bad ones."""

from typing import Any, NoReturn, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import is_real
from trueness._input.columns import DROP_MISSING, Column, numbers_of, refuse_bad
from trueness.errors import InputError, Remedy
from trueness.typing import Floats, Ints

_KINDS = {
    "U": "strings",
    "S": "bytes",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
}
_SHOWN = 6  # significant digits of a value in a message, unless it would round to 0 or 1
_SLIP = 1e-3  # an excess up to this much may be rounding, and the message says how to allow it


def numeric(given: Column, name: str) -> Column:
    """The column with a real dtype of at most 64 bits; other types are an error."""
    values = given.values
    kind = values.dtype.kind
    if kind == "O":
        read = numbers_of(values, name)
        missing = read.missing
        if given.missing is not None:
            missing = given.missing if missing is None else given.missing | missing
        return Column(read.values, missing, given.names)
    if kind not in "biuf":
        what = _KINDS.get(kind, f"dtype {values.dtype}")
        raise InputError(name, "must hold numbers", f"got {what}")
    if kind != "f" or values.dtype.itemsize <= 8:
        return given
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float64)
    # 1 + 1e-19 is not a probability; rounding must not make it one.
    narrow[(narrow == 1) & (values > 1)] = np.nextafter(1, 2)
    narrow[(narrow == 0) & (values < 0)] = -np.nextafter(0, 1)
    return given._replace(values=narrow)


def row_sum_tolerance(dtype: np.dtype[Any], tolerance: float | None) -> float:
    """How far from one a row of probabilities may sum."""
    if tolerance is not None:
        return checked_tolerance(tolerance, "sum_tolerance", 1)
    is_float16 = dtype.kind == "f" and dtype.itemsize == 2  # of either byte order
    return 2e-3 if is_float16 else 1e-6


def clip_scores(values: NDArray[Any], tolerance: float) -> NDArray[Any]:
    """Scores with those within `tolerance` of [0, 1] moved to its ends.

    The others are refused later.
    """
    if not tolerance or values.dtype.kind != "f" or not ((values < 0) | (values > 1)).any():
        return values
    wide = values.astype(np.float64)
    wide[(wide < 0) & (wide >= -tolerance)] = 0.0
    wide[(wide > 1) & (wide - 1 <= tolerance)] = 1.0
    return wide


def checked_tolerance(tolerance: object, name: str, most: float) -> float:
    """A number from 0 to `most`."""
    if not is_real(tolerance) or not 0 <= tolerance <= most:
        raise InputError(name, f"must be a number between 0 and {most:g}", f"got {tolerance!r}")
    return float(tolerance)


def fractions(percentages: NDArray[Any], name: str, rows: Ints | None = None) -> Floats:
    """Percentages as fractions."""
    outside = (percentages < 0) | (percentages > 100)
    if outside.any():
        words = f"values do not, the first is {format_value(percentages[outside][0])}"
        refuse_bad(name, "as percentages must lie in [0, 100]", outside, words, rows)
    return np.asarray(percentages / 100.0, dtype=np.float64)


def logistic(logits: NDArray[Any], name: str, rows: Ints | None = None) -> Floats:
    """The probabilities of a vector of logits."""
    x = logits.astype(np.float64)
    if np.isnan(x).any():
        refuse_nan(x, name, rows)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def explain_logits(logits: NDArray[Any], name: str, rows: Ints | None = None) -> None:
    """Raise for a row that has no softmax, by the user's row number; return if all have one."""
    if np.isnan(logits).any():
        refuse_nan(logits, name, rows)
    bad = np.isposinf(logits)
    if bad.any():
        refuse_bad(name, "as logits must be below +inf", bad, "are not, the first", rows)
    none = np.isneginf(logits.max(axis=1))
    if none.any():
        refuse_bad(
            name,
            "as logits must have a finite entry in every row",
            none,
            "rows have none, the first",
            rows,
        )


def explain_scores(values: NDArray[Any], name: str, rows: Ints | None = None) -> None:
    """Raise for a value outside [0, 1], by the user's row number; return if there is none."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        refuse_nan(values, name, rows)
    outside = (values < 0) | (values > 1)
    if outside.any():
        words = f"values do not, the first is {format_value(values[outside][0])}"
        refuse_bad(name, "must lie in [0, 1]", outside, words, rows, _suggestion(values))


def refuse_nan(values: NDArray[Any], name: str, rows: Ints | None = None) -> NoReturn:
    """Raise for values of which some are nan."""
    refuse_bad(
        name,
        "must not have missing values",
        np.isnan(values),
        "are nan, the first",
        rows,
        DROP_MISSING,
    )


def _suggestion(values: NDArray[Any]) -> Remedy | str:
    """What values outside [0, 1] probably are, with the option or step that mends them.

    Rounding errors, labels, logits, counts and percentages are tried in this order; empty if none
    fits.
    """
    low = float(values.min())
    high = float(values.max())
    excess = max(-low, high - 1)
    if excess <= _SLIP:
        enough = _round_up(excess)
        return Remedy(
            "clip",
            f"The largest excess is {excess:.3g}; `clip_tolerance={enough}` allows it.",
            enough,
        )
    whole = bool((values == np.floor(values)).all())
    if low < 0:
        if whole and values.ndim == 1 and high < 10:
            return "These look like labels, not scores."
        return Remedy("from-logits", "These look like logits: say `from_logits=True` if they are.")
    if not np.isfinite(high):
        return ""
    if values.ndim == 2 and not np.allclose(values.sum(axis=1, dtype=np.float64), 100, atol=1):
        return Remedy(
            "divide-rows", "Divide each row by its sum if they are counts or other shares."
        )
    if whole and values.ndim == 1 and high < 10:
        return Remedy(
            "percent", "These look like labels, not scores; `percent=True` if they are percentages."
        )
    percent = Remedy("percent", "These look like percentages: say `percent=True` if they are.")
    if 1.5 < high <= 100:
        return percent
    return ""


def _round_up(excess: float) -> str:
    """The least number with one significant digit that is not below `excess`."""
    text = f"{excess:.0e}"
    if float(text) >= excess:
        return text
    digit, power = text.split("e")
    return f"{float(f'{int(digit) + 1}e{power}'):.0e}"


def explain_sums(
    values: NDArray[Any], name: str, tolerance: float, rows: Ints | None = None
) -> NoReturn:
    """Raise for rows that do not sum to one, as a pass over the rows has noticed."""
    total = np.ascontiguousarray(values).sum(axis=1, dtype=np.float64)
    off = np.abs(total - 1)
    bad = off > tolerance
    if not bad.any():  # the pass adds in another order, and this row is right at the limit
        bad = off == off.max()
    largest = float(off.max())
    several = "`kind='multilabel'` if each column is a label of its own."
    remedy = Remedy(
        "multilabel",
        f"Divide each row by its sum if its entries are shares of the whole; use {several}",
    )
    if largest <= 10 * _SLIP:
        enough = _round_up(max(largest, 1e-15))
        text = f"The largest difference is {largest:.3g}; `sum_tolerance={enough}` allows it."
        remedy = Remedy("sum-tolerance", text, enough)
    words = f"do not, the first sums to {format_value(total[bad][0])}"
    refuse_bad("", f"Rows of `{name}` must sum to 1 within {tolerance:g}", bad, words, rows, remedy)


def format_value(value: SupportsFloat) -> str:
    """A number for a message: short, but never rounded to the limit that it exceeds."""
    text = f"{float(value):.{_SHOWN}g}"
    if float(text) == float(value) or not 0 <= float(text) <= 1:
        return text
    return repr(float(value))

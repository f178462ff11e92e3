"""What scores may be, and the sentences for what they may not."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column, numbers_of
from trueness.errors import InputError
from trueness.typing import Floats

__all__ = ["clipped", "explain_scores", "numeric", "probabilities_of_logits", "row_sum_tolerance"]

_BLOCK = 1 << 16
_SHOWN = 6  # significant digits of a value in a message, unless it would round to 0 or 1


def numeric(given: Column, name: str) -> Column:
    """The column with a real dtype, or an error that says what came."""
    values = given.values
    kind = values.dtype.kind
    if kind == "O":
        found = numbers_of(values, name)
        both = [m for m in (given.missing, found.missing) if m is not None]
        return Column(found.values, np.logical_or.reduce(both) if both else None, given.names)
    if kind not in "biuf":
        what = {"U": "strings", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}
        raise InputError(f"`{name}` must hold numbers; got {what.get(kind, str(values.dtype))}.")
    if kind == "f" and values.dtype.itemsize > 8:
        _refuse_outside(values, name)  # before rounding: 1 + 1e-19 is not a probability, float64(1 + 1e-19) is
        return given._replace(values=values.astype(np.float64))
    return given


def _refuse_outside(values: NDArray[Any], name: str) -> None:
    if values.size and bool((values < 0).any() | (values > 1).any()):
        explain_scores(values, name)


def row_sum_tolerance(dtype: np.dtype[Any], asked: float | None) -> float:
    """How far from one a row of probabilities may sum."""
    if asked is None:
        return 2e-3 if dtype == np.float16 else 1e-6
    if isinstance(asked, bool) or not isinstance(asked, int | float | np.number) or not 0 <= asked <= 1:
        raise InputError(f"`sum_tolerance` must be a number between 0 and 1; got {asked!r}.")
    return float(asked)


def clipped(values: NDArray[Any], tolerance: float) -> NDArray[Any]:
    """Scores within `tolerance` of [0, 1] moved to its ends; the rest untouched, to be refused later."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float | np.number) or not 0 <= tolerance <= 0.1:
        raise InputError(f"`clip_tolerance` must be a number between 0 and 0.1; got {tolerance!r}.")
    if tolerance == 0 or values.dtype.kind != "f":
        return values
    wide = values.astype(np.float64)
    low, high = (wide < 0) & (wide >= -tolerance), (wide > 1) & (wide <= 1 + tolerance)
    wide[low], wide[high] = 0.0, 1.0
    return wide


def probabilities_of_logits(logits: NDArray[Any], name: str) -> Floats:
    """Apply the logistic function to a vector, softmax to the rows of a matrix."""
    x = logits.astype(np.float64)
    if np.isnan(x).any():
        _refuse_nan(x, name)
    if x.ndim == 1:
        small = np.exp(-np.abs(x))
        return np.where(x >= 0, 1.0, small) / (1.0 + small)
    if np.isposinf(x).any():
        row, col = np.argwhere(np.isposinf(x))[0]
        raise InputError(f"`{name}` as logits must be below +inf; it is +inf at row {row}, column {col}.")
    top = x.max(axis=1, keepdims=True)
    if np.isneginf(top).any():
        row = int(np.flatnonzero(np.isneginf(top[:, 0]))[0])
        raise InputError(f"`{name}` as logits must have a finite entry in every row; row {row} has none.")
    e = np.exp(x - top)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def explain_scores(values: NDArray[Any], name: str, tolerance: float | None = None) -> None:
    """Raise the error that fits; return if there is nothing wrong."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        _refuse_nan(values, name)
    outside = (values < 0) | (values > 1)
    if outside.any():
        _refuse_range(values, outside, name)
    if tolerance is not None and values.ndim == 2:
        off = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
        if (off > tolerance).any():
            _refuse_sums(values, off > tolerance, name, tolerance)


def _refuse_nan(values: NDArray[Any], name: str) -> NoReturn:
    bad = np.isnan(values)
    raise InputError(
        f"`{name}` must not have missing values; {int(bad.sum()):,} of {values.size:,} are nan, "
        f'the first {_where(bad)}. `missing="drop"` leaves such rows out.'
    )


def _refuse_range(values: NDArray[Any], outside: NDArray[np.bool_], name: str) -> NoReturn:
    first = values[np.unravel_index(int(np.argmax(outside)), values.shape)]
    count = int(outside.sum())
    raise InputError(
        f"`{name}` must lie in [0, 1]; {count:,} of {values.size:,} values {'do' if count > 1 else 'does'} not, "
        f"the first is {shown(first)} {_where(outside)}.{_suggestion(values)}"
    )


def _suggestion(values: NDArray[Any]) -> str:
    low, high = float(values.min()), float(values.max())
    excess = max(-low, high - 1)
    if excess <= 1e-3:
        return f" The largest excess is {excess:.3g}; `clip_tolerance={_round_up(excess)}` allows it."
    if low >= 0 and 1.5 < high <= 100 and np.isfinite(high):
        return " These look like percentages: divide them by 100."
    if low < 0 and values.dtype.kind == "f":
        return " These look like logits: say `from_logits=True` if they are."
    if low < 0 and high <= 1 and values.dtype.kind in "iu":
        return " These look like labels, not scores."
    return ""


def _round_up(excess: float) -> str:
    power = 10.0 ** np.floor(np.log10(excess))
    return f"{np.ceil(excess / power) * power:.0e}"


def _refuse_sums(values: NDArray[Any], bad: NDArray[np.bool_], name: str, tolerance: float) -> NoReturn:
    row = int(np.argmax(bad))
    total = float(values[row].sum(dtype=np.float64))
    raise InputError(
        f"Rows of `{name}` must sum to 1 within {tolerance:g}; {int(bad.sum()):,} of {bad.size:,} do not, "
        f"the first is row {row}, which sums to {total:.9g}. `sum_tolerance=` widens the limit."
    )


def shown(value: Any) -> str:
    """A number as a message shows it: short, but never rounded onto the limit it breaks."""
    text = f"{float(value):.{_SHOWN}g}"
    return text if float(text) == float(value) or not 0 <= float(text) <= 1 else repr(float(value))


def _where(bad: NDArray[np.bool_]) -> str:
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return f"at row {at[0]}" if len(at) == 1 else f"at row {at[0]}, column {at[1]}"

"""Columns of answers, right or wrong: 0 and 1, with gaps where nobody looked."""

from collections.abc import Hashable

import numpy as np

from trueness._input.columns import DROP_MISSING, Column, column, refuse_bad, refuse_missing
from trueness._input.labels import check_pos_label, labels_missing
from trueness._input.scores import numeric
from trueness.errors import InputError, Remedy
from trueness.typing import ArrayLike, Bools, Floats

_WORDS = "Write 1 for right and 0 for wrong"


def zero_one(
    values: ArrayLike,
    name: str,
    n: int | None = None,
    *,
    gaps: bool = False,
    pos_label: object = None,
    remedy: str = "",
    if_missing: Remedy | str = DROP_MISSING,
) -> Floats:
    """A column of 0 and 1, or of two labels of which `pos_label` is 1.

    It has nan where a value is missing. Without `gaps` missing values are an error, with the
    remedy `if_missing`.
    """
    read = one_column(values, name, n)
    gone = _gaps(read)
    if gone.any() and not gaps:
        refuse_missing(name, gone, if_missing)
    if pos_label is not None:
        return _events(read, gone, name, pos_label)
    if _has_text(read):
        raise InputError(
            name,
            "must hold 0 and 1, or True and False",
            "got text",
            remedy=f"{_WORDS}, or name the label that is 1 where there is `pos_label`.",
        )
    numbers = np.where(gone, np.nan, numeric(read, name).values.astype(np.float64))
    bad = ~gone & (numbers != 0) & (numbers != 1)
    if bad.any():
        refuse_bad(
            name,
            "must be 0 or 1 in every row",
            bad,
            f"values are not, the first is {numbers[bad][0]:.6g}",
            remedy=remedy,
        )
    return numbers


def finite_numbers(
    values: ArrayLike,
    name: str,
    n: int | None = None,
    *,
    gaps: bool = False,
    if_missing: Remedy | str = DROP_MISSING,
) -> Floats:
    """A column of numbers; infinite ones are an error, and without `gaps` missing ones, too."""
    read = numeric(one_column(values, name, n), name)
    numbers = read.values.astype(np.float64)
    if read.missing is not None:
        numbers = np.where(read.missing, np.nan, numbers)
    gone = np.isnan(numbers)
    if gone.any() and not gaps:
        refuse_missing(name, gone, if_missing)
    infinite = np.isinf(numbers)
    if infinite.any():
        refuse_bad(name, "must be finite", infinite, "values are not, the first")
    return np.asarray(numbers)


def one_column(values: ArrayLike, name: str, n: int | None = None) -> Column:
    """A vector with an entry per row."""
    read = column(values, name)
    shape = read.values.shape
    if len(shape) != 1:
        raise InputError(name, "must have one value per row", f"got shape {shape}")
    if n is not None and shape[0] != n:
        raise InputError(name, f"must have one entry per row ({n:,})", f"got {shape[0]:,}")
    return read


def _gaps(given: Column) -> Bools:
    gone = labels_missing(given)
    if gone is None:
        return np.zeros(given.values.shape[0], bool)
    return gone


def _has_text(given: Column) -> bool:
    """Whether any value is text."""
    kind = given.values.dtype.kind
    if kind == "O":
        return any(isinstance(value, str | bytes) for value in given.values.tolist())
    return kind in "US"


def _events(given: Column, gone: Bools, name: str, pos_label: object) -> Floats:
    """Labels as 1 where they equal `pos_label`, 0 elsewhere, and nan where they are missing.

    More than two labels, or two without `pos_label`, are an error.
    """
    check_pos_label(pos_label)
    values = given.values.tolist()
    if not all(isinstance(value, Hashable) for value in values):
        raise InputError(name, "must hold labels, such as text or numbers", "some are lists")
    names = {value for value, missing in zip(values, gone, strict=True) if not missing}
    if len(names) > 2 or (len(names) == 2 and pos_label not in names):
        shown = ", ".join(sorted(map(repr, names))[:4])
        demand = f"must hold two labels of which `pos_label` {pos_label!r} is one"
        raise InputError(name, demand, f"got {shown}")
    events = [value == pos_label for value in values]
    return np.where(gone, np.nan, np.asarray(events, np.float64))

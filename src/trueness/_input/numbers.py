"""Columns of numbers: one per row, none of them missing."""

import numpy as np

from trueness._input.columns import LEAVE_OUT, column, refuse_bad, refuse_missing
from trueness._input.scores import numeric
from trueness.errors import InputError
from trueness.typing import ArrayLike, Bools, Floats


def numbers(passed: ArrayLike, name: str, n: int | None = None) -> Floats:
    """One number per row; missing values are refused."""
    read = numeric(column(passed, name), name)
    values = read.values
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(name, "must have one number per row", f"got shape {values.shape}")
    if values.size == 0:
        raise InputError(name, "must have at least one row", "it is empty")
    if n is not None and values.size != n:
        raise InputError(name, f"must have one entry per row ({n:,})", f"got {values.size:,}")
    refuse_nan(np.asarray(values, np.float64), name, read.missing)
    return np.asarray(values, np.float64)


def refuse_nan(values: Floats, name: str, missing: Bools | None) -> None:
    """Raise for missing numbers, with the first row."""
    gone: Bools = np.asarray(np.isnan(values).reshape(values.shape[0], -1).any(axis=1))
    if missing is not None:
        gone = gone | missing
    if gone.any():
        refuse_missing(name, gone, LEAVE_OUT)


def refuse(name: str, demand: str, bad: Bools, values: Floats) -> None:
    """Raise if any row is bad, with the value of the first."""
    if bad.any():
        first = values[int(np.argmax(bad))]
        verb = "are" if demand.startswith("must be ") else "do"
        refuse_bad(name, demand, bad, f"values {verb} not, the first is {first:.6g}")


def probabilities(passed: ArrayLike, name: str, n: int) -> Floats:
    """One probability per row."""
    values = numbers(passed, name, n)
    refuse(name, "must lie in [0, 1]", ~((values >= 0) & (values <= 1)), values)
    return values

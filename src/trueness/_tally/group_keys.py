"""Names of groups, and the rows of each group."""

import json
import reprlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from trueness._input.columns import column, is_missing, refuse_bad
from trueness.errors import InputError
from trueness.typing import Bools, Ints

Group: TypeAlias = str | int | float | bool | None


def group_order(key: Group) -> tuple[str, Any]:
    """Sort key: by type, then by value."""
    return type(key).__name__, 0 if key is None else key


def is_one_group(group: Any) -> bool:
    """Whether this is one name for all rows, not one for each row."""
    return isinstance(group, str | bytes) or np.ndim(group) == 0


def plain_group(key: Any) -> Group:
    """The name as it comes back from a file: text, a whole number, true or false, or a finite number."""
    found = key
    if isinstance(key, np.generic | np.ndarray) and key.dtype.kind in "biufUO":
        found = key.item()
    if isinstance(found, str | int | float | bool):
        try:
            back: Group = json.loads(json.dumps(found, allow_nan=False, ensure_ascii=False))
        except ValueError:  # nan, inf, or a whole number of thousands of digits
            back = None
        if back is not None and back == found:
            return back
    is_date = isinstance(key, np.datetime64) or hasattr(key, "isoformat")
    hint = " Dates are written as text: `.astype(str)`, `.isoformat()`." if is_date else ""
    try:
        shown = reprlib.repr(key)
    except ValueError:  # Python does not write whole numbers of that length
        shown = "thousands of digits"
    demand = "must hold text, whole numbers, true/false or finite numbers, none of them missing"
    raise InputError("group", demand, f"got {shown} ({type(key).__name__})", remedy=hint)


def rows_by_group(group: Any, n: int) -> list[tuple[Group, Ints]]:
    """The rows of each group, whose names must be of one type."""
    missing = None
    if isinstance(group, Sequence):
        # NumPy would convert [1, True, "1"] to one type, and the three names to one.
        keys = np.fromiter(group, dtype=object, count=len(group))
    else:
        keys, missing, _ = column(group, "group")
    if keys.shape != (n,):
        shape = f"{keys.shape[0]:,}" if keys.ndim == 1 else f"shape {keys.shape}"
        raise InputError("group", "must have one entry per row", f"got {shape} for {n:,} rows")
    values = keys.tolist() if keys.dtype.kind in "biufUO" else list(keys)
    of_type = {type(key): key for key in values}
    if missing is None and not of_type.keys() <= {str, int, bool}:
        missing = np.fromiter(map(is_missing, values), bool, n)
    _refuse_missing(missing)
    first, *others = map(plain_group, of_type.values()) if of_type else [None]
    for other in others:
        refuse_other_type(first, other)
    number = {key: i for i, key in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(number.__getitem__, values), np.int64, n)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(number)))
    return list(zip(map(plain_group, number), np.split(order, ends) if number else [], strict=True))


def _refuse_missing(missing: Bools | None) -> None:
    if missing is not None and missing.any():
        remedy = "Leave such rows out, or give their group a name."
        refuse_bad("group", "must not have missing values", missing, "are, the first", remedy=remedy)


def refuse_other_type(known: Group, new: Group) -> None:
    """Raise if names are of two types: Python takes 1, True and 1.0 for one key, and '1' looks like it."""
    if type(known) is not type(new):
        got = f"got {new!r} ({type(new).__name__}) beside {known!r} ({type(known).__name__})"
        remedy = "Text works for all: `[str(g) for g in group]`."
        raise InputError("group", "must be of one type throughout", got, remedy=remedy)

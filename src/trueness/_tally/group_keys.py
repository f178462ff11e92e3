"""Names of groups, and the rows of each group."""

import json
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column, first_place, is_missing, is_or_are
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
    demand = "must hold text, whole numbers, true/false or finite numbers, none of them missing"
    raise InputError("group", demand, f"got {_format_key(key)} ({type(key).__name__})", remedy=hint)


def _format_key(key: Any) -> str:
    try:
        return reprlib.repr(key)
    except ValueError:  # Python does not write whole numbers of that length
        return "thousands of digits"


def rows_by_group(group: Any, n: int) -> list[tuple[Group, Ints]]:
    """The rows of each group."""
    keys, missing = _keys(group)
    if keys.shape != (n,):
        shape = f"{keys.shape[0]:,}" if keys.ndim == 1 else f"shape {keys.shape}"
        raise InputError("group", "must have one entry per row", f"got {shape} for {n:,} rows")
    _refuse_missing(missing)
    names, codes = _of_objects(keys.tolist()) if keys.dtype.kind == "O" else _of_numbers(keys)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(names)))
    return list(zip(map(plain_group, names), np.split(order, ends) if names else [], strict=True))


def _keys(group: Any) -> tuple[NDArray[Any], Bools | None]:
    if isinstance(group, Sequence):
        # NumPy would convert [1, True, "1"] to one type, and the three names to one.
        return np.fromiter(group, dtype=object, count=len(group)), None
    keys, missing, _ = column(group, "group")
    return keys, missing


def _refuse_missing(missing: Bools | None) -> None:
    if missing is not None and missing.any():
        count = int(missing.sum())
        got = f"{count:,} of {missing.size:,} {is_or_are(count)}, the first"
        remedy = "Leave such rows out, or give their group a name."
        raise InputError("group", "must not have missing values", got, place=first_place(missing), remedy=remedy)


def _of_numbers(keys: NDArray[Any]) -> tuple[list[Any], Ints]:
    """The distinct names, and for each row the number of its own."""
    if keys.dtype.kind == "f":
        _refuse_missing(np.isnan(keys))
    distinct, inverse = np.unique(keys, return_inverse=True)
    return list(distinct), inverse.reshape(-1).astype(np.int64)


def _of_objects(keys: list[Any]) -> tuple[list[Any], Ints]:
    """The same for objects, whose names must be of one type."""
    of_type = {type(key): key for key in keys}
    if not of_type.keys() <= {str, int, bool}:
        _refuse_missing(np.fromiter(map(is_missing, keys), bool, len(keys)))
    plain = [plain_group(key) for key in of_type.values()]
    for one in plain[1:]:
        refuse_other_type(plain[:1], one)
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return list(number), np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))


def refuse_other_type(known: Iterable[Group], new: Group) -> None:
    """Raise if names are of several types: Python takes 1, True and 1.0 for one key, and '1' looks like it."""
    for one in known:
        if type(one) is not type(new):
            got = f"got {new!r} ({type(new).__name__}) beside {one!r} ({type(one).__name__})"
            remedy = "Text works for all: `[str(g) for g in group]`."
            raise InputError("group", "must be of one type throughout", got, remedy=remedy)
        return

"""Names of groups, and the rows of each group."""

import json
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from trueness._input.arguments import checked_whole
from trueness._input.columns import column, is_missing, refuse_bad
from trueness._input.segment_columns import MISSING, joined
from trueness.errors import DroppedRowsWarning, InputError, in_context, warn
from trueness.typing import ArrayLike, Ints

Name: TypeAlias = str | int | float | bool | None
# Of several columns, the tuple of names; None stands for all rows.
Group: TypeAlias = Name | tuple[Name, ...]
By: TypeAlias = str | tuple[str, ...] | None
Key = TypeVar("Key")


def checked_by(by: object) -> By:
    """The column of groups, the columns as a tuple, or None."""
    if by is None or isinstance(by, str):
        return by
    names = tuple(by) if isinstance(by, list | tuple) else ()
    if (
        not names
        or len(set(map(str, names))) < len(names)
        or not all(isinstance(name, str) for name in names)
    ):
        demand = "must be a string that names the groups, a list of different ones, or None"
        raise InputError("by", demand, f"got {reprlib.repr(by)}")
    return names


def names_of(key: object) -> tuple[Any, ...]:
    """The names of a group, or of columns; there is one unless it is a tuple."""
    if isinstance(key, tuple):
        return key
    return (key,)


def group_text(key: object) -> str:
    """The group as text.

    Names of several columns are joined, as in crossings, and quoted where that is ambiguous.

    >>> group_text(("north", 7)), group_text(("a × b", None))
    ('north × 7', "'a × b' × (missing)")
    """
    if not isinstance(key, tuple):
        if key is None:
            return MISSING
        return str(key)
    return joined(map(group_text, key))


def group_order(key: Group) -> tuple[tuple[str, Any], ...]:
    """Sort key: by type, then by value."""
    return tuple((type(name).__name__, 0 if name is None else name) for name in names_of(key))


def without_small(groups: Mapping[Key, Any], min_rows: object) -> dict[Key, Any]:
    """The groups of at least `min_rows` rows.

    `groups` has the sums of each group by its key. A warning says how many groups and rows are left
    out.
    """
    fewest = checked_whole(min_rows, "min_rows")
    small = [sums.n for sums in groups.values() if sums.n < fewest]
    if small:
        groups_of = "groups of" if len(small) > 1 else "group of"
        which = f"{len(small):,} {groups_of} fewer than {fewest:,} rows"
        warn(f"{which} left out: {sum(small):,} rows are hidden.", DroppedRowsWarning)
    return {key: sums for key, sums in groups.items() if sums.n >= fewest}


def plain_group(key: object, by: By = None) -> Group:
    """The key of a group as it is read back from a file: text, a truth value, or a finite number.

    `key` is the name of a group, such as a NumPy scalar. If `by` is a tuple of columns, `key` must
    be a tuple or list with one name for each, and a tuple comes back. Other names are refused:
    None, nan, dates.
    """
    if isinstance(by, tuple):
        if not isinstance(key, tuple | list) or len(key) != len(by):
            raise InputError(
                "group", f"must be a tuple of {len(by)} names", f"got {reprlib.repr(key)}"
            )
        return tuple(plain_group(part) for part in key)  # type: ignore[misc]  # each is one name
    plain = key
    if isinstance(key, np.generic | np.ndarray) and key.dtype.kind in "biufUO":
        plain = key.item()
    if isinstance(plain, str | int | float | bool):
        try:
            back: Group = json.loads(json.dumps(plain, allow_nan=False, ensure_ascii=False))
        except ValueError:  # nan, inf, or a whole number of thousands of digits
            back = None
        if back is not None and back == plain:
            return back
    is_date = isinstance(key, np.datetime64) or hasattr(key, "isoformat")
    hint = " Dates are written as text: `.astype(str)`, `.isoformat()`." if is_date else ""
    try:
        shown = reprlib.repr(key)
    except ValueError:  # Python does not write whole numbers of that length
        shown = "thousands of digits"
    demand = "must hold text, whole numbers, true/false or finite numbers, none of them missing"
    raise InputError("group", demand, f"got {shown} ({type(key).__name__})", remedy=hint)


def rows_by_group(group: ArrayLike, n: int, by: By = None) -> list[tuple[Group, Ints]]:
    """The key and the rows of each group that has rows.

    `group` has the name of the group of each of the `n` rows, or is one name for all of them. If
    `by` is a tuple of names, `group` is a dict or frame with these columns, and each combination of
    their values that occurs is a group, with a tuple as its key. Any other `by` is ignored.

    Rows are given by their numbers, ascending. Groups of one column are in the order in which they
    first appear. Without rows the list is empty. Refused are missing names, names of several types
    in one column (1, True and '1'), and a column of the wrong length.
    """
    keys, codes = _crossed(group, n, by) if isinstance(by, tuple) else _numbered(group, n)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(keys)))
    return [
        (key, members)
        for key, members in zip(keys, np.split(order, ends) if keys else [], strict=True)
        if members.size
    ]


def _crossed(group: ArrayLike, n: int, by: tuple[str, ...]) -> tuple[list[Group], Ints]:
    """The combinations of values of several columns, and the number of the combination of each row.

    `group` is a dict or frame, `by` names its columns, and `n` is the number of rows. Only
    combinations that occur are listed, sorted by where the value of the first column first appears,
    then that of the second, and so on. A missing column is refused.
    """
    present = group.keys() if isinstance(group, Mapping) else getattr(group, "columns", ())
    try:
        lacking = [name for name in by if name not in list(present)]
        columns = [] if lacking else [group[name] for name in by]
    except TypeError:
        lacking = list(by)
    if lacking:
        demand = f"must be a dict or frame with the columns {', '.join(map(repr, by))}"
        raise InputError("group", demand, f"got {type(group).__name__} without {lacking[0]!r}")
    read = []
    code = np.zeros(n, dtype=np.int64)
    for name, values in zip(by, columns, strict=True):
        with in_context(f"Column {name!r}"):
            read.append(_numbered(values, n))
        code = np.unique(code * max(len(read[-1][0]), 1) + read[-1][1], return_inverse=True)[
            1
        ].reshape(-1)
    first = np.unique(code, return_index=True)[1]
    return [tuple(names[code_of_row[i]] for names, code_of_row in read) for i in first], code


def _numbered(group: ArrayLike, n: int) -> tuple[list[Group], Ints]:
    """The different names of one column, in order of appearance, and the number of each row's name.

    `group` is the column, of `n` entries, or one name for all rows. Refused are missing names,
    names of several types, names that are neither text, truth values nor finite numbers (such as
    dates), and a column of another length.
    """
    if isinstance(group, str | bytes) or np.ndim(group) == 0:  # one name for all rows
        return [plain_group(group)], np.zeros(n, dtype=np.int64)
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
    if missing is not None and missing.any():
        remedy = "Leave such rows out, or give their group a name."
        refuse_bad(
            "group", "must not have missing values", missing, "are, the first", remedy=remedy
        )
    first, *rest = map(plain_group, of_type.values()) if of_type else [None]
    for other in rest:
        refuse_other_type(first, other)
    number = {key: i for i, key in enumerate(dict.fromkeys(values))}
    return [plain_group(key) for key in number], np.fromiter(
        map(number.__getitem__, values), np.int64, n
    )


def refuse_other_type(known: Group, new: Group) -> None:
    """Raise if names are of two types.

    Python takes 1, True and 1.0 for one key, and '1' looks like it.
    """
    for a, b in zip(names_of(known), names_of(new), strict=True):
        if type(a) is not type(b):
            got = f"got {b!r} ({type(b).__name__}) beside {a!r} ({type(a).__name__})"
            remedy = "Text works for all: `[str(g) for g in group]`."
            raise InputError("group", "must be of one type throughout", got, remedy=remedy)

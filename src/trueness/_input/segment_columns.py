"""`by=` and `grades=`: columns whose values divide the rows into segments, and crossings of such columns."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_whole
from trueness._input.columns import categories_of, column, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.sample import refuse_shuffled_index
from trueness.errors import InputError
from trueness.typing import ArrayLike, Bools, Ints

_MOST_NUMBERS, _REPEATED = 12, 5
_GROUPS = 5
MOST_GRADES = 1000
MISSING = "(missing)"
TIMES = " × "


class SegmentColumn(NamedTuple):
    """A column cut into segments; every row belongs to one of them."""

    name: str
    code: Ints
    """The segment of each row."""
    values: tuple[str, ...]
    """The name of each segment."""
    note: str = ""
    """How numbers were cut into groups, if they were."""

    def at(self, rows: NDArray[Any]) -> "SegmentColumn":
        """The same column for some of the rows; segments without rows are left out."""
        there, code = np.unique(self.code[rows], return_inverse=True)
        return self._replace(code=code.reshape(-1), values=tuple(self.values[i] for i in there))


def read_by(
    by: Any, y_true: ArrayLike, kept: Bools, crossed: int = 1, *, codes: bool = False
) -> tuple[SegmentColumn, ...]:
    """Read ``by=``: one column, a dict of columns or a frame, without the rows that were dropped.

    With `codes`, whole numbers are names, however many there are.

    With `crossed`, the crossings of up to that many columns follow the columns themselves.
    """
    return () if by is None else with_crossings(_columns(by, y_true, kept, codes), crossed)


def with_crossings(columns: tuple[SegmentColumn, ...], crossed: int) -> tuple[SegmentColumn, ...]:
    """The columns, then the crossings of up to `crossed` of them."""
    if not columns:
        raise InputError("by", "must hold at least one column", "it has none")
    most = min(checked_whole(crossed, "crossed"), len(columns))
    return (*columns, *(crossing(some) for k in range(2, most + 1) for some in combinations(columns, k)))


def _columns(by: Any, y_true: ArrayLike, kept: Bools, codes: bool) -> tuple[SegmentColumn, ...]:
    if isinstance(by, Mapping):
        if not by:
            raise InputError("by", "must hold at least one column", "the dict is empty")
        return tuple(_read(str(name), values, y_true, kept, codes) for name, values in by.items())
    given = column(by, "by")
    if given.values.ndim == 2 and given.names is not None:
        # One by one, since an array of the whole frame would turn numbers beside text into objects.
        return tuple(_read(str(name), by[name], y_true, kept, codes) for name in given.names)
    if given.values.ndim == 2:
        return tuple(_read(f"column {j}", values, y_true, kept, codes) for j, values in enumerate(given.values.T))
    return (_read(str(getattr(by, "name", None) or "by"), by, y_true, kept, codes),)


def _read(name: str, values: Any, y_true: ArrayLike, kept: Bools, codes: bool) -> SegmentColumn:
    refuse_shuffled_index(y_true, {f"by[{name!r}]": values})
    given = column(values, "by")
    if given.values.ndim != 1 or given.values.shape[0] != kept.size:
        raise InputError(
            "by",
            "must have one entry per row",
            f"{name!r} has shape {given.values.shape} and there are {kept.size:,} rows",
        )
    gone = labels_missing(given)
    gone = np.zeros(kept.size, dtype=bool) if gone is None else gone
    found = _cut(name, given.values[kept], gone[kept], codes)
    if not codes and np.array_equal(given.values, column(y_true, "y_true").values):
        return found._replace(note=f"{name!r} equals the labels: its segments say nothing about the scores.")
    return found


def _continuous(numbers: NDArray[Any]) -> bool:
    """Whether numbers are measurements rather than codes: many values, not whole or hardly ever repeated."""
    distinct = np.unique(numbers).size
    whole = numbers.dtype.kind in "iu" or bool((numbers == np.floor(numbers)).all())
    return distinct > _MOST_NUMBERS and not (whole and distinct * _REPEATED <= numbers.size)


def _cut(name: str, values: NDArray[Any], gone: Bools, codes: bool) -> SegmentColumn:
    there = values[~gone]
    note = ""
    if there.dtype.kind == "f" and (there == np.floor(there)).all() and (np.abs(there) < 2**53).all():
        there = there.astype(np.int64)  # whole numbers beside a missing value
    if not (codes and there.dtype.kind in "iu") and there.dtype.kind in "iuf" and _continuous(there):
        inner, names = _number_groups(there.astype(np.float64))
        note = f"{name!r} has many distinct numbers and was cut into {len(names)} groups of about equal size."
    else:
        if there.dtype.kind == "M" and (there == there.astype("datetime64[D]")).all():
            there = there.astype("datetime64[D]")
        texts, inner = np.unique(there.astype(str), return_inverse=True)
        inner, names = inner.reshape(-1), tuple(str(text) for text in texts)
    if gone.any() and MISSING not in names:
        names = (*names, MISSING)
    code = np.full(values.size, names.index(MISSING) if gone.any() else 0, dtype=np.int64)
    code[~gone] = inner
    return SegmentColumn(name, code, names, note)


def _number_groups(values: Any) -> tuple[Ints, tuple[str, ...]]:
    distinct, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    reached = np.cumsum(count)
    cuts = np.unique(np.searchsorted(reached, np.arange(1, _GROUPS) * values.size / _GROUPS, side="left") + 1)
    first = np.concatenate([[0], cuts[cuts < distinct.size]])
    last = np.append(first[1:], distinct.size) - 1
    code = np.searchsorted(first, inverse.reshape(-1), side="right") - 1
    return code, tuple(f"{distinct[a]:.6g} to {distinct[b]:.6g}" for a, b in zip(first, last, strict=True))


def crossing(columns: tuple[SegmentColumn, ...]) -> SegmentColumn:
    """The combinations of values that occur."""
    distinct, code = np.unique(np.stack([one.code for one in columns]), axis=1, return_inverse=True)
    names = (TIMES.join(one.values[i] for one, i in zip(columns, pair, strict=True)) for pair in distinct.T)
    return SegmentColumn(TIMES.join(one.name for one in columns), code.reshape(-1), tuple(names))


class GradeColumn(NamedTuple):
    """The grade of each row."""

    names: tuple[str, ...]
    """The grades: the categories of an ordered categorical, or the values, sorted."""
    code: Ints
    """The number of the grade of each row that is kept."""
    kept: Bools
    """Which of the rows have a grade."""
    ordered: bool
    """Whether the names are in the order of a categorical."""

    @property
    def dropped(self) -> int:
        """Rows without a grade."""
        return int((~self.kept).sum())


def read_grades(grades: Any, y_true: ArrayLike, rows: Ints, *, drop: bool) -> GradeColumn:
    """Read ``grades=`` for some of the rows; with `drop`, rows without a grade are left out."""
    refuse_shuffled_index(y_true, {"grades": grades})
    given, n = column(grades, "grades"), column(y_true, "y_true").values.shape[0]
    if given.values.shape != (n,):
        raise InputError("grades", f"must have one entry per row ({n:,})", f"got shape {given.values.shape}")
    gone = labels_missing(given)
    kept = np.ones(rows.size, dtype=bool) if gone is None else ~gone[rows]
    if gone is not None and not kept.all() and not drop:
        refuse_missing("grades", gone)
    if not kept.any():
        raise InputError("grades", "must not be missing in every row")
    seen: dict[Any, int] = {}
    values = given.values[rows[kept]].tolist()
    try:
        code = np.fromiter((seen.setdefault(value, len(seen)) for value in values), np.int64, len(values))
    except TypeError as reason:
        raise InputError("grades", "must hold names, such as text or numbers", str(reason)) from None
    categories = categories_of(grades)
    ranked = [str(name) for name in categories.names] if categories is not None and categories.ordered else None
    names = ranked or sorted({str(value) for value in seen})
    if len(names) > MOST_GRADES:
        raise InputError("grades", f"must have at most {MOST_GRADES:,} different values", f"got {len(names):,}")
    return GradeColumn(tuple(names), np.array([names.index(str(v)) for v in seen])[code], kept, ranked is not None)

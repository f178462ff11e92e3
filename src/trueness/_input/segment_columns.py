"""`by=` and `grades=`: columns whose values divide the rows into segments, and their crossings."""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_whole
from trueness._input.columns import categories_of, column, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.sample import refuse_shuffled_index
from trueness.errors import InputError
from trueness.typing import ArrayLike, Bools, Ints

_MOST_NUMBERS = 12
_REPEATED = 5
GROUPS = 5
MOST_GRADES = 1000
MISSING = "(missing)"
WholeNumbers: TypeAlias = Literal["guess", "names", "measured"]
TIMES = " × "


class Cuts(NamedTuple):
    """How columns of numbers become segments."""

    whole: WholeNumbers  # whether whole numbers are names or measurements
    groups: int  # of measurements
    weight: NDArray[Any] | None  # of the rows that are kept


def joined(names: Iterable[str]) -> str:
    """The name of a crossing; names that hold the sign are quoted, so that all names differ."""
    return TIMES.join(repr(name) if TIMES in name else name for name in names)


class SegmentColumn(NamedTuple):
    """A column cut into segments; every row belongs to one of them."""

    name: str
    code: Ints
    """The segment of each row."""
    values: tuple[str, ...]
    """The name of each segment."""
    note: str = ""
    """A sentence if numbers were cut into groups."""
    edges: tuple[float, ...] = ()
    """For numbers cut into groups: the smallest number of each group but the first."""
    crossed: int = 1
    """The number of columns crossed."""
    is_text: tuple[tuple[bool, ...], ...] = ()
    """For each value, if known: whether it was text in each column crossed."""
    parts: tuple[tuple[str, ...], ...] = ()
    """For each value: that of each column crossed."""

    def rule(self, code: int) -> str:
        """The rows of one segment, in words: a value, or the range of numbers between two edges."""
        if self.values[code] == MISSING:
            return f"{self.name} is missing"
        if not self.edges:
            return f"{self.name} = {self.values[code]}"
        if code == 0:
            return f"{self.name} < {self.edges[0]:.6g}"
        low = f"{self.edges[code - 1]:.6g}"
        if code == len(self.edges):
            return f"{self.name} ≥ {low}"
        return f"{low} ≤ {self.name} < {self.edges[code]:.6g}"

    def at(self, rows: NDArray[Any]) -> "SegmentColumn":
        """The same column for some of the rows; segments without rows are left out."""
        there, code = np.unique(self.code[rows], return_inverse=True)
        edges = self.edges if there.size == len(self.values) else ()
        values = tuple(self.values[i] for i in there)
        is_text = tuple(self.is_text[i] for i in there) if self.is_text else ()
        parts = tuple(self.parts[i] for i in there) if self.parts else ()
        return self._replace(
            code=code.reshape(-1), values=values, edges=edges, is_text=is_text, parts=parts
        )


def read_by(
    by: object,
    y_true: ArrayLike,
    kept: Bools,
    crossed: int = 1,
    *,
    whole: WholeNumbers = "guess",
    groups: int = GROUPS,
    weight: NDArray[Any] | None = None,
) -> tuple[SegmentColumn, ...]:
    """Read ``by=``: one column, a dict of columns or a frame, without the rows that were dropped.

    Measurements are cut into `groups` of about equal weight. Whole numbers of many values may be
    those, or names; without `whole`, they are measurements if hardly any is repeated. Crossings of
    up to `crossed` columns follow.
    """
    if by is None:
        return ()
    return with_crossings(_columns(by, y_true, kept, Cuts(whole, groups, weight)), crossed)


def with_crossings(columns: tuple[SegmentColumn, ...], crossed: int) -> tuple[SegmentColumn, ...]:
    """The columns, then the crossings of up to `crossed` of them."""
    if not columns:
        raise InputError("by", "must hold at least one column", "it has none")
    largest = min(checked_whole(crossed, "crossed"), len(columns))
    crossings = [
        crossing(group) for k in range(2, largest + 1) for group in combinations(columns, k)
    ]
    return (*columns, *crossings)


def _columns(
    by: ArrayLike, y_true: ArrayLike, kept: Bools, cuts: Cuts
) -> tuple[SegmentColumn, ...]:
    """The columns of a dict, a frame or a matrix, or the only one, each read for itself.

    An empty dict is an error.
    """
    if isinstance(by, Mapping):
        if not by:
            raise InputError("by", "must hold at least one column", "the dict is empty")
        return tuple(_read(str(name), values, y_true, kept, cuts) for name, values in by.items())
    table = column(by, "by")
    if table.values.ndim == 2 and table.names is not None:
        # One by one, since an array of the whole frame would turn numbers beside text into objects.
        return tuple(_read(str(name), by[name], y_true, kept, cuts) for name in table.names)
    if table.values.ndim == 2:
        return tuple(
            _read(f"column {j}", values, y_true, kept, cuts)
            for j, values in enumerate(table.values.T)
        )
    return (_read(str(getattr(by, "name", None) or "by"), by, y_true, kept, cuts),)


def _read(name: str, values: object, y_true: ArrayLike, kept: Bools, cuts: Cuts) -> SegmentColumn:
    """One column as segments of the rows that were kept, with missing entries in one of their own.

    A column that equals the labels has a note that says so.
    """
    refuse_shuffled_index(y_true, {f"by[{name!r}]": values})
    entries = column(values, "by")
    if entries.values.ndim != 1 or entries.values.shape[0] != kept.size:
        got = f"{name!r} has shape {entries.values.shape} and there are {kept.size:,} rows"
        raise InputError("by", "must have one entry per row", got)
    if entries.values.dtype.kind == "V":
        raise InputError("by", "must hold names or numbers", f"{name!r} holds records")
    gone = labels_missing(entries)
    if gone is None:
        gone = np.zeros(kept.size, dtype=bool)
    segments = _cut(name, entries.values[kept], gone[kept], cuts)
    if cuts.whole != "names" and np.array_equal(entries.values, column(y_true, "y_true").values):
        note = f"{name!r} equals the labels: its segments say nothing about the scores."
        return segments._replace(note=note)
    return segments


def _continuous(numbers: NDArray[Any], whole_numbers: WholeNumbers) -> bool:
    """Whether numbers are measurements rather than codes.

    These have many values, which are not whole or hardly ever repeated.
    """
    first = np.unique(numbers[:1000])
    has_fractions = numbers.dtype.kind == "f" and bool((first != np.floor(first)).any())
    if has_fractions and first.size > _MOST_NUMBERS:
        return True  # without sorting all of them
    distinct = np.unique(numbers).size
    if distinct <= _MOST_NUMBERS:
        return False
    is_whole = numbers.dtype.kind in "iu" or bool((numbers == np.floor(numbers)).all())
    if not is_whole or whole_numbers == "measured":
        return True
    return whole_numbers == "guess" and distinct * _REPEATED > numbers.size


def _plain_type(present: NDArray[Any]) -> NDArray[Any]:
    """The same values in the plainest type: whole numbers, floats, or days instead of times.

    Missing values beside numbers made objects or floats of them.
    """
    kind = present.dtype.kind
    if kind == "O" and all(type(value) in (int, float) for value in present):
        present = np.array(present.tolist(), dtype=np.float64)
        kind = "f"
    if kind == "f" and (present == np.floor(present)).all() and (np.abs(present) < 2**53).all():
        return present.astype(np.int64)
    if kind == "M" and (present == present.astype("datetime64[D]")).all():
        return present.astype("datetime64[D]")
    return present


def _cut(name: str, values: NDArray[Any], gone: Bools, cuts: Cuts) -> SegmentColumn:
    """A column of values as segments; rows that are `gone` are a segment of their own, the last.

    Measurements are cut into groups, and a note says so; all else has a segment for each value.
    """
    present = _plain_type(values[~gone])
    note = ""
    edges = tuple[float, ...]()
    if present.dtype.kind in "iuf" and _continuous(present, cuts.whole):
        weight = np.ones(present.size) if cuts.weight is None else cuts.weight[~gone]
        groups = number_groups(present.astype(np.float64), weight, cuts.groups)
        names = groups.names
        edges = groups.edges
        inner = groups.code
        is_text = (False,) * len(names)
        note = (
            f"{name!r} has many distinct numbers and was cut into {len(names)} groups "
            "of about equal size."
        )
    else:
        texts = _distinct_texts(present)
        inner = texts.code
        names = texts.names
        is_text = texts.is_text
    # The text "(missing)" is a value like any other.
    names = tuple(repr(value) if value == MISSING else value for value in names)
    code = np.full(values.size, len(names), dtype=np.int64)
    if gone.any():
        names = (*names, MISSING)
        is_text = (*is_text, False)
    code[~gone] = inner
    return SegmentColumn(name, code, names, note, edges, is_text=tuple((text,) for text in is_text))


class _Texts(NamedTuple):
    """Values as text."""

    code: Ints
    """The number of each value among `names`."""
    names: tuple[str, ...]
    is_text: tuple[bool, ...]
    """Whether each name was text, and not a number."""


def _distinct_texts(values: NDArray[Any]) -> _Texts:
    """The distinct values as text, sorted.

    Text that is also the text of a number is quoted.
    """
    # Looking up a million texts takes a tenth of the time of sorting them.
    if values.dtype.kind in "OU":
        # Not an array of text, which drops NUL at the end.
        seen: dict[tuple[str, bool], int] = {}
        keys = ((str(value), isinstance(value, str)) for value in values.tolist())
        code = np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.int64, values.size)
        distinct = list(seen)
    else:
        ordered, code = np.unique(values, return_inverse=True)
        distinct = [(text, False) for text in ordered.astype(str).tolist()]
    rank = {key: i for i, key in enumerate(sorted(set(distinct)))}
    names = tuple(
        repr(text) if is_text and (text, False) in rank else text for text, is_text in rank
    )
    number = np.array([rank[key] for key in distinct], dtype=np.int64)
    return _Texts(number[code.reshape(-1)], names, tuple(is_text for _, is_text in rank))


class NumberGroups(NamedTuple):
    """Groups of numbers."""

    code: Ints
    """The group of each number."""
    names: tuple[str, ...]
    edges: tuple[float, ...]
    """One between each two groups."""


def number_groups(values: NDArray[Any], weight: NDArray[Any], groups: int = GROUPS) -> NumberGroups:
    """Groups of about equal weight; equal numbers are in one group."""
    order = np.argsort(values)
    total = np.cumsum(weight[order], dtype=np.float64)
    last = np.searchsorted(total, np.arange(1, groups) * total[-1] / groups * (1 - 1e-12))
    highest = np.unique(values[order][[*last, -1]])  # equal numbers stay in the lower group
    code = np.searchsorted(highest, values, side="left")
    low = np.full(highest.size, np.inf)
    np.minimum.at(low, code, values)
    names = tuple(f"{a:.6g} to {b:.6g}" for a, b in zip(low, highest, strict=True))
    edges = zip(highest[:-1].tolist(), low[1:].tolist(), strict=True)
    return NumberGroups(code, names, tuple(short_edge(below, first) for below, first in edges))


def short_edge(below: float, first: float) -> float:
    """The number with the fewest digits that is above one value and at most another.

    >>> short_edge(0.16591, 0.16597), short_edge(24, 25), short_edge(-3.2, -3.1)
    (0.16597, 25.0, -3.1)
    >>> short_edge(0.5678, 0.5679)
    0.5679
    """
    for digits in range(1, 17):
        step = 10.0 ** (math.floor(math.log10(abs(first) or 1.0)) + 1 - digits)
        # Rounded first: 0.5679 / 0.0001 is 5678.999999999999.
        steps = math.floor(round(first / step, 6))
        edge = float(f"{steps * step:.{digits}g}")
        if below < edge <= first:
            return edge
    return first


def crossing(columns: tuple[SegmentColumn, ...]) -> SegmentColumn:
    """The combinations of values that occur."""
    codes = np.stack([column.code for column in columns])
    distinct, code = np.unique(codes, axis=1, return_inverse=True)
    knows_text = all(column.is_text for column in columns)
    is_text = []
    parts = []
    for combination in distinct.T:
        pairs = list(zip(columns, combination, strict=True))
        parts.append(tuple(column.values[i] for column, i in pairs))
        if knows_text:
            is_text.append(tuple(text for column, i in pairs for text in column.is_text[i]))
    return SegmentColumn(
        name=TIMES.join(column.name for column in columns),
        code=code.reshape(-1),
        values=tuple(map(joined, parts)),
        crossed=len(columns),
        is_text=tuple(is_text),
        parts=tuple(parts),
    )


class GradeColumn(NamedTuple):
    """The grade of each row."""

    names: tuple[str, ...]
    """The grades: the categories of an ordered categorical, or the values, sorted."""
    code: Ints
    """The number of the grade of each row that is kept."""
    kept: Bools
    """Whether each row has a grade."""
    ordered: bool
    """Whether the names are in the order of a categorical."""

    @property
    def dropped(self) -> int:
        """Rows without a grade."""
        return int((~self.kept).sum())


def read_grades(grades: object, y_true: ArrayLike, rows: Ints, *, drop: bool) -> GradeColumn:
    """Read ``grades=`` for some of the rows; with `drop`, rows without a grade are left out."""
    refuse_shuffled_index(y_true, {"grades": grades})
    entries = column(grades, "grades")
    n = column(y_true, "y_true").values.shape[0]
    if entries.values.shape != (n,):
        raise InputError(
            "grades", f"must have one entry per row ({n:,})", f"got shape {entries.values.shape}"
        )
    gone = labels_missing(entries)
    kept = np.ones(rows.size, dtype=bool) if gone is None else ~gone[rows]
    if gone is not None and not kept.all() and not drop:
        refuse_missing("grades", gone)
    if not kept.any():
        raise InputError("grades", "must not be missing in every row")
    seen: dict[Any, int] = {}
    values = entries.values[rows[kept]].tolist()
    try:
        code = np.fromiter(
            (seen.setdefault(value, len(seen)) for value in values), np.int64, len(values)
        )
    except TypeError as reason:
        raise InputError(
            "grades", "must hold names, such as text or numbers", str(reason)
        ) from None
    categories = categories_of(grades)
    if categories is not None and categories.ordered:
        ranked = [str(name) for name in categories.names]
    else:
        ranked = None
    names = ranked or sorted({str(value) for value in seen})
    if len(names) > MOST_GRADES:
        raise InputError(
            "grades", f"must have at most {MOST_GRADES:,} different values", f"got {len(names):,}"
        )
    return GradeColumn(
        tuple(names), np.array([names.index(str(v)) for v in seen])[code], kept, ranked is not None
    )

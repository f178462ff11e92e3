"""The sums of the looks of a watch: of rows, of stored sums, or of events.

`columns` are those of the watch: its label and scores, `by` and `time`.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, TypeAlias

from trueness._tally.accumulator import Accumulator
from trueness._tally.events import Events
from trueness._tally.evidence import AnySums
from trueness._tally.group_keys import names_of
from trueness._tally.rows_or_sums import sketch
from trueness.errors import InputError
from trueness.sources._request import EVERY
from trueness.sources.engines._scan import GroupSums, added_up, scan, scan_groups

LookSums: TypeAlias = AnySums | GroupSums


def of_stored_sums(name: str, columns: MutableMapping[str, Any]) -> LookSums:
    """The sums of a .tally file; a new watch without columns takes those of the file."""
    sums = Accumulator.load(name)
    by = [*names_of(sums.by)] if sums.by else []
    time = columns["time"]
    if columns["by"] is None:
        columns["by"] = [column for column in by if column != time]
    if time and time not in by:
        remedy = f"`trueness tally --by {time}` keeps the sums of each day."
        got = f"{name} has sums of {', '.join(by) or 'all rows'}"
        raise InputError("--time", "must be a column of the sums", got, remedy=remedy)
    if not time and bool(columns["by"]) is not bool(by):
        got = f"{name} has {'none' if columns['by'] else repr(sums.by)}"
        raise InputError("--by", "must be as in the sums", got)
    if not by:
        return sums.total
    # A tuple as key, also of a single column.
    groups: Mapping[Any, Any] = sums.groups
    if len(by) == 1:
        groups = {(key,): part for key, part in groups.items()}
    return _of_groups(GroupSums(by, groups), columns)


def of_rows(files: Sequence[str], columns: MutableMapping[str, Any]) -> LookSums | None:
    """The sums of files of rows, for each look and segment; None without a row."""
    columns["by"] = columns["by"] or []
    time = columns["time"]
    keys = [time, *columns["by"]] if time else columns["by"]
    options = {key: columns[key] for key in ("label", "prob", "pos_label", "missing")}
    source: Any = files[0] if len(files) == 1 else files
    if not keys:
        sums = scan(source, bins="sketch", **options)
        return sums if sums.n else None
    return _of_groups(scan_groups(source, by=keys, bins="sketch", **options), columns) or None


def of_events(
    events: Events, keys: Mapping[str, Any], columns: Mapping[str, Any]
) -> LookSums | None:
    """The sums of events, for each look and segment; `keys` have a value for each row."""
    if not keys:
        return sketch(events.event, events.p)
    rows = range(events.n) if events.row is None else events.row.tolist()
    row_keys = list(zip(*(column.tolist() for column in keys.values()), strict=True))
    places: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row_keys[row], []).append(place)
    sums = {key: sketch(events.event[group], events.p[group]) for key, group in places.items()}
    return _of_groups(GroupSums(list(keys), sums), columns) or None


def pooled(pieces: Sequence[Any]) -> LookSums:
    """The sums of several files as one."""
    if not isinstance(pieces[0], GroupSums):
        total: LookSums = sum(pieces[1:], pieces[0])
        return total
    groups = chain.from_iterable(piece.items() for piece in pieces)
    return GroupSums(pieces[0].names, added_up(groups))


def period(value: object, option: str, every: str) -> str:
    """The day, week or month of a date; that in UTC of a time with a zone, in any file."""
    try:
        return _day(str(value)).strftime(EVERY[every])
    except ValueError:
        raise InputError(option, "must hold dates such as 2025-01-31", f"got {value!r}") from None


def _day(text: str) -> date:
    """The day of a date, or of a time; text that begins with a date need not be a time."""
    day = date.fromisoformat(text[:10])
    try:
        moment = datetime.fromisoformat(text)
        return day if moment.tzinfo is None else moment.astimezone(UTC).date()
    except (ValueError, OverflowError):
        return day


def _of_groups(groups: GroupSums, columns: Mapping[str, Any]) -> GroupSums:
    """Sums by time and segment as those of looks.

    Sums of one period are added. Segments are text: one file may have numbers in a column, and the
    next text.
    """
    time = columns["time"]
    if time:
        looks = []
        for key, sums in groups.items():
            first, *rest = names_of(key)
            if first is None:
                got = f"{sums.n:,} rows have none in column {time!r}"
                raise InputError("--time", "must not be missing", got)
            looks.append(((period(first, "--time", columns["every"]), *rest), sums))
        groups = GroupSums(groups.names, added_up(looks))
    if not columns["by"]:
        return groups
    return GroupSums(groups.names, {_as_text(key): sums for key, sums in groups.items()})


def _as_text(key: object) -> object:
    if isinstance(key, tuple):
        return tuple(map(_as_text, key))
    return None if key is None else str(key)

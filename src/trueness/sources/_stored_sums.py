"""Sums in .tally files, and their total."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from trueness._tally.accumulator import Accumulator
from trueness.errors import InputError, TruenessWarning, warn
from trueness.sources._data_set import DataSet, require_rows
from trueness.sources._request import Group
from trueness.sources.tables._files import expand_paths


def read_sums(files: Sequence[str]) -> dict[str, Accumulator]:
    """The sums of each file, or of the files that a pattern matches."""
    names = expand_paths(files)
    for name in names:
        if not name.endswith(".tally"):
            demand = f"{name!r} is not a .tally file: sums and rows cannot be taken together"
            raise InputError("", demand, remedy="`trueness tally` makes sums of rows.")
    sums = {name: _load(name) for name in names}
    for first, second in combinations(sums, 2):
        if 0 < sums[first].n == sums[second].n and sums[first].groups == sums[second].groups:
            warn(
                f"{first} and {second} hold exactly the same sums. If one is a copy, its rows are "
                "counted twice.",
                TruenessWarning,
            )
    return sums


def _load(name: str) -> Accumulator:
    """Read a file of sums; a file that is missing, a folder, or unreadable gives InputError."""
    try:
        return Accumulator.load(name)
    except FileNotFoundError:
        raise InputError("", f"There is no file {name!r}") from None
    except IsADirectoryError:
        raise InputError("", f"{name!r} is a folder, not a file of sums") from None
    except OSError as reason:
        raise InputError("", f"{name!r} cannot be read: {reason.strerror or reason}") from reason


def add(sums: Mapping[str, Accumulator]) -> Accumulator:
    """The sums of all files; a warning names one that holds the sums of all others."""
    total = _total(sums)
    for name, part in sums.items() if len(sums) > 2 else ():
        if 0 < 2 * part.n == total.n:
            rest = {other: sums[other] for other in sums if other != name}
            if part.groups == _total(rest).groups:
                warn(
                    f"{name} holds exactly the sums of all the others together; their rows are "
                    "counted twice.",
                    TruenessWarning,
                )
    return total


def sums_of_rows(rows: DataSet) -> Accumulator:
    """The sums of the complete rows of one model, with every distinct score."""
    if len(rows.models) != 1:
        raise InputError("--prob", "must name one model for a series", f"got {len(rows.models)}")
    rows = rows.complete()
    require_rows(rows.source, len(rows))
    options: dict[str, Any] = {**rows.options, "missing": "raise"}
    weight = options.pop("sample_weight", None)
    total = Accumulator("distinct", kind="classwise", **options)
    total.update(rows.y_true, rows.y_prob, sample_weight=weight)
    return total


def groups_of(total: Accumulator, keys: Iterable[Any] | None = None) -> Iterator[tuple[Group, Any]]:
    """The sums of each group, if there are any; in the order of the `keys`."""
    if total.by is not None:
        for key in total.groups if keys is None else keys:
            yield Group.of_sums(total.by, key), total.groups[key]


def _total(sums: Mapping[str, Accumulator]) -> Accumulator:
    """The sum of the sums of all files, by their names; none of them is changed.

    InputError if they are about different columns, or cannot be added.
    """
    first, *rest = sums
    # `merge` replaces the sums of the copy, and leaves those of the original alone.
    total = copy.copy(sums[first])
    for name in rest:
        columns = sums[name].about
        if columns != total.about:
            raise InputError(
                "", f"{name} is about other columns ({columns}) than {first} ({total.about})"
            )
        try:
            total.merge(sums[name])
        except InputError as reason:
            raise reason.within(f"{name} does not add to {first}") from reason
    return total

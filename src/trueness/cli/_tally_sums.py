"""The sums in .tally files: each as it is, and all as one."""

import copy
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from trueness.cli._messages import warning
from trueness.errors import InputError
from trueness.sources._concatenated import expand_paths

if TYPE_CHECKING:
    from trueness._tally.accumulator import Accumulator

__all__ = ["Sums", "added", "read_sums"]


class Sums(NamedTuple):
    """What a file holds."""

    name: str
    found: "Accumulator"


def read_sums(files: Sequence[str]) -> list[Sums]:
    """Read files, each once; patterns stand for the files that they fit."""
    names = expand_paths(files)
    for name in names:
        if not name.endswith(".tally"):
            raise InputError(
                f"{name!r} is no .tally file: sums and rows cannot be taken together. `trueness tally` makes sums of "
                "rows."
            )
    sums = [Sums(name, _read(name)) for name in names]
    _warn_of_copies(sums)
    return sums


def _read(name: str) -> "Accumulator":
    import trueness as tn

    try:
        return tn.Accumulator.load(name)
    except FileNotFoundError:
        raise InputError(f"There is no file {name!r}.") from None
    except IsADirectoryError:
        raise InputError(f"{name!r} is a folder, not a file of sums.") from None
    except OSError as reason:
        raise InputError(f"{name!r} cannot be read: {reason.strerror or reason}.") from reason


def _warn_of_copies(sums: Sequence[Sums]) -> None:
    for (first, one), (second, two) in combinations(sums, 2):
        if 0 < one.n == two.n and one.groups == two.groups:
            warning(f"{first} and {second} hold the very same sums. If one is a copy, its rows are counted twice.")


def added(sums: Sequence[Sums]) -> "Accumulator":
    """All as one."""
    total = _total(sums)
    for one in sums:
        others = [other for other in sums if other is not one]
        if len(sums) > 2 and 0 < 2 * one.found.n == total.n and one.found.groups == _total(others).groups:
            warning(f"{one.name} holds the very sums of all others together; their rows are counted twice.")
    return total


def _total(sums: Sequence[Sums]) -> "Accumulator":
    first = sums[0]
    total = copy.copy(first.found)  # `merge` replaces the sums of the copy, and touches no others
    for name, one in sums[1:]:
        if one.about != total.about:
            raise InputError(f"{name} is about other columns ({one.about}) than {first.name} ({total.about}).")
        try:
            total.merge(one)
        except InputError as reason:
            raise InputError(f"{name} does not add to {first.name}: {reason}") from reason
    return total

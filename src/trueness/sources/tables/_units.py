"""The files that a watch reads together, and whether it has read them before."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trueness.sources.tables._files import expand_paths, files_below

_CHUNK = 1 << 20


class Unit(NamedTuple):
    """The files that are read together: one, or those of a folder."""

    name: str
    files: tuple[str, ...]


def units_of(names: Sequence[str]) -> list[Unit]:
    """The files and the folders that names and patterns stand for."""
    units = []
    for name in expand_paths(names) if names else ():
        units.append(Unit(name, files_below(name) if Path(name).is_dir() else (name,)))
    return units


def checksums(name: str, sizes: set[int]) -> dict[int, str]:
    """The checksums of the first bytes of a file, for several numbers of bytes."""
    by_size = {}
    total = hashlib.sha256()
    with Path(name).open("rb") as file:
        for size in sorted(sizes):
            while piece := file.read(min(size - file.tell(), _CHUNK)):
                total.update(piece)
            by_size[size] = total.hexdigest()
    return by_size

"""NumPy's own files: npz archives and npy arrays. Nothing in them is executed."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources._columns import Columns
from trueness.sources.tables._table import Table, import_polars, prefixed


class Arrays(Table):
    def __init__(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.name = name
        self.names = tuple(arrays)
        self._arrays = arrays

    def read(self, *names: Sequence[str]) -> Columns:
        """The named columns: labels and groups as text, the others as numbers."""
        labels, numbers, *groups = names
        group_names = [name for of_kind in groups for name in of_kind]
        return Columns(
            labels={name: self._text(name) for name in labels},
            numbers={name: self._numeric(name) for name in numbers},
            groups={name: self._text(name) for name in group_names},
        )

    def lazy(self, *names: Sequence[str]) -> Any:
        columns = self.read(*names)
        self.rows = len(columns)
        new_names = [new for new, _ in prefixed(names)]
        by_name = dict(zip(new_names, columns.arrays(), strict=True))
        return import_polars(self.name).LazyFrame(by_name)

    def array(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def _text(self, name: str) -> NDArray[Any]:
        array = _as_column(self.array(name))
        if array.dtype.kind == "S":
            return np.char.decode(array, "utf-8")
        return array

    def _numeric(self, name: str) -> NDArray[Any]:
        array = _as_column(self.array(name))
        if array.dtype.kind not in "biuf":
            got = f"it holds {array.dtype}"
            raise InputError("", f"{name!r} must hold numbers", got, context=self.name)
        return array

    def _refuse(self, what: str, reason: Exception) -> NoReturn:
        why = f"it may be truncated ({reason})"
        if "allow_pickle" in why or "Python objects" in why:
            why = "it holds Python objects, which are not loaded because loading can run code"
        raise InputError("", f"{what} cannot be read", why, context=self.name) from reason


class NpzFile(Arrays):
    """An npz archive: an array per column, or a matrix of scores under one name."""

    format = "npz"
    suffixes = (".npz",)

    def __init__(self, path: Path, name: str) -> None:
        """Read the names of the arrays, and none of their values.

        Refused are damaged archives, and zip files that hold anything but arrays.
        """
        self.path = path
        self.name = name
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        except (zipfile.BadZipFile, OSError) as reason:
            self._refuse("the archive", reason)
        if not members or not all(member.endswith(".npy") for member in members):
            raise InputError("", f"{name} is a zip file, but not one of NumPy arrays (npz)")
        self.names = tuple(member.removesuffix(".npy") for member in members)

    def array(self, name: str) -> NDArray[Any]:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return np.asarray(archive[name])
        except Exception as reason:  # zlib, NumPy and the system raise a dozen classes
            self._refuse(f"array {name!r}", reason)

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of this file and the new ones, packed as they are in this file."""
        with zipfile.ZipFile(self.path) as archive:
            methods = {entry.compress_type for entry in archive.infolist()}
        is_deflated = methods != {zipfile.ZIP_STORED}
        method = zipfile.ZIP_DEFLATED if is_deflated else zipfile.ZIP_STORED
        # `np.savez` has parameters of its own, with which the name of an array may clash.
        with zipfile.ZipFile(file, "w", method) as archive:
            for name in (*self.names, *new):
                array = self.array(name) if name in self.names else new[name]
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


class NpyFile(Arrays):
    """An npy file: the fields of a structured array, or matrix columns named '0', '1', …."""

    format = "npy"
    suffixes = (".npy",)

    def __init__(self, path: Path, name: str) -> None:
        """Map the array into memory, and name its columns.

        Refused are damaged files, and arrays that are neither a matrix nor structured.
        """
        self.name = name
        try:
            self.table = np.load(path, allow_pickle=False, mmap_mode="r")
        except (ValueError, OSError, EOFError) as reason:
            self._refuse("the array", reason)
        if self.table.dtype.names:
            self.names = self.table.dtype.names
        elif self.table.ndim == 2:
            self.names = tuple(str(i) for i in range(self.table.shape[1]))
        else:
            demand = f"{name} must hold a table: a matrix or a structured array"
            remedy = "Put separate labels and scores into one npz file: `np.savez(path, y=…, p=…)`."
            raise InputError("", demand, f"got shape {self.table.shape}", remedy=remedy)

    def array(self, name: str) -> NDArray[Any]:
        if self.table.dtype.names:
            return np.array(self.table[name])
        return np.array(self.table[:, int(name)])

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows with new columns: of a matrix, or as fields of a structured array.

        A field has one number per row, so that a matrix of scores is refused there.
        """
        table = self.table
        if table.dtype.names is None:
            np.save(file, np.column_stack([table, *new.values()]))
            return
        if any(column.ndim != 1 for column in new.values()):
            demand = "a matrix of scores cannot become a field of a structured array"
            raise InputError("", demand, context=self.name)
        fields = [(name, table.dtype[name]) for name in table.dtype.names]
        fields += [(name, np.dtype(np.float64)) for name in new]
        wider = np.empty(table.shape, dtype=fields)
        for name in wider.dtype.names:
            wider[name] = new[name] if name in new else table[name]
        np.save(file, wider)


def _as_column(array: NDArray[Any]) -> NDArray[Any]:
    """A matrix of one column as a vector."""
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    return array

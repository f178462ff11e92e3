"""The digest of rows: the same in any order, from any format."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,14})", re.ASCII)
_TEXT = np.uint64(0x5A17C0DE00000000)
"""Keeps text apart from numbers, whose bits are their own."""


def rows_digest(columns: Mapping[str, Any]) -> str:
    """The digest of named columns of equal length.

    Numbers are float64: 1, 1.0, true and the text 1 are the same cell. Everything else is its text.
    Rows are sorted, so their order does not matter, and a row that is there twice counts twice.
    """
    names = sorted(columns)
    cells = np.stack([_cells(np.asarray(columns[name])) for name in names], axis=1)
    order = np.lexsort(cells.T[::-1])
    total = hashlib.sha256()
    for name in names:
        total.update(f"{len(name)}:{name}".encode("utf-8", "surrogatepass"))
    total.update(cells[order].astype("<u8").tobytes())
    return total.hexdigest()


def _cells(values: NDArray[Any]) -> NDArray[np.uint64]:
    """A whole number of 64 bits for each cell; of a matrix, one for each row."""
    if values.ndim > 1:
        columns = [_cells(column) for column in values.reshape(values.shape[0], -1).T]
        return _mixed(columns)
    if values.dtype.kind in "biuf":
        return _bits(values.astype(np.float64))
    codes: dict[tuple[type, Any], np.uint64] = {}
    cells = np.empty(values.size, dtype=np.uint64)
    for i, value in enumerate(values.tolist()):
        key = (type(value), value)
        if key not in codes:
            codes[key] = _cell(value)
        cells[i] = codes[key]
    return cells


def _cell(value: object) -> np.uint64:
    if isinstance(value, int | float) or (isinstance(value, str) and _INTEGER.fullmatch(value)):
        return np.uint64(_bits(np.array([float(value)]))[0])
    text = "" if value is None else str(value)
    short = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]
    return np.uint64(int.from_bytes(short, "little")) ^ _TEXT


def _bits(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The bits of numbers; there is one zero, and one nan."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return np.ascontiguousarray(plain).view(np.uint64)


def _mixed(columns: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Several columns as one: the digest of each row of bits."""
    rows = np.ascontiguousarray(np.stack(columns, axis=1))
    short = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows]
    return np.frombuffer(b"".join(short), dtype="<u8").astype(np.uint64)

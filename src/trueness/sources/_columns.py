"""Columns that were read, and what is asked of single ones."""

from __future__ import annotations  # the types of arrays, which help does not need

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?(?<=[\d.])", re.ASCII)


@dataclass(frozen=True)
class Columns:
    """Columns that were read, by name.

    A missing value is None in an object array and nan in a float array.
    """

    labels: Mapping[str, NDArray[Any]]
    """Of any type that the library accepts as labels."""
    numbers: Mapping[str, NDArray[Any]]
    """Scores and weights."""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Also clusters: only compared with each other."""

    def __len__(self) -> int:
        return len(self.arrays()[0])

    def arrays(self) -> list[NDArray[Any]]:
        return [*self.labels.values(), *self.numbers.values(), *self.groups.values()]

    def at(self, rows: NDArray[Any]) -> Columns:
        """Some of the rows."""
        return Columns(
            labels={name: values[rows] for name, values in self.labels.items()},
            numbers={name: values[rows] for name, values in self.numbers.items()},
            groups={name: values[rows] for name, values in self.groups.items()},
        )


def missing_rows(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row has a missing value: None in a column of objects, else nan."""
    # By entry, hence `==`.
    gaps = column == None if column.dtype.kind == "O" else column != column  # noqa: E711
    rows: NDArray[np.bool_] = gaps.any(axis=1) if gaps.ndim == 2 else gaps
    return rows


def seen_values(column: NDArray[Any]) -> set[Any]:
    """The different values of a column, without missing ones."""
    return {value for value in set(column.tolist()) if value is not None and value == value}


def sort_values(values: Iterable[Any]) -> list[Any]:
    """The values in ascending order: as numbers if all are, even if stored as text.

    Otherwise they are in the order of their texts.
    """
    values = list(values)
    try:
        # The inner sort decides between equal floats.
        return sorted(sorted(values), key=float)
    except (TypeError, ValueError):
        return sorted(values, key=str)


def as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """A column of text as numbers, if every cell is one; 007 is a name."""
    if column.dtype.kind not in "OU":
        return column
    cells = [cell for cell in column.tolist() if cell is not None]
    if not cells or not all(isinstance(cell, str) and _NUMBER.fullmatch(cell) for cell in cells):
        return column
    return column.astype(object).astype(float)


def as_fractions(scores: NDArray[Any], percent: bool) -> NDArray[Any]:
    from trueness._input.scores import fractions

    if percent:
        return fractions(scores, "y_prob")
    return scores


def as_label(labels: NDArray[Any], text: str) -> Hashable:
    """A label that was typed, as a value of the same type as the labels.

    `text` is what was typed. It is returned unchanged if it does not fit their type.
    """
    import numpy as np

    kind = labels.dtype.kind
    if kind == "O":
        first = next((v for v in labels if v is not None and v == v), "")
        kind = np.asarray(first).dtype.kind
    if kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if kind not in "iuf":
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    if value.is_integer():
        return int(value)
    return value


def side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One column as it is, or several as a matrix."""
    import numpy as np

    return columns[0] if len(columns) == 1 else np.column_stack(columns)

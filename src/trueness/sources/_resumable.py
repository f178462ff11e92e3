"""The sums of several files, in a run that can be interrupted and resumed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueness._tally.accumulator import Accumulator
from trueness.errors import InputError
from trueness.sources._data_set import DataSet, require_rows


class ResumableSums:
    """Sums that are saved now and then, with the place that the run has reached."""

    def __init__(
        self,
        files: Sequence[str],
        output: str,
        *,
        settings: Mapping[str, Any],
        options: Mapping[str, str],
        every: float,
    ) -> None:
        """Sums of `files` by the `settings` of an accumulator, saved every `every` seconds.

        A run is resumed only with the same `options`.
        """
        self.partial = Path(f"{output}.partial")
        self.settings = settings
        self.every = every
        self.options = options
        self.inputs = [_stamp(name) for name in files]
        self.sums: Accumulator | None = None
        self.file = self.rows = self.dropped = 0
        self.saved = time.monotonic()

    def resume(self) -> str:
        """Continue from the saved state, if there is one; say where."""
        if not self.partial.exists():
            return f"there is no {self.partial}; starting from the first row."
        if any(size is None for _, size, _ in self.inputs):
            raise InputError("--resume", "needs files", "standard input cannot be read again")
        self.sums = Accumulator.load(self.partial)
        position = self.sums.position
        if not isinstance(position, dict) or position.get("inputs") != self.inputs:
            demand = (
                f"{str(self.partial)!r} was made from other files, or files that have changed since"
            )
            raise InputError("", demand, "remove it, or leave `--resume` out")
        options = position.get("options", {})
        if options != self.options:
            changed = [name for name, value in self.options.items() if options.get(name) != value]
            which = ", ".join(changed) or "of another version"
            demand = f"{str(self.partial)!r} was made with other options ({which})"
            raise InputError("", demand, "give the same, remove it, or leave `--resume` out")
        self.file = position["file"]
        self.rows = position["rows"]
        self.dropped = position["dropped"]
        return f"continuing after row {self.rows:,} of {self.inputs[self.file][0]}."

    def pieces(self, number: int, data: DataSet) -> Iterator[tuple[DataSet, int]]:
        """The complete rows of a file that were not added before, with the bytes read so far."""
        if number > self.file:
            self.file = number
            self.rows = 0
        for rows, n_bytes in data.pieces(data.group_columns):
            end = rows.first + len(rows)
            if end > self.rows:
                fresh = rows.select(np.arange(rows.first, end) >= self.rows).complete()
                self.rows = end
                self.dropped += fresh.dropped
                fresh.check_groups()
                yield fresh, n_bytes

    def add(self, rows: DataSet) -> str | None:
        """Add rows; the first ones may have a remark about the classes."""
        options: dict[str, Any] = {**rows.options, "missing": "raise"}
        weight = options.pop("sample_weight", None)
        groups = {name: list(map(str, column.tolist())) for name, column in rows.by.items()}
        by: Any = None
        group: Any = None
        if len(groups) == 1:
            ((by, group),) = groups.items()
        elif groups:
            by = tuple(groups)
            group = groups
        remark = None
        if self.sums is None:
            self.sums = Accumulator(
                by=by,
                about=_about(rows),
                **self.settings,
                **options,
            )
            remark = rows.order.remark
        self.sums.update(
            rows.y_true,
            rows.y_prob,
            sample_weight=weight,
            group=group,
            cluster=rows.cluster,
            position={
                "inputs": self.inputs,
                "options": self.options,
                "file": self.file,
                "rows": self.rows,
                "dropped": self.dropped,
            },
        )
        return remark

    def save(self) -> None:
        """Save the state if that is due."""
        if self.sums is not None and time.monotonic() - self.saved >= self.every:
            self.sums.save(self.partial)
            self.saved = time.monotonic()

    def total(self) -> Accumulator:
        """The sums of all rows, of which there must be some of positive weight."""
        first = self.inputs[0][0]
        if self.sums is None:
            require_rows(first, self.dropped, 0)
        assert self.sums is not None
        if self.sums.n == 0:
            column = self.sums.about["weight"]
            demand = f"{first} must have a weight above zero in column {column!r}"
            raise InputError("", demand, "all are zero")
        return self.sums


def _stamp(name: str) -> list[Any]:
    """Name, size and time of a file, which must not have changed when a run is resumed."""
    if not Path(name).is_file():
        return [name, None, None]
    stat = Path(name).stat()
    return [name, stat.st_size, stat.st_mtime_ns]


def _about(rows: DataSet) -> dict[str, Any]:
    """The columns of a tally, as its file keeps them."""
    request = rows.request
    about = {"label": request.label, "prob": rows.model.name, "weight": request.weight}
    if request.cluster is not None:
        about["cluster"] = request.cluster
    return about

"""Parquet and Arrow IPC (Feather) files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources._table import PolarsTable, import_polars

BATCH_ROWS = 1 << 20


class ParquetFile(PolarsTable):
    """A Parquet file."""

    format: ClassVar[str] = "Parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name, self.size = path, name, path.stat().st_size
        import_polars(name)  # its absence is no damage of the file
        self.names = tuple(self._attempt(lambda: self._scan().collect_schema().names()))

    def frames(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Batches of rows; other columns are not touched."""
        polars, names = self._polars, dict.fromkeys((*labels, *numbers, *groups))
        rows = max(self.rows, 1)
        # By position: Polars takes some names for patterns.
        lazy = self._scan().select(polars.nth([self.names.index(name) for name in names]))
        batches = iter(lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))
        seen = 0
        while (frame := self._attempt(lambda: next(batches, None))) is not None:
            seen += frame.height
            yield frame, self.size * seen // rows

    @property
    def rows(self) -> int:
        """Number of rows, from the footer of the file."""
        return int(self._attempt(lambda: self._scan().select(self._polars.len()).collect().item()))

    def write_mapped(
        self, file: BinaryIO, columns: Sequence[str], new: Sequence[str], function: Callable[[Any], NDArray[Any]]
    ) -> None:
        """Write all rows with new columns, some rows at a time: a function of columns of numbers, row by row.

        An error of the function stops the writing and is raised.
        """
        polars, errors = self._polars, list[Exception]()

        def mapped(struct: Any) -> Any:
            try:
                numbers = [self._as_numbers(series) for series in struct.struct.unnest().get_columns()]
                found = function(numbers[0] if len(numbers) == 1 else np.column_stack(numbers))
            except Exception as error:
                errors.append(error)
                raise
            series = [polars.Series(name, column) for name, column in zip(new, np.atleast_2d(found.T), strict=True)]
            return polars.DataFrame([one.fill_nan(None) for one in series]).to_struct()

        free = "mapped"
        while free in self.names:
            free += "_"
        # By position: Polars takes some names for patterns.
        scores = polars.struct(polars.nth([self.names.index(name) for name in columns]))
        types = polars.Struct(dict.fromkeys(new, polars.Float64))
        column = scores.map_batches(mapped, return_dtype=types, is_elementwise=True).alias(free)
        try:
            self._sink(self._scan().with_columns(column).unnest(free), file)
        except OSError:
            raise  # the disk is full, or the reader has closed the pipe
        except Exception as reason:
            raise errors[0] if errors else self._damage(reason) from reason

    def _scan(self) -> Any:
        return self._polars.scan_parquet(self.path, glob=False)

    def _sink(self, lazy: Any, file: BinaryIO) -> None:
        lazy.sink_parquet(file)

    def _attempt(self, step: Any) -> Any:
        try:
            return step()
        except Exception as reason:  # damaged files raise a dozen classes
            raise self._damage(reason) from reason

    def _damage(self, reason: Exception) -> InputError:
        first_line = str(reason).strip().partition("\n")[0]
        demand = f"{self.name} cannot be read as {self.format}; it may be truncated"
        return InputError("", demand, remedy=f"Polars: {first_line}")


class ArrowFile(ParquetFile):
    """An Arrow IPC file, also known as Feather."""

    format = "Arrow IPC"
    suffixes = (".arrow", ".feather", ".ipc")

    def _scan(self) -> Any:
        return self._polars.scan_ipc(self.path, glob=False)

    def _sink(self, lazy: Any, file: BinaryIO) -> None:
        lazy.sink_ipc(file)

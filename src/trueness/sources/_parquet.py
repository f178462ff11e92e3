"""Parquet and Arrow IPC (Feather) files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

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
        rows = max(self._attempt(lambda: self._scan().select(polars.len()).collect().item()), 1)
        # By position: Polars takes some names for patterns.
        lazy = self._scan().select(polars.nth([self.names.index(name) for name in names]))
        batches = iter(lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))
        seen = 0
        while (frame := self._attempt(lambda: next(batches, None))) is not None:
            seen += frame.height
            yield frame, self.size * seen // rows

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows with new columns."""
        gaps = [self._polars.Series(name, column).fill_nan(None) for name, column in new.items()]
        self._save(self._attempt(lambda: self._scan().collect()).with_columns(gaps), file)

    def _scan(self) -> Any:
        return self._polars.scan_parquet(self.path, glob=False)

    def _save(self, frame: Any, file: BinaryIO) -> None:
        frame.write_parquet(file)

    def _attempt(self, step: Any) -> Any:
        try:
            return step()
        except Exception as reason:  # damaged files raise a dozen classes
            first_line = str(reason).strip().partition("\n")[0]
            demand = f"{self.name} cannot be read as {self.format}; it may be truncated"
            raise InputError("", demand, remedy=f"Polars: {first_line}") from reason


class ArrowFile(ParquetFile):
    """An Arrow IPC file, also known as Feather."""

    format = "Arrow IPC"
    suffixes = (".arrow", ".feather", ".ipc")

    def _scan(self) -> Any:
        return self._polars.scan_ipc(self.path, glob=False)

    def _save(self, frame: Any, file: BinaryIO) -> None:
        frame.write_ipc(file)

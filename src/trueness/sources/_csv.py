"""CSV, TSV and other delimited text.

Polars parses, with every cell as text. It does not distinguish an empty cell from a missing one, keeps blank lines as
rows and demands UTF-8 everywhere. A block of lines that may hold such a thing is read again by Python's csv module,
which skips blank lines and refuses short ones.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources._compression import Block, text_blocks
from trueness.sources._table import PolarsTable

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Cells that mean a missing value."""

_END = "\0end"
"""A line after the last one: it becomes part of a cell whose quote is left open."""

_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


class CsvFile(PolarsTable):
    """A text file whose first line names the columns."""

    format, suffixes, is_text = "text", (".csv", ".tsv", ".tab", ".txt"), True

    def __init__(
        self, path: Path, name: str, separator: str, compression: str | None = None, decimal: str = "."
    ) -> None:
        self.path, self.name, self.separator, self.compression, self.decimal = (
            path,
            name,
            separator,
            compression,
            decimal,
        )
        self.size = path.stat().st_size
        self.header, self._body_line, self._body_start = self._read_header()
        self.names = tuple(cell.strip() for cell in self.header)
        if not any(self.names):
            raise InputError("", f"{name} has no header: its first line must name the columns")

    def _read_header(self) -> tuple[list[str], int, int]:
        """The cells of the header, and the line and byte at which the rows begin."""
        block = next(self._blocks(), Block(b"", 1, 0))
        text = io.StringIO(block.data.decode("utf-8", "surrogateescape"), newline="")
        for line, cells in self._records(text, 1):
            end = text.getvalue()[: text.tell()].encode("utf-8", "surrogateescape")
            return cells, line + 1, len(end)
        return [], 1, 0

    def frames(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Frames of text, a block of lines each; null is a missing value."""
        names = list(dict.fromkeys((*labels, *numbers, *groups)))
        for name in names:
            if self.names.count(name) > 1:
                raise InputError("", f"{self.name} has {self.names.count(name)} columns named {name!r}")
        for block in self._body():
            # Without their names, which Polars may take for patterns.
            parsed = (series.alias("cells") for series in self._parse(block, names).get_columns())
            cells = {name: series.str.strip_chars() for name, series in zip(names, parsed, strict=True)}
            columns = {name: series.set(series.is_in(MISSING), None) for name, series in cells.items()}
            yield self._polars.DataFrame(columns), block.read

    def _parse(self, block: Block, names: Sequence[str]) -> Any:
        polars, places = self._polars, [self.names.index(name) for name in names]
        if block.data.count(b"\r") > block.data.count(b"\r\n"):  # Polars knows other line breaks only one at a time
            return self._parse_strictly(block, names, places)
        try:
            # All columns: with some of them, Polars accepts lines that are too long.
            schema = {str(i): polars.String for i in range(len(self.names))}
            frame = polars.read_csv(block.data, has_header=False, schema=schema, separator=self.separator)
        except polars.exceptions.PolarsError:
            return self._parse_strictly(block, names, places)
        if frame[:, -1].null_count():  # an empty cell, a short line or a blank one
            return self._parse_strictly(block, names, places)
        if b'"' in block.data and frame.height != block.data.count(b"\n") + (not block.data.endswith(b"\n")):
            return self._parse_strictly(block, names, places)  # a cell of several lines, or a quote left open
        return polars.DataFrame({name: frame.to_series(i) for i, name in zip(places, names, strict=True)})

    def _parse_strictly(self, block: Block, names: Sequence[str], places: Sequence[int]) -> Any:
        columns: dict[str, list[str]] = {name: [] for name in names}
        for line, cells in self._rows(block):
            for (name, column), place in zip(columns.items(), places, strict=True):
                if _NOT_UTF8.search(cells[place]):
                    demand = f"column {name!r} is not UTF-8; convert the file, as `iconv -f latin1 -t utf-8` does"
                    raise InputError("", demand, context=f"{self.name}, line {line}")
                column.append(cells[place])
        return self._polars.DataFrame(columns, schema=dict.fromkeys(names, self._polars.String))

    def _blocks(self) -> Iterator[Block]:
        return text_blocks(self.path, self.name, self.compression, quoted=True)

    def _body(self) -> Iterator[Block]:
        """The blocks without the header."""
        for number, block in enumerate(self._blocks()):
            rows = block if number else Block(block.data[self._body_start :], self._body_line, block.read)
            if rows.data:
                yield rows

    def _rows(self, block: Block) -> Iterator[tuple[int, list[str]]]:
        """The cells of every row, with its last line; as many as the header has, or the row is refused."""
        width = len(self.names)
        text = io.StringIO(block.data.decode("utf-8", "surrogateescape"), newline="")
        for line, cells in self._records(text, block.line):
            if len(cells) != width and (len(cells) < width or any(cells[width:])):
                demand = f"{self.name}, line {line}, has {len(cells)} cells where the header has {width}"
                raise InputError("", demand, remedy="Cells that hold the separator need quotes.")
            yield line, cells[:width]

    def _records(self, text: io.StringIO, first: int) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(chain(text, [_END]), delimiter=self.separator)
        start, line = first, first - 1
        try:
            for cells in reader:
                line = reader.line_num + first - 1
                if cells and cells[-1].endswith(_END):
                    if cells != [_END]:
                        raise self._open_quote(line - 1, cells[-1].removesuffix(_END))
                    return
                if cells:
                    yield line, cells
                start = line + 1
        except csv.Error as reason:
            if reader.line_num + first - 1 > start:  # a cell that is too long, over several lines
                error = self._open_quote(start)
                limit = f"Or the cell is longer than {csv.field_size_limit():,} characters, which are the most."
                raise error.but(remedy=f"{error.remedy} {limit}") from reason
            raise InputError("", f"{self.name}, line {start}, cannot be read: {reason}") from reason

    def _open_quote(self, line: int, cell: str = "") -> InputError:
        """An error about a quote that is left open, in a cell that ends at a line."""
        breaks = len(re.findall("\r\n|\r|\n", cell))
        opened = line - breaks + cell.endswith(("\r", "\n"))
        demand = f"{self.name}, line {opened}, opens a quote that is not closed"
        return InputError("", demand, remedy="A quote inside a cell is written twice, and the cell is quoted.")

    def place(self, row: int) -> str:
        """The line of a row."""
        try:
            return f"line {self._line(row):,}"
        except OSError:  # standard input, whose copy is gone
            return super().place(row)

    def _line(self, row: int) -> int:
        """The line that a row ends at; for messages, since it reads the file again."""
        lines = (line for block in self._body() for line, _ in self._rows(block))
        return next(line for i, line in enumerate(lines) if i == row)

    def _numbers(self, series: Any, first: int) -> NDArray[Any]:
        numbers = self._with_points(series).cast(self._polars.Float64, strict=False)
        if numbers.null_count() > series.null_count():
            row = int((numbers.is_null() & series.is_not_null()).arg_true()[0])
            cell, remedy = series[row], ""
            if cell.endswith("%"):
                remedy = "Leave the sign out, and say `--percent`."
            elif _DECIMAL_COMMA.fullmatch(cell):
                remedy = "`--decimal ,` reads decimal commas."
            elif self.decimal == "," and "." in cell:
                remedy = "With `--decimal ,` a number has no point."
            raise self._error(series.name, "must hold numbers", f"line {self._line(first + row)} has {cell!r}", remedy)
        return self._as_numbers(numbers)

    def _with_points(self, series: Any) -> Any:
        """Cells with a decimal point in place of the file's decimal mark; a cell that has both is not a number."""
        if self.decimal == ".":
            return series
        return series.str.replace_many([".", self.decimal], ["?", "."])

    def _labels(self, series: Any) -> NDArray[Any]:
        """Labels of the simplest type that holds them all: whole numbers, numbers, true/false, text."""
        polars = self._polars
        parsers: tuple[tuple[Callable[[str], Any], Any], ...] = (
            (_parse_integer, polars.Int64),
            (_parse_number, polars.Float64),
            (_parse_truth, polars.Boolean),
        )
        series = series.alias("labels")  # Polars may take its name for a pattern
        cells = series.drop_nulls().unique().to_list()
        if not cells:
            return super()._labels(series.cast(polars.Float64))
        plain = self._with_points(self._polars.Series(cells)).to_list()
        for parse, dtype in parsers:
            values = [parse(cell) for cell in plain]
            if None not in values:
                return super()._labels(series.replace_strict(cells, values, return_dtype=dtype, default=None))
        return super()._labels(series)

    def _groups(self, series: Any) -> NDArray[Any]:
        return super()._groups(self._whole_groups(series))

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows with new columns; the other cells stay as they are."""
        text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="", write_through=True)
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerow([*self.header, *new])
        rows = (cells for block in self._body() for _, cells in self._rows(block))
        for cells, values in zip(rows, zip(*(column.tolist() for column in new.values()), strict=True), strict=True):
            texts = ("" if math.isnan(value) else repr(value).replace(".", self.decimal) for value in values)
            writer.writerow([*cells, *texts])
        text.detach()  # so that the file stays open


def _parse_integer(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"[+-]?\d{1,18}", cell, re.ASCII) else None


def _parse_number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def _parse_truth(cell: str) -> bool | None:
    return {"true": True, "false": False}.get(cell.lower())

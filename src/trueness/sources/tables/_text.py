"""CSV and JSON lines: cells of text, whose types are found in a pass over all of them."""

import codecs
import csv
import glob
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources.tables._table import PolarsTable, prefixed

_INSPECTED_LINES = 1000
_CHUNK = 1 << 20
_DECODE = json.JSONDecoder().raw_decode
DAMAGED = "truncated or damaged"
BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may stand before the first character of a text: the mark of UTF-8, and blanks."""
_MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")


class _TypedCells(NamedTuple):
    """Cells of text as labels and numbers, and what a pass over all of them answered."""

    frame: Any
    answers: dict[str, Any]


class TextFile(PolarsTable):
    """A file whose cells are text: the types of labels are found in a pass over all of them."""

    is_text = True
    decimal = "."
    _lists: Collection[str] = ()  # columns of lists of numbers

    def _lines(self, limit: int | None = None) -> Iterator[str]:
        lines = self._polars.scan_lines(self.path, name="line", n_rows=limit, glob=False)
        for frame in self._frames(lines):
            yield from frame["line"]

    def _typed(self, cells: Any, columns: Sequence[str], *more: Any) -> "_TypedCells":
        """The cells as labels of the simplest type that holds them all, and numbers.

        A pass over all cells counts them, and answers `more`.
        """
        questions = [self._polars.len().alias("rows"), *more]
        for column in columns:
            questions += self._counts(column)
        with self._reading():
            counts = cells.select(questions).collect(engine="streaming").row(0, named=True)
        self.rows = counts["rows"]
        return _TypedCells(
            frame=cells.with_columns(self._cast(column, counts) for column in columns),
            answers=counts,
        )

    def _counts(self, column: str) -> list[Any]:
        """How many labels there are, and how many are numbers and so on.

        Of numbers, the first cell that is none.
        """
        pl = self._polars
        cell = self._plain(column)
        kind = column.partition(" ")[0]
        real = cell.cast(pl.Float64, strict=False)
        if kind == "number" and column not in self._lists:
            is_wrong = cell.is_not_null() & real.is_null()
            return [pl.col(column).filter(is_wrong).first().alias(f"wrong {column}")]
        if kind != "label":
            return []
        is_truth = cell.str.to_lowercase().is_in(["true", "false"])
        return [
            cell.count().alias(f"filled {column}"),
            cell.cast(pl.Int64, strict=False).count().alias(f"whole {column}"),
            real.count().alias(f"real {column}"),
            pl.when(is_truth).then(1).count().alias(f"true {column}"),
        ]

    def _cast(self, column: str, counts: Mapping[str, Any]) -> Any:
        """The text of a column as numbers, labels or lists, in a Polars expression.

        `column` is its kind and its name; `counts` says which of its values are no numbers: those
        are refused.
        """
        pl = self._polars
        kind, _, name = column.partition(" ")
        wrong = counts.get(f"wrong {column}")
        if wrong is not None:
            remedy = "`--decimal ,` reads decimal commas." if "," in wrong else ""
            demand = f"column {name!r} must hold numbers"
            raise InputError("", demand, f"it holds {wrong!r}", remedy=remedy, context=self.name)
        if column in self._lists:
            return pl.col(column).str.json_decode(pl.List(pl.Float64))
        if kind == "number":
            return self._plain(column).cast(pl.Float64)
        if kind == "label":
            return self._as_labels(column, counts)
        return pl.col(column)

    def _as_labels(self, column: str, counts: Mapping[str, Any]) -> Any:
        """Cells as labels: whole numbers, numbers, true and false, or else text."""
        pl = self._polars
        cell = self._plain(column)
        filled = counts[f"filled {column}"]
        if not filled:
            return cell.cast(pl.Null)
        if filled == counts[f"whole {column}"]:
            return cell.cast(pl.Int64)
        if filled == counts[f"real {column}"]:
            return cell.cast(pl.Float64)
        if filled == counts[f"true {column}"]:
            return cell.str.to_lowercase() == "true"
        return pl.col(column)

    def _plain(self, column: str) -> Any:
        """Cells with a decimal point in place of the file's decimal mark.

        A cell that has both is not a number.
        """
        cell = self._polars.col(column)
        if self.decimal == ".":
            return cell
        return cell.str.replace_many([".", self.decimal], ["?", "."])


class CsvFile(TextFile):
    """A text file whose first line names the columns. A line without any value is no row."""

    format = "text"
    suffixes = (".csv", ".tsv", ".tab", ".txt")

    def __init__(self, path: Path, name: str, separator: str, decimal: str = ".") -> None:
        """Read the names of the columns from the first line; refused is a file without any."""
        super().__init__(path, name)
        self.separator = separator
        self.decimal = decimal
        with self._reading():
            columns = self._scan().collect_schema().names()
        self._header = [_name_in_file(column, columns) for column in columns]
        self.names = tuple(name.strip() for name in self._header)
        if not any(self.names):
            raise InputError("", f"{name} has no header: its first line must name the columns")

    def _scan(self, encoding: str = "utf8-lossy") -> Any:
        pl = self._polars
        options = {"infer_schema": False, "raise_if_empty": False, "glob": False}
        lazy = pl.scan_csv(self.path, separator=self.separator, encoding=encoding, **options)
        # Looking at all columns, Polars refuses lines that are too long.
        return lazy.filter(~pl.all_horizontal(pl.all().is_null()))

    def lazy(self, *names: Sequence[str]) -> Any:
        """The named columns; short lines are refused, and text that is not UTF-8."""
        pl = self._polars
        cells = []
        columns = []
        for new, name in prefixed(names):
            count = self.names.count(name)
            if count > 1:
                raise InputError("", f"{self.name} has {count} columns named {name!r}")
            cell = pl.nth(self.names.index(name)).str.strip_chars()
            cells.append(pl.when(~cell.is_in(_MISSING)).then(cell).alias(new))
            columns.append(new)
        frame = self._scan().select(pl.nth(-1).is_null().alias("short"), *cells)
        # Polars reads bytes that are not UTF-8 as this character.
        has_odd_bytes = pl.any_horizontal(pl.col(columns).str.contains("\ufffd", literal=True))
        is_short = pl.col("short").any()
        typed = self._typed(frame, columns, is_short, has_odd_bytes.any().alias("odd"))
        if typed.answers["short"]:
            with self._reading():
                self._refuse_short_lines()
        if typed.answers["odd"]:
            raise InputError(
                "", f"{self.name} is not UTF-8; convert it, as `iconv -f latin1 -t utf-8` does"
            )
        return typed.frame.drop("short")

    def _refuse_short_lines(self) -> None:
        """Refuse lines that have fewer cells than the header.

        Polars takes them for lines that end in empty cells.
        """
        reader = csv.reader((f"{line}\n" for line in self._lines()), delimiter=self.separator)
        for cells in reader:
            if 0 < len(cells) < len(self.names):
                demand = (
                    f"{self.name}, line {reader.line_num:,}, has {len(cells)} cells where the "
                    "header has"
                )
                raise InputError(
                    "",
                    f"{demand} {len(self.names)}",
                    remedy="Cells that hold the separator need quotes.",
                )

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows with new columns; the other cells stay as they are."""
        header = io.StringIO()
        writer = csv.writer(header, delimiter=self.separator, lineterminator="\n")
        writer.writerow([*self._header, *new])
        file.write(header.getvalue().encode())
        texts = [self._as_texts(column) for column in new.values()]
        first = 0
        for frame in self._frames(self._scan("utf8")):
            frame.columns = [f"old {i}" for i in range(frame.width)]
            last = first + frame.height
            added = [self._polars.Series(str(i), text[first:last]) for i, text in enumerate(texts)]
            rows = frame.hstack(added).write_csv(include_header=False, separator=self.separator)
            file.write(rows.encode())
            first = last

    def _as_texts(self, column: NDArray[Any]) -> list[str | None]:
        """Numbers as cells, with the decimal mark of the file; nan is an empty cell."""
        texts = []
        for value in column.tolist():
            texts.append(None if math.isnan(value) else repr(value).replace(".", self.decimal))
        return texts


def _name_in_file(column: str, columns: Sequence[str]) -> str:
    """The name of a column as the file means it.

    Polars calls a second p p_duplicated_0, and leaves quotes within quotes doubled.
    """
    name = re.sub(r"_duplicated_\d+$", "", column)
    if name not in columns:
        name = column
    return name.replace('""', '"')


class JsonLinesFile(TextFile):
    """Objects by line. A key that a line lacks is a missing value, like null.

    A list of numbers is a row of scores.
    """

    format = "JSON lines"
    suffixes = (".jsonl", ".ndjson", ".jsonlines", ".json")

    def __init__(self, path: Path, name: str) -> None:
        """Read the names of the columns, and the types of their values, from the first lines.

        Refused are lines that are not an object, and a file without any key.
        """
        super().__init__(path, name)
        self.types: dict[str, set[type]] = {}  # of the values of each key in the first lines
        top: dict[str, None] = {}
        with self._reading():
            for row in map(json.loads, filter(str.strip, self._lines(_INSPECTED_LINES))):
                if not isinstance(row, dict):
                    demand = f"{name} must have one object per line, without brackets around them"
                    raise InputError("", demand, remedy="`jq -c '.[]'` writes an array so.")
                for key, value in _flat(row):
                    types = self.types.setdefault(key, set())
                    if value is not None:
                        types.add(type(value))
                top |= dict.fromkeys(row)
        self.names = tuple(top)
        self.nested = tuple(key for key in self.types if key not in top)
        self._lists = {f"number {key}" for key, types in self.types.items() if list in types}
        if not self.names:
            example = '{"y": 1, "p": 0.7}'
            demand = f"{name} has no columns: each line must be an object such as {example}"
            raise InputError("", demand)

    def lazy(self, *names: Sequence[str]) -> Any:
        """The named columns; a key that an object has twice is refused."""
        pl = self._polars
        wanted = prefixed(names)
        # A name of a nested value is that of its object and the path inside.
        paths = {new: [name] if name in self.names else name.split(".") for new, name in wanted}
        keys = list(dict.fromkeys(path[0] for path in paths.values()))
        self._refuse_repeated(keys)
        # It takes every path for a pattern.
        lazy = pl.scan_ndjson(glob.escape(str(self.path)), schema=dict.fromkeys(keys, pl.String))

        def cell(first: str, *inner: str) -> Any:
            value = pl.nth(keys.index(first))
            if not inner:
                return value
            steps = "".join(f"[{json.dumps(name)}]" for name in inner)
            return value.str.json_path_match(f"${steps}")

        cells = lazy.select(cell(*path).alias(new) for new, path in paths.items())
        return self._typed(cells, [new for new, _ in wanted]).frame

    def _refuse_repeated(self, names: Sequence[str]) -> None:
        """Refuse a key that an object has twice; Polars takes the first."""
        pl = self._polars
        line = self._polars.col("line")
        keys = [{json.dumps(name), json.dumps(name, ensure_ascii=False)} for name in names]
        patterns = [rf"(?:{'|'.join(map(re.escape, spelled))})\s*:" for spelled in keys]
        twice = pl.any_horizontal(line.str.count_matches(pattern) > 1 for pattern in patterns)
        lines = pl.scan_lines(self.path, name="line", glob=False).filter(twice)
        for frame in self._frames(lines):
            for text in frame["line"]:
                json.loads(text, object_pairs_hook=self._unique)

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            key = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
            raise InputError("", f"{self.name} has a line with the key {key!r} more than once")
        return row

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all objects with new keys; a score that is nan becomes null."""
        rows = zip(*(column.tolist() for column in new.values()), strict=True)
        lines = (line for line in self._lines() if line.strip())
        for line, values in zip(lines, rows, strict=True):
            row = json.loads(line, object_pairs_hook=self._unique)
            for name, value in zip(new, values, strict=True):
                row[name] = None if np.isnan(value).any() else value
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of an object, and those of the objects in it, by their paths."""
    for key, value in row.items():
        yield f"{before}{key}", value
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")


class JsonReader:
    """JSON that is read piece by piece, so that only one element of a long array is in memory."""

    def __init__(self, file: BinaryIO, name: str, report: Callable[[int], None]) -> None:
        """Begin at the start of a file; `report` is called with the bytes read so far."""
        self._file = file
        self._name = name
        self._report = report
        self._letters = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._end = False

    def _more(self, size: int = _CHUNK) -> None:
        """Read further text from the file, and drop what was read before the current place.

        Bytes that are not UTF-8 are refused.
        """
        data = self._file.read(size)
        try:
            more = self._letters.decode(data, final=not data)
        except UnicodeDecodeError as reason:
            raise InputError("", f"{self._name} is not UTF-8", reason.reason) from None
        self._text = self._text[self._at :] + more
        self._at = 0
        self._end = not data
        self._report(self._file.tell())

    def _refuse(self, why: str, where: str = "") -> NoReturn:
        place = f" in {where}" if where else ""
        what = "ends early" if self._end else "is not JSON"
        raise InputError("", f"{self._name} {what}{place}: {DAMAGED}", why)

    def _peek(self) -> str:
        """The next character that is not blank; nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text) or self._end:
                return self._text[self._at : self._at + 1]
            self._more()

    def _take(self, characters: str, where: str = "") -> str:
        character = self._peek()
        if not character or character not in characters:
            expected = " or ".join(map(repr, characters))
            self._refuse(f"{expected} expected", where)
        self._at += 1
        return character

    def _value(self, where: str) -> Any:
        """The next value of the JSON text; `where` names it in messages.

        Text is read from the file until the value is complete. Values that are broken, or nested
        too deeply, are refused.
        """
        self._peek()
        size = _CHUNK
        while True:
            try:
                value, end = _DECODE(self._text, self._at)
                if end < len(self._text) or self._end:  # else a number may go on
                    self._at = end
                    return value
            except json.JSONDecodeError as reason:
                cut = reason.pos >= len(self._text) - 64 or reason.msg.startswith("Unterminated")
                if self._end or not cut:
                    self._refuse(reason.msg, where)
            except RecursionError:
                self._refuse("it is nested too deeply", where)
            self._more(size)
            size *= 2  # so that a large value is not parsed too often

    def items(self, streamed: str = "", array: str = "element ") -> Iterator[tuple[str, Any]]:
        """The members of an object, the elements of its array `streamed` one by one.

        Or those of an array.
        """
        end = "]" if self._take("[{") == "[" else "}"
        i = 0
        last = self._peek() == end and self._take(end)
        while last != end:
            key = array if end == "]" else str(self._value("a name"))
            place = f"{array}[{i}]" if end == "]" else key
            if end == "}":
                self._take(":", key)
            if key == streamed and self._peek() == "[":
                yield from self.items(array=key)
            else:
                yield key, self._value(place)
            i = i + 1
            last = self._take(f",{end}", place)

    def records(self, path: Sequence[str] = ()) -> Iterator[Any]:
        """The elements of the array at a path, one by one, in every value of the file.

        A value that is not an array is one record.
        """
        while self._peek():
            yield from self._records_within(list(path))

    def _records_within(self, path: list[str]) -> Iterator[Any]:
        """The records at a path of member names: elements of an array, or a single value.

        An empty path stands for the value at the current place.
        """
        first = self._peek()
        if not path and first == "[":
            yield from (element for _, element in self.items())
        elif not path:
            yield self._value("a record")
        elif first == "{":
            yield from self._records_of_member(path[0], path[1:])
        else:
            self._refuse(f"an object with {path[0]!r} expected")

    def _records_of_member(self, wanted: str, path: list[str]) -> Iterator[Any]:
        """The records at the rest of a path, within the member `wanted` of the next object."""
        self._take("{")
        if self._peek() == "}":
            self._take("}")
            return
        last = ","
        while last == ",":
            name = str(self._value("a name"))
            self._take(":", name)
            if name == wanted:
                yield from self._records_within(path)
            else:
                self._value(name)
            last = self._take(",}", name)

"""`Record`: the results of one run of an experiment, as tables of our numbers beside the published ones."""

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["Estimate", "Record", "Row", "Size", "Source", "Table", "Timing", "duration"]

Size: TypeAlias = Literal["quick", "full"]

SCHEMA = 2


class Estimate(NamedTuple):
    """A simulated number with its 95 % limits."""

    value: float
    low: float
    high: float


Number: TypeAlias = float | Estimate | None

Ours: TypeAlias = Literal["ours", "text", "code", "improved"]
Source: TypeAlias = Literal["published", "authors"]

_OURS: dict[Ours, str] = {
    "text": "ours by the text",
    "code": "ours by the code",
    "improved": "ours improved",
    "ours": "ours",
}
# The published numbers were made by the authors' code: that is the number of ours which is expected to agree.
_FIRST: tuple[Ours, ...] = ("code", "ours", "text")
_AUTHORS = "authors' code"

# Heading, whether it is aligned to the right, and the cells.
_Column: TypeAlias = tuple[str, bool, list[str]]


@dataclass(frozen=True)
class Row:
    """A published number and ours: one, or up to three where the paper's text and the authors' code differ.

    Parameters
    ----------
    labels : tuple of str
        One label for each heading of the table.
    ours : float, optional
        Our number, where there is one way to compute it.
    published : float, optional
        The number in the paper.
    low, high : float, optional
        Confidence limits of `ours`, if it is simulated.
    printed : str
        The published number as printed, where formatting `published` would change it ("≈ 0.63"). If it is a number,
        its digits tell what counts as rounding.
    note : str
        Why the numbers differ, or anything else a reader must know.
    at_most : bool
        Whether the published number is an upper bound.
    authors : float, optional
        The number stored in the authors' repository: the output of their code.
    text, code, improved : float or Estimate, optional
        Our numbers by the procedure that the paper describes, by the procedure of the authors' code, and by a better
        procedure. The last one is not expected to agree.

    Examples
    --------
    >>> Row(("a",), published=7.3, printed="7.3", authors=7.2833, code=7.28333).agrees(5e-5)
    True
    """

    labels: tuple[str, ...]
    ours: Any = None  # a float or None; Any, since tables that give it compute with it
    published: float | None = None
    low: float | None = None
    high: float | None = None
    printed: str = ""
    note: str = ""
    at_most: bool = False
    authors: float | None = None
    text: Number = None
    code: Number = None
    improved: Number = None

    @property
    def several(self) -> bool:
        """Whether there is more than a published number and `ours`."""
        return any(
            value is not None for value in (self.authors, self.text, self.code, self.improved)
        )

    @property
    def difference(self) -> float | None:
        """Ours − published."""
        return None if self.published is None or self.ours is None else self.ours - self.published

    def estimate(self, column: Ours | None = None) -> Estimate | None:
        """One of our numbers with its limits (equal to it if it is exact); by default the one expected to agree."""
        first = next((name for name in _FIRST if getattr(self, name) is not None), "ours")
        value: Number = getattr(self, column or first)
        if value is None or isinstance(value, Estimate):
            return value
        limited = (column or first) == "ours" and self.low is not None and self.high is not None
        return Estimate(value, *((self.low, self.high) if limited else (value, value)))  # type: ignore[arg-type]  # `limited` says both are numbers

    def agrees(
        self, within: float, column: Ours | None = None, source: Source = "published"
    ) -> bool | None:
        """Whether the numbers agree up to rounding and simulation error; None if one of them is missing."""
        other, found = getattr(self, source), self.estimate(column)
        if other is None or found is None:
            return None
        if source == "published":
            if self.at_most:
                return bool(found.value <= other)
            within = max(within, _rounding(self.printed))
        return bool(found.low - within <= other <= found.high + within)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON; defaults are left out."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            if field.default is MISSING or getattr(self, field.name) != field.default
            for value in [getattr(self, field.name)]
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Row":
        """Inverse of :meth:`to_dict`."""
        labels = tuple(data["labels"])
        rest: dict[str, Any] = {name: value for name, value in data.items() if name != "labels"}
        estimates = {
            name: Estimate(*value) for name, value in rest.items() if isinstance(value, list)
        }
        return cls(labels, **{**rest, **estimates})


def _rounding(printed: str) -> float:
    """Half a unit of the last printed digit and a little for binary rounding; 0 if it is not a number."""
    digits = printed.replace(",", "").replace("−", "-").rstrip(" %")
    try:
        float(digits)
    except ValueError:
        return 0.0
    return 0.501 * 10.0 ** -len(digits.partition(".")[2])


@dataclass(frozen=True)
class Table:
    """Rows under common headings.

    Parameters
    ----------
    title : str
    source : str
        Where the published numbers are found: "Table 5"; empty where there are none.
    headings : tuple of str
        Headings of the row labels.
    rows : tuple of Row
    within : float
        The largest difference that counts as rounding: slightly more than half a unit of the last printed digit.
    digits : int
        Digits after the decimal point.
    note : str
        A remark about all rows.
    across : str
        A heading whose labels become columns, for compact tables. Where a row has `ours` only, a cell shows our number,
        and the published one in brackets where the two differ. Otherwise there is a line for each source of numbers
        (published, authors' code, ours by the text …), and sources with equal numbers share a line.
    against : str
        The heading of the other numbers, where they are not published: "reference".
    """

    title: str
    source: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    within: float = 0.0
    digits: int = 4
    note: str = ""
    across: str = ""
    against: str = "published"

    def __post_init__(self) -> None:
        assert not self.across or self.across in self.headings, (
            f"{self.title}: {self.across} of {self.headings}"
        )
        for row in self.rows:
            assert len(row.labels) == len(self.headings), (
                f"{self.title}: {row.labels} under {self.headings}"
            )

    @property
    def several(self) -> bool:
        """Whether a row has more than a published number and `ours`."""
        return any(row.several for row in self.rows)

    @property
    def agreement(self) -> tuple[int, int]:
        """How many rows agree with their published number, and how many have one that ours is compared with."""
        return self.agreement_with("published")

    def agreement_with(self, source: Source, column: Ours | None = None) -> tuple[int, int]:
        """The same for the authors' numbers, or for another one of our columns."""
        verdicts = [row.agrees(self.within, column, source) for row in self.rows]
        return verdicts.count(True), verdicts.count(True) + verdicts.count(False)

    def agreement_text(self) -> str:
        """How many numbers agree, in a sentence for each source; empty where there is nothing to compare."""
        if not self.several:
            agree, known = self.agreement
            where = "; the others are in brackets" if self.across and agree < known else ""
            return (
                f"{agree:,} of {known:,} numbers agree with the {self.against} ones{where}."
                if known
                else ""
            )
        sources: dict[Source, str] = {"published": self.against, "authors": f"of the {_AUTHORS}"}
        sentences = []
        for source, words in sources.items():
            counts = {
                column: self.agreement_with(source, column)
                for column in _OURS
                if column != "improved"
            }
            parts = [
                f"{a:,} of {n:,} with {_OURS[column]}" for column, (a, n) in counts.items() if n
            ]
            numbers = f"{words} numbers" if source == "published" else f"numbers {words}"
            sentences += [f"Agreement of the {numbers}: {', '.join(parts)}."] if parts else []
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        names = ("title", "source", "within", "digits", "note", "across", "against")
        rows = [row.to_dict() for row in self.rows]
        return {
            **{name: getattr(self, name) for name in names},
            "headings": list(self.headings),
            "rows": rows,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Table":
        """Inverse of :meth:`to_dict`."""
        rows = tuple(map(Row.from_dict, data["rows"]))
        return cls(**{**data, "headings": tuple(data["headings"]), "rows": rows})

    def to_markdown(self) -> str:
        """The table in Markdown, without empty columns."""
        if self.several:
            columns = self._lines_by_source() if self.across else self._columns_by_source()
        else:
            columns = self._wide_columns() if self.across else self._columns()
        head = "| " + " | ".join(name for name, _, _ in columns) + " |"
        rule = "|" + "|".join("---:" if right else "---" for _, right, _ in columns) + "|"
        cells = zip(*(values for _, _, values in columns), strict=True)
        lines = [
            "| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in cells
        ]
        return "\n".join([head, rule, *lines])

    def _labels(self, rows: Iterable[Row]) -> list[_Column]:
        return [
            (name, False, [row.labels[i] for row in rows]) for i, name in enumerate(self.headings)
        ]

    def _notes(self) -> list[_Column]:
        return (
            [("note", False, [row.note for row in self.rows])]
            if any(row.note for row in self.rows)
            else []
        )

    def _columns(self) -> list[_Column]:
        rows = self.rows
        columns = self._labels(rows)
        if any(row.published is not None or row.printed for row in rows):
            columns.append((self.against, True, [self._published(row) for row in rows]))
        columns.append(("ours", True, [self._number(row.ours) for row in rows]))
        if any(row.low is not None for row in rows):
            columns.append(("from – to", True, [self._range(row.estimate()) for row in rows]))
        if any(row.difference is not None for row in rows):
            columns.append(
                ("difference", True, [self._number(row.difference, "+") for row in rows])
            )
        return columns + self._notes()

    def _columns_by_source(self) -> list[_Column]:
        cells = [self._by_source(row) for row in self.rows]
        names = [name for name in self._sources() if any(name in line for line in cells)]
        return [
            *self._labels(self.rows),
            *((name, True, [line.get(name, "–") for line in cells]) for name in names),
            *self._notes(),
        ]

    def _sources(self) -> tuple[str, ...]:
        return (self.against, _AUTHORS, *_OURS.values())

    def _by_source(self, row: Row) -> dict[str, str]:
        """The numbers of a row by name of the source; ours are bold where they differ from the published one."""
        cells = {}
        if row.published is not None or row.printed:
            cells[self.against] = self._published(row)
        if row.authors is not None:
            cells[_AUTHORS] = self._number(row.authors)
        source: Source = "authors" if row.published is None else "published"
        for column, name in _OURS.items():
            found = row.estimate(column)
            if found is not None:
                text = self._number(found.value) + (
                    f" ({self._range(found)})" if found.low != found.high else ""
                )
                differs = column != "improved" and row.agrees(self.within, column, source) is False
                cells[name] = f"**{text}**" if differs else text
        return cells

    def _across(self) -> tuple[int, dict[tuple[str, ...], dict[str, Row]]]:
        """Place of the heading that goes across, and the rows by their other labels and by this one."""
        at = self.headings.index(self.across)
        lines: dict[tuple[str, ...], dict[str, Row]] = {}
        for row in self.rows:
            line = lines.setdefault(row.labels[:at] + row.labels[at + 1 :], {})
            assert row.labels[at] not in line, f"{self.title}: {row.labels} twice"
            line[row.labels[at]] = row
        return at, lines

    def _lines_by_source(self) -> list[_Column]:
        """A line per source; those that show the same numbers share one."""
        at, lines = self._across()
        names = list(dict.fromkeys(row.labels[at] for row in self.rows))
        others = self.headings[:at] + self.headings[at + 1 :]
        body: list[tuple[str, ...]] = []
        for labels, line in lines.items():
            cells = {name: self._by_source(row) for name, row in line.items()}
            shared: dict[tuple[str, ...], list[str]] = {}
            for source in self._sources():
                numbers = tuple(cells.get(name, {}).get(source, "") for name in names)
                if any(numbers):
                    shared.setdefault(numbers, []).append(source)
            notes = "; ".join(dict.fromkeys(row.note for row in line.values() if row.note))
            body += [
                (*labels, " = ".join(sources), *numbers, "" if i else notes)
                for i, (numbers, sources) in enumerate(shared.items())
            ]
        heads = [
            *((name, False) for name in (*others, "source")),
            *((name, True) for name in names),
            ("note", False),
        ]
        columns = zip(*body, strict=True)
        found = [
            (name, right, list(cells)) for (name, right), cells in zip(heads, columns, strict=True)
        ]
        return found if any(found[-1][2]) else found[:-1]

    def _wide_columns(self) -> list[_Column]:
        at, lines = self._across()
        others = self.headings[:at] + self.headings[at + 1 :]
        columns: list[_Column] = [
            (name, False, [labels[i] for labels in lines]) for i, name in enumerate(others)
        ]
        for name in dict.fromkeys(row.labels[at] for row in self.rows):
            columns.append((name, True, [self._cell(line.get(name)) for line in lines.values()]))
        notes = [
            "; ".join(dict.fromkeys(row.note for row in line.values() if row.note))
            for line in lines.values()
        ]
        return [*columns, ("note", False, notes)] if any(notes) else columns

    def _cell(self, row: Row | None) -> str:
        if row is None:
            return ""
        differs = row.agrees(self.within) is False or (row.published is None and row.printed)
        limits = f" ({self._range(row.estimate())})" if row.low is not None else ""
        return f"{self._number(row.ours)}{limits}" + (
            f" [{self._published(row)}]" if differs else ""
        )

    def _published(self, row: Row) -> str:
        return row.printed or self._number(row.published)

    def _range(self, found: Estimate | None) -> str:
        if found is None or found.low == found.high == found.value:
            return ""
        return f"{self._number(found.low)} – {self._number(found.high)}"

    def _number(self, value: float | None, sign: str = "") -> str:
        if value is None:
            return "–"
        return f"{value:{sign},.{self.digits}f}".replace("-", "−")


@dataclass(frozen=True)
class Record:
    """The results of one run of an experiment. Two runs give the same record: timings are kept apart."""

    name: str
    size: Size
    seed: int
    version: str
    tables: tuple[Table, ...]
    pictures: tuple[tuple[str, str], ...]
    """File name and caption of each figure."""
    remarks: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that gives the same numbers."""
        quick = " --quick" if self.size == "quick" else ""
        seed = f" --seed {self.seed}" if self.seed else ""
        return f"python -m trueness_papers {self.name}{quick}{seed}"

    @property
    def agreement(self) -> tuple[int, int]:
        """How many rows agree with their published number, and how many have one."""
        return _total(table.agreement for table in self.tables if table.against == "published")

    @property
    def authors_agreement(self) -> tuple[int, int]:
        """The same for the numbers that the authors' code gave."""
        return _total(table.agreement_with("authors") for table in self.tables)

    @property
    def reference_agreement(self) -> tuple[int, int]:
        """The same for references that are not published: exact values, or those measured by other means."""
        return _total(table.agreement for table in self.tables if table.against != "published")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        plain = {name: getattr(self, name) for name in ("name", "size", "seed", "version")}
        pictures = [list(picture) for picture in self.pictures]
        tables = [table.to_dict() for table in self.tables]
        return {
            "schema": SCHEMA,
            **plain,
            "tables": tables,
            "pictures": pictures,
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Record":
        """Inverse of :meth:`to_dict`."""
        tables = tuple(map(Table.from_dict, data["tables"]))
        pictures = tuple((file, caption) for file, caption in data["pictures"])
        rest = {name: data[name] for name in ("name", "size", "seed", "version")}
        return cls(**rest, tables=tables, pictures=pictures, remarks=tuple(data["remarks"]))


def _total(counts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    agree, known = 0, 0
    for a, n in counts:
        agree, known = agree + a, known + n
    return agree, known


@dataclass(frozen=True)
class Timing:
    """The computing time of a run, and its tables of times: what two runs do not have in common."""

    name: str
    size: Size
    seconds: float
    """Processor time."""
    tables: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        tables = [table.to_dict() for table in self.tables]
        plain = {"name": self.name, "size": self.size, "seconds": self.seconds}
        return {**plain, "tables": tables, "remarks": list(self.remarks)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Timing":
        """Inverse of :meth:`to_dict`."""
        tables = tuple(map(Table.from_dict, data["tables"]))
        return cls(data["name"], data["size"], data["seconds"], tables, tuple(data["remarks"]))


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

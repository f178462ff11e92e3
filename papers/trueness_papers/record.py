"""`Record`: the results of one run of an experiment, as tables of our numbers beside the published ones."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Record", "Row", "Size", "Table", "duration"]

Size: TypeAlias = Literal["quick", "full"]

SCHEMA = 1

# Heading, whether it is aligned to the right, and the cells.
_Column: TypeAlias = tuple[str, bool, list[str]]


@dataclass(frozen=True)
class Row:
    """One number and its published value.

    Parameters
    ----------
    labels : tuple of str
        One label for each heading of the table.
    ours : float
        Our number.
    published : float, optional
        The number in the paper.
    low, high : float, optional
        Confidence limits of a simulated number.
    printed : str
        The published number as printed, where formatting `published` would change it ("≈ 0.63").
    note : str
        Why the two differ, or anything else a reader must know.
    at_most : bool
        Whether the published number is an upper bound.
    """

    labels: tuple[str, ...]
    ours: float
    published: float | None = None
    low: float | None = None
    high: float | None = None
    printed: str = ""
    note: str = ""
    at_most: bool = False

    @property
    def difference(self) -> float | None:
        """Ours − published."""
        return None if self.published is None else self.ours - self.published

    def agrees(self, within: float) -> bool | None:
        """Whether the two numbers agree up to rounding and simulation error; None if nothing is published."""
        if self.published is None:
            return None
        if self.at_most:
            return self.ours <= self.published
        if self.low is not None and self.high is not None:
            return self.low - within <= self.published <= self.high + within
        return abs(self.ours - self.published) <= within


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
        A heading whose labels become columns, for compact tables. A cell then shows our number, and the published one
        in brackets where the two differ.
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
        assert not self.across or self.across in self.headings, f"{self.title}: {self.across} of {self.headings}"
        for row in self.rows:
            assert len(row.labels) == len(self.headings), f"{self.title}: {row.labels} under {self.headings}"

    @property
    def agreement(self) -> tuple[int, int]:
        """How many rows agree with their published number, and how many have one."""
        verdicts = [row.agrees(self.within) for row in self.rows]
        return verdicts.count(True), verdicts.count(True) + verdicts.count(False)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        fields = ("title", "source", "within", "digits", "note", "across", "against")
        rows = [{**vars(row), "labels": list(row.labels)} for row in self.rows]
        return {**{name: getattr(self, name) for name in fields}, "headings": list(self.headings), "rows": rows}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Table":
        """Inverse of :meth:`to_dict`."""
        rows = tuple(Row(**{**row, "labels": tuple(row["labels"])}) for row in data["rows"])
        return cls(**{**data, "headings": tuple(data["headings"]), "rows": rows})

    def to_markdown(self) -> str:
        """The table in Markdown, without empty columns."""
        columns = self._wide_columns() if self.across else self._columns()
        head = "| " + " | ".join(name for name, _, _ in columns) + " |"
        rule = "|" + "|".join("---:" if right else "---" for _, right, _ in columns) + "|"
        cells = zip(*(values for _, _, values in columns), strict=True)
        lines = ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in cells]
        return "\n".join([head, rule, *lines])

    def _columns(self) -> list[_Column]:
        rows = self.rows
        headings = enumerate(self.headings)
        columns: list[_Column] = [(name, False, [row.labels[i] for row in rows]) for i, name in headings]
        if any(row.published is not None or row.printed for row in rows):
            columns.append((self.against, True, [row.printed or self._number(row.published) for row in rows]))
        columns.append(("ours", True, [self._number(row.ours) for row in rows]))
        if any(row.low is not None for row in rows):
            columns.append(("from – to", True, [self._range(row) for row in rows]))
        if any(row.published is not None for row in rows):
            columns.append(("difference", True, [self._number(row.difference, "+") for row in rows]))
        if any(row.note for row in rows):
            columns.append(("note", False, [row.note for row in rows]))
        return columns

    def _wide_columns(self) -> list[_Column]:
        at = self.headings.index(self.across)
        lines: dict[tuple[str, ...], dict[str, Row]] = {}
        for row in self.rows:
            line = lines.setdefault(row.labels[:at] + row.labels[at + 1 :], {})
            assert row.labels[at] not in line, f"{self.title}: {row.labels} twice"
            line[row.labels[at]] = row
        others = self.headings[:at] + self.headings[at + 1 :]
        columns: list[_Column] = [(name, False, [labels[i] for labels in lines]) for i, name in enumerate(others)]
        for name in dict.fromkeys(row.labels[at] for row in self.rows):
            columns.append((name, True, [self._cell(line.get(name)) for line in lines.values()]))
        notes = ["; ".join(dict.fromkeys(row.note for row in line.values() if row.note)) for line in lines.values()]
        return [*columns, ("note", False, notes)] if any(notes) else columns

    def _cell(self, row: Row | None) -> str:
        if row is None:
            return ""
        published = row.printed or self._number(row.published)
        differs = row.agrees(self.within) is False or (row.published is None and row.printed)
        limits = f" ({self._range(row)})" if row.low is not None else ""
        return f"{self._number(row.ours)}{limits}" + (f" [{published}]" if differs else "")

    def _range(self, row: Row) -> str:
        return "" if row.low is None else f"{self._number(row.low)} – {self._number(row.high)}"

    def _number(self, value: float | None, sign: str = "") -> str:
        if value is None:
            return "–"
        return f"{value:{sign},.{self.digits}f}".replace("-", "−")


@dataclass(frozen=True)
class Record:
    """The results of one run of an experiment."""

    name: str
    size: Size
    seed: int
    seconds: float
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
        return self._count(published=True)

    @property
    def reference_agreement(self) -> tuple[int, int]:
        """The same for references that are not published: exact values, or those measured by other means."""
        return self._count(published=False)

    def _count(self, *, published: bool) -> tuple[int, int]:
        counts = [table.agreement for table in self.tables if (table.against == "published") is published]
        return sum(agree for agree, _ in counts), sum(known for _, known in counts)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        plain = {name: getattr(self, name) for name in ("name", "size", "seed", "seconds", "version")}
        pictures = [list(picture) for picture in self.pictures]
        tables = [table.to_dict() for table in self.tables]
        return {"schema": SCHEMA, **plain, "tables": tables, "pictures": pictures, "remarks": list(self.remarks)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Record":
        """Inverse of :meth:`to_dict`."""
        tables = tuple(Table.from_dict(table) for table in data["tables"])
        pictures = tuple((file, caption) for file, caption in data["pictures"])
        rest = {name: data[name] for name in ("name", "size", "seed", "seconds", "version")}
        return cls(**rest, tables=tables, pictures=pictures, remarks=tuple(data["remarks"]))


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

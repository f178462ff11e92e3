"""Published numbers beside ours."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Row", "Table"]


@dataclass(frozen=True)
class Row:
    """One number, and what was published for it.

    Parameters
    ----------
    labels : tuple of str
        What the number is: one word for each heading of the table.
    ours : float
        What this library computes.
    published : float, optional
        What the paper has in print.
    low, high : float, optional
        Where the number of an infinite run may lie, for one that was simulated.
    printed : str
        The published number as it is printed, where rounding it again would change it ("≈ 0.63").
    note : str
        Why the two differ, or what else a reader must know.
    at_most : bool
        Whether the published number is a bound, which ours must not exceed.
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
        """Whether the two are one number, up to rounding and the error of simulation; None if only one is there."""
        if self.published is None:
            return None
        if self.at_most:
            return self.ours <= self.published
        if self.low is not None and self.high is not None:
            return self.low - within <= self.published <= self.high + within
        return abs(self.ours - self.published) <= within


@dataclass(frozen=True)
class Table:
    """Rows under the same headings.

    Parameters
    ----------
    title : str
    source : str
        Where the published numbers stand: "Table 5"; empty where there are none.
    headings : tuple of str
        What the labels of the rows are.
    rows : tuple of Row
    within : float
        The largest difference that is rounding: half a unit of the last printed digit, and a little.
    digits : int
        Digits after the point.
    note : str
        What holds for all rows.
    across : str
        A heading whose labels become columns, for many numbers of one kind. A cell then has our
        number, and the published one in brackets where the two differ.
    against : str
        What the other numbers are, where they are not in print: "reference".
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
        """How many rows agree with the published number, of how many that have one."""
        found = [row.agrees(self.within) for row in self.rows]
        return found.count(True), found.count(True) + found.count(False)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        fields = ("title", "source", "within", "digits", "note", "across", "against")
        rows = [{**vars(row), "labels": list(row.labels)} for row in self.rows]
        return {**{name: getattr(self, name) for name in fields}, "headings": list(self.headings), "rows": rows}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Table":
        """Read what :meth:`to_dict` made."""
        rows = tuple(Row(**{**row, "labels": tuple(row["labels"])}) for row in data["rows"])
        return cls(**{**data, "headings": tuple(data["headings"]), "rows": rows})

    def to_markdown(self) -> str:
        """A table with the columns that are needed: published, ours, where it may lie, difference, note."""
        columns = self._wide_columns() if self.across else self._columns()
        head = "| " + " | ".join(name for name, _, _ in columns) + " |"
        rule = "|" + "|".join("---:" if right else "---" for _, right, _ in columns) + "|"
        cells = zip(*(values for _, _, values in columns), strict=True)
        lines = ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in cells]
        return "\n".join([head, rule, *lines])

    def _columns(self) -> list[tuple[str, bool, list[str]]]:
        rows = self.rows
        columns = [(name, False, [row.labels[i] for row in rows]) for i, name in enumerate(self.headings)]
        known = any(row.published is not None or row.printed for row in rows)
        if known:
            columns.append((self.against, True, [row.printed or self._number(row.published) for row in rows]))
        columns.append(("ours", True, [self._number(row.ours) for row in rows]))
        if any(row.low is not None for row in rows):
            columns.append(("from – to", True, [self._range(row) for row in rows]))
        if any(row.published is not None for row in rows):
            columns.append(("difference", True, [self._number(row.difference, "+") for row in rows]))
        if any(row.note for row in rows):
            columns.append(("note", False, [row.note for row in rows]))
        return columns

    def _wide_columns(self) -> list[tuple[str, bool, list[str]]]:
        at = self.headings.index(self.across)
        lines: dict[tuple[str, ...], dict[str, Row]] = {}
        for row in self.rows:
            line = lines.setdefault(row.labels[:at] + row.labels[at + 1 :], {})
            assert row.labels[at] not in line, f"{self.title}: {row.labels} twice"
            line[row.labels[at]] = row
        others = self.headings[:at] + self.headings[at + 1 :]
        columns = [(name, False, [labels[i] for labels in lines]) for i, name in enumerate(others)]
        for name in dict.fromkeys(row.labels[at] for row in self.rows):
            columns.append((name, True, [self._cell(line.get(name)) for line in lines.values()]))
        notes = ["; ".join(dict.fromkeys(row.note for row in line.values() if row.note)) for line in lines.values()]
        return [*columns, ("note", False, notes)] if any(notes) else columns

    def _cell(self, row: Row | None) -> str:
        if row is None:
            return ""
        published = row.printed or self._number(row.published)
        differs = row.agrees(self.within) is False or (row.published is None and row.printed)
        spread = f" ({self._range(row)})" if row.low is not None else ""
        return f"{self._number(row.ours)}{spread}" + (f" [{published}]" if differs else "")

    def _range(self, row: Row) -> str:
        return "" if row.low is None else f"{self._number(row.low)} – {self._number(row.high)}"

    def _number(self, value: float | None, sign: str = "") -> str:
        if value is None:
            return "–"
        return f"{value:{sign},.{self.digits}f}".replace("-", "−")

"""What a run wrote: the numbers beside the published ones, the files of its figures, how long it took."""

from dataclasses import dataclass
from typing import Any

from trueness.reproduce._experiment import Experiment, Size
from trueness.reproduce._table import Table

__all__ = ["Record", "duration"]

SCHEMA = 1


@dataclass(frozen=True)
class Record:
    """The outcome of one run of an experiment."""

    name: str
    size: Size
    seed: int
    seconds: float
    version: str
    tables: tuple[Table, ...]
    pictures: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]

    @property
    def command(self) -> str:
        """What is typed to get the same numbers."""
        quick = " --quick" if self.size == "quick" else ""
        seed = f" --seed {self.seed}" if self.seed else ""
        return f"trueness reproduce {self.name}{quick}{seed}"

    @property
    def agreement(self) -> tuple[int, int]:
        """Rows that agree with the published number, of those that have one."""
        return self._agreement(in_print=True)

    @property
    def beside(self) -> tuple[int, int]:
        """The same for numbers that are not in print: exact ones, or those measured by other means."""
        return self._agreement(in_print=False)

    def _agreement(self, *, in_print: bool) -> tuple[int, int]:
        counts = [table.agreement for table in self.tables if (table.against == "published") is in_print]
        return sum(agree for agree, _ in counts), sum(known for _, known in counts)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, ready for JSON."""
        plain = {name: getattr(self, name) for name in ("name", "size", "seed", "seconds", "version")}
        pictures = [list(picture) for picture in self.pictures]
        tables = [table.to_dict() for table in self.tables]
        return {"schema": SCHEMA, **plain, "tables": tables, "pictures": pictures, "remarks": list(self.remarks)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Record":
        """Read what :meth:`to_dict` made."""
        tables = tuple(Table.from_dict(table) for table in data["tables"])
        pictures = tuple((file, caption) for file, caption in data["pictures"])
        rest = {name: data[name] for name in ("name", "size", "seed", "seconds", "version")}
        return cls(**rest, tables=tables, pictures=pictures, remarks=tuple(data["remarks"]))

    def to_markdown(self, experiment: Experiment, *, level: int = 1, folder: str = "") -> str:
        """A section: what was published, what was found, figures, remarks; `folder` is where the figures are."""
        lines = [f"{'#' * level} {experiment.covers}: {experiment.title}", "", self._how(experiment), ""]
        for table in self.tables:
            source = f" ({table.against}: {table.source})" if table.source else ""
            lines += [f"**{table.title}**{source}", "", table.to_markdown(), ""]
            lines += [text + "\n" for text in (_agreed(table), table.note) if text]
        for file, caption in self.pictures:
            lines += [f"![{caption}]({folder}{file})", "", f"*{caption}*", ""]
        lines += [f"- {remark}" for remark in self.remarks]
        return "\n".join(lines).rstrip()

    def _how(self, experiment: Experiment) -> str:
        cut = " (a smaller version)" if self.size == "quick" else ""
        return f"{experiment.paper.cited}. `{self.command}`{cut}: {duration(self.seconds)} of computing."


def _agreed(table: Table) -> str:
    agree, known = table.agreement
    where = "; the others stand in brackets" if table.across and agree < known else ""
    return f"{agree:,} of {known:,} numbers agree with the {table.against} ones{where}." if known else ""


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

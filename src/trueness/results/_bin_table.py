"""The table behind a binned measure."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueness.errors import InputError, MissingLibraryError
from trueness.results._record import Record
from trueness.typing import Floats, Ints, Numbers

__all__ = ["BinTable"]

_COLUMNS = ("low_edge", "high_edge", "n", "weight", "score", "rate", "low", "high", "gap")


@dataclass(frozen=True)
class BinTable(Record):
    """One row per bin, empty bins included.

    Columns are arrays of one length; :meth:`to_dict`, :meth:`rows` and
    :meth:`to_frame` give the same numbers in other forms.
    """

    low_edge: Floats
    """Lower edge, inside the bin."""
    high_edge: Floats
    """Upper edge, outside the bin unless it is the last."""
    n: Ints
    """Rows of positive weight."""
    weight: Numbers
    """Total weight of the rows."""
    score: Floats
    """Mean score; nan in an empty bin."""
    rate: Floats
    """Event rate; nan in an empty bin."""
    low: Floats
    """Lower end of the interval for the event rate."""
    high: Floats
    """Upper end."""
    gap: Floats
    """Event rate − mean score."""
    label: tuple[Any, ...] | None
    """The class that each row of the table is about; None when there is one problem only."""
    kind: str
    """What is compared with what: 'binary', 'classwise', 'confidence' or 'top-label'."""
    level: float
    """Level of the intervals, each taken alone."""
    interval: str
    """How the intervals were made, and of what counts."""

    def __len__(self) -> int:
        return int(self.n.size)

    def columns(self) -> dict[str, Any]:
        """The columns alone, without what holds for the whole table."""
        named = {} if self.label is None else {"label": list(self.label)}
        return named | {name: getattr(self, name).tolist() for name in _COLUMNS}

    def to_dict(self) -> dict[str, Any]:
        """Columns as lists, then kind, level and interval."""
        return self.columns() | {"kind": self.kind, "level": self.level, "interval": self.interval}

    def rows(self) -> list[dict[str, Any]]:
        """One dict per bin."""
        columns = self.columns()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def to_frame(self, library: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """The columns as a frame of 'pandas', 'polars' or 'pyarrow', whichever is installed."""
        if library not in ("pandas", "polars", "pyarrow"):
            raise InputError("library", "must be 'pandas', 'polars' or 'pyarrow'", f"got {library!r}")
        import importlib

        import narwhals.stable.v2 as nw

        try:
            importlib.import_module(library)
        except ImportError as reason:
            raise MissingLibraryError(
                f"`BinTable.to_frame({library!r})` needs {library}: `pip install {library}`."
            ) from reason
        return nw.from_dict(self.columns(), backend=library).to_native()

    def __str__(self) -> str:
        head = ["bin", "n", "score", "rate", f"{100 * self.level:g} % interval", "gap"]
        lines = [[self._bin(i), f"{self.n[i]:,}", *self._numbers(i)] for i in range(len(self))]
        if self.label is not None:
            head.insert(0, "class")
            lines = [[str(name), *line] for name, line in zip(self.label, lines, strict=True)]
        widths = [max(len(row[i]) for row in [head, *lines]) for i in range(len(head))]
        left = len(head) - 5  # names and bins read from the left, numbers line up on the right

        def line(row: list[str]) -> str:
            cells = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
            return "  ".join(cells).rstrip()

        return "\n".join([line(head), *(line(row) for row in lines)])

    def _bin(self, i: int) -> str:
        last = i == len(self) - 1 or self.low_edge[i + 1] < self.high_edge[i]
        return f"[{self.low_edge[i]:.4g}, {self.high_edge[i]:.4g}{']' if last else ')'}"

    def _numbers(self, i: int) -> list[str]:
        if self.n[i] == 0:
            return ["", "", "", ""]
        interval = "" if np.isnan(self.low[i]) else f"{self.low[i]:.4f} to {self.high[i]:.4f}"
        return [f"{self.score[i]:.4f}", f"{self.rate[i]:.4f}", interval, f"{self.gap[i]:+.4f}"]

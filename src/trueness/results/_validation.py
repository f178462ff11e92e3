"""The panel of an estimator on its training rows, and on rows it has not seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueness._text.numbers import level_percent, number, signed, span
from trueness._text.strings import align, wrap
from trueness.results._panel import Panel
from trueness.results._record import Record, html_table

_WIDTH = 80


@dataclass(frozen=True)
class Validation(Record):
    """Apparent and honest panel of an estimator, and the optimism between them.

    :func:`trueness.validate` makes one.
    """

    _columns = ("apparent", "corrected", "optimism")

    apparent: Panel
    """The estimator fitted on all rows and evaluated on the same rows."""
    corrected: Panel
    """'crossfit': the panel of predictions for rows that were not used to fit them. 'bootstrap': the apparent panel
    minus the optimism."""
    optimism: Mapping[str, float] = field(hash=False)
    """Apparent − corrected value of each measure, by key."""
    method: str
    """'crossfit' or 'bootstrap'."""
    refits: int
    """Number of folds or resamples: how often the estimator was fitted, besides on all rows."""
    note: str = ""
    """What the limits of the corrected panel mean."""

    @property
    def n(self) -> int:
        """Rows of the corrected panel."""
        return self.corrected.n

    @property
    def level(self) -> float:
        """Confidence level of all limits."""
        return self.corrected.level

    def to_dict(self) -> dict[str, Any]:
        """Fields by name."""
        return super().to_dict() | {"optimism": dict(self.optimism)}

    def columns(self) -> dict[str, list[Any]]:
        """One row per measure."""
        corrected = self.corrected.estimates
        return {
            "key": list(self.corrected.names),
            "measure": [estimate.measure for estimate in corrected],
            "apparent": [estimate.value for estimate in self.apparent.estimates],
            "optimism": [self.optimism[key] for key in self.corrected.names],
            "corrected": [estimate.value for estimate in corrected],
            "low": [estimate.low for estimate in corrected],
            "high": [estimate.high for estimate in corrected],
            "floor": [estimate.floor for estimate in corrected],
        }

    def _repr_html_(self) -> str:
        head, *lines = self._table()
        return html_table(self._title(), head, lines, [self.note])

    def __str__(self) -> str:
        lines = align(self._table(), [False, True, True, True, True]).splitlines()
        return "\n".join([wrap(self._title(), _WIDTH), "", *lines, "", wrap(self.note, _WIDTH)]).rstrip()

    def _title(self) -> str:
        what = f"{self.refits:,} {'folds' if self.method == 'crossfit' else 'bootstrap resamples'}"
        return f"Validation by {what}: {self.corrected.rows_in_words()}"

    def _table(self) -> list[list[str]]:
        table = [["", "apparent", "optimism", "corrected", f"{level_percent(self.level)} limits"]]
        pairs = zip(self.corrected.names, self.apparent.estimates, self.corrected.estimates, strict=True)
        for key, before, after in pairs:
            limits = span(after.low, after.high) if after.bounded else "–"
            optimism = signed(self.optimism[key])
            table.append([after.measure, number(before.value), optimism, number(after.value), limits])
        return table

"""The panel of an estimator on its training rows, and on rows it has not seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueness._text.numbers import level_percent, number, signed, span
from trueness._text.strings import align, wrap
from trueness.results._panel import Panel, PanelStyle, check_style
from trueness.results._record import Record, html_table

_WIDTH = 80
# Whose apparent values a text repeats.
_KEY_RESULTS = ("slope", "brier", "auc")


@dataclass(frozen=True)
class Validation(Record):
    """Apparent and corrected panels of an estimator, and their difference, the optimism.

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

    def _entries(self) -> dict[str, Any]:
        """Fields by name."""
        return super()._entries() | {"optimism": dict(self.optimism)}

    def text(self, style: PanelStyle = "tripod") -> str:
        """The internal validation in sentences for a paper, as :meth:`Panel.text` writes them."""
        check_style(style)
        methods = (
            f"The model was validated internally with {self._refits_in_words()}: results are {self._correction()}."
        )
        changes = [
            f"{estimate.measure} {number(estimate.value, 3)} (optimism {signed(self.optimism[key], 3)})"
            for key, estimate in zip(self.apparent.names, self.apparent.estimates, strict=True)
            if key in _KEY_RESULTS
        ]
        results = f"On the training rows themselves the results were: {', '.join(changes)}."
        return self.corrected.text_of_training_rows(f"{methods} {self.note}", results)

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
        return html_table(self._title(), head, lines, [self._footnote()])

    def __str__(self) -> str:
        lines = align(self._table(), [False, True, True, True, True]).splitlines()
        return "\n".join([wrap(self._title(), _WIDTH), "", *lines, "", wrap(self._footnote(), _WIDTH)])

    def _title(self) -> str:
        return f"Validation by {self._refits_in_words()}: {self.corrected.rows_in_words()}"

    def _footnote(self) -> str:
        floors = any(not e.bounded and not math.isnan(e.floor) for e in self.corrected.estimates)
        floor = " Floor: the mean for a calibrated model with the same predictions." if floors else ""
        return f"Corrected: {self._correction()}. {self.note}{floor}".rstrip()

    def _refits_in_words(self) -> str:
        return f"{self.refits:,} {'folds' if self.method == 'crossfit' else 'bootstrap resamples'}"

    def _correction(self) -> str:
        if self.method == "crossfit":
            return "from the pooled predictions of models that were not fitted on the row"
        return (
            "apparent minus optimism (Harrell), the mean over resamples of the value on the resample minus the "
            "value on all rows"
        )

    def _table(self) -> list[list[str]]:
        table = [["", "apparent", "optimism", "corrected", f"{level_percent(self.level)} limits"]]
        pairs = zip(self.corrected.names, self.apparent.estimates, self.corrected.estimates, strict=True)
        for key, before, after in pairs:
            floor = "–" if math.isnan(after.floor) else f"floor {number(after.floor)}"
            limits = span(after.low, after.high) if after.bounded else floor
            optimism = signed(self.optimism[key])
            table.append([after.measure, number(before.value), optimism, number(after.value), limits])
        return table


@dataclass(frozen=True)
class ValidationSize(Record):
    """Rows that a validation needs: for each criterion, and for all of them.

    The columns `criterion`, `target`, `size` and `events` have one entry per criterion.

    Examples
    --------
    >>> print(ValidationSize(905, ("O/E",), ("95 % limits 1.00 apart",), (905,), (17,), 0.018, 0.8, 0.95, 0.8))
    criterion  target                  rows  events
    O/E        95 % limits 1.00 apart   905      17
    <BLANKLINE>
    905 rows meet all criteria, if 1.8 % of them are events.
    """

    _columns = ("criterion", "target", "size", "events")

    n: int | None
    """Rows that meet all criteria; None if no number that was tried does."""
    criterion: tuple[str, ...]
    """What is estimated, tested or accepted."""
    target: tuple[str, ...]
    """How precisely, or what must be detected, in words."""
    size: tuple[int | None, ...]
    """Rows that each criterion needs; None if no number that was tried is enough."""
    events: tuple[int | None, ...]
    """The events expected among them."""
    prevalence: float
    """The event rate."""
    c_statistic: float
    """The c-statistic (area under the ROC curve); nan if unknown."""
    level: float
    """Confidence level of the limits; tests reject at 1 − level."""
    power: float
    """Probability with which tests should detect what they are planned for."""
    notes: tuple[str, ...] = ()
    """What else to know."""

    def columns(self) -> dict[str, list[Any]]:
        """One row per criterion."""
        columns = {"criterion": self.criterion, "target": self.target, "rows": self.size, "events": self.events}
        return {name: list(values) for name, values in columns.items()}

    def __str__(self) -> str:
        counts = [["–" if n is None else f"{n:,}" for n in column] for column in (self.size, self.events)]
        rows = zip(self.criterion, self.target, *counts, strict=True)
        text = align([("criterion", "target", "rows", "events"), *rows], (False, False, True, True))
        return "\n".join([text, "", self.in_words(), *self.notes])

    def in_words(self) -> str:
        """The rows that meet all criteria, or that none do, as a sentence."""
        rate = level_percent(float(f"{self.prevalence:.3g}"))
        if self.n is not None:
            return f"{self.n:,} rows meet all criteria, if {rate} of them are events."
        others = max((size for size in self.size if size is not None), default=None)
        rest = "" if others is None else f"; {others:,} rows meet the others, if {rate} of them are events"
        return f"No number of rows that was tried meets all criteria{rest}."

"""Numbers with their limits: keys for JSON and CSV, texts for tables."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trueness._text.numbers import number, percentage, span
from trueness._text.table import Cell

if TYPE_CHECKING:
    from trueness.results import Estimate

_NO_INTERVAL = "no valid interval is known; compare with the value if calibrated."
_FLOORS = "If calibrated: the mean over labels drawn from the scores (noise floor)."


def with_limits(key: str, estimate: "Estimate | None") -> dict[str, float]:
    return {f"{key}_{end}": getattr(estimate, end, math.nan) for end in ("low", "high", "floor")}


class Texts(NamedTuple):
    form: str
    decimals: int = 4

    def text(self, value: float) -> str:
        if self.form == "count" and not math.isnan(value):
            return f"{value:,.0f}"
        return percentage(value) if self.form == "percent" else number(value, self.decimals)

    def value(self, value: float) -> Cell:
        return Cell(value, self.text(value))

    def interval(self, low: float, high: float) -> Cell:
        """An interval in a table; a dash if there is none."""
        if math.isnan(low) and math.isnan(high):
            return Cell(low, "–")
        return Cell(low, span(low, high, self._replace(decimals=4).text))


def limits_notes(found: Sequence[tuple[str, "Estimate"]], *, clustered: bool = False) -> list[str]:
    """The meaning of the value if calibrated, and which measures, by name, have no interval."""
    floors = [name for name, one in found if not math.isnan(one.floor)]
    without: dict[str, list[str]] = {}
    for name, one in found:
        if not one.bounded and math.isfinite(one.value):
            reason = _NO_INTERVAL if name in floors else f"{one.note[:1].lower()}{one.note[1:]}"
            without.setdefault(reason, []).append(name)
    reasons = [f"{join_names(names)}: {reason}" for reason, names in without.items() if reason]
    whose = [(f"{join_names([name])} {number(one.value)}", one.where) for name, one in found if one.where]
    reasons += dict.fromkeys(f"{which}: the gap of {where}." for which, where in whose)
    from trueness.results._inference import INDEPENDENT_FLOOR  # not for the start of the command line

    explained = f"{_FLOORS} {INDEPENDENT_FLOOR}" if clustered else _FLOORS
    return [explained, *reasons] if floors else reasons


def join_names(names: Iterable[str]) -> str:
    """The names of measures in a sentence, each once."""
    return ", ".join(dict.fromkeys(name.removeprefix("– ").replace(", %", "").replace(",", "") for name in names))

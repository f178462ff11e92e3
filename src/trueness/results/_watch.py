"""What a watch has seen: its looks, and the shift that they leave possible."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueness._text.numbers import level_percent, number
from trueness.results._record import Record
from trueness.typing import Floats, Ints


@dataclass(frozen=True)
class Shift(Record):
    """One constant shift of the log-odds, with limits that hold at all looks together."""

    value: float
    """The likeliest shift: above 0 if events are more frequent than predicted."""
    low: float
    """Lower limit; infinite beyond ±3, nan if no constant shift agrees with all looks."""
    high: float
    """Upper limit."""
    level: float
    """Confidence level, at all looks together."""

    @property
    def constant(self) -> bool:
        """Whether some constant shift agrees with all looks."""
        return not math.isnan(self.low)

    def __str__(self) -> str:
        if not self.constant:
            return "The shift was not constant: begin again at the onset."
        if math.isinf(self.low) and math.isinf(self.high):
            return "The looks give no limits of a constant shift of the log-odds."
        ends = f"{number(self.low)} to {number(self.high)}"
        return (
            f"Shift of the log-odds {number(self.value)}, {level_percent(self.level)} confidence at all looks: {ends}"
        )


@dataclass(frozen=True)
class WatchHistory(Record):
    """The looks of one stream."""

    _columns = ("position", "n", "observed", "expected", "evidence", "slope", "slope_low", "slope_high")

    position: tuple[Any, ...]
    """The position of each look, as given."""
    n: Ints
    """Rows."""
    observed: Floats
    """Events."""
    expected: Floats
    """The sum of the scores."""
    evidence: Floats
    """E after the look."""
    slope: Floats
    """The slope of the log-odds in the rows of the look alone; nan where it has no finite estimate."""
    slope_low: Floats
    """Its lower limit, in that look alone."""
    slope_high: Floats
    """Upper limit."""

    def __str__(self) -> str:
        span = f", {self.position[0]} to {self.position[-1]}, evidence {self.evidence[-1]:.3g}" if self.position else ""
        return f"{len(self.position):,} looks{span}"


@dataclass(frozen=True)
class WatchedSegment(Record):
    """What a watch says of one segment."""

    segment: str
    """Its name; '' for all rows."""
    evidence: float
    """E against calibration."""
    weight: float
    """Its weight in the evidence of all segments; 1 for all rows."""
    n: int
    """Rows."""
    observed: float
    """Events."""
    expected: float
    """The sum of the scores."""
    since: Any
    """The position at which its error probably began; None without evidence."""
    direction: str
    """The error in words; '' without evidence."""
    listed: bool
    """Whether it is one of the alarms."""

    def __str__(self) -> str:
        error = f", since {self.since}: {self.direction}" if self.direction else ""
        return f"{self.segment or 'all rows'}{error} (evidence {self.evidence:.2g}, n = {self.n:,})"


_METRICS = {
    "evidence": "E against calibration, by segment.",
    "rows": "Rows counted, by segment.",
    "observed": "Events, by segment.",
    "expected": "Sum of the scores, by segment.",
    "listed": "1 for segments that are alarms.",
}


def prometheus(name: str, alarm: bool, watched: Sequence[WatchedSegment]) -> str:
    """The numbers of a watch in Prometheus' text format."""
    metrics = {"alarm": ("1 since the first alarm.", {"": float(alarm)})}
    for key, text in _METRICS.items():
        field = "n" if key == "rows" else key
        metrics[key] = (
            text,
            {one.segment: float(getattr(one, field)) for one in watched if one.segment or field != "listed"},
        )
    lines = []
    for metric, (text, by) in metrics.items():
        lines += [f"# HELP trueness_watch_{metric} {text}", f"# TYPE trueness_watch_{metric} gauge"]
        for segment, value in by.items():
            names = {"model": name, "segment": segment}
            labels = ",".join(f'{key}="{_escaped(one)}"' for key, one in names.items() if one)
            shown = f"{{{labels}}}" if labels else ""
            lines.append(f"trueness_watch_{metric}{shown} {'+Inf' if value == math.inf else repr(value)}")
    return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""Races as lines of a Markdown table: seconds, ratios to ours, and whether a bar is met."""

import gc
import statistics
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from harness.rounds import Pace, Samples, race, ratio

HEAD = ("what", "rounds", "wall", "CPU", "wall, times ours", "CPU, times ours", "bar")


class Line(NamedTuple):
    """A row of the table."""

    what: str
    samples: Samples
    times: float = 1.0
    """By how much a time is multiplied: draws asked for over draws timed."""
    against: Samples | None = None
    """Ours, for a ratio."""
    at_least: float | None = None
    """The ratio that is promised, if any."""
    bar: str = ""
    """A bar of another kind, with its verdict."""

    def cells(self) -> list[str]:
        wall, cpu = (statistics.median(s.values()) * self.times for s in (self.samples.wall, self.samples.cpu))
        cells = [self.what, str(len(self.samples.wall)), seconds(wall), seconds(cpu)]
        if self.against is None:
            return [*cells, "", "", self.bar]
        by_wall = ratio(self.samples.wall, self.against.wall).median * self.times
        by_cpu = ratio(self.samples.cpu, self.against.cpu).median * self.times
        bar = self.bar
        if self.at_least is not None:
            bar = f"≥ {self.at_least:g}×: {verdict(min(by_wall, by_cpu) >= self.at_least)}"
        return [*cells, times(by_wall), times(by_cpu), bar]


def times(value: float) -> str:
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


def seconds(value: float) -> str:
    return f"{value:,.3g} s" if value >= 1 else f"{value * 1e3:,.3g} ms"


def verdict(good: bool) -> str:
    return "pass" if good else "**FAIL**"


def raced(calls: dict[str, Callable[[], Any]], pace: Pace) -> dict[str, Samples]:
    """Time the calls; one that fails ends the script."""
    gc.freeze()  # what the libraries loaded is not worth traversing during anybody's turn
    found = race(calls, pace)
    for name, samples in found.items():
        if samples.error:
            raise SystemExit(f"{name}: {samples.error}")
    return found


def print_head() -> None:
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")


def print_lines(lines: Iterable[Line]) -> None:
    for line in lines:
        print("| " + " | ".join(line.cells()) + " |", flush=True)

"""Progress of several experiments on a terminal: a bar for all of them and one for the pieces of the current one."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import click

from trueness._progress import Report, reporter
from trueness_papers.experiment import Experiment

__all__ = ["Bars", "progress_bars"]


class Bars(Protocol):
    """What the command tells the bars."""

    def follow(self, experiment: Experiment) -> Report:
        """The function of (done, total) to call as the pieces of an experiment are finished."""

    def echo(self, text: str, *, err: bool = False) -> None:
        """Print a line above the bars."""


@contextmanager
def progress_bars(experiments: Sequence[Experiment]) -> Iterator[Bars]:
    """Two bars on stderr if that is a terminal, otherwise none."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield _NoBars()
        return
    bars = _TerminalBars(experiments)
    try:
        yield bars
    finally:
        bars.close()


class _NoBars:
    def follow(self, experiment: Experiment) -> Report:  # noqa: ARG002  # the signature is that of Bars
        return reporter(False)

    def echo(self, text: str, *, err: bool = False) -> None:
        click.echo(text, err=err)


class _TerminalBars:
    """The first bar counts minutes of computing as estimated, the second one pieces."""

    def __init__(self, experiments: Sequence[Experiment]) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
        )
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self._experiments = experiments
        self._bars = Progress(*columns, *times, console=Console(stderr=True), transient=True)
        self._all = self._bars.add_task(
            "all experiments", total=sum(e.minutes for e in experiments), count=""
        )
        self._one = self._bars.add_task("", total=1, count="")

    def follow(self, experiment: Experiment) -> Report:
        place = self._experiments.index(experiment)
        before = sum(e.minutes for e in self._experiments[:place])
        self._bars.reset(self._one, description=experiment.name, total=1, count="")
        self._bars.update(
            self._all, completed=before, count=f"{place + 1} of {len(self._experiments)}"
        )
        self._bars.start()

        def report(done: int, total: int) -> None:
            self._bars.update(
                self._one, completed=done, total=total, count=f"{done:,} of {total:,} pieces"
            )
            self._bars.update(self._all, completed=before + experiment.minutes * done / total)

        return report

    def echo(self, text: str, *, err: bool = False) -> None:
        self.close()  # the bars are wiped, and drawn again below the line when work goes on
        click.echo(text, err=err)

    def close(self) -> None:
        self._bars.stop()

"""How far a long run has come: a bar on a terminal, nothing where standard error is a file or a pipe."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

__all__ = ["Report", "progress"]

_PATIENCE = 1.0


class Report(Protocol):
    """What is called as the work goes on."""

    def __call__(self, done: int, total: int) -> None:
        """Say how much is done of how much."""


def _silent(done: int, total: int) -> None:
    pass


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """A bar that comes after a second and goes with the work; it needs rich, and a person who looks."""
    if not sys.stderr.isatty():
        yield _silent
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield _silent
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        yield _Late(bar, what)
    finally:
        bar.stop()


class _Late:
    """Work that is done at once shows no bar."""

    def __init__(self, bar: Any, what: str) -> None:
        self._bar, self._what = bar, what
        self._began = time.monotonic()
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._task is None:
            if time.monotonic() - self._began < _PATIENCE:
                return
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=total)
        self._bar.update(self._task, completed=done, total=total)

"""Progress of long work: a function of (done, total), and a bar on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from trueness.errors import InputError

Report: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) as the work goes on."""

Progress: TypeAlias = Report | bool
"""The caller's own function, or whether to show the bar of this file."""

_PATIENCE = 0.5
_PAUSE = 0.1
_STARTED = time.monotonic()
"""About when the command was started: libraries are imported before the first bar, and that counts
as waiting."""
_WIDTH = 30
_LABEL = 40


def reporter(progress: Progress) -> Report:
    """The function to call after each step: the caller's own, a bar on a terminal, or nothing."""
    if callable(progress):
        return progress
    if not isinstance(progress, bool):
        raise InputError(
            "progress", "must be True, False or a function of (done, total)", f"got {progress!r}"
        )
    if progress and _on_terminal():
        return _Bar()
    return _silent


@contextmanager
def progress_bar(label: str) -> Iterator[Report]:
    """A bar with a label on a terminal, wiped out when the block ends; nothing elsewhere."""
    if not _on_terminal():
        yield _silent
        return
    from threading import Timer  # only on a terminal

    bar = _Bar(label)
    # The first step may take long.
    timer = Timer(max(0.0, _STARTED + _PATIENCE - time.monotonic()), bar.draw)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        timer.join()
        bar.clear()


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _silent(done: int, total: int) -> None:
    pass


class _Bar:
    """One line on stderr, for runs of more than half a second; it disappears when all is done."""

    def __init__(self, label: str = "") -> None:
        # Names of files may hold control characters.
        printable = "".join(c if c.isprintable() else "?" for c in label)
        self._label = f"{printable[:_LABEL]} " if label else ""
        self._began = time.monotonic()
        self._drawn = 0.0
        self._done = 0
        self._total = 1

    def __call__(self, done: int, total: int) -> None:
        self._done = done
        self._total = total
        now = time.monotonic()
        if done >= total:
            self.clear()
        elif now - self._began > _PATIENCE and now - self._drawn > _PAUSE:
            self.draw()

    def draw(self) -> None:
        """Draw the bar as it is, unless all is done."""
        done = self._done
        total = self._total
        if done < total:
            self._drawn = time.monotonic()
            seconds = (self._drawn - self._began) * (total - done) / done if done else 0.0
            left = f"{done:,} of {total:,}, about {seconds:.0f} s left" if done else "…"
            self._write(f"{self._label}{'█' * (_WIDTH * done // total):░<{_WIDTH}} {left}")

    def clear(self) -> None:
        """Wipe the line, if there is one."""
        if self._drawn:
            self._write("")
            self._drawn = 0.0

    def _write(self, text: str) -> None:
        encoding = sys.stderr.encoding or "ascii"
        text = text.encode(encoding, "replace").decode(encoding)
        # "\x1b[K" clears the rest of a longer line.
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

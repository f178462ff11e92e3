"""How far a long run has come, told to whoever wants to know."""

import sys
import time
from collections.abc import Callable
from typing import TypeAlias

from trueness.errors import InputError

__all__ = ["Progress", "reporter"]

Progress: TypeAlias = Callable[[int, int], None] | bool
"""A function of (done, total), or whether the bar of this file is shown."""

_PATIENCE = 2.0
_PAUSE = 0.1
_WIDTH = 30


def reporter(progress: Progress) -> Callable[[int, int], None]:
    """The function to call after each step: the caller's own, a bar on a terminal, or nothing."""
    if callable(progress):
        return progress
    if not isinstance(progress, bool):
        raise InputError("progress", "must be True, False or a function of (done, total)", f"got {progress!r}")
    return _Bar() if progress and sys.stderr is not None and sys.stderr.isatty() else _silent


def _silent(done: int, total: int) -> None:
    pass


class _Bar:
    """One line on stderr, for runs of more than two seconds; it wipes itself out at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._drawn = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done >= total:
            if self._drawn:
                self._write("")
        elif now - self._began > _PATIENCE and now - self._drawn > _PAUSE:
            self._drawn = now
            left = (now - self._began) * (total - done) / done if done else 0.0
            filled = "█" * (_WIDTH * done // total)
            self._write(f"{filled:░<{_WIDTH}} {done:,} of {total:,}, about {left:.0f} s left")

    def _write(self, text: str) -> None:
        # "\x1b[K" clears what a longer line left behind.
        encoding = sys.stderr.encoding or "ascii"
        shown = text.encode(encoding, "replace").decode(encoding)
        sys.stderr.write(f"\r{shown}\x1b[K")
        sys.stderr.flush()

"""Ctrl-C: in the middle of the work an exception, which cleans up; before and after it, the end at once."""

import _thread
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended."""
_SOON = 0.01


def end_on_interrupt() -> None:
    """From here on, let Ctrl-C end the process silently, unless another handler is installed.

    While modules are loaded, and while Python shuts down, there is nothing to clean up, and an exception may meet code
    that prints it.
    """
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            sys.unraisablehook = _interrupt_again
    except ValueError:  # not the main thread, which alone receives signals
        pass


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C is a KeyboardInterrupt, also after :func:`end_on_interrupt`.

    Code that is interrupted may make an error of its own of it, as unfinished imports do, or lose it: the end is a
    KeyboardInterrupt all the same.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    handler = RaiseInterrupt()
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    except Exception as error:
        if handler.pressed and getattr(error, "exit_code", None) != INTERRUPTED:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if handler.pressed:
        raise KeyboardInterrupt


class RaiseInterrupt:
    """A handler of Ctrl-C that raises a KeyboardInterrupt, as Python's own does, and remembers it."""

    pressed = False

    def __call__(self, number: int, frame: Any) -> None:
        self.pressed = True
        signal.default_int_handler(number, frame)


def open_closed_streams() -> None:
    """Write nowhere what goes to a stream that was closed before the start (``>&-``), in place of which is None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def discard_output() -> None:
    """Send what is not yet written nowhere: Python writes it at its end, and complains if it cannot."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _interrupt_again(lost: Any) -> None:
    """Raise a KeyboardInterrupt once more that met a callback, from which nothing can be raised."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        # By another thread, a little later: here, too, nothing can be raised.
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    time.sleep(_SOON)
    _thread.interrupt_main()

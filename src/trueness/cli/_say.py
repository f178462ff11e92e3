"""What is said on standard error, and how an error ends a command."""

import errno
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from trueness.cli._words import visible
from trueness.errors import TruenessError

__all__ = ["Refusal", "refusing", "say"]


class Refusal(click.ClickException):
    """Wrong input: one paragraph, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002  # click's signature
        """Say what is wrong."""
        say(f"Error: {self.message}")


def say(text: str) -> None:
    """One paragraph on standard error, wrapped only for eyes, never for a log."""
    text = visible(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, max(width, 40), break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=True)


@contextmanager
def refusing(debug: bool) -> Iterator[None]:
    """Turn errors into a paragraph, or let them through; none may end with the code of a gate that failed."""
    try:
        yield
    except click.exceptions.Exit:
        raise
    except Exception as reason:
        # A reader that has seen enough is no error; click knows.
        known = isinstance(reason, click.ClickException) or getattr(reason, "errno", None) == errno.EPIPE
        if debug or known:
            raise
        raise Refusal(_told(reason)) from reason


def _told(reason: Exception) -> str:
    if isinstance(reason, TruenessError):
        return str(reason)
    if isinstance(reason, OSError):
        about = f"{reason.filename}: " if reason.filename else ""
        return f"{about}{reason.strerror or reason}."
    if isinstance(reason, MemoryError):
        return "The rows do not fit into memory. `trueness measure` and `trueness gate` can read with `--stream`."
    said = str(reason).strip().partition("\n")[0]
    return f"A mistake in trueness, not in your data: {type(reason).__name__}: {said}. `--debug` shows where."

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
    """Turn errors of the library, of the disk and of the memory into a paragraph, or let them through."""
    try:
        yield
    except TruenessError as reason:
        if debug:
            raise
        raise Refusal(str(reason)) from reason
    except OSError as reason:
        if debug or reason.errno == errno.EPIPE:  # a reader that has seen enough is no error; click knows
            raise
        about = f"{reason.filename}: " if reason.filename else ""
        raise Refusal(f"{about}{reason.strerror or reason}.") from reason
    except MemoryError as reason:
        if debug:
            raise
        raise Refusal(
            "The rows do not fit into memory. `measure` and `gate` read by stream with `--stream`."
        ) from reason

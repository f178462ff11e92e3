"""Errors, warnings and notes in the words of the command line, on standard error."""

import errno
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import click

from trueness._text.strings import visible, wrap
from trueness.errors import InputError, Place, TruenessError, Wording, capital, collected_warnings

_Words: TypeAlias = Mapping[str, str] | None
_WORDS = ("missing", "from_logits", "percent", "kind", "method", "measure", "scheme", "bound", "fitted")
"""Arguments of the library that are options, and whose values are words or nothing."""
_OPTIONS = {
    *(*_WORDS, "pos_label", "labels", "sum_tolerance", "clip_tolerance", "bins", "level", "cost_fp", "cost_fn"),
    *("rounded_to", "resamples", "alpha", "epsilon", "split", "portfolio"),
}
_REMEDIES = {
    "swapped": "Swap `--label` and `--prob`.",
    "column-stack": "`--prob-columns` names one column per class.",
    "name-grades": "`--grades` names a column of grades, `--bins A=0.01,B=0.1,C=1` cut-offs.",
    "matrix": "Several classes need one column of scores each: `--prob-columns` names them.",
}


class Refusal(click.ClickException):
    """Wrong input: one paragraph, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002  # click's signature
        print_paragraph(f"Error: {self.message}")


class CommandError(TruenessError):
    """An error of the library in the words of the command line."""


def note(*texts: str) -> None:
    for text in texts:
        print_paragraph(f"note: {text}")


def warning(*texts: str, about: str = "") -> None:
    """Print warnings on standard error, each with what it is about."""
    for text in texts:
        print_paragraph(f"warning: {about}{': ' if about else ''}{text}")


def print_paragraph(text: str) -> None:
    """Print a paragraph on standard error, wrapped on a terminal only: a log keeps it in one line."""
    # On a terminal a progress bar may stand in the line.
    wrapped = f"\r\x1b[K{wrap(text, shutil.get_terminal_size().columns)}" if sys.stderr.isatty() else visible(text)
    click.echo(wrapped, err=True)


@contextmanager
def errors_as_messages(debug: bool) -> Iterator[None]:
    """Turn any error into a message and exit code 2, so that none ends with the code of a failed gate."""
    try:
        yield
    except Exception as reason:
        # A closed pipe (`| head`) is not an error, and has an exit code of its own.
        known = isinstance(reason, click.ClickException | click.exceptions.Exit)
        if debug or known or getattr(reason, "errno", None) == errno.EPIPE:
            raise
        raise Refusal(_message(reason)) from reason


def _message(reason: Exception) -> str:
    if isinstance(reason, TruenessError):
        return str(reason)
    if isinstance(reason, OSError):
        file = f"{reason.filename}: " if reason.filename else ""
        return f"{file}{reason.strerror or reason}."
    if isinstance(reason, MemoryError):
        return "The rows do not fit into memory. `trueness measure` and `trueness gate` can read with `--stream`."
    what = ": ".join([type(reason).__name__, *str(reason).strip().splitlines()[:1]])
    return f"This is a bug in trueness, not a problem with your data: {what}. `--debug` shows where."


def wording(
    arguments: _Words = None, place: Callable[[Place], str] = str, *, options: _Words = None, remedies: _Words = None
) -> Wording:
    """How the command line words the library's messages.

    `arguments` names the columns behind the arguments; `options` adds spellings of arguments such as
    ``{"n_bins": "--bins"}``; `remedies` adds ways out.

    >>> print(wording().spell('`missing="drop"` leaves such rows out.'))
    `--missing drop` leaves such rows out.
    """

    def option(name: str, value: str | None) -> str:
        if options and name in options:
            return f"`{options[name]}{_plain_value(name, value, '=')}`"
        if (name, value) == ("weight_type", "'importance'"):
            return "`--method influence` (of squared-ece, brier and log-loss)"
        if name not in _OPTIONS:
            return f"`{name}`" if value is None else f"`{name}={value}`"
        return f"`--{name.replace('_', '-')}{_plain_value(name, value, ' ')}`"

    return Wording(arguments or {}, {**_REMEDIES, **(remedies or {})}, place, option)


def _plain_value(name: str, value: str | None, separator: str) -> str:
    """A Python value as one types it after an option."""
    if value is None:
        return ""
    if name == "labels":
        value = "" if "…" in value else ",".join(part.strip(" '\"") for part in value.strip("[]").split(","))
    elif name != "pos_label":  # whose quotes show that the label is text
        value = value.strip("'\"")
    if name in _WORDS:
        value = "" if value == "True" else value.replace("_", "-")
    return f"{separator}{value}" if value else ""


@contextmanager
def reword_messages(words: Wording, context: str = "") -> Iterator[list[str]]:
    """Reword the library's errors, and collect its warnings, each once."""
    messages: list[str] = []
    prefix = f"{context}: " if context else ""
    with collected_warnings() as caught:
        try:
            yield messages
        except InputError as error:
            counts_rows = error.place is not None and words.place(error.place).startswith("row")
            counting = " Rows count from 0." if counts_rows else ""
            own = words.arguments.get(f"{error.context}: {error.argument}")
            text = error.render(words._replace(arguments={**words.arguments, error.argument: own}) if own else words)
            text = f"it{text[2:]}" if prefix and text.startswith("It ") else text
            raise CommandError(f"{prefix}{text}{counting}") from error
    messages += dict.fromkeys(capital(words.spell(message)) for _, message in caught)

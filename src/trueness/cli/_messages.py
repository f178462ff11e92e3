"""Errors, warnings and notes in the words of the command line, on standard error."""

import errno
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from trueness.errors import TruenessError, TruenessWarning

__all__ = [
    "Refusal",
    "collect_warnings",
    "errors_as_messages",
    "in_options",
    "note",
    "print_paragraph",
    "visible",
    "warning",
]


class Refusal(click.ClickException):
    """Wrong input: one paragraph, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002  # click's signature
        """Say what is wrong."""
        print_paragraph(f"Error: {self.message}")


def note(text: str) -> None:
    """Print a note on standard error."""
    print_paragraph(f"note: {text}")


def warning(text: str) -> None:
    """Print a warning on standard error."""
    print_paragraph(f"warning: {text}")


def print_paragraph(text: str) -> None:
    """Print a paragraph on standard error, wrapped on a terminal only: a log keeps it in one line."""
    text = visible(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, max(width, 40), break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=True)


@contextmanager
def errors_as_messages(debug: bool) -> Iterator[None]:
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
        raise Refusal(_message(reason)) from reason


def _message(reason: Exception) -> str:
    if isinstance(reason, TruenessError):
        return str(reason)
    if isinstance(reason, OSError):
        about = f"{reason.filename}: " if reason.filename else ""
        return f"{about}{reason.strerror or reason}."
    if isinstance(reason, MemoryError):
        return "The rows do not fit into memory. `trueness measure` and `trueness gate` can read with `--stream`."
    said = str(reason).strip().partition("\n")[0]
    return f"A mistake in trueness, not in your data: {type(reason).__name__}: {said}. `--debug` shows where."


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the library's warnings, each once; other warnings are passed on."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruenessWarning)
        yield messages
    for w in caught:
        if not issubclass(w.category, TruenessWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        elif (text := in_options(str(w.message))) not in messages:
            messages.append(text)


_ARGUMENTS = (
    *("pos_label", "labels", "missing", "sum_tolerance", "clip_tolerance", "from_logits", "bins", "level", "kind"),
    *("method", "measure", "resamples", "fitted", "alpha", "epsilon", "scheme", "bound", "split"),
)
_ARGUMENT = re.compile(rf"`({'|'.join(_ARGUMENTS)})(?:=([^`]*))?`")
_RULES = (
    ("`EqualMass` bins", "`--bins`"),
    ("`Distinct()`", "`--bins distinct`"),
    ("the arguments seem swapped. Labels come first.", "`--label` and `--prob` seem swapped."),
    ("`weight_type='importance'` takes", "`--method influence`, of squared-ece, brier and log-loss, takes"),
)


def visible(text: str) -> str:
    r"""Control characters, and others that cannot be seen, as text.

    Examples
    --------
    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def in_options(message: str, arguments: Mapping[str, str] | None = None) -> str:
    """A message about arguments as one about options and what the arguments stand for.

    Examples
    --------
    >>> in_options('`y_prob` must not have missing values. `missing="drop"` leaves such rows out.',
    ...            {"y_prob": "column 'p'"})
    "Column 'p' must not have missing values. `--missing drop` leaves such rows out."
    """
    message = _ARGUMENT.sub(_option, message)
    message = re.sub(r"\bmethod='([\w-]+)'", r"`--method \1`", message)
    for rule, words in _RULES:
        message = message.replace(rule, words)
    for argument, words in (arguments or {}).items():
        message = message.replace(f"`{argument}`", words)
    message = message[:1].upper() + message[1:]
    return f"{message} Rows count from 0." if re.search(r"\brow \d", message) else message


def _option(argument: re.Match[str]) -> str:
    name, value = argument[1].replace("_", "-"), argument[2] or ""
    if name == "labels":
        value = ",".join(part.strip(" '\"") for part in value.strip("[]").split(",")) if "…" not in value else ""
    elif name in ("missing", "from-logits", "kind", "method", "measure", "scheme", "bound", "fitted"):
        value = value.strip("'\"").replace("True", "").replace("_", "-")
    return f"`--{name} {value}".rstrip() + "`"

"""The commands: which there are, and where each is loaded from when it is asked for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from trueness._version import __version__
from trueness.cli._interrupt import interruptible
from trueness.cli._messages import errors_as_messages, print_paragraph

__all__ = ["main"]

_VERBS = {
    "report": "_report",
    "measure": "_measure",
    "test": "_test",
    "compare": "_compare",
    "gate": "_gate",
    "tally": "_tally",
    "plot": "_plot",
    "plan": "_plan",
    "fit": "_fit",
    "apply": "_apply",
    "reproduce": "_reproduce",
}
# The same commands for sums: other options, other code.
_SUMS = {"measure": "_sums", "report": "_report"}
_INTERRUPTED = 130


class Verbs(click.Group):
    """Commands that are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """In the order in which one meets them."""
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import one command."""
        if cmd_name not in _VERBS:
            return None
        command: click.Command = import_module(f"trueness.cli.{_VERBS[cmd_name]}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, or say which one may be meant; of tallies, `measure` and `report` are others."""
        near = get_close_matches(args[0].lower(), _VERBS, n=1)
        if args[0] not in _VERBS and near and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        name, command, rest = super().resolve_command(ctx, args)
        if name in _SUMS and _reads_sums(rest):
            command = import_module(f"trueness.cli.{_SUMS[name]}").__dict__[name]
        return name, command, rest

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the options; help and version are printed here."""
        with _ended():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _ended(debug="--debug" in ctx.args):
            return super().invoke(ctx)


def _reads_sums(words: list[str]) -> bool:
    """Whether a .tally file is among what is read."""
    before = ["", *words]
    return any(
        word.endswith(".tally") and last not in ("-o", "--output") and not word.startswith("-")
        for last, word in zip(before, words, strict=False)
    )


@contextmanager
def _ended(debug: bool = False) -> Iterator[None]:
    """Ctrl-C ends with the code that shells give to it, a full disk in one line; neither with a traceback."""
    try:
        with interruptible(), errors_as_messages(debug):
            yield
    except KeyboardInterrupt:
        print_paragraph("Interrupted.")
        raise click.exceptions.Exit(_INTERRUPTED) from None


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Tell whether predicted probabilities mean what they say.

    \b
      trueness report --demo
      trueness measure predictions.csv --label churned --prob model

    Exit codes: 0 done, 1 a gate failed, 2 the options or the data are wrong, 130 interrupted.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    # A terminal that lacks a letter shows its number; the command does not fail for it.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

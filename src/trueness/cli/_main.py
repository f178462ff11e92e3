"""The commands, each imported when it is used."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, pairwise

import click

from trueness._lazy import deferred
from trueness._version import __version__
from trueness.cli._printing import errors_as_messages
from trueness.errors import did_you_mean

_QUESTIONS = {
    "Judge": ("report", "document", "measure", "test", "answers", "plot"),
    "Find where": ("segments", "slices", "grades"),
    "Decide": ("compare", "gate", "verify", "decide", "route", "plan", "next"),
    "Repair": ("fit", "apply", "export"),
    "Watch": ("watch",),
    "Scale": ("tally",),
}
"""The commands by question, as help shows them."""
_VERBS = tuple(chain.from_iterable(_QUESTIONS.values()))
_FILES = dict.fromkeys(("segments", "slices", "grades"), "groups")
"""Where a command is, if not in a file of its own."""
_FUNCTIONS = {"next": "next_"}
"""The function of a command whose name Python has taken."""
_SLOW_TO_IMPORT = ("pandas", "scipy.stats", "numpy.f2py", "numpy.testing")
"""Modules that scikit-learn and SciPy import and that commands hardly ever use."""
_OTHER_NAMES = {
    "--prob": ("--score", "--scores", "--y-prob", "--y-score", "--proba", "--prediction"),
    "--label": ("--y-true", "--y", "--target", "--outcome"),
    "--bins": ("--n-bins", "--num-bins", "--nbins"),
    "--seed": ("--random-state", "--random-seed"),
    "--level": ("--confidence-level", "--ci"),
    "--separator": ("--sep", "--delimiter"),
    "--by": ("--columns", "--group", "--groups", "--group-by", "--groupby"),
}
"""Options, and what other libraries call them."""
_INSTEAD = {
    "--json": "--format json",
    "--csv": "--format csv",
    "--markdown": "--format markdown",
    "--html": "-o page.html",
    "--state": "the file of the watch as the first argument, without an option",
}
"""Options that there are not, and what is typed in their place."""


class Verbs(click.Group):
    """Commands that are imported when they are used."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands below the questions that they answer."""
        wide = max(map(len, _VERBS))
        for question, names in _QUESTIONS.items():
            with formatter.section(question):
                lines = []
                for name in names:
                    command = self.get_command(ctx, name)
                    if command is not None:
                        lines.append((name.ljust(wide), command.get_short_help_str(limit=80)))
                formatter.write_dl(lines)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(_VERBS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import the module of a command and return it, or None if there is no such command."""
        if cmd_name not in _VERBS:
            return None
        return _load(cmd_name, _FUNCTIONS.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one; some commands have another form for .tally files."""
        near = "" if args[0] in _VERBS or args[0].startswith("-") else did_you_mean(args[0], _VERBS)
        if near:
            ctx.fail(f"No such command {args[0]!r}. {near}")
        name, command, rest = super().resolve_command(ctx, args)
        if name in ("measure", "report", "gate") and _names_sums(rest):
            command = _load(name, f"{name}_of_sums")
        return name, command, rest

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Read the options; help and version are printed here."""
        with _orderly_exit():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; errors are printed as messages.

        An option that does not exist gets a suggestion of the nearest.
        """
        with _orderly_exit(debug="--debug" in ctx.args), deferred(*_SLOW_TO_IMPORT):
            try:
                return super().invoke(ctx)
            except click.NoSuchOption as error:
                hint = _hint(error)
                if not hint:
                    raise
                # As a message: click drops possibilities that differ in their letters.
                message = f"No such option {error.option_name!r}. {hint}"
                raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from None


def _names_sums(words: list[str]) -> bool:
    """Whether a word of a command line, other than the output, is a .tally file."""
    for last, word in pairwise(["", *words]):
        is_file = last not in ("-o", "--output") and not word.startswith("-")
        if is_file and word.endswith(".tally"):
            return True
    return False


def _hint(error: click.NoSuchOption) -> str:
    """What to type in place of an option that there is not; empty if it resembles none."""
    typed = error.option_name.replace("_", "-")
    if typed in _INSTEAD:
        return f"Type {_INSTEAD[typed]}."
    parameters = error.ctx.command.params if error.ctx else []
    for ours, synonyms in _OTHER_NAMES.items():
        if typed in synonyms and any(ours in parameter.opts for parameter in parameters):
            return f"Did you mean {ours!r}?"
    return ""


def _load(verb: str, name: str) -> click.Command:
    module = f"trueness.cli._{_FILES.get(verb, verb)}"
    command: click.Command = getattr(import_module(module), name)
    return command


@contextmanager
def _orderly_exit(debug: bool = False) -> Iterator[None]:
    """End with a message and an exit code: no traceback, and no file that is half written."""
    ends = []
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                ends.append(number)  # not one that nohup ignores
    for number in ends:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with errors_as_messages(debug):
            yield
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise click.exceptions.Exit(130) from None
    except click.ClickException:
        # Output that did not fit on a full device would be written again when Python ends.
        discard_output()
        raise
    except OSError as reason:
        if reason.errno != errno.EPIPE or debug:
            raise
        discard_output()
        # As a shell reports of a program that writes to a closed pipe.
        raise click.exceptions.Exit(141) from None
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_DFL)


def discard_output() -> None:
    """Discard what is not written yet, which Python would complain about when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Check the calibration of predicted probabilities, and improve it.

    \b
      trueness report --demo
      trueness measure rows.csv --label churned --prob model

    Exit codes: 0 done, 1 a gate failed, 2 the options or the data are wrong, 3 a gate cannot
    decide, 129, 130 and 143 ended by a signal (130: Ctrl-C), 141 the reader of the output has
    closed the pipe.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    # A terminal that lacks a character shows its code.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

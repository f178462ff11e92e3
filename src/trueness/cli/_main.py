"""The commands."""

import errno
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from trueness import __version__
from trueness.cli._words import visible
from trueness.errors import InputError, TruenessError

if TYPE_CHECKING:
    from trueness.cli._choice import Choice
    from trueness.cli._measurements import Measurements
    from trueness.cli._source import Columns, Source

__all__ = ["main"]

_FORMATS = ("table", "json", "markdown", "csv")
_SUFFIXES = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".csv": "csv"}


class Refusal(click.ClickException):
    """Wrong input: one paragraph, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002  # click's signature
        """Say what is wrong."""
        _say(f"Error: {self.message}")


def _say(text: str) -> None:
    """One paragraph on standard error, wrapped only for eyes, never for a log."""
    text = visible(text)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, max(width, 40), break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=True)


@contextmanager
def _refusing(debug: bool) -> Iterator[None]:
    """Turn errors of the library and of the disk into a paragraph, or let them through."""
    try:
        yield
    except TruenessError as reason:
        if debug:
            raise
        raise Refusal(str(reason)) from reason
    except OSError as reason:
        if debug or reason.errno == errno.EPIPE:  # a reader that has seen enough is no error; click knows
            raise
        raise Refusal(f"{reason.strerror or reason}.") from reason


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Tell whether predicted probabilities mean what they say."""
    # A terminal that lacks a letter shows its number; the command does not fail for it.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@main.command(no_args_is_help=True)
@click.argument("file", required=False)
@click.option("--demo", is_flag=True, help="Measure built-in simulated data instead of a file.")
@click.option(
    "--rows", type=click.IntRange(min=1), metavar="N", default=10_000, show_default=True, help="Rows of the demo data."
)
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Seed of the demo data."
)
@click.option("--label", metavar="NAME", help="Column of labels: 0/1, true/false, class numbers or text.")
@click.option("--prob", "probs", metavar="NAME", multiple=True, help="Column of scores; repeat it for several models.")
@click.option(
    "--prob-columns",
    "matrices",
    metavar="NAMES",
    multiple=True,
    help="Columns of one model with several classes, in class order: a,b,c or 'p_*'. Repeatable.",
)
@click.option("--weight", metavar="NAME", help="Column of weights: weight 2 is the row twice.")
@click.option("--pos-label", metavar="LABEL", help="The label that the scores are about, if labels are not 0/1.")
@click.option("--labels", metavar="LABELS", help="The classes in column order, a,b,c; of two classes, the event last.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["classwise", "confidence", "top-label"]),
    multiple=True,
    help="What to compare for several classes; repeatable.  [default: classwise and confidence]",
)
@click.option(
    "--bins",
    default="10",
    show_default=True,
    metavar="BINS",
    help="Bins of ECE and MCE: 10 (equal width), mass:10, edges 0,0.1,1, isotonic, block-isotonic or distinct. "
    "ACE takes as many, of equal mass.",
)
@click.option("--table", "tables", is_flag=True, help="Also the bins, with intervals for the event rates.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of these intervals.",
)
@click.option(
    "--missing",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="Rows that miss a value, of any model: an error, or left out.",
)
@click.option("--from-logits", is_flag=True, help="The scores are logits.")
@click.option("--clip-tolerance", type=float, default=0.0, help="Move scores outside [0, 1] by so little to its ends.")
@click.option("--sum-tolerance", type=float, help="How far from 1 a row of scores may sum.  [default: 1e-6]")
@click.option("--separator", metavar="CHAR", help="What separates columns of a text file, if not a comma (tsv: a tab).")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Form of the output.  [default: by the name of the output file, else table]",
)
@click.option("-o", "--output", metavar="FILE", help="Write to a file; a failed write leaves the old one.")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
@click.pass_context
def measure(context: click.Context, /, file: str | None, demo: bool, debug: bool, **options: Any) -> None:
    """Measure the calibration of scores in FILE and print a table.

    FILE is CSV, TSV, Parquet, npz or npy; '-' is standard input. Columns called label, y, y_true or target,
    and prob, p, y_prob, score or probability, are found without being named if there is one of each.

    \b
      trueness measure --demo
      trueness measure predictions.csv --label churned --prob model_a --prob model_b
      trueness measure scores.parquet --label species --prob-columns 'p_*' --table
      trueness measure scores.npz --label y --prob P --format json -o measures.json

    Exit code 0: measured. 2: the options or the data are wrong, and a message says how.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    _check_usage(context, file, demo)
    with _refusing(debug):
        _measure(file, **options)


def _check_usage(context: click.Context, file: str | None, demo: bool) -> None:
    if demo and file is not None:
        raise click.UsageError("Give a FILE or --demo, not both.")
    if not demo and file is None:
        raise click.UsageError("Give a FILE to measure, or --demo.")
    for name in ("rows", "seed"):
        if not demo and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for --demo.")


def _measure(file: str | None, *, form: str | None, output: str | None, rows: int, seed: int, **asked: Any) -> None:
    from trueness.cli._measurements import Options, bin_rule, measure_all

    bins = bin_rule(asked["bins"])
    if output is not None and output != "-":
        from trueness.cli._write import check_writable

        check_writable(output)
    options = Options(
        bins=bins,
        level=asked["level"],
        kinds=tuple(dict.fromkeys(asked["kinds"])),
        pos_label=asked["pos_label"],
        labels=None if asked["labels"] is None else tuple(name.strip() for name in asked["labels"].split(",")),
        rows={
            "missing": asked["missing"],
            "clip_tolerance": asked["clip_tolerance"],
            "sum_tolerance": asked["sum_tolerance"],
            "from_logits": asked["from_logits"],
        },
        tables=asked["tables"],
    )
    columns, choice, source = _read(file, rows, seed, asked)
    found = measure_all(columns, choice, options, source)
    _remark(found)
    _deliver(found, source, form, output)


def _read(file: str | None, rows: int, seed: int, asked: dict[str, Any]) -> tuple["Columns", "Choice", str]:
    if file is None:
        from trueness.cli._demo import Demo

        demo = Demo(rows, seed)
        return *_columns(demo, asked, label="y", probs=demo.models), demo.name
    from trueness.cli._files import opened

    with opened(file, _separator(asked["separator"])) as source:
        return *_columns(source, asked), source.name


def _columns(
    source: "Source", asked: dict[str, Any], label: str | None = None, probs: Sequence[str] = ()
) -> tuple["Columns", "Choice"]:
    from trueness.cli._choice import choose

    choice = choose(
        source.names,
        source.name,
        label=asked["label"] or label,
        probs=asked["probs"] or (() if asked["matrices"] else probs),
        matrices=asked["matrices"],
        weight=asked["weight"],
    )
    if choice.guesses:
        _say(f"note: {', '.join(choice.guesses)}.")
    return source.read(choice.label, choice.numbers), choice


def _separator(asked: str | None) -> str | None:
    if asked is None:
        return None
    found = {"tab": "\t", "\\t": "\t"}.get(asked, asked)
    if len(found) != 1 or found in '"\r\n' or not found.isascii():
        raise InputError(f"`--separator` must be one character, or tab; got {asked!r}.")
    return found


def _remark(found: "Measurements") -> None:
    """Say each remark and each warning once; of which model, where it is not of all."""
    for kind in ("remarks", "warnings"):
        said: dict[str, list[str]] = {}
        for model in found.models:
            for message in getattr(model, kind):
                said.setdefault(message, []).append(model.name)
        for message, names in said.items():
            about = "" if len(names) == len(found.models) else f"{', '.join(names)}: "
            _say(f"{kind[:-1].replace('remark', 'note')}: {about}{message}")


def _deliver(found: "Measurements", source: str, form: str | None, output: str | None) -> None:
    from trueness.cli import _tables

    if output is not None and output != "-":
        from pathlib import Path

        from trueness.cli._write import write

        chosen: Any = form or _SUFFIXES.get(Path(output).suffix.lower(), "table")
        write(output, _tables.rendered(found, chosen, source=source))
        return
    width = shutil.get_terminal_size().columns
    chosen = form or "table"
    if chosen == "table" and sys.stdout.isatty() and _tables.show(found, source=source, width=width):
        return
    click.echo(_tables.rendered(found, chosen, source=source, width=width), nl=False)

"""``trueness plot``."""

import io
import os
import shutil
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, note, warning
from trueness.cli._options import Between, bins_option, check_input, data_options, plain_output_options, seed_option
from trueness.cli._writing import check_writable, write
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.cli._rows import Rows

__all__ = ["command"]

# Which picture takes which option; a picture of one model takes no other.
_DISPLAYS: Mapping[str, tuple[str, frozenset[str]]] = {
    "reliability": ("ReliabilityDisplay", frozenset({"bins", "level", "seed", "curve", "kind"})),
    "tested": ("TestReliabilityDisplay", frozenset({"bins", "kind", "one"})),
    "bins": ("BinsDisplay", frozenset({"kind", "one"})),
    "cumulative": ("CumulativeDisplay", frozenset({"level", "kind"})),
    "interval": ("IntervalDisplay", frozenset({"level", "seed", "kind", "by"})),
    "validity": ("ValidityDisplay", frozenset({"bins", "level"})),
    "guarantee": ("GuaranteeDisplay", frozenset()),
}
_SUFFIXES = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".txt": "text"}
_WIDEST = 100


@click.command("plot", no_args_is_help=True)
@data_options(several=True)
@click.option(
    "--display",
    type=click.Choice(list(_DISPLAYS)),
    default="reliability",
    show_default=True,
    help="What is drawn: a reliability diagram, one with tested predictions, bin rules side by side, the walk of "
    "the cumulative error, intervals of the error, the validity curve, or what histogram binning can promise for "
    "so many rows.",
)
@click.option("--curve", type=click.Choice(["binned", "isotonic", "smooth"]), help="Of reliability.  [default: binned]")
@bins_option(None, "Bins of reliability, tested and validity")
@click.option(
    "--kind",
    type=click.Choice(["classwise", "confidence", "top-label"]),
    help="What to compare for several classes.  [default: confidence]",
)
@click.option(
    "--level",
    type=Between(0, 1, min_open=True, max_open=True),
    help="Level of bands and intervals.  [default: that of the picture]",
)
@seed_option()
@click.option(
    "--format",
    "form",
    type=click.Choice(["png", "svg", "pdf", "text"]),
    help="Form of the picture.  [default: by the name of the output file, else text]",
)
@plain_output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Draw a picture into a file, or in letters.

    Letters, for a terminal, can show reliability diagrams; the other pictures need a file.

    \b
      trueness plot --demo
      trueness plot predictions.csv --label churned --prob model_a --prob model_b -o models.png
      trueness plot predictions.csv --label churned --prob model_a --display tested -o tested.svg

    Exit code 0: drawn. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo)
    _, takes = _DISPLAYS[options["display"]]
    for name in ("curve", "bins", "kind", "level", "by"):
        if options[name] and name not in takes:
            raise click.UsageError(f"--{name} is not for --display {options['display']}.")
    if len(options["by"]) > 1:
        raise click.UsageError("A picture has room for one --by.")
    with errors_as_messages(debug):
        _plot(files, **options)


def _plot(files: tuple[str, ...], *, form: str | None, output: str | None, display: str, **asked: Any) -> None:
    from trueness.cli._bins import bin_rule
    from trueness.cli._reading import Request, read_rows

    check_writable(output, *files)
    chosen = _form(form, output, display)
    settings = {name: asked[name] for name in ("curve", "kind", "level", "seed") if asked[name] is not None}
    if asked["bins"] is not None:
        settings["bins"] = bin_rule(asked["bins"])
    request = Request.taken_from({"files": files, **asked})
    if not files and not request.probs and "one" in _DISPLAYS[display][1]:
        request = request.with_probs("p")
    rows = read_rows(request)
    for line in rows.said_dropped:
        warning(f"{line}")
    made = _made(rows, display, settings)
    if chosen == "text":
        width = min(shutil.get_terminal_size().columns, _WIDEST) if sys.stdout.isatty() else 72
        content: str | bytes = made.to_text(width=max(20, width - 8)) + "\n"
    else:
        content = _drawn(made, chosen)
    if output is not None and output != "-":
        write(output, content)
    elif isinstance(content, str):
        click.echo(content, nl=False)
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _form(form: str | None, output: str | None, display: str) -> str:
    suffix = "" if output is None else Path(output).suffix.lower()
    chosen = form or _SUFFIXES.get(suffix)
    if chosen is None and output is not None and output != "-":
        raise InputError(f"`--output` must end in .png, .svg, .pdf or .txt, or `--format` say which; got {output!r}.")
    chosen = chosen or "text"
    if chosen == "text" and display != "reliability":
        raise InputError(f"`--display` {display} cannot be drawn in letters: `-o` must name a .png, .svg or .pdf file.")
    return chosen


def _made(rows: "Rows", display: str, settings: dict[str, Any]) -> Any:

    name, takes = _DISPLAYS[display]
    cls = getattr(import_module("trueness.plot"), name)
    if display == "guarantee":
        return cls.from_sizes(len(rows.label))
    models = rows.choice.models
    if "one" in takes and len(models) > 1:
        raise InputError(f"`--display` {display} draws one model; `--prob` names {len(models)}.")
    with rows.about(*models), collect_warnings() as warned:
        given = {model.name: rows.arguments(model) for model in models}
        first = next(iter(given.values()))
        if any(other.rows.get("labels") != first.rows.get("labels") for other in given.values()):
            raise InputError("All models must have their columns in the same order of classes.")
        options = {key: value for key, value in settings.items() if key in takes}
        if rows.is_matrix(models[0]) and "kind" in takes:
            options.setdefault("kind", "confidence")
        if rows.choice.by:
            options["by"] = rows.columns.groups[rows.choice.by[0]]
        scores = {key: one.y_prob for key, one in given.items()}
        if len(scores) == 1:
            ((name, only),) = scores.items()
            named = {} if display == "bins" else {"name": name}
            found = cls.from_predictions(first.y_true, only, **named, **options, **first.rows)
        else:
            found = cls.from_predictions(first.y_true, scores, **options, **first.rows)
    for message in (*filter(None, [first.remark]), *warned):
        note(f"{message}")
    return found


def _drawn(made: Any, form: str) -> bytes:
    # No window: the picture goes into a file, also on machines that have a screen.
    os.environ["MPLBACKEND"] = "Agg"
    stamps: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    file = io.BytesIO()
    made.plot().figure_.savefig(file, format=form, dpi=150, metadata=stamps[form])
    return file.getvalue()

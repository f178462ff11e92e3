"""``trueness plot``."""

import io
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._printing import Target, note
from trueness.cli._reading import about, read_rows
from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._request import Request

if TYPE_CHECKING:
    from trueness.plot._canvas import Display
    from trueness.plot._reliability import ReliabilityDisplay

# Which options each picture takes; 'one' means one model only.
_DISPLAYS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "reliability": ("ReliabilityDisplay", ("band", "bins", "level", "seed", "curve", "kind")),
    "tested": ("TestReliabilityDisplay", ("bins", "kind", "one")),
    "bins": ("BinsDisplay", ("kind", "one")),
    "cumulative": ("CumulativeDisplay", ("level", "kind")),
    "interval": ("IntervalDisplay", ("level", "seed", "kind", "by")),
    "validity": ("ValidityDisplay", ("bins", "level")),
    "guarantee": ("GuaranteeDisplay", ()),
}
_SUFFIXES = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".txt": "text"}
_DISPLAY = (
    "What to draw: a reliability diagram, one with tested predictions, bin rules side by side, the "
    "cumulative differences, confidence intervals of the error, the validity curve, or the "
    "guarantees of histogram binning for this number of rows."
)
_CURVE = "Curve of a reliability diagram; spline and loess are those of R.  [default: binned]"
_BAND = (
    "Band of a reliability diagram: pointwise or simultaneous intervals of the rates; consistency "
    "or simultaneous-consistency: where each rate, or all of them, would lie if the scores were "
    "calibrated; monotone: a band that holds if the event probability rises with the score; none.  "
    "[default: pointwise for bins, spline and loess, simultaneous-consistency for isotonic and "
    "smooth]"
)
_BANDS = "pointwise simultaneous consistency simultaneous-consistency monotone none"


@command("plot")
@opt.data()
@opt.choice("--display", _DISPLAYS, _DISPLAY, default="reliability")
@opt.choice("--curve", "binned isotonic smooth spline loess", _CURVE)
@opt.choice("--band", _BANDS, _BAND, metavar="BAND")
@opt.bins(None, "Bins of reliability, tested and validity")
@opt.choice("--kind", opt.KINDS, "What to compare for several classes.  [default: confidence]")
@opt.level(None, "Confidence level of bands and intervals.  [default: that of the picture]")
@opt.seed()
@opt.output(("text", "png", "svg", "pdf"), _SUFFIXES, demand_suffix=True)
def plot(request: Request, target: Target, **values: object) -> None:
    """Draw a picture to a file, or as text.

    Reliability diagrams can be drawn as text in a terminal; other pictures need a file.

    \b
      trueness plot --demo
      trueness plot rows.csv --label churned --prob a --prob b -o models.png
      trueness plot rows.csv --label churned --prob a --display tested -o t.svg

    Exit code 0: drawn. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    display = options["display"]
    _, takes = _DISPLAYS[display]
    for name in ("band", "curve", "bins", "kind", "level", "by"):
        if (request.by if name == "by" else options[name]) and name not in takes:
            raise click.UsageError(f"--{name} is not for --display {display}.")
    if options["band"] not in (None, "none"):
        from trueness.plot._reliability import BANDS  # other commands need no plots

        band = options["band"]
        curve = options["curve"] or "binned"
        if band not in BANDS[curve]:
            bands = ", ".join(BANDS[curve])
            raise click.UsageError(
                f"--band {band} is not for --curve {curve}, which takes {bands} or none."
            )
    if len(request.by) > 1:
        raise click.UsageError("A picture can have only one --by.")
    if target.form == "text" and display != "reliability":
        raise InputError(
            "--display",
            f"{display} cannot be drawn as text: `-o` must name a .png, .svg or .pdf file",
        )
    options["bins"] = opt.bin_rule(options["bins"])
    names = ("band", "curve", "kind", "level", "seed", "bins")
    settings = {name: options[name] for name in names if options[name] is not None}
    if options["band"] == "none":
        settings["band"] = None
    if not request.files and not request.probs and "one" in takes:
        request = replace(request, probs=("overconfident",))
    picture = _display(read_rows(request), display, settings)
    if target.form == "text":
        width = min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 72
        diagram = cast("ReliabilityDisplay", picture)
        target.write(diagram.to_text(width=max(20, width - 8)) + "\n")
    else:
        os.environ["MPLBACKEND"] = "Agg"  # no window, also on machines that have a screen
        stamps: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        file = io.BytesIO()
        picture.plot().figure_.savefig(
            file, format=target.form, dpi=150, metadata=stamps[target.form]
        )
        target.write(file.getvalue())


def _display(rows: DataSet, display: str, settings: dict[str, Any]) -> "Display":
    """The picture of the rows: a display of `trueness.plot`, with its data.

    `display` is its name in `--display`. Of `settings`, it gets those that it takes. A guarantee
    needs the number of rows alone. InputError if the display draws one model and several are named.
    """
    name, takes = _DISPLAYS[display]
    cls = getattr(import_module("trueness.plot"), name)
    picture: Display
    if display == "guarantee":
        picture = cls.from_sizes(len(rows))
        return picture
    single = len(rows.models) == 1
    if "one" in takes and not single:
        raise InputError(
            "--display", f"{display} draws one model", f"`--prob` names {len(rows.models)}"
        )
    with about(rows) as warned:
        options = {key: value for key, value in settings.items() if key in takes}
        if rows.is_matrix() and "kind" in takes:
            options.setdefault("kind", "confidence")
        if rows.request.by:
            (options["by"],) = rows.by.values()
        if single and display != "bins":
            options["name"] = rows.model.name
        picture = rows.ask(cls.from_predictions, **options)
    note(*filter(None, [rows.order.remark]), *warned)
    return picture

"""``trueness route``: which answers a cheap model may give instead of a strong one."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli._command import command
from trueness.cli._printing import (
    VALUE_AND_LIMITS,
    Output,
    Target,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._reading import names_of, open_source, paired_rows
from trueness.errors import InputError
from trueness.sources._data_set import DataSet, require_rows
from trueness.sources._request import Model, Request

if TYPE_CHECKING:
    from trueness.results import Route

_CONFIDENCE = (
    "Column of the cheap model's confidence, or of a router's score. For logs: where confidences "
    "come from, as in `trueness compare`."
)
_NUMBERS = ("share", "saved", "difference", "random")


@command("route")
@click.argument("files", nargs=-1, metavar="FILE...", required=True)
@opt.text("--cheap", "Column that says whether the cheap model is right: 0/1 or true/false.")
@opt.text("--confidence", _CONFIDENCE)
@opt.text("--strong", "Column that says whether the strong model is right.")
@opt.number(
    "--loss",
    "Accuracy over all rows that the mix may lose: 0.01 is one point.",
    0.01,
    opt.Between(0, 1, min_open=True, max_open=True),
    metavar="X",
)
@opt.level(0.95, "Confidence of the promise, and of all limits.")
@click.option(
    "--cost",
    type=float,
    nargs=2,
    default=(1.0, 10.0),
    show_default=True,
    metavar="CHEAP STRONG",
    help="What an answer of each model costs.",
)
@click.option(
    "--confidence-is-free",
    is_flag=True,
    help="The confidence is known before the cheap model is asked, as that of a router is.",
)
@opt.text("--by", "Column of segments, each with a route of its own. Repeatable.", multiple=True)
@opt.cluster
@opt.missing
@opt.file_format
@opt.text("--scorer", "Of logs: the scorer that says which answers are right.")
@opt.log_fields
@opt.request
@opt.output()
def route(request: Request, target: Target, **values: object) -> None:
    """From which confidence on a cheap model may answer instead of a strong one.

    The mix of both is shown to lose at most --loss of the strong model's accuracy. Two logs are
    paired by question: the first is that of the cheap model, the only one that needs confidences.

    \b
      trueness route rows.csv --cheap right_small --confidence c --strong right_large
      trueness route rows.csv --cheap a --confidence c --strong b --loss 0.02 --by topic
      trueness route small.eval large.eval --loss 0.01 --format json
      trueness route small.jsonl large.jsonl --label-field ok --confidence-field c --id-field id

    Exit code 0: a threshold is certified. 1: none is. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    from trueness.sources.logs._command_logs import uses_logs

    named = {name: options.pop(name) for name in ("cheap", "strong")}
    table = replace(request, confidence=None)
    if uses_logs(table):
        rows = _of_logs(request, named)
    else:
        rows = _of_table(table, **named, confidence=request.confidence)
    cheap, strong = rows.by_model()
    names = _columns(rows)
    words = wording(
        {
            "cheap_correct": f"column {names['cheap']!r}",
            "strong_correct": f"column {names['strong']!r}",
            "confidence": f"column {names['confidence']!r}",
        },
        rows.place,
        options={"loss": "--loss", "cost": "--cost", "by": "--by"},
    )
    with reword_messages(words) as warned:
        result = tn.route(
            cheap.y_true,
            cheap.y_prob,
            strong.y_true,
            by=rows.by or None,
            cluster=rows.cluster,
            missing=request.missing,
            **options,
        )
    warning(*warned)
    target.deliver(_output(result, rows))
    if not result.certified:
        raise click.exceptions.Exit(1)


def _of_table(
    request: Request, cheap: str | None, strong: str | None, confidence: str | None
) -> DataSet:
    """The three columns of one table: the strong model has no scores."""
    columns = {"--cheap": cheap, "--strong": strong, "--confidence": confidence}
    for option, column in columns.items():
        if column is None:
            raise click.UsageError(f"{option} must name a column, unless the files are two logs.")
    with open_source(request) as source:
        names = names_of(source)
        for option, column in columns.items():
            names.check(option, column)
        names.check("--by or --cluster", *request.by, request.cluster)
        models = (
            Model(str(cheap), (str(confidence),), label=cheap),
            Model(str(strong), (), label=strong),
        )
        rows = DataSet(replace(request, label=cheap), source, models).read()
    require_rows(rows.source, len(rows))
    return rows


def _of_logs(request: Request, named: dict[str, Any]) -> DataSet:
    """Two logs, paired by question: the first is that of the cheap model."""
    for name, column in named.items():
        if column is not None:
            raise InputError(f"--{name}", "is for tables: logs have their own labels")
    rows = paired_rows(request, only_first_has_confidence=True)
    if len(rows.models) != 2:
        demand = "must be the logs of two models, the cheap one first"
        raise InputError("FILE", demand, f"got {', '.join(model.name for model in rows.models)}")
    return rows


def _columns(rows: DataSet) -> dict[str, str]:
    """What the three columns are called."""
    cheap, strong = rows.models
    return {"cheap": cheap.name, "strong": strong.name, "confidence": cheap.columns[0]}


def _output(result: "Route", rows: DataSet) -> Output:
    """What `route` prints, and its data: threshold and quantities, of all rows and each segment."""
    routes = [("all rows", result), *result.segments.items()]
    columns = [
        Column("what", "quantity"),
        *VALUE_AND_LIMITS,
    ]
    if result.segments:
        columns.insert(0, Column("segment", "segment", "name"))
    lines = []
    for name, route in routes:
        lines.append({"segment": name, "what": "threshold", "value": route.threshold})
        for key in _NUMBERS:
            lines.append({**getattr(route, key).to_dict(), "segment": name, "what": key})
    names = _columns(rows)
    named = ", ".join(f"{name} {names[name]!r}" for name in ("cheap", "confidence", "strong"))
    notes = [
        f"Data: {rows.source}, {named}.",
        "difference: accuracy of the mix less that of the strong model; random: the same, if as "
        "many rows were routed at random.",
        *str(result).splitlines(),
        *filter(None, [result.note]),
    ]
    data = {"source": rows.source, **names, "by": list(rows.request.by)}
    return Output(Table(columns, lines, notes), {"data": data, "route": result.to_dict()})

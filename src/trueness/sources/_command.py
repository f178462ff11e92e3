"""How the rows of a model were read, as other commands would be typed."""

from trueness.results._page import Command
from trueness.sources._data_set import DataSet
from trueness.sources._request import LOG_FIELDS, Model, Request
from trueness.sources._statements import Statements

_READING = (
    *("input_format", "separator", "decimal", "missing"),
    *("scorer", "confidence", *LOG_FIELDS),
)


def command_of(rows: DataSet, model: Model) -> Command | None:
    """The files and options; None where few maps take what was read.

    These are logits, tables of pairs and quantiles.
    """
    request = rows.request
    if rows.statements is not None:
        if rows.statements.kind == "quantiles":
            return None
        options = _of_statements(rows.statements, model)
    elif request.from_logits or request.pair:
        return None
    else:
        options = _of_labels(rows, model)
    return Command(
        files=_files_again(request),
        options=options | request.typed(*_READING),
        flags=("--percent",) if request.percent else (),
        cluster=request.cluster,
    )


def _of_labels(rows: DataSet, model: Model) -> dict[str, str]:
    """The options of a command that reads the labels and the scores of this model.

    Options that have their default are left out. Two columns are named as the binary problem of the
    second.
    """
    request = rows.request
    option = "--prob" if len(model.columns) == 1 else "--prob-columns"
    scores = model.name
    event = request.pos_label
    if model.label is not None:
        option = "--prob"
        scores = model.columns[0]
    if len(model.columns) == 2 and model.classes is not None:
        # Reported as the binary problem of the second column.
        option = "--prob"
        scores = model.columns[1]
        if request.labels:
            event = request.labels[1]
        elif rows.label.dtype.kind in "OU":
            event = model.classes[1]
    typed = {
        "--label": model.label or request.label,
        option: scores,
        "--weight": request.weight,
        "--weight-type": None if request.weight_type == "auto" else request.weight_type,
        "--pos-label": event,
    }
    if request.labels is not None and event is None:
        typed["--labels"] = ",".join(request.labels)
    return {option: value for option, value in typed.items() if value is not None}


def _of_statements(stated: Statements, model: Model) -> dict[str, str]:
    """The options of a command that reads these intervals, or these risks by a horizon."""
    if stated.kind == "interval":
        lower, upper = stated.models[model.name]
        return {
            "--outcome": stated.outcome,
            "--lower": lower,
            "--upper": upper,
            "--coverage": _typed(stated.coverage),
        }
    return {
        "--prob": model.columns[0],
        "--followup": str(stated.followup),
        "--event": stated.outcome,
        "--horizon": _typed(stated.horizon),
    }


def _typed(value: float) -> str:
    """A number as one would type it, without loss."""
    return repr(float(value)).removesuffix(".0")


def _files_again(request: Request) -> tuple[str, ...]:
    """The files to read again, which standard input cannot be; or the demo data."""
    if not request.files:
        return ("--demo", "--rows", str(request.rows), "--seed", str(request.seed))
    return tuple("rows.csv" if file == "-" else file for file in request.files)

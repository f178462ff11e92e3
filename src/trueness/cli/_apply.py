"""``trueness apply``: the scores of a file, calibrated by a map."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

import trueness as tn
import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._printing import (
    check_suffix,
    check_writable,
    reword_messages,
    warning,
    wording,
    write,
)
from trueness.cli._reading import load_map, names_of, open_source, print_guesses
from trueness.errors import InputError
from trueness.sources._columns import as_fractions, missing_rows, side_by_side
from trueness.sources._data_set import require_rows
from trueness.sources._request import Model, Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueness.recalibrate._calibrator import Calibrator
    from trueness.recalibrate._interval_calibration import IntervalCalibration
    from trueness.sources.tables._table import Table


@command("apply")
@opt.data(shown="[FILE]", demo=False, label=False, by=False, scale=False)
@click.option(
    "--calibrator",
    "map_path",
    metavar="FILE",
    required=True,
    help="The JSON file that `trueness fit` wrote.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the new column.  [default: the score column + _calibrated]",
)
@opt.choice(
    "--missing",
    "raise keep",
    "Rows without a score: fail, or keep them without a calibrated score.",
    "gaps",
    default="raise",
)
@opt.text(
    "--lower", "Of intervals: column of the lower ends.  [default: the one of `fit`]", "lower_end"
)
@opt.text(
    "--upper", "Of intervals: column of the upper ends.  [default: the one of `fit`]", "upper_end"
)
@opt.file_output
def apply(
    request: Request,
    *,
    map_path: str,
    name: str | None,
    gaps: str,
    lower_end: str | None,
    upper_end: str | None,
    output: str | None,
) -> None:
    """Add calibrated scores to a file.

    Writes the rows of FILE with one more column, in the format of the input. Without --prob, the
    scores are taken from the column that the map was fitted on. Without -o, text goes to standard
    output. Of Parquet and Arrow files only the scores are held in memory.

    \b
      trueness apply new.csv --calibrator map.json -o better.csv
      trueness apply new.csv --prob score_b --calibrator map.json -o better.csv

    Exit code 0: done. 2: the options or the data are wrong, and no output was written.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if not request.files:
        raise click.UsageError("Give a FILE to apply the map to.")
    if len(request.files) > 1:
        raise click.UsageError(
            f"apply takes one FILE; got {len(request.files)}. Run it once for each."
        )
    path = None if output == "-" else output
    check_writable(path, map_path)  # not the rows: they are all written again
    calibrator = load_map(map_path, f"`--calibrator` {map_path!r}")
    with open_source(request) as source:
        if hasattr(source, "answers"):
            remedy = f"`trueness answers {source.name} -o answers.csv` writes rows."
            raise InputError(
                "",
                f"{source.name} is a log of an evaluation; a map is applied to rows",
                remedy=remedy,
            )
        compress = _compression(source, path or "")
        if isinstance(calibrator, tn.IntervalCalibration):
            model = _ends_of(source, request, calibrator, lower_end, upper_end)
        elif lower_end is not None or upper_end is not None:
            demand = "is for intervals, and this is a map of scores"
            raise InputError("--upper" if lower_end is None else "--lower", demand)
        else:
            model = _model(source, request, calibrator.score_names_)
        names = _new_names(model, name, source)
        if path is None and sys.stdout.isatty() and not source.is_text:
            raise InputError(
                "", f"{source.name} is binary, and so is the output: `-o` must name a file for it"
            )
        scores = _calibrated(calibrator, source, model, gaps, request.percent)
        new = dict(zip(names, [scores] if len(names) == 1 else scores.T, strict=True))
        write(path, compress(lambda file: source.write(file, new)))


def _ends_of(
    source: "Table",
    request: Request,
    calibrator: "IntervalCalibration",
    lower: str | None,
    upper: str | None,
) -> Model:
    """The columns of both ends: those that the options name, else those of the fit."""
    if request.probs or request.matrices:
        raise InputError("--prob", "is for scores, and this moves the ends of intervals")
    fitted = calibrator.interval_names_ or (None, None)
    ends = []
    for option, typed, known in (("--lower", lower, fitted[0]), ("--upper", upper, fitted[1])):
        column = typed or known
        if column is None:
            raise InputError(option, "must name the column of these ends")
        names_of(source).check(option, column)
        ends.append(column)
    return Model(",".join(ends), tuple(ends))


def _compression(
    source: "Table", path: str
) -> Callable[[Callable[[BinaryIO], None]], Callable[[BinaryIO], None]]:
    """How the name of a file says to compress.

    Refuses one of another format than the rows', if these are not text.
    """
    from trueness.sources.tables._files import (
        SUFFIXES,
        compress_into,
        compression_by_name,
        inner_suffix,
    )

    suffixes = source.suffixes
    if not source.is_text and compression_by_name(path):
        demand = f"must end in {' or '.join(suffixes)}: only text is compressed"
        raise InputError("--output", demand, f"got {path!r}")
    if inner_suffix(path) in SUFFIXES:
        what = f"{source.format}, as {source.name} is"
        check_suffix(path, what, suffixes, inner_suffix(path))
    return partial(compress_into, path)


def _model(source: "Table", request: Request, fitted: tuple[str, ...] | None) -> Model:
    """The scores that the options name, else those of the columns that the map was fitted on."""
    if fitted is not None and not (request.probs or request.matrices):
        if absent := [column for column in fitted if column not in names_of(source).names]:
            names = _list_names(tuple(absent))
            demand = f"{source.name} has no {names}, which the map was fitted on"
            remedy = "`--prob` names the column of the scores; `--prob-columns`, several."
            raise InputError("", demand, remedy=remedy)
        return Model(",".join(fitted), fitted)
    from trueness.sources._choose import choose_scores

    models, guesses = choose_scores(names_of(source), request, {})
    print_guesses(guesses)
    if len(models) > 1:
        names = ", ".join(model.name for model in models)
        raise InputError("--prob", "must name one model", f"got {names}")
    (model,) = models
    if fitted is None or model.columns == fitted:
        return model
    if sorted(model.columns) == sorted(fitted):
        demand = f"must name the columns in the order of `fit`: {', '.join(fitted)}"
        raise InputError("--prob-columns", demand, f"got {', '.join(model.columns)}")
    columns = _list_names(model.columns)
    warning(f"the map was fitted on {_list_names(fitted)}, and is applied to {columns}.")
    return model


def _list_names(columns: tuple[str, ...]) -> str:
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(map(repr, columns))}"


def _new_names(model: Model, name: str | None, source: "Table") -> list[str]:
    """The names of the new columns: one, or one for each column of a matrix."""
    if len(model.columns) > 1 and name is not None:
        demand = (
            "is only for one column of scores; the columns of a matrix get _calibrated after their "
            "names"
        )
        raise InputError("--name", demand)
    new = [name] if name else [f"{column}_calibrated" for column in model.columns]
    for column in new:
        if column in source.names:
            raise InputError(
                "",
                f"{source.name} has a column {column!r} already",
                "`--name` must give another name",
            )
    return new


def _calibrated(
    calibrator: "Calibrator", source: "Table", model: Model, gaps: str, percent: bool
) -> "NDArray[Any]":
    """The calibrated scores of all rows; nan where a score is missing and may be."""
    import numpy as np

    by = getattr(calibrator, "by_names_", ())
    if absent := [name for name in by if name not in names_of(source).names]:
        raise InputError(
            "", f"{source.name} has no {_list_names(tuple(absent))}, by which the map was fitted"
        )
    read = source.read((), model.columns, by)
    p = side_by_side([read.numbers[name] for name in model.columns])
    require_rows(source.name, len(p))
    gone = missing_rows(p)
    logits = "These look like logits: the calibrator was fitted on probabilities."
    scores = np.full(p.shape, np.nan)
    kept = np.flatnonzero(~gone)
    moves_ends = isinstance(calibrator, tn.IntervalCalibration)
    arguments = {"y_prob": f"scores {model.name!r}"}
    if moves_ends:
        lower, upper = model.columns
        arguments |= {"lower": f"column {lower!r}", "upper": f"column {upper!r}"}
    options = {}
    if read.groups:
        options["by"] = {name: values[kept] for name, values in read.groups.items()}
    words = wording(
        arguments,
        lambda place: source.place(int(kept[place.row])),
        remedies=dict.fromkeys(("temperature", "input-logits"), logits),
    )
    with reword_messages(words, source.name) as warned:
        if gone.any() and gaps == "raise":
            demand = "must not have missing values"
            got = f"{int(gone.sum()):,} of {gone.size:,} are"
            remedy = "`--missing keep` leaves those rows without a calibrated score."
            raise InputError("y_prob", demand, got, remedy=remedy)
        if len(kept):
            if moves_ends:
                moving = cast("IntervalCalibration", calibrator)
                scores[kept] = np.column_stack(moving.predict(*p[kept].T))
            else:
                scores[kept] = calibrator.predict(as_fractions(p[kept], percent), **options)
    warning(*warned)
    return scores

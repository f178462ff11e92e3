"""``trueness apply``."""

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, warning
from trueness.cli._options import data_options, plain_output_options
from trueness.cli._writing import check_suffix, check_writable, write_with
from trueness.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueness.cli._columns import Model
    from trueness.sources._table import Table

__all__ = ["command"]


@click.command("apply", no_args_is_help=True)
@data_options(several=True, shown="[FILE]", demo=False, label=False, by=False, rows=False)
@click.option(
    "--calibrator", "path", metavar="FILE", required=True, help="The map that `trueness fit` wrote: a JSON file."
)
@click.option("--name", metavar="NAME", help="Name of the new column.  [default: that of the scores + _calibrated]")
@click.option(
    "--missing",
    type=click.Choice(["raise", "keep"]),
    default="raise",
    show_default=True,
    help="Rows that miss a score: an error, or kept without a calibrated one.",
)
@plain_output_options
def command(files: tuple[str, ...], debug: bool, **options: Any) -> None:
    """Add calibrated scores to a file.

    The rows of FILE are written with one more column, in the format of the input; the other columns stay as they are.
    Without -o, text goes to standard output.

    \b
      trueness apply new.csv --prob model --calibrator map.json -o better.csv
      trueness apply new.parquet --prob-columns 'p_*' --calibrator map.json -o better.parquet

    Exit code 0: done. 2: the options or the data are wrong, and no output was written.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if not files:
        raise click.UsageError("Give a FILE to apply the map to.")
    if len(files) > 1:
        raise click.UsageError(
            f"apply takes one FILE, whose rows it writes again; got {len(files)}. Run it once for each."
        )
    with errors_as_messages(debug):
        _apply(files[0], **options)


def _apply(file: str, *, path: str, name: str | None, missing: str, output: str | None, **asked: Any) -> None:
    from trueness.cli._columns import choose_scores
    from trueness.cli._reading import Request, guessed, source_of
    from trueness.sources._compression import compress_into

    check_writable(output, path)  # not the rows: they are all written again
    calibrator = _loaded(path)
    with source_of(Request.taken_from({"file": file, **asked})) as source:
        _check_name(source, output)
        models, guesses = choose_scores(source.names, source.name, probs=asked["probs"], matrices=asked["matrices"])
        guessed(guesses)
        if len(models) > 1:
            raise InputError(f"`--prob` must name one model; got {', '.join(model.name for model in models)}.")
        scores = _calibrated(calibrator, source, models[0], missing)
        new = _named(scores, models[0], name, source)
        if output is not None and output != "-":
            write_with(output, compress_into(output, lambda file: source.write(file, new)))
            return
        stream = sys.stdout.buffer
        if sys.stdout.isatty() and not source.is_text:
            raise InputError(f"{source.name} is binary, and so is the output: `-o` must name a file for it.")
        source.write(stream, new)
        stream.flush()


def _check_name(source: "Table", output: str | None) -> None:
    """Refuse a name of another format than that of the rows; any name will do for text."""
    from trueness.sources._compression import compression_named, inner_suffix
    from trueness.sources._open import SUFFIXES

    own = source.suffixes
    if output is None or output == "-":
        return
    if not source.is_text and compression_named(output):
        raise InputError(f"`--output` must end in {' or '.join(own)}: only text is compressed; got {output!r}.")
    if inner_suffix(output) in SUFFIXES:
        check_suffix(output, f"{source.format}, as {source.name} is", own, inner_suffix(output))


def _loaded(path: str) -> Any:
    from trueness.recalibrate import load_calibrator

    try:
        return load_calibrator(path)
    except OSError as reason:
        raise InputError(f"`--calibrator` {path!r} cannot be read: {reason.strerror or reason}.") from reason
    except UnicodeDecodeError as reason:
        raise InputError(f"`--calibrator` {path!r} is not a JSON file of a calibrator.") from reason
    except InputError as reason:
        said = str(reason).replace("`stored`", "it").replace("`path`", "it")
        raise InputError(f"`--calibrator` {path!r} cannot be used: {said}") from reason


def _calibrated(calibrator: Any, source: "Table", model: "Model", missing: str) -> "NDArray[Any]":
    import numpy as np

    from trueness.cli._messages import in_options

    columns = source.read((), model.columns)
    values = [columns.numbers[name] for name in model.columns]
    p = values[0] if len(values) == 1 else np.column_stack(values)
    if len(p) == 0:
        raise InputError(f"{source.name} has no rows.")
    gaps = np.isnan(p) if p.dtype.kind == "f" else np.zeros(p.shape, dtype=bool)
    gone = gaps.any(axis=1) if p.ndim == 2 else gaps
    if gone.any() and missing == "raise":
        raise InputError(
            f"{source.name}: scores {model.name!r} must not have missing values; {int(gone.sum()):,} of {gone.size:,} "
            "are. `--missing keep` leaves those rows without a calibrated score."
        )
    found = np.full(p.shape, np.nan)
    try:
        with collect_warnings() as warned:
            if not gone.all():
                found[~gone] = calibrator.predict(p[~gone])
    except InputError as reason:
        said = in_options(str(reason), {"y_prob": f"scores {model.name!r}"})
        told = r'`(TemperatureScaling\()?input="logits"\)?` takes them'
        said = re.sub(told, "the calibrator was fitted on probabilities", said)
        raise InputError(f"{source.name}: {said}") from reason
    for message in warned:
        warning(f"{message}")
    return found


def _named(scores: "NDArray[Any]", model: "Model", name: str | None, source: "Table") -> dict[str, "NDArray[Any]"]:
    """New columns by name: one, or one for each that a matrix was read from."""
    if len(model.columns) == 1:
        new = {name or f"{model.name}_calibrated": scores}
    elif name is not None:
        raise InputError("`--name` is for one column of scores; columns of several get _calibrated after their names.")
    else:
        new = {f"{column}_calibrated": scores[:, k] for k, column in enumerate(model.columns)}
    for column in new:
        if column in source.names:
            raise InputError(f"{source.name} has a column {column!r} already; `--name` must give another name.")
    return new

"""``trueness apply``."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import click

import trueness as tn
import trueness.cli._options as opt
from trueness.cli._columns import Model, Request, choose_scores
from trueness.cli._dataset import as_fractions, missing_rows, open_source, print_guesses, require_rows
from trueness.cli._messages import reword_messages, warning, wording
from trueness.cli._writing import check_suffix, check_writable, write_with
from trueness.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueness.sources._table import Table


@opt.command("apply")
@opt.data(shown="[FILE]", demo=False, label=False, by=False, scale=False)
@click.option("--calibrator", "path", metavar="FILE", required=True, help="The JSON file that `trueness fit` wrote.")
@click.option("--name", metavar="NAME", help="Name of the new column.  [default: the score column + _calibrated]")
@opt.choice(
    "--missing", ("raise", "keep"), "raise", "Rows without a score: fail, or keep them without a calibrated score."
)
@opt.file_output
def command(
    files: tuple[str, ...], path: str, name: str | None, missing: str, output: str | None, **options: Any
) -> None:
    """Add calibrated scores to a file.

    Writes the rows of FILE with one more column, in the format of the input. Without --prob, the scores are taken from
    the column that the map was fitted on. Without -o, text goes to standard output. Of Parquet and Arrow files only the
    scores are held in memory.

    \b
      trueness apply new.csv --calibrator map.json -o better.csv
      trueness apply new.csv --prob score_b --calibrator map.json -o better.csv

    Exit code 0: done. 2: the options or the data are wrong, and no output was written.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if not files:
        raise click.UsageError("Give a FILE to apply the map to.")
    if len(files) > 1:
        raise click.UsageError(f"apply takes one FILE; got {len(files)}. Run it once for each.")
    check_writable(output, path)  # not the rows: they are all written again
    calibrator = load_map(path, f"`--calibrator` {path!r}")
    request = Request.pop_from({**options, "files": files})
    with open_source(request) as source:
        if hasattr(source, "answers"):
            remedy = f"`trueness answers {source.name} -o answers.csv` writes rows."
            raise InputError("", f"{source.name} is a log of an evaluation; a map is applied to rows", remedy=remedy)
        _check_name(source, output)
        model = _model(source, request, calibrator.score_names_)
        names = _new_names(model, name, source)
        application = _Application(calibrator, source, model, missing, request.percent)
        if output is not None and output != "-":
            from trueness.sources._files import compress_into  # imports NumPy, which help does not need

            write_with(output, compress_into(output, lambda file: application.write(file, names)))
            return
        if sys.stdout.isatty() and not source.is_text:
            raise InputError("", f"{source.name} is binary, and so is the output: `-o` must name a file for it")
        application.write(sys.stdout.buffer, names)
        sys.stdout.buffer.flush()


def _check_name(source: "Table", output: str | None) -> None:
    """Refuse a name of another format than that of the rows; text may have any name."""
    from trueness.sources._files import SUFFIXES, compression_by_name, inner_suffix

    if output is None or output == "-":
        return
    own = source.suffixes
    if not source.is_text and compression_by_name(output):
        raise InputError("--output", f"must end in {' or '.join(own)}: only text is compressed", f"got {output!r}")
    if inner_suffix(output) in SUFFIXES:
        check_suffix(output, f"{source.format}, as {source.name} is", own, inner_suffix(output))


def load_map(path: str, shown: str) -> Any:
    """The map in a file, which messages call `shown`."""
    try:
        with reword_messages(wording({"stored": "it", "path": "it"}), f"{shown} cannot be used"):
            return tn.load_calibrator(path)
    except OSError as reason:
        raise InputError("", f"{shown} cannot be read: {reason.strerror or reason}") from reason


def _model(source: "Table", request: Request, known: tuple[str, ...] | None) -> Model:
    """The scores to calibrate: those that the options name, else those that the map was fitted on."""
    if known is not None and not (request.probs or request.matrices):
        absent = [column for column in known if column not in source.names]
        if absent:
            demand = f"{source.name} has no {_list_names(tuple(absent))}, which the map was fitted on"
            raise InputError("", demand, remedy="`--prob` names the column of the scores; `--prob-columns`, several.")
        return Model(",".join(known), known)
    models, guesses = choose_scores(source.names, source.name, request, {})
    print_guesses(guesses)
    if len(models) > 1:
        raise InputError("--prob", "must name one model", f"got {', '.join(model.name for model in models)}")
    if known is not None and models[0].columns != known and sorted(models[0].columns) == sorted(known):
        demand = f"must name the columns in the order of `fit`: {', '.join(known)}"
        raise InputError("--prob-columns", demand, f"got {', '.join(models[0].columns)}")
    if known is not None and models[0].columns != known:
        warning(f"the map was fitted on {_list_names(known)}, and is applied to {_list_names(models[0].columns)}.")
    return models[0]


def _list_names(columns: tuple[str, ...]) -> str:
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(map(repr, columns))}"


def _new_names(model: Model, name: str | None, source: "Table") -> list[str]:
    """The names of the new columns: one, or one for each column of a matrix."""
    if len(model.columns) > 1 and name is not None:
        demand = "is only for one column of scores; the columns of a matrix get _calibrated after their names"
        raise InputError("--name", demand)
    new = [name or f"{model.name}_calibrated"] if len(model.columns) == 1 else []
    new = new or [f"{column}_calibrated" for column in model.columns]
    for column in new:
        if column in source.names:
            raise InputError("", f"{source.name} has a column {column!r} already", "`--name` must give another name")
    return new


@dataclass(frozen=True)
class _Application:
    """A map, the rows that it is applied to, and how missing scores are treated."""

    calibrator: Any
    source: "Table"
    model: Model
    missing: str
    percent: bool

    def write(self, file: BinaryIO, names: list[str]) -> None:
        import numpy as np

        by = getattr(self.calibrator, "by_names_", ())
        if absent := [name for name in by if name not in self.source.names]:
            raise InputError("", f"{self.source.name} has no {_list_names(tuple(absent))}, by which the map was fitted")
        read = self.source.read((), self.model.columns, by)
        values = [read.numbers[name] for name in self.model.columns]
        p = values[0] if len(values) == 1 else np.column_stack(values)
        require_rows(self.source.name, len(p))
        logits = "These look like logits: the calibrator was fitted on probabilities."
        words = wording(
            {"y_prob": f"scores {self.model.name!r}"},
            lambda place: self.source.place(place.row),
            remedies=dict.fromkeys(("temperature", "input-logits"), logits),
        )
        with reword_messages(words, self.source.name) as warned:
            scores = self._scores(p, read.groups)
        warning(*warned)
        columns = [scores] if len(names) == 1 else scores.T
        self.source.write(file, dict(zip(names, columns, strict=True)))

    def _scores(self, p: "NDArray[Any]", groups: "Mapping[str, NDArray[Any]]") -> "NDArray[Any]":
        import numpy as np

        gone = missing_rows(p)
        if gone.any() and self.missing == "raise":
            demand, got = "must not have missing values", f"{int(gone.sum()):,} of {gone.size:,} are"
            remedy = "`--missing keep` leaves those rows without a calibrated score."
            raise InputError("y_prob", demand, got, remedy=remedy)
        scores, kept = np.full(p.shape, np.nan), np.flatnonzero(~gone)
        try:
            if len(kept):
                own = {"by": {name: values[kept] for name, values in groups.items()}} if groups else {}
                scores[kept] = self.calibrator.predict(as_fractions(p[kept], self.percent), **own)
        except InputError as error:
            place = error.place
            raise error.but(place=place and place._replace(row=int(kept[place.row]))) from None
        return scores

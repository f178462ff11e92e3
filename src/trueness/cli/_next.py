"""``trueness next``: which rows people should label next."""

from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._printing import (
    check_table_file,
    check_writable,
    note,
    reword_messages,
    warning,
    wording,
    write,
)
from trueness.cli._reading import names_of, one_column, open_source
from trueness.errors import InputError
from trueness.sources._columns import as_fractions, missing_rows
from trueness.sources._data_set import require_rows
from trueness.sources._request import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueness.typing import Bools

_COLUMN = "human_prob"


@command("next")
@opt.data(shown="[FILE]...", demo=False, label=False, by=False, scale=False)
@opt.text("--judge", "Column of a judge's labels of all rows: 0/1 or true/false.")
@opt.text("--labelled", "Column of human labels, empty where no human looked: others are chosen.")
@opt.count("--budget", "How many rows to label.")
@opt.seed("Seed of the draw.")
@opt.file_output
def next_(
    request: Request,
    *,
    output: str | None,
    budget: int | None,
    labelled: str | None,
    seed: int,
) -> None:
    """Choose the rows that people should label next.

    The rows are drawn where labels are most uncertain, with known probabilities, and written with
    all their columns and human_prob. Limits of the event rate become shorter for rare events with a
    good judge; the last line says what to expect.

    \b
      trueness next answers.parquet --prob p --judge grader --budget 200 -o to_label.csv
      trueness next x.csv --prob p --judge grader --labelled human --budget 50 -o more.csv

    Exit code 0: written. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources.tables._table import SAVED_AS, save_columns

    if budget is None:
        raise click.UsageError("--budget must say how many rows to label.")
    output, suffix = check_table_file(output, SAVED_AS)
    check_writable(output, *request.files)
    with open_source(request) as source:
        scores = one_column(source, request)
        names_of(source).check("--judge", request.judge)
        names_of(source).check("--labelled", labelled)
        if _COLUMN in source.names:
            raise InputError(
                "", f"{source.name} must not have a column {_COLUMN!r}", "it is written"
            )
        judge = request.judge
        read = source.read(() if judge is None else (judge,), (scores,), tuple(source.names))
        require_rows(source.name, len(read.numbers[scores]))
        words = wording(
            {"y_prob": f"column {scores!r}", "judge": f"column {judge!r}"},
            lambda place: source.place(place.row),
            options={"budget": "--budget"},
        )
        with reword_messages(words) as warned:
            selection = tn.next_labels(
                as_fractions(read.numbers[scores], request.percent),
                None if judge is None else read.labels[judge],
                budget=budget,
                labelled=None if labelled is None else _present(read.groups[labelled]),
                seed=seed,
            )
        warning(*warned)
        columns = {name: read.groups[name][selection.index] for name in source.names}
        columns[scores] = read.numbers[scores][selection.index]
    columns[_COLUMN] = selection.human_prob[selection.index]
    write(output, lambda file: save_columns(columns, file, suffix))
    note(f"written to {output}. {selection.sentence}")


def _present(values: "NDArray[Any]") -> "Bools":
    """Which values are there: not missing, and not an empty text."""
    empty = values == "" if values.dtype.kind in "OU" else False
    return ~(missing_rows(values) | empty)

"""From a request to rows: open the files, say what was guessed and dropped, word messages."""

from __future__ import annotations  # the types of arrays, which help does not need

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

import trueness as tn
from trueness._progress import progress_bar
from trueness.cli._printing import note, printed_warnings, reword_messages, warning, wording
from trueness.errors import InputError, dropped_rows
from trueness.sources._data_set import DataSet, require_rows
from trueness.sources._names import Names
from trueness.sources._request import LOG_FIELDS, Request

if TYPE_CHECKING:
    from trueness.recalibrate._calibrator import Calibrator
    from trueness.sources.logs._answers_table import AnswersTable
    from trueness.sources.tables._table import Table

_IMPORTANCE = (
    "Weights are not whole numbers: they are taken as importance weights, not as counts of rows."
)
_LOG_OPTIONS = {
    name: f"--{name.replace('_', '-')}" for name in ("scorer", *LOG_FIELDS, "confidence")
}
Answer = TypeVar("Answer")


@contextmanager
def open_source(request: Request) -> Iterator[Table]:
    """The files as one table, or the demo data."""
    from trueness.sources.logs._command_logs import uses_logs
    from trueness.sources.tables._files import expand_paths, open_tables

    if not request.files:
        yield _demo(request)
        return
    separator = {"tab": "\t", "\\t": "\t"}.get(request.separator or "", request.separator)
    if separator is not None and (
        len(separator) != 1 or separator in '"\r\n' or not separator.isascii()
    ):
        raise InputError(
            "--separator", "must be one character, or tab", f"got {request.separator!r}"
        )
    files = expand_paths(request.files)
    if uses_logs(request):
        yield read_logs(request, files)
        return
    with open_tables(files, separator, request.decimal, request.input_format) as table:
        yield table


def _demo(request: Request) -> Table:
    """Simulated rows whose truth is known: labels ``y``, the models' scores, and ``truth``."""
    from trueness.sources.tables._numpy import Arrays

    try:
        columns = tn.simulate.demo(request.rows, seed=request.seed).table()
    except InputError as reason:
        raise reason.but(argument="--rows", remedy="") from reason
    return Arrays(f"simulated data (seed {request.seed})", columns)


def _columns_of_demo(request: Request, names: Sequence[str]) -> Request:
    probs = request.probs
    if request.matrices:
        probs = ()
    elif not probs:
        probs = tuple(name for name in names if name not in ("y", "truth"))
    return replace(request, label=request.label or "y", probs=probs)


def read_logs(request: Request, files: Sequence[str], more: Sequence[str] = ()) -> AnswersTable:
    """The answers of logs, with the fields that options name."""
    from trueness.sources.logs import _command_logs as _logs

    with reword_messages(wording(options=_LOG_OPTIONS)):
        return _logs.read_logs(request, files, more=more)


def _columns_of_answers(request: Request, table: AnswersTable) -> Request:
    """The columns of answers unless others are named.

    Groups are sources, models and tasks: they are not pooled in silence.
    """
    from trueness.sources.logs._command_logs import columns_of_answers

    context = click.get_current_context()
    answers = table.answers
    by: list[str] = [name for name in ("source", "model", "task") if name in answers.by]
    if "by" not in context.params or request.by or context.info_name == "fit":
        by = []
    elif context.info_name == "tally" or (len(by) > 1 and context.info_name != "report"):
        # A tally reads one file after the other; elsewhere a group of one column would pool the
        # others.
        by = ["origin"]
    if by:
        note(f"groups by {' and '.join(by)}: they are not pooled. `--by` chooses others.")
    elif "source" in answers.by and "source" not in request.by:
        sources = "; ".join(sorted(set(answers.source.tolist())))
        warning(f"Confidences of different sources are pooled: {sources}.")
    return columns_of_answers(request, by)


@contextmanager
def open_data(request: Request, *, compared: bool = False) -> Iterator[DataSet]:
    """The data set of a request, whose rows are not read yet.

    Models to be `compared` are side by side.
    """
    from trueness.sources._choose import choose
    from trueness.sources.logs._answers_table import AnswersTable

    with open_source(request) as source:
        if not request.files:
            request = _columns_of_demo(request, source.names)
        if isinstance(source, AnswersTable):
            request = _columns_of_answers(request, source)
        data, guesses = choose(source, request)
        print_guesses(guesses)
        yield _beside(data) if compared and data.request.model_column is not None else data


def _beside(data: DataSet) -> DataSet:
    """A table with a row for each model and question as one with a row for each question."""
    from trueness.sources._long import beside

    rows = read(data).validate()
    warn_of_dropped(rows)
    with printed_warnings():
        return beside(rows)


def print_guesses(guesses: Sequence[str]) -> None:
    if guesses:
        note(f"{', '.join(guesses)}.")


def read(data: DataSet) -> DataSet:
    """The rows of a data set."""
    with progress_bar(f"Reading {data.source}"):
        data = data.read()
    note(*data.origin.note.splitlines())
    if data.request.model_column is None:
        return data
    from trueness.sources._long import with_models

    rows = with_models(data)
    if rows.request.cluster != data.request.cluster:
        note(f"rows of the same {rows.request.cluster!r} are taken as a cluster.")
    return rows


def read_unchecked(request: Request) -> DataSet:
    """All rows, the models side by side."""
    with open_data(request, compared=True) as data:
        return read(data)


def read_rows(
    request: Request, *, alike: bool = True, gaps: bool = False, compared: bool = False
) -> DataSet:
    """All rows, checked; a warning says how many were dropped."""
    with open_data(request, compared=compared) as data:
        rows = read(data).validate(alike=alike, gaps=gaps)
    warn_of_dropped(rows)
    return rows


def paired_rows(request: Request, *, only_first_has_confidence: bool = False) -> DataSet:
    """The answers of each model to the same questions, each with its own labels."""
    from trueness.sources.logs._command_logs import logs_to_route, pair_logs
    from trueness.sources.tables._files import expand_paths

    files = expand_paths(request.files)
    if only_first_has_confidence:
        with reword_messages(wording(options=_LOG_OPTIONS)):
            tables = logs_to_route(request, files)
    else:
        tables = [read_logs(request, [name], more=("input",)) for name in files]
    note(*(table.note for table in tables))
    with printed_warnings():
        data = pair_logs(request, tables, only_first_has_confidence=only_first_has_confidence)
    return read(data).validate(alike=not only_first_has_confidence)


def about(
    data: DataSet,
    options: Mapping[str, str] | None = None,
    remedies: Mapping[str, str] | None = None,
) -> AbstractContextManager[list[str]]:
    """Word errors of the library in terms of the file, its columns and the options.

    Give its warnings.
    """
    return reword_messages(
        wording(data.arguments, data.place, options=options, remedies=remedies), data.context
    )


def ask_each(
    data: DataSet,
    doing: str,
    ask: Callable[[DataSet], Answer],
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[DataSet, Answer]]:
    """What a function answers about each model in each group; errors and warnings say which."""
    parts = data.parts()
    with progress_bar(doing) as report:
        for i, part in enumerate(parts):
            with about(part, options) as warned:
                answer = ask(part)
            warning(*warned, about=part.title)
            report(i + 1, len(parts))
            yield part, answer


def judged(data: DataSet, *, level: float, seed: int) -> dict[str, tn.results.Powered]:
    """What human labels and the judge's say together, by model."""
    require_rows(data.source, len(data))
    results = {}
    complete = data.complete()
    warn_of_dropped(complete)
    for rows in complete.by_model():
        with about(rows, options={"pos_label": "--pos-label"}) as warned:
            results[rows.model.name] = tn.powered(
                rows.y_true,
                rows.judge,
                rows.y_prob,
                cluster=rows.cluster,
                level=level,
                seed=seed,
                **rows.options,
            )
        warning(*warned)
    return results


def load_map(path: str, shown: str) -> Calibrator:
    """The map in a file, which messages call `shown`."""
    try:
        with reword_messages(wording({"stored": "it", "path": "it"}), f"{shown} cannot be used"):
            loaded: Calibrator = tn.load_calibrator(path)
            return loaded
    except OSError as reason:
        raise InputError("", f"{shown} cannot be read: {reason.strerror or reason}") from reason


def one_column(source: Table, request: Request) -> str:
    """The only column of scores: the one that an option names, or whose name fits."""
    from trueness.sources._choose import choose_scores

    models, guesses = choose_scores(names_of(source), request, {})
    print_guesses(guesses)
    if len(models) > 1 or len(models[0].columns) > 1:
        names = ", ".join(model.name for model in models)
        raise InputError("--prob", "must name one column of scores", f"got {names}")
    return models[0].columns[0]


def names_of(source: Table) -> Names:

    return Names((*source.names, *source.nested), source.name)


def warn_of_dropped(rows: DataSet) -> None:
    warning(*dropped_message(rows.dropped, len(rows) + rows.dropped))


def note_importance(rows: DataSet) -> None:
    """Say that weights were taken as importance weights because they are not whole numbers."""
    if rows.request.weight_type == "auto" and rows.weight_type == "importance":
        note(_IMPORTANCE)


def dropped_message(dropped: int, rows: int) -> tuple[str, ...]:
    if dropped:
        return (dropped_rows(dropped, rows),)
    return ()

"""``trueness answers``, and the answers of several models side by side for ``trueness compare``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import trueness.cli._options as opt
from trueness.cli._columns import Choice, Model, Request, paired
from trueness.cli._dataset import Rows, read_logs
from trueness.cli._printing import check_table_file, check_writable, note, write
from trueness.errors import InputError

_SUFFIXES = (".parquet", ".arrow", ".csv", ".jsonl")


@opt.command("answers")
@click.argument("files", nargs=-1, metavar="LOG...")
@opt.logs
@opt.text("--by", "A further field to keep, such as metadata.topic. Repeatable.", multiple=True)
@opt.file_output
def answers(files: tuple[str, ...], output: str | None, **options: Any) -> None:
    """Write the answers in logs of evaluation harnesses as one table.

    Logs of evaluation harnesses and other tools, batches of requests, or any JSON whose fields are
    named; or folders of them. Each row is an answer: whether it is right (label), its confidence,
    the question, task, subject, model, epoch, and the source of the confidence. What does not count
    is printed by reason.

    \b
      trueness answers logs/* -o answers.parquet
      trueness answers run.eval --confidence metadata.confidence -o run.csv
      trueness answers my.jsonl --label-field ok --confidence-field p -o my.csv

    Exit code 0: written. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.sources._files import expand_paths

    output, suffix = check_table_file(output, _SUFFIXES)
    names = expand_paths(files)
    check_writable(output, *names)
    table = read_logs(Request.pop_from({**options, "files": files}), names)
    write(output, lambda file: table.save(file, suffix))
    note(
        table.note, f"the answers are in {output}; `--cluster question --by source` respects both."
    )


def paired_rows(request: Request) -> Rows:
    """The answers of each model to the same questions and epochs, each with its own labels."""
    import numpy as np

    from trueness.sources._eval_log import objects
    from trueness.sources._files import expand_paths
    from trueness.sources._numpy import Arrays

    tables = [read_logs(request, [name], "input") for name in expand_paths(request.files)]
    note(*(table.note for table in tables))
    logs = [_answers(table) for table in tables]
    models = _models(tables, logs)
    names = dict.fromkeys(models)
    spelled = " and ".join(map(repr, names))
    if len(names) < 2:
        raise InputError(
            "FILE", "must be logs of two models or more to compare", f"got {spelled or 'none'}"
        )
    answers = []
    keys = []
    for table, log in zip(tables, logs, strict=True):
        answers += log
        keys += _questions(log, table.name, has_ids=request.id_field is not None)
    places = paired(models, keys, "question and epoch")
    by_model = {name: [answers[i] for i in place] for name, place in places.items()}
    for pair in zip(*by_model.values(), strict=True):
        # Ids may be numbers of rows, which another data set has too.
        if len({str(answer["input"]) for answer in pair}) > 1:
            raise InputError(
                "", f"{spelled} must have the same questions", f"{pair[0]['question']!r} differs"
            )
    first = next(iter(by_model.values()))
    arrays = {}
    for column in first[0]:
        if not column.startswith(("label", "confidence", "option_", "input")):
            arrays[column] = objects(answer[column] for answer in first)
    for name, model_answers in by_model.items():
        for column in ("label", "confidence"):
            arrays[f"{column} {name}"] = np.array([answer[column] for answer in model_answers])
        sources = sorted({str(answer["source"]) for answer in model_answers})
        note(f"{name}: confidence from {'; '.join(sources)}.")
    source = Arrays(" and ".join(table.name for table in tables), arrays)
    columns = tuple(Model(name, (f"confidence {name}",), label=f"label {name}") for name in names)
    choice = Choice(
        label=str(columns[0].label),
        models=columns,
        weight=None,
        by=request.by,
        cluster=request.cluster or "question",
    )
    read = source.read(list(choice.labels), choice.numbers, choice.groups)
    return Rows(read, choice, source, replace(request, files=())).validate()


def _answers(table: Any) -> list[dict[str, Any]]:
    """The answers in a log, each by the names of its columns."""
    columns = [table.array(name) for name in table.names]
    return [dict(zip(table.names, values, strict=True)) for values in zip(*columns, strict=True)]


def _models(tables: Sequence[Any], logs: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """The model of each answer: the file's name unless logs name several."""
    models_by_log = [set(table.answers.model.tolist()) for table in tables]
    is_named = len(set.union(*models_by_log)) > 1 and all(models_by_log)
    models = list[str]()
    for table, log in zip(tables, logs, strict=True):
        stem = Path(table.name).stem
        models += [answer["model"] if is_named else stem for answer in log]
    return models


def _questions(
    answers: Sequence[Mapping[str, Any]], file: str, *, has_ids: bool
) -> list[tuple[str, str, int]]:
    """Task, question and epoch of each answer, as other logs have them.

    Where the log names no task, it is called by its file, which other logs are not. Then the ids of
    questions alone pair them, but not the numbers of rows.
    """
    from trueness.sources._files import files_below

    files = files_below(file) if Path(file).is_dir() else (file,)
    stems = {Path(name).stem for name in files}
    as_stored = []
    without_file = []
    for answer in answers:
        task = answer["task"]
        question = answer["question"]
        epoch = answer["epoch"]
        as_stored.append((task, question, epoch))
        if task in stems:
            without_file.append(("", question.removeprefix(f"{task}/"), epoch))
        else:
            without_file.append((task, question, epoch))
    row_numbers = {str(i) for i in range(len(answers))}
    is_numbered = all(question in row_numbers for _, question, _ in without_file)
    if is_numbered and not has_ids:
        return as_stored
    return without_file

"""``trueness answers``, and the answers of several models side by side for ``trueness compare``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import trueness.cli._options as opt
from trueness.cli._columns import Choice, Model, Request, paired
from trueness.cli._dataset import Rows, read_logs
from trueness.cli._printing import check_suffix, check_writable, note, write
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

    if output is None or output == "-":
        raise InputError(
            "--output", f"must name the file to write, ending in {', '.join(_SUFFIXES)}"
        )
    suffix = Path(output).suffix.lower()
    check_suffix(output, "a table", _SUFFIXES, suffix or "none")
    names = expand_paths(files)
    check_writable(output, *names)
    table = read_logs(Request.pop_from({**options, "files": files}), names)
    write(output, lambda file: table.save(file, suffix))
    note(
        table.note, f"the answers are in {output}; `--cluster question --by source` respects both."
    )


def paired_rows(request: Request, *, only_first_needs_confidence: bool = False) -> Rows:
    """The answers of each model to the same questions in the same epochs, each with its own labels.

    If only the first model needs confidences, those of the others are not read.
    """
    import numpy as np

    from trueness.sources._eval_log import objects
    from trueness.sources._files import expand_paths
    from trueness.sources._numpy import Arrays

    files = expand_paths(request.files)
    if only_first_needs_confidence:
        tables = _tables_of_route(request, files)
    else:
        tables = [read_logs(request, [name], "input") for name in files]
    note(*(table.note for table in tables))
    by_model = _named_by_model(tables)
    whose = list[str]()
    rows = list[dict[str, Any]]()
    keys = list[tuple[str, str, int]]()
    for table in tables:
        columns = {column: table.array(column) for column in table.names}
        each = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        whose += [row["model"] if by_model else Path(table.name).stem for row in each]
        rows += each
        keys += _questions(each, table.name, has_ids=request.id_field is not None)
    names = dict.fromkeys(whose)
    both = " and ".join(map(repr, names))
    if len(names) < 2:
        raise InputError(
            "FILE", "must be logs of two models or more to compare", f"got {both or 'none'}"
        )
    own = {
        name: [rows[i] for i in some]
        for name, some in paired(whose, keys, "question and epoch").items()
    }
    for same in zip(
        *own.values(), strict=True
    ):  # ids may be numbers of rows, which another data set has too
        if len({str(row["input"]) for row in same}) > 1:
            raise InputError(
                "", f"{both} must have the same questions", f"{same[0]['question']!r} differs"
            )
    first = next(iter(own.values()))
    other = ("label", "confidence", "option_", "input")
    arrays = {
        one: objects(row[one] for row in first) for one in first[0] if not one.startswith(other)
    }
    for name, some in own.items():
        arrays |= {
            f"{one} {name}": np.array([row[one] for row in some]) for one in ("label", "confidence")
        }
        sources = sorted({str(row["source"]) for row in some} - {""})
        if sources:
            note(f"{name}: confidence from {'; '.join(sources)}.")
    source = Arrays(" and ".join(table.name for table in tables), arrays)
    own_columns = []
    for i, name in enumerate(names):
        is_scored = i == 0 or not only_first_needs_confidence
        scores = (f"confidence {name}",) if is_scored else ()
        own_columns.append(Model(name, scores, label=f"label {name}"))
    labels = [str(model.label) for model in own_columns]
    choice = Choice(
        labels[0], tuple(own_columns), None, (), request.by, request.cluster or "question"
    )
    read = source.read(labels, choice.numbers, choice.groups)
    rows_of_all = Rows(read, choice, source, replace(request, files=()))
    return rows_of_all.validate(alike=not only_first_needs_confidence)


def _named_by_model(tables: Sequence[Any]) -> bool:
    """Whether the model that a log names tells answers apart; else the name of the file does."""
    models = [set(table.answers.model.tolist()) for table in tables]
    return len(set.union(*models)) > 1 and all(models)


def _tables_of_route(request: Request, files: Sequence[str]) -> list[Any]:
    """The answers in each file; those of models other than the first file's need no confidence."""
    tables = [read_logs(request, files[:1], "input")]
    for name in files[1:]:
        tables.append(read_logs(request, [name], "input", needs_confidence=False))
    by_model = _named_by_model(tables)

    def models_of(table: Any) -> set[str]:
        return set(table.answers.model.tolist()) if by_model else {Path(table.name).stem}

    cheap = models_of(tables[0])
    for i, name in enumerate(files[1:], start=1):
        if cheap & models_of(tables[i]):
            tables[i] = read_logs(request, [name], "input")
    return tables


def _questions(
    rows: Sequence[Mapping[str, Any]], name: str, *, has_ids: bool
) -> list[tuple[str, str, int]]:
    """Task, question and epoch of each answer, as other logs have them.

    Where the log names no task, it is called by its file, which other logs are not. Then the ids of
    questions alone pair them, but not the numbers of rows.
    """
    from trueness.sources._files import files_below

    files = files_below(name) if Path(name).is_dir() else (name,)
    stems = {Path(file).stem for file in files}
    found = []
    for row in rows:
        task, question = row["task"], row["question"]
        if task in stems:
            task, question = "", question.removeprefix(f"{task}/")
        found.append((task, question, row["epoch"]))
    numbered = {question for _, question, _ in found} <= {str(i) for i in range(len(found))}
    if has_ids or not numbered:
        return found
    return [(row["task"], row["question"], row["epoch"]) for row in rows]

"""Logs of evaluations as data sets: one log, or those of several models side by side."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._long import paired
from trueness.sources._request import LOG_FIELDS, Model, Request
from trueness.sources.logs._answers_table import AnswersTable, objects
from trueness.sources.logs._eval_log import read_answers
from trueness.sources.logs._log_files import is_eval_log
from trueness.sources.logs._log_request import LogRequest
from trueness.sources.tables._files import files_below
from trueness.sources.tables._numpy import Arrays

_INPUT = ("input",)
"""The text of the question, by which answers of two logs are seen to be paired rightly."""


def uses_logs(request: Request) -> bool:
    """Whether the files are logs of evaluations, or are to be read as such."""
    names_log = any(getattr(request, name) for name in ("confidence", "scorer", *LOG_FIELDS))
    if names_log or request.input_format is not None:
        return names_log
    return any(is_eval_log(file) for file in request.files)


def read_logs(
    request: Request,
    files: Sequence[str],
    *,
    more: Sequence[str] = (),
    needs_confidence: bool = True,
) -> AnswersTable:
    """The answers of logs as a table, with the fields that options name and `more`."""
    fields = []
    for name in (*request.named, *more):
        if not name.startswith("option_") and name not in AnswersTable.columns:
            fields.append(name)
    log_request = LogRequest(
        scorer=request.scorer,
        confidence=request.confidence or "auto",
        fields=fields,
        needs_confidence=needs_confidence,
        **{name: getattr(request, name) for name in LOG_FIELDS},
    )
    answers = read_answers(files, log_request)
    title = ", ".join(files[:3])
    if len(files) > 3:
        title = f"{title} and {len(files) - 3} more"
    for name in fields:
        if name not in more and all(value is None for value in answers.fields[name]):
            raise InputError("", f"No answer of {title} has a field {name!r}")
    return AnswersTable(title, answers)


def columns_of_answers(request: Request, by: Sequence[str]) -> Request:
    """The columns of answers unless others are named; clusters are questions."""
    request = replace(request, cluster=request.cluster or "question", by=request.by or tuple(by))
    if request.matrices:
        return replace(request, label=request.label or "right_option")
    return replace(request, label=request.label or "label", probs=request.probs or ("confidence",))


@dataclass(frozen=True)
class ModelLogs:
    """Logs of several models, and whether the models that they name tell them apart.

    Else the names of the files do.
    """

    tables: Sequence[AnswersTable]

    @property
    def _are_named(self) -> bool:
        by_log = [set(table.answers.model.tolist()) for table in self.tables]
        return len(set.union(*by_log)) > 1 and all(by_log)

    def models_of(self, table: AnswersTable) -> list[str]:
        """The model of each answer of a log."""
        if self._are_named:
            return list(table.answers.model.tolist())
        return [Path(table.name).stem] * len(table.answers.model)


def logs_to_route(request: Request, files: Sequence[str]) -> list[AnswersTable]:
    """The answers in each file; those of models other than the first file's need no confidence."""
    tables = [read_logs(request, files[:1], more=_INPUT)]
    for name in files[1:]:
        tables.append(read_logs(request, [name], more=_INPUT, needs_confidence=False))
    logs = ModelLogs(tables)
    models = [set(logs.models_of(table)) for table in tables]
    for i, name in enumerate(files[1:], start=1):
        if models[0] & models[i]:
            tables[i] = read_logs(request, [name], more=_INPUT)
    return tables


def pair_logs(
    request: Request, tables: Sequence[AnswersTable], *, only_first_has_confidence: bool
) -> DataSet:
    """The answers of each model to the same questions and epochs, each with its own labels.

    Questions that only some of the models answered are left out, with a warning. Refused are logs
    of a single model, models without a question in common, and questions of one id whose text
    differs. With `only_first_has_confidence` the other models have labels alone. The questions are
    the clusters unless the request names others; answers have no weights.
    """
    logs = ModelLogs(tables)
    answers = []
    models = []
    keys = []
    for table in tables:
        log = _answers(table)
        answers += log
        models += logs.models_of(table)
        keys += _questions(log, table.name, has_ids=request.id_field is not None)
    names = list(dict.fromkeys(models))
    spelled = " and ".join(map(repr, names))
    if len(names) < 2:
        raise InputError(
            "FILE", "must be logs of two models or more to compare", f"got {spelled or 'none'}"
        )
    places = paired(models, keys, "question and epoch")
    by_model = {name: [answers[i] for i in place] for name, place in places.items()}
    for pair in zip(*by_model.values(), strict=True):
        # Ids may be numbers of rows, which another data set has too.
        if len({str(answer["input"]) for answer in pair}) > 1:
            raise InputError(
                "", f"{spelled} must have the same questions", f"{pair[0]['question']!r} differs"
            )
    columns = []
    for name in names:
        has_confidence = name == names[0] or not only_first_has_confidence
        scores = (f"confidence {name}",) if has_confidence else ()
        columns.append(Model(name, scores, label=f"label {name}"))
    origin = Arrays(" and ".join(table.name for table in tables), _arrays_of(by_model))
    origin.note = "\n".join(_confidence_notes(by_model))
    completed = replace(
        request,
        files=(),
        label=columns[0].label,
        weight=None,
        cluster=request.cluster or "question",
    )
    return DataSet(completed, origin, tuple(columns))


def _arrays_of(by_model: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """The columns of a table with a row per question.

    Labels and confidences are those of each model; all other columns are those of the first.
    """
    first = next(iter(by_model.values()))
    arrays = {}
    for column in first[0]:
        if not column.startswith(("label", "confidence", "option_", "input")):
            arrays[column] = objects(answer[column] for answer in first)
    for name, answers in by_model.items():
        for column in ("label", "confidence"):
            arrays[f"{column} {name}"] = np.array([answer[column] for answer in answers])
    return arrays


def _confidence_notes(by_model: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Where the confidences of each model come from."""
    notes = []
    for name, answers in by_model.items():
        sources = sorted({str(answer["source"]) for answer in answers} - {""})
        if sources:
            notes.append(f"{name}: confidence from {'; '.join(sources)}.")
    return notes


def _answers(table: AnswersTable) -> list[dict[str, Any]]:
    """The answers in a log, each by the names of its columns."""
    columns = [table.array(name) for name in table.names]
    return [dict(zip(table.names, values, strict=True)) for values in zip(*columns, strict=True)]


def _questions(
    answers: Collection[Mapping[str, Any]], file: str, *, has_ids: bool
) -> list[tuple[str, str, int]]:
    """Task, question and epoch of each answer, as other logs have them.

    Where the log names no task, it is called by its file, which other logs are not. Then the ids of
    questions alone pair them, but not the numbers of rows.
    """
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

"""lm-evaluation-harness: a line per document and filter, with the results beside it."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from trueness.errors import InputError
from trueness.sources.logs._sample import (
    NO_CHOICES,
    NO_TARGETS,
    Choices,
    Log,
    Options,
    Report,
    Sample,
    Targets,
    as_list,
    checked_row,
    dotted,
    number_or_nan,
    object_in,
    objects_in,
    subject_of,
    typed,
    unwrapped,
)

_FIELD_TYPES = {"doc": dict, "filtered_resps": list, "metrics": list}
_FILE_NAME = re.compile(r"samples_(.*?)_(\d{4}-\d\d-\d\dT[-\d.:]+)\.jsonl?")
# What a run that was started again into the same folder has in common with the first start.
_RUN_SETTINGS = (
    "model_name",
    "config.model_args",
    "config.gen_kwargs",
    "system_instruction_sha",
    "chat_template_sha",
)
# Metrics that keep the number of the right option beside their value.
_METRICS_WITH_TARGET = ("brier_score", "likelihood", "f1", "mcc")


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """lm-evaluation-harness: a line per document and filter."""
    config = _read_header(log)
    for raw in objects_in(log, report):
        row = checked_row(raw, log, _FIELD_TYPES, needed=("doc_id",))
        yield _sample(row, log, config)


def _read_header(log: Log) -> Mapping[str, Any]:
    """Fill in what the name of the file and the results beside it say; the settings of the task."""
    name = _FILE_NAME.fullmatch(log.path.name)
    if name is None:
        log.task = log.path.stem.removeprefix("samples_")
    else:
        log.task = name[1]
        log.created = name[2]
    results_file = _results_file(log)
    if results_file is None:
        results: Mapping[str, Any] = {}
        unknown = "its model is unknown, and the type of task is inferred"
        log.notes.append(f"no file of results lies beside it: {unknown}")
    else:
        results = object_in(results_file)
    config: Mapping[str, Any] = (results.get("configs") or {}).get(log.task, {})
    log.model = str(results.get("model_name") or dotted(results, "config.model_args") or "")
    if name is not None:
        settings = [str(dotted(results, setting)) for setting in _RUN_SETTINGS]
        folder = str(log.path.parent)
        shots = str(config.get("num_fewshot"))
        log.identity = "/".join([folder, log.task, shots, *settings])
    return config


def _results_file(log: Log) -> Path | None:
    """The file of results of the same time; of a log without a time, the only one beside it."""
    beside = sorted(log.path.parent.glob("results*.json"))
    for file in beside:
        if log.created and log.created in file.name:
            return file
    return beside[0] if len(beside) == 1 else None


def _sample(row: Mapping[str, Any], log: Log, config: Mapping[str, Any]) -> Sample:
    """One row of lm-evaluation-harness as a sample.

    Its responses are the log-likelihoods of the options, or the text that the model wrote.
    """
    filtered = row.get("filtered_resps", row.get("resps"))
    responses = [unwrapped(one) for one in typed(filtered, list, log.place, "filtered_resps")]
    likelihoods = bool(responses) and all(_is_likelihood(response) for response in responses)
    choices = NO_CHOICES
    is_choice = config.get("output_type") in (None, "multiple_choice")
    if is_choice and likelihoods and len(responses) > 1:
        logs = [number_or_nan(as_list(response)[0]) for response in responses]
        delimiter = str(config.get("target_delimiter", " "))
        choices = _choices(row, logs, delimiter, log.place)
    answer = None
    if responses and not likelihoods:
        answer = str(responses[0])
    trouble = ""
    if answer is not None and answer.strip() in ("", "[invalid]"):
        trouble = "no answer"
    if likelihoods and choices.options is None:
        trouble = "the log has the likelihood of the right answer, not of the answer given"
    return Sample(
        question=str(row.get("doc_hash") or f"{log.task}/{row['doc_id']}"),
        identity=str(row["doc_id"]),
        raw=row,
        scores=_scores(row),
        text=_text(row, answer),
        subject=subject_of(row.get("doc")),
        answer=answer,
        trouble=trouble,
        part=str(row.get("filter", "")),
        options=choices.options,
        targets=choices.targets,
    )


def _is_likelihood(response: object) -> bool:
    """Whether it is a log-likelihood beside whether it is that of the most likely answer."""
    if not isinstance(response, list) or len(response) != 2:
        return False
    value, is_greedy = response
    if str(is_greedy) not in ("True", "False"):
        return False
    return not math.isnan(number_or_nan(value)) or str(value) == "nan"


def _scores(row: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a line; a list belongs to a metric of all lines, such as F1."""
    names = list(row.get("metrics") or ())
    names += [name for name in ("acc", "exact_match") if name in row]
    scores = {}
    for name in names:
        value = row.get(name)
        if value is None or isinstance(value, int | float | str):
            scores[name] = value
    return scores


def _text(row: Mapping[str, Any], answer: str | None) -> str | None:
    """What the model wrote; None if that is unknown.

    A filter may leave only the number of an answer, and a confidence stands in the whole
    response. Of several responses, it is the one that the filter let through as it was.
    """
    written = answer and unwrapped(row.get("resps") or answer)
    if not isinstance(written, list):
        return cast(str | None, written)
    return answer if answer in written else None


def _choices(row: Mapping[str, Any], logs: list[float], delimiter: str, place: str) -> Choices:
    """The options of a question with their log-likelihoods `logs`, and which of them is right.

    Refused are rows with fewer options than log-likelihoods.
    """
    texts = _arguments(row)
    half = len(logs) // 2
    # The second half may be the same options without the question.
    doubled = half > 1 and len(texts) == 2 * half == len(logs)
    without_question = doubled and not any(pair[0] for pair in texts[half:])
    if without_question or "acc_mutual_info" in row:
        logs = logs[:half]
        texts = texts[:half]
    if texts and len(texts) != len(logs):
        got = f"'filtered_resps' has {len(logs)} options and 'arguments' {len(texts)}"
        raise InputError("", f"{place}: {got}")
    # As in winogrande: the options stand in the question, and the text after them is the same.
    in_question = len({pair[-1] for pair in texts}) == 1
    if in_question:
        choices = [pair[0] for pair in texts]
        targets = NO_TARGETS
    else:
        choices = [pair[-1].removeprefix(delimiter) for pair in texts]
        targets = _targets(row, choices, len(logs))
    return Choices(Options(logs, choices or [""] * len(logs)), targets)


def _arguments(row: Mapping[str, Any]) -> list[list[str]]:
    """The question and the option of each likelihood."""
    arguments = row.get("arguments") or ()
    pairs = arguments.values() if isinstance(arguments, Mapping) else arguments
    texts = []
    for pair in pairs:
        parts = pair.values() if isinstance(pair, Mapping) else pair
        texts.append([str(part) for part in parts][:2])
    return texts


def _targets(row: Mapping[str, Any], choices: Sequence[str], size: int) -> Targets:
    """The right options; the target is a text, whatever its type was."""
    for name in _METRICS_WITH_TARGET:
        value = row.get(name)
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, int) and 0 <= first < size:
            return Targets((first,), (first,))
    target = row.get("target")
    if re.fullmatch(r"\[[-\d,\s]*\]", str(target)):
        target = json.loads(str(target))
    numbers = []
    texts = []
    for spelled in map(str, as_list(target)):
        if re.fullmatch(r"\d+", spelled) and int(spelled) < size:
            numbers.append(int(spelled))
        if spelled in choices:
            texts.append(choices.index(spelled))
    return Targets(tuple(numbers or texts), tuple(texts or numbers))

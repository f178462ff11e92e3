"""inspect: a zip archive with a member per sample, or one object of JSON."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from trueness.errors import InputError
from trueness.sources.logs._logprobs import token_pairs
from trueness.sources.logs._sample import (
    NO_CHOICES,
    Choices,
    Log,
    Options,
    Report,
    Sample,
    Targets,
    as_list,
    checked_row,
    dotted,
    message_text,
    number_or_nan,
    subject_of,
    typed,
)
from trueness.sources.logs.formats._inspect_archive import Members, open_archive
from trueness.sources.tables._text import JsonReader

_NEWEST_SCHEMA = 2
_FIELD_TYPES = {
    "epoch": int,
    "choices": list,
    "messages": list,
    "scores": dict,
    "output": dict,
    "output.choices": list,
    "output.choices.0": dict,
    "output.choices.0.logprobs": dict,
    "output.choices.0.logprobs.content": list,
    "output.choices.0.logprobs.content.0": dict,
}
_SAMPLE_MEMBER = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")
_HEADER_MEMBERS = ("header.json", "_journal/start.json")


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """inspect: a zip with a member per sample, or one JSON object."""
    with log.path.open("rb") as file:
        is_zip = file.read(4) == b"PK\x03\x04"
    return _samples_of_zip(log, report) if is_zip else _samples_of_json(log, report)


def _samples_of_json(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of a JSON log of inspect, one by one; what stands before them is its header."""
    header: dict[str, Any] = {}
    sample_count = 0
    with log.path.open("rb") as file:
        for key, value in JsonReader(file, str(log), report).items("samples"):
            if key != "samples" or value is None:
                header[key] = value
                continue
            if sample_count == 0:  # the header stands before the samples
                _read_header(log, header, str(log))
            log.place = f"{log}, samples[{sample_count}]"
            yield _sample(value, log)
            sample_count += 1
    if sample_count == 0:
        _read_header(log, header, str(log))


def _samples_of_zip(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of an `.eval` archive of inspect, one by one, after its header.

    Of repeated members the last counts, and a note says so; so does one for a run that did not
    finish.
    """
    with open_archive(log) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        repeated = len(archive.infolist()) - len(entries)
        if repeated:
            log.notes.append(f"{repeated:,} members are repeated, and the last of each counts")
        header = _header_member(log, entries)
        if header != "header.json":
            log.notes.append("the run did not finish: it has no member 'header.json'")
        members = Members(archive, log)
        _read_header(log, members.read(entries[header]), f"{log}, member {header!r}")
        bytes_read = 0
        for name, entry in entries.items():
            if _SAMPLE_MEMBER.fullmatch(name):
                bytes_read += entry.compress_size
                report(bytes_read)
                raw = members.read(entry)
                log.place = f"{log}, member {name!r}"
                yield _sample(raw, log)


def _header_member(log: Log, names: Mapping[str, Any]) -> str:
    """The name of the member with the header; a run that did not finish has another one."""
    for name in _HEADER_MEMBERS:
        if name in names:
            return name
    wanted = " and ".join(repr(name) for name in _HEADER_MEMBERS)
    raise InputError("", f"{log} is a zip file without the members {wanted}")


def _read_header(log: Log, header: object, place: str) -> None:
    """Take the task, the model and the date of a run of inspect from its header.

    Schemas newer than those known are refused; a run that did not finish gets a note.
    """
    fields = typed(header, dict, place)
    version = fields.get("version", 1)
    if not isinstance(version, int) or version > _NEWEST_SCHEMA:
        limit = f"at most {_NEWEST_SCHEMA}, the newest schema that is known"
        raise InputError("", f"{place}: field 'version' must be {limit}", f"got {version!r}")
    run = typed(fields.get("eval"), dict, place, "eval")
    log.task = typed(run.get("task"), str, place, "eval.task")
    log.model = str(run.get("model", ""))
    log.created = str(run.get("created", ""))
    log.identity = str(run.get("task_id", ""))
    status = fields.get("status", "success")
    if status != "success":
        log.notes.append(f"the run did not finish: its status is {status!r}")


def _sample(raw: object, log: Log) -> Sample:
    """One sample of inspect: its last answer, scores, tokens and options."""
    row = checked_row(raw, log, _FIELD_TYPES, needed=("id",))
    output = row.get("output") or {}
    choice = dotted(output, "choices.0") or {}
    text = _answer(output, choice)
    scores = row.get("scores")
    if not scores:  # older logs had one score
        scores = {"score": row["score"]} if row.get("score") else {}
    content = cast(Sequence[Any], dotted(choice, "logprobs.content") or [])
    messages = [
        message_text(message.get("content"))
        for message in row.get("messages") or ()
        if message.get("role") == "assistant"
    ]
    choices = _choices(row, content)
    return Sample(
        question=f"{log.task}/{row['id']}",
        identity=str(row["id"]),
        raw=row,
        scores=scores,
        text=text,
        all_text="\n".join([*messages, text]),
        # int64, so that a number that is too large is an error here, where its place is known.
        epoch=int(np.int64(row.get("epoch") or 1)),
        subject=subject_of(row.get("metadata")),
        trouble=_trouble(row),
        tokens=token_pairs(content),
        options=choices.options,
        targets=choices.targets,
    )


def _answer(output: Mapping[str, Any], choice: object) -> str:
    if output.get("completion") is None:
        return message_text(dotted(choice, "message.content"))
    return str(output["completion"])


def _trouble(row: Mapping[str, Any]) -> str:
    if row.get("error"):
        return "errored"
    if row.get("invalidation"):
        return "invalidated"
    return ""


def _choices(row: Mapping[str, Any], content: Sequence[Any]) -> Choices:
    """The log-probabilities of all letters at the last token that is one of them."""
    choices = [str(choice) for choice in row.get("choices") or ()]
    letters = [chr(ord("A") + i) for i in range(len(choices))]
    tops = [
        token.get("top_logprobs")
        for token in content
        if str(token.get("token", "")).strip() in letters
    ]
    if len(letters) < 2 or not tops or not tops[-1]:
        return NO_CHOICES
    sums = _letter_probabilities(letters, tops[-1])
    right = tuple(
        letters.index(letter) for letter in as_list(row.get("target")) if letter in letters
    )
    if not all(sums):
        return NO_CHOICES
    logs = [math.log(probability) for probability in sums]
    return Choices(Options(logs, choices), Targets(right, right))


def _letter_probabilities(letters: Sequence[str], top: Sequence[Any]) -> list[float]:
    """The probability of each letter, over all tokens that spell it."""
    seen = [(str(token.get("token")).strip(), number_or_nan(token.get("logprob"))) for token in top]
    probabilities = []
    for letter in letters:
        powers = [math.exp(logprob) for spelled, logprob in seen if spelled == letter]
        probabilities.append(math.fsum(powers))
    return probabilities

"""What every reader of logs shares: the file, one answer as it was written, and checked JSON.

A reader is a function of a log that yields one `Sample` after the other.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from trueness.errors import InputError, TruenessError
from trueness.sources.logs._confidence import Confidence
from trueness.sources.tables._text import BLANK, DAMAGED, JsonReader

Report: TypeAlias = Callable[[int], None]  # called with the bytes read so far

_SUBJECT_FIELDS = ("subject", "category", "topic", "domain")


@dataclass
class Log:
    """One file. What it says of itself is known once its samples are read."""

    path: Path
    harness: str
    task: str = ""
    model: str = ""
    created: str = ""
    # What several files of one run share: the last written of their samples count.
    identity: str = ""
    # The scorers of its samples; where one is taken by default, that one.
    scorers: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    repeated: int = 0
    place: str = ""  # the line, element or member that is being read

    def __str__(self) -> str:
        return str(self.path)


class Options(NamedTuple):
    """The options of a multiple-choice question."""

    log_likelihoods: Sequence[float]
    texts: Sequence[str]


class Targets(NamedTuple):
    """The right options: a target such as "1" may be the number of an option or its text."""

    by_number: tuple[int, ...] = ()
    by_text: tuple[int, ...] = ()


NO_TARGETS = Targets()


class Choices(NamedTuple):
    """The options of a question, if it has any, and which are right."""

    options: Options | None
    targets: Targets


NO_CHOICES = Choices(None, NO_TARGETS)


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Sample(NamedTuple):  # made in a third of the time of a frozen dataclass
    """One answer to one question, as the harness wrote it."""

    question: str
    raw: Mapping[str, Any]
    identity: str = ""  # by which a key file names the question
    model: str = ""  # where one log has several; else that of the log
    scores: Mapping[str, Any] = _NOTHING  # what each scorer said
    text: str | None = None  # what the model wrote; None where only likelihoods were asked for
    all_text: str = ""  # with the messages before it, where the log has them
    answer: str | None = None  # what was extracted from the text
    others: Sequence[str] = ()  # further answers to the question, which are no samples
    epoch: int = 1
    subject: str = ""
    trouble: str = ""  # why it cannot count, whatever its score
    options: Options | None = None
    targets: Targets = NO_TARGETS
    tokens: Sequence[tuple[str, float]] = ()  # with their log-probabilities
    logprob: float | None = None  # log-probability of the answer, if the log gives one number
    # Confidences that the log gives as such, by source.
    confidences: Mapping[str, Confidence] = _NOTHING
    part: str = ""  # the filter of lm-eval, or the split of HELM: a log may have several
    perturbed: bool = False


class Epochs:
    """Numbers the answers of one model to one question: repeats are further samples."""

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()

    def next_of(self, *question: Hashable) -> int:
        self._counts[question] += 1
        return self._counts[question]


# ---- Fields by path and type


Value = TypeVar("Value")


def dotted(raw: object, path: str) -> object:
    """A value by its path, such as ``metadata.topic`` or ``choices.0.text``; None if there is none.

    >>> dotted({"a": {"b": [7]}, "c.d": 1}, "a.b.0"), dotted({"c.d": 1}, "c.d")
    (7, 1)
    """
    if isinstance(raw, list):
        raw = {str(i): element for i, element in enumerate(raw)}
    if not isinstance(raw, Mapping):
        return None
    if path in raw:
        return raw[path]
    first, _, rest = path.partition(".")
    if not rest:
        return None
    return dotted(raw.get(first), rest)


def typed(value: object, kind: type[Value], place: str, name: str = "") -> Value:
    """The value, if it is of a type."""
    if isinstance(value, kind):
        return value
    subject = f"field {name!r}" if name else "it"
    demand = f"{place}: {subject} must be of type {kind.__name__}"
    raise InputError("", demand, f"got {type(value).__name__}")


def checked_row(
    raw: object, log: Log, types: Mapping[str, type], needed: Sequence[str] = ()
) -> dict[str, Any]:
    """An object of the log whose fields have the types that its harness writes.

    `types` are those of fields by their paths; a field that is absent or null has none. Refused are
    objects without the `needed` fields.
    """
    row: dict[str, Any] = typed(raw, dict, log.place)
    for name in needed:
        if name not in row:
            problem = f"field {name!r} is missing: damaged, or a log of another schema"
            raise InputError("", f"{log.place}: {problem}")
    for name, kind in types.items():
        value = dotted(row, name)
        if value is not None:
            typed(value, kind, log.place, name)
    return row


def subject_of(fields: object) -> str:
    """The subject, category, topic or domain among some fields; empty if there is none."""
    if not isinstance(fields, Mapping):
        return ""
    for name in _SUBJECT_FIELDS:
        if isinstance(fields.get(name), str | int):
            return str(fields[name])
    return ""


def number_or_nan(value: object) -> float:
    try:
        return float(cast(float, value))
    except (TypeError, ValueError, OverflowError):
        return math.nan


def as_list(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value]


def unwrapped(response: object) -> object:
    """What stands inside of lists of one element."""
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return response


def message_text(content: object) -> str:
    """The content of a message as text: it is a string, a list of parts, or a message."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping)]
        return "\n".join(str(part.get("text", "")) for part in parts)
    if isinstance(content, Mapping) and "content" in content:
        return message_text(content["content"])
    return str(content)


def as_text(value: object) -> str:
    """A value as a name: texts as they are, others as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def output_text(output: object) -> str | None:
    """What a model returned: a text, a message, or any JSON; None if it returned nothing."""
    if output is None:
        return None
    if isinstance(output, list) and output and isinstance(output[-1], Mapping):
        # Of a conversation, the last message is the answer; other lists are parts of a message.
        is_conversation = "content" in output[-1]
        return message_text(output[-1] if is_conversation else output)
    if isinstance(output, Mapping) and "content" in output:
        return message_text(output)
    return as_text(output)


# ---- Reading JSON

_ONE_OBJECT = "If the file is one object, `rows_field` names the array of answers in it."


def parse(data: bytes, place: str, remedy: str = "") -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as reason:
        demand = f"{place} is not JSON: {DAMAGED}"
        raise InputError("", demand, str(reason), remedy=remedy) from None


def object_in(path: Path) -> Mapping[str, Any]:
    """The object that a small file of JSON is."""
    content: Mapping[str, Any] = typed(parse(path.read_bytes(), str(path)), dict, str(path))
    return content


def objects_in(log: Log, report: Report) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines or of an array; `log.place` says which is being read."""
    with log.path.open("rb") as file:
        is_array = file.read(64).lstrip(BLANK).startswith(b"[")
        file.seek(0)
        if is_array:
            for i, (_, row) in enumerate(JsonReader(file, str(log), report).items()):
                log.place = f"{log}, element {i}"
                yield typed(row, dict, log.place)
            return
        remedy = "" if log.harness else _ONE_OBJECT
        bytes_read = 0
        for number, line in enumerate(file, 1):
            bytes_read += len(line)
            report(bytes_read)
            if line.strip():
                log.place = f"{log}, line {number:,}"
                yield typed(parse(line, f"{log.place},", remedy), dict, log.place)


def records_at(log: Log, report: Report, path: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The objects of the array at a path, in each value of a file; the file may hold several."""
    with log.path.open("rb") as file:
        records = JsonReader(file, str(log), report).records(path)
        for i, record in enumerate(records):
            log.place = f"{log}, {'.'.join(path) or 'element'} {i}"
            yield typed(record, dict, log.place)


@contextmanager
def naming_the_place(log: Log) -> Iterator[None]:
    """Say where in the log a field of an unexpected type is, in place of a raw error."""
    try:
        yield
    except TruenessError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as reason:
        place = log.place or log
        demand = f"{place}: a field has another type than {log.harness} writes"
        got = f"{type(reason).__name__}: {reason}"[:200]
        raise InputError("", f"{demand}: damaged, or another schema", got) from reason
